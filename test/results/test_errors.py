"""Errors of an observer against the truth: how large, in what deviations, how many of them."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.reporting.content import StateSeries
from veh_identification.results.observation import errors_of
from veh_identification.types import Array


def _state(error: Array, deviation: float) -> StateSeries:
    time = np.arange(len(error), dtype=float)
    return StateSeries(
        'y', 'm', time, error, np.full(len(error), deviation), truth=np.zeros(len(error))
    )


def test_an_offset_is_one_error_however_long_it_lasts_and_white_noise_is_many() -> None:
    rng = np.random.default_rng(4)
    slow = errors_of(_state(np.full(1000, 2.5), 1.0))
    assert slow.independent == 1
    assert slow.in_sigma == pytest.approx(2.5)
    white = errors_of(_state(rng.normal(size=1000), 0.5))
    assert 430 < white.independent < 570
    assert white.in_sigma == pytest.approx(2.0, rel=0.1)


def test_samples_without_an_error_begin_no_new_one() -> None:
    row = errors_of(_state(np.array([1.0, 0.0, np.nan, 1.0, -1.0, 0.0, -1.0]), 1.0))
    assert row.independent == 2
