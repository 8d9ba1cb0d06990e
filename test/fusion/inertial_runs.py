"""Runs of the fusion core over simulated motions, for tests of the inertial navigation."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from fusion_truth import Motion

from veh_identification import orientations
from veh_identification.fusion import rotation
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.geodesy import Datum, LocalFrame
from veh_identification.fusion.options import FilterOptions, FusionOptions, MergeParameters
from veh_identification.fusion.sensor_options import (
    GnssOptions,
    ImuOptions,
    JointOptions,
)

START = 1_700_000_000_000_000_000
POINT = [0.4, -0.3, 0.5]
RPY = [math.pi / 2, 0.1, -0.7]
MOUNT = rotation.matrix(orientations.quaternion_of_rpy(RPY))


def options(**changes: object) -> FusionOptions:
    base = FusionOptions(
        rate=50.0,
        filter=FilterOptions(cutoff=20.0),
        merge=MergeParameters(max_wait=0.02),
        imu=ImuOptions(position=POINT, orientation_rpy=RPY, gyro_noise=1e-3, accel_noise=1e-2),
        joints=JointOptions(topic=''),
    )
    return dataclasses.replace(base, **changes)


def ns(t: float) -> int:
    return START + round(t * 1e9)


def run(
    core: FusionCore,
    motion: Motion,
    duration: float,
    *,
    imu_rate: float = 200.0,
    bias: np.ndarray | None = None,
    noise: tuple[float, float] = (0.0, 0.0),
    extra: list[tuple[str, float, tuple[float, ...]]] | None = None,
    gravity: bool = True,
    seed: int = 0,
) -> list:
    rng = np.random.default_rng(seed)
    offset = np.zeros(6) if bias is None else bias
    sigma = np.repeat(noise, 3)
    samples = list(extra or [])
    for k in range(int(duration * imu_rate)):
        t = k / imu_rate
        values = motion.imu(t, np.array(POINT), MOUNT, gravity) + offset
        samples.append(('imu', t, tuple((values + sigma * rng.normal(size=6)).tolist())))
    samples.sort(key=lambda s: s[1])
    states = []
    for name, t, values in samples:
        core.push(name, ns(t), values)
        states.extend(core.poll())
    return states


def tilt_error(q: rotation.Quaternion, truth: rotation.Quaternion) -> float:
    up = orientations.rotate(orientations.conjugate(q), (0.0, 0.0, 1.0))
    other = orientations.rotate(orientations.conjugate(truth), (0.0, 0.0, 1.0))
    return math.acos(min(1.0, sum(a * b for a, b in zip(up, other, strict=True))))


class Car(Motion):
    """Planar driving: speed 5 m/s, heading psi(t); position by exact integration of a circle."""

    def __init__(self, heading: float = 2.0) -> None:
        super().__init__()
        self.heading, self.radius, self.v = heading, 20.0, 5.0

    def psi(self, t: float) -> float:
        return self.heading + self.v / self.radius * t

    def position(self, t: float) -> np.ndarray:
        a, b = self.psi(0.0), self.psi(t)
        return self.radius * np.array([math.sin(b) - math.sin(a), math.cos(a) - math.cos(b), 0.0])

    def velocity(self, t: float) -> np.ndarray:
        return self.v * np.array([math.cos(self.psi(t)), math.sin(self.psi(t)), 0.0])

    def acceleration(self, t: float) -> np.ndarray:
        return (
            self.v**2
            / self.radius
            * np.array([-math.sin(self.psi(t)), math.cos(self.psi(t)), 0.0])
        )

    def orientation(self, t: float) -> rotation.Quaternion:
        return orientations.quaternion_of_rpy((0.0, 0.0, self.psi(t)))

    def omega(self, t: float) -> np.ndarray:
        return np.array([0.0, 0.0, self.v / self.radius])


DATUM = Datum(42.3758, -71.1474, 7.3)
ANTENNA = [0.8, 0.2, 1.1]


def fixes(car: Car, duration: float, sigma: float, rng: np.random.Generator) -> list:
    frame = LocalFrame(DATUM)
    out = []
    for k in range(int(duration * 5)):
        t = k / 5
        p = car.position(t) + car.R(t) @ ANTENNA + sigma * rng.normal(size=3)
        out.append(('gnss', t, (*frame.to_geodetic(*p), max(sigma, 0.01) ** 2, 1.0)))
    return out


def gnss(**changes: object) -> GnssOptions:
    return GnssOptions(
        topic='fix',
        position=ANTENNA,
        fixed_datum=True,
        datum=[DATUM.latitude, DATUM.longitude, DATUM.altitude],
        **changes,
    )
