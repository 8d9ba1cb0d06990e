"""Taking a sensor's own low-pass behaviour, gain and phase, out of its signal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft, signal

from veh_identification.types import Array

#: The inverse is limited here: beyond, noise would be amplified without any signal to win.
LARGEST_GAIN = 20.0


def sensor_response(frequency: Array, bandwidth_hz: float, order: int) -> NDArray[np.complex128]:
    """Complex response of an analogue Butterworth low-pass."""
    b, a = signal.butter(order, 2.0 * np.pi * bandwidth_hz, analog=True)
    return np.asarray(signal.freqs(b, a, 2.0 * np.pi * np.asarray(frequency))[1])


def equalise(values: Array, rate: float, bandwidth_hz: float, order: int) -> Array:
    """Signal (N, C) before the sensor's low-pass; the outer tenths of a second are disturbed."""
    count = len(values)
    pad = min(count - 1, int(rate * max(1.0, 4.0 / bandwidth_hz)))
    line = np.linspace(values[0], values[-1], count)
    odd = values - line
    # Odd reflection: no jump at the ends.
    extended = np.concatenate([-odd[pad:0:-1], odd, -odd[-2 : -pad - 2 : -1]])
    length = fft.next_fast_len(2 * len(extended), real=True)
    response = sensor_response(fft.rfftfreq(length, 1.0 / rate), bandwidth_hz, order)
    inverse = 1.0 / response
    gain = np.abs(inverse)
    inverse *= np.minimum(1.0, LARGEST_GAIN / gain) ** 2
    spectrum = fft.rfft(extended, length, axis=0) * inverse[:, None]
    result = fft.irfft(spectrum, length, axis=0)[pad : pad + count]
    # A ramp passes a low-pass with its delay: the inverse moves it ahead by that delay.
    delay = float(
        -np.unwrap(np.angle(sensor_response(np.array([1e-3, 2e-3]), bandwidth_hz, order)))[1]
        / (2.0 * np.pi * 2e-3)
    )
    slope = (values[-1] - values[0]) * rate / (count - 1)
    return result + line + slope * delay
