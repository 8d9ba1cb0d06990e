from __future__ import annotations

import numpy as np
import pytest
from consistency import consistency, fraction_inside, normalised_error_square

from veh_identification.errors import EstimationError, ParameterError
from veh_identification.multibody.natural.checks import turned_over
from veh_identification.observation import (
    AdaptiveSettings,
    ErrorEKF,
    ErrorEKFSettings,
    Measurement,
)
from veh_identification.observation.natural import LOOK
from veh_identification.observation.noise import integrator_noise, integrator_transition
from veh_identification.observation.parameters import ParameterProcess
from veh_identification.observation.protocols import Parameter
from veh_identification.observation.sensors import (
    CoordinateSensor,
    GpsPosition,
    Gyroscope,
    predict,
)

DT, DENSITY, SIGMA = 0.05, 0.4, 0.2
SEEDS, STEPS = 60, 80


def particle_sensors():
    return [CoordinateSensor('x', 0, SIGMA), CoordinateSensor('y', 1, SIGMA)]


def linear_run(
    model,
    seed: int,
    settings: ErrorEKFSettings,
    steps: int = STEPS,
    density: float = DENSITY,
    noise: float = SIGMA,
):
    """Truth by the filter's own noise model: the case in which consistency must hold."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(4) * np.repeat([1.0, 0.5], 2)
    F = integrator_transition(DT, 2)
    root = np.linalg.cholesky(integrator_noise(DT, np.full(2, density)))
    filter_ = ErrorEKF(model, particle_sensors(), settings)
    nees, nis, innovations = [], [], []
    for k in range(steps):
        truth = F @ truth + root @ rng.standard_normal(4)
        values = [
            Measurement(name, (k + 1) * DT, truth[i : i + 1] + noise * rng.standard_normal(1))
            for i, name in enumerate('xy')
        ]
        results = filter_.step(DT, None, values)
        error = truth - np.concatenate([model.model.q, model.model.qd])
        nees.append(normalised_error_square(error, filter_.P[:4, :4]))
        nis.append(sum(r.nis for r in results))
        innovations.append([r.value[0] for r in results])
    return np.array(nees), np.array(nis), np.array(innovations), filter_


SETTINGS = ErrorEKFSettings(
    position_deviation=1.0, velocity_deviation=0.5, acceleration_noise=DENSITY
)


def test_nees_and_nis_of_the_linear_case_lie_in_their_bands(particle):
    runs = [linear_run(particle(), seed, SETTINGS) for seed in range(SEEDS)]
    nees, nis = np.array([r[0] for r in runs]).T, np.array([r[1] for r in runs]).T
    assert consistency(nees[-1], 4).consistent and consistency(nis[-1], 2).consistent
    assert fraction_inside(nees, 4) >= 0.9
    assert fraction_inside(nis, 2) >= 0.9


def test_a_wrong_noise_model_is_seen_by_the_bands(particle):
    """The check can fail: half the measurement noise assumed."""
    nis = [
        linear_run(particle(), seed, SETTINGS, 40, noise=2 * SIGMA)[1][-1] for seed in range(SEEDS)
    ]
    assert not consistency(nis, 2).consistent


def test_nan_is_counted_and_skipped(particle):
    filter_ = ErrorEKF(particle(), particle_sensors(), SETTINGS)
    before = filter_.model.model.q.copy()
    results = filter_.step(DT, None, [Measurement('x', DT, np.array([np.nan]))])
    assert results == [] and filter_.counts['x'].invalid == 1
    assert np.array_equal(filter_.model.model.q, before)
    assert filter_.P[0, 0] > 1.0  # no information came in


def test_wrong_messages_are_named(particle):
    filter_ = ErrorEKF(particle(), particle_sensors(), SETTINGS)
    with pytest.raises(EstimationError, match=r"no sensor 'lidar'.*x, y"):
        filter_.update([Measurement('lidar', 0.0, np.zeros(1))])
    with pytest.raises(EstimationError, match=r"'x' needs 1 values, found 2"):
        filter_.update([Measurement('x', 0.0, np.zeros(2))])
    with pytest.raises(ParameterError, match=r"two sensors are called 'x'"):
        ErrorEKF(particle(), [*particle_sensors(), *particle_sensors()], SETTINGS)
    with pytest.raises(ParameterError, match=r'gate_probability'):
        ErrorEKFSettings(gate_probability=1.5)
    with pytest.raises(ParameterError, match=r'acceleration_noise'):
        ErrorEKFSettings(acceleration_noise=-1.0)


def test_two_messages_of_one_sensor_in_one_step_are_both_used(particle):
    single, double = (ErrorEKF(particle(), particle_sensors(), SETTINGS) for _ in range(2))
    pair = [Measurement('x', 0.0, np.array([v])) for v in (1.0, 3.0)]
    double.step(DT, None, pair)
    # two equal sensors are one with half the variance that shows the mean
    single.step(DT, None, [Measurement('x', 0.0, np.array([2.0]), np.array([SIGMA**2 / 2]))])
    assert double.counts['x'].used == 2
    assert np.allclose(double.model.model.q, single.model.model.q, atol=1e-12)
    assert np.allclose(double.P, single.P, atol=1e-12)


def test_multi_rate_sensors_and_message_variances(particle):
    filter_ = ErrorEKF(particle(), particle_sensors(), SETTINGS)
    trace = []
    for k in range(40):
        values = [Measurement('x', k * DT, np.zeros(1))]
        if k % 10 == 0:
            values.append(Measurement('y', k * DT, np.zeros(1), np.array([1e-6])))
        filter_.step(DT, None, values)
        trace.append(filter_.P[1, 1])
    assert filter_.counts['x'].used == 40 and filter_.counts['y'].used == 4
    assert trace[10] < 1e-5 < trace[19]  # the saw-tooth of figure 24
    assert np.all(np.diff(trace[10:20]) > 0)


GATED = ErrorEKFSettings(
    position_deviation=0.1,
    velocity_deviation=0.1,
    acceleration_noise=1e-4,
    gate_probability=0.999,
    patience=0.5,
)


def feed(filter_, values, sensor='x'):
    for value in values:
        time = filter_.time + DT
        filter_.step(DT, None, [Measurement(sensor, time, np.array([value]))])


def test_a_sensor_that_disagrees_is_set_aside_and_nothing_is_widened(particle):
    filter_ = ErrorEKF(particle(), particle_sensors(), GATED)
    rng = np.random.default_rng(1)
    feed(filter_, SIGMA * rng.standard_normal(100))
    before = filter_.P[0, 0]
    feed(filter_, 50.0 + 400.0 * DT * np.arange(60))  # runs away: never right after all
    counts = filter_.counts['x']
    assert counts.rejected == 60 and counts.set_aside == 1 and counts.believed == 0
    assert abs(filter_.model.model.q[0]) < 0.2
    assert filter_.P[0, 0] < before + 0.1
    assert [f.code for f in filter_.findings()] == ['sensor_set_aside']
    feed(filter_, SIGMA * rng.standard_normal(round(3.0 / DT)))
    assert filter_.counts['x'].taken_back == 1
    assert [f.code for f in filter_.findings()] == ['sensor_was_set_aside']


def test_the_estimate_gives_in_to_an_absolute_sensor_that_stays(particle):
    sensors = particle_sensors()
    filter_ = ErrorEKF(particle(), sensors, GATED)
    rng = np.random.default_rng(1)
    feed(filter_, SIGMA * rng.standard_normal(100))
    feed(filter_, 50.0 + SIGMA * rng.standard_normal(round(2.0 / DT)))
    assert filter_.counts['x'].believed == 1
    assert filter_.model.model.q[0] == pytest.approx(50.0, abs=1.0)
    assert 'estimate_corrected' in [f.code for f in filter_.findings()]


def test_a_sensor_that_stands_still_is_stuck(particle):
    filter_ = ErrorEKF(particle(), particle_sensors(), GATED)
    feed(filter_, np.full(200, 20.0))
    assert filter_.counts['x'].believed == 0
    assert 'stuck at 20' in filter_.findings()[0].text


def test_an_outlier_pulls_less_than_its_weight(particle):
    plain, odd = (ErrorEKF(particle(), particle_sensors(), GATED) for _ in range(2))
    spread = np.sqrt(plain.P[0, 0] + SIGMA**2)
    feed(plain, [2.5 * spread])
    feed(odd, [3.2 * spread])
    assert plain.counts['x'].weighted == 0 and odd.counts['x'].weighted == 1
    assert odd.model.model.q[0] < 1.25 * plain.model.model.q[0]


def test_parameters_stay_within_their_bounds():
    process = ParameterProcess([Parameter('radius', 0.3, 0.1, bounds=(0.27, 0.33))])
    values = np.array([-2.0])
    process.confine(values)
    assert values[0] == 0.27


def test_force_estimation_removes_the_bias_of_a_constant_force(particle):
    """A wind of 3 N that the model does not know, position measured only."""

    def run(force: bool):
        model = particle(2.0)
        filter_ = ErrorEKF(
            model,
            particle_sensors(),
            ErrorEKFSettings(
                position_deviation=0.1,
                velocity_deviation=0.1,
                acceleration_noise=0.05,
                force_estimation=force,
                acceleration_deviation=1.0,
                force_noise=0.01,
            ),
        )
        rng = np.random.default_rng(5)
        innovations, errors = [], []
        for k in range(600):
            t = (k + 1) * DT
            truth = 0.5 * 1.5 * t**2
            results = filter_.step(
                DT,
                None,
                [
                    Measurement(
                        'x',
                        t,
                        np.array([truth + 0.05 * rng.standard_normal()]),
                        np.array([0.05**2]),
                    )
                ],
            )
            innovations.append(results[0].value[0])
            errors.append([model.model.q[0] - truth, model.model.qd[0] - 1.5 * t])
        return np.array(innovations)[200:], np.array(errors)[200:], model

    plain, force = run(False), run(True)
    deviation = plain[0].std() / np.sqrt(plain[0].size)
    assert plain[0].mean() > 20 * deviation  # errorEKF: always the same sign
    assert abs(force[0].mean()) < 4 * force[0].std() / np.sqrt(force[0].size)
    assert np.abs(force[1].mean(axis=0)).max() < 0.1 * np.abs(plain[1].mean(axis=0)).max()
    assert force[2].force_error[0] == pytest.approx(3.0, abs=0.25)


def test_adaptive_noise_follows_new_settings_and_leaves_constraints_alone(particle):
    class Constraint(CoordinateSensor):
        pseudo = True

    settings = ErrorEKFSettings(
        acceleration_noise=DENSITY,
        adaptive=AdaptiveSettings(time_constant=1.0, plant=True, measurement=True),
    )
    sensors = [CoordinateSensor('x', 0, SIGMA), Constraint('y', 1, SIGMA)]
    filter_ = ErrorEKF(particle(), sensors, settings)
    rng = np.random.default_rng(6)
    for k in range(200):
        values = [Measurement(name, k * DT, SIGMA * rng.standard_normal(1)) for name in 'xy']
        filter_.step(DT, None, values)
    assert filter_.adaptive.factor('x', 1)[0] != 1.0
    assert filter_.adaptive.factor('y', 1)[0] == 1.0
    learned = filter_.adaptive.density / DENSITY
    assert np.all(learned != 1.0)
    filter_.retune(ErrorEKFSettings(acceleration_noise=4.0 * DENSITY))
    assert filter_.adaptive.density == pytest.approx(4.0 * DENSITY * learned)
    assert filter_.adaptive.nominal == pytest.approx([4.0 * DENSITY] * 2)


@pytest.mark.parametrize('factor', [0.05, 20.0])
def test_adaptive_plant_noise_finds_the_density(particle, factor):
    settings = ErrorEKFSettings(
        position_deviation=1.0,
        velocity_deviation=0.5,
        acceleration_noise=factor * DENSITY,
        adaptive=AdaptiveSettings(time_constant=100.0),
    )
    filter_ = linear_run(particle(), 3, settings, 10000)[3]
    assert np.all(filter_.adaptive.density > DENSITY / 2)
    assert np.all(filter_.adaptive.density < DENSITY * 2)


def test_adaptive_measurement_noise_finds_the_variance(particle):
    settings = ErrorEKFSettings(
        position_deviation=1.0,
        velocity_deviation=0.5,
        acceleration_noise=DENSITY,
        adaptive=AdaptiveSettings(time_constant=20.0, plant=False, measurement=True),
    )
    filter_ = linear_run(particle(), 4, settings, 2500, noise=3 * SIGMA)[3]
    for name in 'xy':
        assert filter_.adaptive.factor(name, 1)[0] == pytest.approx(9.0, rel=0.3)


def test_gyro_bias_becomes_known(vehicle):
    """Yaw is measured as well; the rate's offset of 0.07 rad/s is found."""
    model = vehicle.model
    k = model.names.index('yaw')
    gyro = Gyroscope('gyro', 'base', 0.01, axes=(2,), bias_deviation=0.2)
    tilts = [model.names.index(name) for name in ('base.e1.z', 'base.e2.z')]
    sensors = [
        gyro,
        CoordinateSensor('yaw', k, 0.005, wrap=True),
        *(CoordinateSensor(f'tilt{i}', i, 0.01) for i in tilts),
    ]
    filter_ = ErrorEKF(
        vehicle,
        sensors,
        ErrorEKFSettings(position_deviation=0.1, velocity_deviation=0.1, acceleration_noise=0.01),
    )
    for step in range(300):
        filter_.predict(0.004)
        values = [
            Measurement('gyro', step * 0.004, predict(gyro, vehicle, np.array([0.07]))),
            Measurement('yaw', step * 0.004, model.q[k : k + 1].copy()),
            *(Measurement(f'tilt{i}', step * 0.004, model.q[i : i + 1].copy()) for i in tilts),
        ]
        filter_.update(values)
    assert filter_.parameter('gyro.bias_z') == pytest.approx(0.07, abs=0.01)


