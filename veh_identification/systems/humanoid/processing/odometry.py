"""Recordings without motion capture: biases of the IMU, and leg odometry where plates need it.

Sensors on the robot need no world at all: the base-link rows ask for specific force and angular
rates in base axes only. Plates stand in the world, so the robot's place on them is needed: its
attitude comes from the IMU, its height and displacement from the foot that stands, and the place
and heading of all that on the plates from the centre of pressure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.spatial.transform import Rotation

from veh_identification.errors import ModelError, SignalError
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.motion import fixed_base_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.configuration import Configuration
from veh_identification.systems.humanoid.processing.imu_calibration import (
    SHORTEST,
    Calibration,
    calibrate,
)
from veh_identification.systems.humanoid.processing.signals import (
    Raw,
    Samples,
    filtered,
    to_grid,
    with_wrenches,
)
from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.types import Array

SOLES = (
    ('l_sole', 'r_sole'),
    ('l_foot', 'r_foot'),
    ('left_sole', 'right_sole'),
    ('left_foot', 'right_foot'),
    ('l_ankle', 'r_ankle'),
)
SMOOTHED = 0.2  # s, of velocities from the legs
LOWER = 0.005  # m by which the other foot must be lower to become the one that stands
JUDGING_HZ = 2.0  # cut-off at which centres of pressure are compared
CANCELLED = 0.01  # of the vertical variance: what is left of the horizontal one
LOADED = 0.6  # share of the weight
# What one centre of pressure and one horizontal force (over the weight) tell of the heading.
PRESSURE_NOISE = 0.01
FORCE_NOISE = 0.02


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the odometry's frame lies in the world: heading and shift."""

    heading: float
    shift: Array  # (2,)


def gridded(recording: Recording, model: TreeModel, configuration: Configuration) -> Raw:
    """All signals on one grid; those of an IMU calibrated, the robot placed on its plates."""
    raw = to_grid(recording, model, configuration.rate_hz)
    if raw.imu is None:
        return raw
    segments = contiguous_segments(raw.valid, round(SHORTEST * raw.rate) + 16)
    if not segments:
        raise SignalError(
            f'{raw.label}: {SHORTEST:g} s with all signals are needed to find the '
            'attitude of the IMU'
        )
    turned = raw.pose.reshape(-1, 2, 3) @ raw.imu.rotation.T  # rates and forces in base axes
    feet = foot_positions(model, raw.joints, foot_frames(model, configuration.feet))
    plates = any(source.is_plate for source in raw.sources)
    attitude = np.tile(np.eye(3), (len(raw.stamps), 1, 1))
    valid = np.zeros(len(raw.stamps), dtype=bool)
    longest = max(segments, key=lambda s: s.stop - s.start)
    # One stretch gives the biases; the others need them for their attitudes only.
    for segment in [longest, *(s for s in segments if s is not longest and plates)]:
        found = _calibrated(
            raw.stamps[segment],
            turned[segment],
            feet[:, segment],
            raw.imu.translation,
            configuration.gravity,
        )
        attitude[segment] = found.rotation
        valid[segment] = True
        if segment is longest:
            turned = turned - np.stack([found.gyroscope_bias, found.accelerometer_bias])
            covariance = found.accelerometer_covariance
    # The filter turns them to base axes again.
    values = (turned @ raw.imu.rotation).reshape(-1, 6)
    raw = replace(raw, pose=values, accelerometer=covariance)
    if not plates:
        return raw
    return _placed(replace(raw, valid=raw.valid & valid), model, attitude, feet, configuration)


def _calibrated(
    stamps: Array, turned: Array, feet: Array, arm: Array, gravity: float
) -> Calibration:
    """Attitude and biases, first without the legs, then with the velocity that they show."""
    found = calibrate(stamps, turned[:, 0], turned[:, 1], gravity)
    width = max(1, round(SMOOTHED * len(stamps) / (stamps[-1] - stamps[0])))
    for _ in range(2):
        R = found.rotation
        place = leg_odometry(np.einsum('nij,fnj->fni', R, feet)) + R @ arm
        smooth = uniform_filter1d(place, width, axis=0, mode='nearest')
        velocity = np.einsum('nji,nj->ni', R, np.gradient(smooth, stamps, axis=0))
        found = calibrate(stamps, turned[:, 0], turned[:, 1], gravity, velocity)
    return found


def _placed(raw: Raw, model: TreeModel, attitude: Array, feet: Array, c: Configuration) -> Raw:
    """The recording with poses in the world from leg odometry, stretch by stretch.

    The attitude was levelled with the same accelerometer, so that its horizontal bias turns the
    plates' wrenches along with gravity and cancels; the vertical one stays.
    """
    inertial = raw.pose
    assert raw.accelerometer is not None
    up = attitude[raw.valid][:, 2].mean(axis=0)
    up /= np.linalg.norm(up)
    vertical = float(up @ raw.accelerometer @ up)
    raw = replace(raw, accelerometer=vertical * (np.outer(up, up) + CANCELLED * np.eye(3)))
    pose = np.full((len(raw.stamps), 7), np.nan)
    for segment in contiguous_segments(raw.valid):
        R = attitude[segment]
        place = leg_odometry(np.einsum('nij,fnj->fni', R, feet[:, segment]), c.ground)
        pose[segment] = np.hstack([place, Rotation.from_matrix(R).as_quat()])
    moved = with_wrenches(replace(raw, pose=pose, inertial=inertial), model, raw.wrenches)
    samples = filtered(moved, JUDGING_HZ, c.gravity)
    predicted = inverse_dynamics(model, samples.motion)[:, :6]
    valid = np.zeros(len(raw.stamps), dtype=bool)
    for segment in contiguous_segments(raw.valid):
        use = np.zeros_like(valid)
        use[segment] = samples.valid[segment]
        found = placement(_world(predicted, samples)[use], _world(samples.wrench, samples)[use])
        if found is None:
            continue
        pose[segment] = _moved(pose[segment], found)
        valid[segment] = True
    if not valid.any():
        raise SignalError(
            f'{raw.label}: the robot was never on the plates long enough to find its place on them'
        )
    return with_wrenches(replace(moved, pose=pose, valid=raw.valid & valid), model, raw.wrenches)


