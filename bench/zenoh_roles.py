"""The processes of zenoh_latency: sensor, relay or fusion node, recorder, router."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

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
