"""Types of fields: numbers with units (`2637 mm`, `36 km/h`), in SI once read; texts and flags.

A field says what it holds: `wheelbase: PositiveLength = 2.7`. Plain numbers are SI already.
Numbers must be finite; texts that are numbers count as such (YAML 1.1 takes `1e-4` for a text);
true and false are none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard, get_args

import numpy as np

from veh_identification.configuration.faults import shown
from veh_identification.configuration.units import parse_unit
from veh_identification.types import Array

if TYPE_CHECKING:  # pydantic is imported when a file is read, not with every data class
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

_NUMBER = re.compile(r'\s*([-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*', re.DOTALL)


@dataclass(frozen=True)
class Dimension:
    """What a number measures: a name for messages, its SI unit and an example with another."""

    name: str
    unit: str
    example: str = ''

    @property
    def plural(self) -> str:
        """`lengths` of `a length`."""
        word = self.name.split(' ', 1)[1]
        return f'{word[:-1]}ies' if word.endswith(('ty', 'cy')) else f'{word}s'


class QuantityError(ValueError):
    """A value is no number of the kind that is expected."""


class Checked:
    """Base of the marks in `Annotated[...]` that check a field; `read` raises a QuantityError."""

    def read(self, value: object) -> object:
        """The value that the field takes."""
        raise NotImplementedError

    def json_schema(self) -> dict[str, Any]:
        """What an editor is told about the field."""
        raise NotImplementedError

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """How pydantic checks a field of this type."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.read)


@dataclass(frozen=True)
class Quantity(Checked):
    """Makes `float` a field of a dimension; bounds are in SI, `positive` excludes zero."""

    dimension: Dimension
    minimum: float | None = None
    maximum: float | None = None
    positive: bool = False

    @property
    def expectation(self) -> str:
        """`a positive length such as 2.7 or '2700 mm'`."""
        name = self.dimension.name
        if self.positive:
            name = f'a positive {name.split(" ", 1)[1]}'
        bounds = ''
        if self.minimum is not None and self.maximum is not None:
            bounds = f' from {self.minimum:g} to {self.maximum:g}'
        elif self.minimum is not None and not self.positive:
            bounds = f' of at least {self.minimum:g}'
        elif self.maximum is not None:
            bounds = f' of at most {self.maximum:g}'
        example = f' such as {self.dimension.example}' if self.dimension.example else ''
        return f'{name}{bounds}{example}'

    def read(self, value: object) -> float:
        """The number in SI, or a QuantityError that says what was expected."""
        number = self._number(value)
        low = -math.inf if self.minimum is None else self.minimum
        high = math.inf if self.maximum is None else self.maximum
        if not low <= number <= high or (self.positive and not number > 0.0):
            raise self._error(value)
        return number

    def _error(self, value: object, why: str = '') -> QuantityError:
        return QuantityError(f'expected {self.expectation}, found {shown(value)}{why}')

    def _number(self, value: object) -> float:
        factor = 1.0
        if isinstance(value, str):
            match = _NUMBER.fullmatch(value)
            if match is None:
                raise self._error(value)
            number, unit_text = float(match[1].replace('_', '')), match[2]
            if unit_text:
                factor = self._factor(value, unit_text)
        elif isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
            raise self._error(value)
        else:
            try:
                number = float(value)
            except OverflowError:
                raise self._error(value) from None
        if not math.isfinite(number * factor):
            raise self._error(value)
        return number * factor

    def _factor(self, value: str, text: str) -> float:
        wanted = parse_unit(self.dimension.unit)
        assert wanted is not None, self.dimension  # the units of this module are known
        unit = parse_unit(text, wanted.powers)
        if unit is None:
            raise self._error(value, f' ({shown(text)} is no unit that is known)')
        if unit.powers != wanted.powers:
            of = self.dimension.unit or 'none'
            raise self._error(value, f' (the unit must be {of} or a multiple of it)')
        return unit.factor

    def json_schema(self) -> dict[str, Any]:
        """A number, or a text with a unit."""
        # Bounds count for numbers only, the pattern for texts only.
        schema: dict[str, Any] = {
            'type': ['number', 'string'],
            'pattern': r'^\s*[-+]?(\d|\.\d)',
            'x-unit': self.dimension.unit,
        }
        if self.positive:
            schema['exclusiveMinimum'] = 0
        elif self.minimum is not None:
            schema['minimum'] = self.minimum
        if self.maximum is not None:
            schema['maximum'] = self.maximum
        return schema


