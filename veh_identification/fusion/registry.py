"""Which sensors there are: records, delays, mounts, and the time alignment that suits them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from veh_identification.errors import ParameterError
from veh_identification.fusion.merge import NANOSECONDS, MergeOptions
from veh_identification.fusion.mounts import MountTable
from veh_identification.fusion.options import FusionOptions
from veh_identification.fusion.sensor_options import ChannelOptions, WrenchOptions
from veh_identification.fusion.statistics import SensorRecord
from veh_identification.runtime.transforms import StaticFrames

MOTION_SENSORS = ('imu', 'gnss', 'gnss_velocity', 'odometry', 'speed', 'mocap')


def check_vectors(options: Any, prefix: str = '') -> None:
    """Every list of numbers among the options is a vector of three."""
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        name = f'{prefix}{field.name}'
        if dataclasses.is_dataclass(value):
            check_vectors(value, f'{name}.')
        elif isinstance(value, list) and field.type == 'list[float]' and len(value) != 3:
            raise ParameterError(f'parameter {name}: expected 3 numbers, found {len(value)}')


class SensorRegistry:
    """All sensors of one fusion."""

    def __init__(
        self,
        options: FusionOptions,
        wrenches: Mapping[str, WrenchOptions],
        channels: Mapping[str, ChannelOptions],
        frames: StaticFrames,
    ) -> None:
        self.records: dict[str, SensorRecord] = {}
        self.delays: dict[str, int] = {}
        self.mounts = MountTable(frames)
        check_vectors(options)
        for name in (*MOTION_SENSORS, 'joints'):
            sensor = getattr(options, name)
            if sensor.topic:
                self._add(name, sensor)
        wheels = options.wheels
        if wheels.names():
            if not options.joints.topic:
                raise ParameterError('parameter wheels: the wheels need joints.topic')
            self.records['wheels'] = SensorRecord('wheels', options.joints.topic, wheels.timeout)
        # The navigator asks for the IMU's activity even without one.
        self.records.setdefault('imu', SensorRecord('imu', '', options.imu.timeout))
        for name, wrench in wrenches.items():
            check_vectors(wrench, f'{name}.')
            target = options.world_frame if wrench.attached == 'world' else options.base_frame
            self.add_wrench(name, wrench, target)
        for name, channel in channels.items():
            self._add(name, channel)
        base, imu, gnss = options.base_frame, options.imu, options.gnss
        self.mounts.add('imu', imu.mount, base, imu.position, imu.orientation_rpy)
        self.mounts.add('gnss', gnss.mount, base, gnss.position, [0.0, 0.0, 0.0])

    def add_wrench(self, name: str, wrench: WrenchOptions, target: str) -> None:
        """Make a wrench known; `target` is the frame in which its pose is given."""
        self._add(name, wrench)
        self.place_wrench(name, wrench, target)

    def place_wrench(self, name: str, wrench: WrenchOptions, target: str) -> None:
        """How the pose of a wrench sensor is found."""
        # On a moving link the pose is not needed: nobody must miss it in /tf_static.
        source = 'parameters' if wrench.attached == 'link' else wrench.mount
        self.mounts.add(name, source, target, wrench.position, wrench.orientation_rpy)

    def _add(self, name: str, sensor: Any) -> None:
        if name in self.records or ':' in name:
            raise ParameterError(f'the sensor name {name!r} is used twice or not allowed')
        self.records[name] = SensorRecord(name, sensor.topic, sensor.timeout)
        self.delays[name] = round(sensor.delay * NANOSECONDS)

    def merge_options(self, options: FusionOptions) -> MergeOptions:
        """A sensor with a delay delivers older stamps than the others: wait for it as well."""
        merge = options.merge
        spread = max(self.delays.values(), default=0) - min(self.delays.values(), default=0)
        return MergeOptions(
            lag=round(merge.max_wait * NANOSECONDS) + spread,
            in_order=merge.in_order,
            max_step=round(merge.max_step * NANOSECONDS) + spread,
            max_pause=round(merge.max_pause * NANOSECONDS),
            confirm=round(merge.confirm * NANOSECONDS),
        )
