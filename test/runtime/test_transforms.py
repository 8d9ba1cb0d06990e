import math

import numpy as np
import pytest

from veh_identification.errors import BagError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.transforms import (
    FrameError,
    StaticFrames,
    Transform,
    read_static_frames,
)


def matrix(t: Transform) -> np.ndarray:
    m = np.eye(4)
    m[:3, :3] = t.matrix
    m[:3, 3] = t.translation
    return m


def random_transform(rng: np.random.Generator) -> Transform:
    q = rng.normal(size=4)
    return Transform(tuple(rng.normal(size=3)), tuple(q / np.linalg.norm(q)))


def test_lookup_along_a_tree_equals_matrix_products() -> None:
    rng = np.random.default_rng(1)
    a, b, c, d = (random_transform(rng) for _ in range(4))
    frames = StaticFrames()
    frames.set('base_link', 'mast', a)
    frames.set('/mast', 'imu_link', b)
    frames.set('base_link', 'arm', c)
    frames.set('arm', 'sensor', d)
    expected = np.linalg.inv(matrix(c) @ matrix(d)) @ matrix(a) @ matrix(b)
    assert np.allclose(matrix(frames.lookup('sensor', 'imu_link')), expected, atol=1e-14)
    assert frames.lookup('arm', '/arm') == Transform()
    assert frames.frames() == ['arm', 'base_link', 'imu_link', 'mast', 'sensor']


def test_missing_chain_and_cycle_are_named() -> None:
    frames = StaticFrames()
    frames.set('base_link', 'imu_link', Transform())
    with pytest.raises(FrameError, match=r"connects 'gps' with 'base_link'.*imu_link"):
        frames.lookup('base_link', 'gps')
    with pytest.raises(FrameError, match='cycle: imu_link -> base_link'):
        frames.set('imu_link', 'base_link', Transform())
    with pytest.raises(FrameError, match='no rotation'):
        frames.set('base_link', 'x', Transform((0, 0, 0), (0.0, 0.0, 0.0, 0.0)))
    with pytest.raises(FrameError, match='no place'):
        frames.set('base_link', 'x', Transform((0, math.nan, 0)))


def test_repeating_a_transform_changes_nothing_and_a_later_one_replaces_it() -> None:
    frames = StaticFrames()
    t = Transform.from_rpy([1, 2, 3], [0.1, 0.2, 0.3])
    assert frames.set('a', 'b', t)
    version = frames.version
    assert not frames.set('a', 'b', t)
    assert (frames.version, frames.replaced) == (version, 0)
    assert frames.set('a', '/b', Transform((1.0, 0.0, 0.0)))
    assert frames.replaced == 1
    assert frames.lookup('a', 'b').translation == (1.0, 0.0, 0.0)


def message(*entries) -> object:
    return messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            {
                'header': messages.header(0, parent),
                'child_frame_id': child,
                'transform': {'translation': place, 'rotation': quaternion},
            }
            for parent, child, place, quaternion in entries
        ],
    )


STRAIGHT, TURNED = (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))
GOOD = message(
    ('base_link', 'mount', (1.0, 0.0, 0.5), TURNED), ('mount', 'imu_link', (0.2, 0, 0), TURNED)
)
BAD = message(
    ('base_link', 'imu_link', (9.0, 9.0, 9.0), STRAIGHT), ('mount', 'lidar', (0, 0, 0), (0,) * 4)
)


def test_a_second_parent_is_refused_and_said_once() -> None:
    frames = StaticFrames()
    assert frames.take(GOOD, 'first') == []
    one, other = frames.take(BAD, 'second')
    assert one == (
        'second: the static transform base_link -> imu_link contradicts mount -> imu_link '
        '(first): a frame has one parent; it is ignored'
    )
    assert 'mount -> lidar' in other and 'no rotation' in other
    assert frames.take(BAD, 'second') == []
    assert frames.refused == {'imu_link': one, 'lidar': other}
    assert frames.lookup('base_link', 'imu_link').translation == pytest.approx((1.0, 0.2, 0.5))
    assert frames.lookup('imu_link', 'base_link').rpy == pytest.approx((0, 0, math.pi), abs=1e-15)
    frames.take(message(('mount', 'lidar', (0, 0, 0), STRAIGHT)), 'third')
    assert frames.refused == {'imu_link': one}
    assert frames.sources('imu_link', 'lidar') == ['first', 'third']
    assert frames.sources('base_link', 'mount') == ['first']


def test_a_bag_gives_the_frames_that_the_messages_give_live(tmp_path) -> None:
    live = StaticFrames()
    with BagWriter(tmp_path / 'bag') as bag:
        for k, one in enumerate((GOOD, BAD)):
            live.take(one)
            bag.write_message('tf_static', one, k)
    with BagReader(tmp_path / 'bag') as reader:
        found, wrong = read_static_frames(reader)
        assert len(wrong) == 2 and all('bag, topic /tf_static: the' in text for text in wrong)
        assert found.frames() == live.frames()
        assert found.lookup('base_link', 'imu_link') == live.lookup('base_link', 'imu_link')
        assert read_static_frames(reader, [])[0].frames() == []


def test_a_topic_of_another_type_is_named(tmp_path) -> None:
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_message('tf_static', messages.new('std_msgs/msg/Bool'), 0)
    with (
        BagReader(tmp_path / 'bag') as reader,
        pytest.raises(BagError, match=r'/tf_static: it holds std_msgs/msg/Bool, expected tf2'),
    ):
        read_static_frames(reader)
