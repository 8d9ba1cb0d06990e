"""Forces on the car in one compiled kernel: tyres, suspension, drive, brakes, air (section 2.3.2).

The tread of a tyre is a bristle that deflects with the slip velocity and relaxes over a length of
road, u' = v_slip - |V| u / L. At speed its force is the usual slip stiffness times slip; at
standstill it is a spring, so a parked car neither creeps nor needs a rule for zero speed. The
force saturates smoothly at friction times load, along one ellipse for both directions. A brake
is a spring that slides at its torque. `tread` (4, 3) holds the three deflections of each wheel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from veh_identification.multibody.natural.views import body_values
from veh_identification.systems.vehicle.model.road import road_height
from veh_identification.types import Array, IntArray

Memory = tuple[Any, ...]
# Columns of the tyre table (4, 9) and of the suspension table (4, 8).
RADIUS, VERTICAL, VERTICAL_DAMPING, FRICTION, LONGITUDINAL, CORNERING, RELAXATION, SLOW = range(8)
ROLLING_RADIUS = 8  # effective rolling radius over the height of the wheel centre
STROKE, PRELOAD, SPRING, DAMPER, BUMP, REBOUND, STOP, ANTIROLL = range(8)
# Columns of what the kernel reports for each wheel.
FORCE_X, FORCE_Y, LOAD, SLIP_X, SLIP_Y, ROLLING = range(6)
ROLLING_SPEED = 0.1  # below this speed rolling resistance fades [m/s]
BRAKE_STIFFNESS = 2e4  # of pads and calipers before they slide [N m/rad]
BRAKE_DAMPING = 60.0  # [N m s/rad]
SLOW_SPEED = 1.0  # the tread's own damping fades above this speed [m/s]
LARGEST_DEMAND = 5.0  # a sliding tread does not deflect beyond this many times the friction


@njit(cache=True, nogil=True)
def _cross(a: Array, b: Array, out: Array) -> None:
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@njit(cache=True, nogil=True)
def _normal(road: Array, x: float, y: float, n: Array) -> float:
    """Road height and unit normal under a point."""
    height, slope_x, slope_y = road_height(road, x, y)
    scale = 1.0 / np.sqrt(1.0 + slope_x * slope_x + slope_y * slope_y)
    n[0], n[1], n[2] = -slope_x * scale, -slope_y * scale, scale
    return height


@njit(cache=True, nogil=True)
def _saturation(demand: float) -> float:
    return 1.0 if demand < 1e-6 else np.tanh(demand) / demand


@njit(cache=True, nogil=True)
def _contact(frame: Array, road: Array, n: Array, t: Array, side: Array, arm: Array) -> float:
    """Directions and lever arm of the contact patch; returns the distance to the road."""
    height = _normal(road, frame[0, 0], frame[0, 1], n)
    axis = frame[0, 6:9]
    _cross(axis, n, t)
    lean = axis[0] * n[0] + axis[1] * n[1] + axis[2] * n[2]
    upright = np.sqrt(max(1e-12, 1.0 - lean * lean))
    above = (frame[0, 2] - height) * n[2]
    for k in range(3):
        t[k] /= upright
        arm[k] = -above / upright * (n[k] - lean * axis[k]) / upright
    _cross(n, t, side)
    return above / upright


@njit(cache=True, nogil=True)
def _point_velocity(frame: Array, arm: Array, out: Array) -> None:
    """Velocity of the wheel's material point at `arm` from its centre."""
    for k in range(3):
        out[k] = frame[1, k]
    for i in range(3):
        e = frame[0, 3 * i + 3 : 3 * i + 6]
        local = e[0] * arm[0] + e[1] * arm[1] + e[2] * arm[2]
        for k in range(3):
            out[k] += local * frame[1, 3 * i + 3 + k]


@njit(cache=True, nogil=True)
def _tread(u: float, velocity: float, rolling: float, length: float, dt: float) -> float:
    """Deflection of the bristle after dt (implicit)."""
    return (u + dt * velocity) / (1.0 + dt * rolling / length)


