"""A table of the paper beside ours, for a terminal."""

from __future__ import annotations

from veh_identification.findings.numbers import plain
from veh_identification.reproduce.paper import Made, Row, mark_place

#: Heading of the comparison.
OURS_IS = 'ours is'


def shown(cell: str | float) -> str:
    """What a cell holds."""
    return cell if isinstance(cell, str) else plain(cell)


def heading(title: str, side: str) -> str:
    """A heading that says whose figures stand below it."""
    return f'{side}: {title}' if side else title


def table_text(made: Made) -> str:
    """Columns as wide as they need to be; numbers stand right, the comparison after the names."""
    if not made.rows:
        return ''
    lines = [[heading(column.title, column.side) for column in made.columns]]
    lines += [[shown(cell) for cell in row.cells] for row in made.rows]
    right = [_numeric(made.rows, k) for k in range(len(made.columns))]
    if any(row.mark for row in made.rows):
        place = mark_place(made.columns)
        right.insert(place, False)
        for line, mark in zip(lines, [OURS_IS, *(row.mark for row in made.rows)], strict=True):
            line.insert(place, mark)
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return '\n'.join(
        '  '.join(
            cell.rjust(width) if aligned else cell.ljust(width)
            for cell, width, aligned in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def _numeric(rows: tuple[Row, ...], place: int) -> bool:
    return any(isinstance(row.cells[place], float) for row in rows)
