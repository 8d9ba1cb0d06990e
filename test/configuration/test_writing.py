"""Written files explain every entry and are read back to equal values."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from example_models import Car, Geometry, Sensor
from hypothesis import given, settings
from hypothesis import strategies as st

from veh_identification.configuration.models import validate
from veh_identification.configuration.reading import parse, read
from veh_identification.configuration.writing import WIDTH, to_yaml

CONFIG = Path(__file__).resolve().parents[2] / 'config'
CAR = Car(
    1500.0,
    'a: b # c',
    Geometry(2.7, None, 'waves'),
    {'imu/data': Sensor((1.0, 2.0, 1e-5)), 'on': Sensor()},
    ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)),
    {'on': 0.1, '1': 2.0},
    tuple(k / 7 for k in range(40)),
    False,
)


def test_a_model_survives_writing_and_reading() -> None:
    text = to_yaml(CAR)
    assert validate(Car, parse(text, 'x')) == CAR
    assert all(len(line) <= WIDTH for line in text.splitlines())


def test_comments_name_meaning_and_unit() -> None:
    lines = to_yaml(CAR).splitlines()
    assert 'mass: 1500.0  # without the wheels [kg]' in lines
    assert 'geometry:  # measure these' in lines
    assert '  # half_track:  # y of the left wheel centres [m]' in lines
    assert 'waves:  # corners of the yard [m]' in lines


def test_header_remarks_and_hidden_entries() -> None:
    text = to_yaml(
        {'mass': 1500.0, 'name': 'x', 'geometry': {'wheelbase': 2.7, 'road': 'flat'}},
        Car,
        header='A car of which the header is long. ' * 5 + '\n\nSecond paragraph',
        remarks={('mass',): 'identified, ' * 9 + '+- 12 kg'},
        hidden=lambda path: path in {('name',), ('geometry',)},
    )
    lines = text.splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    assert lines[:2] == [
        '# A car of which the header is long. A car of which the header is long. A car of which '
        'the header',
        '# is long. A car of which the header is long. A car of which the header is long.',
    ]
    assert lines[2:4] == ['#', '# Second paragraph']
    assert lines[4].startswith('# without the wheels [kg]; identified, identified')
    assert lines[-5:] == [
        'mass: 1500.0',
        '# name: x  # shown in reports',
        '# geometry:  # measure these',
        '#   wheelbase: 2.7  # x of the front wheel centres [m]',
        '#   road: flat  # kind of the road',
    ]
    assert parse(text, 'x').data == {'mass': 1500.0}


def test_nothing_is_written_as_nothing() -> None:
    assert to_yaml({}) == '{}\n' and parse(to_yaml({}), 'x').data == {}


@pytest.mark.parametrize('path', sorted(CONFIG.rglob('*.yaml')), ids=lambda path: path.name)
def test_packaged_files_survive(path: Path) -> None:
    data = read(path).data
    assert _without_empty(parse(to_yaml(data), 'x').data) == _without_empty(data)


def _without_empty(data: object) -> object:
    if isinstance(data, dict):
        return {key: _without_empty(value) for key, value in data.items() if value is not None}
    return [_without_empty(value) for value in data] if isinstance(data, list) else data


def test_numbers_of_numpy() -> None:
    data = {'a': np.float64(1e-7), 'b': np.arange(3), 'c': [np.int64(2)], 'd': np.bool_(True)}
    assert parse(to_yaml(data), 'x').data == {'a': 1e-7, 'b': [0, 1, 2], 'c': [2], 'd': True}


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
)
TREES = st.dictionaries(
    st.text(max_size=12),
    st.recursive(
        SCALARS,
        lambda inner: (
            st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=12), inner, max_size=5)
        ),
        max_leaves=20,
    ).filter(lambda value: value is not None),
    max_size=5,
)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(TREES)
def test_any_data_survive(data: dict[str, object]) -> None:
    again = parse(to_yaml(data), 'x').data
    assert _comparable(again) == _comparable(data)


def _comparable(data: object) -> object:
    """-0.0 differs from 0.0 here; empty entries in mappings are written as comments."""
    if isinstance(data, dict):
        return {
            key: _comparable(value) for key, value in data.items() if value is not None
        } or None
    if isinstance(data, list):
        return [_comparable(value) for value in data]
    return (type(data), math.copysign(1.0, data), data) if isinstance(data, float) else data
