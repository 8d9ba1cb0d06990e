"""The peer of the observers: a plain constant-acceleration Kalman filter in the plane.

Position, heading, speed, acceleration and gyro bias; the gyroscope drives the heading, satellites
and the mean of the four wheels correct. Height and climb have a filter of their own, roll and
pitch are taken as zero. Fixes far off are left out, for two seconds at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from observe.score import Estimate, about_z
from veh_identification.simulation.road_car.drive import RoadDrive

Array = NDArray[np.float64]
RADIUS = 0.332
GATE = 25.0  # squared deviations of a fix
PATIENCE = 2.0  # [s]


class PlainFilter:
    """x, y, yaw, speed, acceleration, gyro bias; and height, climb."""

    def __init__(self, arm: tuple[float, float, float]) -> None:
        self.arm = arm
        self.x = np.zeros(6)
        self.P = np.diag([1e4, 1e4, 10.0, 100.0, 1.0, 1e-4])
        self.h = np.zeros(2)
        self.H = np.diag([1e6, 1.0])
        self.rate = 0.0
        self.time = float('nan')
        self.placed = self.headed = False
        self.refused_since = float('nan')

    def predict(self, time: float) -> None:
        """To a time, with the last rate of the gyroscope."""
        if not time > self.time:
            self.time = time if np.isnan(self.time) else self.time
            return
        dt, self.time = time - self.time, time
        x, turned = self.x, (self.rate - self.x[5]) * dt
        middle = x[2] + 0.5 * turned
        c, s, way = np.cos(middle), np.sin(middle), x[3] * dt
        F = np.eye(6)
        F[0, 2], F[0, 3], F[1, 2], F[1, 3] = -way * s, dt * c, way * c, dt * s
        F[2, 5], F[3, 4] = -dt, dt
        x += [way * c, way * s, turned, x[4] * dt, 0.0, 0.0]
        noise = np.array([1e-4, 1e-4, 2.5e-7, 1e-3, 1.0, 1e-10]) * dt
        self.P = F @ self.P @ F.T + np.diag(noise)
        G = np.array([[1.0, dt], [0.0, 1.0]])
        self.h = G @ self.h
        self.H = G @ self.H @ G.T + np.diag([1e-4, 0.25]) * dt

    def _update(self, rows: Array, gap: Array, variance: Array, gate: float = np.inf) -> bool:
        S = rows @ self.P @ rows.T + np.diag(variance)
        if gap @ np.linalg.solve(S, gap) > gate:
            return False
        K = np.linalg.solve(S, rows @ self.P).T
        self.x = self.x + K @ gap
        A = np.eye(6) - K @ rows
        self.P = A @ self.P @ A.T + K @ np.diag(variance) @ K.T
        return True

    def fix(self, place: Array, variance: Array) -> None:
        """A position of the antenna."""
        c, s = np.cos(self.x[2]), np.sin(self.x[2])
        arm = self.arm[0]
        if not self.placed:
            self.x[:2], self.placed = place[:2] - arm * np.array([c, s]), True
            self.P[:2, :2] = np.diag(variance[:2] + arm**2)
            self.h[0], self.H[0, 0] = place[2] - self.arm[2], variance[2]
            return
        rows = np.zeros((2, 6))
        rows[0, 0] = rows[1, 1] = 1.0
        rows[0, 2], rows[1, 2] = -arm * s, arm * c
        waited = self.time - self.refused_since > PATIENCE
        gap = place[:2] - self.x[:2] - arm * np.array([c, s])
        if not self._update(rows, gap, variance[:2], np.inf if waited else GATE):
            self.refused_since = self.time if np.isnan(self.refused_since) else self.refused_since
            return
        self.refused_since = float('nan')
        K = self.H[:, 0] / (self.H[0, 0] + variance[2])
        self.h = self.h + K * (place[2] - self.arm[2] - self.h[0])
        self.H = self.H - np.outer(K, self.H[0])

    def velocity(self, value: Array, deviation: float) -> None:
        """A velocity of the antenna; the first fast one gives the heading."""
        speed = float(np.hypot(value[0], value[1]))
        if not self.headed:
            if speed < 2.0:
                return
            self.x[2] = np.arctan2(value[1], value[0])
            self.P[2, :] = self.P[:, 2] = 0.0
            self.P[2, 2], self.headed = (deviation / speed) ** 2 + 1e-3, True
        c, s, v = np.cos(self.x[2]), np.sin(self.x[2]), self.x[3]
        side = (self.rate - self.x[5]) * self.arm[0]
        rows = np.zeros((2, 6))
        rows[0, 2], rows[0, 3] = -v * s - side * c, c
        rows[1, 2], rows[1, 3] = v * c - side * s, s
        expected = np.array([v * c - side * s, v * s + side * c])
        self._update(rows, value[:2] - expected, np.full(2, deviation**2))

    def wheels(self, speed: float) -> None:
        """The mean speed of the wheels."""
        rows = np.zeros((1, 6))
        rows[0, 3] = 1.0
        gap = np.array([speed - self.x[3]])
        self._update(rows, gap, np.array([0.1**2 + (0.01 * speed) ** 2]))

    def state(self) -> tuple[Array, Array]:
        """x, y, z, speed, climb, yaw and their deviations."""
        values = np.array([*self.x[:2], self.h[0], self.x[3], self.h[1], self.x[2]])
        P, H = self.P, self.H
        variance = np.array([P[0, 0], P[1, 1], H[0, 0], P[3, 3], H[1, 1], P[2, 2]])
        return values, np.sqrt(np.maximum(variance, 0.0))


def plain_filter(drive: RoadDrive) -> Estimate:
    """The plain filter over the streams of a drive, in the order of their stamps."""
    items = []
    for order, stream in enumerate(drive.streams):
        items += [
            (float(t), order, stream.topic, row)
            for t, row in zip(stream.stamps, stream.values, strict=True)
        ]
    items.sort(key=lambda item: item[:2])
    sensors = drive.sensors
    filter_ = PlainFilter(sensors.antenna_position)
    variance = np.square(sensors.fix_noise) + (np.array([1, 1, 2]) * sensors.fix_drift) ** 2
    variance = np.maximum(variance, 1e-6)
    times, values, deviations = [], [], []
    last: tuple[float, float] | None = None
    for time, _, topic, row in items:
        filter_.predict(time)
        if topic == 'imu/data':
            filter_.rate = float(row[2])
            found, deviation = filter_.state()
            times.append(time)
            values.append(found)
            deviations.append(deviation)
        elif topic == 'gps/fix':
            filter_.fix(row, variance)
        elif topic == 'gps/vel':
            filter_.velocity(row, max(sensors.velocity_noise, 0.02))
        else:
            angle = float(np.mean(row[:4]))
            if last is None:
                last = time, angle
            elif time - last[0] >= 0.05:
                filter_.wheels((angle - last[1]) * RADIUS / (time - last[0]))
                last = time, angle
    found, sigma = np.array(values), np.array(deviations)
    zero = np.zeros(len(found))
    nothing = np.full(len(found), np.nan)
    return Estimate(
        np.array(times),
        found[:, :3],
        about_z(found[:, 5]),
        np.column_stack([found[:, 3], zero, found[:, 4]]),
        np.column_stack(
            [sigma[:, :3], sigma[:, 3], nothing, sigma[:, 4], nothing, nothing, sigma[:, 5]]
        ),
    )
