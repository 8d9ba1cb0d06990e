"""Plates whose gain or zero wanders: what they show against the momentum, from begin to end.

Masses that are wrong, zeros that are off and sensors of the wrong gain are so all the time. An
error of the forces that grows is none of them, and nothing that a robot does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from veh_identification.findings import Finding, Level, doubt
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.systems.humanoid.checks.comparison import Comparison, loaded, weight_over
from veh_identification.systems.humanoid.checks.smooth import at_rows
from veh_identification.systems.humanoid.processing.signals import with_wrenches
from veh_identification.types import Array, BoolArray

#: Share of the weight by which what is shown must change, and from which on nothing can be used.
SMALLEST, LARGE = 0.02, 0.05
#: Deviations, with the errors of so many pieces of the recording; how many times better the forces
#: must fit, and of two wanderings the simpler one counts unless the other is so much better.
SURE, PIECES, BETTER, CLEARLY = 8.0, 10, 1.3, 1.1
FEWEST = 40


@dataclass(frozen=True)
class Wandering:
    """What may grow by one unit over the recording, and what that adds to the forces (n, 3)."""

    column: Array
    text: str  # with the size
    where: str
    unit: float  # what one means as a share of the weight


def drift_findings(comparison: Comparison, label: str) -> list[Finding]:
    """The one gain or zero of a sensor that grows, the simplest first."""
    raw, model = comparison.raw, comparison.problem.model
    if raw.in_base or not all(one.is_plate for one in raw.sources):
        return []
    samples = comparison.samples(raw)
    use = loaded(samples)
    if use.sum() < FEWEST:
        return []
    turn = samples.rotation[use]
    predicted = inverse_dynamics(model, samples.motion)[:, :3][use]
    scale = weight_over(samples.wrench[use], predicted)
    needed = scale * np.einsum('nij,nj->ni', turn, predicted)
    shown = np.einsum('nij,nj->ni', turn, samples.wrench[use, :3])
    when = 1e-9 * (samples.stamps_ns[use] - samples.stamps_ns[use][0])
    ramp = (when - when.mean()) / max(float(np.ptp(when)), 1e-9)
    # Gains and zeros that stay, and masses, are no matter here.
    still = np.concatenate([np.tile(np.eye(3), (len(ramp), 1)), needed.reshape(-1, 1)], axis=1)
    basis, _ = np.linalg.qr(still)
    error = (shown - needed).ravel()
    error = error - basis @ (basis.T @ error)
    weight = scale * comparison.weight
    best: tuple[float, Wandering, float, float] | None = None
    for one in _wanderings(comparison, use, ramp, shown, weight):
        column = one.column.ravel() - basis @ (basis.T @ one.column.ravel())
        power = float(column @ column)
        if not power > 0.0:
            continue
        size = float(column @ error) / power
        rest = error - size * column
        pieces = [float(np.sum(p)) for p in np.array_split(column * rest, PIECES)]
        sigma = float(np.linalg.norm(pieces)) / power
        better = float(np.sqrt(error @ error / max(float(rest @ rest), 1e-300)))
        share = abs(size) * one.unit
        least = BETTER if best is None else CLEARLY * best[0]
        if abs(size) > SURE * sigma and share > SMALLEST and better > least:
            best = better, one, size, share
    if best is None:
        return []
    better, one, size, share = best
    level: Level = 'bad' if share > LARGE else 'warn'
    text = (
        f'{label}: {one.text.format(size=size, percent=100.0 * size)} over the recording: the '
        f'forces then fit the momentum of the robot {better:.3g} times better'
        f'{doubt(better)} (a warm amplifier, a loose cable, charge that leaks): tare and '
        'calibrate it, or take a shorter part'
    )
    return [Finding(level, 'drift', text, f'{label}, {one.where}', better)]


def _wanderings(
    comparison: Comparison, use: BoolArray, ramp: Array, shown: Array, weight: float
) -> Iterator[Wandering]:
    """Gain of all plates, of each, zeros of each."""
    raw, model = comparison.raw, comparison.problem.model
    topics = ' and '.join(one.topic for one in raw.sources)
    text = 'the gain of {} seems to grow by {{percent:.2g}} %'
    yield Wandering(ramp[:, None] * shown, text.format(topics), f'topic {topics}', 1.0)
    here = at_rows(raw, comparison.rows[use])
    for k, source in enumerate(raw.sources):
        if len(raw.sources) > 1:
            alone = np.zeros_like(here.wrenches)
            alone[:, k] = here.wrenches[:, k]
            force = with_wrenches(here, model, alone).world[:, :3]
            part = float(np.linalg.norm(force, axis=1).mean()) / weight
            yield Wandering(
                ramp[:, None] * force, text.format(source.topic), f'topic {source.topic}', part
            )
        assert source.pose is not None
        for axis in range(3):
            column = ramp[:, None] * source.pose.rotation[:, axis]
            name = f'wrench.force.{"xyz"[axis]}'
            zero = f'the zero of {name} of {source.topic} seems to wander by {{size:.3g}} N'
            yield Wandering(column, zero, f'topic {source.topic}, {name}', 1.0 / weight)
