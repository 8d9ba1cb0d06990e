"""How well forces, motion and moving mass fit each other: what every hypothesis is judged by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.systems.parallel.checks.machine import Machine
from veh_identification.systems.parallel.estimation.equations import equations
from veh_identification.types import Array

#: The excess is not known better than to this part of the noise.
FLOOR = 0.2
#: Logarithm by which the moving mass may differ from the description's, a load included.
MASS = float(np.log(3.0))


class Judge:
    """Misfit of machines as they are and as they might be."""

    def __init__(self, machine: Machine, harmonics: int, cutoff_hz: float | None) -> None:
        self.machine, self.harmonics, self.cutoff_hz = machine, harmonics, cutoff_hz
        self._rows: Array | None = None

    def rows(self, machine: Machine) -> Array:
        """The regressor (N, 6, parameters), that of the machine as it is kept."""
        own = self.machine
        same = machine.model is own.model and machine.record.lengths is own.record.lengths
        if same and self._rows is not None:
            return self._rows
        plain = replace(machine.record, phased=None, effort_delay=0.0)
        W = equations(machine.model, [plain], self.harmonics, cutoff_hz=self.cutoff_hz).W[0]
        if same:
            self._rows = W
        return W

    def fit(self, machine: Machine) -> tuple[float, float, Array]:
        """Share of the forces that stays unexplained, that of noise, and the parameters."""
        W, forces = self.rows(machine), machine.record.forces
        known = np.isfinite(forces.mean).all(axis=1)
        Y = forces.mean[known]
        flat = W[known].reshape(-1, W.shape[2])
        norms = np.maximum(np.linalg.norm(flat, axis=0), 1e-300)
        p = np.linalg.lstsq(flat / norms, Y.ravel(), rcond=1e-10)[0] / norms
        varying = float(np.square(Y - Y.mean(axis=0)).mean())
        left = float(np.square(Y.ravel() - flat @ p).mean())
        noise = float(np.trace(forces.covariance) / 6.0 / machine.record.periods)
        scale = max(varying, 1e-300)
        return float(np.sqrt(left / scale)), float(np.sqrt(noise / scale)), p

    def residual(self, machine: Machine) -> Array:
        """What the best parameters leave of the mean forces."""
        return np.asarray(self.left(machine, machine.record.forces.mean[None])[0])

    def left(self, machine: Machine, signals: Array) -> Array:
        """What no parameters explain of changes (k, N, 6) of the mean forces."""
        W, Y = self.rows(machine), machine.record.forces.mean
        known = np.isfinite(Y).all(axis=1)
        flat = W[known].reshape(-1, W.shape[2])
        Q, _ = np.linalg.qr(flat / np.maximum(np.linalg.norm(flat, axis=0), 1e-300))
        values = signals[:, known].reshape(len(signals), -1)
        return np.asarray(values - (values @ Q) @ Q.T)

    def misfit(self, machine: Machine) -> float:
        """What noise does not explain of the forces, and a moving mass that cannot be."""
        share, noise, p = self.fit(machine)
        excess = np.sqrt(max(share**2 - noise**2, (FLOOR * noise) ** 2, 1e-12))
        return float(np.hypot(excess, self.strange_mass(machine, p)))

    @staticmethod
    def strange_mass(machine: Machine, p: Array) -> float:
        """How far off the moving mass is; a negative one is as bad as forces unexplained."""
        index = machine.model.names.index('p10')
        mass, expected = float(p[index]), float(machine.model.a_priori()[index])
        if mass <= 0.0:
            return 1.0
        if not expected > 0.0:
            return 0.0
        return min(max(abs(np.log(mass / expected)) - MASS, 0.0), 1.0)
