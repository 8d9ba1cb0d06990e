"""Where the messages of a dashboard come from, in words for the page."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class SourceState:
    """What the page says about its source."""

    kind: str  # zenoh, ros, recording
    text: str
    state: str = 'live'  # live, playing, ended, failed
    problem: str = ''
    position: float = 0.0  # seconds of a recording that were played
    duration: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For the page."""
        return asdict(self)
