"""Where the centre of gravity is, by what is known beside the drive."""

from __future__ import annotations

import numpy as np

from veh_identification.systems.car.configuration import CarDescription

CENTRE_SHARE = 0.03  # of the wheelbase: deviation of a described centre of gravity
#: The same where the mass is known: of the car as described, and of what it carries, which sits
#: somewhere between boot and front seats (middle and deviation, ahead of the rear axle).
CENTRE_EMPTY, LOAD_PLACE, LOAD_SPREAD = 0.015, 0.4, 0.2
USUAL_SHARE = 0.53  # of the weight on the front axle, where nothing tells it


def is_described(config: CarDescription) -> bool:
    """Whether the description gives a centre of gravity."""
    return bool(config.a_priori.get('Mc') and config.a_priori.get('MXc'))


def described_centre(config: CarDescription, mass: float | None = None) -> tuple[float, float]:
    """x of the centre of gravity and its deviation, by the description and the mass if known."""
    length, known = config.geometry.wheelbase, config.a_priori
    hubs = sum(known.get(f'M{j}', 0.0) for j in (1, 2))
    described = known['Mc'] + sum(known.get(f'M{j}', 0.0) for j in (1, 2, 3, 4))
    wheels = config.wheel.mass
    hubs, described = hubs + 2.0 * wheels, described + 4.0 * wheels
    centre = (known['MXc'] + hubs * length) / described
    if mass is None:
        return centre, CENTRE_SHARE * length
    load = max(mass - described, 0.0) / mass
    centre += load * (LOAD_PLACE * length - centre)
    return centre, length * float(np.hypot(CENTRE_EMPTY, LOAD_SPREAD * load))


def front_share(config: CarDescription, weighed: float | None, mass: float | None = None) -> float:
    """Share of the weight on the front axle: weighed, described or usual."""
    if weighed is not None:
        return weighed
    if is_described(config):
        return described_centre(config, mass)[0] / config.geometry.wheelbase
    return USUAL_SHARE
