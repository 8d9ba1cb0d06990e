"""Damaged recordings, saved states and robot descriptions."""

from __future__ import annotations

import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.typesys import Stores, get_typestore

from hostile.watch import Tally, nothing_ignored
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.runtime.bags.mcap import writer as mcap_writer
from veh_identification.runtime.cdr.fields import STAMP, parse_path
from veh_identification.runtime.share import share_directory
from veh_identification.saved_state import read_state, write_state
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.live.model import LiveOptions, RobotLive

START = 1_700_000_000_000_000_000
#: Of a topic in a recording: few, so that damage hits what holds them together.
MESSAGES = 20
NUMBERS = [0, 1, 2, 255, *(2**k - d for k in (15, 16, 31, 32, 63, 64) for d in (0, 1))]


def damaged(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """What disks, cables and people with a hex editor do."""
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        size = len(made)
        place = rng.randrange(size + 1)
        end = min(size, place + rng.choice([1, 4, 8, 64, 1024]))
        kind = rng.randrange(8)
        if kind == 0 and size:
            made[min(place, size - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del made[place:]
        elif kind == 2:
            del made[place:end]
        elif kind == 3:
            made[place:place] = made[place:end]
        elif kind == 4:
            made[place:place] = rng.randbytes(rng.choice([1, 8, 200]))
        elif kind == 5:
            width = rng.choice([2, 4, 8])
            number = rng.choice(NUMBERS) % 2 ** (8 * width)
            made[place : place + width] = number.to_bytes(width, 'little')
        elif kind == 6:
            made[place:end] = bytes(end - place)
        elif others:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            made[place:end] = other[begin : begin + (end - place)]
    return bytes(made)


# Recordings -------------------------------------------------------------------------------------


def _sample(k: int) -> list[tuple[str, Any]]:
    stamp = START + 2_000_000 * k
    joints = {'name': ['wheel_fl', 'b'], 'position': [0.1 * k, 1.0]}
    return [
        ('imu/data', messages.new('sensor_msgs/msg/Imu', header=(stamp, 'imu'))),
        ('joint_states', messages.new('sensor_msgs/msg/JointState', header=(stamp, ''), **joints)),
    ]


def _rosbag2(path: Path, **options: Any) -> Path:
    with BagWriter(path, **options) as bag:
        for k in range(MESSAGES):
            for topic, message in _sample(k):
                bag.write_message(topic, message)
    (file,) = (one for one in path.iterdir() if one.name != 'metadata.yaml')
    return file


def _ros1(path: Path, compression: str) -> Path:
    store = get_typestore(Stores.ROS1_NOETIC)
    writer = Ros1Writer(path)
    if compression:
        writer.set_compression(writer.CompressionFormat[compression])
    with writer:
        topic = writer.add_connection('/a', 'std_msgs/msg/String', typestore=store)
        text = store.types['std_msgs/msg/String'](data='x' * 50)
        data = bytes(store.serialize_ros1(text, 'std_msgs/msg/String'))
        for k in range(MESSAGES):
            writer.write(topic, START + k, data)
    return path


def recordings(folder: Path) -> dict[str, Path]:
    """Small good recordings of every kind."""
    made = {
        'mcap': _rosbag2(folder / 'plain'),
        'mcap zstd': _rosbag2(folder / 'chunk', compression='chunk'),
        'sqlite3': _rosbag2(folder / 'sqlite', storage='sqlite3'),
        'sqlite3 zstd file': _rosbag2(folder / 'file', storage='sqlite3', compression='file'),
        'mcap zstd messages': _rosbag2(folder / 'message', compression='message'),
        **{f'ROS 1 {c}': _ros1(folder / f'{c}.bag', c) for c in ('', 'BZ2', 'LZ4')},
    }
    # Checksums catch nearly all damage: without them it reaches what stands behind.
    crc, make = zlib.crc32, mcap_writer.McapStorage.__init__

    def packing_lz4(storage: mcap_writer.McapStorage, *arguments: Any) -> None:
        make(storage, *arguments)
        storage.compression = 'lz4'

    try:
        mcap_writer.zlib.crc32 = lambda _data: 0  # type: ignore[assignment]
        made['mcap unchecked'] = _rosbag2(folder / 'unchecked')
        made['mcap zstd unchecked'] = _rosbag2(folder / 'unchecked_z', compression='chunk')
        mcap_writer.McapStorage.__init__ = packing_lz4  # type: ignore[method-assign, assignment]
        made['mcap lz4 unchecked'] = _rosbag2(folder / 'unchecked_l')
    finally:
        mcap_writer.zlib.crc32 = crc  # type: ignore[assignment]
        mcap_writer.McapStorage.__init__ = make  # type: ignore[method-assign, assignment]
    return made


def read_everything(path: Path, on_error: str) -> None:
    """All that a reader offers."""
    with BagReader(path, on_error=on_error) as reader:
        reader.info()
        for _ in reader.messages():
            pass
        topics = {name: None for name, one in reader.topics.items() if one.count}
    if topics:
        read_columns(path, topics, on_error=on_error)


SQL_VALUES = [
    *('NULL', "'text'", "x'00ff'", '-1', '9223372036854775807', '1.5', "''", 'zeroblob(100)'),
    *("CAST(x'ff' AS TEXT)", '0', "'- history: 9'"),
]


def sql_damage(rng: random.Random, path: Path) -> None:
    """Values of any type in any column, as somebody with write access would put them."""
    database = sqlite3.connect(path, isolation_level=None)
    try:
        tables = ['messages', 'topics', 'message_definitions', 'schema']
        for _ in range(rng.choice([1, 2, 5])):
            table = rng.choice(tables)
            columns = [row[1] for row in database.execute(f'PRAGMA table_info({table})')]
            try:
                if columns and rng.random() < 0.15:
                    database.execute(f'ALTER TABLE {table} RENAME COLUMN {columns[-1]} TO odd')
                elif rng.random() < 0.1:
                    database.execute(f'ALTER TABLE {table} RENAME TO odd{rng.randrange(99)}')
                elif columns:
                    chosen = f'{rng.choice(columns)} = {rng.choice(SQL_VALUES)}'
                    where = f'rowid % {rng.choice([1, 2, 7])} = 0'
                    database.execute(f'UPDATE {table} SET {chosen} WHERE {where}')
            except sqlite3.Error:
                pass  # the table does not let it happen
    finally:
        database.close()


def case_of(folder: Path, kind: str, good: Path) -> tuple[Path, Path]:
    """The file that is damaged, and what is opened: that messages are packed is told beside it."""
    if 'messages' not in kind:
        return (folder / f'case{good.suffix}',) * 2
    place = folder / 'packed'
    if not place.exists():
        shutil.copytree(good.parent, place)
    return place / good.name, place


def try_recordings(rng: random.Random, folder: Path, go_on: Callable[[], bool]) -> Tally:
    """Damaged recordings of every kind."""
    tally = Tally()
    seeds = recordings(folder)
    contents = {kind: path.read_bytes() for kind, path in seeds.items()}
    with nothing_ignored(tally):
        while go_on():
            kind = rng.choice(list(seeds))
            tally.made_of[kind] += 1
            path, opened = case_of(folder, kind, seeds[kind])
            if kind == 'sqlite3' and rng.random() < 0.5:
                shutil.copy(seeds[kind], path)
                sql_damage(rng, path)
            else:
                path.write_bytes(damaged(rng, contents[kind], list(contents.values())))
            on_error = rng.choice(['stop', 'skip'])
            before = len(tally.findings)
            tally.try_case(
                f'{kind}, {on_error}', lambda p=opened, e=on_error: read_everything(p, e)
            )
            _keep(tally, before, path, folder)
    return tally


def _keep(tally: Tally, before: int, path: Path, folder: Path) -> None:
    """A file that led to a finding stays, to become a test."""
    if len(tally.findings) > before:
        kept = folder / 'found'
        kept.mkdir(exist_ok=True)
        shutil.copy(path, kept / f'{len(tally.findings)}{path.suffix}')


# Messages as bytes ------------------------------------------------------------------------------


def try_payloads(rng: random.Random, folder: Path, go_on: Callable[[], bool]) -> Tally:
    """Damaged CDR bytes through both ways of reading them."""
    tally = Tally()
    path = folder / 'payloads'
    _rosbag2(path)
    with BagReader(path) as reader:
        items = list(reader.items())
        samples = {channel.topic: (channel, data) for _, channel, data in items}
        wanted = {
            '/imu/data': (*STAMP, 'header.frame_id', 'angular_velocity.x'),
            '/joint_states': (*STAMP, 'name', 'position[]', 'velocity[]', 'effort[]'),
        }
        readers = {
            topic: channel.field_reader([parse_path(one) for one in wanted[topic]])
            for topic, (channel, _) in samples.items()
        }
        while go_on():
            topic = rng.choice(list(samples))
            channel, data = samples[topic]
            spoilt = damaged(rng, data, [one for _, one in samples.values()])
            read = readers[topic]
            tally.try_case(f'{topic}, fields of {spoilt!r}', lambda r=read, d=spoilt: r(d))
            decode = channel.decoder.decode
            tally.try_case(f'{topic}, whole of {spoilt!r}', lambda r=decode, d=spoilt: r(d))
            tally.messages['bytes'] += 1
            tally.made_of[topic] += 1
    return tally


# Saved states -----------------------------------------------------------------------------------

URDF = share_directory() / 'config' / 'models'


def _arm() -> RobotLive:
    return RobotLive(load_robot(URDF / 'arm_6_axis.urdf'), Configuration(), LiveOptions())


def _entry(rng: random.Random, value: np.ndarray[Any, Any]) -> Any:
    """An entry as another program or a careless hand would write it."""
    made = np.array(value)
    kind = rng.randrange(7)
    if kind == 0 and made.size and made.dtype.kind == 'f':
        made.flat[rng.randrange(made.size)] = rng.choice([np.nan, np.inf, -1.0, 1e308, 5e-324])
    elif kind == 1:
        made = made.reshape(-1)
    elif kind == 2:
        made = made[None]
    elif kind == 3:
        made = made.astype(rng.choice(['float32', 'int8', 'bool', 'U3']), casting='unsafe')
    elif kind == 4:
        made = np.array(rng.choice(['text', -1, 2**62, 1.5, np.nan, [], True]))
    elif kind == 5 and made.ndim:
        made = made[:-1]
    elif made.dtype.kind in 'if':
        made = -made
    return made


def try_states(rng: random.Random, folder: Path, go_on: Callable[[], bool]) -> Tally:
    """Damaged files for ~/load."""
    tally = Tally()
    model = _arm()
    width = len(model.arm.names) + 1
    made = np.random.default_rng(1).normal(size=(len(model.joints), width, width))
    good = {
        'names': np.array(model.arm.names),
        'factors': np.triu(made),
        'samples': 5000,
        'squares': np.ones(len(model.joints)),
        'delay': np.array([0.001, 0.0001, 1.0]),
        'speed': np.ones(len(model.joints)),
        'speeds': np.ones((3, len(model.joints))),
        'rows_seen': 5000,
        'next_check': 10.0,
        'score_moments': np.arange(2),
        'scores': np.zeros((2, width - 1)),
        'score_counts': np.array([3, 4]),
        'looks': np.array([30, 20, 10, 40]),
        'stamps': np.arange(3),
        'channels': np.zeros((3, 2 * len(model.joints))),
    }
    path, case = folder / 'good.npz', folder / 'case.npz'
    write_state(path, good)
    model.restore(read_state(path))  # else every case would fail for the same reason
    content = path.read_bytes()
    while go_on():
        if rng.random() < 0.5:
            case.write_bytes(damaged(rng, content, [content]))
        else:
            state = dict(good)
            for key in rng.sample(list(good), rng.choice([1, 1, 2])):
                if rng.random() < 0.15:
                    del state[key]
                else:
                    with np.errstate(all='ignore'):
                        try:
                            state[key] = _entry(rng, np.asarray(good[key]))
                        except ValueError:
                            continue
            write_state(case, state)

        def load() -> None:
            with np.errstate(all='ignore'):
                model.restore(read_state(case))
            assert model.samples >= 0
            if model.solution is not None:
                assert np.isfinite(model.solution.value).all()

        before = len(tally.findings)
        tally.try_case('state of an arm', load)
        _keep(tally, before, case, folder)
    return tally


# Descriptions of robots -------------------------------------------------------------------------

LAUGHS = (
    b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
    + b''.join(b'<!ENTITY %c "%s">' % (98 + k, b'&%c;' % (97 + k) * 10) for k in range(9))
    + b']><robot name="&j;"><link name="a"/></robot>'
)
OUTSIDE = b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>'
WORDS = [
    *(b'nan', b'inf', b'-1', b'1e999', b'0 0', b'', b'a b c', b'0 0 0', b'1e-320', b'"', b'&x;'),
    *(b'<script>alert(1)</script>', b'\xff', b'base_link', b'world', b'9' * 400),
]


def spoilt_urdf(rng: random.Random, content: bytes) -> bytes:
    """Values, names and structure of a description changed."""
    if rng.random() < 0.02:
        return rng.choice([LAUGHS, OUTSIDE, b'<robot>' * 5000, b''])
    if rng.random() < 0.4:
        return damaged(rng, content, [content])
    parts = content.split(b'"')
    for _ in range(rng.choice([1, 1, 3, 10])):
        place = rng.randrange(len(parts) // 2) * 2 + 1
        parts[place] = rng.choice([*WORDS, rng.choice(parts[1::2])])
    return b'"'.join(parts)


def try_descriptions(rng: random.Random, folder: Path, go_on: Callable[[], bool]) -> Tally:
    """Damaged URDFs, as an arm and as a humanoid reads them."""
    tally = Tally()
    seeds = [one.read_bytes() for one in sorted(URDF.glob('*.urdf'))]
    path = folder / 'case.urdf'

    def load() -> None:
        robot = load_robot(path)
        RobotLive(robot, Configuration(), LiveOptions())

    while go_on():
        path.write_bytes(spoilt_urdf(rng, rng.choice(seeds)))
        before = len(tally.findings)
        with np.errstate(all='ignore'):
            tally.try_case('URDF', load)
        _keep(tally, before, path, folder)
    return tally
