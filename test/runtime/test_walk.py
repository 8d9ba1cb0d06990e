"""The walk through serialised messages: both byte orders, texts without a zero, limits."""

from __future__ import annotations

import struct

import pytest

from veh_identification.runtime import messages
from veh_identification.runtime.cdr.walk import Message, Walk, WalkError

STORE = messages.rosbags_backend().store
STAMPED = 'geometry_msgs/msg/PointStamped'


def stamped(order: str, frame: bytes) -> bytes:
    """A PointStamped by hand: second, nanosecond, frame, point."""
    head = struct.pack(f'{order}iII', 7, 8, len(frame)) + frame
    head += bytes(-len(head) % 8)
    kind = b'\x00\x01' if order == '<' else b'\x00\x00'
    return kind + b'\x00\x00' + head + struct.pack(f'{order}3d', 1.0, 2.0, 3.0)


@pytest.mark.parametrize('order', ['<', '>'])
@pytest.mark.parametrize('frame', [b'base_link\0', b'\0', b''])
def test_pieces_texts_and_tree_of_a_message(order: str, frame: bytes) -> None:
    data = stamped(order, frame)
    walk = Walk(STORE, STAMPED, data)
    assert walk.order == order
    assert walk.texts == {'header.frame_id': frame.rstrip(b'\0').decode()}
    numbers = {piece.path: piece for piece in walk.pieces if piece.kind}
    assert list(numbers) == [
        'header.stamp.sec',
        'header.stamp.nanosec',
        *('point.x', 'point.y', 'point.z'),
    ]
    values = [
        struct.unpack(f'{order}{"d" if p.kind == "float64" else "i"}', data[p.begin : p.end])[0]
        for p in numbers.values()
    ]
    assert values == [7, 8, 1.0, 2.0, 3.0]
    structure = [(p.begin, p.end) for p in walk.pieces if not p.kind]
    assert structure == [(0, 2), (12, 16 + len(frame))]
    (_, header), (_, point) = walk.root.fields
    assert isinstance(header, Message) and header.fields[1] == ('frame_id', 'header.frame_id')
    assert [walk.pieces[place].path for _, place in point.fields] == list(numbers)[2:]


@pytest.mark.parametrize(
    ('data', 'words'),
    [
        (b'', 'encapsulation header'),
        (b'\x07\x07\x00\x00', 'encapsulation header'),
        (stamped('<', b'base_link\0')[:-1], 'it ends after'),
        (stamped('<', b'base_link\0') + bytes(4), 'it ends 4 bytes before its data'),
        (stamped('<', b'base_link'), 'does not end with a zero byte'),
        (stamped('<', b'\xff\0'), "can't decode byte"),
    ],
)
def test_what_does_not_fit_is_said(data: bytes, words: str) -> None:
    with pytest.raises(WalkError, match=words):
        Walk(STORE, STAMPED, data)


def test_long_messages_are_left_early() -> None:
    data = messages.serialize(
        messages.new('tf2_msgs/msg/TFMessage', transforms=[{'child_frame_id': 'a'}] * 50)
    )
    assert len(Walk(STORE, 'tf2_msgs/msg/TFMessage', data).pieces) == 2 + 50 * 11
    with pytest.raises(WalkError, match='more than 400 parts'):
        Walk(STORE, 'tf2_msgs/msg/TFMessage', data, most=400)
    claims = b'\x00\x01\x00\x00' + struct.pack('<I', 2**31)
    with pytest.raises(WalkError, match='transforms claims 2147483648 elements'):
        Walk(STORE, 'tf2_msgs/msg/TFMessage', claims)
