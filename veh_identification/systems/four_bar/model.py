"""The four-bar linkage of chapters 2 and 3: model, truth, sensors and its observer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from veh_identification.errors import InputError, ModelError
from veh_identification.multibody.natural import NaturalBuilder, NaturalModel
from veh_identification.runtime.share import share_directory

BARS = ('crank', 'rod', 'rocker')
# Columns of the natural coordinates that the thesis' figures show.
COORDINATES = ('x1', 'y1', 'x2', 'y2')


@dataclass(frozen=True)
class Geometry:
    """Lengths [m] of the three moving bars and of the ground."""

    crank: float
    rod: float
    rocker: float
    ground: float

    def __post_init__(self) -> None:
        for name in (*BARS, 'ground'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ModelError(
                    f'four-bar geometry: {name} must be a positive length in metres, found {value}'
                )

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
class Mechanism:
    """What Table 1 lists for the truth or for the model."""

    gravity: float
    masses: tuple[float, float, float]
    angle: float
    rate: float
    torque: float


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


def _mechanism(data: dict[str, Any], where: str) -> Mechanism:
    masses = tuple(float(data['masses'][bar]) for bar in BARS)
    for bar, mass in zip(BARS, masses, strict=True):
        if not (math.isfinite(mass) and mass > 0.0):
            raise ModelError(f'{where}: the mass of the {bar} must be positive, found {mass}')
    return Mechanism(
        float(data['gravity']),
        (masses[0], masses[1], masses[2]),
        float(data['angle']),
        float(data['rate']),
        float(data['torque']),
    )


def load(path: Path | str | None = None) -> Setup:
    """Read a configuration; the packaged one when no path is given."""
    file = share_directory() / 'config' / 'four_bar.yaml' if path is None else Path(path)
    try:
        data = yaml.safe_load(file.read_text(encoding='utf-8'))
    except (OSError, yaml.YAMLError) as error:
        reason = ' '.join(str(error).split())
        raise InputError(f'{file}: cannot be read as YAML ({reason})') from None
    try:
        pulse = data['truth']['pulse']
        simulation = data['simulation']
        setup = Setup(
            Geometry(**{k: float(v) for k, v in data['geometry'].items()}),
            _mechanism(data['truth'], f'{file}: truth'),
            _mechanism(data['model'], f'{file}: model'),
            (float(pulse['torque']), float(pulse['start']), float(pulse['end'])),
            float(simulation['duration']),
            float(simulation['step']),
            int(simulation['substeps']),
            dict(data['sensors']),
            dict(data['observer']),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f'{file}: a field of the four-bar configuration is missing or of the '
            f'wrong kind ({error})'
        ) from None
    if not (setup.step > 0.0 and setup.duration >= setup.step and setup.substeps >= 1):
        raise InputError(f'{file}: simulation needs step > 0, duration >= step and substeps >= 1')
    return setup


def build(geometry: Geometry, mechanism: Mechanism) -> NaturalModel:
    """Assembled natural-coordinate model: points 1 and 2 and the crank angle (equation 20, 21)."""
    builder = NaturalBuilder(2, (0.0, -mechanism.gravity))
    ground = builder.fixed((0.0, 0.0)), builder.fixed((geometry.ground, 0.0))
    start = (
        geometry.crank * math.cos(mechanism.angle),
        geometry.crank * math.sin(mechanism.angle),
    )
    first = builder.point('1', start)
    second = builder.point('2', geometry.rocker_pin(mechanism.angle))
    ends = {'crank': (ground[0], first), 'rod': (first, second), 'rocker': (second, ground[1])}
    for bar, mass in zip(BARS, mechanism.masses, strict=True):
        length = getattr(geometry, bar)
        builder.planar_body(
            bar,
            *ends[bar],
            length,
            mass=mass,
            centre=(0.5 * length, 0.0),
            inertia=mass * length**2 / 3.0,
        )
    axes = builder.fixed((1.0, 0.0)), builder.fixed((0.0, 1.0))
    builder.angle('crank', axes, first - ground[0], mechanism.angle)
    model = NaturalModel(builder, ['crank'])
    model.loads.coordinate_force[model.names.index('crank')] = mechanism.torque
    model.assemble([mechanism.angle], [mechanism.rate])
    return model


def apply_torque(model: NaturalModel, torque: float | None) -> None:
    """Input of the observed model: torque on the crank (None keeps the last)."""
    if torque is not None:
        model.loads.coordinate_force[model.independent[0]] = torque


def torque_at(setup: Setup, time: float) -> float:
    """Torque on the true mechanism, with the pulse in the middle."""
    torque, start, end = setup.pulse
    return torque if start < time < end else setup.truth.torque
