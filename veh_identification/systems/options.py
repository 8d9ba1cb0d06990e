"""Options of a verb as a frozen data class: the command line and the API are made of it."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from veh_identification.errors import UsageError

T = TypeVar('T')


def option(
    default: Any,
    help: str,
    *,
    metavar: str = '',
    choices: Sequence[Any] = (),
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """A field of an options class; `help` ends in the unit where there is one."""
    about: dict[str, Any] = {'help': help, 'metavar': metavar, 'choices': tuple(choices)}
    about |= {'minimum': minimum, 'maximum': maximum}
    return field(default=default, metadata=about)


@dataclass(frozen=True)
class OptionField:
    """What a command line and an error message need to know of an option."""

    name: str
    kind: type  # bool, int, float, str or Path
    repeated: bool  # a tuple of them
    default: Any
    help: str
    metavar: str
    choices: tuple[Any, ...]
    minimum: float | None
    maximum: float | None


@dataclass(frozen=True)
class NoOptions:
    """A verb without options of its own."""


def option_fields(options: type) -> Iterator[OptionField]:
    """The options of a class in their order."""
    hints = get_type_hints(options)
    for one in fields(options):
        kind, repeated = _kind(hints[one.name])
        about = one.metadata
        yield OptionField(
            one.name,
            kind,
            repeated,
            None if one.default is MISSING else one.default,
            str(about.get('help', '')),
            str(about.get('metavar', '')),
            tuple(about.get('choices', ())),
            about.get('minimum'),
            about.get('maximum'),
        )


def _kind(hint: Any) -> tuple[type, bool]:
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(one for one in get_args(hint) if one is not type(None))
    if get_origin(hint) is tuple:
        return get_args(hint)[0], True
    return hint, False


def make_options(options: type[T], given: Mapping[str, Any], what: str) -> T:
    """Checked options; `what` ('identify car') stands in the errors, which name what is near."""
    known = {one.name: one for one in option_fields(options)}
    values: dict[str, Any] = {}
    for name, value in given.items():
        key = name.replace('-', '_')
        if key not in known:
            near = get_close_matches(key, list(known), 1)
            hint = (
                f'did you mean {near[0]!r}?' if near else f'it has: {", ".join(known) or "none"}'
            )
            raise UsageError(f'{what} has no option {name!r}; {hint}')
        if value is not None:
            values[key] = _checked(known[key], value, what)
    return options(**values)


def _checked(one: OptionField, value: Any, what: str) -> Any:
    if one.repeated:
        items = value if isinstance(value, (list, tuple)) else [value]
        return tuple(_single(one, item, what) for item in items)
    return _single(one, value, what)


def _single(one: OptionField, value: Any, what: str) -> Any:
    made: Any
    try:
        made = value if isinstance(value, one.kind) else one.kind(value)
    except (TypeError, ValueError):
        made = None
    if made is None or (one.kind is not bool and isinstance(value, bool)):
        raise UsageError(f'{what}: {one.name} must be {_words(one)}, found {value!r}')
    if one.choices and isinstance(made, str):  # d-optimal and d_optimal say the same
        made = {choice.replace('-', '_'): choice for choice in one.choices}.get(
            made.replace('-', '_'), made
        )
    if one.choices and made not in one.choices:
        told = ', '.join(str(choice) for choice in one.choices)
        raise UsageError(f'{what}: {one.name} must be one of {told}; found {value!r}')
    if one.minimum is not None and not made >= one.minimum:
        raise UsageError(f'{what}: {one.name} must be at least {one.minimum:g}, found {value!r}')
    if one.maximum is not None and not made <= one.maximum:
        raise UsageError(f'{what}: {one.name} must be at most {one.maximum:g}, found {value!r}')
    return made


def _words(one: OptionField) -> str:
    return {
        bool: 'true or false',
        int: 'a whole number',
        float: 'a number',
        str: 'a text',
        Path: 'a path',
    }.get(one.kind, one.kind.__name__)
