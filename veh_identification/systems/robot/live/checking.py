"""The offline checks on the last seconds of a live estimate."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from veh_identification.checks.slices import Slices
from veh_identification.findings import Finding
from veh_identification.identification.repetition import CLUSTER_SECONDS, period_of
from veh_identification.signals import TimeSeries
from veh_identification.signals.jitter import evened
from veh_identification.systems.robot.checks.channels import sensor_findings
from veh_identification.systems.robot.checks.fit import (
    Fitted,
    Told,
    change_slices,
    common_delay,
    error_slices,
    told_of,
)
from veh_identification.systems.robot.checks.whole import whole_slices
from veh_identification.systems.robot.model import ArmModel
from veh_identification.systems.robot.recording import ArmRecording
from veh_identification.types import Array, BoolArray, IntArray

#: Seconds of samples and of rows that are checked together.
SECONDS = 30.0
TOPIC = 'joint_states'


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that came together, with the motion at their moments."""

    stamps_ns: IntArray
    motion: tuple[Array, Array, Array]
    W: Array
    Y: Array
    slides: BoolArray


class Memory:
    """Samples and rows of the last seconds."""

    def __init__(self, model: ArmModel) -> None:
        self.model = model
        self._samples: deque[tuple[int, Array]] = deque()
        self._blocks: deque[Block] = deque()

    def clear(self) -> None:
        """Nothing that came counts any more."""
        self._samples.clear()
        self._blocks.clear()

    def sample(self, stamp_ns: int, values: Array) -> None:
        """Positions and torques of one moment."""
        self._samples.append((stamp_ns, values))
        while stamp_ns - self._samples[0][0] > 1e9 * SECONDS:
            self._samples.popleft()

    def without(self, stamps_ns: IntArray) -> None:
        """Some of the newest samples turned out to be glitches."""
        glitches, kept = set(stamps_ns.tolist()), []
        while self._samples and self._samples[-1][0] >= int(stamps_ns[0]):
            kept.append(self._samples.pop())
        self._samples.extend(one for one in reversed(kept) if one[0] not in glitches)

    def rows(self, block: Block) -> None:
        """Rows that joined the estimate."""
        self._blocks.append(block)
        last = int(block.stamps_ns[-1])
        while last - int(self._blocks[0].stamps_ns[-1]) > 1e9 * SECONDS:
            self._blocks.popleft()

    def recording(self) -> ArmRecording | None:
        """The samples as the reader of bags would give them."""
        if len(self._samples) < 2:
            return None
        joints = self.model.joints
        stamps = np.array([stamp for stamp, _ in self._samples])
        values = np.stack([value for _, value in self._samples])
        values[:, len(joints) :] = np.where(self.model.measured, values[:, len(joints) :], np.nan)
        names = [f'{what}[{name}]' for what in ('position', 'effort') for name in joints]
        series = TimeSeries.from_nanoseconds(stamps, values, names, [''] * len(names))
        series = replace(series, stamps=evened(series.stamps, values[:, : len(joints)]).stamps)
        return ArmRecording('live', TOPIC, joints, series, (), ())

    def fitted(self, value: Array) -> Fitted | None:
        """The rows beside values of their unknowns."""
        if not self._blocks:
            return None
        stamps = np.concatenate([one.stamps_ns for one in self._blocks])
        times = 1e-9 * (stamps - stamps[0])
        q, qd, qdd = (np.concatenate([one.motion[k] for one in self._blocks]) for k in range(3))
        W = np.concatenate([one.W for one in self._blocks])
        Y = np.concatenate([np.where(one.slides, one.Y, np.nan) for one in self._blocks])
        slope, step = _slope(times, W @ value)
        period = period_of(q, step) if step else 0.0
        phase = times % period if period else times
        clusters = np.floor(phase / CLUSTER_SECONDS).astype(np.int64)
        return Fitted(self.model, times, q, qd, qdd, W, Y, value, slope, clusters)

    def moved(self, fitted: Fitted, delay: float) -> None:
        """The efforts of the rows are taken from that much later on (s)."""
        begin, blocks = 0, []
        for one in self._blocks:
            end = begin + len(one.Y)
            later = one.Y + delay * fitted.slope[begin:end]
            blocks.append(Block(one.stamps_ns, one.motion, one.W, later, one.slides))
            begin = end
        self._blocks = deque(blocks)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Of the last seconds."""
        return tuple(self._blocks)


def _slope(times: Array, values: Array) -> tuple[Array, float]:
    """Time derivative of rows, none across gaps; also their usual step (s)."""
    made = np.zeros_like(values)
    if len(times) < 3:
        return made, 0.0
    steps = np.diff(times)
    usual = float(np.median(steps))
    edges = [0, *(np.flatnonzero(steps > 1.5 * usual) + 1), len(times)]
    for begin, end in pairwise(edges):
        if end - begin > 2:
            made[begin:end] = np.gradient(values[begin:end], times[begin:end], axis=0)
    return made, usual


def channel_slices(memory: Memory) -> Slices[list[Finding]]:
    """Single channels, and motion and efforts together."""
    recording = memory.recording()
    if recording is None:
        return []
    robot, configuration = memory.model.robot, memory.model.configuration
    found = sensor_findings(robot, recording)
    yield
    if any(one.level == 'bad' for one in found):
        return found  # the cause; what follows from it is no news
    return [*found, *(yield from whole_slices(robot, [recording], configuration))]


def row_slices(memory: Memory, value: Array) -> Slices[list[Finding]]:
    """What the fit of the last seconds says of sensors and description."""
    fitted = memory.fitted(value)
    if fitted is None:
        return []
    changed = yield from change_slices(fitted, TOPIC)
    return changed or (yield from error_slices(fitted, TOPIC))


def delay_of(memory: Memory, value: Array) -> tuple[Told, Fitted] | None:
    """How late all efforts are (ms) beyond what is applied, and the rows that say it."""
    fitted = memory.fitted(value)
    if fitted is None:
        return None
    told = told_of(fitted, common_delay(fitted, TOPIC))
    return None if told is None else (told, fitted)
