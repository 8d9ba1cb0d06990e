"""How good an estimated motion is beside the truth of a simulated drive, and how honest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from veh_identification.runtime.bags import read_columns
from veh_identification.simulation.road_car.drive import RoadDrive

Array = NDArray[np.float64]
STATES = ('x', 'y', 'z', 'vx', 'vy', 'vz', 'roll', 'pitch', 'yaw')
SETTLED = 10.0  # seconds of an estimate that are not judged
LOW, HIGH = 0.5, 2.0  # NEES of one state that passes


@dataclass(frozen=True, eq=False)
class Estimate:
    """Pose of base_link in odom, twist in base_link, deviations of STATES (NaN: not told).

    The deviations of x, y, z are along odom, of the velocities along base_link, and of the angles
    about the axes of the car turned level.
    """

    time: Array  # seconds since the start of the drive
    position: Array  # (N, 3)
    rotation: Array  # (N, 3, 3)
    velocity: Array  # (N, 3) in base_link
    deviation: Array  # (N, 9)


def about_z(angle: Array) -> Array:
    """Rotations (N, 3, 3) about the vertical."""
    return np.asarray(Rotation.from_rotvec(np.outer(angle, [0.0, 0.0, 1.0])).as_matrix())


def of_odometry(bag: str | Path, topic: str, epoch_ns: int, shift: Array) -> Estimate:
    """The odometry messages of a bag; `shift` takes positions to the truth's origin."""
    rows = read_columns(bag, {topic: None})[topic]

    def table(prefix: str, names: str) -> Array:
        return np.column_stack([rows[f'{prefix}.{name}'] for name in names])

    def covariance(prefix: str) -> Array:
        return np.asarray(rows[f'{prefix}.covariance'].reshape(-1, 6, 6))

    rotation = Rotation.from_quat(table('pose.pose.orientation', 'xyzw')).as_matrix()
    pose, twist = covariance('pose'), covariance('twist')
    heading = np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
    level = about_z(heading)
    angles = np.einsum('nji,njk,nkl->nil', level, pose[:, 3:, 3:], level)
    variance = np.hstack(
        [
            np.diagonal(pose[:, :3, :3], axis1=1, axis2=2),
            np.diagonal(twist[:, :3, :3], axis1=1, axis2=2),
            np.diagonal(angles, axis1=1, axis2=2),
        ]
    )
    with np.errstate(invalid='ignore'):
        deviation = np.where(variance > 0.0, np.sqrt(variance), np.nan)
    return Estimate(
        (rows.stamps_ns - epoch_ns) * 1e-9,
        table('pose.pose.position', 'xyz') + shift,
        rotation,
        table('twist.twist.linear', 'xyz'),
        deviation,
    )


def _gaps(found: Estimate, drive: RoadDrive) -> tuple[Array, Array]:
    """Estimate minus truth (N, 9) as the deviations are given, and where that could be judged."""
    record = drive.record
    row = np.round(found.time / record.time[1]).astype(np.int64)
    inside = (row >= 0) & (row < len(record.table))
    row = np.where(inside, row, 0)
    true = record.rotation[row]
    # the truth at the stamp itself: up to half a millisecond from its row
    late = (found.time - record.time[row])[:, None]
    place = record.position[row] + late * record.velocity[row]
    speed = np.einsum('nji,nj->ni', true, record.velocity[row])
    turned = Rotation.from_matrix(found.rotation @ np.swapaxes(true, 1, 2)).as_rotvec()
    heading = np.arctan2(true[:, 1, 0], true[:, 0, 0])
    level = about_z(heading)
    angles = np.einsum('nji,nj->ni', level, turned)
    return np.hstack([found.position - place, found.velocity - speed, angles]), inside


@dataclass(frozen=True)
class Score:
    """Figures of one estimate."""

    rms: float  # horizontal error of the position [m]
    largest: float
    rms_height: float
    rms_speed: float
    rms_yaw: float
    nees: dict[str, float]  # mean squared error over variance, of each state
    drift: float  # horizontal error that an outage adds, over the way driven in it; NaN: none
    share: float  # of the drive that was estimated

    def dishonest(self) -> list[str]:
        """States whose NEES is too small or too large."""
        return [n for n, v in self.nees.items() if np.isfinite(v) and not LOW <= v <= HIGH]


def _drift(found: Estimate, error: Array, drive: RoadDrive) -> float:
    wrong = drive.faults
    if wrong.outage <= 0.0:
        return float('nan')
    begin, end = wrong.outage_time, min(wrong.outage_time + wrong.outage, drive.duration)
    first, last = np.searchsorted(found.time, [begin, end - 0.02])
    last = min(last, found.time.size - 1)
    rows = slice(*(int(t / drive.record.time[1]) for t in (begin, end)))
    steps = np.diff(drive.record.position[rows], axis=0)
    way = float(np.linalg.norm(steps, axis=1).sum())
    return float(np.hypot(*(error[last] - error[first])) / max(way, 1.0))


def score(found: Estimate, drive: RoadDrive) -> Score:
    """Judge an estimate from ten seconds after its begin on."""
    gaps, inside = _gaps(found, drive)
    begin = drive.faults.skip + SETTLED
    used = inside & (found.time >= begin)
    if not used.any():
        nan = float('nan')
        return Score(nan, nan, nan, nan, nan, dict.fromkeys(STATES, nan), nan, 0.0)
    e, deviation = gaps[used], found.deviation[used]
    with np.errstate(all='ignore'):
        ratios = np.square(e / deviation)
        nees = {
            name: float(np.nanmean(ratios[:, k])) if np.isfinite(ratios[:, k]).any() else np.nan
            for k, name in enumerate(STATES)
        }
        flat = np.hypot(e[:, 0], e[:, 1])
        span = drive.duration - begin
        return Score(
            float(np.sqrt(np.mean(flat**2))),
            float(flat.max()),
            float(np.sqrt(np.mean(e[:, 2] ** 2))),
            float(np.sqrt(np.mean(e[:, 3] ** 2))),
            float(np.sqrt(np.mean(e[:, 8] ** 2))),
            nees,
            _drift(found, gaps[:, :2], drive),
            float(min(1.0, np.ptp(found.time[used]) / span)),
        )