@dataclass(frozen=True)
class Components(Checked):
    """Makes a tuple of floats a field: so many numbers of one dimension, as a list or by names."""

    item: Quantity
    names: tuple[str, ...]
    #: Whether names may be left out (zero then).
    zeros: bool = False

    def read(self, value: object) -> tuple[float, ...]:
        """The numbers, or a QuantityError about the first that is none."""
        listed: Any = self.listed(value)
        return tuple(self.item.read(one) for one in listed)

    def listed(self, value: object) -> object:
        """The list in order of a mapping by names, and the right number of items."""
        names = self.names
        if isinstance(value, Mapping):
            unknown = [str(key) for key in value if key not in names]
            missing = [] if self.zeros else [name for name in names if name not in value]
            if unknown or missing:
                what = f'no entry {missing[0]!r}' if missing else f'the entry {unknown[0]!r}'
                raise QuantityError(f'expected the entries {", ".join(names)}, found {what}')
            return [self._named(name, value.get(name, 0.0)) for name in names]
        if not isinstance(value, (list, tuple)) or len(value) != len(names):
            wanted = f'{len(names)} {self.item.dimension.plural} [{", ".join(names)}]'
            raise QuantityError(f'expected {wanted}, found {shown(value)}')
        return value

    def _named(self, name: str, value: object) -> float:
        try:
            return self.item.read(value)
        except QuantityError as error:  # the place in a list would tell nobody the name
            raise QuantityError(f'{name}: {error}') from None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """How pydantic checks a field of this type."""
        from pydantic_core import core_schema

        item = core_schema.no_info_plain_validator_function(self.item.read)
        items = core_schema.tuple_schema([item] * len(self.names))
        return core_schema.no_info_before_validator_function(self.listed, items)

    def json_schema(self) -> dict[str, Any]:
        """A list, or a mapping by names."""
        item = self.item.json_schema()
        unit = item.pop('x-unit')
        count = len(self.names)
        return {
            'anyOf': [
                {'type': 'array', 'items': item, 'minItems': count, 'maxItems': count},
                {
                    'type': 'object',
                    'properties': dict.fromkeys(self.names, item),
                    'required': [] if self.zeros else list(self.names),
                    'additionalProperties': False,
                },
            ],
            'x-unit': unit,
        }


@dataclass(frozen=True)
class OneOrMore(Checked):
    """Makes a tuple of floats a field: a list of numbers, or a single one."""

    item: Quantity

    def read(self, value: object) -> tuple[float, ...]:
        """The numbers, or a QuantityError about the first that is none."""
        return tuple(self.item.read(one) for one in (value if _is_list(value) else [value]))

    def json_schema(self) -> dict[str, Any]:
        """A number or a list."""
        item = self.item.json_schema()
        unit = item.pop('x-unit')
        return {'anyOf': [item, {'type': 'array', 'items': item}], 'x-unit': unit}


@dataclass(frozen=True)
class Table(Checked):
    """Makes an array a field: numbers of one dimension in a shape; None for any length."""

    item: Quantity
    shape: tuple[int | None, ...]

    def read(self, value: object) -> Array:
        """The array, or a QuantityError that says what was expected."""
        shape = ' x '.join('n' if one is None else str(one) for one in self.shape)
        found = self._nested(value, len(self.shape))
        try:
            array = np.array(found, dtype=float)
        except (TypeError, ValueError):  # not nested so deep, or rows of different lengths
            array = np.empty(0)
        fits = array.ndim == len(self.shape) and all(
            wanted in (None, length)
            for wanted, length in zip(self.shape, array.shape, strict=True)
        )
        if not fits:
            wanted = f'{shape} {self.item.dimension.plural}'
            raise QuantityError(f'expected {wanted}, found {shown(_plain(value))}')
        return array

    def _nested(self, value: object, levels: int) -> Any:
        if levels == 0:
            return self.item.read(value)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        return [self._nested(one, levels - 1) for one in value] if _is_list(value) else None

    def json_schema(self) -> dict[str, Any]:
        """Nested lists."""
        schema = self.item.json_schema()
        unit = schema.pop('x-unit')
        for length in reversed(self.shape):
            schema = {'type': 'array', 'items': schema}
            if length is not None:
                schema |= {'minItems': length, 'maxItems': length}
        return {**schema, 'x-unit': unit}


