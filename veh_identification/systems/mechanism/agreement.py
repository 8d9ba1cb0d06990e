"""What the sensors of a mechanism say against each other, by its geometry alone.

Those that show the independent coordinates say where every point is, and so what all others must
show: lengths and angles at a time, and rates over the time between two of them. No masses and no
forces are needed. Where they disagree, the one mistake is looked for that explains it: units,
signs, zeros, scales, clocks, lengths of bodies. One function for recordings and nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.checks.explanation import (
    CONVINCING,
    Explanation,
    Family,
    Hypothesis,
    best_of,
    explanation_findings,
    judged,
    partly,
    sized,
)
from veh_identification.checks.health import check_repeated, check_stuck
from veh_identification.checks.ranges import DEGREES, LENGTH
from veh_identification.errors import VehIdError
from veh_identification.findings import Finding
from veh_identification.observation.streaming import Item
from veh_identification.signals.wrapping import ROUNDING, TURN
from veh_identification.systems.mechanism.configuration import Description, SensorEntries
from veh_identification.systems.mechanism.model import build, sensors_of
from veh_identification.systems.mechanism.streams import brought_by
from veh_identification.types import Array

#: Seconds (n,) and values (n, parts) by sensor.
Heard = Mapping[str, tuple[Array, Array]]
#: Seconds between two places that are compared, at least and unless samples are rarer; and how
#: many of them, the last ones.
SPACING, LONGEST_SPACING, MOST, FEWEST = 0.02, 0.04, 400, 25
#: Part of a signal that may be missing beside its noise, and deviations of that: units of misfit.
ALLOWED, DEVIATIONS = 0.04, 2.0
#: Units up to which sensors agree, and up to which a cause has explained all.
AGREE, GOOD = 0.7, 1.5
#: Share of the errors that count, the smallest: glitches are no matter of units.
COUNTED = 0.95
#: A signal that moves by less than so many deviations says nothing.
MOVING = 3.0
#: Independent coordinates go from one place to the next in steps of this (rad or m).
STEP = 0.1
#: Places of a whole turn.
TURN_PLACES = 241
#: A finding names others that explain as much, within this factor.
ALIKE = 1.15
#: Stamps that are further apart belong to another time (nanoseconds).
JUMP_NS = 5 * 10**9
LAGS = (0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.1, 0.2)
GEARS = (0.1, 0.2, 0.25, 1 / 3, 0.5, 0.8, 0.9, 1.1, 1.25, 2.0, 3.0, 4.0, 5.0, 10.0)
ZEROS = tuple(np.radians(np.arange(10.0, 360.0, 10.0)))
#: Of the size of the drawing: by so much points are moved.
SHARES = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3)


@dataclass(frozen=True, eq=False)
class Case:
    """What was heard, and what describes the mechanism."""

    heard: Heard
    description: Description


Judged = list[tuple[Hypothesis[Case], float]]


class LastSeconds:
    """Samples of a node's sensors as they come, the newest of each."""

    def __init__(self, names: Sequence[str], most: int = 10_000) -> None:
        self._samples: dict[str, deque[tuple[int, tuple[float, ...]]]] = {
            name: deque(maxlen=most) for name in names
        }

    def take(self, name: str, time_ns: int, values: tuple[float, ...]) -> None:
        """Note a sample; one of another time begins anew."""
        samples = self._samples.get(name)
        if samples is None:
            return
        if samples and abs(time_ns - samples[-1][0]) > JUMP_NS:
            samples.clear()
        samples.append((time_ns, values))

    def copied(self) -> LastSeconds:
        """As it is now, for somebody who works beside."""
        made = LastSeconds(())
        made._samples = {name: samples.copy() for name, samples in self._samples.items()}
        return made

    def items(self) -> list[Item]:
        """All that it holds."""
        return [
            Item(time_ns, name, values)
            for name, samples in self._samples.items()
            for time_ns, values in samples
        ]


