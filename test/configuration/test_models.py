"""Declared models: all faults of a file at once, each with its line and what was expected."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from example_models import Car, Geometry, Sensor

from veh_identification.configuration.document import Document
from veh_identification.configuration.faults import MOST_SHOWN, ConfigurationError
from veh_identification.configuration.models import load, unknown_text, validate
from veh_identification.configuration.reading import parse
from veh_identification.configuration.schema import json_schema, schema_text


def faults(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / 'car.yaml'
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load(Car, path)
    return [line.removeprefix(f'{tmp_path}/') for line in str(caught.value).splitlines()]


def test_a_file_becomes_the_data_class(tmp_path: Path) -> None:
    path = tmp_path / 'car.yaml'
    path.write_text(
        'mass: 1.5 t\nname: 406\ngeometry: {wheelbase: 2637 mm, half_track: }\n'
        'sensors:\n  imu: {position: {x: 1200 mm, z: 0.5}, rpy: [0, 0, 180 deg]}\n  gps:\n'
        'waves: [[0, 0, 0], [1, 0, 0]]\ndelays: {imu: 3 ms}\n'
    )
    car = load(Car, path)
    assert car.mass == 1500.0 and car.name == '406'
    assert car.geometry == Geometry(2.637)
    assert car.sensors['imu'].position == (1.2, 0.0, 0.5)
    assert car.sensors['imu'].rpy[2] == pytest.approx(3.141592653589793)
    assert car.waves == ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    assert car.delays == {'imu': 0.003} and car.factors == (1.0, 1e-5)
    assert dataclasses.replace(car, name='other').mass == 1500.0


def test_every_fault_of_a_file_at_once(tmp_path: Path) -> None:
    text = """\
geometry:
  wheelbas: 3
  wheelbase: abc
  road: hilly
  zzzzzz: 1
name: [1]
waves:
  - [1, x, 2 kg]
  - 3
delays: {imu: 12, imu: 13, gps: true}
observed: 1
sensors:
  imu:
    position: [1, 2]
    order: 2.5
  gps: {order: 9}
"""
    assert faults(tmp_path, text) == [
        'car.yaml:1: mass: is missing',
        "car.yaml:2: geometry.wheelbas: is not known; did you mean 'wheelbase'?",
        "car.yaml:3: geometry.wheelbase: expected a positive length such as 2.7 or '2700 mm', "
        "found 'abc'",
        "car.yaml:4: geometry.road: expected 'flat' or 'waves', found 'hilly'",
        'car.yaml:5: geometry.zzzzzz: is not known; there are: wheelbase, half_track, road',
        'car.yaml:6: name: expected a text, found [1]',
        "car.yaml:8: waves[0][1]: expected a length such as 2.7 or '2700 mm', found 'x'",
        "car.yaml:8: waves[0][2]: expected a length such as 2.7 or '2700 mm', found '2 kg' (the "
        'unit must be m or a multiple of it)',
        'car.yaml:9: waves[1]: expected 3 lengths [x, y, z], found 3',
        'car.yaml:10: delays.imu: stands twice, here and in line 10',
        "car.yaml:10: delays.gps: expected a time such as 0.003 or '3 ms', found True",
        'car.yaml:11: observed: expected true or false, found 1',
        'car.yaml:14: sensors.imu.position: expected 3 lengths [x, y, z], found [1, 2]',
        'car.yaml:15: sensors.imu.order: expected a whole number of at least 1, found 2.5',
        'car.yaml:16: sensors.gps: the order must be at most 8',
    ]


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('[1]', 'car.yaml:1: expected a mapping of names to values, found [1]'),
        ('mass: 1\ngeometry: 3', '2: geometry: expected a mapping of names to values, found 3'),
        ('mass: 1\ndelays: 3', 'car.yaml:2: delays: expected a mapping of names to values'),
        ('mass: 1\nwaves: 3', 'car.yaml:2: waves: expected a list, found 3'),
        (
            'mass: 1\ngeometry: {half_track: 3, wheelbase: 2}',
            'car.yaml:2: geometry: half_track must be smaller than wheelbase',
        ),
        ('mass: [1', 'car.yaml:1: not YAML'),
        ('mass: !!int x', "car.yaml:1: mass: expected a whole number, found 'x'"),
    ],
)
def test_one_fault(tmp_path: Path, text: str, expected: str) -> None:
    (line,) = faults(tmp_path, text.replace('[1\n', '[1'))
    assert expected.replace(':1: not', ': not') in line.replace(':2: not', ': not')


def test_missing_and_unknown_entries() -> None:
    with pytest.raises(ConfigurationError) as caught:
        validate(Car, Document.of({'masse': 1}, 'the options'))
    assert [str(fault) for fault in caught.value.faults] == [
        'the options: mass: is missing',
        "the options: masse: is not known; did you mean 'mass'?",
    ]
    assert unknown_text('x', []) == 'is not known'


def test_an_unknown_entry_without_value_is_refused_too() -> None:
    with pytest.raises(ConfigurationError, match="wheelbas: is not known; did you mean 'wheelb"):
        validate(Geometry, parse('wheelbas:', 'x'))


def test_older_forms_are_brought_to_the_fields() -> None:
    assert validate(Geometry, parse('track: 1.5', 'x')).half_track == 0.75


def test_a_file_of_another_kind_is_not_listed_to_the_end() -> None:
    data = {f'entry_{k}': k for k in range(500)}
    with pytest.raises(ConfigurationError) as caught:
        validate(Geometry, Document.of(data, 'x'))
    lines = str(caught.value).splitlines()
    assert len(lines) == MOST_SHOWN + 1 and lines[-1] == 'x: and 460 more of this kind'
    assert len(caught.value.faults) == 500


def test_pydantic_is_not_imported_with_the_models() -> None:
    code = 'import sys, veh_identification.configuration.models; print("pydantic" in sys.modules)'
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert result.stdout.strip() == 'False', result.stderr


def test_schema_has_descriptions_units_and_bounds() -> None:
    schema = json_schema(Car, 'A car')
    assert schema['title'] == 'A car' and schema['additionalProperties'] is False
    assert schema['required'] == ['mass']
    assert schema['properties']['mass'] == {
        'description': 'without the wheels [kg]',
        'exclusiveMinimum': 0,
        'pattern': r'^\s*[-+]?(\d|\.\d)',
        'type': ['number', 'string'],
    }
    geometry = schema['$defs']['Geometry']['properties']
    assert geometry['half_track']['description'] == 'y of the left wheel centres [m]'
    assert geometry['road']['enum'] == ['flat', 'waves']
    position = schema['$defs']['Sensor']['properties']['position']
    assert position['description'] == 'in base_link [m]'
    assert position['anyOf'][0]['minItems'] == 3
    assert json.loads(schema_text(Car, 'A car')) == schema
    assert schema_text(Sensor, 'x') == schema_text(Sensor, 'x')
