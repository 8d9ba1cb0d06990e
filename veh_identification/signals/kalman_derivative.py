"""Constant-acceleration Kalman filter of fixed bandwidth for irregular stamps."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from veh_identification.errors import SignalError
from veh_identification.signals.sample_gate import SampleGate
from veh_identification.types import Array

Derivatives = tuple[Array, Array, Array]


@njit(cache=True, nogil=True)
def _kalman_step(
    state: Array, covariance: Array, sample: Array, dt: float, density: float
) -> None:
    """One predict and update of [position, velocity, acceleration] for every channel at once.

    All channels share one covariance because only the ratio of jerk to measurement density
    enters the gain; the measurement density is one.
    """
    half = 0.5 * dt * dt
    p = covariance
    # P <- F P F^T + Q, Q of white jerk with spectral density `density`
    a00 = p[0, 0] + dt * p[1, 0] + half * p[2, 0]
    a01 = p[0, 1] + dt * p[1, 1] + half * p[2, 1]
    a02 = p[0, 2] + dt * p[1, 2] + half * p[2, 2]
    a11 = p[1, 1] + dt * p[2, 1]
    a12 = p[1, 2] + dt * p[2, 2]
    p00 = a00 + dt * a01 + half * a02 + density * dt**5 / 20.0
    p01 = a01 + dt * a02 + density * dt**4 / 8.0
    p02 = a02 + density * dt**3 / 6.0
    p11 = a11 + dt * a12 + density * dt**3 / 3.0
    p12 = a12 + density * dt**2 / 2.0
    p22 = p[2, 2] + density * dt
    # A sample after dt stands for an interval of dt: its variance is density / dt, so that the
    # bandwidth does not depend on the rate.
    noise = 1.0 / dt
    total = p00 + noise
    k0 = p00 / total
    k1 = p01 / total
    k2 = p02 / total
    # Joseph form would be safer for ill-conditioned updates; with one scalar and a 3 x 3
    # covariance the symmetric products below keep it positive to rounding.
    p[0, 0] = k0 * noise
    p[0, 1] = p[1, 0] = k1 * noise
    p[0, 2] = p[2, 0] = k2 * noise
    p[1, 1] = p11 - k1 * p01
    p[1, 2] = p[2, 1] = p12 - k1 * p02
    p[2, 2] = p22 - k2 * p02
    for c in range(state.shape[1]):
        position = state[0, c] + dt * state[1, c] + half * state[2, c]
        velocity = state[1, c] + dt * state[2, c]
        innovation = sample[c] - position
        state[0, c] = position + k0 * innovation
        state[1, c] = velocity + k1 * innovation
        state[2, c] = state[2, c] + k2 * innovation


class KalmanDerivativeFilter:
    """Constant-acceleration Kalman filter of fixed bandwidth, for irregular stamps.

    White jerk against white measurement noise makes the steady filter a third-order Butterworth
    loop at `cutoff_hz`. Position and velocity follow a constant acceleration without lag (`delay`
    is zero); the acceleration of a slow signal lags by `acceleration_delay` = 1 / (pi cutoff).
    """

    def __init__(self, channels: int, cutoff_hz: float, max_gap: float | None = None) -> None:
        if not cutoff_hz > 0.0 or not math.isfinite(cutoff_hz):
            raise SignalError(f'the cut-off must be a positive frequency, found {cutoff_hz} Hz')
        self.cutoff_hz = cutoff_hz
        self.delay = 0.0
        self.acceleration_delay = 1.0 / (math.pi * cutoff_hz)
        self.gate = SampleGate(channels, 1.0 / cutoff_hz if max_gap is None else max_gap)
        self._omega = 2.0 * math.pi * cutoff_hz
        self._state = np.zeros((3, channels))
        self._covariance = np.eye(3)
        self._settled_at = math.inf
        self._started = False
        self.stamp = math.nan
        _kalman_step(self._state, self._covariance, np.zeros(channels), 1.0, 1.0)
        self.reset()

    @property
    def channels(self) -> int:
        """Number of signals."""
        return self.gate.channels

    @property
    def ready(self) -> bool:
        """Whether the start-up transient is over."""
        return math.isfinite(self.stamp) and self.stamp >= self._settled_at

    def reset(self) -> None:
        """Forget the state; counters stay."""
        self._started = False
        self.stamp = math.nan
        self.gate.last_stamp = -math.inf

    def update(self, stamp: float, sample: ArrayLike) -> Derivatives:
        """Take one sample; return position, velocity and acceleration at `stamp`."""
        x = np.asarray(sample, dtype=np.float64)
        previous = self.gate.last_stamp
        use, gap = self.gate.admit(stamp, x)
        if use:
            if gap or not self._started:
                self._start(stamp, x)
            else:
                _kalman_step(self._state, self._covariance, x, stamp - previous, self._omega**6)
            self.stamp = stamp
        state = self._state.copy()
        return state[0], state[1], state[2]

    def _start(self, stamp: float, sample: Array) -> None:
        w = self._omega
        self._state[:] = 0.0
        self._state[0] = sample
        # Wide velocity and acceleration, in the units of the loop: settles in about one period.
        self._covariance[:] = np.diag([1.0 * w, 100.0 * w**3, 100.0 * w**5])
        self._settled_at = stamp + 10.0 / w
        self._started = True
