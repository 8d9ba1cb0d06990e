"""A real scheduler and real workers, started as their users start them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import fleet_workers
import numpy as np
import pytest

from veh_identification import engines
from veh_identification.fleets.reduction import Job
from veh_identification.fleets.run import LOST

pytest.importorskip('distributed', reason='dask.distributed is not installed')
ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return int(one.getsockname()[1])


class Cluster:
    """`dask scheduler` and two `dask worker` on the loopback."""

    def __init__(self) -> None:
        self.address = f'tcp://127.0.0.1:{free_port()}'
        port = self.address.rpartition(':')[2]
        self.parts = [
            self.start('scheduler', '--host', '127.0.0.1', '--port', port, '--no-dashboard')
        ]
        for _ in range(2):
            options = ('--nthreads', '1', '--host', '127.0.0.1', '--no-dashboard', '--no-nanny')
            self.parts.append(self.start('worker', self.address, *options))

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
        return subprocess.Popen(
            [sys.executable, '-m', 'dask', *words],
            env={**os.environ, 'PYTHONPATH': path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        for part in self.parts[::-1]:
            part.kill()
            part.wait()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.stop()


def test_cluster_gives_the_same_and_outlives_a_worker(cluster: Cluster) -> None:
    jobs = [Job(str(index), 'car') for index in range(30)]
    found = {}
    for index, one in engines.on_cluster(fleet_workers.slow_number, jobs, address=cluster.address):
        found[index] = one
        if len(found) == 6:
            cluster.parts[1].send_signal(signal.SIGKILL)
    assert sorted(found) == list(range(30))
    for index, one in found.items():
        np.testing.assert_array_equal(one.value, np.random.default_rng(index).standard_normal(3))
    processes = {one.samples for one in found.values()}
    assert os.getpid() not in processes
    assert cluster.parts[2].pid in processes


def test_lost_scheduler_is_one_sentence(cluster: Cluster) -> None:
    jobs = [Job(str(index), 'car') for index in range(200)]
    found = 0
    with pytest.raises(
        engines.EngineError, match=r'were lost after \d+ of 200.*goes on from there'
    ):
        for _ in engines.on_cluster(
            fleet_workers.slow_number, jobs, address=cluster.address, lost=LOST
        ):
            found += 1
            if found == 4:
                timer = threading.Timer(0.1, cluster.parts[0].kill)
                timer.start()
    assert 4 <= found < 200
    begin = time.monotonic()
    while cluster.parts[0].poll() is None and time.monotonic() - begin < 20.0:
        time.sleep(0.05)
    assert cluster.parts[0].poll() is not None
