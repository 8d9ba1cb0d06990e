"""Where sensors sit: from the configuration, or from /tf_static where that says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veh_identification.configuration.document import Document
from veh_identification.findings import Finding
from veh_identification.runtime.transforms import StaticFrames, Transform, apart
from veh_identification.systems.car.description.files import packaged
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.types import Vector

BASE = 'base_link'
#: Further than this from base_link no sensor of a car sits [m].
FARTHEST = 20.0


@dataclass(frozen=True)
class GivenPoses:
    """Sensors (`imu`, `gps`) whose pose the user's own files give, or a packaged base of them."""

    own: frozenset[str] = frozenset()
    packaged: frozenset[str] = frozenset()


def given_poses(car: CarDescription) -> GivenPoses:
    """Where a configuration gives the poses of its sensors.

    What it takes over from a packaged file belongs to another car, so it is a default; what was
    made in Python is meant as it is.
    """
    document: Document | None = car.document
    if document is None:
        return GivenPoses(frozenset({'imu', 'gps'}))
    shipped = packaged('').resolve()
    own, example = set[str](), set[str]()
    for name in ('imu', 'gps'):
        for key in ('position', 'rpy', 'quaternion'):
            entry = document.find(('sensors', name, key))
            if entry is not None:
                foreign = Path(entry.file).parent.resolve() == shipped
                mine = entry.file == document.files[0] or not foreign
                (own if mine else example).add(name)
    return GivenPoses(frozenset(own), frozenset(example - own))


@dataclass(frozen=True)
class Mounting:
    """The car with the poses of its sensors, and where each of them came from."""

    car: CarDescription
    findings: tuple[Finding, ...]
    sources: Mapping[str, str]  # by sensor: imu, gps


def mounted(car: CarDescription, frames: StaticFrames, frame_ids: Mapping[str, str]) -> Mounting:
    """The car with sensor poses of /tf_static where the configuration gives none."""
    given = given_poses(car)
    findings: list[Finding] = []
    sources: dict[str, str] = {}
    sensors = car.sensors
    for name in ('imu', 'gps'):
        frame = frame_ids.get(name, '')
        sources[name] = 'configuration'
        if name in given.own:
            findings += _contradicted(name, getattr(sensors, name), frames, frame)
            if name == 'gps' and not any(sensors.gps.position):
                findings.append(_in_the_axle())
            continue
        if not frame or not frames.connected(BASE, frame):
            sources[name] = 'packaged configuration that this one builds on'
            if name not in given.packaged:
                sources[name] = 'nowhere given: default of the program'
                findings.append(_unknown(name, frame, getattr(sensors, name).position))
            continue
        pose = frames.lookup(BASE, frame)
        if max(abs(x) for x in pose.translation) > FARTHEST:
            findings.append(_no_place(name, frame, pose.translation))
            continue
        sources[name] = f'/tf_static ({frame})'
        rounded = ', '.join(f'{x:.3g}' for x in pose.translation)
        text = f'{name}: mounted at ({rounded}) m by /tf_static ({frame})'
        findings.append(Finding('note', 'mounted_by_transform', text, f'/tf_static, {frame}'))
        if name == 'imu':
            sensors = replace(
                sensors, imu=replace(sensors.imu, position=pose.translation, rpy=pose.rpy)
            )
        else:
            sensors = replace(sensors, gps=replace(sensors.gps, position=pose.translation))
    return Mounting(replace(car, sensors=sensors), tuple(findings), sources)


def _contradicted(name: str, sensor: Any, frames: StaticFrames, frame: str) -> list[Finding]:
    """The configuration wins over /tf_static, but not without a word."""
    if not frame or not frames.connected(BASE, frame):
        return []
    pose = frames.lookup(BASE, frame)
    given = Transform.from_rpy(sensor.position, getattr(sensor, 'rpy', pose.rpy))
    told = apart(given, pose)
    if not told:
        return []
    text = (
        f'sensors.{name}: the configuration and /tf_static ({frame}) disagree, {told}: the '
        'configuration is used; put the wrong one right'
    )
    return [Finding('warn', 'poses_disagree', text, f'configuration, sensors.{name}')]


def _in_the_axle() -> Finding:
    text = (
        'gps: the configuration puts the antenna at the origin of base_link, the middle of the '
        'rear axle, where nobody mounts one: measure its place'
    )
    return Finding('warn', 'mounting_unknown', text, 'configuration, sensors.gps.position')


def _unknown(name: str, frame: str, position: Vector) -> Finding:
    text = (
        f'{name}: neither the configuration nor /tf_static says where {frame or "it"} sits: '
        f'taken at {position}'
    )
    return Finding('warn', 'mounting_unknown', text, f'configuration, sensors.{name}.position')


def _no_place(name: str, frame: str, place: Vector) -> Finding:
    text = (
        f'/tf_static puts {frame} at {place} in {BASE}, which is no place on a car: the '
        'configuration is used'
    )
    return Finding('warn', 'mounting_impossible', text, f'/tf_static, {frame}')
