"""Errors that no recording tells: constant ones of sensors and the wind stand in deviations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import configuration, recording

from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.estimation.offsets import TYPICAL, offset_sizes
from veh_identification.systems.car.estimation.unknown_settings import winds
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.processing.signals import prepare
from veh_identification.systems.car.recording.samples import CarSamples

QUICK = CarMethod(bias_correction=False, check=False)


def stating(**offsets: tuple[float, ...]) -> CarDescription:
    car = configuration()
    changed = {
        name: replace(getattr(car.sensors, name), offset=one) for name, one in offsets.items()
    }
    return replace(car, sensors=replace(car.sensors, **changed))


def identified(car: CarDescription) -> tuple[dict[str, float], dict[str, float]]:
    """Values and deviations."""
    found = identify_recordings([recording(20.0, 1.0)], car, QUICK).result
    value, std = (
        dict(zip(found.names, one.tolist(), strict=True)) for one in (found.value, found.std)
    )
    return value, std


def test_a_sensor_without_an_offset_keeps_its_usual_one_beside_others() -> None:
    assert offset_sizes(configuration()) == ((0.0, 0.0, 0.0, 0.0), TYPICAL)
    stated, usual = offset_sizes(stating(suspension=(5e-4,)))
    assert stated == (0.0, 0.0, 0.0, 5e-4)
    assert usual == (*TYPICAL[:3], 0.0)
    everything = stating(imu=(1e-4, 0.02), wheel_force=(8.0,), suspension=(0.0,))
    assert offset_sizes(everything) == ((0.02, 8.0, 8.0, 0.0), (0.0, 0.0, 0.0, 0.0))


def test_the_zero_of_a_travel_sensor_is_in_the_deviation_of_off() -> None:
    (known, usual), (_, found) = (
        identified(car) for car in (configuration(), stating(suspension=(1e-3,)))
    )
    # Its own spring and bar, and the bar by the sensor of the other side.
    pushed = 1e-3 * np.hypot(known['k1'] + known['karf'], known['karf'])
    assert np.sqrt(found['off1'] ** 2 - usual['off1'] ** 2) == pytest.approx(pushed, rel=0.05)
    # Wheel forces did not become exact because of it.
    assert found['Mc'] > 0.5 * usual['Mc']


def piece(yaw_rate: float) -> CarSamples:
    samples = max(prepare(recording(20.0, 1.0), configuration()).pieces, key=len)
    still = np.zeros_like(samples.angular_velocity)
    still[:, 2] = yaw_rate
    velocity = np.column_stack([np.full(len(samples), 20.0), np.zeros(len(samples))])
    return replace(samples, angular_velocity=still, velocity=velocity)


def test_wind_stays_where_it_blows_while_the_car_turns() -> None:
    samples = piece(np.pi / 10.0)
    along, across = winds(2.0)
    half = round(10.0 * samples.rate)  # turned round
    for setting, start, later in (
        (along, (17.0, 0.0), (23.0, 0.0)),
        (across, (20.0, -3.0), (20.0, 3.0)),
    ):
        moved = setting.change(samples, configuration().sensors.imu, 3.0).velocity
        assert moved[0] == pytest.approx(start, abs=0.05)
        assert moved[half] == pytest.approx(later, abs=0.05)
    assert winds(0.0) == ()


def test_wind_is_in_the_deviation_of_drag_and_nowhere_else() -> None:
    _, still = identified(configuration())
    car = configuration()
    _, windy = identified(replace(car, air=replace(car.air, wind=3.0)))
    assert windy['Cx'] > 3.0 * still['Cx']
    for name in ('Mc', 'MZc', 'YYc', 'k1', 'karf', 'h3'):
        assert windy[name] == pytest.approx(still[name], rel=0.05), name


def test_what_no_recording_tells_stays_unsure_where_another_cause_explains_more() -> None:
    """Nothing is calibrated then, and the air is no more still because of that."""
    run, car = recording(20.0, 1.0), configuration()
    series = run.wrenches['fl']
    scaled = replace(series, values=1.2 * series.values)
    wrong = replace(run, wrenches={**run.wrenches, 'fl': scaled})
    windy = replace(car, air=replace(car.air, wind=3.0))
    still, doubted = (identify_recordings([wrong], one, QUICK) for one in (car, windy))
    (calibration,) = doubted.calibrations
    assert calibration.rivalled and not calibration.applied.any()  # else this shows nothing
    place = NAMES.index('Cx')
    assert doubted.result.std[place] > 3.0 * still.result.std[place]
