"""Rows, impulses and tares of a stream are those of the recording as a whole."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import savgol_filter

from veh_identification.signals import TimeSeries
from veh_identification.systems.humanoid.configuration import Pose
from veh_identification.systems.humanoid.live.impulse import ImpulseBalance
from veh_identification.systems.humanoid.live.momentum_rows import MomentumStream
from veh_identification.systems.humanoid.live.tare import PlateTare
from veh_identification.systems.humanoid.processing.momentum import (
    Balance,
    balance_rows,
    long_window,
    placed,
)
from veh_identification.systems.humanoid.recording.reader import (
    WRENCH_NAMES,
    WRENCH_UNITS,
    Wrench,
)
from veh_identification.systems.humanoid.results.findings import (
    badly_reconstructed,
    negligible_moments,
)

RATE, CUTOFF = 200.0, 6.0
ORIGIN = Pose(np.zeros(3), np.eye(3))


def samples(count: int, seed: int = 3) -> tuple[np.ndarray, Balance]:
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    stamps = np.arange(count, dtype=np.int64) * 5_000_000
    return stamps, Balance(
        rng.normal(size=(count, 6, 4)),
        rng.normal(size=(count, 6, 7)),
        rng.normal(size=(count, 6)),
        turn,
        rng.normal(size=(count, 3)),
    )


def streamed(stamps, balance, usable, chunks):
    stream, rows = MomentumStream(RATE, CUTOFF), []
    for part in np.split(np.arange(len(stamps)), chunks):
        if len(part):
            rows += stream.push(stamps[part], [one[part] for one in balance], usable[part])
    rows += stream.interrupt()
    return rows


@pytest.mark.parametrize('chunks', [[50, 90, 91, 400, 777], list(range(7, 990, 7))])
def test_rows_of_a_long_stretch_are_those_of_the_whole(chunks) -> None:
    window, spacing = long_window(RATE, CUTOFF)
    count = int(2.0 * window.reach + 60.0 * spacing) + 1  # as offline places them: evenly
    stamps, balance = samples(count)
    rows = streamed(stamps, balance, np.ones(count, bool), chunks)
    middles, offline = placed(2.0 * window.reach + 60.0 * spacing, RATE, CUTOFF)
    assert len(middles) == 61
    # A last row may lie a fraction of a sample behind the end.
    W, Y = balance_rows(balance, middles[:-1], offline, RATE)
    np.testing.assert_allclose(np.concatenate([r.W for r in rows])[:60], W, atol=1e-10)
    np.testing.assert_allclose(np.concatenate([r.Y for r in rows])[:60], Y, atol=1e-10)
    when = np.concatenate([r.stamps_ns for r in rows])[:60]
    np.testing.assert_array_equal(when, stamps[np.rint(middles[:-1]).astype(int)])


def test_short_stretches_between_unusable_samples_keep_their_ends() -> None:
    stamps, balance = samples(400)
    usable = np.ones(400, bool)
    usable[[150, 151, 152, 380]] = False
    rows = streamed(stamps, balance, usable, [60, 149, 200, 390])
    wanted = []
    for begin, end in ((0, 150), (153, 380)):
        middles, window = placed(end - begin - 1, RATE, CUTOFF)
        part = Balance(*(one[begin:end] for one in balance))
        wanted.append(balance_rows(part, middles, window, RATE)[0])
    assert [len(r.W) for r in rows] == [len(W) for W in wanted]
    for one, W in zip(rows, wanted, strict=True):
        np.testing.assert_allclose(one.W, W, atol=1e-10)


def bounce(t):
    """Force and velocity of 70 kg that hop on a plate which shows 8 N too much."""
    velocity = 0.8 * np.sin(2.0 * np.pi * 2.3 * t)
    return 70.0 * (9.80665 + np.gradient(velocity, t)) + 8.0, velocity


def test_impulses_of_a_stream_and_those_of_another_load() -> None:
    t = np.arange(0.0, 20.0, 1.0 / RATE)
    force, velocity = bounce(t)
    found = ImpulseBalance(9.80665, 3.0)
    for part in np.array_split(np.arange(len(t)), 77):
        found.push(force[part], velocity[part], RATE)
        found.settle(False)
    mass = found.mass()
    assert mass is not None and mass.value == pytest.approx(70.0 + 8.0 / 9.80665, rel=2e-4)
    stored = found.stored
    # 5 kg picked up: nothing of it reaches the mass once the change is known.
    found.interrupt()
    found.push(force[:400] * 75.0 / 70.0, velocity[:400], RATE)
    found.settle(True)
    again = found.mass()
    assert again is not None and again.value == pytest.approx(mass.value, rel=2e-4)
    fresh = ImpulseBalance(9.80665, 3.0)
    fresh.restore(stored)
    assert fresh.mass() == mass


def plate(topic: str, force: np.ndarray, offset, pose: Pose = ORIGIN) -> Wrench:
    values = np.zeros((len(force), 6))
    values[:, 2] = force
    noise = np.random.default_rng(1).normal(scale=0.3, size=values.shape)
    t = np.arange(len(force)) / RATE
    series = TimeSeries(t, values + offset + noise, WRENCH_NAMES, WRENCH_UNITS, 0, topic)
    return Wrench(topic, topic, series, pose)


def test_plates_that_are_empty_in_turn_give_the_offset_of_their_sum() -> None:
    offset = np.array([1.0, -2.0, 6.0, 0.2, 0.0, -0.1])
    left = np.where(np.arange(1200) % 400 < 200, 650.0, 0.0)
    poses = [Pose(np.array([0.0, 0.3, 0.0]), np.eye(3)), Pose(np.zeros(3), np.eye(3))]
    wrenches = [
        plate('a/wrench', left, offset, poses[0]),
        plate('b/wrench', 650.0 - left, -0.5 * offset, poses[1]),
    ]
    tare = PlateTare(0.06)
    tare.look(wrenches[:1], 10.0 * 650.0)  # hardly any load: nobody knows whether it is empty
    assert tare.total(1, np.zeros(3), 650.0) is None
    tare.look(wrenches[:1], 650.0)
    partly = tare.total(2, np.zeros(3), 650.0)
    assert partly is not None and partly.std is None
    tare.look(wrenches, 650.0)
    found = tare.total(2, np.zeros(3), 650.0)
    assert found is not None and found.std is not None
    lever = np.cross([0.0, 0.3, 0.0], offset[:3])
    wanted = 0.5 * offset + np.concatenate([np.zeros(3), lever])
    np.testing.assert_allclose(found.value, wanted, atol=0.1)
    assert found.std[2] < 0.3


@pytest.mark.parametrize('zeroed', [False, True])
def test_what_a_filter_carries_into_a_flight_is_no_offset(zeroed) -> None:
    # Steps of 1500 N, 0.22 s in the air between them, smoothed as the fusion does (15 Hz).
    offset = np.array([1.0, -2.0, 6.0, 0.2, 0.0, -0.1])
    t = np.arange(0.0, 6.0, 1.0 / RATE)
    shown = plate('a/wrench', 1500.0 * np.clip(np.sin(2.0 * np.pi * t / 0.44), 0.0, 1.0), offset)
    values = shown.series.values
    if zeroed:
        values = np.where(values[:, 2:3] < 20.0, 0.0, values)
    smooth = savgol_filter(values, 2 * round(0.06 * RATE) + 1, 4, axis=0)
    assert np.ptp(smooth[values[:, 2] < 20.0, 2]) > 20.0  # loads that nobody put there
    smooth[np.abs(smooth) < 1e-9] = 0.0
    tare = PlateTare(0.06)
    tare.look([replace(shown, series=replace(shown.series, values=smooth))], 700.0)
    found = tare.total(1, np.zeros(3), 700.0)
    if zeroed:
        assert found is None
    else:
        assert found is not None
        np.testing.assert_allclose(found.value[:3], offset[:3], atol=0.2)


def test_a_model_takes_what_empty_plates_show_as_its_offset() -> None:
    from veh_identification.simulation.humanoid.scenarios import robot_path
    from veh_identification.systems.humanoid.live.model import ContactModel, live_configuration
    from veh_identification.systems.humanoid.robot import load_robot

    robot = load_robot(robot_path())
    joints = robot.moving_joints()
    setting = live_configuration(9.80665, 20.0)
    model = ContactModel(robot, joints, {}, [], True, 0.3, setting, np.zeros(3), 0.1)
    rank = model.problem.base.rank
    model.tare = SimpleNamespace(value=np.arange(6.0), std=np.full(6, 0.01))
    prior = model._scaled_prior()
    offsets = slice(rank, rank + 6)
    np.testing.assert_allclose(prior.value[offsets], np.arange(6.0))
    np.testing.assert_allclose(np.diag(prior.covariance)[offsets], 1e-4)
    assert model.names[rank + 6 :] == ['motion.scale']


def test_equations_of_a_bad_fit_are_those_of_reports_and_small_signals_are_none() -> None:
    names, units = ('FX', 'FY', 'FZ', 'NX', 'NY', 'NZ'), ['N'] * 3 + ['N m'] * 3
    measured = np.array([40.0, 10.0, 600.0, 4.0, 8.0, 2.0])
    left = np.array([24.0, 9.0, 6.0, 0.4, 3.0, 1.5])  # FY is small beside FZ
    assert badly_reconstructed(names, units, left, measured, {}) == [
        'FX (0.6 of its rms)',
        'NZ (0.75 of its rms)',
    ]


def test_moments_of_less_than_the_weight_at_a_hundredth_of_the_size_are_not_bad() -> None:
    from veh_identification.simulation.humanoid.scenarios import robot_path
    from veh_identification.systems.humanoid.live.model import ContactModel, live_configuration
    from veh_identification.systems.humanoid.robot import load_robot

    names, units = ('FX', 'FY', 'FZ', 'NX', 'NY', 'NZ'), ['N'] * 3 + ['N m'] * 3
    measured = np.array([40.0, 50.0, 600.0, 4.0, 5.0, 3.0])
    left = np.array([24.0, 9.0, 6.0, 3.1, 2.6, 1.9])
    allowed = negligible_moments(600.0, 0.5)  # 3 N m
    assert badly_reconstructed(names, units, left, measured, allowed) == [
        'FX (0.6 of its rms)',  # of forces nothing is negligible
        'NX (0.78 of its rms)',
    ]
    # The small robot: half a metre high, so that hardly anything is.
    robot = load_robot(robot_path())
    setting = live_configuration(9.80665, 20.0)
    joints = robot.moving_joints()
    model = ContactModel(robot, joints, {}, [], True, 0.3, setting, np.zeros(3), 0.1)
    assert 0.1 < model.problem.size < 0.25
