"""First attitude: gravity direction, orientation field, and whether gravity was removed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veh_identification import orientations
from veh_identification.fusion import rotation
from veh_identification.orientations import Quaternion
from veh_identification.types import Array


@dataclass(frozen=True)
class FirstAttitude:
    """What the first samples of an IMU tell."""

    orientation: Quaternion
    tilt_sigma: float
    gravity_removed: bool
    heading_measured: bool
    mean_force: Array


class AttitudeStarter:
    """Collects IMU samples (base-link axes) until their span suffices."""

    def __init__(self, span: float, gravity: float, gravity_option: str) -> None:
        self._span = span
        self._gravity = gravity
        self._option = gravity_option
        self.reset()

    def reset(self) -> None:
        """Start over."""
        self._first = self._last = math.nan
        self._sum = np.zeros(3)
        self._count = 0

    def add(
        self,
        time: float,
        rate: Array,
        force: Array,
        measured: Quaternion | None,
        use_heading: bool,
        default_yaw: float,
    ) -> FirstAttitude | None:
        """Take one sample; the attitude at `time` once the span is full."""
        if self._count == 0:
            self._first = self._last = time
        # The body may turn meanwhile: carry the sum along into the present axes.
        angle = (self._last - time) * rate
        turn = rotation.from_rotation_vector(angle[0], angle[1], angle[2])
        self._sum = rotation.matrix(turn) @ self._sum + force
        self._last = time
        self._count += 1
        if time - self._first < self._span:
            return None
        mean = self._sum / self._count
        size = float(np.linalg.norm(mean))
        # A resting or driving IMU shows about one g on average, one without gravity about none.
        removed = self._option == 'removed' or (
            self._option == 'auto' and size < 0.5 * self._gravity
        )
        yaw = default_yaw
        if measured is not None and use_heading:
            yaw = rotation.yaw_of(measured)
        if not removed:
            orientation = rotation.level_from_specific_force(
                (float(mean[0]), float(mean[1]), float(mean[2])), yaw
            )
            # It may already be moving: 1 m/s^2 tilts the apparent vertical by 0.1 rad, and does
            # not show in the size of the force.
            tilt = 0.1 + abs(size - self._gravity) / self._gravity
        elif measured is not None:
            roll, pitch, _ = orientations.rpy_of_quaternion(measured)
            orientation, tilt = orientations.quaternion_of_rpy((roll, pitch, yaw)), 0.05
        else:
            orientation, tilt = orientations.quaternion_of_rpy((0.0, 0.0, yaw)), 0.1
        return FirstAttitude(
            orientation, tilt, removed, measured is not None and use_heading, mean
        )


def turned_imu_warning(cosine: float, mean_force: Array) -> str:
    """A sentence when the base link seems to lie on its side; `cosine` of z to the vertical."""
    if cosine > 0.5:
        return ''
    axis = int(np.argmax(np.abs(mean_force)))
    sign = '+' if mean_force[axis] > 0.0 else '-'
    return (
        f'the specific force points along {sign}{"xyz"[axis]} of the base link: the IMU '
        'seems to be mounted turned (imu.orientation_rpy or /tf_static)'
    )
