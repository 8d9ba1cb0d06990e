"""The other side of the exchange with PyPI's zenoh-ros2-sdk; run in a process of its own.

Sends back every message it receives and calls and offers a service.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from typing import Any

from zenoh_ros2_sdk import (
    ROS2Publisher,
    ROS2ServiceClient,
    ROS2ServiceServer,
    ROS2Subscriber,
    get_registry,
)

STATE, IMU = 'veh_identification/msg/FusedState', 'sensor_msgs/msg/Imu'


def fields(message: Any) -> dict[str, Any]:
    return {f.name: getattr(message, f.name) for f in dataclasses.fields(message) if f.init}


def main(port: int, definitions: str) -> None:
    get_registry(definitions)
    where = {'router_ip': '127.0.0.1', 'router_port': port, 'domain_id': 0}
    finished = threading.Event()
    publishers = {
        STATE: ROS2Publisher('/theirs/state', STATE, **where),
        IMU: ROS2Publisher('/theirs/imu', IMU, **where),
    }
    subscribers = [
        ROS2Subscriber(
            topic,
            kind,
            lambda message, kind=kind: publishers[kind].publish(**fields(message)),
            **where,
        )
        for topic, kind in (('/ours/state', STATE), ('/ours/imu', IMU))
    ]
    server: ROS2ServiceServer

    def answer(request: Any) -> Any:
        finished.set()
        return server.response_msg_class(success=not request.data, message='theirs')

    server = ROS2ServiceServer('/theirs/set', 'std_srvs/srv/SetBool', answer, **where)
    client = ROS2ServiceClient('/ours/set', 'std_srvs/srv/SetBool', timeout=2.0, **where)
    for kind, publisher in publishers.items():
        print('hash', kind, publisher.type_hash, flush=True)
    print('hash', 'std_srvs/srv/SetBool', server.type_hash, flush=True)
    print('ready', flush=True)
    # A request that is sent before the sessions know each other finds nobody.
    response = None
    for _ in range(5):
        response = response or client.call(data=True)
    assert response is not None
    print('response', response.success, response.message, flush=True)
    finished.wait(20.0)
    sys.stdin.read()  # until our side is done
    for item in (*subscribers, *publishers.values(), server, client):
        item.close()


if __name__ == '__main__':
    main(int(sys.argv[1]), sys.argv[2])
