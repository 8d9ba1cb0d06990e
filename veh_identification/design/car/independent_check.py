"""Whether predicted deviations hold: the recommended drive once more, identified as by a user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veh_identification.design.car.advisor import Advice
from veh_identification.design.car.trial_drives import TrialCar, drive
from veh_identification.findings import Finding
from veh_identification.systems.car.estimation.gathering import CarMethod
from veh_identification.systems.car.estimation.identify import identify_recordings
from veh_identification.systems.car.parameters import NAMES
from veh_identification.types import Array

#: Deviations at which an error is no chance any more.
LARGE_ERROR = 5.0


@dataclass(frozen=True, eq=False)
class Checked:
    """Deviations that `identify car` finds on an independent simulated drive."""

    value: Array
    found: Array
    offset_scale: float | None  # constant sensor errors that the identification judged

    def ratio(self, predicted: Array) -> Array:
        """Predicted over found."""
        return predicted / self.found

    def errors(self, values: Mapping[str, float]) -> Array:
        """Errors of the values in found deviations: what no deviation predicts."""
        truth = np.array([values[name] for name in NAMES])
        return np.asarray((self.value - truth) / self.found)

    def findings(self, advice: Advice) -> list[Finding]:
        """What the drive says of the predictions."""
        ratio = self.ratio(advice.deviations)
        text = (
            'an independent simulated drive was identified: predicted over identified deviation '
            f'of all parameters {ratio.min():.2f} to {ratio.max():.2f}'
        )
        findings = [Finding('note', 'prediction_checked', text)]
        errors = self.errors(advice.values)
        wrong = [
            f'{name} ({errors[k]:+.0f})'
            for k, name in enumerate(NAMES)
            if abs(errors[k]) > LARGE_ERROR
        ]
        if wrong:
            text = (
                f'values off by more than {LARGE_ERROR:g} deviations: the model lacks something, '
                f'driving longer does not help: {", ".join(wrong)}'
            )
            findings.append(Finding('warn', 'model_lacks_something', text))
        if advice.offset_scale is not None and self.offset_scale is not None:
            text = (
                'constant sensor errors over typical ones: predicted with '
                f'{advice.offset_scale:.2f}, judged from that drive {self.offset_scale:.2f} (give '
                'offset in the configuration if known)'
            )
            findings.append(Finding('note', 'constant_errors_judged', text, 'sensors'))
        return findings


def check_advice(advice: Advice, car: TrialCar, seed: int) -> Checked:
    """Drive the recommendation with another seed and identify it as a user would."""
    recordings = [
        drive(car, run.sine, run.seconds, seed + place, seed + place).recording
        for place, run in enumerate(advice.runs)
    ]
    made = identify_recordings(recordings, car.configuration, CarMethod(dof=car.dof)).result
    return Checked(made.value, made.std, made.input.get('offset_scale'))
