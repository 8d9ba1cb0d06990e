from __future__ import annotations

import numpy as np
import pytest

from veh_identification.multibody.inertia import from_centre_of_mass
from veh_identification.multibody.natural import NaturalBuilder, NaturalModel


def make_box(mass: float, size: float) -> np.ndarray:
    return from_centre_of_mass(mass, [0.1, -0.05, 0.2], mass * size**2 * np.diag([0.3, 0.4, 0.5]))


def make_spatial_builder() -> NaturalBuilder:
    """A floating base, a hinged arm, a ball-jointed link, a rack: every kind of constraint."""
    b = NaturalBuilder(3, (0.0, 0.0, -9.81))
    base = b.free_body('base', make_box(20.0, 0.5), (0.3, -0.2, 0.5))
    pivot = base.point((0.4, 0.1, 0.0))
    arm = b.body(
        'arm',
        [
            (pivot, 'point', (0.0, 0.0, 0.0)),
            (base.vector((0.0, 1.0, 0.0)), 'vector', (0.0, 1.0, 0.0)),
            (b.vector('arm.e1', (1.0, 0.0, 0.0)), 'vector', (1.0, 0.0, 0.0)),
            (b.point('tip', (1.0, -0.1, 1.0)), 'point', (0.3, 0.0, 0.5)),
        ],
        make_box(3.0, 0.2),
    )
    b.angle(
        'hinge',
        (base.vector((1.0, 0.0, 0.0)), base.vector((0.0, 0.0, -1.0))),
        arm.vector((1.0, 0.0, 0.0)),
        0.0,
    )
    slider = b.point('slider', (0.4, -0.7, 0.5))
    foot = base.point((0.1, -0.5, 0.0))
    for number, normal in enumerate(((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))):
        b.dot(f'rack {number}', base.vector(normal), slider - foot, 0.0)
    b.point_mass(slider, 1.5)
    b.projection('travel', base.vector((0.0, 1.0, 0.0)), foot, slider, 0.0)
    b.distance('stroke', slider, arm.point((0.3, 0.0, 0.5)), 1.0)
    b.spring(
        'strut', slider, arm.point((0.3, 0.0, 0.5)), stiffness=300.0, damping=0.0, free_length=0.9
    )
    return b


SPATIAL_INDEPENDENT = [
    'base.origin.x',
    'base.origin.y',
    'base.origin.z',
    'base.e1.y',
    'base.e1.z',
    'base.e2.z',
    'hinge',
    'travel',
]


@pytest.fixture
def box():
    return make_box


@pytest.fixture
def spatial_builder():
    return make_spatial_builder


@pytest.fixture
def spatial_independent():
    return list(SPATIAL_INDEPENDENT)


@pytest.fixture
def spatial() -> NaturalModel:
    model = NaturalModel(
        make_spatial_builder(), SPATIAL_INDEPENDENT, loaded_bodies=['base', 'arm']
    )
    z = np.array([0.3, -0.2, 0.5, 0.3, 0.1, -0.2, 0.4, 0.1])
    model.assemble(z, np.array([0.5, -0.3, 0.2, 0.6, -0.4, 0.5, 1.2, -0.7]))
    return model


def planar_pendulum() -> NaturalModel:
    b = NaturalBuilder(2, (0.0, -9.806))
    pivot, end = b.fixed((0.0, 0.0)), b.point('1', (2.0, 0.0))
    b.planar_body('bar', pivot, end, 2.0, mass=2.0, centre=(1.0, 0.0), inertia=8.0 / 3.0)
    b.angle('swing', (b.fixed((1.0, 0.0)), b.fixed((0.0, 1.0))), end - pivot, 0.0)
    return NaturalModel(b, ['swing'])


@pytest.fixture
def pendulum() -> NaturalModel:
    return planar_pendulum()
