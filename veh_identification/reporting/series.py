"""Long series for the screen, spectra and whiteness of residuals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.signal import welch
from scipy.stats import kstwobign

from veh_identification.reporting.content import Colour, Outage
from veh_identification.types import Array

#: Points that a line may have; more are drawn by the extremes of intervals.
LIMIT = 4000
#: Share of the pass band in which a filter leaves the spectrum as it was.
FLAT_SHARE = 0.7
SIGNIFICANCE = 0.05


def extremes(time: Array, value: Array, limit: int = LIMIT) -> tuple[Array, Array]:
    """At most `limit` points that keep every peak: smallest and largest value per interval.

    A missing value (nan) in an interval stays a break of the line.
    """
    if len(time) <= limit:
        return time, value
    width = -(-len(time) // max(limit // 3, 1))
    bins = -(-len(time) // width)
    padded = np.full(bins * width, np.nan)
    padded[: len(value)] = value
    table = padded.reshape(bins, width)
    good = np.isfinite(table)
    first = np.arange(bins) * width
    low = first + np.argmin(np.where(good, table, np.inf), axis=1)
    high = first + np.argmax(np.where(good, table, -np.inf), axis=1)
    # Where a value is missing its place is kept too; an interval without any keeps its start.
    hole = first + np.where(good.all(axis=1), low - first, np.argmin(good, axis=1))
    index = np.unique(np.stack([low, high, hole]))
    index = index[index < len(time)]
    return time[index], value[index]


def with_breaks(
    stamps_ns: NDArray[np.int64], values: Array, pause: float = 10.0
) -> tuple[Array, Array]:
    """Seconds since the start and values (N, columns) with nan rows where samples are missing.

    Recordings that lie further apart than `pause` seconds follow each other after one second.
    """
    order = np.argsort(stamps_ns, kind='stable')
    stamps, rows = stamps_ns[order], values[order]
    if len(stamps) < 2:
        return np.zeros(len(stamps)), rows
    step = np.diff(stamps) * 1e-9
    typical = float(np.median(step[step > 0.0])) if np.any(step > 0.0) else 0.0
    step = np.where(step > pause, 1.0, step)
    time = np.concatenate([[0.0], np.cumsum(step)])
    after = np.flatnonzero(step > 5.0 * typical)
    holes = np.full((len(after), rows.shape[1]), np.nan)
    return (
        np.insert(time, after + 1, time[after] + 0.5 * step[after]),
        np.insert(rows, after + 1, holes, axis=0),
    )


def broken(time: Array, values: Array) -> tuple[Array, Array]:
    """The same series (N,) or (N, columns) with nan where samples are missing."""
    if len(time) < 3:
        return time, values
    step = np.diff(time)
    after = np.flatnonzero(step > max(0.5, 5.0 * float(np.median(step))))
    return (
        np.insert(time, after + 1, time[after] + 0.5 * step[after]),
        np.insert(values, after + 1, np.nan, axis=0),
    )


def longest_stretch(time: Array, values: Array) -> tuple[Array, Array]:
    """The longest run of rows without a missing value."""
    good = np.isfinite(values if values.ndim == 1 else values.sum(axis=1))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(int)))
    if not len(edges):
        return time[:0], values[:0]
    begins, ends = edges[::2], edges[1::2]
    k = int(np.argmax(ends - begins))
    return time[begins[k] : ends[k]], values[begins[k] : ends[k]]


def colour_of(
    equation: str, unit: str, time: Array, residual: Array, cutoff_hz: float | None = None
) -> Colour | None:
    """Spectrum and whiteness of a residual; None where the series is too short.

    Filtered residuals hold nothing above the cut-off, so that whiteness is judged within the flat
    part of the pass band only.
    """
    stamps, series = longest_stretch(time, residual)
    if len(series) < 64 or np.ptp(series) <= 0.0:
        return None
    rate = (len(stamps) - 1) / float(stamps[-1] - stamps[0])
    length = min(len(series), max(64, len(series) // 6))
    frequency, density = welch(series, fs=rate, nperseg=length, detrend='constant')
    band = 0.5 * rate if cutoff_hz is None else min(0.5 * rate, FLAT_SHARE * cutoff_hz)
    count = min((len(series) - 1) // 2, int(band * len(series) / rate))
    if count < 16:
        return None
    lines = np.abs(np.fft.rfft(series - series.mean())[1 : count + 1]) ** 2
    cumulative = np.cumsum(lines) / lines.sum()
    share = np.arange(1, count + 1) / count
    # Durbin's form: q ordinates behave like an empirical law of q - 1 points
    root = np.sqrt(count - 1)
    limit = float(kstwobign.isf(SIGNIFICANCE)) / (root + 0.2 + 0.68 / root)
    return Colour(
        equation,
        unit,
        frequency[1:],
        density[1:],
        share,
        cumulative,
        limit,
        float(np.max(np.abs(cumulative - share))),
        band,
    )


def jointly_limited(colours: Iterable[Colour | None]) -> tuple[Colour, ...]:
    """Limits of 5 % over all of them: one of many beyond the limit of a single test is chance."""
    found = [one for one in colours if one is not None]
    return tuple(replace(one, limit=familywise(len(found)) * one.limit) for one in found)


def familywise(tests: int) -> float:
    """Factor on the 5 % limit of one test of a cumulative periodogram for 5 % over all of them.

    Kolmogorov's limit is proportional to sqrt(-log(alpha / 2)); alpha is shared (Bonferroni),
    which holds for equations with common noise too.
    """
    return float(np.sqrt(np.log(0.025 / tests) / np.log(0.025)))


def outages(
    sensor: str, time: Array, accepted: NDArray[np.bool_], end: float, least: float = 0.5
) -> list[Outage]:
    """Times longer than `least` and five usual distances without an accepted measurement."""
    used = time[accepted]
    if len(used) < 2:
        return []
    typical = float(np.median(np.diff(used)))
    edges = np.concatenate([used, [end]])
    gaps = np.diff(edges)
    long = np.flatnonzero(gaps > max(least, 5.0 * typical))
    return [Outage(sensor, float(edges[k]), float(edges[k + 1])) for k in long]
