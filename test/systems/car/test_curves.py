"""Springs and dampers that bend: found where they do, not where they do not."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from car_cases import configuration

from veh_identification.simulation.car.scenarios import (
    EARLY_VALVES,
    car_recording,
    faulty_vehicle,
    sine_steer,
)
from veh_identification.simulation.car.vehicle import Suspension, Vehicle, random_vehicle
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.processing.signals import prepare
from veh_identification.systems.car.suspension import curves, study
from veh_identification.systems.car.suspension.curves import Curves, Hinge, suspension_curves

LINEAR = {'bump': 1.0, 'rebound': 1.0, 'knee_bump': 50.0, 'knee_rebound': 50.0}


def _curves(vehicle: Vehicle, seed: int) -> Curves:
    config = configuration()
    recording, _ = car_recording(config, sine_steer(seed), 30.0, seed, vehicle=vehicle)
    prepared = prepare(recording, config)
    return suspension_curves(
        CarModel(config, 38), prepared.pieces, prepared.cutoff_hz, [8.0, 8.0, 8.0, 8.0]
    )


def _with(vehicle: Vehicle, **changes: float) -> Vehicle:
    fl, fr, rl, rr = (replace(one, **changes) for one in vehicle.corners)
    return replace(vehicle, corners=(fl, fr, rl, rr))


@lru_cache
def _bent() -> Curves:
    return _curves(_with(random_vehicle(21), **EARLY_VALVES, bump=1.0, rebound=1.0), 21)


def test_hinges_are_zero_up_to_their_knots() -> None:
    along = np.array([-0.3, -0.1, 0.0, 0.1, 0.3])
    assert Hinge(0, 'damper', 0.1, True).column(along) == pytest.approx([0, 0, 0, 0, 0.2])
    assert Hinge(0, 'damper', -0.1, False).column(along) == pytest.approx([-0.2, 0, 0, 0, 0])


def test_valves_that_open_are_found() -> None:
    corners = random_vehicle(21).corners
    dampers = [one for one in _bent().curves if one.kind == 'damper']
    for curve, corner in zip(dampers, corners, strict=True):
        bump, rebound = EARLY_VALVES['knee_bump'], -EARLY_VALVES['knee_rebound']
        v = curve.along
        truth = corner.damping * np.where(
            v > bump,
            bump + EARLY_VALVES['open_bump'] * (v - bump),
            np.where(v < rebound, rebound + EARLY_VALVES['open_rebound'] * (v - rebound), v),
        )
        truth += corner.friction * np.sign(v)
        moving = np.abs(v) > 0.02
        assert curve.hinges
        worst, most = np.abs(curve.force - truth)[moving].max(), np.abs(truth).max()
        assert worst < 0.05 * most
        assert np.abs(curve.linear - truth).max() > 0.08 * most  # a line would not do


#: Both dampers and springs bend: valves that open, and stops of rubber on both sides.
STOPS = {
    'knee_bump': 0.09,
    'knee_rebound': 0.07,
    'open_bump': 0.55,
    'open_rebound': 0.60,
    'bump': 0.017,
    'rebound': 0.013,
    'stop_stiffness': 5e8,
}


def _true_force(kind: str, corner: Suspension, along: np.ndarray) -> np.ndarray:
    if kind == 'spring':
        beyond = np.maximum(along - corner.bump, 0.0) + np.minimum(along + corner.rebound, 0.0)
        return corner.stiffness * along + corner.stop_stiffness * beyond**3
    slow = np.clip(along, -corner.knee_rebound, corner.knee_bump)
    share = np.where(along > 0.0, corner.open_bump, corner.open_rebound)
    damper = corner.damping * (slow + share * (along - slow))
    return damper + corner.friction * np.sign(along)


def test_stops_and_valves_together() -> None:
    """Every curve within 5 % of its largest force, where lines are off by 7 to 37 %."""
    vehicle = _with(random_vehicle(62), **STOPS)
    found = _curves(vehicle, 62)
    for place, curve in enumerate(found.curves):
        truth = _true_force(curve.kind, vehicle.corners[place // 2], curve.along)
        moving = np.abs(curve.along) > 0.02 if curve.kind == 'damper' else np.full(41, True)
        error, line = np.abs(curve.force - truth)[moving], np.abs(curve.linear - truth)[moving]
        most = np.abs(truth).max()
        print(curve.kind, curve.corner, error.max() / most, line.max() / most)
        assert error.max() < 0.05 * most < line.max()
        assert np.mean(error < 2.0 * curve.std[moving]) > 0.75


def test_hinges_are_tried_alone_and_one_on_each_side() -> None:
    hinges = [
        Hinge(0, 'damper', 0.1, True),
        Hinge(0, 'damper', -0.1, False),
        Hinge(0, 'spring', -0.02, False),
        Hinge(1, 'damper', -0.1, False),
    ]
    assert curves._steps(hinges) == [(0,), (1,), (2,), (3,), (0, 1)]


def test_linear_car_keeps_its_lines() -> None:
    found = _curves(_with(random_vehicle(22), **LINEAR), 22)
    assert not found.bent and not found.saved
    assert 'straight lines' in study.text(found)
    assert study.findings(found) == ()


def test_what_is_shown() -> None:
    found = _bent()
    assert [one.code for one in study.findings(found)] == ['suspension_curved']
    rows = study.files(found)[study.CSV].decode().splitlines()
    assert len(rows) == 1 + 8 * 41 and rows[0].startswith('corner,kind,along')
    assert len(study.table(found).rows) == 9 * len(found.bent)
    assert all(corner in study.text(found) for corner in CORNERS)
    dampers, springs = study.figures(found)
    assert (
        [one.title for one in dampers.panels] == list(CORNERS) == [o.title for o in springs.panels]
    )
    for panel, curve in zip(dampers.panels, found.curves[::2], strict=True):
        assert (panel.value == curve.force).all() and (panel.std > 0.0).all()
    assert dampers.along == 'speed [m/s]' and springs.along == 'travel [m]'


def test_fault_by_its_name() -> None:
    vehicle = faulty_vehicle(['dampers'])
    assert {one.knee_bump for one in vehicle.corners} == {EARLY_VALVES['knee_bump']}
    assert vehicle.corners[0].friction == Vehicle().corners[0].friction
