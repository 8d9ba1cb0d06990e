"""Suspensions that stick: the simulated law, the friction columns, the choice between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import configuration, driven

from veh_identification.errors import UsageError
from veh_identification.simulation.car.manoeuvres import Manoeuvre
from veh_identification.simulation.car.run import Surroundings, simulate_car
from veh_identification.simulation.car.scenarios import car_recording, faulty_vehicle, sine_steer
from veh_identification.simulation.car.vehicle import Stiction
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.estimation.sticking import (
    LEAST_DEVIATION,
    Sticking,
    Trials,
    chosen_surfaces,
)
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.processing.driveline import driveline_modes
from veh_identification.systems.car.processing.friction import NearRest, held_friction

STILL = Surroundings(roughness=1e-9, shaking=Surroundings().shaking.scaled(0.0))


def test_stuck_suspensions_stand_still_under_load() -> None:
    """On a smooth road below fs nothing slips, and the friction is anywhere between +-fs."""
    car = replace(faulty_vehicle(['stiction']), run_out=0.0)
    gentle = Manoeuvre('sine', 20.0, lateral=0.02)
    record = simulate_car(configuration(), gentle, 3.0, 0, vehicle=car, surroundings=STILL)
    share = record.strain / Stiction().presliding
    assert np.mean(np.abs(share) < 0.99) > 0.9 and np.ptp(share) > 0.01
    print(np.ptp(record.travel[1000:], axis=0))
    assert np.ptp(record.travel[1000:], axis=0).max() < 2e-4


def test_slipping_suspensions_have_the_friction_of_the_truth() -> None:
    car = faulty_vehicle(['stiction'])
    record = simulate_car(configuration(), sine_steer(0), 3.0, 0, vehicle=car)
    share = record.strain / Stiction().presliding
    fast = np.abs(record.travel_rate) > 0.1
    assert np.abs(share).max() <= 1.0 + 1e-9
    assert np.mean((share * np.sign(record.travel_rate))[fast] > 0.999) > 0.95
    assert 0.02 < np.mean(np.abs(share) < 0.99) < 0.5


def test_an_unknown_fault_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match='stiction'):
        faulty_vehicle(['stickiness'])


def test_the_column_keeps_its_sign_until_the_surfaces_slip() -> None:
    rate = 1000.0
    time = np.arange(2000) / rate
    velocity = 0.05 * np.cos(2.0 * np.pi * 2.0 * time)
    friction = held_friction(velocity, np.zeros(1, dtype=complex), NearRest(1e-3), rate)
    turn = int(0.125 * rate)  # the velocity changes its sign here
    assert friction[turn - 5] == pytest.approx(1.0)
    assert friction[turn + 15] > 0.5  # 15 ms later it has moved by 0.07 mm back
    assert friction[turn + 120] == pytest.approx(-1.0)


@pytest.mark.parametrize('speed', [0.008, 0.05])
def test_friction_holds_surfaces_for_as_long_as_it_can(speed: float) -> None:
    """What friction takes off the velocity is known: it stops what is slower than that."""
    rate, most = 1000.0, 0.02
    velocity = speed * np.sin(2.0 * np.pi * 3.0 * np.arange(2000) / rate)
    held = np.full(1001, most, dtype=complex)
    for creep in (0.0, 0.005):
        friction = held_friction(velocity, held, NearRest(creep=creep), rate)
        expected = np.clip(velocity / (most + creep), -1.0, 1.0)
        assert friction == pytest.approx(expected, abs=0.02)


def _trials(*places: float, sharp: float = 60.0) -> dict[str, Trials]:
    """Suspensions that fit best at some lengths [um]; one parameter rises with the logarithm."""
    along = np.array([5e-6, 1e-5, 2e-5, 4e-5, 8e-5])
    logarithm = np.log(1e6 * along)
    saved = np.stack([-sharp * np.square(logarithm - np.log(one)) for one in places], axis=1)
    values = np.stack([3.0 * logarithm, np.zeros(5)], axis=1)
    creep = Trials(np.array([1e-3, 2e-3]), np.array([[0.0] * 4, [-5.0] * 4]), values[:2])
    return {'presliding': Trials(along, saved - saved[0], values), 'creep': creep}


def test_rigid_surfaces_stay_without_evidence() -> None:
    assert chosen_surfaces({}).surfaces == NearRest()
    found = chosen_surfaces(_trials(20.0, 20.0, 20.0, 20.0, sharp=1.0))
    assert found.surfaces == NearRest() and np.all(found.spread == 0.0)
    evidence = found.as_dict()['evidence']
    assert evidence['presliding']['2e-05'] == pytest.approx(4.0 * np.log(4.0) ** 2)
    assert evidence['creep'] == {'0.002': -20.0}


def test_presliding_is_as_sure_as_the_suspensions_agree() -> None:
    alike = chosen_surfaces(_trials(27.0, 27.0, 27.0, 27.0))
    assert alike.surfaces.presliding == pytest.approx(27e-6, rel=1e-6)
    assert alike.surfaces.creep == 0.0 and alike.deviation == LEAST_DEVIATION
    assert np.asarray(alike.spread)[0, 0] == pytest.approx((3.0 * LEAST_DEVIATION) ** 2)
    apart = chosen_surfaces(_trials(15.0, 60.0, 15.0, 60.0))
    assert apart.surfaces.presliding == pytest.approx(30e-6, rel=1e-6)
    # the mean of four that lie apart by log 2 each
    assert apart.deviation == pytest.approx(np.log(2.0) / np.sqrt(3.0), rel=1e-6)


@pytest.mark.slow
def test_the_recording_tells_whether_they_stick() -> None:
    """And with what it tells the unsprung masses lose most of their bias."""
    quick = CarMethod(check=False, calibrate=False, bias_correction=False)
    free = identify_recordings([driven(0)[0]], configuration(), quick).result
    assert free.input['friction']['presliding'] == 0.0
    recording, truth = car_recording(
        configuration(), sine_steer(0), 30.0, 5, vehicle=faulty_vehicle(['stiction'])
    )
    stuck = identify_recordings([recording], configuration(), quick).result
    assert 1e-5 < stuck.input['friction']['presliding'] < 4e-5
    plain = identify_recordings(
        [recording], configuration(), replace(quick, sticking=Sticking())
    ).result
    places = [NAMES.index(f'M{j}') for j in range(1, 5)]
    true = np.array([truth[f'M{j}'] for j in range(1, 5)])
    bias = [float(np.mean(one.value[places] - true)) for one in (plain, stuck)]
    print(bias)
    assert bias[0] < -0.3 and abs(bias[1]) < 0.5 * abs(bias[0])


def test_driveline_modes_are_found_in_every_sensor() -> None:
    modes = driveline_modes(driven(0)[0])
    for sensor in ('imu', 'steering', 'camber'):
        found = np.array(modes.sensors[sensor])
        for true in (3.9, 5.5):
            assert np.abs(found - true).min() < 0.2, (sensor, true)
        assert len(found) <= 4
    assert all(3.0 < low < high < 6.5 for low, high in modes.bands)
    assert 'suspension' not in modes.sensors
    still, _ = car_recording(configuration(), sine_steer(0), 25.0, 0, noise=0.0)
    assert driveline_modes(still).sensors == {}
