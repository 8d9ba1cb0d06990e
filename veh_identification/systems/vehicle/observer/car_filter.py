"""What timekeeping, bearings and estimates see of the filter of a car."""

from __future__ import annotations

from typing import Any, Protocol

from veh_identification.types import Array


class CarFilter(Protocol):
    """The part of `VehicleErrorEKF` that they read and correct."""

    time: float
    P: Array
    parameters: Array
    orders: int
    size: int
    model: Any
    vehicle: Any
    antenna: Array
    bearings: Any
    observed: Any

    @property
    def swing(self) -> float:
        """Variance of the place that an unknown heading leaves."""

    @property
    def sensors(self) -> Any:
        """By their names."""

    @property
    def parameter_names(self) -> Any:
        """Of the error states behind those of the model."""

    def set_parameter(self, name: str, value: float, deviation: float) -> None:
        """Say what is known of a parameter."""

    def forget(self, state: int, variance: float) -> None:
        """Let a state have a variance, and nothing to do with the others."""

    def put(self, errors: Array) -> None:
        """Correct the whole state by errors."""
