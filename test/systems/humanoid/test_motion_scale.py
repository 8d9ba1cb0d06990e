"""A skeleton that moves more than the masses do: its scale is an unknown beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from humanoid_runs import setup_of

from veh_identification.multibody.motion import floating_base_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.humanoid.hopping import JUMPS, HoppingMotion
from veh_identification.simulation.humanoid.scenarios import robot_path
from veh_identification.simulation.humanoid.sensors import HumanoidSensors, readings
from veh_identification.systems.humanoid.estimation.estimate import estimate, unknowns_table
from veh_identification.systems.humanoid.processing.momentum import balance
from veh_identification.systems.humanoid.results.findings import scaled_motion
from veh_identification.systems.humanoid.robot import load_robot

GRAVITY, SECONDS = 9.80665, 6.0
#: All forces and gravity smaller by this are those of a motion that is as much too large.
TOO_LARGE = 1.04


@pytest.fixture(scope='module')
def found(tmp_path_factory):
    """Estimates of jumps by their factor, and the true mass."""
    robot = load_robot(robot_path())
    motion = HoppingMotion(robot, JUMPS, SECONDS, seed=3)
    sensors = replace(HumanoidSensors(), plate_rate=1000.0)

    def identified(factor: float):
        path: Path = tmp_path_factory.mktemp('scale') / f'{factor}'
        with BagWriter(path) as writer:
            for one in readings(motion, robot, sensors, SECONDS, 3):
                if 'foot/' in one.topic or 'imu' in one.topic:
                    continue
                message = one.message
                if hasattr(message, 'wrench'):
                    for part in (message.wrench.force, message.wrench.torque):
                        part.x, part.y, part.z = (getattr(part, axis) / factor for axis in 'xyz')
                writer.write_message(one.topic, message, one.log_ns)
        made = setup_of([path], robot_path(), gravity=GRAVITY / factor)
        result = estimate(made.problem, made.raws, made.recordings)
        table = {one['name']: one for one in unknowns_table(result)}
        return result.total_mass, table['motion.scale']

    mass = float(robot.model({}).parameters[:, 0].sum())
    return {factor: identified(factor) for factor in (1.0, TOO_LARGE)}, mass


def test_a_motion_that_is_right_has_no_scale(found) -> None:
    estimates, true = found
    (mass, deviation), scale = estimates[1.0]
    assert abs(scale['value']) < max(2.0 * scale['std'], 2e-3)
    assert abs(mass - true) < 2.0 * deviation


def test_a_motion_that_is_too_large_leaves_the_mass_alone(found) -> None:
    estimates, true = found
    (mass, deviation), scale = estimates[TOO_LARGE]
    assert scale['value'] == pytest.approx(1.0 / TOO_LARGE - 1.0, abs=3.0 * scale['std'])
    assert scale['std'] < 0.01  # it is found, not believed
    assert abs(mass - true) < min(2.0 * deviation, 0.005 * true)


def test_the_column_of_the_scale_is_the_momentum_of_the_given_parameters() -> None:
    robot = load_robot(robot_path())
    regressor = Regressor(robot.model({}), rows='base')
    rng, count = np.random.default_rng(1), 5
    dof, unknowns = regressor.model.dof, regressor.shape[1]
    still = np.zeros((count, 3))
    q, qd = rng.normal(size=(2, count, dof))
    motion = floating_base_motion(q, qd, np.zeros_like(q), still, still, still)
    upright = np.broadcast_to(np.eye(3), (count, 3, 3))
    further, scaled = rng.normal(size=(count, 6, 2)), rng.normal(size=unknowns)
    given = (regressor, motion, rng.normal(size=(count, 3)), upright, still, still, GRAVITY)
    made = balance(*given, further, scaled)
    plain = balance(*given, further)
    assert made.momentum.shape == made.steady.shape == (count, 6, unknowns + 3)
    assert not made.momentum[:, :, unknowns:-1].any() and not made.steady[:, :, -1].any()
    np.testing.assert_allclose(made.momentum[:, :, -1], plain.momentum @ scaled)
    np.testing.assert_allclose(made.steady[:, :, :-1], plain.steady)


@pytest.mark.parametrize(
    ('scale', 'deviation', 'told'),
    [(-0.06, 0.007, True), (-0.06, 0.03, False), (-0.03, 0.005, False), (0.08, 0.01, True)],
)
def test_a_scale_beyond_what_skin_does_is_told(scale, deviation, told) -> None:
    names, value = ['pelvis.M', 'motion.scale'], np.array([60.0, scale])
    found = scaled_motion(names, value, np.diag([1.0, deviation**2]))
    assert [one.code for one in found] == ['motion_scaled'] * told
    assert all(('large' in one.text) == (scale < 0.0) for one in found)
    assert not scaled_motion(names[:1], value[:1], np.eye(1))
