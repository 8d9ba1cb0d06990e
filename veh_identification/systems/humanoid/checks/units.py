"""Units and axes that contradict what a recording must be: degrees, millimetres, y up.

Motion capture and laboratory software often writes degrees, millimetres and worlds with y up. Such
a recording fits no motion at all, and what fails first says nothing of the reason: these questions
are asked before any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.humanoid.recording.reader import Recording, Wrench
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.types import Array

TURN = 2.0 * np.pi
TURNING_SHARE = 0.2  # of the revolute joints, beyond which it is not one that winds up
FAR_PRESSURE = 20.0  # m from a plate's origin at which no foot stands
FAR_BASE = 50.0  # m from every plate
LOADED = 0.3  # share of a plate's largest load
CARRIED = 0.1  # share of the CAD weight that plates must carry on average to tell where up is
GRAVITY = 9.81
SMALL_FORCE = 0.05  # of the CAD weight: less does not carry a robot, or is in another unit


def unit_findings(recording: Recording, robot: Robot) -> list[Finding]:
    """Degrees, millimetres, or a world that is not upright: no such recording can be used."""
    plates = [wrench for wrench in recording.wrenches if wrench.is_plate]
    weight = robot.total_mass * GRAVITY
    found = [
        _degrees(recording, robot),
        *(_moments(recording.label, one, weight) for one in plates),
    ]
    if plates and recording.mount is None:
        found.append(_distance(recording, plates))
        found.append(_upright(recording, plates, CARRIED * robot.total_mass * GRAVITY))
    return [one for one in found if one is not None]


def _degrees(recording: Recording, robot: Robot) -> Finding | None:
    """Revolute joints have stops: hardly one covers a turn, and never many of them."""
    revolute = {joint.name for joint in robot.joints if joint.type == 'revolute'}
    ranges = {
        name: float(np.ptp(np.percentile(values, [1.0, 99.0])))
        for name in revolute
        if (values := recording.joint(name)) is not None
    }
    wide = [name for name, value in ranges.items() if value > TURN]
    if len(wide) < max(2.0, TURNING_SHARE * len(ranges)):
        return None
    name = max(wide, key=lambda one: ranges[one])
    return Finding(
        'bad',
        'joints_in_degrees',
        f'{recording.label}: joint_states seems to be in degrees, expected rad: {len(wide)} '
        f'joints cover more than a turn, {name} {ranges[name]:.3g}',
        f'{recording.label}, topic joint_states, joint {name}',
    )


def _loaded(plate: Wrench) -> Array:
    """Rows (n, 6) with a load on the plate."""
    values = plate.series.values
    size = np.linalg.norm(values[:, :3], axis=1)
    return values[size > max(LOADED * float(np.percentile(size, 98.0)), 1e-9)]


def _moments(label: str, plate: Wrench, weight: float) -> Finding | None:
    rows = _loaded(plate)
    # Arms are long as well where forces are in kN: the search for a cause tells which it is.
    if not len(rows) or np.median(np.linalg.norm(rows[:, :3], axis=1)) < SMALL_FORCE * weight:
        return None
    if not rows[:, 3:].any():
        return Finding(
            'bad',
            'moments_missing',
            f'{label}: the moments of {plate.topic} are exactly zero under load: nobody fills '
            'wrench.torque, which must tell the moments about the origin of its frame',
            f'{label}, topic {plate.topic}, wrench.torque',
        )
    arm = float(
        np.median(np.linalg.norm(rows[:, 3:], axis=1) / np.linalg.norm(rows[:, :3], axis=1))
    )
    if arm <= FAR_PRESSURE:
        return None
    return Finding(
        'bad',
        'moments_in_newton_millimetres',
        f'{label}: the moments of {plate.topic} put the force {arm:.3g} m away from the '
        'origin of its frame: they seem to be in N mm, expected N m',
        f'{label}, topic {plate.topic}, wrench.torque',
    )


def _distance(recording: Recording, plates: Sequence[Wrench]) -> Finding | None:
    place = np.median(recording.base.values[:, :3], axis=0)
    near = min(
        float(np.linalg.norm(place - plate.pose.position))
        for plate in plates
        if plate.pose is not None
    )
    if near <= FAR_BASE:
        return None
    return Finding(
        'bad',
        'base_far_from_plates',
        f'{recording.label}: {recording.base.label} is {near:.3g} m away from the nearest '
        "plate: is it in mm, or in another frame than the plates' poses?",
        f'{recording.label}, topic {recording.base.label}, pose.position',
    )


def _upright(recording: Recording, plates: Sequence[Wrench], least: float) -> Finding | None:
    """The mean of all forces carries the weight, so it points upwards, from plates to base.

    Below `least` [N] it carries nobody and points anywhere.
    """
    total, places = np.zeros(3), []
    for plate in plates:
        if plate.pose is not None:
            total += plate.pose.rotation @ plate.series.values[:, :3].mean(axis=0)
            places.append(plate.pose.position)
    arm = np.median(recording.base.values[:, :3], axis=0) - np.mean(places, axis=0)
    if np.linalg.norm(total) < least:
        return None
    axis = int(np.argmax(np.abs(total)))
    # Other directions are for the test of signs and frames.
    if axis == 2 or axis != int(np.argmax(np.abs(arm))) or total[axis] * arm[axis] <= 0.0:
        return None
    return Finding(
        'bad',
        'world_not_upright',
        f"{recording.label}: the plates' mean force points along "
        f'{"-" if total[axis] < 0 else "+"}{"xyz"[axis]} of the world, where the base is, '
        "expected +z: gravity is taken along -z, so give base pose and plates' poses in a "
        'world with z up',
        f'{recording.label}, topic {recording.base.label}',
    )
