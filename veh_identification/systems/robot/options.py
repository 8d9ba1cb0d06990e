"""Options of `veh-id identify robot`: the robot, and entries of the configuration."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from veh_identification.configuration.document import Document
from veh_identification.configuration.models import validate
from veh_identification.configuration.quantities import bounds_of
from veh_identification.errors import UsageError
from veh_identification.systems.humanoid.robot import Robot, load_robot
from veh_identification.systems.options import option
from veh_identification.systems.robot.configuration import Configuration, Payload

_ENTRIES = {one.name: one for one in fields(Configuration)}
_HINTS = get_type_hints(Configuration, include_extras=True)


def _entry(name: str, metavar: str = '') -> Any:
    """An option that replaces an entry of the configuration, with the help of that entry."""
    hint = _HINTS[name]
    words = get_args(hint) if get_origin(hint) is Literal else ()
    text = _ENTRIES[name].metadata['description']
    return option(None, text, metavar=metavar, choices=words, **bounds_of(hint))


@dataclass(frozen=True)
class IdentifyOptions:
    """What is not given comes from the configuration, then from the defaults."""

    urdf: Path | None = option(None, 'the robot: its links, joints and CAD masses (needed)')
    payload: tuple[Path, ...] = option(
        (),
        'recording of the same robot with an unknown load, whose mass, centre and inertia are '
        'found against the other recordings',
        metavar='BAG',
    )
    payload_link: str | None = option(None, 'link that these loads are fixed to', metavar='LINK')
    estimator: str | None = _entry('estimator')
    loss: str | None = _entry('loss')
    essential: bool | None = _entry('essential')
    effort: str | None = _entry('effort')
    cutoff_hz: float | None = _entry('cutoff_hz', 'HZ')
    rate_hz: float | None = _entry('rate_hz', 'HZ')
    fundamental_hz: float | None = _entry('fundamental_hz', 'HZ')
    effort_delay: float | None = _entry('effort_delay', 'S')
    gravity: tuple[float, ...] | None = _entry('gravity', 'M/S2')
    motor_inertia: bool | None = _entry('motor_inertia')
    base_wrench: str | None = _entry('base_wrench')
    joint_states: str | None = _entry('joint_states', 'TOPIC')


@dataclass(frozen=True, eq=False)
class Subject:
    """The robot and how it is to be identified."""

    configuration: Configuration
    robot: Robot | None = None  # None: nobody has named its description yet

    @property
    def described(self) -> Robot:
        """The robot; nothing can be read without it."""
        if self.robot is None:
            raise UsageError('identify robot needs the robot description: --urdf FILE')
        return self.robot


def with_options(subject: Subject, options: IdentifyOptions | None) -> Subject:
    """The subject with what was given in place of its own; checked as the entries of a file."""
    given = {} if options is None else vars(options)
    typed = {k: v for k, v in given.items() if v is not None and k in _ENTRIES}
    loads = given.get('payload') or ()
    if loads:
        link = given.get('payload_link') or ''
        known = {one.recording for one in subject.configuration.payloads}
        typed['payloads'] = [
            *subject.configuration.payloads,
            *(Payload(one.name, link) for one in loads if one.name not in known),
        ]
    if typed:
        plain = {name: getattr(subject.configuration, name) for name in _ENTRIES}
        payloads = typed.pop('payloads', None)
        nested = ('payloads', 'coupled', 'friction', 'base_sensors')
        document = Document.of(
            {k: v for k, v in {**plain, **typed}.items() if k not in nested}, 'the options'
        )
        made = validate(Configuration, document)
        kept = {name: plain[name] for name in nested}
        if payloads is not None:
            kept['payloads'] = tuple(payloads)
        subject = replace(subject, configuration=replace(made, **kept))
    urdf = given.get('urdf')
    known_robot = subject.robot is not None and subject.robot.path == str(urdf)
    return subject if urdf is None or known_robot else replace(subject, robot=load_robot(urdf))
