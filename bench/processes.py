"""Processes of the benchmarks that run live: nodes, routers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from veh_identification.runtime.graph import Graph, graph_parameters

#: Seconds in which a node must be ready.
START = 900.0
#: Lines of a process that ended too early which are told.
TOLD = 5


def veh_id() -> list[str]:
    """The command line of this package."""
    return [sys.executable, '-m', 'veh_identification.cli.main']


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


def await_port(port: int, router: subprocess.Popen[str]) -> None:
    """Return when the router answers."""
    end = time.monotonic() + START
    while time.monotonic() < end and router.poll() is None:
        with socket.socket() as probe:
            if not probe.connect_ex(('127.0.0.1', port)):
                return
        time.sleep(0.2)
    raise RuntimeError(f'the router ended or does not answer within {START:g} s')


@contextmanager
def running(
    words: list[str], ready: str = '', heard: Callable[[str], None] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process that has said that it is ready; ended at the end."""
    environment = {**os.environ, 'PYTHONUNBUFFERED': '1'}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    said, done = threading.Event(), threading.Event()  # that it is ready; that, or it has ended
    lines = deque[str](maxlen=TOLD)

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.strip())
            if heard is not None:
                heard(line)
            if ready and ready in line:
                said.set()
                done.set()
        done.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        if ready and not done.wait(START):
            raise RuntimeError(f'not ready within {START:g} s')
        if ready and not said.is_set():
            raise RuntimeError(f'ended before it was ready: {" | ".join(lines)}')
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(5.0)


@contextmanager
def router() -> Iterator[str]:
    """A zenoh router; its endpoint."""
    port = free_port()
    endpoint = f'tcp/127.0.0.1:{port}'
    with running([*veh_id(), 'router', '--endpoint', endpoint]) as process:
        await_port(port, process)
        yield endpoint


def node(
    graph: Graph,
    name: str,
    endpoint: str,
    config: str | None,
    parameters: dict[str, Any],
    heard: Callable[[str], None] | None = None,
) -> AbstractContextManager[subprocess.Popen[str]]:
    """A node of a graph over zenoh, with further parameters."""
    file, machine = graph_parameters(graph, config)
    description = next(one for one in graph.nodes if one.name == name)
    words = [*veh_id(), 'run', name, '--engine', 'zenoh', '--endpoint', endpoint]
    words += ['--config', str(file)]
    for key, value in {**description.parameters, **machine, **parameters}.items():
        words += ['-p', f'{key}:={str(value).lower() if isinstance(value, bool) else value}']
    return running(words, description.ready_line, heard)
