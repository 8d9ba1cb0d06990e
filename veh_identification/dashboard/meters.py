"""Rate and lag of a topic, from arrivals and header stamps alone."""

from __future__ import annotations

from collections import deque
from statistics import median

#: Arrivals that are looked back on.
WINDOW = 200
NANOSECONDS = 1e9
#: Stamps of one run that come out of order do so by less.
STEP_BACK_NS = 1_000_000_000


class StreamMeter:
    """The last arrivals of a topic."""

    def __init__(self) -> None:
        self.received = 0
        self._stamp_ns = 0
        self._arrivals: deque[int] = deque(maxlen=WINDOW)
        self._lags: deque[float] = deque(maxlen=WINDOW)

    def add(self, arrival_ns: int, stamp_ns: int) -> None:
        """One message; a stamp of zero tells nothing."""
        if self._arrivals and arrival_ns < self._arrivals[-1]:
            self._arrivals.clear()  # another run
            self._lags.clear()
        self.received += 1
        self._arrivals.append(arrival_ns)
        if stamp_ns:
            if stamp_ns < self._stamp_ns - STEP_BACK_NS:
                self._lags.clear()  # a recording that begins again
            self._stamp_ns = stamp_ns
            self._lags.append((arrival_ns - stamp_ns) / NANOSECONDS)

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
        return median(self._lags) if self._lags else float('nan')
