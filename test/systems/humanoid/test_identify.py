"""Identification of the simulated humanoid from bags: the figures of Ayusawa 2008, section 4."""

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from humanoid_cases import CAD, TRUE, record, true_robot
from humanoid_runs import by_code, identified, the
from lxml import etree

from veh_identification.atomic import OutputError
from veh_identification.errors import InputError, UsageError
from veh_identification.multibody.inertia import PARAMETER_NAMES, is_consistent
from veh_identification.multibody.urdf import load_urdf
from veh_identification.runtime.bags import BagReader
from veh_identification.simulation.humanoid.sensors import HumanoidSensors
from veh_identification.systems.driver import configured, run
from veh_identification.systems.humanoid import system
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.estimation.prior import links_to_base
from veh_identification.systems.humanoid.options import IdentifyOptions, Subject, with_options
from veh_identification.systems.humanoid.outcome import true_values
from veh_identification.systems.humanoid.results.findings import link_findings
from veh_identification.systems.humanoid.robot import load_robot


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    return record(tmp_path_factory.mktemp('walk') / 'walk', lean=False)


@pytest.fixture(scope='module')
def bend(tmp_path_factory):
    return record(tmp_path_factory.mktemp('bend') / 'bend', kind='bend', duration=8.0)


@pytest.fixture(scope='module')
def made(walk, bend, tmp_path_factory):
    """One identification: what the driver gives, and what stood behind it."""
    out = tmp_path_factory.mktemp('out') / 'result'
    seen = []
    whole = system.identify
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(system, 'identify', lambda *given: seen.append(whole(*given)) or seen[-1])
        told = run('identify', 'humanoid', [walk], out=out, validate=bend, options={'urdf': CAD})
    return out, told, seen[0]


@pytest.fixture(scope='module')
def result(made):
    out, told, _ = made
    return out, json.loads((out / 'parameters.json').read_text()), told


@pytest.fixture(scope='module')
def outcome(made):
    return made[2]


def truth(outcome, frames=()):
    robot = true_robot().cut_at(frames)
    problem = outcome.estimate.problem
    return links_to_base(robot, robot.model(outcome.setup.locked), problem.base) @ np.concatenate(
        [robot.parameters[name] for name in robot.massive]
    )


def test_total_mass_within_one_percent(result) -> None:
    _, content, told = result
    mass = content['total_mass']
    assert mass['value'] == pytest.approx(8.0, rel=0.01)
    assert abs(mass['value'] - 8.0) < 3.0 * mass['std'] < 0.1
    assert content['parameters'][0]['name'] == 'base_link.M'
    assert content['parameters'][0]['value'] == pytest.approx(mass['value'], rel=1e-12)
    total = told['total_mass']
    assert (total.value, total.std, total.unit) == (mass['value'], mass['std'], 'kg')
    assert total.well_identified and total.possible and total.description
    assert 'total mass' in told.text
    assert [card.label for card in told.content.cards] == ['total mass']


def test_single_links_are_not_trusted_when_most_lie_at_the_border(outcome) -> None:
    def finding(active):
        (found,) = link_findings(replace(outcome.fit, active=active))
        return found.level, found.code

    links = outcome.fit.links
    assert finding(()) == ('good', 'links_possible')
    assert finding(links[:1]) == ('note', 'links_possible')
    assert finding(links) == ('warn', 'links_at_the_border')


def test_verdict_says_what_was_found(result) -> None:
    _, content, told = result
    assert content['verdict'] == told.verdict.as_dict()
    assert 'notes' not in content['input']
    locked = the(told.findings, 'joints_locked')
    assert locked.level == 'note' and 'l_elbow_joint' in locked.where
    # A short walk says little of most of the 94: honest, and no fault of the recording.
    assert (told.verdict.level, [one.code for one in told.verdict.reasons]) == (
        'care',
        ['parameters_weak'],
    )


