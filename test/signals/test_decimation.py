from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veh_identification.errors import SignalError
from veh_identification.signals.decimation import (
    BlockDecimator,
    decimate,
    decimate_equations,
    decimated_stamps,
    design_decimation,
)

RATE = 500.0
FILTER = design_decimation(RATE, 6.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=12), st.sampled_from([1, 3, 7, 20]))
def test_blocks_equal_one_piece(sizes, factor):
    filter_ = design_decimation(RATE, 12.0, factor=factor)
    rng = np.random.default_rng(sum(sizes))
    x = rng.standard_normal((sum(sizes), 2, 3))
    decimator = BlockDecimator(filter_)
    pieces = [decimator.push(block) for block in np.split(x, np.cumsum(sizes)[:-1])]
    joined = np.concatenate(pieces)
    if len(x) >= len(filter_.taps):
        np.testing.assert_allclose(joined, decimate(x, filter_), atol=1e-13)
        assert len(joined) == len(decimated_stamps(np.arange(len(x)) / RATE, filter_))
    else:
        assert len(joined) == 0
    assert decimator.outputs == len(joined)


def test_zero_phase_at_the_stated_stamps():
    t = np.arange(10000) / RATE
    for frequency in (0.5, 3.0, 6.0):
        out = decimate(np.sin(2 * np.pi * frequency * t), FILTER)
        late = decimated_stamps(t, FILTER)
        gain = FILTER.response(frequency)[0]
        np.testing.assert_allclose(out, gain * np.sin(2 * np.pi * frequency * late), atol=1e-9)


def test_pass_band_stop_band_and_no_folding():
    assert FILTER.response(6.0)[0] == pytest.approx(0.5, abs=5e-3)
    np.testing.assert_allclose(FILTER.response(np.linspace(0, 4.5, 20)), 1.0, atol=2e-3)
    assert np.abs(FILTER.response(np.linspace(7.5, 249.0, 500))).max() < 2e-3
    assert FILTER.output_rate / 2.0 >= 7.5


def test_noise_gain_and_near_whiteness():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(400000)
    white = design_decimation(RATE, 6.0, folding=True)
    for filter_ in (FILTER, white):
        out = decimate(noise, filter_)
        assert out.var() == pytest.approx(filter_.noise_gain, rel=0.05)
        measured = (out[1:] * out[:-1]).mean() / out.var()
        assert measured == pytest.approx(filter_.noise_correlation()[1], abs=0.03)
    assert abs(white.noise_correlation()[1:]).max() < 0.15
    assert abs(FILTER.noise_correlation()[1]) > 0.3


def test_two_stages_equal_the_one_filter_they_stand_for():
    assert len(FILTER.stages) == 2
    x = np.random.default_rng(2).standard_normal((3000, 4))
    direct = np.stack([np.convolve(column, FILTER.taps, 'valid') for column in x.T], axis=1)
    np.testing.assert_allclose(decimate(x, FILTER), direct[:: FILTER.factor], atol=1e-13)


def test_both_sides_stay_equal_in_flat_memory():
    rng = np.random.default_rng(1)
    parameters = rng.standard_normal(13)

    def blocks():
        for _ in range(30):
            w = rng.standard_normal((1000, 6, 13))
            yield w, w @ parameters

    rows = 0
    for w, y in decimate_equations(blocks(), FILTER):
        np.testing.assert_allclose(w @ parameters, y, atol=1e-12)
        assert len(w) <= 1000 // FILTER.factor + 1
        rows += len(w)
    assert rows == (30000 - len(FILTER.taps)) // FILTER.factor + 1


def test_errors_are_one_sentence():
    with pytest.raises(SignalError, match='Nyquist frequency 250 Hz, found 300 Hz'):
        design_decimation(RATE, 300.0)
    with pytest.raises(SignalError, match='Nyquist frequency at 5 Hz, below the cut-off 6 Hz'):
        design_decimation(RATE, 6.0, factor=50)
    with pytest.raises(SignalError, match='shorter than the filter'):
        decimate(np.zeros(10), FILTER)
    decimator = BlockDecimator(FILTER)
    decimator.push(np.zeros((5, 2)))
    with pytest.raises(SignalError, match='blocks of 2 columns before, 3 now'):
        decimator.push(np.zeros((5, 3)))
    with pytest.raises(SignalError, match='4 rows of W and 5 rows of Y'):
        list(decimate_equations([(np.zeros((4, 1)), np.zeros(5))], FILTER))


@pytest.mark.parametrize('factor', [1.5, -2, 0.5, float('nan')])
def test_factor_that_is_no_whole_number(factor):
    with pytest.raises(SignalError, match='factor must be a whole number'):
        design_decimation(100.0, 10.0, factor=factor)
