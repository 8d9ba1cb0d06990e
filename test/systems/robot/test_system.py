"""Identification of arms on a plant of another formulation, and what bad recordings provoke."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from robot_cases import URDF, changed, found, recorded

from veh_identification.errors import EstimationError, InputError, UsageError
from veh_identification.simulation.robot.plant import equations_of_motion
from veh_identification.simulation.robot.scenarios import (
    Arm,
    ArmSensors,
    Payload,
    exciting_motion,
    random_arm,
    random_payload,
)
from veh_identification.systems.driver import run as drive
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.robot import configuration as described
from veh_identification.systems.robot.checks.channels import sensor_findings
from veh_identification.systems.robot.checks.whole import whole_findings
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.estimation.payload import found_loads
from veh_identification.systems.robot.feedforward import feedforward, load_feedforward
from veh_identification.systems.robot.options import Subject
from veh_identification.systems.robot.recording import ArmRecording


@pytest.fixture(scope='module')
def arm() -> Arm:
    return random_arm('arm_6_axis.urdf', 5)


@pytest.fixture(scope='module')
def free(arm: Arm) -> ArmRecording:
    return recorded(arm, 'free', 1)


@pytest.fixture(scope='module')
def load() -> Payload:
    return random_payload(3)


@pytest.fixture(scope='module')
def loaded(arm: Arm, load: Payload) -> ArmRecording:
    return recorded(arm, 'loaded', 2, load)


def test_plant_agrees_with_pinocchio() -> None:
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromUrdf(str(URDF))
    model.gravity.linear = np.array([0.0, 0.0, -9.80665])
    data, rng = model.createData(), np.random.default_rng(0)
    plant = random_arm('arm_6_axis.urdf', 0).nominal
    for _ in range(5):
        q, qd = rng.normal(size=(2, 6))
        M, c = equations_of_motion(plant, q, qd)
        upper = np.triu(pin.crba(model, data, q))
        np.testing.assert_allclose(M, upper + np.triu(upper, 1).T, atol=1e-12)
        np.testing.assert_allclose(c, pin.nle(model, data, q, qd), atol=1e-12)


def test_truth_lies_within_the_deviations(arm: Arm, free: ArmRecording) -> None:
    made = found([free])
    model = made.setup.model
    truth = model.values_of(arm.truth())
    z = (made.value - truth) / np.sqrt(np.diag(made.covariance))
    assert np.isfinite(z).all()
    assert np.sqrt(np.mean(z**2)) < 1.35
    assert np.mean(np.abs(z) < 2.0) > 0.85
    assert abs(made.state.delay) < 4.0 * made.unknown('delay')
    friction = [k for k, name in enumerate(model.names) if name.endswith(('.fs', '.h'))]
    assert np.abs(made.value / truth - 1.0)[friction].max() < 0.02
    # Every link of identified.urdf can exist and predicts nearly as well.
    assert made.fit.relative_cost < 1.1


def test_late_efforts_are_found(arm: Arm) -> None:
    late = recorded(arm, 'late', 1, sensors=ArmSensors(effort_delay=0.004))
    made = found([late])
    assert made.state.delay == pytest.approx(0.004, abs=max(3.5 * made.unknown('delay'), 1e-4))
    assert made.unknown('delay') < 2e-4


def test_payload_is_found(free: ArmRecording, loaded: ArmRecording, load: Payload) -> None:
    made = found([free, loaded], payloads=(described.Payload('loaded'),))
    (one,) = found_loads(made)
    assert one.link == 'tool0'
    assert one.mass == pytest.approx(load.mass, abs=4.0 * one.mass_std)
    assert one.mass == pytest.approx(load.mass, rel=0.01)
    assert np.all(np.abs(one.centre - load.centre) < 4.0 * one.centre_std)
    assert np.all(one.centre_std < 0.003)
    truth = load.inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    assert np.all(np.abs(one.inertia - truth) < 4.5 * one.inertia_std)


def test_a_load_that_was_announced_is_no_unit_of_its_efforts(arm: Arm, load: Payload) -> None:
    heavy = recorded(arm, 'loaded', 2, replace(load, mass=12.0))
    told = whole_findings(load_robot(URDF), [heavy], Configuration())
    assert 'load_unknown' in {one.code for one in told}
    known = Configuration(payloads=(described.Payload('loaded'),))
    told = whole_findings(load_robot(URDF), [heavy], known)
    assert not {'load_unknown', 'effort_scale'} & {one.code for one in told}


def test_payload_needs_a_recording_without(loaded: ArmRecording) -> None:
    with pytest.raises(EstimationError, match='every recording carries an unknown payload'):
        found([loaded], payloads=(described.Payload('loaded'),))
    with pytest.raises(UsageError, match='there is no recording'):
        found([loaded], payloads=(described.Payload('other'),))


def test_gains_from_a_known_mass(free: ArmRecording, loaded: ArmRecording, load: Payload) -> None:
    gains = np.array([12.0, 11.0, 9.0, 10.0, 8.0, 7.0])
    currents = [changed(one, effort=one.effort / gains) for one in (free, loaded)]
    payload = described.Payload('loaded', mass=load.mass)
    made = found(currents, effort='current', payloads=(payload,))
    for j, gain in enumerate(gains):
        std = made.unknown('gain', j) * gain
        assert made.state.gains[j] == pytest.approx(gain, abs=max(4.0 * std, 1e-3 * gain))
    assert made.state.gains[1] == pytest.approx(11.0, rel=0.01)


def test_gain_and_mass_cannot_be_told_apart(free: ArmRecording, loaded: ArmRecording) -> None:
    with pytest.raises(EstimationError, match='gain and mass cannot be told apart'):
        found([free], effort='current')
    gains = dict.fromkeys(free.joints, 1.0)
    payloads = (described.Payload('loaded'),)
    made = found([free, loaded], effort='current', gains=gains, payloads=payloads)
    (one,) = found_loads(made)
    assert [finding.code for finding in one.findings()] == ['mass_by_given_gains']


def test_joints_without_effort_or_motion_are_left_out(free: ArmRecording) -> None:
    effort = free.effort.copy()
    effort[:, 0] = np.nan
    position = free.position.copy()
    position[:, 5] = 0.3
    made = found([changed(free, position, effort)])
    assert not made.setup.model.measured[0]
    assert 'joint_1.fs' not in made.names
    assert 'joint_6' not in made.setup.model.joints
    codes = {one.code for one in made.setup.findings}
    assert {'equation_left_out', 'joints_resting'} <= codes


def codes_of(recording: ArmRecording, **entries: object) -> dict[str, str]:
    robot, c = load_robot(URDF), Configuration(**entries)  # type: ignore[arg-type]
    told = [*sensor_findings(robot, recording), *whole_findings(robot, [recording], c)]
    return {one.code: one.text for one in told if one.level in ('bad', 'warn')}


def test_a_good_recording_provokes_nothing(free: ArmRecording) -> None:
    assert codes_of(free) == {}


def test_mistakes_are_named(free: ArmRecording) -> None:
    degrees = codes_of(changed(free, position=np.degrees(free.position)))
    assert 'degrees' in degrees['unit']
    assert 'N mm' in codes_of(changed(free, effort=1e3 * free.effort))['unit']
    assert 'currents' in codes_of(changed(free, effort=free.effort / 12.0))['effort_scale']
    assert 'effort_sign' in codes_of(changed(free, effort=-free.effort))
    light = np.array([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    pushed = codes_of(changed(free, effort=free.effort * light))
    assert 'friction of joint_6 would push' in pushed['effort_sign']
    order = [0, 2, 1, 3, 4, 5]
    assert 'efforts_swapped' in codes_of(changed(free, effort=free.effort[:, order]))
    sign = np.array([1.0, 1.0, -1.0, 1.0, 1.0, 1.0])
    flipped = codes_of(changed(free, position=free.position * sign))
    assert 'joint_3' in flipped['position_sign']
    other = codes_of(free, gravity=(9.80665, 0.0, 0.0))
    assert '[0, 0, -9.80665]' in other['gravity_direction']


def test_stuck_and_saturated_efforts(free: ArmRecording) -> None:
    effort = free.effort.copy()
    effort[3000:6000, 1] = effort[3000, 1]
    assert 'effort[joint_2]' in codes_of(changed(free, effort=effort))['stuck']
    limit = np.quantile(free.effort[:, 2], 0.97)
    clipped = changed(free, effort=np.minimum(free.effort, limit))
    assert 'saturated' in codes_of(clipped)


def test_feedforward_predicts_another_motion(arm: Arm, free: ArmRecording, tmp_path: Path) -> None:
    subject = Subject(Configuration(), load_robot(URDF))
    drive('identify', 'robot', [free], out=tmp_path / 'out', config=subject)
    identified = load_feedforward(tmp_path / 'out', URDF)
    times = np.arange(0.0, 6.0, 0.001)
    q, qd, qdd = exciting_motion(arm.nominal, times, 77)
    torque, sigma = feedforward(identified, q, qd, qdd)
    truth = np.empty_like(torque)
    for k in range(len(times)):
        M, c = equations_of_motion(arm.plant, q[k], qd[k])
        truth[k] = M @ qdd[k] + c + arm.drive.motor_inertia * qdd[k] + arm.friction.offset
        truth[k] += arm.friction.viscous * qd[k] + arm.friction.coulomb * np.sign(qd[k])
    sliding = np.abs(qd) > 0.1
    error = np.where(sliding, torque - truth, np.nan)
    assert np.sqrt(np.nanmean((error / sigma) ** 2)) < 1.6
    assert np.nanmax(np.abs(error) / arm.nominal.effort) < 0.01
    document = json.loads((tmp_path / 'out' / 'parameters.json').read_text())
    assert document['system'] == 'robot'
    with pytest.raises(UsageError, match='needs q, qd and qdd'):
        feedforward(identified, q[:, :3], qd[:, :3], qdd[:, :3])
    with pytest.raises(InputError, match='not the robot that was identified'):
        load_feedforward(tmp_path / 'out', URDF.with_name('arm_7_axis.urdf'))
