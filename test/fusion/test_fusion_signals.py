from __future__ import annotations

import math

import numpy as np
import pytest

from veh_identification.fusion.joints import JointGroup, JointTable
from veh_identification.fusion.statistics import InnovationStatistics
from veh_identification.fusion.track import Track


def sine_track(rate: float, half_width: float = 0.05, timeout: float = 0.5) -> Track:
    """Samples up to 1.1 s: a track remembers little more than its window."""
    track = Track(1, half_width, 4, timeout)
    for k in range(int(1.1 * rate) + 1):
        track.add(k / rate, (math.sin(3.0 * k / rate),))
    return track


def test_fast_signal_is_differentiated_without_phase_error() -> None:
    track = sine_track(200.0)
    value, first, second = track.at(1.0)
    assert value[0] == pytest.approx(math.sin(3.0), abs=1e-6)
    assert first[0] == pytest.approx(3.0 * math.cos(3.0), abs=1e-4)
    assert second[0] == pytest.approx(-9.0 * math.sin(3.0), abs=1e-2)
    assert not track.too_slow


def test_slow_signal_is_interpolated_and_named() -> None:
    track = sine_track(10.0)
    found = track.at(1.05)
    assert found is not None
    assert found[0][0] == pytest.approx(0.5 * (math.sin(3.0) + math.sin(3.3)), abs=1e-9)
    assert math.isnan(found[1][0])
    assert track.too_slow


def test_nothing_is_made_up_beyond_the_samples_or_in_a_hole() -> None:
    track = sine_track(100.0, timeout=0.1)
    assert track.at(1.2) is None
    track.add(1.5, (0.0,))
    assert track.at(1.3) is None
    # at the edge of the data there are values but no derivatives
    edge = sine_track(100.0).at(1.095)
    assert edge is not None
    assert math.isnan(edge[1][0])


def test_a_joint_in_two_groups_is_taken_from_the_valid_one() -> None:
    table = JointTable(['a', 'b'])
    for key, names in (('k1', ['a']), ('k2', ['a', 'b'])):
        table.add_group(
            key, JointGroup(names, True, False, Track(len(names), 0.05, 4, 0.2), frozenset())
        )
    for k in range(100):
        table.groups['k2'].track.add(k / 100, (1.0, 2.0))
    reading = table.at(0.93)
    assert reading.valid == [True, True]
    assert np.allclose(reading.positions, [1.0, 2.0])


def test_innovation_band_holds_white_noise() -> None:
    rng = np.random.default_rng(0)
    statistics = InnovationStatistics()
    for _ in range(200):
        statistics.add(rng.normal(size=3))
    mean, std, nis, lower, upper = statistics.summary()
    assert abs(mean) < 0.1 and abs(std - 1.0) < 0.1
    assert lower < nis < upper
    assert 0.85 < lower < 1.0 < upper < 1.15
