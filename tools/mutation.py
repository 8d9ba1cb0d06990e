"""Mutation testing: small faults in modules, one at a time, and whether the tests notice.

    python tools/mutation.py veh_identification/identification --tests test/identification
    python tools/mutation.py veh_identification/multibody --tests test/multibody --interpreted
    python tools/mutation.py ... --json before.json, and when tests were added: --again before.json

Works on a copy of the repository. First all tests run once with coverage (pip install pytest-cov),
so that a fault is shown to the tests that run through its line; only where those do not notice,
all of them are asked. A survivor is read: either the fault changes nothing that anybody can see,
or a test is missing.

Compiled kernels are copied as they are, so faults inside them need `--interpreted`: nothing is
compiled, kernels are slow, and tests that take longer than `--longest` seconds do not take part.
What survives then may be noticed by one of those.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
#: Third parties that every run needs: imported once, before the runs are forked.
PRELOADED = (
    *('numpy', 'scipy.linalg', 'scipy.signal', 'scipy.optimize', 'scipy.stats', 'scipy.sparse'),
    *('scipy.spatial.transform', 'numba', 'pytest', 'hypothesis', 'pydantic', 'coverage'),
)
#: Tests that are asked first; all of them where these do not notice.
FIRST_ASKED = 30


@dataclass(frozen=True)
class Fault:
    """One change of one module."""

    module: str
    line: int
    what: str
    text: str  # the module with the fault

    def __str__(self) -> str:
        return f'{self.module} line {self.line}: {self.what}'


@dataclass(frozen=True)
class Baseline:
    """What the tests do without any fault."""

    seconds: dict[str, float]  # of the tests that pass
    through: dict[str, dict[int, list[str]]]  # module, line: the tests that run through it

    def asked_first(self, fault: Fault) -> list[str]:
        """The quickest tests that run through the line."""
        lines = self.through.get(fault.module, {})
        found = [test for test in lines.get(fault.line, []) if test in self.seconds]
        return sorted(found, key=self.seconds.__getitem__)[:FIRST_ASKED]


# Faults -----------------------------------------------------------------------------------------


def faults(module: str, text: str, kernels: bool) -> Iterator[Fault]:
    """Every fault of a module, inside compiled kernels or outside of them."""
    tree = ast.parse(text)
    annotations = _inside(
        outer
        for node in ast.walk(tree)
        for field in ('annotation', 'returns')
        if (outer := getattr(node, field, None)) is not None
    )
    compiled = _inside(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any('njit' in ast.unparse(one) for one in node.decorator_list)
    )
    for k, node in enumerate(ast.walk(tree)):
        # Nobody evaluates annotations.
        if id(node) in annotations or (id(node) in compiled) != kernels:
            continue
        for what, change in _changes(node):
            spoilt = copy.deepcopy(tree)
            change(next(one for j, one in enumerate(ast.walk(spoilt)) if j == k))
            made = ast.unparse(ast.fix_missing_locations(spoilt))
            yield Fault(module, getattr(node, 'lineno', 0), what, made)


def _inside(nodes: Iterable[ast.AST]) -> set[int]:
    return {id(inner) for node in nodes for inner in ast.walk(node)}


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], None]]]:
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS:
        other = SWAPS[type(node.op)]
        yield (
            f'{type(node.op).__name__} to {other.__name__}',
            lambda twin: setattr(twin, 'op', other()),
        )
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        other = SWAPS[type(node.ops[0])]
        yield (
            f'{type(node.ops[0]).__name__} to {other.__name__}',
            lambda twin: setattr(twin, 'ops', [other(), *twin.ops[1:]]),
        )
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        value = node.value + 1
        yield f'{node.value} to {value}', lambda twin: setattr(twin, 'value', value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield 'minus removed', lambda twin: setattr(twin, 'op', ast.UAdd())


# Runs -------------------------------------------------------------------------------------------


def forked(tree: Path, work: Callable[[], int], seconds: float) -> int | None:
    """Status of `work` in a process of its own inside the copy; None where it never ends."""
    child = os.fork()
    if not child:
        os.setsid()
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silent, stream)
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        os.environ['PYTHONPATH'] = str(tree)
        sys.dont_write_bytecode = True
        status = 70
        with suppress(BaseException):
            status = work()
        os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def pytest_run(arguments: Sequence[str], plugins: Sequence[Any] = ()) -> int:
    """Run pytest in this process."""
    import pytest

    plain = ('-q', '-p', 'no:cacheprovider', '-p', 'no:xdist', '-p', 'no:cov')
    return int(pytest.main([*plain, *arguments], plugins=list(plugins)))


class Watch:
    """Notes which tests pass, how long they take and which lines they run through."""

    def __init__(self, package: str, target: Path) -> None:
        import coverage

        self.seconds: dict[str, float] = {}
        self.target = target
        self.coverage = coverage.Coverage(data_file=None, include=[f'{package}/*'], config_file='')
        self.coverage.start()

    def pytest_runtest_setup(self, item: Any) -> None:
        """Lines belong to this test from here on."""
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep what passes."""
        if report.when == 'call' and report.passed:
            self.seconds[report.nodeid] = report.duration

    def pytest_sessionfinish(self) -> None:
        """Write everything down."""
        self.coverage.stop()
        data = self.coverage.get_data()
        through = {
            str(Path(file).relative_to(Path.cwd())): data.contexts_by_lineno(file)
            for file in data.measured_files()
        }
        self.target.write_text(json.dumps({'seconds': self.seconds, 'through': through}))


