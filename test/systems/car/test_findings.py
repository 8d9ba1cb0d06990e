"""Recordings with something wrong in them: each fault is found and named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from car_cases import TRUTH, configuration, faults, recording

from veh_identification.errors import EstimationError, InputError
from veh_identification.findings import Finding
from veh_identification.runtime.transforms import Transform
from veh_identification.simulation.car.exact.motion import ExactCar
from veh_identification.simulation.car.exact.sensors import ExactSensors, exact_recording
from veh_identification.simulation.car.manoeuvres import Manoeuvre
from veh_identification.simulation.car.scenarios import car_recording
from veh_identification.simulation.car.vehicle import random_vehicle
from veh_identification.systems.car.checks.plausibility import check_plausibility
from veh_identification.systems.car.checks.sensors import check_steering
from veh_identification.systems.car.description.parts import Weighed
from veh_identification.systems.car.estimation import identify
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.parameters import CORNERS, NAMES
from veh_identification.systems.car.processing.signals import Processing, prepare
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.system import Car

QUICK = CarMethod(bias_correction=False)
TURNED = (0.02, -0.03, 0.6)


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


def changed_wrench(
    run: CarRecording, corner: str, change: Callable[[np.ndarray], np.ndarray]
) -> CarRecording:
    series = run.wrenches[corner]
    changed = replace(series, values=change(series.values.copy()))
    return replace(run, wrenches={**run.wrenches, corner: changed})


def swapped_late(run: CarRecording) -> CarRecording:
    """The front wheel forces, from the middle of the recording on."""
    a, b = run.wrenches['fl'], run.wrenches['fr']
    middle = len(a.values) // 2
    made = {
        'fl': replace(a, values=np.vstack([a.values[:middle], b.values[middle:]])),
        'fr': replace(b, values=np.vstack([b.values[:middle], a.values[middle:]])),
    }
    return replace(run, wrenches={**run.wrenches, **made})


def mirrored(run: CarRecording) -> CarRecording:
    """All corners left and right exchanged."""
    for left, right in (('fl', 'fr'), ('rl', 'rr')):
        run = swap_travels(swap_wrenches(run, left, right), left, right)
    return run


#: Code and place of the finding, and the fault.
FAULTS: list[tuple[str, str, Callable[[CarRecording], CarRecording]]] = [
    (
        'swapped_wrenches',
        'wheel_fl/wrench and wheel_rl/wrench',
        lambda r: swap_wrenches(r, 'fl', 'rl'),
    ),
    (
        'swapped_wrenches',
        'wheel_rl/wrench and wheel_rr/wrench',
        lambda r: swap_wrenches(r, 'rl', 'rr'),
    ),
    (
        'swapped_travels',
        'suspension_fl and suspension_fr',
        lambda r: swap_travels(r, 'fl', 'fr'),
    ),
    ('travel_sign', 'suspension_rr', lambda r: flip_joint(r, 'suspension_rr')),
    ('steering_sign', 'steering_fl', lambda r: flip_joint(r, 'steering_fl')),
    ('imu_turned', 'imu/data', lambda r: flip_imu(r, 1, 2, 4, 5)),
    ('gyro_sign', 'imu/data angular_velocity.x', lambda r: flip_imu(r, 0)),
    ('accelerometer_sign', 'imu/data linear_acceleration.y', lambda r: flip_imu(r, 4)),
    ('wrench_sign', 'wheel_rr/wrench', lambda r: flip_wrench(r, 'rr', 0, 1, 2, 3, 4, 5)),
    ('wrench_axis_sign', 'wheel_fl/wrench force.x', lambda r: flip_wrench(r, 'fl', 0)),
    ('wrench_scale', 'wheel_rr/wrench', lambda r: changed_wrench(r, 'rr', lambda v: 0.8 * v)),
    (
        'wrench_offset',
        'wheel_fr/wrench force.z',
        lambda r: changed_wrench(r, 'fr', lambda v: v + np.array([0, 0, -500.0, 0, 0, 0])),
    ),
    (
        'wrench_axes',
        'wheel_rl/wrench force.x and force.y',
        lambda r: changed_wrench(r, 'rl', lambda v: v[:, [1, 0, 2, 3, 4, 5]]),
    ),
    ('swapped_wrenches', 'wheel_fl/wrench and wheel_fr/wrench', swapped_late),
    (
        'swapped_travels',
        'suspension_fl and suspension_rl, suspension_fr and suspension_rr',
        lambda r: swap_travels(swap_travels(r, 'fl', 'rl'), 'fr', 'rr'),
    ),
    ('swapped_corners', 'suspension_* of fl and fr, rl and rr', mirrored),
]
NAMED = [f'{code}: {where}' for code, where, _ in FAULTS]


def bad(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Codes and places of what must be put right."""
    return [(one.code, one.where) for one in faults(findings) if one.level == 'bad']


