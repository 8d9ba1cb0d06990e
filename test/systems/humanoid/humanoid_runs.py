"""Short ways from bags of a humanoid to what its tests look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.runtime import messages
from veh_identification.simulation.sensors import Reading
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.identify import Identified, identify
from veh_identification.systems.humanoid.recording.reader import read_recording
from veh_identification.systems.humanoid.results.urdf import identified_urdf
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.humanoid.setup import Setup, check, set_up

GYROSCOPE, ACCELEROMETER = np.array([0.004, -0.003, 0.002]), np.array([0.03, -0.02, 0.05])


def biased(*dropped: str) -> Callable[[Reading], Reading | None]:
    """An IMU with biases, and without the given topics."""

    def change(reading: Reading) -> Reading | None:
        if reading.topic.lstrip('/') in dropped:
            return None
        if reading.topic != '/imu/data':
            return reading
        m = reading.message
        w, f = m.angular_velocity, m.linear_acceleration
        return replace(
            reading,
            message=messages.new(
                'sensor_msgs/msg/Imu',
                header=messages.header(messages.stamp_ns(m), 'imu_link'),
                orientation=(0.0, 0.0, 0.0, 1.0),
                orientation_covariance=[-1.0] + [0.0] * 8,
                angular_velocity=np.array([w.x, w.y, w.z]) + GYROSCOPE,
                linear_acceleration=np.array([f.x, f.y, f.z]) + ACCELEROMETER,
            ),
        )

    return change


def setup_of(
    bags: Sequence[Path], urdf: Path, validate: Path | None = None, **entries: Any
) -> Setup:
    """Everything before the estimate; `entries` are those of the configuration."""
    robot, configuration = load_robot(urdf), load_configuration(None, **entries)
    given = [*bags, *([] if validate is None else [validate])]
    read = [read_recording(bag, robot.moving_joints(), configuration) for bag in given]
    unseen = None if validate is None else read[-1]
    return set_up(robot, read[: len(bags)], unseen, configuration)


def identified(
    bags: Sequence[Path], urdf: Path, validate: Path | None = None, **entries: Any
) -> Identified:
    """The whole identification but its outcome."""
    return identify(setup_of(bags, urdf, validate, **entries))


def faults_of(bag: Path, urdf: Path, **entries: Any) -> list[Finding]:
    """What the checks before any fit call bad."""
    robot, configuration = load_robot(urdf), load_configuration(None, **entries)
    recording = read_recording(bag, robot.moving_joints(), configuration)
    return [one for one in check(robot, recording, configuration) if one.level == 'bad']


def urdf_of(found: Identified) -> bytes:
    """identified.urdf."""
    return identified_urdf(found.setup.problem.robot, found.fit.as_dict())


def by_code(findings: Iterable[Finding], code: str) -> list[Finding]:
    """All findings of a code."""
    return [one for one in findings if one.code == code]


def the(findings: Iterable[Finding], code: str) -> Finding:
    """The one finding of a code."""
    (found,) = by_code(findings, code)
    return found


def seconds_left_out(found: Identified, reason: str) -> float:
    """Seconds of all recordings that were left out for a reason; it must be said if there are."""
    seconds = sum(one.selection.seconds.get(reason, 0.0) for one in found.estimate.prepared)
    assert bool(seconds) == bool(by_code(found.findings, f'left_out_{reason}'))
    return seconds
