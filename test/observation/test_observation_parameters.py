from __future__ import annotations

import math

import numpy as np
import pytest

from veh_identification.errors import ParameterError
from veh_identification.multibody.natural import NaturalBuilder, NaturalModel
from veh_identification.observation import (
    ErrorEKF,
    ErrorEKFSettings,
    Measurement,
    ObservedModel,
)
from veh_identification.observation.parameters import ParameterProcess
from veh_identification.observation.protocols import Parameter
from veh_identification.observation.sensors import (
    Accelerometer,
    GpsPosition,
    GpsVelocity,
    Gyroscope,
    read,
)

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def test_a_gauss_markov_parameter_keeps_its_deviation():
    process = ParameterProcess(
        [
            Parameter('drift', 0.5, 2.0, correlation_time=10.0),
            Parameter('bias', 0.0, 1.0, walk=0.04),
        ]
    )
    F, W = np.empty((2, 2)), np.empty((2, 2))
    process.fill(0.1, F, W)
    assert pytest.approx(np.diag([math.exp(-0.01), 1.0])) == F
    assert W[1, 1] == pytest.approx(0.004)
    P = np.diag([4.0, 1.0])
    assert (F @ P @ F.T + W)[0, 0] == pytest.approx(4.0)
    values = np.array([3.5, 7.0])
    process.decay(10.0, values)
    assert values == pytest.approx([0.5 + 3.0 * math.exp(-1.0), 7.0])


def test_a_correlation_time_must_be_positive():
    with pytest.raises(ParameterError, match='correlation time'):
        ParameterProcess([Parameter('drift', 0.0, 1.0, correlation_time=0.0)])


@pytest.mark.parametrize(
    'make',
    [
        lambda: GpsPosition(
            'gps', 'base', (0.4, 0.1, 1.0), 0.5, drift=(1.0, 60.0), delay_deviation=0.1
        ),
        lambda: GpsVelocity('velocity', 'base', (0.4, 0.1, 1.0), 0.1, delay_deviation=0.1),
    ],
)
def test_parameter_columns_are_derivatives(vehicle, make):
    sensor = make()
    values = np.array([0.3, -0.2, 1.5])[: len(sensor.parameters)]
    reading = read(sensor, vehicle, values)
    for k in range(values.size):
        step = np.eye(values.size)[k] * 1e-6
        change = (
            read(sensor, vehicle, values + step).value - read(sensor, vehicle, values - step).value
        ) / 2e-6
        assert reading.parameters[:, k] == pytest.approx(change, abs=1e-7)


def test_the_stated_variance_loses_the_drift_but_not_all():
    sensor = GpsPosition('gps', 'base', (0.0, 0.0, 0.0), 0.5, drift=(1.0, 60.0))
    value, variance = sensor.receive(np.zeros(3), np.array([2.0, 1.0, 9.0]))
    assert variance == pytest.approx([1.0, 0.1, 9.0])
    assert sensor.receive(value, None)[1] is None


@pytest.mark.parametrize('kind', [Gyroscope, Accelerometer])
def test_messages_in_body_axes_say_the_same(vehicle, kind):
    def make(**options):
        if kind is Gyroscope:
            return Gyroscope('imu', 'base', 0.1, mounting=TURN, **options)
        return Accelerometer(
            'imu', 'base', (0.3, 0.2, 0.1), 0.1, (0.0, 0.0, -9.81), mounting=TURN, **options
        )

    plain, turned = make(), make(in_body_axes=True)
    measured = np.array([0.1, -0.4, 0.7])
    value, _ = turned.receive(measured, None)
    gap = measured - read(plain, vehicle).value
    assert value - read(turned, vehicle).value == pytest.approx(TURN @ gap)
    with pytest.raises(ParameterError, match='three axes'):
        Gyroscope('imu', 'base', 0.1, axes=(2,), in_body_axes=True)


def floating_body() -> NaturalModel:
    """At rest, without weight."""
    builder = NaturalBuilder(3, (0.0, 0.0, 0.0))
    body = builder.free_body('body', [1.0, 0, 0, 0, 1.0, 0, 0, 1.0, 0, 1.0], (0, 0, 0))
    builder.angle('yaw', (builder.fixed((1, 0, 0)), builder.fixed((0, 1, 0))), body.axes[0], 0.0)
    model = NaturalModel(
        builder,
        ['body.origin.x', 'body.origin.y', 'body.origin.z', 'yaw', 'body.e1.z', 'body.e2.z'],
    )
    model.assemble()
    return model


