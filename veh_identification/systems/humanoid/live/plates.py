"""Where the force plates of the live identification stand in the world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veh_identification.runtime.transforms import StaticFrames
from veh_identification.systems.humanoid.configuration import Pose
from veh_identification.types import Array


class PlatePlaces:
    """Takes static transforms and gives the middle of the plates, or of the one that is given."""

    def __init__(self, given: Sequence[float]) -> None:
        self._given = np.array(given, float) if len(given) == 3 else None
        self._frames = StaticFrames()

    def take(self, message: Any) -> list[str]:
        """Transforms of a tf2_msgs/TFMessage; returns what is wrong with them."""
        return self._frames.take(message)

    def pose(self, world: str, plate: str) -> Pose | None:
        """Where a plate stands in the world; None when that is not known."""
        if plate not in self._frames.frames() or not self._frames.connected(world, plate):
            return None
        found = self._frames.lookup(world, plate)
        return Pose(np.array(found.translation), found.matrix)

    def centre(self, world: str, plates: Sequence[str]) -> Array | None:
        """Middle of the plates in the world; None when the place of one is not known."""
        if self._given is not None:
            return self._given
        known = self._frames.frames()
        if not plates or not all(
            name in known and self._frames.connected(world, name) for name in plates
        ):
            return None
        places = [self._frames.lookup(world, name).translation for name in plates]
        return np.asarray(np.mean(places, axis=0))
