"""The engineer's sheet: closed-form cars, propagated deviations, files."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from car_cases import configuration, driven

from veh_identification.systems.car.configuration import Geometry
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.estimation.sticking import Sticking
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.sheet.handling import handling
from veh_identification.systems.car.sheet.meaning import MEANING
from veh_identification.systems.car.sheet.quantities import Car, quantities
from veh_identification.systems.car.sheet.sheet import Sheet, engineers_sheet

SQUARE = Geometry(wheelbase=2.0, half_track=(0.5, 0.5, 0.5, 0.5))


def symmetric(**changes: float) -> dict[str, float]:
    """A car whose sheet can be worked out by hand: mass 1000 kg in the middle, 0.3 m high."""
    m, x, z = 1000.0, 1.0, 0.3
    values = dict.fromkeys(NAMES, 0.0)
    values |= {'Mc': m, 'MXc': m * x, 'MZc': m * z}
    values |= {'XXc': 200.0 + m * z**2, 'YYc': 900.0 + m * (x**2 + z**2)}
    values |= {'ZZc': 1000.0 + m * x**2, 'XZc': -m * x * z}
    for j in range(1, 5):
        values |= {f'M{j}': 20.0, f'k{j}': 20000.0, f'h{j}': 2000.0, f'off{j}': m * 9.81 / 4.0}
    return values | {'karf': 10000.0, 'karr': 0.0} | changes


def test_a_symmetric_car_by_hand() -> None:
    found = quantities(symmetric(), Car(SQUARE, 9.81))
    assert found['total_mass'] == pytest.approx(1080.0)
    assert found['cg_x'] == pytest.approx(1.0) and found['cg_y'] == pytest.approx(0.0)
    assert found['cg_z'] == pytest.approx(300.0 / 1080.0)
    assert found['load_fl'] == pytest.approx(270.0 * 9.81)
    assert found['front_share'] == found['cross_weight'] == pytest.approx(50.0)
    assert [found[n] for n in ('Ixx', 'Iyy', 'Izz')] == pytest.approx([200.0, 900.0, 1000.0])
    assert found['Ixz'] == pytest.approx(0.0, abs=1e-9)
    assert found['roll_stiffness_front'] == pytest.approx(2 * 20000.0 * 0.25 + 10000.0)
    assert found['roll_stiffness_share'] == pytest.approx(200.0 / 3.0)
    assert found['heave_frequency'] == pytest.approx(np.sqrt(80000.0 / 1000.0) / (2 * np.pi))
    assert found['heave_damping'] == pytest.approx(8000.0 / (2 * np.sqrt(80000.0 * 1000.0)))
    assert found['pitch_frequency'] == pytest.approx(np.sqrt(80000.0 / 900.0) / (2 * np.pi))
    assert found['roll_frequency'] == pytest.approx(np.sqrt(30000.0 / 200.0) / (2 * np.pi))
    assert 'hop_frequency_fl' not in found


def test_wheels_and_tyres_that_are_known_count() -> None:
    found = quantities(symmetric(), Car(SQUARE, 9.81, wheel_mass=15.0, tyre_stiffness=200000.0))
    assert found['total_mass'] == pytest.approx(1140.0)
    rear = np.sqrt((200000.0 + 20000.0) / 35.0)
    assert found['hop_frequency_rl'] == pytest.approx(rear / (2 * np.pi))
    assert found['hop_damping_rl'] == pytest.approx(2000.0 / (2 * 35.0 * rear))


def test_one_stiff_preload_shows_in_the_cross_weight() -> None:
    higher = symmetric(off1=symmetric()['off1'] + 100.0)
    found = quantities(higher, Car(SQUARE, 9.81))
    assert found['load_fl'] > found['load_fr'] and found['cross_weight'] < 50.0
    total = sum(found[f'load_{corner}'] for corner in ('fl', 'fr', 'rl', 'rr'))
    assert total == pytest.approx(1080.0 * 9.81)


@pytest.fixture(scope='module')
def sheet() -> Sheet:
    recording, _ = driven(0)
    method = CarMethod(check=False, calibrate=False, sticking=Sticking())
    found = identify_recordings([recording], configuration(), method)
    slopes = handling(found.driven, configuration())
    made = engineers_sheet(found.result, configuration(), slopes)
    assert made is not None
    return made


def test_the_truth_lies_within_the_deviations(sheet: Sheet) -> None:
    truth = quantities(driven(0)[1], Car(configuration().geometry, configuration().gravity))
    far = [
        one.name
        for one in sheet.lines
        if one.name in truth and abs(one.value - truth[one.name]) > 2.0 * one.std
    ]
    print(far)
    assert len(far) <= 5  # of 46, many of them of the same few parameters
    by_name = {one.name: one for one in sheet.lines}
    assert by_name['total_mass'].std < 5.0 and by_name['Izz'].std < 30.0
    # The simulated tyres at their static loads, less the wheels' share of the force.
    assert by_name['cornering_front'].value == pytest.approx(165.7e3, rel=0.08)
    assert by_name['cornering_rear'].value == pytest.approx(140.4e3, rel=0.08)
    assert 0.3 < by_name['understeer_gradient'].value < 0.9


def test_every_line_says_what_it_is(sheet: Sheet) -> None:
    rows = list(csv.DictReader(io.StringIO(sheet.csv())))
    assert [row['quantity'] for row in rows] == [one.name for one in sheet.lines]
    assert all(row['description'] and float(row['std']) > 0.0 for row in rows)
    assert {one.name for one in sheet.lines} <= set(MEANING)
    assert any('wheel.mass' in note for note in sheet.notes)
    assert sheet.as_dict()['quantities'][0]['name'] == 'total_mass'
    assert 'understeer_gradient' in sheet.text()


def test_no_sheet_without_the_whole_car() -> None:
    recording, _ = driven(0)
    wrenches = {name: one for name, one in recording.wrenches.items() if name != 'rl'}
    method = CarMethod(check=False, calibrate=False, bias_correction=False)
    found = identify_recordings([replace(recording, wrenches=wrenches)], configuration(), method)
    assert engineers_sheet(found.result, configuration()) is None
