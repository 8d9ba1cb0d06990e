"""Plates that are turned, pull, are in kN or of another clock, and a base that is too high."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from humanoid_cases import CAD, record
from scipy.spatial.transform import Rotation
from test_checks import live_check, wrenches

from veh_identification.systems.driver import configured
from veh_identification.systems.humanoid.checks.comparison import Comparison
from veh_identification.systems.humanoid.setup import _assembled


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    """System, configuration and a clean recording on one plate."""
    system, config = configured('humanoid', None, {'urdf': CAD, 'estimate_delays': False})
    bag = record(tmp_path_factory.mktemp('places') / 'bag', kind='arms', duration=5.0)
    return system, config, system.read(bag, config)


@pytest.fixture(scope='module')
def bending(tmp_path_factory):
    """The same of a robot that stays where it is."""
    system, config = configured('humanoid', None, {'urdf': CAD, 'estimate_delays': False})
    bag = record(tmp_path_factory.mktemp('places') / 'bag', kind='bend')
    return system, config, system.read(bag, config)


def turned(degrees):
    """The plate's own axes turned about its normal."""
    turn = Rotation.from_euler('z', degrees, degrees=True)
    return wrenches(lambda v: np.hstack([turn.apply(v[:, :3]), turn.apply(v[:, 3:])]))


def higher(metres):
    """A base whose poses are too high."""

    def make(recording):
        values = recording.base.values + np.array([0.0, 0.0, metres, 0.0, 0.0, 0.0, 0.0])
        return replace(recording, base=replace(recording.base, values=values))

    return make


def on_two(recording, change):
    """The load moves to and fro between two plates at one place, the second one is changed."""
    (one,) = recording.wrenches
    share = 0.5 + 0.2 * np.sin(3.0 * one.series.stamps)[:, None]
    first = replace(one.series, values=share * one.series.values)
    second = replace(one.series, values=change((1.0 - share) * one.series.values))
    return replace(
        recording,
        wrenches=(
            replace(one, series=first),
            replace(one, topic='force_plate_2/wrench', series=second),
        ),
    )


def bad(told):
    return [one for one in told if one.level == 'bad']


@pytest.mark.parametrize('degrees', [-15.0, 20.0])
def test_a_plate_that_is_turned_is_named_with_its_angle(walk, degrees: float) -> None:
    system, config, recording = walk
    (cause,) = bad(system.checks(turned(degrees)(recording), config))
    told = re.search(r'turned by (-?[\d.]+) degrees', cause.text)
    # The masses of the URDF, from which it is found, are off.
    assert cause.code == 'plate_yaw' and told and float(told[1]) == pytest.approx(-degrees, abs=2)


@pytest.mark.parametrize(('metres', 'word'), [(0.1, '10 cm too high'), (-0.12, '12 cm too low')])
def test_a_base_at_another_height_than_the_plates_is_named(walk, metres: float, word: str) -> None:
    system, config, recording = walk
    (cause,) = bad(system.checks(higher(metres)(recording), config))
    assert cause.code == 'base_shifted' and word in cause.text


def test_live_says_both_as_well(walk) -> None:
    for change, code in ((turned(20.0), 'plate_yaw'), (higher(0.1), 'base_shifted')):
        check = live_check(change(walk[2]))
        while check.step():
            pass
        assert [one.code for one in bad(check.findings)] == [code]


def test_one_plate_in_kilonewtons_beside_another_is_not_empty(walk) -> None:
    """Its loads look like the noise of a plate that nobody stands on."""
    system, config, recording = walk
    (cause,) = bad(system.checks(on_two(recording, lambda v: 1e-3 * v), config))
    assert cause.code == 'unit' and 'force_plate_2/wrench seems to be in kN' in cause.text


def test_a_plate_that_pulls_for_a_while_is_named(bending) -> None:
    """Both together carry little then, as in a flight, and the rest of the recording fits."""
    system, config, recording = bending

    def late(values):
        sign = np.where(np.arange(len(values)) < len(values) // 2, 1.0, -1.0)
        return values * sign[:, None]

    assert not bad(system.checks(on_two(recording, lambda v: v), config))
    (cause,) = bad(system.checks(on_two(recording, late), config))
    assert cause.code == 'opposite_sign' and 'force_plate_2/wrench' in cause.text


def test_a_change_that_lets_the_robot_float_explains_nothing(bending) -> None:
    _, config, recording = bending
    made = _assembled(config.described, [recording], 1, config.configuration)
    comparison = Comparison(made.problem, made.raws[0])
    raw = comparison.raw
    half = np.where(np.arange(len(raw.stamps)) < len(raw.stamps) // 2, 1.0, 0.0)
    assert np.isfinite(comparison.misfit(replace(raw, wrenches=raw.wrenches.copy())).all)
    assert (
        comparison.misfit(replace(raw, wrenches=raw.wrenches * half[:, None, None])).all == np.inf
    )


def with_clock(recording, share):
    """Plates whose clock runs too fast by a share."""
    faster = tuple(
        replace(one, series=replace(one.series, stamps=(1.0 + share) * one.series.stamps))
        for one in recording.wrenches
    )
    return replace(recording, wrenches=faster)


@pytest.mark.parametrize('share', [0.0, 0.008, -0.005])
def test_clocks_that_do_not_run_equally_fast_are_told_with_their_growth(walk, share) -> None:
    """The mean delay is taken off, the growth is only told."""
    system, config, recording = walk
    wanted = replace(config, configuration=replace(config.configuration, estimate_delays=True))
    found = system.checks(with_clock(recording, share), wanted)
    told = [one for one in found if one.code == 'clock_drift']
    if not share:
        assert not told
        return
    (drift,) = told
    seconds = float(np.ptp(recording.wrenches[0].series.stamps))
    assert drift.level == 'warn'
    assert drift.size == pytest.approx(-share * seconds, abs=0.2 * abs(share) * seconds)


def test_live_tells_clocks_that_do_not_run_equally_fast(walk) -> None:
    check = live_check(with_clock(walk[2], 0.008))
    while check.step():
        pass
    assert 'clock_drift' in [one.code for one in check.findings if one.level == 'warn']
