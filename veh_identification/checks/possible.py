"""Estimates that cannot exist, in the same words offline and live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed


def impossible_value(names: Sequence[str]) -> list[Finding]:
    """Parameters whose values no machine has; nothing where there are none."""
    if not names:
        return []
    return [
        Finding(
            'bad',
            'impossible_value',
            f'{listed(names)}: no such value can exist (a mass, stiffness or inertia below zero): '
            'look for wrong signs, units, axes or exchanged sensors.',
        )
    ]


def beside_causes(causes: Sequence[Finding], impossible: Sequence[Finding]) -> list[Finding]:
    """Where a cause is known that must be put right, what follows from it is a note."""
    known = any(one.level == 'bad' for one in causes)
    return [*causes, *(replace(one, level='note') if known else one for one in impossible)]
