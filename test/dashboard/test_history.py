"""Bounded rows, and readers that are told only what is new."""

from __future__ import annotations

import itertools
import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from veh_identification.dashboard.history import COLUMNS, History

STEPS = st.lists(
    st.tuples(
        st.floats(0.01, 5.0) | st.floats(-20.0, -2.0),
        st.dictionaries(st.sampled_from('abcd'), st.floats(-9, 9), min_size=1),
        st.booleans(),
    ),
    max_size=120,
)


class Reader:
    """Does what the page does."""

    def __init__(self) -> None:
        self.columns: list[str] = []
        self.rows: list[list[float]] = []
        self.cursor: Any = None

    def read(self, history: History) -> None:
        told, self.cursor = history.since(self.cursor)
        if told is not None:
            if 'columns' in told:
                self.columns, self.rows = told['columns'], []
            self.rows += told['rows']


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_a_reader_has_the_same_rows_whenever_it_looks(steps: Any) -> None:
    history, reader, now = History(capacity=20), Reader(), 0.0
    for step, values, looks in steps:
        now += step
        history.add(round(now * 1e9), values)
        if looks:
            reader.read(history)
    reader.read(history)
    assert len(history.rows) <= 20
    assert reader.columns == list(history.columns)
    assert history.rows == sorted(history.rows, key=lambda row: row[0])
    assert [row[0] for row in reader.rows] == [time for time, _ in history.rows]
    for told, (_, kept) in zip(reader.rows, history.rows, strict=True):
        full = kept + [math.nan] * (len(reader.columns) - len(kept))
        assert repr(told[1:]) == repr(full)


def test_the_whole_past_stays_visible_in_bounded_memory() -> None:
    history = History(capacity=100)
    for k in range(100_000):
        history.add(k * 100_000_000, {'x': float(k)})
    times = [time for time, _ in history.rows]
    assert len(times) <= 100
    assert times[0] == 0.0
    assert times[-1] > 0.98 * 10_000.0
    assert all(value == [round(10 * time)] for time, value in history.rows)
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert max(gaps) < 4.0 * min(gaps)


def test_stamps_that_go_back_begin_a_new_past() -> None:
    history = History()
    for time in (0.0, 1.0, 2.0, 1.5):  # a little out of order is no new run
        history.add(round(time * 1e9), {'x': time})
    assert [time for time, _ in history.rows] == [0.0, 1.0, 2.0]
    history.add(200_000_000, {'y': 1.0})
    assert history.rows == [(0.0, [1.0])]
    assert list(history.columns) == ['y']


def test_another_clock_begins_a_new_past() -> None:
    history, year = History(), 365 * 86_400 * 10**9
    for time_ns in (0, 10**9, year, year + 10**9):
        history.add(time_ns, {'x': 1.0})
    assert [time for time, _ in history.rows] == [0.0, 1.0]


def test_columns_are_bounded() -> None:
    history = History()
    history.add(0, {f'p{k}': 1.0 for k in range(COLUMNS + 7)})
    assert len(history.rows[0][1]) == COLUMNS
    assert len(history.columns) == COLUMNS