def _is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(value, (list, tuple))


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value


@dataclass(frozen=True)
class Entries(Checked):
    """Makes a mapping a field: the entries of a model that have a value, by their names."""

    model: type[Any]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The model's check, and then the mapping."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            _given, handler.generate_schema(self.model)
        )


def _given(entries: Any) -> dict[str, Any]:
    values = {field.name: getattr(entries, field.name) for field in fields(entries)}
    return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class WholeNumber(Checked):
    """Makes `int` a field: whole numbers only, also when written 5.0 or as a text."""

    minimum: int | None = None
    maximum: int | None = None

    @property
    def _quantity(self) -> Quantity:
        return Quantity(Dimension('a whole number', ''), self.minimum, self.maximum)

    def read(self, value: object) -> int:
        """The whole number, or a QuantityError that says what was expected."""
        number = self._quantity.read(value)
        if number != round(number):
            raise QuantityError(f'expected {self._quantity.expectation}, found {shown(value)}')
        return round(number)

    def json_schema(self) -> dict[str, Any]:
        """A whole number."""
        bounds = {'minimum': self.minimum, 'maximum': self.maximum}
        return {'type': 'integer', **{k: v for k, v in bounds.items() if v is not None}}


@dataclass(frozen=True)
class PlainText(Checked):
    """Makes `str` a field; a number is taken for its text (`name: 406`)."""

    def read(self, value: object) -> str:
        """The text."""
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise QuantityError(f'expected a text, found {shown(value)}')
        return str(value)

    def json_schema(self) -> dict[str, Any]:
        """A text."""
        return {'type': 'string'}


@dataclass(frozen=True)
class TrueOrFalse(Checked):
    """Makes `bool` a field: neither numbers nor texts count."""

    def read(self, value: object) -> bool:
        """True or false."""
        if not isinstance(value, bool):
            raise QuantityError(f'expected true or false, found {shown(value)}')
        return value

    def json_schema(self) -> dict[str, Any]:
        """True or false."""
        return {'type': 'boolean'}


@dataclass(frozen=True)
class Choice(Checked):
    """Makes `str` one of some words; YAML takes `on` and `off` among them for true and false."""

    words: tuple[str, ...]

    def read(self, value: object) -> str:
        """One of the words."""
        switches = {True: 'on', False: 'off'}
        word = switches[value] if isinstance(value, bool) else value
        if isinstance(word, str) and word in self.words:
            return word
        known = [repr(one) for one in self.words]
        text = f'{", ".join(known[:-1])} or {known[-1]}'
        raise QuantityError(f'expected {text}, found {shown(value)}')

    def json_schema(self) -> dict[str, Any]:
        """The words."""
        return {'enum': list(self.words)}


@dataclass(frozen=True)
class TopicName(Checked):
    """Makes `str` the name of a topic, which counts alike with and without the slash before it."""

    def read(self, value: object) -> str:
        """The name without a slash before it."""
        return PlainText().read(value).lstrip('/')

    def json_schema(self) -> dict[str, Any]:
        """A text."""
        return {'type': 'string'}


