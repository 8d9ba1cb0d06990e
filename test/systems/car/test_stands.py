"""A car that stands before and after it drives: how it sticks then is not its friction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import configuration, recording

from veh_identification.signals import TimeSeries
from veh_identification.simulation.car import manoeuvres
from veh_identification.simulation.car.scenarios import braking, car_recording, faulty_vehicle
from veh_identification.systems.car.checks.static_mass import static_loads
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.live.accumulation import CarLive
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.processing.signals import prepare
from veh_identification.systems.car.recording.reader import CarRecording

STOOD = 15.0


def parked(series: TimeSeries, *, alone: bool, zero: bool = False) -> TimeSeries:
    """Followed by (or nothing but) its last sample, held."""
    step = series.median_period
    count = round(STOOD / step)
    held = np.repeat(series.values[-1:] * (not zero), count, axis=0)
    stamps = series.stamps[-1] + step * np.arange(1, count + 1)
    if alone:
        return replace(series, stamps=stamps, values=held)
    return replace(
        series,
        stamps=np.concatenate([series.stamps, stamps]),
        values=np.concatenate([series.values, held]),
    )


def with_stand(driven: CarRecording, *, alone: bool = False) -> CarRecording:
    assert driven.imu is not None and driven.speed is not None
    imu = parked(driven.imu, alone=alone)
    imu.values[-round(STOOD / driven.imu.median_period) :, :3] = 0.0  # it does not turn
    return replace(
        driven,
        imu=imu,
        speed=parked(driven.speed, alone=alone, zero=True),
        joints={name: parked(one, alone=alone) for name, one in driven.joints.items()},
        wrenches={name: parked(one, alone=alone) for name, one in driven.wrenches.items()},
        ride_heights={},
    )


def test_a_stand_is_left_out_and_still_weighs_the_car() -> None:
    driven = recording(20.0, noise=1.0)
    plain, made = (prepare(one, configuration()) for one in (driven, with_stand(driven)))
    assert len(made.grid) / made.rate == pytest.approx(35.0, abs=0.5)
    lengths = [sum(map(len, one.pieces)) / one.rate for one in (plain, made)]
    assert lengths[1] == pytest.approx(lengths[0], abs=1.5)
    [note] = [one for one in made.findings if one.code == 'stands_left_out']
    assert note.level == 'note'
    assert static_loads(plain.pieces, configuration()) is None
    weighed = static_loads([*made.pieces, *made.stands], configuration())
    assert weighed is not None and weighed.seconds > STOOD - 2.0


def test_a_parked_car_says_nothing_and_is_no_fault() -> None:
    still = with_stand(recording(20.0, noise=1.0), alone=True)
    live = CarLive(configuration(), CarMethod(), 1e-5)
    assert 'the car stands' in live.add(still)
    assert live.stands and not live.found


def test_a_stand_does_not_change_friction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standing for a minute put the dry friction 25 deviations off, and the damping 29."""
    monkeypatch.setattr(manoeuvres, 'STANDING', 30.0)
    made, truth = car_recording(
        configuration(), braking(4), 90.0, 4, vehicle=faulty_vehicle(['stiction'])
    )
    result = identify_recordings([made], configuration(), CarMethod()).result
    friction = [NAMES.index(f'{kind}{j}') for kind in ('fs', 'h') for j in range(1, 5)]
    true = np.array([truth[name] for name in NAMES])
    z = (result.value[: len(NAMES)] - true) / result.std[: len(NAMES)]
    print(dict(zip(NAMES, z.round(1), strict=True)))
    assert np.sqrt(np.mean(z[friction] ** 2)) < 2.0 and np.abs(z[friction]).max() < 4.0
