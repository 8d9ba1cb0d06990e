"""Rates and lags of topics, from arrivals and header stamps alone."""

from __future__ import annotations

from collections import deque
from statistics import median

#: Arrivals of a topic that are looked back on.
WINDOW = 200
NANOSECONDS = 1e9
#: Stamps of one run that come out of order do so by less.
STEP_BACK_NS = 1_000_000_000


class NewestStamp:
    """The newest stamp of all sensors so far."""

    def __init__(self) -> None:
        self.stamp_ns = 0


class StreamMeter:
    """The last arrivals of a topic; sensors together say what the newest stamp is."""

    def __init__(self, newest: NewestStamp) -> None:
        self.received = 0
        self._newest = newest
        self._stamp_ns = 0
        self._arrivals: deque[int] = deque(maxlen=WINDOW)
        self._lags: deque[tuple[float, float]] = deque(maxlen=WINDOW)

    def add(self, arrival_ns: int, stamp_ns: int, sensor: bool = True) -> None:
        """One message; a stamp of zero tells nothing."""
        if self._arrivals and arrival_ns < self._arrivals[-1]:
            self._arrivals.clear()  # another run
            self._lags.clear()
        self.received += 1
        self._arrivals.append(arrival_ns)
        if not stamp_ns:
            return
        newest = self._newest
        if stamp_ns < self._stamp_ns - STEP_BACK_NS:  # a recording that begins again
            self._lags.clear()
            if sensor:
                newest.stamp_ns = stamp_ns
        self._stamp_ns = stamp_ns
        if sensor and stamp_ns > newest.stamp_ns:
            newest.stamp_ns = stamp_ns
        behind = (newest.stamp_ns - stamp_ns) / NANOSECONDS
        self._lags.append(((arrival_ns - stamp_ns) / NANOSECONDS, behind))

    @property
    def rate(self) -> float:
        """Messages a second, NaN before two have come."""
        if len(self._arrivals) < 2:
            return float('nan')
        span = (self._arrivals[-1] - self._arrivals[0]) / NANOSECONDS
        return (len(self._arrivals) - 1) / span if span > 0.0 else float('nan')

    @property
    def lag(self) -> float:
        """Median of arrival minus stamp [s], NaN where there is no stamp."""
        return median(one for one, _ in self._lags) if self._lags else float('nan')

    @property
    def behind(self) -> float:
        """The same counted from the newest stamp that any sensor had sent by then [s].

        Neither the clock nor the pace at which a recording is played matters to it.
        """
        return median(one for _, one in self._lags) if self._lags else float('nan')
