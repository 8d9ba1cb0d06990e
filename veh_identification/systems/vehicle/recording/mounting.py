"""Where sensors sit: from the configuration, or from /tf_static where that says nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from veh_identification.fusion.frames import FrameError, StaticFrames, Transform
from veh_identification.fusion.rotation import to_rpy
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.configuration import Configuration

BASE = 'base_link'
#: Further than this from base_link no sensor of a car sits [m].
FARTHEST = 20.0


@dataclass(frozen=True)
class GivenPoses:
    """Sensors (`imu`, `gps`) whose pose the user's own files give, or a packaged base of them."""

    own: frozenset[str] = frozenset()
    packaged: frozenset[str] = frozenset()


ALL_GIVEN = GivenPoses(frozenset({'imu', 'gps'}))


def given_poses(path: Path | str | None) -> GivenPoses:
    """Where a configuration, which loads without error, gives the poses of its sensors.

    What it takes over from a packaged file by `base` belongs to another car, so it is a default.
    """
    shipped = share_directory() / 'config'
    file = shipped / 'buggy.yaml' if path is None else Path(path)
    own, packaged = _poses(file), set[str]()
    base = _base(file, shipped)
    while base is not None:
        (packaged if base.parent.resolve() == shipped.resolve() else own).update(_poses(base))
        base = _base(base, shipped)
    return GivenPoses(frozenset(own), frozenset(packaged - own))


def _base(file: Path, shipped: Path) -> Path | None:
    """The file that a file changes, beside it or packaged."""
    name = _read(file).get('base')
    if name is None:
        return None
    beside = file.parent / str(name)
    return beside if beside.exists() else shipped / beside.name


def _read(file: Path) -> dict[str, Any]:
    data: Any = yaml.safe_load(file.read_text(encoding='utf-8'))
    return data if isinstance(data, dict) else {}


def _poses(file: Path) -> set[str]:
    sensors = _read(file).get('sensors')
    if not isinstance(sensors, dict):
        return set()
    return {
        name
        for name in ('imu', 'gps')
        if isinstance(sensors.get(name), dict) and {'position', 'rpy'} & set(sensors[name])
    }


def add_transforms(frames: StaticFrames, message: Any) -> list[str]:
    """Take a TFMessage of /tf_static; sentences about transforms that are none."""
    problems = []
    for item in message.transforms:
        t, q = item.transform.translation, item.transform.rotation
        try:
            frames.set(
                item.header.frame_id,
                item.child_frame_id,
                Transform((t.x, t.y, t.z), (q.x, q.y, q.z, q.w)),
            )
        except FrameError as error:
            problems.append(f'/tf_static: {error}; it is ignored')
    return problems


def mounted(
    car: Configuration, given: GivenPoses, frames: StaticFrames, frame_ids: dict[str, str]
) -> tuple[Configuration, list[str]]:
    """The car with sensor poses of /tf_static where the configuration gives none, and notes."""
    notes = []
    sensors = car.sensors
    for name in ('imu', 'gps'):
        frame = frame_ids.get(name, '')
        if name in given.own:
            continue
        if not frame or not frames.connected(BASE, frame):
            if name in given.packaged:
                continue
            notes.append(
                f'{name}: neither the configuration nor /tf_static says where '
                f'{frame or "it"} sits: taken at {getattr(sensors, name).position}'
            )
            continue
        pose = frames.lookup(BASE, frame)
        if max(abs(x) for x in pose.translation) > FARTHEST:
            notes.append(
                f'/tf_static puts {frame} at {pose.translation} in {BASE}, which is no '
                'place on a car: the configuration is used'
            )
            continue
        rounded = ', '.join(f'{x:.3g}' for x in pose.translation)
        notes.append(f'{name}: mounted at ({rounded}) m by /tf_static ({frame})')
        if name == 'imu':
            sensors = replace(
                sensors,
                imu=replace(sensors.imu, position=pose.translation, rpy=to_rpy(pose.rotation)),
            )
        else:
            sensors = replace(sensors, gps=replace(sensors.gps, position=pose.translation))
    return replace(car, sensors=sensors), notes
