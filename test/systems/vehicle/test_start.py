"""A start at speed: places are those of the moment at which the filter begins."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from vehicle_cases import write_circle

from veh_identification.observation.streaming import OnlineObserver, OnlineOptions
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle
from veh_identification.systems.vehicle.observer.filter_setup import (
    STARTING_TILT,
    UNKNOWN_TILT,
    UPRIGHT_TILT,
    make_filter,
)
from veh_identification.systems.vehicle.observer.online import Known, VehicleSystem
from veh_identification.systems.vehicle.observer.sensor_models import ARM, ON_TIME
from veh_identification.systems.vehicle.observer.start import (
    Start,
    _carried,
    _creeping,
    _Motion,
    _wheel_angles,
    carried_back,
    with_sideslip,
)
from veh_identification.systems.vehicle.recording.reader import read
from veh_identification.systems.vehicle.recording.recording import Recording, Series
from veh_identification.systems.vehicle.recording.samples import arrived


def test_the_way_to_the_first_fix_has_no_gaps_at_its_ends():
    """20 m/s, samples from 3 to 13 ms, a fix at 19 ms: 0.38 m, not the 0.2 m between samples."""
    time = np.array([0.003, 0.013, 0.023])
    motion = _Motion(time, np.zeros((3, 3)), np.zeros(3), np.full(3, 20.0), np.zeros(3), None)
    way = _carried(motion, np.pi / 2, 0.0, 0.019, np.zeros(2))
    assert way == pytest.approx([0.0, 0.38], abs=1e-9)


@pytest.mark.parametrize('seconds', [0.005, 1.0])
def test_the_filter_begins_a_while_before_the_first_message(seconds):
    """On the circle that the car drives: centre and speed are the same."""
    at = Start(np.array([3.0, 4.0, 0.3]), 0.5, np.array([20.0, -10.0]), 0.2, 0.1, 0.1, 0.0)
    back = carried_back(at, seconds)
    assert back.yaw == pytest.approx(0.5 - 0.2 * seconds) and at.position[0] == 3.0

    def centre(one):
        return one.position[:2] + np.array([-one.velocity[1], one.velocity[0]]) / one.yaw_rate

    assert centre(back) == pytest.approx(centre(at), abs=1e-9)
    assert np.hypot(*back.velocity) == pytest.approx(np.hypot(20.0, 10.0))
    arc = np.hypot(*(at.position - back.position)[:2])
    assert arc == pytest.approx(np.hypot(20.0, 10.0) * seconds, rel=0.01)


@pytest.mark.parametrize('by_course', [True, False])
def test_a_sideslip_turns_what_is_not_known(by_course):
    """The course is known and the heading follows, or the other way round; a fix stays."""
    at = Start(
        *(np.array([3.0, 4.0, 0.3]), 0.5, np.array([12.0, 5.0]), 0.2, 0.1, 0.1, 0.0),
        by_fix=True,
        by_course=by_course,
        antenna=(1.2, 0.3),
    )
    found = with_sideslip(at, -0.05)
    if by_course:
        assert found.velocity is at.velocity and found.yaw == pytest.approx(0.55)

        def antenna(one):
            co, si = np.cos(one.yaw), np.sin(one.yaw)
            return one.position[:2] + [1.2 * co - 0.3 * si, 1.2 * si + 0.3 * co]

        assert antenna(found) == pytest.approx(antenna(at))
    else:
        assert found.yaw == at.yaw and found.position is at.position
        turned = np.arctan2(*found.velocity[::-1]) - np.arctan2(5.0, 12.0)
        assert turned == pytest.approx(-0.05) and np.hypot(*found.velocity) == pytest.approx(13.0)


@pytest.mark.parametrize('rate', [0.0, 1.2, -0.8])
@pytest.mark.parametrize('noise', [0.0, 0.1])
def test_a_car_that_creeps_is_not_taken_for_one_that_stands(rate, noise):
    """Counters of 40 teeth for a third of a second: 0.3 m/s are two teeth; one wheel is stuck."""
    time = np.arange(150) * 0.002
    tooth = 2.0 * np.pi / 40
    angle = rate * time[:, None] + np.array([0.01, 0.05, 0.08, 0.12])
    angle += noise * np.random.default_rng(3).standard_normal(angle.shape)
    angle = tooth * np.round(angle / tooth)
    angle[:, 1] = 7.0
    car = load(share_directory() / 'config' / 'buggy.yaml')
    none = Series(np.zeros(0), np.zeros((0, 4)))
    found = _creeping(car, SimpleNamespace(wheel_rate=none, wheel_angle=Series(time, angle)))
    assert found == pytest.approx(rate * car.geometry.wheel_radius, abs=0.15 * abs(rate))
    angle[:, :2] = np.nan  # sensors at the rear axle alone
    found = _creeping(car, SimpleNamespace(wheel_rate=none, wheel_angle=Series(time, angle)))
    assert found == pytest.approx(rate * car.geometry.wheel_radius, abs=0.15 * abs(rate))
    rates = np.tile(rate, (150, 4)) + noise * np.random.default_rng(4).standard_normal((150, 4))
    found = _creeping(car, SimpleNamespace(wheel_rate=Series(time, rates)))
    assert found == pytest.approx(rate * car.geometry.wheel_radius, abs=0.02 * abs(rate))


@pytest.mark.parametrize('seconds', [0.3, 0.5])
@pytest.mark.parametrize('noise', [0.0, 0.002])
def test_a_car_that_drives_off_stands_at_the_start(seconds, noise):
    """However much is heard before: live less than from a file."""
    time = np.arange(round(seconds / 0.002)) * 0.002
    rng = np.random.default_rng(5)
    angle = 0.5 * 1.5 * time[:, None] ** 2 + noise * rng.standard_normal((len(time), 4))
    car = load(share_directory() / 'config' / 'buggy.yaml')
    none = Series(np.zeros(0), np.zeros((0, 4)))
    assert _creeping(car, SimpleNamespace(wheel_rate=none, wheel_angle=Series(time, angle))) == 0.0
    rates = 1.5 * time[:, None] + noise * rng.standard_normal((len(time), 4))
    assert _creeping(car, SimpleNamespace(wheel_rate=Series(time, rates))) == 0.0


def started(by_fix):
    """The filter of a car that drives east at 15 m/s, its place known to 3 cm."""
    car = load(share_directory() / 'config' / 'road_drive.yaml')

    def series(*row):
        return Series(np.array([0.1]), np.array([row], dtype=float))

    none = Series(np.zeros(0), np.zeros((0, 3)))
    recording = Recording(
        0,
        None,
        series(0.0, 0.0, 0.0),
        series(0.0, 0.0, 9.8),
        series(1.2, 0.0, 1.5),
        series(15.0, 0.0),
        none,
        series(45.0, 45.0, 45.0, 45.0),
        none,
        none,
        none,
    )
    place, deviation = np.array([0.0, 0.0, 0.332]), 0.03
    start = Start(place, 0.0, np.array([15.0, 0.0]), 0.0, deviation, 0.02, 0.0, 0.2, by_fix=by_fix)
    return make_filter(car, recording, start)


def covariance_of(filter_):
    """And where its parameters are in it."""
    first = filter_.size - len(filter_.parameters)
    names = {name: first + k for k, name in enumerate(filter_.parameter_names)}
    return filter_.P, names


def test_a_place_that_a_fix_told_errs_with_the_fix():
    """With its delay, the place of the antenna and the heading: it tells nothing of them."""
    P, names = covariance_of(started(True))
    late, along, across = (names[f'gps.{name}'] for name in ('delay', 'arm_x', 'arm_y'))
    assert P[0, late] == pytest.approx(15.0 * ON_TIME**2, rel=1e-3)
    assert P[0, along] == pytest.approx(-(ARM**2), rel=1e-3)
    assert P[1, across] == pytest.approx(-(ARM**2), rel=1e-3)
    assert P[1, 3] == pytest.approx(-1.2 * 0.02**2, rel=1e-3)
    own = 0.03**2 + ARM**2 + (1.2 * UNKNOWN_TILT) ** 2  # the antenna is 1.2 m high
    assert P[0, 0] == pytest.approx(own + (15.0 * ON_TIME) ** 2, rel=1e-2)
    assert P[1, 1] == pytest.approx(own + (1.2 * 0.02) ** 2, rel=1e-2)
    assert P[late, late] == pytest.approx(ON_TIME**2) and P[along, along] == pytest.approx(ARM**2)
    assert np.linalg.eigvalsh(P).min() > -1e-9
    P, names = covariance_of(started(False))
    assert P[0, 0] == pytest.approx(0.03**2) and P[0, names['gps.delay']] == 0.0


def test_what_an_earlier_run_knew_of_the_fixes_makes_the_place_better_known():
    """Found by bench/fuzz.py: the covariance of the new start was none, the filter ran away."""
    filter_ = started(True)
    P, names = covariance_of(filter_)
    late, before = names['gps.delay'], P[0, 0]
    east = float(filter_.vehicle.model.q[0])
    Known(None, {'gps.delay': (0.01, 0.001**2)}).apply(filter_)
    assert P[late, late] == pytest.approx(0.001**2)
    assert filter_.parameter('gps.delay') == 0.01
    assert P[0, late] == pytest.approx(15.0 * 0.001**2, rel=1e-2)
    assert before - P[0, 0] == pytest.approx(15.0**2 * (ON_TIME**2 - 0.001**2), rel=1e-2)
    assert filter_.vehicle.model.q[0] - east == pytest.approx(15.0 * 0.01, rel=1e-2)
    assert np.linalg.eigvalsh(P).min() > -1e-9


@pytest.mark.parametrize('count', [3, 200])  # by the speed of the car, by its own turning
def test_a_wheel_that_is_heard_later_has_turned_until_then(count):
    """Found by bench/fuzz.py: wheels first heard 60 ms behind the start were set aside."""
    car = load(share_directory() / 'config' / 'buggy.yaml')
    time = 0.06 + 0.002 * np.arange(count)
    rates = np.array([30.0, 31.0, 30.0, 31.0]) if count > 3 else np.full(4, 30.0)
    angles = Series(time, 100.0 + time[:, None] * rates)
    none = Series(np.zeros(0), np.zeros((0, 3)))
    recording = Recording(0, None, *[none] * 4, angles, *[none] * 4)
    found = _wheel_angles(car, recording, 30.0 * car.geometry.wheel_radius)
    assert found == pytest.approx(np.full(4, 100.0), abs=1e-6)


def test_a_wheel_that_is_heard_once_before_a_pause_turns_as_the_car_drives():
    """Found by bench/fuzz.py: a line through one message ended the callback."""
    car = load(share_directory() / 'config' / 'buggy.yaml')
    time = np.array([0.06, 0.5, 0.502])
    angles = Series(time, np.broadcast_to(100.0 + 30.0 * time[:, None], (3, 4)).copy())
    none = Series(np.zeros(0), np.zeros((0, 3)))
    recording = Recording(0, None, *[none] * 4, angles, *[none] * 4)
    found = _wheel_angles(car, recording, 30.0 * car.geometry.wheel_radius)
    assert found == pytest.approx(np.full(4, 100.0), abs=1e-6)


def test_a_car_that_starts_in_a_bend_leans_already():
    """Found by bench/fuzz.py: put down level it rolled, and the gyroscope was set aside for it.

    A level body would have rolled through half of its 0.03 rad in the 0.2 s that it drives on.
    """
    car = load(share_directory() / 'config' / 'buggy.yaml')
    none = Series(np.zeros(0), np.zeros((0, 3)))
    place, velocity = np.array([0.0, 0.0, 0.28]), np.array([8.2, 0.0])
    torques = (0.0, 0.0, 60.0, 60.0)
    start = Start(place, 0.0, velocity, 0.31, 0.1, 0.03, 0.01, 0.38, torques=torques)
    filter_ = make_filter(car, Recording(0, None, *[none] * 9), start)
    model = filter_.vehicle.model
    begun, wheels = model.z.copy(), model.zd[6:10].copy()
    assert wheels[1] - wheels[0] > 1.5  # the outer one is faster
    assert np.arctan2(*model.zd[1::-1]) == pytest.approx(-0.017, abs=0.005)
    for _ in range(35):
        filter_.predict(car.observer.step, Inputs(torques, rack=0.01))
    assert abs(float(model.zd[5])) < 0.02  # level it was 0.08 rad/s by then
    for _ in range(65):
        filter_.predict(car.observer.step, Inputs(torques, rack=0.01))
    assert begun[5] == pytest.approx(float(model.z[5]), abs=0.002) and begun[5] > 0.02
    assert begun[10:] == pytest.approx(model.z[10:], abs=0.002)


@pytest.mark.parametrize(('brake', 'tilt'), [(0.0, STARTING_TILT), (-3000.0, UPRIGHT_TILT)])
def test_a_lean_that_could_not_be_found_is_not_said_to_be_known(brake, tilt):
    """Inputs with which the car does not keep its speed: upright, and unsure of it."""
    car = load(share_directory() / 'config' / 'buggy.yaml')
    none = Series(np.zeros(0), np.zeros((0, 3)))
    place, velocity = np.array([0.0, 0.0, 0.28]), np.array([8.2, 0.0])
    start = Start(place, 0.0, velocity, 0.31, 0.1, 0.03, 0.01, 0.38, torques=(brake,) * 4)
    filter_ = make_filter(car, Recording(0, None, *[none] * 9), start)
    assert np.sqrt(np.diag(filter_.P)[4:6]) == pytest.approx(tilt)
    leans = abs(float(filter_.vehicle.model.z[5]))
    assert leans > 0.02 if tilt == STARTING_TILT else leans < 1e-9


def test_speed_wheels_and_heading_of_a_car_that_drives_err_together():
    """Corrected one without the others, its tyres would push it."""
    car = load(share_directory() / 'config' / 'buggy.yaml')
    none = Series(np.zeros(0), np.zeros((0, 3)))
    velocity = np.array([0.0, 8.0])
    start = Start(np.array([0.0, 0.0, 0.28]), np.pi / 2, velocity, 0.0, 0.1, 0.03, 0.0, 0.4)
    P = make_filter(car, Recording(0, None, *[none] * 9), start).P
    n, radius = 10, car.geometry.wheel_radius
    assert P[n + 1, n + 1] == pytest.approx(0.4**2)
    slip = P[n + 6, n + 6] * radius**2 + P[n + 1, n + 1] - 2.0 * radius * P[n + 1, n + 6]
    assert np.sqrt(slip) < 0.01 * 8.0
    aside = P[n, n] + 8.0**2 * P[3, 3] + 2.0 * 8.0 * P[n, 3]
    assert np.sqrt(aside) < 0.03 * 8.0
    assert np.linalg.eigvalsh(P).min() > -1e-9


def test_a_car_that_drives_already_need_not_head_as_it_did_at_its_start(tmp_path):
    """The recording was cut: the heading of the configuration holds no more, nor surely so."""
    car = load(share_directory() / 'config' / 'buggy.yaml')
    recording = read(write_circle(tmp_path / 'circle', 4.0), car, Vehicle(car).rack_per_angle())
    cut = list(arrived(recording, car))
    begin = cut[0].time_ns + round(2.9e9)
    said = []
    observer = OnlineObserver(
        VehicleSystem(car, say=said.append), OnlineOptions(), lambda *made: None
    )
    for item in cut:
        if item.time_ns >= begin:
            observer.push(item.key, item.time_ns, item.payload)
            observer.poll()
    observer.finish()
    trusts = [c.trust for c in observer.session.filter.channels.values() if c.trust is not None]
    assert len(trusts) == 8 and not any(trust.episodes for trust in trusts)
