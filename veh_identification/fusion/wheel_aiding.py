"""Wheel speeds in the navigator: each wheel judged by itself, one correction of all that agree.

A wheel that spins, locks or whose sensor is stuck disagrees with the inertial prediction and with
the other wheels; it is not used while it does, and says why. Radii that differ from wheel to wheel
are learnt by comparing the wheels; what they have in common (scale, slip, delay) is estimated by
the filter. The errors of wheels on one road are alike, so they do not count as so many sensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veh_identification.fusion import rotation
from veh_identification.fusion.health import Bounds, SensorHealth
from veh_identification.fusion.inertial import VELOCITY, WITH_WHEELS
from veh_identification.fusion.navigator import Navigator
from veh_identification.fusion.sensor_options import WheelOptions
from veh_identification.fusion.wheels import Wheel, WheelGroup, WheelSpeed
from veh_identification.types import Array

#: Slower than this, radii cannot be compared (m/s).
COMPARABLE = 3.0
#: Time in which differences of the radii are learnt (s), and the largest that can be.
LEARNING, LARGEST_DIFFERENCE = 10.0, 0.05
FORWARD = slice(0, 1)
#: Why speeds of all wheels were not used.
IMPOSSIBLE = 'speed beyond what can be'
Row = tuple[WheelSpeed, float, Array]


def wheels_of(options: WheelOptions) -> list[Wheel]:
    """The wheels that a configuration names; the base link is in the middle of the rear axle."""
    found = []
    for names, x, steering in (
        (options.rear, 0.0, options.rear_steering),
        (options.front, options.wheelbase, options.front_steering),
    ):
        sides = [name for name in names if name]
        turned = [name for name in steering if name]
        for i, name in enumerate(sides):
            side = 0.0 if len(sides) == 1 else 0.5 * options.track * (1.0, -1.0)[i % 2]
            knuckle = turned[min(i, len(turned) - 1)] if turned else ''
            wheel = Wheel(name, x, side, options.radius, knuckle, options.steering_ratio)
            found.append(wheel)
    return found


def turn_of(speeds: Sequence[WheelSpeed]) -> float:
    """Yaw rate by right and left wheels, the mean of the axles; NaN where no axle has both."""
    axles: dict[float, list[WheelSpeed]] = {}
    for one in speeds:
        axles.setdefault(one.wheel.x, []).append(one)
    rates = []
    for pair in axles.values():
        left, right = pair[0], pair[-1]
        track = left.wheel.y - right.wheel.y
        if track:
            along = [one.speed * math.cos(one.steering) for one in (left, right)]
            rates.append((along[1] - along[0]) / track)
    return sum(rates) / len(rates) if rates else math.nan


class WheelAiding:
    """Feeds speeds of wheels to a navigator."""

    def __init__(self, navigator: Navigator, options: WheelOptions, fastest: float) -> None:
        self._navigator = navigator
        self._options = options
        self._bounds = Bounds(fastest)
        self.wheels = wheels_of(options)
        self.names = frozenset(wheel.name for wheel in self.wheels)
        self.ahead = [name for name in (*options.front, *options.rear) if name]

    def reset(self) -> None:
        """Forget the interval before."""
        for wheel in self.wheels:
            wheel.expected_at = math.nan

    def group(self, names: Sequence[str], has_position: bool) -> WheelGroup | None:
        """The wheels among the joints of a message (positions first); None without any."""
        place = {name: i for i, name in enumerate(names)}
        present = [wheel for wheel in self.wheels if wheel.name in place]
        if not present:
            return None
        steering = [place.get(wheel.steering) if has_position else None for wheel in present]
        return WheelGroup(
            present, [place[wheel.name] for wheel in present], steering, has_position
        )

    def speeds(self, time: float, span: float, speeds: Sequence[WheelSpeed]) -> None:
        """Use the mean speeds over `span` seconds up to `time`."""
        navigator = self._navigator
        record = navigator.records['wheels']
        record.received += 1
        good = [one for one in speeds if self._possible(one)]
        if not good:
            record.refuse(IMPOSSIBLE)
            return
        middle = float(np.median([one.speed * math.cos(one.steering) for one in good]))
        navigator.journal.note('wheels', time - 0.5 * span, (middle, turn_of(good)))
        self._note_each(time - 0.5 * span, speeds)
        if not navigator.advance('wheels', time):
            return
        if not navigator.filter.navigating:
            self._start(middle)
        residuals, H, whitened = self._rows(time, span, good)
        settled = time >= navigator.settled_at
        rows: list[Row] = []
        used: list[tuple[WheelSpeed, float, Array, float]] = []
        for k, (one, residual) in enumerate(zip(good, residuals.tolist(), strict=True)):
            rows.append((one, residual, H[k]))
            weight = self._judge(time, one, residual, float(whitened[k])) if settled else 1.0
            if weight > 0.0:
                used.append((*rows[k], weight))
        if used:
            self._compare(span, used)
        self._correct(time, rows, used)
        still = all(abs(one.speed) < 5e-3 for one in speeds)
        navigator.learn_at_rest(time, still, self._options.standstill)

    def _note_each(self, time: float, speeds: Sequence[WheelSpeed]) -> None:
        """Every wheel by itself, the front ones first, where one message tells all of them."""
        told = {one.wheel.name: one.speed for one in speeds}
        if len(told) == len(self.wheels):
            each = tuple([told[name] for name in self.ahead])
            self._navigator.journal.note('wheel_speeds', time, each)

    def _possible(self, one: WheelSpeed) -> bool:
        return not self._bounds.violation(one.speed, math.nan, 0.0)

    def _start(self, forward: float) -> None:
        navigator = self._navigator
        lever = -navigator.imu_point
        velocity = np.array([forward, 0.0, 0.0])
        rate = navigator.filter.rate
        navigator.start_navigation(velocity - rotation.cross_array(rate, lever), slice(0, 2))

    def _rows(
        self, time: float, span: float, speeds: Sequence[WheelSpeed]
    ) -> tuple[Array, Array, Array]:
        """Residuals, rows and whitened innovations: the ends of the interval are averaged, so
        that acceleration does no harm; the rows are those of its end.
        """
        navigator = self._navigator
        x, y, z = navigator.imu_point.tolist()
        wheels = [one.wheel for one in speeds]
        table = np.array(
            [
                (one.steering, w.x - x, w.y - y, -z, one.speed, self._noise(one))
                for one, w in zip(speeds, wheels, strict=True)
            ]
        )
        begin = time - span
        begins = np.array(
            [w.expected if abs(begin - w.expected_at) < 1e-3 else math.nan for w in wheels]
        )
        acceleration = float(navigator.acceleration(time)[0])
        found = navigator.filter.wheel_rows(table, acceleration, begins)
        ends = zip(wheels, speeds, begins.tolist(), found[0].tolist(), strict=True)
        for wheel, one, end, residual in ends:
            wheel.expected, wheel.expected_at = end, time
            wheel.turned += (one.speed - residual) * span / wheel.radius
        return found

    def _noise(self, one: WheelSpeed) -> float:
        o = self._options
        return o.std**2 + (o.std_share * one.speed) ** 2 + one.variance

    def _judge(self, time: float, one: WheelSpeed, residual: float, whitened: float) -> float:
        navigator, wheel = self._navigator, one.wheel
        health = navigator.health('wheels', wheel.name, self._options.gate)
        was_aside = health.aside
        weight = health.judge(time, (whitened,))
        if self._stuck(time, one, residual):
            what = 'the vehicle moves' if one.is_angle else 'its speed does'
            health.set_aside(time, f'stuck: it does not change while {what}')
            return 0.0
        if health.aside and not was_aside:
            health.reason = _slip_reason(one, residual, health)
        return weight

    def _stuck(self, time: float, one: WheelSpeed, residual: float) -> bool:
        """Whether the reading stands still while it must not.

        An angle goes on with the way; a rate is the same for as long as the speed is, be it at
        any speed.
        """
        wheel = one.wheel
        if one.is_angle:
            expected, uncertain = wheel.turned, 0.05
        else:
            expected = (one.speed - residual) / wheel.radius
            uncertain = math.sqrt(self._noise(one)) / wheel.radius
        held = one.reading == wheel.watch.value
        changed = abs(expected - wheel.watch.begin) if held else 0.0
        return wheel.watch.stuck(time, one.reading, expected, 0.05 * changed + uncertain)

    def _compare(
        self, span: float, used: Sequence[tuple[WheelSpeed, float, Array, float]]
    ) -> None:
        """Learn how the radii differ, from wheels that roll."""
        if len(used) < 2 or min(abs(one.speed) for one, _, _, _ in used) < COMPARABLE:
            return
        shares = [residual / one.speed for one, residual, _, _ in used]
        mean = sum(shares) / len(shares)
        gain = min(span / LEARNING, 1.0)
        for (one, _, _, _), share in zip(used, shares, strict=True):
            moved = one.wheel.difference + gain * (share - mean)
            one.wheel.difference = min(max(moved, -LARGEST_DIFFERENCE), LARGEST_DIFFERENCE)

    def _correct(
        self,
        time: float,
        rows: Sequence[Row],
        used: Sequence[tuple[WheelSpeed, float, Array, float]],
    ) -> None:
        navigator, o = self._navigator, self._options
        record = navigator.records['wheels']
        if not used:
            healths = [record.healths[one.wheel.name] for one, _, _ in rows]
            run = record.rejections_in_a_row.get('', 0)
            if not navigator.gives_in_to_all(record, healths, run, time):
                navigator.note(record, time, np.full(1, np.nan), False)
                return
            for health in healths:
                health.believe()
            used = [(one, residual, H, 1.0) for one, residual, H in rows]
            residual = float(np.mean([row[1] for row in rows]))
            navigator.widen(time, np.array([residual]), rows[0][2][None], VELOCITY)
        total = sum(weight for _, _, _, weight in used)
        residual = sum(weight * r for _, r, _, weight in used) / total
        H = np.sum([weight * row for _, _, row, weight in used], axis=0)[None] / total
        speed = used[0][0].speed
        common = o.std**2 + (o.std_share * speed) ** 2
        own = sum(weight**2 * one.variance for one, _, _, weight in used) / total**2
        # Few or doubted wheels deserve less.
        noise = np.array([[(common + own) * len(used) / total]])
        measured = np.array([residual])
        whitened = navigator.filter.innovate(measured, H, noise)
        accepted = navigator.filter.correct(measured, H, noise, math.inf, WITH_WHEELS).accepted
        navigator.note(record, time, whitened, accepted)


def _slip_reason(one: WheelSpeed, residual: float, health: SensorHealth) -> str:
    expected = one.speed - residual
    words = 'it spins' if abs(one.speed) > abs(expected) else 'it locks, slips or misses pulses'
    return f'{one.speed:.2f} m/s where {expected:.2f} m/s was expected: {words}'
