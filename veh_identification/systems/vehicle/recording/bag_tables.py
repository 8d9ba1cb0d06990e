"""Topics of a car's recording as tables of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from veh_identification.errors import BagError
from veh_identification.runtime.bags import BagReader, columns_of
from veh_identification.runtime.bags.columns import Columns
from veh_identification.runtime.transforms import read_static_frames
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.types import Array, BoolArray, Progress

TOPICS = (
    'imu/data',
    'gps/fix',
    'gps/vel',
    'joint_states',
    'brake/pressure',
    'truth/odom',
    'truth/joint_states',
)
#: Their names in a description.
NAMED = {
    'imu/data': 'imu',
    'gps/fix': 'gps_fix',
    'gps/vel': 'gps_velocity',
    'joint_states': 'joints',
    'brake/pressure': 'brake_pressure',
}
FIX_PATHS = [
    'latitude',
    'longitude',
    'altitude',
    'status.status',
    'position_covariance_type',
    *(f'position_covariance[{k}]' for k in (0, 4, 8)),
]
STEERING = ('steering_rack', 'steering_fl', 'steering_fr', 'steering_wheel')
#: Frames of these topics tell where their sensor sits.
FRAMES = {'imu/data': 'imu', 'gps/fix': 'gps'}


def vector(name: str, axes: str = 'xyz') -> list[str]:
    """Paths of the components of a vector."""
    return [f'{name}.{axis}' for axis in axes]


def wheels(field: str) -> list[str]:
    """Paths of a field of the four wheels."""
    return [f'{field}[wheel_{corner}]' for corner in CORNERS]


def _paths(topic: str) -> list[str] | None:
    if topic == 'joint_states':
        return ['position', 'velocity', 'effort']  # of all joints: see `of_other_joints`
    if topic == 'gps/fix':
        return FIX_PATHS
    if topic == 'truth/joint_states':
        return [*wheels('position'), *wheels('velocity')]
    return None


class BagTables:
    """Columns of the topics that are there; `unusable` counts messages that cannot be used."""

    def __init__(
        self, bag: Path, progress: Progress | None, topics: Mapping[str, str] | None = None
    ) -> None:
        """`topics`: of a description, which may name them otherwise than the contract."""
        recorded = {t: (topics or {}).get(NAMED.get(t, ''), t).strip('/') for t in TOPICS}
        with BagReader(bag, on_error='skip', progress=progress) as reader:
            present = {
                name: _paths(t)
                for t, name in recorded.items()
                if f'/{name}' in reader.topics and reader.topics[f'/{name}'].count
            }
            found = columns_of(reader, present) if present else {}
            self.columns: dict[str, Columns] = {
                t: found[name] for t, name in recorded.items() if name in found
            }
            self.frames, self.problems = read_static_frames(reader)
        #: By topic: how many messages cannot be used, and of how many.
        self.unusable: dict[str, tuple[int, int]] = {}
        stamps = [
            c.stamps_ns[c.stamps_ns > 0]
            for t, c in self.columns.items()
            if not t.startswith('truth')
        ]
        if not any(s.size for s in stamps):
            raise BagError(
                f'{bag}: it holds none of the topics '
                f'{", ".join(recorded[t] for t in TOPICS[:4])} with a stamp'
            )
        self.start_ns = int(min(s.min() for s in stamps if s.size))

    @property
    def frame_ids(self) -> dict[str, str]:
        """Frame of the first message of each sensor."""
        return {
            name: self.columns[topic].frame_ids[0]
            for topic, name in FRAMES.items()
            if topic in self.columns and self.columns[topic].frame_ids
        }

    def values(self, topic: str, paths: list[str]) -> Array:
        """Values (N, columns) in the order of the recording; NaN: not there, or no stamp."""
        columns = self.columns.get(topic)
        if columns is None:
            return np.zeros((0, len(paths)))
        missing = np.full(len(columns), np.nan)
        values = np.column_stack([columns.values.get(p, missing) for p in paths]).astype(float)
        values[~np.isfinite(values)] = np.nan
        values[columns.stamps_ns <= 0] = np.nan
        return values

    def table(self, topic: str, paths: list[str]) -> tuple[Array, Array]:
        """Times [s] and values of the rows that are complete, sorted by stamp."""
        values = self.values(topic, paths)
        if not len(values):
            return np.zeros(0), values
        good = np.isfinite(values).all(axis=1)
        time = (self.columns[topic].stamps_ns[good] - self.start_ns) * 1e-9
        order = np.argsort(time, kind='stable')
        return time[order], values[good][order]

    def of_other_joints(self, topic: str, used: BoolArray) -> int:
        """Messages with numbers of joints that nobody asks for: nothing is wrong with them."""
        if topic not in self.columns:
            return 0
        columns = self.columns[topic]
        told = np.zeros(len(columns), dtype=bool)
        for values in columns.values.values():
            told |= np.isfinite(values)
        return int(np.sum(told & ~used & (columns.stamps_ns > 0)))

    def count_invalid(self, topic: str, used: int) -> None:
        """Remember how many messages of a topic could not be used."""
        if topic in self.columns:
            count = len(self.columns[topic]) + self.columns[topic].undecodable
            if count > used:
                self.unusable[topic] = count - used, count
