"""Total mass from the balance of vertical impulse: a check that needs no regression.

What the ground gives over a time is what gravity takes and what the centre of mass gains,

    integral(w F) = m (g integral(w) - integral(w' v)),

for any window w that begins and ends at zero. Only the velocity of the centre of mass enters, and
not its acceleration; flight, impacts and the filter are all in it. Windows are hats side by side,
so that errors of the velocity cancel between neighbours: the sum of all has those of both ends
only, and one hat alone shows how large these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.processing.signals import Raw, Samples
from veh_identification.types import Array, BoolArray

HAT_SECONDS = 0.25  # from the foot of a hat to its top
FEWEST_HATS = 3


@dataclass(frozen=True)
class ImpulseMass:
    """Mass [kg], deviation by the errors of the centre's velocity, and over how long [s]."""

    value: float
    std: float
    seconds: float


def impulse_mass(
    parts: Sequence[tuple[Raw, Samples, BoolArray]], model: TreeModel, gravity: float
) -> ImpulseMass | None:
    """Over all usable stretches of recordings with a pose; None if there is too little."""
    given: list[Array] = []  # (hats, 2): impulse of the ground, impulse per mass
    stretches = 0
    for raw, samples, usable in parts:
        if raw.in_base:
            continue
        velocity = _vertical_velocity(samples, model)
        force = raw.world[:, 2]
        good = usable & samples.valid & np.isfinite(force)
        for stretch in contiguous_segments(good):
            hats = _hats(force[stretch], velocity[stretch], raw.rate, gravity)
            stretches += bool(hats)
            given += hats
    if len(given) < FEWEST_HATS:
        return None
    ground, per_mass = np.array(given).T
    mass = float(ground.sum() / per_mass.sum())
    count = len(given)
    spread = float(np.sqrt(np.sum(np.square(ground - mass * per_mass)) / (count - 1)))
    # Each stretch has two ends of its own; a hat has two such errors as well.
    std = spread * np.sqrt(stretches) / float(per_mass.sum())
    return ImpulseMass(mass, float(std), float(per_mass.sum()) / gravity)


def _hats(force: Array, velocity: Array, rate: float, gravity: float) -> list[Array]:
    """Both sides of the balance for hats that share the stretch evenly."""
    count = int((len(force) - 1) / (HAT_SECONDS * rate)) - 1
    if count < 1:
        return []
    edges = np.linspace(0.0, len(force) - 1.0, count + 2)
    place = np.arange(len(force), dtype=float)
    found = []
    for k in range(1, count + 1):
        hat = np.interp(place, edges[k - 1 : k + 2], [0.0, 1.0, 0.0])
        slope = np.diff(hat) * rate
        middle = 0.5 * (velocity[1:] + velocity[:-1])
        found.append(np.array([hat @ force, gravity * hat.sum() - slope @ middle]) / rate)
    return found


def _vertical_velocity(samples: Samples, model: TreeModel) -> Array:
    """Of the centre of mass of the model's bodies, along world z."""
    bodies = body_motion(model, samples.motion)
    mass, moment = model.parameters[:, 0], model.parameters[:, 1:4]
    centre = (
        np.einsum('b,nbi->ni', mass, bodies.position)
        + np.einsum('nbij,bj->ni', bodies.orientation, moment)
    ) / mass.sum()
    height = samples.position[:, 2] + np.einsum('ni,ni->n', samples.rotation[:, 2], centre)
    velocity = np.zeros(len(height))
    for stretch in contiguous_segments(samples.valid, 3):
        velocity[stretch] = np.gradient(height[stretch], 1.0 / samples.rate, edge_order=2)
    return velocity