def baseline(tree: Path, package: str, tests: Sequence[str], longest: float) -> Baseline:
    """Run all tests once."""
    target = tree / 'baseline.json'

    def work() -> int:
        limits = [f'--timeout={longest:g}', '--timeout-method=signal', *tests]
        return pytest_run(limits, [Watch(package, target)])

    forked(tree, work, 7200.0)
    found = json.loads(target.read_text())
    through: dict[str, dict[int, list[str]]] = defaultdict(dict)
    for module, lines in found['through'].items():
        through[module] = {int(line): names for line, names in lines.items()}
    return Baseline(found['seconds'], dict(through))


def noticed(tree: Path, fault: Fault, known: Baseline, seconds: float) -> bool:
    """Whether a test fails, or never ends, with the fault in its module."""
    file = tree / fault.module
    before = file.read_text('utf-8')
    replace(file, fault.text)
    try:
        for tests in (known.asked_first(fault), sorted(known.seconds)):
            if tests and forked(tree, partial(pytest_run, ['-x', *tests]), seconds) != 0:
                return True
        return False
    finally:
        replace(file, before)


def replace(file: Path, text: str) -> None:
    """New text with the old time, so that compiled kernels of other modules stay valid."""
    before = file.stat()
    file.write_text(text, 'utf-8')
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for kept in (file.parent / '__pycache__').glob(f'{file.stem}.*.pyc'):
        kept.unlink()


def arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('modules', nargs='+', help='files, or folders with all below them')
    parser.add_argument('--tests', nargs='+', required=True)
    parser.add_argument('--most', type=int, default=40, help='faults that are tried, by chance')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--seconds', type=float, default=600.0, help='for one run of the tests')
    parser.add_argument('--interpreted', action='store_true', help='faults inside kernels')
    parser.add_argument('--longest', type=float, default=300.0, help='seconds of a test')
    parser.add_argument('--json', type=Path, help='write what was found')
    parser.add_argument('--again', type=Path, help='only the survivors of such a file')
    return parser.parse_args()


def files_of(modules: Sequence[str]) -> list[str]:
    """Paths from the root of the repository."""
    found: list[Path] = []
    for one in modules:
        path = (ROOT / one).resolve()
        found += sorted(path.rglob('*.py')) if path.is_dir() else [path]
    return [str(one.relative_to(ROOT)) for one in found]


def main() -> int:
    """Print survivors and the score; status 1 where the tests fail without a fault."""
    chosen = arguments()
    if chosen.interpreted:
        os.environ['NUMBA_DISABLE_JIT'] = '1'
    os.environ.update(dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'), '1'))
    for name in PRELOADED:
        __import__(name)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / 'tree'
        left_out = shutil.ignore_patterns('.git', '.venv*', 'out', 'dist', 'site', '.*_cache')
        shutil.copytree(ROOT, tree, ignore=left_out)
        known = baseline(tree, 'veh_identification', chosen.tests, chosen.longest)
        if not known.seconds:
            print('no test passes without any fault')
            return 1
        print(f'{len(known.seconds)} tests in {sum(known.seconds.values()):.0f} s', flush=True)
        possible = [
            fault
            for module in files_of(chosen.modules)
            for fault in faults(module, (ROOT / module).read_text('utf-8'), chosen.interpreted)
        ]
        tried = random.Random(chosen.seed).sample(possible, min(chosen.most, len(possible)))
        if chosen.again:
            before = json.loads(chosen.again.read_text())['survivors']
            tried = [fault for fault in possible if str(fault) in before]
        count, survivors = len(tried), []
        for fault in tried:
            if not noticed(tree, fault, known, chosen.seconds):
                survivors.append(str(fault))
                print(f'survives: {fault}', flush=True)
    print(f'{count - len(survivors)} of {count} faults noticed ({len(possible)} possible)')
    if chosen.json:
        made = {
            'modules': chosen.modules,
            'tests': len(known.seconds),
            'interpreted': chosen.interpreted,
            'possible': len(possible),
            'tried': count,
            'survivors': survivors,
        }
        chosen.json.write_text(json.dumps(made, indent=1) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
