"""Options of `veh-id identify humanoid`: the robot, and entries of the configuration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from veh_identification.configuration.document import Document
from veh_identification.configuration.models import validate
from veh_identification.configuration.quantities import Choice, bounds_of
from veh_identification.errors import UsageError
from veh_identification.runtime.share import share_directory
from veh_identification.systems.humanoid.configuration import Configuration
from veh_identification.systems.humanoid.robot import Robot, load_robot
from veh_identification.systems.options import option

_ENTRIES = {one.name: one for one in fields(Configuration)}
_HINTS = get_type_hints(Configuration, include_extras=True)


def entry_option(name: str, metavar: str = '') -> Any:
    """An option that replaces an entry of the configuration, with the help of that entry."""
    hint = _HINTS[name]
    words = get_args(hint) if get_origin(hint) is Literal else ()
    words = next((one.words for one in get_args(hint) if isinstance(one, Choice)), words)
    entry = _ENTRIES[name]
    shown = {'True': 'yes', 'False': 'no'}.get(str(entry.default), entry.default)
    default = f'; default: {shown}' if shown not in ('', ()) else ''
    text = f'{entry.metadata["description"]}{default}'
    return option(None, text, metavar=metavar, choices=words, **bounds_of(hint))


@dataclass(frozen=True)
class IdentifyOptions:
    """What is not given comes from the configuration, then from the defaults."""

    urdf: Path | None = option(
        None, 'the robot: its links, joints and CAD masses; needed unless it lies in the recording'
    )
    momentum: bool | None = entry_option('momentum')
    estimator: str | None = entry_option('estimator')
    loss: str | None = entry_option('loss')
    essential: bool | None = entry_option('essential')
    prior_percent: float | None = entry_option('prior_percent', 'PERCENT')
    weighed_mass: float | None = entry_option('weighed_mass', 'KG')
    weighed_sigma: float | None = entry_option('weighed_sigma', 'KG')
    anthropometry: str | None = entry_option('anthropometry')
    cutoff_hz: float | None = entry_option('cutoff_hz', 'HZ')
    sigma: tuple[float, ...] | None = entry_option('sigma', 'X')
    rate_hz: float | None = entry_option('rate_hz', 'HZ')
    gravity: float | None = entry_option('gravity', 'M/S2')
    contacts: str | None = entry_option('contacts')
    base: str | None = entry_option('base')
    feet: tuple[str, ...] | None = entry_option('feet', 'LINK')
    ground: float | None = entry_option('ground', 'M')
    joint_states: str | None = entry_option('joint_states', 'TOPIC')
    base_pose: str | None = entry_option('base_pose', 'TOPIC')
    imu: str | None = entry_option('imu', 'TOPIC')
    world_frame: str | None = entry_option('world_frame', 'FRAME')
    wrench_offset: str | None = entry_option('wrench_offset')
    tare: bool | None = entry_option('tare')
    plate_pose: bool | None = entry_option('plate_pose')
    joint_errors: bool | None = entry_option('joint_errors')
    estimate_delays: bool | None = entry_option('estimate_delays')
    lock_below: float | None = entry_option('lock_below', 'RAD')
    exclude_support: bool | None = entry_option('exclude_support')
    support_tolerance: float | None = entry_option('support_tolerance', 'SHARE')
    exclude_impacts: bool | None = entry_option('exclude_impacts')
    check_frames: bool | None = entry_option('check_frames')


@dataclass(frozen=True, eq=False)
class Subject:
    """The robot and how it is to be identified."""

    configuration: Configuration
    robot: Robot | None = None  # None: nobody has named its description yet

    @property
    def described(self) -> Robot:
        """The robot; nothing can be read without it."""
        if self.robot is None:
            raise UsageError(
                'identify humanoid needs the robot description: --urdf FILE (there is none beside '
                'the recording)'
            )
        return self.robot


def with_own_robot(subject: Subject, bags: Sequence[Path]) -> Subject:
    """The subject with the description that lies in a recording's folder, if nobody named one.

    `veh-id convert` puts one there, and the truth of a simulated recording names one.
    """
    if subject.robot is not None:
        return subject
    for bag in bags:
        for file in sorted(bag.glob('*.urdf')) if bag.is_dir() else ():
            return replace(subject, robot=load_robot(file))
        truth = bag / 'truth.json'
        named = json.loads(truth.read_text()) if truth.is_file() else {}
        name = named.get('urdf_cad') or named.get('urdf')
        if name:
            return replace(subject, robot=load_robot(share_directory() / 'config/models' / name))
    return subject


def with_options(subject: Subject, options: IdentifyOptions | None) -> Subject:
    """The subject with what was given in place of its own; checked as the entries of a file."""
    given = {} if options is None else vars(options)
    typed = {k: v for k, v in given.items() if v is not None and k in _ENTRIES}
    if typed:
        entries = {name: getattr(subject.configuration, name) for name in _ENTRIES}
        document = Document.of({**entries, **typed}, 'the options')
        subject = replace(subject, configuration=validate(Configuration, document))
    urdf = given.get('urdf')
    known = subject.robot is not None and subject.robot.path == str(urdf)
    return subject if urdf is None or known else replace(subject, robot=load_robot(urdf))
