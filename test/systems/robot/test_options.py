"""Every option of `identify robot`, on arms whose torques come from another formulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from robot_cases import URDF, as_recording, changed, found, ideal, scores

from veh_identification.multibody.inertia import consistency_violation
from veh_identification.simulation.robot.scenarios import Arm, random_arm
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.robot.configuration import Configuration, Coupling, Friction
from veh_identification.systems.robot.estimation.estimate import Estimate, estimate
from veh_identification.systems.robot.recording import ArmRecording
from veh_identification.systems.robot.setup import set_up
from veh_identification.types import Array

Ideal = tuple[ArmRecording, Array, Array]


@pytest.fixture(scope='module')
def arm() -> Arm:
    return random_arm('arm_6_axis.urdf', 21)


@pytest.fixture(scope='module')
def made_of(arm: Arm) -> Ideal:
    return ideal(arm, 'ideal', 4)


@pytest.fixture(scope='module')
def usual(made_of: Ideal) -> Estimate:
    return found([made_of[0]])


@pytest.mark.parametrize('estimator', ['weighted', 'ordinary', 'gauss-markov', 'robust'])
def test_plain_estimators(arm: Arm, made_of: Ideal, usual: Estimate, estimator: str) -> None:
    made = found([made_of[0]], estimator=estimator)
    assert made.solved.estimator.startswith(estimator)
    z = scores(made, arm)
    assert np.sqrt(np.mean(z**2)) < 1.5 and np.mean(np.abs(z) < 2.0) > 0.85
    # Without a controller and without noise of the positions there is nothing to bias them.
    apart = np.abs(made.value - usual.value) / np.sqrt(np.diag(usual.covariance))
    assert np.median(apart) < 1.0


def test_robust_bears_wrong_efforts(arm: Arm, made_of: Ideal) -> None:
    recording, _, _ = made_of
    effort, rng = recording.effort.copy(), np.random.default_rng(5)
    for start in rng.choice(len(effort) - 40, 12, replace=False):
        effort[start : start + 20] += arm.nominal.effort
    spoilt = changed(recording, effort=effort)
    errors = {}
    for name in ('robust', 'weighted'):
        made = found([spoilt], estimator=name)
        wrong = made.value - made.setup.model.values_of(arm.truth())
        errors[name] = wrong
    assert np.median(np.abs(errors['robust']) / np.abs(errors['weighted'])) < 0.3


def test_consistent_links_can_exist(made_of: Ideal, usual: Estimate) -> None:
    made = found([made_of[0]], estimator='consistent')
    assert made.solved.estimator == 'consistent'
    np.testing.assert_array_equal(made.value, made.fit.unknowns)
    for values in made.fit.parameters:
        assert not consistency_violation(values)
    rms, free = made.solved.residual_rms, usual.solved.residual_rms
    assert np.all(rms < 1.05 * free)


def test_essential_parameters(arm: Arm, made_of: Ideal, usual: Estimate) -> None:
    made = found([made_of[0]], essential=True)
    gone = np.diag(made.covariance) == 0.0
    assert 3 <= gone.sum() < len(gone) // 2
    assert not np.any(made.value[gone])
    clear = np.abs(usual.value) > 10.0 * np.sqrt(np.diag(usual.covariance))
    assert not gone[clear].any()
    assert np.all(made.solved.residual_rms < 1.05 * usual.solved.residual_rms)
    assert np.mean(np.abs(scores(made, arm)[~gone]) < 3.0) > 0.8


def test_periods_are_averaged(arm: Arm) -> None:
    recording, _, _ = ideal(arm, 'periods', 4, seconds=42.0, noise=0.02)
    single = found([recording])
    made = found([recording], fundamental_hz=0.1)
    # One period of rows: an eighth of a minute of noise is gone, no row is there twice.
    rows = len(made.setup.rows[0].stamps_ns)
    assert rows == pytest.approx(10.0 * made.setup.rows[0].filter.output_rate, abs=3)
    assert np.mean(np.abs(scores(made, arm)) < 2.0) > 0.85
    std, whole = (np.sqrt(np.diag(one.covariance)) for one in (made, single))
    assert 0.7 < np.median(std / whole) < 1.5


def test_asymmetric_friction(arm: Arm, made_of: Ideal) -> None:
    recording, qd, _ = made_of
    ha = 0.02 * arm.nominal.effort
    other = changed(recording, effort=recording.effort + ha * np.abs(qd))
    made = found([other], friction=Friction(asymmetric=True))
    std = np.sqrt(np.diag(made.covariance))
    for j, joint in enumerate(recording.joints):
        k = made.names.index(f'{joint}.ha')
        assert made.value[k] == pytest.approx(ha[j], abs=4.0 * std[k])
        assert std[k] < 0.2 * ha[j]


def test_coupled_wrist(arm: Arm, made_of: Ideal) -> None:
    recording, qd, qdd = made_of
    effort = recording.effort.copy()
    speed = qd[:, 4] + qd[:, 5]
    motor = 0.02 * (qdd[:, 4] + qdd[:, 5]) + 0.6 * speed + 1.5 * np.sign(speed)
    effort[:, 4:] += motor[:, None]
    made = found([changed(recording, effort=effort)], coupled=(Coupling('joint_5', 'joint_6'),))
    std = np.sqrt(np.diag(made.covariance))
    for kind, truth in (('Ia', 0.02), ('h', 0.6), ('fs', 1.5)):
        k = made.names.index(f'joint_5+joint_6.{kind}')
        assert made.value[k] == pytest.approx(truth, abs=4.0 * std[k])
    assert std[made.names.index('joint_5+joint_6.h')] < 0.06
    z = scores(made, arm)
    assert np.sqrt(np.nanmean(z**2)) < 1.6
    plain = found([changed(recording, effort=effort)])
    assert np.all(plain.solved.residual_rms[4:] > 1.2 * made.solved.residual_rms[4:])


GANTRY = """<robot name="gantry"><link name="rail"/>
<link name="carriage"><inertial><mass value="6"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1"
 iyz="0" izz="0.1"/></inertial></link>
