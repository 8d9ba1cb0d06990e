"""`veh-id observe SYSTEM BAG`: the errorEKF observer over a recording, offline."""

from __future__ import annotations

from typing import Any

from veh_identification.cli.identify import add_verb


def add_parser(verbs: Any, wanted: str = '') -> None:
    """Describe the verb and, with its options, the wanted system."""
    add_verb(
        verbs,
        wanted,
        'observe',
        'run the observer over a recording',
        'Runs the errorEKF observer over a recording and writes metrics.json, a report and the '
        'observed topics (a bag) into --out.',
    )
