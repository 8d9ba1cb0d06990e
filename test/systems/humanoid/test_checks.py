"""Mistakes in a humanoid's recording are named, offline and in the slices of the live check."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from humanoid_cases import CAD, TRUE, record

from veh_identification.runtime.cdr.fields import FieldCallback
from veh_identification.runtime.messages import new
from veh_identification.signals import TimeSeries, rotation_matrix
from veh_identification.systems.driver import configured
from veh_identification.systems.humanoid.checks.limits import limit_findings
from veh_identification.systems.humanoid.checks.sensors import against_scale
from veh_identification.systems.humanoid.live.checking import StatesCheck, as_recording
from veh_identification.systems.humanoid.live.model import ContactModel, live_configuration
from veh_identification.systems.humanoid.live.states import BASE, FIELDS, ContactStates
from veh_identification.systems.humanoid.processing.signals import at_base, to_grid
from veh_identification.systems.humanoid.robot import load_robot

PLATE = 'force_plate/wrench'


@pytest.fixture(scope='module')
def bending(tmp_path_factory):
    """System, configuration and a clean recording."""
    system, config = configured('humanoid', None, {'urdf': CAD, 'estimate_delays': False})
    bag = record(tmp_path_factory.mktemp('checks') / 'bag', kind='bend')
    return system, config, system.read(bag, config)


def wrenches(change):
    def make(recording):
        return replace(
            recording,
            wrenches=tuple(
                replace(one, series=replace(one.series, values=change(one.series.values)))
                for one in recording.wrenches
            ),
        )

    return make


def joints(change):
    def one(series: TimeSeries) -> TimeSeries:
        values = series.values.copy()
        for k, name in enumerate(series.names):
            values[:, k] = change(name, values[:, k])
        return replace(series, values=values)

    return lambda r: replace(r, joints=tuple(map(one, r.joints)))


def base(change):
    return lambda r: replace(r, base=replace(r.base, values=change(r.base.values.copy())))


def alternating(values):
    values = values.copy()
    values[1::2] = 0.0
    return values


def tilted(recording):
    values = recording.base.values.copy()
    half = np.radians(4.0)
    x, y, z, w = values[:, 3:].T
    s, c = np.sin(half), np.cos(half)  # about x of the world, before the orientation
    values[:, 3:] = np.stack([c * x + s * w, c * y - s * z, c * z + s * y, c * w - s * x], axis=1)
    values[:, 1:3] = values[:, 1:3] @ np.array(
        [[np.cos(2 * half), np.sin(2 * half)], [-np.sin(2 * half), np.cos(2 * half)]]
    )
    return replace(recording, base=replace(recording.base, values=values))


def base_stuck(recording):
    values = recording.base.values.copy()
    third = len(values) // 3
    values[third:] = values[third]
    return replace(recording, base=replace(recording.base, values=values))


def yaw_alone(recording):
    values = recording.base.values.copy()
    x, y, z, w = values[:, 3:].T
    half = 0.5 * np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    zero = np.zeros_like(half)
    values[:, 3:] = np.stack([zero, zero, np.sin(half), np.cos(half)], axis=1)
    return replace(recording, base=replace(recording.base, values=values))


QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
CASES = {
    'clean': (lambda recording: recording, None, ''),
    'kN': (wrenches(lambda v: v * 1e-3), 'unit', 'kN'),
    'sign': (wrenches(lambda v: -v), 'opposite_sign', PLATE),
    'turned plate': (
        wrenches(lambda v: np.hstack([v[:, :3] @ QUARTER.T, v[:, 3:] @ QUARTER.T])),
        'frame_turned',
        '90 degrees about its z axis',
    ),
    # Bending needs a thousandth of the weight sideways: no misfit beside the weight.
    'Fx of wrong sign': (
        wrenches(lambda v: v * np.array([-1.0, 1.0, 1.0, 1.0, 1.0, 1.0])),
        'axis_sign',
        f'the x axis of {PLATE}',
    ),
    'tared under load': (wrenches(lambda v: v - v[:20].mean(axis=0)), 'tared_under_load', PLATE),
    'moments missing': (
        wrenches(lambda v: v * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])),
        'moments_missing',
        PLATE,
    ),
    'centre of pressure': (
        wrenches(
            lambda v: np.column_stack([v[:, :3], -v[:, 4] / v[:, 2], v[:, 3] / v[:, 2], v[:, 5]])
        ),
        'unit',
        'centre of pressure',
    ),
    'moments exchanged': (
        wrenches(lambda v: v[:, [0, 1, 2, 4, 3, 5]]),
        'axes_exchanged',
        'torque.x and wrench.torque.y',
    ),
    'forces exchanged': (
        wrenches(lambda v: v[:, [1, 0, 2, 3, 4, 5]]),
        'axes_exchanged',
        PLATE,
    ),
    'joint sign': (
        joints(lambda name, q: -q if name == 'l_knee_joint' else q),
        'joint_sign',
        'l_knee_joint',
    ),
    'stuck throughout': (
        joints(lambda name, q: np.full_like(q, q[0]) if name == 'l_knee_joint' else q),
        'stuck',
        'l_knee_joint',
    ),
    'zero': (
        joints(lambda name, q: q + 0.5 if name == 'r_knee_joint' else q),
        'joint_zero',
        'of the same leg with a parallel axis, seems to be 0.5 rad off',  # hip, knee or ankle
    ),
    'Mz of wrong sign': (
        wrenches(lambda v: v * np.array([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])),
        'axis_sign',
        'wrench.torque.z',
    ),
    'left-handed capture': (
        base(lambda v: v * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])),
        'world_mirrored',
        'y points the other way',
    ),
    'two sources': (wrenches(alternating), 'two_sources', PLATE),
    'base stuck': (base_stuck, 'stuck', 'the same'),
    'yaw alone': (yaw_alone, 'base_upright', 'roll and pitch are zero'),
    'askew': (tilted, 'base_tilted', '8'),
}


@pytest.mark.parametrize('case', CASES)
def test_the_right_cause_stands_alone(bending, case: str) -> None:
    system, config, recording = bending
    change, code, word = CASES[case]
    found = [one for one in system.checks(change(recording), config) if one.level == 'bad']
    if code is None:
        assert not found
        return
    (cause,) = found
    assert cause.code == code and word in cause.text


def test_a_light_foot_that_is_turned_is_noticed(bending) -> None:
    """The wrench hardly tells where a foot points to; its sole does."""
    system, config, recording = bending
    change = joints(lambda name, q: q + 0.35 if name == 'r_ankle_pitch_joint' else q)
    found = [one for one in system.checks(change(recording), config) if one.level != 'note']
    assert [(one.level, one.code) for one in found] == [('warn', 'joint_zero')]


@pytest.mark.parametrize(('gain', 'level'), [(1.0, None), (1.1, 'bad'), (0.93, 'bad')])
def test_a_scale_tells_a_wrong_gain_of_all_plates(bending, gain: float, level: str | None) -> None:
    """In every equation it looks like other masses."""
    system, config, recording = bending
    changed = wrenches(lambda v: gain * v)(recording)
    assert not [one for one in system.checks(changed, config) if one.level == 'bad']
    weighed = replace(
        config,
        configuration=replace(config.configuration, weighed_mass=load_robot(TRUE).total_mass),
    )
    found = [one for one in system.checks(changed, weighed) if one.level in ('bad', 'warn')]
    assert [(one.level, one.code) for one in found] == (
        [] if level is None else [(level, 'weight_against_scale')]
    )


def test_an_identified_mass_is_compared_with_the_scale() -> None:
    (agrees,) = against_scale(8.02, 0.03, (8.0, 0.04), 'identified', 'total_mass')
    assert agrees.level == 'good'
    (differs,) = against_scale(8.8, 0.03, (8.0, 0.04), 'identified', 'total_mass')
    assert differs.level == 'bad' and '+10 %' in differs.text


def test_a_joint_that_jumps_is_told(bending) -> None:
    """A leg is too light to show in the wrench that its sign changes half-way."""
    system, config, recording = bending

    def late(name, q):
        sign = np.where(np.arange(len(q)) < len(q) // 2, 1.0, -1.0)
        return sign * q if name == 'l_knee_joint' else q

    found = [one for one in system.checks(joints(late)(recording), config) if one.level == 'warn']
    assert [one.code for one in found] == ['changes'] and 'l_knee_joint' in found[0].where


@pytest.fixture(scope='module')
def swinging(tmp_path_factory):
    system, config = configured('humanoid', None, {'urdf': CAD, 'estimate_delays': False})
    bag = record(tmp_path_factory.mktemp('limits') / 'bag', kind='arms', duration=3.0)
    return system, config, system.read(bag, config)


def test_joints_beyond_their_limits_are_told(swinging) -> None:
    """No wrench tells joints of an arm apart; an elbow does not bend as a shoulder swings."""
    recording, robot = swinging[2], load_robot(CAD)
    assert limit_findings(recording, robot) == []
    series = recording.joints[0]
    a, b = (series.names.index(f'r_{one}_joint') for one in ('elbow', 'shoulder_pitch'))

    def told(values):
        changed = replace(series, values=values)
        return limit_findings(replace(recording, joints=(changed,)), robot)

    values = series.values.copy()
    values[:, [a, b]] = values[:, [b, a]]
    (found,) = told(values)
    assert found.code == 'joints_swapped' and 'r_shoulder_pitch_joint' in found.text
    values = series.values.copy()
    values[:, a] += 3.5
    (found,) = told(values)
    assert found.code == 'beyond_limits' and found.where.endswith('r_elbow_joint')


def test_names_in_another_order_than_the_values_are_one_cause(bending) -> None:
    recording = bending[2]
    names = recording.joints[0].names
    for order in (names[::-1], (*names[1:], names[0])):
        series = replace(recording.joints[0], names=type(names)(order))
        found = limit_findings(replace(recording, joints=(series,)), load_robot(CAD))
        assert found[0].code == 'joints_swapped' and 'in another order' in found[0].text


def states_of(recording, robot):
    """The recording as states of the fusion, at 100 Hz: stamps, rows, and what they hold."""
    states = ContactStates(robot.moving_joints(), [], ['force_plate'])
    states._take_joints(list(states.joints))
    states._take_wrenches(['force_plate'])
    model = robot.model()
    raw = to_grid(recording, model, 100.0)
    use = np.flatnonzero(raw.valid)
    rows = np.zeros((len(use), states.width))
    pose = raw.pose[use]
    rows[:, 12:19] = pose
    count = len(states.joints)
    order = [model.coordinate_index(name) for name in states.joints]
    rows[:, BASE : BASE + count] = raw.joints[use][:, order]
    wrench = at_base(raw.world[use], rotation_matrix(pose[:, 3:]), pose[:, :3] - raw.centre)
    rows[:, states.own_plates : states.own_plates + 6] = wrench
    return np.rint(raw.stamps[use] * 1e9).astype(np.int64), rows, states


def test_a_pose_that_is_not_known_and_not_needed_refuses_nothing() -> None:
    """With sensors on the feet alone nobody asks where in the world the robot is."""
    states = ContactStates(['knee'], ['l_foot'], [])
    nan = float('nan')
    state = new(
        'veh_identification/msg/FusedState',
        twist_valid=True,
        acceleration_valid=True,
        orientation_valid=True,
        pose={'position': (nan, nan, nan), 'orientation': (0.0, 0.0, 0.0, 1.0)},
        joint_names=['knee'],
        joint_valid=[True],
        joint_positions=[0.1],
        joint_velocities=[0.2],
        joint_accelerations=[0.3],
        wrench_names=['l_foot'],
        wrench_valid=[True],
        wrenches=[{'force': (1.0, 2.0, 3.0), 'torque': (4.0, 5.0, 6.0)}],
    )
    read = FieldCallback(FIELDS, print).read
    row = states.parse(read(state))
    assert not isinstance(row, str) and np.isfinite(row).all()
    assert row[BASE : BASE + 3].tolist() == [0.1, 0.2, 0.3]
    state.wrenches[0].force.z = nan
    assert states.parse(read(state)) == 'values that are no numbers'


def live_check(recording, last: float = np.inf) -> StatesCheck:
    """Of the last seconds of the states of a recording."""
    robot = load_robot(CAD)
    stamps, rows, states = states_of(recording, robot)
    joints = rows[:, BASE : BASE + len(states.joints)]
    locked = {
        name: float(joints[0, k])
        for k, name in enumerate(states.joints)
        if np.ptp(joints[:, k]) < 0.02
    }
    configuration = live_configuration(9.80665, 20.0)
    pose = recording.wrenches[0].pose
    model = ContactModel(
        robot, states.joints, locked, [], True, 0.0, configuration, np.zeros(3), 0.1
    )
    use = stamps > stamps[-1] - last * 1e9
    made = as_recording(stamps[use], rows[use], states, [], lambda world, name: pose)
    return StatesCheck(made, model)


def test_a_look_at_too_little_is_not_conclusive(bending) -> None:
    """It must not take back what a longer one has found."""
    wrong = wrenches(lambda v: -v)(bending[2])
    for last, conclusive, codes in ((0.6, False, ['not_checked']), (4.0, True, ['opposite_sign'])):
        check = live_check(wrong, last)
        while check.step():
            pass
        assert check.conclusive is conclusive
        assert [one.code for one in check.findings if one.level != 'warn'] == codes


@pytest.mark.parametrize(
    'case', ['clean', 'kN', 'turned plate', 'stuck throughout', 'base stuck', 'yaw alone']
)
def test_live_says_the_same_in_short_slices(bending, case: str) -> None:
    _, _, recording = bending
    change, code, _ = CASES[case]
    check = live_check(change(recording))
    slices = 0
    while check.step():
        slices += 1
    bad = [one.code for one in check.findings if one.level == 'bad']
    assert bad == ([] if code is None else [code])
    assert slices > (1 if code in ('stuck', 'base_upright') else 4)


def test_a_base_in_large_steps_is_told_before_what_would_seem_to_cure_it(bending) -> None:
    system, config, recording = bending
    change = base(lambda v: np.hstack([0.02 * np.round(v[:, :3] / 0.02), v[:, 3:]]))
    found = [one.code for one in system.checks(change(recording), config) if one.level == 'bad']
    assert found[0] == 'coarse' and 'unit' not in found
