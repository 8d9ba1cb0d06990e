"""A smooth motion with exact derivatives, and what an IMU on it measures."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from veh_identification import orientations
from veh_identification.fusion import rotation

G = 9.80665


@dataclass
class Motion:
    """Position and roll, pitch, yaw are sums of a sine each: p = offset + speed t + a sin(w t)."""

    offset: np.ndarray = field(default_factory=lambda: np.zeros(3))
    speed: np.ndarray = field(default_factory=lambda: np.zeros(3))
    amplitude: np.ndarray = field(default_factory=lambda: np.array([3.0, 2.0, 0.3]))
    frequency: np.ndarray = field(default_factory=lambda: np.array([0.15, 0.21, 0.4]))
    angles: np.ndarray = field(default_factory=lambda: np.array([0.2, 0.15, 1.2]))
    angle_frequency: np.ndarray = field(default_factory=lambda: np.array([0.5, 0.7, 0.1]))

    def position(self, t: float) -> np.ndarray:
        w = 2 * math.pi * self.frequency
        return self.offset + self.speed * t + self.amplitude * np.sin(w * t)

    def velocity(self, t: float) -> np.ndarray:
        w = 2 * math.pi * self.frequency
        return self.speed + self.amplitude * w * np.cos(w * t)

    def acceleration(self, t: float) -> np.ndarray:
        w = 2 * math.pi * self.frequency
        return -self.amplitude * w**2 * np.sin(w * t)

    def orientation(self, t: float) -> rotation.Quaternion:
        r, p, y = self.angles * np.sin(2 * math.pi * self.angle_frequency * t)
        return orientations.quaternion_of_rpy((r, p, y))

    def R(self, t: float) -> np.ndarray:
        return rotation.matrix(self.orientation(t))

    def omega(self, t: float) -> np.ndarray:
        """Body angular velocity from the Euler angle rates (textbook kinematics)."""
        w = 2 * math.pi * self.angle_frequency
        r, p, _ = self.angles * np.sin(w * t)
        dr, dp, dy = self.angles * w * np.cos(w * t)
        return np.array(
            [
                dr - dy * math.sin(p),
                dp * math.cos(r) + dy * math.sin(r) * math.cos(p),
                -dp * math.sin(r) + dy * math.cos(r) * math.cos(p),
            ]
        )

    def alpha(self, t: float) -> np.ndarray:
        h = 1e-4
        return (
            8 * (self.omega(t + h) - self.omega(t - h))
            - (self.omega(t + 2 * h) - self.omega(t - 2 * h))
        ) / (12 * h)

    def body_velocity(self, t: float) -> np.ndarray:
        return self.R(t).T @ self.velocity(t)

    def body_acceleration(self, t: float) -> np.ndarray:
        return self.R(t).T @ self.acceleration(t)

    def imu(
        self, t: float, point: np.ndarray, mount: np.ndarray, gravity: bool = True
    ) -> np.ndarray:
        """Angular velocity and specific force in the axes of an IMU at `point`."""
        w, al = self.omega(t), self.alpha(t)
        up = np.array([0.0, 0.0, G if gravity else 0.0])
        force = self.R(t).T @ (self.acceleration(t) + up)
        force = force + np.cross(al, point) + np.cross(w, np.cross(w, point))
        return np.concatenate([mount.T @ w, mount.T @ force])
