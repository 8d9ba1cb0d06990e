"""The zenoh engine: services, parameters, timers, clock, logger, start and end."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('zenoh', reason='eclipse-zenoh is not installed')

from veh_identification.errors import InputError, ParameterError, UsageError
from veh_identification.runtime import messages
from veh_identification.runtime.parameters import ParameterDescriptor, refuse_unknown
from veh_identification.runtime.zenoh import ZenohEngine, default_domain, open_router
from veh_identification.runtime.zenoh_engine import services, wire

pytestmark = pytest.mark.zenoh

IMU = messages.message_class('sensor_msgs/msg/Imu')
STRING = messages.message_class('std_msgs/msg/String')
MakeEngine = Callable[..., ZenohEngine]


def text(data: str) -> Any:
    return messages.new('std_msgs/msg/String', data=data)


def matched(engine: ZenohEngine, publisher: Any, count: int = 1) -> None:
    assert engine.spin_until(lambda: publisher.get_subscription_count() >= count, 5.0)


@pytest.mark.parametrize('service', ['Trigger', 'SetBool', 'Empty'])
def test_services(make_engine: MakeEngine, service: str) -> None:
    here, there = make_engine(), make_engine()
    srv_type = messages.service_class(f'std_srvs/srv/{service}')
    requests: list[Any] = []

    def answer(request: Any, response: Any) -> Any:
        requests.append(request)
        if service != 'Empty':
            response.success, response.message = True, f'{service} done'
        return response

    here.create_node('server', '/ns').create_service(srv_type, '~/do', answer)
    client = there.create_node('client').create_client(srv_type, '/ns/server/do')
    assert client.wait_for_service(5.0)
    request = srv_type.Request(data=True) if service == 'SetBool' else srv_type.Request()
    for _ in range(2):
        future = client.call_async(request)
        done: list[Any] = []
        future.add_done_callback(done.append)
        end = time.monotonic() + 5.0
        while not future.done() and time.monotonic() < end:
            here.spin_once(0.01)
            there.spin_once(0.01)
        assert done == [future]
        if service != 'Empty':
            assert future.result().success
            assert future.result().message == f'{service} done'
    assert len(requests) == 2
    if service == 'SetBool':
        assert requests[0].data is True


def test_a_service_that_is_not_there(make_engine: MakeEngine) -> None:
    engine = make_engine()
    srv_type = messages.service_class('std_srvs/srv/Trigger')
    client = engine.create_node('client').create_client(srv_type, '/nowhere')
    assert not client.service_is_ready()
    assert not client.wait_for_service(0.05)
    with pytest.raises(InputError, match='service /nowhere: no answer'):
        client.call(srv_type.Request(), 1.0)


def test_a_broken_request_is_refused(make_engine: MakeEngine) -> None:
    engine, other = make_engine(log_stream=io.StringIO()), make_engine()
    srv_type = messages.service_class('std_srvs/srv/SetBool')
    service = engine.create_node('server').create_service(srv_type, 'do', lambda q, r: r)
    assert other.spin_until(
        lambda: other.graph.count(wire.SERVICE, service.endpoint.key) == 1, 5.0
    )
    replies: list[Any] = []
    other.session.get(service.endpoint.key, replies.append, payload=b'\0')
    assert engine.spin_until(lambda: bool(replies), 5.0)
    assert 'payload and an attachment' in replies[0].err.payload.to_string()


def test_requests_that_wait_are_bounded(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node at work answers nobody; anybody can ask without end meanwhile."""
    monkeypatch.setattr(services, 'MOST_WAITING', 5)
    here, there = make_engine(), make_engine()
    srv_type = messages.service_class('std_srvs/srv/Trigger')
    here.create_node('server').create_service(srv_type, 'do', lambda q, r: r)
    client = there.create_node('client').create_client(srv_type, '/do')
    assert client.wait_for_service(5.0)
    for _ in range(2):  # room is made by answers
        futures = [client.call_async(srv_type.Request()) for _ in range(30)]
        assert there.spin_until(lambda: sum(f.done() for f in futures) == 25, 5.0)  # noqa: B023
        for future in (one for one in futures if one.done()):
            with pytest.raises(InputError, match='refused: 5 requests wait already'):
                future.result()
        end = time.monotonic() + 5.0
        while not all(one.done() for one in futures) and time.monotonic() < end:
            here.spin_once(0.01)
            there.spin_once(0.01)
        assert all(one.done() for one in futures)
        assert sum(one._error is None for one in futures) == 5


def test_parameters(make_engine: MakeEngine, tmp_path: Path) -> None:
    path = tmp_path / 'parameters.yaml'
    path.write_text('/**:\n  ros__parameters:\n    rate: 100\n    gain: 2.0\n    typo: 1\n')
    node = make_engine().create_node('node', parameter_files=[path], parameters={'gain': 3.0})
    assert node.declare_parameter('rate', 50.0).value == 100.0
    assert node.declare_parameter('gain', 1.0).value == 3.0
    assert node.get_parameter('gain').value == 3.0
    assert node.declare_parameter('name', 'x').value == 'x'
    assert node.undeclared_overrides() == ['typo']
    with pytest.raises(ParameterError, match='unknown parameter typo'):
        refuse_unknown(node)
    other = make_engine().create_node('other', parameters={'rate': 'fast', 'gain': 9.0})
    with pytest.raises(ParameterError, match='parameter rate: expected a number'):
        other.declare_parameter('rate', 1.0)
    with pytest.raises(ParameterError, match='parameter gain: 9 is above its maximum 5'):
        other.declare_parameter('gain', 1.0, ParameterDescriptor(maximum=5.0))


