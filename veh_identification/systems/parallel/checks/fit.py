"""Whether the identified model explains the forces, and what may be wrong if it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from veh_identification.checks.explanation import (
    MAYBE,
    Hypothesis,
    best_explanation,
)
from veh_identification.errors import EstimationError
from veh_identification.findings import CONVINCING, Finding
from veh_identification.identification.gauss_markov import whitening
from veh_identification.systems.parallel.estimation.band import BandEstimate
from veh_identification.systems.parallel.estimation.equations import Equations, equations
from veh_identification.systems.parallel.estimation.likelihood import (
    gauss_markov,
    pooled_force_covariance,
)
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.model import HexapodModel, Structure
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.types import Array

#: Share of the forces' variation (rms) that may stay unexplained before the result is refused.
REFUSED_SHARE = 0.2
#: The same against what the scatter of the periods explains: noisy forces alone are no misfit.
REFUSED_RATIO = 3.0
#: From here on the misfit is told, where it is worth telling. Chance moves the ratio by 1 to 2 %.
TOLD_RATIO, TOLD_SHARE = 1.1, 0.005
#: The same for filtered rows, where a controller's own forces scatter unlike white noise.
BAND_RATIO = 1.5
#: Speeds [m/s, rad/s] over which dry friction may change its sign, tried where the misfit is told.
SIGN_WIDTHS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
#: Every parameter is proportional to the forces, and nothing else tells their scale.
SCALE_NOT_CHECKED = Finding(
    'note',
    'scale_not_checked',
    'nothing in the recordings tells whether the forces have the right scale, and all masses, '
    'inertias and frictions are proportional to it: calibrate them, or put a load of known mass '
    'on the platform in a second recording and look whether the moving mass (p10) grows by it',
)
#: A moving mass this many times the configured one, or a part of it, is a matter of units.
UNIT_FACTOR = 100.0


@dataclass(frozen=True)
class Misfit:
    """Errors of the mean forces."""

    share: float  # rms over that of the forces' variation, all legs together
    ratio: float  # rms over what the scatter of the periods explains, weighted by covariance

    @property
    def unusable(self) -> bool:
        """Whether the model does not describe this robot."""
        return self.share > REFUSED_SHARE and self.ratio > REFUSED_RATIO

    def sentence(self) -> str:
        """What is wrong where it is unusable."""
        return (
            f'the model does not explain the forces, {self.share:.0%} of their variation is left, '
            f'{self.ratio:.3g} times what the scatter of the periods explains'
        )


def misfit(system: Equations, covariance: Array, p: Array) -> Misfit:
    """How the mean forces differ from the model with parameters p."""
    Y = np.concatenate(system.Y)
    known = np.isfinite(Y).all(axis=1)
    error = (Y - np.concatenate(system.W) @ p)[known]
    varying = float(np.square(Y[known] - Y[known].mean(axis=0)).sum())
    freedom = max(error.size - len(p), 1)
    chi_square = system.chi_square(p, whitening(covariance, LEGS))
    return Misfit(
        float(np.sqrt(np.square(error).sum() / varying)), float(np.sqrt(chi_square / freedom))
    )


def judge(
    model: HexapodModel,
    records: Sequence[PeriodicRecord],
    harmonics: int,
    cutoff_hz: float,
    system: Equations,
    p: Array,
) -> list[Finding]:
    """Refuse a result that does not explain its own data; findings on lesser doubts."""
    covariance = system.force_covariance(pooled_force_covariance(records), p)
    found = misfit(system, covariance, p)
    refit = _Refit(harmonics, cutoff_hz)
    source = records[0].source
    if found.unusable:
        raise EstimationError(
            f'{source}: {found.sentence()}, and no wrong unit, sign, order, geometry or gravity '
            'alone explains it: check joints, order of the legs, gravity and units (m, N)'
        )
    _require_plausible_mass(model, source, p)
    if found.ratio > TOLD_RATIO and found.share > TOLD_SHARE:
        return [_doubt(model, records, refit, found)]
    return []


def judge_band(
    model: HexapodModel, made: BandEstimate, records: Sequence[PeriodicRecord]
) -> list[Finding]:
    """The same for filtered rows; what noise explains is known where the motion repeats."""
    system, p, source = made.equations(), made.result.value, made.rows[0].source
    noise = made.covariance()
    if records:
        gain = float(np.mean([one.filter.noise_gain for one in made.rows]))
        noise = gain * pooled_force_covariance(records)
    found = misfit(system, noise, p)
    if found.share > REFUSED_SHARE and (found.ratio > REFUSED_RATIO or not records):
        raise EstimationError(
            f'{source}: the model does not explain the forces, {found.share:.0%} of their '
            'variation is left: check joints, order of the legs, gravity and units (m, N)'
        )
    _require_plausible_mass(model, source, p)
    if not records:
        text = (
            f'{source}: the motion does not repeat, so nothing but the residuals tells the noise '
            'of the forces, and legs or units that are mixed up are only seen by a large misfit'
        )
        return [Finding('note', 'motion_not_periodic', text, source)]
    if found.ratio > BAND_RATIO and found.share > TOLD_SHARE:
        text = (
            f'the forces differ from the model by {found.ratio:.3g} times what the scatter of the '
            f'periods explains ({found.share:.2%} of their variation), so values may be off by '
            'more than their deviation: geometry, friction or load are not quite those of the '
            'model'
        )
        return [Finding('warn', 'force_misfit', text, source, size=found.ratio)]
    return []


@dataclass(frozen=True)
class _Refit:
    """Estimation anew with something changed, by the frequency method."""

    harmonics: int
    cutoff_hz: float

    def __call__(
        self, model: HexapodModel, records: Sequence[PeriodicRecord]
    ) -> tuple[Equations, Array, Array]:
        """Equations, covariance of the forces, parameters."""
        system = equations(model, records, self.harmonics, cutoff_hz=self.cutoff_hz)
        covariance = pooled_force_covariance(records)
        value = gauss_markov(model, system, covariance, noise='white').value
        return system, covariance, value


def _require_plausible_mass(model: HexapodModel, source: str, p: Array) -> None:
    index = model.names.index('p10')
    mass, expected = float(p[index]), float(model.a_priori()[index])
    if mass <= 0.0:
        raise EstimationError(
            f'{source}: the moving mass p10 comes out as {mass:.4g} kg: the efforts (positive '
            'where a leg pushes), the direction of gravity or the order of the legs are wrong'
        )
    if expected > 0.0 and not 1.0 / UNIT_FACTOR < mass / expected < UNIT_FACTOR:
        raise EstimationError(
            f'{source}: the moving mass p10 comes out as {mass:.4g} kg where the configuration '
            f'says {expected:.4g} kg: efforts must be in N and lengths in m'
        )


def _doubt(
    model: HexapodModel, records: Sequence[PeriodicRecord], refit: _Refit, found: Misfit
) -> Finding:
    """The forces fit less well than they should: name a structure that cures it, if one does."""

    def ratio(structure: Structure) -> float:
        system, covariance, value = refit(HexapodModel(model.robot, structure), records)
        return _excess(misfit(system, system.force_covariance(covariance, value), value).ratio)

    tried = best_explanation(
        model.structure, _structures(model.structure), ratio, as_it_is=_excess(found.ratio)
    )
    text = (
        f'the forces differ from the model by {found.ratio:.3g} times what the scatter of the '
        f'periods explains ({found.share:.2%} of their variation), so values may be off by '
        'more than their deviation: '
    )
    if tried.best is None or tried.factor < CONVINCING:
        what = 'geometry, friction or load are not quite those of the model'
        if tried.best is not None and tried.factor > MAYBE:
            what += f'; maybe {tried.best.text}'
        return Finding('warn', 'force_misfit', text + what, records[0].source)
    left = float(np.hypot(1.0, tried.misfit))
    what = f'with {tried.best.text} it would be {left:.3g} times'
    return Finding('warn', tried.best.code, text + what, tried.best.where, tried.factor)


def _excess(ratio: float) -> float:
    """What is left beyond the scatter of the periods, which is one; chance is a tenth of it."""
    return float(np.sqrt(max(ratio**2 - 1.0, 0.1**2)))


def _structures(now: Structure) -> Iterator[Hypothesis[Structure]]:
    """Other structures of the model, with the entry of the configuration that gives them."""
    changes: list[tuple[str, str | float]] = [
        ('sign_width', width) for width in SIGN_WIDTHS if width != now.sign_width
    ]
    if now.platform != 'full':
        changes.append(('platform', 'full'))
    for entry, value in changes:
        shown = f'{value:g}' if isinstance(value, float) else value
        yield Hypothesis(
            f'force_misfit_{entry}',
            f'`{entry}: {shown}` under model:',
            partial(replace, **{entry: value}),  # type: ignore[arg-type]
            f'model.{entry}',
        )
