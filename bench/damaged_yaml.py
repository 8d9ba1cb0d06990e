"""Damaged YAML files through every loader of the package: sentences, never a traceback.

    python bench/damaged_yaml.py [--count 2000] [--seed 0]

Each file is a packaged one after what editors, disks, scripts and people do to files. A loader
either takes it or raises one of our errors, with one line for each fault. Exit status 1 when
anything else happens; every such file is shown.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from yaml_damage import damaged

import veh_identification as vid
from veh_identification.cli.options import parameter_values
from veh_identification.configuration.models import load
from veh_identification.configuration.writing import to_yaml
from veh_identification.design import registry as designs
from veh_identification.errors import VehIdError
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.multibody.mdh import load_mdh
from veh_identification.runtime.bags.folder import read_metadata
from veh_identification.runtime.bags.qos_text import parse_qos
from veh_identification.runtime.convert import read_mapping
from veh_identification.runtime.drivers import Drivers
from veh_identification.runtime.parameters import read_parameter_file
from veh_identification.runtime.share import share_directory

CONFIG = share_directory() / 'config'
CARS = ('car_peugeot_406', 'car_template', 'buggy', 'buggy_parking', 'road_car')
NODES = (
    *('car_identification', 'contact_identification', 'error_ekf_buggy', 'error_ekf_four_bar'),
    *('parallel_identification', 'sensor_fusion_buggy', 'sensor_fusion_car'),
    *('sensor_fusion_drive', 'sensor_fusion_humanoid', 'sensor_fusion_husky'),
)
#: No loader may take longer over a small file [s].
SLOWEST = 5.0
LONGEST_LINE = 600
METADATA = """\
rosbag2_bagfile_information:
  version: 8
  storage_identifier: mcap
  duration: {nanoseconds: 1000}
  starting_time: {nanoseconds_since_epoch: 0}
  message_count: 2
  topics_with_message_count:
    - topic_metadata:
        name: /imu
        type: sensor_msgs/msg/Imu
        serialization_format: cdr
        offered_qos_profiles: "- history: 1\\n  depth: 10"
      message_count: 2
  compression_format: ''
  compression_mode: ''
  relative_file_paths: [bag.mcap]
  custom_data: {note: a}
  ros_distro: jazzy
"""
QOS = '- history: 1\n  depth: 10\n  reliability: 1\n  durability: 2\n'


@dataclass(frozen=True)
class Loader:
    """A loader and the files that it is made for."""

    name: str
    call: Callable[[Path], Any]
    seeds: tuple[bytes, ...]


def _packaged(*names: str) -> tuple[bytes, ...]:
    return tuple((CONFIG / f'{name}.yaml').read_bytes() for name in names)


def _trajectory() -> bytes:
    stored = vid.configure('parallel').excitation
    assert stored is not None
    return to_yaml(stored.to_dict()).encode()


def loaders() -> tuple[Loader, ...]:
    """Every loader of YAML."""
    cars = _packaged(*CARS)
    return (
        *(
            Loader(system, partial(vid.configure, system), seeds)
            for system, seeds in (
                ('car', cars),
                ('vehicle', cars),
                ('humanoid', _packaged('humanoid')),
                ('parallel', _packaged('hexapod_palida')),
                ('robot', _packaged('robot')),
                ('four-bar', _packaged('four_bar')),
            )
        ),
        Loader(
            'design of humanoids', designs.find('humanoid').configure, _packaged('humanoid_design')
        ),
        Loader('trajectory', FourierTrajectory.load, (_trajectory(),)),
        Loader(
            'Denavit-Hartenberg table',
            load_mdh,
            _packaged('models/car_2002', 'models/car_20_dof', 'models/car_38_dof'),
        ),
        Loader(
            'node parameters',
            lambda path: read_parameter_file(path, '/car_identification'),
            _packaged(*NODES),
        ),
        Loader('mapping of topics', read_mapping, _packaged('map_force_plate')),
        Loader('drivers', lambda path: load(Drivers, path), _packaged('drivers')),
        Loader('metadata of a bag', lambda path: read_metadata(path), (METADATA.encode(),)),
        Loader('quality of service', lambda path: parse_qos(_text(path)), (QOS.encode(),)),
        Loader(
            'parameter of a command line',
            lambda path: parameter_values([f'rate:={_text(path)}']),
            (b'{a: [1, 2.5, yes], b: text}', b'100.0'),
        ),
    )


def _text(path: Path) -> str:
    return path.read_bytes().decode('utf-8', 'surrogateescape')


@dataclass(frozen=True)
class Fault:
    """A file that a loader neither took nor refused properly."""

    loader: str
    content: bytes
    why: str


def try_loaders(count: int, seed: int = 0) -> tuple[dict[str, Counter[str]], list[Fault]]:
    """`count` damaged files in all, shared evenly; what became of them, and the faults."""
    rng = random.Random(seed)
    outcomes: dict[str, Counter[str]] = {}
    faults: list[Fault] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'damaged.yaml'
        every = loaders()
        for k in range(count):
            loader = every[k % len(every)]
            content = damaged(rng, rng.choice(loader.seeds))
            path.write_bytes(content)
            what, why = _outcome(loader, path)
            outcomes.setdefault(loader.name, Counter())[what] += 1
            if why:
                faults.append(Fault(loader.name, content, why))
    return outcomes, faults


def _outcome(loader: Loader, path: Path) -> tuple[str, str]:
    start = time.process_time()
    what, why = 'taken', ''
    try:
        loader.call(path)
    except VehIdError as error:
        what = 'refused'
        lines = str(error).splitlines()
        if not lines or any(not line.strip() or len(line) > LONGEST_LINE for line in lines):
            what, why = 'badly refused', f'not one sentence a line: {str(error)!r}'
    except Exception:
        what, why = 'traceback', traceback.format_exc()
    if time.process_time() - start > SLOWEST:
        what, why = 'slow', f'took {time.process_time() - start:.1f} s'
    return what, why


def main() -> int:
    """Print the table; 1 when there is a fault."""
    parser = argparse.ArgumentParser(description='damaged YAML files through every loader')
    parser.add_argument('--count', type=int, default=2000, help='files in all')
    parser.add_argument('--seed', type=int, default=0)
    options = parser.parse_args()
    outcomes, faults = try_loaders(options.count, options.seed)
    for name, counts in outcomes.items():
        print(f'{name:28s} ' + ', '.join(f'{n} {what}' for what, n in sorted(counts.items())))
    for fault in faults:
        print(f'\n{fault.loader}: {fault.why}\n{fault.content[:2000]!r}')
    print(f'\n{options.count} files, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
