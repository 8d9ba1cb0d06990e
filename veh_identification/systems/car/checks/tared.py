"""Wheel force sensors that were set to zero while the car stood on its wheels.

A road pushes and never pulls. Without the loads at rest the equations of the car contradict each
other, and signs and scales would be blamed.
"""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.car.checks.channels import Channels
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

#: Of the largest loads: what is no load, and the share of the samples on each side of it.
NOTHING, SIDES = 0.05, 0.05
#: Loads that pass through zero, and do not jump across it as a sign does, are near it at times.
NEAR, NEAR_SHARE = 0.25, 0.1
#: Of the largest loads: a mean force beyond that is the weight along another axis.
ELSEWHERE = 0.5


def check_tared(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """Wheels on which the road seems to push and to pull in turn."""
    pulled = [k for k in range(len(CORNERS)) if _both_ways(shown.wrench[:, k, :3])]
    if not pulled:
        return []
    names = ', '.join(f'wheel_{CORNERS[k]}/wrench' for k in pulled)
    loads = shown.load[:, pulled]
    text = (
        f'{names}: force.z goes from {np.nanmin(loads):.4g} to {np.nanmax(loads):.4g} N, and a '
        'road only pushes: the sensors seem to have been set to zero while the car stood on its '
        'wheels; tare them with the wheels in the air, or add the loads at rest'
    )
    return [Finding('bad', 'tared_under_load', text, f'{names} force.z')]


def _both_ways(force: Array) -> bool:
    """Whether the vertical force (N, 3) of a wheel goes through zero again and again."""
    force = force[np.isfinite(force).all(axis=1)]
    if not len(force):
        return False
    load, most = force[:, 2], float(np.percentile(np.abs(force[:, 2]), 98.0))
    if not most > 0.0 or np.linalg.norm(force.mean(axis=0)) > ELSEWHERE * most:
        return False
    sides = min(np.mean(load > NOTHING * most), np.mean(load < -NOTHING * most))
    return bool(sides > SIDES and np.mean(np.abs(load) < NEAR * most) > NEAR_SHARE)
