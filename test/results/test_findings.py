"""Findings of several recordings: said once, with all their names."""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding, verdict_of
from veh_identification.findings.finding import worst_first


def test_what_recordings_have_in_common_is_one_sentence_that_names_them() -> None:
    told = verdict_of(
        [
            Finding('warn', 'late', 'run_a: the fixes are late', 'run_a', 3.0),
            Finding('note', 'not_weighed', 'Weigh the car.', 'run_a'),
            Finding('warn', 'late', 'run_b: the fixes are late', 'run_b', 5.0),
            Finding('note', 'not_weighed', 'Weigh the car.', 'run_b'),
        ]
    )
    late, weighed = told.findings
    assert late.text == 'run_a and run_b: the fixes are late'
    assert late.where == 'run_a, run_b' and late.evidence == 5.0
    assert weighed.text == 'Weigh the car.' and np.isnan(weighed.evidence)
    assert told.headline == 'With care: 1 reservation.'


def test_other_numbers_other_levels_and_other_causes_stay_apart() -> None:
    told = verdict_of(
        [
            Finding('warn', 'late', 'run_a: 3 ms late', 'run_a'),
            Finding('warn', 'late', 'run_b: 4 ms late', 'run_b'),
            Finding('bad', 'late', 'run_c: 4 ms late', 'run_c'),
            Finding('warn', 'early', 'run_d: 4 ms late', 'run_d'),
        ]
    )
    assert len(told.findings) == 4


def test_what_many_topics_of_a_recording_have_in_common_is_one_sentence() -> None:
    """Their places begin with the recording, which the sentences leave out."""
    text = 'every message is there 2 times'
    topics = ('/imu/data', '/joint_states wheel_fl', '/joint_states wheel_fr', '/wheel_fl/wrench')
    found = [Finding('warn', 'repeated_stamps', f'{one}: {text}', f'run {one}') for one in topics]
    (one,) = worst_first(found)
    assert one.text.endswith(f'and 1 more: {text}') and 'run /imu/data' in one.text
