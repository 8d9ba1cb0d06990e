"""What a force plate exerts over time, whatever file it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class PlateWrench:
    """What one plate exerts, about its place in the world, in world axes."""

    name: str
    place: Array
    values: Array  # (N, 6)
