"""Dampers that resist compression and extension unlike: springs and bars know of it.

The truth is the two-track car of `simulation/road_car`, which shares no code with the model; its
dampers resist extension half as much again as compression.
"""

from __future__ import annotations

import numpy as np
import pytest
from car_cases import configuration, driven, faults

import veh_identification
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.road_car.handling import tyre_drive
from veh_identification.simulation.road_car.recording import recording_of
from veh_identification.systems.car.configuration import load_configuration
from veh_identification.systems.car.estimation import gathering
from veh_identification.systems.car.suspension.uneven import Uneven


def test_springs_and_bars_are_told_as_unsure_as_a_straight_damper_makes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drive = tyre_drive(7105, duration=40.0)
    recording, car = recording_of(drive), drive.car
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    truth = {
        **{f'k{j}': car.front.stiffness for j in (1, 2)},
        **{f'k{j}': car.rear.stiffness for j in (3, 4)},
        'karf': car.front.antiroll,
        'karr': car.rear.antiroll,
    }

    def off() -> tuple[np.ndarray, list[str]]:
        found = veh_identification.identify('car', [recording], config=config)
        errors = [(found[name].value - value) / found[name].std for name, value in truth.items()]
        return np.abs(errors), [one.code for one in found.findings]

    errors, codes = off()
    assert np.sum(errors > 2.0) <= 1 and errors.max() < 3.0
    assert 'dampers_uneven' in codes
    monkeypatch.setattr(gathering, 'uneven_dampers', lambda *given: Uneven())
    errors, codes = off()
    assert np.sum(errors > 3.0) > 1  # else this car shows nothing
    assert 'dampers_uneven' not in codes


def test_a_car_with_straight_dampers_is_told_nothing_and_loses_nothing() -> None:
    recording, _ = driven(3)
    found = gathering.gather_recordings([recording], configuration(), gathering.CarMethod())
    assert found.details['uneven_dampers'] == {} or all(
        one['compression'] == pytest.approx(one['extension'], rel=0.1)
        for one in found.details['uneven_dampers'].values()
    )
    assert 'dampers_uneven' not in [one.code for one in found.findings]
    assert faults(found.findings) == []
