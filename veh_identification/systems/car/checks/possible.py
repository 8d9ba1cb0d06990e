"""Values that no car can have: negative masses and springs, inertias that no body has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed, number
from veh_identification.systems.car.parameters import POSITIVE
from veh_identification.types import Array

#: A value must break a law of mechanics by so many standard deviations.
SURE = 2.0
_BODY = ('Mc', 'MXc', 'MYc', 'MZc', 'XXc', 'YYc', 'ZZc', 'XZc', 'XYc', 'YZc')
_MOMENTS = ('XXc', 'YYc', 'ZZc')
_PLACES = {
    'XXc': (0, 0),
    'YYc': (1, 1),
    'ZZc': (2, 2),
    'XZc': (0, 2),
    'XYc': (0, 1),
    'YZc': (1, 2),
}


def impossible_values(
    names: Sequence[str], value: Array, covariance: Array
) -> tuple[list[str], list[Finding]]:
    """Parameters whose values cannot exist, and what is wrong with the chassis' inertia."""
    # Below zero by chance, as of a drag that a slow drive does not show, is weak and not wrong.
    surely = value + SURE * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    below = [
        name for name, top in zip(names, surely, strict=True) if name in POSITIVE and top < 0.0
    ]
    places = [names.index(name) for name in _BODY]
    body = value[places]
    if not np.isfinite(body).all() or not body[0] > 0.0:
        return below, []
    broken, found = _inertia(body, covariance[np.ix_(places, places)])
    wrong = {*below, *broken}
    return [name for name in names if name in wrong], found


def _inertia(body: Array, covariance: Array) -> tuple[list[str], list[Finding]]:
    """Moments of inertia about the centre of gravity that no distribution of mass has.

    E = integral of r r' dm about the centre of gravity has no negative eigenvalue: that is the
    triangle inequality of the principal moments. The inertia itself is tr(E) 1 - E.
    """
    spread = _spread(body)
    least, axes = np.linalg.eigh(spread)
    moments = np.trace(spread) - least
    told = ', '.join(number(float(one)) for one in sorted(moments))
    law = f'principal moments of inertia about the centre of gravity {told} kg m^2'
    longest = axes[:, 2]  # the axis of the smallest moment
    sigma = _deviation(body, covariance, np.eye(3) - np.outer(longest, longest))
    if moments[2] < -SURE * sigma:
        names = [_MOMENTS[int(np.argmax(np.abs(longest)))]]
        what = f'one is negative by {-moments[2] / sigma:.2g} standard deviations'
        return names, [_finding('inertia_not_positive', names, law, what)]
    sigma = _deviation(body, covariance, np.outer(axes[:, 0], axes[:, 0]))
    if least[0] < -SURE * sigma:
        names = list(_MOMENTS)
        what = (
            'the largest exceeds the sum of the others by '
            f'{-least[0] / sigma:.2g} standard deviations, which no body does'
        )
        return names, [_finding('triangle_inequality', names, law, what)]
    return [], []


def _finding(code: str, names: list[str], law: str, what: str) -> Finding:
    return Finding('bad', code, f'{listed(names)}: {law}: {what}', ' '.join(names))


def _spread(body: Array) -> Array:
    """Integral of r r' dm (3, 3) about the centre of gravity."""
    inertia = np.zeros((3, 3))
    for name, place in _PLACES.items():
        inertia[place] = inertia[place[::-1]] = body[_BODY.index(name)]
    about_origin = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return np.asarray(about_origin - np.outer(body[1:4], body[1:4]) / body[0])


def _deviation(body: Array, covariance: Array, weights: Array) -> float:
    """Of the sum of weights times spread, to first order."""
    gradient = np.empty(len(body))
    gradient[0] = body[1:4] @ weights @ body[1:4] / body[0] ** 2
    gradient[1:4] = -2.0 * weights @ body[1:4] / body[0]
    for name, (i, j) in _PLACES.items():
        diagonal = 0.5 * np.trace(weights) - weights[i, i]
        gradient[_BODY.index(name)] = diagonal if i == j else -2.0 * weights[i, j]
    return float(np.sqrt(max(float(gradient @ covariance @ gradient), 0.0)))
