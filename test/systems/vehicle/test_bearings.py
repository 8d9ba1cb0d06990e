"""The heading of a parked car is not found in what satellites get wrong."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.observation import Measurement
from veh_identification.systems.vehicle.observer import bearings
from veh_identification.systems.vehicle.observer.bearings import Bearings, find


class Car:
    """As much of a filter as bearings ask for: at `speed` along east, by its own account."""

    def __init__(self, speed: float) -> None:
        self.bearings, self.speed = Bearings(True, False), speed
        self.turned: list[np.ndarray] = []

    @property
    def vehicle(self) -> Car:
        return self

    def frame(self) -> np.ndarray:
        made = np.zeros((2, 12))
        made[0, 3], made[1, 0] = 1.0, self.speed
        return made


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch):
    """Feeds fixes or velocities to a car; gives the directions that it was turned to."""

    def turned(car: Car, course: np.ndarray, deviation: float, speed: float) -> None:
        car.turned.append(np.asarray(course[:2]))
        car.bearings.aligned = True

    monkeypatch.setattr(bearings, '_turn_to', turned)

    def feed(speed: float, sensor: str, values, step: float = 0.2):
        car = Car(speed)
        for k, value in enumerate(values):
            if not car.bearings.aligned:
                find(car, Measurement(sensor, k * step, np.array([*value, 0.0])))  # type: ignore[arg-type]
        return car.turned

    return feed


def test_reflections_and_wander_are_no_course(seen) -> None:
    rng = np.random.default_rng(0)
    quiet = 0.5 * rng.standard_normal((600, 2))
    for at in ([100], [0], [100, 101, 102, 103]):  # the first of all among them
        jumps = quiet.copy()
        jumps[at] += [40.0, -20.0]
        assert not seen(0.0, 'gps', jumps)
    wander = (
        np.cumsum(0.05 * rng.standard_normal((600, 2)), axis=0)
        + [0.2, 0.0] * np.arange(600).reshape(-1, 1) * 0.2
    )
    assert np.hypot(*wander[-1]) > 20.0
    assert not seen(0.0, 'gps', wander)
    velocities = 0.1 * rng.standard_normal((100, 2))
    velocities[[20, 40, 41]] += [3.0, 0.0]
    assert not seen(0.0, 'gps_velocity', velocities)


@pytest.mark.parametrize('step', [0.1, 1.0])
@pytest.mark.parametrize('own', [0.0, 4.0])
def test_a_car_that_drives_off_is_turned_to_its_course(seen, own: float, step: float) -> None:
    way = np.outer(4.0 * step * np.arange(200), [0.6, 0.8])
    [course] = seen(own, 'gps', way, step)
    assert np.arctan2(course[1], course[0]) == pytest.approx(np.arctan2(0.8, 0.6))
    assert np.hypot(*course) < 8.5 + 4.0 * step
    [course] = seen(own, 'gps_velocity', [[2.4, 3.2]] * 3, step)
    assert course == pytest.approx([2.4, 3.2])
