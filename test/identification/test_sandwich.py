"""The Gram matrix under coloured noise against sums over the autocovariance of that noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import toeplitz

from veh_identification.identification.noise import NoiseColour
from veh_identification.identification.sandwich import _Colouring


@pytest.mark.parametrize(('stride', 'samples'), [(1, 50), (3, 60), (3, 62)])
def test_the_recursion_is_the_form_with_the_autocovariance(stride: int, samples: int) -> None:
    """r_k = 0.9 r_{k-1} + e_k (and another pole) on a grid of means over `stride` samples."""
    rng = np.random.default_rng(4)
    poles, innovation = (0.9, -0.4), np.diag([0.5, 2.0])
    W = rng.standard_normal((samples, 2, 3))
    scale, gain = np.array([1.0, 2.0, 0.5]), np.array([3.0, 0.7])
    colour = NoiseColour(stride, -np.array(poles)[:, None], innovation)
    streamed = _Colouring(colour, scale, gain)
    begin = 0
    while begin < samples:
        part = slice(begin, begin + int(rng.integers(1, 20)))
        streamed.add(W[part])
        begin = part.stop
    wanted = np.zeros((3, 3))
    ends = range(0, samples, stride)
    rows = np.array([W[k : k + stride].sum(axis=0) for k in ends]) * gain[:, None] / scale
    for j, pole in enumerate(poles):
        correlation = innovation[j, j] / (1.0 - pole**2) * pole ** np.arange(len(rows))
        wanted += rows[:, j].T @ toeplitz(correlation) @ rows[:, j]
    np.testing.assert_allclose(streamed.finish(), wanted, rtol=1e-7)
