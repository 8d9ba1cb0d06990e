"""Topic names."""

from __future__ import annotations


def full_topic(topic: str) -> str:
    """Topic name with exactly one leading slash; recordings and users write it both ways."""
    return '/' + topic.strip('/')
