"""Spoilt messages to nodes that run live; here over zenoh, with tokens of its graph."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from hostile.files import damaged
from hostile.spoiling import Item, set_stamp, spoil_stamp, spoil_values
from hostile.streams import PLANS, Plan, load_source
from hostile.watch import Tally
from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.graph import create_graph, find_graph

#: Nodes that take part; the others share their engine, their guard and their base.
GRAPHS = ('parallel_identification', 'robot_identification', 'sensor_fusion')
#: Batches to a node before it is made anew, and messages of a batch.
BATCHES, BATCH = 25, 40
#: What is spoilt of a message.
KINDS = ('bytes', 'bytes', 'values', 'stamps')
#: Seconds for a batch to pass, and between two reports of a node.
PASSING, REPORT = 30.0, 1.0


def try_network(rng: random.Random, folder: Path, go_on: Callable[[], bool]) -> Tally:
    """Batches of spoilt messages to nodes that run live; without zenoh there is nothing to do."""
    if not find_spec('zenoh'):
        return Tally()
    return try_live(rng, folder, go_on, GRAPHS, _live)


class Receiver(Protocol):
    """A node that runs live, and somebody who sends to it."""

    def sending(self, rng: random.Random, source: list[Item], tally: Tally) -> Any:
        """A spoilt message, as `pass_on` takes it."""

    def pass_on(self, batch: list[Any]) -> None:
        """Send all; AssertionError where one is not accounted for, or a callback failed."""

    def reports(self) -> None:
        """AssertionError where the node says no more how it is."""


def try_live(
    rng: random.Random,
    folder: Path,
    go_on: Callable[[], bool],
    graphs: Sequence[str],
    run: Callable[[Plan], AbstractContextManager[Receiver]],
) -> Tally:
    """Batches of spoilt messages to the nodes of graphs, each run for some of them."""
    tally = Tally()
    plans = {plan.graph: plan for plan in PLANS[::-1]}
    sources = {name: load_source(folder, plans[name])[:4000] for name in graphs}
    for name in graphs:  # what they compile and load is no memory of a case
        with run(plans[name]):
            pass
    while go_on():
        name = rng.choice(graphs)
        with run(plans[name]) as live:
            for _ in range(BATCHES):
                if not go_on():
                    break
                seed = rng.randrange(2**32)
                tally.made_of[name] += 1
                batch = [
                    live.sending(random.Random(f'{seed} {k}'), sources[name], tally)
                    for k in range(BATCH)
                ]
                tally.try_case(f'{name} live, seed {seed}', lambda b=batch: live.pass_on(b))
            tally.try_case(f'{name} live, a report', live.reports)
    return tally


class Live:
    """A node under the zenoh engine, and a stranger who sends to it."""

    def __init__(self, engine: Any, nodes: list[Any], stranger: Any) -> None:
        self.engine, self.nodes, self.stranger = engine, nodes, stranger
        self.subscriptions = [
            one
            for node in engine._nodes
            for one in node.subscriptions()
            if one.topic not in ('/clock', '/parameter_events')
        ]

    def sending(
        self, rng: random.Random, source: list[Item], tally: Tally
    ) -> tuple[str, bytes, bytes | None]:
        """Key, payload and attachment of one message to a random subscription."""
        from veh_identification.runtime.zenoh_engine import wire

        subscription = rng.choice(self.subscriptions)
        kind = rng.choice([*KINDS, 'attachment'])
        tally.messages[kind] += 1
        endpoint = subscription.endpoint
        payload = spoilt_payload(rng, kind, subscription.topic, endpoint.type_name, source)
        good = wire.Attachment(rng.randrange(1, 2**40), time.time_ns(), rng.randbytes(16)).encode()
        attachment: bytes | None = good
        if kind == 'attachment':
            attachment = rng.choice([None, b'', damaged(rng, good, [good]), rng.randbytes(33)])
        token = damaged(rng, endpoint.token.encode(), [b'//', b'%', good])
        wire.parse_token(token.decode('utf-8', 'replace'))
        return endpoint.key, payload, attachment

    def passed(self) -> int:
        """Messages that were taken, refused or dropped by a full queue."""
        return sum(one.received + one.rejected + one.discarded for one in self.subscriptions)

    def pass_on(self, batch: list[tuple[str, bytes, bytes | None]]) -> None:
        """Send and wait until each is accounted for; a failed callback must not be."""
        from veh_identification.runtime.zenoh_engine.session import zenoh

        before = self.passed()
        for key, payload, attachment in batch:
            self.stranger.put(
                key,
                payload,
                attachment=attachment,
                congestion_control=zenoh.CongestionControl.BLOCK,
            )
        wanted = before + len(batch)
        self.engine.spin_until(lambda: self.passed() >= wanted, PASSING)
        assert self.passed() == wanted, f'{self.passed() - before} of {len(batch)} accounted for'
        failed = [node._guard.findings()[0].text for node in self.nodes if node._guard.failures]
        assert not failed, failed[0]

    def longest_lag(self) -> float:
        """Seconds: when the input ends, what waits for it is sent within two of them."""
        facts = [node._delivery.facts() for node in self.nodes if hasattr(node, '_delivery')]
        return max((float(one['lag [s]']) for one in facts), default=0.0)

    def reports(self) -> None:
        """The node still says how it is, every second of its data."""
        told = [
            one
            for node in self.engine._nodes
            for one in node.publishers()
            if one.topic == '/diagnostics'
        ]
        before = [one.published for one in told]
        self.engine.spin(2.5 * REPORT + 2.0 * self.longest_lag())
        silent = [n for n, one in zip(before, told, strict=True) if one.published <= n]
        assert told and not silent, 'a node does not report any more'


@contextmanager
def _live(plan: Plan) -> Iterator[Live]:
    from veh_identification.runtime.zenoh import ZenohEngine, open_router
    from veh_identification.runtime.zenoh_engine.session import open_session

    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        endpoint = f'tcp/127.0.0.1:{probe.getsockname()[1]}'
    with open_router(endpoint), ZenohEngine(endpoint=endpoint, log_level='fatal') as engine:
        nodes = create_graph(engine, find_graph(plan.graph))
        with open_session([endpoint]) as stranger:
            live = Live(engine, nodes, stranger)
            _wait_for_routes(live)
            yield live


def _wait_for_routes(live: Live) -> None:
    """Until what the stranger sends arrives: the first message is sent again until it does."""
    first = live.subscriptions[0]
    end = time.monotonic() + PASSING
    while not first.rejected:
        live.stranger.put(first.endpoint.key, b'')
        live.engine.spin(0.1)
        assert time.monotonic() < end, 'zenoh carries nothing'
    live.engine.spin(0.3)


def spoilt_payload(
    rng: random.Random, kind: str, topic: str, type_name: str, source: list[Item]
) -> bytes:
    """A message of the source, or an empty one, spoilt in its `kind` of way, as bytes."""
    fitting = [one for one in source[:400] if one.topic == topic]
    if fitting:
        item = rng.choice(fitting)
        message = messages.deserialize(
            messages.serialize(item.message), item.typename
        )  # a copy of its own
    else:
        message = messages.new(type_name)
    set_stamp(message, time.time_ns())
    if kind == 'values':
        spoil_values(rng, message)
    elif kind == 'stamps':
        spoil_stamp(rng, message)
    try:
        payload = messages.serialize(message)
    except (MessageError, OverflowError, TypeError, ValueError):  # cannot even be written
        payload = b''
    return damaged(rng, payload, [payload]) if kind == 'bytes' else payload
