"""A recording in a fleet: which machine it is of, and what it was reduced to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from veh_identification.fleets.reduction import Reduction


@dataclass(frozen=True, eq=False)
class Entry:
    """A recording, its machine and what it was reduced to."""

    address: str
    machine: str
    config: Path | None
    reduction: Reduction
    stored: bool = False  # an earlier run reduced it
    report: str = ''  # its own report, beside the fleet page

    @property
    def date(self) -> str:
        """When the recording begins, UTC; empty where that is not known."""
        return date_of(self.reduction.start_ns)


def date_of(start_ns: int) -> str:
    """A stamp as text."""
    if start_ns <= 0:
        return ''
    return datetime.fromtimestamp(start_ns * 1e-9, timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')
