"""Sensor fusion on a vehicle or robot, or over a bag (`bag:=PATH`)."""

from veh_identification.runtime.launching import launch_description


def generate_launch_description():
    return launch_description('sensor_fusion')