def test_hidden_coordinates_keep_their_value_when_the_model_is_corrected(vehicle):
    model = vehicle.model
    arm = model.names.index('arm angle')
    before, rate = model.q[arm], model.qd[arm]
    delta = 0.01 * np.arange(1.0, 8.0)
    z, zd = model.z[vehicle.columns], model.zd[vehicle.columns]
    vehicle.correct(delta, 2 * delta)
    assert model.q[arm] == pytest.approx(before, abs=1e-12)
    assert model.qd[arm] == pytest.approx(rate, abs=1e-12)
    assert np.allclose(model.z[vehicle.columns], z + delta, atol=1e-10)
    assert np.allclose(model.zd[vehicle.columns], zd + 2 * delta, atol=1e-10)
    assert np.abs(model.residual()).max() < 1e-10


def test_force_correction_changes_the_observed_accelerations_only_as_asked(vehicle):
    model = vehicle.model
    model.update_acceleration()
    before = model.independent_acceleration()
    change = np.array([0.5, -0.2, 0.1, 0.3, 0.0, 0.0, 2.0])
    vehicle.correct(np.zeros(7), np.zeros(7), change)
    after = model.independent_acceleration()
    assert np.allclose((after - before)[vehicle.columns], change, atol=1e-8)
    assert np.count_nonzero(model.force_error) == 7


