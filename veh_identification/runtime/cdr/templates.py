"""Fast decoding and encoding of messages that look like the one before.

Messages of one topic mostly share one structure: the same frame, the same joint names, sequences
of the same length; only numbers change. From one message that rosbags has decoded (or encoded) a
template is made: where the numbers are, and the bytes that must agree (lengths and texts). A
later message of that structure is taken apart or put together by one `struct` call; any other one
goes through rosbags, whose results (and errors) are the same. Little-endian CDR only.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from rosbags.serde import SerdeError

from veh_identification.runtime.cdr.plan import MessagePlan
from veh_identification.runtime.cdr.walk import LITTLE_ENDIAN, WalkError

Decode = Callable[[bytes | memoryview], Any]
Encode = Callable[[Any], bytes | None]

#: Templates a type may have: topics of one type differ in frames and names.
MAXIMUM_TEMPLATES = 8
#: So many more misses than hits, and the texts of this type change all the time: give up.
MAXIMUM_MISSES = 64
#: Pieces of a message whose template is expensive to make.
LONG = 100


class TypeTemplates:
    """Templates of one message type of one rosbags type store."""

    def __init__(self, store: Any, type_name: str) -> None:
        """Start without templates; KeyError when the store does not know the type."""
        self.store = store
        self.type_name = type_name
        self._class = store.types[type_name]
        self._decoders: dict[int, list[Decode]] = {}
        self._encoders: list[Encode] = []
        self._decoded_lengths: set[int] = set()
        self._encoded_length = -1
        self._decode_budget = self._encode_budget = MAXIMUM_TEMPLATES
        self._decode_misses = self._encode_misses = 0
        self._decode_hits = self._encode_hits = 0

    def decode(self, data: bytes | memoryview) -> Any:
        """Message of CDR bytes; errors are those of rosbags."""
        templates = self._decoders.get(len(data))
        if templates is not None:
            for template in templates:
                message = template(data)
                if message is not None:
                    self._decode_hits += 1
                    return message
        return self._decode_slowly(data)

    def encode(self, message: Any) -> bytes:
        """CDR bytes of a message; errors are those of rosbags."""
        for template in self._encoders:
            try:
                payload = template(message)
            except (AttributeError, TypeError, ValueError, BufferError, struct.error):
                continue  # rosbags says what is wrong, or takes it
            if payload is not None:
                self._encode_hits += 1
                return payload
        return self._encode_slowly(message)

    def _decode_slowly(self, data: bytes | memoryview) -> Any:
        try:
            message = self.store.deserialize_cdr(data, self.type_name)
        except (AssertionError, IndexError) as error:  # rosbags 0.11.0: too long, or empty
            raise SerdeError('its length is not that of such a message') from error
        length = len(data)
        if length in self._decoders:
            self._decode_misses += 1
            if self._decode_misses > MAXIMUM_MISSES + self._decode_hits:
                self._decoders.clear()
                self._decode_budget = 0
        # One message alone is not worth a template: wait for the second of its length.
        if self._decode_budget > 0 and bytes(data[:2]) == LITTLE_ENDIAN:
            if length in self._decoded_lengths:
                self._decode_budget -= self._add_decoder(bytes(data))
            elif len(self._decoded_lengths) < 4 * MAXIMUM_TEMPLATES:
                self._decoded_lengths.add(length)
        return message

    def _add_decoder(self, data: bytes) -> int:
        """Make a template; returns what it takes off the budget."""
        plan = self.plan(data)
        if plan is None:
            return MAXIMUM_TEMPLATES
        self._decoders.setdefault(len(data), []).append(plan.decoder())
        return _cost(plan, self._decode_hits)

    def _encode_slowly(self, message: Any) -> bytes:
        payload = bytes(self.store.serialize_cdr(message, self.type_name))
        if self._encoders:
            self._encode_misses += 1
            if self._encode_misses > MAXIMUM_MISSES + self._encode_hits:
                self._encoders.clear()
                self._encode_budget = 0
        if self._encode_budget > 0 and payload[:2] == LITTLE_ENDIAN:
            if len(payload) == self._encoded_length:
                self._encode_budget -= self._add_encoder(message, payload)
            self._encoded_length = len(payload)
        return payload

    def _add_encoder(self, message: Any, payload: bytes) -> int:
        """Make a template; returns what it takes off the budget."""
        plan = self.plan(payload)
        if plan is None:
            return MAXIMUM_TEMPLATES
        template = plan.encoder()
        # A field of a class of its own making might pack differently: compare once.
        try:
            usable = template(message) == payload
        except (AttributeError, TypeError, ValueError, BufferError, struct.error):
            usable = False
        if usable:
            self._encoders.append(template)
        return _cost(plan, self._encode_hits)

    def plan(self, data: bytes) -> MessagePlan | None:
        """Where the pieces of a message are; None when no template can be made of it."""
        try:
            return MessagePlan(self.store, self.type_name, data)
        except WalkError:
            return None


def _cost(plan: MessagePlan, hits: int) -> int:
    """A long message takes milliseconds to compile: one trial, unless templates have served."""
    return MAXIMUM_TEMPLATES if len(plan.pieces) > LONG and not hits else 1
