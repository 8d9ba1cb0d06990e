"""Rows of equation (4): Y_B1 phi_B = sum of K_k1 F_k, low-passed and decimated on both sides.

Further unknowns on demand, as columns beside the base parameters: the offset of each wrench
sensor, and small errors of each plate's position and orientation. A place that comes from an IMU
and legs drifts: 1 mm over a walk of 0.4 m moves the centre of pressure as an offset of 0.25 % of
the weight does, so that each such recording has a pose of its own that changes evenly with time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from veh_identification.errors import EstimationError
from veh_identification.identification import ArrayBlocks, BlockSource, FactoryBlocks
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.motion import Motion, floating_base_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import BASE_ROWS, skew
from veh_identification.signals import BlockDecimator, DecimationFilter, design_decimation
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.processing.joint_errors import JointErrors
from veh_identification.systems.humanoid.processing.signals import Samples
from veh_identification.systems.humanoid.recording.reader import Wrench
from veh_identification.types import Array, BoolArray

BLOCK = 2048
# Rows per second over the cut-off. Two would do for the information; three make the colour of
# the noise easier to describe.
ROWS_PER_CUTOFF = 3.0
# How much larger their correlation makes the variance of sums.
CORRELATION = 1.5
# Recordings whose rows fit into this are kept in memory, longer ones are made anew on each pass.
KEPT_BYTES = 400e6
SEPARATOR_ROWS = 8  # unusable rows between stretches, so that noise is not correlated across
# Offsets of wrench sensors over the load: of a tared one somebody trusts, and of one whose zero
# was read off in the recording itself.
OFFSET = 0.003
TARED_OFFSET = 0.0002
OWN_OFFSET = 0.03  # of recordings that have clearly others than the first one
HELD = 1e-3  # on the size of an offset that is not to be estimated
POSE_NAMES = ('x', 'y', 'z', 'rx', 'ry', 'rz')
BIAS_NAMES = ('imu.bias.x', 'imu.bias.y', 'imu.bias.z')
POSE_UNITS = ('m',) * 3 + ('rad',) * 3
POSE_SIZES = (0.02,) * 3 + (0.035,) * 3
# A skeleton of motion capture moves a little more or less than the masses do: skin slides over
# bones, and links are longer or shorter than in the model. Weight does not scale with it.
MOTION_SCALE, SCALE = 'motion.scale', 0.02


def source_label(source: Wrench) -> str:
    """Name of a wrench topic in names of unknowns."""
    return source.topic.removesuffix('/wrench').replace('/', '_')


def common_sources(groups: Sequence[Sequence[Wrench]]) -> tuple[Wrench, ...]:
    """Each wrench topic once; tared only if it is in every recording that holds it."""
    found: dict[str, Wrench] = {}
    for sources in groups:
        for one in sources:
            before = found.get(one.topic)
            both = one.tared and (before is None or before.tared)
            found[one.topic] = replace(before or one, tared=both)
    return tuple(found.values())


@dataclass(frozen=True)
class Unknowns:
    """Which columns stand beside the base parameters."""

    sources: tuple[Wrench, ...] = ()
    offset: bool = False
    pose: bool = False
    offset_scale: float = 1.0  # on how large offsets may be
    accelerometer: Array | None = None  # (3, 3) covariance of the bias of an IMU on the base
    parameters: Array | None = None  # (bodies, 10) a-priori ones, for that bias's columns
    drifting: tuple[str, ...] = ()  # recordings whose place comes from IMU and legs
    apart: tuple[str, ...] = ()  # further recordings with offsets of their own, '' for none
    weighed: bool = False  # vertical offsets are held at zero, only deviations allow for them
    # Plates do not move: of the offsets of several only the sum acts, and without a prior only
    # one of them can be estimated. It then stands for all.
    one_plate: bool = False
    # (base parameters,) about which the scale of the motion is an unknown, where there is one
    scaled: Array | None = None
    joints: JointErrors | None = None  # the last columns

    def _offsets(self, source: Wrench) -> bool:
        """Whether the sensor has offsets of its own."""
        first = next((one.topic for one in self.sources if one.is_plate), '')
        spoken_for = self.one_plate and source.is_plate and source.topic != first
        return self.offset and not spoken_for

    @property
    def _own_offsets(self) -> list[tuple[int, str]]:
        return [(k, label) for k, label in enumerate(self.apart, start=2) if label]

    @property
    def _drifts(self) -> list[tuple[str, str]]:
        """Recording and shape of each drift; the constant of the first one is the pose itself."""
        return [
            (label, shape)
            for k, label in enumerate(self.drifting)
            for shape in (('drift',) if k == 0 else (f'pose{k + 1}', f'drift{k + 1}'))
        ]

    @property
    def names(self) -> list[str]:
        """Names of the further columns, e.g. force_plate.offset.FZ, force_plate.pose.x."""
        names = []
        for source in self.sources:
            label = source_label(source)
            if self._offsets(source):
                names += [f'{label}.offset.{row}' for row in BASE_ROWS]
                names += [
                    f'{label}.offset{k}.{row}' for k, _ in self._own_offsets for row in BASE_ROWS
                ]
            if self.pose and source.is_plate:
                names += [f'{label}.pose.{name}' for name in POSE_NAMES]
                names += [
                    f'{label}.{shape}.{name}' for _, shape in self._drifts for name in POSE_NAMES
                ]
        names += [] if self.accelerometer is None else list(BIAS_NAMES)
        names += [] if self.scaled is None else [MOTION_SCALE]
        return names if self.joints is None else names + self.joints.names

    def place(self, source: Wrench, row: str) -> int | None:
        """Where the offset of a sensor stands among the further columns."""
        name = f'{source_label(source)}.offset.{row}'
        return self.names.index(name) if name in self.names else None

    @property
    def units(self) -> list[str]:
        """Units of the further columns."""
        units: list[str] = []
        for source in self.sources:
            if self._offsets(source):
                units += (['N'] * 3 + ['N m'] * 3) * (1 + len(self._own_offsets))
            if self.pose and source.is_plate:
                units += list(POSE_UNITS) * (1 + len(self._drifts))
        units += [] if self.accelerometer is None else ['m/s^2'] * 3
        units += [] if self.scaled is None else ['-']
        return units if self.joints is None else units + self.joints.units

    def covariance(self, load: float) -> Array:
        """A-priori covariance of the further columns; `load` [N] is the weight."""
        parts = [np.diag(np.square(self._deviations(load)))]
        parts += [] if self.accelerometer is None else [self.accelerometer]
        parts += [] if self.scaled is None else [np.array([[SCALE**2]])]
        parts += [] if self.joints is None else [np.diag(np.square(self.joints.deviations))]
        return np.asarray(block_diag(*parts))

    def _deviations(self, load: float) -> Array:
        """How large each may be: 0.3 % of the load, that at 0.1 m for moments; 20 mm, 2 deg."""
        size: list[float] = []
        for source in self.sources:
            share = TARED_OFFSET if source.tared else OFFSET * self.offset_scale
            if self._offsets(source):
                held = HELD if self.weighed and not source.tared else 1.0
                one = [share * load] * 2 + [held * share * load] + [0.1 * share * load] * 3
                size += one
                size += ([OWN_OFFSET * load] * 3 + [0.1 * OWN_OFFSET * load] * 3) * len(
                    self._own_offsets
                )
            if self.pose and source.is_plate:
                size += list(POSE_SIZES) * (1 + len(self._drifts))
        return np.array(size)

    def columns(
        self, samples: Samples, rows: slice, regressor: Regressor, wrenches: Array | None
    ) -> Array:
        """(n, 6, columns) at the base origin in base axes, but for those of scale and joints.

        Zero for sensors that are not in use.
        """
        count = len(range(*rows.indices(len(samples))))
        topics = [source.topic for source in samples.sources]
        parts: list[Array] = []
        for known in self.sources:
            moved = int(self.pose and known.is_plate) * (1 + len(self._drifts))
            offsets = int(self._offsets(known))
            width = 6 * (offsets * (1 + len(self._own_offsets)) + moved)
            if known.topic not in topics:
                parts.append(np.zeros((count, 6, width)))
                continue
            k = topics.index(known.topic)
            K = _to_base(samples, rows, regressor, samples.sources[k])
            if offsets:
                parts.append(K)
                parts += [K * float(label == samples.label) for _, label in self._own_offsets]
            if self.pose and known.is_plate and wrenches is not None:
                # A plate that stands a little elsewhere: W x = Y + K (ad F) d, hence the minus.
                effect = -K @ _pose_effect(wrenches[rows, k])
                parts.append(effect)
                parts += [effect * share[rows, None, None] for share in self._shares(samples)]
        if self.accelerometer is not None:
            # Y = W(f) x, where the accelerometer shows f + e: W(f + e) x - D e = Y.
            parts.append(-_unit_accelerations(samples.motion[rows], regressor, self.parameters))
        return np.concatenate(parts, axis=2) if parts else np.zeros((count, 6, 0))

    def _shares(self, samples: Samples) -> list[Array]:
        """Each drift (N,) over time: from -1 to 1 over its recording, a pose is 1; else zero."""
        if not self._drifts:
            return []
        seen = samples.stamps_ns[samples.valid]
        first, last = (seen[0], seen[-1]) if len(seen) else (0, 1)
        when = np.clip(2.0 * (samples.stamps_ns - first) / max(last - first, 1) - 1.0, -1.0, 1.0)
        return [
            (when if shape.startswith('drift') else np.ones_like(when))
            * float(label == samples.label)
            for label, shape in self._drifts
        ]


def _to_base(samples: Samples, rows: slice, regressor: Regressor, source: Wrench) -> Array:
    """K (n, 6, 6): from a wrench in the sensor's frame to the base origin and axes."""
    rotation, place = samples.rotation[rows], samples.position[rows]
    if source.pose is not None:
        R = np.swapaxes(rotation, -1, -2) @ source.pose.rotation
        arm = np.einsum('nji,nj->ni', rotation, source.pose.position - place)
    else:
        frame = regressor.model.frame(source.frame)
        bodies = body_motion(regressor.model, samples.motion[rows])
        R = bodies.orientation[:, frame.body] @ frame.rotation
        arm = (
            bodies.position[:, frame.body] + bodies.orientation[:, frame.body] @ frame.translation
        )
    K = np.zeros((len(R), 6, 6))
    K[:, :3, :3] = K[:, 3:, 3:] = R
    K[:, 3:, :3] = skew(arm) @ R
    return K


