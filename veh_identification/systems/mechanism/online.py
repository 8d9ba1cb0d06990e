"""A mechanism as a stream: samples of its sensors and forces in, steps out."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError, ModelError
from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.observation import AdaptiveSettings, ErrorEKF, Measurement, ObservedModel
from veh_identification.observation.analysis import seen_by, state_names
from veh_identification.observation.streaming import Session
from veh_identification.observation.streaming.arrivals import Item
from veh_identification.systems.mechanism.configuration import Description
from veh_identification.systems.mechanism.model import (
    Mechanism,
    build,
    make_filter,
    sensors_of,
)
from veh_identification.systems.mechanism.streams import JOINTS
from veh_identification.types import Array

Say = Callable[[Finding], None]
#: Samples of at most this time give rate and place at the start [s], and at most so many: a quick
#: mechanism turns far in a short time.
FIRST, MOST = 0.2, 11
FEWEST = 5
#: Where all sensors have contradicted the model for so long [s], it is lost (another branch of the
#: assembly, a start by a wrong sample), and the sensors start it anew; each time in vain it waits
#: twice as long, up to the last.
LOST, LONGEST = 1.0, 30.0


def _without_strays(time: Array, values: Array, degree: int) -> Array:
    """Coefficients, lowest first, of the polynomial with the least absolute residuals.

    A sample with another's stamp would otherwise start the mechanism at another rate.
    """
    length = max(float(time[-1]), 1e-9)
    powers = np.vander(time / length, degree + 1, increasing=True)
    weight = np.ones(time.size)
    for _ in range(30):
        root = np.sqrt(weight)
        line = np.linalg.lstsq(root[:, None] * powers, root * values, rcond=None)[0]
        apart = np.abs(values - powers @ line)
        weight = 1.0 / np.maximum(apart, max(float(np.median(apart)), 1e-9))
    found: Array = line / length ** np.arange(degree + 1)
    return found


class MechanismSession:
    """The started mechanism."""

    outgrown = ''  # the description names all sensors

    def __init__(
        self,
        mechanism: Mechanism,
        filter_: ErrorEKF,
        start_ns: int,
        step_ns: int,
        patience: float = LOST,
    ) -> None:
        self.mechanism, self.filter, self.step_ns = mechanism, filter_, step_ns
        self.patience = patience
        self.lost = False
        self.origin_ns = start_ns - step_ns
        self.late_ns: Mapping[str, int] = {}
        model = filter_.model
        assert isinstance(model, ObservedModel)
        self.observed, self.model = model, model.model
        self._names = frozenset(filter_.sensors)
        self._forces: dict[str, float] = {}
        self._pending: deque[Item] = deque()

    def measurements(self, item: Item) -> list[Measurement]:
        """The sample of a sensor that the filter has."""
        if item.key not in self._names:
            return []
        time = (item.time_ns - self.origin_ns) * 1e-9
        return [Measurement(item.key, time, np.array(item.payload))]

    def take_input(self, item: Item) -> None:
        """Keep a force."""
        self._pending.append(item)

    def inputs(self, k: int, end_ns: int) -> Any:
        """Forces of the drives; None: those of the description."""
        while self._pending and self._pending[0].time_ns <= end_ns + 1:
            item = self._pending.popleft()
            self._forces[item.key] = item.payload[0]
        return dict(self._forces) or None

    def held(self) -> dict[str, Any]:
        """Forces of the drives."""
        return dict(self._forces)

    def hold(self, held: Mapping[str, Any]) -> None:
        """Go on with forces that were held before."""
        forces = {name: float(force) for name, force in held.items()}
        drives = self.mechanism.description.drives
        if not (forces.keys() <= drives.keys() and all(map(math.isfinite, forces.values()))):
            raise EstimationError('what drove the mechanism is not of this one')
        self._forces = forces

    def pseudo(self, k: int, time: float) -> list[Measurement]:
        """None; a model that every sensor contradicts ends here."""
        if time - self.filter.alone_since > self.patience:
            self.lost = True
            raise EstimationError(
                f'all sensors have contradicted it for more than {self.patience:g} s'
            )
        return []


class MechanismSystem:
    """The mechanism of a description; `sensors` empty gives the uncorrected model."""

    def __init__(
        self,
        description: Description,
        *,
        say: Say,
        sensors: Sequence[str] | None = None,
        force: bool | None = None,
        adaptive: AdaptiveSettings | None = None,
    ) -> None:
        self.description, self.say = description, say
        self.sensors = sensors_of(description) if sensors is None else tuple(sensors)
        self.force, self.adaptive = force, adaptive
        self.inputs = frozenset(description.drives)
        self._last: MechanismSession | None = None
        self.built = build(description)  # what cannot be assembled is refused before any sample

    def start(self, items: list[Item]) -> MechanismSession:
        """Start at the first sample."""
        samples = self._samples(items)
        try:
            mechanism = build(self.description, *self._first(samples))
        except ModelError as error:
            raise EstimationError(
                f'the start that the sensors say is impossible: {error}'
            ) from error
        filter_ = make_filter(mechanism, self.sensors, self.force, self.adaptive)
        session = MechanismSession(
            mechanism, filter_, items[0].time_ns, self._step_ns(samples), self._patience()
        )
        self._tell(items, session)
        self._last = session
        return session

    def remember(self, session: Session) -> None:
        """Nothing: its sensors tell all of the next start."""

    def _patience(self) -> float:
        """Twice that of the session before, if that one was lost soon."""
        last = self._last
        if last is None or not last.lost or last.filter.time > 10.0 * last.patience:
            return LOST
        return min(2.0 * last.patience, LONGEST)

    def _samples(self, items: list[Item]) -> dict[str, list[Item]]:
        found: dict[str, list[Item]] = {}
        for item in items:
            if item.key not in self.inputs:
                found.setdefault(item.key, []).append(item)
        return found

    def _step_ns(self, samples: dict[str, list[Item]]) -> int:
        """The period of the quickest sensor; slow ones are bridged by steps of the model's own."""
        longest = round(self.description.observer.step * 1e9)
        periods = [
            int(np.median(np.diff([item.time_ns for item in found])))
            for found in samples.values()
            if len(found) > 1
        ]
        return min([longest, *(one for one in periods if 0 < one <= longest)])

    def _first(self, samples: dict[str, list[Item]]) -> tuple[dict[str, float], dict[str, float]]:
        """Place and rate of coordinates that a sensor measures, from its first samples."""
        places: dict[str, float] = {}
        rates: dict[str, float] = {}
        if self.description.observer.start == 'given':
            return places, rates
        for name in self.sensors:
            one = self.description.sensors[name]
            found = samples.get(name)
            if not found or not one.by_joint or one.coordinate is None:
                continue
            time = np.array([(item.time_ns - found[0].time_ns) * 1e-9 for item in found])
            early = (time <= FIRST) & (np.arange(time.size) < MOST)
            values = np.array([item.payload[0] for item in found])[early]
            if one.kind == 'rate':
                rates.setdefault(one.coordinate, float(np.median(values)))
                continue
            if one.kind == 'encoder':
                values = np.unwrap(values)
            if len(values) < FEWEST:
                places[one.coordinate] = float(values[0])
                continue
            degree = 2 if len(values) == MOST else 1
            line = _without_strays(time[early], values, degree)
            places[one.coordinate] = float(line[0])
            rates[one.coordinate] = float(line[1])
        return places, rates

    def _tell(self, items: list[Item], session: MechanismSession) -> None:
        """What a user should know of this start."""
        heard = {item.key for item in items}
        for name in self.sensors:
            if name not in heard:
                text = f'{name}: nothing received before the start, the observer does without'
                self.say(Finding('warn', 'sensor_silent', text, name))
        for name, drive in self.description.drives.items():
            if name not in heard and drive.joint != '':
                text = f'no force of {name}: {drive.force:g} of the description is used'
                self.say(Finding('note', 'no_force', text, f'{JOINTS}, field effort'))
        if not self.sensors:
            return
        filter_ = session.filter
        before = session.observed.snapshot()
        found = seen_by(filter_, session.step_ns * 1e-9)
        session.observed.restore(before)
        names = state_names(self.description.independent, filter_.orders)
        if found.rank < found.size:
            unseen = listed([names[k] for k in found.unseen]) or 'some of the motion'
            text = f'{unseen}: the sensors do not tell it, so only the model does'
            self.say(Finding('warn', 'not_observable', text, 'observer.sensors'))
