"""The errorEKF of the four-bar linkage: its sensors and settings (section 3.3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from veh_identification.errors import ParameterError
from veh_identification.observation import (
    AdaptiveSettings,
    ErrorEKF,
    ErrorEKFSettings,
    ObservedModel,
    Sensor,
)
from veh_identification.observation.sensors import Accelerometer, CoordinateSensor, Gyroscope
from veh_identification.systems.four_bar.model import Setup, apply_torque, build

CRANK = 4  # place of the crank's angle among the natural coordinates
SETTINGS = (
    'position_deviation',
    'velocity_deviation',
    'acceleration_noise',
    'acceleration_deviation',
    'force_noise',
    'gate_probability',
)


def make_sensors(setup: Setup, names: Sequence[str], gravity: float) -> list[Sensor]:
    """Sensor models by name; the accelerometer predicts with the gravity of its model."""
    result: list[Sensor] = []
    for name in names:
        data = setup.sensors.get(name)
        if data is None or 'deviation' not in data:
            raise ParameterError(
                f'four-bar sensor {name!r} has no entry with a deviation in the configuration'
            )
        deviation = float(data['deviation'])
        if name == 'encoder':
            result.append(CoordinateSensor(name, CRANK, deviation, wrap=True))
        elif name in ('gyro_crank', 'gyro_rod'):
            result.append(Gyroscope(name, name.removeprefix('gyro_'), deviation, axes=(2,)))
        elif name == 'accelerometer_rod':
            result.append(
                Accelerometer(
                    name, 'rod', data['position'], deviation, (0.0, -gravity), axes=(0, 1)
                )
            )
        else:
            raise ParameterError(f'four-bar has no sensor model {name!r}')
    return result


def settings_of(
    setup: Setup, force: bool, adaptive: AdaptiveSettings | None = None, **changes: Any
) -> ErrorEKFSettings:
    """Observer settings of the configuration with changes."""
    values = {k: setup.observer[k] for k in SETTINGS if k in setup.observer}
    if force and 'force_estimation_noise' in setup.observer:
        # what is left of the acceleration error once its slow part is a state
        values['acceleration_noise'] = setup.observer['force_estimation_noise']
    return ErrorEKFSettings(
        **{**values, 'force_estimation': force, 'adaptive': adaptive, **changes}
    )


def make_filter(
    setup: Setup,
    names: Sequence[str] | None = None,
    force: bool = False,
    adaptive: AdaptiveSettings | None = None,
    **changes: Any,
) -> ErrorEKF:
    """errorEKF (or errorEKF-FE) over the wrong model of Table 1."""
    chosen = setup.observer['sensors'] if names is None else names
    observed = ObservedModel(build(setup.geometry, setup.model), apply_inputs=apply_torque)
    return ErrorEKF(
        observed,
        make_sensors(setup, chosen, setup.model.gravity),
        settings_of(setup, force, adaptive, **changes),
    )
