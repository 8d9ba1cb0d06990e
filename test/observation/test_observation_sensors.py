from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from veh_identification.errors import ModelError, ParameterError
from veh_identification.observation.protocols import Counts
from veh_identification.observation.sensors import (
    Accelerometer,
    CoordinateRateSensor,
    CoordinateSensor,
    GpsPosition,
    GpsVelocity,
    Gyroscope,
    count_angle,
    predict,
    read,
    turned_axes,
)

STEP = 1e-6
ANTENNA = (-0.4, 0.2, 0.9)
TILT = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
SENSORS = [
    GpsPosition('gps', 'base', ANTENNA, 0.02),
    GpsVelocity('vel', 'base', ANTENNA, 0.1, components=3),
    GpsVelocity('vel2', 'wheel', ANTENNA, 0.1),
    Gyroscope('gyro', 'base', 0.01, mounting=TILT),
    Gyroscope('gyro_wheel', 'wheel', 0.01, axes=(1,), bias_deviation=0.1),
    Gyroscope('gyro_askew', 'base', 0.01, bias_deviation=0.1, leak_deviation=0.005),
    Gyroscope(
        'gyro_scaled',
        'base',
        0.01,
        bias_deviation=0.1,
        leak_deviation=0.005,
        scale_deviation=0.01,
    ),
    Accelerometer('acc', 'base', (0.3, -0.1, 0.4), 0.5, (0, 0, -9.81), mounting=TILT),
    Accelerometer('acc_wheel', 'wheel', (0.1, 0.0, 0.2), 0.5, (0, 0, -9.81), bias_deviation=0.2),
    Accelerometer(
        'acc_turned',
        'base',
        (0.3, -0.1, 0.4),
        0.5,
        (0, 0, -9.81),
        bias_deviation=0.2,
        turn_deviation=0.005,
    ),
    CoordinateSensor('hall', 14, 0.1, resolution=0.157, counting=True),
    CoordinateRateSensor('rate', 14, 0.1),
    GpsPosition('gps_arm', 'base', ANTENNA, 0.02, arm_deviation=0.02),
]


def difference(sensor, model, which: str) -> np.ndarray:
    natural = model.model
    state, values = natural.state(), {'z': natural.z, 'zd': natural.zd, 'zdd': natural.zdd}
    columns = []
    for k in model.columns:
        results = []
        for sign in (1.0, -1.0):
            model.restore(state)
            changed = {name: value.copy() for name, value in values.items()}
            changed[which][k] += sign * STEP
            natural.set_independent(changed['z'], changed['zd'], changed['zdd'])
            results.append(predict(sensor, model))
        columns.append((results[0] - results[1]) / (2 * STEP))
    model.restore(state)
    return np.array(columns).T


@pytest.mark.parametrize('sensor', SENSORS, ids=lambda s: s.name)
def test_the_jacobians_are_the_derivatives_of_the_prediction(sensor, vehicle):
    reading = read(sensor, vehicle)
    assert np.allclose(reading.z, difference(sensor, vehicle, 'z'), atol=2e-5)
    assert np.allclose(reading.zd, difference(sensor, vehicle, 'zd'), atol=2e-6)
    assert np.allclose(reading.zdd, difference(sensor, vehicle, 'zdd'), atol=2e-6)
    assert np.abs(reading.z).max() + np.abs(reading.zd).max() > 1e-3


@pytest.mark.parametrize('sensor', [s for s in SENSORS if s.parameters], ids=lambda s: s.name)
def test_parameter_jacobians(sensor, vehicle):
    start = np.array([p.initial for p in sensor.parameters])
    reading = read(sensor, vehicle)
    for k in range(start.size):
        up, down = (
            predict(sensor, vehicle, start + s * STEP * np.eye(start.size)[k]) for s in (1, -1)
        )
        assert np.allclose((up - down) / (2 * STEP), reading.parameters[:, k], atol=1e-6)


