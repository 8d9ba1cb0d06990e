"""The replay engine: order, timers, latching, services, remapping, repeatability."""

from __future__ import annotations

import io
from dataclasses import dataclass

import pytest

from veh_identification.errors import MessageError, UsageError
from veh_identification.runtime import messages
from veh_identification.runtime.qos import LATCHED, SENSOR_DATA, SYSTEM_DEFAULT
from veh_identification.runtime.replay.engine import ReplayEngine

STRING = 'std_msgs/msg/String'
SECOND = 1_000_000_000


class ListSink:
    def __init__(self) -> None:
        self.rows: list[tuple[str, int, bytes]] = []

    def write(self, topic, typename, payload, time_ns, *, qos) -> None:
        self.rows.append((topic, time_ns, bytes(payload)))


def string(text: str):
    return messages.new(STRING, data=text)


@dataclass
class Item:
    time_ns: int
    text: str
    topic: str = '/in'
    typename: str = STRING

    def decode(self):
        return string(self.text)


item = Item


class Relay:
    """Publishes what it hears, with its own name behind."""

    def __init__(self, node, source: str, target: str) -> None:
        self.node = node
        cls = messages.message_class(STRING)
        self.publisher = node.create_publisher(cls, target, SYSTEM_DEFAULT)
        node.create_subscription(cls, source, self.hear, SYSTEM_DEFAULT)

    def hear(self, message) -> None:
        self.publisher.publish(string(f'{message.data}>{self.node.get_name()}'))


def test_graph_passes_on_at_the_same_node_time() -> None:
    sink = ListSink()
    engine = ReplayEngine(0, sink=sink)
    Relay(engine.create_node('second'), 'middle', 'out')
    Relay(engine.create_node('first'), 'in', 'middle')
    heard = []
    node = engine.create_node('listener')
    node.create_subscription(
        messages.message_class(STRING),
        'out',
        lambda m: heard.append((node.get_clock().now().nanoseconds, m.data)),
        SYSTEM_DEFAULT,
    )
    engine.run([item(5, 'a'), item(9, 'b')])
    assert heard == [(5, 'a>first>second'), (9, 'b>first>second')]
    assert [(row[0], row[1]) for row in sink.rows] == [
        ('/middle', 5),
        ('/out', 5),
        ('/middle', 9),
        ('/out', 9),
    ]
    assert engine.input_topics() == ['/in']
    assert engine.output_topics() == ['/middle', '/out']


