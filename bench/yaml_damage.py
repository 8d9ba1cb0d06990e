"""Damaged YAML: what editors, disks, scripts and people do to configuration files."""

from __future__ import annotations

import random
from collections.abc import Callable

_SCALARS = [
    *('2020-13-45', '!!int x', '!!set {a, b}', '!!float x', '!!binary aGk=', '!!null 3', '~', ''),
    *('!!python/object:os.system x', '9' * 6000, '-1e999', '.nan', '.inf', 'true', '12:30:59'),
    *('[]', '{}', '[1, [2, {a: 3}]]', '{[1]: 2}', '{? {a: 1} : 2}', '"\\0"', '"\\x07"', '*nobody'),
    *('&me [*me]', '&me {a: *me}', "'", '"', '|', '>', '%', '@x', '`x', '- - -', '? x', '<<'),
    *('1e-4', '0o17', '0x', '12 kg', '12 parsec', '-5', '0', '1' * 39, 'a: b: c', '\t1', 'é'),
    *('[' * 300, '{a: ' * 300, '!<tag:x> 3', '! 3', '!!str', '!!seq 3', '!!map [1]'),
    *('<<: {a: 1}', '\U0001f600'),
]
_PIECES = [b'\0', b'\xff\xfe', b'\t', b'{', b']', b':', b'\n---\n', b'&a', b'*a', b'"']
_FILES = [
    *(b'', b'\0' * 50, b'[1, 2]', b'3', b'text', b'null', b'--- a\n--- b\n', b'\xef\xbb\xbf'),
    *(b'{}', b'\x7fELF\x02\x01\x01\0\0', b'PK\x03\x04', bytes(range(256))),
    '{"a": [1}'.encode('utf-16'),
]


def _lines(change: Callable[[random.Random, list[bytes]], None]) -> Callable[..., bytes]:
    def damaged(rng: random.Random, content: bytes) -> bytes:
        lines = content.splitlines(keepends=True) or [b'\n']
        change(rng, lines)
        return b''.join(lines)

    return damaged


def _flip(rng: random.Random, content: bytes) -> bytes:
    data = bytearray(content or b'\n')
    for _ in range(rng.choice([1, 1, 2, 10])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _truncate(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _insert(rng: random.Random, content: bytes) -> bytes:
    place = rng.randrange(len(content) + 1)
    piece = rng.choice(
        [b'\0', b'\xff\xfe', b'\t', b'{', b']', b':', b'\n---\n', b'&a', b'*a', b'"']
    )
    return content[:place] + piece + content[place:]


def _delete(rng: random.Random, lines: list[bytes]) -> None:
    del lines[rng.randrange(len(lines))]


def _double(rng: random.Random, lines: list[bytes]) -> None:
    line = rng.choice(lines)
    lines.insert(rng.randrange(len(lines) + 1), line)


def _swap(rng: random.Random, lines: list[bytes]) -> None:
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def _indent(rng: random.Random, lines: list[bytes]) -> None:
    place = rng.randrange(len(lines))
    lines[place] = rng.choice([b' ', b'  ', b'\t', b'- ']) + lines[place]


def _scalar(rng: random.Random, lines: list[bytes]) -> None:
    """Another value behind a name."""
    places = [k for k, line in enumerate(lines) if b':' in line.partition(b'#')[0]]
    if places:
        place = rng.choice(places)
        name = lines[place].partition(b':')[0]
        lines[place] = name + b': ' + rng.choice(_SCALARS).encode() + b'\n'


def _item(rng: random.Random, lines: list[bytes]) -> None:
    """Another value inside a line, such as an item of a list."""
    place = rng.randrange(len(lines))
    words = lines[place].split(b' ')
    words[rng.randrange(len(words))] = rng.choice(_SCALARS).encode()
    lines[place] = b' '.join(words).rstrip(b'\n') + b'\n'


def _name(rng: random.Random, lines: list[bytes]) -> None:
    """A misspelt name."""
    place = rng.randrange(len(lines))
    line = bytearray(lines[place])
    letters = [k for k, code in enumerate(line) if chr(code).isalpha()]
    if letters:
        k = rng.choice(letters)
        line[k : k + 1] = rng.choice([b'', b'x', line[k : k + 1] * 2])
    lines[place] = bytes(line)


def _whole(rng: random.Random, content: bytes) -> bytes:
    """Another file altogether."""
    return rng.choice([*_FILES, rng.randbytes(rng.randrange(200))])


KINDS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    *(_flip, _truncate, _insert, _lines(_delete), _lines(_double), _lines(_swap)),
    *(_lines(_indent), _lines(_scalar), _lines(_scalar), _lines(_scalar), _lines(_item)),
    *(_lines(_item), _lines(_name), _lines(_name), _whole),
)


def damaged(rng: random.Random, content: bytes) -> bytes:
    """The content with one to three kinds of damage."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        content = rng.choice(KINDS)(rng, content)
    return content
