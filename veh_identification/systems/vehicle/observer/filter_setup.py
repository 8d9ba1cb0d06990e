"""The errorEKF of a car: its noise settings, and the filter at its start."""

from __future__ import annotations

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.observation import AdaptiveSettings, ErrorEKFSettings
from veh_identification.observation.sequential import wrap_angle
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.model.rigid import correct
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle
from veh_identification.systems.vehicle.observer.observed import POSE, YAW, ObservedVehicle
from veh_identification.systems.vehicle.observer.ride import plane_density, stated_density
from veh_identification.systems.vehicle.observer.sensor_models import (
    ASKEW,
    TURNED,
    fix_delay,
    make_sensors,
    ride_of,
    stated,
)
from veh_identification.systems.vehicle.observer.start import (
    LARGEST_SIDESLIP,
    Start,
    carried_back,
    with_sideslip,
)
from veh_identification.systems.vehicle.observer.vehicle_filter import VehicleErrorEKF
from veh_identification.systems.vehicle.recording.recording import Recording
from veh_identification.systems.vehicle.recording.wheel_speeds import rolling
from veh_identification.types import Array

# Without torque or brake pressure the unknown force is as large as any the driver can ask for.
UNKNOWN_FORCE = 100.0
UNKNOWN_WHEEL = (300.0, 20.0)  # walk [rad^2/s^5] and start [rad/s^2] of a wheel's acceleration
# Rolling cars: densities of white acceleration and of its walk for position and yaw, and the
# deviations of acceleration and yaw acceleration at the start.
ROLLING_WHITE = (2e-3, 3e-3)
ROLLING_WALK = (30.0, 0.05)
ROLLING_START = (1.0, 0.1)
ROLLING_RATES = (0.2, 0.05)  # deviations of speed and yaw rate there
# Of a car that is driving when the observer starts: deviations of yaw rate, tilts, accelerations.
STARTING_YAW_RATE, STARTING_TILT, STARTING_ACCELERATION = 0.05, 0.005, 0.5
UPRIGHT_TILT = 0.02  # of one whose lean could not be found by driving to the start [rad]
# Unknown roads: tilts and rates of height and tilt at the start.
UNKNOWN_TILT, GROUND_RATES = 0.05, (0.1, 0.02)
TILT_TIME = 0.1  # how long a body that tilts on its springs moves one way [s]
SIDESLIP = 0.02  # by which a car slips otherwise than it does in an even bend [rad]
SLIP = 0.005  # the same of a rolling wheel
SETTLING, SETTLING_STEP = 1.0, 0.005  # in which springs find their balance, and steps of it [s]
SIDE_LEAK = 50.0  # [1/s] see `VehicleErrorEKF`


def _spread(values: tuple[float, float, float, float, float]) -> Array:
    """From (position, height, yaw, tilt, wheel) to the ten observed coordinates."""
    position, height, yaw, tilt, wheel = values
    return np.array([position, position, height, yaw, tilt, tilt] + [wheel] * 4)


