"""The wire format against strings written out by hand from rmw_zenoh's design document."""

from __future__ import annotations

import pytest

from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.qos import LATCHED, SENSOR_DATA, QoS

pytest.importorskip('xxhash', reason='the package xxhash of the extra zenoh is not installed')
from veh_identification.runtime.zenoh_engine import wire

STRING_HASH = 'RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18'
ADD_HASH = 'RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a'
LISTENER = wire.NodeEntity(2, 'aac3178e146ba6f1fc6e6a4085e77f21', 0, '/', 'listener')


def test_data_keys() -> None:
    string = 'std_msgs/msg/String'
    assert wire.data_key(0, '/chatter', string, STRING_HASH) == (
        '0/chatter/std_msgs::msg::dds_::String_/'
        'RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18'
    )
    assert wire.data_key(0, '/robot1/chatter', string, STRING_HASH) == (
        '0/robot1/chatter/std_msgs::msg::dds_::String_/'
        'RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18'
    )
    assert wire.data_key(2, '/add_two_ints', 'example_interfaces/srv/AddTwoInts', ADD_HASH) == (
        '2/add_two_ints/example_interfaces::srv::dds_::AddTwoInts_/'
        'RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a'
    )


def test_type_hash_of_the_document() -> None:
    assert messages.type_hash('std_msgs/msg/String') == STRING_HASH


@pytest.mark.parametrize(
    ('qos', 'text'),
    [
        (QoS(depth=10), '::,10:,:,:,,'),
        (QoS(depth=7), '::,7:,:,:,,'),
        (QoS(depth=42), '::,:,:,:,,'),
        (SENSOR_DATA, '2::,1000:,:,:,,'),
        (LATCHED, ':1:,1:,:,:,,'),
        (QoS(depth=5, reliable=False, transient_local=True), '2:1:,5:,:,:,,'),
    ],
)
def test_quality_of_service(qos: QoS, text: str) -> None:
    assert wire.encode_qos(qos) == text
    assert wire.decode_qos(text) == qos


def test_quality_of_service_of_others() -> None:
    assert wire.decode_qos('1:2:1,10:0,0:60,3000:1,0,0') == QoS(depth=10)
    with pytest.raises(ValueError, match='quality of service'):
        wire.decode_qos('nonsense')


def test_liveliness_tokens() -> None:
    assert LISTENER.token == '@ros2_lv/2/aac3178e146ba6f1fc6e6a4085e77f21/0/0/NN/%/%/listener'
    subscription = wire.Endpoint(
        LISTENER, 10, wire.SUBSCRIPTION, '/chatter', 'std_msgs/msg/String', STRING_HASH, QoS(10)
    )
    assert subscription.token == (
        '@ros2_lv/2/aac3178e146ba6f1fc6e6a4085e77f21/0/10/MS/%/%/listener/%chatter/'
        'std_msgs::msg::dds_::String_/'
        'RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18/::,10:,:,:,,'
    )
    server = wire.NodeEntity(2, 'f9980ee0495eaafb3e38f0d19e2eae12', 0, '/', 'add_two_ints_server')
    service = wire.Endpoint(
        server,
        10,
        wire.SERVICE,
        '/add_two_ints',
        'example_interfaces/srv/AddTwoInts',
        ADD_HASH,
        wire.SERVICE_QOS,
    )
    assert service.token == (
        '@ros2_lv/2/f9980ee0495eaafb3e38f0d19e2eae12/0/10/SS/%/%/add_two_ints_server/'
        '%add_two_ints/example_interfaces::srv::dds_::AddTwoInts_/'
        'RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a/::,10:,:,:,,'
    )


def test_tokens_in_namespaces_come_back_whole() -> None:
    node = wire.NodeEntity(7, 'abc', 3, '/robot1/arm', 'talker')
    assert node.token == '@ros2_lv/7/abc/3/3/NN/%/%robot1%arm/talker'
    endpoint = wire.Endpoint(
        node, 5, wire.PUBLISHER, '/robot1/arm/imu/data', 'sensor_msgs/msg/Imu', 'h', SENSOR_DATA
    )
    assert '/%robot1%arm%imu%data/sensor_msgs::msg::dds_::Imu_/h/' in endpoint.token
    assert wire.parse_token(node.token) == node
    assert wire.parse_token(endpoint.token) == endpoint


@pytest.mark.parametrize(
    'token',
    [
        'somewhere/else',
        '@ros2_lv/0/abc/0/0/XX/%/%/name',
        '@ros2_lv/zero/abc/0/0/NN/%/%/name',
        '@ros2_lv/0/abc/0/1/MP/%/%/name/%topic',
        '@ros2_lv/0/abc/0/1/MP/%/%/name/%topic/no_dds_name/hash/::,1:,:,:,,',
    ],
)
def test_strange_tokens_are_passed_over(token: str) -> None:
    assert wire.parse_token(token) is None


def test_attachment_bytes() -> None:
    gid = bytes(range(0xA0, 0xB0))
    attachment = wire.Attachment(3, 1_700_000_000_123_456_789, gid)
    by_hand = bytes.fromhex(
        '0300000000000000'  # sequence number 3
        '15cd853dfe9c9717'  # 1700000000123456789 = 0x17979cfe3d85cd15
        '10'  # sixteen bytes follow
        'a0a1a2a3a4a5a6a7a8a9aaabacadaeaf'
    )
    assert attachment.encode() == by_hand
    assert wire.Attachment.decode(by_hand) == attachment


@pytest.mark.parametrize('data', [b'', bytes(16), bytes(33), bytes(34)])
def test_wrong_attachments(data: bytes) -> None:
    with pytest.raises(MessageError, match='attachment'):
        wire.Attachment.decode(data)


def test_identifiers_are_the_hash_of_the_token() -> None:
    """Bytes that our earlier XXH3, written after the specification, gave for this token."""
    publisher = wire.Endpoint(
        LISTENER, 4, wire.PUBLISHER, '/a', 'std_msgs/msg/String', STRING_HASH, QoS()
    )
    assert publisher.gid.hex() == 'fb07688f483c9184ab5e153ff9e8e11d'


def test_keys_against_the_sdk() -> None:
    pytest.importorskip('zenoh_ros2_sdk', reason='zenoh-ros2-sdk is not installed')
    from zenoh_ros2_sdk import entity, keyexpr
    from zenoh_ros2_sdk.attachment import Attachment

    node = entity.NodeEntity(2, LISTENER.session_id, 0, 'listener')
    assert keyexpr.node_liveliness_keyexpr(node) == LISTENER.token
    theirs = entity.EndpointEntity(
        node,
        4,
        entity.EntityKind.PUBLISHER,
        '/a/b',
        'sensor_msgs::msg::dds_::Imu_',
        'hash',
        '::,10:,:,:,,',
    )
    ours = wire.Endpoint(
        LISTENER, 4, wire.PUBLISHER, '/a/b', 'sensor_msgs/msg/Imu', 'hash', QoS(10)
    )
    assert keyexpr.endpoint_liveliness_keyexpr(theirs) == ours.token
    assert keyexpr.topic_keyexpr(2, '/a/b', theirs.dds_type_name, 'hash') == ours.key
    encoded = wire.Attachment(9, 8, bytes(16)).encode()
    assert Attachment.from_bytes(encoded).to_bytes() == encoded
