"""The observer of the thesis as a switch: course as yaw, chassis grabbed, known start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from vehicle_cases import observed, write_circle

from veh_identification.errors import UsageError
from veh_identification.observation.sensors import read
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.observed import YAW, ObservedVehicle
from veh_identification.systems.vehicle.observer.thesis import course_of, satellites, thesis_car


def test_fixes_move_the_chassis_and_the_course_is_yaw():
    car = thesis_car(load(None))
    vehicle = Vehicle(car)
    vehicle.place(np.array([3.0, -2.0, 0.0]), 0.4, 2.0)
    model = ObservedVehicle(vehicle)
    grabbed, velocity, course = satellites(car, vehicle)
    reading = read(grabbed, model)
    c, s = np.cos(0.4), np.sin(0.4)
    arm = car.sensors.gps.position[0]
    # the value has the lever arm (84), the Jacobian has not (89)
    assert reading.value[:2] == pytest.approx([3.0 + arm * c, -2.0 + arm * s], abs=0.02)
    assert np.array_equal(reading.z, np.eye(3, 10))
    assert np.any(read(velocity, model).zd[:, YAW])  # (94): velocities keep it
    reading = read(course, model)
    assert reading.value[0] == pytest.approx(0.4)
    assert np.array_equal(reading.z[0], np.eye(10)[YAW])
    assert course_of(car, 0.0, (0.5, 0.5)) == []  # too slow for a course
    (told,) = course_of(car, 0.0, (-3.0, 4.0))
    assert told.value[0] == pytest.approx(np.arctan2(4.0, -3.0))
    assert told.variance is not None
    assert told.variance[0] == pytest.approx((car.sensors.gps.velocity / 5.0) ** 2)


def test_a_start_that_is_not_known_is_refused():
    car = load(None)
    free = replace(car, observer=replace(car.observer, initial_yaw=None))
    with pytest.raises(UsageError, match='initial_yaw'):
        thesis_car(free)


def test_the_observer_of_the_thesis_and_a_delay_that_is_known(tmp_path):
    bag = write_circle(tmp_path / 'bag', 2.5, 2)
    metrics = observed(bag, tmp_path / 'thesis', thesis=True, compare_model=False)
    sensors = set(metrics['sensors'])
    assert 'course' in sensors and not sensors & {'road', 'rear_slip'}
    assert metrics['parameters'] == {} and metrics['sensors']['course']['used'] > 20
    rows = metrics['coordinates']
    assert rows['x']['rms_obs'] < 0.0120 and rows['y']['rms_obs'] < 0.0133  # of Table 6
    config = tmp_path / 'known.yaml'
    buggy = share_directory() / 'config' / 'buggy.yaml'
    config.write_text(f'base: {buggy}\nsensors: {{gps: {{delay_deviation: 0}}}}\n')
    told = observed(bag, tmp_path / 'told', config, compare_model=False)
    assert 'gps.delay' not in told['parameters']
    assert 'gyroscope.bias_z' in told['parameters']  # all else is still estimated