def settings_of(
    car: CarDescription,
    inputs: set[str],
    start: Start,
    adaptive: AdaptiveSettings | None = None,
    settled: bool = True,
) -> ErrorEKFSettings:
    """Noise settings; inputs that are not known make the force walk faster.

    `settled`: see `place`.
    """
    o = car.observer
    deviation, force = _spread(o.position_deviation), _spread(o.force_noise)
    deviation[:2], deviation[3] = start.position_deviation, start.yaw_deviation
    acceleration, white = _spread(o.acceleration_deviation), _spread(o.acceleration_noise)
    rates = _spread(o.velocity_deviation)
    if start.speed_deviation > 0.0:  # already driving
        sideways = abs(start.yaw_rate) + float(np.hypot(*start.velocity)) * start.yaw_deviation
        rates[:2] = np.hypot(start.speed_deviation, sideways)
        rates[YAW] = max(float(rates[YAW]), STARTING_YAW_RATE)
        rates[6:] = np.maximum(rates[6:], start.speed_deviation / car.geometry.wheel_radius)
        # roll, pitch and forces of a car that brakes or turns have not settled yet
        tilt = STARTING_TILT if settled else UPRIGHT_TILT
        deviation[4:6] = np.maximum(deviation[4:6], tilt)
        # a body that is put down upright in a bend swings to where it belongs
        rates[4:6] = np.maximum(rates[4:6], tilt / TILT_TIME)
        acceleration[:2] = np.maximum(acceleration[:2], STARTING_ACCELERATION)
        acceleration[YAW] = max(float(acceleration[YAW]), STARTING_ACCELERATION)
    if not {'torque', 'pressure'} <= inputs:
        force[:2] *= UNKNOWN_FORCE
        acceleration[:2] *= 5.0
        # torque that drives or brakes a wheel shows as an acceleration of the wheel itself
        force[6:], acceleration[6:] = UNKNOWN_WHEEL
    if 'rack' not in inputs:
        force[3] *= UNKNOWN_FORCE
        acceleration[3] *= 10.0
    if rolling(car):
        white[:2], white[YAW] = ROLLING_WHITE
        force[:2], force[YAW] = ROLLING_WALK
        acceleration[:2], acceleration[YAW] = ROLLING_START
        rates[:2], rates[YAW] = ROLLING_RATES
        # nothing measures the wheels' own coordinates: they follow the model
        white[6:], force[6:], acceleration[6:] = 0.0, 0.0, 0.0
    if car.road.unknown:
        # the ground is found, and moves as the body does on it
        deviation[2], deviation[4:6] = start.height_deviation, UNKNOWN_TILT
        rates[2], rates[4:6] = GROUND_RATES
        white[2] = stated_density(car.road.shake)
        if rolling(car):
            # what the road does to the body along it; forces that last walk
            white[:2] = plane_density(car.road.shake)
        white[4:6] = 2.0 * car.road.tilt_rate**2 / TILT_TIME
        force[2], force[4:6] = 0.0, 0.0
        acceleration[2], acceleration[4:6] = 0.0, 0.0
    return ErrorEKFSettings(
        position_deviation=deviation,
        velocity_deviation=rates,
        acceleration_noise=white,
        force_estimation=o.force_estimation,
        acceleration_deviation=acceleration,
        force_noise=force,
        gate_probability=None if o.thesis else o.gate_probability,
        adaptive=adaptive,
    )


def place(vehicle: Vehicle, start: Start) -> bool:
    """Put a vehicle at the start; whether its springs are where such a drive has them."""
    _put(vehicle, start)
    settled = not start.moving or _settle(vehicle, start)
    if vehicle.car.road.unknown:
        vehicle.ground[0, 0] = start.elevation
    else:
        vehicle.elevation = start.elevation
    return settled


def _put(vehicle: Vehicle, start: Start) -> None:
    """Upright, with rolling wheels."""
    forward = float(start.velocity @ [np.cos(start.yaw), np.sin(start.yaw)])
    vehicle.place(
        start.position,
        start.yaw,
        forward,
        start.velocity,
        start.yaw_rate,
        start.rack,
        start.wheel_angles,
    )


def _settle(vehicle: Vehicle, start: Start) -> bool:
    """Drive to the start for a while and put right what is known of it; the springs stay.

    A body that is put down upright in a bend swings to where it belongs, and tyres that do not
    slip push it. Gyroscope and accelerometer, who know better, would be set aside for it.
    False: the car does not drive so with these inputs, and stands upright.
    """
    model, known = vehicle.model, vehicle.state()
    _put(vehicle, carried_back(start, SETTLING))
    try:
        _drive_steadily(vehicle, start)
    except EstimationError:  # upright is better than nowhere
        vehicle.restore(known)
        return False
    z, zd = model.z, model.zd
    sideslip = float(wrap_angle(np.arctan2(zd[1], zd[0]) - z[YAW]))
    found = start if abs(sideslip) > LARGEST_SIDESLIP else with_sideslip(start, sideslip)
    errors = np.zeros((3, 10))
    errors[0, :2] = found.position[:2] - z[:2]
    errors[0, YAW] = wrap_angle(found.yaw - z[YAW])
    errors[0, POSE:] = start.wheel_angles - z[POSE:10]
    errors[1, :2], errors[1, YAW] = found.velocity - zd[:2], found.yaw_rate - zd[YAW]
    if _moved(vehicle, errors):
        return True
    vehicle.restore(known)
    return False


def _drive_steadily(vehicle: Vehicle, start: Start) -> None:
    """Drive with the inputs of the start, whose forces the body feels, at its speed."""
    speed = float(np.hypot(*start.velocity))
    inputs = Inputs(start.torques, start.pressure, start.rack)
    step = min(vehicle.car.observer.step, SETTLING_STEP)
    errors = np.zeros((3, 10))
    for _ in range(round(SETTLING / step)):
        vehicle.step(step, inputs)
        zd = vehicle.model.zd[:10]
        now = float(np.hypot(zd[0], zd[1]))
        if not 0.5 * speed < now < 2.0 * speed:
            raise EstimationError('the car does not keep its speed')
        errors[1, :2] = (speed / now - 1.0) * zd[:2]
        errors[1, POSE:] = (speed / now - 1.0) * zd[POSE:]
        if not _moved(vehicle, errors):
            raise EstimationError('the car cannot be put at its speed')


