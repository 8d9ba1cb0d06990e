"""Which sign horizontal forces and vertical moments of plates have, told by the momentum.

A robot that bends on the spot pushes sideways with a thousandth of its weight. Beside the weight
an axis of the wrong sign is then no misfit, yet it bends the parameters: such forces are compared
among themselves, by what chance alone would make of them. So are moments about the vertical.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.checks.explanation import CLEARLY_LESS, Hypothesis
from veh_identification.findings import Finding, doubt
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.systems.humanoid.checks.comparison import Comparison, weight_over
from veh_identification.systems.humanoid.checks.hypotheses import (
    in_other_axes,
    mirrored_axes,
    turned_worlds,
)
from veh_identification.systems.humanoid.checks.smooth import at_rows, inner, sampled
from veh_identification.systems.humanoid.processing.signals import Raw, with_wrenches
from veh_identification.systems.humanoid.processing.supports import TIGHTEST_SUPPORT
from veh_identification.systems.humanoid.recording.reader import WRENCH_PATHS
from veh_identification.types import Array

#: Seconds over which forces are averaged: errors of one mean and the next are then apart.
MEAN_SECONDS = 0.2
FEWEST_MEANS = 12
#: Squared errors over their variance that the sign must take away: by chance it is one in 1e8.
SIGNIFICANT = 40.0
#: The errors must also be this many times smaller with it: model errors are no chance.
SMALLER = 1.2
#: Of moments, on which places, inertias of the URDF and forces off the plate's axes lean as well.
SMALLER_MOMENT = 1.5
#: Columns of the means.
FORCES, MOMENT = slice(0, 2), slice(2, 3)
#: The channel that the moment about the vertical tells of.
VERTICAL = WRENCH_PATHS[5]


class Horizontal:
    """What the motion needs and what plates show, as means in time.

    Columns: horizontal forces in world axes, and the moment about the vertical through the base.
    """

    def __init__(self, comparison: Comparison) -> None:
        raw, model = comparison.raw, comparison.problem.model
        rows = np.flatnonzero(inner(raw.valid)).astype(np.int64)
        self._model, self._here = model, at_rows(raw, rows)
        samples = sampled(raw, model, rows, comparison.problem.configuration.gravity)
        predicted = inverse_dynamics(model, samples.motion)
        # Masses of the URDF may be off, and with them the whole weight.
        scale = weight_over(samples.wrench, predicted[:, :3])
        force, moment = (
            scale * np.einsum('nij,nj->ni', samples.rotation, predicted[:, k : k + 3])
            for k in (0, 3)
        )
        needed = np.column_stack([force, moment[:, 2]])
        carried = np.abs(self._shown(self._here)[:, 2] - needed[:, 2])
        # A foot beside the plates pushes sideways, too.
        whole = carried < TIGHTEST_SUPPORT * scale * comparison.weight
        self._length = max(1, round(MEAN_SECONDS * raw.rate))
        count = len(rows) // self._length
        self._whole = whole[: count * self._length].reshape(count, self._length).all(axis=1)
        self._needed = self._means(needed)

    def errors(self, change: Hypothesis[Raw] | None = None) -> Array:
        """What is left of the means (n, 3), offsets apart, with a hypothesis put right."""
        here = self._here if change is None else change.change(self._here)
        left = self._needed - self._means(self._shown(here))
        return np.asarray(left - left.mean(axis=0))

    def __len__(self) -> int:
        return int(self._whole.sum())

    def _shown(self, here: Raw) -> Array:
        """Force (n, 3) and the moment about the vertical through the base."""
        made = with_wrenches(here, self._model, here.wrenches)
        force = made.world[:, :3]
        moment = made.world[:, 3:] - np.cross(here.pose[:, :3] - made.centre, force)
        return np.column_stack([force, moment[:, 2]])

    def _means(self, shown: Array) -> Array:
        count = len(self._whole) * self._length
        means = shown[:count, [0, 1, 3]].reshape(-1, self._length, 3).mean(axis=1)
        return np.asarray(means[self._whole])


def sign_findings(comparison: Comparison, label: str) -> list[Finding]:
    """An axis of a plate whose sign contradicts the momentum; the best cause alone."""
    raw = comparison.raw
    if raw.in_base or not all(one.is_plate for one in raw.sources) or not inner(raw.valid).any():
        return []
    horizontal = Horizontal(comparison)
    if len(horizontal) < FEWEST_MEANS:
        return []
    causes = [*turned_worlds(raw), *in_other_axes(raw), *mirrored_axes(raw)]
    tried = [(horizontal.errors(one), one) for one in causes]
    turned = [(left, one) for left, one in tried if one.where.endswith(VERTICAL)]
    before = horizontal.errors()
    return _told(before[:, FORCES], [(left[:, FORCES], one) for left, one in tried], label) or (
        _told(before[:, MOMENT], [(left[:, MOMENT], one) for left, one in turned], label)
    )


def _told(
    before: Array, tried: Sequence[tuple[Array, Hypothesis[Raw]]], label: str
) -> list[Finding]:
    """The sign with which least is left, if that is far less than chance could make it."""
    as_it_is = float(np.square(before).sum())
    least, best = np.inf, None
    for left, one in tried:  # the simplest first
        if (size := float(np.square(left).sum())) < CLEARLY_LESS**2 * least:
            least, best = size, one
    if best is None:
        return []
    moment = before.shape[1] == 1
    variance = least / (before.size - 3)
    smaller = SMALLER_MOMENT if moment else SMALLER
    if not as_it_is - least > SIGNIFICANT * variance or not as_it_is > smaller**2 * least:
        return []
    what = 'the moments about the vertical fit' if moment else 'the horizontal forces fit'
    factor = float(np.sqrt(as_it_is / least))
    text = (
        f'{label}: {best.text}; with that {what} the momentum of the robot '
        f'{factor:.3g} times better{doubt(factor)} (check_frames: false skips this test)'
    )
    return [Finding('bad', best.code, text, f'{label}, {best.where}', factor)]