def test_every_input_tells_where_it_comes_from(result, walk, bend) -> None:
    _, content, told = result
    inputs = {one['what']: (one['value'], one['from']) for one in content['provenance']['inputs']}
    assert inputs['robot description'] == (str(CAD), 'the option urdf')
    assert inputs['gravity'] == ('9.80665 m/s^2', 'default')
    for bag in (walk, bend):
        value, origin = inputs[f'pose of force_plate/wrench, {bag}']
        assert value == 'position 0.25 0.05 0 m, rpy 0 0 0.4 rad'
        assert origin == f'/tf_static of {bag}'
        assert inputs[f'motion of the base, {bag}'][0] == 'base/pose (motion capture)'
    described = [told[name].description for name in ('base_link.M', 'r_knee.MSx', 'r_knee.Jxy')]
    assert all(described) and len(set(described)) == 3
    assert [one.title for one in told.content.extras] == [
        'Further unknowns',
        'identified.urdf on the validation recording',
        'identified.urdf on the identification data',
    ]


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
        'covariance.npz',
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
    plate = identified([bag], CAD, contacts='plates', cutoff_hz=5.0)
    soles = identified([bag], CAD, contacts='sensors', cutoff_hz=5.0)
    assert plate.result.names == soles.result.names
    assert soles.estimate.problem.robot.mass_beyond == 0.0
    difference = plate.result.value - soles.result.value
    sigma = np.hypot(plate.result.std, soles.result.std)
    assert np.mean(np.abs(difference) < 2.0 * sigma) > 0.95
    assert abs(difference[0]) < 2.0 * sigma[0]


def test_ankle_sensors_leave_the_feet_out(walk) -> None:
    frames = ['l_ankle_sensor', 'r_ankle_sensor']
    outcome = identified([walk], CAD, contacts='sensors', cutoff_hz=5.0)
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
    outcome = identified([bag], CAD, cutoff_hz=5.0)
    assert outcome.setup.locked == {}
    assert len(outcome.result.names) == 150
    assert outcome.estimate.total_mass[0] == pytest.approx(8.0, rel=0.01)


def test_several_bags_sharpen_the_estimate(walk, outcome, tmp_path) -> None:
    second = record(tmp_path / 'second', seed=1)
    two = identified([walk, second], CAD, cutoff_hz=outcome.estimate.cutoff.cutoff_hz)
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
    outcome = identified([bag], CAD, cutoff_hz=5.0)
    assert 'topic imu/data' in the(outcome.findings, 'base_from_imu').where
    assert outcome.estimate.total_mass[0] == pytest.approx(8.0 - 0.18 * 2.03, rel=0.01)
    z = (
        outcome.result.value - truth(outcome, ['l_ankle_sensor', 'r_ankle_sensor'])
    ) / outcome.result.std
    assert np.mean(np.abs(z) < 2.0) > 0.88


def test_late_motion_capture_is_noticed_and_corrected(tmp_path) -> None:
    bag = record(tmp_path / 'late', sensors=HumanoidSensors(mocap_delay=0.012))
    outcome = identified([bag], CAD, cutoff_hz=5.0)
    late = the(outcome.findings, 'stamps_delayed')
    assert late.level == 'note' and late.where.endswith('stamps of base')
    assert float(late.text.split('base are ')[1].split()[0]) == pytest.approx(12.0, abs=1.0)
    z = (outcome.result.value - truth(outcome)) / outcome.result.std
    assert np.mean(np.abs(z) < 2.0) > 0.88
    right = identified([bag], CAD, delays={'base/pose': 0.012}, cutoff_hz=5.0)
    assert not by_code(right.findings, 'stamps_delayed')


def test_result_bag_opens(result) -> None:
    base = '/contact_identification/reconstruction'
    with BagReader(result[0] / 'result') as reader:
        topics = set(reader.topics)
        first = next(iter(reader.messages([base]))).message
    every = {f'{base}{one}' for one in ('', '_urdf', '_a_priori')}
    assert topics == {
        '/contact_identification/parameters',
        *every,
        *(f'/validation{topic}' for topic in every),
    }
    assert list(first.equations) == ['FX', 'FY', 'FZ', 'NX', 'NY', 'NZ']
    drawn = [one for one in result[2].series if one.drawn]
    assert [one.topic for one in drawn] == [base[1:], f'validation{base}']
    assert all(one.a_priori is not None for one in drawn)


def test_truth_of_a_simulated_recording_is_that_of_the_same_equations(outcome, tmp_path) -> None:
    """As the true URDF gives it; without truth.json nothing is known."""
    robot = true_robot()
    entries = {
        f'{link}.{name}': float(value)
        for link, values in robot.parameters.items()
        for name, value in zip(PARAMETER_NAMES, values, strict=True)
    }
    problem = outcome.estimate.problem
    assert true_values(problem, [tmp_path]) == {}
    (tmp_path / 'truth.json').write_text(json.dumps({'parameters': entries}))
    found = true_values(problem, [tmp_path])
    assert list(found) == list(problem.base.names)
    np.testing.assert_allclose(list(found.values()), truth(outcome), rtol=1e-12, atol=1e-15)


