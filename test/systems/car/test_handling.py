"""Identification without wheel forces: the search, refusals, cars of another simulator."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from veh_identification.errors import EstimationError, UsageError
from veh_identification.findings import Finding
from veh_identification.orientations import matrix_of_rpy
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.signals import SampleReport, TimeSeries
from veh_identification.simulation.road_car.car import draw_car
from veh_identification.simulation.road_car.handling import handling_drive
from veh_identification.simulation.road_car.run import Task as Driven
from veh_identification.simulation.road_car.run import simulate
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.base import Task
from veh_identification.systems.car.bicycle import errors, model, signals
from veh_identification.systems.car.bicycle.centre import described_centre
from veh_identification.systems.car.bicycle.errors import (
    Doubt,
    _steering_earlier,
    sensor_errors,
)
from veh_identification.systems.car.bicycle.fit import (
    Further,
    Innovations,
    Prior,
    maximise,
    one_more,
)
from veh_identification.systems.car.bicycle.identify import (
    SHOWN,
    HandlingMethod,
    _left_out,
    _with_mass,
    identify_handling,
    poor_fit,
    told_centre,
    told_mass,
    told_steering,
)
from veh_identification.systems.car.bicycle.longitudinal import (
    fit_forward,
    force_arm,
    known_forces,
    rough_mass,
)
from veh_identification.systems.car.bicycle.signals import (
    RATE,
    HandlingSamples,
    Steering,
    handling_samples,
)
from veh_identification.systems.car.bicycle.telling import told_constants, told_pitch
from veh_identification.systems.car.bicycle.unknowns import Known, physical, prior_of, unknowns
from veh_identification.systems.car.checks.channels import channels
from veh_identification.systems.car.checks.ranges import check_health
from veh_identification.systems.car.configuration import CarDescription, load_configuration
from veh_identification.systems.car.processing.signals import prepare
from veh_identification.systems.car.recording.reader import (
    CarRecording,
    CarRecordingError,
    read_recording,
)
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


def _driven_straight() -> tuple[CarRecording, CarDescription]:
    """Straight ahead at 20 m/s on wheels that roll on 0.33 m."""
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    time = np.arange(1000) / 100.0
    imu = np.zeros((1000, 6))
    imu[:, 5] = 9.81
    joints = {
        name: _series(column[:, None], (name,))
        for name, column in (
            ('steering_wheel', np.zeros(1000)),
            ('wheel_fl', 20.0 / 0.33 * time),
            ('wheel_fr', 20.0 / 0.33 * time),
        )
    }
    recording = CarRecording(
        'bag',
        _series(imu, ('wx', 'wy', 'wz', 'fx', 'fy', 'fz')),
        None,
        joints,
        {},
        velocity=_series(np.tile([20.0, 0.0], (1000, 1)), ('east', 'north')),
    )
    return recording, config


def test_says_what_is_missing() -> None:
    config = CarDescription()
    with pytest.raises(EstimationError, match='imu/data is missing'):
        handling_samples(CarRecording('bag', None, None, {}, {}), config)
    report = SampleReport('imu/data', 100, 0, non_finite_by_channel={'wx': 100, 'fz': 100})
    with pytest.raises(EstimationError, match='topic imu/data: wx, fz hold no number where'):
        handling_samples(CarRecording('bag', None, None, {}, {}, reports=(report,)), config)
    imu = _series(np.zeros((1000, 6)), ('wx', 'wy', 'wz', 'fx', 'fy', 'fz'))
    without = CarRecording('bag', imu, None, {}, {}, unmeasured=('wx', 'wz'))
    with pytest.raises(EstimationError, match='wz hold no number; yaw rate, forward and sideways'):
        handling_samples(without, config)
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


def test_a_tilted_unit_of_three_axes_is_refused() -> None:
    recording, config = _driven_straight()
    few = replace(recording, unmeasured=('wx', 'wy', 'fz'))
    assert not handling_samples(few, config).rolls and handling_samples(recording, config).rolls
    tilted = replace(config.sensors.imu, rpy=(0.0, 0.2, 0.0))
    config = replace(config, sensors=replace(config.sensors, imu=tilted))
    assert handling_samples(recording, config).rolls
    with pytest.raises(EstimationError, match='tilted by 11 degrees'):
        handling_samples(few, config)


@pytest.mark.parametrize(('columns', 'value'), [([2], 0.01), ([2, 3, 4], 0.0)])
def test_what_is_filled_in_hides_no_stuck_axis(columns, value) -> None:
    """A yaw rate that rests, or messages of zeros, beside axes that rest since nobody has them."""
    recording, config = _driven_straight()
    assert recording.imu is not None
    values = recording.imu.values + 0.1 * np.random.default_rng(2).standard_normal((1000, 6))
    values[:, :2], values[:, 5] = 0.0, 9.80665
    unit = replace(recording.imu, values=values)
    few = replace(recording, imu=unit, unmeasured=('wx', 'wy', 'fz'))
    assert _stuck(few, config) == []
    spoilt = values.copy()
    spoilt[300:800, columns] = value
    (found,) = _stuck(replace(few, imu=replace(unit, values=spoilt)), config)
    assert found.where == 'imu/data.wz'
    assert not any(name in found.text for name in few.unmeasured)


def _stuck(recording: CarRecording, config: CarDescription) -> list[Finding]:
    shown = channels(recording, config.sensors.imu, config)
    assert shown is not None
    told = check_health(recording, shown, config)
    return [one for one in told if one.level == 'bad' and 'imu' in one.where]


def test_options_of_other_models_are_refused() -> None:
    with pytest.raises(UsageError, match="model 2006 has no option 'mass'"):
        CarOptions(mass=1500.0).check_2006()
    with pytest.raises(UsageError, match="model handling has no option 'dof'"):
        CarOptions(dof=20).check_only('handling', ('mass', 'check'))


def test_slopes_are_those_of_the_rates() -> None:
    given = unknowns(Known(2.7, 1.4, 0.1, 0.01, 0.002, 0.01))
    par = physical(given, prior_of(given).mean)
    par[model.NOSE] = 0.02
    car = np.array([2.7, 0.33, 9.81, 1.2, 0.5, 1.2, 1.2, 0.008, 0.015, 9.81])
    u = np.array([0.02, 0.1, 20.0, 0.03, 0.4, 0.8, 0.0])
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


def test_a_pitched_body_that_rolls_moves_its_front_sideways() -> None:
    """By turning a rigid body: the contact in front moves, that of the rear wheels does not."""
    length, nose, rate, step = 2.7, 0.02, 0.4, 1e-6
    before, after = (
        Rotation.from_euler('ZYX', [0.0, -nose, angle]) for angle in (0.0, rate * step)
    )
    contact = before.inv().apply([length, 0.0, 0.0])  # on the ground, seen from the body
    sideways = after.apply(contact)[1] / step
    par, car, u = np.ones(model.COUNT), np.ones(model.KNOWN), np.zeros(model.INPUTS)
    par[model.NOSE], par[model.CROSS], par[model.SF] = nose, 0.0, 0.5
    car[model.LENGTH], car[model.GRAVITY] = length, 9.81
    u[model.I_SPEED] = 20.0
    x, rates = np.zeros(model.STATES), np.zeros(model.STATES)
    x[model.P] = rate
    model.rates(par, car, x, u, rates)
    assert rates[model.AF] == pytest.approx(-np.arctan(sideways / 20.0) * 20.0 / 0.5, rel=1e-3)
    assert rates[model.AR] == 0.0


def test_gravity_of_a_rolling_car_is_no_sideways_velocity() -> None:
    """What the low-pass takes off a swinging velocity, told by an accelerometer that rolls."""
    time = np.arange(2000) / signals.RATE
    velocity, roll = np.sin(6.0 * time), 0.05 * np.cos(6.0 * time)
    rates, force = np.zeros((2000, 3)), np.zeros((2000, 3))
    rates[:, 0] = np.gradient(roll, time)
    force[:, 1] = np.gradient(velocity, time) + 9.81 * roll
    taken = signals._taken_by_low_pass(rates, force, np.zeros(3), 9.81)[:, 1]
    wanted = (1.0 - np.exp(-0.5 * (6.0 * signals.LOW_PASS) ** 2)) * velocity
    assert np.abs(taken - wanted)[50:-50].max() < 0.005
    assert np.ptp(wanted) > 0.15
    force[:, 1] -= 9.81 * roll  # taken out by the unit itself, and no roll rate
    taken = signals._taken_by_low_pass(0.0 * rates, force, np.zeros(3), 0.0, False)[:, 1]
    assert np.abs(taken - wanted)[50:-50].max() < 0.01


def test_braking_and_air_move_stiffness_between_the_axles() -> None:
    given = unknowns(Known(2.7, 1.4, 0.1, 0.01, 0.002, 0.01, 0.003))
    par = physical(given, prior_of(given).mean)
    car = np.array([2.7, 0.33, 9.81, 1.2, 0.5, 1.2, 1.2, 0.008, 0.015, 9.81])
    still = model.stiffnesses(par, car, np.array([0.0, 0.0, 1e-3, 0.0, 0.0, 0.0, 0.0]))
    assert still == pytest.approx((par[model.CF], par[model.CR]))
    braked = model.stiffnesses(par, car, np.array([0.0, 0.0, 1e-3, 0.0, 0.0, -4.0, 0.0]))
    assert braked[0] > 1.05 * still[0] and braked[1] < 0.95 * still[1]
    fast = model.stiffnesses(par, car, np.array([0.0, 0.0, 30.0, 0.0, 0.0, 0.0, 0.0]))
    assert 0.98 < fast[0] / still[0] < 0.997 and 1.003 < fast[1] / still[1] < 1.02


def test_a_body_that_leans_takes_stiffness_more_so_in_front() -> None:
    """The outer wheels gain less by their load than the inner ones lose."""
    given = unknowns(Known(2.7, 1.4, 0.1, 0.01, 0.002, 0.01))
    par = physical(given, prior_of(given).mean)
    car = np.array([2.7, 0.33, 9.81, 1.2, 0.5, 1.2, 1.2, 0.008, 0.015, 9.81])
    straight = np.array([0.0, 0.0, 20.0, 0.0, 0.0, 0.0, 0.0])

    def force(slip_front: float, slip_rear: float, roll: float) -> float:
        x, dx = np.zeros(model.STATES), np.zeros(model.STATES)
        x[model.AF], x[model.AR], x[model.PHI] = slip_front, slip_rear, roll
        return model.rates(par, car, x, straight, dx)

    roll = 0.3 * 9.81 * par[model.GAMMA] / par[model.OMEGA] ** 2  # of a bend of 0.3 g
    front, rear = (
        force(*slips, roll) / force(*slips, 0.0) for slips in ((0.01, 0.0), (0.0, 0.01))
    )
    assert 0.97 < front < rear < 0.995


def test_wheel_centres_stand_lower_than_the_wheels_roll() -> None:
    samples = handling_samples(*_driven_straight())
    assert samples.radius == pytest.approx(0.33, rel=1e-3)
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    heavy = _with_mass(samples, config, 1600.0).car[model.HEIGHT]
    pressed = 1600.0 * config.gravity / 4.0 / 230e3
    assert heavy == pytest.approx(samples.radius - 2.0 / 3.0 * pressed)
    unknown = _with_mass(replace(samples, radius=float('nan')), config, 1600.0)
    assert unknown.car[model.HEIGHT] == config.geometry.wheel_radius


def test_roll_is_doubted_where_the_road_makes_much_of_it() -> None:
    value = np.ones(len(SHOWN))
    calm, rough = (
        np.sqrt(np.diag(_left_out(SHOWN, value, share, 0.03))) for share in (0.10, 0.30)
    )
    factor = dict(zip(SHOWN, rough / np.maximum(calm, 1e-12), strict=True))
    assert factor['roll_frequency'] == pytest.approx(4.0)
    assert factor['roll_damping'] == pytest.approx(4.0)
    assert factor['Izz/m'] == factor['Cf/m'] == 1.0


def test_a_load_moves_the_described_centre_back_and_makes_it_doubtful() -> None:
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    unknown, empty, loaded = (described_centre(config, mass) for mass in (None, 1592.0, 1850.0))
    assert empty[0] == pytest.approx(unknown[0], abs=1e-3)
    assert loaded[0] < empty[0] - 0.04
    assert empty[1] < loaded[1] < unknown[1] + 0.02


def test_forces_beside_a_bend_are_not_taken_as_known() -> None:
    count = 2000
    measured = np.full((count, 9), np.nan)
    measured[::8, model.M_SIDE] = 0.0
    side = np.zeros(count)
    side[900:1000] = np.sin(np.linspace(0.0, 4.0 * np.pi, 100)) * 3.0
    measured[::8, model.M_SIDE] = side[::8]
    samples = replace(
        _samples_of(count), measured=measured, torque=np.full(count, 300.0), braking=side > 9.0
    )
    known = known_forces(samples)
    assert known[:850].all() and known[1050:].all()
    assert not known[880:1020].any()  # also where the force passes zero


def _samples_of(count: int) -> signals.HandlingSamples:
    nothing, car = np.zeros(count), np.zeros(model.KNOWN)
    car[model.FELT] = 9.80665
    return signals.HandlingSamples(
        'bag',
        0,
        np.arange(count) / signals.RATE,
        np.zeros((count, model.INPUTS)),
        np.zeros((count, 9)),
        *(nothing,) * 4,
        nothing > 0.0,
        nothing,
        car,
        signals.Steering('x', 0.01),
        'x',
        'x',
        0.33,
        count / signals.RATE,
    )


def _straight_tests(seed: int) -> signals.HandlingSamples:
    """Gathering speed and coasting of a rear-driven car of 1600 kg, Cx 0.42, c_r 0.012.

    By the forces on its tyres: the rear ones are pressed in as the car gathers speed, and the body
    pitches by the moment about the road of what inertia and air hold back.
    """
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    mass, drag, high, air_high = 1600.0, 0.42, 0.55, 0.68
    free, stiffness, per_moment = 0.336, config.tyre.stiffness, 1.1e-5  # [rad/(N m)]
    rear = 0.5 * (1.0 - described_centre(config, mass)[0] / config.geometry.wheelbase)
    spin = 4.0 * config.wheel.spin_inertia
    random = np.random.default_rng(seed)
    count = round(100.0 * RATE)
    samples, table = _samples_of(count), np.zeros((count, 4))
    speed, pushes, later = 13.0, True, 0.0
    for k in range(count):
        pushes = speed < 26.0 if pushes else speed < 14.0
        push = later
        later = 2200.0 + 1500.0 * np.sin(0.004 * k) if pushes else 0.0
        for step in range(10):
            air = drag * speed**2
            standing = free - rear * mass * 9.80665 / stiffness
            rolling = free - (free - standing) / 3.0
            whole = mass + spin / (standing * rolling)
            acting = push + 0.1 * step * (later - push)
            rate = (acting - air - 0.012 * mass * 9.80665) / whole
            if step == 0:
                moment = mass * rate * high + air * air_high
                pressed = 0.5 * moment / (config.geometry.wheelbase * stiffness)
                felt = rate + 9.80665 * per_moment * moment
                table[k] = speed, push * (standing - pressed), felt, speed / rolling
            speed += 0.002 * rate
    inputs, tenth = samples.inputs, np.arange(count) % 5 == 0
    inputs[:, model.I_SPEED], inputs[0, model.I_BEGIN] = table[:, 0], 1.0
    noise = random.standard_normal((3, count))
    return replace(
        samples,
        torque=table[:, 1],
        forward=table[:, 2] + 0.03 * noise[0],
        told_speed=np.where(tenth, table[:, 0] + 0.03 * noise[1], np.nan),
        altitude=np.where(tenth, 0.03 * noise[2], np.nan),
        driven=table[:, 3],
        radius=rolling + 0.004,  # worn tyres behind
    )


def test_mass_and_drag_are_those_of_a_car_that_pitches_on_its_tyres() -> None:
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    found = np.mean([fit_forward([_straight_tests(k)], config).value for k in range(4)], axis=0)
    assert found[0] == pytest.approx(1600.0, rel=0.003)
    assert found[1] == pytest.approx(0.42, rel=0.03)
    assert found[2] == pytest.approx(0.012, rel=0.03)


def test_the_torque_acts_where_the_driven_wheels_are() -> None:
    """Another radius than in front, their own load, and lower by 0.8 % at 3 m/s^2."""
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    samples = _straight_tests(0)
    arm = force_arm([samples], config, 1600.0)
    assert arm.rolling == pytest.approx(samples.radius - 0.004, abs=1e-5)
    pressed = (1.0 - 0.45) * 0.5 * 1600.0 * config.gravity / config.tyre.stiffness
    assert force_arm([samples], config, 1600.0, 0.45).standing == pytest.approx(
        arm.rolling - 2.0 / 3.0 * pressed
    )
    lower = 0.5 * 1600.0 * 3.0 * 0.55 / (config.geometry.wheelbase * config.tyre.stiffness)
    assert arm.sinks * 3.0 == pytest.approx(lower)
    front = replace(config.sensors.wheels, driven='front')
    other = replace(config, sensors=replace(config.sensors, wheels=front))
    assert force_arm([samples], other, 1600.0).sinks == -arm.sinks
    untold = replace(samples, driven=np.full(len(samples), np.nan))
    assert force_arm([untold], config, 1600.0).rolling == samples.radius
    assert force_arm([untold], config, 1600.0).doubt > arm.doubt


def _leaning(drag: float, start: float, wanted: float) -> tuple[float, float, float]:
    """Specific force along the body less the rate of the speed, that rate, and the speed."""
    car = replace(draw_car(0, 0.0), drag=drag)
    run = simulate(car, Driven(manoeuvres=((20.0, 0.0, wanted),), speed=start), 9.0)
    last = slice(5000, 8500)
    rate = np.polyfit(run.time[last], run.speed[last], 1)[0]
    felt = run.acceleration[last, 0] + 9.80665 * run.rotation[last, 2, 0]
    return float(felt.mean() - rate), float(rate), float(run.speed[last].mean())


def test_drag_pitches_the_simulated_car_as_its_inertia_does() -> None:
    """Above the road like it, 1.2 times as high: the specific force along the body tells."""
    still, _, _ = _leaning(0.0, 28.0, 28.0)
    held, _, speed = _leaning(0.84, 28.0, 28.0)
    pushed, rate, _ = _leaning(0.0, 12.0, 80.0)
    car = draw_car(0, 0.0)
    by_drag = (held - still) / (0.84 * speed**2 / car.total_mass)
    by_inertia = (pushed - still) / rate
    assert by_inertia == pytest.approx(0.053, abs=0.01)
    assert by_drag / by_inertia == pytest.approx(1.24, abs=0.06)


def test_truth_of_rolling_resistance_is_the_force_that_holds_a_coasting_car() -> None:
    car = replace(draw_car(5), drag=0.0)
    run = simulate(car, Driven(manoeuvres=((20.0, 0.0, float('nan')),), speed=15.0), 12.0)
    spin = 4.0 * car.spin_inertia / 0.105
    last = slice(4000, None)
    rate = np.polyfit(run.time[last], run.speed[last], 1)[0]
    force = -(car.total_mass + spin) * rate / (car.total_mass * 9.80665)
    assert force == pytest.approx(car.handling()['rolling'], rel=0.01)


def test_truth_of_roll_is_that_of_the_simulated_car() -> None:
    """Roll in a steady bend over lateral acceleration, of the two-track car on a level road."""
    car = draw_car(5)
    run = simulate(car, Driven(manoeuvres=((20.0, 0.02, 15.0),), speed=15.0), 12.0)
    last = slice(-2000, None)
    roll = np.arctan2(run.rotation[last, 2, 1], run.rotation[last, 2, 2]).mean()
    straight = simulate(car, Driven(manoeuvres=((20.0, 0.0, 15.0),), speed=15.0), 8.0)
    roll -= np.arctan2(straight.rotation[last, 2, 1], straight.rotation[last, 2, 2]).mean()
    lateral = (run.rates[last, 2] * run.speed[last]).mean()
    gradient = np.degrees(roll) / lateral * 9.80665
    assert gradient == pytest.approx(car.handling()['roll_gradient'], rel=0.03)


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
    limits = {'m': 0.03, 'Izz': 0.06, 'Cf': 0.08, 'Cr': 0.08}
    for name, limit in limits.items():
        k = result.index(name)
        assert abs(result.value[k] / truth[name] - 1.0) < limit, name
        assert abs(result.value[k] - truth[name]) < 3.0 * result.std[k], name
    sheet = {one['name'] for one in result.extra['engineers_sheet']['quantities']}
    assert {'understeer_gradient', 'roll_gradient', 'yaw_radius'} <= sheet
    # a centre of gravity elsewhere moves the stiffnesses by what the finding says of its doubt
    k = result.index('cg_x')
    place, std, length = result.value[k], result.std[k], config.geometry.wheelbase
    (said,) = (one.text for one in outcome.verdict.findings if one.code == 'centre_taken')
    front, rear = (float(one) for one in re.findall(r'([\d.]+) % of C[fr]', said)[:2])
    share = (place + 0.5 * std) / length
    moved = Car().identify(Task((bag,), config, CarOptions(front_share=share, check=False)))
    changed = {one: 200.0 * (moved[one].value / outcome[one].value - 1.0) for one in ('Cf', 'Cr')}
    assert changed['Cf'] == pytest.approx(front, rel=0.2)
    assert changed['Cr'] == pytest.approx(-rear, rel=0.2)


@pytest.mark.parametrize(
    ('share', 'std', 'said', 'cure'),
    [
        (None, 0.06, '4.5 % of Cf and 6.4 % of Cr', '1.0 % of Cf and 1.4 % of Cr'),
        (0.52, 0.0135, '1.0 % of Cf and 1.4 % of Cr', None),
    ],
)
def test_what_the_doubt_of_the_centre_costs_is_told(share, std, said, cure) -> None:
    """Weighing the axles is what makes their stiffness exact: 6 % were lost without a word."""
    names, slope = ('Cf/m', 'Cr/m', 'cg_x'), np.array([60.0, -96.0, 1.0])
    result = SimpleNamespace(
        names=names,
        value=np.array([80.0, 90.0, 1.4]),
        std=np.array([np.nan, np.nan, std]),
        covariance=std**2 * np.outer(slope, slope) + np.diag([1.0, 2.0, 0.0]),
        index=names.index,
    )
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    found = told_centre(result, config, HandlingMethod(front_share=share))
    assert f': {said} are in doubt' in found.text
    told = f'weigh the axles and give --front-share, which leaves {cure}'
    assert found.text.endswith(told) if cure else 'weigh' not in found.text


class _StabilityControl(BagWriter):
    """Writes what a stability control has: yaw rate, forward and sideways acceleration.

    With the attitude of the car (`rotation` at `time`) gravity is taken out, as inertial
    navigation systems do.
    """

    record = None

    def write_message(self, topic, message, log_ns):
        if topic == 'imu/data':
            message = copy.deepcopy(message)
            rates, force = message.angular_velocity, message.linear_acceleration
            rates.x = rates.y = float('nan')
            if self.record is not None:
                stamp = message.header.stamp
                seconds = stamp.sec + 1e-9 * stamp.nanosec - 1e-9 * EPOCH_NS
                row = int(np.searchsorted(self.record.time, seconds))
                up = 9.80665 * self.record.rotation[min(row, len(self.record.time) - 1)][2]
                force.x, force.y = force.x - up[0], force.y - up[1]
            force.z = float('nan')
        super().write_message(topic, message, log_ns)


@pytest.mark.parametrize('removed', [False, True])
def test_a_unit_of_three_axes_is_enough(tmp_path, removed: bool) -> None:
    """As cars have it for their stability control, and as navigation systems publish it."""
    found = handling_drive(321, duration=80.0)
    bag = tmp_path / 'bag'
    with _StabilityControl(bag) as writer:
        writer.record = found.record if removed else None
        found.write(writer, truth=False)
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    if removed:
        imu = replace(config.sensors.imu, gravity='removed')
        config = replace(config, sensors=replace(config.sensors, imu=imu))
    recording = read_recording(bag, config)
    assert recording.unmeasured == ('wx', 'wy', 'fz')
    outcome = Car().identify(Task((recording,), config, CarOptions()))
    result, truth = outcome.result, found.car.handling()
    told = {one.code: one.level for one in outcome.verdict.findings}
    share = {n: result.value[result.index(n)] / truth[n] for n in ('m', 'Izz', 'Cf', 'Cr')}
    print('found over true', share)
    assert 'bad' not in told.values() and 'stuck' not in told
    assert list(result.equations) == ['yaw_rate', 'side_force']
    assert ('roll_frequency' in result.names) == (not removed)
    for name in ('m', 'Izz', 'Cf', 'Cr'):
        k = result.index(name)
        assert abs(result.value[k] / truth[name] - 1.0) < 0.08, name
        assert abs(result.value[k] - truth[name]) < 3.0 * result.std[k], name
    if not removed:
        with pytest.raises(CarRecordingError, match='all three accelerations are needed'):
            prepare(recording, config)


@pytest.mark.parametrize(
    ('yaw', 'roll', 'code'),
    [(0.07, 0.19, None), (0.03, 0.6, 'weakly_excited'), (0.5, 0.6, 'poor_fit')],
)
def test_what_steering_does_not_explain_is_named(yaw: float, roll: float, code: str) -> None:
    found = poor_fit({'yaw_rate': yaw, 'roll_rate': roll, 'side_force': 0.05})
    assert [one.code for one in found] == ([] if code is None else [code])


def test_an_unknown_that_was_left_out_is_found() -> None:
    """What one more unknown would be, by its score: a bend beside offset and slope."""
    far = []
    for seed in range(40):
        time, seen = _lines(seed)
        seen = seen + 0.3 * time**2

        def predict(x, bend=0.0, time=time, seen=seen):
            error = seen - x[0] - x[1] * time - bend * time**2
            return Innovations(error, np.full(400, 0.01), np.arange(400) // 20)

        prior = Prior(np.zeros(2), np.array([10.0, 10.0]))
        found = maximise(predict, prior)
        (bend,) = one_more(predict, found, prior, [lambda size, x: predict(x, size)], 1e-3)
        far.append((bend.size - 0.3) / bend.deviation)
        assert bend.gain > 0.0
    assert abs(np.mean(far)) < 0.5 and 0.6 < np.std(far) < 1.5


@pytest.fixture(scope='module')
def recorded(tmp_path_factory) -> tuple[CarRecording, CarDescription]:
    bag = tmp_path_factory.mktemp('handling') / 'bag'
    with BagWriter(bag) as writer:
        handling_drive(17, duration=50.0).write(writer, truth=False)
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    return read_recording(bag, config), config


def _turned(imu: TimeSeries) -> TimeSeries:
    values = imu.values.copy()
    c, s = np.cos(0.2), np.sin(0.2)
    for x in (0, 3):
        values[:, x], values[:, x + 1] = (
            c * imu.values[:, x] + s * imu.values[:, x + 1],
            c * imu.values[:, x + 1] - s * imu.values[:, x],
        )
    return replace(imu, values=values)


def _times(column: int, factor: float):
    def change(imu: TimeSeries) -> TimeSeries:
        values = imu.values.copy()
        values[:, column] *= factor
        return replace(imu, values=values)

    return change


def _order(columns: list[int]):
    return lambda imu: replace(imu, values=imu.values[:, columns].copy())


@pytest.mark.parametrize(
    ('change', 'code', 'where'),
    [
        (lambda imu: imu, '', ''),
        (_times(2, 1.08), 'scale', 'angular_velocity.z'),
        (_times(4, 0.85), 'scale', 'linear_acceleration.y'),
        (_times(0, -1.0), 'gyro_sign', 'angular_velocity.x'),
        (_turned, 'imu_turned', 'linear_acceleration'),
        (_order([0, 2, 1, 3, 4, 5]), 'imu_turned', 'imu'),
        (lambda imu: replace(imu, stamps=imu.stamps + 0.08), 'delay', 'imu/data'),
        (_times(slice(3, 6), 1 / 9.81), 'unit', 'linear_acceleration'),
    ],
)
def test_errors_of_sensors_are_named(recorded, change, code: str, where: str) -> None:
    """Scales, signs, mountings and clocks that are wrong, each as the only cause; none if none."""
    recording, config = recorded
    spoilt = replace(recording, imu=change(recording.imu))
    try:
        found = identify_handling([spoilt], config, HandlingMethod()).findings
    except EstimationError as error:
        assert code == 'unit' and where in str(error)
        return
    bad = [one for one in found if one.level == 'bad']
    assert [one.code for one in bad] == ([code] if code else [])
    assert all(where in one.where for one in bad)


def _late_steering(one: CarRecording) -> CarRecording:
    joints = {
        name: replace(series, stamps=series.stamps + 0.08 * ('steering' in name))
        for name, series in one.joints.items()
    }
    return replace(one, joints=joints)


def _steering_and_satellites_late(one: CarRecording) -> CarRecording:
    """By 30 and 100 ms: tyres that answer at once make up for the one, the fit for the other."""
    joints = {
        name: replace(series, stamps=series.stamps + 0.03 * ('steering' in name))
        for name, series in one.joints.items()
    }
    late = replace(one.velocity, stamps=one.velocity.stamps + 0.1)
    return replace(one, joints=joints, velocity=late)


def _exchanged(one: CarRecording) -> CarRecording:
    return replace(one, velocity=replace(one.velocity, values=one.velocity.values[:, ::-1].copy()))


def _late_velocity(one: CarRecording) -> CarRecording:
    return replace(one, velocity=replace(one.velocity, stamps=one.velocity.stamps + 0.2))


def _other_torque(one: CarRecording) -> CarRecording:
    torques = {name: replace(t, values=-t.values) for name, t in one.torques.items()}
    return replace(one, torques=torques)


def _yaw_off(one: CarRecording) -> CarRecording:
    return replace(one, imu=replace(one.imu, values=one.imu.values + 0.025 * (np.arange(6) == 2)))


def _pitched(one: CarRecording) -> CarRecording:
    turn = matrix_of_rpy([0.0, 0.15, 0.0])
    values = np.hstack([one.imu.values[:, :3] @ turn, one.imu.values[:, 3:] @ turn])
    return replace(one, imu=replace(one.imu, values=values))


@pytest.mark.parametrize(
    ('change', 'told'),
    [
        (_late_steering, ('bad', 'delay')),
        (_exchanged, ('bad', 'exchanged')),
        (_late_velocity, ('warn', 'velocity_delay')),
        (_other_torque, ('bad', 'mass_by_torque')),
        (_yaw_off, ('warn', 'gyro_zero')),
        (_pitched, ('bad', 'imu_turned')),
        (_steering_and_satellites_late, ('bad', 'delay')),
    ],
)
def test_what_the_fit_makes_its_own_is_named(recorded, change, told) -> None:
    """Unknowns of the fit take these up, so that the rest of the recording fits."""
    recording, config = recorded
    found = identify_handling([change(recording)], config, HandlingMethod()).findings
    assert [(one.level, one.code) for one in found if one.level != 'note'] == [told]


def test_a_prediction_that_loses_samples_does_not_fit_better() -> None:
    """Beyond one it leaves all bounds: fewer innovations have less to lose."""

    def predict(value):
        rows = 40 if value[0] < 1.0 else 4
        error = np.full(rows, 3.0 - value[0])
        return Innovations(error, np.ones(rows), np.arange(rows) // 4)

    prior = Prior(np.zeros(1), np.array([1.0]))
    try:
        found = maximise(predict, prior)
    except EstimationError as error:
        assert 'cannot follow' in str(error)
    else:
        assert len(found.innovations.error) == 40 and found.value[0] < 1.0


@pytest.mark.parametrize(
    ('mass', 'described', 'told'),
    [
        (1500.0, {}, False),
        (3.0, {}, True),  # torque in kN m
        (-1500.0, {}, True),
        (1700.0, {'Mc': 1400.0, 'M1': 50.0}, False),
        (2900.0, {'Mc': 1400.0, 'M1': 50.0}, True),  # of both wheels in each of them
        (750.0, {'Mc': 1400.0}, True),  # one wheel tells nothing
    ],
)
def test_a_mass_that_no_car_has_accuses_the_torque(mass, described, told: bool) -> None:
    config = replace(CarDescription(), a_priori=described)
    assert [one.code for one in told_mass(mass, config)] == (['mass_by_torque'] if told else [])


def test_a_wheelbase_that_may_be_wrong_is_in_the_deviations() -> None:
    """One that is 1.1 times too long looks like steering of 1.08 times: Izz was 8 sigma off."""
    value = np.ones(len(SHOWN))
    place, izz = SHOWN.index('steering_gain'), SHOWN.index('Izz/m')
    usual = _left_out(SHOWN, value, 0.0, 0.03)[izz, izz]
    value[place] = 1.025  # as far as the steering is known for
    assert _left_out(SHOWN, value, 0.0, 0.03)[izz, izz] == pytest.approx(usual)
    value[place] = 1.08
    far = _left_out(SHOWN, value, 0.0, 0.03)
    assert 0.14 < np.sqrt(far[izz, izz]) < 0.17  # as far as 1.074 times moves it
    cf, cr = SHOWN.index('Cf/m'), SHOWN.index('Cr/m')
    # One wheelbase moves all of them: what is stiffer in front is softer behind.
    assert far[cf, cr] < 0.0 < far[izz, cr]


def test_a_steering_that_is_further_off_than_it_is_known_is_told() -> None:
    """Deviations of Izz, Cf and Cr grow from there on, which must not happen without a word."""

    def told(gain: float, known: float) -> list[str]:
        result = SimpleNamespace(
            index=lambda name: 0, value=np.array([gain]), std=np.array([0.01])
        )
        return [one.code for one in told_steering(result, Steering('the wheel', known))]

    assert told(1.08, 0.03) == told(0.92, 0.03) == ['steering_ratio']
    assert told(1.05, 0.03) == told(1.025, 0.005) == []


def _drive(torque, forward, **more) -> SimpleNamespace:
    """What some checks look at of a drive of 20 s."""
    count = round(20.0 * RATE)
    inputs = np.zeros((count, model.INPUTS))
    inputs[:, model.I_SPEED] = more.get('speed', 20.0)
    inputs[:, model.I_NOSE] = more.get('nose', 0.0)
    time = np.arange(count) / RATE
    altitude = np.where(np.arange(count) % 10 == 0, more.get('slope', 0.0) * 20.0 * time, np.nan)
    fixed = {'time': time, 'inputs': inputs, 'altitude': altitude, 'radius': np.nan, 'label': ''}
    nothing = {'measured': np.zeros((count, 9)), 'driven': np.full(count, np.nan)}
    still = np.zeros(count, dtype=bool)
    return SimpleNamespace(torque=torque, forward=forward, braking=still, **nothing, **fixed)


def test_a_torque_that_acts_too_shortly_still_tells_a_rough_mass() -> None:
    """A torque twice as large left only ratios to the mass, without a word of its scale."""
    time = np.arange(round(20.0 * RATE)) / RATE
    felt, config = 0.8 + 0.5 * np.sin(time), CarDescription()
    torque = config.geometry.wheel_radius * (1500.0 * felt + 300.0)
    assert rough_mass([_drive(torque, felt)], config) == pytest.approx(1500.0)
    assert rough_mass([_drive(0.0 * torque, felt)], config) is None
    assert rough_mass([_drive(torque, 0.0 * felt)], config) is None


def test_a_unit_that_is_pitched_is_told_from_a_road_that_climbs() -> None:
    none = np.zeros(round(20.0 * RATE))
    assert told_pitch([_drive(none, none, nose=0.15, slope=0.14)], 'imu') == []
    assert told_pitch([_drive(none, none, nose=0.05)], 'imu') == []
    (found,) = told_pitch([_drive(none, none, nose=-0.17, slope=0.02)], 'imu')
    assert found.code == 'imu_turned' and '-10.9 degrees' in found.text


def test_constant_errors_beyond_usual_ones_are_told() -> None:
    usual, far = model.START.copy(), np.zeros(model.STATES)
    far[model.B_SIDE], far[model.STEER] = -0.5, 0.01
    topics = {'imu': 'imu', 'joints': 'joint_states'}
    assert told_constants([usual], topics) == []
    assert [one.where for one in told_constants([usual, far], topics)] == [
        'imu linear_acceleration.y',
        'joint_states position',
    ]


def _rows(time: np.ndarray, steer: np.ndarray, begins: list[int]) -> HandlingSamples:
    inputs = np.zeros((len(time), model.INPUTS))
    inputs[:, model.I_STEER] = steer
    inputs[:, model.I_RATE] = np.gradient(steer, time)
    inputs[begins, model.I_BEGIN] = 1.0
    nothing = np.full(len(time), np.nan)
    measured = np.zeros((len(time), 9))
    none = np.zeros(len(time), dtype=bool)
    rest = (nothing, nothing, nothing, nothing, none, nothing, np.zeros(model.KNOWN))
    return HandlingSamples(
        '', 0, time, inputs, measured, *rest, Steering('', 0.0), '', '', np.nan, 0.0
    )


def test_a_late_steering_is_what_was_told_later() -> None:
    """Along its rate a fast one would be a quarter off; stretches do not reach into each other."""
    time = np.concatenate([np.arange(200), 500 + np.arange(200)]) / RATE
    samples = _rows(time, np.sin(9.0 * time), [0, 200])
    made = _steering_earlier(samples, 0.08).inputs
    inside = np.r_[0:194, 200:394]
    assert np.allclose(made[inside, model.I_STEER], np.sin(9.0 * (time[inside] + 0.08)), atol=2e-3)
    assert np.allclose(
        made[inside, model.I_RATE], 9.0 * np.cos(9.0 * (time[inside] + 0.08)), atol=0.2
    )
    linear = samples.inputs[199, model.I_STEER] + 0.08 * samples.inputs[199, model.I_RATE]
    assert made[199, model.I_STEER] == pytest.approx(linear)


def test_an_error_is_followed_where_no_single_step_gains(monkeypatch) -> None:
    """At the brink of what the model can follow every step loses; the surest errors are fitted."""
    doubted = [
        Doubt(name, 'stamp', 'topic', lambda parts, size, n=name: (n, size), 'delay')
        for name in ('unit', 'steering', 'other')
    ]
    sizes = {'unit': 0.057, 'steering': 0.079, 'other': 0.03}

    def one_more_(predict, fitted, prior, others, step):
        done = len(others) == 1
        return [
            Further(0.0 if done else sizes[d.name], 0.006, 0.0 if done else -1e4)
            for d in (doubted if not done else doubted[:1])
        ]

    monkeypatch.setattr(errors, 'one_more', one_more_)
    gains = {'unit': 360.0, 'steering': 880.0}
    monkeypatch.setattr(errors, 'gained', lambda before, after, prior: gains[after])

    def found(by):
        monkeypatch.setitem(gains, 'steering', by)
        return sensor_errors(
            ['drive'], lambda parts: lambda x: None, None, None, doubted, lambda parts: parts[0][0]
        )

    (finding,) = found(880.0)
    assert finding.code == 'delay' and 'steering' in finding.text and '79 +-' in finding.text
    (finding,) = found(10.0)
    assert 'unit' in finding.text
    monkeypatch.setitem(gains, 'unit', 0.0)
    assert found(10.0) == []


def test_a_fit_that_ends_at_the_edge_of_what_can_be_is_refused() -> None:
    """Beside the value all innovations are beyond numbers (wheelbase 2.7 km): no traceback."""

    def predict(value: np.ndarray) -> Innovations:
        error = np.array([1.0, 0.5]) if value[0] == 1.0 else np.full(2, np.inf)
        return Innovations(error, np.ones(2), np.zeros(2, dtype=np.int64))

    with (
        np.errstate(invalid='ignore'),
        pytest.raises(EstimationError, match='lengths of the description'),
    ):
        maximise(predict, Prior(np.array([1.0]), np.array([0.1])))
