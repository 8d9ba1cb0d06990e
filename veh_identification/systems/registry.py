"""The systems by their names. Adding one is a folder and one line here.

Each line names a class `module:class`, imported only when it is asked for, so that
`veh-id --help` stays quick and a missing optional library hurts only who needs it.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from veh_identification.errors import UsageError

if TYPE_CHECKING:
    from veh_identification.systems.base import System


@dataclass(frozen=True)
class Entry:
    """What can be said of a system without importing it."""

    name: str
    place: str  # 'module:class'
    verbs: tuple[str, ...]
    summary: str
    aliases: tuple[str, ...] = ()


SYSTEMS: list[Entry] = [
    Entry(
        'car',
        'veh_identification.systems.car.system:Car',
        ('identify',),
        'the 33 parameters of a passenger car (Venture 2006, 2002)',
    ),
    Entry(
        'humanoid',
        'veh_identification.systems.humanoid.system:Humanoid',
        ('identify',),
        'whole-body parameters from contact wrenches and motion (Ayusawa 2008)',
    ),
    Entry(
        'parallel',
        'veh_identification.systems.parallel.system:ParallelRobot',
        ('identify',),
        'six-legged parallel robots from periodic excitation (Abdellatif 2009)',
        ('hexapod',),
    ),
    Entry(
        'robot',
        'veh_identification.systems.robot.system:RobotArm',
        ('identify',),
        'arms and other fixed-base trees from joint torques or currents',
        ('arm',),
    ),
    Entry(
        'vehicle',
        'veh_identification.systems.vehicle.system:FourWheelVehicle',
        ('observe',),
        'any four-wheel car with its multibody model (Sinigaglia 2016)',
        ('buggy',),
    ),
    Entry(
        'four-bar',
        'veh_identification.systems.four_bar.system:FourBar',
        ('observe',),
        'the four-bar linkage (Sinigaglia 2016, chapter 3)',
    ),
    Entry(
        'mechanism',
        'veh_identification.systems.mechanism.system:PlanarMechanism',
        ('observe',),
        'planar mechanisms of a YAML file (Sinigaglia 2016)',
    ),
]


def register(entry: Entry) -> None:
    """Add a system of one's own; one of the same name is replaced."""
    SYSTEMS[:] = [one for one in SYSTEMS if one.name != entry.name] + [entry]


def entries(verb: str) -> list[Entry]:
    """The systems that know a verb."""
    return [one for one in SYSTEMS if verb in one.verbs]


def main_verb(name: str) -> str:
    """The first verb of a system, or identify for a name that nobody knows."""
    for one in SYSTEMS:
        if name in (one.name, *one.aliases):
            return one.verbs[0]
    return 'identify'


def find(verb: str, name: str) -> System[Any, Any]:
    """The system of a name or of one of its aliases."""
    return load(chosen(verb, name, entries(verb)))


def chosen(verb: str, name: str, known: Sequence[Entry]) -> Entry:
    """The entry of a name or alias; a wrong one is answered with what is near."""
    for one in known:
        if name in (one.name, *one.aliases):
            return one
    names = [name for one in known for name in (one.name, *one.aliases)]
    near = get_close_matches(name, names, 1)
    hint = f'did you mean {near[0]!r}?' if near else f'it knows: {", ".join(names)}'
    raise UsageError(f'{verb} does not know {name!r}; {hint}')


def load(entry: Entry) -> System[Any, Any]:
    """The system of an entry."""
    made: System[Any, Any] = instance(entry)
    return made


@lru_cache(maxsize=32)
def instance(entry: Entry) -> Any:
    """What the class of an entry makes, once."""
    module, _, name = entry.place.partition(':')
    return getattr(importlib.import_module(module), name)()
