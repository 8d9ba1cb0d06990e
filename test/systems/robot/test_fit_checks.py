"""Errors of sensors and descriptions that parameters follow: told by what a fit leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from robot_cases import URDF, changed, found, ideal, recorded
from scipy.signal import lfilter

from veh_identification.findings import Finding
from veh_identification.simulation.robot.scenarios import Payload, random_arm
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.robot.checks.channels import sensor_findings
from veh_identification.systems.robot.checks.fit import estimate_findings
from veh_identification.systems.robot.checks.untared import untared_findings
from veh_identification.systems.robot.checks.whole import whole_findings
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.live.model import LiveOptions, RobotLive
from veh_identification.systems.robot.recording import ArmRecording


@pytest.fixture(scope='module')
def clean() -> ArmRecording:
    return ideal(random_arm('arm_6_axis.urdf', 21), 'clean', 4)[0]


def off_zero(recording: ArmRecording) -> ArmRecording:
    return changed(recording, position=recording.position + np.radians([0, 0, 8.0, 0, 0, 0]))


def drifting(recording: ArmRecording) -> ArmRecording:
    share = np.linspace(0.0, 1.0, len(recording.position))[:, None]
    return changed(recording, position=recording.position + share * np.radians([0, 8.0] + [0] * 4))


def other_gears(recording: ArmRecording) -> ArmRecording:
    return changed(recording, position=recording.position * [1, 1, 1.1, 1, 1, 1])


def all_gears(recording: ArmRecording) -> ArmRecording:
    return changed(recording, position=1.12 * recording.position)


def too_large(recording: ArmRecording) -> ArmRecording:
    return changed(recording, effort=recording.effort * [1, 1.3, 1, 1, 1, 1])


def one_late(recording: ArmRecording) -> ArmRecording:
    effort = recording.effort.copy()
    effort[4:, 1] = recording.effort[:-4, 1]  # 20 ms
    return changed(recording, effort=effort)


def slow_clock(recording: ArmRecording) -> ArmRecording:
    return replace(
        recording, series=replace(recording.series, stamps=1.5 * recording.series.stamps)
    )


def turned_on_the_way(recording: ArmRecording) -> ArmRecording:
    effort = recording.effort.copy()
    effort[len(effort) // 2 :, 2] *= -1.0
    return changed(recording, effort=effort)


Case = tuple[Callable[[ArmRecording], ArmRecording], str, str, str]
CASES: list[Case] = [
    (off_zero, 'position_offset', 'joint_states.position[joint_3]', 'degrees off its zero'),
    (drifting, 'position_drift', 'joint_states.position[joint_2]', 'over the recording'),
    (other_gears, 'position_scale', 'joint_states.position[joint_3]', 'gear ratio'),
    (all_gears, 'position_scale', 'joint_states.position', 'all joints alike'),
    (too_large, 'effort_scale', 'joint_states.effort[joint_2]', 'against the other joints'),
    (one_late, 'effort_delay', 'joint_states.effort[joint_2]', 'later than the other channels'),
    (slow_clock, 'weight_against_inertia', 'gravity', 'stamps at 0.6'),
    (turned_on_the_way, 'changes', 'joint_states', 'the equation of joint_3'),
]


def test_nothing_is_told_of_a_clean_recording(clean: ArmRecording) -> None:
    assert [one for one in estimate_findings(found([clean])) if one.level != 'note'] == []


@pytest.mark.parametrize('case', CASES, ids=[one[1] for one in CASES])
def test_the_error_is_named_with_its_size(clean: ArmRecording, case: Case) -> None:
    change, code, where, words = case
    best = estimate_findings(found([change(clean)]))[0]
    assert (best.level, best.code, best.where) == ('bad', code, where)
    assert words in best.text


def test_a_zero_that_no_motion_tells_is_named(clean: ArmRecording) -> None:
    """Of the last joint: its link could be any, so that it is told live and offline."""
    quarter = changed(clean, position=clean.position + np.radians([0, 0, 0, 0, 0, 90.0]))
    for told in (estimate_findings(found([quarter])), live(quarter)):
        note = next(one for one in told if one.code == 'zero_not_checked')
        assert note.level == 'note' and 'position[joint_6] (at all)' in note.text
        assert 'position[joint_2]' not in note.text


def test_a_scale_of_all_angles_that_no_motion_tells_is_noted(clean: ArmRecording) -> None:
    told = [one for one in estimate_findings(found([clean])) if 'scale' in one.code]
    assert [(one.level, one.code) for one in told] == [('note', 'angle_scale_not_checked')]
    assert 'to 7' in told[0].text


def test_angles_that_are_none_of_a_joint(clean: ArmRecording) -> None:
    robot = load_robot(URDF)
    assert sensor_findings(robot, clean) == []
    for change, code, words in (
        (lambda q: q * 4096 / (2.0 * np.pi), 'unit', 'ticks of an encoder'),
        (lambda q: (q - q[:1]) % (2.0 * np.pi), 'wrapped', 'jumps by a whole turn'),
    ):
        told = sensor_findings(robot, changed(clean, position=change(clean.position)))
        assert {(one.level, one.code) for one in told if one.level == 'bad'} == {('bad', code)}
        assert words in told[0].text


def test_the_size_of_an_error_is_right(clean: ArmRecording) -> None:
    """8 degrees, 20 ms and 8 degrees, within three of the deviations that are told."""
    for change, true in ((off_zero, 8.0), (one_late, 20.0), (drifting, 8.0)):
        text = estimate_findings(found([change(clean)]))[0].text
        value, std = _size(text)
        assert abs(value - true) < max(3.0 * std, 0.05 * true)


def _size(text: str) -> tuple[float, float]:
    before, after = text.split(' +- ')
    return float(before.split()[-1]), float(after.split()[0])


@pytest.mark.parametrize('case', CASES[:6], ids=[one[1] for one in CASES[:6]])
def test_the_live_estimate_says_the_same(clean: ArmRecording, case: Case) -> None:
    change, code, where, _ = case
    told = live(change(clean))
    assert (code, where) in {(one.code, one.where) for one in told if one.level == 'bad'}


def test_the_live_estimate_says_nothing_of_a_clean_one(clean: ArmRecording) -> None:
    assert not [one for one in live(clean) if one.level == 'bad']


def live(recording: ArmRecording) -> list[Finding]:
    model = RobotLive(load_robot(URDF), Configuration(), LiveOptions())
    stamps = np.round(1e9 * recording.series.stamps).astype(np.int64) + 10**18
    ticks = stamps // 10**9
    for k, stamp in enumerate(stamps):
        model.push(int(stamp), recording.position[k], recording.effort[k])
        if k and ticks[k] > ticks[k - 1]:
            model.estimate()
    model.finish()
    return model.findings()


def test_an_effort_off_its_zero_is_told_by_more_than_dry_friction(clean: ArmRecording) -> None:
    untared = changed(clean, effort=clean.effort + np.array([0, 30.0, 0, 0, 0, 0]))
    for told, none in ((_untared(untared), _untared(clean)), (live(untared), live(clean))):
        (one,) = [finding for finding in told if finding.code == 'effort_offset']
        assert one.level == 'warn' and one.where == 'joint_states.effort[joint_2]'
        assert 'effort_offset' not in {finding.code for finding in none}


def _untared(recording: ArmRecording) -> list[Finding]:
    made = found([recording])
    return untared_findings(made.names, made.value, made.covariance, 'joint_states')


def test_names_of_joints_that_begin_with_another_one(clean: ArmRecording) -> None:
    rolled = changed(
        clean,
        position=np.roll(clean.position, 1, axis=1),
        effort=np.roll(clean.effort, 1, axis=1),
    )
    told = whole_findings(load_robot(URDF), [rolled], Configuration())
    assert 'joints_swapped' in {one.code for one in told}
    assert any('begin with that of joint_6' in one.text for one in told)


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_slow_friction_that_no_model_tells_is_no_change(clean: ArmRecording, seed: int) -> None:
    """Of 36 public recordings of an arm three fitted 2 to 10 times better in a short part."""
    share = 0.03 * np.std(clean.effort, axis=0)
    rate = (len(clean.effort) - 1) / float(np.ptp(clean.series.stamps))
    keep = np.exp(-1.0 / (4.0 * rate))
    drawn = np.random.default_rng(seed).standard_normal(clean.effort.shape)
    wanders = lfilter([np.sqrt(1.0 - keep**2)], [1.0, -keep], drawn, axis=0)
    half = slice(None, len(clean.effort) // 2)
    rubbing = changed(clean, effort=clean.effort + share * wanders)
    short = replace(
        rubbing,
        series=replace(
            rubbing.series, stamps=rubbing.series.stamps[half], values=rubbing.series.values[half]
        ),
    )
    for recording in (rubbing, short):
        assert 'changes' not in [one.code for one in estimate_findings(found([recording]))]


def test_a_load_that_the_description_leaves_out_is_no_other_unit() -> None:
    """Before: joint 5 at 14 times what the URDF asks for, said to be another unit."""
    arm = random_arm('arm_6_axis.urdf', 21)
    load = Payload(6.0, np.array([0.03, 0.02, 0.12]), 0.02 * np.eye(3))
    loaded = recorded(arm, 'loaded', 3, load)
    (told,) = whole_findings(load_robot(URDF), [loaded], Configuration())
    assert (told.level, told.code) == ('warn', 'load_unknown')
    assert 'about 5.5 kg at link_6' in told.text
    assert 'load_unknown' in [one.code for one in live(loaded)]
    assert 'effort_scale' not in [one.code for one in live(loaded)]
    # Inch pounds ask all joints for one factor.
    inches = recorded(arm, 'inches', 3)
    inches = changed(inches, effort=8.8507 * inches.effort)
    (told,) = whole_findings(load_robot(URDF), [inches], Configuration())
    assert (told.level, told.code) == ('bad', 'effort_scale')
    # One joint in another unit is no load: the other joints know of none.
    other = changed(loaded, effort=loaded.effort * [1, 1, 1, 1, 9, 1])
    (told,) = whole_findings(load_robot(URDF), [other], Configuration())
    assert (told.level, told.code) == ('bad', 'effort_scale')
