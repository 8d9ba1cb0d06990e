"""Ball joints near their singularity: angles that were filtered one by one are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.signal import butter, filtfilt
from scipy.spatial.transform import Rotation

from veh_identification.signals import TimeSeries
from veh_identification.systems.humanoid.checks.turned_over import balls, turned_over
from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.systems.humanoid.robot import load_robot

RATE = 100.0
NAMES = ('flex', 'add', 'rot')
AXES = {'flex': '0 -1 0', 'add': '1 0 0', 'rot': '0 0 1'}


def person(folder: Path, between: str = '', apart: str = '0 0 0') -> Path:
    """A trunk and an arm on a ball joint; `between`: what the first massless link holds."""
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    body = f'<inertial><mass value="10"/>{inertia}</inertial>'
    links = f'<link name="trunk">{body}</link><link name="one">{between and body}</link>'
    links += f'<link name="two"/><link name="arm">{body}</link>'
    ends = {'flex': ('trunk', 'one'), 'add': ('one', 'two'), 'rot': ('two', 'arm')}
    joints = ''.join(
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{apart if name == "add" else "0 0 0"}"/><axis xyz="{AXES[name]}"/></joint>'
        for name, (parent, child) in ends.items()
    )
    path = folder / 'person.urdf'
    path.write_text(f'<robot name="person">{links}{joints}</robot>')
    return path


def swing(nearest: float) -> Rotation:
    """An arm that swings up and over, past the pole of its angles at so many radians from it."""
    time = np.arange(0.0, 1.2, 1.0 / RATE)
    over = 0.5 * np.pi + 1.2 * np.tanh(8.0 * (time - 0.6))
    # Turned about y first and then over the pole sideways, by a little beside it.
    return Rotation.from_rotvec(np.outer(np.full_like(time, nearest), [0.0, 0.0, 1.0])) * (
        Rotation.from_rotvec(np.outer(over, [1.0, 0.0, 0.0]))
        * Rotation.from_rotvec(np.outer(np.full_like(time, nearest), [0.0, 1.0, 0.0]))
    )


def clear(turns: Rotation) -> Rotation:
    """The same swing about the axis of the first joint instead of the second."""
    aside = Rotation.from_rotvec([0.0, 0.0, 0.5 * np.pi])
    return aside * turns * aside.inv()


def angles_of(turns: Rotation) -> np.ndarray:
    """Of the joints about -y, x and z, as a file holds them: smoothed one by one."""
    y, x, z = turns.as_euler('YXZ').T
    smooth = butter(2, 6.0 / (0.5 * RATE))
    return filtfilt(*smooth, np.unwrap(np.column_stack([-y, x, z]), axis=0), axis=0)


def recorded(values: np.ndarray) -> Recording:
    stamps = np.arange(len(values)) / RATE
    joints = TimeSeries(stamps, values, NAMES, ('rad',) * 3)
    base = TimeSeries(stamps, np.zeros((len(values), 7)), tuple('abcdefg'), ('',) * 7)
    return Recording('trial', (joints,), base, (), (), (), (), 0)


def whirl(values: np.ndarray, turns: Rotation) -> float:
    """Largest error [m/s^2] of the acceleration of a hand 0.6 m away, by these angles."""
    made = Rotation.from_euler('YXZ', values * [-1.0, 1.0, 1.0])
    places = [0.6 * one.apply([0.0, 0.0, -1.0]) for one in (made, turns)]
    bent = [RATE**2 * np.diff(one, 2, axis=0) for one in places]
    return float(np.linalg.norm(bent[0] - bent[1], axis=1).max())


def test_an_arm_that_whirls_in_filtered_angles_is_told(tmp_path) -> None:
    turns = swing(0.15)
    values = angles_of(turns)
    # The file shows another motion: of the same swing elsewhere it does not.
    assert whirl(values, turns) > 10.0 * whirl(angles_of(clear(turns)), clear(turns))
    (found,) = turned_over(recorded(values), load_robot(person(tmp_path)))
    assert (found.level, found.code) == ('warn', 'ball_joint_turned_over')
    assert 'flex and rot turn' in found.text and 'where add' in found.text
    after = float(found.text.split(' s after')[0].split()[-1])
    assert after == pytest.approx(0.6, abs=0.3)


def test_the_same_swing_clear_of_the_pole_is_none(tmp_path) -> None:
    robot = load_robot(person(tmp_path))
    assert turned_over(recorded(angles_of(clear(swing(0.15)))), robot) == []
    # Fast about one axis alone, with the others at rest near the pole.
    values = np.column_stack(
        [4.0 * np.tanh(20.0 * np.linspace(-1, 1, 120)), *np.full((2, 120), 1.5)]
    )
    assert turned_over(recorded(values), robot) == []


def test_only_joints_that_make_a_ball_are_asked(tmp_path) -> None:
    (ball,) = balls(load_robot(person(tmp_path)))
    assert ball.joints == NAMES
    assert ball.aligned(np.array([0.0, 0.5 * np.pi])) == pytest.approx([0.0, 1.0])
    assert balls(load_robot(person(tmp_path, between='mass'))) == []
    assert balls(load_robot(person(tmp_path, apart='0 0 0.1'))) == []


def test_the_check_of_a_recording_asks_it(monkeypatch) -> None:
    """Beside the limits of joints, before any search for causes."""
    from veh_identification.systems.humanoid import setup

    class Known:
        as_it_is = type('All', (), {'all': 0.0})()
        weight = 1.0
        problem = type('Problem', (), {'robot': None})()

    told = object()
    monkeypatch.setattr(setup, 'channel_findings', lambda *_, **__: [])
    monkeypatch.setattr(setup, 'limit_findings', lambda *_: [])
    monkeypatch.setattr(setup, 'held_findings', lambda *_: [])
    monkeypatch.setattr(setup, 'turned_over', lambda *_: [told])
    search = type('Search', (), {'comparison': Known(), 'label': 'trial'})()
    assert setup.before_search(search, recorded(np.zeros((2, 3))), {}) == [told]
