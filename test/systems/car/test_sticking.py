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
from veh_identification.systems.car.estimation.sticking import chosen_presliding
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.processing.driveline import driveline_modes
from veh_identification.systems.car.processing.friction import sticking

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
    friction = sticking(velocity / rate, 0.0, 1e-3)
    turn = int(0.125 * rate)  # the velocity changes its sign here
    assert friction[turn - 5] == pytest.approx(1.0)
    assert friction[turn + 15] > 0.5  # 15 ms later it has moved by 0.07 mm back
    assert friction[turn + 120] == pytest.approx(-1.0)
    blurred = sticking(velocity / rate, 0.01 / rate, 1e-3)
    assert np.abs(blurred).max() <= 1.0 and not np.allclose(blurred, friction)


def test_the_plain_sign_stays_without_evidence() -> None:
    assert chosen_presliding({}) == 0.0
    assert chosen_presliding({1e-5: 8.0, 2e-5: -3.0}) == 0.0
    assert chosen_presliding({1e-5: 30.0, 2e-5: 90.0, 4e-5: 10.0}) == 2e-5


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
    assert stuck.input['friction']['presliding'] in (1e-5, 2e-5, 4e-5)
    plain = identify_recordings(
        [recording], configuration(), replace(quick, presliding=0.0)
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
