"""Descriptions of cars for the observer."""

from __future__ import annotations

from pathlib import Path

from veh_identification.errors import InputError
from veh_identification.systems.car.checks.geometry import check_geometry
from veh_identification.systems.car.description.completion import for_observer
from veh_identification.systems.car.description.files import packaged, read_car
from veh_identification.systems.car.description.model import CarDescription


def load(path: Path | str | None = None) -> CarDescription:
    """Read a description; the packaged buggy when no path is given.

    Lengths that no car has are refused here: the model cannot be built of them.
    """
    car = for_observer(read_car(packaged('buggy.yaml') if path is None else path))
    for finding in check_geometry(car):
        raise InputError(f'{car.source}: {finding.text}')
    return car
