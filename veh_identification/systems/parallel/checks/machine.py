"""A robot as it is described and a recording of it, and both as they might be instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.signals import PeriodAverage
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.types import Array


@dataclass(frozen=True)
class Machine:
    """A robot as it is described, and a recording of it."""

    model: HexapodModel
    record: PeriodicRecord


Hypotheses = Iterator[Hypothesis[Machine]]


def changed_average(
    average: PeriodAverage, change: Callable[[Array], Array], factor: Array
) -> PeriodAverage:
    """Another mean, whose noise has grown by a factor (6,) of each leg."""
    return PeriodAverage(
        change(average.mean), average.covariance * np.outer(factor, factor), average.periods
    )


def scaled_efforts(machine: Machine, factor: Array) -> Machine:
    """Efforts times a factor (6,) of each leg."""
    forces = changed_average(machine.record.forces, lambda mean: mean * factor, factor)
    return replace(machine, record=replace(machine.record, forces=forces))


def changed_lengths(machine: Machine, factor: float = 1.0, shift: Array | float = 0.0) -> Machine:
    """Lengths of another scale and from another zero (m)."""
    size = np.full(6, factor)
    lengths = changed_average(machine.record.lengths, lambda mean: mean * factor + shift, size)
    return replace(machine, record=replace(machine.record, lengths=lengths))


def tared(machine: Machine, shift: Array) -> Machine:
    """Efforts from another zero (N)."""
    forces = changed_average(machine.record.forces, lambda mean: mean + shift, np.ones(6))
    return replace(machine, record=replace(machine.record, forces=forces))


def described(machine: Machine, fields: dict[str, Array]) -> Machine:
    """A robot whose description has other entries."""
    robot = replace(machine.model.robot, **fields)  # type: ignore[arg-type]
    return replace(machine, model=HexapodModel(robot, machine.model.structure))
