"""The balance of impulse as one more equation: how much it says, and of what."""

from types import SimpleNamespace

import numpy as np
import pytest

from veh_identification.identification.result import Solved
from veh_identification.systems.humanoid.estimation.by_impulse import with_impulse
from veh_identification.systems.humanoid.processing.impulse import ImpulseMass, hats


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
    assert found.value[1] == pytest.approx(1.0)


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


def test_hats_balance_what_falls_and_what_is_pushed() -> None:
    rate, mass, gravity = 200.0, 70.0, 9.80665
    t = np.arange(0.0, 2.0, 1.0 / rate)
    velocity = 0.6 * np.sin(2.0 * np.pi * 2.7 * t)
    force = mass * (gravity + 0.6 * 2.0 * np.pi * 2.7 * np.cos(2.0 * np.pi * 2.7 * t))
    ground, per_mass = np.sum(hats(force, velocity, rate, gravity), axis=0)
    assert ground / per_mass == pytest.approx(mass, rel=1e-3)
