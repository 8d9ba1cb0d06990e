"""Tables 1 and 3 to 8 of Sinigaglia 2016 beside ours, as `veh-id reproduce sinigaglia` has them.

The rms of each coordinate, with the start that the thesis knows, without it, and of the thesis'
own observer (`observe vehicle --thesis`); for the four-bar linkage beside
its model without observer.
"""

from __future__ import annotations

from typing import Any

from veh_identification.reproduce.driver import reproduce
from veh_identification.reproduce.sinigaglia import PAPER
from veh_identification.reproduce.text import table_text

PART = 'thesis'
#: Which of our figures stands beside which of the thesis, by table: (case, ours, theirs).
LINKAGE = (('', 5, 6, 'model alone'),)
DRIVES = (
    (', known start', 8, 4, 'thesis'),
    (', unknown start', 10, 4, 'thesis'),
    (', its own observer', 11, 4, 'thesis'),
)


def measure(quick: bool) -> list[dict[str, Any]]:
    """All tables on the terminal, the rms as rows."""
    rows = []
    for done in reproduce(PAPER, quick=quick).done:
        print(f'{done.item.title}\n{done.failed or table_text(done.made)}', flush=True)
        table = done.item.title.partition(':')[0]
        pairs = LINKAGE if done.item.key == 'table-2' else DRIVES
        if not any(column.title == 'rms, observer' for column in done.made.columns):
            continue
        for row in done.made.rows:
            for case, ours, theirs, name in pairs:
                values = [float(row.cells[ours]), float(row.cells[theirs])]
                if all(value == value for value in values):
                    rows.append(_row(f'{table}{case}: {row.cells[0]}', *values, name))
    return rows


def _row(case: str, ours: float, peer: float, name: str) -> dict[str, Any]:
    return {
        'case': case,
        'unit': 'rms',
        'ours': ours,
        'peer': peer,
        'peer_name': name,
        'ratio': peer / max(ours, 1e-12),
        'wanted': 'ratio >= 1',
        'met': ours <= peer,
    }
