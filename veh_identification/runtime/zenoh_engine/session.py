"""Opening zenoh sessions and routers with rmw_zenoh's topology, on loopback unless told otherwise.

Every process is a peer that connects to a router, listens on a free port of the loopback
interface and learns of the other peers by gossip; data then go from peer to peer. Multicast
scouting is off, so nothing is announced on the network.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Sequence
from typing import Any

from veh_identification.errors import InputError, UsageError
from veh_identification.runtime.zenoh_engine.wire import MISSING

try:
    import zenoh
    import zenoh.ext as zenoh_ext
except ImportError as error:
    raise UsageError(MISSING.format('eclipse-zenoh')) from error

__all__ = ['default_domain', 'open_session', 'run_router', 'zenoh', 'zenoh_ext']

DEFAULT_ENDPOINT = 'tcp/127.0.0.1:7447'
#: Settings of zenoh as rmw_zenoh takes them, for certificates, users and access control:
#: `transport/link/tls/root_ca_certificate="ca.pem";...`, values in JSON5.
OVERRIDE = 'ZENOH_CONFIG_OVERRIDE'
LOOPBACK = 'tcp/127.0.0.1:0'


def default_domain() -> int:
    """`ROS_DOMAIN_ID` of the environment, 0 without it."""
    text = os.environ.get('ROS_DOMAIN_ID', '0') or '0'
    if not text.isdigit():
        raise UsageError(f'ROS_DOMAIN_ID: expected a whole number, got {text!r}')
    return int(text)


def _configuration(settings: dict[str, Any]) -> zenoh.Config:
    config = zenoh.Config()
    for key, value in settings.items():
        try:
            config.insert_json5(key, json.dumps(value))
        except zenoh.ZError as error:
            raise UsageError(f'zenoh refuses {key} = {value!r}: {error}') from error
    for key, text in overrides(os.environ.get(OVERRIDE, '')).items():
        try:
            config.insert_json5(key, text)
        except zenoh.ZError as error:
            raise UsageError(f'{OVERRIDE}: zenoh refuses {key}={text}: {error}') from error
    return config


def overrides(text: str) -> dict[str, str]:
    """The settings of the environment variable: `key=value;key=value`."""
    found = {}
    for part in filter(None, (one.strip() for one in text.split(';'))):
        key, equals, value = part.partition('=')
        if not equals or not key.strip() or not value.strip():
            raise UsageError(f'{OVERRIDE}: expected key=value between semicolons, got {part!r}')
        found[key.strip()] = value.strip()
    return found


def _open(settings: dict[str, Any], what: str) -> zenoh.Session:
    # Messages are small: those beyond 3 kB would take 16 MB of shared memory from every session,
    # which zenoh does not give back when it is closed.
    config = _configuration({'transport/shared_memory/enabled': False, **settings})
    try:
        return zenoh.open(config)
    except zenoh.ZError as error:
        raise InputError(f'{what}: {error}') from error


def open_session(connect: Sequence[str], listen: Sequence[str] = (LOOPBACK,)) -> zenoh.Session:
    """A peer that talks to the routers (or peers) at `connect`.

    A router that is not there yet is tried again in the background.
    """
    settings = {
        'mode': 'peer',
        'connect/endpoints': list(connect),
        # Wait briefly for the router, then carry on and keep trying.
        'connect/timeout_ms': 2000,
        'connect/exit_on_failure': False,
        'connect/retry': {
            'period_init_ms': 100,
            'period_max_ms': 1000,
            'period_increase_factor': 2,
        },
        'listen/endpoints': list(listen),
        'scouting/multicast/enabled': False,
        'scouting/gossip/enabled': True,
        # How long opening may wait for peers that the router names; the graph tells of later ones.
        'scouting/delay': 100,
        # Caches of transient local publishers are ordered by time stamps.
        'timestamping/enabled': True,
    }
    return _open(settings, f'cannot open a zenoh session that listens on {", ".join(listen)}')


def open_router(endpoint: str = DEFAULT_ENDPOINT) -> zenoh.Session:
    """A router that listens on `endpoint`."""
    settings = {
        'mode': 'router',
        'listen/endpoints': [endpoint],
        'scouting/multicast/enabled': False,
        'scouting/gossip/enabled': True,
        'scouting/delay': 0,
        'timestamping/enabled': True,
    }
    return _open(settings, f'cannot start a router on {endpoint}')


def run_router(endpoint: str = DEFAULT_ENDPOINT, *, announce: bool = True) -> int:
    """Be the router on `endpoint` until Ctrl-C or SIGTERM; returns the exit status 0."""
    stop = threading.Event()
    previous = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with open_router(endpoint) as session:
            if announce:
                print(f'zenoh router {session.zid()} on {endpoint}', flush=True)
            # A wait without a limit would not let the signal handler run on every platform.
            while not stop.wait(1.0):
                pass
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0
