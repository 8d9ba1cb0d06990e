"""Three processes over zenoh: messages lost and latency (bench/zenoh_latency.py says more)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PART = 'zenoh'


def measure(quick: bool) -> list[dict[str, Any]]:
    """A row for the messages lost and one for the latency of the IMU."""
    script = Path(__file__).parent / 'zenoh_latency.py'
    result = subprocess.run(
        [sys.executable, str(script), '--json', '--duration', '10' if quick else '60'],
        capture_output=True,
        text=True,
        check=False,
    )
    if not result.stdout.strip():
        raise RuntimeError(f'{script.name} ended with {result.returncode}: {result.stderr[-400:]}')
    figures = json.loads(result.stdout)
    rows: list[dict[str, Any]] = [
        {
            'case': '500 Hz IMU and a custom message, lost of all sent',
            'unit': 'messages',
            'ours': float(figures['lost']),
            'wanted': 'none',
            'met': figures['lost'] == 0,
        }
    ]
    rows += [
        {'case': f'latency {topic}, {quantile}', 'unit': 'ms', 'ours': latency[quantile]}
        for topic, latency in figures['latency_ms'].items()
        for quantile in ('p50', 'p99')
    ]
    return rows
