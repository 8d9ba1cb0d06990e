"""Writes `veh_identification/api_options.py`: the options of every verb as types for editors.

The data classes of the systems declare the options; this only says the same in the form that
type checkers understand for keyword arguments. `make docs` writes it, a test keeps it fresh.
"""

from __future__ import annotations

from collections.abc import Iterator

from veh_identification.design import registry as designs
from veh_identification.systems import registry
from veh_identification.systems.options import OptionField, option_fields

HEAD = '''"""Options of identify, observe and design as types for editors; made by `make docs`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict
'''


def options_text() -> str:
    """The whole module."""
    parts = [HEAD]
    for title, verb, options in _verbs():
        name = f'{title}{verb.capitalize()}'
        lines = [f'class {name}(TypedDict, total=False):', f'    """Options of {verb}."""', '']
        fields = [f'    {one.name}: {_type(one)}' for one in option_fields(options)]
        parts.append('\n'.join([*lines[: 3 if fields else 2], *fields]) + '\n')
    return '\n\n'.join(parts)


def _verbs() -> Iterator[tuple[str, str, type]]:
    for entry in registry.SYSTEMS:
        for verb, options in registry.load(entry).verbs.items():
            yield _title(entry.name), verb, options
    for entry in designs.DESIGNS:
        yield _title(entry.name), 'design', designs.find(entry.name).options


def _title(name: str) -> str:
    return ''.join(part.capitalize() for part in name.split('-'))


def _type(one: OptionField) -> str:
    if one.choices:
        kind = f'Literal[{", ".join(repr(choice) for choice in one.choices)}]'
    else:
        kind = {'Path': 'str | Path'}.get(one.kind.__name__, one.kind.__name__)
    return f'Sequence[{kind}]' if one.repeated else kind
