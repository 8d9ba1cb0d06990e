"""A car's signals on one grid, as the checks compare them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.checks.grid import averaged, slope
from veh_identification.signals import TimeSeries
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

#: Grid and window of the comparisons: slower than wheel hop and the engine, faster than driving.
RATE, WINDOW = 25.0, 0.24
#: Wheels of an axle, left and right.
AXLES = {'front': (0, 1), 'rear': (2, 3)}
#: Road cars lie between these [kg]; without an a-priori mass it is all that is known.
LIGHTEST, HEAVIEST = 250.0, 8000.0
#: Smallest change of an acceleration that says something [m/s^2].
LEAST_ACCELERATION = 0.25


@dataclass(frozen=True, eq=False)
class Channels:
    """A car's signals at common times, in base axes; nan where a sensor says nothing."""

    grid: Array
    rate: Array  # (N, 3) angular velocity
    force: Array  # (N, 3) specific force
    speed: Array  # (N, 2)
    steering: Array  # (N,) mean of the front wheels
    travel: Array  # (N, 4)
    wrench: Array  # (N, 4, 6) of the wheels
    wheel_rate: Array  # (N, 4)

    @property
    def load(self) -> Array:
        """Vertical wheel forces (N, 4)."""
        return np.asarray(self.wrench[:, :, 2])

    @property
    def side(self) -> Array:
        """Sum of the lateral wheel forces."""
        return np.asarray(self.wrench[:, :, 1].sum(axis=1))

    @property
    def moving(self) -> Array:
        """Samples at which the car surely moves."""
        fast = np.abs(self.speed[:, 0]) > 2.0
        return np.asarray(fast | (np.abs(self.rate[:, 2]) > 0.05))


def channels(
    recording: CarRecording, imu: Sensor, configuration: CarDescription
) -> Channels | None:
    """All series on one grid; None for a recording that is too short to say anything.

    Without an optical sensor satellites tell the speed, without sensors at the road wheels the
    steering wheel and its ratio their angle.
    """
    known = [one for one in _all_series(recording) if len(one.stamps) > 1]
    if not known:
        return None
    begin = min(float(one.stamps[0]) for one in known)
    end = max(float(one.stamps[-1]) for one in known)
    grid = np.arange(begin, end, 1.0 / RATE)
    if len(grid) < 3.0 * RATE:
        return None

    def on_grid(series: TimeSeries | None, column: int = 0) -> Array:
        if series is None:
            return np.full(len(grid), np.nan)
        return averaged(series.stamps, series.values[:, column], grid, WINDOW)

    def joints(kind: str) -> Array:
        return np.column_stack([on_grid(recording.joint(kind, one)) for one in CORNERS])

    turn = imu.matrix
    motion = np.column_stack([on_grid(recording.imu, k) for k in range(6)])
    wrenches = [recording.wrenches.get(one) for one in CORNERS]
    front = [on_grid(recording.joint('steering', one)) for one in CORNERS[:2]]
    steering = mean_known(np.column_stack(front))
    column, rack = recording.joints.get('steering_wheel'), configuration.sensors.rack
    if column is not None and rack.steering_ratio and not np.isfinite(steering).any():
        steering = (on_grid(column) - rack.offset) / rack.steering_ratio
    speed = np.column_stack([on_grid(recording.speed, k) for k in range(2)])
    if recording.speed is None and recording.velocity is not None:
        speed[:, 0] = np.hypot(on_grid(recording.velocity), on_grid(recording.velocity, 1))
    wheel = joints('wheel')
    return Channels(
        grid,
        motion[:, :3] @ turn.T,
        motion[:, 3:] @ turn.T,
        speed,
        steering,
        joints('suspension'),
        np.stack([np.column_stack([on_grid(w, k) for w in wrenches]) for k in range(6)], axis=2),
        np.column_stack([slope(grid, wheel[:, k]) for k in range(4)]),
    )


def mean_known(columns: Array) -> Array:
    """Mean over the columns that are known at all."""
    known = columns[:, np.isfinite(columns).any(axis=0)]
    return known.mean(axis=1) if known.shape[1] else np.full(len(columns), np.nan)


def _all_series(recording: CarRecording) -> list[TimeSeries]:
    single = [
        one for one in (recording.imu, recording.speed, recording.velocity) if one is not None
    ]
    return [*single, *recording.joints.values(), *recording.wrenches.values()]


def likeness(a: Array, b: Array) -> float:
    """Correlation of two channels; nan where they say too little."""
    good = np.isfinite(a) & np.isfinite(b)
    if good.sum() < 20 or a[good].std() == 0.0 or b[good].std() == 0.0:
        return float('nan')
    return float(np.corrcoef(a[good], b[good])[0, 1])


def speed_topic(recording: CarRecording, configuration: CarDescription) -> str:
    """Who tells the speed."""
    optical = recording.speed is not None or recording.velocity is None
    return configuration.topics['speed' if optical else 'gps_velocity']
