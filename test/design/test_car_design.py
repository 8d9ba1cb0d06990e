"""The manoeuvre advisor: the car it drives, its limits, and whether its predictions hold."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from car_cases import CONFIG, configuration

from veh_identification.design.car.advisor import (
    Advisor,
    Candidate,
    Grid,
    Limits,
    Want,
    wants_of,
)
from veh_identification.design.car.independent_check import check_advice
from veh_identification.design.car.prediction import repeated
from veh_identification.design.car.simulated_car import sensors_of, vehicle_of
from veh_identification.design.car.trial_drives import Sine, TrialCar, drive
from veh_identification.design.driver import run
from veh_identification.errors import InputError, UsageError
from veh_identification.simulation.car.vehicle import Vehicle
from veh_identification.systems.car.configuration import CarConfigurationError, CarDescription
from veh_identification.systems.car.parameters import NAMES

#: Sensors whose constant errors are known: what the simulation draws.
KNOWN = replace(
    configuration(),
    sensors=replace(
        configuration().sensors,
        imu=replace(configuration().sensors.imu, offset=(1e-4, 3e-3)),
        wheel_force=replace(configuration().sensors.wheel_force, offset=(4.0, 1.5)),
        suspension=replace(configuration().sensors.suspension, offset=(1e-4,)),
    ),
)
SINE = Sine(25.0, 0.6, 3.5)


def trial_car(car: CarDescription = KNOWN, noise: float = 1.0) -> TrialCar:
    return TrialCar(car, vehicle_of(car)[0], sensors_of(car, noise), 24e-6, noise, None)


@pytest.fixture(scope='module')
def examined() -> tuple[Advisor, Candidate]:
    advisor = Advisor(trial_car(), (Want('ZZc', 10.0), Want('k1', 30.0)), Limits())
    return advisor, advisor.examine(SINE)


def test_the_car_has_the_users_values() -> None:
    car, assumed = vehicle_of(configuration())
    found = car.parameters()
    for name, value in configuration().a_priori.items():
        assert found[name] == pytest.approx(value, abs=1e-6), name
    assert car.geometry == configuration().geometry
    assert [one.code for one in assumed] == ['values_assumed', 'offsets_from_weight']
    text = assumed[0].text
    assert 'fs1' in text and 'Cx' in text and 'Mc' not in text


def test_offsets_give_the_travel_at_standstill() -> None:
    truth = replace(Vehicle(), geometry=configuration().geometry).parameters()
    car, assumed = vehicle_of(replace(configuration(), a_priori=truth))
    assert assumed == []
    assert car.parameters() == pytest.approx(truth)
    assert car.corners[0].standing == pytest.approx(Vehicle().corners[0].standing)
    far = vehicle_of(replace(configuration(), a_priori={**truth, 'off1': 12383.0}))
    assert [(one.level, one.code) for one in far[1]] == [('warn', 'offsets_do_not_fit')]
    assert far[0].corners[0].standing == 0.0


@pytest.mark.parametrize(
    'change, text',
    [
        ({'YYc': 3000.0}, 'no body has the principal moments'),
        ({'k2': -1.0}, 'k2 must be positive'),
        ({'Mc': -5.0}, 'Mc must be positive'),
    ],
)
def test_values_that_no_car_has_are_refused(change: dict[str, float], text: str) -> None:
    priors = {**configuration().a_priori, **change}
    with pytest.raises(CarConfigurationError, match=text):
        vehicle_of(replace(configuration(), a_priori=priors))


def test_a_car_without_values_is_scaled_to_its_mass() -> None:
    car, assumed = vehicle_of(CarDescription(a_priori={'Mc': 1000.0}))
    assert car.inertia.mass == 1000.0
    assert ('warn', 'chassis_assumed') in {(one.level, one.code) for one in assumed}
    ratio = car.inertia.moments[0] / Vehicle().inertia.moments[0]
    assert ratio == pytest.approx(1000.0 / Vehicle().inertia.mass)


def test_sensors_follow_the_configuration() -> None:
    sensors = configuration().sensors
    louder = replace(sensors, imu=replace(sensors.imu, noise=(2e-3, 0.1), bandwidth_hz=8.0))
    found = sensors_of(replace(configuration(), sensors=louder), 0.5)
    assert found.imu.noise == (1e-3, 0.05) and found.imu.cutoff == 8.0
    assert found.wheel_force.noise == (6.0, 1.5)


def test_wants_are_read() -> None:
    values = vehicle_of(configuration())[0].parameters()
    wants = {w.name: w.sigma for w in wants_of(['Mc=0.5%', 'MYc=5', 'k=2%'], values)}
    assert wants['Mc'] == pytest.approx(0.005 * 1508.5) and wants['MYc'] == 5.0
    assert {'k1', 'k2', 'k3', 'k4'} < set(wants) and wants['k3'] == pytest.approx(440.0)
    for wrong, text in (
        ('Mc', 'expected'),
        ('Mx=3%', 'Mx is no parameter of this model; did you mean M'),
        ('Mc=-1', 'expected'),
        ('Mc=x%', 'expected'),
        ('MYc=1%', 'about zero'),
    ):
        with pytest.raises(UsageError, match=text):
            wants_of([wrong], values)


def test_twice_the_drive_has_twice_the_information(examined: tuple[Advisor, Candidate]) -> None:
    one = examined[1].information
    assert one is not None
    doubled, sum_ = repeated(one.information, 2.0), one.information + one.information
    np.testing.assert_allclose(doubled.grams, sum_.grams)
    np.testing.assert_allclose(doubled.rows, sum_.rows)
    assert doubled.samples == sum_.samples and doubled.seconds == pytest.approx(sum_.seconds)


def test_noise_falls_with_the_root_of_time_and_constant_errors_stay(
    examined: tuple[Advisor, Candidate],
) -> None:
    advisor, candidate = examined
    spring, mass = NAMES.index('k1'), NAMES.index('Mc')
    after = [advisor._deviations([candidate], [seconds]) for seconds in (60.0, 240.0, 960.0)]
    assert after[0][spring] / after[1][spring] == pytest.approx(2.0, rel=0.1)
    # Weights per band shift a little with the length, so not exactly one.
    assert 0.95 < after[1][mass] / after[2][mass] < 1.2
    needed = advisor._needed([candidate])
    assert math.isfinite(needed)
    assert advisor._worst([candidate], needed) <= 1.0
    assert needed == 30.0 or advisor._worst([candidate], 0.8 * needed) > 1.0


def test_predictions_hold_on_independent_drives() -> None:
    """Deviations that `identify car` finds on another road with other noise: a factor of 1.5."""
    car = trial_car()
    wants = (Want('ZZc', 12.0), Want('k1', 60.0), Want('h1', 12.0))
    advice = Advisor(car, wants, Limits(), trial_seconds=15.0, refined_seconds=40.0).advise(
        Grid((25.0,), (0.6,), (3.5,))
    )
    assert advice.missed == () and len(advice.runs) == 1
    checked = check_advice(advice, car, 500)
    ratio = checked.ratio(advice.deviations)
    assert np.sum(np.abs(checked.errors(advice.values)) < 3.0) >= 29
    print(f'predicted / identified: {ratio.min():.2f} to {ratio.max():.2f}')
    assert np.all((ratio > 1.0 / 1.5) & (ratio < 1.5)), dict(zip(NAMES, ratio, strict=True))


def test_limits_leave_candidates_out(examined: tuple[Advisor, Candidate]) -> None:
    wants = (Want('ZZc', 10.0),)
    fast = Advisor(trial_car(), wants, Limits(steering_rate=0.05))
    assert fast.examine(SINE).excluded == 'steering too fast'
    short = Advisor(trial_car(), wants, Limits(track_length=300.0))
    assert short.examine(SINE).excluded == 'track too short'
    trial = examined[1].trial
    assert trial is not None and 2.0 < trial.lateral < 4.5
    assert trial.steering == pytest.approx(SINE.amplitude(2.7), rel=0.15)
    mild = Advisor(trial_car(), wants, Limits(lateral=0.5 * trial.lateral), trial_seconds=8.0)
    assert mild.examine(SINE).excluded == 'lateral acceleration too large'
    barn = replace(trial_car(), vehicle=replace(trial_car().vehicle, air=(9.0, 0, 0, 0, 0, 0)))
    slow = Advisor(barn, wants, Limits(), trial_seconds=8.0)
    assert slow.examine(Sine(40.0, 0.3, 1.0)).excluded == 'the car does not keep the speed'
    with pytest.raises(UsageError, match='within the limits: steering too fast'):
        fast.advise(Grid((25.0,), (0.6,), (3.5,)))


def test_a_car_without_axle_sensors_has_20_dof() -> None:
    joints = drive(replace(trial_car(), dof=20), SINE, 3.0, 0, 0).recording.joints
    assert set(joints) == {
        f'{kind}_{corner}'
        for kind in ('suspension', 'steering', 'wheel')
        for corner in ('fl', 'fr', 'rl', 'rr')
    }


def test_advice_is_written_and_told(tmp_path: Path) -> None:
    out = tmp_path / 'advice'
    options = {
        'want': ['ZZc=3%', 'MYc=0.001'],
        'speed': [90],
        'frequency': [0.5],
        'lateral': [4],
        'track_length': 500,
    }
    done: list[tuple[int, int]] = []
    outcome = run('car', out, CONFIG, options, lambda *one: done.append(one))
    assert done == [(1, 1)]
    assert 'recommended:' in outcome.text
    (missed,) = outcome.verdict.reasons
    assert (missed.code, missed.where) == ('wanted_beyond_sensors', 'want MYc')
    content = json.loads((out / 'advice.json').read_text())
    (recommended,) = content['recommended']
    assert (
        recommended['speed_km_per_h'] == pytest.approx(90.0) and recommended['frequency_hz'] == 0.5
    )
    assert recommended['passes'] == math.ceil(recommended['distance_m'] / 500.0)
    assert content['missed'] == ['MYc'] == content['never_by_driving_longer']
    assert content['verdict']['level'] == 'care'
    assert outcome['ZZc'].std == content['parameters'][NAMES.index('ZZc')]['predicted_std']
    found = {one['name']: one for one in content['parameters']}
    assert found['ZZc']['predicted_std'] < found['ZZc']['wanted_std'] == pytest.approx(185.97)
    rows = list(csv.reader((out / 'manoeuvre.csv').open()))
    assert rows[0] == ['time_s', 'steering_rad', 'speed_m_per_s']
    table = np.array(rows[1:], dtype=float)
    assert table[-1, 0] == pytest.approx(
        recommended['duration_s'] / recommended['passes'], abs=0.02
    )
    assert np.abs(table[:, 1]).max() == pytest.approx(
        recommended['steering_amplitude_rad'], rel=0.01
    )
    assert np.all(table[:, 2] == 25.0)


def test_wrong_use_is_refused(tmp_path: Path) -> None:
    for options, sentence in (
        ({'noise': 0.0}, '--noise must be positive'),
        ({'speed': [-3.0]}, '--speed must be positive'),
        ({'urdf': 'x'}, "design car has no option 'urdf'"),
        ({'dof': 30}, 'dof must be one of 20, 38'),
    ):
        with pytest.raises(UsageError, match=sentence):
            run('car', tmp_path / 'x', options=options)
    with pytest.raises(UsageError, match="design parallel has no option 'want'"):
        run('parallel', tmp_path / 'x', options={'want': ['Mc=1%']})
    with pytest.raises(UsageError, match="design does not know 'cart'; did you mean 'car'"):
        run('cart', tmp_path / 'x')
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / 'thesis.tex').write_text('years of work')
    with pytest.raises(InputError, match=r"holds 'thesis\.tex'"):
        run('car', tmp_path / 'mine')
    assert not (tmp_path / 'x').exists()
