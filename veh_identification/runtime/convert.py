"""Converts recordings: any kind in, rosbag2 out, custom messages mapped to standard ones.

A mapping (YAML) says what becomes of a topic whose messages no node understands:

    /Force_plate_data:
      topic: /force_plate/wrench
      type: geometry_msgs/msg/WrenchStamped
      frame_id: force_plate
      stamp: log                     # or the path of a time field of the message
      fields:
        wrench.force.x: fx_N         # a field of the recorded message,
        wrench.force.z: -1.0 * fz_N  # or a factor times a field, for units and signs
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification.atomic import refuse_inputs
from veh_identification.configuration.faults import shown
from veh_identification.configuration.models import Model, entry, load
from veh_identification.configuration.quantities import Text
from veh_identification.errors import BagError, InputError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter, RawMessage
from veh_identification.runtime.bags.definitions import Decoder

_TERM = re.compile(r'^(?:(?P<factor>[-+0-9.eE]+)\s*\*\s*)?(?P<path>[A-Za-z_][\w.]*)$')


@dataclass(frozen=True)
class TopicMapping:
    """What becomes of the messages of one topic."""

    topic: str
    typename: str
    frame_id: str
    stamp: str
    fields: Mapping[str, tuple[float, str]]  # target path: factor, source path

    def convert(self, message: Any, log_ns: int) -> Any:
        """A standard message from a recorded one."""
        values: dict[str, Any] = {}
        stamp_ns = log_ns if self.stamp == 'log' else messages.stamp_ns(_get(message, self.stamp))
        values['header'] = messages.header(stamp_ns, self.frame_id)
        for target, (factor, source) in self.fields.items():
            *folders, leaf = target.split('.')
            place = values
            for folder in folders:
                place = place.setdefault(folder, {})
            place[leaf] = factor * _get(message, source)
        return messages.new(self.typename, **values)


@dataclass(frozen=True)
class Conversion:
    """Messages written and messages left out, by topic, and why."""

    written: dict[str, int]
    lost: dict[str, int]
    problems: list[str]


@dataclass(frozen=True)
class TopicRule(Model):
    """What a mapping file says about one topic."""

    topic: Text = entry(description='name of the converted topic')
    type: Text = entry(description='its message type, such as geometry_msgs/msg/WrenchStamped')
    fields: Mapping[Text, Text] = entry(
        description='field of the type: a field of the recorded message, or factor * field'
    )
    frame_id: Text = entry('', 'of the header')
    stamp: Text = entry('log', 'log, or the path of a time field of the recorded message')

    def mapping(self) -> TopicMapping:
        """The rule in the form that converts messages."""
        known = messages.describe_type(self.type)
        fields = {}
        for target, term in self.fields.items():
            match = _TERM.match(term.strip())
            if match is None:
                raise ValueError(
                    f'fields: {target}: expected a field or "factor * field", found {shown(term)}'
                )
            if target not in known:
                raise ValueError(f'fields: {self.type} has no field {target}')
            try:
                factor = float(match['factor'] or 1.0)
            except ValueError:
                raise ValueError(
                    f'fields: {target}: {shown(match["factor"])} is no number'
                ) from None
            fields[target] = (factor, match['path'])
        topic = '/' + self.topic.strip('/')
        return TopicMapping(topic, self.type, self.frame_id, self.stamp, fields)

    def __post_init__(self) -> None:
        self.mapping()  # for its checks


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
        writer.write_message(rule.topic, message, raw.time_ns)
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
