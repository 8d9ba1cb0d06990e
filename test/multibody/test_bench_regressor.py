from __future__ import annotations

import importlib.util
from pathlib import Path

BENCH = Path(__file__).parents[2] / 'bench' / 'identify' / 'regressor.py'


def test_both_sides_of_the_benchmark_compute_the_same() -> None:
    spec = importlib.util.spec_from_file_location('identify_regressor', BENCH)
    assert spec is not None and spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    figures = bench.run(40)
    assert (figures['rows'], figures['columns'], figures['samples']) == (6, 130, 40)
    assert figures['relative_difference'] < 1e-12
    for side in ('ours_blocks_us', 'ours_stacked_us', 'pinocchio_calls_us'):
        assert figures[side] > 0.0
