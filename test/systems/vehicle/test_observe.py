from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vehicle_cases import changed, codes, observed, write_circle

from veh_identification.errors import InputError, UsageError, VehIdError
from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.runtime.share import share_directory
from veh_identification.systems.driver import run
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.observer.pseudo_sensors import (
    PSEUDO_SENSORS,
    slip_angle,
)
from veh_identification.systems.vehicle.results.metrics import COORDINATES
from veh_identification.systems.vehicle.system import FourWheelVehicle, completed

SECONDS = 4.0


@pytest.fixture(scope='module')
def circle(tmp_path_factory) -> Path:
    return write_circle(tmp_path_factory.mktemp('vehicle') / 'circle', SECONDS, 2)


def test_circle_metrics_and_bag(circle, tmp_path):
    outcome = run('observe', 'buggy', [circle], out=tmp_path / 'out')
    metrics = json.loads((tmp_path / 'out' / 'metrics.json').read_text())
    rows = metrics['coordinates']
    assert tuple(rows) == COORDINATES
    # the rms of Table 6 (20 s) must already hold for the first seconds
    for name, limit in (
        ('x', 0.0120),
        ('y', 0.0133),
        ('vx', 0.0448),
        ('vy', 0.0401),
        ('yaw', 0.0072),
        ('yaw_rate', 0.0042),
        ('theta_fl', 0.0221),
        ('omega_fl', 0.2858),
        ('theta_rr', 0.0250),
        ('omega_rr', 0.4018),
    ):
        assert rows[name]['rms_obs'] < limit, name
    for name in ('x', 'y', 'theta_rl'):  # what has diverged after so short a time
        assert rows[name]['rms_model'] > 10 * rows[name]['rms_obs'], name
    assert 'max_obs' in outcome.text
    assert outcome.system == metrics['system'] == 'vehicle'
    assert metrics['sensors']['gps']['rejected'] == 0
    assert 0.7 < metrics['consistency']['nis']['gps']['nis'] < 1.3
    assert metrics['notes'] == []
    with BagReader(tmp_path / 'out' / 'observed') as reader:
        assert {
            '/odometry/observed',
            '/tf',
            '/joint_states/observed',
            '/error_ekf/virtual_sensors',
        } <= set(reader.topics)
    found = read_columns(tmp_path / 'out' / 'observed', {'odometry/observed': None})
    truth = read_columns(circle, {'truth/odom': None})['truth/odom']
    odometry = found['odometry/observed']
    x = np.interp(truth.stamps_ns, odometry.stamps_ns, odometry['pose.pose.position.x'])
    assert np.abs(x - truth['pose.pose.position.x'])[5:].max() < 0.04


def test_same_bag_same_estimate(circle, tmp_path):
    short = changed(circle, tmp_path / 'short', lambda t, s, m: m)
    a, b = (observed(short, tmp_path / name) for name in 'ab')
    assert a['coordinates'] == b['coordinates']


def test_missing_inputs_are_said_and_estimated(circle, tmp_path):
    """Without torque, brake pressure and GPS velocity the force is estimated instead."""
    from veh_identification.runtime.messages import new

    def change(topic: str, stamp: int, message: Any) -> Any:
        if topic in ('/gps/vel', '/brake/pressure'):
            return None
        if topic == '/joint_states':
            return new(
                'sensor_msgs/msg/JointState',
                header={
                    'stamp': {
                        'sec': message.header.stamp.sec,
                        'nanosec': message.header.stamp.nanosec,
                    },
                    'frame_id': '',
                },
                name=list(message.name),
                position=np.array(message.position),
            )
        return message

    bag = changed(circle, tmp_path / 'bag', change, SECONDS)
    metrics = observed(bag, tmp_path / 'out')
    assert {'no_torque', 'no_pressure', 'no_gps_velocity'} <= set(codes(metrics))
    assert metrics['verdict']['level'] != 'yes'
    rows = metrics['coordinates']
    assert rows['x']['rms_obs'] < 0.05 < rows['x']['rms_model']
    assert rows['vx']['rms_obs'] < 0.3 * rows['vx']['rms_model']


