"""Kernels that were compiled before a source changed are compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from veh_identification.kernel_caches import remove_stale

INNER = 'from numba import njit\n@njit(cache=True)\ndef inner(x):\n    return {} * x\n'
OUTER = (
    'from numba import njit\nfrom made.inner import inner\n'
    '@njit(cache=True)\ndef outer(x):\n    return inner(x)\n'
)


def compute(folder: Path) -> str:
    code = 'from made.outer import outer; print(outer(1.0))'
    words = [sys.executable, '-c', code]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_what_a_kernel_calls_may_change(tmp_path: Path) -> None:
    package = tmp_path / 'made'
    package.mkdir()
    (package / '__init__.py').write_text('')
    (package / 'inner.py').write_text(INNER.format('1.0'))
    (package / 'outer.py').write_text(OUTER)
    for source in package.glob('*.py'):
        os.utime(source, (1e9, 1e9))
    assert compute(tmp_path) == '1.0\n'
    assert remove_stale(package) == 0, 'nothing has changed'
    (package / 'inner.py').write_text(INNER.format('2.0'))
    os.utime(package / 'inner.py', (4e9, 4e9))
    assert compute(tmp_path) == '1.0\n', 'Numba itself does not notice'
    assert remove_stale(package) >= 2
    assert compute(tmp_path) == '2.0\n'
