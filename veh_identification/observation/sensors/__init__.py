"""Sensor models with analytic Jacobians, written against any body or coordinate of a model."""

from veh_identification.observation.sensors.base import predict, read
from veh_identification.observation.sensors.gps import GpsPosition, GpsVelocity
from veh_identification.observation.sensors.inertial import Accelerometer, Gyroscope, turned_axes
from veh_identification.observation.sensors.rotation import (
    CoordinateRateSensor,
    CoordinateSensor,
    count_angle,
)

__all__ = [
    'Accelerometer',
    'CoordinateRateSensor',
    'CoordinateSensor',
    'GpsPosition',
    'GpsVelocity',
    'Gyroscope',
    'count_angle',
    'predict',
    'read',
    'turned_axes',
]
