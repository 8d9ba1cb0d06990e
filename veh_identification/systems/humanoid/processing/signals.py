"""From series to signals: one grid, one zero-phase filter for every signal of the equations.

Wrenches are brought to the axes of the world about one fixed point and added up; base, joints and
wrench then pass one filter, well above the cut-off of the equations. Both sides of equation (4)
are formed from these signals and filtered once more, alike, in `equations`: what a filter takes
away is missing on both sides, and products of signals are filtered as products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import ModelError, SignalError
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.motion import Motion, fixed_base_motion, floating_base_motion
from veh_identification.multibody.tree import Frame, TreeModel
from veh_identification.signals import (
    Derivatives,
    TimeSeries,
    ZeroPhaseFilter,
    base_motion,
    common_grid,
    resample,
    rotation_matrix,
)
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.processing.doubts import Doubt
from veh_identification.systems.humanoid.recording.base_signals import Mount
from veh_identification.systems.humanoid.recording.reader import Recording, Wrench
from veh_identification.types import Array, BoolArray

LARGEST_RATE = 500.0
# s without samples that interpolation may bridge: bodies move smoothly, loads change at once.
LONGEST_BRIDGE = 0.1
LONGEST_FORCE_BRIDGE = 0.05
GAP_PERIODS = 4.0  # or so many periods of the slowest signal
# Share of the impulse response that may reach over the end of a segment: shorter than the
# library's default, because supports on plates often last a second or two only.
TRANSIENT = 0.01
# The signals' cut-off over that of the equations: wide enough to leave the equations alone, and
# narrow enough to keep squares of noise (angular velocities) out of them.
SIGNAL_CUTOFF = 2.5


@dataclass(frozen=True, eq=False)
class Raw:
    """All signals of one recording on one grid, unfiltered; NaN where `valid` is false."""

    label: str
    epoch_ns: int
    rate: float
    stamps: Array
    joints: Array  # (N, dof) in the order of the model's coordinates
    pose: Array  # (N, 7), or (N, 6) angular velocity and specific force of an IMU on the base
    wrenches: Array  # (N, S, 6) as each sensor shows them
    world: Array  # (N, 6) all wrenches in world axes about `centre`
    centre: Array
    valid: BoolArray
    sources: tuple[Wrench, ...]
    imu: Frame | None = None  # where it sits on the base
    inertial: Array | None = None  # (N, 6) of the IMU, when `pose` holds leg odometry
    accelerometer: Array | None = None  # (3, 3) covariance of what is left of its bias
    doubt: Doubt | None = None  # an error of joints or links that deviations must allow for

    @property
    def in_base(self) -> bool:
        """True when there is no pose: wrenches are then in base axes."""
        return self.imu is not None and self.inertial is None


@dataclass(frozen=True, eq=False)
class Samples:
    """Filtered signals of one recording on its grid; use only the `valid` ones."""

    label: str
    rate: float
    stamps_ns: NDArray[np.int64]
    motion: Motion
    wrench: Array  # (N, 6) measured, at the base origin in base axes
    rotation: Array  # base to world
    position: Array
    valid: BoolArray
    centre: Array
    sources: tuple[Wrench, ...]
    velocity: Array | None = None  # (N, 3) of the base origin in base axes, where a pose tells

    def __len__(self) -> int:
        return len(self.wrench)


def to_grid(recording: Recording, model: TreeModel, rate: float = 0.0) -> Raw:
    """Bring joints, base and wrenches of a recording to one grid."""
    moving = list(model.coordinate_names)
    kinematic: list[TimeSeries] = [recording.base]
    places: list[tuple[int, list[str]]] = []
    for group in recording.joints:
        used = [name for name in group.names if name in moving]
        if used:
            kinematic.append(group.select(used))
            places.append((len(kinematic) - 1, used))
    if not rate:
        rate = min(max(1.0 / one.median_period for one in kinematic), LARGEST_RATE)
    stamps, values, valid = _synchronised(recording, kinematic, rate)
    joints = np.full((len(stamps), model.dof), np.nan)
    for index, names in places:
        for k, name in enumerate(names):
            joints[:, model.coordinate_index(name)] = values[index][:, k]
    wrenches = np.stack(values[len(kinematic) :], axis=1)
    raw = Raw(
        recording.label,
        recording.base.epoch_ns,
        rate,
        stamps,
        joints,
        values[0],
        wrenches,
        np.empty((len(stamps), 6)),
        np.zeros(3),
        valid,
        recording.wrenches,
        None if recording.mount is None else imu_frame(model, recording.mount),
    )
    return with_wrenches(raw, model, wrenches)


def _synchronised(
    recording: Recording, kinematic: Sequence[TimeSeries], rate: float
) -> tuple[Array, list[Array], BoolArray]:
    """Stamps, values of base, joints and wrenches, and where all of them are known."""
    forces = [w.series for w in recording.wrenches]
    stamps, _ = common_grid([*kinematic, *forces], rate)
    # What matters is how far the motion goes within a gap, not how many samples it has.
    slowest = GAP_PERIODS * max(one.median_period for one in (*kinematic, *forces))
    values, known = [], np.ones(len(stamps), dtype=bool)
    for group, bridge in ((kinematic, LONGEST_BRIDGE), (forces, LONGEST_FORCE_BRIDGE)):
        for one in group:
            value, valid = resample(one, stamps, max_gap=max(bridge, slowest), keep_ends=True)
            values.append(value)
            known &= valid
    if not known.any():
        raise SignalError(
            f'{recording.label}: there is no time at which joints, base and wrenches are all known'
        )
    return stamps, values, known


def with_wrenches(raw: Raw, model: TreeModel, wrenches: Array) -> Raw:
    """The same recording with other sensor values (offsets taken off, frames tried out)."""
    places = raw.pose[raw.valid, :3]
    # A stretch without any pose has no place either, and no row of it is used.
    centre = np.zeros(3) if raw.in_base or not len(places) else np.nanmean(places, axis=0)
    world = np.zeros((len(raw.stamps), 6))
    for k, source in enumerate(raw.sources):
        rotation, place = sensor_pose(raw, model, source)
        force = np.einsum('nij,nj->ni', rotation, wrenches[:, k, :3])
        moment = np.einsum('nij,nj->ni', rotation, wrenches[:, k, 3:])
        world += np.hstack([force, moment + np.cross(place - centre, force)])
    return replace(raw, wrenches=wrenches, world=world, centre=centre)


def sensor_pose(raw: Raw, model: TreeModel, source: Wrench) -> tuple[Array, Array]:
    """Rotation (N, 3, 3) and place (N, 3) of a sensor's frame in the world."""
    count = len(raw.stamps)
    if source.pose is not None:
        return (
            np.broadcast_to(source.pose.rotation, (count, 3, 3)),
            np.broadcast_to(source.pose.position, (count, 3)),
        )
    frame = model.frame(source.frame)
    still = np.zeros_like(raw.joints)
    bodies = body_motion(model, _posture(np.nan_to_num(raw.joints), still))
    local = bodies.orientation[:, frame.body]
    place = bodies.position[:, frame.body] + local @ frame.translation
    if raw.in_base:
        return local @ frame.rotation, place
    quaternion = np.where(raw.valid[:, None], raw.pose[:, 3:], np.array([0.0, 0.0, 0.0, 1.0]))
    base = rotation_matrix(quaternion)
    return (base @ local @ frame.rotation, raw.pose[:, :3] + np.einsum('nij,nj->ni', base, place))


