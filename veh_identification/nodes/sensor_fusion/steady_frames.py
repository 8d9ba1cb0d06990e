"""The frame that each sensor names: the first one, unless another stays."""

from __future__ import annotations

#: Messages in a row with another frame than the first, after which that one was wrong.
STAYS = 20


class SteadyFrames:
    """Which frame is believed of which sensor.

    Who asks looks at `of` first: only a frame that differs is worth a call.
    """

    def __init__(self) -> None:
        self.of: dict[str, str] = {}
        # another frame, the number of the first message that had it, how many had it since
        self._others: dict[str, tuple[str, int, int]] = {}

    def believed(self, name: str, frame: str, number: int) -> bool:
        """Whether a frame that differs is taken from now on; `number` counts the messages."""
        if name not in self.of:
            self.of[name] = frame
            return True
        other, first, count = self._others.get(name, ('', 0, 0))
        if other != frame or number - first != count:
            first, count = number, 0
        self._others[name] = frame, first, count + 1
        if count + 1 < STAYS:
            return False
        self.of[name] = frame
        del self._others[name]
        return True
