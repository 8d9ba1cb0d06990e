"""The fusion on a drive of the road car, whose simulator it shares no code with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fusion_harness import Recorded, prepare
from scipy.spatial.transform import Rotation

from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.simulation.road_car.drive import drive
from veh_identification.simulation.sensors import EPOCH_NS

CONFIG = Path(__file__).parents[2] / 'config' / 'sensor_fusion_road_drive.yaml'


@pytest.fixture(scope='module')
def road(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    return written(tmp_path_factory.mktemp('road'), 501)


def written(folder: Path, seed: int, seconds: float = 30.0) -> tuple[Path, dict[str, Any]]:
    """A drive and its truth."""
    driven = drive(seed, duration=seconds)
    with BagWriter(folder / 'drive') as writer:
        driven.write(writer, truth=False)
    return folder / 'drive', driven.truth()


def fused(
    road: tuple[Path, dict[str, Any]], change: Callable[[str, Any], None]
) -> tuple[set[str], float]:
    """Codes of what is told, and the largest error of place or heading after 20 s in sigma."""
    path, truth = road
    with BagReader([path]) as reader:
        start = min(info.start_ns for info in reader.info())
        result = prepare({'rate': 10.0, 'publish_tf': False}, files=[CONFIG], start=start)
        wanted = [t for t in result.engine.input_topics() if t in reader.topics]
        source = []
        for raw in reader.raw(wanted):
            message = raw.decode()
            change(raw.topic, message)
            source.append(Recorded(raw.time_ns, raw.topic, raw.typename, message))
    result.engine.run(source)
    worst = 0.0
    for one in result.sink.messages('/odometry/fused'):
        stamp = one.header.stamp
        t = 1e-9 * (stamp.sec * 10**9 + stamp.nanosec - EPOCH_NS)
        if t < 20.0:
            continue
        p, variances = one.pose.pose.position, np.reshape(one.pose.covariance, (6, 6)).diagonal()
        for axis, (value, name) in enumerate(((p.x, 'x'), (p.y, 'y'))):
            error = value - np.interp(t, truth['time'], truth[name])
            worst = max(worst, float(abs(error) / np.sqrt(variances[axis])))
    found = {one.code for one in result.node.report.findings if one.level != 'note'}
    return found, worst


def moved(topic: str, seconds: float) -> Callable[[str, Any], None]:
    """Stamps of a topic moved."""

    def change(which: str, message: Any) -> None:
        if which == topic:
            stamp = message.header.stamp
            total = stamp.sec * 10**9 + stamp.nanosec + round(1e9 * seconds)
            stamp.sec, stamp.nanosec = divmod(total, 10**9)

    return change


def wrapped(topic: str, message: Any) -> None:
    if topic == '/joint_states':
        message.position = (np.array(message.position) + np.pi) % (2.0 * np.pi) - np.pi


def scattered() -> Callable[[str, Any], None]:
    rng = np.random.default_rng(3)

    def change(topic: str, message: Any) -> None:
        if topic == '/gps/fix':
            message.latitude += 3.0 / 111e3 * rng.standard_normal()
            message.longitude += 3.0 / 80e3 * rng.standard_normal()

    return change


def turning(bias: float, scale: float) -> Callable[[str, Any], None]:
    def change(topic: str, message: Any) -> None:
        if topic == '/imu/data':
            message.angular_velocity.z = bias + scale * message.angular_velocity.z

    return change


def test_as_it_is(road: tuple[Path, dict[str, Any]]) -> None:
    found, worst = fused(road, lambda topic, message: None)
    assert found == set()
    assert worst < 3.5


def test_encoders_that_begin_anew_change_nothing(road: tuple[Path, dict[str, Any]]) -> None:
    found, worst = fused(road, wrapped)
    assert found == set()
    assert worst < 3.5


def test_a_bias_of_the_gyroscope_moves_no_antenna(road: tuple[Path, dict[str, Any]]) -> None:
    found, worst = fused(road, turning(0.05, 1.0))
    assert found == set()
    assert worst < 3.5


def test_a_gyroscope_of_a_wrong_scale_is_named(road: tuple[Path, dict[str, Any]]) -> None:
    found, _ = fused(road, turning(0.0, 0.8))
    assert 'scale' in found
    # slip angles of turns that have not ended look like a tenth: it is told or does no harm
    found, worst = fused(road, turning(0.0, 0.9))
    assert 'scale' in found or worst < 3.5


def test_fixes_before_their_time_are_told(road: tuple[Path, dict[str, Any]]) -> None:
    """Velocities and wheels look late beside them; which of them is right is not known."""
    found, _ = fused(road, moved('/gps/fix', -0.05))
    assert 'fix_early' in found


def rounded(topic: str, message: Any) -> None:
    if topic == '/gps/fix':
        stamp = message.header.stamp
        total = (stamp.sec * 10**9 + stamp.nanosec) // 100_000_000 * 100_000_000
        stamp.sec, stamp.nanosec = divmod(total, 10**9)


def test_a_place_is_as_uncertain_as_fixes_may_be_early(road: tuple[Path, dict[str, Any]]) -> None:
    """Stamps of whole tenths are 21 ms early here, too little to be sure: 17 sigma before."""
    _, worst = fused(road, rounded)
    assert worst < 3.5


def test_wheels_do_not_decide_what_their_slip_hides(tmp_path: Path) -> None:
    """Here they seem punctual beside fixes that are 21 ms early: 16 sigma where that counted."""
    _, worst = fused(written(tmp_path, 510, 40.0), rounded)
    assert worst < 3.5


def rolled(degrees: float) -> Callable[[str, Any], None]:
    turn = Rotation.from_euler('x', degrees, degrees=True)

    def change(topic: str, message: Any) -> None:
        if topic == '/imu/data':
            for vector in (message.angular_velocity, message.linear_acceleration):
                vector.x, vector.y, vector.z = turn.apply([vector.x, vector.y, vector.z])

    return change


def test_an_imu_that_is_mounted_askew_is_told(road: tuple[Path, dict[str, Any]]) -> None:
    found, _ = fused(road, rolled(5.0))
    assert 'imu_turned' in found


def test_noise_that_nobody_stated_is_learnt(road: tuple[Path, dict[str, Any]]) -> None:
    """Three metres where two centimetres are stated: told, and no longer set aside for good."""
    found, worst = fused(road, scattered())
    assert 'noisier_than_stated' in found
    assert 'set_aside' not in found
    assert worst < 12.0


def test_a_gyroscope_in_degrees_is_named_though_the_filter_begins_anew_in_every_bend(
    road: tuple[Path, dict[str, Any]],
) -> None:
    found, _ = fused(road, turning(0.0, 57.29578))
    assert 'unit' in found
