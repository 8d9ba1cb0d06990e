from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import ParameterError
from veh_identification.observation import (
    AdaptiveSettings,
    DelayedErrorEKF,
    ErrorEKF,
    ErrorEKFSettings,
    Measurement,
)
from veh_identification.observation.sensors import CoordinateSensor

DT = 0.01
SETTINGS = ErrorEKFSettings(
    position_deviation=1.0,
    velocity_deviation=1.0,
    acceleration_noise=0.5,
    gate_probability=0.9999,
    adaptive=AdaptiveSettings(time_constant=5.0),
)


def make(model, delay: float = 0.0, window: float = 0.2) -> DelayedErrorEKF:
    sensors = [CoordinateSensor('x', 0, 0.1), CoordinateSensor('y', 1, 0.1, delay=delay)]
    return DelayedErrorEKF(ErrorEKF(model, sensors, SETTINGS), window)


def stream(seed: int = 0) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    return [
        Measurement(name, k * DT, np.array([np.sin(k * DT) + 0.1 * rng.standard_normal()]))
        for k in range(1, 121)
        for name in 'xy'
    ]


def run(observer: DelayedErrorEKF, arrivals: dict[int, list[Measurement]]):
    for k in range(1, 131):
        observer.step(DT, [0.1 * np.sin(k), 0.0], arrivals.get(k, []))
    model = observer.filter.model.model
    return np.concatenate([model.q, model.qd]), observer.filter


def arrivals_of(late) -> dict[int, list[Measurement]]:
    result: dict[int, list[Measurement]] = {}
    for measurement in stream():
        result.setdefault(round(measurement.time / DT) + late(measurement), []).append(measurement)
    return result


def test_late_and_shuffled_messages_give_the_same_estimate(particle):
    punctual, first = run(make(particle()), arrivals_of(lambda m: 0))
    rng = np.random.default_rng(1)
    shuffled, second = run(
        make(particle()), arrivals_of(lambda m: int(rng.integers(0, 9)) if m.sensor == 'y' else 0)
    )
    assert np.array_equal(punctual, shuffled)
    assert np.array_equal(first.P, second.P)
    assert first.counts == second.counts
    assert first.counts['y'].used == 120


def test_the_delay_of_a_sensor_is_taken_off_its_stamp(particle):
    punctual, _ = run(make(particle()), arrivals_of(lambda m: 0))
    stamped_late = {}
    for k, values in arrivals_of(lambda m: 7 if m.sensor == 'y' else 0).items():
        stamped_late[k] = [
            m._replace(time=m.time + 0.07) if m.sensor == 'y' else m for m in values
        ]
    delayed, _ = run(make(particle(), delay=0.07), stamped_late)
    assert np.allclose(punctual, delayed, atol=1e-12)
    ignored, _ = run(make(particle(), delay=0.0), stamped_late)
    assert np.abs(punctual - ignored).max() > 1e-3


def test_messages_older_than_the_window_are_counted(particle):
    observer = make(particle(), window=0.05)
    _, filter_ = run(observer, arrivals_of(lambda m: 10 if m.sensor == 'y' else 0))
    assert filter_.counts['y'].late == 120 and filter_.counts['y'].used == 0
    assert observer.statistics.replays == 0


def test_messages_from_the_future_wait(particle):
    observer = make(particle())
    _, filter_ = run(observer, arrivals_of(lambda m: 0 if m.sensor == 'x' else -1))
    assert filter_.counts['y'].used == 119  # the very first came before the start
    assert observer.statistics.replays == 0
    with pytest.raises(ParameterError, match='window must not be negative'):
        make(particle(), window=-1.0)
