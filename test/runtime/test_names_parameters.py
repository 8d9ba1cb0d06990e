"""Names, remappings and parameters follow the ROS 2 rules and say what is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.errors import ParameterError, UsageError
from veh_identification.runtime.names import Remapper, normalise, parse_remapping, resolve
from veh_identification.runtime.parameter_store import ParameterStore
from veh_identification.runtime.parameters import (
    coerce,
    declare,
    parameter,
    read_parameter_file,
    refuse_unknown,
)


@pytest.mark.parametrize(
    ('name', 'namespace', 'expected'),
    [
        ('imu/data', '/', '/imu/data'),
        ('imu/data', '/car', '/car/imu/data'),
        ('/tf', '/car', '/tf'),
        ('~/reset', '/car', '/car/fusion/reset'),
        ('~/reset', '/', '/fusion/reset'),
    ],
)
def test_resolution(name: str, namespace: str, expected: str) -> None:
    assert resolve(name, 'fusion', namespace) == expected


@pytest.mark.parametrize('name', ['', '1st', 'a b', 'a//b', 'a/'])
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match='not a valid ROS name'):
        resolve(name, 'fusion', '/')


def test_remapping_applies_to_resolved_names() -> None:
    remap = Remapper('fusion', '/car', [('imu/data', '/xsens/imu'), ('~/out', 'state')])
    assert remap('imu/data') == '/xsens/imu'
    assert remap('/car/imu/data') == '/xsens/imu'
    assert remap('~/out') == '/car/state'
    assert remap('gps/fix') == '/car/gps/fix'
    assert normalise('imu/data') == '/imu/data'
    assert parse_remapping('a:=b') == ('a', 'b')
    with pytest.raises(UsageError, match='from:=to'):
        parse_remapping('a=b')


@dataclass(frozen=True)
class Imu:
    delay: float = parameter(0.0, 'how late', unit='s', minimum=0.0, maximum=1.0)
    topic: str = parameter('imu/data', 'topic')


@dataclass(frozen=True)
class Config:
    imu: Imu
    rate: float = parameter(100.0, 'output rate', unit='Hz', minimum=1.0)
    mode: str = parameter('auto', 'mode', choices=('auto', 'mocap'))
    datum: list[float] = parameter([0.0], 'datum')
    names: list[str] = parameter([], 'names')


class FakeNode:
    def __init__(self, **overrides: object) -> None:
        self.store = ParameterStore({k.replace('__', '.'): v for k, v in overrides.items()})

    def declare_parameter(self, name, value=None, descriptor=None):
        return self.store.declare(name, value, descriptor)

    def undeclared_overrides(self):
        return self.store.undeclared()

    def get_name(self):
        return 'fusion'


def test_declaration_fills_the_data_class() -> None:
    config = declare(FakeNode(rate=50, imu__delay=0.1, datum=[1, 2.5], names=['a']), Config)
    assert config == Config(Imu(0.1, 'imu/data'), 50.0, 'auto', [1.0, 2.5], ['a'])
    assert isinstance(config.rate, float)


@pytest.mark.parametrize(
    ('overrides', 'sentence'),
    [
        ({'rate': 'fast'}, "rate: expected a number, got 'fast'"),
        ({'rate': True}, 'rate: expected a number'),
        ({'rate': 0.5}, 'rate: 0.5 Hz is below its minimum 1 Hz'),
        ({'rate': float('nan')}, 'not a number'),
        ({'imu__delay': 3.0}, 'imu.delay: 3 s is above its maximum 1 s'),
        ({'mode': 'magic'}, "mode: 'magic' is not one of auto, mocap"),
        ({'datum': 'x'}, 'datum: expected a list of number'),
    ],
)
def test_wrong_values_are_named(overrides: dict, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        declare(FakeNode(**overrides), Config)


def test_unknown_parameter_is_refused() -> None:
    node = FakeNode(rtae=10, use_sim_time=True)
    declare(node, Config)
    with pytest.raises(ParameterError, match='node fusion: unknown parameter rtae'):
        refuse_unknown(node)


def test_parameter_files(tmp_path) -> None:
    path = tmp_path / 'p.yaml'
    path.write_text(
        '/**:\n  ros__parameters:\n    rate: 10\n'
        'fusion:\n  ros__parameters:\n    imu:\n      delay: 0.2\n'
        '/car/fusion:\n  ros__parameters:\n    rate: 20\n'
        'other:\n  ros__parameters:\n    rate: 99\n'
    )
    assert read_parameter_file(path, '/fusion') == {'rate': 10, 'imu.delay': 0.2}
    assert read_parameter_file(path, '/car/fusion') == {'rate': 20, 'imu.delay': 0.2}


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('rate: 10', 'expected the key ros__parameters'),
        ('- 1', 'expected a mapping'),
        ('n: {ros__parameters: [1]}', r'p.yaml:1: n.ros__parameters: expected a mapping'),
        ('a: [', 'not YAML'),
        ('n: {ros__parameters: {rate: 1}}\nn: {ros__parameters: {}}', 'stands twice'),
    ],
)
def test_bad_parameter_files(tmp_path, text: str, sentence: str) -> None:
    path = tmp_path / 'p.yaml'
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=sentence):
        read_parameter_file(path, '/fusion')
    with pytest.raises(ConfigurationError, match='cannot be read'):
        read_parameter_file(tmp_path / 'missing.yaml', '/fusion')


def test_empty_lists_take_the_declared_type() -> None:
    assert coerce('n', [], ['a']) == []
    assert coerce('n', (1, 2), [1.0]) == [1.0, 2.0]