def test_predictions_against_rigid_body_formulas(vehicle):
    values = vehicle.body('base', -1).values
    r, E = values[0, :3], values[0, 3:].reshape(3, 3).T
    D = values[1, 3:].reshape(3, 3).T
    spin = E.T @ D  # skew matrix of the local angular velocity
    omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    lever = np.array(ANTENNA)
    assert np.allclose(predict(SENSORS[0], vehicle), r + E @ lever, atol=1e-12)
    velocity = values[1, :3] + E @ np.cross(omega, lever)
    assert np.allclose(predict(SENSORS[1], vehicle), velocity, atol=1e-10)
    assert np.allclose(predict(SENSORS[3], vehicle), TILT.T @ omega, atol=1e-10)


def test_an_accelerometer_at_rest_shows_gravity_upwards(vehicle):
    model = vehicle.model
    z = model.z
    z[3:6] = 0.3, 0.0, 0.0
    model.set_independent(z, np.zeros(8), np.zeros(8))
    vehicle.restore(model.state())
    sensor = Accelerometer('a', 'base', (1.0, 2.0, 3.0), 0.5, (0, 0, -9.81))
    assert np.allclose(predict(sensor, vehicle), [0, 0, 9.81], atol=1e-10)
    tilt = read(
        Accelerometer('b', 'base', (0, 0, 0), 0.5, (0, 0, -9.81), orientation_only=True), vehicle
    )
    assert tilt.z[0, 4] == pytest.approx(9.81, abs=1e-9)  # nose up: e1.z
    assert np.array_equal(tilt.zdd, np.zeros((3, 7)))


def test_counting_holes():
    assert np.allclose(count_angle(np.array([0.0, 0.16, -0.01]), 0.157), [0, 0.157, -0.157])
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 100, 20000)
    errors = count_angle(angles, 0.157) - (angles - 0.0785)
    assert abs(errors.mean()) < 0.002
    assert errors.var() == pytest.approx(0.157**2 / 12, rel=0.02)


def test_bad_sensor_settings_are_refused(vehicle):
    with pytest.raises(ParameterError, match=r"'g'.*deviation must be positive"):
        GpsPosition('g', 'base', ANTENNA, 0.0)
    with pytest.raises(ParameterError, match=r'rotation matrix'):
        Gyroscope('g', 'base', 0.1, mounting=np.ones((3, 3)))
    with pytest.raises(ParameterError, match=r'must be finite'):
        GpsPosition('g', 'base', (float('nan'), 0, 0), 0.1)
    with pytest.raises(ModelError, match=r"no body 'roof'"):
        predict(Gyroscope('g', 'roof', 0.1), vehicle)


def test_axes_that_nobody_measures_stay_unknown_when_turned():
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    askew = np.array([[1.0, 0.0, 0.02], [0.0, 1.0, 0.0], [-0.02, 0.0, 1.0]])
    both = np.array([[np.nan, 2.0, 3.0], [1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(turned_axes(both[1], quarter), [-2.0, 1.0, 3.0])
    np.testing.assert_array_equal(
        turned_axes(both, quarter), [[-2.0, np.nan, 3.0], [-2.0, 1.0, 3.0]]
    )
    # A hundredth of what nobody measures is left out; the axis itself is not known.
    np.testing.assert_allclose(turned_axes(both[0], askew), [np.nan, 2.0, 3.0])


def test_a_position_has_the_unknowns_that_were_asked_for():
    """None of them by itself: each costs certainty."""
    asked = {
        (): {},
        ('drift_x', 'drift_y'): {'drift': (0.5, 30.0)},
        ('delay',): {'delay_deviation': 0.01},
        ('arm_x', 'arm_y'): {'arm_deviation': 0.02},
    }
    for names, options in asked.items():
        sensor = GpsPosition('g', 'base', ANTENNA, 0.1, **options)
        assert tuple(one.name for one in sensor.parameters) == names


def test_counters_begin_at_nothing():
    counts = asdict(Counts())
    assert counts.pop('last_used') == float('-inf')
    assert len(counts) == 9 and not any(counts.values())
