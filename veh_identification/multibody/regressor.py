"""Regressors of tree models over whole recordings: rows = W(motion) X, equation 18 and 20.

`Regressor` binds a model to the rows and columns wanted and fills blocks that the caller owns, so
estimators can run through a long recording without ever holding its whole observation matrix.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import ModelError
from veh_identification.multibody.columns import Columns, ExtraColumn, Kind, describe, extra_name
from veh_identification.multibody.inertia import PARAMETERS_PER_BODY
from veh_identification.multibody.kinematics import kernel_model
from veh_identification.multibody.motion import Motion, check_motion
from veh_identification.multibody.regressor_kernel import Layout, regressor_kernel
from veh_identification.multibody.tree import BASE_ROWS, TreeModel
from veh_identification.types import Array

DEFAULT_BLOCK = 1024
#: Threads that fill a block together, and the least that is worth a thread.
THREADS = min(4, os.cpu_count() or 1)
LEAST_SAMPLES_PER_THREAD = 256


@lru_cache(maxsize=1)
def workers() -> ThreadPoolExecutor:
    """Threads for the kernels, which release the interpreter while they compute."""
    return ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix='regressor')


def share_out(samples: int) -> list[slice]:
    """Equal parts of so many samples, one a thread; one part where threads do not pay."""
    count = max(1, min(THREADS, samples // LEAST_SAMPLES_PER_THREAD))
    edges = [samples * k // count for k in range(count + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


class Regressor:
    """Observation matrix of a tree model.

    `rows`: 'all' (six base equations of a floating base, then one per coordinate), 'base' (the
    total wrench at the root origin in root axes, for floating and fixed bases), 'joints', or
    'base and joints'.
    `bodies`: names, or None for all real bodies. `extras`: further columns. `enabled`: names of
    the columns to keep (None keeps all); `columns` always describes exactly what is filled.
    """

    def __init__(
        self,
        model: TreeModel,
        rows: str = 'all',
        bodies: Sequence[str] | None = None,
        extras: Sequence[ExtraColumn] = (),
        enabled: Sequence[str] | None = None,
    ) -> None:
        if bodies is None:
            bodies = [
                name for name, real in zip(model.body_names, model.real, strict=True) if real
            ]
        self.model = model
        self.columns: Columns = describe(model, bodies, extras, enabled)
        self.row_names = _row_names(model, rows)
        self._layout = _layout(model, self.columns, self.row_names, extras)
        self._arrays = kernel_model(model)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns per sample."""
        return len(self.row_names), len(self.columns)

    def fill(self, motion: Motion, out: Array) -> Array:
        """Write W of every sample of `motion` into `out` (N, rows, columns) and return it."""
        check_motion(self.model, motion)
        expected = (len(motion), *self.shape)
        if out.shape != expected or out.dtype != np.float64 or not out.flags.c_contiguous:
            raise ModelError(
                f'regressor output must be a contiguous float64 array {expected}, '
                f'found {out.dtype} {out.shape}'
            )
        parts = share_out(len(motion))
        if len(parts) == 1:
            self._run(motion, out)
        else:
            list(workers().map(lambda part: self._run(motion[part], out[part]), parts))
        return out

    def _run(self, motion: Motion, out: Array) -> None:
        regressor_kernel(
            self._arrays,
            self._layout,
            motion.q,
            motion.qd,
            motion.qdd,
            motion.base_acceleration,
            motion.base_angular_velocity,
            motion.base_angular_acceleration,
            motion.air_speed_squared,
            out,
        )

    def compute(self, motion: Motion) -> Array:
        """W of every sample as a new array (N, rows, columns)."""
        return self.fill(motion, np.empty((len(motion), *self.shape)))

    def blocks(self, motion: Motion, size: int = DEFAULT_BLOCK) -> Iterator[tuple[slice, Array]]:
        """Samples and W (n, rows, columns) block by block; the array is reused between blocks."""
        buffer = np.empty((min(size, len(motion)), *self.shape))
        for start in range(0, len(motion), size):
            samples = slice(start, min(start + size, len(motion)))
            yield samples, self.fill(motion[samples], buffer[: samples.stop - start])


def _row_names(model: TreeModel, rows: str) -> tuple[str, ...]:
    choices = {
        'all': model.row_names,
        'base': BASE_ROWS,
        'joints': model.coordinate_names,
        'base and joints': BASE_ROWS + model.coordinate_names,
    }
    if rows not in choices:
        raise ModelError(f'rows "{rows}" are unknown, expected one of {", ".join(choices)}')
    return choices[rows]


def _layout(
    model: TreeModel, columns: Columns, row_names: tuple[str, ...], extras: Sequence[ExtraColumn]
) -> Layout:
    """Where the kernel writes what: derived from `columns`, so the two cannot drift apart."""
    has_base = row_names[: len(BASE_ROWS)] == BASE_ROWS
    first_joint = len(BASE_ROWS) if has_base else 0
    has_joints = len(row_names) > first_joint
    joint_row = np.full(max(model.dof, 1), -1, dtype=np.int64)
    if has_joints:
        joint_row[: model.dof] = first_joint + np.arange(model.dof)
    column = np.full((model.bodies, PARAMETERS_PER_BODY), -1, dtype=np.int64)
    for k, entry in enumerate(columns):
        if entry.kind is Kind.INERTIAL:
            column[model.body_index(entry.body), entry.parameter] = k
    kept = [extra for extra in extras if extra_name(extra) in columns.names]
    return Layout(
        base_row=0 if has_base else -1,
        joint_row=joint_row,
        column=column,
        start=_contiguous_start(column),
        extra_kind=_integers([int(extra.kind) for extra in kept]),
        extra_first=_integers([_first(model, extra) for extra in kept]),
        extra_second=_integers([_second(model, extra) for extra in kept]),
        extra_column=_integers([columns.index(extra_name(extra)) for extra in kept]),
        extra_smoothing=np.array([extra.smoothing for extra in kept], dtype=float),
    )


def _contiguous_start(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """First column of bodies whose ten columns stand together, -1 without any, -2 scattered."""
    together = np.all(column == column[:, :1] + np.arange(PARAMETERS_PER_BODY), axis=1)
    absent = np.all(column < 0, axis=1)
    return np.where(absent, -1, np.where(together & (column[:, 0] >= 0), column[:, 0], -2))


def _integers(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _first(model: TreeModel, extra: ExtraColumn) -> int:
    if extra.kind is Kind.AERODYNAMIC:
        return model.body_index(extra.body)
    return model.coordinate_index(extra.joint)


def _second(model: TreeModel, extra: ExtraColumn) -> int:
    if extra.kind is Kind.COUPLING_SPRING:
        return model.coordinate_index(extra.opposite)
    return extra.component
