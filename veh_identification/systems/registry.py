"""The systems that can be identified, observed or excited, by their names on the command line.

Each entry names a function `module:function`, imported only when it is asked for, so that
`veh-id --help` stays quick and a missing optional library hurts only who needs it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from veh_identification.errors import UsageError

IDENTIFY: dict[str, str] = {
    'car': 'veh_identification.systems.car.command:identify',
    'humanoid': 'veh_identification.systems.humanoid.command:identify',
    'parallel': 'veh_identification.systems.parallel.command:identify',
}
DESIGN: dict[str, str] = {
    'humanoid': 'veh_identification.design.humanoid.command:design',
    'car': 'veh_identification.design.car.command:design',
    'parallel': 'veh_identification.systems.parallel.command:design',
}
OBSERVE: dict[str, str] = {
    'buggy': 'veh_identification.systems.vehicle.command:observe',
    'four-bar': 'veh_identification.systems.four_bar.command:observe',
}


def load(table: dict[str, str], verb: str, system: str) -> Callable[..., Any]:
    """The function that does `verb` for `system`."""
    try:
        module, _, name = table[system].partition(':')
    except KeyError:
        raise UsageError(
            f'{verb} does not know {system!r}; it knows: {", ".join(sorted(table)) or "nothing"}'
        ) from None
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function
