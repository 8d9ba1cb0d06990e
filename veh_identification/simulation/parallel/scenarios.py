"""Ground truth of the hexapod: exact periodic motion, inverse dynamics, sensors with noise.

The actuator forces have friction in actuators and passive joints. Force noise is coupled between
actuators, lengths are noisy and quantised. The executed motion may hold more harmonics than the
nominal one, as a real controller's does (Abdellatif 2009, section 3.3).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veh_identification.identification.trajectory import FourierTrajectory, pose_rates
from veh_identification.runtime import messages
from veh_identification.systems.parallel.configuration import Configuration, load_configuration
from veh_identification.systems.parallel.model.geometry import LEGS, POSE_NAMES
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.types import Array, Progress

if TYPE_CHECKING:
    from veh_identification.runtime.bags import BagWriter

#: Simulated recordings start here (November 2023), so that stamps look like real ones.
EPOCH_NS = 1_700_000_000_000_000_000
#: The robot that is simulated: Table II of Abdellatif 2009 (Gauss-Markov column), except p1, whose
#: published value is negative, which no body has.
TRUTH = {
    'p1': 0.0095,
    'p2': 1.0892,
    'p3': 1.0077,
    'p4': 0.5995,
    'p5': -1.2885,
    'p6': 0.3078,
    'p7': 0.3021,
    'p8': 0.1176,
    'p9': 1.8896,
    'p10': 16.3081,
    'r_alpha': 0.5756,
    'r_beta': 0.9195,
    'r1': 11.9772,
    'r2': 4.8071,
    'r3': 20.1528,
    'r4': 5.1518,
    'r5': 1.5857,
    'r6': 5.0057,
    'v1': 16.8771,
    'v2': 16.7406,
    'v3': 6.3408,
    'v4': 23.1662,
    'v5': 26.4675,
    'v6': 22.8053,
}


@dataclass(frozen=True)
class HexapodSensors:
    """Sensors of the simulated robot; the noise is white in time."""

    rate: float = 500.0  # Hz
    length_noise: float = 20e-6  # m, rms: the Hall sensors of direct drives are coarse
    length_correlation: float = 0.3  # between any two actuators
    force_noise: float = 5.0  # N, rms
    force_correlation: float = 0.6
    quantisation: float = 5e-6  # m

    def scaled(self, noise: float) -> HexapodSensors:
        """Noise and quantisation multiplied."""
        return replace(
            self,
            length_noise=self.length_noise * noise,
            force_noise=self.force_noise * noise,
            quantisation=self.quantisation * noise,
        )

    def measure(
        self, lengths: Array, forces: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """What the sensors say."""
        q = lengths + self.length_noise * _coupled(rng, len(lengths), self.length_correlation)
        if self.quantisation > 0.0:
            q = np.round(q / self.quantisation) * self.quantisation
        Q = forces + self.force_noise * _coupled(rng, len(forces), self.force_correlation)
        return q, Q

    def force_covariance(self) -> Array:
        """True noise covariance of one force sample."""
        unit = np.full((6, 6), self.force_correlation)
        np.fill_diagonal(unit, 1.0)
        return self.force_noise**2 * unit


def _coupled(rng: np.random.Generator, count: int, correlation: float) -> Array:
    """Unit noise (N, 6) with one common part: every pair has the same correlation."""
    own, common = rng.standard_normal((count, 6)), rng.standard_normal((count, 1))
    return np.sqrt(1.0 - correlation) * own + np.sqrt(correlation) * common


@dataclass(frozen=True)
class PeriodicRun:
    """Exact signals of one period and what was simulated."""

    trajectory: FourierTrajectory
    times: Array
    pose: Array
    velocity: Array
    acceleration: Array
    lengths: Array
    forces: Array
    rate: float

    def repeated(
        self, count: int, sensors: HexapodSensors, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Measured lengths and forces of `count` samples, period after period."""
        index = np.arange(count) % len(self.times)
        return sensors.measure(self.lengths[index], self.forces[index], rng)


def true_parameters(model: HexapodModel) -> Array:
    """TRUTH in the model's order."""
    return np.array([TRUTH[name] for name in model.names])


def exact_run(
    model: HexapodModel,
    trajectory: FourierTrajectory,
    rate: float,
    parameters: Array | None = None,
) -> PeriodicRun:
    """One period of a trajectory through the inverse dynamics."""
    times = trajectory.sample_times(round(rate * trajectory.period))
    pose, pose_dot, pose_ddot = trajectory.evaluate(times)
    velocity, acceleration = pose_rates(pose, pose_dot, pose_ddot)
    p = true_parameters(model) if parameters is None else parameters
    forces = model.regressor(pose, velocity, acceleration) @ p
    lengths = inverse_kinematics(model.robot, pose)
    return PeriodicRun(
        trajectory,
        times,
        pose,
        velocity,
        acceleration,
        lengths,
        forces,
        len(times) * trajectory.fundamental_hz,
    )


