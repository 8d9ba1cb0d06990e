#!/usr/bin/env python3
"""Three processes over zenoh on one machine: what is lost, and how long messages take.

A sensor process publishes `imu/data` (sensor_msgs/Imu) at 500 Hz and `truth/state` (our own
FusedState) at 100 Hz; a node process turns them into `fused/state`; a recorder writes all three
topics to a bag. A router of our own runs beside them. Printed are, per topic, the messages sent,
received, recorded and lost and the latency from `publish` in the sending process to the queue of
the recorder, and the time from the header stamp of `fused/state` to its recording, which holds
the delay that the fusion node waits for late sensors.

    bench/zenoh_latency.py                       60 s, the fusion node
    bench/zenoh_latency.py --node relay --json   a relay in place of the fusion node
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zenoh_roles import FUSED, run_role


def free_endpoint() -> str:
    """A loopback endpoint on a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return f'tcp/127.0.0.1:{probe.getsockname()[1]}'


class Child:
    """A process of the benchmark; only ever ended by its own id."""

    def __init__(self, role: str, options: argparse.Namespace, endpoint: str, bag: Path) -> None:
        command = [sys.executable, __file__, '--role', role, '--endpoint', endpoint]
        command += ['--bag', str(bag), '--duration', str(options.duration)]
        command += ['--node', options.node, '--config', options.config]
        # Nothing here is worth more than one thread of linear algebra.
        environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'}
        self.role = role
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment
        )

    def line(self) -> str:
        """The next line it prints."""
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        if not text:
            raise SystemExit(f'{self.role} ended early with status {self.process.wait()}')
        return text

    def values(self) -> dict[str, Any]:
        """Its next report."""
        result: dict[str, Any] = json.loads(self.line())
        return result

    def end(self) -> int:
        """SIGTERM, and the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def kill(self) -> None:
        """For the case that something else failed."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def measure(options: argparse.Namespace, bag: Path) -> dict[str, Any]:
    """Run all processes and put their reports together."""
    endpoint = free_endpoint()
    children: list[Child] = []

    def start(role: str) -> Child:
        children.append(Child(role, options, endpoint, bag))
        return children[-1]

    try:
        router = start('router')
        router.line()
        recorder, node = start('recorder'), start(options.node)
        recorder.values(), node.values()
        sensor = start('sensor')
        sent = sensor.values()
        statuses = {'sensor': sensor.process.wait(timeout=30)}
        statuses[options.node] = node.end()
        relayed = node.values()
        statuses['recorder'] = recorder.end()
        recorded = recorder.values()
        statuses['router'] = router.end()
    finally:
        for child in children:
            child.kill()
    received = recorded['received']
    never = {topic: count - received[topic] for topic, count in sent['sent'].items()}
    return {
        'node': options.node,
        'seconds': sent['seconds'],
        'matched': sent['matched'],
        'latest_ms': sent['latest_ms'],
        'sent': sent['sent'],
        'node_received': relayed['received'],
        'node_lost': relayed['lost'],
        'recorder_received': received,
        'recorder_lost': recorded['lost'],
        'never_recorded': never,
        'latency_ms': recorded['latency_ms'],
        'stamp_to_fused_ms': recorded['stamp_to_fused_ms'],
        'statuses': statuses,
    }


def total_lost(result: dict[str, Any]) -> int:
    """Messages that anybody missed: by sequence numbers, and sent but never received."""
    node = sum(result['sent'][topic] - n for topic, n in result['node_received'].items())
    gaps = result['recorder_lost'][FUSED]
    return int(node + sum(result['never_recorded'].values()) + gaps)


def print_table(result: dict[str, Any]) -> None:
    """For people."""
    print(f'three processes and a router, {result["seconds"]:.1f} s, node: {result["node"]}')
    print(f'{"topic":14}{"sent":>8}{"recorded":>10}{"lost":>6}{"p50 ms":>9}{"p99":>8}{"max":>8}')
    for topic, latency in result['latency_ms'].items():
        sent = result['sent'].get(topic, '')
        figures = ''.join(f'{latency.get(q, float("nan")):8.3f}' for q in ('p50', 'p99', 'max'))
        print(
            f'{topic:14}{sent:>8}{result["recorder_received"][topic]:>10}'
            f'{result["recorder_lost"][topic]:>6} {figures}'
        )
    through = result['stamp_to_fused_ms']
    print(f'node received {result["node_received"]}, lost {result["node_lost"]}')
    if through:
        print(
            'header stamp of fused/state to its recording (with the delay the node waits): '
            + ', '.join(f'{quantile} {value:.3f} ms' for quantile, value in through.items())
        )
    print(f'lost in all: {total_lost(result)}; exit statuses {result["statuses"]}')


def main() -> int:
    """Run as parent or as one of the processes."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--duration', type=float, default=60.0, help='seconds of publishing')
    parser.add_argument('--node', choices=('fusion', 'relay'), default='fusion')
    parser.add_argument('--config', default='', help='parameter file of the fusion node')
    parser.add_argument('--json', action='store_true', help='print JSON instead of a table')
    parser.add_argument('--bag', default='', help='keep the recording here')
    parser.add_argument('--role', default='', help=argparse.SUPPRESS)
    parser.add_argument('--endpoint', default='', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        return run_role(options)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(options, Path(options.bag or Path(folder) / 'recording'))
    if options.json:
        print(json.dumps({**result, 'lost': total_lost(result)}, indent=2))
    else:
        print_table(result)
    return 0 if total_lost(result) == 0 else 1


if __name__ == '__main__':
    sys.exit(main())
