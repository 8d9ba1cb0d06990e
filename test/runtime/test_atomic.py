from __future__ import annotations

import io
from pathlib import Path

import pytest

from veh_identification.atomic import OutputError, atomic_file, atomic_folder, write_text
from veh_identification.runtime.bags import Progress
from veh_identification.runtime.bags import progress as progress_module


def test_file_appears_whole(tmp_path: Path):
    with atomic_file(tmp_path / 'sub' / 'a.txt') as partial:
        partial.write_text('all')
        assert not (tmp_path / 'sub' / 'a.txt').exists()
    assert (tmp_path / 'sub' / 'a.txt').read_text() == 'all'
    assert [entry.name for entry in (tmp_path / 'sub').iterdir()] == ['a.txt']


def test_failure_keeps_the_old_file(tmp_path: Path):
    write_text(tmp_path / 'a.txt', 'old')
    with pytest.raises(ValueError), atomic_file(tmp_path / 'a.txt') as partial:
        partial.write_text('new')
        raise ValueError
    assert (tmp_path / 'a.txt').read_text() == 'old'
    assert len(list(tmp_path.iterdir())) == 1


def test_folder(tmp_path: Path):
    for content in ('one', 'two'):
        with atomic_folder(tmp_path / 'out', overwrite=True) as partial:
            (partial / 'parameters.json').write_text(content)
        assert (tmp_path / 'out' / 'parameters.json').read_text() == content
    with pytest.raises(OutputError, match='exists already'), atomic_folder(tmp_path / 'out'):
        pass
    with pytest.raises(ValueError), atomic_folder(tmp_path / 'other'):
        raise ValueError
    assert [entry.name for entry in tmp_path.iterdir()] == ['out']


def test_system_errors_become_sentences(tmp_path: Path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(OutputError, match='is not a folder'):
        write_text(tmp_path / 'file' / 'a', '')
    full = pytest.raises(OutputError, match='cannot be written: No space')
    with full, atomic_file(tmp_path / 'b') as partial:
        partial.write_text('part')
        raise OSError(28, 'No space left on device')
    assert [entry.name for entry in tmp_path.iterdir()] == ['file']
    with pytest.raises(OutputError, match='not a name'):
        write_text('/', '')


def test_progress_in_plain_lines(monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    now = [0.0]
    monkeypatch.setattr(progress_module.time, 'monotonic', lambda: now[0])
    with Progress('reading', stream=stream) as progress:
        progress(1, 100)
        now[0] = 6.0
        progress(50, 100)
        progress(60, 100)
        progress(100, 100)
    assert stream.getvalue().splitlines() == [
        'reading: 50 of 100 messages (50 %)',
        'reading: 100 of 100 messages (100 %)',
    ]


def test_progress_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with Progress('reading', stream=stream) as progress:
        progress(10, 100)
        progress(100, 100)
    assert '100/100' in stream.getvalue()
