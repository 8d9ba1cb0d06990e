"""Identification without wheel forces: the search, refusals, cars of another simulator."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import EstimationError, UsageError
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.signals import TimeSeries
from veh_identification.simulation.road_car.handling import handling_drive
from veh_identification.systems.base import Task
from veh_identification.systems.car.bicycle import model
from veh_identification.systems.car.bicycle.fit import Innovations, Prior, maximise
from veh_identification.systems.car.bicycle.identify import poor_fit
from veh_identification.systems.car.bicycle.signals import handling_samples
from veh_identification.systems.car.bicycle.unknowns import Known, physical, prior_of, unknowns
from veh_identification.systems.car.configuration import CarDescription, load_configuration
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.system import Car, CarOptions


def _lines(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    time = np.linspace(0.0, 1.0, 400)
    return time, 2.0 + 3.0 * time + 0.1 * random.standard_normal(400)


def test_search_finds_line_and_noise() -> None:
    """Offset, slope and logarithm of the noise; errors of many draws match the deviations."""
    errors = []
    for seed in range(40):
        time, seen = _lines(seed)
        block = np.arange(400) // 20

        def predict(x, time=time, seen=seen, block=block):
            variance = np.full(400, np.exp(2.0 * x[2]))
            return Innovations(seen - x[0] - x[1] * time, variance, block)

        found = maximise(predict, Prior(np.zeros(3), np.array([10.0, 10.0, 3.0])))
        truth = np.array([2.0, 3.0, np.log(0.1)])
        errors.append((found.value - truth) / np.sqrt(np.diag(found.covariance)))
    spread = np.sqrt(np.mean(np.square(errors), axis=0))
    assert (spread > 0.6).all() and (spread < 1.3).all()


def test_considered_unknown_stays_and_its_doubt_enters() -> None:
    time, seen = _lines(0)

    def predict(x):
        return Innovations(seen - x[0] - x[1] * time, np.full(400, 0.01), np.arange(400) // 20)

    prior = Prior(np.array([0.0, 2.5]), np.array([10.0, 0.5]))
    found = maximise(predict, prior, np.array([False, True]))
    assert found.value[1] == 2.5
    std = np.sqrt(np.diag(found.covariance))
    assert std[1] == pytest.approx(0.5)
    assert std[0] == pytest.approx(0.25, rel=0.1)  # half the doubt of the slope
    assert abs(found.value[0] - 2.25) < 0.05
    assert abs(found.value[0] - 2.0) < 2.0 * std[0]


def _series(values: np.ndarray, names: tuple[str, ...]) -> TimeSeries:
    return TimeSeries(np.arange(len(values)) / 100.0, values, names, ('x',) * len(names))


def test_says_what_is_missing() -> None:
    config = CarDescription()
    with pytest.raises(EstimationError, match='imu/data is missing'):
        handling_samples(CarRecording('bag', None, None, {}, {}), config)
    imu = _series(np.zeros((1000, 6)), ('wx', 'wy', 'wz', 'fx', 'fy', 'fz'))
    with pytest.raises(EstimationError, match='no steering: expected steering_fl'):
        handling_samples(CarRecording('bag', imu, None, {}, {}), config)
    joints = {'steering_wheel': _series(np.zeros((1000, 1)), ('steering_wheel',))}
    with pytest.raises(EstimationError, match=r'no sensors\.rack\.steering_ratio'):
        handling_samples(CarRecording('bag', imu, None, joints, {}), config)
    joints = {'steering_fl': _series(np.zeros((1000, 1)), ('steering_fl',))}
    with pytest.raises(EstimationError, match='nothing tells the speed'):
        handling_samples(CarRecording('bag', imu, None, joints, {}), config)
    slow = _series(np.full((1000, 2), 2.0), ('vx', 'vy'))
    with pytest.raises(EstimationError, match='never drives faster than 8 m/s'):
        handling_samples(CarRecording('bag', imu, slow, joints, {}), config)


def test_options_of_other_models_are_refused() -> None:
    with pytest.raises(UsageError, match="model 2006 has no option 'mass'"):
        CarOptions(mass=1500.0).check_2006()
    with pytest.raises(UsageError, match="model handling has no option 'dof'"):
        CarOptions(dof=20).check_only('handling', ('mass', 'check'))


def test_slopes_are_those_of_the_rates() -> None:
    given = unknowns(Known(2.7, 1.4, 0.1, 0.01, 0.002, 0.01))
    par = physical(given, prior_of(given).mean)
    car = np.array([2.7, 0.33, 9.81, 1.2, 0.5, 1.2, 1.2, 0.008])
    u = np.array([0.02, 0.1, 20.0, 0.03, 0.4, 0.0])
    x = 0.01 * np.random.default_rng(3).standard_normal(model.STATES)
    slopes = np.zeros((model.STATES + 1, model.STATES))
    model.slopes(par, car, x, u, slopes)
    for j in range(model.STATES):
        moved = [x.copy(), x.copy()]
        moved[0][j] += 1e-6
        moved[1][j] -= 1e-6
        rates, force = [], []
        for one in moved:
            dx = np.zeros(model.STATES)
            force.append(model.rates(par, car, one, u, dx))
            rates.append(dx)
        column = np.append(rates[0] - rates[1], force[0] - force[1]) / 2e-6
        assert np.allclose(slopes[:, j], column, atol=1e-6 * max(1.0, np.abs(column).max())), j


def test_car_of_another_simulator(tmp_path) -> None:
    """Mass, inertia and stiffnesses from a bag without wheel forces, through the system."""
    found = handling_drive(321, duration=80.0)
    bag = tmp_path / 'bag'
    with BagWriter(bag) as writer:
        found.write(writer, truth=False)
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    outcome = Car().identify(Task((bag,), config, CarOptions()))
    result, truth = outcome.result, found.car.handling()
    assert 'without_wheel_forces' in {one.code for one in outcome.verdict.findings}
    limits = {'m': 0.03, 'Izz': 0.06, 'Cf': 0.1, 'Cr': 0.1}
    for name, limit in limits.items():
        k = result.index(name)
        assert abs(result.value[k] / truth[name] - 1.0) < limit, name
        assert abs(result.value[k] - truth[name]) < 3.0 * result.std[k], name
    sheet = {one['name'] for one in result.extra['engineers_sheet']['quantities']}
    assert {'understeer_gradient', 'roll_gradient', 'yaw_radius'} <= sheet


@pytest.mark.parametrize(
    ('yaw', 'roll', 'code'),
    [(0.07, 0.19, None), (0.03, 0.6, 'weakly_excited'), (0.5, 0.6, 'poor_fit')],
)
def test_what_steering_does_not_explain_is_named(yaw: float, roll: float, code: str) -> None:
    found = poor_fit({'yaw_rate': yaw, 'roll_rate': roll, 'side_force': 0.05})
    assert [one.code for one in found] == ([] if code is None else [code])
