"""What an identification has found, as a description that every other command takes as it is."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Any

import numpy as np

from veh_identification.configuration.faults import EntryPath
from veh_identification.configuration.writing import plain, to_yaml
from veh_identification.identification import IdentificationResult
from veh_identification.systems.car.description.completion import FROM_PARTS
from veh_identification.systems.car.description.model import CarDescription
from veh_identification.systems.car.parameters import AERODYNAMIC, NAMES, unit


def identified_description(
    description: CarDescription,
    result: IdentificationResult,
    calibrated: CarDescription | None = None,
) -> str:
    """The text of identified.yaml: the description with the found values and deviations.

    `calibrated` has the pose and delay of the inertial unit and the camber that were found.
    Values that cannot exist are left out and named in the header. Parts that a found parameter
    replaces (chassis, springs, drag) are left out too: they follow from the parameters.
    """
    found, std, remarks = {}, {}, dict[EntryPath, str]()
    spread = result.deviations
    unknown: list[str] = []
    for k, name in enumerate(result.names):
        if name not in (*NAMES, *AERODYNAMIC):
            continue
        if not np.isfinite(result.value[k]) or name in result.impossible:
            unknown.append(name)
            continue
        found[name] = _rounded(result.value[k])
        text = 'identified'
        if np.isfinite(spread.std[k]):
            std[name] = _rounded(spread.std[k])
            text += f', +- {spread.std[k]:.3g}'
        remarks['a_priori', name] = text if spread.well_identified[k] else f'{text}: not well'
    data = _without_parts(_given(description), set(found))
    _calibrate(data, description, calibrated or description, remarks)
    data['a_priori'] = {**description.a_priori, **found}
    data['a_priori_std'] = {**description.a_priori_std, **std}
    known = [field.name for field in fields(CarDescription)]
    data = {name: data[name] for name in known if name in data}
    header = (
        f'{description.name}, as `veh-id identify car` found it. This file is a description like '
        'any other: give it to `veh-id observe vehicle --config`, `identify car --config`, '
        '`design car --config` and the nodes. Inertia at the base_link origin, products as '
        'XY = -integral of x y dm. What it does not hold is said by the command that needs it.'
    )
    if unknown:
        told = ', '.join(f'{name} [{unit(name)}]' for name in unknown)
        header += f'\nNot identified, or of a value that cannot exist: {told}.'
    return to_yaml(data, CarDescription, header=header, remarks=remarks)


def _calibrate(
    data: dict[str, Any],
    description: CarDescription,
    calibrated: CarDescription,
    remarks: dict[EntryPath, str],
) -> None:
    """Put in what the recording said of the sensors' settings."""
    before, after = description.sensors.imu, calibrated.sensors.imu
    for name in ('position', 'rpy', 'delay') if after != before else ():
        entry = data.setdefault('sensors', {}).setdefault('imu', {})
        value = getattr(after, name)
        entry.pop('quaternion', None)
        entry[name] = [_rounded(one) for one in value] if name != 'delay' else _rounded(value)
        remarks['sensors', 'imu', name] = 'calibrated by the recording'
    camber = calibrated.axle_kinematics.get('camber')
    if camber and camber != description.axle_kinematics.get('camber'):
        data.setdefault('axle_kinematics', {})['camber'] = plain(camber)
        remarks['axle_kinematics', 'camber'] = 'calibrated by the recording'


def _given(description: CarDescription) -> dict[str, Any]:
    """The entries of the file, or the geometry where there is none."""
    if description.document is not None:
        return copy.deepcopy(description.document.mapping)
    return {'name': description.name, 'geometry': plain(description.geometry)}


def _without_parts(data: dict[str, Any], found: set[str]) -> dict[str, Any]:
    """Without the entries whose parameters are known better now."""
    for entry, names in FROM_PARTS.items():
        if not found & set(names):
            continue
        *path, leaf = entry.split('.')
        place: Any = data
        for key in path:
            place = place.get(key) if isinstance(place, dict) else None
        if isinstance(place, dict):
            for name in ('mass', 'centre', 'inertia') if path == ['chassis'] else (leaf,):
                place.pop(name, None)
            if path == ['air']:
                place.pop('point', None)
    return data


def _rounded(value: float) -> float:
    """Nine digits: far below any deviation, and readable."""
    return float(f'{value:.9g}')
