"""Dampers that resist compression and extension unlike, and stops: springs and bars stay right.

The truth is the two-track car of `simulation/road_car`, which shares no code with the model; its
dampers resist extension 1.6 times as hard as compression, and its stops stand at 80 mm.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from car_cases import configuration, driven, faults

from veh_identification.runtime.share import share_directory
from veh_identification.simulation.road_car.car import EXTENSION, RoadCar
from veh_identification.simulation.road_car.handling import tyre_drive
from veh_identification.simulation.road_car.recording import recording_of
from veh_identification.systems.car.configuration import CarDescription, load_configuration
from veh_identification.systems.car.estimation import gathering
from veh_identification.systems.car.estimation.identified import Identified
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.live.accumulation import CarLive
from veh_identification.systems.car.outcome import both_sides
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.suspension.stops import Stops

STOP, STOP_STIFFNESS = 0.08, 180e3


@lru_cache
def described() -> CarDescription:
    return load_configuration(share_directory() / 'config' / 'road_drive.yaml')


@lru_cache
def drive(seed: int, lateral: float) -> tuple[CarRecording, RoadCar]:
    made = tyre_drive(seed, duration=40.0, lateral_most=lateral)
    return recording_of(made), made.car


def truth(car: RoadCar) -> dict[str, float]:
    springs = {
        f'k{j}': axle.stiffness
        for j, axle in enumerate((car.front, car.front, car.rear, car.rear), start=1)
    }
    return {**springs, 'karf': car.front.antiroll, 'karr': car.rear.antiroll}


def off(found: Identified, car: RoadCar) -> dict[str, float]:
    """Relative errors of springs and bars."""
    values = dict(zip(found.result.names, found.result.value.tolist(), strict=True))
    return {name: abs(values[name] / true - 1.0) for name, true in truth(car).items()}


def test_two_slopes_of_a_damper_leave_springs_and_bars_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recording, car = drive(7105, 5.0)
    found = identify_recordings([recording], described())
    errors = off(found, car)
    assert max(errors[f'k{j}'] for j in range(1, 5)) < 0.003
    assert max(errors['karf'], errors['karr']) < 0.01
    slopes = found.result.input['uneven_dampers']
    assert list(slopes) == ['fl', 'fr', 'rl', 'rr']
    for j, corner in enumerate(slopes):
        damping = (car.front if j < 2 else car.rear).damping
        assert slopes[corner]['compression'] == pytest.approx(damping, rel=0.02)
        assert slopes[corner]['extension'] == pytest.approx(EXTENSION * damping, rel=0.02)
        h = found.result.index(f'h{j + 1}')
        both = slopes[corner]['compression'] + slopes[corner]['extension']
        assert found.result.value[h] == pytest.approx(0.5 * both)
    assert 'dampers_uneven' in [one.code for one in found.findings]
    assert len(found.result.names) == 33  # the slopes are no parameters of the paper

    monkeypatch.setattr(gathering, 'bent_corners', lambda *given: ())
    straight = identify_recordings([recording], described())
    assert max(off(straight, car).values()) > 0.02  # else this car shows nothing
    assert 'dampers_uneven' not in [one.code for one in straight.findings]


def test_both_slopes_are_in_what_is_predicted() -> None:
    recording, _ = drive(7105, 5.0)
    found = identify_recordings([recording], described())
    piece, told = found.driven[0], found.result.value

    def left(further: np.ndarray) -> np.ndarray:
        sides = both_sides(found.model, piece, np.concatenate([told, further]))[:, 6:]
        return np.abs((sides[..., 0] - sides[..., 1]).mean(axis=0))

    assert left(found.further).max() < 3.0  # [N], of 4000
    assert left(np.zeros(4)).min() > 10.0


def test_stops_are_found_where_they_are_and_springs_know_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recording, car = drive(9103, 8.0)
    found = identify_recordings([recording], described())
    stops = found.result.input['stops']
    assert stops
    for one in stops:
        assert abs(one['travel']) == pytest.approx(STOP, abs=4e-3)
    stiffest = max(one['stiffness'] for one in stops)  # others are touched only
    assert stiffest == pytest.approx(STOP_STIFFNESS, rel=0.25)
    codes = [one.code for one in found.findings]
    assert 'stops_met' in codes and 'uneven_fit' not in codes and 'untold_camber' not in codes
    assert max(off(found, car).values()) < 0.005

    monkeypatch.setattr(gathering, 'found_stops', lambda *given: Stops())
    assert max(off(identify_recordings([recording], described()), car).values()) > 0.02


def test_live_chunks_have_both_slopes_and_keep_them() -> None:
    recording, car = drive(7105, 5.0)
    live = CarLive(described(), CarMethod(), 1e-3)
    assert live.add(recording) == ''
    assert live.model is not None and live.model.bent == (0, 1, 2, 3)
    solution = live.solve()
    places = [live.names.index(name) for name in truth(car)]
    assert np.abs(solution.value[places] / list(truth(car).values()) - 1.0).max() < 0.01
    assert [one.code for one in live.uneven.findings()] == ['dampers_uneven']
    again = CarLive(described(), CarMethod(), 1e-3)
    again.restore(live.state())
    assert again.model is not None and again.model.bent == (0, 1, 2, 3)
    std = np.sqrt(np.diag(solution.covariance))
    assert np.all(np.abs(again.solve().value - solution.value)[places] < 0.5 * std[places])


def test_a_car_with_straight_dampers_has_no_further_parameters() -> None:
    recording, _ = driven(3)
    found = gathering.gather_recordings([recording], configuration(), gathering.CarMethod())
    assert found.model.bent == () and found.model.stops == ()
    assert found.model.names == found.model.told
    assert 'dampers_uneven' not in [one.code for one in found.findings]
    assert faults(found.findings) == []