def has(findings: Iterable[Finding], code: str, where: str) -> bool:
    return any(one == code and place.endswith(where) for one, place in bad(findings))


@pytest.mark.parametrize(('code', 'where', 'fault'), FAULTS, ids=NAMED)
def test_each_fault_is_named(
    code: str, where: str, fault: Callable[[CarRecording], CarRecording]
) -> None:
    found = identify_recordings([fault(recording(20.0, 1.0))], configuration(), QUICK).findings
    assert has(found, code, where), bad(found)


@pytest.mark.parametrize(
    ('code', 'where', 'fault'), [FAULTS[k] for k in (0, 5)], ids=[NAMED[k] for k in (0, 5)]
)
def test_the_checks_alone_name_faults_too(
    code: str, where: str, fault: Callable[[CarRecording], CarRecording]
) -> None:
    found = Car().checks(fault(recording(20.0, 1.0)), configuration())
    assert has(found, code, where), bad(found)


def test_wrong_moments_are_told_before_any_fit() -> None:
    run, car = recording(20.0, 1.0), configuration()
    for corner in CORNERS:
        run = changed_wrench(run, corner, lambda v: v * np.array([1, 1, 1, 1e3, 1e3, 1e3]))
    found = check_plausibility(run, car, car.sensors.imu)
    assert [one.code for one in found] == ['unit'] and 'torque' in found[0].where


def swerving() -> CarRecording:
    """Sine steering with all sensors of the simulated car, 16 s."""
    run, _ = car_recording(
        configuration(), Manoeuvre('sine', 25.0, frequency=0.45, lateral=4.0), 16.0, 1007
    )
    return run


def scaled(run: CarRecording, factor: float, *names: str) -> CarRecording:
    joints = {
        name: replace(one, values=factor * one.values) if name in names else one
        for name, one in run.joints.items()
    }
    return replace(run, joints=joints)


def late(run: CarRecording, seconds: float, kind: str) -> CarRecording:
    if kind == 'imu':
        assert run.imu is not None
        return replace(run, imu=run.imu.delayed(-seconds))
    wrenches = {name: one.delayed(-seconds) for name, one in run.wrenches.items()}
    return replace(run, wrenches=wrenches)


def scaled_wrench(run: CarRecording, factors: Sequence[float], corners: str) -> CarRecording:
    for corner in corners.split():
        run = changed_wrench(run, corner, lambda v: v * np.array(factors))
    return run


def test_moments_of_the_wrong_sign_are_named_before_any_fit() -> None:
    run, car = swerving(), configuration()

    def told(changed: CarRecording) -> list[tuple[str, str]]:
        found = check_plausibility(changed, car, car.sensors.imu)
        return [(f.code, f.text.split(':')[0]) for f in found if f.level == 'bad']

    every = ' '.join(CORNERS)
    assert told(run) == []
    assert told(scaled_wrench(run, [1, 1, 1, 1, -1, 1], every)) == [
        ('wrench_axis_sign', 'wheel_*/wrench torque.y or force.x')
    ]
    assert told(scaled_wrench(run, [1, 1, 1, -1, 1, 1], every)) == [
        ('wrench_axis_sign', 'wheel_*/wrench torque.x')
    ]


@pytest.mark.parametrize('axis', [0, 2])
def test_one_axis_of_a_gyroscope_in_degrees_is_named(axis: int) -> None:
    car, run = configuration(), swerving()
    assert run.imu is not None
    values = run.imu.values.copy()
    values[:, axis] *= np.degrees(1.0)
    found = check_plausibility(
        replace(run, imu=replace(run.imu, values=values)), car, car.sensors.imu
    )
    assert [one.code for one in found if one.level == 'bad'] == ['unit'], found
    assert 'deg/s' in found[0].text


