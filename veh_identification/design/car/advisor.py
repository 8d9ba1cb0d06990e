"""Manoeuvre advisor: which steering sine, speed and duration bring deviations below wanted ones.

Every candidate is driven for some seconds by the simulated car with the user's geometry, a-priori
values and sensor noise; what longer drives will give follows from its Gram matrices
(`prediction`).
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from veh_identification.design.car.prediction import (
    FOR_EVER,
    deviations_after,
    judged_offsets,
    trial_information,
)
from veh_identification.design.car.trial_drives import Sine, Trial, TrialCar, drive
from veh_identification.design.wanted import parse_wants
from veh_identification.errors import EstimationError, InputError, UsageError
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.gathering import CarMethod, Gathered
from veh_identification.systems.car.parameters import NAMES, scale
from veh_identification.types import Array, Progress

KMH = 1.0 / 3.6
TRIAL_SECONDS = 20.0
#: The recommended one is driven longer, so that its prediction scatters less.
REFINED_SECONDS = 60.0
#: Less is not worth a recording: spectra need some repetitions of the sine.
SHORTEST = 30.0
ROUND_TO = 5.0
#: Share of the wanted speed that the car must hold.
KEPT_SPEED = 0.9
DEFAULT_WANTS = (
    'Mc=0.25%',
    'MXc=0.5%',
    'XXc=4%',
    'YYc=4%',
    'ZZc=1.5%',
    'k=2.5%',
    'h=2.5%',
    'karr=2.5%',
    'karf=2.5%',
    'Cx=5%',
)
GROUPS = ('M', 'k', 'h', 'fs', 'off')
#: A percentage of a value below this share of what a car usually has means nothing.
ABOUT_ZERO = 0.01


@dataclass(frozen=True)
class Want:
    """A standard deviation that is asked for, in the parameter's unit."""

    name: str
    sigma: float


@dataclass(frozen=True)
class Limits:
    """What car, driver and track allow."""

    lateral: float = 5.0  # m/s^2
    steering_rate: float = 0.5  # rad/s at the front wheels
    track_length: float = math.inf  # m of straight on for one pass
    longest: float = 600.0  # s of driving in all


@dataclass(frozen=True)
class Grid:
    """Candidates: every combination."""

    speeds: tuple[float, ...] = (90.0 * KMH, 110.0 * KMH, 130.0 * KMH)
    frequencies: tuple[float, ...] = (0.3, 0.5, 0.8, 1.2)
    laterals: tuple[float, ...] = (4.0, 2.0)

    def sines(self) -> list[Sine]:
        """All of them, the stronger ones first: a time limit shall not cut those."""
        return [
            Sine(v, f, a)
            for a, f, v in itertools.product(self.laterals, self.frequencies, self.speeds)
        ]


@dataclass
class Candidate:
    """One sine and what its trial says."""

    sine: Sine
    trial: Trial | None = None
    information: Gathered | None = None
    excluded: str = ''
    seconds: float = math.inf  # until all wants are met
    at_minute: Array = field(default_factory=lambda: np.zeros(0))  # deviations after 60 s


@dataclass(frozen=True)
class Run:
    """One drive of the recommendation."""

    sine: Sine
    seconds: float
    passes: int


@dataclass(frozen=True)
class Advice:
    """The recommendation with its reasons."""

    runs: tuple[Run, ...]
    deviations: Array  # predicted for all parameters after all runs
    values: Mapping[str, float]  # of the simulated car
    wants: tuple[Want, ...]
    never: tuple[str, ...]  # wanted, but constant sensor errors alone are larger
    candidates: tuple[Candidate, ...]
    offset_scale: float | None
    untried: int
    limits: Limits

    @property
    def missed(self) -> tuple[str, ...]:
        """Wanted parameters that the recommendation does not bring below their deviation."""
        return tuple(
            w.name for w in self.wants if not self.deviations[NAMES.index(w.name)] <= w.sigma
        )


def wants_of(texts: Sequence[str], values: Mapping[str, float]) -> tuple[Want, ...]:
    """`Mc=0.5%`, `MYc=5` (in its unit), `k=2%` (all four corners)."""
    found = parse_wants(
        texts,
        {name: values[name] for name in NAMES},
        {name: ABOUT_ZERO * scale(name) for name in NAMES},
        {group: [f'{group}{j}' for j in range(1, 5)] for group in GROUPS},
    )
    return tuple(Want(name, sigma) for name, sigma in found.items())