def test_timers_fire_at_exact_times_and_after_messages_of_their_instant() -> None:
    engine = ReplayEngine(0)
    node = engine.create_node('n')
    log: list[tuple[str, int]] = []
    node.create_timer(0.1, lambda: log.append(('timer', engine.now_ns)))
    node.create_subscription(
        messages.message_class(STRING),
        'in',
        lambda m: log.append((m.data, engine.now_ns)),
        SENSOR_DATA,
    )
    tenth = SECOND // 10
    engine.run([item(tenth // 2, 'a'), item(2 * tenth, 'b'), item(2 * tenth + 1, 'c')])
    assert log == [
        ('a', tenth // 2),
        ('timer', tenth),
        ('b', 2 * tenth),
        ('timer', 2 * tenth),
        ('c', 2 * tenth + 1),
    ]


def test_timer_cancel_and_reset() -> None:
    engine = ReplayEngine(0)
    node = engine.create_node('n')
    fired: list[int] = []
    timer = node.create_timer(1.0, lambda: fired.append(engine.now_ns // SECOND))
    slow = node.create_timer(1.5, lambda: (timer.cancel(), slow.cancel()))
    engine.call_service_at(4 * SECOND, '/n/again')
    node.create_service(
        messages.service_class('std_srvs/srv/Trigger'),
        '~/again',
        lambda request, response: (timer.reset(), response)[1],
    )
    engine.run([item(0, 'x'), item(7 * SECOND, 'y')])
    assert fired == [1, 5, 6, 7]


def test_an_hours_jump_does_not_flood_timers() -> None:
    text = io.StringIO()
    engine = ReplayEngine(0, log_stream=text)
    node = engine.create_node('n')
    fired: list[int] = []
    node.create_timer(1.0, lambda: fired.append(engine.now_ns))
    start = 1_700_000_000 * SECOND
    engine.run([item(0, 'x'), item(start, 'y'), item(start + 2 * SECOND, 'z')])
    assert fired == [start + SECOND, start + 2 * SECOND]
    assert 'jumps forward' in text.getvalue()


def test_latched_messages_reach_late_subscribers() -> None:
    engine = ReplayEngine(0)
    cls = messages.message_class(STRING)
    publisher = engine.create_node('p').create_publisher(cls, 'latched', LATCHED)
    publisher.publish(string('old'))
    publisher.publish(string('new'))
    heard: list[str] = []
    engine.create_node('s').create_subscription(
        cls, 'latched', lambda m: heard.append(m.data), LATCHED
    )
    volatile: list[str] = []
    engine.create_node('v').create_subscription(
        cls, 'latched', lambda m: volatile.append(m.data), SYSTEM_DEFAULT
    )
    engine.run([])
    assert heard == ['new']
    assert volatile == []
    assert publisher.get_subscription_count() == 2


def test_incompatible_qos_is_said_and_nothing_is_delivered() -> None:
    text = io.StringIO()
    engine = ReplayEngine(0, log_stream=text)
    cls = messages.message_class(STRING)
    heard: list[str] = []
    engine.create_node('s').create_subscription(
        cls, 'x', lambda m: heard.append(m.data), SYSTEM_DEFAULT
    )
    publisher = engine.create_node('p').create_publisher(cls, 'x', SENSOR_DATA)
    publisher.publish(string('lost'))
    engine.run([])
    assert heard == []
    assert 'x from p does not reach s' in text.getvalue()
    assert 'requests reliable' in text.getvalue()


def test_services_and_their_errors() -> None:
    engine = ReplayEngine(0)
    node = engine.create_node('n', '/car')
    seen: list[bool] = []

    def enable(request, response):
        seen.append(request.data)
        response.success = True
        response.message = 'ok'
        return response

    node.create_service(messages.service_class('std_srvs/srv/SetBool'), '~/enable', enable)
    response = engine.call_service('/car/n/enable', data=True)
    assert (seen, response.success, response.message) == ([True], True, 'ok')
    with pytest.raises(UsageError, match='there is no service /nothing; there are /car/n/enable'):
        engine.call_service('/nothing')


def test_namespace_and_remapping() -> None:
    sink = ListSink()
    engine = ReplayEngine(0, sink=sink)
    Relay(
        engine.create_node('r', '/car', remappings=[('in', '/other'), ('out', 'result')]),
        'in',
        'out',
    )
    engine.run([item(1, 'ignored', '/car/in'), item(2, 'taken', '/other')])
    assert [(topic, time) for topic, time, _ in sink.rows] == [('/car/result', 2)]


def test_wrong_type_in_the_recording_is_named() -> None:
    engine = ReplayEngine(0)
    engine.create_node('n').create_subscription(
        messages.message_class('sensor_msgs/msg/Imu'), 'in', lambda m: None, SENSOR_DATA
    )
    with pytest.raises(MessageError, match=r'topic /in: the recording holds std_msgs/msg/String'):
        engine.run([item(1, 'x')])


def test_publishing_the_wrong_type_is_named() -> None:
    engine = ReplayEngine(0)
    publisher = engine.create_node('n').create_publisher(
        messages.message_class('sensor_msgs/msg/Imu'), 'out', SENSOR_DATA
    )
    with pytest.raises(MessageError, match=r'node n: /out takes sensor_msgs/msg/Imu'):
        publisher.publish(string('x'))


def test_two_nodes_with_different_types_on_one_topic_are_refused() -> None:
    engine = ReplayEngine(0)
    engine.create_node('a').create_publisher(
        messages.message_class('sensor_msgs/msg/Imu'), 'x', SENSOR_DATA
    )
    with pytest.raises(MessageError, match='node a publishes sensor_msgs/msg/Imu, node b expects'):
        engine.create_node('b').create_subscription(
            messages.message_class(STRING), 'x', lambda m: None, SENSOR_DATA
        )


def test_logger_throttles_on_node_time() -> None:
    text = io.StringIO()
    engine = ReplayEngine(0, log_stream=text)
    node = engine.create_node('n')
    logger = node.get_logger()
    node.create_subscription(
        messages.message_class(STRING),
        'in',
        lambda m: (
            logger.info('again', throttle_duration_sec=1.0),
            logger.info('first', once=True),
            logger.debug('hidden'),
        ),
        SENSOR_DATA,
    )
    engine.run([item(i * SECOND // 2, 'x') for i in range(5)])
    lines = text.getvalue().splitlines()
    assert sum('again' in line for line in lines) == 3
    assert sum('first' in line for line in lines) == 1
    assert not any('hidden' in line for line in lines)
    assert lines[0] == '[INFO] [0.000000000] [n]: again'