def executed(
    trajectory: FourierTrajectory, highest: int, size: float = 0.01, seed: int = 0
) -> FourierTrajectory:
    """The trajectory as a controller executes it: small further harmonics up to `highest`."""
    extra = highest - trajectory.harmonics
    if extra <= 0:
        return trajectory
    rng = np.random.default_rng([seed, 17])
    scale = np.sqrt((trajectory.mu**2 + trajectory.nu**2).sum(axis=0)) * size
    mu, nu = rng.choice([-1.0, 1.0], (2, extra, 6)) * rng.uniform(0.5, 1.0, (2, extra, 6)) * scale
    return FourierTrajectory(
        trajectory.offset,
        np.concatenate([trajectory.mu, mu]),
        np.concatenate([trajectory.nu, nu]),
        trajectory.fundamental_hz,
        trajectory.names,
    )


def circle(
    configuration: Configuration, radius: float = 0.07, speed: float = 0.6, tilt: float = 0.15
) -> FourierTrajectory:
    """Benchmark circle of the tool point in a tilted plane, with a slight turning of the tool."""
    fundamental = speed / (2.0 * np.pi * radius)
    mu, nu = np.zeros((2, 6)), np.zeros((2, 6))
    # x = r sin, y = -r cos (velocity amplitudes); z follows the tilt
    mu[0, 0], nu[0, 1], mu[0, 2] = speed, speed, speed * np.tan(tilt)
    mu[0, 3], nu[0, 4], nu[1, 5] = 0.15 * speed, 0.15 * speed, 0.2 * speed
    offset = configuration.robot.home + np.array([0.01, -0.01, 0.01, 0.0, 0.0, 0.0])
    return FourierTrajectory(offset, mu, nu, fundamental, POSE_NAMES)


def default_excitation(configuration: Configuration) -> FourierTrajectory:
    """The stored D-optimal excitation of the configuration, else a plain multisine."""
    if configuration.excitation is not None:
        return configuration.excitation
    rng = np.random.default_rng(1)
    amplitude = np.array([0.09, 0.09, 0.09, 0.25, 0.25, 0.25])
    mu, nu = rng.normal(size=(2, 5, 6)) * amplitude
    return FourierTrajectory(configuration.robot.home, mu, nu, 0.4, POSE_NAMES)


def write_periodic(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Scenario `hexapod-periodic`: the excitation, period after period."""
    configuration = load_configuration()
    return _write(
        writer, configuration, default_excitation(configuration), duration, seed, noise, progress
    )


def write_circle(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Scenario `hexapod-circle`: the benchmark circle, round after round."""
    configuration = load_configuration()
    sensors = HexapodSensors()
    wanted = circle(configuration)
    # A whole number of samples per round, as a controller's interpolator would give.
    samples = round(sensors.rate / wanted.fundamental_hz)
    scale = sensors.rate / samples / wanted.fundamental_hz
    motion = replace(
        wanted,
        fundamental_hz=wanted.fundamental_hz * scale,
        mu=wanted.mu * scale,
        nu=wanted.nu * scale,
    )
    return _write(writer, configuration, motion, duration, seed, noise, progress)


def _write(
    writer: BagWriter,
    configuration: Configuration,
    trajectory: FourierTrajectory,
    duration: float,
    seed: int,
    noise: float,
    progress: Progress,
) -> dict[str, Any]:
    sensors = HexapodSensors().scaled(noise)
    model = configuration.model()
    run = exact_run(model, trajectory, sensors.rate)
    rng = np.random.default_rng(seed)
    count = round(duration * run.rate)
    lengths, forces = run.repeated(count, sensors, rng)
    step = 1e9 / run.rate
    names = list(LEGS)
    for k in range(count):
        stamp = EPOCH_NS + round(k * step)
        message = messages.new(
            'sensor_msgs/msg/JointState',
            header=messages.header(stamp, 'base_link'),
            name=names,
            position=lengths[k],
            velocity=[],
            effort=forces[k],
        )
        writer.write_message('joint_states', message, stamp)
        if k % round(run.rate) == 0:
            progress(round(k / run.rate), round(duration))
    return {
        'robot': configuration.robot.name,
        'parameters': TRUTH,
        'fundamental_hz': trajectory.fundamental_hz,
        'harmonics': trajectory.harmonics,
        'trajectory': trajectory.to_dict(),
        'sensors': asdict(sensors),
    }
