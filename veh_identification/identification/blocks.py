"""Sources of samples: any iterable of (W_block, Y_block), so that memory stays flat.

W_block has the shape (samples, equations, columns), Y_block (samples, equations). Estimators that
look at the data more than once (robust, Gauss-Markov, coloured noise) need a *re-iterable* source:
a list, `ArrayBlocks`, `FactoryBlocks` or any object whose `__iter__` starts anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError
from veh_identification.identification.worker_threads import for_each
from veh_identification.types import Array

Selection = NDArray[np.intp] | NDArray[np.bool_]  # indices or mask
Block = tuple[Array, Array]
BlockSource = Iterable[Block]

DEFAULT_BLOCK = 2048
#: Blocks with more numbers are worth several threads.
LARGE = 100_000


class ArrayBlocks:
    """Whole arrays W (N, equations, columns), Y (N, equations), served as views of blocks."""

    def __init__(self, W: Array, Y: Array, block: int = DEFAULT_BLOCK) -> None:
        self.W, self.Y, self.block = np.asarray(W, float), np.asarray(Y, float), int(block)
        check_shapes(self.W, self.Y, 'the recording')

    def __iter__(self) -> Iterator[Block]:
        for start in range(0, len(self.Y), self.block):
            yield self.W[start : start + self.block], self.Y[start : start + self.block]


class FactoryBlocks:
    """A function that starts a new generator of blocks each time the source is iterated."""

    def __init__(self, factory: Callable[[], Iterable[Block]]) -> None:
        self.factory = factory

    def __iter__(self) -> Iterator[Block]:
        return iter(self.factory())


def select_columns(source: BlockSource, columns: Selection) -> FactoryBlocks:
    """Serve some columns of W only, e.g. those of the base parameters."""

    def blocks() -> Iterator[Block]:
        for W, Y in source:
            # take keeps samples first in memory, which W[:, :, index] does not
            yield np.take(W, np.arange(W.shape[2])[columns], axis=2), Y

    return FactoryBlocks(blocks)


def select_equations(source: BlockSource, equations: Selection) -> BlockSource:
    """Serve some equations only; a one-way iterator stays one."""

    def blocks() -> Iterator[Block]:
        for W, Y in source:
            yield W[:, equations], Y[:, equations]

    return blocks() if isinstance(source, Iterator) else FactoryBlocks(blocks)


@dataclass(frozen=True)
class CleanBlock:
    """One block whose unusable rows are zero, so that they weigh nothing anywhere.

    A row is one equation of one sample: what is missing in one takes no other with it.
    """

    W: Array
    Y: Array
    valid: NDArray[np.bool_]  # (samples, equations)
    sizes: Array | None = None  # (equations, columns): sums of magnitudes, if already known

    @property
    def used(self) -> NDArray[np.bool_]:
        """(equations, columns): columns that are not zero throughout."""
        return (column_sizes(self.W) if self.sizes is None else self.sizes) > 0.0

    @property
    def complete(self) -> bool:
        """Whether every row is usable."""
        return bool(self.valid.all())

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of usable rows of every equation."""
        return np.count_nonzero(self.valid, axis=0).astype(np.int64)

    @property
    def excluded(self) -> int:
        """Number of samples without any usable equation."""
        return int(len(self.valid) - np.count_nonzero(self.valid.any(axis=1)))


def check_shapes(W: Array, Y: Array, where: str) -> None:
    """Refuse a pair of arrays that cannot be W and Y of one set of samples."""
    if W.ndim != 3 or Y.ndim != 2 or W.shape[:2] != Y.shape:
        raise EstimationError(
            f'{where}: W must be (samples, equations, columns) and Y (samples, equations), '
            f'found {W.shape} and {Y.shape}'
        )


def require_reiterable(source: BlockSource, purpose: str) -> None:
    """Refuse a generator where the samples are needed more than once."""
    if isinstance(source, Iterator):
        raise EstimationError(
            f'{purpose} reads the samples more than once, but the source is a one-way iterator: '
            'give a list, ArrayBlocks or FactoryBlocks'
        )


def checked_blocks(source: BlockSource, shape: tuple[int, int] | None = None) -> Iterator[Block]:
    """Blocks that hold samples, their shapes checked against `shape` (equations, columns)."""
    for index, (W_raw, Y_raw) in enumerate(source):
        W, Y = np.asarray(W_raw, float), np.asarray(Y_raw, float)
        check_shapes(W, Y, f'block {index}')
        shape = shape or (W.shape[1], W.shape[2])
        if W.shape[1:] != shape:
            raise EstimationError(
                f'block {index}: expected {shape[0]} equations and {shape[1]} columns, '
                f'found {W.shape[1]} and {W.shape[2]}'
            )
        if len(Y):
            yield W, Y


def clean_blocks(
    source: BlockSource, shape: tuple[int, int] | None = None
) -> Iterator[CleanBlock]:
    """Check every block's shape against `shape` (equations, columns) and zero its bad rows."""
    for W, Y in checked_blocks(source, shape):
        yield clean(W, Y)


@numba.njit(cache=True, nogil=True)
def column_sizes(W: Array) -> Array:  # pragma: no cover (compiled)
    """Sum of magnitudes of every column of every equation, in one pass over the memory."""
    samples, equations, columns = W.shape
    sizes = np.zeros((equations, columns))
    for k in range(samples):
        for j in range(equations):
            for c in range(columns):
                sizes[j, c] += abs(W[k, j, c])
    return sizes


def clean(W: Array, Y: Array) -> CleanBlock:
    """Zero the rows (one equation of one sample) that hold a value that is not finite."""
    # A sum of magnitudes is finite only if every term is, and zero only if every term is.
    half = len(Y) // 2
    first, second = for_each(column_sizes, (W[:half], W[half:]), worth_it=W.size > LARGE)
    sizes = first + second
    if np.isfinite(sizes).all() and np.isfinite(Y.sum()):
        return CleanBlock(W, Y, np.ones(Y.shape, bool), sizes)
    valid = np.asarray(np.isfinite(Y) & np.isfinite(W).all(axis=2))
    return CleanBlock(np.where(valid[:, :, None], W, 0.0), np.where(valid, Y, 0.0), valid)
