"""The dirt of life: what goes wrong with sensors, wheels and starts, each alone or together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from veh_identification.errors import UsageError


@dataclass(frozen=True)
class Faults:
    """All off by default; times in seconds since the start of the drive."""

    # biases and mounting
    gyro_bias: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [rad/s]
    accelerometer_bias: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m/s^2]
    mounting: tuple[float, float, float] = (0.0, 0.0, 0.0)  # roll, pitch, yaw of the IMU [rad]
    imu_place: tuple[float, float, float] = (0.0, 0.0, 0.0)  # error of the configured place [m]
    antenna_place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    # stamps: how much older a value is than its stamp says, and the scatter of all stamps
    imu_delay: float = 0.0
    wheel_delay: float = 0.0
    fix_delay: float = 0.0
    velocity_delay: float = 0.0
    jitter: float = 0.0
    dropped: float = 0.0  # share of the messages of every sensor that never come
    # wheels
    speeds: bool = False  # joint_states gives wheel speeds, not angles: an interface, no fault
    torque: bool = False  # the effort of the wheels is the drive torque: an interface, no fault
    wheel_forces: bool = False  # wheel force, travel, wheel steering and speed sensors as well
    ticks: int = 0  # of an encoder per turn, 0: those of the sensors
    wheel_start: float = 0.0  # angle that the wheels have already turned [rad]
    stuck: tuple[int, ...] = ()  # corners whose angle stands still from `fault_time` on
    false_wheels: tuple[int, ...] = ()  # corners whose sensor is wrong for a while
    false_factor: float = 1.3  # what it makes of the way; 0: it stands
    false_duration: float = 1.5
    slipping: tuple[int, ...] = ()  # corners that drive or brakes really make slip
    slip_factor: float = 1.3  # rim speed over rolling; 0: locked
    slip_duration: float = 1.5
    slip_grip: float = 0.4  # of the patch they slip on
    fault_time: float = 25.0  # of the first of these
    fault_period: float = 20.0  # and how long to the next
    # satellites
    gnss_rate: float = 0.0  # [Hz], 0: that of the sensors
    no_velocity: bool = False  # no gps/vel
    outage: float = 0.0  # seconds without satellites from `outage_time` on
    outage_time: float = 28.0
    outliers: float = 0.0  # jumps by multipath each second
    # start
    skip: float = 0.0  # the recording begins so late
    heading: float | None = None  # at the start; None: drawn
    distance: float | None = None  # of the start from the datum [m]; None: some metres


#: By name, as `veh-id simulate road-drive --fault NAME` takes them.
CATALOGUE: dict[str, dict[str, Any]] = {
    'gyro-bias': {'gyro_bias': (0.005, -0.005, 0.005)},
    'accelerometer-bias': {'accelerometer_bias': (0.2, -0.15, 0.1)},
    'mounting': {'mounting': (0.02, -0.03, 0.02)},
    'places': {'imu_place': (0.05, 0.03, -0.04), 'antenna_place': (-0.05, 0.04, 0.06)},
    'imu-late': {'imu_delay': 0.02},
    'wheels-late': {'wheel_delay': 0.05},
    'fix-late': {'fix_delay': 0.05},
    'velocity-late': {'velocity_delay': 0.15},
    'jitter': {'jitter': 0.001},
    'jitter-3ms': {'jitter': 0.003},
    'dropped': {'dropped': 0.1},
    'ticks': {'ticks': 96},
    'wheel-speeds': {'speeds': True},
    'torque': {'torque': True},
    'wheel-forces': {'wheel_forces': True},
    'turned-wheels': {'wheel_start': 100.0},
    'stuck-wheel': {'stuck': (2,)},
    'spin': {'slipping': (2, 3), 'slip_factor': 1.3, 'slip_duration': 1.5},
    'lock': {'slipping': (2, 3), 'slip_factor': 0.0, 'slip_duration': 1.0, 'slip_grip': 0.9},
    'false-spin': {'false_wheels': (2, 3), 'false_factor': 1.3, 'false_duration': 1.5},
    'false-lock': {'false_wheels': (2, 3), 'false_factor': 0.0, 'false_duration': 1.0},
    'gnss-50hz': {'gnss_rate': 50.0},
    'gnss-5hz': {'gnss_rate': 5.0},
    'gnss-2hz': {'gnss_rate': 2.0},
    'gnss-1hz': {'gnss_rate': 1.0},
    'no-gnss-velocity': {'no_velocity': True},
    'outage': {'outage': 10.0},
    'outage-30s': {'outage': 30.0},
    'outliers': {'outliers': 0.1},
    'start-at-speed': {'skip': 17.0},
    'north': {'heading': math.pi / 2},
    'south': {'heading': -math.pi / 2},
    'west': {'heading': math.pi},
    'off-the-datum': {'distance': 0.9},
    'far-from-datum': {'distance': 2000.0},
}


def faults_of(names: Sequence[str] | Faults) -> Faults:
    """Faults by their names, put together."""
    if isinstance(names, Faults):
        return names
    found = Faults()
    for name in names:
        if name not in CATALOGUE:
            raise UsageError(
                f'there is no fault {name!r}; there are: {", ".join(sorted(CATALOGUE))}'
            )
        found = replace(found, **CATALOGUE[name])
    return found
