"""CSV files: which column is what, said by a small YAML file.

urdf: person.urdf
time: t
units: {angle: deg, length: mm, moment: N mm}
joints: {left_hip: LHipFlexion, left_knee: {column: LKnee, scale: -1}}
base: {position: [px, py, pz], quaternion: [qx, qy, qz, qw]}
plates:
  force_plate_1: {force: [fx1, fy1, fz1], moment: [mx1, my1, mz1], pose: {position: [0, 0, 0]}}
  force_plate_2: {force: [fx2, fy2, fz2], point: [px2, py2], free_moment: tz2}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from veh_identification.configuration.models import Model, entry, load
from veh_identification.configuration.poses import Mounting
from veh_identification.configuration.quantities import (
    Choice,
    Flag,
    NotNegativeFrequency,
    Number,
    Text,
)
from veh_identification.errors import InputError
from veh_identification.orientations import matrix_of_rpy
from veh_identification.runtime.csv_files import CsvColumns, read_csv_columns
from veh_identification.runtime.joint_terms import JOINT_STATE
from veh_identification.runtime.table_time import (
    EPOCH,
    TableTime,
    refuse_strange_steps,
    table_time,
)
from veh_identification.runtime.terms import read_term
from veh_identification.signals import rotation_matrix
from veh_identification.systems.humanoid.laboratory.storage import Table
from veh_identification.systems.humanoid.laboratory.wrenches import PlateWrench
from veh_identification.types import Array

ANGLES = {'rad': 1.0, 'deg': np.pi / 180.0}
LENGTHS = {'m': 1.0, 'cm': 0.01, 'mm': 0.001}
MOMENTS = {'N m': 1.0, 'N cm': 0.01, 'N mm': 0.001}


@dataclass(frozen=True, eq=False)
class CsvTable(Table):
    """Columns of a CSV file."""

    columns: CsvColumns
    when: TableTime


@dataclass(frozen=True)
class Units(Model):
    """Units of the columns."""

    angle: Annotated[str, Choice(tuple(ANGLES))] = entry('rad', 'of joints and roll, pitch, yaw')
    length: Annotated[str, Choice(tuple(LENGTHS))] = entry('m', 'of places and sliding joints')
    moment: Annotated[str, Choice(tuple(MOMENTS))] = entry('N m', 'of moments')


@dataclass(frozen=True)
class JointColumn(Model):
    """The column of a joint."""

    schema_changes: ClassVar[Mapping[str, Any]] = {'type': ['object', 'string']}
    column: Text = entry(description='its name')
    scale: Number = entry(1.0, 'on its values, -1 for the other direction')
    slides: Flag = entry(False, 'a sliding joint: a length')

    @classmethod
    def prepared(cls, data: Any) -> Any:
        """A mere text is the column."""
        return {'column': data} if isinstance(data, str) else data


@dataclass(frozen=True)
class BaseColumns(Model):
    """Columns of the base link's pose in the world, z up."""

    position: tuple[Text, ...] = entry(description='x, y, z')
    quaternion: tuple[Text, ...] = entry((), 'x, y, z, w')
    rpy: tuple[Text, ...] = entry((), 'roll, pitch, yaw, instead of the quaternion')

    def __post_init__(self) -> None:
        if len(self.position) != 3 or (len(self.quaternion), len(self.rpy)) not in (
            (4, 0),
            (0, 3),
        ):
            raise ValueError(
                'expected three columns of position, and four of quaternion or three of rpy'
            )


@dataclass(frozen=True)
class PlateColumns(Model):
    """Columns of a force plate."""

    force: tuple[Text, ...] = entry(description="x, y, z in the plate's axes")
    moment: tuple[Text, ...] = entry((), "x, y, z about the plate's origin")
    point: tuple[Text, ...] = entry((), 'centre of pressure x, y in the plate, instead of moments')
    free_moment: Text = entry('', 'about z at the centre of pressure')
    pose: Mounting = entry(Mounting, 'of the plate in the world')
    presses: Flag = entry(False, 'the columns hold what presses on the plate, the opposite')

    def __post_init__(self) -> None:
        if len(self.force) != 3 or (len(self.moment), len(self.point)) not in ((3, 0), (0, 2)):
            raise ValueError(
                'expected three columns of force, and three of moment or two of point'
            )


@dataclass(frozen=True)
class Columns(Model):
    """What the columns of CSV files are."""

    joints: Mapping[Text, JointColumn] = entry({}, 'columns by joint of the URDF')
    base: BaseColumns | None = entry(None, 'pose of the base link')
    plates: Mapping[Text, PlateColumns] = entry({}, 'columns by name of the force plate')
    time: Text = entry('time', 'column of the time in seconds, or a unit * it, in every file')
    rate_hz: NotNegativeFrequency = entry(0.0, 'instead of the column: rows per second')
    units: Units = entry(Units, 'of the columns')
    urdf: Text = entry('', 'file, beside this one; becomes model.urdf of the recording')

    def __post_init__(self) -> None:
        read_term(self.time, 'time')


def read_columns(path: str | Path) -> Columns:
    """The YAML file."""
    return load(Columns, path)


