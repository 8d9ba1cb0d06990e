"""Where the wanted joints stand in a message's list of names.

Whoever sends chooses the names, so what is remembered about them is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

#: Lists of names that are remembered; a robot has a few, one for each sender.
MOST_LAYOUTS = 64
Value = TypeVar('Value')


def remember(cache: dict[Any, Value], key: Any, value: Value) -> Value:
    """Keep a value; a full cache is emptied, for then nearly no key comes twice."""
    if len(cache) >= MOST_LAYOUTS:
        cache.clear()
    cache[key] = value
    return value


class JointOrder:
    """Places of some groups of joints, found once for each list of names."""

    def __init__(self, *groups: Sequence[str]) -> None:
        self._groups = groups
        self._known: dict[tuple[str, ...], tuple[tuple[int, ...], ...] | None] = {}

    def places(self, names: tuple[str, ...]) -> tuple[tuple[int, ...], ...] | None:
        """For each group the places of its joints, -1 for one that is missing.

        None where a wanted joint is named twice: nobody knows which of its values is meant.
        """
        if names in self._known:
            return self._known[names]
        return remember(self._known, names, self._find(names))

    def _find(self, names: tuple[str, ...]) -> tuple[tuple[int, ...], ...] | None:
        if any(names.count(joint) > 1 for group in self._groups for joint in group):
            return None
        return tuple(
            tuple(names.index(joint) if joint in names else -1 for joint in group)
            for group in self._groups
        )
