"""The web server of the dashboard: fixed files, the present state, and a stream of changes.

It knows a fixed list of files and never looks at a path that a browser sends. A page of somebody
else must not read it through a name that points here (DNS rebinding): requests must name this
machine as their host.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from types import TracebackType
from typing import Any

from veh_identification._version import __version__
from veh_identification.dashboard.collector import Collector
from veh_identification.dashboard.view import Cursors, as_json, head, past
from veh_identification.errors import UsageError
from veh_identification.reporting import palette

#: Seconds between looks at the collector, and the longest time between two messages to a page.
PERIOD, LONGEST = 0.2, 1.0
#: Streams at a time; each is a thread.
STREAMS = 64
#: Seconds that a browser may take to accept what is sent.
PATIENCE = 20.0
SECURITY = {
    # Nothing is fetched from elsewhere, whatever a message says.
    'Content-Security-Policy': "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
}
#: A name or an address of version 4, or one of version 6 in brackets; then perhaps a port.
HOST = re.compile(r'(?:\[([0-9a-f:.]+)\]|([^\[\]:/@\s]+))(?::\d+)?')
#: Names of the colours of figures on the page.
COLOURS = {
    'grid': palette.GRID,
    'muted': palette.MUTED,
    'measured': palette.MEASURED,
    'predicted': palette.PREDICTED,
    'error': palette.ERROR,
    'a-priori': palette.A_PRIORI,
    'band': palette.BAND,
}


def theme_css() -> str:
    """The colours of the report's figures as variables of both themes."""
    selectors = {'light': ':root', 'dark': ':root[data-theme="dark"]'}
    return ''.join(
        f'{selectors[theme]} {{ '
        + ' '.join(f'--{name}: {colours[role]};' for name, role in COLOURS.items())
        + ' }\n'
        for theme, colours in palette.THEMES.items()
    )


def assets() -> dict[str, tuple[str, bytes]]:
    """Everything that can be asked for by name: kind and content."""
    own = files('veh_identification.dashboard') / 'static'
    report = files('veh_identification.reporting') / 'templates'
    style = (report / 'page.css').read_bytes() + theme_css().encode()
    return {
        '/': ('text/html; charset=utf-8', (own / 'index.html').read_bytes()),
        '/style.css': (
            'text/css; charset=utf-8',
            style + (own / 'dashboard.css').read_bytes(),
        ),
        '/plots.js': ('text/javascript; charset=utf-8', (own / 'plots.js').read_bytes()),
        '/dashboard.js': ('text/javascript; charset=utf-8', (own / 'dashboard.js').read_bytes()),
        '/icon.svg': ('image/svg+xml', (own / 'icon.svg').read_bytes()),
    }


class DashboardServer:
    """Serves one collector; `source` says where its messages come from. A context manager."""

    def __init__(
        self,
        collector: Collector,
        source: Callable[[], Mapping[str, Any]],
        host: str = '127.0.0.1',
        port: int = 0,
    ) -> None:
        self.collector = collector
        self.source = source
        self.assets = assets()
        self.streams = threading.BoundedSemaphore(STREAMS)
        self.ended = threading.Event()
        try:
            self._server = _Server((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(f'cannot listen on {host} port {port}: {error}') from None
        self._server.dashboard = self
        self.address = str(self._server.server_address[0])
        self.port = int(self._server.server_address[1])
        self._names = own_names(self.address)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,))
        self._thread.daemon = True

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        host = '127.0.0.1' if self.address == '0.0.0.0' else self.address
        return f'http://{host}:{self.port}/'

    def __enter__(self) -> DashboardServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def welcomes(self, host_header: str | None) -> bool:
        """Whether a request names this machine, and not a name that merely points to it."""
        name = host_name(host_header or '')
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # A number is no name that somebody else could point here.
        return address.is_loopback or not ipaddress.ip_address(self.address).is_loopback

    def state(self, cursors: Cursors) -> str:
        """Everything that a page at `cursors` lacks."""
        content = head(self.collector)
        content['source'] = dict(self.source())
        content['program'] = f'veh-id {__version__}'
        content['past'] = past(self.collector, cursors)
        return as_json(content)


def own_names(address: str) -> set[str]:
    """Names of this machine that a page may be asked for."""
    names = {'localhost'}
    if not ipaddress.ip_address(address).is_loopback:
        name = socket.gethostname().lower()
        names |= {name, f'{name}.local'}
    return names


def host_name(header: str) -> str:
    """The host of a header `host:port`, without brackets; '' for what is no such header."""
    found = HOST.fullmatch(header.strip().lower())
    return '' if found is None else found[1] or found[2]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    dashboard: DashboardServer

    def server_bind(self) -> None:
        """Without http.server's question to the name server, which may take its time."""
        TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is nothing to talk about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = 'HTTP/1.1'
    server_version = 'veh-id'
    sys_version = ''
    timeout = PATIENCE

    def do_GET(self) -> None:
        """Answer."""
        if self._refused():
            return
        path = self.path.partition('?')[0]
        dashboard = self.server.dashboard
        if path == '/events':
            self._stream()
        elif path == '/state.json':
            self._send('application/json', dashboard.state({}).encode())
        elif path in dashboard.assets:
            self._send(*dashboard.assets[path])
        else:
            self._refuse(HTTPStatus.NOT_FOUND, 'there is no such page')

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Not on the terminal, where the engine talks."""

    def _refused(self) -> bool:
        if self.server.dashboard.welcomes(self.headers.get('Host')):
            return False
        self._refuse(HTTPStatus.MISDIRECTED_REQUEST, 'this machine is not called so')
        return True

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self._send('text/plain; charset=utf-8', f'{text}\n'.encode(), status)

    def _send(self, kind: str, content: bytes, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._head(kind, status, {'Content-Length': str(len(content))})
        if self.command != 'HEAD':
            self.wfile.write(content)

    def _head(self, kind: str, status: HTTPStatus, more: Mapping[str, str]) -> None:
        self.send_response(status)
        for key, value in {'Content-Type': kind, **SECURITY, **more}.items():
            self.send_header(key, value)
        self.end_headers()

    def _stream(self) -> None:
        """Server-sent events: all of it first, then what changes."""
        dashboard = self.server.dashboard
        if not dashboard.streams.acquire(blocking=False):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, 'too many pages are open')
            return
        try:
            self.close_connection = True
            self._head('text/event-stream', HTTPStatus.OK, {'Connection': 'close'})
            if self.command == 'GET':
                self._events(dashboard)
        except OSError:
            pass  # the page was closed
        finally:
            dashboard.streams.release()

    def _events(self, dashboard: DashboardServer) -> None:
        self.wfile.write(b'retry: 1000\n\n')  # milliseconds until a page that lost us asks again
        cursors: Cursors = {}
        sent, version = 0.0, -1
        while not dashboard.ended.is_set():
            now = time.monotonic()
            if dashboard.collector.version != version or now - sent >= LONGEST:
                sent, version = now, dashboard.collector.version
                self.wfile.write(f'data: {dashboard.state(cursors)}\n\n'.encode())
                self.wfile.flush()
            dashboard.ended.wait(PERIOD)
