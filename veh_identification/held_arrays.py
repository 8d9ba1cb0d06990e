"""Arrays handed to a compiled kernel by one table of addresses.

A call of a kernel unboxes every array that it is given, which takes half a microsecond each: with
ninety of them that is a fifth of a step of the car. Arrays that stay the same ones are written
down once (`HeldArrays`), and a kernel makes views of them inside (`reals_1` and so on). A table
tells the kind of each array; a kernel that asks for another one raises.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import carray, config, njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

#: Columns of a table: kind, address, and up to three lengths.
KIND, ADDRESS, LENGTHS, WIDTH = 0, 1, 2, 5
#: Kinds: what the entries are, and ten for each dimension.
REAL, WHOLE, FLAG, DIMENSION = 1, 2, 3, 10
_CODES = {np.dtype(np.float64): REAL, np.dtype(np.int64): WHOLE, np.dtype(np.bool_): FLAG}
MOST_DIMENSIONS = 3


def _entry(array: NDArray[Any]) -> list[int]:
    """Row of a table."""
    code = _CODES.get(array.dtype)
    if code is None or not 1 <= array.ndim <= MOST_DIMENSIONS or not array.flags.c_contiguous:
        raise TypeError(
            f'a kernel cannot be handed an array of {array.dtype} and shape {array.shape}: it '
            'takes contiguous ones of reals, whole numbers or flags with one to three dimensions'
        )
    lengths = [*array.shape, *(0,) * (MOST_DIMENSIONS - array.ndim)]
    return [code + DIMENSION * array.ndim, array.ctypes.data, *lengths]


class HeldArrays:
    """Arrays in the order in which a kernel takes them, single numbers as arrays of one.

    Kernels are given `table`. It holds the arrays themselves, so that no address outlives its
    memory; numbers are copied: they are what they were when the table was made.
    """

    def __init__(self, parts: Iterable[Any]) -> None:
        self.arrays = [np.atleast_1d(np.asarray(one)) for one in flat(parts)]
        self.table = np.array([_entry(one) for one in self.arrays], dtype=np.int64)

    def __reduce__(self) -> Any:
        """Refuse to be copied: a copy would hold the addresses of the first one's arrays."""
        raise TypeError(
            'what holds arrays for compiled steps cannot be copied or pickled: take a `snapshot` '
            'of the filter and `restore` it in one made anew'
        )


def flat(parts: Iterable[Any]) -> list[Any]:
    """Members of tuples within tuples, in order."""
    found: list[Any] = []
    for one in parts:
        if isinstance(one, tuple):
            found += flat(one)
        else:
            found.append(one)
    return found


def _pointer_to(entry: Any) -> Any:
    """Intrinsic that takes an address for a pointer to such entries."""

    def typed(context: Any, address: Any) -> Any:
        def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            wanted = context.get_value_type(signature.return_type)
            return builder.inttoptr(arguments[0], wanted)

        return types.CPointer(entry)(types.intp), made

    return intrinsic(typed)


_to_reals = _pointer_to(types.float64)
_to_wholes = _pointer_to(types.int64)
_to_flags = _pointer_to(types.boolean)


# With the types of what they take: otherwise each whole number that a caller writes out makes
# Numba compile a form of its own.
def _viewer(result: str) -> Any:
    return njit(f'{result}(int64[:, ::1], int64)', cache=True, nogil=True)


@njit('void(int64[:, ::1], int64, int64)', cache=True, nogil=True)
def _check(table: NDArray[np.int64], k: int, kind: int) -> None:
    if table[k, KIND] != kind:
        raise TypeError('a kernel was handed another kind of array than it takes')


@_viewer('float64[::1]')
def reals_1(table: NDArray[np.int64], k: int) -> Any:
    """Array k, of reals (n)."""
    _check(table, k, REAL + DIMENSION)
    return carray(_to_reals(table[k, ADDRESS]), (table[k, LENGTHS],))


@_viewer('float64[:, ::1]')
def reals_2(table: NDArray[np.int64], k: int) -> Any:
    """Array k, of reals (n, m)."""
    _check(table, k, REAL + 2 * DIMENSION)
    return carray(_to_reals(table[k, ADDRESS]), (table[k, LENGTHS], table[k, LENGTHS + 1]))


@_viewer('float64[:, :, ::1]')
def reals_3(table: NDArray[np.int64], k: int) -> Any:
    """Array k, of reals (n, m, l)."""
    _check(table, k, REAL + 3 * DIMENSION)
    lengths = (table[k, LENGTHS], table[k, LENGTHS + 1], table[k, LENGTHS + 2])
    return carray(_to_reals(table[k, ADDRESS]), lengths)


@_viewer('int64[::1]')
def wholes_1(table: NDArray[np.int64], k: int) -> Any:
    """Array k, of whole numbers (n)."""
    _check(table, k, WHOLE + DIMENSION)
    return carray(_to_wholes(table[k, ADDRESS]), (table[k, LENGTHS],))


@_viewer('int64[:, ::1]')
def wholes_2(table: NDArray[np.int64], k: int) -> Any:
    """Array k, of whole numbers (n, m)."""
    _check(table, k, WHOLE + 2 * DIMENSION)
    return carray(_to_wholes(table[k, ADDRESS]), (table[k, LENGTHS], table[k, LENGTHS + 1]))


@_viewer('boolean[::1]')
def flags_1(table: NDArray[np.int64], k: int) -> Any:
    """Array k, of flags (n)."""
    _check(table, k, FLAG + DIMENSION)
    return carray(_to_flags(table[k, ADDRESS]), (table[k, LENGTHS],))


def _interpreted(dimensions: int, kind: int, entry: Any) -> Any:
    """The same without a compiler, for tools that watch kernels run."""

    def view(table: NDArray[np.int64], k: int) -> Any:
        _check(table, k, kind + DIMENSION * dimensions)
        shape = tuple(table[k, LENGTHS : LENGTHS + dimensions].tolist())
        if 0 in shape:
            return np.zeros(shape, dtype=entry)
        pointer = ctypes.cast(int(table[k, ADDRESS]), ctypes.POINTER(entry))
        return np.ctypeslib.as_array(pointer, shape)

    return view


if config.DISABLE_JIT:  # type: ignore[attr-defined]
    reals_1, reals_2, reals_3 = (_interpreted(n, REAL, ctypes.c_double) for n in (1, 2, 3))
    wholes_1, wholes_2 = (_interpreted(n, WHOLE, ctypes.c_int64) for n in (1, 2))
    flags_1 = _interpreted(1, FLAG, ctypes.c_bool)
