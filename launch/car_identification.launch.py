"""Identification of a car while it drives, or over a bag (`bag:=PATH`)."""

from veh_identification.runtime.launching import launch_description


def generate_launch_description():
    return launch_description('car_identification')
