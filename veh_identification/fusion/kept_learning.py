"""What a fusion has learnt of its sensors, for the process that goes on after it.

Noise of the IMU, scatter of the others and differences of the wheels' radii belong to the sensors
and stay true over any gap. Without them the next process would begin with what was configured,
and learn for half a minute what is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veh_identification.fusion.imu_noise import NoiseLearnt
from veh_identification.fusion.wheels import Wheel
from veh_identification.saved_state import SavedState
from veh_identification.types import Array

PREFIX = 'learnt_'
#: Between the name of a sensor and that of a part of it which is judged apart.
APART = '/'


@dataclass(frozen=True)
class KeptLearning:
    """By names of sensors (and parts, and wheels), as far as they had spoken."""

    noise: NoiseLearnt
    scatter: dict[tuple[str, str], float] = field(default_factory=dict)
    believed: dict[str, float] = field(default_factory=dict)
    wheels: dict[str, tuple[float, float]] = field(default_factory=dict)  # difference, tick

    def entries(self) -> dict[str, Any]:
        """For a stored state."""
        parts = [APART.join(one) for one in self.scatter]
        found = {
            'noise': np.array([self.noise.wanted, self.noise.rests, *self.noise.squares]),
            **_table('surprise', self.noise.surprise),
            **_table('scatter', dict(zip(parts, self.scatter.values(), strict=True))),
            **_table('believed', self.believed),
            'wheel_names': np.array([*self.wheels], dtype=str),
            'wheels': np.array([*self.wheels.values()], float).reshape(-1, 2),
        }
        return {f'{PREFIX}{name}': value for name, value in found.items()}

    def give_wheels(self, wheels: Sequence[Wheel]) -> None:
        """Let the wheels know how they differ."""
        for wheel in wheels:
            if wheel.name in self.wheels:
                wheel.difference, wheel.tick = self.wheels[wheel.name]


def read_learning(stored: SavedState, largest_difference: float) -> KeptLearning | None:
    """What a stored state holds; None where it has none, StateError where it cannot be."""
    if f'{PREFIX}noise' not in stored:
        return None
    wanted, rests, *squares = stored.array(f'{PREFIX}noise', (4,), low=0.0).tolist()
    if not 0.0 < wanted <= 1.0:
        raise stored.refused(f'{PREFIX}noise', f'wants {wanted:.3g} of what is configured')
    surprise = _read(stored, 'surprise', 0.0)
    names = stored.texts(f'{PREFIX}wheel_names')
    wheels: Array = stored.array(f'{PREFIX}wheels', (len(names), 2))
    if (abs(wheels[:, 0]) > largest_difference).any() or (wheels[:, 1] < 0.0).any():
        raise stored.refused(f'{PREFIX}wheels', 'differ more than wheels can')
    scatter = {}
    for name, value in _read(stored, 'scatter', 1.0).items():
        sensor, _, part = name.partition(APART)
        scatter[sensor, part] = value
    pairs = [(float(difference), float(tick)) for difference, tick in wheels]
    return KeptLearning(
        NoiseLearnt(wanted, int(rests), (squares[0], squares[1]), surprise),
        scatter,
        _read(stored, 'believed', 1.0),
        dict(zip(names, pairs, strict=True)),
    )


def _table(name: str, values: dict[str, float]) -> dict[str, Any]:
    return {
        f'{name}_names': np.array([*values], dtype=str),
        name: np.array([*values.values()], float),
    }


def _read(stored: SavedState, name: str, low: float) -> dict[str, float]:
    names = stored.texts(f'{PREFIX}{name}_names')
    values = stored.array(f'{PREFIX}{name}', (len(names),), low=low)
    return dict(zip(names, values.tolist(), strict=True))
