"""Small forms of the cases of bench/observe/cases.py."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from veh_identification.simulation.vehicle.drive import circle, simulate_truth, true_car
from veh_identification.systems.vehicle.loading import load

sys.path.insert(0, str(Path(__file__).parents[3] / 'bench'))
from observe import cases

SECONDS = 4.0


@pytest.fixture(scope='module')
def car():
    return load()


@pytest.fixture(scope='module')
def recording(car):
    return cases.recording_of(simulate_truth(true_car(car, True), circle(), SECONDS), car, 1)


def test_an_outage_ends_without_a_jump_beyond_the_gate(car, recording):
    drift, jump = cases.outage(car, recording, 1.5, 3.5)
    assert drift['ours'] < 0.1
    assert 0.0 < jump['ours'] < jump['peer']


def test_loss_of_messages_and_of_a_wheel_sensor_costs_little(car, recording):
    plain = cases.position_rms(cases.run(car, recording), recording)
    lossy = cases.with_loss(recording, 0.1, 5)
    imu, fewer = (
        next(s.stamps_ns.size for s in one.streams if s.name == 'imu')
        for one in (recording, lossy)
    )
    assert fewer < 0.95 * imu
    dead = cases.with_dead_wheel(recording, 1)
    for changed in (lossy, dead):
        assert cases.position_rms(cases.run(car, changed), recording) < 1.3 * plain


def test_force_estimation_takes_the_wind_out(car):
    windy = true_car(replace(car, simulation=replace(car.simulation, wind=400.0)), True)
    blown = cases.recording_of(simulate_truth(windy, circle(), SECONDS), car, 2)
    bare = replace(car, observer=replace(car.observer, force_estimation=False))
    found, without = cases.run(car, blown), cases.run(bare, blown)
    assert cases.position_rms(found, blown) < cases.position_rms(without, blown)
    # the wind blows towards -x; rolling resistance, unknown too, is part of the estimate
    assert found.force_error[-200:, 0].mean() == pytest.approx(-400.0, abs=150.0)
