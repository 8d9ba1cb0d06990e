"""Stands of a machine that are left out of a recording, in the same words for every machine."""

from __future__ import annotations

from veh_identification.findings import Finding


def stands_left_out(source: str, stood: float, seconds: float) -> list[Finding]:
    """A note where so many [s] of a recording's seconds were stands; nothing where none were."""
    if not stood:
        return []
    return [
        Finding(
            'note',
            'stands_left_out',
            f'{source}: nothing moves for {stood:.3g} s of {seconds:.3g} s: left out, for at rest '
            'friction holds whatever it must and efforts say nothing of the model',
            source,
        )
    ]
