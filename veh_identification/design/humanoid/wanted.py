"""Standard deviations that somebody wants a designed motion to reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from veh_identification.design.wanted import parse_wants
from veh_identification.findings import Finding
from veh_identification.types import Array

# A percentage of a value smaller than this share of the largest of its kind means nothing.
ABOUT_ZERO = 1e-3


def wants_of(texts: Sequence[str], names: Sequence[str], a_priori: Array) -> dict[str, float]:
    """`base_link.M=0.5%`, or in the parameter's unit `base_link.MSx=0.002`."""
    sizes = dict(zip(names, np.abs(a_priori).tolist(), strict=True))
    largest: dict[str, float] = {}
    for name, size in sizes.items():
        largest[_kind(name)] = max(size, largest.get(_kind(name), 0.0))
    return parse_wants(texts, sizes, {name: ABOUT_ZERO * largest[_kind(name)] for name in names})


def _kind(name: str) -> str:
    """Masses, first moments or moments of inertia, by the first letter after the link."""
    return name.split('.')[-1][0]


def deviations(triangle: Array) -> Array:
    """Standard deviations of all parameters from the triangular factor of weighted rows."""
    scale = np.maximum(np.linalg.norm(triangle, axis=0), 1e-300)
    inverse = np.linalg.pinv(triangle / scale, rcond=1e-13) / scale[:, None]
    return np.asarray(np.linalg.norm(inverse, axis=1))


def reached(
    wants: dict[str, float], names: Sequence[str], std: Array, periods: int
) -> list[dict[str, Any]]:
    """What is expected of each, and how many periods of every stage would do."""
    found = []
    for name, wanted in wants.items():
        expected = float(std[list(names).index(name)])
        found.append(
            {
                'name': name,
                'wanted_std': wanted,
                'std': expected,
                'met': expected <= wanted,
                'periods_needed': math.ceil(periods * (expected / wanted) ** 2),
            }
        )
    return found


def finding(entry: dict[str, Any]) -> Finding:
    """Whether one wanted deviation is expected to be reached."""
    text = (
        f'{entry["name"]}: sigma {entry["std"]:.3g} expected, {entry["wanted_std"]:.3g} wanted: '
    )
    where = f'want {entry["name"]}'
    if entry['met']:
        return Finding('good', 'wanted_reached', text + 'met', where)
    cure = f'set periods to {entry["periods_needed"]} in the configuration'
    return Finding('warn', 'wanted_not_reached', text + cure, where)
