"""Any motion, both sides low-passed alike: closed loop, delays, motion that never repeats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import parallel_stewart as stewart
import pytest

from veh_identification.identification.trajectory import pose_rates
from veh_identification.signals import TimeSeries
from veh_identification.simulation.parallel.controlled import (
    EPOCH_NS,
    Loop,
    Recorded,
    description,
    follow,
    measured,
    palida,
    random_excitation,
    random_plant,
    rotation,
)
from veh_identification.simulation.parallel.plant import fill_equations
from veh_identification.systems.parallel.configuration import (
    load_configuration,
    parse_configuration,
)
from veh_identification.systems.parallel.estimation.band import estimate_in_band, even_legs
from veh_identification.systems.parallel.identify import Recordings, estimate
from veh_identification.systems.parallel.options import settings_of
from veh_identification.systems.parallel.recording.reader import NotRepeatingError, periodic_record

NAMES = [f'{field}{j}' for field in ('position', 'effort') for j in range(6)]
UNITS = ['m'] * 6 + ['N'] * 6


def series(times: np.ndarray, lengths: np.ndarray, forces: np.ndarray) -> TimeSeries:
    stamps = EPOCH_NS + np.rint(1e9 * times).astype(np.int64)
    return TimeSeries.from_nanoseconds(stamps, np.hstack([lengths, forces]), NAMES, UNITS)


def of(made: Recorded) -> TimeSeries:
    return series(made.times, made.lengths, made.forces)


def stewart_series(motion: stewart.Motion, robot: stewart.Robot, seed: int) -> TimeSeries:
    data = stewart.record(robot, motion, stewart.Recording(duration=20.0, seed=seed))
    return series(1e-9 * (data.stamps - data.stamps[0]), data.lengths, data.forces)


@pytest.mark.parametrize('seed', [0, 1])
def test_the_plant_agrees_with_the_regressor(seed: int) -> None:
    plant, home = random_plant(seed)
    model = parse_configuration(description(plant, home, Loop(), seed)).model()
    x, xd, xdd = random_excitation(plant, home, seed).evaluate(np.linspace(0.0, 2.0, 9))
    v, a = pose_rates(x, xd, xdd)
    truth = plant.truth()
    wanted = model.regressor(x, v, a) @ np.array([truth[name] for name in model.names])
    M, c, J, lengths = np.empty((6, 6)), np.empty(6), np.empty((18, 6)), np.empty(6)
    for k in range(len(x)):
        fill_equations(x[k, :3].copy(), rotation(x[k]), v[k], *plant.arrays(), M, c, J, lengths)
        speeds = J @ v[k]
        friction = plant.friction.dry * np.sign(speeds) + plant.friction.viscous * speeds
        found = np.linalg.solve(J[12:].T, M @ a[k] + c + J.T @ friction)
        np.testing.assert_allclose(found, wanted[k], atol=1e-9)


def test_motion_that_never_repeats() -> None:
    robot = stewart.Robot()
    configuration = parse_configuration(robot.configuration())
    recordings = [stewart_series(stewart.wandering(robot, seed), robot, seed) for seed in (5, 6)]
    with pytest.raises(NotRepeatingError):
        periodic_record(recordings[0])
    model, truth = configuration.model(), robot.truth()
    legs = tuple(even_legs(one) for one in recordings)
    found = estimate(model, Recordings(legs), settings_of(configuration))
    assert found.method == 'band'
    assert 'motion_not_periodic' in [one.code for one in found.findings]
    z = (found.parameters - [truth[name] for name in model.names]) / found.result.std[:-1]
    assert np.sqrt(np.mean(z**2)) < 1.5
    mass = model.names.index('p10')
    assert found.parameters[mass] == pytest.approx(truth['p10'], rel=0.01)
    assert found.delay is not None and not found.delay.sure


def test_recordings_of_different_fundamentals() -> None:
    robot = stewart.Robot()
    configuration = parse_configuration(robot.configuration())
    motions = [stewart.excitation(robot, f, seed=k) for k, f in enumerate((0.37, 0.45))]
    recordings = [stewart_series(motion, robot, k) for k, motion in enumerate(motions)]
    records = tuple(periodic_record(one) for one in recordings)
    model, truth = configuration.model(), robot.truth()
    made = Recordings(tuple(even_legs(one) for one in recordings), records)
    found = estimate(model, made, settings_of(configuration))
    assert found.method == 'band'
    z = (found.parameters - [truth[name] for name in model.names]) / found.result.std[:-1]
    assert np.sqrt(np.mean(z**2)) < 1.5


def test_periods_that_end_with_their_harmonics_stay_mean_periods() -> None:
    robot = stewart.Robot()
    configuration = parse_configuration(robot.configuration())
    recording = stewart_series(stewart.excitation(robot), robot, 0)
    made = Recordings((even_legs(recording),), (periodic_record(recording),))
    assert estimate(configuration.model(), made, settings_of(configuration)).method == 'frequency'


@pytest.mark.parametrize('delay', [0.0, 0.0037, 0.01])
def test_closed_loop_with_stiction_and_late_efforts(delay: float) -> None:
    plant, excitation = palida()
    plant = replace(plant, friction=replace(plant.friction, stiction=0.1))
    loop = Loop(effort_delay=delay)
    made = of(measured(*follow(plant, excitation, loop, 12.5, 3), loop, 3))
    configuration = load_configuration()
    model, truth = configuration.model(), plant.truth()
    records = (periodic_record(made, excitation.fundamental_hz),)
    found = estimate(model, Recordings((even_legs(made),), records), settings_of(configuration))
    assert found.method == 'band'
    assert found.effort_delay == pytest.approx(delay, abs=1e-4)
    z = (found.parameters - [truth[name] for name in model.names]) / found.result.std[:-1]
    assert np.sqrt(np.mean(z**2)) < 1.3
    assert found.result.value[model.names.index('r3')] == pytest.approx(truth['r3'], rel=0.03)


def test_deviations_allow_for_ripple_that_repeats_with_the_motion() -> None:
    """Magnets that pull with a tenth of the dry friction: no sensor sees it, no model has it."""
    seed = 806
    plant, home = random_plant(seed)
    plant = replace(plant, friction=replace(plant.friction, stiction=0.1))
    loop = Loop(effort_delay=0.004573, ripple=0.1)
    excitation = random_excitation(plant, home, seed)
    made = of(measured(*follow(plant, excitation, loop, 25.0, seed), loop, seed))
    configuration = parse_configuration(description(plant, home, loop, seed))
    model, truth = configuration.model(), plant.truth()
    found = estimate(model, Recordings((even_legs(made),)), settings_of(configuration))
    z = (found.parameters - [truth[name] for name in model.names]) / found.result.std[:-1]
    # 1.9 where periods count as new each time.
    assert np.sqrt(np.mean(z**2)) < 1.4 and np.mean(np.abs(z) < 2.0) > 0.9


def test_a_given_delay_is_taken_as_it_is() -> None:
    robot = stewart.Robot()
    recording = stewart_series(stewart.wandering(robot), robot, 1)
    model = parse_configuration(robot.configuration()).model()
    legs = [even_legs(recording)]
    found = estimate_in_band(model, legs, 8.0, delay=0.004)
    assert found.delay == 0.004 and np.isnan(found.delay_std)
    free = estimate_in_band(model, legs, 8.0)
    assert abs(free.delay) < 3.0 * free.delay_std
    assert np.abs(found.result.value - free.result.value).max() > 0.0
