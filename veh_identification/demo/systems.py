"""Demo steps: a system simulated, identified as `veh-id identify` does, beside its truth."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from veh_identification.runtime.graph import find_config
from veh_identification.simulation.scenarios import simulate
from veh_identification.systems.registry import IDENTIFY, load


@dataclass(frozen=True)
class Compared:
    """One parameter beside its truth."""

    name: str
    unit: str
    truth: float
    value: float
    std: float


def run(
    out: Path, system: str, runs: list[tuple[str, int, float]], config: str | None = None
) -> list[Compared]:
    """Simulate `runs` (scenario, seed, seconds), identify from all of them, compare."""
    bags = []
    for scenario, seed, duration in runs:
        bags.append(out / f'{scenario}_{seed}')
        simulate(scenario, bags[-1], seed=seed, duration=duration, overwrite=True)
    folder = out / system
    shutil.rmtree(folder, ignore_errors=True)
    load(IDENTIFY, 'identify', system)(
        bags=bags, out=folder, config=find_config(config) if config else None
    )
    truth = json.loads((bags[0] / 'truth.json').read_text('utf-8'))['parameters']
    found = json.loads((folder / 'parameters.json').read_text('utf-8'))['parameters']
    return [
        Compared(one['name'], one['unit'], truth[one['name']], one['value'], one['std'])
        for one in found
        if one['name'] in truth and one['std']
    ]


def text(rows: list[Compared]) -> str:
    """The parameters beside the truth, and how many truths the deviations cover."""
    lines = [f'{"parameter":10} {"truth":>12} {"estimate":>12} {"sigma":>10} {"error":>9}']
    for row in rows:
        error = 100 * abs(row.value - row.truth) / max(abs(row.truth), 1e-12)
        lines.append(
            f'{row.name:10} {row.truth:12.4f} {row.value:12.4f} {row.std:10.4f} '
            f'{error:7.2f} % [{row.unit}]'
        )
    inside = [sum(abs(r.value - r.truth) <= k * r.std for r in rows) for k in (2, 3)]
    lines.append(
        f'{inside[0]} of {len(rows)} truths within 2 sigma, {inside[1]} within 3 sigma '
        f'(95 % and 99.7 % expected)'
    )
    return '\n'.join(lines)
