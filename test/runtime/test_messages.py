from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import MessageError, UsageError
from veh_identification.runtime import messages

# Hashes of a ROS 2 Jazzy installation, as published in rmw_zenoh key expressions.
IMU_HASH = 'RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b'
TRIGGER_HASH = 'RIHS01_eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f'


def test_defaults():
    message = messages.new('sensor_msgs/msg/Imu')
    assert message.orientation.w == 1.0
    assert message.angular_velocity.x == 0.0
    assert message.orientation_covariance.dtype == np.float64
    assert message.orientation_covariance.shape == (9,)
    assert message.header.frame_id == ''


def test_defaults_are_not_shared():
    first, second = messages.new('sensor_msgs/Imu'), messages.new('sensor_msgs/Imu')
    first.orientation_covariance[0] = 1.0
    first.angular_velocity.x = 2.0
    first.header.stamp.sec = 3
    assert second.orientation_covariance[0] == 0.0
    assert second.angular_velocity.x == 0.0
    assert second.header.stamp.sec == 0


def test_nested_values_in_every_form():
    message = messages.new(
        'sensor_msgs/msg/Imu',
        header=messages.header(12_000_000_034, 'imu_link'),
        orientation=(0, 0, 1, 0),
        angular_velocity=np.array([1, 2, 3]),
        linear_acceleration={'z': 9.81},
        orientation_covariance=np.eye(3),
    )
    assert messages.stamp_ns(message) == 12_000_000_034
    assert message.header.frame_id == 'imu_link'
    assert (message.orientation.z, message.orientation.w) == (1.0, 0.0)
    assert message.angular_velocity.z == 3.0 and type(message.angular_velocity.z) is float
    assert (message.linear_acceleration.x, message.linear_acceleration.z) == (0.0, 9.81)
    assert message.orientation_covariance.tolist() == np.eye(3).ravel().tolist()


def test_header_from_nanoseconds():
    message = messages.new('geometry_msgs/msg/TwistStamped', header=(1_500_000_000, 'base_link'))
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)


def test_negative_time():
    time = messages.time_from_ns(-1)
    assert (time.sec, time.nanosec) == (-1, 999_999_999)
    assert messages.stamp_ns(time) == -1


@pytest.mark.parametrize('sec', [2**31 - 1, -(2**31)])
def test_stamps_beyond_all_times_can_be_written(sec: int) -> None:
    """Found by the campaign of bench/fuzz.py: nanoseconds of four seconds carried too far."""
    stamp = sec * 1_000_000_000 + (2**32 - 1 if sec > 0 else -1)
    written = messages.serialize(messages.header(stamp))
    assert messages.deserialize(written, 'std_msgs/msg/Header').stamp.sec == sec


def test_sequences():
    message = messages.new(
        'veh_identification/msg/FusedState',
        joint_names=('a', 'b'),
        joint_positions=[1, 2],
        joint_valid=[True, False],
        wrench_names=['plate'],
        wrenches=[{'force': (1, 2, 3)}],
    )
    assert message.joint_names == ['a', 'b']
    assert message.joint_positions.dtype == np.float64
    assert message.joint_valid.tolist() == [True, False]
    again = messages.deserialize(messages.serialize(message), 'veh_identification/FusedState')
    assert again.wrenches[0].force.y == 2.0
    assert again.joint_names == ['a', 'b']


def test_byte_fields_in_both_forms():
    for level in (2, b'\x02'):
        message = messages.new('diagnostic_msgs/msg/DiagnosticStatus', level=level)
        assert messages.byte_value(message.level) == 2
    assert messages.byte_value(b'\x03') == 3


@pytest.mark.parametrize(
    ('fields', 'words'),
    [
        ({'speed': 1}, ['sensor_msgs/msg/Imu', "'speed'"]),
        ({'orientation': (1, 2)}, ['orientation', '4 fields', '2 values']),
        ({'orientation_covariance': [1]}, ['orientation_covariance', '9', '1']),
        ({'header': {'frame_id': 7}}, ['frame_id', 'string', 'int']),
        ({'linear_acceleration': 'up'}, ['linear_acceleration', 'Vector3', 'str']),
        ({'linear_acceleration': ('a', 0, 0)}, ['linear_acceleration', "'a'"]),
    ],
)
def test_wrong_fields_are_named(fields: dict, words: list[str]):
    with pytest.raises(MessageError) as caught:
        messages.new('sensor_msgs/msg/Imu', **fields)
    for word in words:
        assert word in str(caught.value)


