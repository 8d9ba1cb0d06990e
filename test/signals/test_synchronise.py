from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veh_identification.errors import SignalError
from veh_identification.signals.delay import estimate_delay
from veh_identification.signals.synchronise import common_grid, resample, synchronise, uniform
from veh_identification.signals.time_series import TimeSeries


def make(stamps, function, label='signal', epoch_ns=0):
    stamps = np.asarray(stamps, dtype=float)
    return TimeSeries(stamps, function(stamps)[:, None], ('x',), ('m',), epoch_ns, label)


def wave(t):
    return np.sin(2 * np.pi * 1.1 * t) + 0.3 * np.cos(2 * np.pi * 2.7 * t)


@pytest.mark.parametrize(
    ('method', 'bound'),
    [('linear', 1e-2), ('pchip', 5e-3), ('cubic', 1e-4), ('band_limited', 1e-5)],
)
def test_unequal_rates_meet_on_one_grid(method, bound):
    rng = np.random.default_rng(0)
    fast = make(np.arange(0.0, 10.0, 1 / 200.0) + 0.0013, wave, 'imu')
    slow_stamps = np.arange(0.5, 9.0, 1 / 100.0)
    if method != 'band_limited':
        slow_stamps = slow_stamps + rng.uniform(-2e-3, 2e-3, len(slow_stamps))
    slow = make(slow_stamps, wave, 'mocap')
    both = synchronise([fast, slow], method=method)
    assert both.rate == pytest.approx(200.0)
    assert both.stamps[0] >= slow_stamps[0] - 1e-9
    assert both.stamps[-1] <= slow_stamps[-1] + 1e-9
    for i in range(2):
        known = both.valid[:, i]
        assert known.mean() > 0.9
        error = np.abs(both.values[i][known, 0] - wave(both.stamps[known]))
        assert error.max() < bound, error.max()
        assert np.isnan(both.values[i][~known]).all()


def test_gap_is_not_bridged():
    t = np.arange(0.0, 10.0, 0.01)
    t = t[(t < 4.0) | (t > 5.0)]
    both = synchronise([make(t, wave, 'a'), make(np.arange(0.0, 10.0, 0.005), wave, 'b')])
    hole = (both.stamps > 4.0) & (both.stamps < 5.0)
    assert not both.valid[hole, 0].any()
    assert both.valid[hole, 1].all()
    assert len(both.segments()) == 2


def test_delay_is_taken_out():
    t = np.arange(0.0, 10.0, 0.01)
    late = make(t, lambda s: wave(s - 0.037), 'late')
    both = synchronise([make(t, wave, 'now'), late], delays=[0.0, 0.037])
    error = np.abs(both.values[0] - both.values[1])[both.all_valid]
    assert error.max() < 1e-4


def test_epochs_are_reconciled():
    t = np.arange(0.0, 5.0, 0.01)
    a = make(t, wave, 'a', epoch_ns=1_000_000_000_000)
    b = TimeSeries(t, wave(t + 1.0)[:, None], ('x',), ('m',), 1_001_000_000_000, 'b')
    both = synchronise([a, b])
    assert np.abs(both.values[0] - both.values[1])[both.all_valid].max() < 1e-6


def test_aliases_do_not_survive_decimation():
    t = np.arange(0.0, 20.0, 1 / 500.0)
    series = make(t, lambda s: np.sin(2 * np.pi * 1.0 * s) + np.sin(2 * np.pi * 49.0 * s))
    grid = np.arange(0.0, 20.0, 1 / 50.0)
    smooth, kept = resample(series, grid)
    raw, raw_kept = resample(series, grid, anti_alias=False)
    truth = np.sin(2 * np.pi * grid)
    assert np.abs(smooth[kept, 0] - truth[kept]).max() < 2e-4
    assert np.abs(raw[raw_kept, 0] - truth[raw_kept]).max() > 0.9
    assert kept.mean() > 0.95


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**31), st.floats(20.0, 300.0), st.sampled_from(['linear', 'pchip', 'cubic'])
)
def test_grid_points_never_extrapolate_and_lines_are_exact(seed, rate, method):
    rng = np.random.default_rng(seed)
    stamps = np.cumsum(rng.exponential(1 / rate, 200)) + 1e-4 * np.arange(200)
    grid = np.linspace(stamps[0] - 1.0, stamps[-1] + 1.0, 150)
    series = make(stamps, lambda s: 3.0 - 2.0 * s)
    max_gap = 4.0 / rate
    values, valid = resample(series, grid, method=method, max_gap=max_gap, anti_alias=False)
    assert not valid[(grid < stamps[0] - 1e-6) | (grid > stamps[-1] + 1e-6)].any()
    np.testing.assert_allclose(values[valid, 0], 3.0 - 2.0 * grid[valid], atol=1e-9)
    for point in grid[valid]:
        left = stamps[stamps <= point + 1e-6].max()
        right = stamps[stamps >= point - 1e-6].min()
        assert right - left <= max_gap + 1e-5


