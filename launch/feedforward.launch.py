"""Efforts for wanted motions of an identified robot (`config:=FILE` names its result)."""

from veh_identification.runtime.launching import launch_description


def generate_launch_description():
    return launch_description('feedforward')
