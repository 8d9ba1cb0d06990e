"""The ten equations hold on the exact signals of a car that somebody else derived.

`simulation/road_car` solves a two-track car by its own equations. With its true parameters and the
true places of its wheels nothing but the air may be left of the six equations of the chassis.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.simulation.road_car.car import GRAVITY, draw_car
from veh_identification.simulation.road_car.handling import HARD, manoeuvres
from veh_identification.simulation.road_car.run import Record, Task, simulate
from veh_identification.simulation.road_car.wheel_sensors import front_angles, hub_wrenches
from veh_identification.systems.car.configuration import CarDescription, Geometry
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.recording.samples import CarSamples, JointMotion


def exact_samples(record: Record) -> CarSamples:
    still = np.zeros((len(record.table), 4))
    steering = still.copy()
    steering[:, :2] = front_angles(record)
    velocity = np.einsum('nij,ni->nj', record.rotation, record.velocity)
    joints = {
        'suspension': JointMotion(record.travel, record.travel_rate, record.travel_acceleration),
        'steering': JointMotion(steering, still, still),
        **{kind: JointMotion(still, still, still) for kind in ('camber', 'kingpin')},
    }
    return CarSamples(
        1000.0,
        0,
        record.time,
        record.acceleration + GRAVITY * record.rotation[:, 2, :],
        record.rates,
        record.angular_acceleration,
        velocity[:, :2],
        np.sign(record.travel_rate),
        joints,
        hub_wrenches(record),
    )


def test_nothing_but_the_air_is_left_of_the_chassis() -> None:
    car = draw_car(6405)
    rows = manoeuvres(car, 6405, 30.0, HARD)
    samples = exact_samples(simulate(car, Task(manoeuvres=rows), 30.0))[2000:]
    half_track = (car.half_track_front,) * 2 + (car.half_track_rear,) * 2
    described = CarDescription(
        geometry=replace(Geometry(), wheelbase=car.wheelbase, half_track=half_track)
    )
    model = CarModel(described, 20)
    m, (x, y, z), (xx, yy, zz, xz) = car.mass, car.centre, car.inertia
    true = dict.fromkeys(model.names, 0.0) | {
        **{'Mc': m, 'MXc': m * x, 'MYc': m * y, 'MZc': m * z},
        'XXc': xx + m * (y**2 + z**2),
        'YYc': yy + m * (x**2 + z**2),
        'ZZc': zz + m * (x**2 + y**2),
        **{'XZc': xz - m * x * z, 'XYc': -m * x * y, 'YZc': -m * y * z},
        **{f'M{j}': car.unsprung - car.wheel_mass for j in range(1, 5)},
    }
    W, Y = model.matrices(samples)
    left = (Y - W @ np.array([true[name] for name in model.names]))[:, :6]
    along, across = samples.velocity.T
    speed = np.hypot(along, across)
    push = np.stack(
        [-car.drag * speed * along, -car.side_drag * speed * across, 0.0 * speed], axis=1
    )
    air = np.hstack([push, np.cross(np.array(car.pressure_point), push)])
    assert np.std(samples.specific_force[:, 1]) > 1.0  # else nothing is asked
    assert np.abs(left + air).max() < 1e-3 * np.abs(Y[:, :6]).max()
    assert np.all(np.std(left + air, axis=0) < 0.1)
    # A wheel that stands a centimetre elsewhere shows: this is no empty comparison.
    moved = replace(described.geometry, half_track=tuple(t + 0.01 for t in half_track))
    away = CarModel(CarDescription(geometry=moved), 20).measured(samples)[:, 3] - Y[:, 3]
    assert np.std(away) > 5.0
