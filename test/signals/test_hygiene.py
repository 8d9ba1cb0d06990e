from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veh_identification.errors import SignalError
from veh_identification.signals.hygiene import clean, split_segments
from veh_identification.signals.segments import contiguous_segments, erode, gap_segments
from veh_identification.signals.time_series import TimeSeries, require_increasing


def series(stamps, values=None, label='imu/data'):
    stamps = np.asarray(stamps, dtype=float)
    values = stamps[:, None] if values is None else values
    names = tuple(f'c{i}' for i in range(np.atleast_2d(np.asarray(values).T).shape[0]))
    return TimeSeries(stamps, values, names, ('m',) * len(names), label=label)


def test_time_series_checks_its_parts():
    with pytest.raises(SignalError, match='imu/data: stamps'):
        TimeSeries(np.zeros(3), np.zeros((2, 1)), ('a',), ('m',), label='imu/data')
    with pytest.raises(SignalError, match='2 channels need as many names'):
        TimeSeries(np.zeros(3), np.zeros((3, 2)), ('a',), ('m',))
    with pytest.raises(SignalError, match="'a' is used twice"):
        TimeSeries(np.zeros(3), np.zeros((3, 2)), ('a', 'a'), ('m', 'm'))
    with pytest.raises(SignalError, match="no channel 'b'"):
        series([0.0, 1.0]).select(['b'])


def test_nanoseconds_survive_the_round_trip():
    epoch = 1_700_000_000_123_456_789
    stamps = epoch + np.array([0, 1, 999_999_937, 3_600_000_000_001])
    one = TimeSeries.from_nanoseconds(stamps, np.zeros((4, 1)), ['a'], ['m'])
    np.testing.assert_array_equal(one.stamps_ns(), stamps)
    np.testing.assert_array_equal(one.with_epoch(epoch - 5_000_000_000).stamps_ns(), stamps)


def test_clean_series_is_left_alone():
    t = np.arange(100) / 50.0
    one, report = clean(series(t))
    np.testing.assert_array_equal(one.stamps, t)
    assert report.clean
    assert report.sentences() == []


@pytest.mark.parametrize('wild', [1e13, -1e308, 1e308])
def test_values_beyond_all_that_is_measured_are_dropped(wild):
    """Found by bench/fuzz.py: their differences are infinite, where splines raise."""
    t = np.arange(100) / 50.0
    values = np.stack([t, -t], axis=1)
    values[20, 1] = wild
    one, report = clean(series(t, values))
    assert report.non_finite_values == 1 and len(one) == 99
    assert np.abs(one.values).max() < 10.0


def test_every_fault_is_counted_and_named():
    t = np.arange(200) / 100.0
    values = np.stack([t, -t], axis=1)
    values[20, 1] = np.nan
    values[21, 0] = np.inf
    stamps = t.copy()
    stamps[30] = np.nan
    stamps[40] = 1e6
    stamps[50], stamps[51] = t[51], t[50]
    stamps[60] = stamps[61]
    stamps[100:] += 0.5
    one, report = clean(series(stamps, values))
    assert report.non_finite_values == 2
    assert report.non_finite_by_channel == {'c0': 1, 'c1': 1}
    assert report.non_finite_stamps == 1
    assert report.wild_stamps == 1
    assert report.out_of_order == 1
    assert (report.duplicates, report.conflicting_duplicates) == (1, 1)
    assert report.gaps == ((pytest.approx(0.99), pytest.approx(1.5)),)
    assert report.samples_in == report.samples_out + report.dropped
    assert len(report.sentences()) == 6
    assert all(s.startswith('imu/data: ') for s in report.sentences())
    require_increasing(one.stamps, 'x')


def test_clock_set_back_keeps_the_longest_session():
    t = np.concatenate([np.arange(0, 300), np.arange(100, 200)]) / 50.0
    one, report = clean(series(t))
    np.testing.assert_array_equal(one.stamps, np.arange(300) / 50.0)
    assert report.clock_jumps == (pytest.approx(-3.98),)
    assert report.dropped_by_clock_jump == 100