def test_a_correction_that_the_model_cannot_follow_is_counted(vehicle):
    sensors = [
        CoordinateSensor('pitch', vehicle.model.names.index('base.e1.z'), 0.01),
        GpsPosition('gps', 'base', (0, 0, 0), 0.1),
    ]
    filter_ = ErrorEKF(vehicle, sensors, ErrorEKFSettings(acceleration_noise=0.1))
    filter_.predict(0.002)
    pose = vehicle.model.q.copy()
    filter_.update([Measurement('pitch', 0.0, np.array([30.0]))])
    assert filter_.failed_corrections == 1
    assert np.array_equal(vehicle.model.q, pose)


def test_an_angle_that_points_the_other_way_ends_the_run(vehicle):
    """Found by bench/fuzz.py: a crank half a turn off its arm, consistent and silently wrong."""
    model = vehicle.model
    assert turned_over(model.description, model.q) == ''
    for _ in range(LOOK):
        vehicle.predict(1e-4, None)
    index = model.names.index('wheel angle')
    model.q[index] += 2.0 * np.pi  # a whole turn is none
    assert turned_over(model.description, model.q) == ''
    model.q[index] += np.pi
    with pytest.raises(EstimationError, match="'wheel angle' of the model points the other way"):
        for _ in range(LOOK):
            vehicle.predict(1e-4, None)
