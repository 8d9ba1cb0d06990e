from __future__ import annotations

import numpy as np
import pytest
from consistency import consistency, fraction_inside, normalised_error_square
from scipy.stats import chi2

from veh_identification.errors import EstimationError
from veh_identification.observation import average_band, cumulative_periodogram, observability
from veh_identification.observation.noise import integrator_transition
from veh_identification.observation.poles import (
    closed_loop,
    discrete,
    linearised,
    observer_poles,
)
from veh_identification.systems.four_bar import model as four_bar

DT = 0.002


def seen(size: int, positions, rates):
    """Observability of (69) with rows on positions and rows on rates of `size` coordinates."""
    H = np.vstack(
        [
            np.hstack([positions, np.zeros_like(positions)]),
            np.hstack([np.zeros_like(rates), rates]),
        ]
    )
    return observability(integrator_transition(DT, size), H, DT)


def rank(size: int, positions, rates) -> int:
    return seen(size, positions, rates).rank


def test_observability_of_the_thesis_subsystems():
    """Equations (68)-(78): chassis 6, wheels 8, suspension with gyroscopes only 2, angles 6."""
    assert rank(3, np.eye(3), np.zeros((0, 3))) == 6
    assert rank(4, np.eye(4), np.zeros((0, 4))) == 8
    assert rank(6, np.zeros((0, 6)), np.eye(6)[4:]) == 2
    assert rank(3, np.eye(3), np.eye(3)) == 6


def test_the_unobservable_directions_are_named():
    result = seen(2, np.eye(2)[:1], np.zeros((0, 2)))
    assert not result.observable and result.rank == 2
    assert np.abs(result.unobservable[[0, 2]]).max() < 1e-9  # nothing of the measured coordinate
    assert result.unseen == [1, 3]


def test_acceleration_errors_are_seen_through_positions():
    F = integrator_transition(DT, 2, 3)
    H = np.eye(2, 6)
    assert observability(F, H, DT, 3).observable
    one = observability(F, H[:1], DT, 3)
    assert one.rank == 3 and one.unseen == [1, 3, 5]
    nothing = observability(F, np.zeros((0, 6)), DT, 3)
    assert nothing.rank == 0 and nothing.unseen == list(range(6))


def test_white_noise_passes_as_often_as_the_band_says():
    rng = np.random.default_rng(0)
    results = [cumulative_periodogram(rng.standard_normal(800)).white for _ in range(600)]
    assert np.mean(results) == pytest.approx(0.95, abs=0.025)


def test_coloured_noise_fails():
    rng = np.random.default_rng(1)
    e = rng.standard_normal(2000)
    result = cumulative_periodogram(e[1:] + 0.5 * e[:-1])
    assert not result.white and result.p_value < 1e-6
    assert result.cumulative[-1] == pytest.approx(1.0)
    with pytest.raises(EstimationError, match='at least 32 finite'):
        cumulative_periodogram(np.full(100, np.nan))


def test_consistency_bands_come_from_the_chi_square_law():
    low, high = average_band(2, 50)
    assert low == pytest.approx(chi2.ppf(0.025, 100) / 50)
    assert high == pytest.approx(chi2.ppf(0.975, 100) / 50)
    rng = np.random.default_rng(2)
    values = rng.chisquare(2, (400, 50))
    assert fraction_inside(values, 2) == pytest.approx(0.95, abs=0.03)
    assert consistency(values[0], 2).samples == 50
    assert not consistency(2 * values[0], 2).consistent
    assert normalised_error_square([1.0, 2.0], np.diag([1.0, 4.0])) == pytest.approx(2.0)


def test_the_linearised_four_bar_is_the_derivative_of_its_acceleration():
    setup = four_bar.load()
    model = four_bar.build(setup.geometry, setup.truth)
    state = model.state()
    A = linearised(model)
    assert np.array_equal(model.q, state.q)
    model.set_independent(model.z + 1e-4, model.zd, model.zdd)
    upper = model.independent_acceleration()[0]
    model.restore(state)
    assert A[1, 0] == pytest.approx((upper - model.independent_acceleration()[0]) / 1e-4, abs=2e-3)
    assert A[0].tolist() == [0.0, 1.0]


def test_poles_of_the_corrected_model():
    F = discrete(np.array([[0.0, 1.0], [-4.0, -0.2]]), 0.01)
    L, H = np.array([[0.3], [0.5]]), np.array([[1.0, 0.0]])
    poles = observer_poles(F, L, H)
    # the error really decays at the rate of the largest pole
    error = np.array([1.0, 1.0])
    norms = []
    for _ in range(400):
        error = F @ (error - (L @ H) @ error)
        norms.append(np.linalg.norm(error))
    assert norms[-1] / norms[-2] == pytest.approx(poles[0], abs=1e-6)
    assert poles[0] < 1.0


def test_the_closed_loop_of_a_model_with_hidden_coordinates():
    """Two masses, the second observed: its acceleration error drives it, sensors see both."""
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = [[-3.0, 1.0], [1.0, -2.0]]
    whole, into, seen = closed_loop(A, np.array([1]), 3)
    state = np.array([0.1, 0.2, 0.3, 0.4, 0.5])  # z1 z2 z1' z2' and the error of z2''
    rate = whole @ state
    assert rate == pytest.approx([0.3, 0.4, -3.0 * 0.1 + 0.2, 0.1 - 0.4 + 0.5, 0.0])
    assert seen @ state == pytest.approx([0.2, 0.4, 0.1 - 0.4 + 0.5])
    assert into @ [1.0, 2.0, 3.0] == pytest.approx([0.0, 1.0, 0.0, 2.0, 3.0])
    plain, into, seen = closed_loop(A, np.array([1]), 2)
    assert np.array_equal(plain, A)
    assert np.array_equal(seen, into.T)
