"""Our streamed estimator beside numpy's lstsq on the stacked matrix, for random regressors.

`run(samples)` times the whole of "arrays to parameters with sigmas" on both sides and measures the
peak of allocated memory. Ours serves blocks made on the fly, as a regressor kernel would do, so
the time to make them is measured apart and the same for both.
"""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from veh_identification.identification import FactoryBlocks, identify
from veh_identification.types import Array

EQUATIONS = 6
BLOCK = 2048


class RandomRegressor:
    """Blocks (n, 6, columns) cut from one random tile; force rows miss the inertia columns."""

    def __init__(self, samples: int, columns: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.samples, self.columns = samples, columns
        self.X = rng.standard_normal(columns)
        self._tile = rng.standard_normal((2 * BLOCK, EQUATIONS, columns))
        # As for base-link rows: of ten columns per body, force rows see only mass and moments.
        self._tile[:, :3, int(0.4 * columns) :] = 0.0

    def block(self, start: int, count: int) -> tuple[Array, Array]:
        """Return one block; every block scales the tile's rows anew so that none repeats."""
        scale = 1.0 + 0.5 * np.sin(0.37 * np.arange(start, start + count))
        offset = (start * 31) % BLOCK
        W = self._tile[offset : offset + count] * scale[:, None, None]
        noise = np.random.default_rng(start).standard_normal((count, EQUATIONS))
        return W, (W.reshape(-1, self.columns) @ self.X).reshape(count, EQUATIONS) + noise

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Yield the recording from its beginning."""
        for start in range(0, self.samples, BLOCK):
            yield self.block(start, min(BLOCK, self.samples - start))


def stacked_lstsq(source: RandomRegressor) -> tuple[Array, Array]:
    """Solve as one would in an afternoon: stack everything, lstsq, sigma from the inverse."""
    W = np.empty((source.samples * EQUATIONS, source.columns))
    Y = np.empty(source.samples * EQUATIONS)
    row = 0
    for block_W, block_Y in source.blocks():
        count = block_Y.size
        W[row : row + count] = block_W.reshape(count, -1)
        Y[row : row + count] = block_Y.ravel()
        row += count
    X = np.linalg.lstsq(W, Y, rcond=None)[0]
    residual = Y - W @ X
    variance = residual @ residual / (len(Y) - len(X))
    std: Array = np.sqrt(variance * np.diag(np.linalg.inv(W.T @ W)))
    return np.asarray(X, float), std


def streamed(source: RandomRegressor) -> tuple[Array, Array]:
    """Weighted least squares with sigmas by the package (two passes, noise colour checked)."""
    names = [f'x{i}' for i in range(source.columns)]
    result = identify(FactoryBlocks(source.blocks), names, ['FX', 'FY', 'FZ', 'NX', 'NY', 'NZ'])
    return result.value, result.std


def timed(function: Callable[[], Any], repeat: int) -> tuple[float, float]:
    """Shortest wall and processor seconds of some calls (the latter hardly depend on the load)."""
    wall, processor = [], []
    for _ in range(repeat):
        start = time.perf_counter(), time.process_time()
        function()
        wall.append(time.perf_counter() - start[0])
        processor.append(time.process_time() - start[1])
    return min(wall), min(processor)


def peak(function: Callable[[], Any]) -> float:
    """Peak of memory allocated during one call, in megabytes."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def run(samples: int, columns: int = 130, repeat: int = 3) -> dict[str, float]:
    """Seconds and peak memory of both sides for 6 equations x `columns`."""
    source = RandomRegressor(samples, columns)
    streamed(RandomRegressor(500, 20))  # compile and warm up outside the clock
    ours, theirs = streamed(source)[0], stacked_lstsq(source)
    make = timed(lambda: sum(len(Y) for _, Y in source.blocks()), repeat)
    our_time = timed(lambda: streamed(source), repeat)
    their_time = timed(lambda: stacked_lstsq(source), repeat)
    # Ours makes the blocks twice, the plain way once: compare what is left.
    net = [
        (theirs - once) / max(ours - 2.0 * once, 1e-9)
        for ours, theirs, once in zip(our_time, their_time, make, strict=True)
    ]
    return {
        'samples': float(samples),
        'columns': float(columns),
        'make_blocks_seconds': make[0],
        'streamed_seconds': our_time[0],
        'lstsq_seconds': their_time[0],
        'streamed_processor_seconds': our_time[1],
        'lstsq_processor_seconds': their_time[1],
        'speed_up': their_time[0] / our_time[0],
        'speed_up_without_making_blocks': net[0],
        'speed_up_without_making_blocks_processor': net[1],
        'streamed_peak_mb': peak(lambda: streamed(source)),
        'lstsq_peak_mb': peak(lambda: stacked_lstsq(source)),
        'largest_difference_in_sigmas': float(np.abs((ours - theirs[0]) / theirs[1]).max()),
    }


if __name__ == '__main__':
    for count in [int(a) for a in sys.argv[1:]] or [10_000, 200_000]:
        figures = run(count, repeat=3 if count < 50_000 else 1)
        print(json.dumps({key: round(value, 4) for key, value in figures.items()}))
