"""The four-bar linkage of chapters 2 and 3 in the short form of its file, and as a mechanism."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.models import load as load_model
from veh_identification.configuration.quantities import (
    ANGULAR_SPEED,
    LENGTH,
    MASS,
    MOMENT,
    NUMBER,
    Angle,
    Components,
    NotNegativeNumber,
    Number,
    PositiveLength,
    PositiveNumber,
    PositiveTime,
    PositiveWhole,
    Quantity,
    Text,
    Time,
    Vector,
)
from veh_identification.configuration.writing import plain
from veh_identification.errors import ModelError, ParameterError
from veh_identification.multibody.natural import NaturalModel
from veh_identification.runtime.share import share_directory
from veh_identification.systems.mechanism import configuration as planar
from veh_identification.systems.mechanism.model import build as build_mechanism

BARS = ('crank', 'rod', 'rocker')
# Columns of the natural coordinates that the thesis' figures show.
COORDINATES = ('x1', 'y1', 'x2', 'y2')
SETTINGS = (
    'position_deviation',
    'velocity_deviation',
    'acceleration_noise',
    'acceleration_deviation',
    'force_estimation_noise',
    'force_noise',
    'gate_probability',
)


@dataclass(frozen=True)
class Geometry(Model):
    """Lengths [m] of the three moving bars and of the ground."""

    crank: PositiveLength = entry(description='driven bar')
    rod: PositiveLength = entry(description='between crank and rocker')
    rocker: PositiveLength = entry(description='bar that swings')
    ground: PositiveLength = entry(description='distance of the two fixed pins')

    def rocker_pin(self, angle: float) -> tuple[float, float]:
        """Position of point 2 above the line from point 1 to B, for a crank angle."""
        x, y = self.crank * math.cos(angle), self.crank * math.sin(angle)
        dx, dy = self.ground - x, -y
        span = math.hypot(dx, dy)
        if not abs(self.rod - self.rocker) < span < self.rod + self.rocker:
            raise ModelError(
                f'four-bar geometry: at a crank angle of {angle:.4g} rad the pins '
                f'are {span:.4g} m apart, which rod {self.rod} m and rocker '
                f'{self.rocker} m cannot bridge'
            )
        cosine = (span**2 + self.rod**2 - self.rocker**2) / (2.0 * span * self.rod)
        direction = math.atan2(dy, dx) + math.acos(cosine)
        return x + self.rod * math.cos(direction), y + self.rod * math.sin(direction)


@dataclass(frozen=True)
class Mechanism(Model):
    """What Table 1 lists for the truth or for the model."""

    gravity: Number = entry(description='along -y [m/s^2]')
    masses: Annotated[Vector, Components(Quantity(MASS, positive=True), BARS)] = entry(
        description='of the uniform bars'
    )
    angle: Angle = entry(description='of the crank at the start, counter-clockwise from x')
    rate: Annotated[float, Quantity(ANGULAR_SPEED)] = entry(
        description='of the crank at the start'
    )
    torque: Annotated[float, Quantity(MOMENT)] = entry(description='on the crank')


@dataclass(frozen=True)
class Pulse(Model):
    """A while in which another torque acts."""

    torque: Annotated[float, Quantity(MOMENT)] = entry(description='on the crank meanwhile')
    start: Time = entry(description='begin')
    end: Time = entry(description='end')


@dataclass(frozen=True)
class TrueMechanism(Mechanism):
    """The truth: what the model does not know of is the pulse."""

    pulse: Pulse = entry(description='acts on the truth only')


@dataclass(frozen=True)
class Simulation(Model):
    """How the truth is simulated."""

    duration: PositiveTime = entry(description='of a recording')
    step: PositiveTime = entry(description='between two samples, and of the observer')
    substeps: PositiveWhole = entry(description='steps of the truth between two samples')

    def __post_init__(self) -> None:
        if self.duration < self.step:
            raise ValueError(f'expected a duration of at least one step, found {self.duration:g}')


@dataclass(frozen=True)
class SensorEntries(Model):
    """Noise of a sensor and, on the rod, its place."""

    deviation: PositiveNumber = entry(description='standard deviation in SI units')
    position: Annotated[tuple[float, float], Components(Quantity(LENGTH), ('x', 'y'))] | None = (
        entry(None, 'on the bar, from its first pin')
    )


@dataclass(frozen=True)
class ObserverEntries(Model):
    """Settings of the errorEKF."""

    sensors: tuple[Text, ...] = entry(description='which of the sensors it takes')
    position_deviation: PositiveNumber | None = entry(None, 'at the start [rad]')
    velocity_deviation: PositiveNumber | None = entry(None, 'at the start [rad/s]')
    acceleration_noise: NotNegativeNumber | None = entry(
        None, 'white acceleration noise of errorEKF [rad^2/s^3]'
    )
    acceleration_deviation: PositiveNumber | None = entry(None, 'at the start [rad/s^2]')
    force_estimation_noise: NotNegativeNumber | None = entry(
        None, 'acceleration_noise of errorEKF-FE [rad^2/s^3]'
    )
    force_noise: NotNegativeNumber | None = entry(
        None, 'random walk of the acceleration error, errorEKF-FE [rad^2/s^5]'
    )
    gate_probability: Annotated[float, Quantity(NUMBER, 0.0, 1.0)] | None = entry(
        None, 'of the gate that refuses outliers'
    )


@dataclass(frozen=True)
class Description(Model):
    """What a file says about the linkage."""

    geometry: Geometry = entry(description='lengths')
    truth: TrueMechanism = entry(description='what is simulated')
    model: Mechanism = entry(description='what the observer takes for the truth')
    simulation: Simulation = entry(description='of the truth')
    sensors: Mapping[Text, SensorEntries] = entry(
        description='encoder, gyro_crank, gyro_rod, accelerometer_rod'
    )
    observer: ObserverEntries = entry(description='of errorEKF and errorEKF-FE')

    def __post_init__(self) -> None:
        for mechanism in (self.truth, self.model):
            self.geometry.rocker_pin(mechanism.angle)


@dataclass(frozen=True)
class Setup:
    """The whole configuration of the example."""

    geometry: Geometry
    truth: Mechanism
    model: Mechanism
    pulse: tuple[float, float, float]  # torque, start, end
    duration: float
    step: float
    substeps: int
    sensors: dict[str, dict[str, Any]]
    observer: dict[str, Any]


def load(path: Path | str | None = None) -> Setup:
    """Read a configuration; the packaged one when no path is given."""
    file = share_directory() / 'config' / 'four_bar.yaml' if path is None else Path(path)
    found = load_model(Description, file)
    pulse, simulation = found.truth.pulse, found.simulation
    return Setup(
        found.geometry,
        Mechanism(**{f.name: getattr(found.truth, f.name) for f in fields(Mechanism)}),
        found.model,
        (pulse.torque, pulse.start, pulse.end),
        simulation.duration,
        simulation.step,
        simulation.substeps,
        {name: _given(sensor) for name, sensor in found.sensors.items()},
        _given(found.observer),
    )


def _given(entries: Model) -> dict[str, Any]:
    """The entries that have a value."""
    return {name: value for name, value in plain(entries).items() if value is not None}


def build(geometry: Geometry, mechanism: Mechanism) -> NaturalModel:
    """Assembled natural-coordinate model: points 1 and 2 and the crank angle (equation 20, 21)."""
    return build_mechanism(_described(geometry, mechanism)).model


def description_of(setup: Setup | planar.Description) -> planar.Description:
    """The linkage as a planar mechanism: the model, its sensors and its observer."""
    if isinstance(setup, planar.Description):
        return setup
    places = {name: one['position'] for name, one in setup.sensors.items() if 'position' in one}
    found = _described(setup.geometry, setup.model, places)
    unknown = [name for name in setup.observer['sensors'] if name not in setup.sensors]
    if unknown:
        raise ParameterError(
            f'four-bar sensor {unknown[0]!r} has no entry with a deviation in the configuration'
        )
    sensors = {name: _sensor(name, one) for name, one in setup.sensors.items()}
    values = {name: setup.observer[name] for name in SETTINGS if name in setup.observer}
    numbers: dict[str, Any] = {
        name: one if name == 'gate_probability' else (one,) for name, one in values.items()
    }
    observer = planar.ObserverEntries(
        sensors=tuple(setup.observer['sensors']), start='given', step=setup.step, **numbers
    )
    return replace(found, sensors=sensors, observer=observer)


def _described(
    geometry: Geometry,
    mechanism: Mechanism,
    places: Mapping[str, tuple[float, float]] | None = None,
) -> planar.Description:
    angle = mechanism.angle
    point, fixed = planar.PointEntries, True
    points = {
        'A': point((0.0, 0.0), fixed),
        'B': point((geometry.ground, 0.0), fixed),
        '1': point((geometry.crank * math.cos(angle), geometry.crank * math.sin(angle))),
        '2': point(geometry.rocker_pin(angle)),
    }
    ends = (('A', '1'), ('1', '2'), ('2', 'B'))
    bodies = {
        bar: planar.BodyEntries(
            joined,
            mass,
            getattr(geometry, bar),
            further={name: (at[0], at[1]) for name, at in (places or {}).items() if bar in name},
        )
        for bar, joined, mass in zip(BARS, ends, mechanism.masses, strict=True)
    }
    return planar.Description(
        points,
        bodies,
        {'crank': planar.CoordinateEntries(('A', '1'), start=angle, rate=mechanism.rate)},
        {},
        'four-bar linkage',
        (0.0, -mechanism.gravity),
        drives={'torque': planar.DriveEntries('crank', mechanism.torque)},
    )


def _sensor(name: str, one: Mapping[str, Any]) -> planar.SensorEntries:
    """A sensor of the linkage by its name; its place is a further point of the same name."""
    deviation = float(one['deviation'])
    if name == 'encoder':
        return planar.SensorEntries('encoder', coordinate='crank', deviation=deviation)
    kind, _, bar = name.partition('_')
    if bar in BARS and kind == 'gyro':
        return planar.SensorEntries('gyro', body=bar, deviation=deviation)
    if bar in BARS and kind == 'accelerometer' and 'position' in one:
        return planar.SensorEntries(kind, body=bar, point=name, deviation=deviation)
    raise ParameterError(f'four-bar has no sensor model {name!r}')


def apply_torque(model: NaturalModel, torque: float | None) -> None:
    """Input of the observed model: torque on the crank (None keeps the last)."""
    if torque is not None:
        model.loads.coordinate_force[model.independent[0]] = torque


def torque_at(setup: Setup, time: float) -> float:
    """Torque on the true mechanism, with the pulse in the middle."""
    torque, start, end = setup.pulse
    return torque if start < time < end else setup.truth.torque
