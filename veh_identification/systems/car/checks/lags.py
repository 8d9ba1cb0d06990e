"""Sensors of a car that are late by tenths of a second."""

from __future__ import annotations

from veh_identification.checks.grid import slope
from veh_identification.checks.lags import Pair, check_lags
from veh_identification.checks.relations import TELLING
from veh_identification.findings import Finding
from veh_identification.systems.car.checks.channels import (
    LEAST_ACCELERATION,
    RATE,
    Channels,
    likeness,
    speed_topic,
)
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.recording.reader import CarRecording


def check_late(
    shown: Channels, recording: CarRecording, configuration: CarDescription
) -> list[Finding]:
    """A sensor that is late by tenths of a second; what is less the fit finds.

    Channels that go against each other may be late by half a period of the driver's or have the
    wrong sign: they tell nothing here, but the road is under all wheels and has no period.
    """
    topics = configuration.topics
    across = shown.load[:, [1, 3]].sum(axis=1) - shown.load[:, [0, 2]].sum(axis=1)
    leaning = shown.travel[:, [1, 3]].sum(axis=1) - shown.travel[:, [0, 2]].sum(axis=1)
    ahead = slope(shown.grid, shown.speed[:, 0])
    wheels, force, turning = 'wheels', shown.force, shown.rate[:, 2]
    pairs = [  # what is usual was read off simulated cars
        Pair(
            'wheel loads against vertical acceleration',
            wheels,
            'imu',
            shown.load.sum(axis=1),
            force[:, 2],
            usual=-0.03,
        ),
        Pair(
            'lateral wheel forces against lateral acceleration',
            wheels,
            'imu',
            shown.side,
            force[:, 1],
            usual=-0.05,
        ),
        Pair(
            'loads of left and right against their travels',
            wheels,
            'travel',
            across,
            leaning,
            usual=-0.12,  # dampers lead
            tolerance=0.15,
        ),
        Pair(
            'yaw rate against steering',
            'imu',
            'steering',
            turning,
            shown.steering,
            usual=0.2,
            tolerance=0.25,
        ),
    ]
    if recording.speed is not None:  # satellites are late as a rule, and the fit finds by how much
        pairs.append(
            Pair(
                'longitudinal acceleration against speed',
                'imu',
                'speed',
                force[:, 0],
                ahead,
                tolerance=0.15,
                least=LEAST_ACCELERATION,
            )
        )
    where = {
        'wheels': topics['wrench_fl'].replace('fl', '*'),
        'imu': topics['imu'],
        'travel': f'{topics["joints"]}.position[suspension_*]',
        'speed': speed_topic(recording, configuration),
        'steering': f'{topics["joints"]}.position[steering_*]',
    }
    plain = [one for one in pairs if not likeness(one.a, one.b) < -TELLING]
    return [one for one in check_lags(plain, where, (), 1.0 / RATE) if one.code == 'late']
