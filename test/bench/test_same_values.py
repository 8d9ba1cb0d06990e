"""bench/same_values.py must see differences, and only those."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.rosbag2.enums import StoragePlugin
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_JAZZY)
ROBOT = (
    '<robot name="r"><link name="a"><inertial><mass value="{}"/>'
    '<origin xyz="0 0 1"/></inertial></link></robot>'
)


def load() -> ModuleType:
    path = Path(__file__).parents[2] / 'bench' / 'same_values.py'
    spec = importlib.util.spec_from_file_location('same_values', path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


same = load()


def compared(before: Any, after: Any) -> Any:
    """Two trees as two files."""
    old, new, out = same.Content(), same.Content(), same.Comparison()
    old.add(before)
    new.add(after)
    same.compare_content('file', old, new, same.file_floors(old), out)
    return out


def test_equal_trees_have_no_differences_and_all_numbers_are_counted() -> None:
    tree = {'a': 1.5, 'b': [1, 2, 3], 'c': {'d': None, 'e': True}, 'f': 'text', 'g': float('nan')}
    out = compared(tree, tree)
    assert (out.differing, out.largest, out.values) == (0, 0.0, 7)


@pytest.mark.parametrize(
    ('before', 'after', 'differing'),
    [
        (1.0, 1.0 + 1e-10, 0),
        (1.0, 1.0 + 1e-8, 1),
        (1.0, None, 1),
        (0.0, 1e-300, 1),
        (float('inf'), float('inf'), 0),
        (1_700_000_000, 1_700_000_001, 1),  # less than 1e-9, but whole numbers must be equal
        (2, 2.0, 0),
        (True, False, 1),
        ([1.0, 2.0], [1.0, 2.1], 1),
        ([1.0, 2.0], [1.0], 1),
        ('12.5', '12.6', 1),  # diagnostics spell numbers
    ],
)
def test_numbers(before: Any, after: Any, differing: int) -> None:
    assert compared({'a': before}, {'a': after}).differing == differing


def test_value_lost_is_a_difference_and_a_new_one_is_listed() -> None:
    out = compared({'a': 1.0, 'b': 2.0}, {'a': 1.0, 'c': 3.0, 'd': 'word'})
    assert out.differing == 1 and out.paths == {'file b'}
    assert out.new == ['file c']
    assert out.texts == ["file d: only after: 'word'"]


def test_text_is_listed_but_units_and_names_must_stay() -> None:
    assert compared({'note': 'old'}, {'note': 'new'}).differing == 0
    assert compared({'note': 'old'}, {'note': 'new'}).texts
    assert compared({'unit': 'kg'}, {'unit': 'g'}).differing == 1
    assert compared({'version': '1'}, {'version': '2'}).texts == []


def test_named_entries_are_found_again_in_another_order() -> None:
    rows = [{'name': 'Mc', 'value': 1500.0}, {'name': 'Cx', 'value': 0.4}]
    assert compared(rows, rows[::-1]).differing == 0
    rows_after = [rows[1], {'name': 'Mc', 'value': 1501.0}]
    assert compared(rows, rows_after).paths == {'file Mc/value'}


def test_floor_of_an_estimated_value_is_its_deviation() -> None:
    before = {'p': {'value': 1e-12, 'std': 2.0}}
    assert compared(before, {'p': {'value': 2e-12, 'std': 2.0}}).differing == 0
    assert compared(before, {'p': {'value': 1e-8, 'std': 2.0}}).differing == 1


def test_folders_in_text_do_not_count() -> None:
    old, new = same.Content(), same.Content()
    old.add({'input': '/x/before/run0'})
    new.add({'input': '/x/after/run0'})
    out = same.Comparison({'/x/before': 'RUN', '/x/after': 'RUN'})
    same.compare_content('file', old, new, {}, out)
    assert out.texts == []


def write_results(folder: Path, mass: float) -> None:
    folder.mkdir()
    (folder / 'parameters.json').write_text(json.dumps({'mass': mass}), 'utf-8')
    (folder / 'parameters.csv').write_text(f'name,value\nMc,{mass!r}\n', 'utf-8')
    (folder / 'series.csv').write_text(f'time,x\n0.0,{mass!r}\n0.1,\n', 'utf-8')
    (folder / 'identified.urdf').write_text(ROBOT.format(repr(mass)), 'utf-8')
    (folder / 'design.yaml').write_text(f'mass: {mass!r}\n', 'utf-8')
    (folder / 'report.html').write_text(f'<p>{mass!r}</p>', 'utf-8')


def test_every_kind_of_file_is_read(tmp_path: Path) -> None:
    write_results(tmp_path / 'a', 1.0)
    write_results(tmp_path / 'b', 1.0 + 1e-6)
    (tmp_path / 'b' / 'more.json').write_text('{}', 'utf-8')
    out = same.Comparison()
    same.compare_folders(tmp_path / 'a', tmp_path / 'b', out)
    assert out.paths == {
        'parameters.json mass',
        'parameters.csv Mc/value',
        'series.csv x',
        'identified.urdf link a/inertial 0/mass 0/value',
        'design.yaml mass',
    }
    assert out.new == ['more.json (file)']
    back = same.Comparison()
    same.compare_folders(tmp_path / 'b', tmp_path / 'a', back)
    assert 'more.json' in back.paths


def write_bag(path: Path, angles: list[float], frame: str = 'base_link') -> None:
    types = STORE.types
    kind = 'sensor_msgs/msg/JointState'
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection('/joint_states', kind, typestore=STORE)
        for place, angle in enumerate(angles):
            header = types['std_msgs/msg/Header'](
                types['builtin_interfaces/msg/Time'](place, 5), frame
            )
            empty = np.zeros(0)
            message = types[kind](header, ['crank'], np.array([angle]), empty, empty)
            writer.write(connection, place, STORE.serialize_cdr(message, kind))


def compared_bags(folder: Path, exact: bool = False) -> Any:
    out = same.Comparison(exact=exact)
    same.compare_folders(folder / 'a', folder / 'b', out)
    return out


@pytest.fixture
def sides(tmp_path: Path) -> Path:
    for side in 'ab':
        (tmp_path / side).mkdir()
    write_bag(tmp_path / 'a' / 'out', [1.0, 2.0, 3.0])
    return tmp_path


def test_equal_recordings(sides: Path) -> None:
    write_bag(sides / 'b' / 'out', [1.0, 2.0, 3.0])
    out = compared_bags(sides, exact=True)
    assert out.differing == 0
    assert out.values == 3 * 4  # log time, two parts of the stamp, one angle


def test_changed_number_in_a_recording_is_found(sides: Path) -> None:
    write_bag(sides / 'b' / 'out', [1.0, 2.0 + 1e-6, 3.0])
    out = compared_bags(sides)
    assert out.paths == {'out:/joint_states position'}
    assert out.differing == 1 and '[message 1]' in out.lines[0][1]


def test_rounding_counts_only_where_bytes_must_be_equal(sides: Path) -> None:
    write_bag(sides / 'b' / 'out', [1.0, np.nextafter(2.0, 3.0), 3.0])
    assert compared_bags(sides).differing == 0
    assert compared_bags(sides, exact=True).paths == {'out:/joint_states bytes'}


def test_changed_frame_and_lost_message_are_found(sides: Path) -> None:
    write_bag(sides / 'b' / 'out', [1.0, 2.0], frame='other')
    assert {'out:/joint_states', 'out:/joint_states header/frame_id'} <= compared_bags(sides).paths


#: A package that writes what its command line says, times a factor.
PACKAGE = """
import json, pathlib, random, sys
verb, value, *_ = sys.argv[1:]
out = pathlib.Path(sys.argv[sys.argv.index('--out') + 1])
if value == 'bad':
    sys.exit('the input is unusable')
