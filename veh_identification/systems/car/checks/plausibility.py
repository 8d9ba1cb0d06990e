"""Units, signs, axes and geometry of a car, by their ranges and by who else tells them.

Nothing is fitted here. Whatever contradicts what several channels tell is named with its topic
before an estimate makes it into a wrong parameter.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.checks.relations import judge
from veh_identification.findings import Finding
from veh_identification.systems.car.checks.channels import channels, speed_topic
from veh_identification.systems.car.checks.drifts import check_drifts
from veh_identification.systems.car.checks.gyro_zeros import check_gyro_zero
from veh_identification.systems.car.checks.lags import check_late
from veh_identification.systems.car.checks.ranges import (
    check_health,
    check_ranges,
    check_sources,
)
from veh_identification.systems.car.checks.relations import (
    check_axes,
    check_wrench_point,
    exact_relations,
    relations,
)
from veh_identification.systems.car.checks.sources import sources
from veh_identification.systems.car.checks.specific_force import (
    check_one_g,
    check_specific_force,
)
from veh_identification.systems.car.checks.steering_zeros import check_steering_zero
from veh_identification.systems.car.checks.tared import check_tared
from veh_identification.systems.car.checks.travel_zeros import check_travel_zeros
from veh_identification.systems.car.checks.weighed import check_weighed
from veh_identification.systems.car.checks.wheel_axes import check_wheel_axes
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.recording.reader import CarRecording, sensor_pose


def check_plausibility(
    recording: CarRecording, configuration: CarDescription, imu: Sensor
) -> list[Finding]:
    """Everything that can be said before a fit; `imu` is the pose that was found for the unit."""
    label = recording.label
    found = _found(recording, configuration, imu)
    return [replace(one, where=f'{label} {one.where}'.strip()) for one in found]


def check_handling(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    """`check_plausibility` of a car without wheel forces, as far as its inertial unit measures."""
    imu, _ = sensor_pose(configuration.sensors.imu, recording)
    unit = recording.imu
    if unit is not None and configuration.sensors.imu.gravity == 'removed':
        # What is compared holds gravity; of a unit without it the rest is the same.
        up = np.concatenate([np.zeros(3), imu.matrix.T @ [0.0, 0.0, configuration.gravity]])
        if 'fz' in recording.unmeasured:
            up[5] = 0.0
        recording = replace(recording, imu=replace(unit, values=unit.values + up))
    return check_plausibility(recording, configuration, imu)


def _found(recording: CarRecording, configuration: CarDescription, imu: Sensor) -> list[Finding]:
    found = check_sources(recording, configuration) or check_ranges(recording, configuration)
    shown = channels(recording, imu, configuration)
    if shown is None:
        return found
    found += [] if found else check_tared(shown, configuration)
    if not found:  # a wrong unit makes every comparison wrong
        # A wrong zero makes bends of straight roads, where gravity is looked for.
        found += check_gyro_zero(shown, configuration)
    if not found:
        found += check_specific_force(shown, configuration)
    if not found:
        found += check_late(shown, recording, configuration)
    if not found:
        speed = speed_topic(recording, configuration)
        told_by = sources(configuration, speed)
        coarse = relations(shown, configuration)
        judged = judge(coarse, told_by)
        # A wrong unit or sign makes what is known exactly wrong as well.
        if all(one.code in ('scale', 'sensors_disagree') for one in judged.findings):
            # A scale that what is known exactly contradicts is none: the fit tells more.
            judged = judge([*coarse, *exact_relations(shown, configuration, imu)], told_by)
        found += judged.findings
        found += (
            [] if found else check_axes(judged.told, shown, configuration.topics['imu'], speed)
        )
        found += [] if found else check_steering_zero(shown, configuration)
        found += [] if found else check_drifts(shown, configuration)
        found += [] if found else check_wrench_point(shown, configuration)
        found += [] if found else check_wheel_axes(shown, configuration)
        found += [] if found else check_one_g(shown, configuration)
        found += [] if found else check_travel_zeros(shown, configuration)
        found += [] if found else check_weighed(shown, configuration)
    return [*found, *check_health(recording, shown, configuration)]
