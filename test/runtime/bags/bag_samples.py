"""Small generated recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.qos import LATCHED

START = 1_700_000_000_000_000_000
STEP = 2_000_000
SHARED_DATA = Path(__file__).resolve().parents[4] / 'shared' / 'data'


def imu(index: int, **fields: Any) -> Any:
    """An Imu whose numbers tell its index."""
    return messages.new(
        'sensor_msgs/msg/Imu',
        header=(START + index * STEP, 'imu_link'),
        angular_velocity=(index, index + 0.25, index + 0.5),
        linear_acceleration=(0.0, -index, 9.81),
        **fields,
    )


def joints(index: int, names: list[str], positions: list[float]) -> Any:
    """A JointState."""
    return messages.new(
        'sensor_msgs/msg/JointState',
        header=(START + index * STEP, ''),
        name=names,
        position=positions,
    )


def write_sample(path: Path, count: int = 200, **options: Any) -> Path:
    """Recording with an Imu, a JointState at a quarter of its rate, and a latched result."""
    with BagWriter(path, **options) as bag:
        bag.write_message('parameters', estimates(), qos=LATCHED)
        for index in range(count):
            bag.write_message('imu/data', imu(index))
            if index % 4 == 0:
                bag.write_message('joint_states', joints(index, ['a', 'b'], [index, -index]))
    return path


def estimates() -> Any:
    """A message of our own with nested messages and texts."""
    return messages.new(
        'veh_identification/msg/ParameterEstimates',
        header=(START, ''),
        system='car',
        parameters=[
            {'name': 'Mc', 'unit': 'kg', 'value': 1500.0},
            {'name': 'k1', 'value': np.inf},
        ],
    )


def storage_file(path: Path) -> Path:
    """The one file of a recording that holds the messages."""
    (file,) = [f for f in path.iterdir() if f.name.startswith(path.name + '.')]
    return file


def flip(file: Path, position: int, count: int = 1) -> None:
    """Invert some bytes of a file."""
    data = bytearray(file.read_bytes())
    for index in range(position, position + count):
        data[index] ^= 0xFF
    file.write_bytes(bytes(data))


def cut(file: Path, size: int) -> None:
    """Keep the first bytes of a file only."""
    file.write_bytes(file.read_bytes()[:size])
