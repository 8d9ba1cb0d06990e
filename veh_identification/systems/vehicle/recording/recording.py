"""A recording of a car as arrays: what was measured, what drove it and, if known, the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from veh_identification.findings import Finding
from veh_identification.fusion.geodesy import Datum
from veh_identification.runtime.transforms import StaticFrames
from veh_identification.types import Array, IntArray

NOTHING = np.zeros(0)


@dataclass(frozen=True)
class Series:
    """Times [s] since the start of the recording and one row of values each."""

    time: Array = field(default_factory=lambda: NOTHING)
    value: Array = field(default_factory=lambda: np.zeros((0, 0)))
    variance: Array | None = None

    def __len__(self) -> int:
        return int(self.time.size)


@dataclass(frozen=True)
class Stream:
    """Samples of one stream as they stand in the recording, not sorted."""

    name: str
    stamps_ns: IntArray
    arrived_ns: IntArray
    values: Array  # (N, width)


@dataclass(frozen=True, eq=False)
class Recording:
    """All that the observer uses.

    The series are sorted by stamp; `streams` are the same samples as they arrived.
    """

    start_ns: int
    datum: Datum | None
    gyro: Series
    accelerometer: Series
    fix: Series
    velocity: Series
    wheel_angle: Series
    wheel_rate: Series
    rack: Series
    torque: Series
    pressure: Series
    source: Path | None = None
    truth: Mapping[str, Array] = field(default_factory=dict)
    #: How many messages of a topic could not be used, and of how many.
    unusable: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    steering: str = ''  # what the rack's travel comes from, in words
    findings: tuple[Finding, ...] = ()
    streams: tuple[Stream, ...] = ()
    frames: StaticFrames = field(default_factory=StaticFrames)
    frame_ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def duration(self) -> float:
        """Time of the last sensor message [s]."""
        return max(
            (
                s.time[-1]
                for s in (self.gyro, self.fix, self.velocity, self.wheel_angle, self.wheel_rate)
                if len(s)
            ),
            default=0.0,
        )

    @property
    def inputs(self) -> set[str]:
        """Which of the streams that drive the model are there."""
        known = {'torque': self.torque, 'pressure': self.pressure, 'rack': self.rack}
        return {name for name, series in known.items() if len(series)}