def test_a_scale_that_exact_relations_contradict_is_not_named() -> None:
    """Lateral forces of one wheel are exchanged with others: that is no scale of ay."""
    car = configuration()
    run = changed_wrench(swerving(), 'fl', lambda v: v[:, [1, 0, 2, 3, 4, 5]])
    found = check_plausibility(run, car, car.sensors.imu)
    assert not any(one.code == 'scale' for one in found), found
    told = identify.check_recording(run, car)
    assert has(told, 'wrench_axes', 'force.x and force.y'), bad(told)


def test_an_accelerometer_three_per_cent_off_one_g_is_told() -> None:
    run, car = swerving(), configuration()
    assert run.imu is not None
    off = replace(run, imu=replace(run.imu, values=run.imu.values * [1, 1, 1, 1, 1, 1.03]))
    found = [one for one in check_plausibility(off, car, car.sensors.imu) if one.level == 'warn']
    assert [one.code for one in found] == ['scale']
    assert '+3.1 % from one g' in found[0].text


def test_scales_below_the_tyres_tell_the_scale_of_the_wheel_forces() -> None:
    run, car = swerving(), configuration()
    loads = [float(run.wrenches[corner].values[:, 2].mean()) / 9.80665 for corner in CORNERS]
    front, rear = sum(loads[:2]), sum(loads[2:])

    def told(changed: CarRecording, weighed: Weighed) -> list[tuple[str, str]]:
        described = replace(car, weighed=weighed)
        found = check_plausibility(changed, described, car.sensors.imu)
        return [(one.code, one.where.removeprefix(run.label).strip()) for one in found]

    total, axles = Weighed(total=front + rear + 80.0), Weighed(front=front + 40, rear=rear + 40)
    rears = 'wheel_rl/wrench, wheel_rr/wrench'
    all_wheels = f'wheel_fl/wrench, wheel_fr/wrench, {rears}'
    assert told(run, Weighed()) == [('not_weighed', 'weighed')]
    assert told(run, total) == told(run, axles) == []
    heavy = scaled_wrench(run, [1.05] * 6, ' '.join(CORNERS))
    assert told(heavy, total) == [('weight_against_scale', all_wheels)]
    assert told(scaled_wrench(run, [1.1] * 6, 'rl rr'), axles) == [('weight_against_scale', rears)]


def test_scales_and_long_lags_are_named_before_any_fit() -> None:
    run, car = swerving(), configuration()
    travels = [f'suspension_{corner}' for corner in CORNERS]

    def told(changed: CarRecording) -> list[tuple[str, str]]:
        found = check_plausibility(changed, car, car.sensors.imu)
        return [
            (f.code, f.where.removeprefix(run.label).strip()) for f in found if f.level == 'bad'
        ]

    assert told(run) == []
    assert told(scaled(run, 0.8, *travels)) == [('scale', 'joint_states.position[suspension_*]')]
    assert told(scaled(run, 0.6, *travels[:2])) == [
        ('scale', 'joint_states.position[suspension_fl, suspension_fr]')
    ]
    assert run.imu is not None
    values = run.imu.values * [1.15, 1.15, 1.15, 1.0, 1.0, 1.0]
    gyro = replace(run, imu=replace(run.imu, values=values))
    assert told(gyro) == [('scale', 'imu/data angular_velocity')]
    assert told(late(run, 1.0, 'wheels')) == [('late', 'wheel_*/wrench')]
    assert told(late(run, 0.3, 'imu')) == [('late', 'imu/data')]
    assert run.speed is not None
    still = replace(run, speed=replace(run.speed, values=0.0 * run.speed.values))
    assert ('stuck', 'correvit/velocity.vx') in told(still), told(still)


def test_every_recording_is_checked() -> None:
    good = recording(20.0, 1.0)
    other = replace(recording(20.0, 1.0, seed=3), label='second')
    turned = identify_recordings([good, flip_imu(other, 1, 2, 4, 5)], configuration(), QUICK)
    assert has(turned.findings, 'imu_turned', 'second imu/data'), bad(turned.findings)
    swapped = swap_wrenches(other, 'fl', 'rl')
    found = identify_recordings([good, swapped], configuration(), QUICK).findings
    named = [one for one in found if one.code == 'swapped_wrenches']
    assert len(named) == 1 and ', in second (' in named[0].text, bad(found)
    assert named[0].evidence > 1.04
    both = identify_recordings(
        [swap_wrenches(good, 'fl', 'rl'), swapped], configuration(), QUICK
    ).findings
    named = [one for one in both if one.code == 'swapped_wrenches']
    assert len(named) == 1 and ', in ' not in named[0].text, bad(both)


