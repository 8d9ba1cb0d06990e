"""Efforts, gravity and lengths of the opposite sign."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.systems.parallel.checks.machine import (
    Hypotheses,
    Machine,
    changed_average,
    described,
    scaled_efforts,
)
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
from veh_identification.types import Array


def signs() -> Hypotheses:
    """Efforts of opposite sign, all or one."""
    text = 'all efforts seem to have the opposite sign (positive is where a leg pushes)'
    yield Hypothesis('effort_sign', text, partial(scaled_efforts, factor=-np.ones(6)), 'effort')
    yield Hypothesis(
        'effort_sign', f'{text}, and gravity as well', _both_upside_down, 'effort, entry gravity'
    )
    for k, leg in enumerate(LEGS):
        sign = np.ones(6)
        sign[k] = -1.0
        text = f'the effort of {leg} seems to have the opposite sign'
        yield Hypothesis(
            'effort_sign', text, partial(scaled_efforts, factor=sign), f'effort[{leg}]'
        )


def _both_upside_down(machine: Machine) -> Machine:
    """Efforts and gravity of the opposite sign: who turned the one often turns the other too."""
    turned = described(machine, {'gravity': -machine.model.robot.gravity})
    return scaled_efforts(turned, -np.ones(6))


def inwards(machine: Machine) -> Hypotheses:
    """A sensor that counts against its leg: the mean length stands where home has it."""
    nominal = inverse_kinematics(machine.model.robot, machine.model.robot.home)[0]
    for k, leg in enumerate(LEGS):
        text = f'the length of {leg} seems to be counted inwards: it must grow with the leg'
        change = partial(_counted, leg=k, nominal=float(nominal[k]))
        yield Hypothesis('length_sign', text, change, f'position[{leg}]')


def _counted(machine: Machine, leg: int, nominal: float) -> Machine:
    sign = np.ones(6)
    sign[leg] = -1.0

    def outwards(mean: Array) -> Array:
        found = mean.copy()
        centre = float(found[:, leg].mean())
        # A length that is told as positive was taken from another zero; one that is not, from 0.
        found[:, leg] = (2.0 * centre if centre > 0.0 else centre + nominal) - found[:, leg]
        return found

    lengths = changed_average(machine.record.lengths, outwards, sign)
    return replace(machine, record=replace(machine.record, lengths=lengths))