def read_csv(path: str | Path, columns: Columns) -> CsvTable:
    """One file: a line of names, then numbers; an empty cell is a number that is missing."""
    table = read_csv_columns(path)
    when = table_time(table, columns.time, columns.rate_hz)
    stands = np.flatnonzero(np.diff(when.seconds) <= 0.0)
    if len(stands):
        raise InputError(
            f'{path}: line {table.lines[stands[0] + 1]}: the time {columns.time!r} is that of the '
            'row before'
        )
    # Other files of a laboratory know no date: theirs begin where ours does.
    time = when.seconds - EPOCH if when.dated else when.seconds
    return CsvTable(str(path), time, table, False, when)


class CsvFiles:
    """All files together: a column may stand in any of them, and keeps its file's stamps."""

    def __init__(self, tables: Sequence[CsvTable], columns: Columns) -> None:
        self._tables, self._columns = list(tables), columns
        units = columns.units
        self._angle, self._length = ANGLES[units.angle], LENGTHS[units.length]
        self._moment = MOMENTS[units.moment]

    def told(self) -> list[str]:
        """What is worth knowing of the files; steps of time that cannot be are refused."""
        known = self._columns
        topics: list[tuple[str, str, Sequence[str]]] = [
            ('/joint_states', JOINT_STATE, [one.column]) for one in known.joints.values()
        ]
        if known.base is not None:
            topics.append(('/base/pose', 'geometry_msgs/msg/PoseStamped', known.base.position))
        topics += [
            (f'/{name}/wrench', 'geometry_msgs/msg/WrenchStamped', one.force)
            for name, one in known.plates.items()
        ]
        filled: dict[int, list[tuple[str, str, Array]]] = {}
        for topic, typename, names in topics:
            table = self._table(names)
            rows = np.isfinite(self._values(names)[1]).all(axis=1)
            filled.setdefault(self._tables.index(table), []).append(
                (topic, typename, table.when.seconds[rows])
            )
        return [
            sentence
            for k, table in enumerate(self._tables)
            for sentence in (
                *refuse_strange_steps(table.when, filled.get(k, [])),
                *table.columns.told(),
            )
        ]

    def _table(self, names: Sequence[str]) -> CsvTable:
        """The file that holds these columns."""
        found = [one for one in self._tables if names[0] in one.columns]
        if len(found) > 1:
            paths = ' and '.join(one.path for one in found)
            raise InputError(f'the column {names[0]!r} is in {paths}, expected one of them')
        if not found:
            known = ', '.join(name for one in self._tables for name in one.columns)
            raise InputError(f'there is no column {names[0]!r} in the CSV files, found {known}')
        return found[0]

    def _values(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Stamps and values (N, columns)."""
        table = self._table(names)
        return table.time, np.column_stack([table.column(name) for name in names])

    def joints(self) -> list[tuple[Array, list[str], Array]]:
        """Stamps, names and positions of the joints, file by file."""
        groups: dict[int, list[str]] = {}
        for name, one in self._columns.joints.items():
            groups.setdefault(self._tables.index(self._table([one.column])), []).append(name)
        made = []
        for names in groups.values():
            given = [self._columns.joints[name] for name in names]
            scale = [g.scale * (self._length if g.slides else self._angle) for g in given]
            time, values = self._values([g.column for g in given])
            made.append((time, names, values * scale))
        return made

    def base(self) -> tuple[Array, Array, Array] | None:
        """Stamps, positions (N, 3) and rotations (N, 3, 3) of the base link."""
        base = self._columns.base
        if base is None:
            return None
        time, position = self._values(base.position)
        same, turns = self._values(base.quaternion or base.rpy)
        if len(same) != len(time):
            raise InputError(f'{base.position[0]!r} and its orientation are in different files')
        good = np.isfinite(position).all(axis=1) & np.isfinite(turns).all(axis=1)
        if base.quaternion:
            turns = turns[good] / np.linalg.norm(turns[good], axis=1)[:, None]
            rotation = rotation_matrix(turns)
        else:
            rotation = np.array([matrix_of_rpy(one) for one in self._angle * turns[good]])
        return time[good], self._length * position[good], rotation

    def plates(self) -> list[tuple[Array, PlateWrench]]:
        """Stamps and what each plate exerts, in world axes about its place."""
        return [self._plate(name, one) for name, one in self._columns.plates.items()]

    def _plate(self, name: str, one: PlateColumns) -> tuple[Array, PlateWrench]:
        time, force = self._values(one.force)
        moment = np.zeros_like(force)
        if one.moment:
            moment = self._moment * self._values(one.moment)[1]
        else:
            point = self._length * self._values(one.point)[1]
            # An empty plate has no centre of pressure.
            place = np.column_stack([np.nan_to_num(point), np.zeros(len(point))])
            moment = np.cross(place, force)
            if one.free_moment:
                free = self._moment * self._values([one.free_moment])[1][:, 0]
                moment[:, 2] += np.nan_to_num(free)
        if len(moment) != len(force):
            raise InputError(f'plates.{name}: force and moment are in different files')
        good = np.isfinite(force).all(axis=1) & np.isfinite(moment).all(axis=1)
        turn = (-1.0 if one.presses else 1.0) * one.pose.matrix
        values = np.hstack([force @ turn.T, moment @ turn.T])[good]
        return time[good], PlateWrench(name, np.array(one.pose.position), values)