def foot_frames(model: TreeModel, given: Sequence[str] = ()) -> tuple[str, ...]:
    """The soles: as configured, by the usual names, else the two lowest ends of the tree."""
    for name in given:
        if name not in model.frames and name not in model.body_names:
            raise ModelError(f'feet names {name!r}, which is no link of {model.name}')
    if given:
        return tuple(given)
    for names in SOLES:
        if all(name in model.frames or name in model.body_names for name in names):
            return names
    ends = [name for k, name in enumerate(model.body_names) if k not in set(model.parent)]
    still = np.zeros((1, model.dof))
    heights = body_motion(model, fixed_base_motion(still, still, still)).position[0, :, 2]
    return tuple(sorted(ends, key=lambda name: heights[model.body_index(name)])[:2])


def foot_positions(model: TreeModel, joints: Array, frames: Sequence[str]) -> Array:
    """Places (feet, N, 3) of the soles in the base."""
    q = np.nan_to_num(joints)
    bodies = body_motion(model, fixed_base_motion(q, np.zeros_like(q), np.zeros_like(q)))
    places = []
    for name in frames:
        frame = model.frame(name)
        places.append(
            bodies.position[:, frame.body] + bodies.orientation[:, frame.body] @ frame.translation
        )
    return np.array(places)


def leg_odometry(feet: Array, ground: float = 0.0) -> Array:
    """Positions (N, 3) of the base from soles (feet, N, 3) relative to it in level axes.

    The foot that stands is at the height of the ground and does not move.
    """
    standing = standing_foot(feet[:, :, 2])
    anchor = np.array([0.0, 0.0, ground])
    place = np.empty(feet.shape[1:])
    place[0] = anchor - feet[standing[0], 0]
    for k in range(1, feet.shape[1]):
        if standing[k] != standing[k - 1]:
            anchor = place[k - 1] + feet[standing[k], k - 1]
            anchor[2] = ground
        place[k] = anchor - feet[standing[k], k]
    return place


def standing_foot(heights: Array) -> NDArray[np.intp]:
    """Index (N,) of the foot that stands, from heights (feet, N) relative to the base.

    Another foot has taken over when it is clearly the lower one, from the last instant on at
    which it was not lower: before that both stood, after it the first one was lifted.
    """
    standing = np.zeros(heights.shape[1], dtype=np.intp)
    current, since = int(np.argmin(heights[:, 0])), 0
    for k in range(heights.shape[1]):
        lowest = int(np.argmin(heights[:, k]))
        if heights[lowest, k] < heights[current, k] - LOWER:
            equal = np.flatnonzero(heights[current, since:k] <= heights[lowest, since:k])
            change = since + int(equal[-1]) if len(equal) else since
            standing[since:change] = current
            current, since = lowest, change
    standing[since:] = current
    return standing


def placement(predicted: Array, measured: Array) -> Placement | None:
    """Heading and shift that bring predicted wrenches (N, 6), about the origin, to measured ones.

    Centres of pressure must coincide, and horizontal forces must point the same way.
    """
    if not len(measured):
        return None
    weight = float(np.percentile(measured[:, 2], 90))
    use = (measured[:, 2] > LOADED * weight) & (predicted[:, 2] > 0.0) & (weight > 0.0)
    if use.sum() < 20:
        return None
    points, forces = [], []
    for wrench in (predicted[use], measured[use]):
        points.append((-wrench[:, 4] + 1j * wrench[:, 3]) / wrench[:, 2])
        forces.append((wrench[:, 0] + 1j * wrench[:, 1]) / wrench[:, 2])
    around = [one - one.mean() for one in points]
    total = (
        np.sum(np.conj(around[0]) * around[1]) / PRESSURE_NOISE**2
        + np.sum(np.conj(forces[0]) * forces[1]) / FORCE_NOISE**2
    )
    turn = total / abs(total)
    shift = points[1].mean() - turn * points[0].mean()
    return Placement(float(np.angle(turn)), np.array([shift.real, shift.imag]))


def _moved(pose: Array, found: Placement) -> Array:
    turn = Rotation.from_euler('z', found.heading)
    place = turn.apply(pose[:, :3]) + np.append(found.shift, 0.0)
    return np.hstack([place, (turn * Rotation.from_quat(pose[:, 3:])).as_quat()])


def _world(wrench: Array, samples: Samples) -> Array:
    """Wrenches at the base origin in base axes, moved to the world's origin and axes."""
    force = np.einsum('nij,nj->ni', samples.rotation, wrench[:, :3])
    moment = np.einsum('nij,nj->ni', samples.rotation, wrench[:, 3:])
    return np.hstack([force, moment + np.cross(samples.position, force)])
