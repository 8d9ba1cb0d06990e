"""Identification of an arm on its joint states, or over a bag (`bag:=PATH`)."""

from veh_identification.runtime.launching import launch_description


def generate_launch_description():
    return launch_description('robot_identification')
