"""The road cases as a table in markdown: what `docs/vehicle_accuracy.md` shows."""

from __future__ import annotations

import math
from typing import Any

from observe.score import STATES
from veh_identification._version import __version__

HONEST = (0.5, 2.0)


def _figure(value: float | None) -> str:
    """A short number; a dash for none."""
    return '-' if value is None or not math.isfinite(value) else f'{value:.2g}'


def _nees(value: float | None) -> str:
    """NEES, in bold where the stated covariance is not true."""
    text = _figure(value)
    known = value is not None and math.isfinite(value)
    return f'**{text}**' if known and not HONEST[0] <= float(value or 0.0) <= HONEST[1] else text


def _metres(value: float | None) -> str:
    return 'failed' if value is None or not math.isfinite(value) else f'{value:.3f}'


def _word(row: dict[str, Any]) -> str:
    """What the observer says of a case, and on how many drives it says nothing."""
    if row['failures']:
        return str(row['failures'][0])
    said = sorted({one for one in row['words'] if one})
    text = said[0] if said else '-'
    return f'{text}; silent on {row["silent"]} of {row["drives"]}' if row['silent'] else text


def markdown(rows: list[dict[str, Any]], duration: float) -> str:
    """Cases over position error, its ratio to nominal, NEES by state and a word said."""
    drives = sorted({row['drives'] for row in rows})
    many = ' to '.join(str(n) for n in dict.fromkeys((drives[0], drives[-1]))) if drives else '0'
    head = ['case', 'observer', 'fusion', 'plain', 'of nominal', *STATES, 'says', 'met']
    lines = [
        f'Version {__version__}, {many} drives of {duration:g} s a case. Position error in the '
        'plane, rms in m; NEES by state, in bold outside '
        f'{HONEST[0]:g} to {HONEST[1]:g}.',
        '',
        '| ' + ' | '.join(head) + ' |',
        '|' + '---|' * len(head),
    ]
    for row in rows:
        drift = f', drift {100.0 * row["drift"]:.2f} %' if row.get('drift') is not None else ''
        cells = [
            row['case'],
            _metres(row['ours']) + drift,
            _metres(row['fusion']),
            _metres(row['peer']),
            _figure(row['to_nominal']),
            *(_nees(row['nees'].get(name)) for name in STATES),
            _word(row).replace('|', '/'),
            'yes' if row['met'] else 'no',
        ]
        lines.append('| ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines) + '\n'
