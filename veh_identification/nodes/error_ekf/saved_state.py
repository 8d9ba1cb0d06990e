"""What ~/save keeps of an observed car and ~/load gives to its next start."""

from __future__ import annotations

from typing import Any

import numpy as np

from veh_identification.errors import InputError
from veh_identification.systems.live import read_state, write_state
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
    state: dict[str, Any] = read_state(path)
    try:
        yaw = float(state['yaw'])
        rows = zip(
            state['names'].tolist(),
            state['values'].tolist(),
            state['variances'].tolist(),
            strict=True,
        )
        parameters = {str(name): (float(value), float(variance)) for name, value, variance in rows}
        car, datum = str(state['car']), state['datum'].tolist()
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f'{path}: not a stored state of error_ekf ({error})') from None
    if car != system.car.name:
        raise InputError(f'{path}: it belongs to the car {car!r}, not to {system.car.name!r}')
    system.known = Known(yaw, parameters)
    if len(datum) == 3 and system.places.datum is None:
        system.places.set_datum(datum[0], datum[1], datum[2])
    return f'heading {yaw:.4g} rad and {len(parameters)} sensor parameters'
