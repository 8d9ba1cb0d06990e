"""The same messages to Foxglove, as a client of its protocol receives them."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

pytest.importorskip('foxglove', reason='foxglove-sdk is not installed')

from veh_identification.dashboard import Collector
from veh_identification.dashboard.foxglove import FoxgloveServer
from veh_identification.dashboard.intake import Intake
from veh_identification.errors import UsageError
from veh_identification.runtime import messages

websocket = pytest.importorskip('websocket', reason='websocket-client is not installed')
#: Opcode, subscription, log time: what stands before the message.
HEAD = struct.Struct('<BIQ')


def told(client: Any, operation: str) -> Any:
    """The next text message of a kind."""
    while True:
        kind, data = client.recv_data()
        if kind == websocket.ABNF.OPCODE_TEXT and (text := json.loads(data))['op'] == operation:
            return text


@pytest.mark.timeout(60)
def test_a_client_receives_definition_and_bytes(talker: Any) -> None:
    message = talker.estimate(0.0, {'Mc': (1500.0, 2.0)})
    kind, payload = messages.type_name(message), messages.serialize(message)
    with FoxgloveServer(port=0) as server:
        intake = Intake(Collector(), server.send)
        intake.take('/car/parameters', kind, payload, 7)  # makes the channel
        intake.take('/x', 'nobody/msg/Knows', b'', 7)
        protocols = ['foxglove.sdk.v1']
        client = websocket.create_connection(server.url, subprotocols=protocols, timeout=20)
        (channel,) = told(client, 'advertise')['channels']
        assert (channel['topic'], channel['encoding']) == ('/car/parameters', 'cdr')
        assert (channel['schemaName'], channel['schemaEncoding']) == (kind, 'ros2msg')
        assert 'float64 rel_std_percent' in channel['schema']
        wanted = {'op': 'subscribe', 'subscriptions': [{'id': 3, 'channelId': channel['id']}]}
        client.send(json.dumps(wanted))
        for time_ns in range(8, 1000):  # until the subscription has arrived
            intake.take('/car/parameters', kind, payload, time_ns)
            client.settimeout(0.2)
            try:
                data = client.recv()
            except websocket.WebSocketTimeoutException:
                continue
            if isinstance(data, bytes):
                break
        client.close()
        with pytest.raises(UsageError, match='cannot listen'):
            FoxgloveServer(port=int(server.url.rpartition(':')[2]))
    operation, subscription, _ = HEAD.unpack_from(data)
    assert (operation, subscription) == (1, 3)
    assert data[HEAD.size :] == payload
