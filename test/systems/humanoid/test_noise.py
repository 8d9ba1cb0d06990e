"""Noise in the regressor, noise of the rows, and trust in the CAD values."""

from __future__ import annotations

import numpy as np
import pytest
from humanoid_cases import CAD, record
from humanoid_runs import identified

from veh_identification.identification import ArrayBlocks, Factor, Prior
from veh_identification.identification.accumulator import accumulate
from veh_identification.simulation.humanoid.sensors import HumanoidSensors
from veh_identification.systems.humanoid.estimation.noise_and_trust import (
    LARGEST,
    SMALLEST,
    USUAL,
    normal_noise,
    prior_scale,
    weigh,
    whitened,
)
from veh_identification.systems.humanoid.estimation.noise_free_normal import Excess, without_excess
from veh_identification.systems.humanoid.estimation.prior_trust import _simplest

TRUTH = np.array([1.5, -0.7, 0.4])
NOISE = 0.5  # of the regressor


def noisy_rows(seed: int, count: int = 4000):
    """Two columns that move and one that only seems to; noise in all of them."""
    rng = np.random.default_rng(seed)
    still = rng.normal(size=(count, 3)) * np.array([1.0, 1.0, 0.0])
    Y = still @ TRUTH + 0.1 * rng.normal(size=count)
    W = still + NOISE * rng.normal(size=still.shape)
    return W, Y


def corrected(W, Y, prior):
    normal = W.T @ np.column_stack([W, Y])
    excess = np.hstack([len(W) * NOISE**2 * np.eye(3), np.zeros((3, 1))])
    return without_excess(normal, excess, prior), normal


def test_attenuation_is_taken_off_and_noise_alone_teaches_nothing() -> None:
    prior = Prior.from_std(np.array([0.0, 0.0, 0.9]), 3.0)
    W, Y = noisy_rows(0)
    found, normal = corrected(W, Y, prior)
    plain = np.linalg.solve(normal[:, :-1], normal[:, -1])
    assert np.all(np.abs(plain[:2]) < 0.85 * np.abs(TRUTH[:2]))  # 1 / (1 + NOISE^2)
    rows, right = prior.rows()
    value = np.linalg.solve(
        found.R.T @ found.R + rows.T @ rows, found.R.T @ found.z + rows.T @ right
    )
    np.testing.assert_allclose(value[:2], TRUTH[:2], rtol=0.06)
    # The third column holds noise only: its value is the a-priori one, and no row speaks of it.
    assert value[2] == pytest.approx(0.9, abs=0.05)
    assert np.abs(found.R[:, 2]).max() < 0.05 * np.abs(found.R[:, 0]).max()


def test_without_noise_nothing_changes() -> None:
    prior = Prior.from_std(np.zeros(3), 3.0)
    W, Y = noisy_rows(1, 300)
    normal = W.T @ np.column_stack([W, Y])
    found = without_excess(normal, np.zeros_like(normal), prior)
    np.testing.assert_allclose(found.R.T @ found.R, normal[:, :-1], rtol=1e-9)
    np.testing.assert_allclose(found.R.T @ found.z, normal[:, -1], rtol=1e-9)


