"""Time integration of the simulated car with its driver: classical Runge-Kutta, fixed step.

Numba's cache looks at the file of the compiled function only: after a change in a module that is
called from here, delete the `*.nbi` and `*.nbc` files of this folder's `__pycache__`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from veh_identification.simulation.car.axle import BETA, GAMMA, VALUE, ZETA
from veh_identification.simulation.car.dynamics import accelerate, state_rate
from veh_identification.simulation.car.forces import (
    DEFLECTION,
    HEIGHT,
    LOAD,
    cross,
    dot,
    strain_after,
)
from veh_identification.simulation.car.state import (
    BRISTLE,
    DRIVE,
    HEADING,
    OMEGA,
    QUATERNION,
    SPEED_INTEGRAL,
    SPIN_RATE,
    STATES,
    STEER,
    STEER_RATE,
    TRAVEL_RATE,
    VELOCITY,
    Workspace,
    make_workspace,
)
from veh_identification.simulation.car.vehicle import CarArrays
from veh_identification.types import Array

#: Columns of a command: steering angle, speed, braking deceleration, and two disturbances.
STEERING, SPEED, BRAKE, RACK_SHAKE, TORQUE_SHAKE = range(5)
COMMANDS = 5
#: Columns that a record holds after the state.
UNKNOWN, WRENCH, TYRE, STEER_SECOND = STATES, STATES + 10, STATES + 34, STATES + 46
FIELDS = STATES + 47


class Driver(NamedTuple):
    """How the driver and the controls behave."""

    heading_gain: float = 0.05  # steering per heading error
    rack_frequency: float = 50.0  # rad/s
    rack_damping: float = 0.8
    speed_gain: float = 1500.0  # N m per m/s
    speed_integral: float = 300.0  # N m per m
    drive_lag: float = 0.15  # s
    drive_limit: float = 2400.0  # N m, both driven wheels together
    brake_torque: float = 510.0  # N m in all per m/s^2 of deceleration
    brake_front: float = 0.70
    brake_speed: float = 1.0  # rad/s below which the brake's torque fades


@njit(cache=True, nogil=True)
def derivative(
    car: CarArrays,
    profile: Array,
    start: float,
    driver: Driver,
    command: Array,
    y: Array,
    out: Array,
    w: Workspace,
    steer: Array,
    torque: Array,
) -> None:
    """Time derivative of the whole state under a command."""
    wanted = command[STEERING] - driver.heading_gain * y[HEADING]
    steer[0], steer[1] = y[STEER], y[STEER_RATE]
    steer[2] = (
        driver.rack_frequency**2 * (wanted - steer[0])
        - 2.0 * driver.rack_damping * driver.rack_frequency * steer[1]
        + command[RACK_SHAKE]
    )
    braking = command[BRAKE] > 0.0
    error = command[SPEED] - y[VELOCITY]
    pull = 0.0 if braking else driver.speed_gain * error + y[SPEED_INTEGRAL]
    limited = min(max(pull, -0.3 * driver.drive_limit), driver.drive_limit)
    for i in range(4):
        share = driver.brake_front if i < 2 else 1.0 - driver.brake_front
        brake = 0.5 * share * driver.brake_torque * command[BRAKE]
        torque[i] = -brake * np.tanh(y[SPIN_RATE + i] / driver.brake_speed)
        if i < 2:
            torque[i] += 0.5 * (y[DRIVE] + command[TORQUE_SHAKE])
    accelerate(car, profile, start, y, steer, torque, w)
    state_rate(car, y, w, out)
    out[STEER], out[STEER_RATE] = steer[1], steer[2]
    out[HEADING] = y[OMEGA + 2]
    out[SPEED_INTEGRAL] = 0.0
    if braking:
        out[SPEED_INTEGRAL] = -y[SPEED_INTEGRAL]
    elif limited == pull:
        out[SPEED_INTEGRAL] = driver.speed_integral * error
    out[DRIVE] = (limited - y[DRIVE]) / driver.drive_lag


@njit(cache=True, nogil=True)
def wheel_wrench(car: CarArrays, i: int, w: Workspace, omega_dot: Array, out: Array) -> None:
    """What wheel i exerts on its hub at the wheel centre, in the hub frame."""
    v, s, x = w.vector[i], w.scratch, w.unknown
    a, travel = w.axle[i], x[6 + i]
    cross(omega_dot, v[0], s[0])
    for k in range(3):
        acceleration = x[k] + s[0, k] + v[1, k] * travel + v[3, k]
        s[1, k] = w.contact[i, k] - car.wheel[0] * acceleration
        s[2, k] = omega_dot[k] + v[7, k] * travel
    along = dot(s[2], v[5])
    for k in range(3):
        s[3, k] = (
            w.contact[i, 3 + k] - w.spin_moment[i, k] - car.wheel[2] * (s[2, k] - along * v[5, k])
        )
    cb, sb = np.cos(a[BETA, VALUE]), np.sin(a[BETA, VALUE])
    cg, sg = np.cos(a[GAMMA, VALUE]), np.sin(a[GAMMA, VALUE])
    cz, sz = np.cos(a[ZETA, VALUE]), np.sin(a[ZETA, VALUE])
    for part in range(2):
        fx, fy, fz = s[1 + 2 * part, 0], s[1 + 2 * part, 1], s[1 + 2 * part, 2]
        # Transposes of Rz(beta), Rx(gamma), Ry(zeta) one after the other.
        ux, uy = cb * fx + sb * fy, -sb * fx + cb * fy
        vy, vz = cg * uy + sg * fz, -sg * uy + cg * fz
        out[3 * part] = cz * ux - sz * vz
        out[3 * part + 1] = vy
        out[3 * part + 2] = sz * ux + cz * vz


@njit(cache=True, nogil=True)
def record(car: CarArrays, y: Array, w: Workspace, steer: Array, out: Array) -> None:
    """State, accelerations, wheel wrenches and tyres of one instant."""
    out[:STATES] = y
    out[UNKNOWN : UNKNOWN + 10] = w.unknown
    for i in range(4):
        wheel_wrench(car, i, w, w.unknown[3:6], out[WRENCH + 6 * i : WRENCH + 6 * i + 6])
        out[TYRE + 3 * i] = w.contact[i, DEFLECTION]
        out[TYRE + 3 * i + 1] = w.contact[i, LOAD]
        out[TYRE + 3 * i + 2] = w.contact[i, HEIGHT]
    out[STEER_SECOND] = steer[2]


@njit(cache=True, nogil=True)
def integrate(
    car: CarArrays,
    profile: Array,
    start: float,
    driver: Driver,
    commands: Array,
    step: float,
    skip: int,
    y: Array,
    out: Array,
) -> int:
    """Advance `y` and fill the rows of `out` after `skip` steps; returns the rows filled.

    `commands` (2 n + 1, 5) are given at every half step. Stops early when the state is no longer
    a number.
    """
    w, steer, torque = make_workspace(), np.zeros(3), np.zeros(4)
    rates, trial = np.zeros((4, STATES)), np.zeros(STATES)
    for n in range(skip + out.shape[0]):
        derivative(car, profile, start, driver, commands[2 * n], y, rates[0], w, steer, torque)
        if n >= skip:
            record(car, y, w, steer, out[n - skip])
        for stage in range(1, 4):
            length = step if stage == 3 else 0.5 * step
            for k in range(STATES):
                trial[k] = y[k] + length * rates[stage - 1, k]
            row = 2 * n + (2 if stage == 3 else 1)
            derivative(
                car, profile, start, driver, commands[row], trial, rates[stage], w, steer, torque
            )
        for k in range(STATES):
            y[k] += (
                step / 6.0 * (rates[0, k] + 2.0 * rates[1, k] + 2.0 * rates[2, k] + rates[3, k])
            )
        for i in range(4):
            # Whatever slipped within the step is no longer strained beyond what holds.
            y[BRISTLE + i] = strain_after(car, y[TRAVEL_RATE + i], y[BRISTLE + i], step)
        size = np.sqrt(np.sum(y[QUATERNION : QUATERNION + 4] ** 2))
        if not np.isfinite(size + y[VELOCITY]):
            return max(n - skip, 0)
        y[QUATERNION : QUATERNION + 4] /= size
    return out.shape[0]
