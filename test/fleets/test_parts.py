"""Recordings that are reduced in parts: the same values, no larger memory, nothing unsaid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veh_identification as vid
from veh_identification.findings import Finding
from veh_identification.fleets.parts import reduce_job, together
from veh_identification.fleets.reduction import Job, Reduction, reduce_recording, refused
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter, write_stretch
from veh_identification.runtime.qos import LATCHED

URDF = Path(__file__).parents[2] / 'config' / 'models' / 'arm_6_axis.urdf'


def test_parts_say_what_the_whole_says(arms: Path) -> None:
    job = Job(str(arms / 'arm_01' / 'week_001'), 'robot', options=(('urdf', URDF),))
    whole = reduce_recording(job)
    parts = reduce_job(replace(job, part=0.6 * whole.seconds))
    assert parts.names == whole.names
    assert parts.seconds == whole.seconds
    assert parts.start_ns == whole.start_ns
    assert 'of 2 parts' in parts.headline
    apart = (parts.value - whole.value) / np.maximum(parts.std, whole.std)
    # The parts do not share their choices of cut-offs, so they are not equal; but no farther
    # from the whole than noise is.
    assert np.sqrt(np.nanmean(apart**2)) < 1.5
    assert np.nanmedian(parts.std / whole.std) == pytest.approx(1.0, abs=0.5)


def test_short_recordings_stay_whole(arms: Path) -> None:
    job = Job(str(arms / 'arm_01' / 'week_001'), 'robot', options=(('urdf', URDF),))
    np.testing.assert_array_equal(
        reduce_job(replace(job, part=900.0)).value, reduce_recording(job).value
    )


def test_a_report_of_a_part_is_found_again(arms: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {'out': tmp_path / 'out', 'urdf': URDF, 'reports': 'all', 'part': 4.0}
    fleet = vid.batch('robot', arms / 'arm_01' / 'week_001', **given)
    assert fleet.entries[0].report.endswith('part_0/report.html')
    assert (tmp_path / 'out' / fleet.entries[0].report).is_file()
    assert vid.batch('robot', arms / 'arm_01' / 'week_001', **given).entries[0].stored


def _reduction(value: float, verdict: str = 'yes', *codes: str) -> Reduction:
    return Reduction(
        'car',
        ('M',),
        ('kg',),
        ('',),
        np.array([value]),
        np.array([[1.0]]),
        verdict=verdict,
        findings=tuple(Finding('warn', code, f'said of {value:g}') for code in codes),
    )


def test_parts_add_up_and_what_was_said_of_one_stays_said() -> None:
    job = Job('run', 'car')
    agreed = together(job, [_reduction(10.0), _reduction(11.0)], 5, 20.0)
    assert agreed.verdict == 'yes'
    assert agreed.value == pytest.approx([10.5])
    assert agreed.covariance == pytest.approx(np.array([[0.5]]))
    doubted = together(job, [_reduction(10.0), _reduction(10.0, 'care', 'late')], 5, 20.0)
    assert doubted.verdict == 'care'
    assert [one.code for one in doubted.findings] == ['late']
    assert '1 of 2 parts' in doubted.findings[0].text


def test_parts_that_disagree_are_told() -> None:
    made = together(Job('run', 'car'), [_reduction(10.0), _reduction(30.0)], 0, 20.0)
    assert made.verdict == 'care'
    assert 'recordings_disagree' in [one.code for one in made.findings]
    assert made.std[0] > 5.0


def test_a_part_that_cannot_be_used_is_told_and_none_at_all_is_a_refusal() -> None:
    job = Job('run', 'car')
    bad = refused('car', 'the wheels are missing')
    made = together(job, [_reduction(10.0), bad], 0, 20.0)
    assert made.verdict == 'care'
    assert made.value == pytest.approx([10.0])
    assert 'the wheels are missing' in made.findings[0].text
    assert together(job, [bad, bad], 0, 20.0).error == 'the wheels are missing'


def test_a_stretch_has_the_latched_messages_of_before(tmp_path: Path) -> None:
    def text(value: str) -> object:
        return messages.new('std_msgs/msg/String', data=value)

    with BagWriter(tmp_path / 'run') as writer:
        writer.write_message('/robot_description', text('urdf'), 0, qos=LATCHED)
        for k in range(10):
            writer.write_message('/said', text(str(k)), k * 10)
    with BagReader(tmp_path / 'run') as reader:
        assert write_stretch(reader, tmp_path / 'part', 40, 70) == 4
    with BagReader(tmp_path / 'part') as reader:
        found = [(one.time_ns, one.topic, one.message.data) for one in reader.messages()]
    assert found == [
        (40, '/robot_description', 'urdf'),
        (40, '/said', '4'),
        (50, '/said', '5'),
        (60, '/said', '6'),
    ]
