"""Share of the lines that the tests run through, layer by layer (`make coverage`).

Lines of compiled kernels are left out: nobody can watch them run.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import coverage

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / 'veh_identification'


def layer_of(file: Path) -> str:
    """Folder below the package; each system by itself."""
    folders = file.relative_to(PACKAGE).parts[:-1]
    return '/'.join(folders[: 2 if folders[:1] == ('systems',) else 1]) or '(top)'


def main() -> int:
    """Print the table; status 1 where nothing was measured."""
    measured = coverage.Coverage(data_file=str(ROOT / '.coverage'))
    measured.load()
    lines: dict[str, int] = defaultdict(int)
    missed: dict[str, int] = defaultdict(int)
    for file in sorted(PACKAGE.rglob('*.py')):
        _, statements, _, missing, _ = measured.analysis2(str(file))
        lines[layer_of(file)] += len(statements)
        missed[layer_of(file)] += len(missing)
    if not lines or lines == missed:
        print('no line was run: make coverage', file=sys.stderr)
        return 1
    lines['all'], missed['all'] = sum(lines.values()), sum(missed.values())
    print(f'{"layer":24}{"lines":>8}{"run":>8}')
    for layer, count in lines.items():
        if count:
            print(f'{layer:24}{count:8}{100.0 * (1.0 - missed[layer] / count):7.1f}%')
    return 0


if __name__ == '__main__':
    sys.exit(main())
