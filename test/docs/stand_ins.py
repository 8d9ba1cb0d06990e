"""Files that stand in for a reader's own ones, under the names that a document gives them.

A command of the documents is run as it is printed; only the files that it names are ours.
"""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
from fences import ROOT
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from veh_identification.api import simulate
from veh_identification.runtime.graph import GRAPHS, find_config

#: Scenario, seconds and configuration by the two first words of a command.
OWN = {
    ('identify', 'car'): ('car-sine-steer', 12.0, 'car_peugeot_406'),
    ('identify', 'humanoid'): ('humanoid-walk', 4.0, 'humanoid'),
    ('identify', 'parallel'): ('hexapod-periodic', 7.5, 'hexapod_palida'),
    ('identify', 'robot'): ('arm-free', 20.0, 'robot'),
    ('observe', 'vehicle'): ('buggy-circle', 2.0, 'buggy'),
    ('init', 'car'): ('car-sine-steer', 3.0, 'car_peugeot_406'),
}
URDF = {
    'humanoid': ROOT / 'config' / 'models' / 'ut_mu2_like_cad.urdf',
    'robot': ROOT / 'config' / 'models' / 'arm_6_axis.urdf',
}
PLATE = 'vendor_msgs/msg/ForcePlate'


def make_own_files(words: list[str], folder: Path) -> None:
    """What one command of a block with the marker `your own files` needs, in `folder`."""
    after = dict(pairwise(words))
    if words[0] == 'ros2':
        _make_launch_files(words, folder)
        return
    verb = tuple(words[1:3])
    if verb[0] == 'check':
        shutil.copy(find_config('car_peugeot_406'), folder / words[2])
        simulate('car-sine-steer', folder / words[3], duration=6.0, seed=0)
        return
    if words[2].endswith('.csv'):
        write_can_log(folder / words[2])
        return
    if verb not in OWN:  # info and convert: BAG is their first argument
        write_force_plate(folder / words[2])
        return
    scenario, seconds, config = OWN[verb]
    bags = [words[3], *(after[one] for one in ('--bag', '--validate') if one in after)]
    for seed, bag in enumerate(one for one in bags if not one.startswith('-')):
        simulate(scenario, folder / bag, duration=seconds, seed=seed)
    if '--payload' in after:  # the same arm
        simulate('arm-payload', folder / after['--payload'], duration=seconds, seed=0)
    if '--config' in after:
        shutil.copy(find_config(config), folder / after['--config'])
    if '--urdf' in after:
        shutil.copy(URDF[verb[1]], folder / after['--urdf'])


def _make_launch_files(words: list[str], folder: Path) -> None:
    for word in words:
        name, separator, value = word.partition(':=')
        if separator and name == 'config':
            graph = GRAPHS[words[3].removesuffix('.launch.py')]
            shutil.copy(find_config(graph.default_config), folder / value)


def write_can_log(path: Path) -> None:
    """A CSV file with the columns of the shipped mapping of a car."""
    names = [
        'Timestamp',
        'RollRate',
        'PitchRate',
        'YawRate',
        'LongAcc',
        'LatAcc',
        'VertAcc',
        'Latitude',
        'Longitude',
        'Height',
        'VelEast',
        'VelNorth',
        'SteeringWheelAngle',
        'WheelSpeedFL',
        'WheelSpeedFR',
        'WheelSpeedRL',
        'WheelSpeedRR',
    ]
    rows = [[0.01 * k, *np.sin(0.1 * k + np.arange(len(names) - 1))] for k in range(100)]
    text = [','.join(names), *(','.join(f'{value:.6g}' for value in row) for row in rows)]
    path.write_text('\n'.join(text) + '\n', 'utf-8')


def write_force_plate(path: Path) -> None:
    """A bag of a force plate whose message has no header and a type of its own."""
    store = get_typestore(Stores.ROS2_JAZZY)
    names = ('fx_N', 'fy_N', 'fz_N', 'mx_Nm', 'my_Nm', 'mz_Nm')
    store.register(get_types_from_msg('\n'.join(f'float64 {name}' for name in names), PLATE))
    message = store.types[PLATE]
    with Writer(path, version=8, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection('/Force_plate_data', PLATE, typestore=store)
        for k in range(100):
            values = np.sin(0.1 * k) * np.arange(1.0, 7.0)
            data = store.serialize_cdr(message(*values), PLATE)
            writer.write(connection, k * 10_000_000, data)


def write_drivers(prefix: Path, packages: dict[str, str]) -> Path:
    """Packages under an ament prefix whose executables say how they were started, and wait."""
    for package, executable in packages.items():
        index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
        index.mkdir(parents=True, exist_ok=True)
        (index / package).write_text('')
        (prefix / 'share' / package).mkdir()
        program = prefix / 'lib' / package / executable
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\necho "stand-in of {package}: $@"\nexec sleep 600\n')
        program.chmod(0o755)
    return prefix
