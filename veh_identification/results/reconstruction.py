"""Both sides of the equations over a recording: what reports draw and result bags hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.reporting.content import Trace, TraceSet
from veh_identification.reporting.series import with_breaks
from veh_identification.types import Array, IntArray


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Measured and predicted sides (samples, equations) of one recording or of several."""

    topic: str  # in the result bag
    title: str  # in the report
    held_out: bool  # not used for the identification
    equations: tuple[str, ...]
    units: tuple[str, ...]
    stamps_ns: IntArray
    measured: Array
    predicted: Array
    sigma: Array  # expected deviation of the difference per equation, nan: unknown
    a_priori: Array | None = None  # predicted by the values that one came with
    frame: str = ''
    drawn: bool = True  # false: for the bag only

    def traces(self) -> TraceSet:
        """For the report: time from zero, breaks where samples are missing."""
        sides = [self.measured, self.predicted]
        if self.a_priori is not None:
            sides.append(self.a_priori)
        time, rows = with_breaks(self.stamps_ns, np.concatenate(sides, axis=1))
        many = len(self.equations)
        return TraceSet(
            self.title,
            self.held_out,
            tuple(
                Trace(
                    equation,
                    self.units[j],
                    time,
                    rows[:, j],
                    rows[:, many + j],
                    None if self.a_priori is None else rows[:, 2 * many + j],
                )
                for j, equation in enumerate(self.equations)
            ),
        )
