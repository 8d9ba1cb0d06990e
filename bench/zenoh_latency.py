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
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from veh_identification.runtime import messages
from veh_identification.runtime.qos import SENSOR_DATA, QoS

IMU, CUSTOM, FUSED = '/imu/data', '/truth/state', '/fused/state'
IMU_TYPE, STATE_TYPE = 'sensor_msgs/msg/Imu', 'veh_identification/msg/FusedState'
TYPES = {IMU: IMU_TYPE, CUSTOM: STATE_TYPE, FUSED: STATE_TYPE}
IMU_RATE, CUSTOM_EVERY = 500, 5
JOINTS = ['suspension_fl', 'suspension_fr', 'suspension_rl', 'suspension_rr']
#: Time for the last messages to arrive before the recorder is told to end.
SETTLE = 1.0


def report(values: dict[str, Any]) -> None:
    """One line of JSON for the parent process."""
    print(json.dumps(values), flush=True)


def run_sensor(engine: Any, options: argparse.Namespace) -> None:
    """Publish on a fixed schedule, whatever the machine does meanwhile."""
    node = engine.create_node('sensor')
    imu = node.create_publisher(messages.message_class(IMU_TYPE), IMU, SENSOR_DATA)
    custom = node.create_publisher(messages.message_class(STATE_TYPE), CUSTOM, QoS(depth=100))
    wanted = {imu: 2, custom: 2 if options.node == 'relay' else 1}
    matched = engine.spin_until(
        lambda: all(p.get_subscription_count() >= n for p, n in wanted.items()), 60.0
    )
    sent = {IMU: 0, CUSTOM: 0}
    late = 0.0
    start = time.monotonic()
    for k in range(round(options.duration * IMU_RATE)):
        time.sleep(max(0.0, start + k / IMU_RATE - time.monotonic()))
        late = max(late, time.monotonic() - start - k / IMU_RATE)
        header = messages.header(time.time_ns(), 'imu_link')
        imu.publish(
            messages.new(
                IMU_TYPE,
                header=header,
                orientation=(0.0, 0.0, 0.0, 1.0),
                angular_velocity=(0.0, 0.0, 0.1),
                linear_acceleration=(0.1, 0.0, 9.80665),
            )
        )
        sent[IMU] += 1
        if k % CUSTOM_EVERY == 0:
            custom.publish(
                messages.new(
                    STATE_TYPE,
                    header=header,
                    joint_names=JOINTS,
                    joint_positions=np.full(len(JOINTS), float(k)),
                )
            )
            sent[CUSTOM] += 1
    elapsed = time.monotonic() - start
    report({'matched': matched, 'sent': sent, 'seconds': elapsed, 'latest_ms': late * 1e3})
    engine.spin(SETTLE)


def run_relay(engine: Any, options: argparse.Namespace) -> None:
    """Stand in for the fusion node: every IMU message makes a state of the same stamp."""
    node = engine.create_node('relay')
    state_class = messages.message_class(STATE_TYPE)
    publisher = node.create_publisher(state_class, FUSED, QoS(depth=100))

    def on_imu(message: Any) -> None:
        publisher.publish(messages.new(STATE_TYPE, header=message.header, joint_names=JOINTS))

    imu_class = messages.message_class(IMU_TYPE)
    imu = node.create_subscription(imu_class, IMU, on_imu, SENSOR_DATA)
    custom = node.create_subscription(state_class, CUSTOM, lambda _: None, QoS(depth=100))
    report({'ready': True})
    engine.spin()
    report(
        {
            'received': {IMU: imu.received, CUSTOM: custom.received},
            'lost': {IMU: imu.lost, CUSTOM: custom.lost},
        }
    )


def run_fusion(engine: Any, options: argparse.Namespace) -> None:
    """The real fusion node with its defaults for a car."""
    from veh_identification.runtime.graph import find_config, find_node

    description = find_node('sensor_fusion')
    node = engine.create_node(
        description.name,
        parameters=description.parameters,
        parameter_files=[find_config(options.config)] if options.config else [],
        remappings=description.remappings,
    )
    description.create(node)
    report({'ready': True})
    engine.spin()
    subscriptions = [s for s in node.subscriptions() if s.topic == IMU]
    report(
        {
            'received': {IMU: sum(s.received for s in subscriptions)},
            'lost': {IMU: sum(s.lost for s in subscriptions)},
        }
    )


def run_recorder(engine: Any, options: argparse.Namespace) -> None:
    """Record all topics to a bag and keep the latencies."""
    from veh_identification.runtime.zenoh import record

    transport: dict[str, list[int]] = {topic: [] for topic in TYPES}
    end_to_end: list[int] = []

    def observe(topic: str, received: Any) -> None:
        transport[topic].append(received.received_ns - received.attachment.source_time_ns)
        if topic == FUSED:
            # The stamp stands at the beginning of the message, behind the four bytes of CDR.
            sec = int.from_bytes(received.payload[4:8], 'little', signed=True)
            nanosec = int.from_bytes(received.payload[8:12], 'little')
            end_to_end.append(received.received_ns - sec * 1_000_000_000 - nanosec)

    report({'ready': True})
    counts = record(engine, TYPES, options.bag, observer=observe)
    report(
        {
            'received': {topic: count.received for topic, count in counts.items()},
            'lost': {topic: count.lost for topic, count in counts.items()},
            'latency_ms': {topic: quantiles(values) for topic, values in transport.items()},
            'stamp_to_fused_ms': quantiles(end_to_end),
        }
    )


def quantiles(nanoseconds: list[int]) -> dict[str, float]:
    """Median, 99th percentile and maximum in milliseconds."""
    if not nanoseconds:
        return {}
    p50, p99 = np.quantile(np.asarray(nanoseconds) / 1e6, [0.5, 0.99])
    return {'p50': float(p50), 'p99': float(p99), 'max': max(nanoseconds) / 1e6}


def run_role(options: argparse.Namespace) -> int:
    """What a child process does."""
    from veh_identification.runtime.zenoh import ZenohEngine, run_router

    if options.role == 'router':
        return run_router(options.endpoint)
    roles = {
        'sensor': run_sensor,
        'relay': run_relay,
        'fusion': run_fusion,
        'recorder': run_recorder,
    }
    with ZenohEngine(endpoint=options.endpoint, log_level='warning') as engine:
        roles[options.role](engine, options)
    return 0


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