def test_bad_messages_are_survived_and_counted(circle, tmp_path):
    state = {'n': 0}

    def change(topic: str, stamp: int, message: Any) -> Any:
        state['n'] += 1
        if topic == '/gps/fix' and state['n'] % 3 == 0:
            message.status.status = -1
        if topic == '/imu/data' and state['n'] % 7 == 0:
            message.angular_velocity.z = float('nan')
        if topic == '/brake/pressure':
            message.fluid_pressure = -1000.0
        if topic == '/joint_states' and state['n'] % 2 == 0:
            message.position = np.array(message.position)
            message.position[0] = float('nan')  # one wheel sensor fails now and then
        return message

    metrics = observed(changed(circle, tmp_path / 'bag', change), tmp_path / 'out')
    assert metrics['unusable_messages']['gps/fix'] > 0
    assert metrics['unusable_messages']['imu/data'] > 0
    assert metrics['unusable_messages']['brake/pressure'] > 0
    assert 'negative_pressure' in codes(metrics)
    unusable = [f for f in metrics['verdict']['findings'] if f['code'] == 'messages_unusable']
    assert {f['where'] for f in unusable} == {'gps/fix', 'imu/data', 'brake/pressure'}
    assert all(f['level'] == 'warn' for f in unusable)
    assert metrics['coordinates']['x']['max_obs'] < 0.05
    assert metrics['sensors']['wheel_fl']['used'] < metrics['sensors']['wheel_fr']['used']


def test_a_bag_without_anything_useful_is_refused(tmp_path):
    from veh_identification.runtime.messages import new

    with BagWriter(tmp_path / 'bag') as writer:
        writer.write_message('talk', new('std_msgs/msg/String', data='hello'), 1)
    with pytest.raises(InputError, match='none of the topics'):
        run('observe', 'vehicle', [tmp_path / 'bag'], out=tmp_path / 'out')
    assert not (tmp_path / 'out').exists()


def test_a_datum_far_away_is_refused(circle, tmp_path):
    config = tmp_path / 'car.yaml'
    config.write_text('base: buggy.yaml\ndatum: [10.0, 100.0, 0.0]\n')
    short = changed(circle, tmp_path / 'short', lambda t, s, m: m, 0.2)
    with pytest.raises(InputError, match='km from the datum'):
        run('observe', 'vehicle', [short], out=tmp_path / 'out', config=config)


def test_a_folder_with_other_files_is_kept(circle, tmp_path):
    (tmp_path / 'out').mkdir()
    (tmp_path / 'out' / 'thesis.txt').write_text('years of work')
    with pytest.raises(VehIdError, match='thesis'):
        run('observe', 'vehicle', [circle], out=tmp_path / 'out')
    assert (tmp_path / 'out' / 'thesis.txt').exists()


def test_slip_angle_inverts_the_tyre():
    for wanted in (0.5, 3.0, 7.0):
        angle = slip_angle(wanted, 9.81, 14.0, 1.0)
        assert 9.81 * np.tanh(14.0 * angle) == pytest.approx(wanted)
    assert slip_angle(-3.0, 9.81, 14.0, 1.0) == -slip_angle(3.0, 9.81, 14.0, 1.0)


@pytest.fixture(scope='module')
def short(circle, tmp_path_factory) -> Path:
    """Until the car moves fast enough for a sideslip angle."""
    out = tmp_path_factory.mktemp('vehicle') / 'short'
    return changed(circle, out, lambda topic, stamp, message: message, 2.5)


def test_the_report_shows_sideslip_and_tyre_forces(short):
    outcome = run('observe', 'vehicle', [short], options={'compare_model': False})
    shown = [one.name for one in outcome.result.states if not one.folded]
    assert shown[:9] == ['x', 'y', 'z', 'yaw', 'vx', 'vy', 'speed', 'yaw_rate', 'sideslip']
    assert [name for name in shown if name.startswith('tyre_f')] == shown[9:]
    assert len(shown[9:]) == 12
    assert [one.name for one in outcome.result.states][-4:] == [
        f'theta_{c}' for c in ('fl', 'fr', 'rl', 'rr')
    ]
    assert set(outcome) == set(FourWheelVehicle.glossary)
    slip, speed = outcome['sideslip'], outcome['speed']
    moving = speed.value > 1.5
    assert np.isfinite(slip.value[moving]).all() and np.isnan(slip.value[speed.value < 0.9]).all()
    assert np.abs(slip.value - slip.truth)[moving].max() < 0.02
    inside = np.abs(slip.value - slip.truth)[moving] <= 2.0 * slip.std[moving]
    assert inside.mean() > 0.9
    loads = sum(outcome[f'tyre_fz_{c}'].value for c in ('fl', 'fr', 'rl', 'rr'))
    assert loads[-500:].mean() == pytest.approx(562.0 * 9.81, rel=0.05)
    # rear drive pushes forward
    assert outcome['tyre_fx_rl'].value[-500:].mean() > 100.0
    assert 'coordinates' in outcome.result.metrics
    assert 'max_model' not in outcome.result.metrics['coordinates']['x']


