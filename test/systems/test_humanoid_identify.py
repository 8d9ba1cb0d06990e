"""Identification of the simulated humanoid from bags: the figures of Ayusawa 2008, section 4."""

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from humanoid_cases import CAD, record, true_robot
from lxml import etree

from veh_identification.atomic import OutputError
from veh_identification.errors import UsageError
from veh_identification.multibody.inertia import is_consistent
from veh_identification.multibody.urdf import load_urdf
from veh_identification.runtime.bags import BagReader
from veh_identification.simulation.humanoid.sensors import HumanoidSensors
from veh_identification.systems.humanoid import command
from veh_identification.systems.humanoid.command import identify, run
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.estimation.prior import links_to_base
from veh_identification.systems.humanoid.robot import load_robot


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    return record(tmp_path_factory.mktemp('walk') / 'walk', lean=False)


@pytest.fixture(scope='module')
def bend(tmp_path_factory):
    return record(tmp_path_factory.mktemp('bend') / 'bend', kind='bend', duration=8.0)


@pytest.fixture(scope='module')
def made(walk, bend, tmp_path_factory):
    """One identification: what the command gives and the outcome behind it."""
    out = tmp_path_factory.mktemp('out') / 'result'
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            command,
            'run',
            lambda *given, **options: seen.append(run(*given, **options)) or seen[-1],
        )
        text = identify(bags=[walk], out=out, validate=bend, urdf=CAD)
    return (out, json.loads((out / 'parameters.json').read_text()), text), seen[0]


@pytest.fixture(scope='module')
def result(made):
    return made[0]


@pytest.fixture(scope='module')
def outcome(made):
    return made[1]


def truth(outcome, frames=()):
    robot = true_robot().cut_at(frames)
    problem = outcome.estimate.problem
    return links_to_base(robot, robot.model(outcome.setup.locked), problem.base) @ np.concatenate(
        [robot.parameters[name] for name in robot.massive]
    )


def test_total_mass_within_one_percent(result) -> None:
    _, content, text = result
    mass = content['total_mass']
    assert mass['value'] == pytest.approx(8.0, rel=0.01)
    assert abs(mass['value'] - 8.0) < 3.0 * mass['std'] < 0.1
    assert content['parameters'][0]['name'] == 'base_link.M'
    assert content['parameters'][0]['value'] == pytest.approx(mass['value'], rel=1e-12)
    assert 'total mass' in text


def test_single_links_are_not_trusted_when_most_lie_at_the_border(outcome) -> None:
    fit = outcome.fit
    assert not command._bordering(replace(fit, active=fit.links[:1]))
    (text,) = command._bordering(replace(fit, active=fit.links))
    assert text.startswith(f'{len(fit.links)} of {len(fit.links)} links of identified.urdf lie at')


def test_parameters_json_has_what_the_contract_says(result) -> None:
    out, content, _ = result
    assert content['system'] == 'humanoid' and content['equations'] == 6
    assert len(content['parameters']) == 94
    for entry in content['parameters']:
        assert {
            'name',
            'unit',
            'value',
            'std',
            'rel_std_percent',
            'well_identified',
            'a_priori',
        } <= set(entry)
        assert entry['std'] > 0.0
    for block in ('residuals', 'validation', 'validation_urdf'):
        assert set(content[block]) == {'FX', 'FY', 'FZ', 'NX', 'NY', 'NZ'}
    assert content['input']['cutoff_hz'] > 0.0
    assert len(content['input']['locked_joints']) == 8
    assert sorted(p.name for p in out.iterdir()) == [
        'identified.urdf',
        'parameters.csv',
        'parameters.json',
        'report.html',
        'result',
    ]
    assert len((out / 'parameters.csv').read_text().splitlines()) == 95
    relation = content['base_relations']['base_link.M']
    assert 'l_ankle_roll.M' in relation and 'r_hip_yaw.M' in relation


def test_bending_is_reconstructed_with_half_the_error_of_cad(result) -> None:
    for block in ('validation', 'validation_urdf'):
        for axis in ('FZ', 'NX', 'NY'):
            row = result[1][block][axis]
            assert row['rms'] < 0.5 * row['a_priori_rms']


