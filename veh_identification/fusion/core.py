"""The sensor fusion without ROS: samples in any order in, states on a regular grid of stamps out.

    core.push('imu', stamp_ns, (wx, wy, wz, fx, fy, fz))
    for state in core.poll(): ...

Nothing here reads a clock. A state at the instant t leaves when all samples up to t + `latency`
have been merged; the inertial filter has then used the samples up to t, the smoothing windows
those up to `latency` to both sides of t.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from veh_identification import orientations
from veh_identification.errors import EstimationError
from veh_identification.fusion.assembly import StateAssembly
from veh_identification.fusion.base_motion import Support
from veh_identification.fusion.geodesy import LocalFrame
from veh_identification.fusion.glitches import GlitchGate
from veh_identification.fusion.imu_navigation import FURTHEST
from veh_identification.fusion.instruments import Instruments
from veh_identification.fusion.joints import JointGroup, JointTable
from veh_identification.fusion.journal import Journal, Newest
from veh_identification.fusion.kept_learning import read_learning
from veh_identification.fusion.kept_motion import KeptMotion, motion_of, read_motion
from veh_identification.fusion.merge import EPOCH, LONG_AGO, NANOSECONDS, FixedLagMerge
from veh_identification.fusion.navigator import Navigator
from veh_identification.fusion.options import FusionOptions
from veh_identification.fusion.pose_track import PoseGate, PoseTrack
from veh_identification.fusion.registry import SensorRegistry
from veh_identification.fusion.satellites import SatelliteAiding, checked_datum
from veh_identification.fusion.sensor_options import ChannelOptions, WrenchOptions
from veh_identification.fusion.state import FusedState
from veh_identification.fusion.statistics import GLITCH
from veh_identification.fusion.track import Track
from veh_identification.fusion.wheel_aiding import LARGEST_DIFFERENCE, WheelAiding
from veh_identification.fusion.wheels import WheelGroup
from veh_identification.runtime.transforms import StaticFrames, Transform
from veh_identification.saved_state import SavedState
from veh_identification.signals.local_polynomial import half_width_for_cutoff
from veh_identification.types import Array

#: Core time counts from a multiple of this, so that float seconds keep their digits.
TIME_BASE = 1000 * NANOSECONDS
#: A state of an earlier process is gone on from if the samples begin so soon behind it, or are not
#: earlier by more than this [ns].
LONGEST_GAP, EARLIER = 60 * NANOSECONDS, NANOSECONDS
#: Of the extent of forces and accelerations: smaller jumps may be impacts, not glitches.
IMPACTS = 1.0


class FusionCore:
    """Time alignment, estimation and output."""

    def __init__(
        self,
        options: FusionOptions,
        wrenches: Mapping[str, WrenchOptions] | None = None,
        channels: Mapping[str, ChannelOptions] | None = None,
        frames: StaticFrames | None = None,
    ) -> None:
        self.options = options
        self.frames = frames if frames is not None else StaticFrames()
        registry = self._registry = SensorRegistry(
            options, wrenches or {}, channels or {}, self.frames
        )
        self.mounts = registry.mounts
        self.records = registry.records
        self.delays = registry.delays
        self.epoch_steps: list[float] = []
        self.latency = options.filter.delay or half_width_for_cutoff(
            options.filter.cutoff, options.filter.order
        )
        self._latency_ns = round(self.latency * NANOSECONDS)
        self._period_ns = round(NANOSECONDS / options.rate)
        self.merge = FixedLagMerge(registry.merge_options(options))
        self.navigator = Navigator(options, self.records)
        self.satellites = SatelliteAiding(self.navigator)
        self.wheels = WheelAiding(self.navigator, options.wheels, options.max_speed)
        self._wheel_groups: list[WheelGroup] = []
        self._gates: list[GlitchGate] = []
        self._imu_gate = self._gate(6, IMPACTS)
        self._imu_track = self._track(6, options.imu.timeout)
        self._pose_track = PoseTrack(self.latency, options.filter.order, options.mocap.timeout)
        self._pose_gate = PoseGate(options.mocap.max_speed, 10.0 * options.mocap.std)
        self._mocap_mount = Transform.from_rpy(
            options.mocap.position, options.mocap.orientation_rpy
        ).inverse()
        self.newest = Newest()  # of the inertial unit, joints and captured poses
        self.raw = Journal()  # of the inertial unit and of joints, as they came
        self.joints = JointTable([name for name in options.joints.names if name])
        self._unwrap = frozenset(options.joints.unwrap)
        self.instruments = Instruments(
            wrenches or {}, channels or {}, options.filter, self._track, options.base_frame
        )
        self._assembly = StateAssembly(
            options,
            self.records,
            self.navigator,
            self._imu_track,
            self._pose_track,
            self.joints,
            self.instruments,
        )
        self._imu_record = self.records['imu']
        self._mount_version = -1
        self._speed_point = list(options.speed.position)
        self._origin: int | None = None
        self._kept: KeptMotion | None = None
        self._handlers: dict[str, Callable[[float, tuple[float, ...]], None]] = {
            **{name: self._instrument(name) for name in self.instruments.tracks},
            'imu': self._imu,
            'gnss': self.satellites.fix,
            'gnss_velocity': self.satellites.velocity,
            'odometry': self.navigator.odometry,
            'speed': self._speed,
            'mocap': self._mocap,
        }
        self.reset()

    # Set-up -------------------------------------------------------------------------------------

    def _track(self, channels: int, timeout: float) -> Track:
        return Track(channels, self.latency, self.options.filter.order, timeout)

    def _gate(self, channels: int, share: float = 0.0) -> GlitchGate:
        gate = GlitchGate(channels, share)
        self._gates.append(gate)
        return gate

    def add_joint_group(
        self, key: str, names: list[str], has_position: bool, has_velocity: bool
    ) -> None:
        """Make a set of joints known; `key` is then the stream of their samples."""
        channels = len(names) * (int(has_position) + int(has_velocity))
        track = self._track(channels, self.options.joints.timeout)
        group = JointGroup(names, has_position, has_velocity, track, self._unwrap)
        self.joints.add_group(key, group)
        record = self.records['joints']
        wheels, aiding = self.wheels.group(names, has_position), self.wheels
        # Wheels are judged by their innovations, and may count anew at each turn.
        gate = self._gate(channels) if wheels is None else None
        if wheels is not None:
            self._wheel_groups.append(wheels)

        def handle(time: float, values: tuple[float, ...]) -> None:
            values = group.unwrapped(values)
            if gate is not None:
                self.newest.note(key, time, values)
            else:
                self.raw.note(key, time, values)
            if gate is not None and gate.leaves_out(time, np.array(values)):
                record.skip(GLITCH)
                return
            group.track.add(time, values)
            record.used += 1
            record.last_used = time
            if wheels is not None:
                found = wheels.add(time, values)
                if found is not None:
                    aiding.speeds(time, *found)

        self._handlers[key] = handle

    def add_wrench(self, name: str, wrench: WrenchOptions, target: str) -> None:
        """Make a wrench known that comes late, or understand one in another way."""
        if name in self.records:
            self._registry.place_wrench(name, wrench, target)
            self.instruments.add_wrench(name, wrench)
        else:
            self._registry.add_wrench(name, wrench, target)
            self.instruments.add_wrench(name, wrench)
            self._handlers[name] = self._instrument(name)
        self._mount_version = -1

    def show_wrenches(self, names: list[str]) -> None:
        """The wrenches that states hold from now on."""
        self.instruments.show(names)
        self.refresh_mounts()

    def set_world(self, before: str, after: str) -> None:
        """The world has got its name."""
        self.mounts.retarget(before, after)
        self._mount_version = -1

    def _instrument(self, name: str) -> Callable[[float, tuple[float, ...]], None]:
        instruments, record = self.instruments, self.records[name]
        gate = self._gate(instruments.tracks[name].channels, IMPACTS)

        def handle(time: float, values: tuple[float, ...]) -> None:
            if gate.leaves_out(time, np.array(values)):
                record.skip(GLITCH)
                return
            instruments.add(name, time, values)
            record.used += 1
            record.last_used = time

        return handle

    def set_frame_id(self, name: str, frame_id: str) -> None:
        """The frame that a sensor's messages name; its pose is looked up again."""
        self.mounts.set_frame_id(name, frame_id)
        self._mount_version = -1

    # Input --------------------------------------------------------------------------------------

    def push(
        self, name: str, stamp_ns: int, values: tuple[float, ...], key: str | None = None
    ) -> bool:
        """Take one checked sample of a sensor; `key` tells streams of one sensor apart.

        Returns whether `poll` may find a state, or so many samples that they should not wait: to
        poll only then saves most of its work, and the states are the same.
        """
        return self.merge.push(key or name, stamp_ns - self.delays[name], values)

    def reset(self) -> None:
        """Start over; counters, biases and datum stay."""
        self._kept = None
        self.merge.reset()
        self._restart()

    def _restart(self) -> None:
        self._snapshots: deque[tuple[int, Array | None, Support]] = deque()
        self._next_stamp: int | None = None
        #: The first stamp at which a snapshot is taken or a state can leave.
        self._next_event = self.merge.due = LONG_AGO
        #: Of the newest sample in use [ns]; 0 before the first.
        self.last_stamp = 0
        self.navigator.reset()
        self.navigator.journal.reset()
        self.newest.reset()
        self.raw.reset()
        self.satellites.reset()
        self.wheels.reset()
        for group in self._wheel_groups:
            group.reset()
        self._imu_track.reset()
        self._pose_track.reset()
        self._pose_gate.reset()
        self.joints.reset()
        self.instruments.reset()
        for gate in self._gates:
            gate.reset()
        self._assembly.reset()
        for record in self.records.values():
            record.forget_time()

    def poll(self) -> list[FusedState]:
        """Everything that can leave now, in order of stamps."""
        states: list[FusedState] = []
        handlers, frames = self._handlers, self.frames
        for stamp, key, values in self.merge.drain():
            if key == EPOCH:
                self._outputs(self.last_stamp, states)
                self.epoch_steps.append(values[0] / NANOSECONDS)
                # What made the stamps jump may have spoilt what was learnt until it was seen.
                self.navigator.filter.renew_biases()
                self._restart()
                continue
            if self._next_stamp is None:
                self._begin(stamp)
            elif stamp > self._next_event:
                self._outputs(stamp - 1, states)
            self.last_stamp = stamp
            if self._mount_version != frames.version:
                self.refresh_mounts()
                if self._kept is not None and not self.navigator.filter.ready:
                    self._go_on(stamp)  # once more if a mount has made it start over
            handlers[key]((stamp - self._origin) * 1e-9, values)  # type: ignore[operator]
        watermark = self.merge.watermark
        started = watermark is not None and self._next_stamp is not None
        if started and watermark >= self._next_event:  # type: ignore[operator]
            self._outputs(watermark, states)  # type: ignore[arg-type]
        return states

    def _begin(self, stamp: int) -> None:
        if self._origin is None or abs(stamp - self._origin) > 100 * TIME_BASE:
            self._origin = stamp // TIME_BASE * TIME_BASE
        self._next_stamp = -(-stamp // self._period_ns) * self._period_ns
        self._next_event = self.merge.due = self._next_stamp

    def _go_on(self, stamp: int) -> None:
        """Be where an earlier process was, if the samples follow soon."""
        kept = self._kept
        if kept is not None and -EARLIER <= stamp - kept.stamp_ns <= LONGEST_GAP:
            self.navigator.go_on(kept, self._seconds(kept.stamp_ns))
        else:
            self._kept = None

    def _seconds(self, stamp: int) -> float:
        assert self._origin is not None
        return (stamp - self._origin) * 1e-9

    def refresh_mounts(self) -> None:
        """Take over static transforms that arrived; a sensor that moves restarts the attitude."""
        self._mount_version = self.frames.version
        imu = self.mounts.resolve('imu') or Transform()
        if imu != self.navigator.imu_mount:
            self.navigator.set_imu_mount(imu)
            self.navigator.reset()
            self._imu_track.reset()
        speed = self.options.speed
        if not any(speed.position) and self.frames.connected(self.options.base_frame, speed.frame):
            pose = self.frames.lookup(self.options.base_frame, speed.frame)
            self._speed_point = list(pose.translation)
            self.navigator.forget_lever('speed')
        antenna = self.mounts.resolve('gnss')
        self.satellites.antenna = np.array((antenna or Transform()).translation)
        self.instruments.resolve(self.mounts)

    # Storage ------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What a restart should know: biases, calibration, datum; EstimationError before that."""
        found = self.navigator.filter
        if not found.P[9:15, 9:15].any():
            raise EstimationError('nothing is estimated yet')
        frame = self.satellites.local_frame
        datum = [] if frame is None else [*astuple(frame.datum)]
        wheels = {one.name: (one.difference, one.tick) for one in self.wheels.wheels}
        return {
            **self._motion(),
            **replace(self.navigator.learnt(), wheels=wheels).entries(),
            'calibration': found.x[10:].copy(),
            'covariance': found.P[9:, 9:].copy(),
            'datum': np.array(datum, float),
        }

    def _motion(self) -> dict[str, Any]:
        """Where the vehicle is, once that is known."""
        navigator, origin = self.navigator, self._origin
        if origin is None or not navigator.located:
            return {}
        stamp = origin + round(navigator.filter.time * NANOSECONDS)
        return motion_of(navigator.filter, stamp).entries()

    def restore(self, stored: SavedState) -> str:
        """Let the next start know what `state` gave; returns what was found, in words."""
        filter_ = self.navigator.filter
        size = len(filter_.x) - 10
        values = stored.array('calibration', (size,))
        covariance = stored.covariance('covariance', size)
        kept = read_motion(stored, self.options.max_speed, FURTHEST)
        learnt = read_learning(stored, LARGEST_DIFFERENCE)
        datum = stored.array('datum', (None,)).tolist()
        with stored.tried():
            place = checked_datum(datum) if datum else None
        filter_.x[10:], filter_.P[9:, 9:] = values, covariance
        self._kept = kept
        if learnt is not None:
            self.navigator.know(learnt)
            learnt.give_wheels(self.wheels.wheels)
        if place is not None and not self.options.gnss.fixed_datum:
            self.satellites.local_frame = LocalFrame(place)
        told = 'biases and calibration'
        if kept is not None:
            told += ', place and attitude if the samples follow soon'
        return told + ('' if place is None else ', and the datum')

    # Condition ----------------------------------------------------------------------------------

    def is_active(self, name: str) -> bool:
        """Whether a sensor was used within its timeout before the newest merged sample."""
        if self._origin is None:
            return False
        return self.records[name].active_at(self._seconds(self.last_stamp))

    def has_state(self) -> bool:
        """Whether there is an attitude or a captured pose."""
        return self.navigator.filter.ready or ('mocap' in self.records and self.is_active('mocap'))

    def wheels_begun_anew(self) -> list[str]:
        """Wheels whose angles begin anew after each turn."""
        return [name for group in self._wheel_groups for name in group.begun_anew]

    def is_too_slow(self, name: str) -> bool:
        """Whether the smoothing window holds too few samples of a sensor."""
        tracks: list[Track] = []
        if name == 'imu':
            tracks = [self._imu_track]
        elif name == 'joints':
            tracks = [group.track for group in self.joints.groups.values()]
        elif name in self.instruments.tracks:
            tracks = [self.instruments.tracks[name]]
        return any(track.too_slow for track in tracks)

    # Sensors ------------------------------------------------------------------------------------

    def _imu(self, time: float, values: tuple[float, ...]) -> None:
        self.newest.note('imu', time, values[:6])
        self.raw.note('imu', time, values[:6])
        # Gravity is never missing from all axes at once: a driver without data sends zeros.
        empty = not any(values[:6]) and self._shows_gravity
        if empty or self._imu_gate.leaves_out(time, np.array(values[:6])):
            self._imu_record.skip(GLITCH)
            return
        if self.navigator.imu_directly(time, values, self._imu_track):
            return
        self._imu_record.used += 1
        sample = self.navigator.to_base(values)
        self._imu_track.add(time, sample)
        measured = None if len(values) == 6 else (values[6], values[7], values[8], values[9])
        self.navigator.imu(time, sample, measured)

    def _speed(self, time: float, values: tuple[float, ...]) -> None:
        o = self.options.speed
        sigma = values[3] if len(values) > 3 else o.std
        self.navigator.body_velocity(
            'speed', time, values, o.axes, self._speed_point, sigma, o.gate
        )

    @property
    def _shows_gravity(self) -> bool:
        state = self.navigator.filter
        return bool(state.ready and not state.gravity_removed)

    @property
    def pose_speed(self) -> float:
        """The usual speed of motion capture where no body moves like that, else zero."""
        return self._pose_gate.too_fast

    def _mocap(self, time: float, values: tuple[float, ...]) -> None:
        x, y, z, qx, qy, qz, qw = values
        self.newest.note('mocap', time, values)
        pose = Transform((x, y, z), orientations.normalise((qx, qy, qz, qw))) @ self._mocap_mount
        if not self._pose_gate.passes(time, pose.translation):
            self.records['mocap'].skip('jumps')
            return
        self._pose_track.add(time, pose.translation, pose.rotation)
        if self.options.imu.topic:
            self.navigator.mocap(time, np.array(pose.translation), pose.rotation)
        else:
            record = self.records['mocap']
            record.used += 1
            record.last_used = time

    # Output -------------------------------------------------------------------------------------

    def _outputs(self, limit: int, states: list[FusedState]) -> None:
        """Take the snapshots up to `limit`; add the states whose windows are complete there."""
        assert self._next_stamp is not None
        snapshots = self._snapshots
        while True:
            due = snapshots[0][0] + self._latency_ns if snapshots else None
            if self._next_stamp <= limit and (due is None or self._next_stamp <= due):
                time = self._seconds(self._next_stamp)
                snapshots.append((self._next_stamp, *self._assembly.snapshot(time)))
                self._next_stamp += self._period_ns
            elif due is not None and due <= limit:
                stamp, snapshot, support = snapshots.popleft()
                time = self._seconds(stamp)
                states.append(self._assembly.state(stamp, time, snapshot, support))
            else:
                event = self._next_stamp if due is None else min(self._next_stamp, due)
                self._next_event = self.merge.due = event
                return
