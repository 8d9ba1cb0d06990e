"""How far identified.urdf departs from the URDF as given, where the wrench is not explained.

Errors of people's joint angles and of their skeletons repeat with every stride. Masses that follow
them fit the recording, and hardly worse the stretches of it that were left out, but not the next
run: small gains in one recording are losses in another. So where much of the wrench is left over,
the recording counts for as much as a thirtieth of its rows would, and the file moves away from the
given one only on equations on which stretches that were left out are predicted better; on the
others its predictions may change by a few hundredths of the error that the given values leave.
Horizontal forces ask for more than the others: of 40 runs of ten people, fitted alone, they were
predicted no better in the next one.

The scale of the motion is no part of a file. There the links stand for the part of it that kept
equations ask for, so that the file alone predicts as well as it can.

A robot whose wrench is explained by the estimate has no such errors, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.identification import ArrayBlocks
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.reporting.judging.fit import SMALL_SIGNAL
from veh_identification.systems.humanoid.estimation.estimate import Estimate
from veh_identification.systems.humanoid.estimation.prior_trust import FOLDS, folds_of
from veh_identification.systems.humanoid.estimation.problem import source_of
from veh_identification.systems.humanoid.processing.equations import MOTION_SCALE
from veh_identification.types import Array, BoolArray

#: Of the rms of an equation: what may be left of it for the model to be the right one. Of people
#: whose plates are right it is up to 0.18, of the small robot 0.04.
EXPLAINED = 0.1
#: Of the error that the given values leave: in stretches that were left out, and, with other
#: equations kept, in the recording itself, for an equation (FX to NZ) to be free.
FREE = np.array([0.5, 0.5, 0.7, 0.7, 0.7, 0.7])
STILL_FREE = np.array([0.7, 0.7, 0.85, 0.85, 0.85, 0.85])
#: Of that error: by how much predictions of kept equations may change.
CHANGE = 0.04
#: Rows whose errors are the same again count as one.
REPEATED = 30.0
#: Of the scale of the motion: what predictions of kept equations take over from it, and the
#: deviation that holds it at zero in the file.
SCALE_SHARE, NO_SCALE = 0.3, 1e-5
#: Times the error that may be left of a free equation for the sake of those that are kept.
COSTLY = 10.0
#: Steps of the search for the weights of kept equations, the largest of these steps, and the
#: change, in shares of the allowed one, at which it ends.
STEPS, LARGEST_STEP, ENOUGH = 40, 10.0, 1.02


@dataclass(frozen=True, eq=False)
class Kept:
    """Kept equations, and what holds their predictions near those of the given values."""

    names: tuple[str, ...]
    roots: tuple[Array, ...]  # of each: rows over all unknowns, the rms of a prediction its norm
    weights: Array  # of their squares
    given: Array  # all unknowns
    allowed: Array  # rms by which each prediction may change
    zero: BoolArray  # unknowns that no file has
    repeated: float = 1.0  # how many rows of the recordings count as one

    @property
    def rows(self) -> tuple[Array, Array]:
        """Rows and right sides that hold the predictions, and what no file has at zero."""
        none = np.eye(len(self.given))[self.zero] / NO_SCALE
        scaled = [np.sqrt(w) * one for w, one in zip(self.weights, self.roots, strict=True)]
        held = np.concatenate([np.zeros((0, len(self.given))), *scaled])
        right = np.concatenate([held @ self.given, np.zeros(len(none))])
        return np.concatenate([held, none]), right

    def tightened(self, value: Array) -> Kept | None:
        """With more weight where these unknowns change too much; None where they do not."""
        moved = value - self.given
        change = np.array([np.linalg.norm(one @ moved) for one in self.roots])
        too_much = _share(change, self.allowed)
        if not np.any(too_much > ENOUGH):
            return None
        least = 1.0 / np.maximum(self.allowed / CHANGE, 1e-12) ** 2
        steps = np.clip(too_much**2, 1.0, LARGEST_STEP)
        weights = np.where(too_much > 1.0, steps * np.maximum(self.weights, least), self.weights)
        return replace(self, weights=weights)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Usable rows of the recordings, and the estimate that identified.urdf comes from."""

    W: Array  # (samples, 6, unknowns)
    Y: Array  # (samples, 6)
    sigma: Array
    given: Array  # unknowns by the URDF, scaled to the identified mass
    zero: BoolArray  # unknowns that no file has
    offsets: BoolArray  # unknowns that belong to the sensors
    beside: tuple[Array, Array]  # normal equations of prior and total mass
    data: tuple[Array, Array]  # and of the recordings
    inflation: float  # of the rows' variance in `data`
    repeated: float = 1.0  # of it, for errors that are the same again


def kept_equations(estimate: Estimate, mass_row: tuple[Array, float]) -> Kept:
    """Which equations are kept, and what holds them; `mass_row` holds the total mass."""
    rows = _usable_rows(estimate, mass_row)
    empty, unknowns = np.zeros(0), np.zeros(len(estimate.value))
    nothing = Kept((), (), empty, unknowns, empty, unknowns > 0.0)
    if rows is None or _explains(rows, estimate.value):
        return nothing
    rows = _of_people(rows)
    axes = np.flatnonzero(~(_left_out(rows) <= FREE)).tolist()
    if not axes:
        return nothing
    before = _errors(rows, _solved(rows, _keeping(rows, [])))
    while True:
        kept, value = _tightened(rows, _keeping(rows, axes))
        given = np.where(rows.offsets, value, rows.given)
        shares = _share(_errors(rows, value), _errors(rows, given))
        lost = [k for k in range(len(shares)) if k not in axes and not shares[k] <= STILL_FREE[k]]
        if not lost:
            costs = _share(_errors(rows, value), before)
            free = [k for k in range(len(costs)) if k not in axes]
            return nothing if np.any(costs[free] > COSTLY) else kept
        axes = sorted([*axes, *lost])


