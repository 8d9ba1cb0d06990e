"""From the filter and the tracks to the fused state at one stamp."""

from __future__ import annotations

from collections.abc import Mapping

from veh_identification.fusion.base_motion import BaseMotion, Support
from veh_identification.fusion.continuous import ContinuousFrame
from veh_identification.fusion.imu_navigation import VELOCITY_SOURCES
from veh_identification.fusion.instruments import Instruments
from veh_identification.fusion.joints import JointTable
from veh_identification.fusion.navigator import Navigator
from veh_identification.fusion.options import FusionOptions
from veh_identification.fusion.pose_track import PoseTrack
from veh_identification.fusion.state import FusedState
from veh_identification.fusion.statistics import SensorRecord
from veh_identification.fusion.track import Track
from veh_identification.types import Array


class StateAssembly:
    """Two steps: a snapshot when the filter stands at the stamp, the state when the smoothing
    windows around it are complete.
    """

    def __init__(
        self,
        options: FusionOptions,
        records: Mapping[str, SensorRecord],
        navigator: Navigator,
        imu_track: Track,
        pose_track: PoseTrack,
        joints: JointTable,
        instruments: Instruments,
    ) -> None:
        self._base = BaseMotion(options)
        self._continuous = ContinuousFrame() if options.odom_frame else None
        self._navigator = navigator
        self._imu_track = imu_track
        self._pose_track = pose_track if options.mocap.topic else None
        self._joints = joints
        self._instruments = instruments
        self._imu = records['imu']
        self._mocap = records.get('mocap')
        self._odometry = records.get('odometry')
        self._velocities = [records[name] for name in VELOCITY_SOURCES if name in records]

    def snapshot(self, time: float) -> tuple[Array | None, Support]:
        """The filter's state at `time`, and what supports it."""
        navigator, mocap, odometry = self._navigator, self._mocap, self._odometry
        snapshot = navigator.snapshot(time)
        turning = odometry is not None and odometry.active_at(time)
        velocity = False
        for record in self._velocities:
            if time - record.last_used <= record.timeout:
                velocity = True
                break
        return snapshot, Support(
            self._imu.active_at(time),
            velocity,
            navigator.position_known or (mocap is not None and mocap.active_at(time)),
            navigator.heading_known and time >= navigator.distrusted_until,
            navigator.filter.gravity_removed,
            navigator.turn_rate if turning else None,
        )

    def reset(self) -> None:
        """Another time begins; the continuous frame goes on where it stands."""
        if self._continuous is not None:
            self._continuous.reset_time()

    def state(
        self, stamp: int, time: float, snapshot: Array | None, support: Support
    ) -> FusedState:
        """The whole state at a stamp of which a snapshot was taken."""
        instruments = self._instruments
        base = self._base.at(
            snapshot,
            support,
            self._imu_track.at(time) if support.imu else None,
            self._navigator.imu_point,
            None if self._pose_track is None else self._pose_track.at(time),
        )
        reading = instruments.at(time, base)
        continuous = self._continuous
        return FusedState(
            stamp,
            base,
            self._joints.at(time),
            instruments.wrench_names,
            instruments.wrench_frames,
            reading.wrenches,
            reading.wrench_valid,
            instruments.channel_names,
            reading.channels,
            reading.channel_valid,
            None if continuous is None else continuous.at(time, base),
        )
