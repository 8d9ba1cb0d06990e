"""Converts recordings: any kind in, rosbag2 out, custom messages mapped to standard ones.

A mapping (YAML) says what becomes of a topic whose messages no node understands:

    /Force_plate_data:
      topic: /force_plate/wrench
      type: geometry_msgs/msg/WrenchStamped
      frame_id: force_plate
      stamp: log                     # or the path of a time field of the message
      fields:
        wrench.force.x: fx_N         # a field of the recorded message,
        wrench.force.z: -1.0 * fz_N  # or factors and units times a field

Without `type` the messages stay what they are under another name; `fields` and `joints` then say
what changes in them:

    /daq/joints:
      topic: joint_states
      joints: {suspension_fl: mm * damper_pot_FL, steering_fl: toe_FL}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.atomic import refuse_inputs
from veh_identification.configuration.faults import shown
from veh_identification.configuration.models import Model, entry, load
from veh_identification.configuration.quantities import Text
from veh_identification.errors import BagError, InputError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter, RawMessage
from veh_identification.runtime.bags.definitions import Decoder
from veh_identification.runtime.joint_terms import JointRenaming, JointRule
from veh_identification.runtime.terms import Term, read_term

_PATH = re.compile(r'^[A-Za-z_][\w.]*$')
IMU = 'sensor_msgs/msg/Imu'
_AXES = {'x': np.nan, 'y': np.nan, 'z': np.nan}


def message_of(typename: str, header: Any, fields: Mapping[str, Any]) -> Any:
    """A message from values by path; what an IMU does not measure is not a number there."""
    values: dict[str, Any] = {'header': header}
    if typename == IMU:
        values |= unmeasured(fields)
    for target, value in fields.items():
        *folders, leaf = target.split('.')
        place = values
        for folder in folders:
            place = place.setdefault(folder, {})
        place[leaf] = value
    return messages.new(typename, **values)


def unmeasured(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Axes of an IMU as not measured (NaN); a part of which nothing is given as REP-145 says."""
    given = {path.partition('.')[0] for path in fields}
    values: dict[str, Any] = {
        part: dict(_AXES) for part in ('angular_velocity', 'linear_acceleration')
    }
    for part in ('orientation', *values):
        if part not in given and f'{part}_covariance' not in given:
            values[f'{part}_covariance'] = [-1.0, *(0.0,) * 8]
    return values


@dataclass(frozen=True)
class TopicMapping:
    """What becomes of the messages of one topic."""

    topic: str
    typename: str  # '': as recorded
    frame_id: str
    stamp: str
    fields: Mapping[str, Term]  # by target path
    joints: JointRenaming | None = field(default=None, compare=False)

    def convert(self, message: Any, log_ns: int) -> Any:
        """A standard message from a recorded one."""
        values = {
            path: term.factor * _get(message, term.source) for path, term in self.fields.items()
        }
        if not self.typename:
            return self._changed(message, values)
        stamp_ns = log_ns if self.stamp == 'log' else messages.stamp_ns(_get(message, self.stamp))
        return message_of(self.typename, messages.header(stamp_ns, self.frame_id), values)

    def _changed(self, message: Any, values: Mapping[str, Any]) -> Any:
        """The message itself, with other values, joints or frame."""
        for path, value in values.items():
            folder, _, leaf = path.rpartition('.')
            place = _get(message, folder) if folder else message
            _get(message, path)  # for its refusal
            setattr(place, leaf, value)
        if self.frame_id:
            _get(message, 'header').frame_id = self.frame_id
        return message if self.joints is None else self.joints.convert(message)


