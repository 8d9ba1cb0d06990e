"""What is wrong with a configuration file: one line for each fault, all of a file at once."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from dataclasses import dataclass

from veh_identification.errors import InputError
from veh_identification.files import shortened

EntryPath = tuple[str | int, ...]
#: More faults than this mean that it is another kind of file; nobody reads them all.
MOST_SHOWN = 40

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60
_short.maxdict = _short.maxlist = _short.maxtuple = 6
_short.maxlevel = 3


#: Lists inside lists are short each, and long together.
LONGEST_VALUE = 200


def shown(value: object) -> str:
    """A value as a message shows it: on one line and never long."""
    text = _short.repr(value)
    return text if len(text) <= LONGEST_VALUE else f'{text[:LONGEST_VALUE]} ...'


def path_text(path: EntryPath) -> str:
    """`sensors.imu.position[1]` of a path of keys and indices."""
    if len(path) > 12:
        return f'{path_text(path[:6])} ... {path_text(path[-1:])}'
    text = ''
    for part in path:
        if isinstance(part, int):
            text += f'[{part}]'
            continue
        # Keys with line ends or control characters would tear the message apart.
        name = part if part.isprintable() and part.strip() and len(part) <= 60 else shown(part)
        text += f'.{name}' if text else name
    return text


@dataclass(frozen=True)
class Fault:
    """One fault: where it is (line 0: not known) and what was expected."""

    file: str
    line: int
    path: EntryPath
    text: str

    def __str__(self) -> str:
        file = shortened(self.file)
        place = f'{file}:{self.line}' if self.line else file
        entry = path_text(self.path)
        return f'{place}: {entry}: {self.text}' if entry else f'{place}: {self.text}'


class ConfigurationError(InputError):
    """A configuration file cannot be used; the text has one line for each fault."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        lines = [str(fault) for fault in self.faults[:MOST_SHOWN]]
        if len(self.faults) > MOST_SHOWN:
            more = len(self.faults) - MOST_SHOWN
            lines.append(f'{self.faults[0].file}: and {more} more of this kind')
        super().__init__('\n'.join(lines))