def test_signs_of_the_recording_that_judges_are_checked() -> None:
    judge = flip_joint(replace(recording(20.0, 1.0, seed=3), label='judge'), 'steering_fr')
    found = identify_recordings([recording(20.0, 1.0)], configuration(), QUICK, judge).findings
    assert bad(found) == [('steering_sign', 'judge steering_fr')]


@pytest.mark.parametrize('from_bag', [False, True], ids=['configuration', 'tf_static'])
def test_signs_are_named_on_the_own_axes_of_a_turned_inertial_unit(from_bag: bool) -> None:
    config = configuration()
    pose = Transform.from_rpy([1.3, 0.1, 0.2], TURNED)
    imu = replace(config.sensors.imu, position=pose.translation, rpy=TURNED, pose_given=True)
    config = replace(config, sensors=replace(config.sensors, imu=imu))
    run = exact_recording(ExactCar(config), 14.0, ExactSensors.noisy())
    if from_bag:
        run.frames.set('base_link', imu.frame, pose)
        unknown = replace(imu, position=(0.0, 0.0, 0.0), rpy=(0.0, 0.0, 0.0), pose_given=False)
        config = replace(config, sensors=replace(config.sensors, imu=unknown))
    good = identify_recordings([run], config, QUICK)
    assert faults(good.findings) == []
    for columns, code, where in (
        ((0,), 'gyro_sign', 'angular_velocity.x'),
        ((4,), 'accelerometer_sign', 'linear_acceleration.y'),
        ((1, 2, 4, 5), 'imu_turned', 'imu/data'),
    ):
        found = identify_recordings([flip_imu(run, *columns)], config, QUICK).findings
        assert has(found, code, where), bad(found)
        assert not any(one.code == 'steering_sign' for one in found), bad(found)


def test_a_good_recording_has_no_findings() -> None:
    result = identify_recordings([recording(20.0, 1.0)], configuration(), QUICK)
    assert faults(result.findings) == []
    assert faults(Car().checks(recording(20.0, 1.0), configuration())) == []


def five_seconds() -> CarRecording:
    """A car whose driveline shakes it more than its speed changes."""
    manoeuvre = Manoeuvre('sine', 105.0 / 3.6, frequency=0.5, lateral=4.0)
    vehicle = random_vehicle(13, configuration().geometry)
    return car_recording(configuration(), manoeuvre, 5.0, 13018, vehicle=vehicle)[0]


def test_a_driveline_that_a_short_recording_does_not_show_is_no_fault() -> None:
    assert bad(identify.check_recording(five_seconds(), configuration())) == []


def test_a_fault_is_named_in_a_short_recording_as_well() -> None:
    found = identify.check_recording(swap_wrenches(five_seconds(), 'fl', 'fr'), configuration())
    assert has(found, 'swapped_wrenches', 'wheel_fr/wrench'), bad(found)


@pytest.mark.parametrize('wheel', ['fl', 'rr'])
@pytest.mark.parametrize('factor', [1.05, 0.95])
def test_a_vertical_force_of_another_scale_is_not_told_of_another_wheel(
    wheel: str, factor: float
) -> None:
    run = scaled_wrench(recording(20.0, 1.0), (1.0, 1.0, factor, 1.0, 1.0, 1.0), wheel)
    found = identify.check_recording(run, configuration())
    named = [one for one in faults(found) if 'wrench' in one.where]
    for one in named:
        assert f'wheel_{wheel}/wrench' in one.text, one
        assert one.level == 'warn' or one.where.endswith(f'wheel_{wheel}/wrench force.z'), one


@pytest.mark.parametrize('lost', ['fl', 'rl', 'rr'])
def test_a_missing_wheel_wrench_is_no_fault_of_another_sensor(lost: str) -> None:
    run = recording(20.0, 1.0)
    wrenches = {corner: one for corner, one in run.wrenches.items() if corner != lost}
    found = identify.check_recording(replace(run, wrenches=wrenches), configuration())
    assert bad(found) == []
    (missing,) = (one for one in found if one.code == 'missing_wrench')
    assert missing.where.endswith(f'wheel_{lost}/wrench')


