"""Recordings with something wrong in them: each fault is found and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from car_cases import TRUTH, configuration, recording

from veh_identification.errors import EstimationError, InputError
from veh_identification.simulation.car.exact.motion import ExactCar
from veh_identification.simulation.car.exact.sensors import ExactSensors, exact_recording
from veh_identification.systems.car import yaml_fields as fields
from veh_identification.systems.car.checks.explanations import check_steering
from veh_identification.systems.car.configuration import Sensor
from veh_identification.systems.car.estimation.identify import CarOptions, identify_recordings
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.processing.signals import Processing, prepare
from veh_identification.systems.car.recording.reader import CarRecording

QUICK = CarOptions(bias_correction=False)


def swap_wrenches(run: CarRecording, a: str, b: str) -> CarRecording:
    return replace(run, wrenches={**run.wrenches, a: run.wrenches[b], b: run.wrenches[a]})


def swap_travels(run: CarRecording, a: str, b: str) -> CarRecording:
    a, b = f'suspension_{a}', f'suspension_{b}'
    return replace(run, joints={**run.joints, a: run.joints[b], b: run.joints[a]})


def flip_joint(run: CarRecording, name: str) -> CarRecording:
    series = run.joints[name]
    return replace(run, joints={**run.joints, name: replace(series, values=-series.values)})


def flip_imu(run: CarRecording, *columns: int) -> CarRecording:
    assert run.imu is not None
    values = run.imu.values.copy()
    values[:, columns] *= -1.0
    return replace(run, imu=replace(run.imu, values=values))


def flip_wrench(run: CarRecording, corner: str, *columns: int) -> CarRecording:
    series = run.wrenches[corner]
    values = series.values.copy()
    values[:, columns] *= -1.0
    return replace(run, wrenches={**run.wrenches, corner: replace(series, values=values)})


FAULTS: list[tuple[str, Callable[[CarRecording], CarRecording]]] = [
    ('wheel_fl/wrench and wheel_rl/wrench are swapped', lambda r: swap_wrenches(r, 'fl', 'rl')),
    ('wheel_rl/wrench and wheel_rr/wrench are swapped', lambda r: swap_wrenches(r, 'rl', 'rr')),
    ('suspension_fl and suspension_fr are swapped', lambda r: swap_travels(r, 'fl', 'fr')),
    ('suspension_rr has the wrong sign', lambda r: flip_joint(r, 'suspension_rr')),
    ('steering_fl has the wrong sign', lambda r: flip_joint(r, 'steering_fl')),
    ('mounted upside down', lambda r: flip_imu(r, 1, 2, 4, 5)),
    ('angular_velocity.x has the wrong sign', lambda r: flip_imu(r, 0)),
    ('linear_acceleration.y has the wrong sign', lambda r: flip_imu(r, 4)),
    ('wheel_rr/wrench has the wrong sign', lambda r: flip_wrench(r, 'rr', 0, 1, 2, 3, 4, 5)),
    ('wheel_fl/wrench: force.x has the wrong sign', lambda r: flip_wrench(r, 'fl', 0)),
]


@pytest.mark.parametrize(('words', 'fault'), FAULTS, ids=[words for words, _ in FAULTS])
def test_each_fault_is_named(words: str, fault: Callable[[CarRecording], CarRecording]) -> None:
    result = identify_recordings([fault(recording(20.0, 1.0))], configuration(), QUICK)
    texts = [finding['text'] for finding in result.extra['findings'] if finding['serious']]
    assert any(words in text for text in texts), texts


@pytest.mark.parametrize('from_bag', [False, True], ids=['configuration', 'tf_static'])
def test_signs_are_named_on_the_own_axes_of_a_turned_inertial_unit(from_bag: bool) -> None:
    config = configuration()
    turned = fields.rotation_rpy([0.02, -0.03, 0.6], 'rpy')
    imu = replace(config.sensors.imu, position=(1.3, 0.1, 0.2), rotation=turned, pose_given=True)
    config = replace(config, sensors=replace(config.sensors, imu=imu))
    run = exact_recording(ExactCar(config), 14.0, ExactSensors.noisy())
    if from_bag:
        run = replace(run, poses={imu.frame: (imu.position, turned)})
        unknown = replace(
            imu, position=(0.0, 0.0, 0.0), rotation=Sensor().rotation, pose_given=False
        )
        config = replace(config, sensors=replace(config.sensors, imu=unknown))
    good = identify_recordings([run], config, QUICK)
    assert good.extra['findings'] == []
    for columns, words in (
        ((0,), 'angular_velocity.x has the wrong sign'),
        ((4,), 'linear_acceleration.y has the wrong sign'),
        ((1, 2, 4, 5), 'mounted upside down'),
    ):
        result = identify_recordings([flip_imu(run, *columns)], config, QUICK)
        texts = [one['text'] for one in result.extra['findings'] if one['serious']]
        assert any(words in text for text in texts), texts
        assert not any('steering' in text for text in texts), texts


def test_a_good_recording_has_no_findings() -> None:
    result = identify_recordings([recording(20.0, 1.0)], configuration(), QUICK)
    assert result.extra['findings'] == []


def test_a_missing_wheel_wrench_costs_its_equations_only() -> None:
    run = recording(20.0, 1.0)
    wrenches = {corner: one for corner, one in run.wrenches.items() if corner != 'rl'}
    result = identify_recordings([replace(run, wrenches=wrenches)], configuration(), QUICK)
    text = result.extra['findings'][0]['text']
    assert 'wheel_rl/wrench is missing' in text and 'suspension_rl are lost' in text
    lost = {removal.name for removal in result.removed}
    assert {'Mc', 'ZZc', 'M3', 'k3', 'off3', 'Cx'} <= lost
    kept = [name for name in NAMES if name not in lost]
    assert {'M1', 'k1', 'h4', 'karf', 'karr'} <= set(kept)
    for name in ('k1', 'h1', 'k4', 'off2'):
        k = NAMES.index(name)
        assert abs(result.value[k] - TRUTH[k]) < 0.02 * TRUTH[k]
    parameter = result.as_dict()['parameters'][0]
    assert parameter['name'] == 'Mc' and parameter['value'] is None


def test_standstill_is_refused_with_the_static_mass() -> None:
    still = exact_recording(ExactCar(configuration(), standstill=True), 15.0, ExactSensors.noisy())
    with pytest.raises(EstimationError, match='stands still in the whole recording') as caught:
        identify_recordings([still], configuration())
    total = TRUTH[0] + TRUTH[10:14].sum()
    assert f'{total:.0f}' in str(caught.value) or f'{total - 1:.0f}' in str(caught.value)


def test_no_inertial_unit_is_refused() -> None:
    with pytest.raises(InputError, match='imu/data is missing or empty'):
        identify_recordings([replace(recording(20.0), imu=None)], configuration())


def test_without_speed_only_the_drag_is_lost() -> None:
    result = identify_recordings([replace(recording(20.0), speed=None)], configuration(), QUICK)
    assert [(removal.name, removal.reason) for removal in result.removed] == [
        ('Cx', 'the recording holds no speed')
    ]


def test_gaps_are_not_bridged() -> None:
    run = recording(40.0)
    assert run.imu is not None
    stamps = run.imu.stamps
    kept = (stamps < 15.0) | (stamps > 19.0)
    result = identify_recordings([replace(run, imu=run.imu.take(kept))], configuration(), QUICK)
    assert result.samples < 200 * 36
    error = np.abs(result.value - TRUTH)[[0, 1, 4, 5, 6]] / TRUTH[[0, 1, 4, 5, 6]]
    assert error.max() < 1e-3


@pytest.mark.parametrize(('size', 'named'), [(-1.0, True), (-0.1, False), (1.0, False)])
def test_steering_is_judged_only_where_somebody_steers(size: float, named: bool) -> None:
    """On a straight road bump steer may run against the yaw rate, which says nothing."""
    piece = prepare(recording(14.0), configuration(), Processing()).pieces[0]
    steering = piece.joints['steering']
    assert steering.position[:, 0].std() > 0.004
    moved = replace(steering, position=size * steering.position)
    found = check_steering(replace(piece, joints={**piece.joints, 'steering': moved}))
    assert bool(found) == named
