"""A table of the paper beside ours, for a terminal."""

from __future__ import annotations

from veh_identification.findings.numbers import plain
from veh_identification.reproduce.paper import Made, Row


def shown(cell: str | float) -> str:
    """What a cell holds."""
    return cell if isinstance(cell, str) else plain(cell)


def heading(title: str, side: str) -> str:
    """A heading that says whose figures stand below it."""
    return f'{side}: {title}' if side else title


def table_text(made: Made) -> str:
    """Columns as wide as they need to be; numbers stand right, the comparison comes last."""
    if not made.rows:
        return ''
    marked = any(row.mark for row in made.rows)
    head = [heading(column.title, column.side) for column in made.columns]
    lines = [[*head, *(['ours is'] if marked else [])]]
    lines += [[*map(shown, row.cells), *([row.mark] if marked else [])] for row in made.rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    right = [_numeric(made.rows, k) for k in range(len(head))] + [False]
    return '\n'.join(
        '  '.join(
            cell.rjust(width) if right[k] else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _numeric(rows: tuple[Row, ...], place: int) -> bool:
    return any(isinstance(row.cells[place], float) for row in rows)
