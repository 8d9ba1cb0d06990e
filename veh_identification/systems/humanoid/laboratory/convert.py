"""From the files of a laboratory to a recording, its URDF beside it.

OpenSim's model (.osim) with the table of its coordinates and the ground forces (.mot, .sto, or the
plates of a .c3d); CSV files with a YAML file that says which column is what, plates from these or
from a .c3d; or the plates of a .c3d alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from veh_identification.atomic import refuse_inputs
from veh_identification.errors import InputError, UsageError
from veh_identification.files import MOST_DESCRIPTION, FileError, read_plain
from veh_identification.runtime.convert import Conversion
from veh_identification.systems.humanoid.laboratory.bags import (
    Stamped,
    base_poses,
    has_forces,
    joint_states,
    plate_wrenches,
    skeleton_motion,
    write_recording,
)
from veh_identification.systems.humanoid.laboratory.c3d import read_c3d
from veh_identification.systems.humanoid.laboratory.c3d_plates import c3d_plates
from veh_identification.systems.humanoid.laboratory.columns import (
    CsvFiles,
    read_columns,
    read_csv,
)
from veh_identification.systems.humanoid.laboratory.skeleton import Skeleton, read_skeleton
from veh_identification.systems.humanoid.laboratory.storage import Table, read_table
from veh_identification.systems.humanoid.laboratory.wrenches import PlateWrench
from veh_identification.types import Array

MODEL, TABLES, C3D, CSV = '.osim', ('.mot', '.sto'), '.c3d', '.csv'
#: The tree, inside the folder of the recording: `identify humanoid` finds it there.
URDF = 'model.urdf'
#: How much better the right direction of a laboratory must fit than any other one.
CLEARLY = 0.5
#: Share of the heaviest load above which somebody stands on the plates.
LOADED = 0.3
Plates = list[tuple[Array, PlateWrench]]


def is_laboratory(paths: Sequence[str | Path]) -> bool:
    """Whether these are files of a laboratory and no bags."""
    return any(_kind(one) in (MODEL, *TABLES, C3D, CSV) for one in paths)


def _kind(path: str | Path) -> str:
    return Path(path).suffix.lower()


def convert_laboratory(
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    columns: str | Path | None = None,
    storage: str = 'mcap',
    overwrite: bool = False,
) -> Conversion:
    """Write the recording."""
    refuse_inputs(out, [Path(one) for one in paths])
    kinds = {_kind(one) for one in paths}
    told: list[str] = []
    if CSV in kinds:
        motion, plates, urdf, told = _from_csv(paths, columns)
    elif kinds == {C3D} and len(paths) == 1:
        motion, plates, urdf = [], _from_c3d(paths[0]), None
    else:
        motion, plates, urdf = _from_opensim(paths)
    written = write_recording(out, motion, plates, storage=storage, overwrite=overwrite)
    if urdf is not None:
        (Path(out) / URDF).write_bytes(urdf)
    return Conversion(written, {}, [], told)


def _from_opensim(paths: Sequence[str | Path]) -> tuple[Iterable[Stamped], Plates, bytes]:
    models = [one for one in paths if _kind(one) == MODEL]
    tables = [read_table(one) for one in paths if _kind(one) in TABLES]
    files = [one for one in paths if _kind(one) == C3D]
    forces = [one for one in tables if has_forces(one)]
    motions = [one for one in tables if not has_forces(one)]
    given = len(models), len(motions), len(forces) + len(files)
    if given != (1, 1, 1) or len(paths) != 3:
        raise UsageError(
            'convert takes one model (.osim), one table of its coordinates and one of the ground '
            f'forces (.mot or .sto, or a .c3d) together; found {given[0]}, {given[1]} and '
            f'{given[2]} among {len(paths)} files'
        )
    skeleton = read_skeleton(models[0])
    if forces:
        plates = [(forces[0].time, plate) for plate in plate_wrenches(forces[0])]
    else:
        plates = _turned(_from_c3d(files[0]), skeleton, motions[0], str(files[0]))
    return skeleton_motion(skeleton, motions[0]), plates, skeleton.urdf


def _from_c3d(path: str | Path) -> Plates:
    file = read_c3d(path)
    return [(file.time, plate) for plate in c3d_plates(file)]


def _turned(plates: Plates, skeleton: Skeleton, motion: Table, path: str) -> Plates:
    """Plates of a laboratory whose x points elsewhere than that of the model.

    Both worlds share their origin and the vertical. The right one of four directions has the
    centre of pressure near the pelvis.
    """
    position, _ = skeleton.base_pose(motion)
    time, point = _pressure(plates, motion.time)
    if len(time) < 10:
        raise InputError(f'{path}: nobody stands on the plates while {motion.path} shows a motion')
    where = np.column_stack([np.interp(time, motion.time, position[:, k]) for k in range(2)])
    turns = [_about_vertical(k) for k in range(4)]
    misses = [float(np.median(np.linalg.norm(where - point @ t[:2, :2].T, axis=1))) for t in turns]
    order = np.argsort(misses)
    if misses[order[0]] > CLEARLY * misses[order[1]]:
        raise InputError(
            f'{path}: which way its x points in the world of {motion.path} is not clear (the '
            f'centre of pressure is {misses[order[0]]:.2g} m or {misses[order[1]]:.2g} m from the '
            'pelvis); expected both to have the same origin'
        )
    turn = turns[int(order[0])]
    return [
        (
            when,
            replace(
                plate,
                place=turn @ plate.place,
                values=np.hstack([plate.values[:, :3] @ turn.T, plate.values[:, 3:] @ turn.T]),
            ),
        )
        for when, plate in plates
    ]


def _about_vertical(quarters: int) -> Array:
    c, s = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters]
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _pressure(plates: Plates, during: Array) -> tuple[Array, Array]:
    """Stamps and common centre of pressure (N, 2) while somebody stands on the plates."""
    time = plates[0][0]
    load, moment = np.zeros(len(time)), np.zeros((len(time), 2))
    for _, plate in plates:
        force, about = plate.values[:, :3], plate.values[:, 3:]
        here = about + np.cross(plate.place, force)
        load += force[:, 2]
        moment += np.column_stack([-here[:, 1], here[:, 0]])
    stands = load > LOADED * np.max(load)
    stands &= (time >= during[0]) & (time <= during[-1])
    return time[stands], moment[stands] / load[stands, None]


def _from_csv(
    paths: Sequence[str | Path], columns: str | Path | None
) -> tuple[Iterable[Stamped], Plates, bytes | None, list[str]]:
    if columns is None:
        raise UsageError(
            'CSV files need --map FILE.yaml, which says what their columns are (joints, base, '
            'plates); docs/humanoid.md shows one'
        )
    strange = [one for one in paths if _kind(one) not in (CSV, C3D)]
    if strange:
        raise UsageError(f'{strange[0]}: only .csv and .c3d files can be converted together')
    known = read_columns(columns)
    files = CsvFiles([read_csv(one, known) for one in paths if _kind(one) == CSV], known)
    told = files.told()
    motion: list[Stamped] = []
    for time, names, values in files.joints():
        motion += joint_states(time, names, values)
    base = files.base()
    if base is not None:
        motion += base_poses(*base)
    plates = [*files.plates(), *(p for one in paths if _kind(one) == C3D for p in _from_c3d(one))]
    urdf = None
    if known.urdf:
        try:
            urdf = read_plain(Path(columns).parent / known.urdf, MOST_DESCRIPTION)
        except FileError as error:
            raise InputError(f'{columns}: urdf {known.urdf}: {error.why}') from None
    return motion, plates, urdf, told
