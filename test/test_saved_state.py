"""Whatever a file of a saved state holds: the state, or one sentence; never a traceback."""

from __future__ import annotations

import io
import os
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veh_identification import saved_state
from veh_identification.identification.accumulator import Information
from veh_identification.identification.live import LiveIdentification, Solution
from veh_identification.saved_state import SavedState, StateError, read_state, write_state


def solver(information: Information) -> Solution:
    factor = information.combined()
    value = np.linalg.solve(factor.R, factor.z)
    return Solution(value, np.eye(2), np.ones(2), np.ones(2, bool), 1.0)


def estimate() -> LiveIdentification:
    return LiveIdentification(
        ['a', 'b'], ['x', 'y'], [0], solver, row_rate=10.0, memory=5.0, significance=1e-5
    )


@pytest.fixture
def state() -> dict[str, Any]:
    live = estimate()
    rng = np.random.default_rng(1)
    W = rng.normal(size=(50, 2, 2))
    live.add(W, W @ [1.0, 2.0])
    return live.state()


def refused(path: Path) -> str:
    """The sentence of a file that cannot be read."""
    with pytest.raises(StateError) as caught:
        read_state(path)
    text = str(caught.value)
    assert '\n' not in text and len(text) < 700
    return text


def refused_entry(state: dict[str, Any], **changed: Any) -> str:
    """The sentence of an estimate that cannot be taken over, which leaves the old one alone."""
    live = estimate()
    live.restore(state)
    before = live.information
    with pytest.raises(StateError) as caught:
        live.restore({key: v for key, v in {**state, **changed}.items() if v is not None})
    assert live.information is before
    return str(caught.value)


def test_round_trip(tmp_path: Path, state: dict[str, Any]) -> None:
    write_state(tmp_path / 'a.npz', state)
    live = estimate()
    live.restore(read_state(tmp_path / 'a.npz'))
    assert live.reference is not None
    np.testing.assert_allclose(live.reference.value, [1.0, 2.0])
    assert live.samples == 50


def test_entries_that_cannot_be(state: dict[str, Any]) -> None:
    factors = np.array(state['factors'])
    spoilt = factors.copy()
    spoilt[0, 0, 0] = np.nan
    for changed, words in [
        ({'samples': -1}, 'samples holds -1, expected 0 to'),
        ({'samples': 1.5}, 'samples holds a fraction'),
        ({'samples': np.nan}, 'samples holds values that are not finite'),
        ({'samples': 'many'}, 'samples is one value of <U4, expected one value of numbers'),
        ({'counts': np.array([1, -2])}, 'counts holds -2'),
        ({'factors': spoilt}, 'factors holds values that are not finite'),
        ({'factors': factors[:1]}, 'factors is 1 x 3 x 3 of float64, expected 2 x 3 x 3'),
        ({'factors': np.zeros((2, 3, 3))}, 'its values cannot be used'),
        ({'squares': -np.ones(2)}, 'squares holds -1, expected at least 0'),
        ({'names': np.array(['a', 'c'])}, 'names belong to another model (2, here 2): b, c'),
        ({'names': np.array([1, 2])}, 'expected a list of texts'),
        ({'version': 7}, 'version is 7, expected 1'),
        ({'colour': None}, 'colour is missing'),
    ]:
        assert words in refused_entry(state, **changed)


def archive(path: Path, entries: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, 'w', method) as made:
        for name, content in entries.items():
            made.writestr(name, content)
    return path


def npy(shape: str, descr: str = '<f8', body: bytes = b'') -> bytes:
    head = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}}}".encode()
    head += b' ' * (63 - (len(head) + 10) % 64) + b'\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head + body


def test_files_that_are_no_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / 'a.npz'
    assert 'No such file' in refused(path)
    assert 'it is a folder' in refused(tmp_path)
    os.mkfifo(tmp_path / 'pipe')
    assert 'not a plain file' in refused(tmp_path / 'pipe')
    assert 'File name too long' in refused(tmp_path / ('x' * 5000))
    for content in (b'', b'PK', b'\x93NUMPY', os.urandom(500)):
        path.write_bytes(content)
        assert 'not a stored state' in refused(path)
    for content, words in [
        (npy('(1000000, 1000000)'), "'a' states the shape 1000000 x 1000000 but holds 0 bytes"),
        (npy('(2,)', body=b'\0' * 8), 'states the shape 2 but holds 8 bytes'),
        (npy('(-1,)', body=b'\0' * 8), 'states the shape -1'),
        (npy('()', '|O', b'\x80\x04.'), 'holds object, expected numbers or texts'),
        (npy('(' * 900), 'damaged header'),
        (b'\x93NUMPY\x09\x00' + b'\0' * 80, 'unknown version'),
    ]:
        assert words in refused(archive(path, {'a.npy': content}))
    archive(path, {'a.npy': npy('()', body=b'\0' * 8), 'a': npy('()', body=b'\0' * 8)})
    assert "'a' stands twice" in refused(path)
    content = bytearray(archive(path, {'a.npy': npy('()', body=b'\0' * 8)}).read_bytes())
    content[6] |= 1
    content[content.index(b'PK\x01\x02') + 8] |= 1
    path.write_bytes(content)
    assert 'it is encrypted' in refused(path)
    monkeypatch.setattr(saved_state, 'MOST_BYTES', 2**20)
    bomb = npy('(1000000,)', body=bytes(8_000_000))
    assert 'unpacks to more than' in refused(archive(path, {'a.npy': bomb}, zipfile.ZIP_DEFLATED))
    archive(path, {f'{k}.npy': npy('()', body=b'\0' * 8) for k in range(1001)})
    assert '1001 entries' in refused(path)


def test_damaged_files(tmp_path: Path, state: dict[str, Any]) -> None:
    """Flipped, cut and swapped bytes: a state that fits, or one sentence."""
    write_state(tmp_path / 'a.npz', state)
    good = (tmp_path / 'a.npz').read_bytes()
    rng = random.Random(20)
    outcomes = {'taken': 0, 'refused': 0}
    path = tmp_path / 'b.npz'
    for _ in range(600):
        content = bytearray(good)
        if rng.random() < 0.3:
            del content[rng.randrange(len(content)) :]
        for _ in range(rng.choice([1, 1, 3, 20])):
            if content:
                content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        live = estimate()
        try:
            live.restore(read_state(path))
        except StateError as error:
            assert '\n' not in str(error) and str(path) in str(error)
            outcomes['refused'] += 1
        else:
            assert live.samples == 50  # a byte that says nothing was hit
            outcomes['taken'] += 1
    assert outcomes['refused'] > 300, outcomes


def test_plain_entries_are_asked_the_same_way() -> None:
    stored = SavedState.of({'on': True, 'text': 'a', 'n': 3})
    assert stored.flag('on') and stored.text('text') == 'a' and stored.count('n') == 3
    for ask in (lambda: stored.flag('n'), lambda: stored.text('n'), lambda: stored.count('on')):
        with pytest.raises(StateError, match='expected'):
            ask()
    assert SavedState.of(stored) is stored
    buffer = io.BytesIO()
    np.savez(buffer, a=np.zeros((0, 3)), b=np.array([], dtype=str))
    path_less = SavedState(dict(np.load(io.BytesIO(buffer.getvalue()))))
    assert path_less.texts('b') == [] and path_less.array('a', (None, 3)).shape == (0, 3)
