"""The same messages for Foxglove and Lichtblick, by the websocket server of the Foxglove SDK."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from veh_identification.errors import MessageError, UsageError
from veh_identification.runtime.messages import rosbags_backend

try:
    import foxglove
except ImportError:
    foxglove = None  # type: ignore[assignment,unused-ignore]
#: Topics that are handed on.
MOST = 1000


class FoxgloveServer:
    """Hands on serialised messages with their definitions; a context manager."""

    def __init__(self, host: str = '127.0.0.1', port: int = 8765) -> None:
        if foxglove is None:
            raise UsageError("--foxglove needs the Foxglove SDK: pip install 'foxglove-sdk>=0.30'")
        self._context = foxglove.Context()
        self._channels: dict[tuple[str, str], Any] = {}
        try:
            self._server = foxglove.start_server(
                name='veh-id', host=host, port=port, context=self._context
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise UsageError(f'cannot listen on {host} port {port}: {error}') from None

    @property
    def url(self) -> str:
        """Where to connect."""
        return f'ws://127.0.0.1:{self._server.port}'

    def send(self, topic: str, type_name: str, payload: bytes, time_ns: int) -> None:
        """One message; those of a type that is not known here are left out."""
        key = (topic, type_name)
        if key not in self._channels:
            if len(self._channels) >= MOST:
                return
            self._channels[key] = self._channel(topic, type_name)
        channel = self._channels[key]
        if channel is not None:
            channel.log(payload, log_time=time_ns)

    def _channel(self, topic: str, type_name: str) -> Any:
        try:
            definition = rosbags_backend().definition(type_name)
        except MessageError:
            return None
        schema = foxglove.Schema(name=type_name, encoding='ros2msg', data=definition.encode())
        return foxglove.Channel(
            topic, schema=schema, message_encoding='cdr', context=self._context
        )

    def __enter__(self) -> FoxgloveServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()
