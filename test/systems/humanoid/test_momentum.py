"""Rows from the balance of momentum: exact where filtered accelerations are not, to the ends."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from humanoid_runs import setup_of

from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.humanoid.hopping import JUMPS, HoppingMotion
from veh_identification.simulation.humanoid.scenarios import robot_path
from veh_identification.simulation.humanoid.sensors import HumanoidSensors, readings
from veh_identification.systems.humanoid.estimation.problem import prepare
from veh_identification.systems.humanoid.processing.supports import Selection
from veh_identification.systems.humanoid.robot import load_robot

TRUE = robot_path()
WEIGHT = 8.0 * 9.80665


@lru_cache(maxsize=1)
def jumps() -> HoppingMotion:
    return HoppingMotion(load_robot(TRUE), JUMPS, 3.0, seed=1)


@pytest.fixture(name='bag', scope='module')
def _bag(tmp_path_factory) -> Path:
    """Jumps as sensors without any error see them."""
    path = tmp_path_factory.mktemp('exact') / 'jumps'
    sensors = replace(HumanoidSensors(), plate_rate=1000.0).scaled(0.0)
    with BagWriter(path) as writer:
        for one in readings(jumps(), load_robot(TRUE), sensors, 3.0, 1):
            if 'foot/' not in one.topic and 'imu' not in one.topic:
                writer.write_message(one.topic, one.message, one.log_ns)
    return path


def left_over(bag: Path, cutoff: float, momentum: bool, seconds: float = 9.0):
    """Rms of what the true parameters leave of the six equations, and stamps of the rows."""
    made = setup_of(
        [bag],
        TRUE,
        check_frames=False,
        estimate_delays=False,
        tare=False,
        momentum=momentum,
    )
    raw = made.raws[0]
    usable = raw.valid & (raw.stamps - raw.stamps[0] <= seconds)
    rows = prepare(made.problem, raw, cutoff, Selection(usable, WEIGHT)).equations
    errors, stamps = [], []
    for W, Y, when in rows.stamped_blocks():
        good = np.isfinite(Y).all(axis=1)
        errors.append(Y[good] - W[good] @ made.problem.a_priori)
        stamps.append(when[good])
    return np.sqrt(np.mean(np.concatenate(errors) ** 2, axis=0)), np.concatenate(stamps)


@pytest.mark.parametrize('cutoff', [3.0, 8.0])
def test_the_true_parameters_leave_nothing_over_impacts_and_flights(bag, cutoff) -> None:
    left, _ = left_over(bag, cutoff, momentum=True)
    assert np.all(left[:3] < 1e-4 * WEIGHT)
    assert np.all(left[3:] < 3e-5 * WEIGHT)  # 0.03 mm of the centre of pressure


def test_filtered_signals_do_not_make_filtered_products(bag) -> None:
    """Why: with a low cut-off moments from filtered motion are wrong although all is exact."""
    by_momentum, _ = left_over(bag, 3.0, momentum=True)
    by_acceleration, _ = left_over(bag, 3.0, momentum=False)
    assert by_acceleration[4] > 4.0 * by_momentum[4]


def test_a_trial_of_a_second_is_used_from_end_to_end(bag) -> None:
    left, when = left_over(bag, 5.0, momentum=True, seconds=1.0)
    assert np.all(left[:3] < 1e-3 * WEIGHT)
    # Windows of 0.26 s, the first and the last one from the ends that the signals' filter leaves.
    assert (when.max() - when.min()) * 1e-9 > 0.6
