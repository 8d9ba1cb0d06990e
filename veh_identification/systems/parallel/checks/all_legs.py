"""All legs at once that are wrong by sizes that the residuals ask for: zeros, scales, gains."""

from __future__ import annotations

from functools import partial

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.systems.parallel.checks.drawing import drawings
from veh_identification.systems.parallel.checks.judge import MASS, Judge
from veh_identification.systems.parallel.checks.machine import (
    Hypotheses,
    Machine,
    changed_lengths,
    scaled_efforts,
    tared,
)
from veh_identification.systems.parallel.checks.sizes import best_change, unexplained
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics


def offsets_of_lengths(machine: Machine) -> Hypotheses:
    """Lengths from another zero: strokes instead of lengths, all legs alike."""
    robot = machine.model.robot
    nominal = inverse_kinematics(robot, robot.home)[0]
    mean = machine.record.lengths.mean.mean(axis=0)
    shift = float(np.mean(nominal - mean))
    if abs(shift) < 0.1 * float(nominal.mean()):
        return
    text = f'the lengths seem to be strokes: {shift:.3g} m seem to be missing of each'
    yield Hypothesis('length_offset', text, partial(changed_lengths, shift=shift), 'position')


def all_legs(judge: Judge) -> Hypotheses:
    """What is wrong with all legs at once, by sizes that the residuals ask for."""
    machine = judge.machine
    shift = best_change(judge, lambda size: changed_lengths(machine, shift=size))
    if shift is not None:
        change = partial(changed_lengths, shift=shift)
        yield Hypothesis('length_offset', all_shifted(shift), change, 'position')
    longer = best_change(judge, lambda size: changed_lengths(machine, factor=1.0 + size))
    if longer is not None:
        change = partial(changed_lengths, factor=1.0 + longer)
        yield Hypothesis('length_scale', all_scaled(longer), change, 'position')
    yield from drawings(judge)
    rest = judge.residual(judge.machine)
    moved = unexplained(judge, np.ones_like(judge.machine.record.forces.mean))
    shifts = np.asarray(np.linalg.lstsq(moved.T, -rest, rcond=None)[0], float)
    text = (
        f'the efforts seem to be {", ".join(f"{-one:+.4g}" for one in shifts)} N off their zeros '
        '(tared under load?)'
    )
    yield Hypothesis('effort_offset', text, partial(tared, shift=shifts), 'effort')
    yield from _gains_of_all(judge)


def _gains_of_all(judge: Judge) -> Hypotheses:
    """Efforts with a gain of each leg's own, and with one of all where the mass asks for it.

    Motor currents are such. The residuals tell how the gains differ, never what they are in the
    mean; that is told by a moving mass that cannot be.
    """
    machine = judge.machine
    differing = np.linalg.svd(np.ones((1, 6)))[2][1:].T  # (6, 5) changes that leave the mean
    moved = unexplained(judge, machine.record.forces.mean).T @ differing
    factors = (
        1.0 + differing @ np.linalg.lstsq(moved, -judge.residual(judge.machine), rcond=None)[0]
    )
    if not (factors > 0.1).all():
        return
    index = machine.model.names.index('p10')
    mass = float(judge.fit(scaled_efforts(machine, factors))[2][index])
    expected = float(machine.model.a_priori()[index])
    common = expected / mass if mass > 0.0 and expected > 0.0 else 1.0
    known = abs(np.log(common)) < MASS
    gains = ', '.join(f'{one:.3g}' for one in 1.0 / (factors * (1.0 if known else common)))
    text = f'the efforts seem to be {gains} times what they should be: each leg has its own gain'
    if not known:
        text += ', and they are not in N (motor currents?)'
    change = partial(scaled_efforts, factor=factors * (1.0 if known else common))
    yield Hypothesis('scale' if known else 'unit', text, change, 'effort')


def all_shifted(shift: float) -> str:
    """What is said of all lengths, m by which they must grow."""
    return (
        f'all lengths seem to be {-1e3 * shift:+.3g} mm off their zero (or joints of base or '
        'platform lie elsewhere along the legs)'
    )


def all_scaled(longer: float) -> str:
    """The same of a share by which they must grow."""
    return (
        f'all lengths seem to be {1.0 / (1.0 + longer):.4g} times what they should be (or base '
        'and platform are described as that much too small)'
    )
