"""The server: this machine only, fixed files only, a stream of what is new."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from veh_identification.dashboard import Collector, DashboardServer, server
from veh_identification.dashboard.sources import SourceState
from veh_identification.errors import UsageError

pytestmark = pytest.mark.timeout(30)  # a stream that should have been refused never ends


@pytest.fixture(scope='module')
def serving() -> Iterator[DashboardServer]:
    """One for all: to end a server takes a tenth of a second."""
    with DashboardServer(Collector(), SourceState('zenoh', 'test').as_dict) as made:
        yield made


def ask(
    serving: DashboardServer, path: str, host: str | None = None, method: str = 'GET'
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection('127.0.0.1', serving.port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    if host != '':
        connection.putheader('Host', host or f'127.0.0.1:{serving.port}')
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def test_it_listens_on_the_loopback_unless_told_otherwise(serving: DashboardServer) -> None:
    assert serving.address == '127.0.0.1'
    assert serving.url == f'http://127.0.0.1:{serving.port}/'
    assert ask(serving, '/')[0] == 200


@pytest.mark.parametrize('host', ['localhost', 'LOCALHOST:8787', '127.0.0.1', '[::1]:8787'])
def test_names_of_this_machine_are_welcome(serving: DashboardServer, host: str) -> None:
    assert ask(serving, '/state.json', host)[0] == 200


@pytest.mark.parametrize(
    'host',
    [
        'evil.example',
        'localhost.evil.example',
        '127.0.0.1.evil.example',
        'evil.example:8787',
        '192.168.1.7',
        '[::1].evil.example',
        '127.0.0.1@evil.example',
        '127.0.0.1:evil.example',
        '',
    ],
)
@pytest.mark.parametrize('path', ['/', '/state.json', '/events'])
def test_other_names_are_refused(serving: DashboardServer, host: str, path: str) -> None:
    status, content = ask(serving, path, host)
    assert status == 421
    assert content == b'this machine is not called so\n'


def test_open_to_other_machines_still_refuses_names(collector: Collector) -> None:
    with DashboardServer(collector, dict, '0.0.0.0') as serving:
        assert ask(serving, '/', '192.168.1.7:8787')[0] == 200
        assert ask(serving, '/', 'evil.example')[0] == 421
        assert serving.url == f'http://127.0.0.1:{serving.port}/'


@pytest.mark.parametrize(
    'path',
    [
        '/../server.py',
        '/static/../../server.py',
        '/..%2f..%2fserver.py',
        '//etc/passwd',
        '/etc/passwd',
        '/dashboard.js/..',
        '/index.html',
        '/%00',
    ],
)
def test_only_its_own_files_are_served(serving: DashboardServer, path: str) -> None:
    assert ask(serving, path) == (404, b'there is no such page\n')


def test_nothing_can_be_changed_from_outside(serving: DashboardServer) -> None:
    for method in ('POST', 'PUT', 'DELETE', 'OPTIONS'):
        assert ask(serving, '/', method=method)[0] == 501


def test_every_file_is_there_and_asks_for_nothing_elsewhere(serving: DashboardServer) -> None:
    for path in serving.assets:
        status, content = ask(serving, path)
        assert status == 200
        text = content.decode().replace('http://www.w3.org/2000/svg', '')
        assert '//' not in text.replace('// ', '') or 'http' not in text, path


def events(serving: DashboardServer) -> Iterator[dict[str, Any]]:
    connection = http.client.HTTPConnection('127.0.0.1', serving.port, timeout=10)
    connection.request('GET', '/events')
    answer = connection.getresponse()
    assert answer.getheader('Content-Type') == 'text/event-stream'
    for line in answer:
        if line.startswith(b'data: '):
            yield json.loads(line[6:])


def test_the_stream_tells_all_and_then_what_is_new(talker: Any, collector: Collector) -> None:
    with DashboardServer(collector, SourceState('zenoh', 'test').as_dict) as serving:
        follow(serving, talker)


def follow(serving: DashboardServer, talker: Any) -> None:
    talker.estimate(0.0, {'Mc': (1.0, 0.1)})
    talker.estimate(1.0, {'Mc': (2.0, 0.1)})
    stream = events(serving)
    first = next(stream)
    assert first['past']['parameters /car']['rows'] == [[0.0, 1.0, 0.1], [1.0, 2.0, 0.1]]
    assert first['source']['text'] == 'test'
    talker.estimate(2.0, {'Mc': (3.0, 0.1)})
    for told in stream:
        if told['past']:
            break
    assert told['past'] == {'parameters /car': {'rows': [[2.0, 3.0, 0.1]]}}
    assert told['nodes'][0]['estimate']['parameters'][0]['value'] == 3.0
    serving.ended.set()
    assert len(list(stream)) < 5, 'the stream ends with the server'


def test_pages_beyond_the_limit_are_refused(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, 'STREAMS', 1)
    with DashboardServer(collector, dict) as serving:
        stream = events(serving)
        next(stream)
        assert ask(serving, '/events')[0] == 503
        serving.ended.set()
        list(stream)
    assert ask_fails(serving)


def ask_fails(serving: DashboardServer) -> bool:
    with pytest.raises(ConnectionRefusedError):
        ask(serving, '/')
    return True


def test_a_port_that_is_taken_is_a_sentence(
    serving: DashboardServer, collector: Collector
) -> None:
    with pytest.raises(UsageError, match=f'cannot listen on 127.0.0.1 port {serving.port}'):
        DashboardServer(collector, dict, port=serving.port)
