"""The unknowns of the single-track car: where they may be, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.systems.car.bicycle.fit import Prior
from veh_identification.types import Array


@dataclass(frozen=True)
class Unknown:
    """One unknown with what is known of it before; `positive` ones are searched by logarithm."""

    name: str
    unit: str
    middle: float
    deviation: float  # of the value, of its logarithm if positive
    positive: bool
    text: str


@dataclass(frozen=True)
class Known:
    """What is known of a car and its sensors before: values and deviations."""

    wheelbase: float
    centre: float  # x of the centre of gravity
    centre_deviation: float
    steering_deviation: float  # of the gain of the steering
    lead_deviation: float  # of the clock of the steering [s]
    delay_deviation: float  # of that of the satellites [s]
    air: float = 0.0  # share of the weight that the air moves to the rear axle at 20 m/s


USUAL_HEIGHT = 0.55  # of the centre of gravity over the road [m]

#: Name, unit, middle, deviation (of the logarithm) of those that are positive and of every car.
_POSITIVE = {
    'Cf/m': ('N/(rad kg)', 80.0, 0.8, 'cornering stiffness of the front axle over mass'),
    'Cr/m': ('N/(rad kg)', 90.0, 0.8, 'cornering stiffness of the rear axle over mass'),
    'Izz/m': ('m^2', 1.9, 0.5, 'yaw inertia at the centre of gravity over mass'),
    'kappa': ('', 0.4, 0.5, 'bend of the curves of the tyres'),
    'sigma_f': ('m', 0.5, 0.5, 'relaxation length of the front tyres'),
    'sigma_r': ('m', 0.5, 0.5, 'relaxation length of the rear tyres'),
    'roll_frequency': ('rad/s', 11.0, 0.6, 'natural frequency of roll'),
    'roll_damping': ('', 0.3, 0.7, 'damping ratio of roll'),
    'roll_gain': ('1/m', 1.3, 0.6, 'roll acceleration by sideways force over mass'),
    'noise_yaw': ('rad/s', 0.001, 1.5, 'noise of the yaw gyroscope'),
    'noise_roll': ('rad/s', 0.002, 1.5, 'noise of the roll gyroscope'),
    'noise_side': ('m/s^2', 0.03, 1.5, 'noise of the sideways accelerometer'),
    'noise_speed': ('m/s', 0.06, 1.5, 'noise of the sideways speed'),
    'push_front': ('m/s^2', 0.03, 1.0, 'force of the road on the front axle over mass'),
    'push_rear': ('m/s^2', 0.03, 1.0, 'force of the road on the rear axle over mass'),
    'bumps': ('rad', 0.001, 1.0, 'tilt of the road by bumps'),
    'road_roll': ('rad/s', 0.01, 1.0, 'roll rate of the road'),
    'wind': ('m/s^2', 0.05, 1.0, 'sideways force of the wind over mass'),
}


def unknowns(known: Known) -> tuple[Unknown, ...]:
    """In the order of `model`."""

    def positive(name: str) -> Unknown:
        unit, middle, deviation, text = _POSITIVE[name]
        return Unknown(name, unit, middle, deviation, True, text)

    def free(name: str, unit: str, middle: float, deviation: float, text: str) -> Unknown:
        return Unknown(name, unit, middle, deviation, False, text)

    return (
        positive('Cf/m'),
        positive('Cr/m'),
        free('cg_x', 'm', known.centre, known.centre_deviation, 'centre of gravity'),
        positive('Izz/m'),
        *(positive(one) for one in ('kappa', 'sigma_f', 'sigma_r')),
        *(positive(one) for one in ('roll_frequency', 'roll_damping', 'roll_gain')),
        free('cg_height', 'm', USUAL_HEIGHT, 0.12, 'of the centre of gravity over the roll axis'),
        free('steering_gain', '', 1.0, known.steering_deviation, 'true over told steering'),
        free('trail', 'm', 0.035, 0.01, 'of the side force behind the wheel centre'),
        free('steering_lead', 's', 0.0, known.lead_deviation, 'steering is told so late'),
        free('velocity_delay', 's', 0.0, known.delay_deviation, 'satellites tell so late'),
        free('cross', '', 0.012, 0.01, 'yaw by roll acceleration: product of inertia'),
        free('cg_y', 'm', 0.0, 0.03, 'centre of gravity to the left'),
        free('nose', 'rad', 0.0, 0.006, 'body over the road, nose up'),
        free('mounting', 'rad', 0.0, 0.006, 'inertial unit in the body, nose up'),
        free('air', '', known.air, 0.004, 'weight that the air moves to the rear at 20 m/s'),
        free('roll_axis', 'm', 0.0, 0.03, 'height over the ground of the axis of roll'),
        *(positive(one) for one in list(_POSITIVE)[9:]),
    )


def prior_of(given: tuple[Unknown, ...]) -> Prior:
    """In the coordinates of the search."""
    return Prior(
        np.array([np.log(one.middle) if one.positive else one.middle for one in given]),
        np.array([one.deviation for one in given]),
    )


def physical(given: tuple[Unknown, ...], search: Array) -> Array:
    """From the coordinates of the search to values."""
    positive = np.array([one.positive for one in given])
    return np.where(positive, np.exp(np.where(positive, search, 0.0)), search)
