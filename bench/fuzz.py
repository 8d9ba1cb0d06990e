"""A campaign of damaged files and spoilt messages: nothing may fall over.

    python bench/fuzz.py [--seed N] [--seconds S] [--part NAME ...] [--keep FOLDER]

Every case comes from the seed. A case ends with one sentence or with a result; a traceback, a
hang (60 s), memory beyond 1.5 times the normal, a number that is none in an output, a sample that
is not accounted for, or a node that stays silent after the fault is a finding. Exit status 1
when there is one. What was tried so far: docs/hostile_input.md.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from damaged_yaml import try_loaders
from hostile import files, streams
from hostile.watch import Tally

Part = Callable[[random.Random, Path, Callable[[], bool]], Tally]


def try_yaml(rng: random.Random, _folder: Path, go_on: Callable[[], bool]) -> Tally:
    """Damaged YAML files through every loader."""
    tally = Tally()
    while go_on():
        outcomes, faults = try_loaders(60, rng.randrange(2**32))
        for counts in outcomes.values():
            tally.outcomes += counts
            tally.cases += sum(counts.values())
        for fault in faults:
            tally.find(f'{fault.loader}: {fault.why}\n{fault.content[:500]!r}')
    return tally


PARTS: dict[str, tuple[float, Part]] = {
    'recordings': (0.25, files.try_recordings),
    'payloads': (0.05, files.try_payloads),
    'states': (0.05, files.try_states),
    'descriptions': (0.1, files.try_descriptions),
    'yaml': (0.1, try_yaml),
    'streams': (0.45, streams.try_streams),
}


def run_parts(seed: int, seconds: float, names: list[str], folder: Path) -> dict[str, Tally]:
    """The chosen parts, each for its share of the time."""
    shares = {name: PARTS[name][0] for name in names}
    found = {}
    for name in names:
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        limit = Limit(seconds * shares[name] / sum(shares.values()))
        found[name] = PARTS[name][1](random.Random(f'{seed} {name}'), place, limit)
    return found


class Limit:
    """Whether time is left; it begins with the first case, behind all preparations."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, 0.0

    def __call__(self) -> bool:
        """Ask."""
        self._end = self._end or time.monotonic() + self._seconds
        return time.monotonic() < self._end


def main() -> int:
    """Print the table; 1 when there is a finding."""
    parser = argparse.ArgumentParser(description='damaged files and spoilt messages')
    parser.add_argument('--seed', type=int, default=int(time.time()), help='default: the time')
    parser.add_argument('--seconds', type=float, default=120.0, help='in all')
    parser.add_argument('--part', action='append', choices=list(PARTS), help='only these')
    parser.add_argument('--keep', type=Path, help='folder for the files of findings')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.keep or Path(folder)
        tallies = run_parts(options.seed, options.seconds, options.part or list(PARTS), place)
    print(f'seed {options.seed}')
    for name, tally in tallies.items():
        words = ', '.join(f'{n} {what}' for what, n in sorted(tally.outcomes.items()))
        spoilt = f', {tally.messages} spoilt messages' if tally.messages else ''
        peak = tally.notes.get('peak memory [MB]', 0)
        print(f'{name:14s} {tally.cases:7d} cases: {words}{spoilt}, peak {peak:.0f} MB')
    for name, tally in tallies.items():
        for one in tally.findings:
            print(f'\n== {name}: {one}')
    return 1 if any(tally.findings for tally in tallies.values()) else 0


if __name__ == '__main__':
    sys.exit(main())