def test_unknown_type_suggests():
    with pytest.raises(MessageError, match='sensor_msgs/msg/Imu'):
        messages.message_class('geometry_msgs/msg/Imu')
    with pytest.raises(MessageError, match='Unknown message type nothing/msg/Like'):
        messages.deserialize(b'\x00\x01\x00\x00', 'nothing/msg/Like')


def test_damaged_bytes():
    data = messages.serialize(messages.new('sensor_msgs/msg/Imu'))
    with pytest.raises(MessageError, match='sensor_msgs/msg/Imu cannot be decoded'):
        messages.deserialize(data[:40], 'sensor_msgs/msg/Imu')


def test_value_out_of_range():
    message = messages.new('builtin_interfaces/msg/Time', sec=2**40)
    with pytest.raises(MessageError, match='cannot be serialized'):
        messages.serialize(message)


def test_type_hashes_are_those_of_ros():
    assert messages.type_hash('sensor_msgs/msg/Imu') == IMU_HASH
    assert messages.type_hash('std_srvs/srv/Trigger') == TRIGGER_HASH


def test_services():
    trigger = messages.service_class('std_srvs/srv/Trigger')
    assert trigger is messages.service_class('std_srvs/srv/Trigger')
    response = trigger.Response()
    assert (response.success, response.message) == (False, '')
    response.success, response.message = True, 'done'
    data = messages.serialize(response)
    again = messages.deserialize(data, 'std_srvs/srv/Trigger_Response')
    assert (again.success, again.message) == (True, 'done')
    assert messages.serialize(trigger.Request()) == b'\x00\x01\x00\x00\x00'
    set_bool = messages.service_class('std_srvs/srv/SetBool')
    assert set_bool.Request(data=True).data is True
    messages.service_class('std_srvs/srv/Empty').Response()
    with pytest.raises(MessageError, match='Unknown service type'):
        messages.service_class('std_srvs/srv/Nothing')


def test_type_name_and_description():
    assert messages.type_name(messages.new('nav_msgs/Odometry')) == 'nav_msgs/msg/Odometry'
    described = messages.describe_type('geometry_msgs/msg/WrenchStamped')
    assert described['wrench.force.x'] == 'float64'
    assert described['header.frame_id'] == 'string'
    with pytest.raises(MessageError, match='not a ROS message'):
        messages.type_name(3)


def test_stamp_of_headerless_message():
    with pytest.raises(MessageError, match='no header stamp'):
        messages.stamp_ns(messages.new('geometry_msgs/msg/Vector3'))


def test_registered_definition():
    messages.register_definitions(
        {
            'my_plate/msg/Sample': 'float64 fx_n\nmy_plate/Inner inner\n' + '=' * 80 + '\n'
            'MSG: my_plate/Inner\nuint8[3] codes\n'
        }
    )
    message = messages.new('my_plate/Sample', fx_n=2, inner={'codes': [1, 2, 3]})
    again = messages.deserialize(messages.serialize(message), 'my_plate/msg/Sample')
    assert again.fx_n == 2.0 and again.inner.codes.tolist() == [1, 2, 3]
    with pytest.raises(MessageError, match='different definition'):
        messages.register_definitions({'my_plate/msg/Sample': 'float64 fy\n'})
    with pytest.raises(MessageError, match='my_plate/msg/Missing is used but not defined'):
        messages.register_definitions({'my_plate/msg/Other': 'my_plate/Missing field\n'})
    with pytest.raises(MessageError, match='cannot be parsed'):
        messages.register_definitions({'my_plate/msg/Broken': 'float64 1x\n'})


def test_unknown_backend():
    with pytest.raises(UsageError, match='Unknown message backend'):
        messages.select_backend('smoke')
    assert messages.backend_name() == 'rosbags'
