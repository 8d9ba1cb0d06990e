"""No surer than it can be: the inertial filter of a swerving car with only a speed sensor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from veh_identification.fusion import measurements
from veh_identification.fusion.inertial import InertialFilter, InertialNoise
from veh_identification.types import Array

RATE, GRAVITY, SPEED = 100.0, 9.81, 25.0
NOISE, EVERY = 0.05, 2  # of the speed sensor (m/s), which speaks at every second IMU sample
YAW = 0.1  # deviation at the start


def swerve(
    noise: InertialNoise, bias: float, seconds: float, seed: int = 5, first: float = 100.0
) -> tuple[InertialFilter, list[float]]:
    """A car that swerves at constant speed, whose gyroscope shows `bias` about z besides; the
    filter and the variances of its heading.
    """
    rng = np.random.default_rng(seed)
    state = InertialFilter(noise, GRAVITY)
    state.start(0.0, (0.0, 0.0, 0.0, 1.0), 0.05, YAW)
    state.start_in_body(np.zeros(3), 0.01, np.array([SPEED, 0.0, 0.0]), first)
    variances = []
    for k in range(1, round(seconds * RATE)):
        rate = 0.3 * math.cos(2.0 * math.pi * 0.5 * k / RATE)
        sample = np.array([0.0, 0.0, rate + bias, 0.0, rate * SPEED, GRAVITY])
        sample += np.repeat([noise.gyro, noise.accel], 3) * math.sqrt(RATE) * rng.normal(size=6)
        state.imu(k / RATE, sample, 0.1)
        if k % EVERY == 0:
            measured = np.array([SPEED, 0.0, 0.0]) + NOISE * rng.normal(size=3)
            correct(state, measured)
            up = state.R[2]
            variances.append(float(up @ state.P[6:9, 6:9] @ up))
    return state, variances


def correct(state: InertialFilter, measured: Array) -> None:
    residual, H = measurements.body_velocity(state, measured, np.zeros(3))
    covariance = measurements.noise(NOISE**2, 3)
    state.correct(residual, H, covariance, math.inf)


@pytest.mark.parametrize('first', [100.0, 1.0, 0.01])
def test_nothing_tells_the_heading_of_a_car_without_satellites(first: float) -> None:
    """The gyroscope carries the heading on, and its noise adds up: nothing else can happen,
    however well the `first` speed is known.
    """
    noise = InertialNoise(gyro_bias=1e-9, gyro_walk=1e-12, accel_bias=1e-9, accel_walk=1e-12)
    _, variances = swerve(noise, 0.0, 20.0, first=first)
    passed = EVERY / RATE * np.arange(len(variances))
    assert variances[0] > YAW**2
    assert np.array(variances) == pytest.approx(variances[0] + noise.gyro**2 * passed, rel=1e-3)


def test_a_bias_is_found_as_well_as_is_told() -> None:
    """Of a bias that is there besides, an estimate finds the share 1 - variance / prior."""
    noise, bias = InertialNoise(gyro_bias=0.02, accel_bias=0.2), 0.01
    without, _ = swerve(noise, 0.0, 20.0)
    with_it, _ = swerve(noise, bias, 20.0)
    found = float(with_it.gyro_bias[2] - without.gyro_bias[2]) / bias
    told = 1.0 - float(with_it.P[11, 11]) / noise.gyro_bias**2
    print(found, told)
    assert 0.05 < told < 0.95  # neither all nor nothing: it is worth asking
    assert found == pytest.approx(told, abs=0.1)


def test_a_row_of_doubtful_corrections_takes_back_what_the_biases_were_known() -> None:
    noise = InertialNoise(gyro_bias=0.02, accel_bias=0.2)
    state = InertialFilter(noise, GRAVITY)
    state.start(0.0, (0.0, 0.0, 0.0, 1.0), 0.05, YAW)
    state.P[9:15, 9:15] *= 1e-4  # known a hundred times better than at the start
    step = np.array([1e-3, -5e-4, 0.0, 0.0, 0.0, 0.05])
    known = np.diagonal(state.P)[9:15].copy()
    for times in range(1, 5):
        before = state.x[10:16].copy()
        state.x[10:16] += step
        state.doubt_biases(before, times)
    assert np.allclose(state.P[9:15, 9:15], np.diag(np.diagonal(state.P)[9:15]))
    # The way of four steps in a row may be wrong from its first one on.
    assert np.diagonal(state.P)[9:14] == pytest.approx(known[:5] + (4.0 * step[:5]) ** 2)
    for times in range(5, 100):
        before = state.x[10:16].copy()
        state.x[10:16] += step
        state.doubt_biases(before, times)
    assert np.diagonal(state.P)[[9, 10, 14]] == pytest.approx([0.02**2, 0.02**2, 0.2**2])
    assert np.diagonal(state.P)[[11, 12, 13]] == pytest.approx(known[2:5])


def test_a_turned_world_turns_place_and_velocity_with_the_heading() -> None:
    """An alignment that is wrong by some angle puts all three off, and each tells the others."""
    state = InertialFilter(InertialNoise(), GRAVITY)
    state.start(0.0, (0.0, 0.0, 0.0, 1.0), 0.0, 0.0)
    state.start_in_body(np.array([30.0, 0.0, 0.0]), 1e-3, np.array([20.0, 0.0, 0.0]), 1e-3)
    state.turn_world(0.5 * math.pi, 0.1)
    assert state.velocity == pytest.approx([0.0, 20.0, 0.0])
    assert np.sqrt(np.diag(state.P)[:9]) == pytest.approx(
        [3.0, 1e-3, 1e-3, 2.0, 1e-3, 1e-3, 0.0, 0.0, 0.1], abs=1e-6
    )
    assert state.P[3, 8] == pytest.approx(-2.0 * 0.1)  # to the left: the velocity swings to -x
