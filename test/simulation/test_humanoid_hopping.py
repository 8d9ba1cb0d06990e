"""Jumps and runs whose base is free: the ground truth itself, and what is identified from it."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.humanoid.hopping import JUMPS, RUN, HoppingMotion, Hops
from veh_identification.simulation.humanoid.scenarios import JUMPING_SENSORS, robot_path
from veh_identification.simulation.humanoid.sensors import readings
from veh_identification.systems.humanoid.checks.tare import tared
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.estimation.problem import choose_samples
from veh_identification.systems.humanoid.identify import identify
from veh_identification.systems.humanoid.processing.impulse import impulse_mass
from veh_identification.systems.humanoid.processing.signals import filtered
from veh_identification.systems.humanoid.recording.reader import read_recording
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.humanoid.setup import set_up

MASS, SECONDS = 8.0, 4.0
KINDS = {'jump': JUMPS, 'run': RUN}


@lru_cache(maxsize=2)
def motion(hops: Hops) -> HoppingMotion:
    return HoppingMotion(load_robot(robot_path()), hops, SECONDS, seed=1)


@pytest.fixture(name='bag', params=list(KINDS), scope='module')
def _bag(request, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp('hops') / request.param
    moved = motion(KINDS[request.param])
    with BagWriter(path) as writer:
        for one in readings(moved, load_robot(robot_path()), JUMPING_SENSORS, SECONDS, 1):
            if 'foot/' not in one.topic and 'imu' not in one.topic:
                writer.write_message(one.topic, one.message, one.log_ns)
    return path


@pytest.mark.parametrize('kind', list(KINDS))
def test_the_ground_gives_what_pinocchio_says_the_motion_takes(kind: str) -> None:
    """Over windows of 40 ms: contact forces against the change of momentum of all links."""
    moved = motion(KINDS[kind])
    model = pin.buildModelFromUrdf(str(robot_path()), pin.JointModelFreeFlyer())
    data = model.createData()
    step, window = 0.0005, 80
    t = 0.8 + step * np.arange(20 * window + 1)
    state = moved.at(t)
    speed = (moved.at(t + step).position - moved.at(t - step).position) / (2.0 * step)
    names = list(moved.model.coordinate_names)
    order = [names.index(name) for name in list(model.names)[2:]]
    momentum, given = np.zeros((len(t), 6)), state.feet['l'] + state.feet['r']
    for k, turn in enumerate(state.rotation):
        q = np.concatenate(
            [state.position[k], pin.Quaternion(turn).coeffs(), state.motion.q[k][order]]
        )
        v = np.concatenate(
            [turn.T @ speed[k], state.motion.base_angular_velocity[k], state.motion.qd[k][order]]
        )
        pin.computeCentroidalMomentum(model, data, q, v)
        momentum[k, :3] = data.hg.linear
        momentum[k, 3:] = data.hg.angular + np.cross(data.com[0], data.hg.linear)
        given[k, 2] -= MASS * 9.80665
        given[k, 3:] += np.cross(data.com[0], [0.0, 0.0, -MASS * 9.80665])
    summed = step * np.cumsum(0.5 * (given[1:] + given[:-1]), axis=0)
    impulse = np.diff(np.vstack([np.zeros(6), summed])[::window], axis=0)
    gained = np.diff(momentum[::window], axis=0)
    scale = MASS * 9.80665 * window * step * np.array([1.0, 1.0, 1.0, 0.3, 0.3, 0.3])
    assert np.abs((impulse - gained) / scale).max() < 0.01
    flights = [b - a for a, b in moved.flights() if b - a > 0.04]
    assert len(flights) >= 4
    loads = given[:, 2] + MASS * 9.80665
    assert loads.max() > 1.9 * MASS * 9.80665


def test_the_plate_is_tared_in_flight_and_the_impulse_gives_the_mass(bag: Path) -> None:
    # checks included: a low pass swings below zero between impacts, the plate does not pull
    robot, c = load_robot(robot_path(cad=True)), load_configuration(None)
    recording = read_recording(bag, robot.moving_joints(), c)
    (plate,) = tared(recording)[0].wrenches
    assert plate.tared
    made = set_up(robot, [recording], None, c)
    raw = made.raws[0]
    chosen = choose_samples(made.problem, raw)
    assert chosen.seconds['other_support'] == chosen.seconds['off_the_sensors'] == 0.0
    found = impulse_mass(
        [(raw, filtered(raw, 8.0, c.gravity), chosen.usable)], made.problem.model, c.gravity
    )
    assert found is not None
    assert found.value == pytest.approx(MASS, rel=0.002)


@pytest.mark.slow
def test_mass_of_jumps_and_runs_within_half_a_percent_and_two_deviations(bag: Path) -> None:
    robot = load_robot(robot_path(cad=True))
    c = load_configuration(None)
    recording = read_recording(bag, robot.moving_joints(), c)
    total = identify(set_up(robot, [recording], None, c)).result.extra['total_mass']
    assert abs(total['value'] / MASS - 1.0) < 0.005
    assert abs(total['value'] - MASS) < 2.0 * total['std']