def _posture(q: Array, still: Array) -> Motion:
    return fixed_base_motion(q, still, still)


def filtered(raw: Raw, cutoff_hz: float, gravity: float) -> Samples:
    """Filter all signals alike and form motion and total wrench of equation (4)."""
    low_pass = signal_filter(raw, cutoff_hz)
    if not contiguous_segments(raw.valid, low_pass.minimum_length):
        longest = max((s.stop - s.start for s in contiguous_segments(raw.valid)), default=0)
        raise SignalError(
            f'{raw.label}: the longest stretch with all signals lasts {longest / raw.rate:.3g} s, '
            f'too short for a cut-off of {cutoff_hz:g} Hz '
            f'({low_pass.minimum_length / raw.rate:.3g} s)'
        )
    joints = low_pass.derivatives(raw.joints, raw.valid)
    if raw.in_base:
        return _inertial(raw, low_pass, joints)
    base = base_motion(raw.pose[:, :3], raw.pose[:, 3:], low_pass, raw.valid)
    world, _ = low_pass.apply(raw.world, raw.valid)
    valid = joints.valid & base.valid
    rotation = np.where(valid[:, None, None], base.rotation, np.eye(3))
    if raw.inertial is None:
        turned = np.einsum('nji,j->ni', rotation, np.array([0.0, 0.0, gravity]))
        moving = (
            np.nan_to_num(base.acceleration_body) + turned,
            np.nan_to_num(base.angular_velocity),
            np.nan_to_num(base.angular_acceleration),
        )
    else:
        moving = _base_from_imu(raw, raw.inertial, low_pass)[:3]
    motion = floating_base_motion(
        np.nan_to_num(joints.position),
        np.nan_to_num(joints.velocity),
        np.nan_to_num(joints.acceleration),
        *moving,
    )
    position = np.nan_to_num(base.position)
    wrench = at_base(np.nan_to_num(world), rotation, position - raw.centre)
    return Samples(
        raw.label,
        raw.rate,
        raw.epoch_ns + np.rint(raw.stamps * 1e9).astype(np.int64),
        motion,
        wrench,
        rotation,
        position,
        valid,
        raw.centre,
        raw.sources,
        None if raw.inertial is not None else np.nan_to_num(base.velocity_body),
    )


