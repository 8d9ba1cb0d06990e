from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from veh_identification.multibody.inertia import from_centre_of_mass
from veh_identification.multibody.natural import NaturalBuilder, NaturalModel
from veh_identification.observation import ObservedModel

# pytest's importlib mode does not find the helper module of this folder
sys.path.insert(0, str(Path(__file__).parent))

BASE = ['base.origin.x', 'base.origin.y', 'base.origin.z', 'yaw', 'base.e1.z', 'base.e2.z']


@pytest.fixture
def vehicle() -> ObservedModel:
    """A floating base with a yaw coordinate, a wheel-like body and a hidden swinging arm."""
    b = NaturalBuilder(3, (0.0, 0.0, -9.81))
    inertia = from_centre_of_mass(20.0, [0.1, 0.0, 0.2], np.diag([2.0, 5.0, 6.0]))
    base = b.free_body('base', inertia, (0.0, 0.0, 0.5))
    b.angle('yaw', (b.fixed((1, 0, 0)), b.fixed((0, 1, 0))), base.axes[0], 0.0)
    for name, place in (('wheel', (0.8, 0.5, 0.0)), ('arm', (-0.5, 0.0, 0.1))):
        body = b.body(
            name,
            [
                (base.point(place), 'point', (0, 0, 0)),
                (base.vector((0, 1, 0)), 'vector', (0, 1, 0)),
                (b.vector(f'{name}.e1', (1, 0, 0)), 'vector', (1, 0, 0)),
                (b.vector(f'{name}.e3', (0, 0, 1)), 'vector', (0, 0, 1)),
            ],
            from_centre_of_mass(2.0, [0.05, 0, 0.1], 0.1 * np.eye(3)),
        )
        b.angle(f'{name} angle', (base.axes[0], base.vector((0, 0, -1))), body.axes[0], 0.0)
    model = NaturalModel(b, [*BASE, 'wheel angle', 'arm angle'])
    model.assemble(
        [1.0, -2.0, 0.5, 2.8, 0.05, -0.1, 0.7, -0.3], [4.0, 1.5, 0.1, 0.6, -0.3, 0.2, 9.0, 1.1]
    )
    return ObservedModel(model, [*BASE, 'wheel angle'])


def make_particle(mass: float = 1.0) -> ObservedModel:
    """A free point in the plane: the linear case, without a single constraint."""
    b = NaturalBuilder(2, (0.0, 0.0))
    b.point_mass(b.point('p', (0.0, 0.0)), mass)
    model = NaturalModel(b, ['p.x', 'p.y'])
    model.assemble([0.0, 0.0], [0.0, 0.0])

    def push(target: NaturalModel, force) -> None:
        target.loads.coordinate_force[:] = 0.0 if force is None else force

    return ObservedModel(model, apply_inputs=push)


@pytest.fixture
def particle():
    return make_particle
