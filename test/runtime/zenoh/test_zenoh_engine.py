"""Nodes on the zenoh engine inside one process; every engine is a session of its own."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip('zenoh', reason='eclipse-zenoh is not installed')

from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.qos import LATCHED, SENSOR_DATA, QoS
from veh_identification.runtime.zenoh import ZenohEngine
from veh_identification.runtime.zenoh_engine import graph, pubsub, wire

pytestmark = pytest.mark.zenoh

IMU = messages.message_class('sensor_msgs/msg/Imu')
STRING = messages.message_class('std_msgs/msg/String')
MakeEngine = Callable[..., ZenohEngine]


def text(data: str) -> Any:
    return messages.new('std_msgs/msg/String', data=data)


def matched(engine: ZenohEngine, publisher: Any, count: int = 1) -> None:
    assert engine.spin_until(lambda: publisher.get_subscription_count() >= count, 5.0)


def test_messages_arrive_complete_and_in_order(make_engine: MakeEngine) -> None:
    here, there = make_engine(), make_engine()
    talker = here.create_node('talker', '/robot')
    listener = there.create_node('listener', remappings=[('imu', '/robot/imu')])
    received: list[Any] = []
    local: list[Any] = []
    subscription = listener.create_subscription(IMU, 'imu', received.append, SENSOR_DATA)
    talker.create_subscription(IMU, 'imu', local.append, 100)
    publisher = talker.create_publisher(IMU, 'imu', 10)
    matched(here, publisher, 2)
    for k in range(50):
        publisher.publish(
            messages.new(
                'sensor_msgs/msg/Imu',
                header=messages.header(k, 'imu_link'),
                angular_velocity=(0.1, 0.2, k),
            )
        )
    assert there.spin_until(lambda: len(received) == 50, 5.0)
    assert here.spin_until(lambda: len(local) == 50, 5.0)
    for came in (received, local):
        assert [messages.stamp_ns(message) for message in came] == list(range(50))
        assert [message.angular_velocity.z for message in came] == list(range(50))
    assert received[0].header.frame_id == 'imu_link'
    assert (subscription.received, subscription.lost, subscription.rejected) == (50, 0, 0)
    assert there.spin_until(lambda: subscription.get_publisher_count() == 1, 5.0)


def test_callbacks_run_in_the_spinning_thread_only(make_engine: MakeEngine) -> None:
    engine, other = make_engine(), make_engine()
    node = engine.create_node('node')
    threads: set[int] = set()
    node.create_subscription(STRING, 'chatter', lambda _: threads.add(threading.get_ident()), 10)
    node.create_timer(0.01, lambda: threads.add(threading.get_ident()))
    publisher = other.create_node('other').create_publisher(STRING, 'chatter', 10)
    matched(other, publisher)
    publisher.publish(text('hello'))
    time.sleep(0.1)
    assert not threads
    engine.spin(0.1)
    assert threads == {threading.get_ident()}


def test_a_full_queue_keeps_the_newest_and_counts_the_rest(make_engine: MakeEngine) -> None:
    log = io.StringIO()
    here, there = make_engine(), make_engine(log_stream=log)
    received: list[str] = []
    subscription = there.create_node('slow').create_subscription(
        STRING, 'chatter', lambda message: received.append(message.data), 5
    )
    publisher = here.create_node('fast').create_publisher(STRING, 'chatter', 100)
    matched(here, publisher)
    publisher.publish(text('first'))
    assert there.spin_until(lambda: received == ['first'], 5.0)
    for k in range(20):
        publisher.publish(text(str(k)))
    end = time.monotonic() + 5.0
    while subscription.discarded < 15 and time.monotonic() < end:
        time.sleep(0.01)  # nobody spins meanwhile
    # Copies: what is of zenoh keeps the packet in which it came, 15 kB a message and more.
    assert all(type(one.payload) is type(one.attachment) is bytes for one in subscription._queue)
    assert there.spin_until(lambda: received[-1] == '19', 5.0)
    assert received == ['first', '15', '16', '17', '18', '19']
    assert subscription.lost == subscription.discarded == 15
    assert '/chatter: 15 messages lost so far' in log.getvalue()


def test_large_messages_that_wait_are_bounded(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue for thousands of small ones must not fill the memory with large ones."""
    monkeypatch.setattr(pubsub, 'MOST_QUEUED', 3_500_000)
    here, there = make_engine(), make_engine(log_stream=io.StringIO())
    received: list[str] = []
    publisher = here.create_node('source').create_publisher(STRING, 'big', 1000)
    subscription = there.create_node('sink').create_subscription(
        STRING, 'big', lambda m: received.append(m.data[0]), QoS(1000, reliable=True)
    )
    matched(here, publisher)
    publisher.publish(text('first'))
    assert there.spin_until(lambda: received == ['f'], 5.0)
    for letter in 'abcdefgh':
        publisher.publish(text(letter * 1_000_000))
    end = time.monotonic() + 5.0
    while subscription.discarded < 5 and time.monotonic() < end:
        time.sleep(0.01)  # nobody spins meanwhile
    assert subscription._queued_bytes < 3_500_000
    assert there.spin_until(lambda: received[-1:] == ['h'], 5.0)
    assert received == ['f', 'f', 'g', 'h'] and subscription._queued_bytes == 0
    assert subscription.lost == subscription.discarded == 5


