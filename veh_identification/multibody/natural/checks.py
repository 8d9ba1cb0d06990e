"""Says in words which constraint is redundant, which pose singular, and what is turned over."""

from __future__ import annotations

import math

import numpy as np

from veh_identification.errors import ModelError
from veh_identification.multibody.natural.records import ANGLE, Description
from veh_identification.types import Array

RANK_TOLERANCE = 1e-8


def redundant_rows(J: Array) -> list[tuple[int, list[int]]]:
    """Rows of J that depend on earlier rows, each with the earlier rows it is made of."""
    found: list[tuple[int, list[int]]] = []
    kept: list[int] = []
    basis = np.zeros((0, J.shape[1]))
    for row in range(J.shape[0]):
        norm = np.linalg.norm(J[row])
        rest = J[row] - basis.T @ (basis @ J[row])
        rest -= basis.T @ (basis @ rest)
        if norm == 0.0 or np.linalg.norm(rest) <= RANK_TOLERANCE * norm:
            weights = np.linalg.lstsq(J[kept].T, J[row], rcond=None)[0] if kept else np.zeros(0)
            large = np.abs(weights) > 1e-6 * max(1e-300, np.max(np.abs(weights), initial=0.0))
            found.append((row, [kept[i] for i in np.flatnonzero(large)]))
        else:
            kept.append(row)
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
    return found


def check_redundancy(J: Array, names: list[str]) -> None:
    """Raise a ModelError that names the first constraint that repeats others."""
    found = redundant_rows(J)
    if not found:
        return
    row, others = found[0]
    because = (' of ' + ', '.join(repr(names[k]) for k in others[:4])) if others else ''
    more = f' (and {len(found) - 1} more)' if len(found) > 1 else ''
    raise ModelError(
        f'constraint {names[row]!r} is redundant: it is a combination{because}, or '
        f'the pose is singular{more}'
    )


def check_implied(description: Description, q: Array) -> None:
    """Rigid-body constraints left out as implied must hold by what the other bodies say."""
    for record in description.implied:
        a, b = (description.forms[k].value(q) for k in record.forms[:2])
        if abs(float(a @ b) - record.value) > 1e-8 * max(1.0, abs(record.value)):
            raise ModelError(
                f'constraint {record.name!r} asks for {record.value:.6g}, but the '
                f'bodies that share these vectors make it {a @ b:.6g}'
            )


def turned_over(description: Description, q: Array) -> str:
    """Name of an angle whose vector points the other way; empty: all are as they should be.

    The equation of an angle holds half a turn away, too. A step or a correction of more than a
    quarter of a turn may lead there, and from then on everything is consistent and wrong.
    """
    for record in description.constraints:
        if record.kind == ANGLE:
            first, second, vector = (description.forms[k].value(q) for k in record.forms)
            theta = float(q[record.coordinate])
            if math.cos(theta) * (first @ vector) + math.sin(theta) * (second @ vector) < 0.0:
                return description.names[record.coordinate]
    return ''


def explain_singularity(
    J: Array, independent: list[int], coordinates: list[str], constraints: list[str]
) -> str:
    """One sentence: which coordinates can still move and which constraint gives way."""
    B = np.zeros((len(independent), J.shape[1]))
    B[np.arange(len(independent)), independent] = 1.0
    _, _, vectors = np.linalg.svd(np.vstack([J, B]))
    loose = vectors[-1]
    moving = [coordinates[i] for i in np.argsort(-np.abs(loose))[:3] if abs(loose[i]) > 0.1]
    text = (
        f'the pose is singular: with {", ".join(coordinates[i] for i in independent[:6])} '
        f'given, {", ".join(moving)} can still move'
    )
    if J.shape[0]:
        U, s, _ = np.linalg.svd(J, full_matrices=True)
        if s.size < J.shape[0] or s[-1] < 1e-5 * s[0]:
            worst = constraints[int(np.argmax(np.abs(U[:, -1])))]
            return f'{text}; constraint {worst!r} depends on the others here'
        support = np.abs(J[:, np.argmax(np.abs(loose))])
        return f'{text}; see constraint {constraints[int(np.argmax(support))]!r}'
    return text
