"""config/schema is up to date, and what is packaged fits its schema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from veh_identification.cli.schemas import SCHEMAS
from veh_identification.configuration.reading import read

CONFIG = Path(__file__).resolve().parents[2] / 'config'
FILES = {
    'car': ['car_peugeot_406', 'car_template', 'buggy', 'buggy_parking', 'road_car'],
    'humanoid': ['humanoid'],
    'humanoid_design': ['humanoid_design'],
    'parallel': ['hexapod_palida'],
    'robot': ['robot'],
    'four_bar': ['four_bar'],
    'mechanism': ['mechanism_four_bar', 'mechanism_slider_crank', 'mechanism_solid_axle'],
}
TYPES = {
    'object': dict,
    'array': list,
    'string': str,
    'boolean': bool,
    'integer': int,
    'number': (int, float),
    'null': type(None),
}


def misfits(value: Any, schema: Any, root: Any, path: str = '') -> list[str]:
    """What in a value does not fit a schema, for the words of JSON schema that we write."""
    if '$ref' in schema:
        target = root
        for part in schema['$ref'].removeprefix('#/').split('/'):
            target = target[part]
        beside = {key: one for key, one in schema.items() if key != '$ref'}
        return misfits(value, target, root, path) + misfits(value, beside, root, path)
    found: list[str] = []
    kinds = schema.get('type', list(TYPES))
    fits = [
        isinstance(value, TYPES[kind]) and isinstance(value, bool) <= (kind == 'boolean')
        for kind in ([kinds] if isinstance(kinds, str) else kinds)
    ]
    if not any(fits):
        found.append(f'{path}: {value!r} is no {kinds}')
    if 'enum' in schema and value not in schema['enum']:
        found.append(f'{path}: {value!r} is none of {schema["enum"]}')
    if 'anyOf' in schema:
        every = [misfits(value, one, root, path) for one in schema['anyOf']]
        found += min(every, key=len)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, above = schema.get('minimum', value), schema.get('exclusiveMinimum')
        if value < low or (above is not None and value <= above):
            found.append(f'{path}: {value} is too small')
    if isinstance(value, str) and not re.search(schema.get('pattern', ''), value):
        found.append(f'{path}: {value!r} does not match')
    if isinstance(value, list):
        if not schema.get('minItems', 0) <= len(value) <= schema.get('maxItems', len(value)):
            found.append(f'{path}: {len(value)} items')
        parts = schema.get('prefixItems', []) + [schema.get('items', {})] * len(value)
        for k, (one, part) in enumerate(zip(value, parts, strict=False)):
            found += misfits(one, part, root, f'{path}[{k}]')
    if isinstance(value, dict):
        known, further = schema.get('properties', {}), schema.get('additionalProperties', {})
        found += [f'{path}: no {name}' for name in schema.get('required', ()) if name not in value]
        for name, one in value.items():
            if name in known:
                found += misfits(one, known[name], root, f'{path}.{name}')
            elif further is False:
                found.append(f'{path}: {name} is not known')
            else:
                found += misfits(one, further, root, f'{path}.{name}')
    return found


@pytest.mark.parametrize('schema', SCHEMAS, ids=lambda one: one.name)
def test_schema_files_are_up_to_date(schema: Any) -> None:
    text = (CONFIG / 'schema' / f'{schema.name}.schema.json').read_text('utf-8')
    assert text == schema.text(), 'run: python -m veh_identification.cli.schemas'


@pytest.mark.parametrize('schema', SCHEMAS, ids=lambda one: one.name)
def test_packaged_files_fit_their_schema(schema: Any) -> None:
    content = json.loads(schema.text())
    for name in FILES[schema.name]:
        file = CONFIG / f'{name}.yaml'
        assert misfits(read(file).data, content, content) == [], name
        first = file.read_text('utf-8').splitlines()[0]
        assert first == f'# yaml-language-server: $schema=schema/{schema.name}.schema.json', name


def test_schemas_refuse_what_the_models_refuse() -> None:
    content = json.loads(SCHEMAS[0].text())
    for wrong in (
        {'geometry': {'wheelbas': 2.7}},
        {'geometry': {'wheelbase': -1}},
        {'geometry': {'half_track': [1, 2, 3]}},
        {'car': {'a_priori': {'mass': 3}}},
        {'sensors': {'imu': {'position': 'left'}}},
        {'road': {'kind': 'moon'}},
        {'source': 'x'},
        {'observer': {'force_estimation': 'yes'}},
    ):
        assert misfits(wrong, content, content), wrong


def test_an_excitation_may_be_the_name_of_a_file() -> None:
    content = json.loads(next(one.text() for one in SCHEMAS if one.name == 'parallel'))
    data = read(CONFIG / 'hexapod_palida.yaml').data
    assert misfits({**data, 'excitation': 'my.yaml'}, content, content) == []
    assert misfits({**data, 'excitation': 3}, content, content) != []


def test_schemas_take_every_form() -> None:
    content = json.loads(SCHEMAS[0].text())
    for right in (
        {'geometry': {'wheelbase': '2637 mm', 'track_front': 1.5, 'half_track_rl': 0.7}},
        {'geometry': {'half_track': 0.7, 'suspension_zero': [0, 0, 0, 0]}},
        {'base': 'road_car.yaml', 'geometry': {'half_track': {'fl': 0.7}}},
        {'car': {'static': {'gravity': 9.81}, 'sensors': {'imu': {'noise': 0.1}}}},
        {'sensors': {'imu': {'quaternion': [0, 0, 0, 1], 'noise': [0.1, 0.2]}}},
        {'axle_kinematics': {'camber': {'fl': {'travel': [0, 1], 'values': [0, [1]]}}}},
    ):
        assert misfits(right, content, content) == [], right
