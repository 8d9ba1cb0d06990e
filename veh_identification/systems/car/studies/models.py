"""The 38-dof and the 20-dof estimates side by side, as Tables II and IV of Venture 2006."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.reporting.content import ExtraTable, table
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.estimation.unknown_settings import CAMBER
from veh_identification.systems.car.parameters import unit
from veh_identification.systems.car.recording.extra_joints import knows_axles
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

#: What Venture 2006 calls well identified with the 38-dof model (section VII.A).
WELL_IDENTIFIED_IN_TABLE_II = (
    'Mc',
    'MXc',
    'XXc',
    'YYc',
    'ZZc',
    'XZc',
    'M1',
    'M2',
    'M3',
    'M4',
    'karr',
    'karf',
    'k1',
    'h1',
    'off1',
    'k2',
    'fs2',
    'h2',
    'off2',
    'k3',
    'h3',
    'off3',
    'k4',
    'h4',
    'off4',
    'Cx',
)
#: Joint deviations within which two estimates agree.
AGREEMENT = 2.0


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Both estimates from the same recordings."""

    names: tuple[str, ...]
    value_38: Array
    std_38: Array
    value_20: Array
    std_20: Array
    relative_rms_38: Array  # residual over measured, of the ten equations
    relative_rms_20: Array
    note: str = ''

    @property
    def difference(self) -> Array:
        """Differences over the joint deviation sqrt(s20^2 + s38^2)."""
        joint = np.hypot(self.std_20, self.std_38)
        with np.errstate(divide='ignore', invalid='ignore'):
            return np.where(joint > 0.0, np.abs(self.value_20 - self.value_38) / joint, 0.0)

    @property
    def disagreeing(self) -> tuple[str, ...]:
        """Parameters whose estimates differ by more than two joint deviations."""
        return tuple(
            name for name, one in zip(self.names, self.difference, strict=True) if one > AGREEMENT
        )

    def agreement(self, names: Iterable[str] = WELL_IDENTIFIED_IN_TABLE_II) -> tuple[int, int]:
        """How many of the named parameters agree, and of how many."""
        known = [
            k
            for k, name in enumerate(self.names)
            if name in set(names) and np.isfinite(self.difference[k])
        ]
        return int(np.sum(self.difference[known] <= AGREEMENT)), len(known)

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json."""
        agree, of = self.agreement()
        return {
            'agreement_sigma': AGREEMENT,
            'note': self.note,
            'well_identified_in_table_2': {'agree': agree, 'of': of},
            'all': dict(zip(('agree', 'of'), self.agreement(self.names), strict=True)),
            'parameters': [
                {
                    'name': name,
                    'unit': unit(name),
                    'value_38': self.value_38[k],
                    'std_38': self.std_38[k],
                    'value_20': self.value_20[k],
                    'std_20': self.std_20[k],
                    'difference_in_sigma': self.difference[k],
                    'difference_percent': _percent(
                        self.value_20[k] - self.value_38[k], self.value_38[k]
                    ),
                }
                for k, name in enumerate(self.names)
            ],
        }

    def finding(self) -> Finding:
        """How far the two models agree."""
        agree, of = self.agreement(self.names)
        text = (
            'The 38-dof model and the 20-dof model (no camber, kingpin, track or wheelbase '
            f'joints) agree within two standard deviations in {agree} of {of} parameters'
        )
        differ = [name for name in self.disagreeing if name in WELL_IDENTIFIED_IN_TABLE_II]
        if differ:
            worst = max(differ, key=lambda name: self.difference[self.names.index(name)])
            k = self.names.index(worst)
            text += (
                f'; on this car the 20-dof model is not sufficient: {worst} comes out as '
                f'{self.value_20[k]:.5g} instead of {self.value_38[k]:.5g} {unit(worst)}'
            )
        return Finding('note', 'model_comparison', f'{text}.')

    def table(self) -> ExtraTable | None:
        """For the report."""
        return table(
            '38-dof and 20-dof model',
            'The same recordings identified with both (Tables II '
            'and IV of Venture 2006); the difference is in joint standard deviations.',
            self.as_dict()['parameters'],
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
        )

    def text(self) -> str:
        """The two tables as one, for the terminal."""
        lines = [
            '38-dof and 20-dof model (difference in joint standard deviations):',
            f'{"parameter":<10} {"38 dof":>12} {"std":>9} {"20 dof":>12} {"std":>9} '
            f'{"diff %":>8} {"diff/std":>9}',
        ]
        for k, name in enumerate(self.names):
            mark = '  *' if self.difference[k] > AGREEMENT else ''
            percent = _percent(self.value_20[k] - self.value_38[k], self.value_38[k])
            lines.append(
                f'{name:<10} {self.value_38[k]:>12.6g} {self.std_38[k]:>9.3g} '
                f'{self.value_20[k]:>12.6g} {self.std_20[k]:>9.3g} {percent:>8.2f} '
                f'{self.difference[k]:>9.2f}{mark}'
            )
        agree, of = self.agreement()
        every, total = self.agreement(self.names)
        lines.append(
            f'within {AGREEMENT:g} joint deviations: {agree} of the {of} that Table II '
            f'calls well identified, {every} of all {total}'
        )
        if self.note:
            lines.append(f'note: {self.note}')
        return '\n'.join(lines) + '\n'


def _percent(difference: float, value: float) -> float:
    return 100.0 * float(difference) / abs(float(value)) if value else float('nan')


def compare_models(
    recordings: Iterable[CarRecording],
    configuration: CarDescription,
    method: CarMethod | None = None,
) -> ModelComparison:
    """Identify twice; `recordings` is gone through once for each model."""
    chosen = replace(method or CarMethod(), check=False)
    full = identify_recordings(recordings, configuration, replace(chosen, dof=38))
    upright = replace(chosen, dof=20, calibrate_camber=False)
    reduced = identify_recordings(recordings, configuration, upright).result
    wide = full.result
    note = ''
    if not knows_axles(next(iter(recordings)), configuration):
        told = any(one.of(camber.name) for one in full.calibrations for camber in CAMBER)
        note = (
            'neither the recordings nor the configuration tell how half track, wheelbase, camber '
            'and kingpin vary: '
        ) + (
            'the 38-dof column has the camber that was estimated from the recordings themselves'
            if told
            else 'the two models are one and the same'
        )
    return ModelComparison(
        tuple(wide.names),
        wide.value,
        wide.std,
        reduced.value,
        reduced.std,
        wide.residual_rms_relative,
        reduced.residual_rms_relative,
        note,
    )
