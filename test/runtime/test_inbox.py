"""Messages of several queues in the order of publishing; how a node keeps up."""

from __future__ import annotations

from collections import deque

from veh_identification.errors import MessageError
from veh_identification.runtime.inbox import FEW, PASSES, Inbox, Inlet
from veh_identification.runtime.load import REPORTS, Load, LoadReport


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.ns = 1_000_000_000

    def __call__(self) -> int:
        return self.ns

    def seconds(self) -> float:
        return self.ns * 1e-9


class Station:
    """An inbox with queues that tests fill."""

    def __init__(self, **depths: int) -> None:
        self.clock = Clock()
        self.load = Load(self.clock, self.clock.seconds, lambda: 0.0)
        self.inbox = Inbox(self.load, self.clock)
        self.waiting: dict[str, deque] = {}
        self.heard: list = []
        self.complaints: list[str] = []
        for topic, depth in depths.items():
            self.waiting[topic] = queue = deque()
            self.inbox.inlets.append(
                Inlet(
                    topic,
                    lambda queue=queue: queue.popleft() if queue else None,
                    self.read,
                    self.heard.append,
                    self.load.add_queue(topic, depth),
                    self.complaints.append,
                )
            )

    @staticmethod
    def read(data: str) -> str:
        if data == 'broken':
            raise MessageError('it ends after 3 bytes')
        return data.upper()


def test_messages_come_in_the_order_of_publishing() -> None:
    station = Station(fast=100, slow=100)
    station.waiting['fast'].extend([('a', 10), ('b', 20), ('d', 40)])
    station.waiting['slow'].extend([('c', 30), ('e', 40)])
    assert station.inbox.deliver() == 5
    assert station.heard == ['A', 'B', 'C', 'D', 'E']  # equal times: the first topic first
    assert station.inbox.deliver() == 0


def test_one_topic_keeps_its_own_order_when_a_sender_has_no_clock() -> None:
    station = Station(only=100)
    station.waiting['only'].extend([('a', 0), ('b', 0), ('c', 0)])
    station.inbox.deliver()
    assert station.heard == ['A', 'B', 'C']


def test_queues_that_are_known_to_be_empty_are_not_looked_into() -> None:
    station = Station(full=100, empty=100)
    station.inbox.inlets[1].take = None  # to look into it raises
    station.waiting['full'].extend([('a', 10), ('b', 20)])
    assert station.inbox.deliver(station.inbox.inlets[:1]) == 2
    assert station.heard == ['A', 'B']


def test_where_many_wait_all_queues_are_looked_into() -> None:
    """What was published meanwhile on another topic must not come seconds behind these."""
    station = Station(full=100, other=100)
    station.waiting['full'].extend([(f'm{k}', 10 * k) for k in range(FEW + 1)])
    station.waiting['other'].append(('between', 15))
    assert station.inbox.deliver(station.inbox.inlets[:1]) == FEW + 2
    assert station.heard[:4] == ['M0', 'M1', 'BETWEEN', 'M2']


def test_a_queue_that_fills_while_others_are_emptied_does_not_hold_the_node() -> None:
    station = Station(endless=100)
    count = 0

    def take():
        nonlocal count
        count += 1
        return None if count % (each + 1) == 0 else (f'm{count}', count)

    station.inbox.inlets[0].take = take
    each = FEW + 1
    assert station.inbox.deliver() == PASSES * each
    count, each = 0, FEW  # taken so fast that nothing can have come meanwhile
    assert station.inbox.deliver() == FEW


def test_a_message_that_cannot_be_read_is_counted_and_said() -> None:
    station = Station(imu=10)
    station.waiting['imu'].extend([('a', 1), ('broken', 2), ('b', 3)])
    assert station.inbox.deliver() == 3
    assert station.heard == ['A', 'B']
    assert station.complaints == ['imu: a message is ignored: it ends after 3 bytes']
    assert station.load.report().facts['unreadable imu'] == '1'


def test_latency_is_from_arrival_to_publication() -> None:
    station = Station(imu=10)
    station.inbox.deliver()  # empty at 1.000 s
    station.waiting['imu'].append(('a', 1_002_000_000))
    station.clock.ns = 1_003_000_000

    def work(_message) -> None:
        station.clock.ns += 4_000_000
        station.load.published()

    station.inbox.inlets[0].receive = work
    station.inbox.deliver()
    facts = station.load.report().facts
    assert facts['latency p50 [ms]'] == facts['latency worst [ms]'] == '5.00'


def test_a_senders_clock_cannot_spoil_the_latency() -> None:
    for skew in (-(10**12), 10**12):
        station = Station(imu=10)
        station.inbox.deliver()
        station.waiting['imu'].append(('a', 1_002_000_000 + skew))
        station.clock.ns = 1_003_000_000
        station.inbox.inlets[0].receive = lambda _message, load=station.load: load.published()
        station.inbox.deliver()
        worst = float(station.load.report().facts['latency worst [ms]'])
        assert 0.0 <= worst <= 3.0


def test_publications_of_timers_have_no_latency() -> None:
    station = Station(imu=10)
    station.waiting['imu'].append(('a', 1))
    station.inbox.deliver()
    station.clock.ns += 10**9
    station.load.published()
    assert 'latency p50 [ms]' not in station.load.report().facts


def test_warns_before_data_are_lost_and_when_they_are() -> None:
    station = Station(imu=10, gps=10)
    station.waiting['imu'].extend([('a', k) for k in range(6)])
    station.waiting['gps'].extend([('a', k) for k in range(2)])
    station.inbox.deliver()
    report = station.load.report()
    assert [(one.code, one.where) for one in report.findings] == [('queue_filling', 'imu')]
    assert report.facts['queue imu'] == '6 of 10'
    station.waiting['imu'].extend([('a', k) for k in range(10)])
    station.inbox.deliver()
    station.load.queues['gps'].lost += 3
    report = station.load.report()
    assert [(one.code, one.where) for one in report.findings] == [
        ('messages_lost', 'gps'),
        ('messages_lost', 'imu'),
    ]
    report = station.load.report()
    assert report.findings == []
    assert report.facts['queue imu'] == '0 of 10'
    assert report.facts['lost gps'] == '3'


def test_a_node_that_works_all_the_time_says_so() -> None:
    station = Station()

    def second_of_work(share: float) -> LoadReport:
        station.clock.ns += 10**9
        station.load.busy_seconds = share
        return station.load.report()

    reports = [second_of_work(5.0 * (k % 10 == 0)) for k in range(REPORTS)]
    assert reports[-1].facts['real-time factor'] == '2.0'
    assert not any(report.findings for report in reports)  # five seconds of work in ten
    reports = [second_of_work(0.95) for _ in range(REPORTS)]
    assert [one.code for one in reports[-1].findings] == ['overload']
