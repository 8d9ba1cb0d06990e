"""A sensor below the base beside the joints: gains, masses, and what wrong wrenches provoke."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from robot_cases import SECONDS, URDF, as_recording, changed, found, scores

from veh_identification.configuration.poses import Mounting
from veh_identification.errors import BagError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.signals import TimeSeries
from veh_identification.simulation.robot.base_wrench import (
    BasePlate,
    base_wrench,
    measured_wrench,
    momenta,
)
from veh_identification.simulation.robot.closed_loop import Run, run
from veh_identification.simulation.robot.scenarios import (
    EPOCH_NS,
    Arm,
    ArmSensors,
    exciting_motion,
    measured,
    random_arm,
    random_payload,
    write_plate,
)
from veh_identification.systems.humanoid.configuration import Pose
from veh_identification.systems.humanoid.recording.reader import WRENCH_NAMES, WRENCH_UNITS
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.robot import configuration as described
from veh_identification.systems.robot.base_wrench import BaseWrench, Places
from veh_identification.systems.robot.checks.base_wrench import judged_wrenches
from veh_identification.systems.robot.checks.fit import estimate_findings
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.estimation.payload import found_loads
from veh_identification.systems.robot.recording import ArmRecording, read_arm
from veh_identification.types import Array

GAINS = np.array([12.0, 11.0, 9.0, 10.0, 8.0, 7.0])


def on_plate(arm: Arm, name: str, seed: int, plate: BasePlate, load: float = 0.0) -> ArmRecording:
    """The arm under its controller on a plate; its efforts are currents."""
    plant = arm.plant
    if load:
        one = random_payload(seed)
        plant = plant.loaded(load, one.centre, one.inertia)
    times = np.arange(round(SECONDS * arm.drive.control_rate)) / arm.drive.control_rate
    made = run(
        plant, arm.nominal, arm.friction, arm.drive, exciting_motion(arm.nominal, times, seed)
    )
    stamps, position, effort = measured(made, ArmSensors(), arm.nominal.effort, seed)
    recording = as_recording(name, plant.joints, stamps, position, effort / GAINS)
    times, values = measured_wrench(plant, made, plate, seed)
    series = TimeSeries(times, values, WRENCH_NAMES, WRENCH_UNITS, label='base_plate/wrench')
    pose = Pose(np.array(plate.position), plate.rotation)
    sensor = BaseWrench('base_plate/wrench', 'base_plate', series, pose, 'here', False)
    return replace(recording, wrenches=(sensor,))


@pytest.fixture(scope='module')
def arm() -> Arm:
    return random_arm('arm_6_axis.urdf', 31)


@pytest.fixture(scope='module')
def free(arm: Arm) -> ArmRecording:
    return on_plate(arm, 'free', 1, BasePlate())


def test_the_simulated_wrench_is_that_of_pinocchio(arm: Arm) -> None:
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromUrdf(str(URDF))
    model.gravity.linear = np.array([0.0, 0.0, -9.80665])
    data, times = model.createData(), np.arange(0.0, 1.0, 0.001)
    q, qd, qdd = exciting_motion(arm.nominal, times, 3)
    made = base_wrench(arm.nominal, Run(1000.0, 0.0, q, qd, q))
    for k in (100, 400, 800):
        pin.rnea(model, data, q[k], qd[k], qdd[k])
        force = data.liMi[1].act(data.f[1])  # what the base exerts on the first link
        np.testing.assert_allclose(made[k], force.vector, rtol=1e-4, atol=1e-3)
    linear, _, _ = momenta(arm.nominal, q[:1], qd[:1])
    pin.computeCentroidalMomentum(model, data, q[0], qd[0])
    np.testing.assert_allclose(linear[0], data.hg.linear, atol=1e-10)


def test_gains_are_told_without_a_known_load(arm: Arm, free: ArmRecording) -> None:
    made = found([free], effort='current')
    z = (made.state.gains / GAINS - 1.0) / [made.unknown('gain', j) for j in range(6)]
    assert np.sqrt(np.mean(z**2)) < 2.0
    assert np.abs(made.state.gains[:3] / GAINS[:3] - 1.0).max() < 0.01
    assert made.state.base_delay == pytest.approx(0.002, abs=3.5 * made.unknown('base_delay'))
    assert made.unknown('base_delay') < 2e-4
    z = scores(made, arm)
    z = z[np.isfinite(z)]
    assert len(z) > 50
    assert np.sqrt(np.mean(z**2)) < 1.35
    assert made.fit.relative_cost < 1.1


def test_more_parameters_are_told_and_better(arm: Arm, free: ArmRecording) -> None:
    torque = changed(free, effort=free.effort * GAINS)
    both, alone = found([torque]), found([replace(torque, wrenches=())])
    extra = set(both.names) - set(alone.names)
    assert {'link_1.MSx', 'link_1.MSy', 'joint_1.Ia'} <= extra
    std = dict(zip(alone.names, np.sqrt(np.diag(alone.covariance)), strict=True))
    for name, value in zip(both.names, np.sqrt(np.diag(both.covariance)), strict=True):
        if name == 'link_3.MSx':
            assert value < 0.9 * std[name]


def test_a_load_is_weighed_by_its_moments_not_by_a_zero(arm: Arm, free: ArmRecording) -> None:
    other = BasePlate(offset=(-4.0, 5.0, 35.0, -2.0, 1.0, 0.0))  # tared anew in between
    loaded = on_plate(arm, 'loaded', 2, other, 2.4)
    made = found([free, loaded], effort='current', payloads=(described.Payload('loaded'),))
    (one,) = found_loads(made)
    assert one.mass == pytest.approx(2.4, abs=3.5 * one.mass_std)
    assert one.mass_std < 0.05


def turned(values: Array) -> Array:
    return np.column_stack(
        [-values[:, 1], values[:, 0], values[:, 2:3], -values[:, 4], values[:, 3], values[:, 5:]]
    )


MISTAKES: list[tuple[Callable[[Array], Array], str, str]] = [
    (np.negative, 'wrench_sign', 'opposite sign'),
    (lambda v: v * np.repeat([1.0, 1e3], 3), 'unit', 'moments in N mm'),
    (lambda v: 1e-3 * v, 'unit', 'kN'),
    (turned, 'wrench_frame', 'its x, y, z seem to be'),
    (lambda v: 0.02 * v[::-1], 'wrench_not_used', 'is left out'),
]


@pytest.mark.parametrize('mistake', MISTAKES, ids=[one[2] for one in MISTAKES])
def test_a_wrench_that_contradicts_the_motion_is_named_and_left_out(
    free: ArmRecording, mistake: tuple[Callable[[Array], Array], str, str]
) -> None:
    change, code, words = mistake
    (sensor,) = free.wrenches
    for named in (False, True):
        series = replace(sensor.series, values=change(sensor.series.values))
        wrong = replace(free, wrenches=(replace(sensor, series=series, named=named),))
        (kept,), findings = judged_wrenches(load_robot(URDF), [wrong], Configuration())
        if code == 'wrench_not_used' and named:
            assert kept.wrenches and [one.code for one in findings] == ['wrench_misfit']
            continue
        assert [(one.code, one.level) for one in findings] == [(code, 'bad' if named else 'warn')]
        assert words in findings[0].text and kept.wrenches == ()


def test_a_good_wrench_is_used_without_a_word(free: ArmRecording) -> None:
    (kept,), findings = judged_wrenches(load_robot(URDF), [free], Configuration())
    assert kept.wrenches and findings == []


def test_a_pose_or_scale_that_is_a_little_wrong_is_told_after_the_fit(free: ArmRecording) -> None:
    torque = changed(free, effort=free.effort * GAINS)
    assert [one for one in estimate_findings(found([torque])) if one.level == 'bad'] == []
    (sensor,) = torque.wrenches
    moved = Pose(sensor.pose.position + np.array([0.08, 0.0, 0.0]), sensor.pose.rotation)
    wrong = replace(torque, wrenches=(replace(sensor, pose=moved),))
    best = estimate_findings(found([wrong]))[0]
    assert (best.code, best.level) == ('wrench_frame', 'bad') and 'along x' in best.text
    series = replace(sensor.series, values=1.2 * sensor.series.values)
    wrong = replace(torque, wrenches=(replace(sensor, series=series),))
    best = estimate_findings(found([wrong]))[0]
    assert (best.code, best.level) == ('wrench_scale', 'bad')
    assert 16.0 < float(best.text.partition('off by ')[2].split()[0]) < 24.0


def test_sensors_are_found_by_type_and_frame(tmp_path: Path) -> None:
    robot, path = load_robot(URDF), tmp_path / 'bag'
    plate = BasePlate()
    with BagWriter(path) as writer:
        write_plate(writer, plate, np.arange(60) * 0.01, np.tile(np.arange(6.0), (60, 1)))
        for k in range(60):
            stamp = EPOCH_NS + 10_000_000 * k
            header = messages.header(stamp, 'tool0')
            wrench = {'force': [0.0, 0.0, 1.0], 'torque': [0.0, 0.0, 0.0]}
            one = messages.new('geometry_msgs/msg/WrenchStamped', header=header, wrench=wrench)
            writer.write_message('wrist/wrench', one, stamp)
            joints = [f'joint_{j + 1}' for j in range(6)]
            state = {'name': joints, 'position': [0.1] * 6, 'velocity': [], 'effort': [1.0] * 6}
            one = messages.new('sensor_msgs/msg/JointState', header=header, **state)
            writer.write_message('joint_states', one, stamp)

    def read(**entries: object) -> ArmRecording:
        c = Configuration(**entries)  # type: ignore[arg-type]
        return read_arm(path, robot.moving_joints(), 'joint_states', None, Places.of(robot, c))

    found_by_frame = read()
    (sensor,) = found_by_frame.wrenches
    assert (sensor.topic, sensor.frame, sensor.named) == ('base_plate/wrench', 'base_plate', False)
    told = {one.code: one.text for one in found_by_frame.findings}
    assert '/tf_static between base_link and base_plate' in told['wrench_by_frame']
    assert "its frame 'tool0' is not fixed to the root link" in told['wrench_not_used']
    force, moment = plate.rotation @ np.arange(3.0), plate.rotation @ np.arange(3.0, 6.0)
    moment = moment + np.cross(plate.position, force)
    root = sensor.at_root(sensor.series.values)[7]
    np.testing.assert_allclose(root, np.concatenate([force, moment]), atol=1e-12)
    assert read(base_wrench='off').wrenches == ()
    (sensor,) = read(base_sensors={'wrist/wrench': Mounting((0.0, 0.0, -0.1))}).wrenches
    assert sensor.topic == 'wrist/wrench' and sensor.named
    with pytest.raises(BagError, match='base_sensors names other/wrench'):
        read(base_sensors={'other/wrench': Mounting()})
