"""What single systems say beyond parameters: masses, sensor offsets, models that were tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veh_identification.findings.numbers import beside, listed, number
from veh_identification.reporting.content import ExtraTable
from veh_identification.reporting.first_screen import Card, Statement

#: A chassis that weighs this much (percent) more or less than identified deserves a word.
WEIGHT_PERCENT = 1.0


def statements(extra: Mapping[str, Any]) -> tuple[Statement, ...]:
    """Sentences for the first screen from the further entries of parameters.json."""
    found = []
    weighed = extra.get('static_mass')
    if weighed:
        off = float(weighed['difference_percent'])
        found.append(
            Statement(
                'good' if abs(off) < WEIGHT_PERCENT else 'warn',
                f'At standstill the wheels carry {number(weighed["chassis_weighed"], 4)} kg of '
                f'chassis; {number(weighed["chassis_identified"], 4)} kg were identified '
                f'({off:+.2f} %).',
            )
        )
    consistent = extra.get('consistency')
    if consistent:
        limits = consistent.get('links_at_their_limit') or []
        text = 'Every link of identified.urdf is physically possible'
        if limits:
            text += f'; {listed(limits)} lie at the limit, where the data alone would go beyond'
        found.append(Statement('note', text + '.'))
    compared = (extra.get('model_comparison') or {}).get('all')
    if compared:
        found.append(
            Statement(
                'note',
                f'The 38-dof and the 20-dof model agree within two standard deviations in '
                f'{compared["agree"]} of {compared["of"]} parameters; where they do not, the axle '
                'kinematics matter.',
            )
        )
    better = [row for row in extra.get('model_selection') or [] if row.get('recommended')]
    if better:
        found.append(
            Statement(
                'note',
                f'Passive friction model that the data support best: '
                f'{str(better[0]["passive"]).replace("_", " ")}.',
            )
        )
    return tuple(found)


def cards(extra: Mapping[str, Any]) -> tuple[Card, ...]:
    """Figures for the first screen."""
    mass = extra.get('total_mass')
    if not mass:
        return ()
    return (
        Card(
            'total mass',
            f'{beside(mass["value"], mass["std"])} kg',
            f'± {number(mass["std"], 2)} kg; the model given has {number(mass["a_priori"], 4)} kg',
        ),
    )


def tables(extra: Mapping[str, Any]) -> tuple[ExtraTable, ...]:
    """Tables from the further entries of parameters.json."""
    found = [
        _table(
            'Further unknowns',
            'Estimated beside the parameters.',
            extra.get('sensor_unknowns'),
            {'name': 'unknown', 'unit': 'unit', 'value': 'value', 'std': 'sigma'},
        ),
        _table(
            'Passive friction models',
            'Structures that were tried on the same data.',
            extra.get('model_selection'),
            {
                'passive': 'model',
                'parameters': 'parameters',
                'correlation_condition_number': 'cond(correlation)',
                'residual_variance': 'residual variance [N²]',
                'insignificant': 'insignificant',
                'recommended': 'recommended',
            },
        ),
        _table(
            '38-dof and 20-dof model',
            'The same recordings identified with both (Tables II '
            'and IV of Venture 2006); the difference is in joint standard deviations.',
            (extra.get('model_comparison') or {}).get('parameters'),
            {
                'name': 'parameter',
                'unit': 'unit',
                'value_38': '38 dof',
                'std_38': 'sigma',
                'value_20': '20 dof',
                'std_20': 'sigma, 20 dof',
                'difference_percent': 'difference [%]',
                'difference_in_sigma': 'difference / sigma',
            },
        ),
        _filters(extra.get('filter_study')),
        _residuals('identified.urdf on the validation recording', extra.get('validation_urdf')),
        _residuals('identified.urdf on the identification data', extra.get('residuals_urdf')),
    ]
    return tuple(one for one in found if one is not None)


def streams(metrics: Mapping[str, Any]) -> tuple[ExtraTable, ...]:
    """Messages that arrived at an observer, by stream."""
    rows = [{'name': name, **counts} for name, counts in (metrics.get('streams') or {}).items()]
    table = _table(
        'Messages',
        'What arrived, and what could not be used.',
        rows,
        {
            'name': 'stream',
            'received': 'received',
            'late': 'late',
            'duplicate': 'duplicate',
            'invalid': 'invalid',
        },
    )
    return () if table is None else (table,)


def _table(
    title: str, caption: str, rows: Sequence[Mapping[str, Any]] | None, columns: Mapping[str, str]
) -> ExtraTable | None:
    if not rows:
        return None
    used = [key for key in columns if any(key in row for row in rows)]
    return ExtraTable(
        title,
        caption,
        tuple(columns[key] for key in used),
        tuple(tuple(_plain(row.get(key)) for key in used) for row in rows),
    )


def _filters(study: Mapping[str, Any] | None) -> ExtraTable | None:
    """Estimates over cut-offs, one column for each choice."""
    if not study:
        return None
    rows = [
        {
            'name': row['name'],
            'unit': row['unit'],
            'change': row['largest_change_in_sigma'],
            **{f'choice {k}': value for k, value in enumerate(row['values'])},
        }
        for row in study['parameters']
    ]
    return _table(
        'Estimates over cut-offs',
        'Cut-offs of chassis and suspension equations in Hz. '
        'An estimate that moves by more than its sigma is not to be trusted.',
        rows,
        {
            'name': 'parameter',
            'unit': 'unit',
            **{f'choice {k}': str(one) for k, one in enumerate(study['choices'])},
            'change': 'largest change / sigma',
        },
    )


def _residuals(title: str, rows: Mapping[str, Mapping[str, Any]] | None) -> ExtraTable | None:
    if not rows:
        return None
    return _table(
        title,
        'Residuals of the physically consistent model beside those of the model given.',
        [{'equation': name, **row} for name, row in rows.items()],
        {
            'equation': 'equation',
            'rms': 'rms',
            'rms_relative': 'share of signal',
            'a_priori_rms': 'rms, model given',
        },
    )


def _plain(value: Any) -> str | float:
    if isinstance(value, (bool, np.bool_)):
        return 'yes' if value else ''
    if isinstance(value, (int, float, np.number)):
        return float(value)
    return '' if value is None else str(value)