def six_equations(seed: int, rows: int, colour: float):
    """Rows of six equations with noise that is a first-order recursion over time."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(rows, 6, 4)) * np.array([1.0, 1.0, 0.02, 0.02])
    W[:, :, 0] = 1.0  # as a mass: it sees the noise's mean
    noise = rng.normal(size=(rows, 6))
    for k in range(1, rows):
        noise[k] += colour * noise[k - 1]
    x = 0.3 * rng.normal(size=4)
    return ArrayBlocks(W, np.einsum('njk,k->nj', W, x) + 0.5 * noise), x


@pytest.mark.parametrize('colour', [0.0, 0.7])
def test_deviations_count_the_unknowns_that_data_determine(colour) -> None:
    """Over truths drawn from the prior and noise of any colour: errors over deviations are 1."""
    prior = Prior.from_std(np.zeros(4), 0.3)
    none = Excess(np.zeros((6, 4, 5)))
    z, widths = [], []
    for seed in range(60):
        rows, x = six_equations(seed, 60, colour)
        information = accumulate(rows)
        first = weigh(information, prior, 4, fixed_scale=1.0, excess=none)
        noise = normal_noise(rows, first, information.samples)
        found = whitened(first, noise, prior, 4, 1.0)
        z.append((found.value - x) / np.sqrt(np.diag(found.covariance)))
        widths.append(np.sqrt(np.diag(found.covariance)))
    spread = np.sqrt(np.mean(np.square(z), axis=0))
    assert np.all((spread > 0.75) & (spread < 1.3)), spread
    # Unexcited ones stay as uncertain as they were, the constant knows of the colour.
    assert np.mean(widths, axis=0)[2] > 0.25
    assert np.mean(widths, axis=0)[0] == pytest.approx(
        0.5 / np.sqrt(360) / (1.0 - colour), rel=0.3
    )


@pytest.mark.parametrize('seed', range(5))
def test_noise_does_not_vanish_where_the_unknowns_can_fit_every_row(seed) -> None:
    """As in a second of walking at a low cut-off: 66 rows, 138 unknowns."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(11, 6, 138))
    noise = 0.05
    Y = W @ (0.3 * rng.normal(size=138)) + noise * rng.normal(size=(11, 6))
    found = weigh(accumulate(ArrayBlocks(W, Y)), Prior.from_std(np.zeros(138), 0.3), 138)
    assert np.all(found.sigma > 0.5 * noise)


def test_trust_where_the_recording_says_nothing() -> None:
    prior = Prior.from_std(np.zeros(3), 1.0)
    silent = Factor(np.zeros((3, 3)), np.zeros(3), 1.0, 10)
    assert prior_scale(silent, prior, 3) == pytest.approx(USUAL, rel=1e-2)
    loud = Factor(100.0 * np.eye(3), 100.0 * np.array([2.0, -2.0, 2.0]), 1.0, 10)
    assert USUAL < prior_scale(loud, prior, 3) <= LARGEST
    agreeing = Factor(100.0 * np.eye(3), np.zeros(3), 1.0, 10)
    assert SMALLEST <= prior_scale(agreeing, prior, 3) < USUAL


def test_the_most_trusting_scale_that_predicts_nearly_as_well() -> None:
    stretches = np.array([10.0, 11.0, 9.0, 10.0, 12.0, 8.0])
    clearly = stretches + np.array([3.0, 4.0, 3.0, 5.0, 4.0, 3.0])
    hardly = stretches + np.array([0.5, -0.4, 0.6, -0.5, 0.4, -0.3])
    assert _simplest(np.array([stretches, hardly, clearly])) == 1
    assert _simplest(np.array([clearly, stretches, clearly])) == 1
    assert _simplest(np.array([stretches, clearly, hardly])) == 2


def test_hardly_moving_recording_leaves_the_urdf_alone(tmp_path) -> None:
    """Joint noise as large as the motion: what is written predicts a walk no worse than CAD."""
    rough = HumanoidSensors(
        mocap_rate=100,
        joint_rate=100,
        encoder_noise=0.01,
        orientation_noise=0.004,
        position_noise=0.0007,
    )
    still = record(tmp_path / 'still', kind='bend', duration=8.0, sensors=rough)
    outcome = identified([still], CAD, record(tmp_path / 'walk'))
    assert outcome.validation is not None
    check = outcome.validation.validation(outcome.validation.urdf)
    assert np.all(check.rms < 1.05 * check.a_priori_rms), check.rms / check.a_priori_rms
    mass, std = outcome.estimate.total_mass
    assert abs(mass - 8.0) < 3.0 * std
