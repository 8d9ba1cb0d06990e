"""Noise of poses and joints in the regressor, seen by adding as much of it once more.

With noise of the measured size added again, the normal equations change on average by what the
noise already there has done to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veh_identification.identification import Information
from veh_identification.identification.gram import accumulate_fast
from veh_identification.signals import TimeSeries
from veh_identification.systems.humanoid.estimation.noise_free_normal import Excess
from veh_identification.systems.humanoid.estimation.problem import Problem, prepare, source_of
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.processing.supports import Selection
from veh_identification.systems.humanoid.recording.joint_rest import white_noise
from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.types import Array

SAMPLES = 20_000  # per recording, enough to see noise and excitation
REPLICAS = 6


def find_excess(
    problem: Problem,
    raws: Sequence[Raw],
    recordings: Sequence[Recording],
    selections: Sequence[Selection],
    cutoff: float,
) -> Excess:
    """Mean change of the normal equations by noise added again, for all usable rows."""
    short, chosen = shortened(raws, selections)
    whole = sum(float(one.usable.sum()) for one in selections)
    share = sum(float(one.usable.sum()) for one in chosen) / max(whole, 1.0)

    def grams(group: Sequence[Raw]) -> Array:
        rows = source_of(
            [prepare(problem, raw, cutoff, one) for raw, one in zip(group, chosen, strict=True)]
        )
        return _grams(accumulate_fast(rows)[0])

    before = grams(short)
    after = np.mean(
        [
            grams(
                [
                    noisier(raw, recording, problem, REPLICAS * k + replica)
                    for k, (raw, recording) in enumerate(zip(short, recordings, strict=True))
                ]
            )
            for replica in range(REPLICAS)
        ],
        axis=0,
    )
    return Excess((after - before) / max(share, 1e-9))


def _grams(information: Information) -> Array:
    """W_j' [W_j Y_j] (equations, columns, columns + 1)."""
    factors = information.factors
    return np.asarray(np.swapaxes(factors[:, :, :-1], 1, 2) @ factors)


def shortened(
    raws: Sequence[Raw], selections: Sequence[Selection]
) -> tuple[list[Raw], list[Selection]]:
    """The first usable samples of each recording, so that trials stay quick on long ones."""
    rows = [_first_rows(raw) for raw in raws]
    return (
        [_cut(raw, part) for raw, part in zip(raws, rows, strict=True)],
        [
            replace(one, usable=one.usable[part])
            for one, part in zip(selections, rows, strict=True)
        ],
    )


def _first_rows(raw: Raw) -> slice:
    first = int(np.argmax(raw.valid)) if len(raw.stamps) > SAMPLES else 0
    return slice(first, first + SAMPLES)


def _cut(raw: Raw, rows: slice) -> Raw:
    return replace(
        raw,
        stamps=raw.stamps[rows],
        joints=raw.joints[rows],
        pose=raw.pose[rows],
        wrenches=raw.wrenches[rows],
        world=raw.world[rows],
        valid=raw.valid[rows],
        inertial=None if raw.inertial is None else raw.inertial[rows],
    )


def noisier(raw: Raw, recording: Recording, problem: Problem, seed: int) -> Raw:
    """The recording with noise of the measured size added once more to pose and joints."""
    rng = np.random.default_rng([seed, 11])

    def like(series: TimeSeries, shape: tuple[int, ...]) -> Array:
        # The same density over a grid of another rate.
        scale = np.sqrt(raw.rate * series.median_period)
        return np.asarray(scale * white_noise(series.values) * rng.standard_normal(shape))

    joints = raw.joints.copy()
    for series in recording.joints:
        used = [name for name in series.names if name in problem.model.coordinate_names]
        if used:
            where = [problem.model.coordinate_index(name) for name in used]
            joints[:, where] += like(series.select(used), (len(joints), len(used)))
    if raw.inertial is not None:
        inertial = raw.inertial + like(recording.base, raw.inertial.shape)
        return replace(raw, joints=joints, inertial=inertial)
    return replace(raw, joints=joints, pose=raw.pose + like(recording.base, raw.pose.shape))
