"""Small known problems shaped like robot regressors, for tests of the estimators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import butter, sosfiltfilt

from veh_identification.multibody.base_parameters import structural_base_parameters
from veh_identification.multibody.inertia import from_pseudo_inertia
from veh_identification.multibody.motion import floating_base_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import REVOLUTE, BodySpec, assemble
from veh_identification.types import Array


@dataclass(frozen=True)
class Problem:
    W: Array
    X: Array
    sigma: Array
    names: list[str]
    equations: list[str]

    def noisy(self, rng: np.random.Generator, cutoff: float | None = None) -> Array:
        """Measured Y; with a cut-off (share of Nyquist) the noise is low-pass filtered."""
        return self.W @ self.X + coloured(rng, self.W.shape[:2], cutoff) * self.sigma


def coloured(rng: np.random.Generator, shape: tuple[int, int], cutoff: float | None) -> Array:
    """White unit noise, or the same through a zero-phase Butterworth filter, unit variance."""
    if cutoff is None:
        return rng.standard_normal(shape)
    margin = int(20 / cutoff)
    noise = rng.standard_normal((shape[0] + 2 * margin, shape[1]))
    sos = butter(4, cutoff, output='sos')
    impulse = np.zeros(4 * margin + 1)
    impulse[2 * margin] = 1.0
    gain = np.sqrt(np.square(sosfiltfilt(sos, impulse)).sum())
    return sosfiltfilt(sos, noise, axis=0)[margin:-margin] / gain


def fourier(rng: np.random.Generator, samples: int, joints: int) -> tuple[Array, Array, Array]:
    """Fourier-series positions, velocities and accelerations (samples, joints) over 20 s."""
    t = np.linspace(0.0, 20.0, samples)[:, None]
    q, qd, qdd = (np.zeros((samples, joints)) for _ in range(3))
    for harmonic in range(1, 8):
        w = 2.0 * np.pi * 0.1 * harmonic
        a, b = rng.uniform(-1.0, 1.0, (2, joints)) / np.sqrt(harmonic)
        q += a * np.sin(w * t) + b * np.cos(w * t)
        qd += w * (a * np.cos(w * t) - b * np.sin(w * t))
        qdd -= w**2 * (a * np.sin(w * t) + b * np.cos(w * t))
    return q, qd, qdd


def arm(samples: int = 1000, seed: int = 1) -> Problem:
    """Planar two-joint arm in gravity: 9 base parameters (inertias, moments, friction, offset)."""
    q, qd, qdd = fourier(np.random.default_rng(seed), samples, 2)
    c2, s2, g = np.cos(q[:, 1]), np.sin(q[:, 1]), 9.81
    zero, one = np.zeros(samples), np.ones(samples)
    both = qdd[:, 0] + qdd[:, 1]
    # Columns: J1, MX1, J2, MX2, MY2, fv1, fv2, fs2, off1 of a planar double pendulum (l1 = 1 m)
    mx2 = c2 * (2 * qdd[:, 0] + qdd[:, 1]) - s2 * (2 * qd[:, 0] + qd[:, 1]) * qd[:, 1]
    my2 = -s2 * (2 * qdd[:, 0] + qdd[:, 1]) - c2 * (2 * qd[:, 0] + qd[:, 1]) * qd[:, 1]
    q12 = q[:, 0] + q[:, 1]
    row1 = [qdd[:, 0], g * np.cos(q[:, 0]), both, mx2 + g * np.cos(q12), my2 - g * np.sin(q12)]
    row1 += [qd[:, 0], zero, zero, one]
    mx2b = c2 * qdd[:, 0] + s2 * qd[:, 0] ** 2 + g * np.cos(q12)
    my2b = -s2 * qdd[:, 0] + c2 * qd[:, 0] ** 2 - g * np.sin(q12)
    row2 = [zero, zero, both, mx2b, my2b, zero, qd[:, 1], np.sign(qd[:, 1]), zero]
    W = np.stack([np.stack(row1, axis=1), np.stack(row2, axis=1)], axis=1)
    X = np.array([1.2, 2.5, 0.3, 0.8, -0.1, 0.5, 0.2, 0.15, 0.05])
    names = ['J1', 'MX1', 'J2', 'MX2', 'MY2', 'fv1', 'fv2', 'fs2', 'off1']
    return Problem(W, X, np.array([0.8, 0.2]), names, ['tau1', 'tau2'])


def dense(
    samples: int, equations: int = 6, columns: int = 40, seed: int = 0, blind: int = 0
) -> Problem:
    """Random regressor with unequal columns; the first half of the equations miss some columns."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((samples, equations, columns))
    W *= 10.0 ** rng.uniform(-2.0, 2.0, columns)
    if blind:
        W[:, : equations // 2, -blind:] = 0.0
    X = rng.standard_normal(columns)
    sigma = 10.0 ** rng.uniform(-1.0, 1.0, equations)
    names = [f'x{i}' for i in range(columns)]
    return Problem(W, X, sigma, names, [f'e{j}' for j in range(equations)])


def floating_tree(samples: int = 600, seed: int = 9) -> Problem:
    """Floating trunk with two arms by the package's own tree model: six base rows."""
    lumps = [
        from_pseudo_inertia(np.diag([0.3, 0.5, 0.4, 12.0])),
        from_pseudo_inertia(_lump(2.0, [0.0, 0.05, -0.2], 0.02)),
        from_pseudo_inertia(_lump(3.0, [0.1, 0.0, 0.25], 0.03)),
    ]
    model = assemble(
        'trunk_and_arms',
        [
            BodySpec('trunk', '', parameters=lumps[0]),
            BodySpec(
                'left',
                'trunk',
                'shoulder',
                REVOLUTE,
                translation=np.array([0.0, 0.3, 0.2]),
                axis=np.array([0.0, 1.0, 0.0]),
                coordinate='shoulder',
                parameters=lumps[1],
            ),
            BodySpec(
                'right',
                'trunk',
                'hip',
                REVOLUTE,
                translation=np.array([0.1, -0.3, -0.2]),
                axis=np.array([1.0, 0.0, 0.0]),
                coordinate='hip',
                parameters=lumps[2],
            ),
        ],
        True,
    )
    rng = np.random.default_rng(seed)
    q, qd, qdd = fourier(rng, samples, model.dof)
    acceleration = 3.0 * fourier(rng, samples, 3)[2]
    _, rates, changes = fourier(rng, samples, 3)
    motion = floating_base_motion(
        q, qd, qdd, acceleration + np.array([0.0, 0.0, 9.81]), rates, changes
    )
    regressor = Regressor(model, rows='base')
    base = structural_base_parameters(regressor)
    W = regressor.compute(motion)[:, :, base.base]
    X = base.full_to_base @ model.parameters.ravel()
    sigma = np.array([2.0, 1.0, 3.0, 0.3, 0.5, 0.2])
    return Problem(W, X, sigma, list(base.names), list(regressor.row_names))


def _lump(mass: float, centre: list[float], spread: float) -> Array:
    """Pseudo-inertia of a round body away from the origin of its frame."""
    point = np.append(centre, 1.0)
    return mass * np.outer(point, point) + np.diag([spread, spread, spread, 0.0])
