"""Standard deviations that somebody wants a designed motion to reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from veh_identification.errors import UsageError
from veh_identification.types import Array

# A percentage of a value smaller than this share of the largest of its kind means nothing.
ABOUT_ZERO = 1e-3


def parse_wants(texts: Sequence[str], names: Sequence[str], a_priori: Array) -> dict[str, float]:
    """`base_link.M=0.5%`, or in the parameter's unit `base_link.MSx=0.002`."""
    wants: dict[str, float] = {}
    for text in texts:
        name, separator, size = (part.strip() for part in text.partition('='))
        try:
            number = float(size.removesuffix('%'))
        except ValueError:
            number = math.nan
        if not separator or not 0.0 < number < math.inf:
            raise UsageError(f'--want {text!r}: expected NAME=SIZE or NAME=PERCENT%')
        if name not in names:
            raise UsageError(
                f'--want {text!r}: {name} is no base parameter of this robot; some '
                f'are {", ".join(names[:10])}; summary.json of a design lists all'
            )
        value = float(abs(a_priori[list(names).index(name)]))
        if size.endswith('%'):
            kind = name.split('.')[-1][0]
            alike = [
                abs(v)
                for n, v in zip(names, a_priori, strict=True)
                if n.split('.')[-1].startswith(kind)
            ]
            if value < ABOUT_ZERO * max(alike):
                raise UsageError(
                    f'--want {text!r}: {name} is about zero in the URDF, a '
                    'percentage of it means nothing; give a size in its unit'
                )
            number *= 0.01 * value
        wants[name] = number
    return wants


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


def sentence(entry: dict[str, Any]) -> str:
    """One line of the table."""
    text = (
        f'{entry["name"]}: sigma {entry["std"]:.3g} expected, {entry["wanted_std"]:.3g} wanted: '
    )
    return text + (
        'met' if entry['met'] else f'set periods to {entry["periods_needed"]} in the configuration'
    )
