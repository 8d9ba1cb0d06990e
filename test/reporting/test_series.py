import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from veh_identification.reporting.series import (
    LIMIT,
    broken,
    colour_of,
    extremes,
    longest_stretch,
    outages,
    with_breaks,
)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40_000), st.integers(0, 2**31))
def test_extremes_keep_peaks_and_order(count: int, seed: int) -> None:
    value = np.random.default_rng(seed).standard_normal(count)
    time = np.arange(float(count))
    t, v = extremes(time, value)
    assert len(t) <= LIMIT
    assert v.max() == value.max()
    assert v.min() == value.min()
    assert np.all(np.diff(t) > 0.0)
    assert np.array_equal(value[t.astype(int)], v)


def test_extremes_keep_breaks_of_the_line() -> None:
    value = np.sin(np.arange(50_000) * 1e-3)
    value[20_000] = np.nan
    value[30_000:31_000] = np.nan
    t, v = extremes(np.arange(50_000.0), value)
    assert np.isnan(v[t == 20_000]).all()
    assert (t == 20_000).any()
    inside = (t > 30_100) & (t < 30_900)
    assert inside.any()
    assert np.isnan(v[inside]).all()


def test_gap_becomes_a_break_and_far_recordings_follow_each_other() -> None:
    stamps = np.concatenate([np.arange(100), np.arange(200, 300)]) * 10_000_000
    later = stamps + 3_600_000_000_000
    every = np.concatenate([stamps, later]).astype(np.int64)
    time, rows = with_breaks(every, np.ones((400, 2)))
    assert np.isnan(rows[:, 0]).sum() == 3  # the two gaps and the hour between the recordings
    assert time[-1] == pytest.approx(2 * 2.99 + 1.0)
    assert np.all(np.diff(time) > 0.0)


def test_samples_out_of_order_are_sorted() -> None:
    stamps = np.array([2, 0, 1], dtype=np.int64) * 1_000_000_000
    time, rows = with_breaks(stamps, np.array([[2.0], [0.0], [1.0]]))
    assert time.tolist() == [0.0, 1.0, 2.0]
    assert rows[:, 0].tolist() == [0.0, 1.0, 2.0]


def test_longest_stretch() -> None:
    value = np.array([1.0, np.nan, 2.0, 3.0, 4.0, np.nan, 5.0])
    time, found = longest_stretch(np.arange(7.0), value)
    assert found.tolist() == [2.0, 3.0, 4.0]
    assert time.tolist() == [2.0, 3.0, 4.0]


def test_white_noise_is_white_and_filtered_noise_is_not() -> None:
    rng = np.random.default_rng(3)
    time = np.arange(4000) * 0.01
    white = rng.standard_normal(4000)
    coloured = np.convolve(white, np.ones(5), mode='same')
    verdicts = [colour_of('FX', 'N', time, series) for series in (white, coloured)]
    assert verdicts[0] is not None
    assert verdicts[0].white
    assert verdicts[1] is not None
    assert not verdicts[1].white
    # The spectrum is in unit^2/Hz: its integral is the variance.
    power = trapezoid(verdicts[0].density, verdicts[0].frequency)
    assert power == pytest.approx(white.var(), rel=0.1)


def test_whiteness_looks_only_below_the_cut_off() -> None:
    rng = np.random.default_rng(4)
    time = np.arange(4000) * 0.01
    spectrum = np.fft.rfft(rng.standard_normal(4000))
    frequency = np.fft.rfftfreq(4000, 0.01)
    spectrum[frequency > 10.0] = 0.0
    found = colour_of('FX', 'N', time, np.fft.irfft(spectrum), 10.0)
    assert found is not None
    assert found.white
    assert found.band_hz == pytest.approx(7.0)
    whole = colour_of('FX', 'N', time, np.fft.irfft(spectrum))
    assert whole is not None
    assert not whole.white


def test_short_or_constant_series_have_no_colour() -> None:
    assert colour_of('FX', 'N', np.arange(20.0), np.arange(20.0)) is None
    assert colour_of('FX', 'N', np.arange(500.0), np.ones(500)) is None


def test_outage_counts_rejected_measurements_as_missing() -> None:
    time = np.arange(0.0, 10.0, 0.1)
    accepted = ~((time > 2.95) & (time < 5.05))
    found = outages('gps', time, accepted, 12.0)
    assert [(round(one.begin, 1), round(one.end, 1)) for one in found] == [(2.9, 5.1), (9.9, 12.0)]
    assert not outages('gps', time, np.ones(100, dtype=bool), 9.9)


def test_outage_breaks_the_line() -> None:
    time = np.concatenate([np.arange(0.0, 4.0, 0.1), np.arange(6.0, 8.0, 0.1)])
    t, v = broken(time, np.ones((60, 2)))
    assert len(t) == 61
    assert np.isnan(v[40]).all()
    assert 3.9 < t[40] < 6.0
    assert np.isfinite(np.delete(v, 40, axis=0)).all()
