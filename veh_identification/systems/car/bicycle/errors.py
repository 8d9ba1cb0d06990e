"""Errors of single sensors that would explain a recording better: scales and delays.

The fit takes every sensor at its word. Here each of them is doubted in turn: its scale or its
clock is one more unknown beside those of the fit, estimated with its deviation by one scoring
step. Of those that are large and certain the one is told that explains the recording best: the
true cause explains the others away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding, Level
from veh_identification.systems.car.bicycle import model
from veh_identification.systems.car.bicycle.fit import (
    Fitted,
    Further,
    Innovations,
    Prior,
    gained,
    one_more,
)
from veh_identification.systems.car.bicycle.signals import HandlingSamples
from veh_identification.types import Array

#: Deviations from which an error is told.
CERTAIN = 6.0
#: Sizes below which nothing is told: sensors and a single track are no better. On eight clean
#: simulated cars scales reach 0.6 % (of the roll rate 1.6 %), delays 6 ms (of the steering 14 ms),
#: each at most 3.9 deviations.
LEAST = {'scale': 0.02, 'delay': 0.02, 'angle': 0.03}  # 1, s, rad
#: So many times these sizes move the results by more than their deviations.
SERIOUS = 2.5
#: Deviations from which an error is followed by further fits, how many of them, and what they must
#: gain of the likelihood (its logarithm): what an error of so many deviations does.
SUSPECTED, FOLLOWED, LEAST_GAIN = 4.0, 6, 0.5 * CERTAIN**2
#: How many errors are followed where none gains by a single step.
ASKED = 2

Change = Callable[[HandlingSamples, float], HandlingSamples]


@dataclass(frozen=True)
class Doubt:
    """One error of a sensor: what undoes it, and how large it must be to be told."""

    name: str  # 'the yaw rate'
    field: str  # of its topic
    topic: str
    undo: Change
    kind: Literal['scale', 'delay', 'angle'] = 'scale'

    @property
    def least(self) -> float:
        """Smallest size that is told."""
        return LEAST[self.kind]

    def finding(self, size: float, deviation: float) -> Finding:
        """In words."""
        where = f'{self.topic} {self.field}'
        level: Level = 'bad' if abs(size) > SERIOUS * self.least else 'warn'
        if self.kind == 'angle':
            text = (
                f'{where}: {self.name} seems turned by {np.degrees(size):+.1f} +- '
                f'{np.degrees(deviation):.1f} degrees beyond its mounting in the description: put '
                'its rpy or its transform right'
            )
            return Finding(level, 'imu_turned', text, where, size=abs(size) / deviation)
        if self.kind == 'delay':
            late = 'late' if size > 0.0 else 'early'
            text = (
                f'{where}: {self.name} is told {1e3 * abs(size):.0f} +- {1e3 * deviation:.0f} ms '
                f'{late} beside the other sensors: give its delay in the description, or put its '
                'stamps right'
            )
            return Finding(level, 'delay', text, where, size=abs(size) / deviation)
        if size > 1.0:
            text = f'{where}: {self.name} seems to have the wrong sign beside the other sensors'
            return Finding(level, 'sign', text, where, size=abs(size) / deviation)
        much = 'large' if size > 0.0 else 'small'
        text = (
            f'{where}: {self.name} seems {100.0 * abs(size):.0f} +- {100.0 * deviation:.0f} % too '
            f'{much} beside the other sensors: look at its unit, scale and mounting'
        )
        return Finding(level, 'scale', text, where, size=abs(size) / deviation)


def _scaled(*columns: int) -> Change:
    def change(one: HandlingSamples, size: float) -> HandlingSamples:
        measured = one.measured.copy()
        measured[:, columns] *= 1.0 - size
        return replace(one, measured=measured)

    return change


def _faster(one: HandlingSamples, size: float) -> HandlingSamples:
    """Speed and what satellites tell of its direction alike."""
    slower = _scaled(model.M_EAST, model.M_NORTH)(one, size)
    inputs = one.inputs.copy()
    inputs[:, model.I_SPEED] *= 1.0 - size
    return replace(slower, inputs=inputs)


def _earlier(*columns: int) -> Change:
    def change(one: HandlingSamples, size: float) -> HandlingSamples:
        measured = one.measured.copy()
        for column in columns:
            measured[:, column] += size * _slope(one, one.measured[:, column])
        return replace(one, measured=measured)

    return change


def _slope(one: HandlingSamples, values: Array) -> Array:
    """Of what is measured now and then; nan in between, zero at the ends of stretches."""
    rows = np.flatnonzero(np.isfinite(values))
    slope = np.full(len(values), np.nan)
    if len(rows) < 3:
        return slope
    stretch = np.cumsum(one.inputs[:, model.I_BEGIN] > 0.0)[rows]
    inside = np.zeros(len(rows))
    inside[1:-1] = (values[rows[2:]] - values[rows[:-2]]) / (
        one.time[rows[2:]] - one.time[rows[:-2]]
    )
    alone = np.ones(len(rows), dtype=bool)
    alone[1:-1] = stretch[2:] != stretch[:-2]
    slope[rows] = np.where(alone, 0.0, inside)
    return slope


def _steering_earlier(one: HandlingSamples, size: float) -> HandlingSamples:
    """As it was told so much later; at the ends of stretches along its rate.

    Along its rate alone a steering of 1.4 Hz that is 80 ms late would be a quarter off.
    """
    inputs, then = one.inputs.copy(), one.time + size
    stretch = np.cumsum(inputs[:, model.I_BEGIN] > 0.0)
    last = len(one.time) - 1
    after = np.clip(np.searchsorted(one.time, then), 0, last)
    before = np.clip(after - 1, 0, last)
    inside = (stretch[before] == stretch) & (stretch[after] == stretch)
    inside &= (then >= one.time[0]) & (then <= one.time[-1])
    for column in (model.I_STEER, model.I_RATE):
        told = one.inputs[:, column]
        inputs[:, column] = np.where(inside, np.interp(then, one.time, told), told)
    inputs[~inside, model.I_STEER] += size * inputs[~inside, model.I_RATE]
    return replace(one, inputs=inputs)


def _turned(one: HandlingSamples, size: float) -> HandlingSamples:
    """About z: the sideways force holds some of the forward one."""
    measured = one.measured.copy()
    measured[:, model.M_SIDE] += size * measured[:, model.M_AX]
    return replace(one, measured=measured)


def _pitched(one: HandlingSamples, size: float) -> HandlingSamples:
    """About y: the roll rate holds some of the yaw rate, and the other way round."""
    measured = one.measured.copy()
    yaw, roll = measured[:, model.M_YAW].copy(), measured[:, model.M_ROLL].copy()
    measured[:, model.M_ROLL] -= size * yaw
    measured[:, model.M_YAW] += size * roll
    return replace(one, measured=measured)


def doubts(imu: str, joints: str, speed: str, rolls: bool = True) -> tuple[Doubt, ...]:
    """All of them; `imu`, `joints`, `speed` are topics, `rolls`: the roll rate is measured."""
    unit = (model.M_YAW, model.M_ROLL, model.M_SIDE)
    pitched = Doubt('the inertial unit (about y)', 'angular_velocity', imu, _pitched, 'angle')
    of_roll = Doubt('the roll rate', 'angular_velocity.x', imu, _scaled(model.M_ROLL)), pitched
    return (
        *(of_roll if rolls else ()),
        Doubt('the yaw rate', 'angular_velocity.z', imu, _scaled(model.M_YAW)),
        Doubt('the sideways force', 'linear_acceleration.y', imu, _scaled(model.M_SIDE)),
        Doubt('the speed', 'twist.linear', speed, _faster),
        Doubt('the inertial unit', 'header.stamp', imu, _earlier(*unit), 'delay'),
        Doubt('the inertial unit (about z)', 'linear_acceleration', imu, _turned, 'angle'),
        Doubt('the steering', 'header.stamp', joints, _steering_earlier, 'delay'),
    )


def sensor_errors(
    parts: Sequence[HandlingSamples],
    predictor: Callable[[Sequence[HandlingSamples]], Callable[[Array], Innovations]],
    fitted: Fitted,
    prior: Prior,
    doubted: Sequence[Doubt],
    fit: Callable[[Sequence[HandlingSamples]], Fitted],
) -> list[Finding]:
    """The error of a sensor that explains most; nothing where none is certain and large.

    `fit` makes everything anew with changed samples.
    """
    further = [*zip(doubted, _doubted(parts, predictor, fitted, prior, doubted), strict=True)]
    suspected = [
        (one.gain, doubt, one)
        for doubt, one in further
        if abs(one.size) > max(doubt.least, SUSPECTED * one.deviation)
    ]
    large = [one for one in suspected if one[0] > 0.0]
    certain = [one for one in large if abs(one[2].size) > CERTAIN * one[2].deviation]
    if certain:
        _, doubt, one = max(certain, key=lambda one: one[0])
        return [doubt.finding(one.size, one.deviation)]
    # Where the fit is at the brink of what the model can follow, no step gains anything.
    asked = [max(large, key=lambda one: one[0])] if large else _surest(suspected)
    found = [
        _followed(parts, predictor, fitted, prior, doubt, one, fit) for _, doubt, one in asked
    ]
    return max(found, key=lambda one: one[0])[1] if found else []


def _surest(
    suspected: Sequence[tuple[float, Doubt, Further]],
) -> list[tuple[float, Doubt, Further]]:
    """The errors that are most certain by their deviations."""
    certain = [one for one in suspected if abs(one[2].size) > CERTAIN * one[2].deviation]
    return sorted(certain, key=lambda one: -abs(one[2].size) / one[2].deviation)[:ASKED]


def _doubted(
    parts: Sequence[HandlingSamples],
    predictor: Callable[[Sequence[HandlingSamples]], Callable[[Array], Innovations]],
    fitted: Fitted,
    prior: Prior,
    doubted: Sequence[Doubt],
) -> list[Further]:
    """What the error of each would be."""

    def other(doubt: Doubt) -> Callable[[float, Array], Innovations]:
        return lambda size, value: predictor([doubt.undo(one, size) for one in parts])(value)

    return one_more(predictor(parts), fitted, prior, [other(one) for one in doubted], 1e-3)


def _followed(
    parts: Sequence[HandlingSamples],
    predictor: Callable[[Sequence[HandlingSamples]], Callable[[Array], Innovations]],
    fitted: Fitted,
    prior: Prior,
    doubt: Doubt,
    one: Further,
    fit: Callable[[Sequence[HandlingSamples]], Fitted],
) -> tuple[float, list[Finding]]:
    """An error that the fit has made its own: where the rest of it goes, fit after fit.

    A late steering looks like tyres that answer at once and a car without inertia. From there a
    single step sees little of it; what all steps together gain of the likelihood decides, which
    comes back with the finding.
    """
    size, gain = 0.0, 0.0
    for _ in range(FOLLOWED):
        size += one.size
        changed = [doubt.undo(part, size) for part in parts]
        try:
            again = fit(changed)
        except EstimationError:
            break
        gain = gained(fitted, again, prior)
        (one,) = _doubted(changed, predictor, again, prior, [doubt])
        if abs(one.size) < max(0.1 * doubt.least, one.deviation):
            break
    if gain < LEAST_GAIN or abs(size) < doubt.least:
        return gain, []
    return gain, [doubt.finding(size, one.deviation)]
