"""A campaign of damaged files and spoilt messages: nothing may fall over.

    python bench/fuzz.py [--seed N] [--seconds S] [--part NAME ...] [--keep FOLDER] [--json FILE]
    python bench/fuzz.py --document         the table of docs/hostile_input.md, sums over all JSONs

Every case comes from the seed. A case ends with one sentence or with a result; a traceback, a
hang (60 s), memory beyond 1.5 times the normal, a number that is none in an output, a sample that
is not accounted for, a node that stays silent or away from its undisturbed estimate ten seconds
after the fault is a finding. Exit status 1 when there is one. What was tried so far:
docs/hostile_input.md.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from damaged_yaml import try_loaders
from hostile import files, guided, motions, network, ros, streams, tried
from hostile.watch import Tally

from veh_identification._version import __version__

Part = Callable[[random.Random, Path, Callable[[], bool]], Tally]


def try_yaml(rng: random.Random, _folder: Path, go_on: Callable[[], bool]) -> Tally:
    """Damaged YAML files through every loader."""
    tally = Tally()
    while go_on():
        outcomes, faults = try_loaders(60, rng.randrange(2**32))
        for loader, counts in outcomes.items():
            tally.outcomes += counts
            tally.made_of[loader] += sum(counts.values())
            tally.cases += sum(counts.values())
        for fault in faults:
            tally.find(f'{fault.loader}: {fault.why}\n{fault.content[:500]!r}')
        tally.look_at_memory('YAML')
    return tally


#: Share of the time, and what is done in it.
PARTS: dict[str, tuple[float, Part]] = {
    'recordings': (0.23, files.try_recordings),
    'payloads': (0.06, files.try_payloads),
    'states': (0.03, files.try_states),
    'descriptions': (0.06, files.try_descriptions),
    'yaml': (0.1, try_yaml),
    'guided': (0.1, guided.try_guided),
    'motions': (0.02, motions.try_motions),
    'network': (0.05, network.try_network),
    'ros': (0.05, ros.try_ros),
    'streams': (0.4, streams.try_streams),
}


def run_parts(seed: int, seconds: float, names: list[str], folder: Path) -> dict[str, Tally]:
    """The chosen parts, each for its share of the time."""
    shares = {name: PARTS[name][0] for name in names}
    found = {}
    for name in names:
        # recordings are written anew for every seed, undisturbed runs are shared
        place = folder / name if name == 'streams' else folder / str(seed) / name
        place.mkdir(parents=True, exist_ok=True)
        limit = Limit(seconds * shares[name] / sum(shares.values()))
        found[name] = PARTS[name][1](random.Random(f'{seed} {name}'), place, limit)
        print(_line(name, found[name]), flush=True)
    return found


def _line(name: str, tally: Tally) -> str:
    words = ', '.join(f'{n} {what}' for what, n in sorted(tally.outcomes.items()))
    count = sum(tally.messages.values())
    spoilt = f', {count} spoilt messages' if count else ''
    return f'{name:14s} {tally.cases:7d} cases: {words}{spoilt}, peak {tally.peak_mb} MB'


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
    parser.add_argument(
        '--seed', type=int, action='append', help='one run each (default: one by the time)'
    )
    parser.add_argument('--seconds', type=float, default=120.0, help='of a run')
    parser.add_argument('--part', action='append', choices=list(PARTS), help='only these')
    parser.add_argument('--keep', type=Path, help='folder for the files of findings')
    parser.add_argument(
        '--json', type=Path, help='folder for what was tried, a file for each seed'
    )
    parser.add_argument(
        '--document', action='store_true', help='try nothing: write the table of the documents'
    )
    options = parser.parse_args()
    if options.keep and options.keep.exists():
        parser.error(f'{options.keep} exists already: give each run a folder of its own to keep')
    if options.document:
        tried.write_document()
        return 0
    found = False
    with tempfile.TemporaryDirectory() as folder:
        place = options.keep or Path(folder)
        for seed in options.seed or [int(time.time())]:
            found |= one_run(
                seed, options.seconds, options.part or list(PARTS), place, options.json
            )
    return 1 if found else 0


def one_run(
    seed: int, seconds: float, names: list[str], place: Path, json_to: Path | None
) -> bool:
    """Try, tell and write; whether there is a finding."""
    print(f'seed {seed}', flush=True)
    spent = time.process_time()
    tallies = run_parts(seed, seconds, names, place)
    if json_to:
        document = {
            'version': __version__,
            'seed': seed,
            'seconds': seconds,
            'processor_seconds': round(time.process_time() - spent),
            'parts': {name: tally.document() for name, tally in tallies.items()},
        }
        json_to.mkdir(parents=True, exist_ok=True)
        file = json_to / f'{seed}_{"_".join(names) if len(names) < len(PARTS) else "all"}.json'
        file.write_text(json.dumps(document, indent=1) + '\n', 'utf-8')
    for name, tally in tallies.items():
        for one in tally.findings:
            print(f'\n== {name}: {one}', flush=True)
    return any(tally.findings for tally in tallies.values())


if __name__ == '__main__':
    sys.exit(main())