def test_pchip_does_not_overshoot_a_step():
    t = np.arange(0.0, 2.0, 0.1)
    series = make(t, lambda s: (s > 1.0).astype(float))
    grid = np.linspace(0.0, 1.9, 400)
    values, valid = resample(series, grid, method='pchip')
    assert values[valid].min() >= 0.0
    assert values[valid].max() <= 1.0 + 1e-14


def test_errors_are_one_sentence():
    a = make(np.arange(0.0, 1.0, 0.1), wave, 'imu/data')
    b = make(np.arange(5.0, 6.0, 0.1), wave, 'base/pose')
    with pytest.raises(SignalError, match=r'base/pose starts at 5 s, imu/data ends at 0\.9 s'):
        synchronise([a, b])
    with pytest.raises(SignalError, match='stamps must increase'):
        common_grid([make([0.0, 1.0, 0.5], wave, 'imu/data')])
    with pytest.raises(SignalError, match='unknown interpolation'):
        resample(a, np.array([0.1, 0.2]), method='magic')
    with pytest.raises(SignalError, match='no series'):
        synchronise([])
    with pytest.raises(SignalError, match='need as many delays'):
        synchronise([a], delays=[0.0, 1.0])


def test_uniform_makes_irregular_samples_regular():
    rng = np.random.default_rng(3)
    stamps = np.cumsum(rng.uniform(0.005, 0.015, 800))
    grid = uniform(make(stamps, wave))
    np.testing.assert_allclose(np.diff(grid.stamps), 1.0 / grid.rate, rtol=1e-9)
    assert np.abs(grid.values[0][:, 0] - wave(grid.stamps))[grid.valid[:, 0]].max() < 1e-4


@pytest.mark.parametrize('delay', [-0.1234, -0.0031, 0.0, 0.00777, 0.3])
def test_delay_is_found_between_samples(delay):
    rng = np.random.default_rng(1)
    rate = 100.0
    t = np.arange(3000) / rate
    frequencies = rng.uniform(0.2, 8.0, 20)
    phases = rng.uniform(0, 6, 20)

    def signal(s):
        return np.sin(2 * np.pi * np.outer(s, frequencies) + phases).sum(axis=1)

    noise = 0.1 * rng.standard_normal((2, len(t)))
    found = estimate_delay(signal(t) + noise[0], signal(t - delay) + noise[1], rate)
    assert found.delay == pytest.approx(delay, abs=3e-4)
    assert abs(found.delay - delay) < 5 * found.standard_deviation
    assert found.correlation > 0.98
    flipped = estimate_delay(signal(t), -signal(t - delay), rate)
    assert flipped.correlation < -0.98
    assert 'ms' in found.sentence


def test_delay_spread_is_honest():
    rng = np.random.default_rng(2)
    rate, t = 100.0, np.arange(2000) / 100.0
    frequencies, phases = rng.uniform(0.2, 8.0, 20), rng.uniform(0, 6, 20)
    clean = np.sin(2 * np.pi * np.outer(t, frequencies) + phases).sum(axis=1)
    found = [estimate_delay(clean, clean + rng.standard_normal(len(t)), rate) for _ in range(60)]
    scatter = np.std([f.delay for f in found])
    predicted = np.mean([f.standard_deviation for f in found])
    assert 0.5 < predicted / scatter < 1.6


def test_delay_errors():
    with pytest.raises(SignalError, match='constant signal'):
        estimate_delay(np.ones(500), np.arange(500.0), 100.0)
    with pytest.raises(SignalError, match='too few'):
        estimate_delay(np.ones(50), np.ones(50), 100.0)


def test_the_ends_can_be_kept_below_the_anti_alias_filter() -> None:
    """A force of 1 kHz on a grid of 100 Hz: all of a short trial, with what is slow in it."""
    series = make(np.arange(0.0, 1.2, 0.001), wave, 'force')
    grid = np.arange(0.0, 1.2 - 1e-9, 0.01)
    _, cut = resample(series, grid)
    kept, valid = resample(series, grid, keep_ends=True)
    assert cut.sum() < len(grid) - 8
    assert valid.all()
    assert np.abs(kept[:, 0] - wave(grid)).max() < 0.02
