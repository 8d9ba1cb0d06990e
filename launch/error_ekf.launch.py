"""Observer of a car (or the four-bar linkage) on its sensors, or over a bag (`bag:=PATH`)."""

from veh_identification.runtime.launching import launch_description


def generate_launch_description():
    return launch_description('error_ekf')
