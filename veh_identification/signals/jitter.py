"""Stamps that jitter about the even steps of a device: the signals themselves say so.

A driver often stamps a message when it arrives, not when the device sampled. Then positions run
evenly over the count of the samples but unevenly over their stamps, and second derivatives are
noise. Stamps are taken from a line through those about them where the signals run far smoother
over it; where stamps are true, or samples are lost, they do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import savgol_filter

from veh_identification.findings import Finding, Level
from veh_identification.signals.glitches import bends
from veh_identification.signals.segments import sent_segments
from veh_identification.types import Array

#: Seconds of stamps that make a line.
SECONDS = 1.0
#: Even stamps must leave less than this share of the roughness of the signals.
SMOOTHER = 0.7
#: Jitter below this share of a step is let be.
LEAST = 0.02
FEWEST = 50
#: Steps at most over which roughness is looked at.
LONGEST = 10
#: Share of the channels that decides, those that tell most: who rests is rough over any stamps.
TELLING = 0.25
#: Share of the moments that counts: reversals and glitches are rough over any stamps.
USUAL = 0.9
#: Pauses, in mean steps, that no line goes across.
PAUSE = 5.0
#: Skewness above which stamps are late and never early, as messages that wait are (2 where they
#: wait at random, 0 of a clock that is read with noise), and the share of them that hardly waited.
SKEWED, PROMPT = 1.0, 0.01
#: Steps of jitter above which even stamps are a reservation: messages wait for so many before them
#: that nobody can say when the first of them was sent.
PILED_UP = 3.0


@dataclass(frozen=True, eq=False)
class Evened:
    """Stamps on even steps, as far as the signals ask for it."""

    stamps: Array
    jitter: float = 0.0  # s rms of the stamps that were changed; 0: none was
    smoother: float = 1.0  # share of the roughness that is left
    steps: float = 0.0  # jitter over the step from one sample to the next

    def findings(self, label: str, where: str) -> list[Finding]:
        """What was done."""
        if not self.jitter:
            return []
        text = (
            f'{label}: stamps jitter by {1e3 * self.jitter:.2g} ms (rms) about even steps and are '
            f'taken as even: over those positions are {1.0 / max(self.smoother, 1e-3):.2g} times '
            'as smooth'
        )
        if self.steps > PILED_UP:
            text += (
                f'; messages wait for {self.steps:.2g} others, so that a delay is left which '
                'nobody knows: stamp samples where they are taken'
            )
        level: Level = 'warn' if self.steps > PILED_UP else 'note'
        return [Finding(level, 'stamps_jitter', text, where)]


def evened(stamps: Array, values: Array) -> Evened:
    """Increasing stamps (N,) of signals (N, C) that go on as they did, positions."""
    if len(stamps) < FEWEST:
        return Evened(stamps)
    made = stamps.copy()
    steps = np.diff(stamps)
    changed, shares, pieces = [], [], []
    for piece in sent_segments(
        stamps, PAUSE * max(float(np.mean(steps)), float(np.median(steps)))
    ):
        if piece.stop - piece.start < FEWEST:
            continue
        even = _line(stamps[piece])
        away = stamps[piece] - even
        size = float(np.std(away)) / float(np.mean(np.diff(even)))
        if not size > LEAST:
            continue
        # Messages that wait for each other are late by alike; over shorter steps noise is all.
        stride = slice(None, None, min(max(1, round(size)), LONGEST))
        part = values[piece][stride]
        rough, smooth = (_roughness(times[stride], part) for times in (stamps[piece], even))
        share = float(np.quantile(smooth / rough, TELLING)) if len(rough) else 1.0
        if share < SMOOTHER:
            made[piece] = even
            changed.append(away)
            shares.append(share)
            pieces.append(piece)
    if not changed or not (np.diff(made) > 0.0).all():
        return Evened(stamps)
    every = np.concatenate(changed)
    jitter = float(np.sqrt(np.mean(every**2)))
    step = float(stamps[-1] - stamps[0]) / (len(stamps) - 1)
    return Evened(_sent(made, pieces, every), jitter, float(np.mean(shares)), jitter / step)


def _sent(made: Array, pieces: list[slice], away: Array) -> Array:
    """Even stamps when samples were sent, where `away` tells that they wait on their way.

    The line through the stamps is as late as they wait in the mean, which would be a delay beside
    every other sensor; those that hardly waited tell when all were sent.
    """
    usual = away - away.mean()
    if not float(np.mean(usual**3)) > SKEWED * float(np.mean(usual**2)) ** 1.5:
        return made
    earlier = made.copy()
    for piece in pieces:
        earlier[piece] += float(np.quantile(away, PROMPT))
    return earlier if (np.diff(earlier) > 0.0).all() else made


def check_stamps(stamps: Array, values: Array, where: str) -> list[Finding]:
    """Stamps of arrival where nobody can make them even, as a node cannot."""
    even = evened(stamps, values)
    if not even.jitter:
        return []
    text = (
        f'{where}: stamps jitter by {1e3 * even.jitter:.2g} ms (rms) about even steps, over which '
        f'positions are {1.0 / max(even.smoother, 1e-3):.2g} times as smooth: these are times of '
        'arrival; stamp samples where they are taken'
    )
    return [Finding('warn', 'stamps_jitter', text, where)]


def _line(stamps: Array) -> Array:
    """Each stamp from the straight line through those about it."""
    count = len(stamps)
    step = (stamps[-1] - stamps[0]) / (count - 1)
    window = min(2 * round(0.5 * SECONDS / step) + 1, (count - 1) // 2 * 2 - 1)
    line = stamps[0] + step * np.arange(count)
    return np.asarray(line + savgol_filter(stamps - line, max(window, 5), 1))


def _roughness(stamps: Array, values: Array) -> Array:
    """Of each channel that changes, without its roughest moments, over what is usual."""
    steps = np.quantile(np.abs(np.diff(values, axis=0)), USUAL, axis=0)
    moving = steps > 0.0
    if not moving.any():
        return np.zeros(0)
    bend = np.abs(bends(stamps, values[:, moving])) / steps[moving]
    bend = np.minimum(bend, np.quantile(bend, USUAL, axis=0))
    return np.maximum(np.sqrt(np.mean(bend**2, axis=0)), 1e-12)
