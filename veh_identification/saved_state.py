"""Saved states of live nodes: named arrays in an .npz file, written whole, read with every check.

The one writer and the one reader of such files. Nothing in a file is trusted: not its kind (a
pipe), not the sizes that it states (each array is as long as its bytes, before memory is asked
for), not its values. Whoever takes a state over asks for each entry by what it must be (`count`,
`number`, `array` ...), so that each defect is one StateError that names file and entry:

    write_state(path, {'names': np.array(names), 'samples': 12, 'factors': factors})
    state = read_state(path)
    state.texts('names'), state.count('samples'), state.array('factors', (6, 11, 11))

Take everything out of a state and check it before anything of an estimate is replaced: a refused
file must leave the estimate as it was.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from veh_identification.atomic import atomic_file
from veh_identification.errors import EstimationError, VehIdError, one_line
from veh_identification.files import FileError, read_plain, shortened
from veh_identification.types import Array, BoolArray, IntArray

#: No estimate comes near these.
MOST_BYTES = 256 * 2**20
MOST_ENTRIES = 1000
#: Counts beyond this cannot be exact as floats and are no counts of samples.
MOST_COUNT = 2**53
#: What a damaged archive makes zipfile and zlib raise; none of it is ours.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, IndexError),
    *(NotImplementedError, RuntimeError, OverflowError, OSError, MemoryError),
)
#: A header of ours is far shorter; longer ones only cost time.
_MOST_HEADER = 4096
_HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class StateError(EstimationError):
    """A saved state cannot be used."""


def write_state(path: Path | str, state: Mapping[str, Any]) -> None:
    """Store arrays, numbers and texts, whole or not at all."""
    with atomic_file(path) as partial, partial.open('wb') as file:
        np.savez(file, **state)


def read_state(path: Path | str) -> SavedState:
    """The arrays of a stored state; StateError in one sentence whatever the file holds."""
    try:
        content = read_plain(path, MOST_BYTES)
    except FileError as error:
        raise StateError(str(error)) from None
    try:
        return SavedState(_arrays(content), shortened(path))
    except StateError as error:
        raise StateError(f'{shortened(path)}: {error}') from None
    except _DAMAGE as error:
        why = one_line(error)[:200]
        raise StateError(f'{shortened(path)}: not a stored state, or damaged ({why})') from None


def _arrays(content: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if len(members) > MOST_ENTRIES:
            raise StateError(f'it holds {len(members)} entries, at most {MOST_ENTRIES} are read')
        if sum(member.file_size for member in members) > MOST_BYTES:
            raise StateError(f'it unpacks to more than {MOST_BYTES // 2**20} MiB')
        found: dict[str, Any] = {}
        for member in members:
            name = member.filename.removesuffix('.npy')
            if member.flag_bits & 1:
                raise StateError('it is encrypted')
            if name in found:
                raise StateError(f'the entry {name!r} stands twice')
            with archive.open(member) as stream:
                data = stream.read(member.file_size + 1)
            found[name] = _array(name, data)
    return found


def _array(name: str, data: bytes) -> Any:
    """An array as long as its bytes: what its header states is compared before it is believed."""
    stream = io.BytesIO(data)
    version = npy.read_magic(stream)
    if version not in _HEADER_READERS:
        raise StateError(f'the entry {name!r} has the unknown version {version}')
    try:
        shape, fortran, dtype = _HEADER_READERS[version](stream, max_header_size=_MOST_HEADER)
    except Exception as error:  # NumPy evaluates the header: whatever Python's own parser raises
        why = one_line(error)[:100]
        raise StateError(f'the entry {name!r} has a damaged header ({why})') from None
    if dtype.kind not in 'biufU':
        raise StateError(f'the entry {name!r} holds {dtype}, expected numbers or texts')
    body = data[stream.tell() :]
    if any(length < 0 for length in shape) or dtype.itemsize * math.prod(shape) != len(body):
        raise StateError(
            f'the entry {name!r} states the shape {_shape_text(shape)} but holds {len(body)} bytes'
        )
    if not body:
        return np.zeros(shape, dtype)
    flat = np.frombuffer(body, dtype)
    return flat.reshape(shape, order='F' if fortran else 'C').copy()


class SavedState(Mapping[str, Any]):
    """Entries of a stored state, each asked for by what it must be."""

    def __init__(self, entries: Mapping[str, Any], source: str = 'the stored estimate') -> None:
        self._entries, self.source = dict(entries), source

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> SavedState:
        """The state itself, or plain entries that never were in a file."""
        return state if isinstance(state, cls) else cls(state)

    def __getitem__(self, key: str) -> Any:
        if key not in self._entries:
            raise self.refused(key, 'is missing')
        return self._entries[key]

    def get(self, key: str, default: Any = None) -> Any:
        """An entry that may be missing."""
        return self._entries.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def refused(self, key: str, why: str) -> StateError:
        """The error of an entry, to be raised."""
        return StateError(f'{self.source}: {key} {why}')

    @contextmanager
    def tried(self) -> Iterator[None]:
        """Inside, values are computed with: what they do not allow is a StateError."""
        try:
            yield
        except VehIdError as error:
            raise StateError(f'{self.source}: {error}') from None
        except (ArithmeticError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise StateError(f'{self.source}: its values cannot be used ({error})') from None

    def expect_version(self, version: int, key: str = 'version') -> None:
        """Refuse a state that another version of this program wrote."""
        found = self.count(key)
        if found != version:
            raise self.refused(key, f'is {found}, expected {version}')

    def expect_texts(self, key: str, wanted: Sequence[str], of: str = 'model') -> None:
        """Refuse a state whose names are not these, in this order."""
        found = self.texts(key)
        if found != list(wanted):
            other = sorted(set(found) ^ set(wanted))[:4]
            differ = ', '.join(other) or 'the order differs'
            raise self.refused(
                key, f'belong to another {of} ({len(found)}, here {len(wanted)}): {differ[:200]}'
            )

    def text(self, key: str) -> str:
        """One text."""
        value = np.asarray(self[key])
        if value.dtype.kind != 'U' or value.ndim:
            raise self.refused(key, f'is {_found(value)}, expected a text')
        return str(value)

    def texts(self, key: str) -> list[str]:
        """A list of texts."""
        value = np.asarray(self[key])
        # An empty list of texts has no kind of its own.
        if value.ndim != 1 or (value.dtype.kind != 'U' and value.size):
            raise self.refused(key, f'is {_found(value)}, expected a list of texts')
        return [str(one) for one in value]

    def number(self, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """One finite number within limits."""
        return float(self.array(key, (), low=low, high=high))

    def count(self, key: str) -> int:
        """A whole number, not negative."""
        return int(self.counts(key, ()))

    def counts(self, key: str, shape: tuple[int | None, ...]) -> IntArray:
        """Whole numbers, none negative."""
        value = self.array(key, shape, low=0, high=MOST_COUNT)
        if not np.array_equal(value, np.floor(value)):
            raise self.refused(key, 'holds a fraction, expected whole numbers')
        return value.astype(np.int64)

    def stamps(self, key: str) -> IntArray:
        """A list of nanoseconds, which a float could not hold."""
        value = np.asarray(self[key])
        if value.ndim != 1 or (value.dtype.kind not in 'iu' and value.size):
            raise self.refused(key, f'is {_found(value)}, expected a list of whole numbers')
        if value.size and not 0 <= value.min() <= value.max() < 2**62:
            raise self.refused(key, 'holds what is no stamp')
        return value.astype(np.int64)

    def flag(self, key: str) -> bool:
        """True or false."""
        return bool(self.flags(key, ()))

    def flags(self, key: str, shape: tuple[int | None, ...]) -> BoolArray:
        """Values that are true or false."""
        value = np.asarray(self[key])
        if value.dtype.kind != 'b' or not _fits(value.shape, shape):
            raise self.refused(key, f'is {_found(value)}, expected {_expected(shape)} of flags')
        return value.astype(np.bool_)

    def array(
        self,
        key: str,
        shape: tuple[int | None, ...],
        *,
        low: float = -math.inf,
        high: float = math.inf,
        finite: bool = True,
    ) -> Array:
        """Numbers of a shape (None: any length) within limits; finite unless that is said."""
        value = np.asarray(self[key])
        if value.dtype.kind not in 'iuf' or not _fits(value.shape, shape):
            raise self.refused(key, f'is {_found(value)}, expected {_expected(shape)} of numbers')
        numbers = value.astype(np.float64)
        if finite and not np.isfinite(numbers).all():
            raise self.refused(key, 'holds values that are not finite')
        if numbers.size and (numbers.min() < low or numbers.max() > high):
            wrong = float(numbers.min() if numbers.min() < low else numbers.max())
            raise self.refused(key, f'holds {wrong:.6g}, expected {_range_text(low, high)}')
        return numbers

    def covariance(self, key: str, size: int) -> Array:
        """A symmetric matrix without negative eigenvalues."""
        found = self.array(key, (size, size))
        if not np.all(np.linalg.eigvalsh(found) >= -1e-12 * np.trace(found)):
            raise self.refused(key, 'is not one (a negative eigenvalue)')
        return np.asarray(0.5 * (found + found.T))


def _fits(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(found) == len(wanted) and all(
        b is None or a == b for a, b in zip(found, wanted, strict=True)
    )


def _shape_text(shape: Sequence[int | None]) -> str:
    text = ' x '.join('n' if one is None else str(one) for one in shape[:6])
    return (f'{text} ...' if len(shape) > 6 else text)[:120] or 'one value'


def _expected(shape: tuple[int | None, ...]) -> str:
    return _shape_text(shape)


def _found(value: Any) -> str:
    return f'{_shape_text(value.shape)} of {value.dtype}'


def _range_text(low: float, high: float) -> str:
    if math.isinf(high):
        return f'at least {low:.6g}'
    return f'at most {high:.6g}' if math.isinf(low) else f'{low:.6g} to {high:.6g}'
