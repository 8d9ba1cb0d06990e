"""A message as text for people: YAML, as `ros2 topic echo` prints it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import yaml

from veh_identification.errors import MessageError


def plain(value: Any, longest: int | None = None) -> Any:
    """A message of the rosbags backend as dictionaries, lists and numbers.

    Arrays keep their first `longest` entries; what was left out is said in their place.
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in fields(value) if not one.name.startswith('__')]
        return {name: plain(getattr(value, name), longest) for name in names}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple, np.ndarray)):
        shown = [plain(one, longest) for one in value[:longest]]
        left = len(value) - len(shown)
        return [*shown, f'... {left} more'] if left else shown
    return value


def field_of(message: Any, path: str) -> Any:
    """The part of a message that `pose.position.x` names; a wrong name lists the right ones."""
    for name in path.split('.'):
        known = [one.name for one in fields(message)] if is_dataclass(message) else []
        if name not in known:
            there = ', '.join(one for one in known if not one.startswith('__')) or 'no further one'
            raise MessageError(f'field {path}: there is no {name!r} here; there are: {there}')
        message = getattr(message, name)
    return message


def text_of(message: Any, longest: int | None = None) -> str:
    """YAML with a line for every field, arrays in one line."""
    found = plain(message, longest)
    if not isinstance(found, (dict, list)):
        return f'{found}\n'
    return yaml.safe_dump(found, sort_keys=False, default_flow_style=None, width=10_000)