if pathlib.Path(value).is_dir():
    value = json.loads((pathlib.Path(value) / 'out.json').read_text())['value']
out.mkdir()
found = {'value': float(value) * FACTOR, 'chance': random.random() if verb == 'design' else 0.0}
(out / 'out.json').write_text(json.dumps(found))
counter = pathlib.Path(__file__).parents[2] / 'count'
counter.write_text(counter.read_text() + verb[0] if counter.exists() else verb[0])
"""
CASES = [
    same.Case('simulate-one', 'simulate 2.0 --out {out}'),
    same.Case('identify-one', 'identify {simulate-one} --out {out}', timed=True),
    same.Case('design-one', 'design 3.0 --out {out}', twice=True),
]


def checkout(folder: Path, factor: str) -> Path:
    (folder / 'veh_identification' / 'cli').mkdir(parents=True)
    (folder / 'veh_identification' / '__init__.py').touch()
    (folder / 'veh_identification' / 'cli' / '__init__.py').touch()
    code = PACKAGE.replace('FACTOR', factor)
    (folder / 'veh_identification' / 'cli' / 'main.py').write_text(code, 'utf-8')
    return folder


def run(before: Path, after: Path, *more: str) -> tuple[int, dict[str, Any]]:
    report = before.parent / 'report.json'
    cache = before.parent / 'cache'
    arguments = ['--before', str(before), '--after', str(after), '--cache', str(cache)]
    names = ['--only', *(case.name for case in CASES)]
    status = same.main([*arguments, '--json', str(report), *names, *more], CASES)
    rows = json.loads(report.read_text('utf-8'))['cases']
    return status, {row['case']: row for row in rows}


def test_two_checkouts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = checkout(tmp_path / 'before', '1.0')
    equal = checkout(tmp_path / 'equal', '1.0')
    status, rows = run(before, equal)
    assert status == 0
    assert rows['design-one']['unrepeatable'] == 1  # `chance` differs between runs of before
    assert rows['identify-one']['seconds_after'] > 0.0
    assert (before / 'count').read_text() == 'sidd'

    changed = checkout(tmp_path / 'changed', '(1.0 + 1e-7)')
    status, rows = run(before, changed)
    assert status == 1
    assert all(row['differing'] == 1 for row in rows.values())
    # Both sides read the recording of before: the factor counts once.
    assert rows['identify-one']['largest_relative'] == pytest.approx(1e-7, rel=1e-5)
    assert (before / 'count').read_text() == 'sidd'  # all of it from the cache
    assert 'DIFFER' in capsys.readouterr().err

    run(before, equal, '--repeat', '2')
    assert (before / 'count').read_text() == 'siddii'  # timed anew, in turn with after


def test_change_of_before_empties_the_cache(tmp_path: Path) -> None:
    before, after = checkout(tmp_path / 'before', '1.0'), checkout(tmp_path / 'after', '1.0')
    assert run(before, after)[0] == 0
    source = before / 'veh_identification' / 'cli' / 'main.py'
    source.write_text(PACKAGE.replace('FACTOR', '2.0'), 'utf-8')
    # Python takes its compiled file for this one within the same second.
    os.utime(source, (1.0, 1.0))
    assert run(before, after)[0] == 1


def test_command_that_fails_after_is_a_difference(tmp_path: Path) -> None:
    before, after = checkout(tmp_path / 'before', '1.0'), checkout(tmp_path / 'after', 'nothing')
    status, rows = run(before, after)
    assert status == 1
    assert "NameError: name 'nothing'" in rows['simulate-one']['differences'][0]
