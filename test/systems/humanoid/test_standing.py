"""Errors of the legs that the wrench hides are told by soles that stand, and widen deviations."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from humanoid_cases import CAD, record, true_robot
from scipy.spatial.transform import Rotation
from test_checks import joints, states_of

from veh_identification.identification import ArrayBlocks
from veh_identification.identification.accumulator import accumulate
from veh_identification.identification.live import Solution
from veh_identification.systems.humanoid.checks.standing import LegError
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.estimation.prior import links_to_base
from veh_identification.systems.humanoid.identify import identify
from veh_identification.systems.humanoid.live.checking import StatesCheck, as_recording
from veh_identification.systems.humanoid.live.model import ContactModel, live_configuration
from veh_identification.systems.humanoid.processing.doubts import Doubt
from veh_identification.systems.humanoid.recording.reader import read_recording
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.humanoid.setup import check, set_up

CODES = (
    'joint_zero',
    'joint_scale',
    'joint_drift',
    'link_length',
    'base_turned',
    'base_tilted',
    'unit',
    'stamps_delayed',
)
CONFIGURATION = load_configuration(None, estimate_delays=False)


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    """A clean recording of 5 s."""
    bag = record(tmp_path_factory.mktemp('standing') / 'bag', kind='arms', duration=5.0)
    return read_recording(bag, load_robot(CAD).moving_joints(), CONFIGURATION)


def one_joint(name, change):
    return joints(lambda each, q: change(q) if each == name else q)


def turned(recording):
    """Markers of the base 5 degrees askew about the vertical axis of its link."""
    values = recording.base.values.copy()
    askew = Rotation.from_euler('z', 5.0, degrees=True)
    values[:, 3:] = (Rotation.from_quat(values[:, 3:]) * askew).as_quat()
    return replace(recording, base=replace(recording.base, values=values))


def tilted(recording):
    """A world 8 degrees askew about its x axis."""
    turn = Rotation.from_euler('x', 8.0, degrees=True)
    values = recording.base.values
    turned = (turn * Rotation.from_quat(values[:, 3:])).as_quat()
    values = np.hstack([turn.apply(values[:, :3]), turned])
    return replace(recording, base=replace(recording.base, values=values))


WRONG = {
    'turned base': (turned, 'base_turned', r'turned by (4\.[6-9]|5) degrees'),
    'all gains': (
        joints(lambda name, q: 1.05 * q),
        'joint_scale',
        r'all joints of the legs seem to show 1\.05 times',
    ),
    'gain': (
        one_joint('r_knee_joint', lambda q: 1.1 * q),
        'joint_scale',
        r'r_knee_joint seems to show 1\.1 times',
    ),
    'half': (
        one_joint('r_knee_joint', lambda q: 0.6 * q),
        'joint_scale',
        r'r_knee_joint seems to show 0\.6',
    ),
    'zero': (
        one_joint('l_hip_pitch_joint', lambda q: q + 0.035),
        'joint_zero',
        r'l_hip_pitch_joint seems to be 0\.03[45]',
    ),
    'turns': (
        one_joint('l_ankle_pitch_joint', lambda q: q / (2.0 * np.pi)),
        'unit',
        r'l_ankle_pitch_joint seems to be in turns',
    ),
    'tilt': (tilted, 'base_tilted', r'(7\.[89]|8(\.[12])?) degrees askew'),
    'drift': (
        one_joint('r_knee_joint', lambda q: q + np.linspace(0.0, 0.1, len(q))),
        'joint_drift',
        r'r_knee_joint seems to wander by 0\.(1|09)',
    ),
}


def legs_of(findings):
    """What is told of legs, maybes included."""
    return [one for one in findings if one.code.removeprefix('maybe_') in CODES]


@pytest.mark.parametrize('case', WRONG)
def test_a_wrong_leg_is_named_alone_and_refuses_nothing(walk, case: str) -> None:
    change, code, words = WRONG[case]
    found = check(load_robot(CAD), change(walk), CONFIGURATION)
    (cause,) = legs_of(found)
    assert (cause.level, cause.code) == ('warn', code) and re.search(words, cause.text)
    assert cause.evidence > 2.0 and not [one for one in found if one.level == 'bad']


@pytest.mark.parametrize(
    ('base', 'joints', 'words'),
    [
        (0.02, 0.0, r'base/pose are (19|2[01]) ms late against those of joint_states'),
        (0.0, 0.03, r'joint_states are (28|29|3[01]) ms late against those of base/pose'),
        (0.03, 0.03, ''),
    ],
)
def test_clocks_of_base_and_joints_that_differ_are_told(
    tmp_path, base: float, joints: float, words: str
) -> None:
    bag = record(tmp_path / 'bag', kind='bend', duration=6.0)
    recording = read_recording(bag, load_robot(CAD).moving_joints(), CONFIGURATION)
    late = replace(
        recording,
        base=replace(recording.base, stamps=recording.base.stamps + base),
        joints=tuple(replace(one, stamps=one.stamps + joints) for one in recording.joints),
    )
    told = legs_of(check(load_robot(CAD), late, CONFIGURATION))
    if not words:
        assert told == []
        return
    (cause,) = told
    assert (cause.level, cause.code) == ('warn', 'stamps_delayed')
    assert re.search(words, cause.text) and cause.evidence > 2.0
    # Where delays are estimated they are put right, and no deviation grows.
    wanted = replace(CONFIGURATION, estimate_delays=True)
    assert 'warn' not in [one.level for one in legs_of(check(load_robot(CAD), late, wanted))]


@pytest.mark.parametrize(
    ('gain', 'unit', 'code'),
    [
        (-1.02, 'rad', 'joint_sign'),
        (6.2, 'rad', 'unit'),
        (0.0175, 'rad', 'unit'),
        (6.2, 'm', 'joint_scale'),
        (1.1, 'rad', 'joint_scale'),
    ],
)
def test_gains_of_other_units_and_signs_are_called_so(gain: float, unit: str, code: str) -> None:
    told = LegError('gain', (3,), ('knee',), unit).told(gain - 1.0)
    assert told[0] == code and 'knee seems to ' in told[1]


def test_nothing_is_told_of_legs_that_are_right(walk) -> None:
    assert not legs_of(check(load_robot(CAD), walk, CONFIGURATION))


def test_nor_of_an_arm_that_is_wrong(walk) -> None:
    """No sole tells it."""
    wrong = one_joint('r_elbow_joint', lambda q: q + 0.2)(walk)
    assert not legs_of(check(load_robot(CAD), wrong, CONFIGURATION))


def longer_thighs(folder, factor: float):
    """A URDF whose knees are farther from the hips."""

    def origin(found: re.Match[str]) -> str:
        return f'{found[1]}{" ".join(str(factor * float(x)) for x in found[2].split())}"'

    pattern = r'(<joint name="[lr]_knee_joint".*?<origin xyz=")([^"]+)"'
    path = folder / 'long.urdf'
    path.write_text(re.sub(pattern, origin, CAD.read_text('utf-8'), flags=re.DOTALL), 'utf-8')
    return path


@pytest.mark.parametrize(('factor', 'code'), [(1.15, 'link_length'), (1.05, 'maybe_link_length')])
def test_links_of_another_length_are_told(walk, tmp_path, factor: float, code: str) -> None:
    robot = load_robot(longer_thighs(tmp_path, factor))
    (cause,) = legs_of(check(robot, walk, CONFIGURATION))
    assert cause.code == code and 'l_knee_joint' in cause.text and 'too long' in cause.text


def deviations(recording) -> np.ndarray:
    """Errors of all base parameters over their deviations."""
    setup = set_up(load_robot(CAD), [recording], None, CONFIGURATION)
    found, robot = identify(setup), true_robot()
    problem = found.estimate.problem
    links = [name for name, values in robot.parameters.items() if values[0] > 0.0]
    values = np.concatenate([robot.parameters[name] for name in links])
    truth = links_to_base(problem.robot, problem.model, problem.base, links) @ values
    return (found.result.value - truth) / found.result.std


def test_deviations_allow_for_a_gain_that_is_only_named(walk, monkeypatch) -> None:
    """Several parameters follow a knee that shows too much; without a word they look certain."""
    change, *_ = WRONG['gain']
    told = np.abs(deviations(change(walk)))
    monkeypatch.setattr(
        'veh_identification.systems.humanoid.setup.leg_errors', lambda *_: ([], None)
    )
    silent = np.abs(deviations(change(walk)))
    assert told.max() < 3.0 < silent.max()


def test_live_says_and_widens_the_same(walk) -> None:
    change, code, _ = WRONG['gain']
    robot, pose = load_robot(CAD), walk.wrenches[0].pose
    stamps, rows, states = states_of(change(walk), robot)
    given = live_configuration(9.80665, 20.0)
    model = ContactModel(robot, states.joints, {}, [], True, 0.0, given, np.zeros(3), 0.1)
    looked = StatesCheck(as_recording(stamps, rows, states, [], lambda *_: pose), model)
    while looked.step():
        pass
    (cause,) = legs_of(looked.findings)
    assert (cause.level, cause.code) == ('warn', code)
    doubt = looked.doubt
    assert doubt is not None
    offline = set_up(robot, [change(walk)], None, CONFIGURATION).raws[0].doubt
    size = [np.sqrt(np.square(one.change).mean(axis=0)) for one in (doubt, offline)]
    # Another grid and other samples of the same motion.
    np.testing.assert_allclose(size[0], size[1], rtol=0.3)


def test_an_error_of_the_right_side_is_the_bias_of_least_squares() -> None:
    rng = np.random.default_rng(4)
    W, e = rng.normal(size=(50, 6, 4)), rng.normal(size=(50, 6))
    sigma = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    A = (W / sigma[:, None]).reshape(-1, 4)
    bias = np.linalg.lstsq(A, (e / sigma).ravel(), rcond=None)[0]
    every = Doubt(W, e).normal(sigma, 50)
    np.testing.assert_allclose(np.linalg.inv(A.T @ A) @ every, bias, rtol=1e-9)
    # Half of the samples that stand for all of them, where both halves are the same.
    twice = Doubt(np.concatenate([W, W]), np.concatenate([e, e])).normal(sigma, 50)
    np.testing.assert_allclose(twice, every)


def test_a_live_estimate_is_as_uncertain_as_the_doubt_says() -> None:
    robot = load_robot(CAD)
    given, names = live_configuration(9.80665, 20.0), robot.moving_joints()
    model = ContactModel(robot, names, {}, [], True, 0.0, given, np.zeros(3), 0.1)
    rng = np.random.default_rng(0)
    W = rng.normal(size=(300, 6, len(model.names)))
    Y = W @ model.a_priori + rng.normal(size=(300, 6))
    error = W @ (0.1 * np.sqrt(np.diag(model.prior.covariance)))

    def solved(right: np.ndarray, doubt: Doubt | None) -> Solution:
        model.offset_scale, model.load, model.doubt = 1.0, 1.0, doubt
        return model.solve(accumulate(ArrayBlocks(W, right)))

    plain, other = solved(Y, None), solved(Y + error, None)
    doubtful = solved(Y, Doubt(W[:, :, : model.problem.base.rank], error))
    more = np.sqrt(np.diag(doubtful.covariance - plain.covariance))
    share = more / np.abs(other.value - plain.value)
    assert 0.8 < np.median(share) < 1.2  # the noise and the trust that is found differ a little
