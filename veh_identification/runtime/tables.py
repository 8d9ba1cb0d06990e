"""CSV files (a CAN log that was decoded, a data logger) to a recording, by a mapping file.

    time: Timestamp                  # seconds; or ms * Timestamp; or rate_hz: 100
    topics:
      imu/data:
        type: sensor_msgs/msg/Imu
        frame_id: imu_link
        fields: {angular_velocity.z: deg/s * YawRate, linear_acceleration.y: g * LatAcc}
      joint_states:
        joints:
          steering_wheel: deg * SteeringAngle
          wheel_fl: {velocity: 3.226 * km/h * WheelSpeedFL}     # 1 / 0.31 m

A row becomes a message of a topic where at least one of its cells holds a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.atomic import refuse_inputs
from veh_identification.configuration.models import Model, entry, load
from veh_identification.configuration.quantities import NotNegativeFrequency, Text
from veh_identification.configuration.reading import read
from veh_identification.errors import InputError, UsageError
from veh_identification.findings.numbers import listed
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.convert import Conversion, fields_of, message_of
from veh_identification.runtime.csv_files import read_csv_columns
from veh_identification.runtime.joint_terms import JOINT_STATE, JointRule
from veh_identification.runtime.table_time import refuse_strange_steps, table_time
from veh_identification.runtime.terms import Term, read_term
from veh_identification.types import Array

Stamped = tuple[int, str, Any]


@dataclass(frozen=True)
class TableTopic(Model):
    """A topic that columns fill."""

    type: Text = entry('', 'its message type; left out where joints are given')
    fields: Mapping[Text, Text] = entry({}, 'field of the type: a column, or factor or unit * it')
    joints: Mapping[Text, JointRule] = entry({}, 'joint: a column of its position, or of which')
    frame_id: Text = entry('', 'of the header')

    def __post_init__(self) -> None:
        if bool(self.type) == bool(self.joints) or bool(self.fields) == bool(self.joints):
            raise ValueError('expected type and fields, or joints')
        self.terms()  # for its checks

    def terms(self) -> dict[tuple[str, str], Term]:
        """By joint and field; the joint is empty where fields are given."""
        if self.fields:
            return {('', path): term for path, term in fields_of(self.type, self.fields).items()}
        return {
            (joint, path): term
            for joint, rule in self.joints.items()
            for path, term in rule.terms(of_table=True).items()
        }


@dataclass(frozen=True)
class TableMapping(Model):
    """What the columns of CSV files are."""

    topics: Mapping[Text, TableTopic] = entry(description='topics by their name')
    time: Text = entry('time', 'column of the time in seconds, or a unit * it, in every file')
    rate_hz: NotNegativeFrequency = entry(0.0, 'instead of the column: rows per second')

    def __post_init__(self) -> None:
        read_term(self.time, 'time')


def is_table_mapping(path: str | Path) -> bool:
    """Whether a mapping file is one of tables: that of a laboratory has no topics."""
    content = read(path).data
    return isinstance(content, Mapping) and 'topics' in content


def convert_tables(
    paths: Sequence[str | Path],
    out: str | Path,
    mapping: str | Path,
    *,
    storage: str = 'mcap',
    overwrite: bool = False,
) -> Conversion:
    """Write the recording; columns of several files keep the stamps of theirs."""
    strange = [one for one in paths if Path(one).suffix.lower() != '.csv']
    if strange:
        raise UsageError(f'{strange[0]}: a mapping with topics takes .csv files only')
    refuse_inputs(out, [Path(one) for one in paths])
    known = load(TableMapping, mapping)
    tables = [_Table(one, known) for one in paths]
    parts = [
        part
        for topic, rule in known.topics.items()
        for part in _parts('/' + topic.strip('/'), rule, tables, str(mapping))
    ]
    told = [sentence for table in tables for sentence in table.told(parts)]
    found = [one for part in parts for one in _messages(part)]
    if not found:
        raise InputError(
            f'{listed([one.path for one in tables])}: no mapped column holds a number '
            f'({"; ".join(told[:2])})'
        )
    with BagWriter(out, storage=storage, overwrite=overwrite) as writer:
        for stamp, topic, message in sorted(found, key=lambda one: one[0]):
            writer.write_message(topic, message, stamp)
        return Conversion(dict(writer.counts), {}, [], told)


class _Table:
    """One file: time and columns."""

    def __init__(self, path: str | Path, mapping: TableMapping) -> None:
        self.path, self.columns = str(path), read_csv_columns(path)
        self.when = table_time(self.columns, mapping.time, mapping.rate_hz)
        self.stamps = self.when.stamps

    def told(self, parts: Sequence[_Part]) -> list[str]:
        """What is worth knowing of the file; steps of time that cannot be are refused."""
        filled = [
            (one.topic, one.rule.type or JOINT_STATE, self.when.seconds[one.rows])
            for one in parts
            if one.table is self
        ]
        return [*refuse_strange_steps(self.when, filled), *self.columns.told()]


@dataclass(frozen=True, eq=False)
class _Part:
    """What one file gives of a topic: values by joint and field, and the rows that hold any."""

    topic: str
    rule: TableTopic
    table: _Table
    values: Mapping[tuple[str, str], Array]
    rows: list[int]


def _parts(
    topic: str, rule: TableTopic, tables: Sequence[_Table], mapping: str
) -> Iterator[_Part]:
    """The parts of a topic, file by file."""
    terms = rule.terms()
    for table in tables:
        here = {key: term for key, term in terms.items() if _table(term, tables, mapping) is table}
        if here:
            values = {key: t.factor * table.columns[t.source] for key, t in here.items()}
            some = np.isfinite(np.column_stack(list(values.values()))).any(axis=1)
            yield _Part(topic, rule, table, values, np.flatnonzero(some).tolist())


def _table(term: Term, tables: Sequence[_Table], mapping: str) -> _Table:
    """The one file that holds a column."""
    found = [one for one in tables if term.source in one.columns]
    if len(found) > 1:
        raise InputError(
            f'the column {term.source!r} is in {" and ".join(one.path for one in found)}, '
            'expected one of them'
        )
    if not found:
        known = ', '.join(name for one in tables for name in one.columns)
        raise InputError(
            f'{mapping}: there is no column {term.source!r} in the CSV files, found {known}'
        )
    return found[0]


def _messages(part: _Part) -> Iterator[Stamped]:
    """The messages, row by row."""
    table, rule = np.column_stack(list(part.values.values())), part.rule
    for k in part.rows:
        row, stamp = dict(zip(part.values, table[k].tolist(), strict=True)), part.table.stamps[k]
        header = messages.header(stamp, rule.frame_id)
        if rule.joints:
            for message in _joint_states(header, row):
                yield stamp, part.topic, message
        else:
            given = {path: value for (_, path), value in row.items()}
            yield stamp, part.topic, message_of(rule.type, header, given)


def _joint_states(header: Any, row: Mapping[tuple[str, str], float]) -> Iterator[Any]:
    """One message for all joints of which this row has the same fields: none holds NaN."""
    joints: dict[str, dict[str, float]] = {}
    for (joint, path), value in row.items():
        if np.isfinite(value):
            joints.setdefault(joint, {})[path] = value
    for fields in dict.fromkeys(tuple(one) for one in joints.values()):
        names = [name for name, one in joints.items() if tuple(one) == fields]
        values = {path: np.array([joints[name][path] for name in names]) for path in fields}
        yield messages.new(JOINT_STATE, header=header, name=names, **values)
