"""What a calibration found and applied, in words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.systems.car.configuration import Sensor
from veh_identification.systems.car.estimation.calibration import Calibration, delays_of
from veh_identification.systems.car.estimation.unknown_settings import ANGLES, CAMBER

#: Codes of what is told here.
CALIBRATED = ('imu_position', 'imu_angles', 'sensor_lag', 'untold_camber')


def calibration_findings(
    found: Calibration, imu: Sensor, source: str, label: str
) -> list[Finding]:
    """One finding for each kind of setting that was applied; `source` gave the unit's pose."""
    told = [
        *_position(found, imu, source),
        *_angles(found, source),
        *_delays(found),
        *_camber(found),
    ]
    return [
        Finding(
            'warn',
            code,
            f'{text} (applied; with it the equation that improves most fits '
            f'{found.factor:.2g} times better). {cure}',
            f'{label} {where}'.lstrip(),
            found.factor,
        )
        for code, text, cure, where in told
    ]


Told = tuple[str, str, str, str]  # code, what was found, how to make it known, where


def _position(found: Calibration, imu: Sensor, source: str) -> Iterable[Told]:
    moved = _applied(found, [f'imu_{letter}' for letter in 'xyz'])
    if not moved:
        return
    parts = [
        f'{name[-1]} {imu.position["xyz".index(name[-1])] + value:.3f} +- {std:.3f} m'
        for name, value, std in moved
    ]
    given = ' '.join(f'{one + 0.0:g}' for one in imu.position)
    yield (
        'imu_position',
        f'imu/data sits elsewhere than told: {", ".join(parts)} in base_link, where '
        f'{source} says x y z {given} m',
        'Give sensors.imu.position in the configuration or put /tf_static right',
        'imu/data',
    )


def _angles(found: Calibration, source: str) -> Iterable[Told]:
    turned = _applied(found, [f'imu_{name}' for name in ANGLES])
    if not turned:
        return
    parts = [
        f'{name.removeprefix("imu_")} {np.degrees(value):+.2f} +- {np.degrees(std):.2f} degrees'
        for name, value, std in turned
    ]
    yield (
        'imu_angles',
        f'the axes of imu/data are turned by {", ".join(parts)} against what {source} says (a '
        'constant error of the accelerometer looks alike in roll and pitch)',
        'Give sensors.imu.rpy in the configuration or put /tf_static right',
        'imu/data',
    )


def _delays(found: Calibration) -> Iterable[Told]:
    late, imu_late = delays_of(found)
    spread = {one.name: found.std[k] for k, one in enumerate(found.settings)}
    cure = (
        'Give delay, or bandwidth_hz and order of its own low-pass, under sensors in the '
        'configuration'
    )
    if imu_late:
        word = 'lags' if imu_late > 0.0 else 'leads'
        size = abs(1e3 * imu_late)
        std = 1e3 * max(value for name, value in spread.items() if name.startswith('delay_'))
        yield (
            'sensor_lag',
            f'imu/data {word} all wheel wrenches and travels by {size:.1f} +- {std:.1f} ms',
            cure,
            'imu/data',
        )
    for name, value in late.items():
        place = name.removeprefix('delay_')
        where = 'suspension_* of joint_states' if place == 'travel' else f'wheel_{place}/wrench'
        word = 'lags' if value > 0.0 else 'leads'
        yield (
            'sensor_lag',
            f'{where} {word} the inertial unit by {abs(1e3 * value):.1f} +- '
            f'{1e3 * spread[name]:.1f} ms',
            cure,
            where,
        )


def _camber(found: Calibration) -> Iterable[Told]:
    leaning = {name: (value, std) for name, value, std in _applied(found, _CAMBERS)}
    if not leaning:
        return
    parts = []
    for axle in ('front', 'rear'):
        slope, std = (0.01 * np.degrees(one) for one in leaning[f'camber_{axle}'])
        rest = np.degrees(leaning[f'camber_rest_{axle}'][0])
        parts.append(
            f'{axle} {rest:+.2f} degrees at rest and {slope:+.2f} +- {std:.2f} degrees per 10 mm '
            'of compression'
        )
    steering, std = leaning['camber_steering']
    yield (
        'untold_camber',
        f'the wheel forces fit as if the hubs cambered: {listed(parts)} (tops inwards positive), '
        f'{steering:+.2f} +- {std:.2f} degrees per degree of steering, and nothing tells the '
        'camber; a wrong scale of lateral force or acceleration looks alike',
        'Record camber_* in joint_states or give a table of camber under axle_kinematics in the '
        'configuration',
        'camber_* of joint_states, or axle_kinematics.camber of the configuration',
    )


_CAMBERS = [one.name for one in CAMBER]


def _applied(found: Calibration, names: list[str]) -> list[tuple[str, float, float]]:
    """Name, value and deviation of the settings among `names` that were applied."""
    return [
        (one.name, float(found.value[k]), float(found.std[k]))
        for k, one in enumerate(found.settings)
        if found.applied[k] and one.name in names
    ]
