"""`veh-id identify car` from bags to files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from car_cases import CONFIG, TRUTH, configuration, recording

from veh_identification.errors import InputError, UsageError
from veh_identification.results.identification import read_traces
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.simulation.car.exact.bag import write_exact, write_recording
from veh_identification.simulation.car.exact.motion import EXACT_TRUTH
from veh_identification.systems.car.command import identify
from veh_identification.systems.car.model import EQUATIONS
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.recording.reader import read_recording


@pytest.fixture(scope='module')
def bags(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp('bags')
    for name, seed in (('a', 0), ('b', 4)):
        with BagWriter(folder / name) as writer:
            write_recording(writer, recording(14.0, 1.0, seed), configuration())
    return folder / 'a', folder / 'b'


def test_from_bags_to_files(bags: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / 'result'
    text = identify(bags=[bags[0]], validate=bags[1], config=CONFIG, out=out)
    content = json.loads((out / 'parameters.json').read_text())
    assert content['system'] == 'car' and content['equations'] == 10
    assert [one['name'] for one in content['parameters']] == list(NAMES)
    values = np.array([one['value'] for one in content['parameters']])
    assert abs(values[0] - TRUTH[0]) < 1e-3 * TRUTH[0]
    assert list(content['residuals']) == list(EQUATIONS)
    assert set(content['validation']['FY']) == {'rms', 'rms_relative', 'a_priori_rms'}
    assert content['input']['cutoff_hz']['NX'] > 3.0
    assert content['findings'] == []
    lines = (out / 'parameters.csv').read_text().splitlines()
    assert lines[0].startswith('name,unit,value,std') and len(lines) == 34
    assert 'Mc' in text and 'validation on another recording' in text
    with BagReader(out / 'result') as reader:
        assert reader.topics['/car_identification/parameters'].count == 1
        assert reader.topics['/car_identification/reconstruction'].count > 500
        first = next(iter(reader.messages(['/car_identification/reconstruction']))).message
    measured, predicted = np.asarray(first.measured), np.asarray(first.predicted)
    assert np.all(np.abs(measured - predicted)[6:] < 0.1 * np.abs(measured)[6:])
    # A second run replaces the first one's results.
    identify(bags=[bags[0]], config=CONFIG, out=out)
    assert sorted(one.name for one in out.iterdir()) == [
        'parameters.csv',
        'parameters.json',
        'report.html',
        'result',
    ]


def test_equations_that_are_lost_have_no_predicted_side(
    bags: tuple[Path, Path], tmp_path: Path
) -> None:
    with BagReader(bags[0]) as reader, BagWriter(tmp_path / 'blind') as writer:
        for item in reader.messages():
            if item.topic != '/wheel_rr/wrench':
                writer.write_message(item.topic, item.message, item.time_ns)
    text = identify(
        bags=[tmp_path / 'blind'], validate=bags[1], config=CONFIG, out=tmp_path / 'out'
    )
    assert 'wheel_rr/wrench is missing' in text and text.splitlines()[-1].startswith('report: ')
    (shown,) = read_traces(tmp_path / 'out' / 'result', ['blind'], bags[1])
    traces = {trace.equation: trace for trace in shown.traces}
    for name in ('FX', 'NZ', 'suspension_rr'):
        assert np.isnan(traces[name].predicted).all() and np.isfinite(traces[name].measured).any()
    assert np.isfinite(traces['suspension_fl'].predicted).sum() > 500
    # The transients of the filters are no errors of the model.
    error = np.abs(traces['suspension_fl'].error)
    assert np.nanmax(error[:20]) < 5.0 * np.sqrt(np.nanmean(np.square(error)))


def test_poses_from_tf_static_serve_where_the_configuration_has_none(
    bags: tuple[Path, Path], tmp_path: Path
) -> None:
    plain = tmp_path / 'plain.yaml'
    plain.write_text('geometry: {wheelbase: 2.70, half_track: [0.750, 0.748, 0.760, 0.760]}\n')
    text = identify(bags=list(bags), config=plain, out=tmp_path / 'out')
    content = json.loads((tmp_path / 'out' / 'parameters.json').read_text())
    assert content['input']['pose_from'] == {'imu': '/tf_static', 'speed': '/tf_static'}
    inertia = {one['name']: one['value'] for one in content['parameters']}
    assert abs(inertia['YYc'] - EXACT_TRUTH['YYc']) < 0.01 * EXACT_TRUTH['YYc']
    assert len(content['input']['recordings']) == 2
    assert 'no --config' not in text


def test_reading_keeps_header_stamps_and_subsets_of_joints(bags: tuple[Path, Path]) -> None:
    read = read_recording(bags[0], configuration())
    made = recording(14.0, 1.0, 0)
    assert read.imu is not None and made.imu is not None
    np.testing.assert_array_equal(read.imu.values, made.imu.values)
    np.testing.assert_array_equal(read.imu.stamps_ns(), made.imu.stamps_ns())
    assert set(read.joints) == set(made.joints)
    assert set(read.poses) == {'imu_link', 'correvit_link'}


def test_wrong_use_is_refused(bags: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no option 'speed'"):
        identify(bags=[bags[0]], out=tmp_path / 'x', speed=3)
    with pytest.raises(UsageError, match='dof must be 20 or 38'):
        identify(bags=[bags[0]], out=tmp_path / 'x', dof=21)
    with pytest.raises(UsageError, match='no URDF'):
        identify(bags=[bags[0]], out=tmp_path / 'x', urdf='car.urdf')
    with pytest.raises(UsageError, match='at least one'):
        identify(bags=[], out=tmp_path / 'x')
    assert not (tmp_path / 'x').exists()


def test_a_folder_with_other_things_is_not_replaced(
    bags: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / 'thesis.tex').write_text('years of work')
    with pytest.raises(InputError, match=r'thesis\.tex'):
        identify(bags=[bags[0]], config=CONFIG, out=tmp_path, bias_correction=False)
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
    with pytest.raises(InputError, match='imu/data is missing'):
        identify(bags=[tmp_path / 'bag'], out=tmp_path / 'out', config=CONFIG)
    assert not (tmp_path / 'out').exists()


def test_the_scenario_writes_its_truth(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'bag') as writer:
        truth = write_exact(writer, 6.0, 0, 0.0, lambda done, total: None)
    assert truth['parameters'] == EXACT_TRUTH
    with BagReader(tmp_path / 'bag') as reader:
        assert reader.topics['/wheel_fl/wrench'].count == 1200
