"""Message paths of Foxglove (`/topic.field[:]{name=="x"}.value`) against our message types."""

from __future__ import annotations

import re

from veh_identification.runtime.messages import field_types

NUMBERS = re.compile(r'(u?int(8|16|32|64)|float(32|64)|bool|byte|char)$')
TOPIC = re.compile(r'(/[A-Za-z0-9_/]+)(.*)$')
#: Functions on the last number, with Foxglove's names.
FUNCTION = re.compile(r'\.@(abs|sqrt|negative)$')
STEP = re.compile(r'\.([a-z_0-9]+)|\[(-?\d+|:|\d*:\d*)\]|\{([a-z_]+)==("[^"]*"|-?[\d.]+)\}')


def split(path: str) -> tuple[str, list[re.Match[str]]]:
    """The topic and the steps behind it."""
    head = TOPIC.fullmatch(path)
    assert head, f'{path}: no topic'
    rest, steps = FUNCTION.sub('', head[2]), []
    while rest:
        step = STEP.match(rest)
        assert step, f'{path}: {rest!r} is not understood'
        steps.append(step)
        rest = rest[step.end() :]
    return head[1], steps


def resolve(path: str, types: dict[str, str]) -> str:
    """The type of what a path points at; AssertionError where a step does not exist."""
    topic, steps = split(path)
    assert topic in types, f'{path}: nobody publishes {topic}'
    kind = types[topic]
    for step in steps:
        name, index, key, _ = step.groups()
        if index is not None:
            assert kind.endswith(']'), f'{path}: {step[0]} on {kind}, which is no sequence'
            kind = kind.rpartition('[')[0]
        else:
            assert not kind.endswith(']'), f'{path}: {step[0]} on a sequence without [:]'
            fields = field_types(kind)
            wanted = name or key
            assert wanted in fields, f'{path}: {kind} has no field {wanted}'
            kind = fields[wanted] if name else kind
    assert NUMBERS.match(kind) or not FUNCTION.search(path), f'{path}: function of a {kind}'
    return kind


def filters(path: str) -> list[tuple[str, str]]:
    """Pairs of field and text of the filters in a path."""
    _, steps = split(path)
    return [(step[3], step[4].strip('"')) for step in steps if step[3]]
