"""A fusion whose process ends and goes on in another, against one that only did not hear."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from inertial_runs import ANTENNA, MOUNT, POINT, START, Car, fixes, gnss, ns, options

from veh_identification.fusion import rotation
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.sensor_options import (
    GnssVelocityOptions,
    JointOptions,
    NonholonomicOptions,
    WheelOptions,
)
from veh_identification.saved_state import SavedState, StateError, read_state, write_state

KEPT, SECONDS = 12.0, 20.0
BIAS = np.array([0.01, -0.008, 0.012, 0.05, -0.04, 0.03])


def core() -> FusionCore:
    return FusionCore(
        options(
            gnss=gnss(),
            gnss_velocity=GnssVelocityOptions(topic='vel', std=0.05),
            nonholonomic=NonholonomicOptions(axes='yz', std=0.1),
        )
    )


def samples() -> list[tuple[str, float, tuple[float, ...]]]:
    car, rng = Car(heading=2.0), np.random.default_rng(3)
    found = fixes(car, SECONDS, 0.2, rng)
    for k in range(int(SECONDS * 10)):
        t = k / 10
        v = car.velocity(t) + car.R(t) @ np.cross(car.omega(t), ANTENNA)
        found.append(('gnss_velocity', t, tuple(v + 0.05 * rng.normal(size=3))))
    noise = np.repeat([2e-3, 2e-2], 3)
    for k in range(int(SECONDS * 100)):
        t = k / 100
        values = car.imu(t, np.array(POINT), MOUNT, True) + BIAS + noise * rng.normal(size=6)
        found.append(('imu', t, tuple(values.tolist())))
    return sorted(found, key=lambda one: one[1])


def feed(fusion: FusionCore, some: list[tuple[str, float, tuple[float, ...]]]) -> list:
    states = []
    for name, t, values in some:
        fusion.push(name, ns(t), values)
        states += fusion.poll()
    return states


@pytest.fixture(scope='module')
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[list, FusionCore, Path]:
    """All samples, a fusion that heard those up to KEPT, and its state on the disk."""
    data, fusion = samples(), core()
    feed(fusion, [one for one in data if one[1] < KEPT])
    path = tmp_path_factory.mktemp('kept') / 'fusion.npz'
    write_state(path, fusion.state())
    return data, fusion, path


def test_behind_a_short_gap_it_is_where_one_is_that_did_not_hear(
    kept: tuple[list, FusionCore, Path],
) -> None:
    data, fusion, path = kept
    later = [one for one in data if one[1] >= KEPT + 0.3]
    other = core()
    assert 'place and attitude' in other.restore(read_state(path))
    ours, theirs = feed(other, later), feed(fusion, later)
    assert ours[0].base.pose_valid and ours[0].stamp_ns < ns(KEPT + 0.4)
    last = {state.stamp_ns: state.base for state in theirs}
    for state in ours[-50:]:
        base, twin = state.base, last[state.stamp_ns]
        assert math.dist(base.position, twin.position) < 0.02
        turn = rotation.yaw_of(base.orientation) - rotation.yaw_of(twin.orientation)
        assert abs(math.remainder(turn, 2 * math.pi)) < 2e-3
        assert np.allclose(base.velocity, twin.velocity, atol=0.02)


def test_behind_a_long_gap_attitude_and_heading_are_found_anew(
    kept: tuple[list, FusionCore, Path],
) -> None:
    data, _, path = kept
    other, car = core(), Car(heading=2.0)
    other.restore(read_state(path))
    states = feed(other, [one for one in data if one[1] >= KEPT + 3.0])
    assert not states[0].base.pose_valid
    last = states[-1]
    t = (last.stamp_ns - START) * 1e-9
    assert last.base.pose_valid
    assert math.dist(last.base.position[:2], car.position(t)[:2]) < 0.5


def test_what_was_learnt_of_the_sensors_is_known_at_once(
    kept: tuple[list, FusionCore, Path],
) -> None:
    data, fusion, _ = kept
    learnt = fusion.navigator.learnt()
    assert learnt.noise.wanted < 1.0 and learnt.noise.surprise
    healths = fusion.records['gnss'].healths
    before, healths[''].scatter = healths[''].scatter, 4.0
    stored = SavedState(fusion.state())
    healths[''].scatter = before
    other = core()
    other.restore(stored)
    assert other.navigator.imu_noise.learnt() == learnt.noise
    filter_, share = other.navigator.filter, fusion.navigator.imu_noise.shares()[0]
    assert filter_.gyro_density == share * filter_.noise.gyro < filter_.noise.gyro
    feed(other, [one for one in data if KEPT <= one[1] < KEPT + 1.5])
    assert other.records['gnss'].healths[''].scatter > 3.0


def test_wheels_are_known_with_their_differences(kept: tuple[list, FusionCore, Path]) -> None:
    names, seen = ['left', 'right'], {'left': (0.01, 1e-3), 'right': (-0.01, 0.0)}

    def rolling() -> FusionCore:
        joints = JointOptions(topic='joints')
        return FusionCore(options(gnss=gnss(), joints=joints, wheels=WheelOptions(rear=names)))

    fusion, other = rolling(), rolling()
    feed(fusion, [one for one in kept[0] if one[1] < 1.0 and one[0] != 'gnss_velocity'])
    for wheel in fusion.wheels.wheels:
        wheel.difference, wheel.tick = seen[wheel.name]
    other.restore(SavedState(fusion.state()))
    assert {one.name: (one.difference, one.tick) for one in other.wheels.wheels} == seen


def test_a_state_without_anything_learnt_is_taken(kept: tuple[list, FusionCore, Path]) -> None:
    """As an earlier version has written it."""
    state = {k: v for k, v in read_state(kept[2]).items() if not k.startswith('learnt_')}
    other = core()
    other.restore(SavedState(state))
    assert other.navigator.imu_noise.wanted == 1.0


@pytest.mark.parametrize(
    ('key', 'value', 'reason'),
    [
        ('learnt_noise', np.array([2.0, 0.0, 0.0, 0.0]), 'wants 2 of what is configured'),
        ('learnt_noise', np.array([0.5, -1.0, 0.0, 0.0]), 'learnt_noise'),
        ('learnt_noise', np.full(4, np.nan), 'not finite'),
        ('learnt_scatter', np.zeros(1), 'learnt_scatter'),
        ('learnt_wheels', np.ones((1, 2)), 'learnt_wheels'),
        ('motion', np.zeros(10), 'orientation of length 0'),
        ('motion', np.full(10, 1e12), 'further or faster'),
        ('motion', np.full(10, np.nan), 'not finite'),
        ('motion_covariance', -np.eye(24), 'negative eigenvalue'),
        ('motion_covariance', np.eye(3), 'expected 24 x 24'),
        ('motion_sample', np.zeros(5), 'expected 6'),
        ('motion_stamp', np.array([1, 2]), 'is not one stamp'),
        ('motion_stamp', np.array([-1]), 'no stamp'),
        ('gravity_removed', np.array(2.0), 'of flags'),
    ],
)
def test_a_damaged_motion_is_refused_and_changes_nothing(
    kept: tuple[list, FusionCore, Path], key: str, value: np.ndarray, reason: str
) -> None:
    other = core()
    before = other.navigator.filter.memory.copy()
    state = {**read_state(kept[2]), key: value}
    with pytest.raises(StateError, match=reason):
        other.restore(SavedState(state))
    assert np.array_equal(other.navigator.filter.memory, before)
