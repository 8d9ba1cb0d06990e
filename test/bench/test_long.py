"""The bench of a day: stamps go on, counters that are wrong are seen."""

from __future__ import annotations

import sys
from pathlib import Path

from veh_identification.runtime import messages

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))
import long
from hostile.spoiling import SECOND, Item, stamp_of
from hostile.streams import PLANS, load_source

START = 1_700_000_000 * SECOND


def test_a_recording_again_and_again() -> None:
    source = [
        Item(START + k, '/imu', 'sensor_msgs/msg/Imu', messages.new('sensor_msgs/msg/Imu'))
        for k in range(3)
    ]
    for item in source:
        item.message.header.stamp.sec = START // SECOND
    found = list(long.repeated(source, 4, 3600 * SECOND))
    assert [one.time_ns for one in found[::3]] == [START + k * 3600 * SECOND for k in range(4)]
    assert [stamp_of(one.message) for one in found[::3]] == [one.time_ns for one in found[::3]]
    assert stamp_of(source[0].message) == START  # the source stays as it is


def test_a_short_day(tmp_path: Path) -> None:
    (plan,) = (one for one in PLANS if one.scenario == 'four-bar')
    plan = plan._replace(seconds=3.0)
    source = load_source(tmp_path, plan)
    watch, spent = long.run_day(plan, source, 0.05, 4)
    memory, counters, moved = long.rows_of(plan, watch, 4 * len(source), 0.05, spent)
    assert len(watch.counts) == 4 and watch.counts[0]
    assert counters['met'] and moved['met'] and memory['ours'] < 1.5
    name = next(iter(watch.counts[-1]))
    watch.counts[-1][name] += 1
    assert not long.rows_of(plan, watch, 0, 0.05, spent)[1]['met']


def test_counters_grow_evenly_but_for_what_waits_at_the_end_of_a_recording() -> None:
    assert long._grows_evenly([2390, 4780, 7170])
    assert long._grows_evenly([2380, 4770, 7160])
    assert not long._grows_evenly([2390, 4770, 7150])  # each later one loses ten
    assert not long._grows_evenly([2380, 4770, 7159])
