"""The live estimate of an arm and the watch over its payload, on the independent plant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veh_identification.errors import EstimationError, InputError
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.robot.closed_loop import run
from veh_identification.simulation.robot.scenarios import (
    ArmSensors,
    exciting_motion,
    measured,
    random_arm,
    random_payload,
)
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.live.model import LiveOptions, RobotLive
from veh_identification.types import Array

URDF = share_directory() / 'config' / 'models' / 'arm_6_axis.urdf'
LEARN, WATCH = 18.0, 12.0
GRASP, RELEASE = 3.0, 8.0
SHORT = 4000  # samples


@pytest.fixture(scope='module')
def stream() -> tuple[Array, Array, Array]:
    """Free motion, then the same arm that carries a load between GRASP and RELEASE."""
    arm, load = random_arm('arm_6_axis.urdf', 5), random_payload(3)
    times = np.arange(round((LEARN + WATCH) * 1000)) / 1000.0
    wanted = exciting_motion(arm.nominal, times, 7)
    sides = []
    for plant in (arm.plant, arm.plant.loaded(load.mass, load.centre, load.inertia)):
        made = run(plant, arm.nominal, arm.friction, arm.drive, wanted)
        stamps, position, effort = measured(made, ArmSensors(), arm.nominal.effort, 7)
        sides.append((position, effort))
    moments = LEARN + np.array([GRASP, GRASP + 0.2, RELEASE, RELEASE + 0.2])
    share = np.interp(stamps, moments, [0.0, 1.0, 1.0, 0.0])[:, None]
    share = share**2 * (3.0 - 2.0 * share)
    position, effort = (
        (1.0 - share) * one + share * other for one, other in zip(*sides, strict=True)
    )
    return stamps, position, effort


def test_payload_is_weighed_and_gone(stream: tuple[Array, Array, Array], tmp_path: Path) -> None:
    stamps, position, effort = stream
    model = RobotLive(load_robot(URDF), Configuration(), LiveOptions(learn=12.0))
    told = []
    for k, moment in enumerate(stamps):
        if model.push(10**18 + round(1e9 * moment), position[k], effort[k]):
            told.append(moment - LEARN)
        if k % 500 == 0:
            model.estimate()
    truth = random_payload(3).mass
    words = [word for _, word, _ in model.monitor.events]
    assert words == ['picked up', 'put down']
    (_, _, found), (_, _, gone) = model.monitor.events
    # Counted from the begin of a grasp that takes 0.2 s, until it is told.
    assert 0.2 < told[0] - GRASP < 1.2
    assert 0.2 < told[1] - RELEASE < 1.5
    assert abs(found.mass - truth) < 3.0 * found.std and found.std < 0.5
    assert abs(gone.mass) < 3.0 * gone.std
    assert model.solution is not None
    known = model.arm.values_of(random_arm('arm_6_axis.urdf', 5).truth())
    z = (model.solution.value - known) / np.sqrt(np.diag(model.solution.covariance))
    assert np.sqrt(np.mean(z**2)) < 2.0
    assert model.counts()['joint_states'].received == len(stamps)
    model.save(str(tmp_path / 'state.npz'))
    other = RobotLive(load_robot(URDF), Configuration(), LiveOptions())
    other.load(str(tmp_path / 'state.npz'))
    model.finish()  # rows that no look had reached were stored as samples
    assert other.solution is not None and other.samples == model.samples
    wrong = RobotLive(
        load_robot(URDF.with_name('arm_7_axis.urdf')), Configuration(), LiveOptions()
    )
    with pytest.raises(InputError, match='another robot'):
        wrong.load(str(tmp_path / 'state.npz'))


def test_bad_samples_are_counted(stream: tuple[Array, Array, Array]) -> None:
    _, position, effort = stream
    model = RobotLive(load_robot(URDF), Configuration(), LiveOptions())
    model.push(10, position[0], effort[0])
    model.push(5, position[1], effort[1])
    model.push(20, np.full(6, np.nan), effort[2])
    counts = model.counts()['joint_states']
    assert (counts.received, counts.used, counts.late, counts.invalid) == (3, 1, 1, 1)


def test_currents_need_gains() -> None:
    with pytest.raises(EstimationError, match='gain and mass cannot be told apart'):
        RobotLive(load_robot(URDF), Configuration(effort='current'), LiveOptions())


def test_a_stamp_hours_ahead_does_not_end_the_estimate() -> None:
    """Found by bench/fuzz.py: every sample after it was late, for hours."""
    model = RobotLive(load_robot(URDF), Configuration(), LiveOptions())
    rng, count = np.random.default_rng(1), len(model.joints)
    start, step = 1_700_000_000_000_000_000, 2_000_000

    def push(first: int, last: int) -> None:
        for k in range(first, last):
            position = 0.5 * np.sin(0.01 * k + np.arange(count))
            model.push(start + k * step, position, rng.standard_normal(count))

    push(0, 600)
    before = model.samples
    assert before > 0
    model.push(start + 7200 * 10**9, np.zeros(count), np.zeros(count))
    push(600, 1600)
    assert model.samples > before + 20
    assert 0 < model.sensor.late < 20
    counts = model.sensor
    told = counts.used + counts.rejected + counts.late + counts.invalid + counts.waiting
    assert counts.received == 1601 == told


def test_a_stored_state_that_no_sensor_gives_is_refused(
    stream: tuple[Array, Array, Array], tmp_path: Path
) -> None:
    stamps, position, effort = stream
    model = RobotLive(load_robot(URDF), Configuration(), LiveOptions())
    for k in range(2000):
        model.push(10**18 + round(1e9 * stamps[k]), position[k], effort[k])
    path = tmp_path / 'state.npz'
    model.save(str(path))
    with np.load(path) as stored:
        content = dict(stored)
    content['channels'][3, 2] = 1e300
    np.savez(path, **content)
    other = RobotLive(load_robot(URDF), Configuration(), LiveOptions())
    with pytest.raises(InputError, match=r'channels.*no sensor gives'):
        other.load(str(path))
    assert other.solution is None and other.samples == 0


@pytest.fixture(scope='module')
def undisturbed(stream: tuple[Array, Array, Array]) -> RobotLive:
    """What is found without a glitch."""
    return _over(stream)


def _over(stream: tuple[Array, Array, Array]) -> RobotLive:
    model = RobotLive(load_robot(URDF), Configuration(), LiveOptions())
    stamps, position, effort = (side[:SHORT] for side in stream)
    for k, moment in enumerate(stamps):
        model.push(10**18 + round(1e9 * moment), position[k], effort[k])
    model.finish()
    return model


@pytest.mark.parametrize(
    ('channel', 'size', 'width'),
    [
        ('effort', 1e6, 1),
        ('effort', -100.0, 2),
        ('position', 6.283, 1),
        ('position', -0.005, 1),
    ],
)
def test_one_glitch_moves_no_estimate(
    stream: tuple[Array, Array, Array],
    undisturbed: RobotLive,
    channel: str,
    size: float,
    width: int,
) -> None:
    """Effort of 1e6: 9,231 deviations before, and 936 for an angle that is one radian off."""
    stamps, position, effort = (side.copy() for side in stream)
    (effort if channel == 'effort' else position)[3001 : 3001 + width, 1] += size
    model = _over((stamps, position, effort))
    assert model.solution is not None and undisturbed.solution is not None
    std = np.sqrt(np.diag(undisturbed.solution.covariance))
    moved = (model.solution.value - undisturbed.solution.value) / std
    assert np.abs(moved).max() < 0.5
    told = {one.code: one for one in model.doubts()}
    assert all(one.level not in ('bad', 'warn') for one in told.values()), told
    counts = model.sensor
    assert counts.rejected == model.rejected
    assert counts.received == counts.used + counts.rejected == SHORT
    assert width <= counts.rejected <= width + 2
    assert 'glitches_left_out' in told


def test_stamps_of_arrival_move_no_estimate(
    stream: tuple[Array, Array, Array], undisturbed: RobotLive
) -> None:
    """Jitter of a whole step: up to seven deviations and three causes that were none, before."""
    stamps, position, effort = stream
    late = np.random.default_rng(8).uniform(-0.001, 0.001, len(stamps))
    model = _over((stamps + late, position, effort))
    assert model.solution is not None and undisturbed.solution is not None
    std = np.sqrt(np.diag(undisturbed.solution.covariance))
    moved = (model.solution.value - undisturbed.solution.value) / std
    assert np.abs(moved).max() < 1.5
    told = {one.code: one.level for one in model.doubts()}
    assert told.pop('stamps_jitter') == 'note'
    assert not {'bad', 'warn'} & set(told.values()), told


@pytest.mark.parametrize(('late', 'level'), [(0.02, 'bad'), (0.004, 'warn')])
def test_a_delay_beyond_what_is_looked_for_forbids_the_estimate(
    stream: tuple[Array, Array, Array], late: float, level: str
) -> None:
    stamps, position, effort = (one[:12000] for one in stream)
    behind = round(late * 1000.0)
    model = RobotLive(load_robot(URDF), Configuration(), LiveOptions(learn=30.0))
    for k in range(behind, len(stamps)):
        model.push(10**18 + round(1e9 * stamps[k]), position[k], effort[k - behind])
        if k % 1000 == 0:
            model.estimate()
    found = [one for one in model.doubts() if one.code == 'effort_delay']
    assert level in {one.level for one in found}
    assert ('bad' in {one.level for one in found}) == (level == 'bad')
