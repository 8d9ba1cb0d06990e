"""What the observer takes: the description of a car with all its parts (see `loading`)."""

from veh_identification.systems.car.description.model import CarDescription
from veh_identification.systems.car.description.parts import Axle, Geometry
from veh_identification.systems.car.parameters import CORNERS

__all__ = ['CORNERS', 'Axle', 'CarDescription', 'Geometry']