def test_a_missing_wheel_wrench_costs_its_equations_only() -> None:
    run = recording(20.0, 1.0)
    wrenches = {corner: one for corner, one in run.wrenches.items() if corner != 'rl'}
    identified = identify_recordings([replace(run, wrenches=wrenches)], configuration(), QUICK)
    first, result = identified.findings[0], identified.result
    assert first.code == 'missing_wrench' and first.level == 'warn'
    assert first.where.endswith('wheel_rl/wrench') and 'suspension_rl are lost' in first.text
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
    (told,) = Car().checks(still, configuration())
    assert told.code == 'not_checked' and told.level == 'warn'
    total = TRUTH[0] + TRUTH[10:14].sum()
    assert f'{total:.0f}' in str(caught.value) or f'{total - 1:.0f}' in str(caught.value)


def test_no_inertial_unit_is_refused() -> None:
    with pytest.raises(InputError, match='imu/data is missing or empty'):
        identify_recordings([replace(recording(20.0), imu=None)], configuration())


def test_without_speed_only_the_drag_is_lost() -> None:
    silent = replace(recording(20.0), speed=None)
    result = identify_recordings([silent], configuration(), QUICK).result
    assert [(removal.name, removal.reason) for removal in result.removed] == [
        ('Cx', 'the recording holds no speed')
    ]


def test_gaps_are_not_bridged() -> None:
    run = recording(40.0)
    assert run.imu is not None
    stamps = run.imu.stamps
    kept = (stamps < 15.0) | (stamps > 19.0)
    broken = replace(run, imu=run.imu.take(kept))
    result = identify_recordings([broken], configuration(), QUICK).result
    assert result.samples < 200 * 36
    error = np.abs(result.value - TRUTH)[[0, 1, 4, 5, 6]] / TRUTH[[0, 1, 4, 5, 6]]
    assert error.max() < 1e-3


def test_a_stretch_too_short_to_keep_is_left_out_everywhere() -> None:
    """The bias correction goes through the same stretches again."""
    run = recording(20.0, 1.0)
    assert run.imu is not None
    stamps = run.imu.stamps
    end = float(stamps[-1])
    kept = (stamps < end - 3.5) | (stamps > end - 2.0)
    broken = replace(run, imu=run.imu.take(kept))
    result = identify_recordings([broken], configuration()).result
    assert any(abs(one) > 0.0 for one in result.noise['bias_correction'].values())
    assert result.value[0] == pytest.approx(TRUTH[0], rel=2e-3)


@pytest.mark.parametrize(('size', 'named'), [(-1.0, True), (-0.1, False), (1.0, False)])
def test_steering_is_judged_only_where_somebody_steers(size: float, named: bool) -> None:
    """On a straight road bump steer may run against the yaw rate, which says nothing."""
    piece = prepare(recording(14.0), configuration(), Processing()).pieces[0]
    steering = piece.joints['steering']
    assert steering.position[:, 0].std() > 0.004
    moved = replace(steering, position=size * steering.position)
    found = check_steering(replace(piece, joints={**piece.joints, 'steering': moved}))
    assert bool(found) == named


@pytest.mark.parametrize('factor', [0.7, 1.4])
def test_a_scaled_travel_of_one_wheel_is_named(factor: float) -> None:
    run = recording(20.0, 1.0)
    series = run.joints['suspension_fr']
    scaled = replace(series, values=factor * series.values)
    wrong = replace(run, joints={**run.joints, 'suspension_fr': scaled})
    found = faults(identify_recordings([wrong], configuration(), QUICK).findings)
    assert [(one.level, one.code) for one in found] == [('bad', 'travel_scale')]
    assert 'suspension_fr' in found[0].text


def test_a_note_hides_no_poor_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    note = Finding('note', 'not_weighed', 'nobody weighed it')
    gathered: Any = SimpleNamespace(
        model=SimpleNamespace(constant_column=0),
        cutoffs=SimpleNamespace(stop_bands=()),
        information=None,
        signs=[note],
        stretches=[],
        rivalled=False,
        findings=[],
    )
    nothing: Any = None
    monkeypatch.setattr(identify, 'CarProblem', lambda *given: None)
    monkeypatch.setattr(identify, 'explain', lambda *given: [])
    monkeypatch.setattr(identify, 'suspicious', lambda *given: True)
    found = identify.check_fit(gathered, nothing, nothing)
    assert [one.code for one in found] == ['poor_fit', 'not_weighed']
    uneven = Finding('warn', 'uneven_fit', 'one wheel fits worse', 'suspension_fl')
    monkeypatch.setattr(identify, 'suspicious', lambda *given: False)
    monkeypatch.setattr(identify, 'check_axles', lambda *given: [uneven])
    assert identify.check_fit(gathered, nothing, nothing) == [uneven, note]
