"""Offsets of force plates in live use: what they show while nobody stands on them, as offline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.systems.humanoid.checks.tare import Empty, heaviest_load, what_is_empty
from veh_identification.systems.humanoid.processing.equations import TARED_OFFSET
from veh_identification.systems.humanoid.recording.reader import Wrench
from veh_identification.types import Array

#: Share of the weight that some plate must carry before another one can be called empty.
SMALLEST_LOAD = 0.3
#: Offsets of moments over those of forces, as offline [m].
LEVER = 0.1


@dataclass(frozen=True, eq=False)
class Tare:
    """The sum of all plates' offsets (6,) in world axes about a point, and its deviation."""

    value: Array
    std: Array | None  # None while some plate was never empty


class PlateTare:
    """Keeps the longest time that each plate was seen to be empty."""

    def __init__(self, smeared: float) -> None:
        """`smeared` [s]: how far the fusion's filter carries a load before and after it."""
        self._smeared = smeared
        self._empty: dict[str, tuple[Wrench, Empty]] = {}

    def look(self, wrenches: Sequence[Wrench], weight: float) -> None:
        """Look at the latest seconds of all plates."""
        plates = [one for one in wrenches if one.is_plate]
        load = heaviest_load(plates)
        if load < SMALLEST_LOAD * weight:
            return
        for one in plates:
            found = what_is_empty(one.series, load, self._smeared)
            before = self._empty.get(one.topic)
            if found is not None and (before is None or found.seconds > before[1].seconds):
                self._empty[one.topic] = one, found

    def total(self, plates: int, centre: Array, weight: float) -> Tare | None:
        """Of so many plates about `centre`; None while none was seen to be empty."""
        if not self._empty:
            return None
        value = np.zeros(6)
        for one, empty in self._empty.values():
            assert one.pose is not None
            force = one.pose.rotation @ empty.offset[:3]
            moment = one.pose.rotation @ empty.offset[3:]
            value[:3] += force
            value[3:] += moment + np.cross(one.pose.position - centre, force)
        if len(self._empty) < plates:
            return Tare(value, None)
        size = TARED_OFFSET * weight * np.sqrt(plates)
        return Tare(value, np.array([size] * 3 + [LEVER * size] * 3))
