"""Sensor messages of a car, cut into chunks that are treated like short recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veh_identification.runtime.transforms import StaticFrames
from veh_identification.signals import SampleReport, TimeSeries, clean
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import JOINT_KINDS, CarRecording

#: Seconds that a chunk shares with the one before: filters cut more than that off its ends.
OVERLAP = 0.6
#: How much later than the newest stamp another sensor's sample may still arrive.
WAIT = 0.5
FEWEST = 16
JOINTS = {f'{kind}_{corner}' for kind in JOINT_KINDS for corner in CORNERS}
CHANNELS = {
    'imu': (('wx', 'wy', 'wz', 'fx', 'fy', 'fz'), ('rad/s',) * 3 + ('m/s^2',) * 3),
    'speed': (('vx', 'vy'), ('m/s',) * 2),
    'wrench': (('fx', 'fy', 'fz', 'mx', 'my', 'mz'), ('N',) * 3 + ('N m',) * 3),
}


class CarChunks:
    """Keeps the samples of the chunk that is being filled; `push` returns finished chunks."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.received: dict[str, int] = {}
        self.frames = StaticFrames()
        self.clock_jumps = 0
        self._stamps: dict[str, list[int]] = {}
        self._values: dict[str, list[Sequence[float]]] = {}
        self._begin = self._newest = 0

    def interrupt(self) -> None:
        """Throw away the chunk that is being filled."""
        self._stamps, self._values = {}, {}
        self._begin = self._newest = 0

    def push(self, name: str, stamp_ns: int, values: Sequence[float]) -> CarRecording | None:
        """Take one sample; a chunk when it is complete."""
        self.received[name] = self.received.get(name, 0) + 1
        if stamp_ns <= 0:
            return None
        if self._newest and not -1_000_000_000 < stamp_ns - self._newest < 60_000_000_000:
            self.clock_jumps += 1
            self.interrupt()
        if not self._begin:
            self._begin = stamp_ns
        self._stamps.setdefault(name, []).append(stamp_ns)
        self._values.setdefault(name, []).append(values)
        self._newest = max(self._newest, stamp_ns)
        end = self._begin + round(1e9 * self.seconds)
        if self._newest < end + round(1e9 * WAIT):
            return None
        chunk = self._recording(end)
        self._forget(end - round(1e9 * OVERLAP))
        return chunk

    def _forget(self, before_ns: int) -> None:
        for name, stamps in list(self._stamps.items()):
            kept = [k for k, stamp in enumerate(stamps) if stamp >= before_ns]
            self._stamps[name] = [stamps[k] for k in kept]
            self._values[name] = [self._values[name][k] for k in kept]
            if not kept:
                del self._stamps[name], self._values[name]
        self._begin = before_ns

    def _recording(self, end_ns: int) -> CarRecording:
        reports: list[SampleReport] = []
        epoch = self._begin

        def series(name: str, names: Sequence[str], units: Sequence[str]) -> TimeSeries | None:
            stamps = np.array(self._stamps.get(name, ()), np.int64)
            inside = stamps < end_ns
            if np.count_nonzero(inside) < FEWEST:
                return None
            values = np.array(self._values[name], float)[inside]
            raw = TimeSeries.from_nanoseconds(
                stamps[inside], values, tuple(names), tuple(units), epoch_ns=epoch, label=name
            )
            tidy, report = clean(raw)
            reports.append(report)
            return tidy if len(tidy) >= FEWEST else None

        joints = {
            name: found
            for name in sorted(self._stamps)
            if name in JOINTS
            if (found := series(name, (name,), ('',))) is not None
        }
        loads = {corner: series(f'wrench_{corner}', *CHANNELS['wrench']) for corner in CORNERS}
        wrenches = {corner: found for corner, found in loads.items() if found is not None}
        label = f'{epoch * 1e-9:.1f} s'
        return CarRecording(
            label,
            series('imu', *CHANNELS['imu']),
            series('speed', *CHANNELS['speed']),
            joints,
            wrenches,
            {},
            tuple(reports),
            self.frames,
        )


def imu_values(msg: Any) -> Sequence[float]:
    """Angular velocity and specific force."""
    w, f = msg.angular_velocity, msg.linear_acceleration
    return w.x, w.y, w.z, f.x, f.y, f.z


def speed_values(msg: Any) -> Sequence[float]:
    """Longitudinal and lateral speed."""
    v = msg.twist.linear
    return v.x, v.y


def wrench_values(msg: Any) -> Sequence[float]:
    """Force and torque."""
    f, t = msg.wrench.force, msg.wrench.torque
    return f.x, f.y, f.z, t.x, t.y, t.z


def joint_values(msg: Any) -> Mapping[str, float]:
    """Positions of the car's joints, whichever the message names."""
    if len(msg.position) != len(msg.name):
        return {}
    return {
        name: float(value)
        for name, value in zip(msg.name, msg.position, strict=True)
        if name in JOINTS
    }
