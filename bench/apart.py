"""One side of a comparison in a process of its own, so that its peak memory is its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

THREADS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')


def run_apart(script: str, *arguments: object, threads: str | None = None) -> dict[str, float]:
    """The figures that `script` prints as its last line, as JSON.

    `threads` limits those of linear algebra; None leaves the choice to the libraries.
    """
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    environment['PYTHONPATH'] = os.pathsep.join(sys.path)
    if threads is not None:
        environment |= dict.fromkeys(THREADS, threads)
    result = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    figures: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return figures


def peak_memory_mb() -> float:
    """Peak resident memory of this process so far.

    Not getrusage: its peak is inherited from the process that started this one.
    """
    status = Path('/proc/self/status').read_text('ascii')
    line = next(line for line in status.splitlines() if line.startswith('VmHWM'))
    return float(line.split()[1]) / 1024.0
