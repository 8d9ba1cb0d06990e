"""The zenoh engine itself: one session, one thread that runs all callbacks of its nodes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from veh_identification.runtime import messages
from veh_identification.runtime.logger import NodeLogger
from veh_identification.runtime.names import Remapper
from veh_identification.runtime.parameter_store import ParameterStore
from veh_identification.runtime.qos import QoS
from veh_identification.runtime.zenoh_engine import wire
from veh_identification.runtime.zenoh_engine.clock import NodeClock, SimulatedClock, SystemClock
from veh_identification.runtime.zenoh_engine.executor import Executor
from veh_identification.runtime.zenoh_engine.graph import Graph
from veh_identification.runtime.zenoh_engine.node import ZenohNode
from veh_identification.runtime.zenoh_engine.services import Future
from veh_identification.runtime.zenoh_engine.session import (
    DEFAULT_ENDPOINT,
    LOOPBACK,
    open_session,
)

#: zenoh's threads keep a script alive that ends without `shutdown`, and Python waits for them
#: before it runs what was registered with atexit. So a thread of our own waits for the end of the
#: script and closes what is open; Python waits for that one too, for it is no daemon.
_open_engines: set[ZenohEngine] = set()
_guard: threading.Thread | None = None


def _end_with_the_script(engine: ZenohEngine) -> None:
    global _guard
    _open_engines.add(engine)
    if _guard is None:
        _guard = threading.Thread(target=_close_at_the_end, name='veh-id end of zenoh')
        _guard.start()


def _close_at_the_end() -> None:
    threading.main_thread().join()
    for engine in tuple(_open_engines):
        engine.shutdown()


class ZenohEngine:
    """Runs nodes live without ROS; a context manager.

    `endpoint` is the router (`veh-id router`, or a robot's rmw_zenohd), `listen` where other
    peers may connect to this process: by default on the loopback interface alone.
    """

    def __init__(
        self,
        domain: int = 0,
        endpoint: str = DEFAULT_ENDPOINT,
        *,
        listen: Sequence[str] = (LOOPBACK,),
        log_level: str = 'info',
        log_stream: TextIO | None = None,
    ) -> None:
        self.domain = domain
        self.endpoint = endpoint
        self.session = open_session([endpoint], listen)
        self.executor = Executor()
        self.graph = Graph(self.session, domain)
        self._session_id = str(self.session.zid())
        self._log_level = log_level
        self._log_stream = log_stream
        self._log = self._logger('zenoh', time.time_ns)
        self._entity_count = 0
        self._nodes: list[ZenohNode] = []
        self._simulated: SimulatedClock | None = None
        self._closed = False
        _end_with_the_script(self)
        if not list(self.session.info.routers_zid()):
            self._log.warning(
                f'no router answers at {endpoint}: start one with "veh-id router" '
                '(or rmw_zenohd); still trying'
            )

    @property
    def logger(self) -> NodeLogger:
        """For what concerns no node alone."""
        return self._log

    def create_node(
        self,
        name: str,
        namespace: str = '/',
        *,
        parameters: Mapping[str, Any] | None = None,
        parameter_files: Iterable[str | Path] = (),
        remappings: Iterable[tuple[str, str]] = (),
    ) -> ZenohNode:
        """A node object for a node class."""
        names = Remapper(name, namespace, remappings)
        store = ParameterStore.from_sources(names.full_name, parameter_files, parameters)
        simulated = bool(store.declare('use_sim_time', False).value)
        clock: NodeClock = self._simulated_clock() if simulated else SystemClock()
        logger = self._logger(names.full_name.strip('/').replace('/', '.'), clock.now_ns)
        return self._add_node(names, store, logger, clock)

    def _add_node(
        self, names: Remapper, store: ParameterStore, logger: NodeLogger, clock: NodeClock
    ) -> ZenohNode:
        entity = wire.NodeEntity(
            self.domain,
            self._session_id,
            self.next_entity_id(),
            names.namespace,
            names.node_name,
        )
        node = ZenohNode(self, entity, names, store, logger, clock)
        self._nodes.append(node)
        return node

    def _simulated_clock(self) -> SimulatedClock:
        """One clock for all nodes of the engine, told by `/clock`."""
        if self._simulated is None:
            clock = self._simulated = SimulatedClock()
            names = Remapper(f'_clock_{self._session_id[:8]}')
            listener = self._add_node(names, ParameterStore(), self._log, SystemClock())
            listener.create_subscription(
                messages.message_class('rosgraph_msgs/msg/Clock'),
                '/clock',
                lambda message: clock.set_ns(messages.stamp_ns(message.clock)),
                QoS(depth=1, reliable=False),
            )
        return self._simulated

    def _logger(self, name: str, now_ns: Callable[[], int]) -> NodeLogger:
        return NodeLogger(name, now_ns, level=self._log_level, stream=self._log_stream)

    def next_entity_id(self) -> int:
        """A number for a new entity of the graph."""
        number = self._entity_count
        self._entity_count += 1
        return number

    def forget(self, node: ZenohNode) -> None:
        """The node is destroyed."""
        if node in self._nodes:
            self._nodes.remove(node)

    def spin(
        self, duration: float | None = None, *, until: Callable[[], bool] | None = None
    ) -> None:
        """Run callbacks until Ctrl-C, SIGTERM or `stop`; returns normally in each case.

        Ends as well after `duration` seconds or as soon as `until()` holds.
        """
        self.executor.spin(duration, until)

    def spin_once(self, timeout: float | None = None) -> bool:
        """Run what is due and at most one message; waits up to `timeout` seconds for it."""
        return self.executor.spin_once(timeout)

    def spin_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Run callbacks until `condition()` holds; False when `timeout` seconds passed."""
        return self.executor.wait_until(condition, timeout)

    def spin_until_future_complete(self, future: Future, timeout: float) -> bool:
        """Run callbacks until a service answered; False when `timeout` seconds passed."""
        return self.executor.wait_until(future.done, timeout)

    def stop(self) -> None:
        """Let `spin` return; from any thread, callback or signal handler."""
        self.executor.stop()

    def shutdown(self) -> None:
        """Destroy the nodes and close the session; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        _open_engines.discard(self)
        self.executor.stop()
        for node in tuple(self._nodes):
            node.destroy_node()
        self.graph.close()
        self.session.close()

    def __enter__(self) -> ZenohEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown()
