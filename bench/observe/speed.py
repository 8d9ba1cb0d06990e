"""The observers on independent truth with everything that goes wrong, and against the clock."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from observe.options import driving_options
from observe.road import Limits, road_rows
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation import four_bar as four_bar_bag
from veh_identification.simulation.vehicle import bag as buggy_bag
from veh_identification.systems.driver import run

PART = 'observe'
REPEATS = 3


def _silent(done: int, total: int) -> None:
    """No progress: the bar would be part of what is measured."""


def _row(case: str, factor: float, wanted: float) -> dict[str, Any]:
    return {
        'case': case,
        'unit': 'simulated s/s',
        'ours': factor,
        'peer': 1.0,
        'peer_name': 'real time',
        'ratio': factor,
        'wanted': f'ratio >= {wanted:g}',
        'met': factor >= wanted,
    }


def _factor(system: str, bag: Path) -> float:
    """Median of a few runs by processor time: others may load the machine."""
    factors = [
        run('observe', system, [bag], options={'compare_model': False}).result.metrics
        for _ in range(REPEATS)
    ]
    return float(statistics.median(one['real_time_factor'] for one in factors))


def options_parser() -> argparse.ArgumentParser:
    """What `veh-id bench observe` takes."""
    return driving_options(PART)


def measure(quick: bool, **limits: Any) -> list[dict[str, Any]]:
    """One row a system for the speed, one row a fault for the road."""
    chosen = Limits(**({'drives': 1} if quick else {}) | limits)
    return [*speed_rows(quick), *road_rows(chosen)]


def speed_rows(quick: bool) -> list[dict[str, Any]]:
    """Simulated seconds per second of one core, all sensors in."""
    seconds = 5.0 if quick else 20.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with BagWriter(folder / 'four_bar') as writer:
            four_bar_bag.write(writer, 10.0, 0, 1.0, _silent, step=0.002)
        with BagWriter(folder / 'buggy') as writer:
            buggy_bag.write_circle(writer, seconds, 0, 1.0, _silent)
        four_bar = _factor('four-bar', folder / 'four_bar')
        buggy = _factor('vehicle', folder / 'buggy')
    return [
        _row('four-bar at 500 Hz, encoder', four_bar, 20.0),
        _row('buggy at 500 Hz, IMU, GPS, wheels, 15 degrees of freedom', buggy, 8.0),
    ]
