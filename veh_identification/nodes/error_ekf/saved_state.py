"""What ~/save and the checkpoint keep of an observed car, and what its next start takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from veh_identification.saved_state import SavedState
from veh_identification.systems.vehicle.observer.online import Known, VehicleSession, VehicleSystem

#: A car that is slower still stands where it stood when it is observed again [m/s].
STANDING = 0.1


def known_state(session: VehicleSession, system: VehicleSystem) -> dict[str, Any]:
    """Heading and sensor parameters with their variances, and the datum."""
    known = Known.of(session.filter, float(session.vehicle.model.q[12]))
    pairs = np.array([*known.parameters.values()]).reshape(-1, 2)
    datum = system.places.datum
    place = [] if datum is None else [datum.latitude, datum.longitude, datum.altitude]
    return {
        'yaw': known.yaw,
        'speed': float(np.linalg.norm(session.vehicle.world_frame()[1][:3])),
        'names': np.array([*known.parameters], dtype=str),
        'values': pairs[:, 0],
        'variances': pairs[:, 1],
        'datum': np.array(place),
        'car': session.car.name,
    }


def restore_known(state: SavedState, system: VehicleSystem, *, moved: bool = False) -> str:
    """Prepare the next start; returns what was found, in words.

    `moved`: the car may have moved since, so that its heading counts only if it stood.
    """
    car = state.text('car')
    if car != system.car.name:
        raise state.refused('car', f'is {car[:80]!r}, not {system.car.name!r}')
    yaw: float | None = state.number('yaw')
    if moved and state.number('speed', 0.0) > STANDING:
        yaw = None
    names = state.texts('names')
    values = state.array('values', (len(names),)).tolist()
    variances = state.array('variances', (len(names),), low=0.0).tolist()
    parameters = dict(zip(names, zip(values, variances, strict=True), strict=True))
    datum = state.array('datum', (None,)).tolist()
    if len(datum) not in (0, 3):
        raise state.refused('datum', f'has {len(datum)} numbers, expected 3 or none')
    if datum and not (abs(datum[0]) <= 90.0 and abs(datum[1]) <= 360.0):
        raise state.refused('datum', f'is no place on earth: {datum[0]:.6g}, {datum[1]:.6g}')
    system.known = Known(yaw, parameters)
    if datum and system.places.datum is None:
        system.places.set_datum(datum[0], datum[1], datum[2])
    heading = 'no heading (the car was moving)' if yaw is None else f'heading {yaw:.4g} rad'
    return f'{heading} and {len(parameters)} sensor parameters'
