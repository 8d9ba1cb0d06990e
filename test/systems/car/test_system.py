"""`identify car` from recordings to its outcome and files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from car_cases import CONFIG, TRUTH, configuration, recording

from veh_identification.errors import InputError, UsageError
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.simulation.car.exact.bag import write_exact, write_recording
from veh_identification.simulation.car.exact.motion import EXACT_TRUTH
from veh_identification.systems.car.configuration import load_configuration
from veh_identification.systems.car.model import EQUATIONS
from veh_identification.systems.car.outcome import _without_configuration
from veh_identification.systems.car.parameters import AERODYNAMIC, NAMES, unit
from veh_identification.systems.car.recording.reader import read_recording
from veh_identification.systems.car.system import Car
from veh_identification.systems.driver import configured, run


@pytest.fixture(scope='module')
def bags(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp('bags')
    for name, seed in (('a', 0), ('b', 4)):
        with BagWriter(folder / name) as writer:
            write_recording(writer, recording(14.0, 1.0, seed), configuration())
    return folder / 'a', folder / 'b'


def test_from_bags_to_files(bags: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / 'result'
    outcome = run('identify', 'car', [bags[0]], validate=bags[1], config=CONFIG, out=out)
    content = json.loads((out / 'parameters.json').read_text())
    assert content['system'] == 'car' and content['equations'] == 10
    assert [one['name'] for one in content['parameters']] == list(NAMES)
    values = np.array([one['value'] for one in content['parameters']])
    assert abs(values[0] - TRUTH[0]) < 1e-3 * TRUTH[0]
    assert list(content['residuals']) == list(EQUATIONS)
    assert set(content['validation']['FY']) == {'rms', 'rms_relative', 'a_priori_rms'}
    assert content['input']['cutoff_hz']['NX'] > 3.0
    assert content['input']['configuration'] == str(CONFIG)
    told = content['verdict']['findings']
    assert content['verdict']['level'] != 'no'
    assert [one for one in told if one['level'] == 'bad'] == []
    lines = (out / 'parameters.csv').read_text().splitlines()
    assert lines[0].startswith('name,unit,value,std') and len(lines) == 34
    assert 'Mc' in outcome.text and 'validation on another recording' in outcome.text
    with BagReader(out / 'result') as reader:
        assert reader.topics['/car_identification/parameters'].count == 1
        assert reader.topics['/car_identification/reconstruction'].count > 500
        first = next(iter(reader.messages(['/car_identification/reconstruction']))).message
    measured, predicted = np.asarray(first.measured), np.asarray(first.predicted)
    assert np.all(np.abs(measured - predicted)[6:] < 0.1 * np.abs(measured)[6:])
    # What was found is a description.
    known = load_configuration(out / 'identified.yaml')
    assert known.a_priori['k1'] == pytest.approx(outcome['k1'].value, rel=1e-8)
    assert known.a_priori['YYc'] == pytest.approx(outcome['YYc'].value, rel=1e-8)
    assert known.geometry == configuration().geometry
    # A second run replaces the first one's results.
    run('identify', 'car', [bags[0]], config=CONFIG, out=out)
    assert sorted(one.name for one in out.iterdir()) == [
        'covariance.npz',
        'engineers_sheet.csv',
        'identified.yaml',
        'parameters.csv',
        'parameters.json',
        'report.html',
        'result',
    ]


def test_every_value_is_described(bags: tuple[Path, Path]) -> None:
    outcome = run(
        'identify',
        'car',
        [recording(14.0, 1.0, 0)],
        config=configuration(),
        options={'aerodynamics': ['Cz', 'Cm', 'Cz'], 'bias_correction': False},
    )
    assert list(outcome) == [*NAMES, 'Cz', 'Cm']
    assert all(one.description and one.unit == unit(one.name) for one in outcome.values.values())
    assert all(one.possible for one in outcome.values.values())
    assert set(Car.glossary) == {*NAMES, *AERODYNAMIC}


def test_recordings_read_before_give_the_same(bags: tuple[Path, Path]) -> None:
    options = {'bias_correction': False, 'dof': 20}
    car = Car()
    config = car.configure(CONFIG)
    read = [car.read(bag, config) for bag in bags]
    memory = run('identify', 'car', read[:1], validate=read[1], config=config, options=options)
    files = run('identify', 'car', bags[:1], validate=bags[1], config=CONFIG, options=options)
    assert memory.result.as_dict()['parameters'] == files.result.as_dict()['parameters']
    assert memory.verdict == files.verdict
    assert memory.series[0].title == files.series[0].title == 'Validation recording b'
    assert memory.inputs[:2] == files.inputs[:2] == bags


def test_equations_that_are_lost_have_no_predicted_side(
    bags: tuple[Path, Path], tmp_path: Path
) -> None:
    with BagReader(bags[0]) as reader, BagWriter(tmp_path / 'blind') as writer:
        for item in reader.messages():
            if item.topic != '/wheel_rr/wrench':
                writer.write_message(item.topic, item.message, item.time_ns)
    outcome = run(
        'identify',
        'car',
        [tmp_path / 'blind'],
        validate=bags[1],
        config=CONFIG,
        out=tmp_path / 'out',
    )
    assert 'missing_wrench' in [one.code for one in outcome.verdict.reasons]
    assert (tmp_path / 'out' / 'report.html').is_file()
    (shown,) = outcome.series
    measured, predicted = (
        dict(zip(EQUATIONS, side.T, strict=True)) for side in (shown.measured, shown.predicted)
    )
    for name in ('FX', 'NZ', 'suspension_rr'):
        assert np.isnan(predicted[name]).all() and np.isfinite(measured[name]).any()
    assert np.isfinite(predicted['suspension_fl']).sum() > 500
    # The transients of the filters are no errors of the model.
    error = np.abs(measured['suspension_fl'] - predicted['suspension_fl'])
    assert np.nanmax(error[:20]) < 5.0 * np.sqrt(np.nanmean(np.square(error)))


def origins(content: dict[str, Any]) -> dict[str, str]:
    """Where each input came from; bags by their last name."""
    return {one['what']: one['from'] for one in content['provenance']['inputs']}


def test_poses_from_tf_static_serve_where_the_configuration_has_none(
    bags: tuple[Path, Path], tmp_path: Path
) -> None:
    plain = tmp_path / 'plain.yaml'
    plain.write_text('geometry: {wheelbase: 2.70, half_track: [0.750, 0.748, 0.760, 0.760]}\n')
    outcome = run('identify', 'car', list(bags), config=plain, out=tmp_path / 'out')
    content = json.loads((tmp_path / 'out' / 'parameters.json').read_text())
    assert content['input']['pose_from'] == {'imu': '/tf_static', 'speed': '/tf_static'}
    inertia = {one['name']: one['value'] for one in content['parameters']}
    assert abs(inertia['YYc'] - EXACT_TRUTH['YYc']) < 0.01 * EXACT_TRUTH['YYc']
    assert len(content['input']['recordings']) == 2
    assert 'no_configuration' not in [one.code for one in outcome.findings]
    entries = content['provenance']['inputs']
    poses = [one for one in entries if one['what'] == 'pose of imu/data in base_link']
    assert [one['from'] for one in poses] == [f'/tf_static of {bag}' for bag in bags]
    position = configuration().sensors.imu.position
    assert all(f'{position[0]:g}' in one['value'] for one in poses)
    assert origins(content)['wheelbase'] == f'configuration {plain}'
    assert origins(content)['gravity'] == 'default'


def test_without_a_configuration_the_defaults_are_named(
    bags: tuple[Path, Path], tmp_path: Path
) -> None:
    outcome = run('identify', 'car', [bags[0]], options={'bias_correction': False})
    told = [one for one in outcome.findings if one.code == 'no_configuration']
    assert [one.level for one in told] == ['warn']
    assert outcome.result.input['configuration'] == 'none'
    assert origins({'provenance': outcome.provenance.as_dict()})['wheelbase'] == 'default'


@pytest.mark.parametrize(
    ('text', 'level', 'named'),
    [
        ('name: my car\n', 'warn', 'wheelbase 2.7 m; half tracks fl fr rl rr'),
        ('geometry: {wheelbase: , half_track: [0.75, 0.75, 0.76, 0.76]}\n', 'warn', 'wheelbase'),
        ('geometry: {wheelbase: 2.7, half_track: [0.75, 0.75, 0.76, 0.76]}\n', 'note', 'radius'),
        (
            'geometry: {wheelbase: 2.7, half_track: [0.8, 0.8, 0.8, 0.8], wheel_radius: 0.3}\n',
            '',
            '',
        ),
    ],
)
def test_geometry_that_a_description_leaves_out_is_named(
    text: str, level: str, named: str, tmp_path: Path
) -> None:
    (tmp_path / 'car.yaml').write_text(text)
    _, description = configured('car', tmp_path / 'car.yaml')
    told = [one for one in _without_configuration(description) if one.code == 'geometry_assumed']
    assert [one.level for one in told] == ([level] if level else [])
    assert all(named in one.text for one in told)


def test_studies_stand_in_the_outcome(bags: tuple[Path, Path]) -> None:
    options = {'compare_models': True, 'filter_study': True, 'bias_correction': False}
    outcome = run('identify', 'car', [bags[0]], config=CONFIG, options=options)
    content = outcome.document[1]
    assert len(content['model_comparison']['parameters']) == 33
    assert content['filter_study']['choices'][0] == 'rule'
    assert outcome.content is not None
    assert [one.title for one in outcome.content.extras] == [
        "Engineer's sheet",
        '38-dof and 20-dof model',
        'Estimates over cut-offs',
    ]
    assert all(len(one.rows) == 33 for one in outcome.content.extras[1:])
    assert 'model_comparison' in [one.code for one in outcome.findings]
    assert '38-dof and 20-dof model' in outcome.body and 'estimates over cut-offs' in outcome.body


def test_reading_keeps_header_stamps_and_subsets_of_joints(bags: tuple[Path, Path]) -> None:
    read = read_recording(bags[0], configuration())
    made = recording(14.0, 1.0, 0)
    assert read.imu is not None and made.imu is not None
    np.testing.assert_array_equal(read.imu.values, made.imu.values)
    np.testing.assert_array_equal(read.imu.stamps_ns(), made.imu.stamps_ns())
    assert set(read.joints) == set(made.joints)
    assert set(read.frames.frames()) == {'base_link', 'imu_link', 'correvit_link'}
    assert read.source == str(bags[0])


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'speed': 3}, "no option 'speed'"),
        ({'dof': 21}, 'dof must be one of 20, 38'),
        ({'model': '1998'}, 'model must be one of 2006, 2002'),
        ({'aerodynamics': ['Cw']}, 'aerodynamics must be one of Cy, Cz'),
        ({'rate': -1.0}, 'rate must be at least'),
    ],
)
def test_wrong_use_is_refused(
    bags: tuple[Path, Path], tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        run('identify', 'car', [bags[0]], out=tmp_path / 'x', options=options)
    assert not (tmp_path / 'x').exists()


def test_a_folder_with_other_things_is_not_replaced(
    bags: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / 'thesis.tex').write_text('years of work')
    with pytest.raises(InputError, match=r'thesis\.tex'):
        run('identify', 'car', [bags[0]], config=CONFIG, out=tmp_path)
    assert (tmp_path / 'thesis.tex').read_text() == 'years of work'


def test_a_bag_of_something_else_is_refused(tmp_path: Path) -> None:
    still = replace(recording(10.0), imu=None, speed=None, joints={}, wrenches={})
    with BagWriter(tmp_path / 'bag') as writer:
        write_recording(
            writer,
            replace(
                still, ride_heights={}, joints={'elbow': recording(10.0).joints['steering_fl']}
            ),
        )
    with pytest.raises(InputError, match=r'none of its joints .elbow. is one of a car'):
        run('identify', 'car', [tmp_path / 'bag'], out=tmp_path / 'out', config=CONFIG)
    assert not (tmp_path / 'out').exists()


def test_the_scenario_writes_its_truth(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'bag') as writer:
        truth = write_exact(writer, 6.0, 0, 0.0, lambda done, total: None)
    assert truth['parameters'] == EXACT_TRUTH
    with BagReader(tmp_path / 'bag') as reader:
        assert reader.topics['/wheel_fl/wrench'].count == 1200
