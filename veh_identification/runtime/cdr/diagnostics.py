"""CDR of diagnostic_msgs/msg/DiagnosticArray, which every node publishes once a second.

It consists of texts of ever changing length, for which no template serves; but most of the texts
are the same every time, and their encoding is kept. Texts are aligned to four bytes, so the
encoding of a text, filled up to a multiple of four, does not depend on what stands before it.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

from veh_identification.runtime.cdr.templates import TypeTemplates

DIAGNOSTICS = 'diagnostic_msgs/msg/DiagnosticArray'
HEAD = struct.Struct('<4siI')
COUNT = struct.Struct('<I')
ENCAPSULATION = b'\x00\x01\x00\x00'
#: Longer texts are not worth keeping.
LONGEST_KEPT = 64


def _bare(text: str) -> bytes:
    data = text.encode()
    return COUNT.pack(len(data) + 1) + data + b'\0'


def _filled(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


@lru_cache(maxsize=4096)
def _kept(text: str) -> bytes:
    return _filled(_bare(text))


def _text(text: str) -> bytes:
    return _kept(text) if len(text) <= LONGEST_KEPT else _filled(_bare(text))


def encode_diagnostics(message: Any) -> bytes:
    """CDR bytes; TypeError, AttributeError or struct.error when a field does not hold its type."""
    stamp = message.header.stamp
    parts = [HEAD.pack(ENCAPSULATION, stamp.sec, stamp.nanosec), _text(message.header.frame_id)]
    parts.append(COUNT.pack(len(message.status)))
    before = b''  # the last text of the status before: its end is not filled up
    for status in message.status:
        values = status.values
        parts.append(_filled(before + struct.pack('<b', status.level)))
        parts += [_text(status.name), _text(status.message)]
        if not values:
            parts.append(_text(status.hardware_id))
            before = COUNT.pack(0)
            continue
        parts += [_text(status.hardware_id), COUNT.pack(len(values))]
        for pair in values:
            parts += [_text(pair.key), _text(pair.value)]
        parts.pop()
        before = _bare(values[-1].value)
    parts.append(before)
    return b''.join(parts)


class DiagnosticTemplates(TypeTemplates):
    """Takes the place of the templates of this type."""

    def encode(self, message: Any) -> bytes:
        """CDR bytes of a message; errors are those of rosbags."""
        try:
            return encode_diagnostics(message)
        except (AttributeError, TypeError, ValueError, struct.error):
            return super().encode(message)  # rosbags says what is wrong, or takes it
