"""Modes of the driveline in the spectra of every sensor (Venture 2006, section VI.B).

A driveline shakes mountings and optics at a few sharp frequencies (3.9, 4.3 and 5.5 Hz on the
paper's car). No equation of the car holds that motion, so the bands are left out of the chassis
equations. Body modes and wheel hop are broad, for their dampers: what is sharp is none of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter1d, median_filter

from veh_identification.errors import SignalError
from veh_identification.signals import TimeSeries, welch_spectrum
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

#: Between the chassis' own modes and wheel hop.
RANGE_HZ = (3.0, 7.5)
WINDOW_SECONDS = 8.0
#: Shorter recordings do not resolve the modes.
FEWEST_SECONDS = 20.0
SPECTRUM_SAMPLES = 40000
#: Density over the median of the surroundings (Hz) from which on a line is a mode.
PROMINENCE, SURROUNDINGS_HZ = 6.0, 2.0
#: Half the band that is left out about a mode.
HALF_BAND_HZ = 0.3


@dataclass(frozen=True)
class Modes:
    """Sharp lines (Hz) by sensor."""

    sensors: Mapping[str, tuple[float, ...]]

    @property
    def bands(self) -> tuple[tuple[float, float], ...]:
        """What to leave out of the chassis equations: what shakes their motion and angles."""
        lines = {f for kind in ('imu', 'steering', 'camber') for f in self.sensors.get(kind, ())}
        return merged([(round(f - HALF_BAND_HZ, 2), round(f + HALF_BAND_HZ, 2)) for f in lines])

    def text(self, left_out: Sequence[Sequence[float]]) -> str:
        """One line for the terminal."""
        by = '; '.join(
            f'{name.replace("_", " ")} {" ".join(f"{one:g}" for one in lines)}'
            for name, lines in self.sensors.items()
        )
        out = ', '.join(f'{low:g}-{high:g}' for low, high in left_out) or 'nothing'
        return f'driveline modes [Hz]: {by}; left out of the chassis equations: {out}'


def merged(bands: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The same bands without overlaps, in order."""
    result: list[tuple[float, float]] = []
    for low, high in sorted(bands):
        if result and low <= result[-1][1]:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def driveline_modes(recording: CarRecording) -> Modes:
    """Modes that the spectra of a recording show; none where it is too short to tell."""
    found = {name: _modes(several) for name, several in _sensors(recording)}
    return Modes({name: modes for name, modes in found.items() if modes})


def _sensors(recording: CarRecording) -> Iterator[tuple[str, list[TimeSeries]]]:
    if recording.imu is not None:
        yield 'imu', [recording.imu]
    for kind in ('steering', 'camber', 'suspension'):
        some = [one for name, one in recording.joints.items() if name.startswith(f'{kind}_')]
        if some:
            yield kind, some
    if recording.wrenches:
        yield 'wheel_force', list(recording.wrenches.values())


def _modes(several: list[TimeSeries]) -> tuple[float, ...]:
    """Lines of all channels; those within a resolution of each other are one."""
    lines: list[tuple[float, float]] = []  # strongest first
    for series in several:
        lines += _lines(series)
    kept: list[float] = []
    for _, hertz in sorted(lines, reverse=True):
        if all(abs(hertz - other) > 1.5 / WINDOW_SECONDS for other in kept):
            kept.append(hertz)
    return tuple(sorted(round(one, 2) for one in kept))


def _lines(series: TimeSeries) -> list[tuple[float, float]]:
    """Prominence and frequency of the sharp lines of every channel."""
    values = series.values[:SPECTRUM_SAMPLES]
    rate = 1.0 / series.median_period
    if len(values) < FEWEST_SECONDS * rate or rate < 4.0 * RANGE_HZ[1]:
        return []
    finite = np.asarray(np.isfinite(values).all(axis=1))
    try:
        spectrum = welch_spectrum(values, rate, valid=finite, window_seconds=WINDOW_SECONDS)
    except SignalError:
        return []
    return [
        line for channel in spectrum.density.T for line in _sharp(spectrum.frequency_hz, channel)
    ]


def _sharp(frequency: Array, density: Array) -> list[tuple[float, float]]:
    step = float(frequency[1] - frequency[0])
    around = median_filter(density, size=2 * round(0.5 * SURROUNDINGS_HZ / step) + 1)
    peak = density == maximum_filter1d(density, size=3)
    inside = (frequency >= RANGE_HZ[0]) & (frequency <= RANGE_HZ[1])
    with np.errstate(divide='ignore', invalid='ignore'):
        level = density / around
    return [
        (float(level[n]), float(frequency[n]))
        for n in np.flatnonzero(peak & inside & (level > PROMINENCE))
    ]
