"""The balance of impulse as one more equation: how much it says, and of what."""

from types import SimpleNamespace

import numpy as np
import pytest

from veh_identification.identification.result import Solved
from veh_identification.systems.humanoid.estimation.by_impulse import with_impulse
from veh_identification.systems.humanoid.processing.impulse import (
    ImpulseMass,
    hat_sums,
    hats,
    mass_of,
)


def problem(offset: bool):
    """One link of which mass and one moment are unknown, on a plate with a vertical offset."""
    source = SimpleNamespace(is_plate=True, pose=SimpleNamespace(rotation=np.eye(3)))
    return SimpleNamespace(
        names=['base.M', 'base.MSx', *(['plate.offset.FZ'] if offset else [])],
        mass_weights=np.array([1.0, 0.0]),
        base=SimpleNamespace(rank=2),
        configuration=SimpleNamespace(gravity=10.0),
        unknowns=SimpleNamespace(
            sources=(source,),
            apart=(),
            place=lambda _, row: 0 if offset and row == 'FZ' else None,
        ),
    )


def solved(value, std) -> Solved:
    nothing = np.zeros(6)
    return Solved(
        value=np.array(value, float),
        covariance=np.diag(np.square(std)),
        sigma=nothing,
        residual_rms=nothing,
        residual_rms_relative=nothing,
        estimator='prior',
        samples=10,
        excluded=0,
        condition_number=1.0,
    )


def test_a_mass_that_is_known_badly_follows_the_impulses() -> None:
    found = with_impulse(
        solved([62.7, 1.0], [2.0, 0.1]), problem(False), ImpulseMass(65.9, 0.05, 2.0)
    )
    assert found.value[0] == pytest.approx(65.9, abs=0.05)
    assert np.sqrt(found.covariance[0, 0]) == pytest.approx(0.0025 * 65.9, rel=0.02)
    assert found.value[1] == pytest.approx(1.0, abs=1e-3 * 0.1)  # of its deviation


def test_a_mass_that_is_known_well_stays() -> None:
    found = with_impulse(
        solved([8.0, 1.0], [0.002, 0.1]), problem(False), ImpulseMass(8.03, 0.001, 5.0)
    )
    assert found.value[0] == pytest.approx(8.0, abs=0.001)


def test_an_offset_that_nobody_tared_is_no_mass() -> None:
    """Impulses of 8.1 kg with an offset that may be 2 N: the mass is no better known for it."""
    before = solved([8.0, 1.0, 0.0], [0.02, 0.1, 2.0])
    found = with_impulse(before, problem(True), ImpulseMass(8.1, 0.001, 5.0))
    assert found.value[0] == pytest.approx(8.001, abs=0.001)
    assert found.value[2] == pytest.approx(1.0, abs=0.05)
    assert np.sqrt(found.covariance[0, 0]) > 0.0195


def test_no_mass_is_known_better_than_the_velocity_at_both_ends_allows() -> None:
    """Rows of a second that leave nothing over: 0.3 % of the mass and of all moments."""
    before = solved([70.0, 7.0], [0.01, 0.001])
    found = with_impulse(before, problem(False), ImpulseMass(70.0, 0.21, 0.6))
    apart = 1.0 / np.hypot(1.0 / 0.21, 1.0 / 0.42)  # the balance is one more equation
    assert np.sqrt(found.covariance[0, 0]) == pytest.approx(apart, rel=0.01)
    assert np.sqrt(found.covariance[1, 1]) == pytest.approx(0.1 * apart, rel=0.01)
    np.testing.assert_allclose(found.value, before.value, rtol=1e-9)


def test_a_short_stretch_has_a_balance_and_less_certainty_than_a_long_one() -> None:
    rate, mass, gravity = 200.0, 70.0, 9.80665
    found = {}
    for seconds in (0.3, 0.6, 6.0):
        still = np.zeros(round(seconds * rate) + 1)
        every = hats(still + mass * gravity, still, rate, gravity)
        sums = np.sum([hat_sums(hat) for hat in every], axis=0)
        found[seconds] = mass_of(sums, 1, gravity)
        assert found[seconds].value == pytest.approx(mass)
        # Two ends of 1 cm/s over the time that the hats cover.
        covered = found[seconds].seconds
        assert found[seconds].std == pytest.approx(mass * 0.01 * 2**0.5 / (gravity * covered))
    assert found[0.3].std > 1.5 * found[0.6].std > 8.0 * found[6.0].std
    assert mass_of(np.zeros(6), 0, gravity) is None


def test_hats_balance_what_falls_and_what_is_pushed() -> None:
    rate, mass, gravity = 200.0, 70.0, 9.80665
    t = np.arange(0.0, 2.0, 1.0 / rate)
    velocity = 0.6 * np.sin(2.0 * np.pi * 2.7 * t)
    force = mass * (gravity + 0.6 * 2.0 * np.pi * 2.7 * np.cos(2.0 * np.pi * 2.7 * t))
    ground, per_mass = np.sum(hats(force, velocity, rate, gravity), axis=0)
    assert ground / per_mass == pytest.approx(mass, rel=1e-3)
