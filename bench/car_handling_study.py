"""What one process does of the study of cars without wheel forces; a module others can load."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import veh_identification as vid
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.road_car.handling import handling_drive, manoeuvres, sines

#: Parameters and quantities of the sheet that the simulator knows the truth of.
NAMES = ('m', 'Izz', 'Cf', 'Cr', 'Cx', 'rolling', 'cg_x', 'sigma_f', 'sigma_r', 'roll_damping')
SHEET = ('understeer_gradient', 'roll_gradient', 'roll_hz')
#: Errors of these are told in their own unit [deg/g]: the truth may be near zero.
ABSOLUTE = ('understeer_gradient',)
#: Whether the axles were weighed, which tells the centre of gravity.
CASES = ('described', 'weighed')
Errors = dict[str, tuple[float, float]]  # error [%, or deg/g] and error over deviation


def truths(car: dict[str, float]) -> dict[str, float]:
    """What the car is, in the words of table and sheet."""
    to_degrees = float(np.degrees(1.0)) * 9.80665
    return {
        **car,
        'understeer_gradient': to_degrees * car['understeer'],
        'roll_hz': car['roll_frequency'] / (2.0 * np.pi),
    }


def one_handling(job: tuple[int, float]) -> dict[str, Errors]:
    """Errors of one car: steps on even seeds, sines on odd ones."""
    seed, seconds = job
    steering = sines if seed % 2 else manoeuvres
    drive = handling_drive(seed, duration=seconds, steering=steering)
    truth = truths(drive.car.handling())
    share = truth['cg_x'] / drive.car.wheelbase
    config = share_directory() / 'config' / 'road_drive.yaml'
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / 'bag'
        with BagWriter(bag) as writer:
            drive.write(writer, truth=False)
        return {
            case: errors(
                vid.identify(
                    'car',
                    [bag],
                    config=config,
                    front_share=share if case == 'weighed' else None,
                ),
                truth,
            )
            for case in CASES
        }


def errors(outcome: vid.Outcome, truth: dict[str, float]) -> Errors:
    """Of table and sheet."""
    found = {name: (outcome[name].value, outcome[name].std) for name in NAMES}
    for line in outcome.result.extra['engineers_sheet']['quantities']:
        if line['name'] in SHEET:
            found[line['name']] = (line['value'], line['std'])
    return {
        name: (
            (value - truth[name]) * (1.0 if name in ABSOLUTE else 100.0 / truth[name]),
            (value - truth[name]) / std,
        )
        for name, (value, std) in found.items()
    }
