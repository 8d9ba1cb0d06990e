"""The channels and entries that tell of a car's motion, with the mistakes made with each."""

from __future__ import annotations

from veh_identification.checks.ranges import (
    ACCELERATION,
    ANGLE,
    ANGULAR_VELOCITY,
    FORCE,
    SPEED,
    TRAVEL,
)
from veh_identification.checks.relations import Source, Suspect
from veh_identification.systems.car.checks.channels import AXLES
from veh_identification.systems.car.configuration import CarDescription


def sources(configuration: CarDescription, speed: str) -> dict[str, Source]:
    """Channels and entries that the relations are made of, with the mistakes made with each.

    `speed`: the topic that tells it.
    """
    topics = configuration.topics
    joints, wrenches = topics['joints'], topics['wrench_fl'].replace('fl', '*')
    length = (Suspect(1000.0, 'it seems to be in mm, it must be in m', 'geometry'),)
    half = Suspect(2.0, 'it seems to be the full track: give half of it', 'geometry')
    return {
        # Gravity tells the sign of the whole unit.
        'accelerometer': Source(f'{topics["imu"]} linear_acceleration', ACCELERATION.units()),
        'gyroscope': Source(
            f'{topics["imu"]} angular_velocity', ANGULAR_VELOCITY.suspects(), scale=True
        ),
        **{
            f'gyroscope_{axis}': Source(
                f'{topics["imu"]} angular_velocity.{axis}',
                (
                    Suspect(-1.0, 'it has the wrong sign', 'gyro_sign'),
                    *ANGULAR_VELOCITY.units(),
                ),
            )
            for axis in 'xyz'
        },
        **{
            f'accelerometer_{axis}': Source(
                f'{topics["imu"]} linear_acceleration.{axis}',
                (Suspect(-1.0, 'it has the wrong sign', 'accelerometer_sign'),),
                scale=True,
            )
            for axis in 'xy'
        },
        'speed': Source(f'{speed} twist.linear', SPEED.suspects(), scale=True),
        'steering': Source(f'{joints}.position[steering_*]', ANGLE.suspects()),
        'travel': Source(f'{joints}.position[suspension_*]', TRAVEL.suspects(), scale=True),
        **{
            f'travel_{axle}': Source(
                f'{joints}.position[suspension_{axle[0]}l, suspension_{axle[0]}r]', scale=True
            )
            for axle in AXLES
        },
        # The fit tells these from a wrong sign of the gyroscope.
        'travel_sides': Source(
            f'{joints}.position[suspension_*]',
            (Suspect(-1.0, 'left and right travels are exchanged', 'swapped_travels'),),
            told=False,
        ),
        'travel_ends': Source(
            f'{joints}.position[suspension_*]',
            (Suspect(-1.0, 'front and rear travels are exchanged', 'swapped_travels'),),
            told=False,
        ),
        'sides': Source(
            f'{wrenches} and {joints}.position[suspension_*]',
            (Suspect(-1.0, 'left and right corners are exchanged', 'swapped_sides'),),
        ),
        'wheel': Source(f'{joints}.position[wheel_*]', ANGLE.suspects()),
        'force': Source(wrenches, FORCE.suspects()),
        # One wheel's may be turned, exchanged or of the wrong sign: the fit tells which.
        'side_force': Source(
            f'{wrenches} force.y',
            (Suspect(-1.0, 'it has the wrong sign', 'wrench_axis_sign'),),
            scale=True,
            told=False,
        ),
        'moment_x': Source(
            f'{wrenches} torque.x',
            (Suspect(-1.0, 'it has the wrong sign', 'wrench_axis_sign'),),
            scale=True,
        ),
        'fore_and_aft': Source(
            f'{wrenches} torque.y or force.x',
            (Suspect(-1.0, 'one of the two has the wrong sign', 'wrench_axis_sign'),),
        ),
        'wheelbase': Source('geometry.wheelbase', length),
        'half_track': Source('geometry.half_track', (half, *length), scale=True),
        'wheel_radius': Source('geometry.wheel_radius', length),
        'mass': Source('a_priori.Mc', (Suspect(1e-3, 'it seems to be in t, it must be in kg'),)),
    }