@njit(cache=True, nogil=True)
def _dot(a: Array, b: Array) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, nogil=True)
def wheel_load(
    frame: Array,
    road: Array,
    tyre: Array,
    rolling_resistance: float,
    torque: float,
    spin: float,
    tread: Array,
    trial: Array,
    dt: float,
    load: Array,
    report: Array,
) -> None:
    """Tyre force, rolling resistance and drive torque of one wheel as a load row (27)."""
    n, t, side, arm = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    velocity = np.empty(3)
    load[:] = 0.0
    report[:] = 0.0
    distance = _contact(frame, road, n, t, side, arm)
    axis = frame[0, 6:9]
    for k in range(3):
        load[6 + k] = torque * axis[k]
    forward = _dot(frame[1, 0:3], t)
    report[ROLLING] = forward
    deflection = tyre[RADIUS] - distance
    vertical = tyre[VERTICAL] * deflection - tyre[VERTICAL_DAMPING] * _dot(frame[1, 0:3], n)
    if deflection <= 0.0 or vertical <= 0.0:
        trial[0], trial[1] = 0.0, 0.0
        return
    _point_velocity(frame, arm, velocity)
    slip_x = _dot(velocity, t) - (tyre[ROLLING_RADIUS] - 1.0) * distance * spin
    slip_y = _dot(velocity, side)
    rolling = abs(forward)
    trial[0] = _tread(tread[0], slip_x, rolling, tyre[RELAXATION], dt)
    trial[1] = _tread(tread[1], slip_y, rolling, tyre[RELAXATION], dt)
    grip = tyre[FRICTION] * vertical
    slow = tyre[SLOW] / (1.0 + (rolling / SLOW_SPEED) ** 2)
    stiff_x = tyre[LONGITUDINAL] * vertical / tyre[RELAXATION]
    stiff_y = tyre[CORNERING] * vertical / tyre[RELAXATION]
    spring = np.hypot(stiff_x * trial[0], stiff_y * trial[1])
    if spring > LARGEST_DEMAND * grip:
        trial[0] *= LARGEST_DEMAND * grip / spring
        trial[1] *= LARGEST_DEMAND * grip / spring
    force_x = -stiff_x * trial[0] - slow * slip_x
    force_y = -stiff_y * trial[1] - slow * slip_y
    share = _saturation(np.hypot(force_x, force_y) / grip)
    force_x *= share
    force_y *= share
    damp = dt / (1.0 + dt * rolling / tyre[RELAXATION])
    damp_x, damp_y = share * (stiff_x * damp + slow), share * (stiff_y * damp + slow)
    resist = rolling_resistance * vertical * distance * np.tanh(forward / ROLLING_SPEED)
    for k in range(3):
        load[k] = vertical * n[k] + force_x * t[k] + force_y * side[k]
        load[3 + k] = _dot(frame[0, 3 * k + 3 : 3 * k + 6], arm)
        load[6 + k] -= resist * axis[k]
        for j in range(3):
            load[9 + 3 * k + j] = tyre[VERTICAL] * n[k] * n[j]
            load[18 + 3 * k + j] = (
                tyre[VERTICAL_DAMPING] * n[k] * n[j]
                + damp_x * t[k] * t[j]
                + damp_y * side[k] * side[j]
            )
    report[FORCE_X], report[FORCE_Y], report[LOAD] = force_x, force_y, vertical
    report[SLIP_X], report[SLIP_Y] = slip_x, slip_y


@njit(cache=True, nogil=True)
def suspension_force(row: Array, stroke: float, rate: float, other: float) -> tuple[float, float]:
    """Force that lengthens a damper stroke, and its stiffness."""
    compression = row[STROKE] - stroke
    force = row[PRELOAD] + row[SPRING] * compression - row[DAMPER] * rate
    force += row[ANTIROLL] * (compression - other)
    stiffness = row[SPRING] + row[ANTIROLL]
    if compression > row[BUMP]:
        force += row[STOP] * (compression - row[BUMP])
        stiffness += row[STOP]
    elif -compression > row[REBOUND]:
        force -= row[STOP] * (-compression - row[REBOUND])
        stiffness += row[STOP]
    return force, stiffness


@njit(cache=True, nogil=True)
def _brake(
    limit: float, rate: float, tread: Array, trial: Array, dt: float
) -> tuple[float, float]:
    """Brake torque and its damping: a spring that slides at `limit`, so a parked car stays."""
    trial[2] = tread[2] + dt * rate
    torque = BRAKE_STIFFNESS * trial[2] + BRAKE_DAMPING * rate
    if abs(torque) <= limit:
        return -torque, BRAKE_STIFFNESS * dt + BRAKE_DAMPING
    torque = limit if torque > 0.0 else -limit
    trial[2] = torque / BRAKE_STIFFNESS
    # the secant, not the tangent: a locking wheel must not jump across zero and back
    return -torque, min(limit / max(abs(rate), 1e-9), BRAKE_STIFFNESS * dt + BRAKE_DAMPING)


@njit(cache=True, nogil=True)
def all_forces(
    memory: Memory,
    q: Array,
    qd: Array,
    bodies: IntArray,
    spins: IntArray,
    strokes: IntArray,
    tyres: Array,
    suspension: Array,
    scalars: Array,
    road: Array,
    inputs: Array,
    tread: Array,
    trial: Array,
    dt: float,
    coordinate_force: Array,
    tangents: Array,
    loads: Array,
    report: Array,
    frame: Array,
) -> None:
    """Every force but gravity: load rows of the four wheels and the chassis, scalar forces.

    `scalars`: rolling resistance, drag, its point (3), brake gains front and rear; `inputs`: wheel
    torques (4) and brake pressure; `bodies`: four wheels and the chassis.
    """
    body_values(memory, bodies[4], q, qd, qd, frame)
    speed = _dot(frame[0, 3:6], frame[1, 0:3])
    drag = scalars[1] * speed * abs(speed)
    chassis = loads[4]
    chassis[:] = 0.0
    for k in range(3):
        chassis[k] = -drag * frame[0, 3 + k]
        chassis[3 + k] = scalars[2 + k]
    for i in range(4):
        body_values(memory, bodies[i], q, qd, qd, frame)
        wheel_load(
            frame,
            road,
            tyres[i],
            scalars[0],
            inputs[i],
            qd[spins[i]],
            tread[i],
            trial[i],
            dt,
            loads[i],
            report[i],
        )
        for k in range(3):
            chassis[6 + k] -= inputs[i] * frame[0, 6 + k]  # the shaft leans on the chassis
        spin = spins[i]
        brake = inputs[4] * scalars[5 if i < 2 else 6]
        coordinate_force[spin], tangents[1, spin] = _brake(brake, qd[spin], tread[i], trial[i], dt)
        mate = i + 1 if i % 2 == 0 else i - 1
        other = suspension[mate, STROKE] - q[strokes[mate]]
        force, stiffness = suspension_force(suspension[i], q[strokes[i]], qd[strokes[i]], other)
        coordinate_force[strokes[i]] = force
        tangents[0, strokes[i]] = stiffness
        tangents[1, strokes[i]] = suspension[i, DAMPER]
