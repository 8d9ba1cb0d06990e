"""Identification of a hexapod on its joint states, or over a bag (`bag:=PATH`)."""

from veh_identification.runtime.launching import launch_description


def generate_launch_description():
    return launch_description('parallel_identification')
