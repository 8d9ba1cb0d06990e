"""Demo step: every base parameter of a humanoid from six rows, no joint torques (document 004)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.identification import FactoryBlocks, IdentificationResult, identify
from veh_identification.multibody.base_parameters import structural_base_parameters
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.motion import random_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.urdf import load_urdf
from veh_identification.runtime.share import share_directory

#: Noise of a force plate: resolution of 0.7 N, and what that means for the moments.
NOISE = np.array([0.7, 0.7, 0.7, 0.05, 0.05, 0.05])


@dataclass(frozen=True)
class TreeDemo:
    """The result with the truth beside it."""

    result: IdentificationResult
    truth: np.ndarray
    standard_parameters: int

    @property
    def inside_two_sigma(self) -> int:
        """How many truths lie within two standard deviations."""
        return int(np.sum(np.abs(self.result.value - self.truth) <= 2 * self.result.std))


def run(samples: int = 4000, seed: int = 0) -> TreeDemo:
    """Simulated contact wrenches of a random motion, identified without any joint torque."""
    model = load_urdf(share_directory() / 'config' / 'models' / 'humanoid_two_legs.urdf')
    motion = random_motion(model, samples, seed)
    wrench = inverse_dynamics(model, motion)[:, :6]
    wrench = wrench + NOISE * np.random.default_rng(seed).standard_normal(wrench.shape)
    full = Regressor(model, rows='base')
    base = structural_base_parameters(full)
    part = Regressor(model, rows='base', enabled=list(base.names))
    result = identify(
        FactoryBlocks(lambda: ((W, wrench[where]) for where, W in part.blocks(motion))),
        list(base.names),
        list(full.row_names),
        units=list(part.columns.units),
    )
    truth = base.full_to_base @ full.columns.values(model, {})
    return TreeDemo(result, truth, len(full.columns))


def text(demo: TreeDemo, rows: int = 12) -> str:
    """The first parameters beside the truth, and how honest all of them are."""
    result = demo.result
    lines = [f'{"parameter":22} {"truth":>12} {"estimate":>12} {"sigma":>10} {"sigma %":>8}  flag']
    shares = np.abs(100 * result.std / result.value)
    lines += [
        f'{result.names[k]:22} {demo.truth[k]:12.5f} {result.value[k]:12.5f} '
        f'{result.std[k]:10.5f} {shares[k]:8.2f}  {"well" if shares[k] < 10 else "weak"}'
        f' [{result.units[k]}]'
        for k in range(rows)
    ]
    count = len(demo.truth)
    lines.append(
        f'... {count} base parameters of {demo.standard_parameters}; {demo.inside_two_sigma} '
        f'truths within 2 sigma (95 % expected: {0.95 * count:.0f}); '
        f'condition number {result.condition_number:.0f}'
    )
    return '\n'.join(lines)
