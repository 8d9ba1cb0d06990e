"""Which sign the horizontal forces of plates have, told by the momentum of the robot.

A robot that bends on the spot pushes sideways with a thousandth of its weight. Beside the weight
an axis of the wrong sign is then no misfit, yet it bends the parameters: such forces are compared
among themselves, by what chance alone would make of them.
"""

from __future__ import annotations

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.findings import Finding
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.systems.humanoid.checks.comparison import Comparison, weight_over
from veh_identification.systems.humanoid.checks.hypotheses import mirrored_axes
from veh_identification.systems.humanoid.checks.smooth import at_rows, inner, sampled
from veh_identification.systems.humanoid.processing.signals import Raw, with_wrenches
from veh_identification.systems.humanoid.processing.supports import TIGHTEST_SUPPORT
from veh_identification.types import Array

#: Seconds over which forces are averaged: errors of one mean and the next are then apart.
MEAN_SECONDS = 0.2
FEWEST_MEANS = 12
#: Squared errors over their variance that the sign must take away: by chance it is one in 1e8.
SIGNIFICANT = 40.0
#: The errors must also be this many times smaller with it: model errors are no chance.
SMALLER = 1.2


class Horizontal:
    """Horizontal forces (n, 2) that the motion needs and that plates show, as means in time."""

    def __init__(self, comparison: Comparison) -> None:
        raw, model = comparison.raw, comparison.problem.model
        rows = np.flatnonzero(inner(raw.valid)).astype(np.int64)
        self._model, self._here = model, at_rows(raw, rows)
        samples = sampled(raw, model, rows, comparison.problem.configuration.gravity)
        predicted = inverse_dynamics(model, samples.motion)[:, :3]
        # Masses of the URDF may be off, and with them the whole weight.
        scale = weight_over(samples.wrench, predicted)
        needed = scale * np.einsum('nij,nj->ni', samples.rotation, predicted)
        carried = np.abs(self._shown(self._here)[:, 2] - needed[:, 2])
        # A foot beside the plates pushes sideways, too.
        whole = carried < TIGHTEST_SUPPORT * scale * comparison.weight
        self._length = max(1, round(MEAN_SECONDS * raw.rate))
        count = len(rows) // self._length
        self._whole = whole[: count * self._length].reshape(count, self._length).all(axis=1)
        self._needed = self._means(needed)

    def errors(self, change: Hypothesis[Raw] | None = None) -> Array:
        """What is left of the means (n, 2), offsets apart, with a hypothesis put right."""
        here = self._here if change is None else change.change(self._here)
        left = self._needed - self._means(self._shown(here))
        return np.asarray(left - left.mean(axis=0))

    def __len__(self) -> int:
        return int(self._whole.sum())

    def _shown(self, here: Raw) -> Array:
        return with_wrenches(here, self._model, here.wrenches).world[:, :3]

    def _means(self, force: Array) -> Array:
        count = len(self._whole) * self._length
        means = force[:count, :2].reshape(-1, self._length, 2).mean(axis=1)
        return np.asarray(means[self._whole])


def sign_findings(comparison: Comparison, label: str) -> list[Finding]:
    """An axis of a plate whose sign contradicts the momentum; the best cause alone."""
    raw = comparison.raw
    if raw.in_base or not all(one.is_plate for one in raw.sources) or not inner(raw.valid).any():
        return []
    horizontal = Horizontal(comparison)
    if len(horizontal) < FEWEST_MEANS:
        return []
    as_it_is = float(np.square(horizontal.errors()).sum())
    tried = [(float(np.square(horizontal.errors(one)).sum()), one) for one in mirrored_axes(raw)]
    least, best = min(tried, key=lambda one: one[0])
    variance = least / (2 * len(horizontal) - 3)
    if not as_it_is - least > SIGNIFICANT * variance or not as_it_is > SMALLER**2 * least:
        return []
    text = (
        f'{label}: {best.text}; with that the horizontal forces fit the momentum of the robot '
        f'{np.sqrt(as_it_is / least):.3g} times better (check_frames: false skips this test)'
    )
    return [Finding('bad', best.code, text, f'{label}, {best.where}', as_it_is / least)]