def _tightened(rows: _Rows, kept: Kept) -> tuple[Kept, Array]:
    """With weights that hold the predictions, and the estimate that goes with them."""
    value = _solved(rows, kept)
    for _ in range(STEPS):
        tighter = kept.tightened(value)
        if tighter is None:
            break
        kept = tighter
        value = _solved(rows, kept)
    return kept, value


def _of_people(rows: _Rows) -> _Rows:
    """The same rows, where their errors are the same again with every stride."""
    return replace(
        rows,
        given=np.where(rows.zero, SCALE_SHARE * rows.given, rows.given),
        data=(rows.data[0] / REPEATED, rows.data[1] / REPEATED),
        inflation=REPEATED * rows.inflation,
        repeated=REPEATED,
    )


def _explains(rows: _Rows, value: Array) -> bool:
    """Whether hardly anything is left of any equation: then the model is the right one."""
    left, size = _errors(rows, value), _rms(rows.Y)
    largest = np.repeat([size[:3].max(), size[3:].max()], 3)
    return bool(np.all((left <= EXPLAINED * size) | (size <= SMALL_SIGNAL * largest)))


def _keeping(rows: _Rows, axes: Sequence[int]) -> Kept:
    """Equations to keep, without weights yet."""
    W = np.where(rows.offsets, 0.0, rows.W)
    roots = tuple(_root(W[:, k].T @ W[:, k] / len(W)) for k in axes)
    allowed = CHANGE * _errors(rows, rows.given)[list(axes)]
    names = tuple(BASE_ROWS[k] for k in axes)
    weights = np.zeros(len(roots))
    return Kept(names, roots, weights, rows.given, allowed, rows.zero, rows.repeated)


def _solved(rows: _Rows, kept: Kept) -> Array:
    """The estimate with some equations kept."""
    held, wanted = kept.rows
    normal = rows.data[0] + rows.beside[0] + held.T @ held
    right = rows.data[1] + rows.beside[1] + held.T @ wanted
    return np.asarray(np.linalg.solve(normal, right), float)


def _usable_rows(estimate: Estimate, mass_row: tuple[Array, float]) -> _Rows | None:
    """None where everything is free: too many rows to leave a doubt, or corrected angles."""
    problem, evidence = estimate.problem, estimate.evidence
    source = source_of(estimate.prepared)
    if not isinstance(source, ArrayBlocks) or problem.unknowns.joints is not None:
        return None
    good = np.isfinite(source.Y).all(axis=1)
    names, rank = problem.names, problem.base.rank
    given = np.zeros(len(names))
    given[:rank] = problem.to_base @ problem.prior.centre
    given *= estimate.total_mass[0] / float(problem.mass_weights @ given[:rank])
    # That of the motion belongs to the recording, not to the robot.
    scale = np.array([name == MOTION_SCALE for name in names])
    given = np.where(scale, estimate.value, given)
    factor, spread = evidence.factor, evidence.inflation
    prior, centre = evidence.prior.rows()
    row, mass = mass_row
    beside = (
        prior.T @ prior + np.outer(row, row),
        prior.T @ centre + row * mass,
    )
    return _Rows(
        source.W[good],
        source.Y[good],
        evidence.sigma,
        given,
        scale,
        np.array(['.offset' in name for name in names]),
        beside,
        (factor.R.T @ factor.R / spread, factor.R.T @ factor.z / spread),
        spread * float(np.sum(evidence.measured.R**2) / max(np.sum(factor.R**2), 1e-300)),
    )


def _left_out(rows: _Rows) -> Array:
    """Error in stretches that the estimate has not seen, over that of the given values."""
    every = np.arange(len(rows.Y))
    if len(every) < 2 * FOLDS:
        return np.full(len(BASE_ROWS), np.inf)
    normals, _, _ = folds_of(ArrayBlocks(rows.W, rows.Y), every, rows.sigma)
    errors, before = [], []
    for part, normal in zip(np.array_split(every, FOLDS), normals, strict=True):
        rest = (normals.sum(axis=0) - normal) / rows.inflation
        value = np.linalg.solve(rest[:, :-1] + rows.beside[0], rest[:, -1] + rows.beside[1])
        errors.append(rows.Y[part] - rows.W[part] @ value)
        # Offsets belong to the sensors: both sides get the same ones.
        given = np.where(rows.offsets, value, rows.given)
        before.append(rows.Y[part] - rows.W[part] @ given)
    return _share(_rms(np.concatenate(errors)), _rms(np.concatenate(before)))


def _root(gram: Array) -> Array:
    """C with C' C = gram."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)


def _errors(rows: _Rows, value: Array) -> Array:
    return _rms(rows.Y - rows.W @ value)


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(np.square(values), axis=0)))


def _share(one: Array, other: Array) -> Array:
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.asarray(np.where(one > 0.0, one / other, 0.0))
