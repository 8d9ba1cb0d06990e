"""Entries of a hexapod's description that none has, without any recording."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.possible import impossible_value
from veh_identification.checks.ranges import LENGTH, MASS, check_entry
from veh_identification.checks.settled import check_gravity
from veh_identification.findings import Finding
from veh_identification.orientations import matrix_of_rpy
from veh_identification.systems.parallel.model.geometry import Hexapod

#: How far joints are from the middle of base and platform [m], from positioners to flight decks.
RADIUS = (2e-3, 10.0)
#: Of the platform with what stands on it, and of a rod [kg].
MOVED, ROD = 1e5, 1e4
#: Joints of one ring lie so close together only if their angles are in radians [rad].
TOGETHER = 0.12


def check_described(robot: Hexapod) -> list[Finding]:
    """Joints, home, masses and gravity."""
    found = check_gravity(float(np.linalg.norm(robot.gravity)))
    for name, joints in (('base', robot.base_joints), ('platform', robot.platform_joints)):
        radius = np.linalg.norm(joints[:, :2], axis=1)
        found += check_entry(float(radius.max()), LENGTH, f'{name}, radius', *RADIUS)
        found += _together(name, joints)
    place = float(np.linalg.norm(robot.home[:3]))
    found += check_entry(place, LENGTH, 'home, x y z', 0.0, 2.0 * RADIUS[1])
    turned = float(np.abs(robot.home[3:]).max())
    if turned > np.pi:
        text = f'home turns the platform by {turned:.4g} rad: are its angles in degrees?'
        found.append(Finding('bad', 'unit', text, 'home'))
    found += check_entry(robot.platform.m, MASS, 'platform.m', -np.inf, MOVED)
    found += check_entry(robot.leg.m3, MASS, 'leg.m3', -np.inf, ROD)
    below = [
        name
        for name, value in (('platform.m', robot.platform.m), ('leg.m3', robot.leg.m3))
        if value < 0.0
    ]
    found += impossible_value(below)
    return found or _home_lengths(robot)


def _together(name: str, joints: np.ndarray) -> list[Finding]:
    """Six joints within a few degrees: angles_deg that hold radians."""
    angles = np.unwrap(np.sort(np.arctan2(joints[:, 1], joints[:, 0])))
    if np.ptp(angles) > TOGETHER:
        return []
    text = (
        f'{name}: all six joints lie within {np.degrees(np.ptp(angles)):.3g} degrees of a circle: '
        'angles_deg is in degrees, is it in radians here?'
    )
    return [Finding('bad', 'unit', text, f'{name}.ring.angles_deg')]


def _home_lengths(robot: Hexapod) -> list[Finding]:
    """Legs that are within their limits where the platform is at home."""
    phi, theta, psi = robot.home[3:]
    turn = (
        matrix_of_rpy([phi, 0.0, 0.0])
        @ matrix_of_rpy([0.0, theta, 0.0])
        @ matrix_of_rpy([0.0, 0.0, psi])
    )
    ends = robot.home[:3] + robot.platform_joints @ turn.T
    lengths = np.linalg.norm(ends - robot.base_joints, axis=1)
    low, high = robot.limits.length_min, robot.limits.length_max
    if low <= lengths.min() and lengths.max() <= high:
        return []
    text = (
        f'at home the legs are {lengths.min():.4g} to {lengths.max():.4g} m long, and limits say '
        f'{low:.4g} to {high:.4g} m: one of home, base, platform and limits is in another unit or '
        'frame'
    )
    return [Finding('warn', 'home_beyond_limits', text, 'limits')]
