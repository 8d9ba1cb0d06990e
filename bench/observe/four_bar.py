"""Speed of the observer: four-bar at 500 Hz, and one step of a synthetic car-sized model.

`run()` returns simulated seconds per wall second on one core, with all sensors of the four-bar and
with the thesis' encoder alone, and microseconds per operation on a tree of 18 bodies with as many
coordinates as the thesis' buggy.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from veh_identification.multibody.inertia import from_centre_of_mass
from veh_identification.multibody.natural import NaturalBuilder, NaturalModel
from veh_identification.observation import ErrorEKF, Measurement
from veh_identification.simulation.four_bar import Truth, simulate
from veh_identification.systems.four_bar import model as four_bar
from veh_identification.systems.four_bar.filter_setup import make_filter

STEP = 0.002
WANTED = 20.0


def _best(
    action: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Shortest of some runs: what the code needs when nobody else uses the core."""
    times = []
    for _ in range(repeats):
        start = clock()
        action()
        times.append(clock() - start)
    return min(times)


def observe(recording: Truth, filter_: ErrorEKF) -> None:
    """Run an observer over all samples of its sensors, which no recording holds."""
    previous = 0.0
    for k, now in enumerate(recording.time):
        measurements = [Measurement(n, now, recording.sensors[n][k]) for n in filter_.sensors]
        filter_.step(now - previous, recording.torque[k], measurements)
        previous = now


def real_time_factor(
    names: list[str], force: bool, duration: float, repeats: int = 3
) -> dict[str, float]:
    """Simulated seconds per wall second and per second of this thread's processor time."""
    setup = dataclasses.replace(four_bar.load(), duration=duration, substeps=1)
    recording = simulate(setup, seed=1, step=STEP)
    observe(recording, make_filter(setup, names, force))
    filters = [make_filter(setup, names, force) for _ in range(2 * repeats)]

    def go() -> None:
        observe(recording, filters.pop())

    return {
        'wall': duration / _best(go, repeats),
        'processor': duration / _best(go, repeats, time.thread_time),
    }


def tree_of_bodies() -> NaturalModel:
    """A floating base with four chains of hinged bodies: 18 bodies, about 180 coordinates."""
    b = NaturalBuilder(3, (0.0, 0.0, -9.81))

    def cube(mass: float, size: float) -> np.ndarray:
        return from_centre_of_mass(mass, np.zeros(3), mass * size**2 / 6 * np.eye(3))

    base = b.free_body('base', cube(400.0, 1.0), (0.0, 0.0, 0.0))
    independent = [f'base.origin.{axis}' for axis in 'xyz'] + [
        'base.e1.y',
        'base.e1.z',
        'base.e2.z',
    ]
    for chain in range(4):
        parent, place = base, (1.0 if chain < 2 else -1.0, 0.6 if chain % 2 else -0.6, 0.0)
        for link in range(4 if chain else 5):
            name = f'link{chain}{link}'
            axis = (0.0, 1.0, 0.0) if link % 2 == 0 else (1.0, 0.0, 0.0)
            others = [tuple(v) for v in np.eye(3) if tuple(v) != axis]
            vectors = [
                (b.vector(f'{name}.e{k}', tuple(np.eye(3)[k])), 'vector', tuple(np.eye(3)[k]))
                for k in range(3)
            ]
            body = b.body(
                name, [(parent.point(place), 'point', (0.0, 0.0, 0.0)), *vectors], cube(10.0, 0.3)
            )
            for number, other in enumerate(others):
                b.dot(f'{name} hinge {number}', parent.vector(axis), body.vector(other), 0.0)
            b.angle(
                f'{name} angle',
                (parent.vector(others[0]), parent.vector(others[1])),
                body.vector(others[0]),
                0.0,
            )
            independent.append(f'{name} angle')
            parent, place = body, (0.0, 0.0, -0.3)
    model = NaturalModel(b, independent)
    rates = np.zeros(len(independent))
    rates[6:] = np.random.default_rng(0).standard_normal(len(independent) - 6)
    model.assemble(None, rates)
    return model


def tree_figures() -> dict[str, float]:
    """Microseconds of the parts of an observer step on the big model."""
    model = tree_of_bodies()
    chosen = np.arange(10)

    def matrices(order: int) -> None:
        model._factor = ''  # as after a step
        model.r_matrices(chosen, order)

    def correct() -> None:
        model.set_independent(model.z + 1e-5, model.zd, model.zdd)

    actions: dict[str, tuple[Callable[[], Any], int]] = {
        'step_us': (lambda: model.step(STEP), 200),
        'r_us': (lambda: matrices(0), 100),
        'r_second_derivative_us': (lambda: matrices(2), 100),
        'correct_us': (correct, 100),
    }
    figures = {name: 1e6 * _best(action, count) for name, (action, count) in actions.items()}
    return {
        'bodies': 18,
        'coordinates': model.q.size,
        'freedom': len(model.independent),
        **figures,
    }


def run(duration: float = 4.0) -> dict[str, Any]:
    """All figures; `met` compares with the wanted 20 simulated seconds per second."""
    sensors = list(four_bar.load().sensors)
    factors = {
        'encoder': real_time_factor(['encoder'], False, duration),
        'encoder_force_estimation': real_time_factor(['encoder'], True, duration),
        'all_sensors': real_time_factor(sensors, False, duration),
        'all_sensors_force_estimation': real_time_factor(sensors, True, duration),
    }
    return {
        'part': 'observe',
        'case': 'four-bar at 500 Hz',
        'unit': 'simulated s / wall s',
        'real_time_factor': factors,
        'wanted': WANTED,
        'met': factors['all_sensors']['wall'] >= WANTED,
        'tree': tree_figures(),
    }


if __name__ == '__main__':
    print(json.dumps(run(), indent=2))
