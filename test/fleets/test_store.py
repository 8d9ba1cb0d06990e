from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from fleet_numbers import reduction

from veh_identification.errors import InputError
from veh_identification.findings import Finding
from veh_identification.fleets import fingerprints
from veh_identification.fleets.fingerprints import content_of, description_of, key_of
from veh_identification.fleets.reduction import Reduction, refused
from veh_identification.fleets.store import Store


def same(a: Reduction, b: Reduction) -> None:
    for name, value in vars(a).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(b, name))
        else:
            assert value == getattr(b, name), name


def test_what_is_stored_comes_back_bit_by_bit(tmp_path: Path) -> None:
    covariance = np.array([[2.0, 0.3, np.nan], [0.3, 1.0, np.nan], [np.nan] * 3])
    made = reduction(
        [1.0 / 3.0, np.nan, 7.0],
        covariance,
        names=('a', 'b', 'c'),
        findings=(Finding('warn', 'weak', 'ä weak one', 'x', 2.5), Finding('good', 'g', 't')),
    )
    store = Store(tmp_path)
    assert store.get('abc') is None
    store.put('abc', made)
    found = Store(tmp_path).get('abc')
    assert found is not None
    same(made.__class__(**{**vars(made), 'findings': ()}), replaced(found))
    assert found.findings[0] == made.findings[0]
    assert found.findings[1].text == 't'
    store.put('def', refused('car', 'it is empty.'))
    again = store.get('def')
    assert again is not None and again.error == 'it is empty.'
    store.put('ghi', refused('car', 'lost', kept=False))
    assert store.get('ghi') is None


def replaced(one: Reduction) -> Reduction:
    return one.__class__(**{**vars(one), 'findings': ()})


def test_damaged_files_are_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put('abc', reduction([1.0, 2.0], np.eye(2)))
    (file,) = tmp_path.rglob('*.npz')
    whole = file.read_bytes()
    for content in (b'', whole[:200], whole[:-40], b'x' * 500):
        file.write_bytes(content)
        store = Store(tmp_path)
        assert store.get('abc') is None
        assert len(store.damaged) == 1
    (tmp_path / 'index.json').write_text('[1, 2')
    assert Store(tmp_path).get('xyz') is None


def test_content_is_read_once_while_the_files_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bag = tmp_path / 'bag'
    bag.mkdir()
    (bag / 'a.mcap').write_bytes(b'one')
    store = Store(tmp_path / 'store')
    first = store.content(str(bag))
    store.save_index()
    monkeypatch.setattr(fingerprints, 'content_of', None)
    monkeypatch.setattr('veh_identification.fleets.store.content_of', lambda _: 'read')
    assert Store(tmp_path / 'store').content(str(bag)) == first
    assert Store(tmp_path / 'store').content(str(bag), verify=True) == 'read'
    about = (bag / 'a.mcap').stat()
    (bag / 'a.mcap').write_bytes(b'two')
    os.utime(bag / 'a.mcap', ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    assert Store(tmp_path / 'store').content(str(bag)) == 'read'


def test_key_follows_content_description_options_and_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bag, urdf, config = tmp_path / 'a.mcap', tmp_path / 'r.urdf', tmp_path / 'c.yaml'
    bag.write_bytes(b'recording')
    urdf.write_text('<robot/>')
    config.write_text('model: r.urdf\nmass: 3\n')

    def key(**change: object) -> str:
        description_of.cache_clear()
        fingerprints._file.cache_clear()
        options = change.get('options', (('urdf', urdf), ('rate', 3.0)))
        return key_of(content_of(str(bag)), 'robot', config, options)  # type: ignore[arg-type]

    keys = [key()]
    assert key() == keys[0]
    bag.write_bytes(b'recordinh')
    keys.append(key())
    config.write_text('model: r.urdf\nmass: 4\n')
    keys.append(key())
    urdf.write_text('<robot />')  # named by the description and by an option
    keys.append(key())
    keys.append(key(options=(('urdf', urdf), ('rate', 4.0))))
    monkeypatch.setattr(fingerprints, '__version__', '99')
    keys.append(key())
    assert len(set(keys)) == len(keys)


def test_recording_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='No such file'):
        Store(tmp_path).content(str(tmp_path / 'nothing'))