def test_constraints_of_the_model_have_no_outages(short):
    outcome = run('observe', 'vehicle', [short], options={'compare_model': False})
    assert outcome.result.pseudo_sensors == {'road', 'rear_slip'} <= PSEUDO_SENSORS
    assert {row.sensor for row in outcome.content.sensors if row.pseudo} == {'road', 'rear_slip'}
    assert not any(
        name in outage.sensor for outage in outcome.content.outages for name in PSEUDO_SENSORS
    )


def test_observability_poles_and_adaptive_noise(short):
    """What Sinigaglia 2016 has beside the filter; looking changes nothing."""
    quick = {'compare_model': False, 'settle': 0.5}
    plain = run('observe', 'vehicle', [short], options=quick)
    looked = run(
        'observe', 'vehicle', [short], options={**quick, 'observability': True, 'poles': True}
    )
    for name in ('x', 'yaw', 'sideslip', 'tyre_fz_fl', 'theta_rr'):
        np.testing.assert_array_equal(looked[name].value, plain[name].value)
    metrics = looked.result.metrics
    seen = metrics['observability']
    assert seen['states'] == 30 and seen['looks'] == 3
    # one antenna cannot tell the heading of a car that stands from its place
    assert seen['largest_rank'] == 30 and seen['least_rank'] == 29
    assert set(seen['not_seen']) == {'y', 'yaw'}
    assert len(metrics['poles']['largest_corrected']) == 3
    # place and heading of a car are nowhere fixed: alone they are poles at one
    assert min(metrics['poles']['largest_model_alone']) > 1.0 - 1e-6
    # while biases and delays are still being found, one look is not the whole story
    assert max(metrics['poles']['largest_corrected']) < 1.001
    assert metrics['poles']['largest_corrected'][-1] < 1.0
    rank = 'observability: rank 29 to 30 (with constraints of the model at least 30) of 30'
    assert rank in looked.text and 'largest pole' in looked.text
    adaptive = run('observe', 'vehicle', [short], options={**quick, 'adaptive': 'both'})
    factors = adaptive.result.metrics['adaptive']
    assert factors['plant_density']['x'] != 1.0
    assert 'gps' in factors['sensor_variance']
    assert not PSEUDO_SENSORS & set(factors['sensor_variance'])
    assert adaptive.result.metrics['coordinates']['x']['max_obs'] < 0.1


def test_other_options_of_a_run(short):
    options = {'step': 0.004, 'gate_probability': 0.9, 'force_estimation': False, 'settle': 0.2}
    outcome = run('observe', 'vehicle', [short], options={**options, 'compare_model': False})
    found = outcome.result.details
    assert np.diff(found.run.time) == pytest.approx(0.004)
    assert outcome.result.gate_probability == 0.9
    counts = outcome.result.metrics['sensors']['wheel_fl']
    assert counts['rejected'] == pytest.approx(0.1 * counts['used'], rel=0.5)
    assert 'unknown_fx' not in outcome
    with pytest.raises(UsageError, match=r"no option 'sttle'; did you mean 'settle'"):
        run('observe', 'vehicle', [short], options={'sttle': 1.0})


def test_what_an_example_car_stands_in_for_is_said():
    """A description made for `identify car` has no tyres: they are those of an example."""
    config = share_directory() / 'config'
    (said,) = completed(load(config / 'car_peugeot_406.yaml'))
    assert (said.level, said.code) == ('note', 'description_completed')
    assert 'tyre' in said.text and 'geometry' not in said.text
    assert said.where.endswith('car_peugeot_406.yaml')
    assert completed(load(config / 'buggy.yaml')) == []
