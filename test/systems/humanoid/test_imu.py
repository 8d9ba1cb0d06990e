"""Recordings without motion capture: biases of the IMU, attitude, leg odometry on plates."""

import numpy as np
import pytest
from humanoid_cases import CAD, motion, record, true_robot
from humanoid_runs import ACCELEROMETER, GYROSCOPE, biased, identified, the

from veh_identification.simulation.humanoid.sensors import HumanoidSensors
from veh_identification.systems.humanoid.processing.imu_calibration import integrated
from veh_identification.systems.humanoid.processing.odometry import (
    _calibrated,
    foot_frames,
    foot_positions,
    leg_odometry,
    placement,
)


def test_calibration_finds_attitude_and_the_bias_along_gravity() -> None:
    walk = motion('walk', 7.2)
    t = np.arange(0.0, 7.0, 0.004)
    state = walk.at(t)
    rates = state.motion.base_angular_velocity + GYROSCOPE
    forces = state.motion.base_acceleration + ACCELEROMETER
    feet = foot_positions(walk.model, state.motion.q, ('l_sole', 'r_sole'))
    found = _calibrated(t, np.stack([rates, forces], axis=1), feet, np.zeros(3), 9.80665)
    # Up to its heading, the attitude is that of the robot.
    heading = state.rotation[0].T @ np.array([0.0, 0.0, 1.0])
    up = found.rotation[:, 2]
    angle = np.arccos(np.clip(np.einsum('ni,ni->n', up, state.rotation[:, 2]), -1.0, 1.0))
    assert angle.max() < 0.01
    vertical = float((found.accelerometer_bias - ACCELEROMETER) @ heading)
    spread = float(np.sqrt(heading @ found.accelerometer_covariance @ heading))
    assert abs(vertical) < 3.0 * spread < 0.03
    assert np.abs(found.gyroscope_bias - GYROSCOPE).max() < 0.003


def test_rates_are_integrated() -> None:
    t = np.linspace(0.0, 1.0, 201)
    turned = integrated(t, np.tile([0.0, 0.0, 0.5], (201, 1)))[-1]
    np.testing.assert_allclose(turned[:2, 0], [np.cos(0.5), np.sin(0.5)], atol=1e-12)


def test_leg_odometry_follows_the_walk() -> None:
    walk = motion('walk', 7.2)
    model = true_robot().model()
    t = np.arange(0.0, 7.0, 0.005)
    state = walk.at(t)
    names = foot_frames(model)
    assert names == ('l_sole', 'r_sole')
    feet = np.einsum('nij,fnj->fni', state.rotation, foot_positions(model, state.motion.q, names))
    place = leg_odometry(feet)
    moved, truth = place - place[0], state.position - state.position[0]
    assert np.ptp(truth[:, 0]) > 0.2  # it does walk
    assert np.abs(moved - truth).max() < 0.006


def test_placement_brings_centres_of_pressure_together() -> None:
    rng = np.random.default_rng(0)
    wrench = np.column_stack(
        [rng.normal(0, 3, (200, 2)), rng.normal(78, 2, 200), rng.normal(0, 2, (200, 3))]
    )
    turn, shift = 0.7, np.array([0.4, -0.2, 0.0])
    R = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    force = wrench[:, :3] @ R.T
    moment = wrench[:, 3:] @ R.T + np.cross(shift, force)
    found = placement(wrench, np.hstack([force, moment]))
    assert found is not None
    assert found.heading == pytest.approx(turn, abs=1e-9)
    np.testing.assert_allclose(found.shift, shift[:2], atol=1e-9)
    assert placement(wrench, np.zeros((200, 6))) is None


def test_biased_imu_with_ankle_sensors(tmp_path) -> None:
    """Half a percent of accelerometer bias would be half a percent of mass."""
    bag = record(
        tmp_path / 'bag',
        duration=7.2,
        lean=False,
        change=biased('base/pose', 'force_plate/wrench'),
    )
    outcome = identified([bag], CAD, cutoff_hz=6.0)
    robot = true_robot().cut_at(outcome.estimate.problem.robot.cut)
    truth = robot.total_mass - robot.mass_beyond
    mass, std = outcome.estimate.total_mass
    assert mass == pytest.approx(truth, rel=0.005)
    assert abs(mass - truth) < 3.0 * std
    assert 'imu.bias.z' in [u['name'] for u in outcome.result.extra['sensor_unknowns']]
    total = outcome.result.extra['total_mass']
    # The feet beyond the sensors are known from the CAD model only.
    assert total['std'] > total['identified_std']
    assert abs(total['value'] - 8.0) < 3.0 * total['std']


def test_plate_with_imu_and_leg_odometry(tmp_path) -> None:
    bag = record(
        tmp_path / 'bag',
        duration=7.2,
        sensors=HumanoidSensors(encoder_noise=0.0005),
        lean=False,
        change=biased('base/pose', 'l_foot/wrench', 'r_foot/wrench'),
    )
    outcome = identified([bag], CAD, cutoff_hz=6.0)
    mass, std = outcome.estimate.total_mass
    assert mass == pytest.approx(8.0, rel=0.005)
    assert abs(mass - 8.0) < 3.0 * std
    # Not better than the plate's tare (0.3 % of the weight), as centres of pressure drift.
    assert 0.01 < std < 0.03
    unknowns = [u['name'] for u in outcome.result.extra['sensor_unknowns']]
    assert {'force_plate.pose.x', 'force_plate.drift.x', 'imu.bias.z'} <= set(unknowns)
    assert the(outcome.findings, 'place_from_legs').level == 'note'
    rms = outcome.result.extra['residuals_urdf']
    for axis in ('FZ', 'NX', 'NY'):
        assert rms[axis]['rms'] < 0.5 * rms[axis]['a_priori_rms']


def test_soles_of_other_names_are_the_lowest_ends() -> None:
    model = true_robot().cut_at(['l_ankle_sensor', 'r_ankle_sensor']).model()
    assert set(foot_frames(model)) == {'l_ankle_roll', 'r_ankle_roll'}