def test_timers(make_engine: MakeEngine) -> None:
    engine = make_engine()
    node = engine.create_node('node')
    times: list[int] = []
    timer = node.create_timer(0.02, lambda: times.append(node.get_clock().now().nanoseconds))
    start = time.time_ns()
    assert engine.spin_until(lambda: len(times) >= 5, 10.0)
    assert times[0] - start >= 19_000_000
    assert times[4] - start >= 98_000_000
    timer.cancel()
    count = len(times)
    engine.spin(0.1)
    assert len(times) == count
    timer.reset()
    assert engine.spin_until(lambda: len(times) > count, 10.0)
    with pytest.raises(UsageError, match='positive'):
        node.create_timer(0.0, lambda: None)


def test_a_slow_timer_callback_drops_periods_and_starves_nobody(make_engine: MakeEngine) -> None:
    engine = make_engine()
    node = engine.create_node('node')
    fired: list[int] = []
    received: list[Any] = []

    def slow() -> None:
        fired.append(len(received))
        time.sleep(0.005)

    node.create_subscription(STRING, 'chatter', received.append, 100)
    publisher = node.create_publisher(STRING, 'chatter', 100)
    matched(engine, publisher)
    for k in range(30):
        publisher.publish(text(str(k)))
    node.create_timer(0.001, slow)
    assert engine.spin_until(lambda: len(received) == 30, 10.0)
    assert len(fired) <= 40


def test_simulated_time(make_engine: MakeEngine) -> None:
    here, there = make_engine(), make_engine()
    node = here.create_node('node', parameters={'use_sim_time': True})
    clock_class = messages.message_class('rosgraph_msgs/msg/Clock')
    publisher = there.create_node('player').create_publisher(clock_class, '/clock', 10)
    matched(there, publisher)
    fired: list[int] = []
    node.create_timer(1.0, lambda: fired.append(node.get_clock().now().nanoseconds))
    here.spin(0.1)
    assert node.get_clock().now().nanoseconds == 0
    assert fired == []
    for tick in (1000.0, 1000.5, 1001.0, 1001.5, 1005.25, 1005.5, 1006.0, 2.0, 2.5, 3.0):
        now_ns = round(tick * 1e9)
        publisher.publish(
            messages.new('rosgraph_msgs/msg/Clock', clock=messages.time_from_ns(now_ns))
        )
        assert here.spin_until(lambda n=now_ns: node.get_clock().now().nanoseconds == n, 5.0)
        here.spin(0.02)
    # The jump to 1005.25 fires once; going back to 2.0 starts a new period.
    assert [t / 1e9 for t in fired] == [1001.0, 1005.25, 1006.0, 3.0]


def test_logger_options(make_engine: MakeEngine) -> None:
    log = io.StringIO()
    logger = make_engine(log_stream=log).create_node('node', '/ns').get_logger()
    for _ in range(3):
        logger.info('once only', once=True)
        logger.warning('not so often', throttle_duration_sec=60.0)
        logger.debug('hidden')
    lines = log.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].endswith('[ns.node]: once only')


def test_starting_before_the_router(free_endpoint: str) -> None:
    log = io.StringIO()
    with ZenohEngine(endpoint=free_endpoint, log_stream=log) as early:
        assert f'no router answers at {free_endpoint}' in log.getvalue()
        assert 'veh-id router' in log.getvalue()
        received: list[Any] = []
        early.create_node('early').create_subscription(STRING, 'chatter', received.append, 10)
        with open_router(free_endpoint), ZenohEngine(endpoint=free_endpoint) as late:
            publisher = late.create_node('late').create_publisher(STRING, 'chatter', 10)
            assert late.spin_until(lambda: publisher.get_subscription_count() == 1, 10.0)
            publisher.publish(text('hello'))
            assert early.spin_until(lambda: len(received) == 1, 5.0)


def test_a_port_in_use(endpoint: str) -> None:
    with pytest.raises(InputError, match=f'cannot start a router on {endpoint}'):
        open_router(endpoint)


def test_a_wrong_endpoint() -> None:
    with pytest.raises(UsageError, match='nonsense'):
        ZenohEngine(endpoint='nonsense')


def test_shutdown_twice_and_stop(make_engine: MakeEngine) -> None:
    engine = make_engine()
    node = engine.create_node('node')
    node.create_timer(0.01, engine.stop)
    engine.spin(10.0)
    assert engine.executor.stopped
    engine.shutdown()
    engine.shutdown()
    node.destroy_node()


def test_domain_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', '17')
    assert default_domain() == 17
    monkeypatch.delenv('ROS_DOMAIN_ID')
    assert default_domain() == 0
    monkeypatch.setenv('ROS_DOMAIN_ID', 'seven')
    with pytest.raises(UsageError, match='ROS_DOMAIN_ID'):
        default_domain()
