"""Poses, delays and camber that a recording tells: found, applied; quiet where all is well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from car_cases import configuration, driven, faults, recording
from scipy.signal import lfilter

from veh_identification.simulation.car.truth import axle_tables
from veh_identification.simulation.car.vehicle import Vehicle
from veh_identification.systems.car.configuration import CarDescription, parse_configuration
from veh_identification.systems.car.estimation.calibration import (
    Calibration,
    calibrate,
    thinned,
)
from veh_identification.systems.car.estimation.doubts import inherited_spread
from veh_identification.systems.car.estimation.identified import Identified
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.estimation.unknown_settings import IMU
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Selection,
    estimate,
    solve,
)
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.processing.cutoffs import fixed_cutoffs
from veh_identification.systems.car.processing.signals import prepare
from veh_identification.systems.car.processing.spectral import gather
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.recording.samples import CarSamples, JointMotion, hub_rotation

QUICK = CarMethod(bias_correction=False)


def without_camber(run: CarRecording) -> CarRecording:
    return replace(
        run,
        joints={name: one for name, one in run.joints.items() if not name.startswith('camber')},
    )


def with_imu(**changes: Any) -> CarDescription:
    car = configuration()
    imu = replace(car.sensors.imu, pose_given=True, **changes)
    return replace(car, sensors=replace(car.sensors, imu=imu))


def z(found: Identified, truth: dict[str, float]) -> np.ndarray:
    true = np.array([truth[name] for name in NAMES])
    return np.asarray((found.result.value - true) / found.result.std)


def texts(run: CarRecording, car: CarDescription, code: str) -> list[str]:
    found = faults(identify_recordings([run], car, QUICK).findings)
    assert all(one.code == code and one.level == 'warn' for one in found), found
    return [one.text for one in found]


def stretch() -> CarSamples:
    return max(prepare(recording(20.0, 1.0), configuration()).pieces, key=len)


def look(piece: CarSamples) -> Calibration:
    found = calibrate(CarModel(configuration()), piece, configuration().sensors.imu)
    assert found is not None
    return found


def setting(found: Calibration, name: str) -> tuple[float, float]:
    place = [one.name for one in found.settings].index(name)
    return float(found.value[place]), float(found.std[place])


def test_untold_camber_of_the_realistic_car_is_applied() -> None:
    """Its hubs camber by 0.12 and 0.15 rad/m, by caster, and stand at an angle."""
    run, truth = driven(0)
    # A band far above all equations overrules the search for the driveline's.
    everything = replace(configuration(), disturbances=((90.0, 91.0),))
    plain = identify_recordings([without_camber(run)], everything, replace(QUICK, calibrate=False))
    assert truth['Mc'] - plain.result.value[0] > 10.0 * plain.result.std[0]  # what was silent
    found = identify_recordings([without_camber(run)], configuration(), QUICK)
    (named,) = faults(found.findings)
    assert named.code == 'untold_camber' and named.level == 'warn'
    assert 'camber_*' in named.where and 'applied' in named.text
    assert abs(z(found, truth)[0]) < 3.0
    assert found.result.value[0] == pytest.approx(truth['Mc'], rel=0.003)
    assert np.sqrt(np.mean(z(found, truth) ** 2)) < 0.2 * np.sqrt(np.mean(z(plain, truth) ** 2))


def test_the_same_car_with_its_camber_sensors_is_left_alone() -> None:
    run, _ = driven(0)
    found = identify_recordings([run], configuration(), QUICK)
    assert faults(found.findings) == []
    plain = identify_recordings([run], configuration(), replace(QUICK, calibrate=False))
    np.testing.assert_array_equal(found.result.value, plain.result.value)


@pytest.mark.parametrize(
    ('changes', 'code'),
    [
        ({'position': (0.0, 0.0, 0.0)}, 'imu_position'),
        ({'rpy': (0.03, 0.05, -0.04)}, 'imu_angles'),
        ({'delay': 0.015}, 'sensor_lag'),
    ],
)
def test_a_wrong_setting_of_the_inertial_unit_is_found_and_applied(
    changes: dict[str, Any], code: str
) -> None:
    run, truth = driven(0)
    found = identify_recordings([run], with_imu(**changes), QUICK)
    assert [one.code for one in faults(found.findings)] == [code]
    plain = identify_recordings([run], with_imu(**changes), replace(QUICK, calibrate=False))
    assert np.abs(z(plain, truth)).max() > 20.0
    assert np.sqrt(np.mean(z(found, truth) ** 2)) < 2.0


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
    wanted = {
        'camber_front': 0.2,
        'camber_rear': 0.3,
        'camber_steering': -0.1,
        'camber_rest_front': 0.0,
        'camber_rest_rear': 0.0,
    }
    for name, true in wanted.items():
        value, std = setting(found, name)
        assert abs(value - true) < 4.0 * std, name
        assert found.of(name) == value  # all of them together
    told = JointMotion(camber, 0.0 * camber, 0.0 * camber)
    known = look(replace(piece, wrench=seen, joints={**piece.joints, 'camber': told}))
    assert not known.applied.any()
    assert not any(one.name.startswith('camber') for one in known.settings)


def test_a_table_of_camber_ends_the_suspicion() -> None:
    run, truth = driven(0)
    camber = parse_configuration({'axle_kinematics': axle_tables(Vehicle())}).axle_kinematics
    car = replace(configuration(), axle_kinematics={'camber': camber['camber']})
    found = identify_recordings([without_camber(run)], car, QUICK)
    assert faults(found.findings) == []
    assert found.result.value[0] == pytest.approx(truth['Mc'], rel=0.003)


@pytest.mark.parametrize('noise', [0.0, 1.0])
def test_the_exact_car_is_left_alone(noise: float) -> None:
    found = look(max(prepare(recording(20.0, noise), configuration()).pieces, key=len))
    assert not found.applied.any()
    assert np.abs([setting(found, f'imu_{letter}')[0] for letter in 'xyz']).max() < 0.02


def inherited(piece: CarSamples) -> np.ndarray:
    """Deviations of the parameters by what is not known of the settings."""
    car, cutoffs = configuration(), fixed_cutoffs(6.0, 15.0)
    spread = inherited_spread(CarModel(car), piece, car.sensors.imu, cutoffs, look(piece))
    return np.asarray(np.sqrt(np.diag(spread)))


def test_settings_that_the_recording_cannot_tell_enter_the_deviations() -> None:
    """Gentle driving shows no lever arm: its usual uncertainty is in the sigma."""
    piece = stretch()
    still = replace(
        piece,
        angular_velocity=0.02 * piece.angular_velocity,
        angular_acceleration=0.02 * piece.angular_acceleration,
    )
    assert inherited(piece).max() == 0.0
    assert inherited(still)[NAMES.index('YYc')] > 0.0


def test_a_doubt_moves_the_parameters_as_much_as_the_setting_itself_does() -> None:
    """The same fit with the unit turned by as much says what it would be off by."""
    piece, car, size = thinned(stretch(), 15.0), configuration(), 1e-4
    roll = IMU[3]
    doubt = Calibration((roll,), np.zeros(1), np.zeros(1), np.zeros(1, bool), np.eye(1) * size**2)
    cutoffs = fixed_cutoffs(6.0, 15.0)
    model, imu = CarModel(car), car.sensors.imu
    found = np.sqrt(np.diag(inherited_spread(model, piece, imu, cutoffs, doubt)))

    def weighted(samples: CarSamples, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        information = gather(model, [samples], 16.0)
        problem = CarProblem(model, information)
        bands = cutoffs.bands(information.frequency)
        every = np.ones(len(model.names), dtype=bool)
        if weights is None:
            weights = estimate(problem, Selection(bands, every)).weights
        return solve(problem, weights, every)[0], weights

    plain, weights = weighted(piece, None)
    moved = np.abs(weighted(roll.change(piece, imu, size), weights)[0] - plain)
    # Noise of the regressor and of the residuals go together: a tenth of what is small.
    np.testing.assert_allclose(found, moved, rtol=0.15, atol=1e-5)


def low_passed(run: CarRecording, corner: str, hertz: float) -> CarRecording:
    """A causal first-order low-pass in one wheel sensor."""
    series = run.wrenches[corner]
    pole = np.exp(-2.0 * np.pi * hertz * series.median_period)
    start = series.values[0]
    values = lfilter([1.0 - pole], [1.0, -pole], series.values - start, axis=0) + start
    return replace(run, wrenches={**run.wrenches, corner: replace(series, values=values)})


def test_an_unstated_low_pass_in_a_wheel_sensor_is_a_lag() -> None:
    named = texts(low_passed(recording(20.0, 1.0), 'fl', 30.0), configuration(), 'sensor_lag')
    assert len(named) == 1 and 'wheel_fl/wrench lags' in named[0]
    found = look(prepare(low_passed(recording(20.0, 1.0), 'fl', 30.0), configuration()).pieces[0])
    # Group delay of the discrete filter at rest: pole / (1 - pole) samples.
    pole = np.exp(-2.0 * np.pi * 30.0 / 200.0)
    delays = [setting(found, f'delay_{corner}')[0] for corner in ('fl', 'fr', 'rl', 'rr')]
    assert delays[0] == pytest.approx(pole / (1.0 - pole) / 200.0, abs=4e-4)
    assert np.abs(delays[1:]).max() < 4e-4


def test_a_late_inertial_unit_is_told_from_late_wheels() -> None:
    run = recording(20.0, 1.0)
    assert run.imu is not None
    late = replace(run, imu=replace(run.imu, stamps=run.imu.stamps + 0.006))
    named = texts(late, configuration(), 'sensor_lag')
    assert len(named) == 1 and 'imu/data lags all wheel wrenches' in named[0]
    size = float(named[0].split('by ')[1].split(' +-')[0])
    assert size == pytest.approx(6.0, abs=0.8)


def test_without_speed_the_calibration_still_runs() -> None:
    piece = replace(stretch(), velocity=np.zeros_like(stretch().velocity))
    assert not look(piece).applied.any()


def test_identified_yaml_has_what_was_calibrated() -> None:
    import yaml

    from veh_identification.systems.car.description.identified import identified_description

    run, _ = driven(0)
    car = with_imu(position=(0.0, 0.0, 0.0))
    found = identify_recordings([without_camber(run)], car, QUICK)
    data = yaml.safe_load(identified_description(car, found.result, found.configuration))
    true = configuration().sensors.imu.position
    assert data['sensors']['imu']['position'] == pytest.approx(true, abs=0.03)
    assert set(data['axle_kinematics']['camber']) == {'fl', 'fr', 'rl', 'rr'}
    again = parse_configuration(data)
    assert faults(identify_recordings([without_camber(run)], again, QUICK).findings) == []
