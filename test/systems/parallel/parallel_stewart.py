"""Recordings of the second hexapod for whole-command tests, written from the contract alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from scipy.signal import lfilter
from stewart_dynamics import Robot, inverse_dynamics

__all__ = [
    'Data',
    'Motion',
    'Recording',
    'Robot',
    'excitation',
    'force_covariance',
    'inverse_dynamics',
    'record',
    'wandering',
    'write_bag',
    'write_config',
]


@dataclass(frozen=True)
class Motion:
    """Sum of sines per pose coordinate, with a run-in that fades over `settle` seconds.

    The run-in is the controller finding into the cycle: an offset that decays.
    """

    frequencies: np.ndarray  # (K,) Hz
    sine: np.ndarray  # (K, 6) position amplitudes
    cosine: np.ndarray
    offset: np.ndarray
    settle: float = 0.0
    run_in: np.ndarray = field(default_factory=lambda: np.zeros(6))

    def at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pose and its two derivatives."""
        w = 2.0 * np.pi * self.frequencies
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        x = self.offset + s @ self.sine + c @ self.cosine
        xd = c @ (w[:, None] * self.sine) - s @ (w[:, None] * self.cosine)
        xdd = -s @ (w[:, None] ** 2 * self.sine) - c @ (w[:, None] ** 2 * self.cosine)
        if self.settle > 0.0:
            decay = np.exp(-t / self.settle)[:, None] * self.run_in
            x, xd, xdd = x + decay, xd - decay / self.settle, xdd + decay / self.settle**2
        return x, xd, xdd


def excitation(robot: Robot, fundamental: float = 0.37, seed: int = 11, run_in: float = 0.0):
    """Five harmonics of random phase, fuller in rotation as the rods' inertia needs it."""
    rng = np.random.default_rng(seed)
    k = np.arange(1, 6)
    size = np.array([0.05, 0.05, 0.04, 0.12, 0.12, 0.16]) / np.sqrt(k)[:, None]
    phase = rng.uniform(0.0, 2.0 * np.pi, (5, 6))
    return Motion(
        fundamental * k,
        size * np.sin(phase),
        size * np.cos(phase),
        robot.home,
        0.25 if run_in else 0.0,
        run_in * np.array([0.01, -0.02, 0.015, 0.05, 0.03, -0.04]),
    )


def wandering(robot: Robot, seed: int = 5) -> Motion:
    """A motion that never repeats, for validation."""
    rng = np.random.default_rng(seed)
    frequencies = np.array([0.23, 0.23 * np.sqrt(7.0), 0.23 * np.sqrt(31.0)])
    size = np.array([0.06, 0.06, 0.05, 0.1, 0.1, 0.15]) * np.array([[1.0], [0.7], [0.4]])
    phase = rng.uniform(0.0, 2.0 * np.pi, (3, 6))
    return Motion(frequencies, size * np.sin(phase), size * np.cos(phase), robot.home)


@dataclass(frozen=True)
class Recording:
    """How a recording is made: clock, noise, and what goes wrong in the messages."""

    rate: float = 500.0
    duration: float = 30.0
    jitter: float = 0.0  # share of a step by which the moments of sampling scatter
    length_noise: float = 15e-6
    resolution: float = 10e-6
    force_noise: float = 6.0
    colour: float = 0.0  # correlation time of the force noise, s
    effort_missing: float = 0.0  # share of the messages
    sign_width: float = 0.0
    stamp_offset_ns: int = 0  # header stamp minus the time of recording
    seed: int = 0


@dataclass
class Data:
    """Stamps [ns], lengths and forces (N, 6), forces nan where missing."""

    stamps: np.ndarray
    lengths: np.ndarray
    forces: np.ndarray


def force_covariance(noise: float) -> np.ndarray:
    """Unequal and coupled: neighbours on the ring share more than opposite legs."""
    distance = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    distance = np.minimum(distance, 6 - distance)
    unit = 0.65**distance
    scale = noise * np.array([1.0, 0.7, 1.3, 0.9, 1.1, 0.8])
    return unit * np.outer(scale, scale)


def record(robot: Robot, motion: Motion, how: Recording) -> Data:
    """Measure a motion."""
    rng = np.random.default_rng([how.seed, 77])
    count = round(how.duration * how.rate)
    step = 1.0 / how.rate
    t = np.arange(count) * step + how.jitter * step * rng.uniform(-0.5, 0.5, count)
    stamps = np.rint((t - t[0]) * 1e9).astype(np.int64)
    friction = np.sign if how.sign_width == 0.0 else (lambda r: np.tanh(r / how.sign_width))
    q, _, Q = inverse_dynamics(robot, *motion.at(t), friction)
    if how.length_noise:
        q = q + how.length_noise * rng.standard_normal(q.shape)
    if how.resolution:
        q = np.round(q / how.resolution) * how.resolution
    if how.force_noise:
        white = rng.standard_normal((count + 1000, 6))
        pole = np.exp(-step / how.colour) if how.colour else 0.0
        white = lfilter([np.sqrt(1.0 - pole**2)], [1.0, -pole], white, axis=0)
        Q = Q + white[1000:] @ np.linalg.cholesky(force_covariance(how.force_noise)).T
    lost = rng.uniform(size=count) < how.effort_missing
    return Data(stamps + 1_790_000_000_123_456_789, q, np.where(lost[:, None], np.nan, Q))


def write_bag(
    path: Path,
    data: Data,
    *,
    stamp_offset_ns: int = 0,
    shuffle: bool = False,
    extra_joint: bool = False,
    names: list[str] | None = None,
    topic: str = '/joint_states',
    storage: str = 'sqlite3',
) -> Path:
    """A rosbag2 of JointState, as contract.md says, in any order of the legs."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    JointState = store.types['sensor_msgs/msg/JointState']
    Header = store.types['std_msgs/msg/Header']
    Time = store.types['builtin_interfaces/msg/Time']
    legs = names or [f'leg_{j + 1}' for j in range(6)]
    order = np.array([4, 1, 5, 0, 3, 2]) if shuffle else np.arange(len(legs))
    told = [legs[k] for k in order]
    plugin = StoragePlugin.SQLITE3 if storage == 'sqlite3' else StoragePlugin.MCAP
    nothing = np.empty(0)
    with Writer(path, version=8, storage_plugin=plugin) as writer:
        connection = writer.add_connection(topic, JointState.__msgtype__, typestore=store)
        for stamp, q, Q in zip(data.stamps.tolist(), data.lengths, data.forces, strict=True):
            position, effort = q[order], Q[order]
            here = told
            if extra_joint:
                here = ['gripper', *told]
                position, effort = np.append(0.02, position), np.append(0.0, effort)
            missing = np.isnan(Q).all()
            header = Header(Time(*divmod(stamp, 1_000_000_000)), 'base_link')
            message = JointState(header, here, position, nothing, nothing if missing else effort)
            writer.write(
                connection,
                stamp - stamp_offset_ns,
                store.serialize_cdr(message, JointState.__msgtype__),
            )
    return path


def write_config(path: Path, robot: Robot, **changes: Any) -> Path:
    """The YAML of --config."""
    path.write_text(yaml.safe_dump(robot.configuration(**changes)), encoding='utf-8')
    return path
