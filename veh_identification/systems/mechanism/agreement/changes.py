"""How what was heard, or the description, may have to be changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from veh_identification.systems.mechanism.agreement.heard import Case
from veh_identification.types import Array


def _changed(case: Case, name: str, change: Callable[[Array, Array], tuple[Array, Array]]) -> Case:
    return replace(case, heard={**case.heard, name: change(*case.heard[name])})


def scaled(name: str, factor: float) -> Callable[[Case], Case]:
    """Values times a factor."""
    return lambda case: _changed(case, name, lambda time, values: (time, factor * values))


def added(name: str, shift: Array) -> Callable[[Case], Case]:
    """Values and a shift."""
    return lambda case: _changed(case, name, lambda time, values: (time, values + shift))


def earlier(names: Sequence[str], lag: float) -> Callable[[Case], Case]:
    """Stamps of some sensors that are too late."""

    def change(case: Case) -> Case:
        for name in names:
            case = _changed(case, name, lambda time, values: (time - lag, values))
        return case

    return change


def unsmoothed(name: str, constant: float) -> Callable[[Case], Case]:
    """Values as they were before a low pass of the first order."""

    def change(time: Array, values: Array) -> tuple[Array, Array]:
        return time, values + constant * np.gradient(values, time, axis=0)

    return lambda case: _changed(case, name, change)


def steadied(name: str, rate: float, middle: float) -> Callable[[Case], Case]:
    """Values without a zero that moves by so much a second."""

    def change(time: Array, values: Array) -> tuple[Array, Array]:
        return time, values - rate * (time - middle)[:, None]

    return lambda case: _changed(case, name, change)


def ticking(names: Sequence[str], share: float) -> Callable[[Case], Case]:
    """Stamps of some sensors whose clock runs too fast, right at the first of them all."""

    def change(case: Case) -> Case:
        for name in names:
            case = _changed(case, name, lambda time, values: (time / (1.0 + share), values))
        return case

    return change


def rerouted(joint: str, shift: Array) -> Callable[[Case], Case]:
    """The line of a slider of the description at another place."""

    def change(case: Case) -> Case:
        description = case.description
        entries = description.joints[joint]
        x, y = entries.through
        through = (x + float(shift[0]), y + float(shift[1]))
        joints = {**description.joints, joint: replace(entries, through=through)}
        return replace(case, description=replace(description, joints=joints))

    return change


def exchanged(first: str, second: str) -> Callable[[Case], Case]:
    """Two sensors, each heard as the other."""

    def change(case: Case) -> Case:
        heard = {**case.heard, first: case.heard[second], second: case.heard[first]}
        return replace(case, heard=heard)

    return change


def carried(name: str, body: str) -> Callable[[Case], Case]:
    """A sensor of the description on another body."""

    def change(case: Case) -> Case:
        sensors = case.description.sensors
        changed = {**sensors, name: replace(sensors[name], body=body)}
        return replace(case, description=replace(case.description, sensors=changed))

    return change


def drawn(point: str, axis: int, shift: float) -> Callable[[Case], Case]:
    """A point of the description at another place."""

    def change(case: Case) -> Case:
        description = case.description
        entries = description.points[point]
        x, y = entries.at
        at = (x + shift, y) if axis == 0 else (x, y + shift)
        points = {**description.points, point: replace(entries, at=at)}
        return replace(case, description=replace(description, points=points))

    return change


def joined(first: Case, second: Case, time: float) -> Case:
    """One until a time and the other from it on."""
    heard = {}
    for name, (when, values) in first.heard.items():
        before = when < time
        heard[name] = when, np.where(before[:, None], values, second.heard[name][1])
    return replace(first, heard=heard)


def turning_point(squares: Array) -> int:
    """The sample from which on squares of errors have another size than before."""
    error = squares + 1e-9
    count = np.arange(1, len(error))
    sums = np.cumsum(error)
    before, after = sums[:-1] / count, (sums[-1] - sums[:-1]) / (len(error) - count)
    unlikely = count * np.log(before) + (len(error) - count) * np.log(np.maximum(after, 1e-9))
    edge = max(1, len(error) // 20)
    return edge + 1 + int(np.argmin(unlikely[edge:-edge]))
