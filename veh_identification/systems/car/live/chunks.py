"""Sensor messages of a car, cut into chunks that are treated like short recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from veh_identification.runtime.transforms import StaticFrames
from veh_identification.signals import SampleReport, TimeSeries, clean
from veh_identification.signals.hygiene import Signal, possible
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import JOINT_KINDS, CarRecording
from veh_identification.systems.live import SensorCounts
from veh_identification.types import Array, BoolArray, IntArray

#: Seconds that a chunk shares with the one before: filters cut more than that off its ends.
OVERLAP = 0.6
#: How much later than the newest stamp another sensor's sample may still arrive.
WAIT_NS = 500_000_000
FEWEST = 16
#: Shorter than this, the end of a recording says nothing.
LEAST_SECONDS = 5.0
#: Samples of a sensor that wait at most.
MOST_SAMPLES = 500_000
JOINTS = {f'{kind}_{corner}' for kind in JOINT_KINDS for corner in CORNERS}
CHANNELS = {
    'imu': (('wx', 'wy', 'wz', 'fx', 'fy', 'fz'), ('rad/s',) * 3 + ('m/s^2',) * 3),
    'speed': (('vx', 'vy'), ('m/s',) * 2),
    'wrench': (('fx', 'fy', 'fz', 'mx', 'my', 'mz'), ('N',) * 3 + ('N m',) * 3),
}


@dataclass(frozen=True)
class Waiting:
    """Samples of one sensor that wait in a chunk."""

    stamps: IntArray
    values: Array
    fresh: BoolArray


@dataclass
class _Buffer:
    """Samples of one sensor; `fresh` ones have not been in a chunk yet."""

    stamps: list[int] = field(default_factory=list)
    values: list[Sequence[float]] = field(default_factory=list)
    fresh: list[bool] = field(default_factory=list)
    counts: SensorCounts = field(default_factory=SensorCounts)
    cut: tuple[int, int] = (0, 0)  # good and other samples of the chunk that was cut last

    def clear(self) -> None:
        """Throw samples away; those that were in no chunk are lost."""
        self.counts.rejected += sum(self.fresh)
        self.stamps, self.values, self.fresh = [], [], []

    def forget(self, before_ns: int) -> None:
        """Keep later samples."""
        kept = [k for k, stamp in enumerate(self.stamps) if stamp >= before_ns]
        self.stamps = [self.stamps[k] for k in kept]
        self.values = [self.values[k] for k in kept]
        self.fresh = [self.fresh[k] for k in kept]

    def held(self) -> Waiting:
        """All samples as arrays of their own."""
        return Waiting(
            np.array(self.stamps, np.int64), np.array(self.values, float), np.array(self.fresh)
        )

    def refill(self, held: Waiting) -> None:
        """Go on from samples that an earlier run held; they were received, if not by this one."""
        self.stamps, self.fresh = held.stamps.tolist(), held.fresh.tolist()
        self.values = [tuple(row) for row in held.values.tolist()]
        self.counts.received += int(np.count_nonzero(held.fresh))

    def count_cut(self, end_ns: int, taken: IntArray) -> None:
        """Look at the fresh samples of a chunk: numbers, and stamps that were taken, once."""
        stamps = np.array(self.stamps, np.int64)
        inside = stamps < end_ns
        fresh = inside & np.array(self.fresh, bool)
        finite = possible(np.array(self.values, float)).all(axis=1)
        good = stamps[fresh & finite]
        once = len(np.intersect1d(good, taken))
        self.counts.invalid += int(np.sum(fresh & ~finite))
        self.cut = once, int(np.sum(fresh & finite)) - once
        self.fresh = (np.array(self.fresh, bool) & ~inside).tolist()


class CarChunks:
    """Keeps the samples of the chunk that is being filled; `push` returns finished chunks.

    Whoever takes a chunk says by `settle` whether it was used.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self._span_ns = seconds, round(1e9 * seconds)
        self.frames = StaticFrames()
        self.clock_jumps = 0
        self._buffers: dict[str, _Buffer] = {}
        self.begin_ns = self.newest_ns = 0
        self.cut = False  # whether a chunk ended where the present one begins

    def interrupt(self) -> None:
        """Throw away the chunk that is being filled."""
        for one in self._buffers.values():
            one.clear()
        self.begin_ns = self.newest_ns = 0
        self.cut = False

    def held(self) -> dict[str, Waiting]:
        """The samples of every sensor that has any."""
        return {name: one.held() for name, one in self._buffers.items() if one.stamps}

    def go_on(self, begin_ns: int, newest_ns: int, cut: bool, held: Mapping[str, Waiting]) -> None:
        """Fill the chunk with what an earlier run held."""
        self.interrupt()
        for name, one in held.items():
            self._buffers.setdefault(name, _Buffer()).refill(one)
        self.begin_ns, self.newest_ns, self.cut = begin_ns, newest_ns, cut

    def push(self, name: str, stamp_ns: int, values: Sequence[float]) -> CarRecording | None:
        """Take one sample; a chunk when it is complete."""
        buffer = self._buffers.get(name)
        if buffer is None:
            buffer = self._buffers[name] = _Buffer()
        buffer.counts.received += 1
        if stamp_ns <= 0:
            buffer.counts.invalid += 1
            return None
        if self.newest_ns and not -1_000_000_000 < stamp_ns - self.newest_ns < 60_000_000_000:
            self.clock_jumps += 1
            self.interrupt()
        if len(buffer.stamps) >= MOST_SAMPLES:  # the clock does not move on
            self.interrupt()
        if self.cut and stamp_ns < self.begin_ns:
            buffer.counts.late += 1
            return None
        if not self.begin_ns:
            self.begin_ns = stamp_ns
        buffer.stamps.append(stamp_ns)
        buffer.values.append(values)
        buffer.fresh.append(True)
        if stamp_ns > self.newest_ns:
            self.newest_ns = stamp_ns
        end = self.begin_ns + self._span_ns
        if self.newest_ns < end + WAIT_NS:
            return None
        return self._cut_at(end)

    def rest(self) -> CarRecording | None:
        """What waits, as a chunk of its own, if it is long enough to say something."""
        if self.newest_ns - self.begin_ns < round(1e9 * LEAST_SECONDS):
            return None
        return self._cut_at(self.newest_ns + 1)

    def settle(self, used: bool) -> None:
        """The chunk that was handed out last was used, or not."""
        for one in self._buffers.values():
            good, other = one.cut
            one.counts.used += good if used else 0
            one.counts.rejected += other if used else good + other
            one.cut = 0, 0

    def counts(self) -> dict[str, SensorCounts]:
        """What became of the samples, by sensor."""
        return {
            name: replace(one.counts, waiting=sum(one.fresh) + sum(one.cut))
            for name, one in sorted(self._buffers.items())
        }

    def _cut_at(self, end: int) -> CarRecording:
        chunk = self._recording(end)
        before = end - round(1e9 * OVERLAP)
        for one in self._buffers.values():
            one.forget(before)
        self.begin_ns, self.cut = before, True
        return chunk

    def _recording(self, end_ns: int) -> CarRecording:
        reports: list[SampleReport] = []
        epoch = self.begin_ns

        def series(
            name: str, names: Sequence[str], units: Sequence[str], signal: Signal = 'impacts'
        ) -> TimeSeries | None:
            buffer = self._buffers.get(name)
            if buffer is None or not buffer.stamps:
                return None
            stamps = np.array(buffer.stamps, np.int64)
            inside = stamps < end_ns
            tidy = None
            if np.count_nonzero(inside) >= FEWEST:
                values = np.array(buffer.values, float)[inside]
                raw = TimeSeries.from_nanoseconds(
                    stamps[inside], values, tuple(names), tuple(units), epoch_ns=epoch, label=name
                )
                tidy, report = clean(raw, signal=signal)
                reports.append(report)
                tidy = tidy if len(tidy) >= FEWEST else None
            taken = np.zeros(0) if tidy is None else np.rint(1e9 * tidy.stamps)
            buffer.count_cut(end_ns, epoch + taken.astype(np.int64))
            return tidy

        joints = {
            name: found
            for name in sorted(self._buffers)
            if name in JOINTS
            if (found := series(name, (name,), ('',), 'smooth')) is not None
        }
        loads = {corner: series(f'wrench_{corner}', *CHANNELS['wrench']) for corner in CORNERS}
        wrenches = {corner: found for corner, found in loads.items() if found is not None}
        label = f'{epoch * 1e-9:.1f} s'
        return CarRecording(
            label,
            series('imu', *CHANNELS['imu']),
            series('speed', *CHANNELS['speed'], 'smooth'),
            joints,
            wrenches,
            reports=tuple(reports),
            frames=self.frames,
        )


#: What is read of the messages of a sensor, in the order of its channels.
FIELDS = {
    'imu': tuple(
        f'{vector}.{axis}'
        for vector in ('angular_velocity', 'linear_acceleration')
        for axis in 'xyz'
    ),
    'speed': ('twist.linear.x', 'twist.linear.y'),
    'wrench': tuple(f'wrench.{vector}.{axis}' for vector in ('force', 'torque') for axis in 'xyz'),
    'joints': ('name', 'position[]'),
}


def joint_values(names: Sequence[str], positions: Sequence[float]) -> Mapping[str, float]:
    """Positions of the car's joints, whichever the message names."""
    if len(positions) != len(names) or len(set(names)) != len(names):
        return {}
    return {name: value for name, value in zip(names, positions, strict=True) if name in JOINTS}
