"""Single-track car with roll, banked roads and wind; its Kalman filter and its simulation.

Everything is over the mass of the car: without forces only ratios show. States, in the axes of the
road below the rear axle (y to the left): sideways velocity at the ground, yaw rate, lagged slip
angles of both axles, roll over the road and its rate, bank of the road and its rate, heading,
constant errors of the yaw and roll gyroscopes and of the sideways accelerometer, the steering
angle that goes straight, and what disturbs the car: the wind's force over mass, forces of the road
on both axles, and how it tilts below the wheels.

    v'   = Y - g bank - r u - x_c r' + h phi''          Y: force of tyres and wind over mass
    i r' = (L - t - x_c) F_f cos(delta) - (x_c + t) F_r - gyroscopic moment of the wheels
           + product of inertia times phi'' + y_c times the force ahead
    phi'' = -w^2 phi - 2 z w phi' + Gamma Y
    slip' = u / sigma (alpha - slip),  F = C slip / sqrt(1 + 2 kappa (C slip / (g load share))^2)
    C lessened as the body leans, since a tyre gains less by load than the other one loses
    alpha_f = delta + nose phi - (v + L (r + nose phi')) / u,   alpha_r = nose phi - v / u
    C of each axle as braking and driving load it; i with the wheels, which spin up in a turn
    bank' = road roll rate - r nose_up

The sideways velocity is that of the contacts: of points of the body as low as the axis that it
rolls about, which is on the ground or, by the links of the suspension, some centimetres above it.
An accelerometer at (x_i, z_i) feels Y + (x_i - x_c) r' + (h - z_i - R) phi'' + g phi: the bank of
the road drops out of it, and shows in the sideways velocity.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.types import Array, IntArray

#: Places of the parameters.
(CF, CR, XC, IZ, KAPPA, SF, SR, OMEGA, ZETA, GAMMA, H, GAIN, TRAIL, LAG, DELAY, CROSS) = range(16)
(YC, NOSE, MOUNT, AIR, AXIS) = range(16, 21)
#: Noise of the measurements, then deviations of what disturbs the car.
(N_YAW, N_ROLL, N_SIDE, N_SPEED, Q_FRONT, Q_REAR, Q_ROLL, Q_ROAD, Q_WIND) = range(21, 30)
COUNT = 30
#: Places of what is known: wheelbase, height of base_link over the ground, gravity, x and z of
#: the accelerometer, x and z of the sensor of sideways speed, spin inertia over mass and radius,
#: what spinning wheels add to the yaw inertia over mass, and the gravity that is left in the
#: accelerometer (none where it was removed).
(LENGTH, HEIGHT, GRAVITY, X_IMU, Z_IMU, X_SPEED, Z_SPEED, SPIN, TURNED, FELT) = range(10)
KNOWN = 10
#: Places of the states.
(V, R, AF, AR, PHI, P, BANK, ROAD, PSI, B_YAW, B_ROLL, B_SIDE, STEER, WIND) = range(14)
(D_F, D_R, BUMP) = range(14, 17)
STATES = 17
#: Columns of the inputs: steering angle, its rate, forward speed, nose up, drive and brake force
#: on the front axle over mass, specific force ahead, whether a stretch begins.
(I_STEER, I_RATE, I_SPEED, I_NOSE, I_FRONT, I_AHEAD, I_BEGIN) = range(7)
INPUTS = 7
#: Columns of the measurements: yaw rate, roll rate, sideways specific force, sideways speed in car
#: axes (optical), or velocity east and north (satellites) with how long before the sample it was
#: true, and forward and sideways acceleration meanwhile.
(M_YAW, M_ROLL, M_SIDE, M_OPTICAL, M_EAST, M_NORTH, M_AGE, M_AX, M_AY) = range(9)
OUTPUTS = 4  # yaw, roll, side, speed
#: Shares of the bend: of the tyres' own curves, and of load that goes to the outer wheels of the
#: front and of the rear axle; stiffer springs in front carry more of it.
TYRES, LEAN_FRONT, LEAN_REAR = 0.56, 0.53, 0.35
LOAD_POWER = 0.65  # of the load, with which the cornering stiffness of usual tyres rises
ROLLING = 0.01  # resistance of usual tyres over load: outer wheels drag more, out of the bend
AIR_SPEED = 20.0  # at which `AIR` of the weight is moved to the rear axle [m/s]
#: Memory of the road's roll rate, of the wind, of forces on the axles and of bumps [s].
ROAD_TIME, WIND_TIME, FORCE_TIME, BUMP_TIME = 1.5, 5.0, 0.1, 0.4
#: Deviations of the states at the start of a stretch; those of constant errors only at the first.
START = np.array(
    [
        0.5,
        0.1,
        0.02,
        0.02,
        0.03,
        0.1,
        0.05,
        0.03,
        0.1,
        0.01,
        0.01,
        0.08,
        0.004,
        0.05,
        0.1,
        0.1,
        0.003,
    ]
)
#: Random walks of the constant errors [per sqrt(s)]: yaw, roll, side, steering.
WALK = np.array([1e-5, 1e-5, 5e-4, 1e-5])


@njit(cache=True)
def axle(stiffness: float, slip: float, load: float, kappa: float) -> tuple[float, float]:
    """Sideways force of an axle over mass and its slope."""
    u = stiffness * slip / load
    root = 1.0 / np.sqrt(1.0 + 2.0 * kappa * u * u)
    return stiffness * slip * root, stiffness * root**3


@njit(cache=True)
def stiffnesses(par: Array, car: Array, u: Array) -> tuple[float, float]:
    """Of both axles over mass, as braking, driving and the air load them.

    A thousandth of the weight that the air moves with the square of the speed looks like a
    steering gain of some thousandths, since only the speed tells gain from understeer.
    """
    share = par[XC] / car[LENGTH]
    moved = par[H] * u[I_AHEAD] / (car[GRAVITY] * car[LENGTH])
    moved = LOAD_POWER * (moved + par[AIR] * (u[I_SPEED] / AIR_SPEED) ** 2)
    return par[CF] * (1.0 - moved / share), par[CR] * (1.0 + moved / (1.0 - share))


@njit(cache=True)
def leaned(par: Array, car: Array, x: Array) -> tuple[float, float, float]:
    """What springs and dampers carry of a bend, over the weight, and its slopes by roll and rate.

    The load moves to the outer wheels as the body leans, not as the force rises.
    """
    w, weight = par[OMEGA], par[GAMMA] * car[GRAVITY]
    by_angle, by_rate = w**2 / weight, 2.0 * par[ZETA] * w / weight
    return by_angle * x[PHI] + by_rate * x[P], by_angle, by_rate


@njit(cache=True)
def rates(par: Array, car: Array, x: Array, u: Array, dx: Array) -> float:
    """Rates of the states; returns the force of tyres and wind over mass."""
    speed, length, g = u[I_SPEED], car[LENGTH], car[GRAVITY]
    steer = par[GAIN] * (u[I_STEER] + par[LAG] * u[I_RATE]) - x[STEER]
    rolled = par[NOSE] * x[PHI]  # wheels of a body that is pitched turn as it rolls
    # and the axis that it rolls about is not as high over the front axle as over the rear one
    front_speed = x[V] + length * (x[R] + par[NOSE] * x[P])
    slip = steer + rolled - np.arctan(front_speed / speed)
    dx[AF] = speed / par[SF] * (slip - x[AF])
    dx[AR] = speed / par[SR] * (rolled - np.arctan(x[V] / speed) - x[AR])
    share = par[XC] / length
    c_f, c_r = stiffnesses(par, car, u)
    lean, _, _ = leaned(par, car, x)
    c_f /= 1.0 + LEAN_FRONT * par[KAPPA] * lean**2
    c_r /= 1.0 + LEAN_REAR * par[KAPPA] * lean**2
    bend = TYRES * par[KAPPA]
    front, _ = axle(c_f, x[AF], g * share, bend)
    rear, _ = axle(c_r, x[AR], g * (1.0 - share), bend)
    pulled = front * np.cos(steer) + u[I_FRONT] * np.sin(steer) + x[D_F]
    total = pulled + rear + x[WIND] + x[D_R]
    moment = (length - par[XC]) * pulled - par[XC] * (rear + x[D_R])
    moment -= par[TRAIL] * (front + rear) + car[SPIN] * speed * x[P]
    moment += par[YC] * u[I_AHEAD] - ROLLING * par[H] * g * lean
    w = par[OMEGA]
    dx[P] = -(w**2) * x[PHI] - 2.0 * par[ZETA] * w * x[P] + par[GAMMA] * total
    # bumps pull at springs and dampers
    dx[P] += (w**2 - 2.0 * par[ZETA] * w / BUMP_TIME) * x[BUMP]
    dx[R] = moment / (par[IZ] + car[TURNED]) + par[CROSS] * dx[P]
    dx[V] = total - g * (x[BANK] + x[BUMP]) - x[R] * speed - par[XC] * dx[R] + par[H] * dx[P]
    dx[PHI], dx[PSI] = x[P], x[R]
    dx[BANK] = x[ROAD] - x[R] * u[I_NOSE]
    dx[ROAD], dx[WIND] = -x[ROAD] / ROAD_TIME, -x[WIND] / WIND_TIME
    dx[D_F], dx[D_R] = -x[D_F] / FORCE_TIME, -x[D_R] / FORCE_TIME
    dx[BUMP] = -x[BUMP] / BUMP_TIME
    return total


@njit(cache=True)
def slopes(par: Array, car: Array, x: Array, u: Array, A: Array) -> None:
    """Slopes of the rates (STATES + 1, STATES); of the returned force in the last row.

    The same entries differ from zero at every call: `A` begins with zeros.
    """
    speed, length, g, last = u[I_SPEED], car[LENGTH], car[GRAVITY], STATES
    steer = par[GAIN] * (u[I_STEER] + par[LAG] * u[I_RATE]) - x[STEER]
    inertia = par[IZ] + car[TURNED]
    side_f = (x[V] + length * (x[R] + par[NOSE] * x[P])) / speed
    side_r = x[V] / speed
    lag_f, lag_r = speed / par[SF], speed / par[SR]
    A[AF, AF], A[AF, STEER] = -lag_f, -lag_f
    A[AF, PHI], A[AR, PHI] = lag_f * par[NOSE], lag_r * par[NOSE]
    A[AF, V] = -lag_f / (speed * (1.0 + side_f**2))
    A[AF, R] = A[AF, V] * length
    A[AF, P] = A[AF, R] * par[NOSE]
    A[AR, AR], A[AR, V] = -lag_r, -lag_r / (speed * (1.0 + side_r**2))
    share = par[XC] / length
    c_f, c_r = stiffnesses(par, car, u)
    lean, by_angle, by_rate = leaned(par, car, x)
    less_f = 1.0 + LEAN_FRONT * par[KAPPA] * lean**2
    less_r = 1.0 + LEAN_REAR * par[KAPPA] * lean**2
    bend = TYRES * par[KAPPA]
    front, k_f = axle(c_f / less_f, x[AF], g * share, bend)
    _, k_r = axle(c_r / less_r, x[AR], g * (1.0 - share), bend)
    ahead = np.cos(steer)
    A[last, AF], A[last, AR] = k_f * ahead, k_r
    # a share of the stiffness changes the force by as much of slope times slip
    lost_f = -2.0 * LEAN_FRONT * par[KAPPA] * lean / less_f * k_f * x[AF]
    lost_r = -2.0 * LEAN_REAR * par[KAPPA] * lean / less_r * k_r * x[AR]
    lost = lost_f * ahead + lost_r
    A[last, PHI], A[last, P] = lost * by_angle, lost * by_rate
    A[last, WIND] = A[last, D_F] = A[last, D_R] = 1.0
    A[last, STEER] = front * np.sin(steer) - u[I_FRONT] * ahead
    A[R, WIND] = A[R, BUMP] = 0.0
    turning = ((length - par[XC]) * ahead - par[TRAIL]) * lost_f
    turning = (turning - (par[XC] + par[TRAIL]) * lost_r) / inertia
    turning -= ROLLING * par[H] * g / inertia
    A[R, PHI] = turning * by_angle
    A[R, AF] = ((length - par[XC]) * ahead - par[TRAIL]) * k_f / inertia
    A[R, AR] = -(par[XC] + par[TRAIL]) * k_r / inertia
    A[R, D_F], A[R, D_R] = (length - par[XC]) / inertia, -par[XC] / inertia
    A[R, STEER] = (length - par[XC]) * A[last, STEER] / inertia
    A[R, P] = turning * by_rate - car[SPIN] * speed / inertia
    w = par[OMEGA]
    A[P, PHI] = par[GAMMA] * A[last, PHI] - w**2
    A[P, P] = par[GAMMA] * A[last, P] - 2.0 * par[ZETA] * w
    A[P, BUMP] = w**2 - 2.0 * par[ZETA] * w / BUMP_TIME
    for j in (AF, AR, WIND, D_F, D_R, STEER):
        A[P, j] = par[GAMMA] * A[last, j]
    for j in (AF, AR, PHI, P, WIND, D_F, D_R, BUMP, STEER):
        A[R, j] += par[CROSS] * A[P, j]
        A[V, j] = A[last, j] - par[XC] * A[R, j] + par[H] * A[P, j]
    A[V, BANK], A[V, R] = -g, -speed
    A[V, BUMP] -= g
    A[PHI, P] = A[BANK, ROAD] = A[PSI, R] = 1.0
    A[BANK, R] = -u[I_NOSE]
    A[ROAD, ROAD], A[WIND, WIND] = -1.0 / ROAD_TIME, -1.0 / WIND_TIME
    A[D_F, D_F] = A[D_R, D_R] = -1.0 / FORCE_TIME
    A[BUMP, BUMP] = -1.0 / BUMP_TIME


@njit(cache=True)
def step_mean(
    par: Array, car: Array, x: Array, u: Array, later: Array, dt: float, dx: Array
) -> None:
    """Move the states by dt between two rows of inputs (midpoint rule, short steps)."""
    count = max(1, int(np.ceil(u[I_SPEED] * dt / 0.25)))
    short = dt / count
    now, half = u.copy(), x.copy()
    for k in range(count):
        for j in range(I_BEGIN):
            now[j] = u[j] + k / count * (later[j] - u[j])
        rates(par, car, x, now, dx)
        for j in range(STATES):
            half[j] = x[j] + 0.5 * short * dx[j]
        for j in range(I_BEGIN):
            now[j] = u[j] + (k + 0.5) / count * (later[j] - u[j])
        rates(par, car, half, now, dx)
        for j in range(STATES):
            x[j] += short * dx[j]


@njit(cache=True)
def predict_covariance(par: Array, A: Array, cov: Array, dt: float, step: Array) -> None:
    """Move the covariance by dt with the slopes A; `step` is room for the transition."""
    n = STATES
    places = np.empty((n, n), dtype=np.int64)
    counts = np.zeros(n, dtype=np.int64)
    for i in range(n):
        # a state with a short memory of its own: exact for what drives it meanwhile
        own = dt * A[i, i]
        keep = np.exp(own)
        share = (keep - 1.0) / own if own < 0.0 else 1.0
        for j in range(n):
            if i == j or A[i, j] != 0.0:
                step[i, j] = keep if i == j else share * dt * A[i, j]
                places[i, counts[i]] = j
                counts[i] += 1
    half = np.zeros((n, n))
    for i in range(n):
        for c in range(counts[i]):
            k = places[i, c]
            f = step[i, k]
            for j in range(n):
                half[i, j] += f * cov[k, j]
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for c in range(counts[j]):
                k = places[j, c]
                total += half[i, k] * step[j, k]
            cov[i, j] = total
            cov[j, i] = total
    cov[D_F, D_F] += (1.0 - step[D_F, D_F] ** 2) * par[Q_FRONT] ** 2
    cov[D_R, D_R] += (1.0 - step[D_R, D_R] ** 2) * par[Q_REAR] ** 2
    bump = 2.0 * dt / BUMP_TIME * par[Q_ROLL] ** 2
    pull = 2.0 * par[ZETA] * par[OMEGA]  # of the dampers
    cov[BUMP, BUMP] += bump
    cov[P, P] += pull**2 * bump
    cov[P, BUMP] += pull * bump
    cov[BUMP, P] += pull * bump
    cov[ROAD, ROAD] += dt * par[Q_ROAD] ** 2 * 2.0 / ROAD_TIME
    cov[WIND, WIND] += dt * par[Q_WIND] ** 2 * 2.0 / WIND_TIME
    cov[PSI, PSI] += dt * 1e-8
    cov[B_YAW, B_YAW] += dt * WALK[0] ** 2
    cov[B_ROLL, B_ROLL] += dt * WALK[1] ** 2
    cov[B_SIDE, B_SIDE] += dt * WALK[2] ** 2
    cov[STEER, STEER] += dt * WALK[3] ** 2


@njit(cache=True)
def correct(x: Array, cov: Array, row: Array, error: float, variance: float) -> float:
    """One scalar measurement; returns the variance of its innovation."""
    n = STATES
    gain = np.zeros(n)
    total = variance
    for i in range(n):
        for j in range(n):
            gain[i] += cov[i, j] * row[j]
    for i in range(n):
        total += row[i] * gain[i]
    for i in range(n):
        x[i] += gain[i] * error / total
        for j in range(i + 1):
            cov[i, j] -= gain[i] * gain[j] / total
            cov[j, i] = cov[i, j]
    return total


@njit(cache=True)
def begin(x: Array, cov: Array, measured: Array, first: bool) -> None:
    """States at the start of a stretch; constant errors are kept from the stretch before."""
    for i in range(STATES):
        constant = i in (B_YAW, B_ROLL, B_SIDE, STEER)
        if constant and not first:
            continue
        x[i] = 0.0
        cov[i, :] = 0.0
        cov[:, i] = 0.0
        cov[i, i] = START[i] ** 2
    if measured[M_YAW] == measured[M_YAW]:
        x[R] = measured[M_YAW] - x[B_YAW]


@njit(cache=True)
def filtered(
    par: Array, car: Array, inputs: Array, measured: Array, dt: float, out: Array, states: Array
) -> None:
    """Innovations and their variances (N, 2, OUTPUTS) into `out`, NaN where nothing was measured.

    `states` (N, STATES) receives the estimate after each sample; it may have no rows.
    """
    x, cov = np.zeros(STATES), np.zeros((STATES, STATES))
    dx, A = np.zeros(STATES), np.zeros((STATES + 1, STATES))
    row, step = np.zeros(STATES), np.zeros((STATES, STATES))
    headed, first = False, True
    out[:] = np.nan
    for k in range(inputs.shape[0]):
        z, u = measured[k], inputs[k]
        if u[I_BEGIN] > 0.0:
            begin(x, cov, z, first)
            headed, first = False, False
        else:
            slopes(par, car, x, inputs[k - 1], A)
            predict_covariance(par, A, cov, dt, step)
            step_mean(par, car, x, inputs[k - 1], u, dt, dx)
        if z[M_YAW] == z[M_YAW]:
            row[:] = 0.0
            row[R] = row[B_YAW] = 1.0
            row[P] = row[ROAD] = -par[MOUNT]
            out[k, 0, 0] = z[M_YAW] - x[R] - x[B_YAW] + par[MOUNT] * (x[P] + x[ROAD])
            out[k, 1, 0] = correct(x, cov, row, out[k, 0, 0], par[N_YAW] ** 2)
        if z[M_ROLL] == z[M_ROLL]:
            row[:] = 0.0
            row[P] = row[ROAD] = row[B_ROLL] = 1.0
            row[R] = par[NOSE] + par[MOUNT]
            out[k, 0, 1] = z[M_ROLL] - x[P] - x[ROAD] - x[B_ROLL] - row[R] * x[R]
            out[k, 1, 1] = correct(x, cov, row, out[k, 0, 1], par[N_ROLL] ** 2)
        if z[M_SIDE] == z[M_SIDE]:
            total = rates(par, car, x, u, dx)
            slopes(par, car, x, u, A)
            arm_x = car[X_IMU] - par[XC]
            arm_z = par[H] - car[Z_IMU] - (car[HEIGHT] - par[AXIS])
            for j in range(STATES):
                row[j] = A[STATES, j] + arm_x * A[R, j] + arm_z * A[P, j]
            row[PHI] += car[FELT]
            row[BUMP] -= car[FELT]
            row[B_SIDE] += 1.0
            felt = total + arm_x * dx[R] + arm_z * dx[P] + car[FELT] * (x[PHI] - x[BUMP])
            felt += x[B_SIDE]
            out[k, 0, 2] = z[M_SIDE] - felt
            out[k, 1, 2] = correct(x, cov, row, out[k, 0, 2], par[N_SIDE] ** 2)
        high = car[Z_SPEED] + car[HEIGHT] - par[AXIS] - par[NOSE] * car[X_SPEED]
        own = x[V] + car[X_SPEED] * x[R] - high * (x[P] + x[ROAD])
        if z[M_OPTICAL] == z[M_OPTICAL] or z[M_EAST] == z[M_EAST]:
            row[:] = 0.0
            row[V], row[R], row[P], row[ROAD] = 1.0, car[X_SPEED], -high, -high
            if z[M_OPTICAL] == z[M_OPTICAL]:
                error = z[M_OPTICAL] - own
            else:
                if not headed:
                    x[PSI] = np.arctan2(z[M_NORTH], z[M_EAST]) - own / u[I_SPEED]
                    cov[PSI, :] = 0.0
                    cov[:, PSI] = 0.0
                    cov[PSI, PSI] = START[PSI] ** 2
                    headed = True
                s, c = np.sin(x[PSI]), np.cos(x[PSI])
                age = z[M_AGE] + par[DELAY]
                east = z[M_EAST] + age * (c * z[M_AX] - s * z[M_AY])
                north = z[M_NORTH] + age * (s * z[M_AX] + c * z[M_AY])
                error = -s * east + c * north - own
                row[PSI] = c * east + s * north
            out[k, 0, 3] = error
            out[k, 1, 3] = correct(x, cov, row, error, par[N_SPEED] ** 2)
        if states.shape[0] > 0:
            states[k] = x


@njit(cache=True)
def simulated(par: Array, car: Array, inputs: Array, start: Array, dt: float, out: Array) -> None:
    """Yaw rate, roll rate and sideways specific force (N, 3) by steering and speed alone.

    `start` (N, STATES) are filtered states: constant errors are taken from there, everything else
    at the first sample of a stretch only.
    """
    x, dx = np.zeros(STATES), np.zeros(STATES)
    for k in range(inputs.shape[0]):
        u = inputs[k]
        if u[I_BEGIN] > 0.0:
            x[:] = start[k]
        else:
            step_mean(par, car, x, inputs[k - 1], u, dt, dx)
        for j in (B_YAW, B_ROLL, B_SIDE, STEER):
            x[j] = start[-1, j]
        x[BANK], x[ROAD] = start[k, BANK], 0.0
        x[WIND] = x[D_F] = x[D_R] = x[BUMP] = 0.0
        total = rates(par, car, x, u, dx)
        out[k, 0] = x[R] + x[B_YAW] - par[MOUNT] * x[P]
        out[k, 1] = x[P] + x[B_ROLL] + (par[NOSE] + par[MOUNT]) * x[R]
        arm_z = par[H] - car[Z_IMU] - (car[HEIGHT] - par[AXIS])
        out[k, 2] = (
            total + (car[X_IMU] - par[XC]) * dx[R] + arm_z * dx[P] + car[FELT] * x[PHI] + x[B_SIDE]
        )


def stretches(inputs: Array) -> IntArray:
    """Rows at which stretches begin."""
    return np.flatnonzero(inputs[:, I_BEGIN] > 0.0)