def _moved(vehicle: Vehicle, errors: Array) -> bool:
    """Whether the car could be moved as one piece."""
    model, rigid = vehicle.model, (vehicle.points, vehicle.vectors, vehicle.spokes)
    return bool(correct(errors, *rigid, model.q, model.qd, model.qdd))


def make_filter(
    car: CarDescription,
    recording: Recording,
    start: Start,
    adaptive: AdaptiveSettings | None = None,
    described: CarDescription | None = None,
    velocity: bool = False,
) -> VehicleErrorEKF:
    """errorEKF-FE (or errorEKF) over the car, at its start; `described`: see `stated`.

    `velocity`: satellites will tell it, though the recording does not.
    """
    vehicle = Vehicle(car)
    observed = ObservedVehicle(vehicle)
    settled = place(vehicle, start)
    velocity = velocity or len(recording.velocity) > 0
    fixes = None if car.observer.thesis else fix_delay(car, velocity)
    filter_ = VehicleErrorEKF(
        observed,
        make_sensors(car, vehicle, recording, velocity),
        settings_of(car, recording.inputs, start, adaptive, settled),
        car.sensors.gps.position,
        leak=SIDE_LEAK if rolling(car) else 0.0,
        stated=stated(described or car),
        ride=ride_of(car, recording),
        felt=car.sensors.imu.position,
        askew=ASKEW,
        turned=TURNED,
        fixes=fixes,
    )
    _tie_gravity_to_mounting(filter_, car)
    if start.moving and not rolling(car):
        _tie_to_speed(filter_, start, car.geometry.wheel_radius)
    if start.by_fix:
        filter_.place_by_fix(start.position_deviation)
    unknown = car.sensors.imu.gyroscope_bias
    if unknown > 0.0:
        deviations = (unknown, unknown, start.gyro_bias_deviation or unknown)
        for axis, deviation, value in zip('xyz', deviations, start.gyro_bias, strict=True):
            filter_.set_parameter(f'gyroscope.bias_{axis}', float(value), deviation)
    return filter_


def _tie_to_speed(filter_: VehicleErrorEKF, start: Start, radius: float) -> None:
    """A car moves where it heads, and its wheels roll, but for slips of about an even bend.

    Corrected apart from each other, heading, speed and wheels would have the tyres push the car.
    """
    P, n = filter_.P, filter_.model.size
    speed = float(np.hypot(*start.velocity))
    along = start.velocity / speed
    aside = np.array([-along[1], along[0]])
    turns, unsure = float(P[YAW, YAW]), start.speed_deviation**2
    rates, wheels = slice(n, n + 2), slice(n + POSE, 2 * n)
    P[rates, rates] = unsure * np.outer(along, along)
    P[rates, rates] += speed**2 * (turns + SIDESLIP**2) * np.outer(aside, aside)
    P[rates, YAW] = P[YAW, rates] = speed * turns * aside
    P[wheels, wheels] = unsure / radius**2 + (SLIP * speed / radius) ** 2 * np.eye(n - POSE)
    P[rates, wheels] = np.outer(along, np.full(n - POSE, unsure / radius))
    P[wheels, rates] = P[rates, wheels].T


def _tie_gravity_to_mounting(filter_: VehicleErrorEKF, car: CarDescription) -> None:
    """An inertial unit that is mounted askew shows gravity as a bias and turns as tilting.

    Of the bias that is allowed for, mounting is a part; at least half of it is the sensor's own.
    """
    if car.sensors.imu.gravity == 'removed':
        return
    names, first = filter_.parameter_names, filter_.size - len(filter_.parameters)
    gravity, askew = car.gravity, ASKEW.usual
    for axis in 'xy':
        leak, bias = f'gyroscope.leak_{axis}', f'accelerometer.bias_{axis}'
        if leak in names and bias in names:
            i, k = first + names.index(leak), first + names.index(bias)
            own = max(filter_.P[k, k] - (gravity * askew) ** 2, 0.25 * filter_.P[k, k])
            filter_.P[k, k] = own + (gravity * askew) ** 2
            filter_.P[i, k] = filter_.P[k, i] = gravity * askew**2
