"""Inputs that are kept where they reach code that none before did (atheris), each case alone.

    python bench/hostile/guided.py TARGET CORPUS --seconds 60 --seed 1

Damage by chance seldom gets through two checks, one behind the other. Here the bytecode of the
readers tells which branches a case took, and what reached a new one is damaged further. Each
target is a process of its own, for the tool ends the process; without it nothing is done.
"""

from __future__ import annotations

import argparse
import mmap
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parents[1]
sys.path.insert(0, str(BENCH))

#: Seconds of a target before the next one has its turn; its corpus goes on then.
TURN = 30.0
#: Longest input: a small recording or description.
LONGEST = 16_384
#: Megabytes of a target.
MEMORY = 2048
#: What is left of a turn's output that tells of a finding.
TOLD = 3000
#: A compiled kernel must not be instrumented.
COMPILED = re.compile(r'\bnumba\b')
OUTCOMES = ('taken', 'refused')
TARGETS = (
    *('mcap', 'ros1', 'definition', 'payload', 'state', 'description', 'yaml', 'table', 'wire'),
)


def try_guided(rng: random.Random, folder: Path, go_on: Callable[[], bool]) -> Any:
    """Turns of every target."""
    from hostile.watch import Tally

    tally = Tally()
    if not find_spec('atheris'):
        return tally
    while go_on():
        for target in TARGETS:
            if not go_on():
                break
            place = folder / target
            place.mkdir(exist_ok=True)
            one_turn(tally, target, place, rng.randrange(1, 2**31))
    return tally


def one_turn(tally: Any, target: str, corpus: Path, seed: int) -> None:
    """Some seconds of a target."""
    words = [sys.executable, __file__, target, str(corpus), '--seconds', f'{TURN:g}']
    done = subprocess.run(
        [*words, '--seed', str(seed)], check=False, capture_output=True, text=True
    )
    said = done.stderr + done.stdout
    counts = counts_of(corpus)
    for outcome, count in zip(OUTCOMES, counts, strict=True):
        tally.outcomes[outcome] += count
    cases = sum(counts) + (done.returncode != 0)
    tally.cases += cases
    tally.made_of[target] += cases
    memory = re.search(r'seed corpus:.* rss: (\d+)Mb.*stat::peak_rss_mb:\s+(\d+)', said, re.DOTALL)
    if memory:
        tally.compare_memory(target, int(memory[1]), int(memory[2]))
    if done.returncode or not cases:
        tally.find(f'{target} ({seed}):\n{said[-TOLD:]}')


def shared_counts(corpus: Path) -> mmap.mmap:
    """Two numbers in a file: the tool ends the process without a word to Python."""
    path = corpus.with_suffix('.counts')
    path.write_bytes(bytes(16))
    with path.open('r+b') as file:
        return mmap.mmap(file.fileno(), 16)


def counts_of(corpus: Path) -> list[int]:
    """How many were taken, how many refused."""
    path = corpus.with_suffix('.counts')
    found = path.read_bytes() if path.exists() else bytes(16)
    path.unlink(missing_ok=True)
    return [int.from_bytes(found[k : k + 8], sys.byteorder) for k in (0, 8)]


# In the process of a target ---------------------------------------------------------------------


def compiled() -> list[str]:
    """Modules of this package that Numba reads."""
    package = BENCH.parent / 'veh_identification'
    return [
        '.'.join(path.relative_to(BENCH.parent).with_suffix('').parts)
        for path in package.rglob('*.py')
        if COMPILED.search(path.read_text('utf-8'))
    ]


def target_of(name: str, folder: Path) -> tuple[Callable[[bytes], Any], list[bytes]]:
    """What takes the bytes, and good ones to begin with."""
    from hostile import files

    kinds = {
        # Checksums keep damage from what stands behind them.
        'mcap': ['mcap unchecked', 'mcap zstd unchecked', 'mcap lz4 unchecked'],
        'ros1': ['ROS 1 ', 'ROS 1 LZ4'],
    }.get(name)
    if kinds:
        made = files.recordings(folder)
        path = folder / f'case{made[kinds[0]].suffix}'

        def recording(data: bytes) -> None:
            path.write_bytes(data)
            files.read_everything(path, ('stop', 'skip')[len(data) % 2])

        return recording, [made[kind].read_bytes() for kind in kinds]
    return {
        'definition': _definition,
        'payload': _payload,
        'state': _state,
        'description': _description,
        'yaml': _yaml,
        'table': _table,
        'wire': _wire,
    }[name](folder)


def _definition(_folder: Path) -> tuple[Callable[[bytes], Any], list[bytes]]:
    from veh_identification.runtime.bags.definitions import definition_types
    from veh_identification.runtime.bags.source import Definition

    def define(data: bytes) -> None:
        """The first byte says in which language."""
        kind = 'idl' if data[:1] == b'i' else 'msg'
        text = data[1:].decode('utf-8', 'replace')
        definition_types('x/msg/A', Definition(kind, text), ros1=data[:1] == b'1')

    text = f'std_msgs/Header header\nfloat64[36] c\nint8[<=3] b 1\nint8 K=1\n{"=" * 80}\n'
    text += 'MSG: std_msgs/Header\ntime stamp\nstring frame_id "x"'
    idl = 'module x { module msg { struct A { sequence<double, 3> a; long b[2]; }; }; };'
    return define, [b'2' + text.encode(), b'1' + text.encode(), b'i' + idl.encode()]


