"""Angles of wheels tell the speed where satellites are silent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from vehicle_cases import changed, observed, write_circle

from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.observed import POSE
from veh_identification.systems.vehicle.observer.tied_wheels import tie_wheels

SIZE, SPEED = POSE + 4, 4.0


def rolling() -> Vehicle:
    vehicle = Vehicle(load('config/buggy.yaml'))
    vehicle.place(np.zeros(3), 0.3, SPEED)
    return vehicle


def test_errors_of_wheels_and_speed_are_tied() -> None:
    vehicle, P = rolling(), np.eye(2 * SIZE)
    P[SIZE + 3, SIZE + 3] = 1e-6  # a gyroscope tells how it turns
    for _ in range(200):
        tie_wheels(P, vehicle)
    np.testing.assert_allclose(P, P.T, atol=1e-12)
    ahead = np.zeros(2 * SIZE)
    ahead[SIZE : SIZE + 2] = np.cos(0.3), np.sin(0.3)
    radius = vehicle.car.geometry.wheel_radius
    wheel = np.zeros(2 * SIZE)
    wheel[SIZE + POSE] = radius
    apart = ahead - wheel
    # within two per cent of the speed, though each by itself is hardly better known
    assert 0.01 * SPEED < np.sqrt(apart @ P @ apart) < 0.03 * SPEED
    assert ahead @ P @ ahead > 0.01


def test_a_wheel_that_slides_ties_nothing() -> None:
    vehicle, P = rolling(), np.eye(2 * SIZE)
    for row in vehicle.spokes:
        vehicle.model.qd[row[4]] = 0.0
    tie_wheels(P, vehicle)
    np.testing.assert_array_equal(P, np.eye(2 * SIZE))


def test_a_buggy_that_never_hears_satellites_knows_its_speed(tmp_path: Path) -> None:
    """The model alone and the accelerometer were 0.5 m/s off after 12 s, and blamed the wheels."""
    circle = write_circle(tmp_path / 'circle', 12.0, 2)

    def silent(topic: str, _: int, message: Any) -> Any:
        return None if topic.startswith('/gps') else message

    metrics = observed(changed(circle, tmp_path / 'silent', silent, 12.0), tmp_path / 'out')
    rows = metrics['coordinates']
    assert max(rows['vx']['max_obs'], rows['vy']['max_obs']) < 0.2
    assert max(rows['x']['max_obs'], rows['y']['max_obs']) < 0.8
    assert all(one['rejected'] < 20 for name, one in metrics['sensors'].items() if 'wheel' in name)
    assert metrics['consistency']['nees']['average'] < metrics['consistency']['nees']['expected']
    assert metrics['verdict']['level'] == 'care'  # no satellites: the place drifts
