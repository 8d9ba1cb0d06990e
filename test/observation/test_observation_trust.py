"""Judgement of single sensors: stuck ones, and those that are set aside from outside."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from veh_identification.observation.protocols import Counts
from veh_identification.observation.trust import (
    HOT,
    Trust,
    judge_quietly,
    medians,
    trust_findings,
)


def followed(values, predictions, deviation: float = 0.1) -> Trust:
    """A sensor at 100 Hz beside what was expected of it."""
    trust = Trust.of('wheel', False, 3.0)
    for k, (value, expected) in enumerate(zip(values, predictions, strict=True)):
        gap = float(value - expected)
        trust.judge(0.01 * k, float(value), gap, [gap / deviation])
    return trust


def test_a_stuck_value_is_found_although_the_estimate_follows_it_half_way():
    time = 0.01 * np.arange(300)
    speed = 40.0 - 1.5 * np.maximum(time - 1.0, 0.0)
    noise = 0.05 * np.random.default_rng(1).standard_normal(time.size)
    stuck = np.where(time < 1.0, speed + noise, 40.0)
    # the innovation stays within a deviation: parameters of the sensor take the rest
    expected = np.where(time < 1.0, speed, 40.0 - np.minimum(0.9, 0.5 * (40.0 - speed)) * 0.9)
    trust = followed(stuck, np.maximum(expected, 39.0), 0.3)
    assert trust.health.aside and trust.health.reason == 'stuck at 40'
    assert len(trust.episodes) == 1


@pytest.mark.parametrize('tick', [0.05, 0.5])
def test_a_steady_speed_in_ticks_is_not_stuck(tick):
    time = 0.01 * np.arange(600)
    speed = 40.0 + 0.4 * np.sin(time)
    trust = followed(np.round(speed / tick) * tick, speed, 0.3)
    assert not trust.health.aside and trust.episodes == ()


def test_a_car_that_stops_is_not_stuck():
    """Its wheels stand while it still rocks, and the estimate comes to zero after them."""
    time = 0.05 * np.arange(60)
    expected = np.where(time < 1.0, 3.0 * (1.0 - time), 0.0) + 0.5 * np.exp(-3.0 * time)
    speed = np.where(time < 0.9, expected, 0.0)
    trust = followed(speed, expected, 0.1)
    assert not trust.health.aside
    moves_off = np.where(time < 2.0, expected, 2.0 * (time - 2.0))
    trust = followed(speed, moves_off, 0.1)
    assert trust.health.aside and trust.health.reason == 'stuck at 0'


def test_whoever_sets_a_sensor_aside_is_heard_and_it_comes_back():
    trust = followed(np.linspace(0.0, 1.0, 50), np.linspace(0.0, 1.0, 50))
    trust.set_aside(0.5, 'slips')
    assert trust.scatter == math.inf and trust.episodes[-1].reason == 'slips'
    for k in range(50, 400):
        trust.judge(0.01 * k, 0.02 * k, 0.0, [0.0])
    assert not trust.health.aside and trust.episodes[-1].until < 4.0


@pytest.mark.parametrize('components', [1, 3])
def test_the_kernel_judges_as_the_object_does_or_leaves_it_to_it(components):
    rng = np.random.default_rng(components)
    plain, helped = Trust.of('gyroscope', True, 3.0), Trust.of('gyroscope', True, 3.0)
    hot, usual = np.zeros(HOT), medians()
    helped.write(hot)
    options = helped.health.options
    quiet = alone = 0
    for k in range(3000):
        time = 0.01 * k
        noise = 4.0 if 800 < k < 1000 else 1.0
        whitened = noise * rng.standard_normal(components) + (6.0 if 1500 < k < 1700 else 0.0)
        whitened += 60.0 if k % 97 == 0 else 0.0  # one that is far off, by itself
        value = round(float(rng.standard_normal()), 0 if k > 2000 else 3)
        if k > 2500:
            value = 7.0
        gap = 0.1 * float(whitened[0])
        plain.judge(time, value, gap, whitened.tolist())
        limits = options.tolerated, options.longest_step, options.largest_scatter
        if not helped.health.aside and judge_quietly(
            hot, time, value, gap, whitened, usual, *limits
        ):
            quiet += 1
            alone += np.mean(whitened**2) > options.tolerated
        else:
            helped.read(hot)
            helped.judge(time, value, gap, whitened.tolist())
            helped.write(hot)
    helped.read(hot)
    assert 1000 < quiet < 2900 and alone > 20 and plain.episodes
    for health in (plain.health, helped.health):
        health.weighted = health.rejected = 0  # the filter counts these itself
    assert repr(helped) == repr(plain)  # NaN is not equal to itself


@pytest.mark.parametrize(
    ('rejected', 'said'),
    [
        (0, []),
        (1, [('note', 'glitches_left_out')]),
        (3, [('note', 'glitches_left_out')]),
        (4, []),
        (30, [('warn', 'measurements_rejected')]),
    ],
)
def test_single_measurements_that_were_left_out_are_told(rejected: int, said: list) -> None:
    """Of a thousand: none, a glitch, some, so many that the sensor is doubted."""
    channel = SimpleNamespace(
        trust=Trust.of('gyroscope', False, 1.0), counts=Counts(used=1000, rejected=rejected)
    )
    told = trust_findings({'gyroscope': channel}, 0)
    assert [(one.level, one.code) for one in told] == said
    assert all('gyroscope' in one.text for one in told)
