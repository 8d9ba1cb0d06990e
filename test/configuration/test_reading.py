"""The one YAML reader: what it accepts, what it refuses, and where it says the fault is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from veh_identification.configuration import reading
from veh_identification.configuration.faults import ConfigurationError
from veh_identification.configuration.reading import parse, read

CONFIG = Path(__file__).resolve().parents[2] / 'config'
LOADERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])]


def refused(text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        parse(text, 'my.yaml')
    lines = str(caught.value).splitlines()
    assert len(lines) == len(caught.value.faults)
    return lines


@pytest.mark.parametrize('path', sorted(CONFIG.rglob('*.yaml')), ids=lambda path: path.name)
def test_packaged_files_are_read_as_pyyaml_reads_them(path: Path) -> None:
    assert read(path).data == yaml.safe_load(path.read_text('utf-8'))


@pytest.mark.parametrize('loader', LOADERS)
def test_scalars(loader: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, '_Loader', loader)
    text = (
        'a: 1\nb: -2.5\nc: 1.0e-3\nd: true\ne: off\nf: ~\ng: "1"\nh: 0x1F\ni: 010\nj: .inf\n'
        'k: 1_000\nl: 2020-13-45\nm: 12:30\nn: 1e-4\no: 0b11\np: !!str 3\nq: !!float 3\n'
    )
    assert parse(text, 'x').data == {
        **{'a': 1, 'b': -2.5, 'c': 1e-3, 'd': True, 'e': False, 'f': None, 'g': '1', 'h': 31},
        **{'i': 8, 'j': float('inf'), 'k': 1000, 'l': '2020-13-45', 'm': '12:30', 'n': '1e-4'},
        **{'o': 3, 'p': '3', 'q': 3.0},
    }


def test_keys_are_the_text_of_the_file() -> None:
    assert parse('on: 1\n1: 2\n~: 3\n1.50: 4\n', 'x').data == {'on': 1, '1': 2, '~': 3, '1.50': 4}


def test_empty_files_are_nothing() -> None:
    assert parse('', 'x').data is None
    assert parse('# only a comment\n', 'x').data is None
    assert parse('\n---\n', 'x').data is None


def test_lines_and_columns_of_entries() -> None:
    document = parse('a: 1\nb:\n  c:\n    - x\n    - {d: 2,\n       e: 3}\n', 'x')
    found = {
        path: (entry.line, entry.column)
        for path in [('a',), ('b',), ('b', 'c', 1), ('b', 'c', 1, 'e')]
        if (entry := document.find(path)) is not None
    }
    assert found == {
        ('a',): (1, 1),
        ('b',): (2, 1),
        ('b', 'c', 1): (5, 7),
        ('b', 'c', 1, 'e'): (6, 8),
    }
    assert document.find(('b', 'nothing')) is None


def test_anchors_and_merge_keys() -> None:
    text = 'a: &a {b: 1, c: 2}\nd: *a\ne: {<<: *a, c: 3}\nf: {<<: [{b: 7}, *a]}\n'
    data = parse(text, 'x').data
    assert data['d'] == {'b': 1, 'c': 2}
    assert data['e'] == {'b': 1, 'c': 3}
    assert data['f'] == {'b': 7, 'c': 2}
    data['a']['b'] = 5
    assert data['d']['b'] == 1  # what an alias stands for is a copy


def test_equal_keys_are_refused_with_both_lines_and_all_at_once() -> None:
    lines = refused(
        'geometry:\n  wheelbase: 2.7\n  track: 1\n  wheelbase: 2.8\nname: a\nname: b\n'
    )
    assert lines == [
        'my.yaml:4: geometry.wheelbase: stands twice, here and in line 2',
        'my.yaml:6: name: stands twice, here and in line 5',
    ]


@pytest.mark.parametrize('loader', LOADERS)
@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('!!int x', "my.yaml:1: expected a whole number, found 'x'"),
        ('a: !!float x', "my.yaml:1: a: expected a number, found 'x'"),
        ('a: !!bool perhaps', "my.yaml:1: a: expected true or false, found 'perhaps'"),
        ('a: !!null x', "my.yaml:1: a: 'x' is no empty value"),
        ('a: !!set {b, c}', 'my.yaml:1: a: expected plain values, found the tag !!set'),
        ('a: !!binary aGk=', 'my.yaml:1: a: expected plain values, found the tag !!binary'),
        ('\na: !!python/name:os.system', 'found the tag !!python/name:os.system'),
        ('a: !own 3', 'my.yaml:1: a: expected plain values, found the tag !own'),
        ('a:\n  [1, 2]: 3', 'my.yaml:2: a: expected a name before the colon, found [1, 2]'),
        ('{a: 1}: 3', "my.yaml:1: expected a name before the colon, found {'a': 1}"),
        ('a: &a [1, *a]', 'my.yaml:1: a[1]: the alias *a makes the entry a part of itself'),
        ('a: *b', 'my.yaml:1: a: the alias *b stands for nothing above it'),
        ('a: ' + '9' * 6000, 'my.yaml:1: a: expected a number of at most 40 digits, found 6000'),
        ('a: 1\n---\nb: 2', 'my.yaml:2: a second document begins here'),
        ('<<: 3', 'my.yaml:1: <<: expected a mapping to take over, found 3'),
        ('a: 1\nb: \0', 'my.yaml:2: not YAML: a NUL byte in it'),
        ('a: 1\nb: \x07', 'my.yaml:2: not YAML: control characters in it'),
        ('a: 1\n b: 2', 'my.yaml:2: not YAML: mapping values are not allowed'),
        ('%YAML 3.0\n---\na', 'my.yaml:1: not YAML: found incompatible YAML document'),
        ('a: "\ud800"', 'my.yaml:1: '),
    ],
)
def test_refused_texts(
    text: str, expected: str, loader: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, '_Loader', loader)
    (line,) = refused(text)
    assert expected in line and line.startswith('my.yaml:')


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('[' * 100_000, 'nested deeper than 50 levels'),
        ('{a: ' * 100_000, 'nested deeper than 50 levels'),
        ('- ' * 5_000, 'nested deeper than 50 levels'),
        (
            'x0: &x0 [1]\n' + ''.join(f'x{i}: &x{i} [*x{i - 1}]\n' for i in range(1, 3000)),
            'nested deeper than 50 levels',
        ),
        (
            'x0: &x0 [1, 1]\n'
            + ''.join(f'x{i}: &x{i} [{", ".join([f"*x{i - 1}"] * 9)}]\n' for i in range(1, 20)),
            'more than 500000 entries',
        ),
    ],
)
def test_texts_that_would_exhaust_the_machine(text: str, expected: str) -> None:
    (line,) = refused(text)
    assert expected in line and len(line) < 200


def test_keys_with_line_ends_do_not_tear_the_message() -> None:
    (line,) = refused('"a\\nb": {"\\u2028": !!int x}')
    assert line == "my.yaml:1: 'a\\nb'.'\\u2028': expected a whole number, found 'x'"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def reason(path: Path | str) -> str:
        with pytest.raises(ConfigurationError) as caught:
            read(path)
        (fault,) = caught.value.faults
        assert fault.file == str(path)
        return fault.text

    assert reason(tmp_path / 'none.yaml') == 'cannot be read: No such file or directory'
    assert reason(tmp_path) == 'cannot be read: it is a folder'
    assert reason(f'{tmp_path}/a\0b') == 'cannot be read: embedded null byte'
    os.mkfifo(tmp_path / 'pipe')
    assert reason(tmp_path / 'pipe') == 'cannot be read: it is not a plain file'
    binary = tmp_path / 'binary.yaml'
    binary.write_bytes(b'a: 1\nb: \xff\xfe\n')
    assert reason(binary) == 'is no text in UTF-8 (line 2, byte 8)'
    large = tmp_path / 'large.yaml'
    with large.open('wb') as file:
        file.truncate(reading.MOST_BYTES + 1)
    assert reason(large) == 'is larger than 8 MiB, the most that is read'


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / 'a.yaml'
    path.write_bytes(b'\xef\xbb\xbfa: 1\r\nb: caf\xc3\xa9\r\n')
    assert read(path).data == {'a': 1, 'b': 'café'}


def packaged(name: str) -> Path:
    return CONFIG / name


def test_bases_are_changed_entry_by_entry(tmp_path: Path) -> None:
    (tmp_path / 'mine.yaml').write_text('base: middle.yaml\ngeometry: {wheelbase: 3}\n')
    (tmp_path / 'middle.yaml').write_text('base: buggy.yaml\nname: middle\nroad: {kind: waves}\n')
    document = read(tmp_path / 'mine.yaml', packaged)
    buggy = read(packaged('buggy.yaml')).data
    assert document.data == {
        **buggy,
        'name': 'middle',
        'road': {'kind': 'waves'},
        'geometry': {**buggy['geometry'], 'wheelbase': 3},
    }
    assert [Path(file).name for file in document.files] == [
        'mine.yaml',
        'middle.yaml',
        'buggy.yaml',
    ]
    wheelbase, track = (
        document.find(('geometry', name)) for name in ('wheelbase', 'half_track_front')
    )
    assert wheelbase is not None and Path(wheelbase.file).name == 'mine.yaml'
    assert track is not None and Path(track.file).name == 'buggy.yaml'
    assert document.fault(('name',), 'x').file == str(tmp_path / 'middle.yaml')


@pytest.mark.parametrize(
    ('files', 'expected'),
    [
        ({'a': 'base: b.yaml', 'b': 'base: a.yaml'}, 'circle: a.yaml -> b.yaml -> a.yaml'),
        ({'a': 'base: a.yaml'}, 'circle: a.yaml -> a.yaml'),
        ({'a': 'x: 1\nbase: none.yaml'}, 'a.yaml:2: base: there is no file none.yaml beside'),
        ({'a': f'base: "{6000 * "9"}"'}, f'no file {120 * "9"} ... {60 * "9"} beside'),
        ({'a': 'base: [b.yaml]'}, "base: expected the name of a file, found ['b.yaml']"),
        ({'a': 'base: b.yaml', 'b': 'x: [1'}, 'b.yaml:'),
        (
            {chr(97 + k): f'base: {chr(98 + k)}.yaml' for k in range(20)},
            'more than 8 files change one another',
        ),
    ],
)
def test_bases_that_lead_nowhere(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    for name, text in files.items():
        (tmp_path / f'{name}.yaml').write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path / 'a.yaml', packaged)
    (fault,) = caught.value.faults
    assert expected in str(fault)


def test_base_is_an_entry_like_others_where_no_files_are_looked_for(tmp_path: Path) -> None:
    path = tmp_path / 'a.yaml'
    path.write_text('base: euler\n')
    assert read(path).data == {'base': 'euler'}


def test_outer_names_are_taken_off_and_stay_in_messages() -> None:
    document = parse('/**:\n  ros__parameters:\n    car:\n      a: 1\n', 'x.yaml')
    inner = document.unwrapped({'/**', 'ros__parameters', 'car'})
    assert inner.data == {'a': 1}
    assert str(inner.fault(('a',), 'no')) == 'x.yaml:4: /**.ros__parameters.car.a: no'
    assert parse('a: {car: 1}', 'x').unwrapped({'car'}).data == {'a': {'car': 1}}


def test_options_on_top_of_a_file() -> None:
    document = parse('a: {b: 1, c: 2}\n', 'x.yaml').changed({'a': {'c': 3}, 'd': 4}, 'the options')
    assert document.data == {'a': {'b': 1, 'c': 3}, 'd': 4}
    assert str(document.fault(('a', 'c'), 'no')) == 'the options: a.c: no'
    assert str(document.fault(('a', 'b'), 'no')) == 'x.yaml:1: a.b: no'


def test_a_mapping_as_a_name_is_shown_shortly(tmp_path: Path) -> None:
    """Found by bench/fuzz.py: lists within lists made a sentence of a thousand characters."""
    rows = [[round(0.1 * k + 0.01 * j, 5) for k in range(6)] for j in range(6)]
    path = tmp_path / 'a.yaml'
    path.write_text(f'? {{nu: {rows}, mu: {rows}}}\n: 1\n')
    with pytest.raises(ConfigurationError) as caught:
        read(path)
    assert 'expected a name before the colon' in str(caught.value)
    assert max(map(len, str(caught.value).splitlines())) < 400
