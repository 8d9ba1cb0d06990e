"""Services and clients: zenoh queryables and queriers in rmw_zenoh's way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from veh_identification.errors import InputError, MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.logger import NodeLogger
from veh_identification.runtime.zenoh_engine import wire
from veh_identification.runtime.zenoh_engine.executor import Executor
from veh_identification.runtime.zenoh_engine.graph import Graph
from veh_identification.runtime.zenoh_engine.session import zenoh

#: Seconds after which zenoh gives a request up when no server answers.
_REQUEST_TIMEOUT = 60.0


def service_type_name(srv_type: Any) -> str:
    """`std_srvs/srv/Trigger` of a service class of `messages.service_class`."""
    return messages.type_name(srv_type.Response).removesuffix('_Response')


#: Requests that wait for a node that is at work; further ones are refused.
MOST_WAITING = 100


class ZenohService:
    """Answers requests by `callback(request, response) -> response` in the spinning thread."""

    def __init__(
        self,
        session: zenoh.Session,
        endpoint: wire.Endpoint,
        srv_type: Any,
        callback: Callable[[Any, Any], Any],
        executor: Executor,
        logger: NodeLogger,
    ) -> None:
        self.endpoint = endpoint
        self._srv_type = srv_type
        self._callback = callback
        self._executor = executor
        self._logger = logger
        self._waiting, self._lock = 0, threading.Lock()
        self._request_type = f'{endpoint.type_name}_Request'
        self._response_type = f'{endpoint.type_name}_Response'
        handler: Any = zenoh.handlers.Callback(self._on_query, indirect=False)
        self._queryable: Any = session.declare_queryable(endpoint.key, handler, complete=True)
        self._token = session.liveliness().declare_token(endpoint.token)

    @property
    def name(self) -> str:
        """The absolute name."""
        return self.endpoint.name

    def _on_query(self, query: zenoh.Query) -> None:
        """Runs on zenoh's threads."""
        with self._lock:
            full = self._waiting >= MOST_WAITING
            self._waiting += not full
        if not full:
            self._executor.post(lambda: self._answer(query))
            return
        with query:
            query.reply_err(f'{MOST_WAITING} requests wait already')

    def _answer(self, query: zenoh.Query) -> None:
        with self._lock:
            self._waiting -= 1
        with query:  # leaving tells the client that no further answer comes
            try:
                attachment, request = self._open(query)
            except MessageError as error:
                self._logger.warning(f'service {self.name}: a request was refused: {error}')
                query.reply_err(str(error))
                return
            response = self._callback(request, self._srv_type.Response())
            if not isinstance(response, messages.message_class(self._response_type)):
                raise MessageError(
                    f'service {self.name}: the callback must return a {self._response_type}, '
                    f'got {type(response).__name__}'
                )
            answer = wire.Attachment(attachment.sequence, time.time_ns(), attachment.gid)
            query.reply(
                self.endpoint.key, messages.serialize(response), attachment=answer.encode()
            )

    def _open(self, query: zenoh.Query) -> tuple[wire.Attachment, Any]:
        if query.attachment is None or query.payload is None:
            raise MessageError('expected a payload and an attachment')
        attachment = wire.Attachment.decode(query.attachment.to_bytes())
        return attachment, messages.deserialize(query.payload.to_bytes(), self._request_type)

    def destroy(self) -> None:
        """Leave the graph."""
        self._token.undeclare()
        self._queryable.undeclare()


class Future:
    """The response to come, with the methods of rclpy's future that callers use."""

    def __init__(self) -> None:
        self._done = False
        self._result: Any = None
        self._error: InputError | None = None
        self._callbacks: list[Callable[[Future], None]] = []

    def done(self) -> bool:
        """Whether the response (or an error) is there."""
        return self._done

    def result(self) -> Any:
        """The response; raises when the service gave none."""
        if self._error is not None:
            raise self._error
        return self._result

    def add_done_callback(self, callback: Callable[[Future], None]) -> None:
        """Call `callback(future)` in the spinning thread when done."""
        if self._done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def finish(self, result: Any = None, error: InputError | None = None) -> None:
        """Set the outcome; only the first one counts."""
        if self._done:
            return
        self._done, self._result, self._error = True, result, error
        for callback in self._callbacks:
            callback(self)


class ZenohClient:
    """Calls a service of any process."""

    def __init__(
        self, session: zenoh.Session, endpoint: wire.Endpoint, executor: Executor, graph: Graph
    ) -> None:
        self.endpoint = endpoint
        self._executor = executor
        self._graph = graph
        self._gid = endpoint.gid
        self._sequence = 0
        self._response_type = f'{endpoint.type_name}_Response'
        self._querier = session.declare_querier(
            endpoint.key,
            target=zenoh.QueryTarget.ALL_COMPLETE,
            consolidation=zenoh.ConsolidationMode.NONE,
            timeout=_REQUEST_TIMEOUT,
        )
        self._token = session.liveliness().declare_token(endpoint.token)

    @property
    def srv_name(self) -> str:
        """The absolute name of the service."""
        return self.endpoint.name

    def service_is_ready(self) -> bool:
        """Whether somebody offers the service."""
        return self._graph.count(wire.SERVICE, self.endpoint.key) > 0

    def wait_for_service(self, timeout_sec: float) -> bool:
        """Spin until somebody offers the service."""
        return self._executor.wait_until(self.service_is_ready, timeout_sec)

    def call_async(self, request: Any) -> Future:
        """Send a request; the future is done when the response came."""
        future = Future()
        self._sequence += 1
        attachment = wire.Attachment(self._sequence, time.time_ns(), self._gid)

        def on_reply(reply: zenoh.Reply) -> None:
            self._executor.post(lambda: self._finish(future, reply))

        def on_end() -> None:
            error = InputError(f'service {self.srv_name}: no answer')
            self._executor.post(lambda: future.finish(error=error))

        handler: Any = zenoh.handlers.Callback(on_reply, on_end)
        self._querier.get(
            handler, payload=messages.serialize(request), attachment=attachment.encode()
        )
        return future

    def call(self, request: Any, timeout_sec: float = 5.0) -> Any:
        """Send a request and spin until the response came; not for use in a callback."""
        future = self.call_async(request)
        if not self._executor.wait_until(future.done, timeout_sec):
            raise InputError(f'service {self.srv_name}: no answer within {timeout_sec:g} s')
        return future.result()

    def _finish(self, future: Future, reply: zenoh.Reply) -> None:
        if reply.ok is None:
            reason = reply.err.payload.to_string() if reply.err is not None else 'no reason given'
            future.finish(error=InputError(f'service {self.srv_name}: refused: {reason}'))
            return
        try:
            response = messages.deserialize(reply.ok.payload.to_bytes(), self._response_type)
        except MessageError as error:
            future.finish(error=error)
            return
        future.finish(response)

    def destroy(self) -> None:
        """Leave the graph."""
        self._token.undeclare()
        self._querier.undeclare()
