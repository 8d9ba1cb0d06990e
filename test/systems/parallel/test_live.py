"""Live and offline estimate alike, glitches and restarts included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from veh_identification.saved_state import SavedState, StateError, read_state, write_state
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
from veh_identification.systems.parallel.estimation.glitches import without_glitches
from veh_identification.systems.parallel.identify import Recordings, estimate
from veh_identification.systems.parallel.live.accumulation import (
    CHANNELS,
    UNITS,
    LiveOptions,
    ParallelLive,
)
from veh_identification.systems.parallel.live.blocks import Blocks
from veh_identification.systems.parallel.live.periods import (
    CollectedPeriod,
    PeriodGate,
    RawPeriod,
)
from veh_identification.systems.parallel.options import settings_of
from veh_identification.systems.parallel.recording.reader import periodic_record

CONFIGURATION = load_configuration()
Samples = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope='module')
def closed_loop() -> tuple[Samples, np.ndarray]:
    """Stamps, lengths and forces of a plant under control with sticking friction; the truth."""
    plant, excitation = palida()
    plant = replace(plant, friction=replace(plant.friction, stiction=0.1))
    loop = Loop(effort_delay=0.002)
    made = measured(*follow(plant, excitation, loop, 10.9, 3), loop, 3)
    stamps = EPOCH_NS + np.rint(1e9 * made.times).astype(np.int64)
    truth = np.array([plant.truth()[name] for name in CONFIGURATION.model().names])
    return (stamps, np.hstack([made.lengths, made.forces])), truth


def live_of(samples: Samples, **options) -> ParallelLive:
    live = ParallelLive(CONFIGURATION, LiveOptions(**options))
    for stamp, values in zip(*samples, strict=True):
        live.push(int(stamp), values)
    live.finish()
    return live


def test_the_motion_of_a_controller_is_estimated_as_offline(closed_loop) -> None:
    samples, truth = closed_loop
    series = TimeSeries.from_nanoseconds(*samples, CHANNELS, UNITS)
    calm, _ = without_glitches(series, 2.5)
    records = (periodic_record(series, 0.4),)
    settings = settings_of(CONFIGURATION)
    model = CONFIGURATION.model()
    offline = estimate(model, Recordings((even_legs(calm),), records), settings)
    live = live_of(samples)
    assert offline.method == 'band' and live.facts()['processing'] == 'band'
    assert live.result is not None
    moved = np.abs(live.result.value - offline.result.value)[:-1] / offline.result.std[:-1]
    assert moved.max() < 1e-6
    assert live.effort_delay == pytest.approx(0.002, abs=1e-4)
    z = (live.result.value[:-1] - truth) / live.result.std[:-1]
    assert np.sqrt(np.mean(z**2)) < 1.3


def test_a_glitch_in_the_motion_of_a_controller(closed_loop) -> None:
    (stamps, values), _ = closed_loop
    clean = live_of((stamps, values), processing='band').result
    assert clean is not None
    for channel, size in ((8, 1e6), (2, 0.3)):
        spoilt = values.copy()
        spoilt[3000, channel] += size
        found = live_of((stamps, spoilt), processing='band')
        assert found.result is not None
        moved = np.abs(found.result.value - clean.value)[:-1] / clean.std[:-1]
        assert moved.max() < 1.0
        assert 21 <= found.facts()['samples cut as glitches'] < 100


def periodic(periods: float) -> Samples:
    run = exact_run(CONFIGURATION.model(), default_excitation(CONFIGURATION), 100.0)
    count = round(periods * len(run.times)) + 1
    lengths, forces = run.repeated(count, HexapodSensors().scaled(1.0), np.random.default_rng(0))
    return EPOCH_NS + 10_000_000 * np.arange(count), np.hstack([lengths, forces])


def test_a_restart_keeps_all_periods(tmp_path) -> None:
    stamps, values = periodic(4)
    whole = live_of((stamps, values), estimator='gauss-markov')
    live = ParallelLive(CONFIGURATION, LiveOptions(estimator='gauss-markov'))
    for k, (stamp, sample) in enumerate(zip(stamps, values, strict=True)):
        if k in (333, 700):  # within periods: those go on too
            write_state(tmp_path / 'state.npz', live.state())
            live = ParallelLive(CONFIGURATION, LiveOptions(estimator='gauss-markov'))
            assert 'periods' in live.restore(read_state(tmp_path / 'state.npz'))
        live.push(int(stamp), sample)
    live.finish()
    assert live.periods == whole.periods == 4
    assert live.result is not None and whole.result is not None
    np.testing.assert_allclose(live.result.value, whole.result.value, rtol=1e-9)
    np.testing.assert_allclose(live.result.covariance, whole.result.covariance, rtol=1e-9)


@pytest.mark.parametrize(
    ('entry', 'value'),
    [
        ('period_mean', np.zeros((3, 12))),
        ('period_squares', np.full((12, 12), np.nan)),
        ('collector_ages', np.array([5, 5])),
        ('gate_waiting', 9),
        ('block_lengths', np.array([7])),
        ('rate', 0.0),
        ('newest_ns', np.array([-1])),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(entry: str, value) -> None:
    stamps, values = periodic(2.2)
    live = live_of((stamps, values), estimator='gauss-markov')
    before = live.state()
    with pytest.raises(StateError):
        live.restore(SavedState({**before, entry: value}))
    assert all(np.array_equal(before[key], now) for key, now in live.state().items())


def test_blocks_are_weighed_by_their_information() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3)) * [1.0, 1e3, 1e-3]
    y = rows @ [1.0, 2e-3, 3e3] + rng.normal(size=60)
    every = np.linalg.lstsq(rows, y, rcond=None)[0]
    blocks = Blocks()
    for part in (slice(0, 15), slice(15, 35), slice(35, 60)):
        covariance = np.linalg.inv(rows[part].T @ rows[part])
        blocks = blocks.and_this(covariance @ rows[part].T @ y[part], covariance, 20)
    again = Blocks.restored(SavedState(blocks.state()), 3)
    np.testing.assert_allclose(np.linalg.solve(again.information, again.weighted), every)
    assert (again.count, again.samples) == (3, 60)


def test_two_good_periods_end_a_bad_time() -> None:
    """Five bad ones, all alike: the robot need not run well for as long to be believed."""
    rng = np.random.default_rng(0)
    stamps = np.arange(50, dtype=np.int64)
    good = np.sin(np.linspace(0.0, 6.0, 50))[:, None] * np.arange(1.0, 13.0)

    def period(table: np.ndarray) -> CollectedPeriod:
        noisy = table + 1e-3 * rng.standard_normal(table.shape)
        return CollectedPeriod(noisy, RawPeriod(0, stamps, noisy, True))

    gate, left_out, used = PeriodGate(), 0, []
    for _ in range(5):
        done, more = gate.push(period(good + 30.0))
        left_out, used = left_out + more, used + done
    bad = len(used)
    for _ in range(2):
        done, more = gate.push(period(good))
        left_out, used = left_out + more, used + done
    assert len(used) == bad + 2
    assert len(used) + left_out + gate.waiting == 7
    glitch = good.copy()
    glitch[20, 3] += 5.0
    assert gate.push(period(glitch)) == ([], 1)  # a single one is still left out
    assert len(gate.push(period(good))[0]) == 1