def _inertial(raw: Raw, low_pass: ZeroPhaseFilter, joints: Derivatives) -> Samples:
    """Motion of the base from an IMU on it; the base frame takes the place of the world."""
    force, omega, alpha, valid = _base_from_imu(raw, raw.pose, low_pass)
    motion = floating_base_motion(
        np.nan_to_num(joints.position),
        np.nan_to_num(joints.velocity),
        np.nan_to_num(joints.acceleration),
        force,
        omega,
        alpha,
    )
    wrench, _ = low_pass.apply(raw.world, raw.valid)
    count = len(raw.stamps)
    return Samples(
        raw.label,
        raw.rate,
        raw.epoch_ns + np.rint(raw.stamps * 1e9).astype(np.int64),
        motion,
        np.nan_to_num(wrench),
        np.tile(np.eye(3), (count, 1, 1)),
        np.zeros((count, 3)),
        joints.valid & valid,
        raw.centre,
        raw.sources,
    )


def _base_from_imu(
    raw: Raw, values: Array, low_pass: ZeroPhaseFilter
) -> tuple[Array, Array, Array, BoolArray]:
    """Specific force at the base origin, angular velocity and acceleration in base axes."""
    assert raw.imu is not None
    turned = values.reshape(-1, 2, 3) @ raw.imu.rotation.T
    rates = low_pass.derivatives(turned[:, 0], raw.valid)
    force, _ = low_pass.apply(turned[:, 1], raw.valid)
    omega, alpha = np.nan_to_num(rates.position), np.nan_to_num(rates.velocity)
    arm = raw.imu.translation
    specific = np.nan_to_num(force) - np.cross(alpha, arm) - np.cross(omega, np.cross(omega, arm))
    return specific, omega, alpha, rates.valid


def imu_frame(model: TreeModel, mount: Mount) -> Frame:
    """Where the IMU sits on the base: by its link, else by /tf_static."""
    known = mount.frame in model.frames or mount.frame in model.body_names
    if not known:
        if mount.pose is None:
            raise ModelError(
                f"the IMU's frame {mount.frame!r} is neither a link of {model.name} "
                'nor connected to the base in /tf_static'
            )
        return Frame(0, mount.pose.rotation, mount.pose.position)
    frame = model.frame(mount.frame)
    if frame.body != 0:
        raise ModelError(
            f"the IMU's frame {mount.frame!r} is on {model.body_names[frame.body]}, "
            f'expected it on the base link {model.body_names[0]}'
        )
    return frame


def signal_filter(raw: Raw, cutoff_hz: float) -> ZeroPhaseFilter:
    """The filter of the signals for equations with the given cut-off."""
    wide = min(SIGNAL_CUTOFF * cutoff_hz, 0.45 * raw.rate)
    return ZeroPhaseFilter(raw.rate, wide, tolerance=TRANSIENT, label=raw.label)


def at_base(world: Array, rotation: Array, arm: Array) -> Array:
    """World wrench about a point as a wrench at the base origin, which lies `arm` from it."""
    force, moment = world[:, :3], world[:, 3:] - np.cross(arm, world[:, :3])
    return np.hstack(
        [np.einsum('nji,nj->ni', rotation, force), np.einsum('nji,nj->ni', rotation, moment)]
    )
