"""JSON schemas of models, from which editors complete and explain the entries of a file.

A file names its schema in its first line:
`# yaml-language-server: $schema=schema/car.schema.json`.
They are made from the declarations alone, not by pydantic, whose schemas change with its version.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from veh_identification.configuration.models import Model
from veh_identification.configuration.quantities import Checked, Choice, Entries
from veh_identification.configuration.writing import plain

DIALECT = 'https://json-schema.org/draft/2020-12/schema'


def json_schema(model: type[Any], title: str, wrapper: str = '') -> dict[str, Any]:
    """The schema of a model; descriptions end with the unit.

    With `wrapper` a file may also hold everything below that one name.
    """
    parts: dict[str, Any] = {}
    schema = _of_model(model, parts)
    if wrapper:
        parts[wrapper] = schema
        place = {'$ref': f'#/$defs/{wrapper}'}
        wrapped = {'properties': {wrapper: place}, 'additionalProperties': False}
        schema = {'anyOf': [place, {'type': 'object', 'required': [wrapper], **wrapped}]}
    return {'$schema': DIALECT, 'title': title, **schema, '$defs': parts}


def schema_text(model: type[Any], title: str, wrapper: str = '') -> str:
    """The content of a schema file."""
    return json.dumps(json_schema(model, title, wrapper), indent=1, ensure_ascii=False) + '\n'


def _of_model(model: type[Any], parts: dict[str, Any]) -> dict[str, Any]:
    """An object with the fields of a model and the other entries that it takes.

    `parts` gathers the models of its fields, each once.
    """
    hints = get_type_hints(model, include_extras=True)
    fields = [one for one in dataclasses.fields(model) if 'internal' not in one.metadata]
    properties = {one.name: _of_field(one, hints[one.name], parts) for one in fields}
    if issubclass(model, Model):
        others = {**model.other_entries, **model.older_entries}
        properties |= {name: _with_unit(dict(other)) for name, other in others.items()}
    schema: dict[str, Any] = {
        'type': 'object',
        'properties': properties,
        'additionalProperties': False,
    }
    required = [one.name for one in fields if _is_required(one)]
    return {**schema, **({'required': required} if required else {})}


def _is_required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _of_field(field: dataclasses.Field[Any], hint: Any, parts: dict[str, Any]) -> dict[str, Any]:
    found = _of(hint, parts)
    if 'also' in field.metadata:
        found = {'anyOf': [found, field.metadata['also']]}
    schema = {**found, 'description': str(field.metadata.get('description', ''))}
    default = plain(field.default) if field.default is not dataclasses.MISSING else None
    infinite = isinstance(default, float) and not math.isfinite(default)  # JSON has no infinity
    if default is not None and not infinite:
        schema['default'] = default
    return _with_unit(schema)


def _with_unit(schema: dict[str, Any]) -> dict[str, Any]:
    unit = schema.pop('x-unit', '')
    if unit:
        schema['description'] = f'{schema.get("description", "")} [{unit}]'.lstrip()
    return schema


def _of(hint: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type; units are left for the field that it belongs to."""
    for mark in getattr(hint, '__metadata__', ()):
        if isinstance(mark, Entries):
            return _part(mark.model, parts)
        if isinstance(mark, Checked):
            return mark.json_schema()
    origin, arguments = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _part(hint, parts)
    if type(None) in arguments:  # may be left out, as everything else
        return _of(next(one for one in arguments if one is not type(None)), parts)
    if origin is Literal:
        return {'enum': list(arguments)}
    if origin is tuple:
        return _of_tuple(arguments, parts)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _of_mapping(arguments[0], arguments[1], parts)
    return {}


def _part(model: type[Any], parts: dict[str, Any]) -> dict[str, Any]:
    """The place of a model among the parts."""
    name = model.__name__
    if name not in parts:
        parts[name] = {}  # keeps the order of the fields
        parts[name] = {**_of_model(model, parts), **getattr(model, 'schema_changes', {})}
    return {'$ref': f'#/$defs/{name}'}


def _of_tuple(arguments: tuple[Any, ...], parts: dict[str, Any]) -> dict[str, Any]:
    items = _of(arguments[0], parts)
    unit = {'x-unit': items.pop('x-unit', '')}
    if arguments[-1] is Ellipsis:
        return {'type': 'array', 'items': items, **unit}
    count = len(arguments)  # all alike in our models
    return {'type': 'array', 'items': items, 'minItems': count, 'maxItems': count, **unit}


def _of_mapping(key: Any, value: Any, parts: dict[str, Any]) -> dict[str, Any]:
    inner = _of(value, parts)
    unit = {'x-unit': inner.pop('x-unit', '')}
    words = next((one.words for one in get_args(key) if isinstance(one, Choice)), ())
    if not words:
        return {'type': 'object', 'additionalProperties': inner, **unit}
    properties = dict.fromkeys(words, inner)
    return {'type': 'object', 'properties': properties, 'additionalProperties': False, **unit}
