"""Whether the identified model explains the forces, and what may be wrong if it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from veh_identification.errors import EstimationError, VehIdError
from veh_identification.identification.gauss_markov import whitening
from veh_identification.signals import PeriodAverage
from veh_identification.systems.parallel.estimation.equations import Equations, equations
from veh_identification.systems.parallel.estimation.likelihood import (
    gauss_markov,
    pooled_force_covariance,
)
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.systems.parallel.processing import PeriodicRecord
from veh_identification.types import Array

#: Share of the forces' variation (rms) that may stay unexplained before the result is refused.
REFUSED_SHARE = 0.2
#: The same against what the scatter of the periods explains: noisy forces alone are no misfit.
REFUSED_RATIO = 3.0
#: From here on the misfit is told, where it is worth telling. Chance moves the ratio by 1 to 2 %.
TOLD_RATIO, TOLD_SHARE = 1.1, 0.005
#: Speeds [m/s, rad/s] over which dry friction may change its sign, tried where the misfit is told.
SIGN_WIDTHS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
#: A moving mass this many times the configured one, or a part of it, is a matter of units.
UNIT_FACTOR = 100.0
#: An exchange of legs is named when it leaves less than this part of the misfit.
CLEARLY_BETTER = 0.3


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
) -> list[str]:
    """Refuse a result that does not explain its own data; sentences on lesser doubts."""
    covariance = system.force_covariance(pooled_force_covariance(records), p)
    found = misfit(system, covariance, p)
    if found.unusable:
        raise EstimationError(
            f'{records[0].source}: {found.sentence()}: '
            f'{_suspicion(model, records, harmonics, cutoff_hz, found)}'
        )
    _check_mass(model, records[0].source, p)
    if found.ratio > TOLD_RATIO and found.share > TOLD_SHARE:
        hint = _better_structure(model, records, harmonics, cutoff_hz, found)
        return [
            f'the forces differ from the model by {found.ratio:.3g} times what the scatter of the '
            f'periods explains ({found.share:.2%} of their variation), so values may be off by '
            f'more than their deviation: {hint}'
        ]
    return []


def _check_mass(model: HexapodModel, source: str, p: Array) -> None:
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


def _better_structure(
    model: HexapodModel,
    records: Sequence[PeriodicRecord],
    harmonics: int,
    cutoff_hz: float,
    found: Misfit,
) -> str:
    """Name a structure that takes away at least half of what is too much."""
    best, what = 1.0 + 0.5 * (found.ratio - 1.0), ''
    now = model.structure
    trials = [replace(now, sign_width=w) for w in SIGN_WIDTHS if w != now.sign_width]
    if now.platform != 'full':
        trials.append(replace(now, platform='full'))
    for structure in trials:
        trial = HexapodModel(model.robot, structure)
        try:
            system = equations(trial, records, harmonics, cutoff_hz=cutoff_hz)
            covariance = pooled_force_covariance(records)
            value = gauss_markov(trial, system, covariance, noise='white').value
        except VehIdError:  # the motion does not determine it
            continue
        ratio = misfit(system, system.force_covariance(covariance, value), value).ratio
        if ratio < best:
            setting = f'sign_width: {structure.sign_width:g}'
            if structure.platform != now.platform:
                setting = f'platform: {structure.platform}'
            best, what = ratio, f'with `{setting}` under model: it would be {ratio:.3g} times'
    return what or 'geometry, friction or load are not quite those of the model'


def _suspicion(
    model: HexapodModel,
    records: Sequence[PeriodicRecord],
    harmonics: int,
    cutoff_hz: float,
    found: Misfit,
) -> str:
    best, what = found.share * CLEARLY_BETTER, ''
    for name, changed in _remedies(records):
        try:
            system = equations(model, changed, harmonics, cutoff_hz=cutoff_hz)
            covariance = pooled_force_covariance(changed)
            value = gauss_markov(model, system, covariance, noise='white').value
        except VehIdError:  # no pose has such lengths
            continue
        share = misfit(system, covariance, value).share
        if share < best:
            best, what = share, f'with {name} it would be {share:.1%}'
    return what or 'check joints, order of the legs, gravity and units (m, N)'


def _remedies(
    records: Sequence[PeriodicRecord],
) -> Iterator[tuple[str, list[PeriodicRecord]]]:
    """The recordings with one effort's sign turned, or two legs or their efforts exchanged."""
    for k, leg in enumerate(LEGS):
        sign = np.ones(6)
        sign[k] = -1.0
        turned = [replace(r, forces=_signed(r.forces, sign), phased=None) for r in records]
        yield f'the effort of {leg} of opposite sign', turned
    for a, b in combinations(range(6), 2):
        order = list(range(6))
        order[a], order[b] = b, a
        legs = f'{LEGS[a]} and {LEGS[b]}'
        efforts = [replace(r, forces=_ordered(r.forces, order), phased=None) for r in records]
        yield f'the efforts of {legs} exchanged', efforts
        both = [replace(r, lengths=_ordered(r.lengths, order)) for r in efforts]
        yield f'{legs} exchanged', both


def _ordered(average: PeriodAverage, order: list[int]) -> PeriodAverage:
    return PeriodAverage(
        average.mean[:, order], average.covariance[np.ix_(order, order)], average.periods
    )


def _signed(average: PeriodAverage, sign: Array) -> PeriodAverage:
    return PeriodAverage(
        average.mean * sign, average.covariance * np.outer(sign, sign), average.periods
    )
