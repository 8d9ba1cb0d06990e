"""Total mass from the balance of vertical impulse: a check that needs no regression.

What the ground gives over a time is what gravity takes and what the centre of mass gains,

    integral(w F) = m (g integral(w) - integral(w' v)),

for any window w that begins and ends at zero. Only the velocity of the centre of mass enters, and
not its acceleration; flight, impacts and the filter are all in it. Windows are hats side by side,
so that errors of the velocity cancel between neighbours: the sum of all has those of both ends
only, and one hat alone shows how large these are, but for those that change too slowly.
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
SHORTEST_HAT = 0.1  # of a stretch that is too short for FEWEST_HATS of that length
FEWEST_HATS = 3  # of a stretch, if they can be had
#: Velocity [m/s] of the centre of mass beside the one that the links show, at each end of a
#: stretch: squats and runs of nineteen people cut into pieces of 1.1 s say so (0.2 % of the
#: mass), and the hats of such a piece, which share it, cannot.
UNSEEN_VELOCITY = 0.01


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
            found = hats(force[stretch], velocity[stretch], raw.rate, gravity)
            stretches += bool(found)
            given += found
    every = np.array(given).reshape(-1, 2)
    sums = np.array([len(every), *every.sum(axis=0), *_products(every)])
    return mass_of(sums, stretches, gravity)


def _products(every: Array) -> tuple[float, float, float]:
    ground, per_mass = every.T
    return float(ground @ ground), float(ground @ per_mass), float(per_mass @ per_mass)


def hat_sums(hat: Array) -> Array:
    """What one hat adds to the sums of `mass_of`."""
    return np.array([1.0, *hat, *_products(hat[None])])


def mass_of(sums: Array, stretches: int, gravity: float) -> ImpulseMass | None:
    """From the count of hats, sums of both sides and of their products; None without a hat."""
    count, ground, per_mass, ground_2, mixed, per_mass_2 = sums
    if count < 1.0:
        return None
    mass = float(ground / per_mass)
    left = ground_2 - 2.0 * mass * mixed + mass**2 * per_mass_2
    spread = max(left, 0.0) / max(count - 1.0, 1.0)
    # Each stretch has two ends of its own; a hat has two such errors as well.
    ends = stretches * (spread + 2.0 * (mass * UNSEEN_VELOCITY) ** 2)
    return ImpulseMass(mass, float(np.sqrt(ends) / per_mass), float(per_mass) / gravity)


def hats(force: Array, velocity: Array, rate: float, gravity: float) -> list[Array]:
    """Both sides of the balance for hats that share the stretch evenly."""
    seconds = (len(force) - 1) / rate
    half = min(HAT_SECONDS, max(SHORTEST_HAT, seconds / (FEWEST_HATS + 1)))
    count = int(seconds / half + 1e-9) - 1
    if count < 1:
        return []
    edges = np.linspace(0.0, len(force) - 1.0, count + 2)
    return [hat_balance(force, velocity, edges[k : k + 3], rate, gravity) for k in range(count)]


def hat_balance(force: Array, velocity: Array, edges: Array, rate: float, gravity: float) -> Array:
    """(2,) impulse of the ground and impulse per mass under the hat from edge over top to edge."""
    place = np.arange(len(force), dtype=float)
    hat = np.interp(place, edges, [0.0, 1.0, 0.0])
    slope = np.diff(hat) * rate
    middle = 0.5 * (velocity[1:] + velocity[:-1])
    return np.array([hat @ force, gravity * hat.sum() - slope @ middle]) / rate


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
