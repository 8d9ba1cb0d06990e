"""JSON schemas of models, from which editors complete and explain the entries of a file.

A file names its schema in its first line:
`# yaml-language-server: $schema=schema/car.schema.json`.
"""

from __future__ import annotations

import json
import math
from typing import Any

from veh_identification.configuration.models import adapter

DIALECT = 'https://json-schema.org/draft/2020-12/schema'


def json_schema(model: type[Any], title: str, wrapper: str = '') -> dict[str, Any]:
    """The schema of a model; descriptions end with the unit.

    With `wrapper` a file may also hold everything below that one name.
    """
    schema = _described(adapter(model).json_schema())
    if wrapper:
        place = {'$ref': f'#/$defs/{wrapper}'}
        wrapped = {'properties': {wrapper: place}, 'additionalProperties': False}
        schema = {
            'anyOf': [place, {'type': 'object', 'required': [wrapper], **wrapped}],
            '$defs': {**schema.pop('$defs', {}), wrapper: schema},
        }
    return {'$schema': DIALECT, 'title': title, **schema}


def schema_text(model: type[Any], title: str, wrapper: str = '') -> str:
    """The content of a schema file."""
    return json.dumps(json_schema(model, title, wrapper), indent=1, ensure_ascii=False) + '\n'


def _described(part: Any) -> Any:
    """Units in the descriptions; without pydantic's titles, which repeat the names."""
    if isinstance(part, list):
        return [_described(item) for item in part]
    if not isinstance(part, dict):
        return part
    result = {
        key: _described(value)
        for key, value in part.items()
        if not (key == 'title' and isinstance(value, str))  # there may be an entry of that name
        and not (isinstance(value, dict) and value.get('x-internal') is True)
    }
    kinds = [kind for kind in result.get('anyOf', ()) if kind != {'type': 'null'}]
    if len(kinds) == 1:  # an entry that may be left out: the description belongs to the entry
        inner = dict(kinds[0])
        texts = (result.get('description', ''), inner.pop('description', ''))
        del result['anyOf']
        result = {**inner, **result, 'description': ' '.join(text for text in texts if text)}
    default = result.get('default')
    if isinstance(default, float) and not math.isfinite(default):  # JSON has no infinity
        del result['default']
    unit = result.pop('x-unit', '')
    if isinstance(unit, str) and unit:
        result['description'] = f'{result.get("description", "")} [{unit}]'.lstrip()
    return result
