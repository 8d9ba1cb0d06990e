"""Wrenches that were recorded in the axes of the car instead of those of steered hubs."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.systems.car.checks.explanations import _turned_frame
from veh_identification.systems.car.checks.hypotheses import families
from veh_identification.systems.car.configuration import Sensor
from veh_identification.systems.car.recording.samples import CarSamples, JointMotion

COUNT = 50


def samples(wrench: np.ndarray, steering: np.ndarray) -> CarSamples:
    nothing = np.zeros((COUNT, 3))
    still = np.zeros_like(steering)
    return CarSamples(
        rate=100.0,
        epoch_ns=0,
        stamps=np.arange(COUNT) / 100.0,
        specific_force=nothing,
        angular_velocity=nothing,
        angular_acceleration=nothing,
        velocity=nothing[:, :2],
        friction_sign=still,
        joints={'steering': JointMotion(steering, still, still)},
        wrench=wrench,
    )


def test_the_change_brings_wrenches_of_the_car_into_the_hubs() -> None:
    rng = np.random.default_rng(7)
    hub, steering = rng.standard_normal((COUNT, 4, 6)), 0.1 * rng.standard_normal((COUNT, 4))
    steering[:, 2:] = 0.0
    (family,) = (one for one in families(Sensor()) if one.code == 'wrench_frame')
    car = hub.copy()
    for k in range(COUNT):
        for j in range(4):
            c, s = np.cos(steering[k, j]), np.sin(steering[k, j])
            turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])  # hub to car
            car[k, j, :3], car[k, j, 3:] = turn @ hub[k, j, :3], turn @ hub[k, j, 3:]
    assert np.abs(car[:, :2] - hub[:, :2]).max() > 0.1
    back = family.of(1.0).change(samples(car, steering))
    np.testing.assert_allclose(back.wrench, hub, atol=1e-12)


def test_small_angles_need_one_equation_that_fits_better_and_scales_all() -> None:
    (family,) = (one for one in families(Sensor()) if one.code == 'wrench_frame')
    frame = family.of(1.0)
    assert _turned_frame(frame, 1.2) and not _turned_frame(frame, 1.01)
    scale = Hypothesis('wrench_scale', 'text', lambda one: one, 'where')
    assert not _turned_frame(scale, 1.9)
