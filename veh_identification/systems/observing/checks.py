"""What every observer asks of a recording before it runs."""

from __future__ import annotations

from collections.abc import Mapping

from veh_identification.findings import Finding

#: More than this share of unusable messages of a topic questions what is made of it.
UNUSABLE_SHARE = 0.05


def unusable_messages(counts: Mapping[str, tuple[int, int]]) -> list[Finding]:
    """Topics with messages that cannot be used; `counts` by topic: how many, and of how many."""
    return [
        Finding(
            'warn' if lost > UNUSABLE_SHARE * count else 'note',
            'messages_unusable',
            f'{topic}: {lost} of {count} messages unusable',
            topic,
        )
        for topic, (lost, count) in counts.items()
        if lost
    ]
