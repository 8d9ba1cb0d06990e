"""Fourier-series trajectories of Abdellatif 2009, equations (12) to (16)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from veh_identification.atomic import write_text
from veh_identification.configuration.faults import shown
from veh_identification.configuration.models import Model, entry, load
from veh_identification.configuration.quantities import (
    NUMBER,
    PositiveFrequency,
    Quantity,
    Table,
    Text,
)
from veh_identification.configuration.writing import to_yaml
from veh_identification.errors import SignalError, UsageError
from veh_identification.types import Array


@dataclass(frozen=True)
class FourierTrajectory(Model):
    """Periodic trajectory of C coordinates with n_h harmonics."""

    offset: Annotated[Array, Table(Quantity(NUMBER), (None,))] = entry(
        description='x_0, one of each of the C coordinates'
    )
    mu: Annotated[Array, Table(Quantity(NUMBER), (None, None))] = entry(
        description='velocity amplitudes of the cosines in (14), a row of C for each harmonic'
    )
    nu: Annotated[Array, Table(Quantity(NUMBER), (None, None))] = entry(
        description='velocity amplitudes of the sines in (14), likewise'
    )
    fundamental_hz: PositiveFrequency = entry(
        description='w_f / (2 pi), common to all coordinates'
    )
    names: tuple[Text, ...] = entry((), 'of the coordinates')
    other_entries: ClassVar[Mapping[str, Any]] = {'kind': {'const': 'fourier'}}

    def __post_init__(self) -> None:
        offset = np.asarray(self.offset, dtype=float)
        mu, nu = np.asarray(self.mu, dtype=float), np.asarray(self.nu, dtype=float)
        if offset.ndim != 1 or mu.ndim != 2 or mu.shape != nu.shape:
            raise SignalError(
                f'a trajectory needs offset (C,), mu and nu (n_h, C), found {offset.shape}, '
                f'{mu.shape}, {nu.shape}'
            )
        if mu.shape[1] != len(offset) or mu.shape[0] < 1:
            raise SignalError(
                f'{len(offset)} coordinates and at least one harmonic needed, found {mu.shape}'
            )
        if not self.fundamental_hz > 0.0:
            raise SignalError(f'the fundamental must be positive, found {self.fundamental_hz} Hz')
        names = tuple(self.names) or tuple(f'q{i + 1}' for i in range(len(offset)))
        if len(names) != len(offset):
            raise SignalError(f'{len(offset)} coordinates need as many names, found {len(names)}')
        for field, value in (('offset', offset), ('mu', mu), ('nu', nu), ('names', names)):
            object.__setattr__(self, field, value)

    @property
    def harmonics(self) -> int:
        """Number of harmonics n_h."""
        return len(self.mu)

    @property
    def channels(self) -> int:
        """Number of coordinates."""
        return len(self.offset)

    @property
    def period(self) -> float:
        """Seconds per period."""
        return 1.0 / self.fundamental_hz

    def sample_times(self, count: int) -> Array:
        """`count` uniform times of one period, the end left out."""
        return np.arange(count, dtype=np.float64) * (self.period / count)

    def evaluate(self, times: ArrayLike) -> tuple[Array, Array, Array]:
        """Position (12), velocity (14) and acceleration (15), each (N, C)."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        k_omega = 2.0 * np.pi * self.fundamental_hz * np.arange(1, self.harmonics + 1)
        sine, cosine = np.sin(np.outer(t, k_omega)), np.cos(np.outer(t, k_omega))
        position = self.offset + (sine / k_omega) @ self.mu - (cosine / k_omega) @ self.nu
        velocity = cosine @ self.mu + sine @ self.nu
        acceleration = -(sine * k_omega) @ self.mu + (cosine * k_omega) @ self.nu
        return position, velocity, acceleration

    def vector(self) -> Array:
        """Xi of (13), coordinate after coordinate."""
        return np.concatenate([self.offset[None], self.mu, self.nu]).T.ravel()

    @classmethod
    def from_vector(
        cls, vector: ArrayLike, channels: int, fundamental_hz: float, names: Sequence[str] = ()
    ) -> FourierTrajectory:
        """Inverse of `vector`."""
        table = np.asarray(vector, dtype=float).reshape(channels, -1).T
        harmonics = (len(table) - 1) // 2
        return cls(
            table[0],
            table[1 : harmonics + 1],
            table[harmonics + 1 :],
            fundamental_hz,
            tuple(names),
        )

    def scaled(self, factor: float, home: ArrayLike) -> FourierTrajectory:
        """Shrunk towards standing still at `home` by `factor`."""
        centre = np.asarray(home, dtype=float)
        return FourierTrajectory(
            centre + factor * (self.offset - centre),
            factor * self.mu,
            factor * self.nu,
            self.fundamental_hz,
            self.names,
        )

    def at_rest(self) -> FourierTrajectory:
        """Nearest trajectory that starts and ends at its offset, without speed or acceleration.

        Least-squares projection of mu on sum mu_k = 0 and of nu on sum k nu_k = 0 and
        sum nu_k / k = 0; needs three harmonics.
        """
        if self.harmonics < 3:
            raise SignalError(
                f'a trajectory from rest to rest needs three harmonics, found {self.harmonics}'
            )
        k = np.arange(1.0, self.harmonics + 1.0)
        for_nu = np.stack([k, 1.0 / k])
        keep_nu = np.eye(len(k)) - np.linalg.pinv(for_nu) @ for_nu
        return FourierTrajectory(
            self.offset,
            self.mu - self.mu.mean(axis=0),
            keep_nu @ self.nu,
            self.fundamental_hz,
            self.names,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for YAML and JSON."""
        return {
            'kind': 'fourier',
            'fundamental_hz': float(self.fundamental_hz),
            'names': list(self.names),
            'offset': self.offset.tolist(),
            'mu': self.mu.tolist(),
            'nu': self.nu.tolist(),
        }

    @classmethod
    def prepared(cls, data: Any) -> Any:
        """The fields of what `to_dict` made: beside them it says that it is a Fourier series."""
        if not isinstance(data, dict):
            return data
        if data.get('kind', 'fourier') != 'fourier':
            raise ValueError(f"expected kind: 'fourier', found {shown(data['kind'])}")
        return {key: value for key, value in data.items() if key != 'kind'}

    def to_text(self, ending: str) -> str:
        """YAML for a file .yaml or .yml, JSON for any other."""
        data = self.to_dict()
        if ending in ('.yaml', '.yml'):
            return to_yaml(data, type(self))
        return json.dumps(data, indent=2) + '\n'

    def save(self, path: str | Path) -> None:
        """Write YAML (.yaml, .yml) or JSON, whole or not at all."""
        target = Path(path)
        write_text(target, self.to_text(target.suffix))

    @classmethod
    def load(cls, path: str | Path) -> FourierTrajectory:
        """Read what `save` wrote; JSON is YAML, so one reader serves both."""
        return load(cls, path)


def _shown(trajectory: FourierTrajectory, points: int) -> float:
    """Share of its largest value that a trigonometric polynomial shows on a grid, at least."""
    return float(np.cos(np.pi * min(trajectory.harmonics / points, 0.499)))


@dataclass(frozen=True)
class MotionLimits:
    """Limits per coordinate (C,) or one for all; velocity and acceleration may be infinite."""

    position_min: ArrayLike
    position_max: ArrayLike
    velocity_max: ArrayLike
    acceleration_max: ArrayLike

    def arrays(self, channels: int) -> tuple[Array, Array, Array, Array]:
        """The four limits as (C,) arrays, checked."""
        low, high, velocity, acceleration = (
            np.broadcast_to(np.asarray(x, dtype=float), (channels,))
            for x in (
                self.position_min,
                self.position_max,
                self.velocity_max,
                self.acceleration_max,
            )
        )
        if not np.isfinite([low, high]).all():
            raise UsageError(f'excitation positions must be finite, found {low} to {high}')
        if not (low < high).all() or not (velocity > 0).all() or not (acceleration > 0).all():
            raise UsageError(
                'excitation limits need position_min < position_max and positive velocity and '
                f'acceleration, found {low}, {high}, {velocity}, {acceleration}'
            )
        return low, high, velocity, acceleration

    def worst_use(self, trajectory: FourierTrajectory, points: int) -> float:
        """Largest share of any limit that the trajectory may use, by a grid of `points`."""
        low, high, velocity, acceleration = self.arrays(trajectory.channels)
        q, qd, qdd = trajectory.evaluate(trajectory.sample_times(points))
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        on_grid = max(
            (np.abs(q - middle) / half).max(),
            (np.abs(qd) / velocity).max(),
            (np.abs(qdd) / acceleration).max(),
        )
        return float(on_grid / _shown(trajectory, points))

    def largest_scale(self, trajectory: FourierTrajectory, home: Array, points: int) -> float:
        """Largest factor (at most 1) by which `trajectory.scaled(factor, home)` keeps limits."""
        low, high, velocity, acceleration = self.arrays(trajectory.channels)
        q, qd, qdd = trajectory.evaluate(trajectory.sample_times(points))
        if (home < low).any() or (home > high).any():
            return 0.0
        tiny = 1e-300
        on_grid = min(
            ((high - home) / np.maximum(q.max(axis=0) - home, tiny)).min(),
            ((home - low) / np.maximum(home - q.min(axis=0), tiny)).min(),
            (velocity / np.maximum(np.abs(qd).max(axis=0), tiny)).min(),
            (acceleration / np.maximum(np.abs(qdd).max(axis=0), tiny)).min(),
        )
        return float(min(1.0, on_grid * _shown(trajectory, points)))

    def matrix(
        self, make: Callable[[Array], FourierTrajectory], size: int, points: int
    ) -> tuple[Array, Array]:
        """(A, b) with A z <= b for all limits on a grid, rows in shares of the limits.

        `make` turns the `size` unknowns z linearly into a trajectory.
        """
        zero = make(np.zeros(size))
        low, high, velocity, acceleration = self.arrays(zero.channels)
        times = zero.sample_times(points)
        ratios = (0.5 * (high - low), velocity, acceleration)
        columns = []
        for unit in np.eye(size):
            motion = make(unit).evaluate(times)
            parts = [(m / r).ravel() for m, r in zip(motion, ratios, strict=True)]
            columns.append(np.concatenate(parts))
        a = np.stack(columns, axis=1)
        shift = np.zeros(len(a))
        middle = 0.5 * (low + high)
        shift[: points * zero.channels] = np.tile(middle / ratios[0], points)
        return np.concatenate([a, -a]), np.concatenate([1.0 + shift, 1.0 - shift])


def pose_rates(pose: Array, pose_dot: Array, pose_ddot: Array) -> tuple[Array, Array]:
    """Equation (16): velocity v = H x' and acceleration a = H x'' + H' x' (N, 6).

    The pose is (x, y, z, phi, theta, psi) with the rotation Rx(phi) Ry(theta) Rz(psi); v and a
    hold the linear part and the angular velocity and acceleration in the fixed frame. The printed
    H has psi where the first angle of the sequence must stand: with the rates in the order
    (phi, theta, psi) that is phi.
    """
    phi, theta = pose[:, 3], pose[:, 4]
    s, c, st, ct = np.sin(phi), np.cos(phi), np.sin(theta), np.cos(theta)
    phi_dot, theta_dot = pose_dot[:, 3], pose_dot[:, 4]
    zero, one = np.zeros_like(phi), np.ones_like(phi)
    h = _rows([[one, zero, st], [zero, c, -s * ct], [zero, s, c * ct]])
    h_dot = _rows(
        [
            [zero, zero, ct * theta_dot],
            [zero, -s * phi_dot, -c * ct * phi_dot + s * st * theta_dot],
            [zero, c * phi_dot, -s * ct * phi_dot - c * st * theta_dot],
        ]
    )
    omega = np.einsum('nij,nj->ni', h, pose_dot[:, 3:])
    alpha = np.einsum('nij,nj->ni', h, pose_ddot[:, 3:])
    alpha += np.einsum('nij,nj->ni', h_dot, pose_dot[:, 3:])
    return (
        np.concatenate([pose_dot[:, :3], omega], axis=1),
        np.concatenate([pose_ddot[:, :3], alpha], axis=1),
    )


def _rows(rows: list[list[Array]]) -> Array:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
