"""What one process does of the study of tyres; a module others can load."""

from __future__ import annotations

from veh_identification.runtime.share import share_directory
from veh_identification.simulation.road_car.car import Tyre
from veh_identification.simulation.road_car.handling import tyre_drive
from veh_identification.simulation.road_car.recording import recording_of
from veh_identification.systems.car.configuration import load_configuration
from veh_identification.systems.car.processing.signals import prepare
from veh_identification.systems.car.tyres.identify import identify_tyres

Errors = dict[str, list[tuple[float, float]]]  # error [%] and error over deviation, by axle


def truths(tyre: Tyre, load: float) -> dict[str, float]:
    """What one tyre of the simulator is at a load."""
    return {
        'cornering_stiffness': tyre.cornering_stiffness(load),
        'slip_stiffness': tyre.longitudinal * load,
        'relaxation_y': tyre.relaxation_y,
        'relaxation_x': tyre.relaxation_x,
        'rolling_resistance': tyre.rolling_resistance,
        'friction_y': tyre.friction * (1.0 - tyre.load_sensitivity * (load / tyre.load - 1.0)),
    }


def one_tyres(job: tuple[int, float]) -> Errors:
    """Errors of the tyres of one drawn car; what the recording does not tell is left out."""
    seed, seconds = job
    drive = tyre_drive(seed, duration=seconds)
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    recording = recording_of(drive)
    found = identify_tyres([(recording, config, prepare(recording, config))])
    errors: Errors = {}
    for axle, tyre in zip(found.axles, (drive.car.tyre_front, drive.car.tyre_rear), strict=True):
        for name, truth in truths(tyre, axle.nominal).items():
            one = axle.quantity(name)
            if one is not None and one.told:
                away = one.value - truth
                errors.setdefault(name, []).append((100.0 * away / truth, away / one.std))
    return errors
