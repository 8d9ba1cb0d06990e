"""Identification of a car chunk by chunk: the offline method on what has been driven so far.

Each chunk passes the offline preparation (one zero-phase filter on both sides of all equations)
and adds its Gram matrices per band to those before: memory stays flat, and the estimate after a
drive is that of `veh-id identify car` but for the edges of the chunks.

The newest chunk joins the long-term matrices only when the next one comes. Before, it is compared
with them where a load acts (`car_change`). A chunk that shows a change is held back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from veh_identification.errors import EstimationError, InputError, VehIdError
from veh_identification.findings import Finding
from veh_identification.identification.live import Change, Solution
from veh_identification.saved_state import SavedState
from veh_identification.systems.car.checks.excited import untold_parameters
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.gathering import (
    BIAS_SECONDS,
    CarStandsError,
    model_asked_for,
)
from veh_identification.systems.car.estimation.identify import (
    CarMethod,
    Gathered,
    fit_gathered,
    gather_recordings,
    select,
)
from veh_identification.systems.car.estimation.sticking import Sticking
from veh_identification.systems.car.estimation.weighted import Fit
from veh_identification.systems.car.live.change import WATCHED, LoadEstimate
from veh_identification.systems.car.live.checking import check_gathered, check_unusable
from veh_identification.systems.car.model import EQUATIONS, CarModel
from veh_identification.systems.car.parameters import scale
from veh_identification.systems.car.processing.cutoffs import Cutoffs
from veh_identification.systems.car.processing.friction import NearRest
from veh_identification.systems.car.processing.spectral import SpectralInformation
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.systems.car.suspension.uneven import Uneven, uneven_of
from veh_identification.types import Array

#: 2: three mirrored matrices, 3: bends of the dampers, 4: mirrored ones of a part, half of each.
STATE_VERSION = 4
#: Seconds of driving before changes are looked for.
CALIBRATION_SECONDS = 30.0
REMEMBERED = 40
#: Doubts of earlier chunks are told while these are more than this share of what is known.
DOUBTED_SHARE = 0.1
#: Chunks that are looked at closely (`CarMethod`) are all at first, as many seconds as of a
#: recording, and later on this share: it is a quarter of the work of a chunk.
CLOSELY = 0.25


@dataclass
class Knowledge:
    """Sum of chunks, and the cut-offs that each of them asked for."""

    gathered: Gathered
    hertz: list[Mapping[str, float]]
    close_seconds: float  # of chunks that were looked at closely

    @classmethod
    def of(cls, chunk: Gathered) -> Knowledge:
        """What a first chunk says."""
        return cls(chunk, [chunk.cutoffs.hertz], chunk.information.seconds)

    def plus(self, other: Gathered) -> Knowledge:
        """With one more chunk."""
        mine, seconds, close = self.gathered, other.information.seconds, self.close_seconds
        total = replace(mine, information=mine.information + other.information, first=other.first)
        if other.closely:
            pairs = zip(mine.mirrored, other.mirrored, strict=True)
            total.mirrored = [a + b for a, b in pairs]
            total.settings_spread = mine.settings_spread + other.settings_spread
            close += seconds
        else:  # as in the chunks before
            more = seconds / mine.information.seconds
            total.settings_spread = (1.0 + more) * mine.settings_spread
            total.mirrored = [one.up_to(len(total.information.rows)) for one in mine.mirrored]
        hertz = [*self.hertz, other.cutoffs.hertz]
        middle = {name: float(np.median([one[name] for one in hertz])) for name in EQUATIONS}
        total.cutoffs = Cutoffs(middle, mine.cutoffs.stop_bands, mine.cutoffs.reasons)
        total.model = model_asked_for(total)
        return Knowledge(total, hertz, close)


class CarLive:
    """Long-term knowledge, the newest chunk, and whether the two are at odds."""

    def __init__(
        self, configuration: CarDescription, options: CarMethod, significance: float
    ) -> None:
        self.configuration, self.options = configuration, options
        self.significance = significance
        self.names = list(options.names)
        self.watched = [self.names.index(name) for name in WATCHED]
        self.load = LoadEstimate(self.watched, significance)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.known: Knowledge | None = None
        self.newest: Gathered | None = None
        self._kept: tuple[Knowledge, Gathered | None, dict[str, Any]] | None = None
        self.reference: Solution | None = None
        self._fit: Fit | None = None
        self.change: Change | None = None
        self.changed = False
        self.latest: CarSamples | None = None  # the longest stretch of the latest chunk
        self.held_chunks = self.chunks = 0
        self._statistics: list[float] = []
        self._joints: frozenset[str] | None = None  # those that every chunk must hold
        self.found: list[Finding] = []  # what the checks say of the latest chunk
        self.stands = False  # whether the latest chunk holds nothing but a car that stands
        self._spoilt: dict[
            str, tuple[Finding, int]
        ] = {}  # and said of chunks in use, with samples
        #: All that is known comes from chunks that contradict themselves: fit to look at only.
        self.provisional = False
        self.load.forget()

    @property
    def samples(self) -> int:
        """Samples in use."""
        long = self.known.gathered.information.samples if self.known else 0
        return long + (self.newest.information.samples if self.newest is not None else 0)

    @property
    def seconds(self) -> float:
        """Seconds in use, the newest chunk included."""
        long = self.known.gathered.information.seconds if self.known else 0.0
        return long + (self.newest.information.seconds if self.newest is not None else 0.0)

    @property
    def model(self) -> CarModel | None:
        """The model, once a chunk has shown which joints are measured."""
        return None if self.known is None else self.known.gathered.model

    @property
    def further(self) -> Array:
        """Values of the model's parameters beyond those that are told."""
        return np.zeros(0) if self._fit is None else self._fit.value[len(self.names) :]

    @property
    def uneven(self) -> Uneven:
        """Dampers that the model has two slopes for."""
        if self.model is None or self._fit is None:
            return Uneven()
        return uneven_of(self.model, self._fit)

    def add(self, recording: CarRecording) -> str:
        """Take a chunk; the reason in words when it cannot be used."""
        options = self.options
        self.found, self.stands = [], False
        joints = _used_joints(recording)
        late = self._joints is not None and joints - self._joints
        # A first chunk that is wrong decides nothing for those that come after it.
        if self.model is not None and not late and not self.provisional:
            options = self._decided(self.model.dof)
        if self._joints is not None and self._joints - joints:
            # A wheel wrench would not be turned by its steering, or a track taken as nominal.
            return f'sensors are missing: {" ".join(sorted(self._joints - joints))}'
        try:
            chunk = gather_recordings([recording], self.configuration, options)
        except CarStandsError as error:
            self.stands = True
            return _short(str(error))
        except VehIdError as error:
            self.found = check_unusable(recording, self.configuration)
            if not isinstance(error, InputError):
                raise
            return _short(str(error))
        if self.known is not None:
            lost = _lost(self.known.gathered, chunk)
            if lost:
                return lost
        self.found = check_gathered(chunk, options, self.configuration, recording.label)
        wrong = [one.code for one in self.found if one.level == 'bad']
        if wrong and self.known is not None and not self.provisional:
            return f'it contradicts itself: {" ".join(sorted(set(wrong)))}'
        if self.known is not None:
            sound = self.provisional and not wrong
            if late or sound or _lost(chunk, self.known.gathered):
                # A sensor that was missing has come, or what was wrong has been put right.
                found = self.found
                self.reset()
                self.found = found
        self.provisional = bool(wrong)
        self._joints = joints
        self.chunks += 1
        self.latest = chunk.first
        self._take(chunk)
        self._remember(chunk.information.samples)
        return ''

    def _remember(self, samples: int) -> None:
        """What a chunk was doubted for stays in the estimate, and so does the doubt."""
        for one in self.found:
            if one.level == 'warn':
                known = self._spoilt.get(one.code, (one, 0))[1]
                self._spoilt[one.code] = one, known + samples

    @property
    def doubted(self) -> list[Finding]:
        """Doubts of earlier chunks that are a good part of the estimate."""
        now, least = {one.code for one in self.found}, DOUBTED_SHARE * self.samples
        return [
            replace(one, text=f'in an earlier part that is in use: {one.text}')
            for code, (one, samples) in self._spoilt.items()
            if code not in now and samples >= least
        ]

    def _decided(self, dof: int) -> CarMethod:
        """The method with what the first chunk has shown."""
        assert self.known is not None
        close = self.known.close_seconds
        if self.newest is not None and self.newest.closely:
            close += self.newest.information.seconds
        return replace(
            self.options,
            dof=dof,
            sticking=self.known.gathered.sticking,
            closely=close < max(BIAS_SECONDS, CLOSELY * self.seconds),
        )

    def _take(self, chunk: Gathered) -> None:
        self._absorb()
        if self.known is None:
            self._settle(Knowledge.of(chunk))
            return
        self._look_for_change(chunk)
        if self.changed:
            self.held_chunks += 1
        else:
            self.newest = chunk

    def _absorb(self) -> None:
        if self.newest is not None and self.known is not None:
            newest, self.newest = self.newest, None
            self._settle(self.known.plus(newest))

    def _settle(self, known: Knowledge) -> None:
        """Go on from this knowledge; what cannot be solved leaves everything as it was."""
        self.reference, self._fit = self._solve(known)
        self.known = known

    def solve(self) -> Solution:
        """Estimate of all chunks before a change."""
        if self.known is None or self.reference is None:
            raise EstimationError('no chunk so far')
        if self.newest is None:
            return self.reference
        return self._solve(self.known.plus(self.newest))[0]

    def _solve(self, known: Knowledge) -> tuple[Solution, Fit]:
        gathered = known.gathered
        selection, _ = select(gathered)
        fit, _ = fit_gathered(gathered, self.options, selection, self.configuration)
        shown = fit.first(len(self.names))
        # `advice` says what would tell the others.
        told = selection.parameters[: len(self.names)]
        told = told & ~np.isin(self.names, list(untold_parameters(fit)))
        value = np.where(told, shown.value, np.nan)
        covariance = shown.covariance.copy()
        unknown = ~told
        covariance[unknown, :] = covariance[:, unknown] = np.nan
        sigma = np.sqrt(fit.residual_squares / max(gathered.information.samples, 1))
        sigma = np.where(gathered.usable, sigma, np.nan)
        sizes = np.array([scale(name) for name in self.names])
        excited = told & (np.sqrt(np.diag(shown.covariance)) < sizes)
        return Solution(value, covariance, sigma, excited, fit.condition_number), fit

    # Change -------------------------------------------------------------------------------------

    @property
    def level(self) -> float:
        """Mean of the statistic over its expectation as far as nothing changed, at least 1."""
        if not self._statistics:
            return 1.0
        return max(1.0, float(np.mean(self._statistics)) / len(self.watched))

    def _look_for_change(self, chunk: Gathered) -> None:
        assert self.known is not None and self.reference is not None and self._fit is not None
        if not self.reference.excited[self.watched].all():
            return
        level = self.level
        chunk = replace(chunk, model=self.known.gathered.model)
        change = self.load.compare(chunk, self.reference, self._fit, level)
        ready = self.known.gathered.information.seconds >= CALIBRATION_SECONDS
        changed = ready and change.test.changed
        if changed:
            change = self.load.add(chunk, change, self.reference, self._fit, level)
        else:
            limited = level * min(change.test.statistic, change.test.threshold)
            self._statistics = [*self._statistics, limited][-REMEMBERED:]
            self.load.forget()
        if ready:
            self.change, self.changed = change, changed

    # Storage ------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Plain arrays, fit for np.savez and back through `restore`."""
        if self.known is None:
            raise EstimationError('nothing is identified yet')
        if self.provisional:
            codes = ' '.join(sorted({one.code for one in self.found if one.level == 'bad'}))
            raise EstimationError(f'nothing can be relied on: put right first: {codes}')
        return {
            **self._sums(self.known, self.newest),
            'statistics': np.array(self._statistics),
            'joints': np.array(sorted(self._joints or ()), dtype=np.str_),
            **self._doubts(),
        }

    def _sums(self, known: Knowledge, newest: Gathered | None) -> dict[str, Any]:
        """What all chunks add up to, 20 MB of it: made once for all who keep it."""
        if self._kept is not None and self._kept[0] is known and self._kept[1] is newest:
            return self._kept[2]
        total = known if newest is None else known.plus(newest)
        g = total.gathered
        grams = np.stack([_half(one.grams) for one in (g.information, *g.mirrored)])
        grams.flags.writeable = False  # several keep it
        mirrored = g.mirrored[:1] or [g.information]  # all are of the same samples
        sums = {
            'version': STATE_VERSION,
            'names': np.array(self.names),
            'dof': g.model.dof,
            'grams': grams,
            'rows': g.information.rows,
            'samples': g.information.samples,
            'seconds': g.information.seconds,
            'close_seconds': total.close_seconds,
            'mirrored_rows': mirrored[0].rows,
            'mirrored_samples': mirrored[0].samples,
            'mirrored_seconds': mirrored[0].seconds,
            'usable': g.usable,
            'has_speed': g.has_speed,
            'hertz': np.array([[one[name] for name in EQUATIONS] for one in total.hertz]),
            'settings_spread': g.settings_spread + np.zeros((len(self.names),) * 2),
            **_surfaces(g.sticking),
        }
        self._kept = known, newest, sums
        return sums

    def _doubts(self) -> dict[str, Any]:
        """What chunks in use were doubted for: it is in the sums, and must be told after them."""
        told = list(self._spoilt.values())
        if not told:
            return {}
        return {
            'doubts': np.array([[one.code, one.text, one.where] for one, _ in told]).ravel(),
            'doubted': np.array([samples for _, samples in told]),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over stored knowledge; EstimationError if it is other."""
        stored = SavedState.of(state)
        stored.expect_version(STATE_VERSION)
        stored.expect_texts('names', self.names, of='car')
        dof = stored.count('dof')
        if dof not in (20, 38):
            raise stored.refused('dof', f'is {dof}, expected 20 or 38')
        model = CarModel(self.configuration, dof, self.options.names)
        rows = stored.array('rows', (None,), low=0.0)
        half = len(_half(np.zeros((model.signal_count,) * 2)))
        grams = stored.array('grams', (None, len(rows), half))
        mirrored_rows = stored.array('mirrored_rows', (len(rows),), low=0.0)
        if not len(rows) or not len(grams):
            raise stored.refused('grams', 'are empty')
        hertz: list[Mapping[str, float]] = [
            dict(zip(EQUATIONS, one.tolist(), strict=True))
            for one in stored.array('hertz', (None, len(EQUATIONS)), low=0.0)
        ]
        if not hertz:
            raise stored.refused('hertz', 'is empty')
        samples, seconds = stored.count('samples'), stored.number('seconds', low=0.0)
        of_mirrored = (
            mirrored_rows,
            stored.count('mirrored_samples'),
            stored.number('mirrored_seconds', low=0.0),
        )
        usable, has_speed = stored.flags('usable', (len(EQUATIONS),)), stored.flag('has_speed')
        statistics = stored.array('statistics', (None,), low=0.0).tolist()
        joints = stored.texts('joints') if 'joints' in stored else []
        spoilt = _spoilt(stored)
        spread: Array | float = 0.0
        if 'settings_spread' in stored:
            spread = stored.array('settings_spread', (len(self.names),) * 2)
        size = model.signal_count
        information = SpectralInformation(_whole(grams[0], size), rows, samples, seconds)
        mirrored = [SpectralInformation(_whole(one, size), *of_mirrored) for one in grams[1:]]
        cutoffs = Cutoffs(
            {n: float(np.median([one[n] for one in hertz])) for n in EQUATIONS},
            self.configuration.disturbances,
            {},
        )
        # `first` serves checks of recordings only.
        known = Knowledge(
            Gathered(
                model,
                information,
                mirrored,
                cutoffs,
                cast(CarSamples, None),
                usable,
                has_speed,
                [],
                None,
                {'recordings': ['stored']},
                settings_spread=spread,
                sticking=_sticking(stored),
            ),
            hertz,
            stored.number('close_seconds', low=0.0),
        )
        known.gathered.model = model_asked_for(known.gathered)
        with stored.tried():
            reference, fit = self._solve(known)  # may refuse: nothing is replaced before
        self.reset()
        self.known, self.reference, self._fit = known, reference, fit
        self._statistics = statistics
        self._joints = frozenset(joints) if joints else None
        self._spoilt = spoilt


def _half(grams: Array) -> Array:
    """Symmetric matrices (..., n, n) without what stands below their diagonals."""
    rows, columns = np.triu_indices(grams.shape[-1])
    return np.asarray(grams[..., rows, columns])


def _whole(half: Array, size: int) -> Array:
    """The matrices that `_half` made half of."""
    grams = np.empty((*half.shape[:-1], size, size))
    rows, columns = np.triu_indices(size)
    grams[..., rows, columns] = half
    grams[..., columns, rows] = half
    return grams


def _surfaces(sticking: Sticking | None) -> dict[str, Array]:
    """What the first chunk told of the friction near rest: later ones are prepared with it."""
    if sticking is None:
        return {}
    return {'surfaces': np.array([sticking.surfaces.presliding, sticking.surfaces.creep])}


def _sticking(stored: SavedState) -> Sticking | None:
    """As `_surfaces` gave it; its share of the deviations is in the settings' spread."""
    if 'surfaces' not in stored:
        return None
    presliding, creep = stored.array('surfaces', (2,), low=0.0).tolist()
    return Sticking(NearRest(presliding, creep))


def _spoilt(stored: SavedState) -> dict[str, tuple[Finding, int]]:
    """Doubts as `CarLive._doubts` gave them."""
    if 'doubts' not in stored:
        return {}
    texts = stored.texts('doubts')
    samples = stored.counts('doubted', (len(texts) // 3,))
    if len(texts) != 3 * len(samples):
        raise stored.refused('doubts', f'are {len(texts)} texts, expected three for each')
    rows = zip(texts[::3], texts[1::3], texts[2::3], samples.tolist(), strict=True)
    return {code: (Finding('warn', code, text, where), count) for code, text, where, count in rows}


def _used_joints(recording: CarRecording) -> frozenset[str]:
    """Joints of a recording that the equations use."""
    return frozenset(name for name in recording.joints if not name.startswith(('wheel_', 'tyre')))


def _lost(before: Gathered, now: Gathered) -> str:
    """What an earlier chunk had and this one lacks."""
    gone = [
        name
        for name, had, has in zip(EQUATIONS, before.usable, now.usable, strict=True)
        if had and not has
    ]
    if gone:
        return f'sensors are missing: no equations {" ".join(gone)}'
    return 'the speed is missing' if before.has_speed and not now.has_speed else ''


def _short(text: str) -> str:
    """A reason without the chunk's label, so that equal reasons are counted together."""
    return text.split(' s: ', 1)[-1].split(' (')[0]
