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
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.convert import Conversion, fields_of, message_of
from veh_identification.runtime.csv_files import read_csv_columns
from veh_identification.runtime.joint_terms import JOINT_STATE, JointRule
from veh_identification.runtime.terms import Term, read_term
from veh_identification.types import Array

#: Of tables whose time begins at zero: a stamp of zero means that there is none.
EPOCH_NS = 1_000_000_000_000_000_000
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
    found: list[Stamped] = []
    for topic, rule in known.topics.items():
        found += _messages('/' + topic.strip('/'), rule, tables, str(mapping))
    with BagWriter(out, storage=storage, overwrite=overwrite) as writer:
        for stamp, topic, message in sorted(found, key=lambda one: one[0]):
            writer.write_message(topic, message, stamp)
        return Conversion(dict(writer.counts), {}, [])


class _Table:
    """One file: stamps and columns."""

    def __init__(self, path: str | Path, mapping: TableMapping) -> None:
        self.path, self.columns = str(path), read_csv_columns(path)
        self.stamps = self._stamps(mapping)

    def _stamps(self, mapping: TableMapping) -> list[int]:
        rows = len(next(iter(self.columns.values())))
        if mapping.rate_hz > 0.0:
            time: Array = np.arange(rows) / mapping.rate_hz
        else:
            term = read_term(mapping.time, 'time')
            if term.source not in self.columns:
                raise InputError(
                    f'{self.path}: there is no column {term.source!r} of the time, found '
                    f'{", ".join(self.columns)}'
                )
            time = term.factor * self.columns[term.source]
        if not np.all(np.diff(time) >= 0.0):
            wrong = int(np.argmin(np.diff(time) >= 0.0)) + 3
            raise InputError(
                f'{self.path}: line {wrong}: the time {mapping.time!r} runs backwards or is '
                'missing'
            )
        epoch = 0 if time[0] > 1e8 else EPOCH_NS  # seconds since 1970, or since the start
        return [epoch + round(1e9 * one) for one in time.tolist()]


def _messages(
    topic: str, rule: TableTopic, tables: Sequence[_Table], mapping: str
) -> Iterator[Stamped]:
    """Messages of a topic, file by file."""
    terms = rule.terms()
    for table in tables:
        here = {key: term for key, term in terms.items() if _table(term, tables, mapping) is table}
        if here:
            values = {key: t.factor * table.columns[t.source] for key, t in here.items()}
            yield from _rows(topic, rule, table.stamps, values)


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


def _rows(
    topic: str, rule: TableTopic, stamps: list[int], values: Mapping[tuple[str, str], Array]
) -> Iterator[Stamped]:
    table = np.column_stack(list(values.values()))
    for k in np.flatnonzero(np.isfinite(table).any(axis=1)).tolist():
        row = dict(zip(values, table[k].tolist(), strict=True))
        header = messages.header(stamps[k], rule.frame_id)
        if rule.joints:
            for message in _joint_states(header, row):
                yield stamps[k], topic, message
        else:
            given = {path: value for (_, path), value in row.items()}
            yield stamps[k], topic, message_of(rule.type, header, given)


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
