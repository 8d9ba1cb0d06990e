"""The designs by the names of their systems. Adding one is a folder and one line here."""

from __future__ import annotations

import importlib
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

from veh_identification.errors import UsageError
from veh_identification.systems.registry import Entry

if TYPE_CHECKING:
    from veh_identification.design.base import Design

DESIGNS: tuple[Entry, ...] = (
    Entry(
        'car',
        'veh_identification.design.car.design:CarDesign',
        ('design',),
        'which steering sine, speed and duration bring standard deviations below wanted ones',
    ),
    Entry(
        'humanoid',
        'veh_identification.design.humanoid.design:HumanoidDesign',
        ('design',),
        'motions on both feet and on each one that excite every parameter',
    ),
    Entry(
        'parallel',
        'veh_identification.design.parallel.design:ParallelDesign',
        ('design',),
        'periodic excitation under the limits of the legs (Abdellatif 2009, section 4)',
        ('hexapod',),
    ),
)


def find(name: str) -> Design:
    """The design of a name or of one of its aliases."""
    for one in DESIGNS:
        if name in (one.name, *one.aliases):
            return load(one)
    names = [name for one in DESIGNS for name in (one.name, *one.aliases)]
    near = get_close_matches(name, names, 1)
    hint = f'did you mean {near[0]!r}?' if near else f'it knows: {", ".join(names)}'
    raise UsageError(f'design does not know {name!r}; {hint}')


@lru_cache(maxsize=32)
def load(entry: Entry) -> Design:
    """The design of an entry."""
    module, _, name = entry.place.partition(':')
    made: Design = getattr(importlib.import_module(module), name)()
    return made
