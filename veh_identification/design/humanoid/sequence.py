"""The whole designed motion: its stages, joined by transitions that keep the robot upright."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veh_identification.design.humanoid.options import DesignOptions
from veh_identification.design.humanoid.stage import Stage
from veh_identification.design.humanoid.stance import Stance
from veh_identification.design.humanoid.zero_moment_point import Checked, Part, check
from veh_identification.errors import UsageError
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.types import Array

SLOWER = (1.0, 1.5, 2.0, 3.0)  # tried on the length of transitions


def balanced(
    stages: Sequence[Stage], trajectories: Sequence[FourierTrajectory], options: DesignOptions
) -> tuple[list[Part], Checked, DesignOptions]:
    """The whole motion with transitions slow enough to keep the zero moment point inside."""
    wanted, checked = stages[0].limits.zmp_margin, None
    for slower in SLOWER:
        used = replace(options, transition=slower * options.transition)
        parts = sequence(stages, trajectories, used)
        checked = check(stages[0].model, parts, options.rate_hz)
        if checked.worst_transition >= wanted:
            return parts, checked, used
    assert checked is not None
    worst = min(checked.parts, key=lambda part: float(str(part['zmp_margin'])))
    raise UsageError(
        f'the transition {worst["name"]} brings the zero moment point to '
        f'{1e3 * checked.worst_transition:.3g} mm inside the soles, '
        f'{1e3 * wanted:.3g} mm are needed; lower zmp_margin or leave a stage out'
    )


def sequence(
    stages: Sequence[Stage], trajectories: Sequence[FourierTrajectory], options: DesignOptions
) -> list[Part]:
    """The whole motion, stages joined."""
    parts: list[Part] = []
    previous: Stage | None = None
    for stage, trajectory in zip(stages, trajectories, strict=True):
        if previous is not None:
            parts += _between(previous, stage, options)
        count = round(options.periods * trajectory.period * options.rate_hz)
        free = trajectory.evaluate(np.arange(count) / options.rate_hz)[0]
        parts.append(
            Part(stage.label, free[:, :6], stage.stance.joints(free, stage.start), stage.corners)
        )
        previous = stage
    return parts


def _between(a: Stage, b: Stage, options: DesignOptions) -> list[Part]:
    """Put the foot down, move over on both feet, lift the other: slow enough to be static."""
    count = round(options.transition * options.rate_hz)
    s = np.arange(count) / count
    blend = (s**3 * (10.0 - 15.0 * s + 6.0 * s**2))[:, None]
    down_a, down_b = _on_both_feet(a), _on_both_feet(b)
    name, soles = f'{a.label} to {b.label}', np.concatenate([a.corners, b.corners])
    parts = []
    if len(a.stance.supports) == 1:
        parts.append(
            Part(
                'foot down',
                np.tile(a.home[:6], (count, 1)),
                a.start + blend * (down_a - a.start),
                a.corners,
                name,
            )
        )
    both = Stance(a.model, a.stance.feet, (0, 1), a.stance.places)
    base = a.home[:6] + blend * (b.home[:6] - a.home[:6])
    arms = down_a[both.free] + blend * (down_b[both.free] - down_a[both.free])
    parts.append(
        Part('transition', base, both.joints(np.hstack([base, arms]), down_a), soles, name)
    )
    if len(b.stance.supports) == 1:
        parts.append(
            Part(
                'foot up',
                np.tile(b.home[:6], (count, 1)),
                down_b + blend * (b.start - down_b),
                b.corners,
                name,
            )
        )
    return parts


def _on_both_feet(stage: Stage) -> Array:
    """Joints at home with both feet on the ground."""
    both = Stance(stage.model, stage.stance.feet, (0, 1), stage.stance.places)
    free = np.concatenate([stage.home[:6], stage.start[both.free]])
    return both.joints(free[None], stage.start)[0]
