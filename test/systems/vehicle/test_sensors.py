"""Sensor models that only the car has: wheels that roll, standstill; and what its filter adds."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import ParameterError
from veh_identification.observation import is_pseudo
from veh_identification.observation.channels import connect
from veh_identification.observation.noise import integrator_noise
from veh_identification.observation.protocols import parameters_of
from veh_identification.observation.sensors import read
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.stepper import FORWARD
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle
from veh_identification.systems.vehicle.observer.at_once import fade_side_forces, swing
from veh_identification.systems.vehicle.observer.observed import ObservedVehicle
from veh_identification.systems.vehicle.observer.pseudo_sensors import (
    PSEUDO_SENSORS,
    RearSlip,
    RoadContact,
    Standstill,
)
from veh_identification.systems.vehicle.observer.rolling_wheel import RIGID, Give, RollingWheel
from veh_identification.systems.vehicle.observer.sensor_models import _give


@pytest.fixture(scope='module')
def steered() -> ObservedVehicle:
    """The road car in a bend, so that front wheels look aside."""
    vehicle = Vehicle(load(share_directory() / 'config' / 'road_car.yaml'))
    vehicle.place(np.array([1.0, 2.0, 0.33]), 2.5, 6.0)
    for k in range(250):
        vehicle.step(0.005, Inputs(rack=min(0.02, 0.0002 * k)))
    return ObservedVehicle(vehicle)


def wheel(steered: ObservedVehicle, corner: int, name: str, give: Give = RIGID) -> RollingWheel:
    car = steered.vehicle.car
    return RollingWheel(
        f'wheel_{name}',
        car.geometry.centre(name),
        int(steered.vehicle.spokes[corner, FORWARD]),
        0.33,
        0.2,
        (0.004, 3.0),
        radius_deviation=0.005,
        give=give,
    )


def slope(sensor, steered, column, rate, parameters, step=1e-6):
    """Change of a prediction with one observed coordinate or its rate, by differences."""
    values = []
    for sign in (1.0, -1.0):
        before = steered.snapshot()
        delta = np.zeros((2, steered.size))
        delta[1 if rate else 0, column] = sign * step
        steered.correct(delta[0], delta[1])
        values.append(read(sensor, steered, parameters).value.copy())
        steered.restore(before)
    return (values[0] - values[1]) / (2 * step)


@pytest.mark.parametrize(
    'make',
    [
        lambda s: (wheel(s, 0, 'fl'), np.array([0.331, 0.002, 0.0, 0.1, -0.1])),
        lambda s: (wheel(s, 3, 'rr'), np.array([0.331, 0.002, 0.0, 0.1, -0.1])),
        lambda s: (Standstill(), np.zeros(0)),
    ],
)
def test_jacobians_are_derivatives(steered, make):
    sensor, parameters = make(steered)
    reading = read(sensor, steered, parameters)
    for column in (0, 1, 3):
        assert reading.z[:, column] == pytest.approx(
            slope(sensor, steered, column, False, parameters), abs=1e-5
        ), column
        assert reading.zd[:, column] == pytest.approx(
            slope(sensor, steered, column, True, parameters), abs=1e-5
        ), column
    for k in range(parameters.size):
        step = 1e-6 * np.eye(parameters.size)[k]
        change = (
            read(sensor, steered, parameters + step).value
            - read(sensor, steered, parameters - step).value
        ) / 2e-6
        assert reading.parameters[:, k] == pytest.approx(change, rel=1e-6)


def test_a_rolling_wheel_predicts_the_speed_of_the_models_wheel(steered):
    vehicle = steered.vehicle
    for corner, name in enumerate(('fl', 'fr', 'rl', 'rr')):
        value = read(
            wheel(steered, corner, name), steered, np.array([0.33, 0.0, 0.0, 0.0, 0.0])
        ).value[0]
        # in the bend tyres are pressed by some millimetres more or less
        assert value == pytest.approx(vehicle.model.qd[vehicle.spins[corner]], rel=0.02)
    with pytest.raises(ParameterError, match='radius'):
        RollingWheel('w', (0, 0, 0), 0, 0.0, 0.2, (0.004, 3.0), radius_deviation=0.005)


def test_a_tyre_slips_by_what_drives_the_car_uphill_and_through_the_air(steered):
    give, parameters = Give(0.01, 0.005, 9.8, 2.6e-4), np.array([0.33, 0.001, 0.0, 0.3, 0.3])
    sensor = wheel(steered, 2, 'rl', give)
    reading = read(sensor, steered, parameters)
    plain = read(wheel(steered, 2, 'rl'), steered, np.array([0.33, 0.0, 0.0, 0.0, 0.0])).value[0]
    frame = steered.body('chassis', 2).values
    speed = float(frame[0, 3:6] @ frame[1, :3])
    pull = float(frame[0, 3:6] @ frame[2, :3]) + 9.8 * frame[0, 5] + 2.6e-4 * speed**2
    softness = 0.01 if pull > 0.0 else 0.005
    assert abs(pull) > 0.01
    assert reading.value[0] == pytest.approx(plain * (1.001 + 1.3 * softness * pull))
    # a further acceleration along the car, and another share
    along = frame[0, 3:5]
    assert reading.zdd[0, :2] == pytest.approx(1.3 * softness * plain * along, rel=1e-6)
    way = 3 if pull > 0.0 else 4
    assert reading.parameters[0, way] == pytest.approx(softness * pull * plain)
    assert reading.parameters[0, 7 - way] == 0.0


def test_a_bend_lets_the_inner_wheel_roll_on_more_radius_and_slip_more(steered):
    """The outer wheel carries more: left out, wheels seemed 20 to 30 ms earlier than they are."""
    car, parameters = steered.vehicle.car, np.array([0.33, 0.0, 0.0, 0.0, 0.0])
    frame = steered.body('chassis', 2).values
    held = float(frame[0, 6:9] @ (frame[2, :3] + [0.0, 0.0, car.gravity]))
    pull = float(frame[0, 3:6] @ (frame[2, :3] + [0.0, 0.0, car.gravity]))
    assert held > 0.3  # to the left
    for corner, name, sign in ((2, 'rl', 1.0), (3, 'rr', -1.0)):
        give = _give(car, name)
        lighter, way = sign * abs(give.lighter) * held, 0 if pull > 0.0 else 1
        # by hand: weight times height over track is what moves, half of it on the rear axle
        mass = car.chassis.mass + 4.0 * (car.wheel.mass + car.hub.mass)
        moved = 0.5 * mass * held * (car.chassis.centre[2] + 0.33) / 1.54
        assert lighter == pytest.approx(sign * moved / (0.25 * mass * car.gravity))
        less = moved / car.tyre.stiffness / 3.0 / 0.33
        plain = read(wheel(steered, corner, name), steered, parameters).value[0]
        value = read(
            wheel(steered, corner, name, give._replace(drag=0.0)), steered, parameters
        ).value[0]
        slip = give[way] * pull * (1.0 + lighter)
        assert value == pytest.approx(plain * (1.0 + slip - sign * less), rel=1e-6)


def test_wheels_that_are_late_show_the_speed_of_before(steered):
    sensor, delay = wheel(steered, 3, 'rr'), 0.05
    now = read(sensor, steered, np.array([0.33, 0.0, 0.0, 0.0, 0.0])).value[0]
    late = read(sensor, steered, np.array([0.33, 0.0, delay, 0.0, 0.0])).value[0]
    sensor.aged(delay)
    aged = read(sensor, steered, np.array([0.33, 0.0, 0.0, 0.0, 0.0])).value[0]
    assert late == pytest.approx(aged, rel=1e-12)
    assert abs(late - now) > 1e-4


def test_wheels_of_a_car_share_their_delay_and_those_of_an_axle_their_slip(steered):
    corners = ('fl', 'fr', 'rl', 'rr')
    sensors = [wheel(steered, i, name) for i, name in enumerate(corners)]
    stack, channels = connect(sensors, 10, 3, 30 + len(parameters_of(sensors)))
    names = list(parameters_of(sensors))
    assert len(names) == len(set(names)) == 4 * 2 + 3 and names.count('wheels.delay') == 1
    values = np.arange(len(names), dtype=float)
    for number, (name, channel) in enumerate(channels.items()):
        mine = channel.mine(values)
        assert mine[:2] == pytest.approx([2 * number, 2 * number + 1]), name
        assert [names[int(k)] for k in mine[2:]] == [
            'wheels.delay',
            'rear_axle.drive',
            'rear_axle.brakes',
        ]
        channel.sensor.linearise(steered, np.array([0.33, 0.0, 0.0, 0.0, 0.0]), channel.reading)
        delay = 30 + names.index('wheels.delay')
        assert stack.H[channel.rows, delay] != 0.0


def test_unknown_turns_leave_the_accelerometer_where_it_is():
    """The same noise as that of a body whose coordinates are those of the accelerometer."""
    n, dt, yaw, arm = 6, 0.01, 0.7, np.array([1.2, -0.1, 0.5])
    turns = np.array([0.003, 0.02, 0.01])
    white = np.zeros(n)
    white[3:] = turns
    P = integrator_noise(dt, white)
    swing(P, yaw, arm, n, turns, dt)
    co, si = np.cos(yaw), np.sin(yaw)
    # velocity of the arm's end over rates of yaw, e1z, e2z, in axes of the car
    local = np.array([[-arm[1], -arm[2], 0.0], [arm[0], 0.0, -arm[2]]])
    world = np.array([[co, -si], [si, co]]) @ local
    felt = np.zeros((2 * 2, 2 * n))
    for order in range(2):
        rows, first = slice(2 * order, 2 * order + 2), order * n
        felt[rows, first : first + 2], felt[rows, first + 3 : first + 6] = np.eye(2), world
    assert felt @ P @ felt.T == pytest.approx(np.zeros((4, 4)), abs=1e-12)
    assert np.linalg.eigvalsh(P).min() > -1e-15
    assert np.diag(P)[n + 3 :] == pytest.approx(turns * dt)


def test_a_bank_of_the_road_lets_the_rear_axle_slip():
    vehicle = Vehicle(load(share_directory() / 'config' / 'road_car.yaml'))
    observed = ObservedVehicle(vehicle)
    vehicle.place(np.array([0.0, 0.0, 0.33]), 0.4, 20.0)
    values = []
    for bank in (0.02, 0.020001):
        vehicle.ground[0, 2] = bank
        observed.restore(observed.snapshot())
        slip = RearSlip(0.1, 9.8, 13.0, 1.0, unknown_tyre=0.3, banked=True)
        reading = read(slip, observed, np.array([-0.2, 0.0, 0.0]))
        values.append(float(reading.value[0]))
    # held by tyres of 13 / 0.8 times the load: the axle moves downhill, to the right
    sideways = 20.0 * np.arctanh(0.02) * 0.8 / 13.0
    flat = RearSlip(0.1, 9.8, 13.0, 1.0, unknown_tyre=0.3)
    apart = values[-1] - float(read(flat, observed, np.array([-0.2, 0.0, 0.0])).value[0])
    assert apart == pytest.approx(sideways, rel=1e-3)
    held = (values[1] - values[0]) / 1e-6
    without = read(flat, observed, np.array([-0.2, 0.0, 0.0])).z[0, 5]
    assert reading.z[0, 5] - without == pytest.approx(20.0 * 0.8 / 13.0, rel=1e-2)
    assert held == pytest.approx(reading.z[0, 5], rel=0.02, abs=0.05)


def test_in_a_bend_the_rear_axle_slips_by_the_yaw_rate_and_slides_by_a_share_of_that():
    vehicle = Vehicle(load(share_directory() / 'config' / 'road_car.yaml'))
    observed = ObservedVehicle(vehicle)
    slip = RearSlip(0.04, 9.8, 13.0, 1.0, unknown_tyre=0.3, banked=True)
    plain = RearSlip(0.04, 9.8, 13.0, 1.0)
    values, lateral = [], []
    for rate in (0.15, 0.1501):
        vehicle.place(np.array([0.0, 0.0, 0.33]), 0.4, 20.0, yaw_rate=rate)
        observed.restore(observed.snapshot())
        readings = [read(slip, observed, np.array([0.0, 0.0, s])) for s in (0.0, 1.0)]
        values.append(float(readings[0].value[0]))
        lateral.append(read(plain, observed).zd[0, 3])
    slope = (values[1] - values[0]) / 1e-4
    assert readings[0].zd[0, 3] - lateral[-1] == pytest.approx(400.0 / (9.8 * 13.0), rel=0.15)
    assert slope == pytest.approx(readings[0].zd[0, 3], rel=0.05)
    slides = float(readings[0].value[0] - readings[1].value[0])
    assert slides == pytest.approx(-readings[0].parameters[0, 2])
    # 6 mm/s on the straight, and a share of 20 m/s times the slip angle
    assert slides == pytest.approx(np.hypot(0.04 / np.sqrt(50.0), 0.06 * 20.0 * 0.0243), rel=0.05)


def test_standstill_speaks_only_when_the_wheels_stand():
    vehicle = Vehicle(load(share_directory() / 'config' / 'road_car.yaml'))
    observed = ObservedVehicle(vehicle)
    for speed, sideways, said in ((0.0, 0.0, True), (0.0, 0.5, True), (1.0, 0.0, False)):
        vehicle.place(np.array([0.0, 0.0, 0.33]), 0.0, speed, np.array([speed, sideways]))
        observed.restore(observed.snapshot())
        assert read(Standstill(), observed).available.all() == said
        slip = RearSlip(0.1, 9.8, 13.0, 1.0, minimum_speed=0.0)
        assert read(slip, observed).available.all()


def test_fading_is_a_transformation_of_the_covariance():
    rng = np.random.default_rng(1)
    half = rng.standard_normal((9, 9))
    P = half @ half.T
    yaw, rate = 0.7, 0.5
    side = np.array([-np.sin(yaw), np.cos(yaw)])
    q, qd, force = np.zeros(13), np.zeros(13), np.zeros(13)
    q[12], force[:2], force[12] = yaw, 2.0 * side, 3.0
    for speed, lost in ((2.0, 0.0), (1.0, 1.0 - np.exp(-0.75 * rate))):
        qd[:2] = speed * side[1], -speed * side[0]
        A = np.eye(9)
        A[4:6, 4:6] -= lost * np.outer(side, side)
        A[7, 7] = 1.0 - lost
        wanted = A @ P @ A.T
        fade_side_forces(P, 4, q, qd, (rate, 2.0), force)
        assert pytest.approx(wanted) == P
    assert force[:2] == pytest.approx((1.0 - lost) * 2.0 * side)
    assert force[12] == pytest.approx((1.0 - lost) * 3.0)


def test_every_constraint_says_that_it_is_one(steered):
    constraints = [Standstill(), RearSlip(0.1, 9.8, 13.0, 1.0), RoadContact(0.02, 0.05, 0.02)]
    assert all(is_pseudo(one) for one in constraints)
    assert {one.name for one in constraints} == PSEUDO_SENSORS
    assert not is_pseudo(wheel(steered, 0, 'fl'))