def test_a_slow_error_of_the_fixes_stays_in_the_answer():
    """Hundreds of fixes with one drift do not make the place surer than the drift."""

    def deviation(drift):
        model = floating_body()
        sensor = GpsPosition('gps', 'body', (0.0, 0.0, 0.0), 0.3, drift=drift)
        filter_ = ErrorEKF(
            ObservedModel(model),
            [sensor],
            ErrorEKFSettings(
                position_deviation=2.0, velocity_deviation=0.0, acceleration_noise=1e-9
            ),
        )
        for k in range(300):
            filter_.step(0.1, None, [Measurement('gps', 0.1 * k, np.array([1.0, 0.0, 0.0]))])
        return math.sqrt(filter_.P[0, 0]), filter_.model.model.q[0]

    sure, place = deviation((0.0, math.inf))
    assert sure < 0.03 and place == pytest.approx(1.0, abs=0.01)
    unsure, near = deviation((1.0, 60.0))
    assert 0.5 < unsure < 1.0 and abs(near - 1.0) < 0.6


def test_a_parameter_can_be_told_and_noise_changed(vehicle):
    sensor = Gyroscope('imu', 'base', 0.1, bias_deviation=0.1)
    settings = ErrorEKFSettings(acceleration_noise=1.0)
    filter_ = ErrorEKF(vehicle, [sensor], settings)
    filter_.set_parameter('imu.bias_z', 0.07, 0.001)
    assert filter_.parameter('imu.bias_z') == 0.07
    assert filter_.P[-1, -1] == pytest.approx(1e-6)
    before = filter_.transition(0.01)[1]
    filter_.retune(ErrorEKFSettings(acceleration_noise=4.0))
    assert filter_.transition(0.01)[1][0, 0] == pytest.approx(4.0 * before[0, 0])
    filter_.update([Measurement('imu', 0.0, read(sensor, vehicle).value + [0.0, 0.0, 0.07])])
    assert filter_.parameter('imu.bias_z') == pytest.approx(0.07, abs=1e-6)


@pytest.mark.parametrize('bias', [0.0, 0.3])
def test_a_bias_of_a_bad_time_does_not_keep_a_sensor_out_for_good(bias):
    """Its parameters are corrected by nobody else, and with them it would never agree again.

    The same when the bias that was learnt before a fault is the true one.
    """
    sensor = Gyroscope('imu', 'body', 0.01, bias_deviation=0.01)
    settings = ErrorEKFSettings(
        velocity_deviation=1e-3, acceleration_noise=1e-8, gate_probability=0.999
    )
    filter_ = ErrorEKF(ObservedModel(floating_body()), [sensor], settings)
    filter_.set_parameter('imu.bias_z', 0.3, 0.005)
    noise = 0.01 * np.random.default_rng(1).standard_normal((900, 3))
    for k in range(900):
        fault = 5.0 if k < 300 and bias else 0.0
        value = noise[k] + [0.0, 0.0, bias + fault]
        filter_.step(0.01, None, [Measurement('imu', 0.01 * k, value)])
    episodes = filter_.channels['imu'].trust.episodes
    assert len(episodes) == 1 and 0.0 < episodes[0].until < 6.0
    assert filter_.parameter('imu.bias_z') == pytest.approx(bias, abs=0.01)


def test_a_fault_does_not_cost_what_was_learnt_in_better_times():
    """Fixes that stray for a while (bench/observe, `outliers`) cost the place of the antenna."""
    sensor = Gyroscope('imu', 'body', 0.01, bias_deviation=0.1)
    settings = ErrorEKFSettings(
        velocity_deviation=1e-3, acceleration_noise=1e-8, gate_probability=0.999
    )
    filter_ = ErrorEKF(ObservedModel(floating_body()), [sensor], settings)
    filter_.set_parameter('imu.bias_z', 0.15, 1e-3)
    for k in range(100):
        filter_.step(0.01, None, [Measurement('imu', 0.01 * k, np.array([0.0, 0.0, 5.15]))])
    assert filter_.channels['imu'].trust.health.aside
    place = filter_.size - len(filter_.parameters) + filter_.parameter_names.index('imu.bias_z')
    assert np.sqrt(filter_.P[place, place]) < 0.01
    assert filter_.parameter('imu.bias_z') == pytest.approx(0.15, abs=0.01)


def test_a_covariance_that_is_assigned_is_the_one_that_steps_use():
    """Compiled steps hold the array itself."""
    filters = []
    for assigned in (True, False):
        sensor = Gyroscope('imu', 'body', 0.01, bias_deviation=0.01)
        filter_ = ErrorEKF(ObservedModel(floating_body()), [sensor], ErrorEKFSettings())
        wider, told = 4.0 * filter_.P, filter_.parameters + 0.02
        if assigned:
            filter_.P, filter_.parameters = wider, told
        else:
            filter_.P[:], filter_.parameters[:] = wider, told
        filter_.step(0.01, None, [Measurement('imu', 0.0, np.array([0.0, 0.0, 0.1]))])
        filters.append(filter_)
    assert np.array_equal(filters[0].P, filters[1].P)
    assert np.array_equal(filters[0].parameters, filters[1].parameters)
