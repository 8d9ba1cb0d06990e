"""Parameters, loads, delay, widths and gains of an arm by the estimator asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.identification import ArrayBlocks, Factor, Options, accumulate
from veh_identification.identification.batch import solve as solve_blocks
from veh_identification.identification.repetition import clusters_of, widened
from veh_identification.identification.result import Solved
from veh_identification.identification.robust import TUNING
from veh_identification.systems.robot.estimation.links import LinkFit, fit_links
from veh_identification.systems.robot.estimation.unknowns import (
    State,
    System,
    assemble,
    derivative_columns,
    instrumented,
    noise_of,
    seek,
    shifted_zeros,
    sliding,
    slow_friction,
    solve,
    weighted_solution,
)
from veh_identification.systems.robot.processing import Rows
from veh_identification.systems.robot.setup import Setup
from veh_identification.types import Array, BoolArray

PLAIN = ('ordinary', 'weighted', 'gauss-markov', 'robust')
LOAD_NAMES = ('M', 'MSx', 'MSy', 'MSz', 'Jxx', 'Jxy', 'Jxz', 'Jyy', 'Jyz', 'Jzz')
LOAD_UNITS = ('kg',) + ('kg m',) * 3 + ('kg m^2',) * 6


@dataclass(frozen=True, eq=False)
class Estimate:
    """What was found, and the rows it was found from."""

    setup: Setup
    state: State
    system: System  # rows in use
    slides: BoolArray  # (M, equations)
    names: list[str]  # parameters, then those of unknown loads
    units: list[str]
    solved: Solved  # of all unknowns; the first are `names`
    factor: Factor  # of parameters and loads, weighted
    fit: LinkFit
    misfit_before: float  # weighted mean square without a delay, over the one with it

    @property
    def value(self) -> Array:
        """Of `names`."""
        return self.solved.value[: len(self.names)]

    @property
    def covariance(self) -> Array:
        """Of `names`."""
        return self.solved.covariance[: len(self.names), : len(self.names)]

    def unknown(self, what: str, joint: int = 0) -> float:
        """Deviation of delay, base delay, width (of its logarithm) or gain (relative); nan: not
        sought."""
        place = len(self.names)
        if what == 'delay':
            return float(self.solved.std[place]) if self.state.delay_free else float('nan')
        place += int(self.state.delay_free)
        if what == 'base_delay':
            place += int(self.state.widths_free.sum() + self.state.gains_free.sum())
            return float(self.solved.std[place]) if self.state.base_delay_free else float('nan')
        if what == 'width':
            free = np.flatnonzero(self.state.widths_free)
        else:
            place += int(self.state.widths_free.sum())
            free = np.flatnonzero(self.state.gains_free)
        where = np.flatnonzero(free == joint)
        return float(self.solved.std[place + where[0]]) if len(where) else float('nan')


def load_prefix(k: int) -> str:
    """Of the names of the k-th load."""
    return 'payload' if k == 0 else f'payload_{k + 1}'


def estimate(setup: Setup) -> Estimate:
    """Seek what is not linear, then estimate everything together."""
    model, c = setup.model, setup.model.configuration
    slides = np.asarray(sliding(setup.rows), dtype=bool)
    state = seek(model, setup.rows, setup.loads, setup.masks, setup.state, setup.cutoff_hz)
    # Rows without moments near rest hardly know the width: it stays an unknown of the others.
    joints = len(model.joints)
    always = slides[:, :joints].all(axis=0)
    state = replace(state, widths_free=state.widths_free & always)
    system = assemble(model, setup.rows, setup.loads, setup.masks, state, slides)
    names, units = list(model.names), list(model.units)
    for k, load in enumerate(setup.loads):
        names += [f'{load_prefix(k)}.{LOAD_NAMES[i]}' for i in np.flatnonzero(load.free)]
        units += [LOAD_UNITS[i] for i in np.flatnonzero(load.free)]
    shifted = shifted_zeros(model, setup.masks)
    for number in shifted:
        names += [f'recording_{number + 1}.{row}.off' for row in model.equations[joints:]]
        units += model.effort_units[joints:]
    value, sigma = weighted_solution(system)
    columns, tools = (
        derivative_columns(model, setup.rows, system, state, value, one) for one in (False, True)
    )
    columns, tools, state = _telling(columns, tools, state)
    left_out = np.asarray(~always & c.friction.coulomb, dtype=bool)
    slow = slow_friction(setup.rows, system, left_out)
    columns, tools = (np.concatenate([one, slow], axis=2) for one in (columns, tools))
    if c.estimator in PLAIN:
        W, Y = np.concatenate([system.W, columns], axis=2), system.Y - system.known
    else:
        W, Y = instrumented(system, columns, tools, sigma)
    everything = [*names, *(f'unknown {k}' for k in range(columns.shape[2]))]
    equations = list(model.equations)
    kind = c.estimator if c.estimator in PLAIN else 'weighted'
    options = Options(estimator=kind, loss=c.loss, eliminate=c.essential)  # type: ignore[arg-type]
    try:
        solved = solve_blocks(ArrayBlocks(W, Y), everything, equations, options)
    except EstimationError as error:
        raise EstimationError(_named(str(error), state, slow.shape[2])) from None
    used = np.where(solved.sigma > 0.0, solved.sigma, 1.0)
    solved = _for_repetition(solved, W, Y, used, setup.rows)
    if c.estimator == 'robust':
        Y = _without_outliers(W, Y, solved)
    rest = W[:, :, len(names) :] @ solved.value[len(names) :]
    weighted = accumulate(ArrayBlocks(W[:, :, : len(names)], Y - rest)).combined(1.0 / used)
    further = [*(int(one.free.sum()) for one in setup.loads), *[6] * len(shifted)]
    fit = fit_links(model, weighted, further)
    if c.estimator == 'instrumental-variable':
        solved = replace(solved, estimator=c.estimator)
    elif c.estimator == 'consistent':
        found = solved.value.copy()
        found[: len(names)] = fit.unknowns
        solved = _judged(replace(solved, value=found, estimator=c.estimator), W, Y)
    before = _misfit(setup, replace(state, delay=0.0), slides, sigma)
    return Estimate(
        setup,
        state,
        system,
        slides,
        names,
        units,
        solved,
        weighted,
        fit,
        before / max(_misfit(setup, state, slides, sigma), 1e-300),
    )


def _for_repetition(
    solved: Solved, W: Array, Y: Array, sigma: Array, rows: Sequence[Rows]
) -> Solved:
    """With deviations that hold for errors that repeat with the motion."""
    there = np.isfinite(Y)
    V = np.where(there[:, :, None], W, 0.0) / sigma[:, None]
    residual = np.where(there, Y - W @ solved.value, 0.0) / sigma
    clusters = clusters_of([one.phases() for one in rows])
    return replace(solved, covariance=widened(solved.covariance, V, residual, clusters))


def _without_outliers(W: Array, Y: Array, solved: Solved) -> Array:
    """Efforts that plain least squares would fit as the robust ones were (Huber's residuals)."""
    predicted, limit = W @ solved.value, TUNING['huber'] * solved.sigma
    return np.asarray(predicted + np.clip(Y - predicted, -limit, limit))


def _telling(columns: Array, tools: Array, state: State) -> tuple[Array, Array, State]:
    """Without columns of widths that nothing in the rows depends on."""
    place = int(state.delay_free)
    free = np.flatnonzero(state.widths_free)
    size = np.sqrt(np.mean(columns**2, axis=(0, 1)))[place : place + len(free)]
    weak = size < 1e-9
    kept = state.widths_free.copy()
    kept[free[weak]] = False
    drop = place + np.flatnonzero(weak)
    made = (np.delete(one, drop, axis=2) for one in (columns, tools))
    return *made, replace(state, widths_free=kept)  # type: ignore[return-value]


def _named(text: str, state: State, slow: int) -> str:
    """An error with the further unknowns under names that people know."""
    words = ['the effort delay'] * state.delay_free
    words += ['a width of dry friction'] * int(state.widths_free.sum())
    words += ['a drive gain'] * int(state.gains_free.sum())
    words += ['the delay of the base wrench'] * state.base_delay_free
    words += ['friction near rest'] * slow
    for place, word in enumerate(words):
        text = text.replace(f'unknown {place}', word)
    return text


def _misfit(setup: Setup, state: State, slides: BoolArray, sigma: Array) -> float:
    system = assemble(setup.model, setup.rows, setup.loads, setup.masks, state, slides)
    nothing = np.zeros((*system.Y.shape, 0))
    _, _, residual = solve(system, nothing, nothing, sigma)
    return float(np.nanmean((residual / sigma) ** 2))


def _judged(solved: Solved, W: Array, Y: Array) -> Solved:
    """With the residuals of its values."""
    rms = noise_of(Y - W @ solved.value)
    size = noise_of(Y)
    told = np.isfinite(Y).any(axis=0)
    return replace(
        solved,
        residual_rms=np.where(told, rms, np.nan),
        residual_rms_relative=np.where(told, rms / size, np.nan),
    )
