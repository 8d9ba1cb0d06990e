"""Settings of a car's sensors that a recording may tell: poses, delays, camber of the hubs.

Each is a change of the synchronised signals by a number that would be zero if the description
were exact. `prior` is how far from it a description may be off when somebody has been careless,
`careful` when he has not; `least` is what matters and `most` what can be believed. Places of the
wheels and the wind no recording tells beside the parameters: they are never applied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.interpolate import CubicSpline

from veh_identification.orientations import matrix_of_rpy
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.samples import (
    CarSamples,
    JointMotion,
    carried_acceleration,
    hub_rotation,
)
from veh_identification.types import Array

#: Rotation about x of the left and of the right hubs when the wheels' tops lean inwards.
INWARDS = np.array([1.0, -1.0, 1.0, -1.0])
FRONT = np.array([1.0, 1.0, 0.0, 0.0])
AXLES = (('front', FRONT), ('rear', 1.0 - FRONT))
Change = Callable[[CarSamples, Sensor, float], CarSamples]


@dataclass(frozen=True)
class Setting:
    """One number that corrects the signals; zero where the description is right."""

    name: str
    unit: str
    change: Change
    step: float  # for derivatives
    prior: float
    careful: float
    least: float
    most: float

    @property
    def untold(self) -> bool:
        """Whether no recording tells it."""
        return bool(np.isinf(self.least))


def _position(axis: int) -> Change:
    unit = np.eye(3)[axis]

    def change(samples: CarSamples, imu: Sensor, by: float) -> CarSamples:
        more = carried_acceleration(
            samples.angular_velocity, samples.angular_acceleration, by * unit
        )
        return replace(samples, specific_force=samples.specific_force - more)

    return change


def _angle(axis: int) -> Change:
    unit = np.eye(3)[axis]

    def change(samples: CarSamples, imu: Sensor, by: float) -> CarSamples:
        """Turned about an axis of the car, where the unit sits."""
        arm, turn = np.array(imu.position), matrix_of_rpy(by * unit)
        omega, alpha = samples.angular_velocity, samples.angular_acceleration
        felt = samples.specific_force + carried_acceleration(omega, alpha, arm)
        omega, alpha = omega @ turn.T, alpha @ turn.T
        return replace(
            samples,
            angular_velocity=omega,
            angular_acceleration=alpha,
            specific_force=felt @ turn.T - carried_acceleration(omega, alpha, arm),
        )

    return change


def _shifted(values: Array, rate: float, by: float) -> Array:
    """What a sensor shows `by` seconds later, which was true now."""
    times = np.arange(len(values)) / rate
    return np.asarray(CubicSpline(times, values)(np.clip(times + by, 0.0, times[-1])))


def _late_wrench(corner: int) -> Change:
    def change(samples: CarSamples, imu: Sensor, by: float) -> CarSamples:
        wrench = samples.wrench.copy()
        wrench[:, corner] = _shifted(wrench[:, corner], samples.rate, by)
        return replace(samples, wrench=wrench)

    return change


def _late_travel(samples: CarSamples, imu: Sensor, by: float) -> CarSamples:
    joint = samples.joints['suspension']
    moved = JointMotion(
        *(
            _shifted(one, samples.rate, by)
            for one in (joint.position, joint.velocity, joint.acceleration)
        )
    )
    sign = _shifted(samples.friction_sign, samples.rate, by)
    return replace(samples, joints={**samples.joints, 'suspension': moved}, friction_sign=sign)


def _camber(slope: Callable[[CarSamples], Array]) -> Change:
    def change(samples: CarSamples, imu: Sensor, by: float) -> CarSamples:
        """The hubs lean further; how fast they do so matters to no force."""
        still = samples.joints['camber']
        moved = JointMotion(
            still.position + by * slope(samples), still.velocity, still.acceleration
        )
        return replace(samples, joints={**samples.joints, 'camber': moved})

    return change


def _wheels(axis: int, share: Array) -> Change:
    unit = np.eye(3)[axis]

    def change(samples: CarSamples, imu: Sensor, by: float) -> CarSamples:
        """Wheel centres further out: their forces act there, with another moment."""
        joints = samples.joints
        turn = hub_rotation(*(joints[one].position for one in ('steering', 'camber', 'kingpin')))
        arm = by * share[:, None] * np.einsum('ncji,j->nci', turn.swapaxes(-1, -2), unit)
        wrench = samples.wrench.copy()
        wrench[..., 3:] += np.cross(arm, wrench[..., :3])
        return replace(samples, wrench=wrench)

    return change


def _wind(axis: int) -> Change:
    def change(samples: CarSamples, imu: Sensor, by: float) -> CarSamples:
        """Air that moves over ground, along or across the heading at the beginning."""
        heading = np.cumsum(samples.angular_velocity[:, 2]) / samples.rate - 0.5 * np.pi * axis
        flow = by * np.column_stack([np.cos(heading), -np.sin(heading)])
        return replace(samples, velocity=samples.velocity - flow)

    return change


#: Names of the angles, in the order of roll, pitch, yaw.
ANGLES = ('roll', 'pitch', 'yaw')


def _over_travel(axle: Array, samples: CarSamples) -> Array:
    """Camber (N, 4) of an axle per slope over its travel."""
    return np.asarray(INWARDS * axle * samples.joints['suspension'].position)


def _at_rest(axle: Array, samples: CarSamples) -> Array:
    return np.broadcast_to(INWARDS * axle, samples.friction_sign.shape)


IMU = (
    *(
        Setting(f'imu_{letter}', 'm', _position(axis), 0.01, 0.5, 0.02, 0.03, 3.0)
        for axis, letter in enumerate('xyz')
    ),
    *(
        Setting(f'imu_{name}', 'rad', _angle(axis), 1e-3, 0.05, 0.005, 0.012, 0.2)
        for axis, name in enumerate(ANGLES)
    ),
)
DELAYS = (
    *(
        Setting(f'delay_{corner}', 's', _late_wrench(j), 1e-3, 0.02, 5e-4, 2e-3, 0.08)
        for j, corner in enumerate(CORNERS)
    ),
    Setting('delay_travel', 's', _late_travel, 1e-3, 0.02, 5e-4, 2e-3, 0.08),
)
CAMBER = (
    *(
        Setting(
            f'camber_{name}',
            'rad/m',
            _camber(partial(_over_travel, axle)),
            *(0.05, 0.4, 0.02, 0.08, 2.0),
        )
        for name, axle in AXLES
    ),
    Setting(
        'camber_steering',
        'rad/rad',
        _camber(lambda s: FRONT * s.joints['steering'].position),
        *(0.05, 0.2, 0.02, 0.08, 1.0),
    ),
    *(
        Setting(
            f'camber_rest_{name}',
            'rad',
            _camber(partial(_at_rest, axle)),
            *(0.005, 0.03, 0.002, 0.01, 0.2),
        )
        for name, axle in AXLES
    ),
)


def places_of_wheels(deviation: float) -> tuple[Setting, ...]:
    """Wheelbase and half tracks that are known to a `deviation`.

    (The hubs, which are light, stay where they are.)
    """
    shares = {
        'wheelbase': (0, FRONT),
        **{f'half_track_{name}': (1, INWARDS * axle) for name, axle in AXLES},
    }
    return tuple(
        _untold(name, 'm', _wheels(axis, share), 0.01, deviation)
        for name, (axis, share) in shares.items()
        if deviation > 0.0
    )


def winds(deviation: float) -> tuple[Setting, ...]:
    """Wind along and across the heading at the beginning, of a `deviation` each."""
    return tuple(
        _untold(f'wind_{name}', 'm/s', _wind(axis), 0.1, deviation)
        for axis, name in enumerate(('along', 'across'))
        if deviation > 0.0
    )


def _untold(name: str, unit: str, change: Change, step: float, deviation: float) -> Setting:
    return Setting(name, unit, change, step, deviation, deviation, np.inf, np.inf)


def settings(samples: CarSamples, description: CarDescription) -> tuple[Setting, ...]:
    """Those that nothing in the recording tells."""
    known = bool(np.any(samples.joints['camber'].position))
    return (
        *IMU,
        *DELAYS,
        *places_of_wheels(description.geometry.deviation),
        *winds(description.air.wind),
        *(() if known else CAMBER),
    )