def test_identified_urdf_is_consistent_and_weighs_the_estimate(result) -> None:
    out, content, _ = result
    robot = load_robot(out / 'identified.urdf')
    assert robot.total_mass == pytest.approx(content['total_mass']['value'], rel=1e-12)
    assert set(robot.parameters) == set(load_robot(CAD).parameters)
    assert all(is_consistent(values) for values in robot.parameters.values())
    twin = pin.buildModelFromUrdf(str(out / 'identified.urdf'), pin.JointModelFreeFlyer())
    assert pin.computeTotalMass(twin) == pytest.approx(content['total_mass']['value'], rel=1e-12)
    load_urdf(out / 'identified.urdf')
    for axis, row in content['validation_urdf'].items():
        assert row['rms'] <= row['a_priori_rms'], axis


def test_identified_urdf_changes_inertial_elements_only(result) -> None:
    def stripped(path):
        root = etree.fromstring(path.read_bytes())
        for link in root.findall('link'):
            for inertial in link.findall('inertial'):
                link.remove(inertial)
        return path.read_bytes().split(b'<robot')[0], etree.tostring(root, method='c14n')

    assert stripped(result[0] / 'identified.urdf') == stripped(CAD)


def test_residuals_are_what_their_definition_says(outcome) -> None:
    validation = outcome.validation
    error = validation.measured - validation.identified
    rms = np.sqrt(np.mean(error**2, axis=0))
    size = np.sqrt(np.mean(validation.measured**2, axis=0))
    content = outcome.result.as_dict()
    for k, axis in enumerate(('FX', 'FY', 'FZ', 'NX', 'NY', 'NZ')):
        assert content['validation'][axis]['rms'] == pytest.approx(rms[k])
        assert content['validation'][axis]['rms_relative'] == pytest.approx(rms[k] / size[k])
        own = outcome.recordings[0]
        own_rms = np.sqrt(np.mean((own.measured - own.identified)[:, k] ** 2))
        assert content['residuals'][axis]['rms'] == pytest.approx(own_rms, rel=1e-6)


def test_most_truths_lie_within_two_sigma(outcome) -> None:
    z = (outcome.result.value - truth(outcome)) / outcome.result.std
    assert np.mean(np.abs(z) < 2.0) > 0.88
    # Nearer to the truth than the CAD values are, in units of what CAD may be off.
    size = np.sqrt(np.diag(outcome.estimate.evidence.prior.covariance))[:94]
    error = np.sqrt(np.mean(np.square((outcome.result.value - truth(outcome)) / size)))
    before = np.sqrt(np.mean(np.square((outcome.result.a_priori - truth(outcome)) / size)))
    assert error < 0.8 * before


def test_two_sole_sensors_and_one_plate_agree(tmp_path) -> None:
    bag = record(
        tmp_path / 'walk', seed=2, lean=False, sensors=HumanoidSensors(sensor_frame='sole')
    )
    plate = run([bag], CAD, contacts='plates', cutoff_hz=5.0)
    soles = run([bag], CAD, contacts='sensors', cutoff_hz=5.0)
    assert plate.result.names == soles.result.names
    assert soles.estimate.problem.robot.mass_beyond == 0.0
    difference = plate.result.value - soles.result.value
    sigma = np.hypot(plate.result.std, soles.result.std)
    assert np.mean(np.abs(difference) < 2.0 * sigma) > 0.95
    assert abs(difference[0]) < 2.0 * sigma[0]


def test_ankle_sensors_leave_the_feet_out(walk) -> None:
    frames = ['l_ankle_sensor', 'r_ankle_sensor']
    outcome = run([walk], CAD, contacts='sensors', cutoff_hz=5.0)
    assert outcome.estimate.problem.robot.beyond >= {'l_foot', 'r_foot'}
    z = (outcome.result.value - truth(outcome, frames)) / outcome.result.std
    assert np.mean(np.abs(z) < 2.0) > 0.88
    mass = outcome.result.extra['total_mass']
    assert mass['identified'] == pytest.approx(8.0 - 0.18 * 2.03, rel=0.01)
    assert mass['value'] == pytest.approx(mass['identified'] + mass['beyond_sensors'])
    weight = sum(values[0] for values in outcome.fit.as_dict().values())
    assert weight == pytest.approx(mass['identified'], rel=1e-12)


