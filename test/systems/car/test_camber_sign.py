"""Camber of the wrong sign, as a change that is tried."""

from __future__ import annotations

import numpy as np

from veh_identification.systems.car.checks.hypotheses import families
from veh_identification.systems.car.configuration import Sensor
from veh_identification.systems.car.recording.samples import CarSamples, JointMotion

COUNT = 20


def test_the_change_turns_all_cambers_and_nothing_else() -> None:
    rng = np.random.default_rng(3)
    camber, steering = (JointMotion(*rng.standard_normal((3, COUNT, 4))) for _ in range(2))
    nothing = np.zeros((COUNT, 3))
    samples = CarSamples(
        rate=100.0,
        epoch_ns=0,
        stamps=np.arange(COUNT) / 100.0,
        specific_force=nothing,
        angular_velocity=nothing,
        angular_acceleration=nothing,
        velocity=nothing[:, :2],
        friction_sign=np.zeros((COUNT, 4)),
        joints={'camber': camber, 'steering': steering},
        wrench=rng.standard_normal((COUNT, 4, 6)),
    )
    (family,) = (one for one in families(Sensor()) if one.code == 'camber_sign')
    turned = family.of(1.0).change(samples)
    for part in ('position', 'velocity', 'acceleration'):
        np.testing.assert_array_equal(
            getattr(turned.joints['camber'], part), -getattr(camber, part)
        )
    assert turned.joints['steering'] is steering and turned.wrench is samples.wrench
