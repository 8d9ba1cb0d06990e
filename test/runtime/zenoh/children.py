"""What the child processes of the tests do: `python children.py ROLE ENDPOINT [...]`."""

from __future__ import annotations

import sys
from typing import Any

from veh_identification.runtime import messages
from veh_identification.runtime.zenoh import ZenohEngine, run_router


def serve(endpoint: str) -> None:
    """Echo `chatter` on `echo` and offer `/server/set` until a signal comes."""
    string = messages.message_class('std_msgs/msg/String')
    set_bool = messages.service_class('std_srvs/srv/SetBool')
    with ZenohEngine(endpoint=endpoint) as engine:
        node = engine.create_node('server')
        publisher = node.create_publisher(string, 'echo', 200)
        node.create_subscription(string, 'chatter', publisher.publish, 200)

        def answer(request: Any, response: Any) -> Any:
            response.success, response.message = request.data, 'from another process'
            return response

        node.create_service(set_bool, '~/set', answer)
        print('ready', flush=True)
        engine.spin()
    print('ended', flush=True)


def record_bag(endpoint: str, folder: str) -> None:
    """Record `chatter` until a signal comes."""
    from veh_identification.runtime.zenoh import record

    with ZenohEngine(endpoint=endpoint) as engine:
        print('ready', flush=True)
        counts = record(engine, {'/chatter': 'std_msgs/msg/String'}, folder)
        print(counts['/chatter'].received, counts['/chatter'].lost, flush=True)


if __name__ == '__main__':
    role, endpoint, *rest = sys.argv[1:]
    if role == 'router':
        sys.exit(run_router(endpoint))
    {'serve': serve, 'record': record_bag}[role](endpoint, *rest)
