"""Hexapods from YAML (config/hexapod_palida.yaml documents the fields)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from veh_identification.configuration.document import Document
from veh_identification.configuration.models import Model, entry, validate
from veh_identification.configuration.quantities import (
    ACCELERATION,
    LENGTH,
    NUMBER,
    Checked,
    Choice,
    Length,
    PositiveLength,
    Quantity,
    Table,
    Text,
)
from veh_identification.configuration.reading import read_all
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.systems.parallel.model.geometry import (
    Hexapod,
    LegInertia,
    Limits,
    PlatformInertia,
)
from veh_identification.systems.parallel.model.model import HexapodModel, Structure
from veh_identification.types import Array

DEFAULT = 'hexapod_palida.yaml'
Joints = Annotated[Array, Table(Quantity(LENGTH), (6, 3))]


@dataclass(frozen=True)
class Configuration:
    """A robot, the structure of its model and, where one is stored, its excitation."""

    robot: Hexapod
    structure: Structure
    excitation: FourierTrajectory | None = None
    source: str = ''
    identify: Mapping[str, Any] = field(default_factory=dict)  # options of `veh-id identify`

    def model(self) -> HexapodModel:
        """The model that the file describes."""
        return HexapodModel(self.robot, self.structure)


@dataclass(frozen=True)
class Ring(Model):
    """Six joints on a circle about z."""

    radius: PositiveLength = entry(description='of the circle')
    angles_deg: Annotated[Array, Table(Quantity(NUMBER), (6,))] = entry(
        description='of the joints about z, in degrees'
    )
    height: Length = entry(0.0, 'z of the joints')

    @property
    def joints(self) -> Array:
        """The six points."""
        angles = np.radians(self.angles_deg)
        height = np.full(6, self.height)
        return np.stack(
            [self.radius * np.cos(angles), self.radius * np.sin(angles), height], axis=1
        )


def _points(ring: Ring | None, joints: Array | None) -> Array:
    if joints is not None:
        return joints
    if ring is None:
        raise ValueError('expected joints (six points) or ring (radius and angles_deg)')
    return ring.joints


class _Axes(Checked):
    """The first axes of the universal joints: a word, or six vectors."""

    words = Choice(('tangential', 'radial'))
    vectors = Table(Quantity(NUMBER), (6, 3))

    def read(self, value: object) -> str | Array:
        return self.words.read(value) if isinstance(value, str) else self.vectors.read(value)

    def json_schema(self) -> dict[str, Any]:
        return {'anyOf': [self.words.json_schema(), self.vectors.json_schema()]}


@dataclass(frozen=True)
class Base(Model):
    """Universal joints, fixed in the base."""

    ring: Ring | None = entry(None, 'the joints, if they stand on a circle')
    joints: Joints | None = entry(None, 'the joints as six points')
    alpha_axes: Annotated[str | Array, _Axes()] = entry(
        'tangential', 'first axis of each joint: tangential, radial, or six vectors'
    )

    def __post_init__(self) -> None:
        _points(self.ring, self.joints)

    @property
    def axes(self) -> Array:
        """The six vectors."""
        if not isinstance(self.alpha_axes, str):
            return self.alpha_axes
        x, y, _ = _points(self.ring, self.joints).T
        first, second = (-y, x) if self.alpha_axes == 'tangential' else (x, y)
        return np.stack([first, second, np.zeros(6)], axis=1)


@dataclass(frozen=True)
class Platform(PlatformInertia):
    """Spherical joints and inertia of the platform."""

    ring: Ring | None = entry(None, 'the joints, if they stand on a circle')
    joints: Joints | None = entry(None, 'the joints as six points')

    def __post_init__(self) -> None:
        _points(self.ring, self.joints)

    @property
    def inertia(self) -> PlatformInertia:
        """The inertia alone."""
        return PlatformInertia(**{f.name: getattr(self, f.name) for f in fields(PlatformInertia)})


@dataclass(frozen=True)
class LengthSensor(Model):
    """What measures the lengths of the legs."""

    resolution: PositiveLength = entry(1e-6, 'one step of the length sensors')
    tolerance: PositiveLength = entry(
        1e-9, 'where the direct kinematics stops; must be below the resolution'
    )


@dataclass(frozen=True)
class Description(Model):
    """What a file says about a hexapod; SI units, base frame z up."""

    home: Annotated[Array, Table(Quantity(NUMBER), (6,))] = entry(
        description='x y z [m], then phi theta psi [rad]: Rx(phi) Ry(theta) Rz(psi)'
    )
    base: Base = entry(description='universal joints')
    platform: Platform = entry(description='spherical joints and inertia')
    name: Text = entry('hexapod', 'shown in reports')
    gravity: Annotated[Array, Table(Quantity(ACCELERATION), (3,))] = entry(
        lambda: np.array([0.0, 0.0, -9.80665]), 'in the base frame'
    )
    leg: LegInertia = entry(LegInertia, 'all six alike')
    limits: Limits = entry(Limits, 'of each actuator')
    sensor: LengthSensor = entry(LengthSensor, 'of the lengths')
    model: Structure = entry(Structure, 'which parameters there are')
    excitation: FourierTrajectory | None = entry(
        None,
        'the periodic motion, or the name of a file that `veh-id design parallel` wrote',
        {'type': 'string'},
    )
    identify: Mapping[Text, Any] = entry({}, 'options of `veh-id identify parallel`')

    def robot(self) -> Hexapod:
        """The robot as the model takes it."""
        return Hexapod(
            name=self.name,
            base_joints=_points(self.base.ring, self.base.joints),
            platform_joints=_points(self.platform.ring, self.platform.joints),
            alpha_axes=self.base.axes,
            home=self.home,
            leg=self.leg,
            platform=self.platform.inertia,
            limits=self.limits,
            gravity=self.gravity,
            resolution=self.sensor.resolution,
            tolerance=self.sensor.tolerance,
        )

    def __post_init__(self) -> None:
        self.robot()  # for its checks


def load_configuration(path: str | Path | None = None) -> Configuration:
    """Read a file, or the name of one in config/; PaLiDA without one."""
    from veh_identification.runtime.graph import find_config

    return _configuration(read_all(find_config(path or DEFAULT)))


def parse_configuration(data: Any, source: str = 'hexapod') -> Configuration:
    """From plain data; `source` names the file in errors."""
    return _configuration(Document.of(data, source))


def _configuration(document: Document) -> Configuration:
    found = validate(Description, _with_excitation(document))
    return Configuration(
        found.robot(), found.model, found.excitation, document.source, dict(found.identify)
    )


def _with_excitation(document: Document) -> Document:
    """The document with the excitation's file in the place of its name."""
    name = document.find(('excitation',))
    if name is None or not isinstance(name.content, str):
        return document
    stored = read_all(Path(document.source).parent / name.content)
    content = {**document.root.content, 'excitation': stored.root}
    return replace(
        document,
        root=replace(document.root, content=content),
        faults=(*document.faults, *stored.faults),
    )