@dataclass(frozen=True)
class Conversion:
    """Messages written and messages left out, by topic, and why; what else is worth knowing."""

    written: dict[str, int]
    lost: dict[str, int]
    problems: list[str]
    told: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TopicRule(Model):
    """What a mapping file says about one topic."""

    topic: Text = entry(description='name of the converted topic')
    type: Text = entry(
        '', 'its message type, such as geometry_msgs/msg/WrenchStamped; left out: as recorded'
    )
    fields: Mapping[Text, Text] = entry(
        {}, 'field: a field of the recorded message, or factor or unit * field'
    )
    joints: Mapping[Text, JointRule] = entry(
        {}, 'of JointState, joint: a recorded joint, or factor or unit * joint'
    )
    frame_id: Text = entry('', 'of the header')
    stamp: Text = entry('log', 'log, or the path of a time field of the recorded message')

    def mapping(self) -> TopicMapping:
        """The rule in the form that converts messages."""
        if self.type and self.joints:
            raise ValueError('joints: expected without type, for messages that are JointState')
        if self.type and not self.fields:
            raise ValueError('fields: is missing')
        if self.stamp != 'log' and not self.type:
            raise ValueError('stamp: expected with type: messages as recorded keep theirs')
        fields = fields_of(self.type, self.fields)
        for target, term in fields.items():
            if not _PATH.match(term.source):
                raise ValueError(
                    f'fields: {target}: expected a field or "factor * field", '
                    f'found {shown(self.fields[target])}'
                )
        return TopicMapping(
            '/' + self.topic.strip('/'),
            self.type,
            self.frame_id,
            self.stamp,
            fields,
            JointRenaming(self.joints) if self.joints else None,
        )

    def __post_init__(self) -> None:
        self.mapping()  # for its checks


def fields_of(typename: str, given: Mapping[str, str]) -> dict[str, Term]:
    """Terms by field of a type; fields that the type does not have are refused."""
    known = messages.describe_type(typename) if typename else None
    fields = {}
    for target, text in given.items():
        if known is not None and target not in known:
            raise ValueError(f'fields: {typename} has no field {target}')
        try:
            fields[target] = read_term(text, target)
        except ValueError as error:
            raise ValueError(f'fields: {target}: {error}') from None
    return fields


def read_mapping(path: str | Path) -> dict[str, TopicMapping]:
    """Topic mappings from a YAML file."""
    rules = load(dict[Text, TopicRule], path)
    return {f'/{topic.strip("/")}': rule.mapping() for topic, rule in rules.items()}


def _get(message: Any, path: str) -> Any:
    value = message
    for name in path.split('.'):
        try:
            value = getattr(value, name)
        except AttributeError:
            raise InputError(
                f'{messages.type_name(message)} has no field {path}; veh-id info BAG --topic NAME '
                'lists its fields'
            ) from None
    return value


def convert(
    bags: Sequence[str | Path],
    out: str | Path,
    *,
    mapping: Mapping[str, TopicMapping] | None = None,
    storage: str = 'mcap',
    overwrite: bool = False,
    on_error: str = 'stop',
    progress: Callable[[int, int], None] | None = None,
) -> Conversion:
    """Write recordings as one rosbag2; nothing that is left out goes unsaid."""
    mapping = mapping or {}
    refuse_inputs(out, bags, BagError)
    with (
        BagReader(bags, on_error=on_error, progress=progress) as reader,
        BagWriter(out, storage=storage, overwrite=overwrite) as writer,
    ):
        for topic in mapping:
            reader.topic_info(topic)
        known = messages.rosbags_backend().store.types
        for raw in reader.raw():
            try:
                _convert_one(raw, mapping.get(raw.topic), raw.typename in known, writer)
            except BagError as error:
                undecodable = reader.problems.undecodable
                undecodable[raw.topic] = undecodable.get(raw.topic, 0) + 1
                if undecodable[raw.topic] == 1 or on_error == 'stop':
                    reader.problems.meet(str(error), error)
        for topic, rule in mapping.items():
            if rule.joints is not None:
                rule.joints.refuse_what_was_not_met(topic)
        return Conversion(
            dict(writer.counts), dict(reader.problems.undecodable), reader.problems.sentences
        )


def _convert_one(
    raw: RawMessage, rule: TopicMapping | None, known: bool, writer: BagWriter
) -> None:
    """Write one message: mapped, as it is, or with the definition that the recording holds."""
    decoder = raw.channel.decoder
    if rule is not None:
        message = rule.convert(raw.decode(), raw.time_ns)
        writer.write_message(
            rule.topic, message, raw.time_ns, qos=None if rule.typename else raw.channel.qos
        )
    elif known:
        writer.write_message(raw.topic, raw.decode(), raw.time_ns, qos=raw.channel.qos)
    elif isinstance(decoder, Decoder):
        writer.add_topic(
            raw.topic,
            raw.typename,
            qos=raw.channel.qos,
            definition=decoder.types.definition(raw.typename),
            type_hash=decoder.types.type_hash(raw.typename),
        )
        writer.write(raw.topic, raw.typename, raw.payload, raw.time_ns)
    else:
        raise BagError(
            f'{raw.channel.bag}, topic {raw.topic}: its messages cannot be converted: '
            f'{decoder.reason}'
        )
