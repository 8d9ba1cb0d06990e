"""The dofs that only the 38-dof model has: measured, from axle tables, or nominal (V.B)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

#: What varies with the travel of a real axle; how the joints' names begin.
AXLE_JOINTS = ('half_track', 'wheelbase', 'camber', 'kingpin')
#: A half track or wheelbase below this mean is a variation about the nominal value.
VARIATION_BELOW = 0.3


def without_axles(
    recording: CarRecording, configuration: CarDescription
) -> tuple[CarRecording, CarDescription]:
    """What the 20-dof model knows: wheels that travel, steer and spin, and nothing else."""
    joints = {
        name: series
        for name, series in recording.joints.items()
        if not name.startswith(AXLE_JOINTS)
    }
    tables = {
        kind: table
        for kind, table in configuration.axle_kinematics.items()
        if kind not in AXLE_JOINTS
    }
    return replace(recording, joints=joints), replace(configuration, axle_kinematics=tables)


def knows_axles(recording: CarRecording, configuration: CarDescription) -> bool:
    """Do sensors or tables tell how the wheels move beside their travel?"""
    return any(kind in AXLE_JOINTS for kind, _ in configuration.axle_tables) or any(
        name.startswith(AXLE_JOINTS) for name in recording.joints
    )


def extra_joints(
    values: Mapping[str, Array], travel: Array, steering: Array, configuration: CarDescription
) -> tuple[dict[str, Array], list[Finding]]:
    """Positions (N, 4) of steering, half_track, wheelbase, camber and kingpin, and findings.

    half_track is positive outwards on both sides, wheelbase is x of the wheel centre.
    """
    geometry = configuration.geometry
    nominal = {
        'half_track': geometry.half_track,
        'wheelbase': geometry.wheel_x,
        'camber': (0.0,) * 4,
        'kingpin': (0.0,) * 4,
    }
    found: list[Finding] = []
    turned = steering.copy()
    result: dict[str, Array] = {}
    for kind, values_at_rest in nominal.items():
        columns = np.empty_like(travel)
        for j, corner in enumerate(CORNERS):
            measured = values.get(f'{kind}_{corner}')
            if measured is not None:
                columns[:, j] = _absolute(measured[:, 0], values_at_rest[j], kind, corner, found)
                continue
            table = configuration.axle_tables.get((kind, corner))
            columns[:, j] = values_at_rest[j]
            if table is not None:
                columns[:, j] += table(travel[:, j], steering[:, j])
        result[kind] = columns
    for j, corner in enumerate(CORNERS):
        table = configuration.axle_tables.get(('steering', corner))
        if table is not None and f'steering_{corner}' not in values:
            turned[:, j] = table(travel[:, j], steering[:, j])
    result['steering'] = turned
    return result, found


def _absolute(
    measured: Array, nominal: float, kind: str, corner: str, found: list[Finding]
) -> Array:
    """The full distance, whether the sensor shows it or only its variation."""
    if kind in ('camber', 'kingpin'):
        return measured
    mean, name = float(np.nanmean(measured)), f'{kind}_{corner}'
    if abs(mean) > VARIATION_BELOW:
        if kind == 'half_track' and mean < 0.0:
            text = f'{name} is negative: taken as y of the wheel centre'
            found.append(Finding('note', 'half_track_negative', text, name))
            return -measured
        return measured
    if abs(nominal) > VARIATION_BELOW:
        text = f'{name} holds the variation about {nominal:g} m'
        found.append(Finding('note', 'variation_about_nominal', text, name))
    return measured + nominal
