"""The architecture in one picture, made from the import contracts of pyproject.toml.

A band a layer, the highest first: what stands in it may import what stands below it, never what
stands above it or beside it. The words are the first sentences of the packages themselves.
`make docs` writes docs/images/architecture.svg.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from html import escape
from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[1]
PACKAGE = 'veh_identification'
TARGET = ROOT / 'docs' / 'images' / 'architecture.svg'
WIDTH, MARGIN, GAP, LINE = 960, 16, 8, 15
#: Characters of the words that fit into a pixel of a box.
PER_PIXEL = 1 / 5.9
#: Bands by what they are for; a band has the colour of the last name at or above it.
COLOURS = {
    'cli': '#cfe3f3',
    'simulation': '#d3ecdf',
    'systems': '#fde7c4',
    'checks': '#f6dbe8',
    'runtime': '#e4e0f3',
    'configuration': '#e8eaed',
}


def layers(project: Path) -> list[list[str]]:
    """Names of every layer, the highest layer first."""
    contracts = tomllib.loads(project.read_text('utf-8'))['tool']['importlinter']['contracts']
    rows = next(one['layers'] for one in contracts if one['type'] == 'layers')
    return [[name.strip(' ()') for name in row.split('|')] for row in rows]


def words(name: str) -> str:
    """What a package or module says of itself, in one sentence."""
    folder = ROOT / PACKAGE / name
    file = folder / '__init__.py' if folder.is_dir() else folder.with_suffix('.py')
    text = ast.get_docstring(ast.parse(file.read_text('utf-8'))) or ''
    return text.partition('\n')[0].replace('`', '')


def picture(rows: list[list[str]]) -> str:
    """The SVG."""
    parts, top, colour = [], MARGIN + 26, '#ffffff'
    for row in rows:
        width = (WIDTH - 2 * MARGIN - GAP * (len(row) - 1)) / len(row)
        wrapped = [textwrap.wrap(words(name), int((width - 20) * PER_PIXEL)) for name in row]
        height = 24 + LINE * max(len(lines) for lines in wrapped)
        for k, (name, lines) in enumerate(zip(row, wrapped, strict=True)):
            colour = COLOURS.get(name, colour)
            left = MARGIN + k * (width + GAP)
            parts.append(
                f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{height}" rx="4" '
                f'fill="{colour}" stroke="#8a929b"/>'
            )
            parts.append(
                f'<text x="{left + 10:.1f}" y="{top + 17}" font-weight="bold">'
                f'{escape(name)}</text>'
            )
            parts += [
                f'<text x="{left + 10:.1f}" y="{top + 17 + LINE * (j + 1)}" font-size="11.5">'
                f'{escape(line)}</text>'
                for j, line in enumerate(lines)
            ]
        top += height + GAP
    head = (
        f'<text x="{MARGIN}" y="{MARGIN + 12}" font-size="12">Each layer imports only what stands '
        'below it; those side by side do not know each other.</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + MARGIN}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#1b1f24">\n'
        f'<title>Layers of {PACKAGE}</title>\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + '\n'.join([head, *parts])
        + '\n</svg>\n'
    )


if __name__ == '__main__':
    made = picture(layers(ROOT / 'pyproject.toml'))
    if sys.argv[1:] == ['--check']:
        sys.exit(0 if TARGET.read_text('utf-8') == made else 'the picture is old: make docs')
    TARGET.write_text(made, 'utf-8')
