"""Positions and efforts of a robot's joints from one bag, and wrenches below its base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from veh_identification.errors import BagError
from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.runtime.bags import BagReader, columns_of
from veh_identification.signals import TimeSeries, clean
from veh_identification.signals.glitches import rough_glitches, smooth_glitches
from veh_identification.signals.jitter import evened
from veh_identification.systems.humanoid.recording.reader import WRENCH_PATHS
from veh_identification.systems.robot.base_wrench import BaseWrench, Places, wrenches_of
from veh_identification.types import Array, BoolArray, Progress

FEWEST_SAMPLES = 50


@dataclass(frozen=True, eq=False)
class ArmRecording:
    """What one bag says of the joints that the URDF names."""

    source: str
    topic: str
    joints: tuple[str, ...]  # those of the URDF that are there, in its order
    series: TimeSeries  # positions of `joints`, then efforts of `joints`; nan: no effort
    missing: tuple[str, ...]  # joints of the URDF that are not there
    findings: tuple[Finding, ...]
    wrenches: tuple[BaseWrench, ...] = ()  # of sensors below the base, of one epoch with `series`

    @property
    def name(self) -> str:
        """Of its folder."""
        return Path(self.source).name

    @property
    def position(self) -> Array:
        """(N, joints)."""
        return self.series.values[:, : len(self.joints)]

    @property
    def effort(self) -> Array:
        """(N, joints); nan where there is none."""
        return self.series.values[:, len(self.joints) :]

    def __repr__(self) -> str:
        return f'<{len(self.series)} samples of {len(self.joints)} joints from {self.source}>'


def read_arm(
    bag: str | Path,
    joints: Sequence[str],
    topic: str,
    progress: Progress | None = None,
    places: Places | None = None,
) -> ArmRecording:
    """Joints by their names; further ones are ignored with a note.

    `places` tells which wrench topics are sensors below the base; None: none is read.
    """
    with BagReader(bag, progress=progress) as reader:
        topic = _topic(reader, topic, str(bag))
        reader.expect_type(topic, 'sensor_msgs/msg/JointState')
        sensors, told = ({}, []) if places is None else places.find(reader, str(bag))
        wanted = {topic: ['position', 'effort'], **dict.fromkeys(sensors, WRENCH_PATHS)}
        read = columns_of(reader, wanted)
        columns = read[topic]
    named = {key.partition('[')[2].rstrip(']') for key in columns.values if '[' in key}
    there = [name for name in joints if f'position[{name}]' in columns.values]
    if not there:
        raise BagError(
            f'{bag}, topic {topic}: none of the joints of the URDF ({listed(list(joints))}) has a '
            f'position, the messages name {listed(sorted(named)) or "none"}'
        )
    nothing = np.full(len(columns.stamps_ns), np.nan)
    values = np.column_stack(
        [columns.values[f'position[{name}]'] for name in there]
        + [columns.values.get(f'effort[{name}]', nothing) for name in there]
    )
    findings = [*_named(bag, topic, sorted(named - set(joints))), *told]
    series, more = _cleaned(bag, topic, columns.stamps_ns, values, there)
    wrenches, further = wrenches_of(sensors, read, series.epoch_ns)
    missing = tuple(name for name in joints if name not in there)
    found = (*findings, *more, *further)
    return ArmRecording(str(bag), topic, tuple(there), series, missing, found, wrenches)


def _topic(reader: BagReader, topic: str, bag: str) -> str:
    """The topic as the bag names it, also below one namespace."""
    present = {name.lstrip('/'): name for name, info in reader.topics.items() if info.count}
    wanted = topic.lstrip('/')
    under = [wanted] if wanted in present else [n for n in present if n.endswith(f'/{wanted}')]
    if len(under) != 1:
        there = ', '.join(sorted(present)) or 'nothing'
        raise BagError(
            f'{bag}: there is no topic {topic} with positions and efforts '
            f'(sensor_msgs/JointState), only {there}'
            if not under
            else f'{bag}: {" and ".join(under)} may be meant by {topic}: name one as joint_states'
        )
    return present[under[0]]


def _named(bag: str | Path, topic: str, others: Sequence[str]) -> list[Finding]:
    if not others:
        return []
    text = f'{bag}, {topic}: {listed(others)}: not in the URDF, ignored'
    return [Finding('note', 'other_joints', text, topic)]


def _cleaned(
    bag: str | Path, topic: str, stamps_ns: Array, values: Array, joints: Sequence[str]
) -> tuple[TimeSeries, list[Finding]]:
    """Stamps in order; samples without a position are left out, without an effort are kept."""
    count = len(joints)
    names = [f'{what}[{name}]' for what in ('position', 'effort') for name in joints]
    raw = TimeSeries.from_nanoseconds(
        stamps_ns, values, names, [''] * (2 * count), label=f'{bag}, {topic}'
    )
    # What makes a sample useless is a lacking position: an effort may be missing throughout.
    marked = TimeSeries(
        raw.stamps,
        np.column_stack([raw.values[:, :count], np.arange(len(raw))]),
        (*names[:count], 'row'),
        ('',) * (count + 1),
        raw.epoch_ns,
        raw.label,
    )
    kept, report = clean(marked)
    if len(kept) < FEWEST_SAMPLES:
        raise BagError(
            f'{bag}, topic {topic}: {len(kept)} of {len(raw)} messages give the position of all '
            f'joints ({listed(list(joints))}), which is no recording'
        )
    tidy = raw.take(kept.values[:, -1].astype(np.intp))
    even = evened(tidy.stamps, tidy.values[:, :count])
    tidy = replace(tidy, stamps=even.stamps)
    cut = glitches(tidy.stamps, tidy.values[:, :count], tidy.values[:, count:])
    findings = [*report.findings(), *even.findings(f'{bag}, {topic}', topic)]
    if cut.any():
        begin = tidy.stamps[int(np.argmax(cut))] - tidy.stamps[0]
        first = f'the first at {begin:.4g} s'
        findings.append(glitch_finding(f'{bag}, {topic}', int(cut.sum()), first, topic))
    return tidy.take(np.flatnonzero(~cut)), findings


def glitches(stamps: Array, position: Array, effort: Array) -> BoolArray:
    """Samples (N,) that hold what no joint does: one of them would spoil all estimates."""
    cut = smooth_glitches(stamps, position)
    known = np.isfinite(effort)
    whole = known.all(axis=0)
    if whole.any():
        cut |= rough_glitches(stamps, effort[:, whole])
    for k in np.flatnonzero(known.any(axis=0) & ~whole):
        there = known[:, k]
        cut[there] |= rough_glitches(stamps[there], effort[there, k : k + 1])
    return cut


def glitch_finding(label: str, count: int, when: str, where: str) -> Finding:
    """That samples were left out."""
    text = f'{label}: {count} samples about glitches are left out ({when})'
    return Finding('note', 'glitches_left_out', text, where)