class Advisor:
    """Drives candidates and ranks them; `advise` is the whole search."""

    def __init__(
        self,
        car: TrialCar,
        wants: tuple[Want, ...],
        limits: Limits,
        *,
        seed: int = 0,
        trial_seconds: float = TRIAL_SECONDS,
        refined_seconds: float = REFINED_SECONDS,
    ) -> None:
        self.car, self.wants, self.limits = car, wants, limits
        self.seed, self.trial_seconds, self.refined_seconds = seed, trial_seconds, refined_seconds
        self._lost = 0.0  # seconds that filters take off the ends of a recording
        self.configuration: CarDescription = car.configuration
        # Ranking does without the bias correction: it costs three times the memory.
        self.method = CarMethod(dof=car.dof, bias_correction=False, check=False)
        self._places = np.array([NAMES.index(want.name) for want in wants])
        self._sigma = np.array([want.sigma for want in wants])

    def advise(
        self, grid: Grid, *, time_limit: float | None = None, progress: Progress | None = None
    ) -> Advice:
        """Try every candidate (as far as the time goes) and recommend."""
        sines, start = grid.sines(), time.monotonic()
        candidates: list[Candidate] = []
        for sine in sines:
            if candidates and time_limit and time.monotonic() - start > time_limit:
                break
            candidates.append(self.examine(sine, len(candidates)))
            if progress is not None:
                progress(len(candidates), len(sines))
        usable = [one for one in candidates if one.information is not None]
        if not usable:
            raise UsageError(
                'no candidate can be driven within the limits: '
                + '; '.join(dict.fromkeys(one.excluded for one in candidates))
            )
        self._lost = self.trial_seconds - _informations(usable)[0].information.seconds
        self.configuration, offset_scale = judged_offsets(
            _informations(usable), self.car.configuration, self.method
        )
        never = self._rank_by_reachable(usable)
        for one in usable:
            one.at_minute = self._deviations([one], [60.0])
            one.seconds = self._needed([one])
        chosen = self._choose(usable)
        seconds = self._refined(chosen)
        parts = [seconds / len(chosen)] * len(chosen)
        return Advice(
            tuple(self._run(one.sine, part) for one, part in zip(chosen, parts, strict=True)),
            self._deviations(chosen, parts),
            self.car.vehicle.parameters(),
            self.wants,
            never,
            tuple(candidates),
            offset_scale,
            len(sines) - len(candidates),
            self.limits,
        )

    def examine(self, sine: Sine, place: int = 0) -> Candidate:
        """Drive one candidate and see whether it keeps the limits.

        All candidates meet the same road, each with other noise and offsets.
        """
        candidate = Candidate(sine)
        wheelbase = self.car.configuration.geometry.wheelbase
        if sine.steering_rate(wheelbase) > self.limits.steering_rate:
            candidate.excluded = 'steering too fast'
        elif self.limits.track_length < sine.speed * 0.5 * SHORTEST:
            candidate.excluded = 'track too short'
        else:
            try:
                candidate.trial = drive(
                    self.car, sine, self.trial_seconds, self.seed, self.seed + place
                )
                if candidate.trial.lateral > self.limits.lateral:
                    candidate.excluded = 'lateral acceleration too large'
                elif candidate.trial.slowest < KEPT_SPEED * sine.speed:
                    candidate.excluded = 'the car does not keep the speed'
                else:
                    candidate.information = trial_information(
                        candidate.trial.recording, self.car.configuration, self.method
                    )
            except UsageError:
                candidate.excluded = 'out of control'
            except (EstimationError, InputError) as error:
                candidate.excluded = str(error)
        return candidate

    def _deviations(self, candidates: Sequence[Candidate], seconds: Sequence[float]) -> Array:
        informations = _informations(candidates)
        usable = [max(length - self._lost, 1.0) for length in seconds]
        return deviations_after(informations, usable, self.configuration, self.method)

    def _worst(self, candidates: Sequence[Candidate], seconds: float) -> float:
        """Largest predicted over wanted deviation after that time in all."""
        found = self._deviations(candidates, [seconds / len(candidates)] * len(candidates))
        return float(np.max(found[self._places] / self._sigma))

    def _needed(self, candidates: Sequence[Candidate]) -> float:
        """Shortest time in all that meets all wants, infinite if the longest does not."""
        least, most = len(candidates) * SHORTEST, self.limits.longest
        if self._worst(candidates, least) <= 1.0:
            return least
        if self._worst(candidates, most) > 1.0:
            return math.inf
        while most - least > ROUND_TO:
            middle = math.sqrt(least * most)
            if self._worst(candidates, middle) <= 1.0:
                most = middle
            else:
                least = middle
        return min(ROUND_TO * math.ceil(most / ROUND_TO), self.limits.longest)

    def _choose(self, usable: list[Candidate]) -> list[Candidate]:
        """The best single sine; two of them where one alone does not meet the wants."""
        best = min(usable, key=lambda one: (one.seconds, self._worst([one], self._horizon(one))))
        if math.isfinite(best.seconds) or len(usable) == 1:
            return [best]
        alone = self._worst([best], self.limits.longest)
        pairs = [[best, other] for other in usable if other is not best]
        worst = [self._worst(pair, self.limits.longest) for pair in pairs]
        place = int(np.argmin(worst))
        return (
            pairs[place]
            if worst[place] < min(1.0, alone) or worst[place] < 0.9 * alone
            else [best]
        )

    def _horizon(self, candidate: Candidate) -> float:
        return candidate.seconds if math.isfinite(candidate.seconds) else self.limits.longest

    def _refined(self, chosen: list[Candidate]) -> float:
        """Time that is needed with everything that `identify car` does by default."""
        self.method = replace(self.method, bias_correction=True)
        for place, one in enumerate(chosen):
            seed = self.seed + place + 1
            longer = drive(self.car, one.sine, self.refined_seconds, seed, seed)
            one.information = trial_information(
                longer.recording, self.car.configuration, self.method
            )
        seconds = self._needed(chosen)
        return seconds if math.isfinite(seconds) else self.limits.longest

    def _rank_by_reachable(self, usable: Sequence[Candidate]) -> tuple[str, ...]:
        """Leave out of the ranking what constant sensor errors forbid however long one drives."""
        left = np.min([self._deviations([one], [FOR_EVER]) for one in usable], axis=0)
        possible = left[self._places] <= self._sigma
        never = tuple(want.name for want, one in zip(self.wants, possible, strict=True) if not one)
        if possible.any():
            self._places, self._sigma = self._places[possible], self._sigma[possible]
        return never

    def _run(self, sine: Sine, seconds: float) -> Run:
        passes = (
            max(1, math.ceil(seconds * sine.speed / self.limits.track_length))
            if math.isfinite(self.limits.track_length)
            else 1
        )
        return Run(sine, seconds, passes)


def _informations(candidates: Sequence[Candidate]) -> list[Gathered]:
    return [one.information for one in candidates if one.information is not None]
