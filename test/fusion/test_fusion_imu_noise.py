"""The noise of the IMU: learnt at rest, given back when sensors are surprised."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.fusion.imu_noise import GRANTED, SMALLEST_UNSEEN, ImuNoise


def calm(noise: ImuNoise, count: int, square: float = 0.9) -> None:
    for _ in range(count):
        noise.innovation('gnss', square)


def test_configured_noise_holds_until_innovations_allow_less() -> None:
    noise = ImuNoise(0.003, 0.1)
    assert noise.shares() == (1.0, 1.0)
    calm(noise, 2000)
    assert noise.shares() == (SMALLEST_UNSEEN, SMALLEST_UNSEEN)


def test_floor_is_the_scatter_at_rest() -> None:
    noise, rng = ImuNoise(0.003, 0.1), np.random.default_rng(1)
    for _ in range(4000):
        rate, force = 0.01 + 6e-3 * rng.normal(size=3), 9.8 + 0.1 * rng.normal(size=3)
        noise.rest(np.concatenate([rate, force]), 0.01)
    calm(noise, 2000)
    gyro, accel = noise.shares()
    assert gyro == pytest.approx(GRANTED * 6e-3 * 0.1 / 0.003, rel=0.05)
    assert accel == pytest.approx(GRANTED * 0.1 * 0.1 / 0.1, rel=0.05)


def test_surprise_gives_the_noise_back() -> None:
    noise = ImuNoise(0.003, 0.1)
    calm(noise, 2000)
    calm(noise, 200, square=3.0)
    assert noise.shares() == (1.0, 1.0)


def test_a_pause_is_no_scatter() -> None:
    noise = ImuNoise(0.003, 0.1)
    for k in range(100):
        noise.rest(np.full(6, float(k)), 0.01)
        noise.moved()
    calm(noise, 2000)
    assert noise.shares() == (SMALLEST_UNSEEN, SMALLEST_UNSEEN)


def test_a_sensor_that_is_never_surprised_cannot_judge() -> None:
    noise = ImuNoise(0.003, 0.1)
    calm(noise, 2000, square=0.2)
    assert noise.shares() == (1.0, 1.0)