def test_26_degrees_of_freedom_by_giving_the_urdf(tmp_path) -> None:
    bag = record(tmp_path / 'arms', kind='arms')
    outcome = run([bag], CAD, cutoff_hz=5.0)
    assert outcome.setup.locked == {}
    assert len(outcome.result.names) == 150
    assert outcome.estimate.total_mass[0] == pytest.approx(8.0, rel=0.01)


def test_several_bags_sharpen_the_estimate(walk, outcome, tmp_path) -> None:
    second = record(tmp_path / 'second', seed=1)
    two = run([walk, second], CAD, cutoff_hz=outcome.estimate.cutoff.cutoff_hz)
    assert two.result.samples > 1.5 * outcome.result.samples
    assert two.estimate.total_mass[1] < 0.9 * outcome.estimate.total_mass[1]
    assert abs(two.estimate.total_mass[0] - 8.0) < 3.0 * two.estimate.total_mass[1]


def test_imu_and_ankle_sensors_do_without_motion_capture(tmp_path) -> None:
    bag = record(
        tmp_path / 'imu',
        duration=7.2,
        lean=False,
        change=lambda r: None if r.topic == '/base/pose' else r,
    )
    outcome = run([bag], CAD, cutoff_hz=5.0)
    assert any('imu/data' in note for note in outcome.notes)
    assert outcome.estimate.total_mass[0] == pytest.approx(8.0 - 0.18 * 2.03, rel=0.01)
    z = (
        outcome.result.value - truth(outcome, ['l_ankle_sensor', 'r_ankle_sensor'])
    ) / outcome.result.std
    assert np.mean(np.abs(z) < 2.0) > 0.88


def test_late_motion_capture_is_noticed_and_corrected(tmp_path) -> None:
    bag = record(tmp_path / 'late', sensors=HumanoidSensors(mocap_delay=0.012))
    outcome = run([bag], CAD, cutoff_hz=5.0)
    note = next(n for n in outcome.notes if 'stamps of base' in n)
    assert float(note.split('base are ')[1].split()[0]) == pytest.approx(12.0, abs=1.0)
    z = (outcome.result.value - truth(outcome)) / outcome.result.std
    assert np.mean(np.abs(z) < 2.0) > 0.88
    right = run([bag], CAD, delays={'base/pose': 0.012}, cutoff_hz=5.0)
    assert not any('late against' in n for n in right.notes)


def test_result_bag_opens(result) -> None:
    with BagReader(result[0] / 'result') as reader:
        topics = set(reader.topics)
        first = next(iter(reader.messages(['/contact_identification/reconstruction']))).message
    assert '/contact_identification/parameters' in topics
    assert '/validation/contact_identification/reconstruction' in topics
    assert list(first.equations) == ['FX', 'FY', 'FZ', 'NX', 'NY', 'NZ']


def test_only_an_earlier_result_is_replaced(walk, outcome, tmp_path, monkeypatch) -> None:
    with pytest.raises(UsageError, match='--urdf'):
        identify(bags=[walk], out=tmp_path / 'x')
    monkeypatch.setattr(command, 'run', lambda *given, **options: outcome)
    foreign = tmp_path / 'mine'
    foreign.mkdir()
    (foreign / 'thesis.txt').write_text('years of work')
    with pytest.raises(OutputError, match='other content'):
        identify(bags=[walk], out=foreign, urdf=CAD)
    assert [p.name for p in foreign.iterdir()] == ['thesis.txt']
    with pytest.raises(OutputError, match='would replace the input'):
        identify(bags=[walk], out=walk, urdf=CAD)
    earlier = tmp_path / 'earlier'
    earlier.mkdir()
    for name in ('parameters.json', 'old.txt'):
        (earlier / name).write_text('{}')
    identify(bags=[walk], out=earlier, urdf=CAD)
    assert json.loads((earlier / 'parameters.json').read_text())['system'] == 'humanoid'
    assert not (earlier / 'old.txt').exists()


def test_template_configuration_holds_the_defaults() -> None:
    from veh_identification.runtime.share import share_directory

    path = share_directory() / 'config' / 'humanoid.yaml'
    assert load_configuration(path) == load_configuration(None)
