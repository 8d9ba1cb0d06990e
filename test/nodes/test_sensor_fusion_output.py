"""States written into the bytes of the message before: the same as serialised anew."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.fusion.joints import JointReading
from veh_identification.fusion.state import BaseState, FusedState
from veh_identification.nodes.sensor_fusion.output import (
    FusedStateWriter,
    RowWriter,
    TransformWriter,
    continuous_writer,
    odometry_writer,
)
from veh_identification.runtime import messages


def random_state(
    rng: np.random.Generator, joints: list[str], wrenches: list[str], channels: list[str]
) -> FusedState:
    base = BaseState()
    base.row[:] = rng.normal(size=base.row.size)
    base.pose_valid, base.orientation_valid, base.twist_valid, base.acceleration_valid = (
        bool(flag) for flag in rng.integers(0, 2, 4)
    )
    values = rng.normal(size=(3, len(joints)))
    values[:, rng.random(len(joints)) < 0.3] = np.nan
    return FusedState(
        int(rng.integers(1, 2**60)),
        base,
        JointReading(joints, values),
        wrenches,
        [f'frame of {name}' for name in wrenches],
        [(tuple(rng.normal(size=3)), tuple(rng.normal(size=3))) for _ in wrenches],
        [bool(flag) for flag in rng.integers(0, 2, len(wrenches))],
        channels,
        rng.normal(size=len(channels)),
        [bool(flag) for flag in rng.integers(0, 2, len(channels))],
    )


@pytest.mark.parametrize('joints', [0, 1, 12, 250])
@pytest.mark.parametrize('instruments', [0, 1, 3])
def test_bytes_are_those_of_the_message(joints: int, instruments: int) -> None:
    rng = np.random.default_rng(0)
    first, second = [f'j{k}' for k in range(joints)], [f'k{k}' for k in range(joints)]
    wrenches, channels = [f'w{k}' for k in range(instruments)], ['c'] * instruments
    writer = FusedStateWriter('odom', 'base_link')
    for names in (first, first, first, second, second, first):
        state = random_state(rng, names, wrenches, channels)
        found = writer(state)
        assert type(found) is bytes
        anew = FusedStateWriter('odom', 'base_link')
        assert found == messages.serialize(anew._fill(state))
        message = messages.deserialize(found, 'veh_identification/msg/FusedState')
        assert message.joint_names == names
        np.testing.assert_array_equal(message.joint_positions, state.joints.positions)
        assert message.gravity.z == state.base.row[21]


def test_odometry_and_transform_are_those_of_the_message() -> None:
    rng = np.random.default_rng(1)
    odometry, continuous = odometry_writer('map', 'base'), continuous_writer('odom', 'base')
    transform, direct = TransformWriter('map', 'odom', 'base'), TransformWriter('map', '', 'base')
    for _ in range(4):
        state = random_state(rng, ['a'], [], [])
        state.base.covariance = rng.normal(size=72)
        state.continuous = rng.normal(size=50)
        for writer in (odometry, continuous):
            assert writer(state) == messages.serialize(writer._make(state))
        state.base.pose_valid = True
        for found, inner in ((transform, transform._both), (direct, direct._direct)):
            assert isinstance(inner, RowWriter)
            assert found(state) == messages.serialize(inner._make(state))
        state.base.pose_valid = False
        assert direct(state) is None
        (only,) = messages.deserialize(transform(state), 'tf2_msgs/msg/TFMessage').transforms
        assert (only.header.frame_id, only.child_frame_id) == ('odom', 'base')