def heard_of(items: Sequence[Item], description: Description) -> Heard:
    """Samples of sensors in the order of their times, in seconds since the first."""
    rows: dict[str, list[Item]] = {name: [] for name in sensors_of(description)}
    for item in items:
        if item.key in rows:
            rows[item.key].append(item)
    first = min((one.time_ns for found in rows.values() for one in found), default=0)
    heard = {}
    for name, found in rows.items():
        if not found:
            continue
        found.sort(key=lambda one: one.time_ns)
        time = np.array([(one.time_ns - first) * 1e-9 for one in found])
        values = np.array([one.payload for one in found], dtype=float)
        if description.sensors[name].kind == 'encoder' and np.ptp(values) <= TURN + ROUNDING:
            values = np.unwrap(values, axis=0)  # it begins anew after each turn
        keep = np.append(True, np.diff(time) > 0.0)
        heard[name] = time[keep], values[keep]
    return heard


def check_agreement(items: Sequence[Item], description: Description) -> list[Finding]:
    """Findings on the sensors of a mechanism that moves, the best cause alone."""
    heard = heard_of(items, description)
    found = _channels(heard, description)
    if found:
        return found  # which explains why sensors disagree
    comparison = Comparison.of(Case(heard, description))
    return [] if comparison is None else comparison.findings()


def _channels(heard: Heard, description: Description) -> list[Finding]:
    """Sensors that stand still while another one moves, or repeat their values."""
    found = []
    for name, (time, values) in heard.items():
        moving = np.zeros(len(time), dtype=bool)
        for other, (when, what) in heard.items():
            if other != name and len(when) > 1:
                least = MOVING * _noise(description.sensors[other])
                step = max(1, round(0.2 / max(float(np.median(np.diff(when))), 1e-6)))
                moved = np.abs(what[step:, 0] - what[:-step, 0]) > least
                last = np.searchsorted(when[step:], time, side='right') - 1
                moving |= (last >= 0) & moved[np.clip(last, 0, None)] if len(moved) else False
        where = f'{name} ({brought_by(description, name)})'
        stuck = check_stuck(time, values[:, 0], where, moving=moving)
        found += stuck or check_repeated(time, values[:, 0], where)
    return found


def _noise(sensor: SensorEntries) -> float:
    """Deviation of one sample."""
    return float(np.hypot(sensor.deviation, sensor.resolution / np.sqrt(12.0)))


@dataclass(frozen=True, eq=False)
class _Turn:
    """Places of one turn of the only freedom."""

    angle: Array
    places: Mapping[str, Array]

    def at(self, z: Array) -> dict[str, Array]:
        """Places by angles of any turn."""
        within = self.angle[0] + np.remainder(z - self.angle[0], 2.0 * np.pi)
        return {
            name: np.column_stack([np.interp(within, self.angle, one) for one in value.T])
            for name, value in self.places.items()
        }


