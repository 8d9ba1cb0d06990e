"""Support of people who run and jump: flight and impacts are theirs, missing load is not."""

import numpy as np
import pytest

from veh_identification.systems.humanoid.estimation.cutoff import CutoffTrial, _best
from veh_identification.systems.humanoid.processing.supports import other_support

RATE, WEIGHT, TOLERANCE = 200.0, 700.0, 0.2


def running(seconds: float = 3.0) -> np.ndarray:
    """Vertical load of somebody who runs: stances of 0.22 s, flights of 0.13 s."""
    t = np.arange(0.0, seconds, 1.0 / RATE) % 0.35
    peak = WEIGHT * 0.35 / (0.22 * 2.0 / np.pi)
    return np.where(t < 0.22, peak * np.sin(np.pi * t / 0.22), 0.0)


def test_flight_fits_although_nothing_is_carried() -> None:
    load = running()
    noise = 0.05 * WEIGHT * np.random.default_rng(1).standard_normal(len(load))
    assert not other_support(load, load + noise, WEIGHT, TOLERANCE, RATE).any()


def test_stamps_that_are_late_and_hits_are_matters_of_moments() -> None:
    load = running()
    late = np.roll(load, 2)  # 10 ms
    assert np.abs(load - late).max() > 0.3 * WEIGHT
    assert not other_support(load, late, WEIGHT, TOLERANCE, RATE).any()
    hit = load.copy()
    hit[100:105] += 2.0 * WEIGHT  # 25 ms
    assert not other_support(hit, load, WEIGHT, TOLERANCE, RATE).any()


@pytest.mark.parametrize('share', [0.0, 0.4])
def test_a_step_beside_the_plate_is_another_support(share: float) -> None:
    load = running()
    step = slice(140, 184)  # one stance of 0.22 s
    missed = load.copy()
    missed[step] *= share
    wrong = other_support(missed, load, WEIGHT, TOLERANCE, RATE)
    assert wrong[step].mean() > 0.7
    assert not wrong[: step.start].any() and not wrong[step.stop :].any()


def test_a_hand_on_a_rail_for_half_a_second_is_another_support() -> None:
    stands = np.full(400, WEIGHT)
    leans = stands.copy()
    leans[100:200] -= 0.25 * WEIGHT
    wrong = other_support(leans, stands, WEIGHT, TOLERANCE, RATE)
    assert wrong[100:200].all() and wrong.sum() == 100
    leans[140:200] = WEIGHT  # for 0.2 s only: less than a step
    assert not other_support(leans, stands, WEIGHT, TOLERANCE, RATE).any()


def trial(cutoff: float, bias: float, rows: float, std: float = 0.002) -> CutoffTrial:
    return CutoffTrial(cutoff, 70.0 * (1.0 + bias), bias, std, 0.5, rows)


def test_a_bias_of_the_mass_outweighs_the_wish_for_rows() -> None:
    """The case of a run of two seconds: only high cut-offs leave three rows per unknown."""
    trials = [trial(3.0, -0.002, 0.4), trial(5.0, -0.008, 0.9), trial(8.0, -0.049, 3.2)]
    assert _best(trials)[0].cutoff_hz == 3.0
    # With enough rows and hardly any bias the smallest expected error decides, as ever.
    trials = [trial(3.0, -0.0002, 4.0), trial(5.0, -0.0005, 7.0), trial(8.0, -0.049, 9.0)]
    assert _best(trials)[0].cutoff_hz == 3.0
