"""A first description of a machine: the template, and what a recording tells beside it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

from veh_identification.errors import UsageError
from veh_identification.runtime.bags import BagReader, named_joints
from veh_identification.runtime.share import share_directory
from veh_identification.runtime.transforms import StaticFrames, read_static_frames
from veh_identification.systems import registry


def description_text(name: str, bag: Path | None = None) -> str:
    """The template of a system as text; what the recording tells stands in comments on top."""
    system = registry.find(registry.main_verb(name), name)
    if not system.template:
        raise UsageError(f'{system.name} needs no description')
    text = (share_directory() / 'config' / system.template).read_text('utf-8')
    # The schema lies beside the template; a file elsewhere would not find it there.
    lines = [line for line in text.splitlines() if not line.startswith('# yaml-language-server')]
    return '\n'.join([*(told_by(bag) if bag is not None else []), *lines]) + '\n'


def told_by(bag: Path) -> list[str]:
    """Comment lines on topics, rates, frames and static transforms of a recording."""
    with BagReader(bag, on_error='skip') as reader:
        info = reader.info()[0]
        lines = [f'# What {bag.name} tells ({info.duration:.1f} s):']
        for topic, entry in reader.topics.items():
            rate = (entry.count - 1) / info.duration if info.duration and entry.count > 1 else 0.0
            frame = _frame(reader, topic) if entry.has_header and entry.count else ''
            place = f', frame {frame}' if frame else ''
            lines.append(f'#   {topic}  {entry.typename.rpartition("/")[2]}, {rate:.4g} Hz{place}')
            lines += _joints(named_joints(reader, topic))
        static = [one for one in reader.topics if one.strip('/') == 'tf_static']
        frames, _ = read_static_frames(reader, static)
    lines += [f'#   /tf_static: {one}' for one in _transforms(frames)]
    if not static:
        lines.append('#   there is no /tf_static: sensor poses must stand in this file')
    return [*lines, '']


def _joints(names: list[str]) -> list[str]:
    text = f'joints: {", ".join(names)}'
    return textwrap.wrap(text, 98, initial_indent='#     ', subsequent_indent='#       ') * bool(
        names
    )


def _frame(reader: BagReader, topic: str) -> str:
    first = next(iter(reader.messages([topic])), None)
    header = getattr(getattr(first, 'message', None), 'header', None)
    return str(getattr(header, 'frame_id', ''))


def _transforms(frames: StaticFrames) -> list[str]:
    found = []
    for child, (parent, transform) in sorted(frames.edges().items()):
        place = ' '.join(f'{one:.4g}' for one in transform.translation)
        turn = ' '.join(f'{one:.4g}' for one in np.degrees(transform.rpy))
        found.append(f'{parent} -> {child}: x y z {place} m, roll pitch yaw {turn} deg')
    return found
