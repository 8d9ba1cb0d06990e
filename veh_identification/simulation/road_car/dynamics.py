"""Accelerations of the two-track car: rigid body, four sliding hubs, four wheels.

The body has six degrees of freedom about `base_link`, each hub slides along z of the body with its
unsprung mass, each wheel spins. Newton and Euler for the body and the hubs: across z a hub moves
with the body and its reaction enters the body's equations, along z it has its own. Everything is
in axes of the body unless said otherwise; corners fl, fr, rl, rr.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.simulation.road_car.car import EXTENSION
from veh_identification.simulation.road_car.road import surface
from veh_identification.simulation.road_car.tyre import forces
from veh_identification.types import Array

GRAVITY = 9.80665
#: Places of the numbers of `RoadCar.packed`.
MASS, CENTRE, INERTIA, UNSPRUNG, SPIN, RADIUS, DRAG, SIDE, POINT = 3, 4, 7, 11, 12, 13, 17, 18, 19
FRONT_DRIVE, FRONT_BRAKES, PRELOAD, AXLES, TYRES = 22, 23, 24, 28, 38
AXLE_SIZE, TYRE_SIZE = 5, 11
#: Places in the state: position and velocity in the world, rotation by rows, rates of the body,
#: hub travel and its rate, wheel angle and its rate, lagged slips (as deflections).
P, R, V, W, Q, QD, THETA, OMEGA, UX, UY = 0, 3, 12, 15, 18, 22, 26, 30, 34, 38
STATE_SIZE = 42
#: Places in the rates: acceleration of base_link, angular acceleration, hubs, wheels, slips; then
#: what the tyres do: load, forward, sideways, slip, the forces of tyres and air on the car, and
#: of each wheel the force of the road and its moment about the wheel centre, in body axes.
A, ALPHA, QDD, SPIN_RATE, DUX, DUY = 0, 3, 6, 10, 14, 18
LOAD, FORWARD, SIDEWAYS, SLIP, OUTER, CONTACT = 22, 26, 30, 34, 38, 41
RATE_SIZE = 65
SLOW, SLOW_DAMPING = 2.5, 1500.0  # below this speed the tread is damped [m/s], [N s/m]


@njit(cache=True)
def cross(a: Array, b: Array) -> Array:
    """Vector product."""
    c = np.empty(3)
    c[0] = a[1] * b[2] - a[2] * b[1]
    c[1] = a[2] * b[0] - a[0] * b[2]
    c[2] = a[0] * b[1] - a[1] * b[0]
    return c


@njit(cache=True)
def turn(rotation: Array, a: Array) -> Array:
    """From the body to the world."""
    c = np.empty(3)
    for i in range(3):
        c[i] = rotation[i, 0] * a[0] + rotation[i, 1] * a[1] + rotation[i, 2] * a[2]
    return c


@njit(cache=True)
def back(rotation: Array, a: Array) -> Array:
    """From the world to the body."""
    c = np.empty(3)
    for i in range(3):
        c[i] = rotation[0, i] * a[0] + rotation[1, i] * a[1] + rotation[2, i] * a[2]
    return c


@njit(cache=True)
def solve(matrix: Array, right: Array) -> None:
    """Solve a small positive definite system in place."""
    n = right.size
    for k in range(n):
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            for j in range(k, n):
                matrix[i, j] -= factor * matrix[k, j]
            right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]


@njit(cache=True)
def add_mass(
    matrix: Array, right: Array, mass: float, place: Array, known: Array, axes: int
) -> None:
    """Add a mass point that moves with the body along the first `axes` axes.

    Its acceleration is a + alpha x place + known; the inertia goes to the matrix, the known part
    to the right-hand side.
    """
    # columns of alpha x place
    arm = np.zeros((3, 6))
    for i in range(3):
        arm[i, i] = 1.0
    arm[0, 4], arm[0, 5] = place[2], -place[1]
    arm[1, 3], arm[1, 5] = -place[2], place[0]
    arm[2, 3], arm[2, 4] = place[1], -place[0]
    for k in range(axes):
        for i in range(6):
            if arm[k, i] != 0.0:
                for j in range(6):
                    matrix[i, j] += mass * arm[k, i] * arm[k, j]
                right[i] -= mass * arm[k, i] * known[k]


@njit(cache=True)
def add_force(right: Array, force: Array, place: Array) -> None:
    """Add a force at a place."""
    moment = cross(place, force)
    for i in range(3):
        right[i] += force[i]
        right[3 + i] += moment[i]


@njit(cache=True)
def suspension(par: Array, i: int, state: Array, rate: float) -> float:
    """Force that a corner pushes the body up with, compressed at a rate."""
    axle = AXLES + (i // 2) * AXLE_SIZE
    q, other = state[Q + i], state[Q + (i ^ 1)]
    damping = par[axle + 1] * (1.0 if rate > 0.0 else EXTENSION)
    force = par[PRELOAD + i] + par[axle] * q + damping * rate + par[axle + 2] * (q - other)
    limit, stop = par[axle + 3], par[axle + 4]
    if q > limit:
        force += stop * (q - limit)
    elif q < -limit:
        force += stop * (q + limit)
    return force


@njit(cache=True)
def add_air(
    par: Array, right: Array, rates: Array, rotation: Array, state: Array, wind: Array
) -> None:
    """Drag and side force of the air."""
    point = par[POINT : POINT + 3]
    flow = np.empty(3)
    for i in range(3):
        flow[i] = state[V + i] - (wind[i] if i < 2 else 0.0)
    seen = back(rotation, flow)
    speed = np.sqrt(seen[0] ** 2 + seen[1] ** 2)
    force = np.zeros(3)
    force[0] = -par[DRAG] * speed * seen[0]
    force[1] = -par[SIDE] * speed * seen[1]
    add_force(right, force, point)
    for i in range(3):
        rates[OUTER + i] += force[i]


@njit(cache=True)
def add_corner(
    par: Array,
    waves: Array,
    state: Array,
    rotation: Array,
    i: int,
    steer: float,
    drive: float,
    brake: float,
    grip: float,
    dt: float,
    matrix: Array,
    right: Array,
    rates: Array,
) -> None:
    """Tyre, wheel, hub and suspension of one corner."""
    tyre = par[TYRES + (i // 2) * TYRE_SIZE : TYRES + (i // 2 + 1) * TYRE_SIZE]
    side = 1.0 if i % 2 == 0 else -1.0
    place = np.empty(3)
    place[0] = par[0] if i < 2 else 0.0
    place[1] = side * (par[1] if i < 2 else par[2])
    place[2] = state[Q + i]
    omega = state[W : W + 3]
    moving = cross(omega, place)
    moving[2] += state[QD + i]
    centre, speed = turn(rotation, place), turn(rotation, moving)
    for k in range(3):
        centre[k] += state[P + k]
        speed[k] += state[V + k]
    # the road's tangent plane below the wheel
    height, slope_x, slope_y = surface(waves, centre[0], centre[1])
    normal = np.array([-slope_x, -slope_y, 1.0])
    normal /= np.sqrt(slope_x**2 + slope_y**2 + 1.0)
    distance = (centre[2] - height) * normal[2]
    radius = par[RADIUS + i]
    closing = -(speed[0] * normal[0] + speed[1] * normal[1] + speed[2] * normal[2])
    load = 0.0
    if distance < radius:
        load = max(0.0, tyre[9] * (radius - distance) + tyre[10] * closing)
    axis = np.array([-np.sin(steer), np.cos(steer), 0.0])
    axis_world = turn(rotation, axis)
    ahead = cross(axis_world, normal)
    ahead /= np.sqrt(ahead[0] ** 2 + ahead[1] ** 2 + ahead[2] ** 2)
    left = cross(normal, ahead)
    # slips; the carrier's velocity at the ground tells the sideways one
    ground = cross(turn(rotation, omega), normal)
    forward_speed = sideways_speed = spin_of_body = 0.0
    for k in range(3):
        forward_speed += speed[k] * ahead[k]
        sideways_speed += (speed[k] - distance * ground[k]) * left[k]
        spin_of_body += omega[k] * axis[k]
    rolling = radius - (radius - distance) / 3.0
    slip_x = forward_speed - (state[OMEGA + i] + spin_of_body) * rolling
    kappa, tangent = state[UX + i] / tyre[5], state[UY + i] / tyre[6]
    if abs(forward_speed) < SLOW and load > 0.0:
        slow = 0.5 * SLOW_DAMPING * (1.0 + np.cos(np.pi * forward_speed / SLOW))
        kappa -= slow * slip_x / (tyre[3] * load)
        tangent -= slow * sideways_speed / (tyre[2] * load)
    forward, sideways, aligning = forces(tyre, load, grip, kappa, tangent)
    # the wheel: friction brakes and rolling resistance never turn it backwards
    inertia = par[SPIN]
    free = state[OMEGA + i] + dt * (drive - forward * distance) / inertia
    most = dt * (brake + tyre[8] * load * radius) / inertia
    free -= min(max(free, -most), most)
    spin_rate = (free - state[OMEGA + i]) / dt
    rates[SPIN_RATE + i] = spin_rate
    rates[DUX + i] = (
        -slip_x + dt * spin_rate * rolling - abs(forward_speed) * state[UX + i] / tyre[5]
    )
    rates[DUY + i] = -sideways_speed - abs(forward_speed) * state[UY + i] / tyre[6]
    # force on the hub, and what turns the body about the hub
    world = np.empty(3)
    for k in range(3):
        world[k] = load * normal[k] + forward * ahead[k] + sideways * left[k]
    force = back(rotation, world)
    down = back(rotation, normal)
    arm = cross(down, force)
    momentum = cross(omega, axis)
    resistance = tyre[8] * load * radius * np.tanh(state[OMEGA + i])
    for k in range(3):
        right[3 + k] += (
            -distance * arm[k]
            + aligning * down[k]
            - resistance * axis[k]
            - inertia * (spin_rate * axis[k] + state[OMEGA + i] * momentum[k])
        )
        rates[OUTER + k] += force[k]
        rates[CONTACT + 6 * i + k] = force[k]
        rates[CONTACT + 6 * i + 3 + k] = (
            -distance * arm[k] + aligning * down[k] - resistance * axis[k]
        )
    # the hub: across z with the body, along z on its own
    mass = par[UNSPRUNG]
    # The hub's rate is that of half a step ago (`advance`). A damper that is late by as much takes
    # h dt / 2, half a kilogram, off the mass that is seen.
    up = suspension(par, i, state, state[QD + i] + 0.5 * dt * rates[QDD + i])
    sliding = np.array([2 * omega[1] * state[QD + i], -2 * omega[0] * state[QD + i], 0.0])
    known = cross(omega, cross(omega, place))
    weight = -mass * GRAVITY
    for k in range(3):
        known[k] += sliding[k]
    add_mass(matrix, right, mass, place, known, 2)
    pushed = np.array([force[0] + weight * rotation[2, 0], force[1] + weight * rotation[2, 1], up])
    add_force(right, pushed, place)
    rates[QDD + i] = (force[2] - up) / mass - GRAVITY * rotation[2, 2] - known[2]
    rates[LOAD + i], rates[FORWARD + i] = load, forward
    rates[SIDEWAYS + i], rates[SLIP + i] = sideways, kappa


@njit(cache=True)
def accelerate(
    par: Array,
    waves: Array,
    state: Array,
    steer: Array,
    drive: Array,
    brake: Array,
    grip: Array,
    wind: Array,
    dt: float,
    rates: Array,
) -> None:
    """Fill `rates` at a state; steering, torques, brakes and grip of the four wheels."""
    rotation = state[R : R + 9].reshape(3, 3)
    omega = state[W : W + 3]
    matrix, right = np.zeros((6, 6)), np.zeros(6)
    rates[OUTER : OUTER + 3] = 0.0
    centre = par[CENTRE : CENTRE + 3]
    add_mass(matrix, right, par[MASS], centre, cross(omega, cross(omega, centre)), 3)
    inertia = np.zeros((3, 3))
    for k in range(3):
        inertia[k, k] = par[INERTIA + k]
    inertia[0, 2] = inertia[2, 0] = par[INERTIA + 3]
    momentum = turn(inertia, omega)
    gyroscopic = cross(omega, momentum)
    for i in range(3):
        right[3 + i] -= gyroscopic[i]
        for j in range(3):
            matrix[3 + i, 3 + j] += inertia[i, j]
    weight = np.empty(3)
    for k in range(3):
        weight[k] = -par[MASS] * GRAVITY * rotation[2, k]
    add_force(right, weight, centre)
    add_air(par, right, rates, rotation, state, wind)
    for i in range(4):
        add_corner(
            par,
            waves,
            state,
            rotation,
            i,
            steer[i],
            drive[i],
            brake[i],
            grip[i],
            dt,
            matrix,
            right,
            rates,
        )
    solve(matrix, right)
    for k in range(6):
        rates[A + k] = right[k]
    for i in range(4):
        x = par[0] if i < 2 else 0.0
        y = (1.0 if i % 2 == 0 else -1.0) * (par[1] if i < 2 else par[2])
        rates[QDD + i] -= right[2] + right[3] * y - right[4] * x


@njit(cache=True)
def rotate(state: Array, angle: Array) -> None:
    """Turn the body by a small rotation vector in its own axes, and keep the axes square."""
    rotation = state[R : R + 9].reshape(3, 3)
    size = np.sqrt(angle[0] ** 2 + angle[1] ** 2 + angle[2] ** 2)
    if size > 1e-14:
        s, c = np.sin(size) / size, (1.0 - np.cos(size)) / size**2
        for i in range(3):
            row = rotation[i].copy()
            first = cross(row, angle)
            second = cross(first, angle)
            for k in range(3):
                rotation[i, k] = row[k] + s * first[k] + c * second[k]
    rotation[0] /= np.sqrt(np.sum(rotation[0] ** 2))
    rotation[1] -= np.sum(rotation[0] * rotation[1]) * rotation[0]
    rotation[1] /= np.sqrt(np.sum(rotation[1] ** 2))
    rotation[2] = cross(rotation[0], rotation[1])


@njit(cache=True)
def advance(par: Array, state: Array, rates: Array, dt: float) -> None:
    """One step: velocities first; the pose by the mean velocity, hubs and slips by the new one."""
    rotation = state[R : R + 9].reshape(3, 3)
    world = turn(rotation, rates[A : A + 3])
    angle = np.empty(3)
    for k in range(3):
        new = state[V + k] + dt * world[k]
        state[P + k] += 0.5 * dt * (state[V + k] + new)
        state[V + k] = new
        new = state[W + k] + dt * rates[ALPHA + k]
        angle[k] = 0.5 * dt * (state[W + k] + new)
        state[W + k] = new
    rotate(state, angle)
    for i in range(4):
        state[QD + i] += dt * rates[QDD + i]
        state[Q + i] += dt * state[QD + i]
        new = state[OMEGA + i] + dt * rates[SPIN_RATE + i]
        state[THETA + i] += 0.5 * dt * (state[OMEGA + i] + new)
        state[OMEGA + i] = new
        tyre = TYRES + (i // 2) * TYRE_SIZE
        most_x, most_y = 2.0 * par[tyre + 5], par[tyre + 6]
        state[UX + i] = min(max(state[UX + i] + dt * rates[DUX + i], -most_x), most_x)
        state[UY + i] = min(max(state[UY + i] + dt * rates[DUY + i], -most_y), most_y)
