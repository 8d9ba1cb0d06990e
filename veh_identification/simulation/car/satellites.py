"""A satellite receiver on the simulated car: `gps/fix` and `gps/vel`, for the vehicle observer."""

from __future__ import annotations

from typing import Any

import numpy as np

from veh_identification.fusion.geodesy import Datum, LocalFrame
from veh_identification.runtime import messages
from veh_identification.simulation.car.run import CarRecord
from veh_identification.simulation.car.sensors import Stream, clock, interpolate
from veh_identification.types import Array

#: On the roof, in base_link [m].
ANTENNA = (1.2, 0.0, 1.2)
RATE = 10.0
#: Standard deviations of a receiver with corrections: position [m], velocity [m/s].
POSITION_NOISE, VELOCITY_NOISE = 0.03, 0.05
DATUM = Datum(48.8, 2.1, 150.0)


def satellite_streams(record: CarRecord, duration: float, seed: int, noise: float) -> list[Stream]:
    """Position and velocity of the antenna, drawn apart: other sensors stay as they are."""
    generator = np.random.default_rng((seed, 11))
    turn, arm = record.rotation, np.asarray(ANTENNA)
    position = record.position + turn @ arm
    carried = record.velocity + np.cross(record.omega, arm)
    velocity = np.einsum('nij,nj->ni', turn, carried)
    streams = []
    for topic, values, deviation in (
        ('gps/fix', position, POSITION_NOISE),
        ('gps/vel', velocity, VELOCITY_NOISE),
    ):
        stamps, logged = clock(RATE, duration, generator)
        seen = interpolate(record.t[0], values, stamps)
        seen = seen + noise * deviation * generator.standard_normal(seen.shape)
        names = ('east', 'north', 'up')
        streams.append(Stream(topic, 'satellites', names, stamps, logged, seen, np.zeros(3)))
    return streams


def fix(stamp: int, place: Array) -> Any:
    """sensor_msgs/msg/NavSatFix."""
    latitude, longitude, altitude = LocalFrame(DATUM).to_geodetic(*place)
    return messages.new(
        'sensor_msgs/msg/NavSatFix',
        header=messages.header(stamp, 'gps_link'),
        status={'status': 0, 'service': 1},
        latitude=latitude,
        longitude=longitude,
        altitude=altitude,
        position_covariance=np.diag(np.full(3, POSITION_NOISE**2)).ravel(),
        position_covariance_type=2,
    )


def velocity(stamp: int, value: Array) -> Any:
    """geometry_msgs/msg/TwistStamped, east and north."""
    return messages.new(
        'geometry_msgs/msg/TwistStamped',
        header=messages.header(stamp, 'odom'),
        twist={'linear': (value[0], value[1], value[2])},
    )
