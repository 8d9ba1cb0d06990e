"""Declared models: data classes whose fields say what a file may hold, and their check.

    @dataclass(frozen=True)
    class Geometry(Model):
        wheelbase: PositiveLength = entry(2.7, 'x of the front wheel centres')

The data class that the estimators use is the declaration itself, so no field stands twice. An
entry without a value (`wheelbase:`) counts as left out.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from veh_identification.configuration.document import Document
from veh_identification.configuration.faults import (
    ConfigurationError,
    EntryPath,
    Fault,
    shown,
)
from veh_identification.configuration.reading import read_all
from veh_identification.errors import VehIdError, one_line

if TYPE_CHECKING:  # pydantic is imported when a file is read, not with every data class
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema, ErrorDetails

T = TypeVar('T')


def entry(
    default: Any = dataclasses.MISSING,
    description: str = '',
    also: Mapping[str, Any] | None = None,
) -> Any:
    """A field of a model; a class as default makes a fresh part, a list or mapping is copied.

    `also` is the JSON schema of another form that a file may hold.
    """
    metadata: dict[str, Any] = {'description': description}
    if also is not None:
        metadata['also'] = dict(also)
    if isinstance(default, type):
        return dataclasses.field(default_factory=default, metadata=metadata)
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    if callable(default) and not dataclasses.is_dataclass(default):
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def internal(default: Any) -> Any:
    """A field of a model that is no entry: the program sets it, a file must not."""
    return dataclasses.field(
        default=default, metadata={'internal': True}, repr=False, compare=False
    )


class Model:
    """Base of the frozen data classes that declare a part of a file; unknown entries are refused.

    `__post_init__` may refuse values that do not go together by a ValueError with one sentence.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {'extra': 'forbid'}
    #: Entries that `prepared` makes others of, as JSON schemas; they are known beside the fields.
    other_entries: ClassVar[Mapping[str, Any]] = {}
    #: Entries that a loader makes others of before the model sees them; in JSON schemas only.
    older_entries: ClassVar[Mapping[str, Any]] = {}
    #: What the JSON schema says of the whole, where a file may hold a shorter form of it.
    schema_changes: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def prepared(cls, data: Any) -> Any:
        """The entries in the form of the fields, where files may hold older or shorter forms."""
        return data

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The fields' checks, behind `prepared` and without empty entries."""
        from pydantic_core import PydanticCustomError, core_schema

        fields = dataclasses.fields(cls)  # type: ignore[arg-type]
        names = [field.name for field in fields if 'internal' not in field.metadata]
        names += cls.other_entries
        ours = {field.name for field in fields} - set(names)

        def check(data: Any, inner: Callable[[Any], Any], info: Any) -> Any:
            data = {} if data is None else data
            if isinstance(data, Mapping):
                if info.context is not None:
                    info.context[id(data)] = names
                if ours & set(data):
                    raise ValueError(f'{min(ours & set(data))}: {unknown_text("", names)}')
                data = {k: v for k, v in data.items() if v is not None or k not in names}
            try:
                return inner(cls.prepared(data))
            except VehIdError as error:  # of classes that are also built without a file
                raise PydanticCustomError('refused', '{text}', {'text': one_line(error)}) from None

        return core_schema.with_info_wrap_validator_function(check, handler(source))


def load(model: type[T], path: Path | str, find_base: Callable[[str], Path] | None = None) -> T:
    """A model from a YAML file; see `reading.read` for `find_base`."""
    return validate(model, read_all(path, find_base))


def validate(model: type[T], document: Document) -> T:
    """A model from a document, or one ConfigurationError that lists every fault of it."""
    from pydantic import ValidationError

    known: dict[int, list[str]] = {}
    faults = list(document.faults)
    if faults and document.root.content is None:  # nothing could be read
        raise ConfigurationError(faults)
    data = {} if document.data is None else document.data
    try:
        result = adapter(model).validate_python(data, context=known)
    except ValidationError as error:
        told = {fault.path for fault in faults}
        found = [_fault(document, data, one, known) for one in error.errors(include_url=False)]
        faults += [fault for fault in found if fault.path not in told]
    if faults:
        raise ConfigurationError(sorted(faults, key=lambda one: (one.file, one.line)))
    return result


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def adapter(model: type[T]) -> TypeAdapter[T]:
    """pydantic's reader of a model; made once, for making it takes longer than reading a file."""
    from pydantic import TypeAdapter

    if model not in _ADAPTERS:
        _ADAPTERS[model] = TypeAdapter(model)
    return _ADAPTERS[model]


def _fault(
    document: Document, data: Any, error: ErrorDetails, known: Mapping[int, list[str]]
) -> Fault:
    """The line and what was expected there, of one of pydantic's errors."""
    kind = error['type']
    if kind == 'missing':
        path, _ = _existing(error['loc'][:-1], data)
        return document.fault((*path, error['loc'][-1]), 'is missing')
    path, value = _existing(error['loc'], data)
    if kind in ('extra_forbidden', 'unexpected_keyword_argument'):
        _, parent = _existing(path[:-1], data)
        return document.fault(path, unknown_text(str(path[-1]), known.get(id(parent), ())))
    return document.fault(path, _expectation(error, value))


def _existing(location: EntryPath, data: Any) -> tuple[EntryPath, Any]:
    """The parts of pydantic's location that are entries, not names of its types; the value."""
    path: list[str | int] = []
    for part in location:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            continue
        path.append(part)
    return tuple(path), data


def unknown_text(name: str, known: Mapping[str, Any] | list[str] | tuple[str, ...]) -> str:
    """What to say about a name that nobody knows: the nearest of the known ones, or all."""
    spelt = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), list(spelt), 1, 0.7)
    if near:
        return f'is not known; did you mean {spelt[near[0]]!r}?'
    return f'is not known; there are: {", ".join(known)}' if known else 'is not known'


_EXPECTED = {
    'list_type': 'a list',
    'tuple_type': 'a list',
    'dict_type': 'a mapping of names to values',
    'dataclass_type': 'a mapping of names to values',
}


def _expectation(error: ErrorDetails, value: object) -> str:
    kind, context = error['type'], error.get('ctx', {})
    if kind == 'value_error':
        return one_line(context['error'])
    if kind == 'refused':
        return str(context['text'])
    if kind in _EXPECTED:
        return f'expected {_EXPECTED[kind]}, found {shown(value)}'
    if kind == 'literal_error':
        return f'expected {context["expected"]}, found {shown(value)}'
    if kind in ('too_long', 'too_short'):
        bound = context.get('max_length', context.get('min_length'))
        many = 'at most' if kind == 'too_long' else 'at least'
        return f'expected {many} {bound} values, found {context.get("actual_length")}'
    return f'{one_line(ValueError(error["msg"]))}, found {shown(value)}'
