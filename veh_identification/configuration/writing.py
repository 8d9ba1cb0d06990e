"""Models and mappings as YAML that explains itself: for each entry what it is, and its unit.

What is written here, `reading` and `models.validate` turn into equal values again.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args, get_type_hints

import yaml

from veh_identification.configuration.faults import EntryPath
from veh_identification.configuration.quantities import (
    Components,
    Entries,
    OneOrMore,
    Quantity,
    Table,
)

WIDTH = 99
_INDENT = '  '
_Dumper: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


def to_yaml(
    content: Any,
    model: type[Any] | None = None,
    *,
    header: str = '',
    remarks: Mapping[EntryPath, str] | None = None,
    hidden: Callable[[EntryPath], bool] = lambda path: False,
) -> str:
    """YAML of a model, or of plain data whose comments `model` gives.

    `remarks` are added to the comments of entries, `hidden` entries are written as comments, and
    so are those without a value.
    """
    model = model or (type(content) if dataclasses.is_dataclass(content) else None)
    writer = _Writer(remarks or {}, hidden)
    lines = [*_comment(header, ''), *writer.mapping(plain(content), model, ())]
    return '\n'.join(lines or ['{}']) + '\n'


def plain(content: Any) -> Any:
    """Dictionaries, lists and scalars of a model."""
    if dataclasses.is_dataclass(content) and not isinstance(content, type):
        fields = [f for f in dataclasses.fields(content) if 'internal' not in f.metadata]
        return {field.name: plain(getattr(content, field.name)) for field in fields}
    if isinstance(content, Mapping):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [plain(value) for value in content]
    return content.tolist() if hasattr(content, 'tolist') else content  # NumPy's numbers


@dataclasses.dataclass(frozen=True)
class _Explained:
    """What a model says about one of its fields."""

    text: str = ''
    model: type[Any] | None = None


def _explained(model: type[Any] | None) -> dict[str, _Explained]:
    if model is None:
        return {}
    hints = get_type_hints(model, include_extras=True)
    result = {}
    for field in dataclasses.fields(model):
        unit = next((mark for mark in _units(hints[field.name]) if mark), '')
        text = str(field.metadata.get('description', ''))
        text = f'{text} [{unit}]'.lstrip() if unit else text
        result[field.name] = _Explained(text, _model(hints[field.name]))
    return result


def _units(hint: Any) -> Iterator[str]:
    for part in (*getattr(hint, '__metadata__', ()), *get_args(hint)):
        if isinstance(part, Quantity):
            yield part.dimension.unit
        elif isinstance(part, (Components, OneOrMore, Table)):
            yield part.item.dimension.unit
        elif not isinstance(part, str):
            yield from _units(part)


def _model(hint: Any) -> type[Any] | None:
    """The model of a field: itself, or that of its items."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint
    for mark in getattr(hint, '__metadata__', ()):
        if isinstance(mark, Entries):
            return mark.model
    return next((found for part in get_args(hint) if (found := _model(part))), None)


@dataclasses.dataclass(frozen=True)
class _Writer:
    remarks: Mapping[EntryPath, str]
    hidden: Callable[[EntryPath], bool]

    def mapping(self, data: Any, model: type[Any] | None, path: EntryPath) -> Iterator[str]:
        """Lines of named entries."""
        explained = _explained(model)
        for key, value in data.items():
            below = (*path, key)
            known = explained.get(key, _Explained())
            remark = self.remarks.get(below, '')
            comment = '; '.join(text for text in (known.text, remark) if text)
            lines = list(self._entry(key, value, known.model, below, comment))
            if value is None or self.hidden(below):
                lines = [line if line.startswith('#') else f'# {line}' for line in lines]
            yield from lines

    def _entry(
        self, key: str, value: Any, model: type[Any] | None, path: EntryPath, comment: str
    ) -> Iterator[str]:
        name = _scalar(key)
        depth = len(_INDENT) * (len(path) - 1)
        below = list(self._below(value, model, path))
        line = f'{name}:' if below or value is None else f'{name}: {_flow(value)}'
        beside = f'{line}  # {comment}'
        if not comment or len(beside) + depth <= WIDTH:
            yield beside if comment else line
        else:
            yield from _comment(comment, '', WIDTH - depth)
            yield line
        for one in below:
            yield f'{_INDENT}{one}'

    def _below(self, value: Any, model: type[Any] | None, path: EntryPath) -> Iterator[str]:
        """The lines under a name; none for what stands beside it."""
        if isinstance(value, dict) and value:
            if model is None and _short(value, path):
                return
            yield from self.mapping(value, model, path)
        elif isinstance(value, list) and value and not _short(value, path):
            for place, item in enumerate(value):
                yield from self._item(item, model, (*path, place))

    def _item(self, item: Any, model: type[Any] | None, path: EntryPath) -> Iterator[str]:
        flow = _flow(item)
        fits = len(flow) + len(_INDENT) * len(path) + 2 <= WIDTH
        if fits or not isinstance(item, (dict, list)) or not item:
            yield f'- {flow}'
            return
        if isinstance(item, dict):
            lines = list(self.mapping(item, None, path))
        else:
            lines = [
                one for k, part in enumerate(item) for one in self._item(part, model, (*path, k))
            ]
        for place, line in enumerate(lines):
            yield f'{"- " if place == 0 else _INDENT}{line}'


def _short(value: Any, path: EntryPath) -> bool:
    """Whether a value fits on the line of its name; lists of lists have a line for each."""
    if isinstance(value, list) and any(isinstance(item, (list, dict)) for item in value):
        return False
    if isinstance(value, dict) and any(isinstance(item, dict) for item in value.values()):
        return False
    return len(_flow(value)) + len(_INDENT) * len(path) + len(str(path[-1])) <= WIDTH


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        inner = ', '.join(f'{_scalar(key)}: {_flow(item)}' for key, item in value.items())
        return f'{{{inner}}}'
    if isinstance(value, list):
        return f'[{", ".join(_flow(item) for item in value)}]'
    return _scalar(value)


def _scalar(value: Any) -> str:
    # Line ends and the like only survive between double quotes.
    style = '"' if isinstance(value, str) and not value.isprintable() else None
    text = yaml.dump(
        [value],
        Dumper=_Dumper,
        default_flow_style=True,
        default_style=style,
        width=2**20,
        allow_unicode=True,
    )
    return str(text).strip()[1:-1]


def _comment(text: str, indent: str, width: int = WIDTH) -> Iterator[str]:
    for line in text.splitlines():
        wrapped = textwrap.wrap(line, width - 2 - len(indent), break_long_words=False)
        for one in wrapped or ['']:
            yield f'{indent}# {one}'.rstrip()
