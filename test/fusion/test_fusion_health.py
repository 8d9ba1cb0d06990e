"""Sensors judged by their innovations: faults are set aside and taken back, noise is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from veh_identification.fusion.health import (
    Bounds,
    HealthOptions,
    SensorHealth,
    StuckWatch,
    Witnesses,
)


def feed(
    health: SensorHealth, rate: float, seconds: float, start: float, scale: float, bias: float
) -> list[float]:
    rng = np.random.default_rng(7)
    count = int(seconds * rate)
    noise = scale * rng.normal(size=(count, 2)) + bias
    return [health.judge(start + k / rate, tuple(noise[k].tolist())) for k in range(count)]


@pytest.mark.parametrize('rate', [1.0, 10.0, 100.0, 500.0])
def test_good_sensor_is_left_alone(rate: float) -> None:
    health = SensorHealth('wheels')
    weights = feed(health, rate, 3000.0 / rate, 0.0, 1.0, 0.0)
    assert health.quarantines == 0
    assert health.rejected == 0
    assert np.mean(np.array(weights) > 0.6) > 0.97


@pytest.mark.parametrize('rate', [1.0, 10.0, 100.0])
def test_bias_is_set_aside_in_seconds_and_comes_back(rate: float) -> None:
    health = SensorHealth('wheels')
    feed(health, rate, 30.0, 0.0, 1.0, 0.0)
    feed(health, rate, 10.0, 30.0, 1.0, 8.0)
    assert health.aside
    assert health.aside_since < 30.0 + max(1.0, 4.0 / rate)
    assert [one.code for one in health.findings('odom')] == ['set_aside']
    feed(health, rate, 20.0, 40.0, 1.0, 0.0)
    assert not health.aside
    assert (health.quarantines, health.recoveries) == (1, 1)


def test_noise_larger_than_stated_weighs_less_but_stays() -> None:
    health = SensorHealth('gnss')
    weights = feed(health, 10.0, 60.0, 0.0, 4.0, 0.0)
    assert not health.aside
    assert health.scatter == pytest.approx(4.0, rel=0.3)
    assert np.mean(weights[-200:]) == pytest.approx(1.0 / 16.0, rel=0.6)
    assert [one.code for one in health.findings('fix')] == ['noisier_than_stated']


def test_single_outliers_are_not_used_and_change_nothing() -> None:
    health = SensorHealth('gnss')
    feed(health, 10.0, 20.0, 0.0, 1.0, 0.0)
    assert health.judge(20.0, (1e12, 0.0)) == 0.0
    assert health.judge(20.1, (math.inf, math.nan)) == 0.0
    assert health.judge(20.2, (0.1, -0.2)) > 0.6
    assert not health.aside
    assert health.rejected == 2


def test_stuck_value_is_told_from_rest_and_coarse_ticks() -> None:
    watch = StuckWatch()
    ticks = [math.floor(0.3 * k * 0.01 / 0.05) * 0.05 for k in range(500)]
    assert not any(watch.stuck(k * 0.01, v, 0.3 * k * 0.01, 0.001) for k, v in enumerate(ticks))
    assert not any(watch.stuck(5.0 + k * 0.01, ticks[-1], 1.5, 0.001) for k in range(500))
    late = [watch.stuck(10.0 + k * 0.01, ticks[-1], 1.5 + 0.003 * k, 0.001) for k in range(100)]
    assert late[-1]
    assert not late[10]
    never = StuckWatch(coarsest=0.1)
    assert [never.stuck(float(k), 3.0, 0.09 * k, 0.001) for k in range(4)] == [False] * 3 + [True]


def test_bounds() -> None:
    speed = Bounds(100.0, fastest=20.0, slack=0.5)
    assert speed.violation(math.nan, 0.0, 0.1) == 'NaN or infinite'
    assert speed.violation(1e12, 0.0, 0.1) == 'beyond 100'
    assert speed.violation(50.0, 10.0, 0.1) == 'jumps'
    assert speed.violation(50.0, math.nan, 0.1) == ''
    assert speed.violation(12.0, 10.0, 0.1) == ''


def test_the_estimate_gives_in_only_to_a_steady_absolute_sensor() -> None:
    board = Witnesses(patience=3.0)
    sensors = {name: SensorHealth(name, HealthOptions()) for name in ('gnss', 'wheels', 'other')}
    board.add(sensors['gnss'], 'position', absolute=True)
    board.add(sensors['other'], 'position', absolute=True)
    board.add(sensors['wheels'], 'velocity', absolute=False)
    for name in ('gnss', 'wheels'):
        feed(sensors[name], 10.0, 5.0, 0.0, 1.0, 20.0)
    assert board.right_after_all('gnss', 6.0, ['gnss', 'wheels'])
    assert not board.right_after_all('gnss', 6.0, ['gnss', 'other'])
    assert not board.right_after_all('wheels', 6.0, ['gnss', 'wheels'])
    assert not board.right_after_all('gnss', sensors['gnss'].aside_since + 1.0, ['gnss'])
    sensors['gnss'].believe()
    assert not sensors['gnss'].aside
