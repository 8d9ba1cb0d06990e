"""What `identify car` and `design car` take: a description with parameters at the origin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veh_identification.errors import InputError
from veh_identification.systems.car.description.completion import for_identification
from veh_identification.systems.car.description.files import parse_car, read_car
from veh_identification.systems.car.description.model import TOPICS, CarDescription
from veh_identification.systems.car.description.parts import Geometry
from veh_identification.systems.car.description.sensors import Sensor, Sensors

__all__ = [
    'TOPICS',
    'CarConfigurationError',
    'CarDescription',
    'Geometry',
    'Sensor',
    'Sensors',
    'load_configuration',
    'parse_configuration',
]


class CarConfigurationError(InputError):
    """The description of a car cannot be used for what is asked."""


def load_configuration(path: str | Path) -> CarDescription:
    """Read the YAML file of a car."""
    return for_identification(read_car(path))


def parse_configuration(content: Any, where: str = 'configuration') -> CarDescription:
    """Configuration from the mapping of a YAML file; `where` names the source in errors."""
    return for_identification(parse_car(content, where))
