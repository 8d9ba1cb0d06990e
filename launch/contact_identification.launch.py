"""Identification of a humanoid from contact wrenches, live or over a bag (`bag:=PATH`)."""

from veh_identification.runtime.launching import launch_description


def generate_launch_description():
    return launch_description('contact_identification')
