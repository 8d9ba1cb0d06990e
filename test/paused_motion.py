"""Motions that begin and end at rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Motion = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Paused:
    """Another motion, from a stand of `before` seconds on, for `moving` seconds; then it stands.

    Its own time begins and ends slowly, within `ramp` seconds.
    """

    inner: Callable[[np.ndarray], Motion]
    before: float
    moving: float
    ramp: float = 1.0
    offset: np.ndarray | None = None  # middle of the motion

    def evaluate(self, times: np.ndarray) -> Motion:
        """Positions, speeds and accelerations (N, channels)."""
        since = np.clip(times - self.before, 0.0, self.moving)
        begin, end = self._begun(since), self._begun(since - (self.moving - self.ramp))
        moment, rate, change = (b - e for b, e in zip(begin, end, strict=True))
        q, qd, qdd = self.inner(moment)
        rate = rate[:, None]
        return q, qd * rate, qdd * rate**2 + qd * change[:, None]

    def _begun(self, since: np.ndarray) -> Motion:
        """A time that starts smoothly at zero, its rate and the change of that."""
        y = np.clip(since / self.ramp, 0.0, 1.0)
        time = self.ramp * (y**3 - 0.5 * y**4) + np.maximum(since - self.ramp, 0.0)
        return time, 3.0 * y**2 - 2.0 * y**3, 6.0 * (y - y**2) / self.ramp
