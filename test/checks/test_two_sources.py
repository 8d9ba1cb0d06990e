"""Two publishers on one topic."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.checks.two_sources import check_two_sources

TIMES = np.arange(4000) / 200.0
ROLLING = np.sin(2.0 * np.pi * 0.4 * TIMES) + 0.4 * np.sin(2.0 * np.pi * 1.3 * TIMES + 1.0)


def noise(size: float, seed: int = 1) -> np.ndarray:
    return size * np.random.default_rng(seed).standard_normal(len(TIMES))


def alternating(first, second):
    values = first.copy()
    values[1::2] = second[1::2]
    return values


@pytest.mark.parametrize(
    ('first', 'second'),
    [
        (ROLLING + noise(0.05), -ROLLING + noise(0.05, 2)),
        (ROLLING + noise(0.05), 0.0 * ROLLING),
        (30.0 * np.sin(2.0 * np.pi * 2.0 * TIMES), 0.0 * TIMES),  # as quick as it is looked at
        (9.8 + noise(0.3), -9.8 + noise(0.3, 2)),
        (ROLLING + noise(0.1), np.roll(ROLLING, 300) + 1.0 + noise(0.1, 2)),
    ],
)
def test_samples_of_two_tracks_are_told(first, second) -> None:
    (found,) = check_two_sources(alternating(first, second), 'imu/data x')
    assert (found.level, found.code) == ('bad', 'two_sources')
    assert check_two_sources(first, '') == check_two_sources(second, '') == []


@pytest.mark.parametrize(
    'values',
    [
        ROLLING + noise(0.5),
        noise(1.0),
        0.1 * np.round(10.0 * ROLLING),  # ticks
        np.arange(len(TIMES)) % 2 * 0.01 + ROLLING,  # a converter that toggles
        ROLLING + np.sin(2.0 * np.pi * 98.0 * TIMES),  # an engine near half the rate
        np.where(np.arange(len(TIMES)) == 777, 1e4, ROLLING),  # one glitch
        np.zeros(len(TIMES)),
    ],
)
def test_one_source_is_none_of_two(values) -> None:
    assert check_two_sources(values, '') == []
