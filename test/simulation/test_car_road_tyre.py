"""Road spectra, tyre curves and the spectra of the driven car."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import coherence, welch

from veh_identification.simulation.car.manoeuvres import DRIVELINE, Manoeuvre
from veh_identification.simulation.car.road import SPACING, road_height, road_heights, rough_road
from veh_identification.simulation.car.run import CarRecord, simulate_car
from veh_identification.simulation.car.scenarios import default_configuration
from veh_identification.simulation.car.tyre import (
    SLOW,
    Tyre,
    magic_formula,
    slow_share,
    tyre_force,
)
from veh_identification.simulation.car.vehicle import Vehicle, random_vehicle


def test_road_has_the_spectrum_of_its_class() -> None:
    roughness = 32e-6
    road = rough_road(20000.0, roughness, 1.5, np.random.default_rng(0), smooth_start=1.0)
    profile = road.coefficients[0, 300:]
    n, power = welch(profile, 1.0 / SPACING, nperseg=8192)
    for low, high in ((0.05, 0.1), (0.2, 0.4), (0.8, 1.2)):
        band = (n > low) & (n < high)
        expected = roughness * (n[band] / 0.1) ** -2.0
        assert np.mean(power[band] / expected) == pytest.approx(1.0, abs=0.1)


def test_tracks_agree_at_long_waves_only() -> None:
    road = rough_road(20000.0, 32e-6, 1.5, np.random.default_rng(1), smooth_start=1.0)
    n, squared = coherence(*road.coefficients[:, 300:], fs=1.0 / SPACING, nperseg=4096)
    assert squared[(n > 0.02) & (n < 0.04)].mean() > 0.75
    assert squared[(n > 0.8) & (n < 1.5)].mean() < 0.15


def test_slope_is_the_derivative_of_the_height() -> None:
    road = rough_road(100.0, 64e-6, 1.5, np.random.default_rng(2))
    places = np.linspace(25.0, 90.0, 400)
    h = 1e-5
    for side in range(2):
        numeric = (
            road_heights(*road, side, places + h) - road_heights(*road, side, places - h)
        ) / (2 * h)
        slopes = [road_height(*road, side, place)[1] for place in places]
        np.testing.assert_allclose(slopes, numeric, atol=1e-8)
    assert np.ptp(road_heights(*road, 0, places)) > 1e-3


def test_rear_wheels_meet_the_road_of_the_front_wheels() -> None:
    record = simulate_car(default_configuration(), Manoeuvre('sine', 27.0, lateral=0.0), 3.0, 0)
    front, rear = record.tyre[:, 0, 2], record.tyre[:, 2, 2]
    lag = round(record.vehicle.geometry.wheelbase / 27.0 * 1000)
    assert np.std(rear[lag:] - front[:-lag]) < 0.05 * np.std(front)


def test_tyre_curve() -> None:
    assert magic_formula(1e-6, 1.45, -0.4) == pytest.approx(1e-6, rel=1e-6)
    slips = np.linspace(0.0, 12.0, 400)
    share = np.array([magic_formula(slip, 1.45, -0.4) for slip in slips])
    assert share.max() == pytest.approx(1.0, abs=1e-3)
    assert share[-1] < 0.95  # falls beyond its peak


def test_tyre_forces_depend_on_load_and_on_each_other() -> None:
    tyre = Tyre()
    small = 1e-5

    def stiffness(load: float) -> float:
        return tyre_force(tyre, load, 0.0, small, 0.0)[1] / small

    # Twice the load gives less than twice the cornering stiffness.
    assert 1.2 < stiffness(6000.0) / stiffness(3000.0) < 1.9
    alone = tyre_force(tyre, 4000.0, 0.0, 0.06, 0.0)[1]
    braked_x, braked_y, _ = tyre_force(tyre, 4000.0, -0.08, 0.06, 0.0)
    assert braked_x < 0.0 < braked_y < 0.8 * alone
    largest = max(
        np.hypot(*tyre_force(tyre, 4000.0, k, a, 0.0)[:2])
        for k in np.linspace(-0.4, 0.4, 21)
        for a in np.linspace(-0.4, 0.4, 21)
    )
    assert largest <= 1.10 * 4000.0 + 1e-6
    # The aligning moment turns the wheel back; a lean pushes to its side.
    assert tyre_force(tyre, 4000.0, 0.0, 0.03, 0.0)[2] < 0.0
    assert tyre_force(tyre, 4000.0, 0.0, 0.0, 0.05)[1] > 0.0
    assert tyre_force(tyre, -1.0, 0.1, 0.1, 0.0) == (0.0, 0.0, 0.0)
    assert slow_share(0.0) == 1.0 and slow_share(SLOW) == 0.0


@pytest.fixture(scope='module')
def straight_run() -> CarRecord:
    round_wheels = replace(Vehicle(), run_out=0.0)
    return simulate_car(
        default_configuration(),
        Manoeuvre('sine', 30.0, lateral=1.0),
        40.0,
        2,
        vehicle=round_wheels,
    )


def test_wheel_hop_stands_near_12_7_hz(straight_run: CarRecord) -> None:
    f, power = welch(straight_run.travel_acceleration, 1000.0, nperseg=1024, axis=0)
    smooth = np.convolve(power.mean(axis=1), np.ones(3) / 3.0, 'same')
    band = (f > 5.0) & (f < 40.0)
    assert 10.7 < f[band][np.argmax(smooth[band])] < 14.7


@pytest.mark.parametrize('frequency', DRIVELINE)
def test_driveline_shows_on_the_body_and_on_the_steering(
    straight_run: CarRecord, frequency: float
) -> None:
    signals = np.stack([straight_run.specific_force[:, 0], straight_run.axles[:, 0, 2]], axis=1)
    f, power = welch(signals, 1000.0, nperseg=8192, axis=0)
    near = np.abs(f - frequency) < 0.15
    beside = (np.abs(f - 4.9) < 0.15) | (np.abs(f - 6.5) < 0.3)
    assert np.all(power[near].max(axis=0) > 5.0 * power[beside].mean(axis=0))


def test_other_cars_are_possible_bodies() -> None:
    seen = set()
    for seed in range(12):
        vehicle = random_vehicle(seed)
        p = vehicle.parameters()
        seen.add(p['Mc'])
        xx, yy, zz, xz, xy, yz = vehicle.inertia.moments
        principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert principal[0] > 0.0 and principal[0] + principal[1] > principal[2]
        assert all(p[f'off{j}'] > 1500.0 for j in range(1, 5))
        assert sum(p[f'off{j}'] for j in range(1, 5)) == pytest.approx(p['Mc'] * 9.80665, rel=0.05)
    assert len(seen) == 12
