"""Straight braking: what hardly moves is not told, and noise is no late sensor."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from veh_identification.simulation.car.scenarios import (
    braking,
    car_recording,
    default_configuration,
)
from veh_identification.systems.car.checks.excited import untold_parameters
from veh_identification.systems.car.estimation.calibration import Calibration, without_noise
from veh_identification.systems.car.estimation.identify import identify_recordings
from veh_identification.systems.car.estimation.unknown_settings import DELAYS
from veh_identification.systems.car.model import EQUATIONS


def fit(**moments: tuple[float, float]) -> Any:
    """Equations of moments by rms and unexplained share; all others are right."""
    size, share = np.full(len(EQUATIONS), 1e4), np.full(len(EQUATIONS), 0.01)
    for name, (rms, left) in moments.items():
        size[EQUATIONS.index(name)], share[EQUATIONS.index(name)] = rms, left
    lines = np.full(len(EQUATIONS), 500.0)
    measured = lines * size**2
    return SimpleNamespace(
        lines=lines, measured_squares=measured, residual_squares=measured * share**2
    )


def test_a_small_moment_of_noise_tells_no_inertia() -> None:
    straight = fit(NX=(600.0, 0.05), NY=(1e5, 0.002), NZ=(450.0, 0.4))
    told = untold_parameters(straight)
    assert set(told) == {'ZZc', 'XZc', 'YZc'}
    assert 'about z (yaw)' in told['ZZc'] and '40 %' in told['ZZc'] and 'sine' in told['ZZc']


@pytest.mark.parametrize(
    'moment',
    [
        (450.0, 0.05),  # small and explained: a smooth road
        (26000.0, 0.9),  # large and unexplained: a mistake, which must not be called calm
    ],
)
def test_a_moment_that_is_explained_or_large_is_no_calm_axis(moment: tuple[float, float]) -> None:
    assert untold_parameters(fit(NX=(4000.0, 0.02), NY=(1e5, 0.002), NZ=moment)) == {}


def calibration(*milliseconds: float) -> Calibration:
    """Delays of four wheels and the travels, all certain by themselves."""
    value = 1e-3 * np.array(milliseconds)
    count = len(DELAYS)
    return Calibration(
        DELAYS, value, np.full(count, 2e-4), np.abs(value) > 2e-3, np.zeros((count, count))
    )


def test_a_delay_that_more_noise_makes_longer_is_not_applied_but_doubted() -> None:
    found = calibration(0.0, 0.0, 8.0, 0.0, 2.4)
    noisy = [calibration(0.0, 0.0, 8.1, 0.0, 3.3), calibration(0.0, 0.0, 7.9, 0.0, 3.4)]
    kept = without_noise(found, noisy)
    assert kept.applied.tolist() == [False, False, True, False, False]
    assert kept.value[2] == pytest.approx(8e-3)
    assert np.sqrt(kept.doubt[4, 4]) == pytest.approx(2.4e-3)


def test_what_noise_adds_to_a_real_delay_is_taken_off() -> None:
    found = calibration(0.0, 0.0, 0.0, 0.0, 12.0)
    noisy = [calibration(0.0, 0.0, 0.0, 0.0, 13.0)] * 2
    kept = without_noise(found, noisy)
    assert kept.applied[4] and kept.value[4] == pytest.approx(11e-3)
    assert kept.std[4] == pytest.approx(np.hypot(2e-4, 1e-3))
    assert np.array_equal(kept.applied, found.applied)


def test_what_is_withdrawn_may_be_as_large_as_it_seemed() -> None:
    found = calibration(0.0, 0.0, 8.0, 0.0, -3.0)
    kept = found.withdrawn()
    assert not kept.applied.any() and found.applied.sum() == 2
    np.testing.assert_allclose(np.sqrt(np.diag(kept.doubt)), np.abs(found.value))
    assert kept.doubt[2, 4] == pytest.approx(-24e-6)  # they seemed so together


def test_a_braking_run_tells_masses_and_says_what_it_cannot_tell() -> None:
    """It called the travels late, put the mass off by 14 deviations and blamed signs and units."""
    run, truth = car_recording(default_configuration(), braking(0), 20.0, 0)
    found = identify_recordings([run], default_configuration())
    codes = {one.code for one in found.findings if one.level in ('bad', 'warn')}
    assert not codes & {'sensor_lag', 'triangle_inequality', 'inertia_not_positive'}
    assert found.result.impossible == []
    assert {one.name for one in found.result.removed} >= {'ZZc', 'XZc', 'YZc'}
    names = found.result.names
    off = {
        name: (found.result.value[k] - truth[name]) / found.result.std[k]
        for k, name in enumerate(names)
        if np.isfinite(found.result.value[k])
    }
    assert len(off) == len(names) - 3
    assert np.mean(np.abs(list(off.values())) < 2.0) > 0.85
    assert all(abs(off[name]) < 3.0 for name in ('Mc', 'MXc', 'YYc', 'M1', 'M2', 'M3', 'M4'))