<link name="arm"><inertial><origin xyz="0 0 -0.25"/><mass value="2"/><inertia ixx="0.02" ixy="0"
 ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="rail"/><child link="carriage"/><axis xyz="1 0 0"
/><limit lower="-1" upper="1" effort="300" velocity="3"/></joint>
<joint name="swing" type="revolute"><parent link="carriage"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="50" velocity="5"/></joint></robot>"""


def test_prismatic_joints(tmp_path: Path) -> None:
    (tmp_path / 'gantry.urdf').write_text(GANTRY)
    m1, m2, length, inertia = 7.0, 2.4, 0.3, 0.03
    t = np.arange(round(30.0 * 200.0)) / 200.0
    parts = [(0.25, 0.31, 0.0), (0.1, 0.83, 1.0), (0.9, 0.23, 2.0), (0.3, 0.71, 0.5)]
    x, a = (
        [
            sum(s * (2.0 * np.pi * f) ** n * np.sin(2.0 * np.pi * f * t + p + 0.5 * np.pi * n)
                for s, f, p in parts[k : k + 2])
            for n in range(3)
        ]
        for k in (0, 2)
    )  # fmt: skip
    # About +y: the bob is at -length (sin a, cos a) in (x, z).
    force = (m1 + m2) * x[2] - m2 * length * (np.cos(a[0]) * a[2] - np.sin(a[0]) * a[1] ** 2)
    torque = (inertia + m2 * length**2) * a[2] - m2 * length * np.cos(a[0]) * x[2]
    torque = torque + m2 * 9.80665 * length * np.sin(a[0])
    force += 12.0 * x[1] + 8.0 * np.sign(x[1])
    torque += 0.3 * a[1] + 0.4 * np.sign(a[1])
    rng = np.random.default_rng(3)
    effort = np.column_stack([force, torque]) + [0.5, 0.1] * rng.standard_normal((len(t), 2))
    one = as_recording('gantry', ('slide', 'swing'), t, np.column_stack([x[0], a[0]]), effort)
    robot, c = load_robot(tmp_path / 'gantry.urdf'), Configuration(motor_inertia=False)
    made = estimate(set_up(robot, [one], None, c))
    std = np.sqrt(np.diag(made.covariance))
    told = dict(zip(made.names, zip(made.value, std, made.units, strict=True), strict=True))
    truth = {
        'carriage.M': m1 + m2,
        'arm.MSz': -m2 * length,
        'arm.Jyy': inertia + m2 * length**2,
        'slide.h': 12.0,
        'slide.fs': 8.0,
        'swing.h': 0.3,
        'swing.fs': 0.4,
    }
    for name, value in truth.items():
        assert told[name][0] == pytest.approx(value, abs=4.0 * told[name][1]), name
        assert told[name][1] < 0.05 * abs(value), name
    assert told['slide.h'][2] == 'N s/m' and told['slide.fs'][2] == 'N'
    assert made.setup.model.effort_units == ('N', 'N m')


def test_the_shipped_arm_is_the_one_of_these_tests() -> None:
    assert load_robot(URDF).moving_joints() == [f'joint_{k}' for k in range(1, 7)]
