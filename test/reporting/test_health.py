from pathlib import Path

import numpy as np
import pytest

from veh_identification.reporting.health import health_row, sensor_health
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.messages import header, new


def test_rate_gap_and_disorder() -> None:
    stamps = np.concatenate([np.arange(100), np.arange(150, 250)]).astype(np.int64) * 10_000_000
    stamps[20], stamps[21] = stamps[21], stamps[20]
    row = health_row('run', '/imu/data', 'sensor_msgs/msg/Imu', stamps)
    assert row.rate == pytest.approx(100.0)
    assert row.gaps == 1
    assert row.longest_gap == pytest.approx(0.51)
    assert row.missing == pytest.approx(0.51)
    assert row.disorder == 1
    assert row.note


def test_rate_of_two_interleaved_sources_is_their_sum() -> None:
    one = np.arange(0, 1000, 10)
    stamps = np.sort(np.concatenate([one, one + 1])).astype(np.int64) * 1_000_000
    row = health_row('run', '/joint_states', 'sensor_msgs/msg/JointState', stamps)
    assert row.rate == pytest.approx(200.0, rel=0.02)


@pytest.mark.parametrize('stamps', [[], [5], [7, 7, 7]])
def test_too_few_stamps_have_no_rate(stamps: list[int]) -> None:
    row = health_row('run', '/fix', 'type', np.array(stamps, dtype=np.int64))
    assert np.isnan(row.rate)
    assert row.count == len(stamps)


def test_topics_of_a_bag_without_those_of_the_truth(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'run') as writer:
        for k in range(50):
            for topic in ('speed', 'truth/speed'):
                stamp = k * 20_000_000
                writer.write_message(
                    topic,
                    new('geometry_msgs/msg/TwistStamped', header=header(stamp, '')),
                    stamp + 3_000_000,
                )
    rows = sensor_health([tmp_path / 'run'])
    assert [row.topic for row in rows] == ['/speed']
    assert rows[0].rate == pytest.approx(50.0)
    assert rows[0].count == 50


def write_topics(path: Path, spans: dict[str, tuple[int, int]]) -> None:
    with BagWriter(path) as writer:
        for topic, (begin, end) in spans.items():
            for k in range(begin, end):
                writer.write_message(
                    topic,
                    new('geometry_msgs/msg/TwistStamped', header=header(k * 10_000_000, '')),
                    k * 10_000_000,
                )


def test_topics_that_begin_late_or_end_early_are_found(tmp_path: Path) -> None:
    write_topics(
        tmp_path / 'run',
        {
            'a': (0, 1000),
            'b': (3, 1004),
            'c': (0, 1000),
            'late': (200, 1000),
            'lost': (0, 400),
            'latched': (0, 2),
        },
    )
    rows = {row.topic: row for row in sensor_health([tmp_path / 'run'])}
    assert rows['/late'].starts_late == pytest.approx(2.0)
    assert rows['/lost'].ends_early == pytest.approx(6.0, abs=0.01)
    for name, row in rows.items():
        assert (row.starts_late > 0.0) == (name == '/late')
        assert (row.ends_early > 0.0) == (name == '/lost')


def test_two_topics_cannot_tell_which_of_them_is_late(tmp_path: Path) -> None:
    write_topics(tmp_path / 'run', {'a': (0, 1000), 'b': (500, 1000)})
    assert not any(row.starts_late for row in sensor_health([tmp_path / 'run']))


def test_recording_that_is_gone_becomes_a_row_that_says_so(tmp_path: Path) -> None:
    rows = sensor_health([tmp_path / 'gone'])
    assert len(rows) == 1
    assert 'cannot be read again' in rows[0].note
    assert 'gone' in rows[0].note