class Comparison:
    """Sensors against those that show the independent coordinates, as they are and changed."""

    def __init__(self, case: Case, shown: Mapping[str, str], others: Sequence[str]) -> None:
        """`shown`: the sensor of each independent coordinate; `others` are compared with them."""
        self.case, self.shown, self.others = case, shown, others
        times = [case.heard[name][0] for name in (*shown.values(), *others)]
        slowest = max(float(np.median(np.diff(time))) for time in times)
        begin, end = max(time[0] for time in times), min(time[-1] for time in times)
        self.spacing = max(SPACING, 2.0 * slowest, min((end - begin) / MOST, LONGEST_SPACING))
        grid = np.arange(begin, end, self.spacing)[-MOST:]
        self.grid = np.asarray(grid)
        self._turns: dict[int, tuple[Description, _Turn | None]] = {}

    @classmethod
    def of(cls, case: Case) -> Comparison | None:
        """None where nothing can be compared."""
        description, heard = case.description, case.heard
        places = {
            one.coordinate: name
            for name, one in reversed([*description.sensors.items()])
            if name in heard and one.kind in ('encoder', 'distance') and len(heard[name][0]) > 2
        }
        shown = {name: places[name] for name in description.independent if name in places}
        others = [
            name
            for name, (time, _) in heard.items()
            if name not in shown.values()
            and description.sensors[name].kind != 'accelerometer'
            and len(time) > 2
        ]
        if len(shown) < len(description.independent) or not others:
            return None
        made = cls(case, shown, others)
        return made if len(made.grid) >= FEWEST else None

    def findings(self) -> list[Finding]:
        """The mistake that explains what does not agree; none where all agrees."""
        try:
            as_it_is = self.misfit(self.case)
        except VehIdError:  # what the sensors show is impossible for this geometry
            as_it_is = float('inf')
        if as_it_is <= AGREE:
            return []
        tried = self._judged([*self._whole()])
        found = best_of(tried, as_it_is)
        if found.factor < CONVINCING or found.misfit > GOOD:
            moved = sized(self.case, self._points(), self.misfit, as_it_is)
            tried += [moved] if moved is not None else []
            tried += self._judged([*self._halves(self._change())])
            found = best_of(tried, as_it_is)
        text = f'sensors and geometry disagree: {as_it_is:.3g} times what noise explains'
        told = explanation_findings(
            found,
            label=self.case.description.name,
            better='the sensors fit the geometry',
            good=GOOD,
            misfit_text=text,
        )
        return [self._with_others(one, found, tried) for one in told]

    def _change(self) -> float:
        """The time from which on the sensors fit better, or worse, than before."""
        try:
            predicted = self._predicted(self.case.description, self._z(self.case))
        except VehIdError:
            return float(self.grid[len(self.grid) // 2])
        each = [self._missed(self.case, name, predicted[name]) for name in self.others]
        error = np.sum([one[: len(self.grid) - 1] for one in each], axis=0) + 1e-9
        count = np.arange(1, len(error))
        sums = np.cumsum(error)
        before, after = sums[:-1] / count, (sums[-1] - sums[:-1]) / (len(error) - count)
        unlikely = count * np.log(before) + (len(error) - count) * np.log(np.maximum(after, 1e-9))
        edge = max(1, len(error) // 20)
        return float(self.grid[edge + 1 + int(np.argmin(unlikely[edge:-edge]))])

    def _z(self, case: Case) -> Array:
        """The independent coordinates (n, count) at the times of the grid."""
        names = [self.shown[one] for one in case.description.independent]
        return np.column_stack([self._at(case, name) for name in names])

    def _with_others(self, one: Finding, found: Explanation[Case], tried: Judged) -> Finding:
        """A finding with what explains as much, of the same kind."""
        if one.level != 'bad' or found.best is None:
            return one
        alike = [
            other.text
            for other, left in tried
            if left <= ALIKE * found.misfit
            and other.where != found.best.where
            and other.code == found.best.code
        ]
        also = f' (or, which looks alike: {"; ".join(alike[:2])})' if alike else ''
        return replace(one, text=one.text + also)

    def _judged(self, hypotheses: Sequence[Hypothesis[Case]]) -> Judged:
        return [(one, judged(self.case, one, self.misfit, float('inf'))) for one in hypotheses]

    # Judgement --------------------------------------------------------------------------------

    def misfit(self, case: Case) -> float:
        """Root mean square of what each sensor misses, in units of what it may miss."""
        predicted = self._predicted(case.description, self._z(case))
        each = [np.sort(self._missed(case, name, predicted[name])) for name in self.others]
        squares = [one[: max(1, int(COUNTED * len(one)))].mean() for one in each]
        return float(np.sqrt(np.mean(squares)))

    def _at(self, case: Case, name: str) -> Array:
        """A sensor at the times of the grid."""
        time, values = case.heard[name]
        return np.asarray(np.interp(self.grid, time, values[:, 0]))

    def _shown(self, case: Case, name: str) -> Array:
        """What a sensor shows (n, parts): at the times of the grid, or between two of them."""
        time, values = case.heard[name]
        if case.description.sensors[name].kind in ('gyro', 'rate'):
            steps = 0.5 * (values[1:] + values[:-1]) * np.diff(time)[:, None]
            turned = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(steps, axis=0)])
            at = np.column_stack([np.interp(self.grid, time, one) for one in turned.T])
            return np.asarray(np.diff(at, axis=0) / self.spacing)
        return np.column_stack([np.interp(self.grid, time, one) for one in values.T])

    def _missed(self, case: Case, name: str, predicted: Array) -> Array:
        """Squares (n,) of what a sensor misses, in units of what it may miss."""
        sensor, measured = case.description.sensors[name], self._shown(case, name)
        error = measured - predicted
        if sensor.kind == 'encoder':
            error = np.angle(np.exp(1j * error))
            size = float(np.hypot(np.std(np.exp(1j * measured)), np.std(np.exp(1j * predicted))))
        else:
            size = float(np.sqrt(measured.var(axis=0).sum() + predicted.var(axis=0).sum()))
        if sensor.bias_deviation > 0.0:
            most = 3.0 * sensor.bias_deviation
            error = error - np.clip(np.median(error, axis=0), -most, most)
        noise = _noise(sensor)
        if size < MOVING * noise:
            return np.zeros(len(error))  # nothing moves
        noise = float(np.hypot(noise, self._coarse(case, name, predicted)))
        return np.asarray(
            np.square(error).sum(axis=1) / (ALLOWED * size + DEVIATIONS * noise) ** 2
        )

    def _coarse(self, case: Case, name: str, predicted: Array) -> float:
        """What ticks of the encoders that show the places make of a rate between two of them."""
        if case.description.sensors[name].kind not in ('gyro', 'rate'):
            return 0.0
        ticks = [_noise(case.description.sensors[one]) for one in self.shown.values()]
        way = float(np.sqrt(np.mean(np.square(np.diff(self._z(case), axis=0)))))
        gain = float(np.sqrt(np.mean(np.square(predicted)))) / max(way, 1e-12)
        return float(np.sqrt(2.0) * np.linalg.norm(ticks)) * gain

    def _predicted(self, description: Description, z: Array) -> dict[str, Array]:
        """What the others must show where the independent coordinates are z (n, count)."""
        turn = self._turn(description)
        places = self._places(description, z) if turn is None else turn.at(z[:, 0])
        found = {}
        for name, value in places.items():
            sensor = description.sensors[name]
            if self._is_angle(description, sensor):
                value = np.unwrap(value, axis=0)
            if sensor.kind in ('gyro', 'rate'):
                value = np.diff(value, axis=0) / self.spacing
            found[name] = np.asarray(value)
        return found

    def _turn(self, description: Description) -> _Turn | None:
        """All places of a mechanism that turns round, once; None: it does not, or has freedoms."""
        known = self._turns.get(id(description))
        if known is None:
            known = self._turns[id(description)] = description, self._turned(description)
        return known[1]

    def _turned(self, description: Description) -> _Turn | None:
        (first, *more) = description.independent
        if more or description.coordinates[first].kind != 'angle':
            return None
        begin = float(build(description).model.z[0])
        angle = begin + np.linspace(0.0, 2.0 * np.pi, TURN_PLACES)
        try:
            places = self._places(description, angle[:, None])
        except VehIdError:
            return None
        for name, value in places.items():
            if self._is_angle(description, description.sensors[name]):
                places[name] = np.unwrap(value, axis=0)
        return _Turn(angle, places)

    @staticmethod
    def _is_angle(description: Description, sensor: SensorEntries) -> bool:
        if sensor.coordinate is None:
            return sensor.kind == 'gyro'
        return description.coordinates[sensor.coordinate].kind == 'angle'

    def _places(self, description: Description, z: Array) -> dict[str, Array]:
        """Lengths, points and angles (n, parts) that the others look at, rates before they are."""
        mechanism = build(description, dict(zip(description.independent, z[0], strict=True)))
        model = mechanism.model
        angles = np.array(
            [description.coordinates[name].kind == 'angle' for name in description.independent]
        )
        still, now = np.zeros(z.shape[1]), model.z.copy()
        q = np.empty((len(z), len(model.q)))
        for k, wanted in enumerate(z):
            way = wanted - now
            way = np.where(angles, np.remainder(way + np.pi, 2.0 * np.pi) - np.pi, way)
            count = 1 + int(np.max(np.abs(way)) / STEP)
            for _ in range(count):
                now = now + way / count
                model.set_independent(now, still, still)
            q[k] = model.q

        def points(name: str) -> Array:
            form = mechanism.points[name]
            return np.asarray(q @ form.matrix(q.shape[1])[:2].T + np.array(form.constant[:2]))

        found = {}
        for name in self.others:
            sensor = description.sensors[name]
            if sensor.kind == 'position':
                found[name] = points(str(sensor.point))
            elif sensor.kind == 'gyro':
                first, second = description.bodies[str(sensor.body)].points
                along = points(second) - points(first)
                found[name] = np.arctan2(along[:, 1], along[:, 0])[:, None]
            else:
                found[name] = q[:, [mechanism.columns[str(sensor.coordinate)]]]
        return found

    # Hypotheses -------------------------------------------------------------------------------

    def _whole(self) -> Iterator[Hypothesis[Case]]:
        """All of them, the simplest first."""
        yield from self._plain()
        yield from self._sized()
        yield from self._clocks()

    def _halves(self, middle: float) -> Iterator[Hypothesis[Case]]:
        """Units and signs that are wrong before or after the middle."""

        def late(case: Case, changed: Case) -> Case:
            return _joined(case, changed, middle)

        def early(case: Case, changed: Case) -> Case:
            return _joined(changed, case, middle)

        yield from partly(self._plain(), late, f'from about {middle:.2g} s on')
        yield from partly(self._plain(), early, f'until about {middle:.2g} s')

    def _sensors(self) -> list[tuple[str, str, SensorEntries]]:
        """Name, place and entries of all that take part."""
        description = self.case.description
        return [
            (name, f'{name} ({brought_by(description, name)})', description.sensors[name])
            for name in (*self.shown.values(), *self.others)
        ]

    def _plain(self) -> Iterator[Hypothesis[Case]]:
        """Units and signs."""
        for name, where, sensor in self._sensors():
            turns = sensor.kind in ('encoder', 'gyro') or (
                sensor.kind == 'rate'
                and self.case.description.coordinates[str(sensor.coordinate)].kind == 'angle'
            )
            per = '/s' if sensor.kind in ('gyro', 'rate') else ''
            units = (
                {f'degrees{per}': DEGREES, f'turns{per}': 0.5 / np.pi}
                if turns
                else {f'{unit}{per}': factor for unit, factor in LENGTH.others.items()}
            )
            right = f'{"rad" if turns else "m"}{per}'
            for unit, factor in units.items():
                text = f'{where} seems to be in {unit}, it must be in {right}'
                yield Hypothesis('unit', text, _scaled(name, 1.0 / factor), where)
            if sensor.kind != 'position':
                text = f'{where} seems to have the wrong sign'
                change = _scaled(name, -1.0)
                if sensor.kind == 'distance':
                    text = f'{where} seems to count the other way'
                    change = self._mirrored(name)
                yield Hypothesis('sign', text, change, where)

    def _mirrored(self, name: str) -> Callable[[Case], Case]:
        """A length of the other sign, from a zero that lies anywhere."""

        def change(case: Case) -> Case:
            changed = _scaled(name, -1.0)(case)
            return self._shifted_to_fit(changed, name)

        return change

    def _moved(self, name: str) -> Callable[[Case], Case]:
        return lambda case: self._shifted_to_fit(case, name)

    def _shifted_to_fit(self, case: Case, name: str) -> Case:
        if name in self.shown.values():
            return case
        predicted = self._predicted(case.description, self._z(case))[name]
        shift = np.median(predicted - self._shown(case, name), axis=0)
        return _added(name, shift)(case)

    def _sized(self) -> Iterator[Hypothesis[Case]]:
        """Zeros and scales."""
        for name, where, sensor in self._sensors():
            reference = name in self.shown.values()
            if sensor.kind == 'encoder':
                for zero in ZEROS:
                    turn = np.degrees(np.angle(np.exp(1j * zero)))
                    text = f'the zero of {where} seems to be about {-turn:.3g} degrees off'
                    yield Hypothesis('zero', text, _added(name, np.array([zero])), where)
            elif not reference and sensor.kind in ('distance', 'position'):
                text = f'the zero of {where} seems to be wrong'
                yield Hypothesis('zero', text, self._moved(name), where)
        for name, where, _ in self._sensors():
            gears = GEARS if name in self.shown.values() else self._slope(name)
            for gear in gears:
                text = f'{where} seems to show {1.0 / gear:.3g} times too much'
                yield Hypothesis('scale', text, _scaled(name, gear), where)

    def _slope(self, name: str) -> tuple[float, ...]:
        """The factor with which a sensor fits the others best, if there is one."""
        try:
            predicted = self._predicted(self.case.description, self._z(self.case))[name]
        except VehIdError:
            return ()
        shown = self._shown(self.case, name)
        if self.case.description.sensors[name].kind in ('gyro', 'rate'):
            shown, predicted = shown - shown.mean(axis=0), predicted - predicted.mean(axis=0)
        slope = float(np.sum(shown * predicted) / max(float(np.sum(shown * shown)), 1e-30))
        return (slope,) if slope > 0.0 else ()

    def _clocks(self) -> Iterator[Hypothesis[Case]]:
        """Topics that are late or early."""
        groups: dict[str, list[str]] = {}
        for name, _, sensor in self._sensors():
            topic = 'joint_states' if sensor.by_joint else sensor.topic or name
            groups.setdefault(topic, []).append(name)
        if len(groups) < 2:
            return
        for topic, names in groups.items():
            for lag in LAGS:
                text = f'{topic} seems to be about {1e3 * lag:.3g} ms late against the others'
                yield Hypothesis('late', text, _earlier(names, lag), topic)

    def _points(self) -> Iterator[Family[Case]]:
        """Points that are drawn at another place than they have."""
        points = self.case.description.points
        drawn = np.array([one.at for one in points.values()])
        size = float(np.linalg.norm(np.ptp(drawn, axis=0)))
        steps = tuple(size * share for share in SHARES)
        for name in points:
            for k, axis in enumerate('xy'):

                def text(shift: float, name: str = name, axis: str = axis) -> str:
                    return (
                        f'point {name} of the description seems to be drawn {-shift:+.3g} m off '
                        f'along {axis} (or lengths about it are wrong)'
                    )

                def change(shift: float, name: str = name, k: int = k) -> Callable[[Case], Case]:
                    return _drawn(name, k, shift)

                both = (steps, tuple(-one for one in steps))
                yield Family('geometry', text, change, both, f'points.{name}')


# Changes -----------------------------------------------------------------------------------------


def _changed(case: Case, name: str, change: Callable[[Array, Array], tuple[Array, Array]]) -> Case:
    return replace(case, heard={**case.heard, name: change(*case.heard[name])})


def _scaled(name: str, factor: float) -> Callable[[Case], Case]:
    return lambda case: _changed(case, name, lambda time, values: (time, factor * values))


def _added(name: str, shift: Array) -> Callable[[Case], Case]:
    return lambda case: _changed(case, name, lambda time, values: (time, values + shift))


def _earlier(names: Sequence[str], lag: float) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        for name in names:
            case = _changed(case, name, lambda time, values: (time - lag, values))
        return case

    return change


def _drawn(point: str, axis: int, shift: float) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        description = case.description
        entries = description.points[point]
        x, y = entries.at
        at = (x + shift, y) if axis == 0 else (x, y + shift)
        points = {**description.points, point: replace(entries, at=at)}
        return replace(case, description=replace(description, points=points))

    return change


def _joined(first: Case, second: Case, time: float) -> Case:
    """One until a time and the other from it on."""
    heard = {}
    for name, (when, values) in first.heard.items():
        before = when < time
        heard[name] = when, np.where(before[:, None], values, second.heard[name][1])
    return replace(first, heard=heard)
