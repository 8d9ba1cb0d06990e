"""A humanoid that jumps on both legs or runs on the spot: driven joints, a free base, a ground.

Joint angles follow references; the base goes where the ground pushes it (free_body). Nothing
balances the robot but its soles: references whose robot falls are made calmer until it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation, Slerp

from veh_identification.errors import ModelError
from veh_identification.multibody.motion import floating_base_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.simulation.humanoid.free_body import Ground, Links, read_links, simulate
from veh_identification.simulation.humanoid.gait import SIDES, smooth_step
from veh_identification.simulation.humanoid.legs import LEG_JOINTS, find_leg, leg_angles
from veh_identification.simulation.humanoid.motion import (
    ARM_POSTURE,
    GRAVITY,
    SOLE_DROP,
    Sampled,
)
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.types import Array

REFERENCE_SECONDS, STEP_SECONDS = 0.002, 0.0005
ARM_HZ = np.linspace(0.7, 1.6, 8)
#: Share of sways and swings, tried in this order, and the tilt [rad] beyond which it has fallen.
CALMER, FALLEN = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25), 0.5
UPRIGHT_HEIGHT = 0.262


@dataclass(frozen=True)
class Hops:
    """How it hops; lengths in m."""

    period: float  # s of one hop
    height: float  # half of what the legs are bent and stretched by
    lift: float  # of the foot that does not stand; 0: both stand
    width: float  # of one foot from the middle
    sole: tuple[float, float, float]  # back, front, half of its width
    sway: tuple[float, float, float]  # rad of roll, pitch, yaw of the trunk over the feet
    arms: float  # rad


JUMPS = Hops(0.30, 0.030, 0.0, 0.045, (0.05, 0.06, 0.028), (0.04, 0.04, 0.06), 0.4)
#: On the spot, from one foot to the other; broad soles are all that holds it upright.
RUN = Hops(0.28, 0.022, 0.02, 0.03, (0.06, 0.07, 0.06), (0.02, 0.02, 0.04), 0.25)


class HoppingMotion:
    """Flights, impacts and what lies between; `at` serves the sensors as any other motion."""

    def __init__(self, robot: Robot, hops: Hops, duration: float, seed: int = 0) -> None:
        self.model: TreeModel = robot.model()
        self._links = read_links(robot.text)
        for calmer in CALMER:
            if self._tried(hops, duration, seed, calmer):
                break
        else:
            raise ModelError(f'the humanoid falls with seed {seed}: try another one')
        self.references: Any = SimpleNamespace(t=np.array([0.0, duration]), steps=0, phases=[])

    def _tried(self, hops: Hops, duration: float, seed: int, calmer: float) -> bool:
        """Simulate; False if the robot falls."""
        references = _references(self.model, self._links, hops, duration + 0.1, seed, calmer)
        t = np.arange(0.0, duration + 0.05, STEP_SECONDS)
        joints = tuple(references(t, order) for order in range(3))
        back, front, half = hops.sole
        corners = np.array([[x, y, 0.0] for x in (-back, front) for y in (-half, half)])
        start = np.array([0.0, 0.0, UPRIGHT_HEIGHT - 0.0008])
        soles = [f'{side}_sole' for side in SIDES]
        flow = simulate(
            self._links,
            (joints[0], joints[1], joints[2]),
            soles,
            corners,
            start,
            STEP_SECONDS,
            Ground(),
            GRAVITY,
        )
        self._t, self._flow, self._spline = t, flow, references
        self._position = make_interp_spline(t, flow.position, k=3)
        self._turn = Slerp(t, Rotation.from_matrix(flow.rotation))
        return bool(np.arccos(np.clip(flow.rotation[:, 2, 2], -1.0, 1.0)).max() < FALLEN)

    def at(self, t: Array) -> Sampled:
        """State and wrenches at any times."""
        times = np.clip(t, self._t[0], self._t[-1])
        turn = self._turn(times)
        rotation = turn.as_matrix()
        flow = self._flow

        def inside(values: Array) -> Array:
            columns = [np.interp(times, self._t, values[:, k]) for k in range(3)]
            return np.asarray(np.einsum('nji,nj->ni', rotation, np.column_stack(columns)))

        order = [self._links.joints.index(name) for name in self.model.coordinate_names]
        q, qd, qdd = (self._spline(times, k)[:, order] for k in range(3))
        motion = floating_base_motion(
            q,
            qd,
            qdd,
            inside(flow.acceleration),
            inside(flow.omega),
            inside(flow.alpha),
            rotation,
        )
        position = self._position(times)
        feet = {
            side: np.column_stack(
                [np.interp(times, self._t, flow.soles[:, k, i]) for i in range(6)]
            )
            for k, side in enumerate(SIDES)
        }
        world = feet['l'] + feet['r']
        arm = world[:, 3:] - np.cross(position, world[:, :3])
        total = np.hstack([np.einsum('nji,nj->ni', rotation, one) for one in (world[:, :3], arm)])
        return Sampled(times, motion, position, rotation, total, feet)

    def flights(self) -> list[tuple[float, float]]:
        """Begin and end of every time without any contact."""
        up = np.all(self._flow.soles[:, :, 2] <= 0.0, axis=1).astype(np.int8)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], up, [0]])))
        last = len(self._t) - 1
        return [
            (float(self._t[a]), float(self._t[min(b, last)]))
            for a, b in zip(edges[::2], edges[1::2], strict=True)
        ]


def _references(
    model: TreeModel, links: Links, hops: Hops, duration: float, seed: int, calmer: float
) -> Any:
    """Spline of all driven joints over time."""
    t = np.arange(0.0, duration + REFERENCE_SECONDS, REFERENCE_SECONDS)
    rng = np.random.default_rng([seed, 17])
    phase = rng.uniform(0.0, 2.0 * np.pi, 11)
    begins = smooth_step(t / 0.6)
    height = UPRIGHT_HEIGHT - hops.height * begins * (1.0 - np.cos(2.0 * np.pi * t / hops.period))
    sway = calmer * np.array(hops.sway)
    trunk = (
        begins[:, None]
        * sway
        * np.sin(2.0 * np.pi * np.array([1.31, 1.73, 0.89]) * t[:, None] + phase[:3])
    )
    rotation = Rotation.from_euler('xyz', trunk).as_matrix()
    q = np.zeros((len(t), len(links.joints)))
    for number, (side, sign) in enumerate(zip(SIDES, (1.0, -1.0), strict=True)):
        share = (0.5 * t / hops.period + 0.5 * number) % 1.0
        air = np.clip(2.0 * share - 1.0, 0.0, 1.0)
        lifted = begins * hops.lift * (4.0 * air * (1.0 - air)) ** 2
        ankle = np.column_stack(
            [np.zeros(len(t)), np.full(len(t), sign * hops.width), lifted - height + SOLE_DROP]
        )
        local = np.einsum('nji,nj->ni', rotation, ankle)
        angles = leg_angles(find_leg(model, side), local, np.swapaxes(rotation, 1, 2))
        for k, name in enumerate(LEG_JOINTS):
            q[:, links.joints.index(f'{side}_{name}_joint')] = angles[:, k]
        for k, (name, posture) in enumerate(ARM_POSTURE.items()):
            mirror = sign if name == 'shoulder_roll' else 1.0
            which = k + 4 * number
            swing = np.sin(2.0 * np.pi * ARM_HZ[which] * t + phase[3 + which])
            q[:, links.joints.index(f'{side}_{name}_joint')] = (
                mirror * posture + calmer * hops.arms * begins * swing
            )
    return make_interp_spline(t, q, k=5)