def test_latched_messages_reach_late_subscribers(make_engine: MakeEngine) -> None:
    here, there = make_engine(), make_engine()
    publisher = here.create_node('source').create_publisher(STRING, 'results', LATCHED)
    # Before two sessions know each other a publisher sends to all, late subscribers included.
    assert there.spin_until(lambda: bool(there.graph.published_topics()), 5.0)
    for k in range(3):
        publisher.publish(text(f'result {k}'))
    late: list[str] = []
    node = there.create_node('late')
    node.create_subscription(STRING, 'results', lambda m: late.append(m.data), LATCHED)
    assert there.spin_until(lambda: bool(late), 5.0)
    assert late == ['result 2']
    publisher.publish(text('result 3'))
    assert there.spin_until(lambda: len(late) == 2, 5.0)
    assert late == ['result 2', 'result 3']
    there.spin(0.5)  # the answer to a query may have been faster than the message itself
    volatile: list[str] = []
    node.create_subscription(STRING, 'results', lambda m: volatile.append(m.data), 10)
    there.spin(0.3)
    assert volatile == []


def test_latched_messages_of_late_publishers_arrive_once(make_engine: MakeEngine) -> None:
    here, there = make_engine(), make_engine()
    received: list[str] = []
    there.create_node('early').create_subscription(
        STRING, 'results', lambda m: received.append(m.data), QoS(10, transient_local=True)
    )
    publisher = here.create_node('source').create_publisher(
        STRING, 'results', QoS(10, transient_local=True)
    )
    # One at first: zenoh leaves out what is older than a message that overtakes the discovery of
    # its publisher (about one run in a hundred).
    for count, data in ((1, ['0']), (4, ['1', '2', '3'])):
        for item in data:
            publisher.publish(text(item))
        assert there.spin_until(lambda n=count: len(received) >= n, 5.0)
    there.spin(0.3)
    assert received == ['0', '1', '2', '3']


def test_undecodable_messages_are_counted_and_named(make_engine: MakeEngine) -> None:
    log = io.StringIO()
    engine, other = make_engine(log_stream=log), make_engine()
    received: list[Any] = []
    subscription = engine.create_node('node').create_subscription(
        IMU, 'imu', received.append, SENSOR_DATA
    )
    publisher = other.create_node('other').create_publisher(IMU, 'imu', 10)
    matched(other, publisher)
    publisher.publish_serialized(b'\x00\x01\x00\x00\x05')
    other.session.put(subscription.endpoint.key, b'no attachment')
    assert engine.spin_until(lambda: subscription.rejected == 2, 5.0)
    assert received == []
    assert '/imu: 1 messages rejected' in log.getvalue()


def test_publishing_the_wrong_type(make_engine: MakeEngine) -> None:
    publisher = make_engine().create_node('node').create_publisher(IMU, 'imu', 10)
    with pytest.raises(MessageError, match=r'/imu takes sensor_msgs/msg/Imu, got .*String'):
        publisher.publish(text('not an IMU'))


def test_the_graph_knows_who_comes_and_goes(make_engine: MakeEngine) -> None:
    here, there = make_engine(), make_engine()
    node = here.create_node('talker', '/robot')
    node.create_publisher(IMU, 'imu', SENSOR_DATA)
    assert there.spin_until(
        lambda: there.graph.published_topics() == {'/robot/imu': 'sensor_msgs/msg/Imu'}, 5.0
    )
    assert there.graph.nodes() == ['/robot/talker']
    assert there.graph.offered_qos('/robot/imu') == SENSOR_DATA
    seen = there.graph.endpoints(wire.PUBLISHER)[0]
    assert (seen.node.session_id, seen.node.namespace) == (str(here.session.zid()), '/robot')
    node.destroy_node()
    assert there.spin_until(lambda: not there.graph.nodes(), 5.0)
    assert there.graph.published_topics() == {}


def test_domains_do_not_meet(make_engine: MakeEngine) -> None:
    one, two = make_engine(domain=1), make_engine(domain=2)
    received: list[Any] = []
    two.create_node('listener').create_subscription(STRING, 'chatter', received.append, 10)
    publisher = one.create_node('talker').create_publisher(STRING, 'chatter', 10)
    two.spin(0.1)
    publisher.publish(text('hello'))
    two.spin(0.2)
    assert received == []
    assert publisher.get_subscription_count() == 0


def test_ever_new_publishers_are_not_kept(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can send with ever new identifiers: what is kept of them has an end."""
    monkeypatch.setattr(pubsub, 'MOST_PUBLISHERS', 5)
    here, there = make_engine(), make_engine()
    subscription = here.create_node('listener').create_subscription(STRING, 'x', print, 100)
    talker = there.create_node('talker').create_publisher(STRING, 'x', 100)
    matched(there, talker)
    for k in range(20):
        sent = wire.Attachment(1, 0, k.to_bytes(16, 'little')).encode()
        there.session.put(talker.endpoint.key, messages.serialize(text('a')), attachment=sent)
    assert here.spin_until(lambda: subscription.received == 20, 5.0)
    assert len(subscription._sequences) == 5


def test_ever_new_entities_are_not_kept(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, 'MOST_ENTITIES', 30)
    here, there = make_engine(), make_engine()
    node = there.create_node('crowd')
    for k in range(40):
        node.create_publisher(STRING, f't{k}', 1)
    assert here.spin_until(lambda: len(here.graph.published_topics()) >= 20, 5.0)
    here.spin(0.2)
    assert len(here.graph._entities) <= 30
    node.destroy_node()
    assert here.spin_until(lambda: not here.graph.published_topics(), 5.0)
    assert not [key for key in here.graph._counts if '/t' in key[1]]