def _unit_accelerations(motion: Motion, regressor: Regressor, parameters: Array | None) -> Array:
    """D (n, 6, 3): wrenches that unit accelerations of the whole robot in its posture take."""
    rest, still = np.zeros_like(motion.q), np.zeros_like(motion.base_acceleration)
    columns = []
    for axis in np.eye(3):
        posture = floating_base_motion(motion.q, rest, rest, still + axis, still, still)
        columns.append(inverse_dynamics(regressor.model, posture, parameters)[:, :6])
    return np.stack(columns, axis=2)


def _pose_effect(wrench: Array) -> Array:
    """(n, 6, 6): change of a plate's wrench at its nominal frame per shift and turn of it."""
    force, moment = wrench[:, :3], wrench[:, 3:]
    effect = np.zeros((len(wrench), 6, 6))
    # Shift d: moment + d x F; turn a: force + a x F, moment + a x N.
    effect[:, 3:, :3] = -skew(force)
    effect[:, :3, 3:] = -skew(force)
    effect[:, 3:, 3:] = -skew(moment)
    return effect


@dataclass(frozen=True, eq=False)
class Equations:
    """The rows of one recording for a regressor and a cut-off."""

    samples: Samples
    usable: BoolArray  # on the grid
    regressor: Regressor
    low_pass: DecimationFilter
    unknowns: Unknowns
    plates: Array | None = None  # (N, S, 6) filtered sensor values, for the poses' columns

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """(W, Y) of decimated rows; unusable ones are NaN."""
        for W, Y, _ in self.stamped_blocks():
            yield W, Y

    def stamped_blocks(self) -> Iterator[tuple[Array, Array, NDArray[np.int64]]]:
        """Rows with their stamps (0 for separators)."""
        columns = self.regressor.shape[1] + len(self.unknowns.names)
        for segment in self._segments():
            left, right = BlockDecimator(self.low_pass), BlockDecimator(self.low_pass)
            for first in range(segment.start, segment.stop, BLOCK):
                rows = slice(first, min(first + BLOCK, segment.stop))
                begin = left.outputs
                W, Y = left.push(self._rows(rows)), right.push(self.samples.wrench[rows])
                if not len(W):
                    continue
                places = (
                    segment.start
                    + self.low_pass.half_length
                    + self.low_pass.factor * np.arange(begin, left.outputs)
                )
                bad = ~self._row_usable(places)
                Y[bad] = np.nan
                yield W, Y, self.samples.stamps_ns[places]
            yield (
                np.zeros((SEPARATOR_ROWS, 6, columns)),
                np.full((SEPARATOR_ROWS, 6), np.nan),
                np.zeros(SEPARATOR_ROWS, dtype=np.int64),
            )

    @property
    def separators(self) -> int:
        """Rows of the blocks that stand for nothing measured."""
        return SEPARATOR_ROWS * len(self._segments())

    def _segments(self) -> list[slice]:
        return contiguous_segments(self.samples.valid, len(self.low_pass.taps))

    def _rows(self, rows: slice) -> Array:
        W = self.regressor.compute(self.samples.motion[rows])
        if not self.unknowns.names:
            return W
        more = [self.unknowns.columns(self.samples, rows, self.regressor, self.plates)]
        if self.unknowns.scaled is not None:
            more.append(np.zeros((len(W), 6, 1)))  # other recordings may tell it
        if self.unknowns.joints is not None:
            more.append(self.unknowns.joints.columns(self.samples.motion[rows]))
        return np.concatenate([W, *more], axis=2)

    def _row_usable(self, places: NDArray[np.int64]) -> BoolArray:
        """Rows whose filter rests on usable samples, but for the faint ends of its response."""
        reach = int(0.6 * self.low_pass.half_length)
        bad = np.concatenate([[0], np.cumsum(~self.usable)])
        low = np.maximum(places - reach, 0)
        high = np.minimum(places + reach + 1, len(self.usable))
        return np.asarray(bad[high] == bad[low])

    def size(self) -> float:
        """Bytes of all rows."""
        return 48.0 * self.regressor.shape[1] * len(self.samples) / self.low_pass.factor


def row_filter(rate: float, cutoff_hz: float) -> DecimationFilter:
    """Short linear-phase low-pass with half gain at the cut-off."""
    factor = max(1, int(rate / (ROWS_PER_CUTOFF * cutoff_hz)))
    return design_decimation(rate, cutoff_hz, factor=factor, transition=1.0, attenuation_db=40.0)


def as_source(equations: Sequence[Equations]) -> BlockSource:
    """All recordings as one source of blocks, in memory when they fit."""

    def blocks() -> Iterator[tuple[Array, Array]]:
        for one in equations:
            yield from one.blocks()

    if sum(one.size() for one in equations) > KEPT_BYTES:
        return FactoryBlocks(blocks)
    kept = list(blocks())
    if not kept:
        raise EstimationError('no stretch of the recordings is long enough for the filter')
    if not any(np.isfinite(Y).all(axis=1).any() for _, Y in kept):
        raise EstimationError('no row of the equations rests on usable samples alone')
    return ArrayBlocks(np.concatenate([W for W, _ in kept]), np.concatenate([Y for _, Y in kept]))