def _payload(folder: Path) -> tuple[Callable[[bytes], Any], list[bytes]]:
    from hostile import files
    from veh_identification.runtime.bags import BagReader
    from veh_identification.runtime.cdr.fields import STAMP, parse_path

    path = folder / 'payloads'
    files._rosbag2(path)
    with BagReader(path) as reader:
        samples = {channel.topic: (channel, data) for _, channel, data in reader.items()}
    channel, data = samples['/joint_states']
    wanted = (*STAMP, 'name', 'position[]', 'velocity[]', 'effort[]')
    fields = channel.field_reader([parse_path(one) for one in wanted])

    def read(data: bytes) -> None:
        try:
            fields(data)
        finally:
            channel.decoder.decode(data)

    return read, [data]


def _state(folder: Path) -> tuple[Callable[[bytes], Any], list[bytes]]:
    import numpy as np

    from veh_identification.saved_state import read_state, write_state

    path = folder / 'case.npz'
    write_state(path, {'names': np.array(['a', 'b']), 'samples': 3, 'factors': np.eye(3)})
    good = path.read_bytes()

    def load(data: bytes) -> None:
        path.write_bytes(data)
        state = read_state(path)
        state.texts('names'), state.count('samples'), state.array('factors', (None, 3))

    return load, [good]


def _description(folder: Path) -> tuple[Callable[[bytes], Any], list[bytes]]:
    from hostile import files
    from veh_identification.systems.humanoid.robot import load_robot

    path = folder / 'case.urdf'

    def load(data: bytes) -> None:
        path.write_bytes(data)
        load_robot(path)

    return load, [(files.URDF / 'arm_6_axis.urdf').read_bytes(), files.LAUGHS, files.OUTSIDE]


def _yaml(folder: Path) -> tuple[Callable[[bytes], Any], list[bytes]]:
    from damaged_yaml import _outcome, loaders

    from veh_identification.errors import InputError

    path, every = folder / 'case.yaml', loaders()

    def load(data: bytes) -> None:
        """The first byte says by which loader; each fault of a file is a line."""
        path.write_bytes(data[1:])
        what, why = _outcome(every[data[0] % len(every) if data else 0], path)
        assert not why, why
        if what == 'refused':
            raise InputError(what)

    return load, [bytes([k]) + seed for k, one in enumerate(every) for seed in one.seeds]


def _table(folder: Path) -> tuple[Callable[[bytes], Any], list[bytes]]:
    from veh_identification.runtime.tables import convert_tables

    mapping, path, bag = folder / 'mapping.yaml', folder / 'case.csv', folder / 'out'
    mapping.write_text(
        'time: t\ntopics:\n  imu/data:\n    type: sensor_msgs/msg/Imu\n'
        '    fields: {angular_velocity.z: deg/s * r}\n',
        'utf-8',
    )

    def convert(data: bytes) -> None:
        path.write_bytes(data)
        convert_tables([path], bag, mapping, overwrite=True)

    return convert, [b't,r\n0.0,1.0\n0.01,2.0\n0.02,3.0\n']


def _wire(_folder: Path) -> tuple[Callable[[bytes], Any], list[bytes]]:
    from veh_identification.runtime.qos import QoS
    from veh_identification.runtime.zenoh_engine import wire

    def parse(data: bytes) -> None:
        if len(data) % 2:
            wire.Attachment.decode(data)
        else:
            wire.parse_token(data.decode('utf-8', 'replace'))

    node = wire.NodeEntity(0, 'a1b2', 3, '/', 'car')
    endpoint = wire.Endpoint(
        *(node, 4, wire.PUBLISHER, '/imu/data', 'sensor_msgs/msg/Imu', 'RIHS01_ab', QoS())
    )
    tokens = [one.token.encode() for one in (node, endpoint)]
    attachment = wire.Attachment(1, 2, bytes(16)).encode()
    return parse, [*(t + b' ' * (len(t) % 2) for t in tokens), attachment]


def main() -> None:
    """One turn of a target; the tool ends the process."""
    import atheris

    parser = argparse.ArgumentParser(description='inputs that reach new code')
    parser.add_argument('target', choices=TARGETS)
    parser.add_argument('corpus', type=Path)
    parser.add_argument('--seconds', type=float, default=TURN)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix='veh-id-guided-'))
    with atheris.instrument_imports(['veh_identification', 'rosbags'], compiled()):
        from hostile.watch import LONGEST_SENTENCE
        from veh_identification.errors import VehIdError

        call, seeds = target_of(options.target, folder)
    for k, seed in enumerate(seeds):
        (options.corpus / f'seed{k}').write_bytes(seed)
    counts = memoryview(shared_counts(options.corpus)).cast('q')

    def case(data: bytes) -> None:
        try:
            call(data)
        except VehIdError as error:
            text = str(error)
            assert text.strip() and 'Traceback' not in text and len(text) <= LONGEST_SENTENCE, text
            counts[1] += 1
        else:
            counts[0] += 1

    atheris.Setup(
        [
            'guided',
            f'-max_total_time={options.seconds:.0f}',
            f'-seed={options.seed}',
            f'-max_len={LONGEST}',
            '-len_control=0',
            f'-rss_limit_mb={MEMORY}',
            '-timeout=60',
            '-print_final_stats=1',
            f'-artifact_prefix={options.corpus.parent}/found_{options.target}_',
            str(options.corpus),
        ],
        case,
    )
    atheris.Fuzz()


if __name__ == '__main__':
    main()
