"""Camber that nothing tells and wheel sensors that lag: named, and quiet on good recordings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import configuration, driven, faults, recording
from scipy.signal import lfilter

from veh_identification.simulation.car.truth import axle_tables
from veh_identification.simulation.car.vehicle import Vehicle
from veh_identification.systems.car.checks.camber_and_lag import (
    CamberAndLag,
    check_camber_and_lag,
    estimate_camber_and_lag,
)
from veh_identification.systems.car.configuration import CarConfiguration, parse_configuration
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.processing.signals import prepare
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.recording.samples import CarSamples, JointMotion, hub_rotation

QUICK = CarMethod(bias_correction=False)


def without_camber(run: CarRecording) -> CarRecording:
    return replace(
        run,
        joints={name: one for name, one in run.joints.items() if not name.startswith('camber')},
    )


def texts(runs: list[CarRecording], car: CarConfiguration, code: str) -> list[str]:
    found = faults(identify_recordings(runs, car, QUICK).findings)
    assert all(one.code == code and one.level == 'bad' for one in found), found
    return [one.text for one in found]


def stretch() -> CarSamples:
    return max(prepare(recording(20.0, 1.0), configuration()).pieces, key=len)


def look(piece: CarSamples) -> CamberAndLag:
    found = estimate_camber_and_lag(CarModel(configuration()), piece)
    assert found is not None
    return found


def test_untold_camber_of_the_realistic_car_is_named() -> None:
    """Its hubs camber by 0.12 and 0.15 rad/m, by caster, and stand at an angle."""
    run, truth = driven(0)
    identified = identify_recordings([without_camber(run)], configuration(), QUICK)
    found = identified.result
    # The reason for the finding: far off, and the deviation does not say so.
    assert truth['Mc'] - found.value[0] > 10.0 * found.std[0]
    (named,) = identified.findings
    assert named.code == 'untold_camber' and named.level == 'bad'
    assert 'camber_*' in named.where and 'Mc +1.' in named.text


def test_the_same_car_with_its_camber_sensors_is_not_suspected() -> None:
    assert texts([driven(0)[0]], configuration(), 'none') == []


def test_known_camber_is_found_to_its_size() -> None:
    """Wrenches of the exact car turned into hubs that camber: the unknowns must be those."""
    piece = stretch()
    travel, steering = (piece.joints[kind].position for kind in ('suspension', 'steering'))
    side, front = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 1.0, 0.0, 0.0])
    camber = side * travel * np.array([0.2, 0.2, 0.3, 0.3]) - 0.1 * front * steering
    turn = hub_rotation(0.0 * camber, camber, 0.0 * camber)  # cambered hub to hub as it was
    seen = np.concatenate(
        [
            np.einsum('njba,njb->nja', turn, piece.wrench[:, :, part])
            for part in (slice(0, 3), slice(3, 6))
        ],
        axis=2,
    )
    found = look(replace(piece, wrench=seen))
    np.testing.assert_allclose(found.camber, [0.2, 0.3, -0.1], atol=0.03)
    assert np.all(np.abs(found.camber - [0.2, 0.3, -0.1]) < 3.5 * found.camber_std)
    assert [one.code for one in check_camber_and_lag(found)] == ['untold_camber']
    told = JointMotion(camber, 0.0 * camber, 0.0 * camber)
    known = look(replace(piece, wrench=seen, joints={**piece.joints, 'camber': told}))
    assert len(known.camber) == 0 and check_camber_and_lag(known) == []
    assert known.value[0] == pytest.approx(found.value[0], rel=2e-3)


def test_a_table_of_camber_ends_the_suspicion() -> None:
    run, truth = driven(0)
    camber = parse_configuration({'axle_kinematics': axle_tables(Vehicle())}).axle_kinematics
    car = replace(configuration(), axle_kinematics={'camber': camber['camber']})
    found = identify_recordings([without_camber(run)], car, QUICK)
    assert found.findings == ()
    assert found.result.value[0] == pytest.approx(truth['Mc'], rel=0.003)


@pytest.mark.parametrize('noise', [0.0, 1.0])
def test_the_exact_car_is_not_suspected(noise: float) -> None:
    piece = max(prepare(recording(20.0, noise), configuration()).pieces, key=len)
    found = look(piece)
    assert check_camber_and_lag(found) == []
    assert np.all(np.abs(found.camber) < 0.02 + 1e-3) and np.all(np.abs(found.lag) < 3e-4)


def low_passed(run: CarRecording, corner: str, hertz: float) -> CarRecording:
    """A causal first-order low-pass in one wheel sensor."""
    series = run.wrenches[corner]
    pole = np.exp(-2.0 * np.pi * hertz * series.median_period)
    start = series.values[0]
    values = lfilter([1.0 - pole], [1.0, -pole], series.values - start, axis=0) + start
    return replace(run, wrenches={**run.wrenches, corner: replace(series, values=values)})


def test_an_unstated_low_pass_in_a_wheel_sensor_is_a_lag() -> None:
    named = texts([low_passed(recording(20.0, 1.0), 'fl', 30.0)], configuration(), 'sensor_lag')
    assert len(named) == 1 and 'wheel_fl/wrench lags' in named[0]
    found = look(prepare(low_passed(recording(20.0, 1.0), 'fl', 30.0), configuration()).pieces[0])
    # Group delay of the discrete filter at rest: pole / (1 - pole) samples.
    pole = np.exp(-2.0 * np.pi * 30.0 / 200.0)
    assert found.lag[0] == pytest.approx(pole / (1.0 - pole) / 200.0, abs=4e-4)
    assert np.abs(found.lag[1:]).max() < 4e-4


def test_a_late_inertial_unit_is_told_from_late_wheels() -> None:
    run = recording(20.0, 1.0)
    assert run.imu is not None
    late = replace(run, imu=replace(run.imu, stamps=run.imu.stamps + 0.006))
    named = texts([late], configuration(), 'sensor_lag')
    assert len(named) == 1 and 'imu/data lags all wheel wrenches by' in named[0]
    size = float(named[0].split('by ')[1].split(' ms')[0])
    assert size == pytest.approx(6.0, abs=0.8)


def test_without_speed_the_check_still_runs() -> None:
    piece = replace(stretch(), velocity=np.zeros_like(stretch().velocity))
    found = look(piece)
    assert found.value[NAMES.index('Cx')] == 0.0 and check_camber_and_lag(found) == []
