"""Scenario `hexapod-closed-loop`: a hexapod that follows its excitation under PID at 1 kHz.

The controller sees quantised, noisy lengths, so that noise runs round the loop and the motion is
neither the wanted one nor quite periodic; friction sticks, and efforts come late.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.runtime import messages
from veh_identification.simulation.parallel.plant import Friction, Leg, Plant, control, leg_inertia
from veh_identification.types import Array, Progress

if TYPE_CHECKING:
    from veh_identification.runtime.bags import BagWriter

EPOCH_NS = 1_700_000_000_000_000_000
NAMES = tuple(f'leg_{j}' for j in range(1, 7))
POSE = ('x', 'y', 'z', 'phi', 'theta', 'psi')
GRAVITY = np.array([0.0, 0.0, -9.80665])


@dataclass(frozen=True)
class Loop:
    """Controller and sensors."""

    control_rate: float = 1000.0  # Hz
    substeps: int = 4
    bandwidth: float = 15.0  # Hz, of the PID
    integral: float = 4.0  # 1/s
    derivative_hz: float = 100.0  # low-pass of the controller's speed
    every: int = 2  # control samples for each message
    length_noise: float = 10e-6  # m
    length_step: float = 5e-6  # m
    force_noise: float = 5.0  # N, of the currents
    force_correlation: float = 0.6  # between any two of them
    effort_delay: float = 0.0  # s
    ripple: float = 0.0  # share of the dry friction: forces of the magnets that no sensor sees
    pitch: float = 0.024  # m, of the magnets

    def scaled(self, noise: float) -> Loop:
        """Noise, quantisation, delay and ripple multiplied."""
        names = ('length_noise', 'length_step', 'force_noise', 'effort_delay', 'ripple')
        return replace(self, **{name: noise * getattr(self, name) for name in names})


@dataclass(frozen=True, eq=False)
class Recorded:
    """What the messages of a run say."""

    times: Array
    lengths: Array  # (N, 6)
    forces: Array  # (N, 6)


def rotation(pose: Array) -> Array:
    """Rx(phi) Ry(theta) Rz(psi)."""
    (a, b, c), (s, t, u) = np.cos(pose[3:]), np.sin(pose[3:])
    x = np.array([[1.0, 0.0, 0.0], [0.0, a, -s], [0.0, s, a]])
    y = np.array([[b, 0.0, t], [0.0, 1.0, 0.0], [-t, 0.0, b]])
    z = np.array([[c, -u, 0.0], [u, c, 0.0], [0.0, 0.0, 1.0]])
    return x @ y @ z


def leg_lengths(plant: Plant, poses: Array) -> Array:
    """Distances of the joints (N, 6)."""
    turned = np.einsum('nik,jk->nji', [rotation(pose) for pose in poses], plant.platform)
    return np.asarray(np.linalg.norm(poses[:, None, :3] + turned - plant.base, axis=2))


def follow(
    plant: Plant, wanted: FourierTrajectory, loop: Loop, duration: float, seed: int
) -> tuple[Array, Array]:
    """Lengths as the controller sees them and its commands, both (N, 6) at its rate.

    The robot starts at rest and follows the wanted motion.
    """
    rng = np.random.default_rng([seed, 41])
    step = 1.0 / loop.control_rate
    count = round(duration * loop.control_rate)
    poses = wanted.evaluate(np.arange(count) * step)[0]
    omega = 2.0 * np.pi * loop.bandwidth
    # Tuned in the middle of the motion, where the legs are decoupled; elsewhere they are not.
    gains = (
        leg_inertia(plant, wanted.offset, rotation(wanted.offset)),
        omega**2,
        loop.integral * omega**2,
        1.4 * omega,
        1.0 - np.exp(-2.0 * np.pi * loop.derivative_hz * step),
    )
    friction = plant.friction
    integrate: Any = control
    _, seen, commands = integrate(
        plant.arrays(),
        (friction.dry, friction.viscous, friction.stiction, friction.stribeck, friction.bristle),
        leg_lengths(plant, poses),
        loop.length_noise * rng.standard_normal((count, 6)),
        loop.length_step,
        poses[0, :3].copy(),
        rotation(poses[0]),
        np.zeros(6),
        gains,
        (loop.ripple * friction.dry[12:], loop.pitch),
        step,
        loop.substeps,
    )
    return seen, commands


def measured(seen: Array, commands: Array, loop: Loop, seed: int) -> Recorded:
    """What the messages say of such a run."""
    rng = np.random.default_rng([seed, 43])
    step = 1.0 / loop.control_rate
    times: Array = np.asarray(np.arange(0, len(seen), loop.every) * step, dtype=float)
    # Semi-implicit steps bring forces into positions half a substep early.
    edges = (np.arange(len(seen) + 1) - 0.5 / loop.substeps) * step
    impulse = np.concatenate([np.zeros((1, 6)), np.cumsum(commands, axis=0) * step])
    # Drives give the mean current between two messages, here about the moment of the message.
    late, half = times - loop.effort_delay, 0.5 * loop.every * step
    ends = [
        np.stack([np.interp(at, edges, one) for one in impulse.T], axis=1)
        for at in (late + half, late - half)
    ]
    force = (ends[0] - ends[1]) / (2.0 * half)
    force[late < half] = commands[0]
    force[late + half > edges[-1]] = commands[-1]
    own, common = rng.standard_normal((len(times), 6)), rng.standard_normal((len(times), 1))
    share = loop.force_correlation
    force += loop.force_noise * (np.sqrt(1.0 - share) * own + np.sqrt(share) * common)
    return Recorded(times, seen[:: loop.every], force)


def _ring(radius: float, middles: Array, half: float, height: float) -> Array:
    angle = np.radians((middles[:, None] + np.array([-half, half])).ravel())
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(6, height)], axis=1)


def _tangents(joints: Array) -> Array:
    across = np.stack([-joints[:, 1], joints[:, 0], np.zeros(6)], axis=1)
    return np.asarray(across / np.linalg.norm(across, axis=1)[:, None])


def random_friction(rng: np.random.Generator, scale: float) -> Friction:
    """Of all joints; alpha and beta are alike in all legs."""
    passive = np.repeat(rng.uniform(0.3, 1.2, 2), 6)
    dry = np.concatenate([passive, scale * rng.uniform(0.2, 2.0, 6)])
    viscous = np.concatenate([np.zeros(12), scale * rng.uniform(0.5, 3.0, 6)])
    return Friction(dry, viscous)


def random_plant(seed: int) -> tuple[Plant, Array]:
    """A hexapod of any size, hanging or upright, with its home pose."""
    rng = np.random.default_rng([seed, 23])
    radius = rng.uniform(0.3, 0.6)
    inner = radius * rng.uniform(0.3, 0.7)
    height = radius * rng.uniform(1.6, 2.4)
    side = rng.choice([-1.0, 1.0])  # upright or hanging
    middles = np.array([0.0, 120.0, 240.0])
    offset = side * rng.uniform(0.0, 0.15)
    base = _ring(radius, middles, rng.uniform(8.0, 20.0), 0.0)
    platform = _ring(inner, middles, 60.0 - rng.uniform(8.0, 20.0), -offset)
    platform = platform + rng.normal(0.0, 0.002, (6, 3))
    length = float(
        np.linalg.norm(platform + np.array([0.0, 0.0, side * height]) - base, axis=1)[0]
    )
    rod_mass, stator_mass = rng.uniform(1.0, 3.0), rng.uniform(2.0, 6.0)
    rod, stator = rng.uniform(0.6, 0.9) * length, rng.uniform(0.4, 0.7) * length
    thin = rng.uniform(0.0003, 0.003, 2)
    across = stator_mass * stator**2 / 12.0 * rng.uniform(0.9, 1.1, 2)
    along = rod_mass * rod**2 / 12.0 * rng.uniform(0.9, 1.1, 2)
    leg = Leg(
        rng.uniform(0.002, 0.008),
        stator_mass,
        0.5 * stator * rng.uniform(0.7, 1.1),
        (across[0], thin[0], across[1]),
        rod_mass,
        0.5 * rod * rng.uniform(0.8, 1.1),
        (along[0], along[1], thin[1]),
    )
    mass = rng.uniform(4.0, 20.0)
    size = inner**2 * rng.uniform(0.8, 1.2, 3)
    inertia = mass / 12.0 * np.diag(size.sum() - size) * 2.0
    centre = np.array([*rng.uniform(-0.02, 0.02, 2), side * rng.uniform(-0.05, 0.1)])
    plant = Plant(
        base,
        platform,
        _tangents(base),
        leg,
        mass,
        centre,
        inertia,
        random_friction(rng, 10.0),
        GRAVITY,
    )
    return plant, np.array([0.0, 0.0, side * height + offset, 0.0, 0.0, 0.0])


def random_excitation(
    plant: Plant, home: Array, seed: int, harmonics: int = 5
) -> FourierTrajectory:
    """Five harmonics of random phase that move every leg by at most an eighth of its length."""
    rng = np.random.default_rng([seed, 29])
    fundamental = float(rng.uniform(0.45, 0.75))
    reach = abs(home[2])
    size = np.array([0.1 * reach] * 3 + [0.25] * 3)
    phase = rng.uniform(0.0, 2.0 * np.pi, (harmonics, 6))
    amplitude = size * rng.uniform(0.5, 1.0, (harmonics, 6))
    k = np.arange(1, harmonics + 1)[:, None]
    omega = 2.0 * np.pi * fundamental * k
    speed = amplitude / np.sqrt(k) * omega
    motion = FourierTrajectory(
        home, speed * np.cos(phase), speed * np.sin(phase), fundamental, POSE
    )
    lengths = leg_lengths(plant, motion.evaluate(motion.sample_times(200))[0])
    middle = leg_lengths(plant, home[None])[0]
    return motion.scaled(min(1.0, 0.125 / float(np.abs(lengths / middle - 1.0).max())), home)


def description(plant: Plant, home: Array, loop: Loop, seed: int) -> dict[str, Any]:
    """The file of --config: the geometry as it is, masses as the drawing has them."""
    rng = np.random.default_rng([seed, 31])
    truth = plant.truth()

    def drawn(value: float) -> float:
        return float(value * rng.uniform(0.85, 1.15))

    leg = plant.leg
    whole = plant.inertia + plant.mass * (
        plant.centre @ plant.centre * np.eye(3) - np.outer(plant.centre, plant.centre)
    )
    return {
        'name': f'random {seed}',
        'home': home.tolist(),
        'base': {'joints': plant.base.tolist(), 'alpha_axes': plant.axes.tolist()},
        'platform': {
            'joints': plant.platform.tolist(),
            'm': drawn(plant.mass),
            'sz': drawn(plant.mass * plant.centre[2]),
            'Ixx': drawn(whole[0, 0]),
            'Iyy': drawn(whole[1, 1]),
            'Izz': drawn(whole[2, 2]),
        },
        'leg': {
            'Izz1': drawn(truth['p1']),
            'Ixx2': drawn(truth['p2']),
            'Izz2': drawn(truth['p3']),
            'sy2': drawn(truth['p4']),
            'm3': drawn(leg.rod_mass),
            'sz3': drawn(truth['p5']),
        },
        'sensor': {'resolution': max(loop.length_step, 1e-6), 'tolerance': 1e-9},
        'model': {'platform': 'full'},
    }


def palida() -> tuple[Plant, FourierTrajectory]:
    """A robot of the shipped geometry whose bodies are not quite those of its drawing."""
    from veh_identification.systems.parallel.configuration import load_configuration

    configuration = load_configuration()
    robot = configuration.robot
    excitation = configuration.excitation
    assert excitation is not None  # the shipped file has one
    dry = [11.98, 4.81, 20.15, 5.15, 1.59, 5.01]
    viscous = [16.9, 16.7, 6.3, 23.2, 26.5, 22.8]
    friction = Friction(
        np.concatenate([np.full(6, 0.58), np.full(6, 0.92), dry]),
        np.concatenate([np.zeros(12), viscous]),
    )
    mass, centre = 4.3, np.array([0.0, 0.0, 0.11])
    plant = Plant(
        robot.base_joints,
        robot.platform_joints,
        robot.alpha_axes,
        Leg(),
        mass,
        centre,
        np.diag([0.016, 0.015, 0.0145]),
        friction,
        GRAVITY,
    )
    return plant, excitation


def write_closed_loop(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Scenario `hexapod-closed-loop`."""
    plant, excitation = palida()
    plant = replace(plant, friction=replace(plant.friction, stiction=0.1 * noise))
    loop = Loop(effort_delay=0.002, ripple=0.02).scaled(noise)
    made = measured(*follow(plant, excitation, loop, duration, seed), loop, seed)
    for k, (stamp, message) in enumerate(_joint_states(made)):
        writer.write_message('joint_states', message, stamp)
        if k % 500 == 0:
            progress(round(made.times[k]), round(duration))
    return {
        'parameters': plant.truth(),
        'fundamental_hz': excitation.fundamental_hz,
        'loop': asdict(loop),
    }


def _joint_states(made: Recorded) -> Iterator[tuple[int, Any]]:
    for moment, lengths, forces in zip(made.times, made.lengths, made.forces, strict=True):
        stamp = EPOCH_NS + round(1e9 * moment)
        yield (
            stamp,
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(stamp, 'base_link'),
                name=list(NAMES),
                position=lengths,
                velocity=[],
                effort=forces,
            ),
        )