def test_only_an_earlier_result_is_replaced(walk, outcome, tmp_path, monkeypatch) -> None:
    def identify(out, **options):
        run('identify', 'humanoid', [walk], out=out, options=options)

    with pytest.raises(UsageError, match=r'identify humanoid needs the robot .*: --urdf FILE'):
        identify(tmp_path / 'x')
    monkeypatch.setattr(system, 'set_up', lambda *given: outcome.setup)
    monkeypatch.setattr(system, 'identify', lambda *given: outcome)
    foreign = tmp_path / 'mine'
    foreign.mkdir()
    (foreign / 'thesis.txt').write_text('years of work')
    with pytest.raises(OutputError, match='no result of veh-id'):
        identify(foreign, urdf=CAD)
    assert [p.name for p in foreign.iterdir()] == ['thesis.txt']
    with pytest.raises(OutputError, match='would replace the input'):
        identify(walk, urdf=CAD)
    earlier = tmp_path / 'earlier'
    earlier.mkdir()
    for name in ('parameters.json', 'metrics.json'):
        (earlier / name).write_text('{}')
    identify(earlier, urdf=CAD)
    assert json.loads((earlier / 'parameters.json').read_text())['system'] == 'humanoid'
    assert not (earlier / 'metrics.json').exists()


def test_options_win_over_the_file_and_over_a_given_configuration(tmp_path) -> None:
    file = tmp_path / 'mine.yaml'
    file.write_text('gravity: 9.81\ncutoff_hz: 5.0\nestimator: weighted\n')
    options = {'urdf': CAD, 'gravity': 9.8, 'check_frames': False, 'essential': True}
    _, subject = configured('humanoid', file, options)
    assert subject.robot.path == str(CAD)
    made = subject.configuration
    assert (made.gravity, made.cutoff_hz, made.check_frames) == (9.8, 5.0, False)
    assert made.essential and made.estimator == 'weighted'
    plates = {'force_plate': {'position': [1.0, 2.0, 3.0]}}
    given = Subject(load_configuration(None, plates=plates, gravity=9.81))
    again = with_options(given, IdentifyOptions(urdf=TRUE, cutoff_hz=4.0)).configuration
    assert again.plates == given.configuration.plates
    assert (again.gravity, again.cutoff_hz) == (9.81, 4.0)
    with pytest.raises(UsageError, match=r'gravity must be at least 1\.5, found -9\.81'):
        configured('humanoid', None, {'urdf': CAD, 'gravity': -9.81})
    with pytest.raises(InputError, match='essential needs another estimator than prior'):
        configured('humanoid', None, {'urdf': CAD, 'essential': True})


def test_checks_before_any_fit(walk, bend) -> None:
    made, subject = configured('humanoid', None, {'urdf': CAD})
    for bag in (walk, bend):
        found = made.checks(made.read(bag, subject), subject)
        # The arm weighs 8.0 kg, its URDF says 6.7.
        assert {one.code for one in found} <= {'joints_locked', 'weight_not_of_urdf'}
        assert not [one for one in found if one.level == 'bad']
    with pytest.raises(UsageError, match='--urdf FILE'):
        made.read(walk, Subject(load_configuration(None)))


@pytest.mark.parametrize('estimator', ['robust', 'gauss-markov', 'ordinary'])
def test_estimators_by_data_alone(tmp_path, estimator) -> None:
    bag = record(tmp_path / 'walk', duration=7.2)
    told = run(
        'identify',
        'humanoid',
        [bag],
        options={'urdf': CAD, 'estimator': estimator, 'cutoff_hz': 5.0},
    )
    assert told.result.estimator.partition('-')[0] == estimator.partition('-')[0]
    assert told['total_mass'].value == pytest.approx(8.0, rel=0.01)
    assert bool(by_code(told.findings, 'rows_down_weighted')) == (estimator == 'robust')


def test_essential_parameters(tmp_path) -> None:
    bag = record(tmp_path / 'walk', duration=7.2)
    options = {'urdf': CAD, 'estimator': 'weighted', 'cutoff_hz': 5.0}
    whole = run('identify', 'humanoid', [bag], options=options).result
    few = run('identify', 'humanoid', [bag], options={**options, 'essential': True}).result
    gone = {one.name for one in few.removed}
    assert not whole.removed and len(gone) > 20
    assert all(few.value[few.index(name)] == 0.0 for name in gone & set(few.names))
    assert 'base_link.M' not in gone
    assert few.value[0] == pytest.approx(whole.value[0], rel=0.01)
    assert few.condition_number < whole.condition_number


def test_template_configuration_holds_the_defaults() -> None:
    from veh_identification.runtime.share import share_directory

    path = share_directory() / 'config' / 'humanoid.yaml'
    assert load_configuration(path) == load_configuration(None)
