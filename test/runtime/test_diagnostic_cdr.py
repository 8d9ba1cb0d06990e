"""Diagnostics encoded by hand: byte for byte what rosbags gives."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.cdr.diagnostics import DIAGNOSTICS, encode_diagnostics

texts = st.text(st.characters(codec='utf-8', exclude_characters='\0'), max_size=80)
pairs = st.lists(st.tuples(texts, texts), max_size=4)
statuses = st.lists(st.tuples(st.integers(0, 3), texts, texts, texts, pairs), max_size=4)


def make(stamp: int, frame: str, content: list) -> object:
    return messages.new(
        DIAGNOSTICS,
        header=messages.header(stamp, frame),
        status=[
            {
                'level': level,
                'name': name,
                'message': text,
                'hardware_id': hardware,
                'values': [{'key': key, 'value': value} for key, value in values],
            }
            for level, name, text, hardware, values in content
        ],
    )


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**60), texts, statuses)
def test_same_bytes_as_rosbags(stamp: int, frame: str, content: list) -> None:
    message = make(stamp, frame, content)
    store = messages.rosbags_backend().store
    assert encode_diagnostics(message) == bytes(store.serialize_cdr(message, DIAGNOSTICS))


def test_what_is_no_text_is_refused_as_by_rosbags() -> None:
    message = make(0, '', [(0, 'a', 'b', 'c', [('k', 'v')])])
    message.status[0].values[0].value = 3.5  # type: ignore[attr-defined]
    try:
        messages.serialize(message)
    except MessageError as error:
        assert 'cannot be serialized' in str(error)
    else:
        raise AssertionError('a number passed for a text')
