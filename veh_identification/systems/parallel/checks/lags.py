"""Efforts that come late: all of them, or one against the others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.systems.parallel.checks.machine import Hypotheses, Machine, changed_average
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.types import Array

#: Samples by which efforts are tried later and earlier.
LAGS = (1, 2, 3, 5, 8, 12, 20, 30, 50)
#: Seconds by which one effort alone is tried later, and lines in which it is looked for.
LONG_LAGS, FILTER_LINES = (0.01, 0.02, 0.04, 0.06, 0.1), 60


def lags() -> Hypotheses:
    """All efforts alike, later and earlier."""
    for steps in (sign * lag for lag in LAGS for sign in (1, -1)):
        yield Hypothesis('effort_delay', f'efforts {steps} samples late', partial(_late, n=steps))


def _late(machine: Machine, n: int) -> Machine:
    forces = changed_average(
        machine.record.forces, lambda mean: np.roll(mean, -n, axis=0), np.ones(6)
    )
    return replace(machine, record=replace(machine.record, forces=forces))


def single_lags(machine: Machine) -> Hypotheses:
    """One effort that comes late, or has passed a low pass that the others have not."""
    for k, leg in enumerate(LEGS):
        for seconds in LONG_LAGS:
            steps = round(seconds * machine.record.rate)
            if not 0 < steps < machine.record.samples // 4:
                continue
            for change, what in (
                (partial(_one_late, leg=k, n=steps), 'comes about {:.3g} ms late'),
                (partial(_unfiltered, leg=k, seconds=seconds), 'lags behind by a low pass of '
                 'about {:.3g} ms'),
            ):  # fmt: skip
                text = f'the effort of {leg} {what.format(1e3 * seconds)} against the others'
                yield Hypothesis('effort_delay', text, change, f'effort[{leg}]')


def _one_late(machine: Machine, leg: int, n: int) -> Machine:
    def earlier(mean: Array) -> Array:
        made = mean.copy()
        made[:, leg] = np.roll(mean[:, leg], -n)
        return made

    forces = changed_average(machine.record.forces, earlier, np.ones(6))
    return replace(machine, record=replace(machine.record, forces=forces))


def _unfiltered(machine: Machine, leg: int, seconds: float) -> Machine:
    """One effort as it was before a first-order low pass, as far as its noise allows."""

    def before(mean: Array) -> Array:
        made = mean.copy()
        line = np.fft.rfft(np.nan_to_num(mean[:, leg]))
        number = np.arange(len(line))
        omega = 2.0 * np.pi * machine.record.fundamental_hz * number
        gain = np.where(number < FILTER_LINES, 1.0 + 1j * omega * seconds, 0.0)
        made[:, leg] = np.fft.irfft(gain * line, len(mean))
        return made

    forces = changed_average(machine.record.forces, before, np.ones(6))
    return replace(machine, record=replace(machine.record, forces=forces))


def slightly_late(machine: Machine, samples: float) -> Machine:
    """Part of a sample: along the slope of the forces, none where a neighbour is not known."""

    def earlier(mean: Array) -> Array:
        slope = 0.5 * (np.roll(mean, -1, axis=0) - np.roll(mean, 1, axis=0))
        return mean + samples * np.nan_to_num(slope)

    forces = changed_average(machine.record.forces, earlier, np.ones(6))
    return replace(machine, record=replace(machine.record, forces=forces))
