"""What single sensors show against their own description: missing, turned, of the wrong sign."""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.car.checks.plausibility import check_plausibility
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.model import EQUATIONS
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import BoolArray

#: Standard deviation (rad) below which nobody steers: what moves is bump steer and noise.
STEERED = 0.003
#: Mean specific force (m/s^2) along z of base_link that a car on its wheels has at least.
UPRIGHT = 0.8 * 9.81


def _at(label: str, sensor: str) -> str:
    """The sensor, and in which recording."""
    return f'{label} {sensor}'.lstrip()


def check_signs(piece: CarSamples, label: str = '') -> list[Finding]:
    """Gravity, and then the steering against the yaw rate."""
    # The yaw rate of a turned inertial unit says nothing about the steering.
    return check_gravity(piece, label) or check_steering(piece, label)


def check_before_fit(
    recording: CarRecording, configuration: CarDescription, imu: Sensor, piece: CarSamples
) -> list[Finding]:
    """What the channels say of each other, then gravity and steering of the prepared signals."""
    found = check_plausibility(recording, configuration, imu)
    if any(one.level == 'bad' for one in found):
        return found  # the cause; what follows from it is no news
    return [*found, *check_signs(piece, recording.label)]


def check_gravity(piece: CarSamples, label: str = '') -> list[Finding]:
    """The mean specific force must point upwards and be about one g."""
    mean = piece.specific_force.mean(axis=0)
    if mean[2] > UPRIGHT:
        return []
    return [
        Finding(
            'bad',
            'imu_turned',
            'the inertial unit (imu/data) does not show +9.81 m/s^2 along z '
            f'of base_link but [{mean[0]:.2f}, {mean[1]:.2f}, {mean[2]:.2f}]: it is '
            'mounted upside down or turned against the pose given',
            _at(label, 'imu/data'),
        )
    ]


def check_steering(piece: CarSamples, label: str = '') -> list[Finding]:
    """A front wheel that steers against the yaw rate, or against the other wheel."""
    turning = piece.angular_velocity[:, 2] - piece.angular_velocity[:, 2].mean()
    found = []
    for j in (0, 1):
        angle = piece.joints['steering'].position[:, j]
        spread = angle.std() * turning.std()
        if angle.std() > STEERED and spread > 1e-9:
            likeness = float((angle - angle.mean()) @ turning / len(angle) / spread)
            if likeness < -0.5:
                found.append(
                    Finding(
                        'bad',
                        'steering_sign',
                        f'steering_{CORNERS[j]} has the wrong sign (positive to the '
                        f'left): it runs against the yaw rate (correlation {likeness:.2f})',
                        _at(label, f'steering_{CORNERS[j]}'),
                    )
                )
    return found


def lost_equations(
    missing_wrenches: tuple[str, ...], missing_travels: tuple[str, ...], label: str = ''
) -> tuple[BoolArray, list[Finding]]:
    """Mask of usable equations and what is lost with the missing sensors."""
    usable = np.ones(len(EQUATIONS), dtype=bool)
    found = []
    for corner in missing_wrenches:
        usable[:6] = False
        usable[6 + CORNERS.index(corner)] = False
        found.append(
            Finding(
                'warn',
                'missing_wrench',
                f'wheel_{corner}/wrench is missing: the six chassis equations '
                f'(FX FY FZ NX NY NZ) and suspension_{corner} are lost; the other suspension '
                'equations are used',
                _at(label, f'wheel_{corner}/wrench'),
            )
        )
    for corner in missing_travels:
        axle = [other for other in CORNERS if other[0] == corner[0]]
        usable[[6 + CORNERS.index(other) for other in axle]] = False
        lost = ' and '.join(f'suspension_{other}' for other in axle)
        found.append(
            Finding(
                'warn',
                'missing_travel',
                f'suspension_{corner} is missing: the equations {lost} are lost (the anti-roll '
                'bar couples them)',
                _at(label, f'suspension_{corner}'),
            )
        )
    return usable, found
