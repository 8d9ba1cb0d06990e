"""Exchange both ways with PyPI's zenoh-ros2-sdk, a peer that nobody here wrote."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('zenoh', reason='eclipse-zenoh is not installed')
pytest.importorskip('zenoh_ros2_sdk', reason='zenoh-ros2-sdk is not installed')

from rosbags.typesys import Stores, get_typestore

from veh_identification.errors import InputError
from veh_identification.runtime import messages
from veh_identification.runtime.qos import SENSOR_DATA
from veh_identification.runtime.zenoh import ZenohEngine

pytestmark = pytest.mark.zenoh

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
STATE, IMU = 'veh_identification/msg/FusedState', 'sensor_msgs/msg/Imu'
SET_BOOL = 'std_srvs/srv/SetBool'


@pytest.fixture
def definitions(tmp_path: Path) -> Path:
    """Our msg folder as it is, and the standard messages, which the SDK else downloads."""
    folder = tmp_path / 'definitions'
    for file in (ROOT / 'msg').glob('*.msg'):
        target = folder / 'veh_identification' / 'msg' / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.read_text('utf-8'), 'utf-8')
    store = get_typestore(Stores.ROS2_JAZZY)
    standard = ['sensor_msgs/msg/Imu', 'service_msgs/msg/ServiceEventInfo']
    standard += [f'geometry_msgs/msg/{n}' for n in ('Pose', 'Twist', 'Accel', 'Wrench')]
    for name in standard:
        whole = f'MSG: {name}\n' + store.generate_msgdef(name, ros_version=2)[0]
        for part in re.split(r'^=+\n', whole, flags=re.MULTILINE):
            head, _, body = part.partition('\n')
            package, kind = head.removeprefix('MSG: ').replace('/msg/', '/').split('/')
            target = folder / package / 'msg' / f'{kind}.msg'
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(body, 'utf-8')
    service = folder / 'std_srvs' / 'srv' / 'SetBool.srv'
    service.parent.mkdir(parents=True)
    service.write_text('bool data\n---\nbool success\nstring message\n', 'utf-8')
    return folder


def state() -> Any:
    return messages.new(
        STATE,
        header=messages.header(1_234_567_890_123, 'odom'),
        child_frame_id='base_link',
        twist_valid=True,
        pose={'position': (1.0, 2.0, 3.0), 'orientation': (0.0, 0.0, 0.6, 0.8)},
        joint_names=['suspension_fl', 'wheel_äöü'],
        joint_positions=np.array([0.1, -0.2]),
        joint_valid=[True, False],
        wrench_names=['plate'],
        wrenches=[{'force': (1.0, 2.0, 700.0), 'torque': (0.1, 0.2, 0.3)}],
        wrench_valid=[True],
    )


def imu() -> Any:
    return messages.new(
        IMU,
        header=messages.header(77, 'imu_link'),
        orientation=(0.0, 0.0, 0.0, 1.0),
        linear_acceleration=(0.1, 0.2, 9.81),
        linear_acceleration_covariance=np.arange(9.0),
    )


def call(client: Any, request: Any) -> Any:
    """They announce a service before they offer it, so the first requests may find nobody."""
    for _ in range(20):
        with contextlib.suppress(InputError):
            return client.call(request, 1.0)
    raise AssertionError('their service never answered')


def test_exchange_with_the_sdk(
    make_engine: Callable[..., ZenohEngine], endpoint: str, definitions: Path
) -> None:
    engine = make_engine()
    node = engine.create_node('ours')
    echoed: dict[str, list[Any]] = {STATE: [], IMU: []}
    publishers = {}
    for kind, name in ((STATE, 'state'), (IMU, 'imu')):
        cls = messages.message_class(kind)
        node.create_subscription(cls, f'/theirs/{name}', echoed[kind].append, SENSOR_DATA)
        publishers[kind] = node.create_publisher(cls, f'/ours/{name}', 10)
    set_bool = messages.service_class(SET_BOOL)

    def answer(request: Any, response: Any) -> Any:
        response.success, response.message = request.data, 'ours'
        return response

    node.create_service(set_bool, '/ours/set', answer)
    client = node.create_client(set_bool, '/theirs/set')
    peer = subprocess.Popen(
        [sys.executable, str(HERE / 'sdk_peer.py'), endpoint.rpartition(':')[2], str(definitions)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(iter(peer.stdout.readline, '')))  # type: ignore[union-attr]
        reader.start()
        ended = lambda: peer.poll() is not None  # noqa: E731
        assert engine.spin_until(
            lambda: ended() or all(p.get_subscription_count() for p in publishers.values()), 30.0
        )
        for _ in range(30):  # until their session knows of our subscriptions, too
            for kind, message in ((STATE, state()), (IMU, imu())):
                publishers[kind].publish(message)
            if engine.spin_until(lambda: ended() or all(echoed.values()), 0.5):
                break
        assert client.wait_for_service(15.0)
        response = call(client, set_bool.Request(data=False))
        assert engine.spin_until(
            lambda: ended() or any(line.startswith('response') for line in lines), 15.0
        )
        _, errors = peer.communicate(timeout=15)
        reader.join()
    finally:
        if peer.poll() is None:
            peer.kill()
            peer.communicate()
    assert peer.returncode == 0, errors
    assert (response.success, response.message) == (True, 'theirs')
    assert 'response True ours\n' in lines
    for kind, sent in ((STATE, state()), (IMU, imu())):
        # Byte for byte what was sent, after their decoder and encoder.
        assert {messages.serialize(m) for m in echoed[kind]} == {messages.serialize(sent)}
    for kind in (STATE, IMU, SET_BOOL):
        # They work the hash out by themselves from the definitions.
        assert f'hash {kind} {messages.type_hash(kind)}\n' in lines
