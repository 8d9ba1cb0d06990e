"""The order of messages is defined, whatever the storage and the selection."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from bag_samples import START, imu, write_sample
from hypothesis import given
from hypothesis import strategies as st

from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.bags.mcap import writer as writer_module
from veh_identification.runtime.bags.source import merge_in_time


def write_ties(path: Path, topics: list[str], times: list[int], **options: str) -> Path:
    """Messages whose acceleration tells in which place they were written."""
    with BagWriter(path, **options) as bag:
        for place, (topic, time) in enumerate(zip(topics, times, strict=True)):
            bag.write_message(topic, imu(place), START + time)
    return path


def order(paths: list[Path] | Path, topics: list[str] | None = None) -> list[tuple]:
    with BagReader(paths) as reader:
        return [
            (entry.time_ns - START, entry.topic, entry.message.angular_velocity.x)
            for entry in reader.messages(topics)
        ]


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_ties_within_a_recording(tmp_path: Path, storage: str):
    topics = ['b', 'a', 'c', 'a', 'b', 'a']
    times = [5, 5, 5, 5, 5, 4]
    path = write_ties(tmp_path / 'bag', topics, times, storage=storage)
    expected = [
        *((4, '/a', 5), (5, '/a', 1), (5, '/a', 3)),
        *((5, '/b', 0), (5, '/b', 4), (5, '/c', 2)),
    ]
    assert order(path) == expected
    assert order(path, ['c', 'a']) == [entry for entry in expected if entry[1] != '/b']


def test_ties_between_recordings_go_by_their_order(tmp_path: Path):
    first = write_ties(tmp_path / 'z', ['z', 'z'], [1, 2])
    second = write_ties(tmp_path / 'a', ['a', 'a'], [1, 2], storage='sqlite3')
    assert [topic for _, topic, _ in order([first, second])] == ['/z', '/a', '/z', '/a']
    assert [topic for _, topic, _ in order([second, first])] == ['/a', '/z', '/a', '/z']


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_log_times_in_any_order(tmp_path: Path, storage: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer_module, 'CHUNK_BYTES', 2000)  # several overlapping chunks
    generator = random.Random(1)
    times = [generator.randrange(40) for _ in range(120)]
    topics = [generator.choice('abc') for _ in times]
    path = write_ties(tmp_path / 'bag', topics, times, storage=storage)
    places = range(len(times))
    expected = sorted(zip(times, topics, places, strict=True))
    assert order(path) == [(time, f'/{topic}', place) for time, topic, place in expected]


def test_several_recordings_merge_in_time(tmp_path: Path):
    parts = [
        write_ties(tmp_path / str(part), ['a'] * 20, list(range(part, 100, 5)))
        for part in range(5)
    ]
    assert [time for time, _, _ in order(parts)] == list(range(100))


def test_the_same_recording_twice_is_read_twice(tmp_path: Path):
    path = write_sample(tmp_path / 'bag', count=5)
    assert len(order([path, path], ['imu/data'])) == 10


@given(st.lists(st.lists(st.integers(0, 20)), max_size=6))
def test_merge_equals_sorting(streams: list[list[int]]):
    """Stable: by time, then by stream, then by place."""
    sorted_streams = [sorted(stream) for stream in streams]
    opened: list[int] = []

    def opener(index: int):
        opened.append(index)
        return iter(
            [(time, (index, place), b'') for place, time in enumerate(sorted_streams[index])]
        )

    merged = list(
        merge_in_time(
            [
                (stream[0] if stream else 0, lambda index=index: opener(index))
                for index, stream in enumerate(sorted_streams)
            ]
        )
    )
    expected = [
        (time, (index, place), b'')
        for index, stream in enumerate(sorted_streams)
        for place, time in enumerate(stream)
    ]
    assert merged == sorted(expected)
    assert sorted(opened) == list(range(len(streams)))


def test_streams_are_opened_late():
    opened = []

    def opener(index: int):
        opened.append(index)
        return iter([(10 * index, index, b''), (10 * index + 5, index, b'')])

    merged = merge_in_time([(10 * index, lambda index=index: opener(index)) for index in range(5)])
    next(merged)
    next(merged)
    assert opened == [0]
    assert len(list(merged)) == 8
