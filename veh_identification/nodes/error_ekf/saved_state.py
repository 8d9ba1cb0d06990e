"""What ~/save keeps of an observed car and ~/load gives to its next start."""

from __future__ import annotations

import numpy as np

from veh_identification.saved_state import read_state, write_state
from veh_identification.systems.vehicle.observer.online import Known, VehicleSession, VehicleSystem


def save_known(path: str, session: VehicleSession, system: VehicleSystem) -> None:
    """Heading and sensor parameters with their variances, and the datum."""
    filter_ = session.filter
    first = filter_.size - len(filter_.parameter_names)
    datum = system.places.datum
    place = [] if datum is None else [datum.latitude, datum.longitude, datum.altitude]
    write_state(
        path,
        {
            'yaw': float(session.vehicle.model.q[12]),
            'names': np.array(filter_.parameter_names, dtype=str),
            'values': filter_.parameters,
            'variances': np.diag(filter_.P)[first:],
            'datum': np.array(place),
            'car': session.car.name,
        },
    )


def load_known(path: str, system: VehicleSystem) -> str:
    """Prepare the next start; returns what was found, in words."""
    state = read_state(path)
    car = state.text('car')
    if car != system.car.name:
        raise state.refused('car', f'is {car[:80]!r}, not {system.car.name!r}')
    yaw = state.number('yaw')
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
    return f'heading {yaw:.4g} rad and {len(parameters)} sensor parameters'
