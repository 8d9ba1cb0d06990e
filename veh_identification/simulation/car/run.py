"""Simulates the realistic car: `simulate_car(configuration, manoeuvre, duration, seed)`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.errors import UsageError
from veh_identification.simulation.car.axle import axle_rates, axle_values
from veh_identification.simulation.car.integrate import (
    FIELDS,
    STEER_SECOND,
    TYRE,
    UNKNOWN,
    WRENCH,
    Driver,
    integrate,
)
from veh_identification.simulation.car.manoeuvres import (
    Manoeuvre,
    Shaking,
    commands,
    driveline,
)
from veh_identification.simulation.car.road import Road, rough_road
from veh_identification.simulation.car.state import (
    BRISTLE,
    DRIVE,
    OMEGA,
    POSITION,
    QUATERNION,
    SPEED_INTEGRAL,
    SPIN,
    SPIN_RATE,
    STATES,
    STATION,
    STEER,
    STEER_RATE,
    TRAVEL,
    TRAVEL_RATE,
    VELOCITY,
)
from veh_identification.simulation.car.vehicle import GRAVITY, Vehicle, pack
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.types import Array

#: Steps a second of the integration, and rows a second of the record.
STEPS_PER_SECOND = 1000
#: Seconds simulated before the record, so that the car has settled on the road.
SETTLING = 4.0
#: Seconds recorded before zero and after the duration, for filters that look both ways.
MARGIN = 0.8


@dataclass(frozen=True)
class Surroundings:
    """What the car meets: road and driveline."""

    roughness: float = 24e-6  # G(n0) of ISO 8608 [m^3]; class A 16e-6, class B 64e-6
    shaking: Shaking = field(default_factory=Shaking)
    driver: Driver = field(default_factory=Driver)


@dataclass(frozen=True, eq=False)
class CarRecord:
    """The exact motion at 1 kHz; base vectors in `base_link` axes, corners fl, fr, rl, rr."""

    t: Array  # from -MARGIN to duration + MARGIN
    rows: Array  # see car_state and car_integrate
    vehicle: Vehicle
    road: Road
    modes: Array  # (N, 3) signals of the driveline

    @property
    def position(self) -> Array:
        """Origin of `base_link` in the world (N, 3)."""
        return self.rows[:, POSITION : POSITION + 3]

    @property
    def quaternion(self) -> Array:
        """Orientation of `base_link` in the world, (x, y, z, w)."""
        return self.rows[:, [QUATERNION + 1, QUATERNION + 2, QUATERNION + 3, QUATERNION]]

    @property
    def rotation(self) -> Array:
        """The same as matrices (N, 3, 3)."""
        return Rotation.from_quat(self.quaternion).as_matrix()

    @property
    def velocity(self) -> Array:
        """Velocity of the origin of `base_link` (N, 3)."""
        return self.rows[:, VELOCITY : VELOCITY + 3]

    @property
    def omega(self) -> Array:
        """Angular velocity (N, 3)."""
        return self.rows[:, OMEGA : OMEGA + 3]

    @property
    def specific_force(self) -> Array:
        """Acceleration of the origin minus gravity (N, 3)."""
        return self.rows[:, UNKNOWN : UNKNOWN + 3]

    @property
    def omega_dot(self) -> Array:
        """Angular acceleration (N, 3)."""
        return self.rows[:, UNKNOWN + 3 : UNKNOWN + 6]

    @property
    def travel(self) -> Array:
        """Suspension travel (N, 4), positive in compression."""
        return self.rows[:, TRAVEL : TRAVEL + 4]

    @property
    def travel_rate(self) -> Array:
        """Its first derivative."""
        return self.rows[:, TRAVEL_RATE : TRAVEL_RATE + 4]

    @property
    def travel_acceleration(self) -> Array:
        """Its second derivative."""
        return self.rows[:, UNKNOWN + 6 : UNKNOWN + 10]

    @property
    def strain(self) -> Array:
        """Of the stuck or slipping surfaces of the suspensions (N, 4), see `Stiction`."""
        return self.rows[:, BRISTLE : BRISTLE + 4]

    @property
    def wheel_angle(self) -> Array:
        """Turn of the wheels against their hubs (N, 4)."""
        return self.rows[:, SPIN : SPIN + 4]

    @property
    def wheel_rate(self) -> Array:
        """Its first derivative: absolute spin less the turning of the hub about the axis."""
        axles, rates = self.axles, self.axle_rates
        beta, gamma = axles[:, :, 2], axles[:, :, 3]
        axis = np.stack(
            [-np.sin(beta) * np.cos(gamma), np.cos(beta) * np.cos(gamma), np.sin(gamma)], axis=-1
        )
        # Camber turns about an axis normal to the spin; steering and kingpin do not.
        hub = (
            np.einsum('nk,nik->ni', self.omega, axis)
            + rates[:, :, 2] * axis[:, :, 2]
            + rates[:, :, 4]
        )
        return self.rows[:, SPIN_RATE : SPIN_RATE + 4] - hub

    @property
    def wrench(self) -> Array:
        """What each wheel exerts on its hub (N, 4, 6), in the hub frame at the wheel centre."""
        return self.rows[:, WRENCH : WRENCH + 24].reshape(-1, 4, 6)

    @property
    def tyre(self) -> Array:
        """Deflection, load and height of the road of each tyre (N, 4, 3)."""
        return self.rows[:, TYRE : TYRE + 12].reshape(-1, 4, 3)

    @property
    def station(self) -> Array:
        """Place of `base_link` along the road (N,)."""
        return self.rows[:, STATION]

    @property
    def steer(self) -> Array:
        """Mean front steering angle with its two derivatives (N, 3)."""
        return self.rows[:, [STEER, STEER_RATE, STEER_SECOND]]

    @property
    def axles(self) -> Array:
        """Wheel place x, y and the angles beta, gamma, zeta of each corner (N, 4, 5)."""
        coefficients = self.vehicle.axle_array()
        return np.stack(
            [
                axle_values(coefficients[i], self.travel[:, i], self.rows[:, STEER])
                for i in range(4)
            ],
            axis=1,
        )

    @property
    def axle_rates(self) -> Array:
        """First derivatives of `axles`."""
        coefficients, s = self.vehicle.axle_array(), self.steer
        return np.stack(
            [
                axle_rates(
                    coefficients[i], self.travel[:, i], self.travel_rate[:, i], s[:, 0], s[:, 1]
                )
                for i in range(4)
            ],
            axis=1,
        )


def simulate_car(
    configuration: CarDescription,
    manoeuvre: Manoeuvre,
    duration: float,
    seed: int,
    *,
    vehicle: Vehicle | None = None,
    surroundings: Surroundings | None = None,
    road: Road | None = None,
) -> CarRecord:
    """Drive a car; the geometry is the configuration's, everything else the vehicle's."""
    if not duration > 0.0:
        raise UsageError(f'a simulation needs a positive duration, got {duration:g} s')
    car = replace(vehicle or Vehicle(), geometry=configuration.geometry)
    around = surroundings or Surroundings()
    generator = np.random.default_rng((seed, 38))
    skip = round(SETTLING * STEPS_PER_SECOND)
    rows = round((duration + 2.0 * MARGIN) * STEPS_PER_SECOND) + 1
    half = np.arange(2 * (skip + rows) + 1) / (2.0 * STEPS_PER_SECOND) - SETTLING - MARGIN
    modes = driveline(half, generator)
    if road is None:
        road = rough_road(
            (duration + SETTLING + 4.0) * (manoeuvre.speed + 3.0),
            around.roughness,
            2.0 * float(np.mean(car.geometry.half_track)),
            generator,
        )
    driver = around.driver._replace(heading_gain=manoeuvre.heading_gain)
    orders = commands(
        manoeuvre,
        half,
        duration,
        car.geometry.wheelbase,
        modes,
        around.shaking,
        driver.rack_frequency,
    )
    state = start_state(car, 0.0 if manoeuvre.from_rest else manoeuvre.speed)
    out = np.zeros((rows, FIELDS))
    filled = integrate(
        pack(car),
        road.coefficients,
        road.start,
        driver,
        orders,
        1.0 / STEPS_PER_SECOND,
        skip,
        state,
        out,
    )
    if filled < rows:
        raise UsageError(
            f'the simulated car went out of control {filled / STEPS_PER_SECOND:.2f} s'
            f' after the start of the record: ask for a milder {manoeuvre.kind}'
        )
    t = np.arange(rows) / STEPS_PER_SECOND - MARGIN
    return CarRecord(t, out, car, road, np.ascontiguousarray(modes[2 * skip :: 2][:rows]))


def start_state(car: Vehicle, speed: float) -> Array:
    """Level car at the height where its tyres carry it, rolling at `speed`."""
    state = np.zeros(STATES)
    state[QUATERNION] = 1.0
    unsprung = np.array([corner.unsprung for corner in car.corners]) + car.wheel_mass
    load = car.spring_loads() + GRAVITY * unsprung
    deflection = load / car.tyre.stiffness
    height = car.tyre.radius - deflection
    standing = np.array([corner.standing for corner in car.corners])
    state[POSITION + 2] = np.mean(height - standing)
    state[TRAVEL : TRAVEL + 4] = standing
    state[VELOCITY] = speed
    state[SPIN_RATE : SPIN_RATE + 4] = speed / (car.tyre.radius - deflection / 3.0)
    # Drag and rolling resistance at this speed, so that the controller starts settled.
    pull = car.tyre.radius * (
        car.air[0] * speed**2 + car.tyre.rolling * load.sum() * (speed > 0.0)
    )
    state[DRIVE], state[SPEED_INTEGRAL] = pull, pull
    return state
