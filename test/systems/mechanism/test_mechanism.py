"""Planar mechanisms of a file: model, truth of another formulation, observer, faults."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veh_identification.configuration.document import Document
from veh_identification.configuration.faults import ConfigurationError
from veh_identification.errors import BagError, ModelError, UsageError
from veh_identification.observation import ObservedModel
from veh_identification.observation.sensors import predict
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.mechanism.bag import measured, simulate, told
from veh_identification.simulation.scenarios import simulate as simulate_bag
from veh_identification.systems.driver import run as run_verb
from veh_identification.systems.mechanism.configuration import Description, checked, load
from veh_identification.systems.mechanism.model import build, forces_applier, make_sensors

CONFIG = share_directory() / 'config'
#: A slotted arm that a pin of a crank moves, a bar on a carriage that slides along the arm, a
#: massless link: every kind of joint, coordinate, spring, drive, load, mass and sensor.
EVERYTHING: dict[str, Any] = {
    'gravity': [0.3, -9.0],
    'points': {
        'A': {'at': [0, 0], 'fixed': True},
        'B': {'at': [0.6, 0], 'fixed': True},
        'pin': {'at': [0, 0.2]},
        'C': {'at': [-0.51, 0.37]},
        'D': {'at': [0.19, 0.03]},
        'E': {'at': [0.25, 0.22]},
        'F': {'at': [-0.32, 0.31]},
        'H': {'at': [-0.27, 0.61]},
    },
    'bodies': {
        'crank': {'points': ['A', 'pin'], 'mass': 2.0, 'centre': [0.05, 0.01], 'inertia': 0.02},
        'arm': {'points': ['B', 'C'], 'mass': 1.5, 'further': {'tip': [1.0, 0.1]}},
        'carriage': {'points': ['D', 'E'], 'mass': 0.7, 'inertia': 0.02},
        'tail': {'points': ['F', 'H'], 'mass': 0.4, 'further': {'hinge': [-0.1, 0.05]}},
    },
    'masses': {'weight': {'point': 'tip', 'mass': 0.3}},
    'joints': {
        'slot': {'kind': 'slider', 'points': ['pin'], 'on': 'arm'},
        'guide': {
            'kind': 'prismatic',
            'points': ['D'],
            'on': 'arm',
            'through': [0.5, 0.1],
            'body': 'carriage',
            'axis': [0, 1],
        },
        'hinge': {'kind': 'revolute', 'points': ['hinge', 'tip']},
        'rod': {'kind': 'link', 'points': ['H', 'E'], 'length': 0.65},
    },
    'coordinates': {
        'crank': {'angle': ['A', 'pin'], 'rate': 3.0},
        'slide': {'travel': 'guide', 'start': -0.1},
        'bend': {'angle': ['F', 'H'], 'of': 'arm', 'independent': False},
        'reach': {'distance': ['A', 'H'], 'independent': False},
        'height': {'y': 'E', 'independent': False},
    },
    'springs': {
        'pull': {'points': ['A', 'H'], 'stiffness': 60, 'damping': 2, 'rest': 0.9, 'preload': 1.5},
        'soft': {'coordinate': 'slide', 'stiffness': 80, 'damping': 3, 'rest': -0.05},
        'turn': {'coordinate': 'bend', 'stiffness': 0.4, 'damping': 0.05, 'rest': 0.2},
    },
    'drives': {'motor': {'coordinate': 'crank', 'force': 1.2}, 'pusher': {'coordinate': 'reach'}},
    'loads': {'wind': {'point': 'tip', 'force': [0.5, -0.3]}},
    'sensors': {
        'encoder': {'kind': 'encoder', 'coordinate': 'bend', 'deviation': 0.01},
        'string': {'kind': 'distance', 'coordinate': 'reach', 'deviation': 0.001},
        'height': {'kind': 'distance', 'coordinate': 'height', 'deviation': 0.001},
        'tacho': {'kind': 'rate', 'coordinate': 'crank', 'deviation': 0.01},
        'gyro': {'kind': 'gyro', 'body': 'tail', 'deviation': 0.01},
        'imu': {
            'kind': 'accelerometer',
            'body': 'arm',
            'point': 'tip',
            'turned': '30 deg',
            'deviation': 0.1,
        },
        'camera': {'kind': 'position', 'point': 'hinge', 'deviation': 0.001},
    },
    'truth': {'swings': {'pusher': {'amplitude': 2.0, 'frequency': 1.5}}},
}


def described(data: Any) -> Description:
    return checked(Document.of(data, 'mechanism.yaml'))


@pytest.mark.parametrize('case', ['everything', 'slider_crank', 'solid_axle'])
def test_two_formulations_give_the_same_motion_and_sensors(case):
    """Natural coordinates beside bodies with multipliers; nothing but the file is shared."""
    if case == 'everything':
        found = described(EVERYTHING)
    else:
        found = load(CONFIG / f'mechanism_{case}.yaml')
        found = replace(
            found,
            truth=replace(
                found.truth, **{key: {} for key in ('bodies', 'coordinates', 'springs', 'sensors')}
            ),
        )
    end, dt = 0.3, 1e-4
    truth = simulate(found, end)
    mechanism = build(found)
    observed = ObservedModel(mechanism.model, apply_inputs=forces_applier(mechanism))
    for k in range(round(end / dt)):
        observed.predict(dt, told(found, (k + 1) * dt))
    for sensor in make_sensors(mechanism, list(found.sensors)):
        entries = found.sensors[sensor.name]
        gap = predict(sensor, observed) - measured(truth, entries, end)
        if entries.kind == 'encoder':
            gap = np.remainder(gap + np.pi, 2 * np.pi) - np.pi
        # half a step of a counter is expected to be missing
        gap += 0.5 * entries.resolution * entries.counting
        # the trapezoidal rule leaves a share of dt^2 in rates and accelerations
        size = max(1.0, float(np.abs(measured(truth, entries, end)).max()))
        assert np.abs(gap).max() < 2e-4 * size, sensor.name
    q, u = truth.at(end)
    assert np.abs(truth.plane.constraints(q, u).value).max() < 1e-7
    moved = truth.at(0.0)[0] - q
    assert np.abs(moved).max() > (1e-3 if case == 'solid_axle' else 0.05)


@pytest.fixture(scope='module')
def bags(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp('mechanism')
    for name, seconds in (('four_bar', 1.6), ('slider_crank', 1.6)):
        simulate_bag(
            'mechanism',
            folder / name,
            config=f'mechanism_{name}',
            seed=4,
            duration=seconds,
        )
    return {name: folder / name for name in ('four_bar', 'slider_crank')}


def test_the_four_bar_of_a_file_is_the_four_bar(bags):
    one = run_verb('observe', 'mechanism', [bags['four_bar']], config='mechanism_four_bar')
    other = run_verb('observe', 'four-bar', [bags['four_bar']])
    assert set(one) == set(other) == set(one.result.metrics['coordinates'])
    for name in one:
        np.testing.assert_allclose(one[name].value, other[name].value, rtol=0.0, atol=1e-6)
        assert one[name].truth == pytest.approx(other[name].truth, abs=1e-12)
    assert one['x2'].truth is not None and np.ptp(one['x2'].truth) > 0.5


def test_a_slider_crank_with_dirt_is_observed(bags):
    """Unknown start, friction, wrong mass, ticks, bias, delay: none is told to the observer."""
    outcome = run_verb(
        'observe', 'mechanism', [bags['slider_crank']], config='mechanism_slider_crank'
    )
    metrics = outcome.result.metrics
    table = metrics['coordinates']
    assert table['crank']['rms_obs'] < np.radians(1.0) / np.sqrt(12.0)  # of a tick alone
    assert table['crank']['rms_model'] > 50.0 * table['crank']['rms_obs']
    assert table['x_piston']['rms_obs'] < 2e-4 < 2e-3  # its own sensor has 2 mm
    assert 0.4 < metrics['consistency']['nees']['average'] / 2.0 < 2.0
    assert metrics['parameters']['rod_gyro.bias_z'] == pytest.approx(0.05, abs=0.02)
    assert metrics['failed_corrections'] == 0
    assert outcome.verdict.level != 'no'
    assert {'encoder', 'stroke', 'rod_gyro'} == set(metrics['sensors'])


def test_unknown_forces_are_estimated_and_told(bags):
    outcome = run_verb(
        'observe',
        'mechanism',
        [bags['four_bar']],
        config='mechanism_four_bar',
        options={'force_estimation': True, 'poles': True, 'observability': True},
    )
    metrics = outcome.result.metrics
    assert set(metrics['force_error']) == {'crank'}
    assert metrics['observability']['states'] == metrics['observability']['least_rank'] == 3
    assert max(metrics['poles']['largest_corrected']) < 1.0
    assert 'unknown force' in outcome.text


def test_what_no_sensor_tells_is_said(bags):
    found = load(CONFIG / 'mechanism_slider_crank.yaml')
    blind = replace(found, observer=replace(found.observer, sensors=('rod_gyro',)))
    outcome = run_verb('observe', 'mechanism', [bags['slider_crank']], config=blind)
    codes = {one.code: one for one in outcome.findings}
    assert 'not_observable' in codes and codes['not_observable'].level == 'warn'
    other = replace(found, observer=replace(found.observer, sensors=('encoder', 'rod_gyro')))
    sensors = {**found.sensors, 'rod_gyro': replace(found.sensors['rod_gyro'], topic='nothing')}
    outcome = run_verb(
        'observe', 'mechanism', [bags['slider_crank']], config=replace(other, sensors=sensors)
    )
    codes = {one.code: one for one in outcome.findings}
    assert 'rod_gyro' in codes['sensor_not_recorded'].text
    joint = {'encoder': replace(found.sensors['encoder'], joint='wheel')}
    alone = replace(found, sensors=joint, observer=replace(found.observer, sensors=None))
    with pytest.raises(BagError, match='holds anything of the sensors encoder'):
        run_verb('observe', 'mechanism', [bags['slider_crank']], config=alone)


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (('piston: {point: piston', 'piston: {point: pistn'), r":\d+: .*did you mean 'piston'"),
        (('joints:  ', 'jonts:  '), r"jonts.* did you mean 'joints'"),
        (('kind: slider', 'kind: slidr'), r"expected 'revolute', 'link', 'slider' or"),
        (('mass: 0.4', 'mass: -0.4'), 'expected a positive mass'),
        (('coordinate: crank, damping', 'coordinate: crnk, damping'), "did you mean 'crank'"),
        (('{travel: bore', '{travel: bor'), "did you mean 'bore'"),
        (('{angle: [A, pin]}', '{angle: [A, pin], x: pin}'), 'expected one of angle, distance'),
        (('kind: encoder, coordinate: crank', 'kind: encoder'), 'needs it'),
        (('kind: encoder, coordinate: crank', 'kind: encoder, coordinate: stroke'), 'an angle'),
        (('velocity_deviation: 5.0', 'velocity_deviation: [5, 6]'), 'one number, or one for'),
        (("resolution: '1 deg'", "resolution: '1 kg'"), 'expected an angle or a length'),
        (('points: [A, pin]', 'points: [A, A]'), 'expected a point that is not fixed'),
        (('kind: encoder', 'kind: encoder, topic: plc'), 'topic: .* comes by joint_states'),
    ],
)
def test_faults_of_a_file_are_named_with_their_line(tmp_path, change, words):
    text = (CONFIG / 'mechanism_slider_crank.yaml').read_text()
    assert change[0] in text
    file = tmp_path / 'bad.yaml'
    file.write_text(text.replace(*change, 1))
    with pytest.raises(ConfigurationError, match=words) as caught:
        load(file)
    assert all(line.startswith(f'{file}:') for line in str(caught.value).splitlines())


def test_what_cannot_be_assembled_is_refused(tmp_path):
    text = (CONFIG / 'mechanism_slider_crank.yaml').read_text()
    file = tmp_path / 'bad.yaml'
    file.write_text(text.replace('through: [0, 0]', 'through: [0, 1]'))
    with pytest.raises(ModelError, match=r'bad.yaml: the mechanism cannot be assembled'):
        run_verb('observe', 'mechanism', [tmp_path], config=file)
    file.write_text(text.replace('independent: false', 'independent: true'))
    with pytest.raises(ModelError, match='leave 1 degrees of freedom'):
        run_verb('observe', 'mechanism', [tmp_path], config=file)
    with pytest.raises(UsageError, match='needs --config'):
        run_verb('observe', 'mechanism', [tmp_path])
    with pytest.raises(UsageError, match='needs --config'):
        simulate_bag('mechanism', tmp_path / 'bag')
    with pytest.raises(UsageError, match='takes no configuration; these do: mechanism'):
        simulate_bag('four-bar', tmp_path / 'bag', config='mechanism_four_bar')
    assert not (tmp_path / 'bag').exists()


@pytest.mark.parametrize('turn', [-2.9, 2.9, 9.0])
def test_a_large_correction_takes_the_whole_linkage_along(turn):
    """Half a turn at once, and the arm would stay where it was, opposite to its crank."""
    mechanism = build(load(CONFIG / 'mechanism_four_bar.yaml'))
    observed = ObservedModel(mechanism.model)
    observed.correct(np.array([turn]), np.zeros(1))
    values = dict(zip(mechanism.names, mechanism.model.q, strict=True))
    arm = np.arctan2(values['y1'], values['x1'])
    assert np.cos(arm - values['crank']) == pytest.approx(1.0, abs=1e-9)
    assert values['crank'] == pytest.approx(0.5 * np.pi + turn)
