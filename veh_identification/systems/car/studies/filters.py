"""How much the estimates depend on the cut-off frequencies (Venture 2006, section VI.B)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veh_identification.reporting.content import ExtraTable, table
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.identify import (
    CarMethod,
    Gathered,
    fit_gathered,
    gather_recordings,
    select,
)
from veh_identification.systems.car.parameters import CORNERS, unit
from veh_identification.systems.car.processing.cutoffs import fixed_cutoffs
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

CHASSIS_HZ = (3.125, 5.0, 7.0)
SUSPENSION_HZ = (12.0, 16.0, 20.0)
#: Scale of a change that counts: deviations of the estimate by rule.
NOTABLE = 2.0


@dataclass(frozen=True, eq=False)
class FilterStudy:
    """Estimates (choices, parameters); the first choice is the rule from the spectra."""

    names: tuple[str, ...]
    choices: tuple[str, ...]
    value: Array
    std: Array

    @property
    def change(self) -> Array:
        """Change against the rule over the deviation of the rule's estimate."""
        return (self.value - self.value[0]) / self.std[0]

    @property
    def equal(self) -> Array:
        """Which choices filter both sides of an equation alike (all but the paper's rule)."""
        return np.array([not choice.startswith('paper') for choice in self.choices])

    def largest_change(self) -> Array:
        """Of every parameter over all choices that treat both sides alike, in deviations."""
        return np.asarray(np.abs(self.change[self.equal]).max(axis=0))

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json."""
        return {
            'choices': list(self.choices),
            'parameters': [
                {
                    'name': name,
                    'unit': unit(name),
                    'values': self.value[:, k],
                    'stds': self.std[:, k],
                    'largest_change_in_sigma': self.largest_change()[k],
                }
                for k, name in enumerate(self.names)
            ],
        }

    def table(self) -> ExtraTable | None:
        """For the report: one column for each choice."""
        rows = [
            {
                'name': name,
                'unit': unit(name),
                'change': self.largest_change()[k],
                **{f'choice {i}': value for i, value in enumerate(self.value[:, k])},
            }
            for k, name in enumerate(self.names)
        ]
        return table(
            'Estimates over cut-offs',
            'Cut-offs of chassis and suspension equations in Hz. '
            'An estimate that moves by more than its sigma is not to be trusted.',
            rows,
            {
                'name': 'parameter',
                'unit': 'unit',
                **{f'choice {i}': choice for i, choice in enumerate(self.choices)},
                'change': 'largest change / sigma',
            },
        )

    def text(self) -> str:
        """Change of every parameter in percent of its estimate, one column per choice."""
        lines = [
            'estimates over cut-offs (chassis / suspension equations in Hz): change against '
            'the rule in percent',
            f'{"parameter":<10} {"by rule":>11} {"std %":>7} '
            + ' '.join(f'{choice:>10}' for choice in self.choices[1:])
            + f' {"max/std":>8}',
        ]
        for k, name in enumerate(self.names):
            size = abs(self.value[0, k])
            with np.errstate(divide='ignore', invalid='ignore'):
                percent = 100.0 * (self.value[1:, k] - self.value[0, k]) / size
                own = 100.0 * self.std[0, k] / size
            lines.append(
                f'{name:<10} {self.value[0, k]:>11.6g} {own:>7.3g} '
                + ' '.join(f'{one:>10.3g}' for one in percent)
                + f' {self.largest_change()[k]:>8.2f}'
            )
        steady = int(np.sum(self.largest_change() <= NOTABLE))
        lines.append(
            f'{steady} of {len(self.names)} estimates change by at most {NOTABLE:g} '
            'deviations over all choices that filter both sides alike'
        )
        return '\n'.join(lines) + '\n'


def filter_study(
    recordings: Iterable[CarRecording],
    configuration: CarDescription,
    method: CarMethod | None = None,
    *,
    chassis: Sequence[float] = CHASSIS_HZ,
    suspension: Sequence[float] = SUSPENSION_HZ,
    paper_rule: bool = True,
) -> FilterStudy:
    """Identify with the rule, with given cut-offs, and with the paper's unequal filtering.

    All signals stay as they are gathered once; only the bands that count change with the cut-off.
    """
    chosen = replace(method or CarMethod(), check=False)
    gathered = gather_recordings(recordings, configuration, chosen)
    names = gathered.model.told
    choices, fits = ['rule'], [_fit(gathered, chosen, configuration)]
    top = max(gathered.cutoffs.hertz.values())
    standard = gathered.cutoffs
    middle = float(np.median([standard.hertz[f'suspension_{c}'] for c in CORNERS]))
    pairs = [(hertz, middle) for hertz in chassis]
    pairs += [
        (float(np.median(list(standard.hertz.values())[:6])), hertz)
        for hertz in suspension
        if hertz <= 1.2 * top
    ]
    for first, second in pairs:
        gathered.cutoffs = fixed_cutoffs(first, second, gathered.cutoffs.stop_bands)
        choices.append(f'{first:.3g}/{second:.3g}')
        fits.append(_fit(gathered, chosen, configuration))
    if paper_rule:
        unequal = replace(chosen, processing=replace(chosen.processing, paper_rule=True))
        choices.append('paper')
        fits.append(
            _fit(gather_recordings(recordings, configuration, unequal), unequal, configuration)
        )
    return FilterStudy(
        names,
        tuple(choices),
        np.array([value for value, _ in fits]),
        np.array([std for _, std in fits]),
    )


def _fit(
    gathered: Gathered, method: CarMethod, configuration: CarDescription
) -> tuple[Array, Array]:
    selection, _ = select(gathered)
    fit, _ = fit_gathered(gathered, method, selection, configuration)
    told = len(gathered.model.told)
    fit, used = fit.first(told), selection.parameters[:told]
    return (
        np.where(used, fit.value, np.nan),
        np.where(used, np.sqrt(np.diag(fit.covariance)), np.nan),
    )
