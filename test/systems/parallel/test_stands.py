"""A robot that stands before, between and after its motion: stiction is not its model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from paused_motion import Paused

from veh_identification.errors import EstimationError
from veh_identification.findings import verdict_of
from veh_identification.signals import TimeSeries
from veh_identification.simulation.parallel.controlled import (
    EPOCH_NS,
    Loop,
    follow,
    measured,
    palida,
)
from veh_identification.simulation.parallel.scenarios import (
    HexapodSensors,
    default_excitation,
    exact_run,
)
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.estimation.band import even_legs
from veh_identification.systems.parallel.identify import Recordings, estimate
from veh_identification.systems.parallel.live.accumulation import (
    CHANNELS,
    UNITS,
    LiveOptions,
    ParallelLive,
)
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
from veh_identification.systems.parallel.options import settings_of

CONFIGURATION = load_configuration()
MODEL = CONFIGURATION.model()


@pytest.fixture(scope='module')
def stood() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stamps, lengths and forces of a plant with sticking friction under control; the truth.

    It stands for 20 s, moves for 20 s, and stands for 40 s.
    """
    plant, excitation = palida()
    plant = replace(plant, friction=replace(plant.friction, stiction=0.1))
    wanted = Paused(excitation.evaluate, 20.0, 20.0, offset=excitation.offset)
    loop = Loop(effort_delay=0.002)
    made = measured(*follow(plant, wanted, loop, 80.0, 2), loop, 2)  # type: ignore[arg-type]
    stamps = EPOCH_NS + np.rint(1e9 * made.times).astype(np.int64)
    truth = np.array([plant.truth()[name] for name in MODEL.names])
    return stamps, np.hstack([made.lengths, made.forces]), truth


def test_stands_are_left_out_offline(stood) -> None:
    stamps, values, truth = stood
    series = TimeSeries.from_nanoseconds(stamps, values, CHANNELS, UNITS)
    made = estimate(MODEL, Recordings((even_legs(series),)), settings_of(CONFIGURATION))
    z = (made.parameters - truth) / made.result.std[:-1]
    # With the stands 5 of 24 were within two deviations, and a delay of 4 ms was found.
    assert np.sqrt(np.mean(z**2)) < 1.5 and np.abs(z).max() < 4.0
    assert made.effort_delay == pytest.approx(0.002, abs=1.2e-4)
    [note] = [one for one in made.findings if one.code == 'stands_left_out']
    assert note.level == 'note' and 'of 80 s' in note.text


def test_a_stand_moves_no_live_estimate(stood) -> None:
    stamps, values, truth = stood
    live = ParallelLive(CONFIGURATION, LiveOptions())
    seconds = 1e-9 * (stamps - stamps[0])
    kept = []
    for second, stamp, sample in zip(seconds, stamps, values, strict=True):
        live.push(int(stamp), sample)
        if second in (20.0, 45.0, 79.0):
            kept.append((live.result, verdict_of(live.findings(), yes=live.ready)))
    before, moved, after = kept
    assert before[0] is None and before[1].level != 'no'
    assert 'stands_left_out' in [one.code for one in before[1].findings]
    assert moved[0] is not None and after[0] is not None
    np.testing.assert_array_equal(after[0].value, moved[0].value)
    assert after[1].level == moved[1].level != 'no'
    live.finish()
    assert live.result is not None and not live.problem
    z = (live.result.value[:-1] - truth) / live.result.std[:-1]
    assert np.sqrt(np.mean(z**2)) < 1.7 and np.abs(z).max() < 4.5


def test_periods_at_rest_are_not_averaged() -> None:
    run = exact_run(MODEL, default_excitation(CONFIGURATION), 100.0)
    rng, sensors = np.random.default_rng(0), HexapodSensors().scaled(1.0)
    count = len(run.times)
    still = np.zeros(6 * count, dtype=int)
    index = np.concatenate([still, np.arange(3 * count) % count, still, [0]])
    held = np.concatenate([np.ones(6 * count), np.zeros(3 * count), np.ones(6 * count + 1)])
    stuck = 4.0 * held[:, None]  # N: any force below that of the friction holds
    lengths, forces = sensors.measure(run.lengths[index], run.forces[index] + stuck, rng)
    live = ParallelLive(CONFIGURATION, LiveOptions(estimator='gauss-markov'))
    for k, sample in enumerate(np.hstack([lengths, forces])):
        live.push(EPOCH_NS + 10_000_000 * k, sample)
    live.finish()
    assert live.periods == 3
    assert live.facts()['periods at rest'] == 12


def test_a_robot_that_never_moves_is_refused_with_a_sentence() -> None:
    rng = np.random.default_rng(0)
    home = inverse_kinematics(MODEL.robot, MODEL.robot.home[None])
    lengths = home + 1e-5 * rng.standard_normal((5000, 6))
    table = np.hstack([lengths, 50.0 + 5.0 * rng.standard_normal((5000, 6))])
    series = TimeSeries(np.arange(5000) / 500.0, table, CHANNELS, UNITS)
    with pytest.raises(EstimationError, match='no leg moves'):
        estimate(MODEL, Recordings((even_legs(series),)), settings_of(CONFIGURATION))