NUMBER = Dimension('a number', '')
LENGTH = Dimension('a length', 'm', "2.7 or '2700 mm'")
ANGLE = Dimension('an angle', 'rad', "0.26 or '15 deg'")
SPEED = Dimension('a speed', 'm/s', "10 or '36 km/h'")
ANGULAR_SPEED = Dimension('an angular speed', 'rad/s', "0.1 or '5 deg/s'")
ACCELERATION = Dimension('an acceleration', 'm/s^2', "9.81 or '0.3 g'")
MASS = Dimension('a mass', 'kg', "1500 or '1.5 t'")
INERTIA = Dimension('a moment of inertia', 'kg m^2', "520 or '520 kg m^2'")
FIRST_MOMENT = Dimension('a first moment', 'kg m', "240 or '240 kg m'")
FORCE = Dimension('a force', 'N', "1200 or '1.2 kN'")
MOMENT = Dimension('a moment', 'N m', "150 or '0.15 kN m'")
TIME = Dimension('a time', 's', "0.003 or '3 ms'")
FREQUENCY = Dimension('a frequency', 'Hz', "20 or '20 Hz'")
PRESSURE = Dimension('a pressure', 'Pa', "450000 or '4.5 bar'")
STIFFNESS = Dimension('a stiffness', 'N/m', "21000 or '21 N/mm'")
DAMPING = Dimension('a damping', 'N s/m', "1700 or '1.7 kN s/m'")
DRAG = Dimension('a drag', 'N s^2/m^2', '0.45')

Number = Annotated[float, Quantity(NUMBER)]
PositiveNumber = Annotated[float, Quantity(NUMBER, positive=True)]
NotNegativeNumber = Annotated[float, Quantity(NUMBER, 0.0)]
Length = Annotated[float, Quantity(LENGTH)]
PositiveLength = Annotated[float, Quantity(LENGTH, positive=True)]
NotNegativeLength = Annotated[float, Quantity(LENGTH, 0.0)]
Angle = Annotated[float, Quantity(ANGLE)]
NotNegativeAngle = Annotated[float, Quantity(ANGLE, 0.0)]
PositiveAngle = Annotated[float, Quantity(ANGLE, positive=True)]
Mass = Annotated[float, Quantity(MASS)]
FirstMoment = Annotated[float, Quantity(FIRST_MOMENT)]
Inertia = Annotated[float, Quantity(INERTIA)]
PositiveMass = Annotated[float, Quantity(MASS, positive=True)]
NotNegativeMass = Annotated[float, Quantity(MASS, 0.0)]
PositiveAcceleration = Annotated[float, Quantity(ACCELERATION, positive=True)]
PositiveInertia = Annotated[float, Quantity(INERTIA, positive=True)]
PositiveStiffness = Annotated[float, Quantity(STIFFNESS, positive=True)]
Time = Annotated[float, Quantity(TIME)]
PositiveTime = Annotated[float, Quantity(TIME, positive=True)]
NotNegativeTime = Annotated[float, Quantity(TIME, 0.0)]
PositiveFrequency = Annotated[float, Quantity(FREQUENCY, positive=True)]
NotNegativeFrequency = Annotated[float, Quantity(FREQUENCY, 0.0)]
#: Of grids and cut-offs that are asked for: no machine moves faster, and 0 leaves it to the data.
GridRate = Annotated[float, Quantity(FREQUENCY, 0.0, 2e4)]
Cutoff = Annotated[float, Quantity(FREQUENCY, 0.0, 5e3)]
#: Between sensors of one recording; more is another unit.
Delay = Annotated[float, Quantity(TIME, -1.0, 1.0)]
Numbers = Annotated[tuple[float, ...], OneOrMore(Quantity(NUMBER))]
Whole = Annotated[int, WholeNumber()]
PositiveWhole = Annotated[int, WholeNumber(1)]
Text = Annotated[str, PlainText()]
Topic = Annotated[str, TopicName()]
Flag = Annotated[bool, TrueOrFalse()]

Vector = tuple[float, float, float]
Position = Annotated[Vector, Components(Quantity(LENGTH), ('x', 'y', 'z'), zeros=True)]
RollPitchYaw = Annotated[Vector, Components(Quantity(ANGLE), ('roll', 'pitch', 'yaw'))]


def bounds_of(hint: Any) -> dict[str, float | None]:
    """Least and most of an entry of a configuration, for the option that replaces it."""
    for one in (hint, *get_args(hint)):
        for mark in getattr(one, '__metadata__', ()):
            if isinstance(mark, Quantity):
                return {'minimum': 0.0 if mark.positive else mark.minimum, 'maximum': mark.maximum}
    return {}