def test_a_few_samples_from_the_past_do_not_drag_the_rest_along():
    t = np.concatenate([np.arange(500), [100.5, 101.5, 102.5], np.arange(500, 1500)]) / 100.0
    one, report = clean(series(t))
    assert len(one) == 1500
    assert report.dropped_by_clock_jump == 3


def test_sessions_that_do_not_overlap_are_both_kept():
    t = np.concatenate([np.arange(1000, 1300), np.arange(0, 200)]) / 50.0
    one, report = clean(series(t))
    assert len(one) == 500
    assert report.dropped == 0
    assert len(report.gaps) == 1
    assert [len(s) for s in split_segments(one, 1.0)] == [200, 300]


faulty = st.one_of(
    st.floats(-5.0, 5.0).map(lambda x: round(x, 2)),
    st.just(float('nan')),
    st.floats(allow_nan=True, allow_infinity=True),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(faulty, faulty), max_size=60))
def test_nothing_is_lost_silently(samples):
    stamps = np.array([s for s, _ in samples], dtype=float)
    values = np.array([[v] for _, v in samples], dtype=float).reshape(-1, 1)
    one, report = clean(series(stamps, values))
    assert report.samples_in == len(samples)
    assert report.samples_out == len(one)
    assert report.samples_in == report.samples_out + report.dropped
    assert np.isfinite(one.values).all()
    require_increasing(one.stamps, 'x')
    again, second = clean(one, max_gap=report.max_gap)
    np.testing.assert_array_equal(again.stamps, one.stamps)
    assert second.dropped <= report.samples_out - len(again)
    originals = {(a, b) for a, b in samples}
    assert {(a, b) for a, b in zip(one.stamps, one.values[:, 0], strict=True)} <= originals


@settings(max_examples=100, deadline=None)
@given(st.lists(st.booleans(), max_size=80), st.integers(0, 5))
def test_segments_and_erosion(flags, count):
    valid = np.array(flags, dtype=bool)
    rebuilt = np.zeros(len(valid), dtype=bool)
    for piece in contiguous_segments(valid):
        rebuilt[piece] = True
    np.testing.assert_array_equal(rebuilt, valid)
    eroded = erode(valid, count)
    for index in np.flatnonzero(eroded):
        assert index >= count and index + count < len(valid)
        assert valid[index - count : index + count + 1].all()


def test_gap_segments_cut_at_pauses():
    stamps = np.array([0.0, 0.1, 0.2, 1.0, 1.1, 5.0])
    assert gap_segments(stamps, 0.5) == [slice(0, 3), slice(3, 5), slice(5, 6)]


def test_non_monotonic_stamps_are_refused_with_the_place():
    with pytest.raises(SignalError, match=r'wheel_fl/wrench: stamps must increase, but sample 2'):
        require_increasing(np.array([0.0, 1.0, 0.5]), 'wheel_fl/wrench')


def test_messages_that_all_came_twice_are_one_sentence_for_all_series() -> None:
    stamps = np.repeat(np.arange(50) * 0.01, 2)
    values = np.column_stack([np.sin(stamps), np.full(100, np.nan)])[:, :1]
    said = set()
    for label in ('imu/data', 'joint_states'):
        _, report = clean(series(stamps, values, label))
        (finding,) = report.findings()
        assert (report.duplicates, report.conflicting_duplicates) == (50, 0)
        said.add(finding.text.removeprefix(f'{label}: '))
    assert len(said) == 1 and 'every message is there 2 times' in said.pop()
    other = values.copy()
    other[1::2] += 1.0  # not copies: two sources
    (finding,) = clean(series(stamps, other))[1].findings()
    assert '50 samples with a repeated stamp dropped (50 with another value)' in finding.text
