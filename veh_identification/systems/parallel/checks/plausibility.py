"""Wrong units, signs, orders, geometry and gravity of a parallel robot, before anything is used.

What may be wrong is tried, the simplest first: the change with which the forces fit the motion far
better, and the moving mass that of the description, is named. The same offline and live.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.checks.explanation import (
    CLEARLY_LESS,
    best_explanation,
    explanation_findings,
)
from veh_identification.errors import ModelError
from veh_identification.findings import CONVINCING, Finding
from veh_identification.systems.parallel.checks.all_legs import all_legs, offsets_of_lengths
from veh_identification.systems.parallel.checks.described import check_described
from veh_identification.systems.parallel.checks.drawing import drawings
from veh_identification.systems.parallel.checks.hypotheses import every_hypothesis
from veh_identification.systems.parallel.checks.judge import FLOOR, Judge
from veh_identification.systems.parallel.checks.machine import Machine
from veh_identification.systems.parallel.checks.repetition import commanded, more_often
from veh_identification.systems.parallel.checks.single_legs import (
    gains,
    zeros_of_efforts,
    zeros_of_impossible,
    zeros_of_lengths,
)
from veh_identification.systems.parallel.checks.small_errors import small_findings
from veh_identification.systems.parallel.model.geometry import Limits
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord

#: Share of the forces' variation beyond their noise up to which a fit is good.
GOOD = 0.05
#: The same where the lengths as they are have no pose at all: noisy forces may leave more.
POSSIBLE = 0.2
#: Excess over the noise of the mean forces that is looked into; chance moves it by a few per cent.
EXCESS = 0.5


def plausibility(
    model: HexapodModel, record: PeriodicRecord, harmonics: int, cutoff_hz: float | None = None
) -> list[Finding]:
    """The mistake that explains why forces, motion and mass do not fit, if there is one."""
    found = _explained(_usually_guarded(model), record, harmonics, cutoff_hz)
    if any(one.level == 'bad' for one in found):
        return found  # the cause stands alone
    return [*found, *check_described(model.robot)]


def _usually_guarded(model: HexapodModel) -> HexapodModel:
    """Poses that only a strict guard of the configuration refuses are possible.

    Else another geometry, with which the guard lets them pass, would be named as the right one.
    """
    limits, usual = model.robot.limits, Limits().condition
    if limits.condition >= usual:
        return model
    robot = replace(model.robot, limits=replace(limits, condition=usual))
    return HexapodModel(robot, model.structure)


def _explained(
    model: HexapodModel, record: PeriodicRecord, harmonics: int, cutoff_hz: float | None
) -> list[Finding]:
    machine = Machine(model, replace(record, phased=None))
    judge = Judge(machine, harmonics, cutoff_hz)
    findings = [*commanded(record), *more_often(record)]
    try:
        share, noise, _ = judge.fit(machine)
        as_it_is = judge.misfit(machine)
        if as_it_is < max(EXCESS * noise, FLOOR * GOOD):
            return [*findings, *small_findings(judge)]
        sizes = [*gains(judge), *zeros_of_efforts(judge), *offsets_of_lengths(machine)]
        sizes += zeros_of_lengths(judge)
    except ModelError:
        share, as_it_is = np.inf, np.inf
        sizes = [
            *offsets_of_lengths(machine),
            *zeros_of_impossible(judge),
            *drawings(judge, coarse=True),
        ]
    hypotheses = [*every_hypothesis(machine), *sizes]
    found = best_explanation(machine, hypotheses, judge.misfit, as_it_is)
    if np.isfinite(as_it_is) and (found.factor < CONVINCING or found.misfit > GOOD):
        # Changes of all legs fit somewhat better whatever is wrong: only where nothing else does.
        rest = best_explanation(machine, all_legs(judge), judge.misfit, as_it_is)
        convincing = rest.factor >= CONVINCING and rest.misfit <= GOOD
        found = rest if convincing and rest.misfit < CLEARLY_LESS * found.misfit else found
    of_all = found.best is not None and found.best.code == 'effort_delay'
    if found.best is None or (of_all and found.best.where == ''):
        return findings  # the estimate says why it cannot be; it finds delays more exactly
    if not np.isfinite(as_it_is) and found.misfit > POSSIBLE:
        return findings  # nothing makes the lengths possible and the forces fit
    text = f'the model does not explain the forces, {share:.0%} of their variation is left'
    told = explanation_findings(
        found, label=record.source, better='forces and motion fit', misfit_text=text, good=GOOD
    )
    if np.isfinite(as_it_is) and not any(one.level == 'bad' for one in told):
        findings += small_findings(judge)
    # A misfit that nothing explains is told by the estimate, with its own figures.
    return [*findings, *(one for one in told if one.code != 'misfit_unexplained')]
