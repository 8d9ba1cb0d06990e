from __future__ import annotations

from pathlib import Path

import pytest

from veh_identification.errors import InputError, UsageError
from veh_identification.fleets.recordings import find_recordings, local_copy


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ('a/run1', 'a/run2', 'b/run1', 'b/old_result/result'):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / 'metadata.yaml').write_text('x')
        (tmp_path / name / 'part.mcap').write_text('x')
    (tmp_path / 'b' / 'old_result' / 'parameters.json').write_text('{}')
    (tmp_path / 'b' / 'loose.mcap').write_text('x')
    (tmp_path / 'b' / 'notes.md').write_text('x')
    return tmp_path


def names(tree: Path, *words: str | Path) -> list[str]:
    return [str(Path(one.address).relative_to(tree)) for one in find_recordings(words)]


def test_folder_is_searched_and_results_are_no_recordings(tree: Path) -> None:
    assert names(tree, tree) == ['a/run1', 'a/run2', 'b/loose.mcap', 'b/run1']


def test_pattern_and_recording_given_twice(tree: Path) -> None:
    assert names(tree, f'{tree}/*/run1', tree / 'a' / 'run1') == ['a/run1', 'b/run1']


def test_list_files_stand_beside_their_recordings(tree: Path) -> None:
    (tree / 'all.txt').write_text('# two of them\na/run2\n\nb/run1\n')
    assert names(tree, tree / 'all.txt') == ['a/run2', 'b/run1']
    (tree / 'all.csv').write_text('machine,recording,config\nX 1,a/run1,x.yaml\n,b/run1,\n')
    first, second = find_recordings([tree / 'all.csv'])
    assert (first.machine, first.config) == ('X 1', str(tree / 'x.yaml'))
    assert (second.machine, second.config) == ('', '')


@pytest.mark.parametrize(
    ('name', 'content', 'told'),
    [
        ('a.csv', 'path\nx\n', 'expected a column recording'),
        ('a.csv', 'recording,machine\n,X\n', 'row 2: the column recording is empty'),
        ('a.txt', b'\xff\xfe\x00', 'is no list of recordings'),
    ],
)
def test_lists_that_are_none(tmp_path: Path, name: str, content: str | bytes, told: str) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=told):
        find_recordings([tmp_path / name])


def test_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='holds no recording'):
        find_recordings([tmp_path])
    with pytest.raises(UsageError, match='nothing matches'):
        find_recordings([f'{tmp_path}/*.mcap'])
    with pytest.raises(UsageError, match='needs recordings'):
        find_recordings([])


def test_addresses_of_fsspec(tree: Path) -> None:
    pytest.importorskip('fsspec', reason='fsspec is not installed')
    found = find_recordings([f'file://{tree}'])
    ends = [one.address.removeprefix(f'file://{tree}/') for one in found]
    assert sorted(ends)[:3] == ['a/run1', 'a/run2', 'b/loose.mcap']
    with local_copy(found[0].address) as copy:
        assert (copy / 'part.mcap').read_text() == 'x'
    assert not copy.exists()
    with pytest.raises(UsageError, match='nothing matches'):
        find_recordings([f'file://{tree}/*.bag'])
