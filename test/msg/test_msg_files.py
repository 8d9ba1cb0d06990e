"""Every .msg file follows the rules of rosidl and parses with rosbags."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import pytest
from rosbags.typesys import get_types_from_msg

from veh_identification.runtime import messages
from veh_identification.runtime.share import share_directory

MSG_FOLDER = share_directory() / 'msg'
FILES = sorted(MSG_FOLDER.glob('*.msg'))

# The rules of rosidl_adapter/parser.py of ROS 2.
MESSAGE_NAME = re.compile(r'[A-Z][A-Za-z0-9]*')
FIELD_NAME = re.compile(r'(?!.*__)(?!.*_$)[a-z][a-z0-9_]*')
CONSTANT_NAME = re.compile(r'[A-Z]([A-Z0-9_]?[A-Z0-9]+)*')
PRIMITIVES = {'bool', 'byte', 'char', 'float32', 'float64', 'string', 'wstring'} | {
    f'{sign}int{bits}' for sign in ('', 'u') for bits in (8, 16, 32, 64)
}
TYPE = re.compile(r'(?P<base>[^\[<]+)(?P<bound><=\d+)?(?P<array>\[(<=)?\d*\])?')
# Field names become members of C++ structures as well.
CPP_WORDS = {
    *('auto', 'bool', 'break', 'case', 'char', 'class', 'const', 'default', 'delete', 'double'),
    *('enum', 'export', 'float', 'friend', 'inline', 'int', 'long', 'mutable', 'namespace'),
    *('new', 'operator', 'private', 'protected', 'public', 'register', 'short', 'signed'),
    *('sizeof', 'static', 'struct', 'switch', 'template', 'this', 'throw', 'typename', 'union'),
    *('unsigned', 'using', 'virtual', 'void', 'volatile'),
}


def complaints(name: str, text: str, own: set[str]) -> list[str]:
    """What rosidl would refuse."""
    found = []
    if not MESSAGE_NAME.fullmatch(name):
        found.append(f'message name {name}')
    names: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split('#', 1)[0].strip()
        if not content:
            continue
        parts = content.split(None, 1)
        if len(parts) != 2:
            found.append(f'line {number}: {content}')
            continue
        kind, rest = parts
        constant = re.match(r'(\w+)\s*=', rest)
        field = rest.split()[0]
        if constant:
            if not CONSTANT_NAME.fullmatch(constant[1]) or kind not in PRIMITIVES:
                found.append(f'line {number}: constant {content}')
            names.append(constant[1])
            continue
        if not FIELD_NAME.fullmatch(field) or field in CPP_WORDS or keyword.iskeyword(field):
            found.append(f'line {number}: field name {field}')
        names.append(field)
        match = TYPE.fullmatch(kind)
        if match is None or not known_type(match, own):
            found.append(f'line {number}: type {kind}')
    if len(set(names)) != len(names):
        found.append('a name occurs twice')
    return found


def known_type(match: re.Match[str], own: set[str]) -> bool:
    base = match['base']
    if match['bound'] and base not in ('string', 'wstring'):
        return False
    if base in PRIMITIVES or base in own:
        return True
    if base.count('/') != 1:  # rosidl takes package/Name, not package/msg/Name
        return False
    package, name = base.split('/')
    if not FIELD_NAME.fullmatch(package) or not MESSAGE_NAME.fullmatch(name):
        return False
    return f'{package}/msg/{name}' in messages.rosbags_backend().store.types


def test_there_are_messages():
    assert {file.stem for file in FILES} >= {
        'FusedState',
        'ObserverStatus',
        'ParameterEstimate',
        'ParameterEstimates',
        'Reconstruction',
        'SensorStatus',
    }


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_rosidl_rules(file: Path):
    text = file.read_text('ascii')
    assert complaints(file.stem, text, {other.stem for other in FILES}) == []


@pytest.mark.parametrize(
    'text',
    [
        'float64 Speed',
        'float64 speed_',
        'float64 two__parts',
        'double speed',
        'std_msgs/msg/Header header',
        'std_msgs/Heder header',
        'float64 class',
        'float64 speed\nfloat64 speed',
        'uint8 lower=1',
        'float64<=3 speed',
        'float64',
    ],
)
def test_the_rules_can_fail(text: str):
    assert complaints('Fine', text, set()) != []


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_rosbags_parses(file: Path):
    name = f'veh_identification/msg/{file.stem}'
    types = get_types_from_msg(file.read_text('utf-8'), name)
    fields = [field for field, _ in types[name][1]]
    assert fields == list(messages.field_types(name))
    message = messages.new(name)
    data = messages.serialize(message)
    assert messages.serialize(messages.deserialize(data, name)) == data


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_rosidl_itself(file: Path):
    parser = pytest.importorskip('rosidl_adapter.parser', reason='needs rosidl of ROS 2')
    specification = parser.parse_message_file('veh_identification', str(file))
    assert [field.name for field in specification.fields] == list(
        messages.field_types(f'veh_identification/msg/{file.stem}')
    )
