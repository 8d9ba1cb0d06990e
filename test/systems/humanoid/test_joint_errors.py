"""Zero and gain of joint angles as unknowns: columns, recordings with such errors, refusals."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from humanoid_cases import CAD, TRUE, record
from humanoid_runs import identified, setup_of, the

from veh_identification.errors import EstimationError, InputError
from veh_identification.simulation.humanoid.sensors import HumanoidSensors
from veh_identification.simulation.sensors import Reading
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.estimation.problem import choose_samples, prepare
from veh_identification.systems.humanoid.processing.joint_errors import STEP, JointErrors

# As large as those of people: errors of 3 degrees look like other masses.
ZEROS = {'l_knee_joint': 0.12, 'r_hip_pitch_joint': -0.1, 'l_hip_roll_joint': 0.06}
GAINS = {'r_knee_joint': 0.25, 'l_hip_pitch_joint': -0.2}


def as_seen(reading: Reading) -> Reading:
    """Joint states whose true angles are q + zero + gain q."""
    if reading.topic != '/joint_states':
        return reading
    message = reading.message
    position = np.array(message.position, dtype=float)
    for k, name in enumerate(message.name):
        position[k] = (position[k] - ZEROS.get(name, 0.0)) / (1.0 + GAINS.get(name, 0.0))
    return replace(reading, message=replace(message, position=position))


@pytest.fixture(scope='module')
def walk(tmp_path_factory) -> Path:
    return record(tmp_path_factory.mktemp('walk') / 'walk', change=as_seen)


@pytest.fixture(scope='module')
def again(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp('again') / 'walk'
    return record(made, seed=1, duration=3.5, change=as_seen)


@pytest.mark.parametrize('momentum', [True, False])
def test_columns_are_what_such_errors_change(walk: Path, momentum: bool) -> None:
    made = setup_of([walk], TRUE, check_frames=False, estimate_delays=False, momentum=momentum)
    problem, raw = made.problem, made.raws[0]
    model, chosen = problem.model, choose_samples(problem, raw)
    joints = JointErrors(model, problem.body_parameters(problem.a_priori))
    with_joints = replace(problem, unknowns=replace(problem.unknowns, joints=joints))

    def rows(which, recording):
        blocks = [W for W, _ in prepare(which, recording, 4.0, chosen).equations.blocks()]
        return np.concatenate(blocks)

    columns = rows(with_joints, raw)[:, :, len(problem.names) :]
    before = rows(problem, raw) @ problem.a_priori
    for name in ('l_knee_joint', 'r_hip_roll_joint'):
        k = model.coordinate_index(name)
        step = np.zeros(model.dof)
        step[k] = STEP
        for place, angles in ((k, raw.joints + step), (model.dof + k, raw.joints * (1.0 + step))):
            after = rows(problem, replace(raw, joints=angles)) @ problem.a_priori
            change = (after - before) / STEP
            assert np.abs(change).max() > 0.1
            assert columns[:, :, place] == pytest.approx(change, abs=2e-3 * np.abs(change).max())


def test_errors_of_angles_are_found_and_unseen_wrenches_predicted_better(
    walk: Path, again: Path
) -> None:
    given = {'check_frames': False, 'estimate_delays': False, 'cutoff_hz': 4.0}
    plain = identified([walk], CAD, again, **given)
    found = identified([walk], CAD, again, joint_errors=True, **given)
    errors = [
        np.mean(one.validation.validation(one.validation.identified).rms_relative)
        for one in (plain, found)
    ]
    assert errors[1] < 0.85 * errors[0]
    mass = found.result.extra['total_mass']
    assert mass['value'] == pytest.approx(8.0, rel=0.005)
    assert abs(mass['value'] - 8.0) < 3.0 * mass['std']
    unknowns = {one['name']: one for one in found.result.extra['sensor_unknowns']}
    for wanted, kind in ((ZEROS, 'zero'), (GAINS, 'gain')):
        for joint, value in wanted.items():
            one = unknowns[f'{joint}.{kind}']
            assert abs(one['value'] - value) < 3.0 * one['std']
    told = the(found.findings, 'joint_angles_corrected').text
    assert 'l_hip_pitch_joint.gain' in told and 'identified.urdf belong' in told
    for joint, value in GAINS.items():
        assert unknowns[f'{joint}.gain']['value'] == pytest.approx(value, rel=0.4)


def test_sensors_on_the_robot_are_refused(tmp_path: Path) -> None:
    bag = record(tmp_path / 'walk', duration=3.0, lean=False, sensors=HumanoidSensors())
    with pytest.raises(EstimationError, match='joint_errors needs all wrenches by force plates'):
        identified([bag], CAD, contacts='sensors', joint_errors=True)


def test_data_alone_cannot_tell_them() -> None:
    with pytest.raises(InputError, match='joint_errors needs the estimator prior'):
        load_configuration(None, joint_errors=True, estimator='weighted')
