"""Mass, drag and rolling resistance from known drive torque: a filter along the way.

    (m + m_r) v' = T / arm - D v^2 - m g (c_r + grade) + m w       m_r: inertia of the wheels
    height' = v grade

The arm of the torque is the height of the driven wheels' centres, and those of the rear axle sink
while the car gathers speed.

States: speed, height, grade (random walk), wind over mass (memory of some seconds), constant error
of the forward accelerometer. Measured: speed, height where satellites give one, and the forward
specific force, which is v' + g grade, enlarged because the body pitches with it. Speed and height
tell the accelerometer's error from the rolling resistance. Where the brakes act or the car corners
hard its acceleration is taken as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.ndimage import maximum_filter1d

from veh_identification.systems.car.bicycle.centre import front_share
from veh_identification.systems.car.bicycle.fit import (
    Innovations,
    Prior,
    innovations_of,
    joined,
    maximise,
)
from veh_identification.systems.car.bicycle.model import FELT, I_BEGIN, I_SPEED, M_SIDE
from veh_identification.systems.car.bicycle.signals import RATE, HandlingSamples, block_numbers
from veh_identification.systems.car.bicycle.unknowns import USUAL_HEIGHT
from veh_identification.systems.car.checks.channels import HEAVIEST, LIGHTEST
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.tyres.contact import standing_radius
from veh_identification.types import Array, BoolArray

(MASS, DRAG, ROLLING, PITCH, PITCH_AIR, N_SPEED, N_HEIGHT, N_FORCE, Q_GRADE, Q_WIND) = range(10)
#: Columns: drive force [N], speed, height, specific force, whether the forces are known, begin.
(FORCE, SPEED, HEIGHT, FORWARD, KNOWN, BEGIN) = range(6)
(V, Z, GRADE, WIND, BIAS) = range(5)
STATES = 5
OUTPUTS = 3
WIND_TIME = 5.0
DRIVING = 40.0  # a torque that nobody has while braking [N m]
BRAKING = 0.6  # coasting cars slow down by less [m/s^2]
LONG_COASTING = 5.0  # nobody brakes so evenly for so long [s]
CORNERING = 1.0  # sideways, above which tyres slow the car down [m/s^2]
#: How long before and after [s]: where the sideways force changes its sign the axles still pull.
BESIDE_CORNERING = 0.5
STEADY_WIND = 0.25  # relative deviation of drag and rolling resistance by it
LEAST = 15.0  # seconds of known forces that are needed
#: Seconds of driving, and spread of the forward force [m/s^2], that tell a mass within a tenth.
LEAST_DRIVING, LEAST_SPREAD = 5.0, 0.2
START = np.array([0.5, 3.0, 0.03, 0.05, 0.15])


@njit(cache=True)
def _correct(x: Array, cov: Array, row: Array, error: float, variance: float) -> float:
    gain = cov @ row
    total: float = variance + row @ gain  # type: ignore[assignment]
    x += gain * (error / total)
    cov -= np.outer(gain, gain) / total
    return total


@njit(cache=True)
def filtered(
    par: Array, rotating: float, gravity: float, rows: Array, dt: float, out: Array
) -> None:
    """Innovations and their variances (N, 2, OUTPUTS); `rotating`: mass by spin."""
    x, cov = np.zeros(STATES), np.zeros((STATES, STATES))
    step, row = np.zeros((STATES, STATES)), np.zeros(STATES)
    out[:] = np.nan
    whole = par[MASS] + rotating
    share = par[MASS] / whole
    pushed, first = 0.0, True
    for k in range(rows.shape[0]):
        z = rows[k]
        if z[BEGIN] > 0.0:
            bias, spread = x[BIAS], cov[BIAS, BIAS]
            x[:] = 0.0
            cov[:] = 0.0
            for i in range(STATES):
                cov[i, i] = START[i] ** 2
            if not first:
                x[BIAS], cov[BIAS, BIAS] = bias, spread
            x[V] = z[SPEED] if z[SPEED] == z[SPEED] else 10.0
            x[Z] = z[HEIGHT] if z[HEIGHT] == z[HEIGHT] else 0.0
            first = False
        else:
            # forces between the last row and this one
            known = rows[k - 1, KNOWN] > 0.0 and z[KNOWN] > 0.0
            if known:  # forces change on the way: 10 ms too late puts the drag 1 % off
                pushed += 0.5 * (z[FORCE] - rows[k - 1, FORCE]) / whole
            step[:] = 0.0
            for i in range(STATES):
                step[i, i] = 1.0
            speed = x[V]
            step[V, V] -= dt * 2.0 * par[DRAG] * abs(speed) / whole if known else 0.0
            step[V, GRADE] = -dt * share * gravity
            step[V, WIND] = dt * share
            step[Z, V], step[Z, GRADE] = dt * x[GRADE], dt * speed
            step[WIND, WIND] = np.exp(-dt / WIND_TIME)
            x[Z] += dt * speed * x[GRADE]
            x[V] += dt * (pushed + share * (x[WIND] - gravity * x[GRADE]))
            x[WIND] *= step[WIND, WIND]
            cov[:] = step @ cov @ step.T
            cov[V, V] += dt * (4e-4 if known else 4.0)
            cov[GRADE, GRADE] += dt * max(speed, 1.0) * par[Q_GRADE] ** 2
            cov[WIND, WIND] += dt * par[Q_WIND] ** 2 * 2.0 / WIND_TIME
            cov[BIAS, BIAS] += dt * 1e-8
        known = z[KNOWN] > 0.0
        pushed = 0.0
        if known:
            resisting = par[DRAG] * x[V] * abs(x[V]) + par[MASS] * gravity * par[ROLLING]
            pushed = (z[FORCE] - resisting) / whole
        elif z[FORWARD] == z[FORWARD]:
            pushed = (z[FORWARD] - x[BIAS]) - gravity * x[GRADE] * (1.0 - share) - share * x[WIND]
        if z[SPEED] == z[SPEED]:
            row[:] = 0.0
            row[V] = 1.0
            out[k, 0, 0] = z[SPEED] - x[V]
            out[k, 1, 0] = _correct(x, cov, row, out[k, 0, 0], par[N_SPEED] ** 2)
        if z[HEIGHT] == z[HEIGHT]:
            row[:] = 0.0
            row[Z] = 1.0
            out[k, 0, 1] = z[HEIGHT] - x[Z]
            out[k, 1, 1] = _correct(x, cov, row, out[k, 0, 1], par[N_HEIGHT] ** 2)
        if known and z[FORWARD] == z[FORWARD]:
            row[:] = 0.0
            more = 1.0 + par[PITCH]
            # The road pushes with what gathers speed and with the drag, and all of it pitches.
            held = par[PITCH] * par[PITCH_AIR] * par[DRAG] * abs(x[V]) / par[MASS]
            row[V] = 2.0 * held - more * 2.0 * par[DRAG] * abs(x[V]) / whole
            row[GRADE] = more * gravity * (1.0 - share)
            row[WIND] = more * share
            row[BIAS] = 1.0
            felt = pushed + share * (x[WIND] - gravity * x[GRADE]) + gravity * x[GRADE]
            out[k, 0, 2] = z[FORWARD] - more * felt - held * x[V] - x[BIAS]
            out[k, 1, 2] = _correct(x, cov, row, out[k, 0, 2], par[N_FORCE] ** 2)


@dataclass(frozen=True, eq=False)
class Forward:
    """What the drive torque tells."""

    value: Array  # mass, drag [N s^2/m^2], rolling resistance over weight
    covariance: Array
    seconds: float  # with known forces


USUAL_MASS = 1500.0  # before anything tells it [kg]
DRAG_HELD = 0.5  # deviation of how much more drag pitches the body: its height, lift, suspension
SPIN_DOUBT = 0.1  # of the wheels' inertia, relative
LEAST_COASTING = 3.0  # seconds that tell on which radius the driven wheels roll


def _unknowns(config: CarDescription) -> tuple[Array, Array, BoolArray]:
    """Middle, deviation, positive.

    Gusts of a metre or two a second push by 0.02 m/s^2, and the accelerometer also feels how the
    body pitches: left free, the wind takes what the body does at each push of the pedal, and the
    mass is told by that alone (up to 6 % too large). Drag acts above the road as the inertia does.
    """
    high = (config.air.point[2] + config.geometry.wheel_radius) / USUAL_HEIGHT
    given = {
        MASS: (USUAL_MASS, 0.5, True),
        DRAG: (0.45, 0.5, True),
        ROLLING: (0.011, 0.4, True),
        PITCH: (0.04, 0.03, False),
        PITCH_AIR: (high, DRAG_HELD, False),
        N_SPEED: (0.06, 1.0, True),
        N_HEIGHT: (0.06, 1.0, True),
        N_FORCE: (0.06, 0.1, True),
        Q_GRADE: (0.002, 1.0, True),
        Q_WIND: (0.02, 0.3, True),
    }
    middle, deviation, positive = zip(*(given[k] for k in range(len(given))), strict=True)
    return np.array(middle), np.array(deviation), np.array(positive)


@dataclass(frozen=True)
class Arm:
    """Of the force of the driven wheels [m]: the height of their centres."""

    standing: float
    rolling: float  # the radius that they roll on without torque
    sinks: float  # so much lower by a forward specific force of 1 m/s^2
    doubt: float  # relative deviation


def known_forces(samples: HandlingSamples) -> BoolArray:
    """Rows where torque tells all: driving, or coasting for long; not braking, not cornering."""
    driving = samples.torque > DRIVING
    return np.asarray((driving | _coasting(samples)) & _straight(samples) & ~samples.braking)


def _coasting(samples: HandlingSamples) -> BoolArray:
    """Without torque for longer than anybody brakes evenly."""
    idle = (np.abs(samples.torque) <= DRIVING) & (samples.forward > -BRAKING)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], idle.astype(np.int8), [0]])))
    coasting = np.zeros(len(idle), dtype=bool)
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        coasting[a:b] = b - a > LONG_COASTING * RATE
    return coasting


def _straight(samples: HandlingSamples) -> BoolArray:
    sideways = np.abs(_filled(samples.measured[:, M_SIDE]))
    beside = 2 * round(BESIDE_CORNERING * RATE) + 1
    return np.asarray(maximum_filter1d(sideways, beside) < CORNERING)


def _filled(values: Array) -> Array:
    """The last number before, where there is none."""
    good = np.flatnonzero(np.isfinite(values))
    if not len(good):
        return np.zeros(len(values))
    return np.interp(np.arange(len(values)), good, values[good])


def fit_forward(
    parts: Sequence[HandlingSamples], config: CarDescription, weighed: float | None = None
) -> Forward | None:
    """Mass, drag and rolling resistance; None where no torque was recorded for long enough.

    `weighed`: share of the weight on the front axle, where scales told it.
    """
    usable = [one for one in parts if np.isfinite(one.torque).any()]
    count = sum(int(np.count_nonzero(known_forces(one))) for one in usable)
    if count < LEAST * RATE:
        return None
    middle, deviation, positive = _unknowns(config)
    logarithm = np.log(np.where(positive, middle, 1.0))
    prior = Prior(np.where(positive, logarithm, middle), deviation)
    mass, fitted = USUAL_MASS, None
    for _ in range(2):  # the arm of the force depends on the mass a little
        arm = force_arm(usable, config, mass, weighed)
        fitted = maximise(_predictor(usable, config, arm, positive), prior)
        # a torque in another unit presses no tyre in further than a car does
        mass = float(np.clip(np.exp(fitted.value[MASS]), LIGHTEST, HEAVIEST))
    assert fitted is not None
    value = np.exp(fitted.value[:3])
    covariance = fitted.covariance[:3, :3].copy()
    # forces are as wrong as the arm, and all of them alike
    covariance[:2, :2] += arm.doubt**2
    covariance[0, 0] += (SPIN_DOUBT * rotating_mass(config, arm) / mass) ** 2
    # a steady wind of some metres a second turns drag into rolling resistance and back
    covariance[1:3, 1:3] += STEADY_WIND**2 * np.array([[1.0, -0.9], [-0.9, 1.0]])
    return Forward(value, covariance * np.outer(value, value), count / RATE)


def rough_mass(parts: Sequence[HandlingSamples], config: CarDescription) -> float | None:
    """Mass by the torque while it drives, grades and wind left out; None where it hardly does."""
    torque, felt, speed = (
        np.concatenate(one)
        for one in zip(
            *((one.torque, one.forward, one.inputs[:, I_SPEED]) for one in parts), strict=True
        )
    )
    use = np.isfinite(torque + felt + speed) & (torque > DRIVING)
    if use.sum() < LEAST_DRIVING * RATE or felt[use].std() < LEAST_SPREAD:
        return None
    arm = force_arm(parts, config, USUAL_MASS).standing
    columns = np.column_stack([felt[use], np.square(speed[use]), np.ones(use.sum())])
    return float(np.linalg.lstsq(columns, torque[use] / arm, rcond=None)[0][0])


def force_arm(
    parts: Sequence[HandlingSamples],
    config: CarDescription,
    mass: float,
    weighed: float | None = None,
) -> Arm:
    """Where the force of the driven wheels acts.

    A tyre rolls as if its radius were less by a third of what it gives under load; the force acts
    at the height of the centre. What gathers speed or climbs presses the rear tyres in further and
    relieves the front ones.
    """
    geometry, stiffness = config.geometry, config.tyre.stiffness
    front = front_share(config, weighed, mass)
    share = {'front': 0.5 * front, 'rear': 0.5 * (1.0 - front), 'all': 0.25}
    side = {'front': -0.5, 'rear': 0.5, 'all': 0.0}
    driven = config.sensors.wheels.driven
    sunk = share[driven] * mass * config.gravity / stiffness
    sinks = side[driven] * mass * USUAL_HEIGHT / (geometry.wheelbase * stiffness)
    own = [one for one in map(_driven_radius, parts) if np.isfinite(one)]
    other = [one.radius for one in parts if np.isfinite(one.radius)]
    if not own and not other:
        return Arm(geometry.wheel_radius, geometry.wheel_radius, sinks, 0.015)
    rolling = float(np.mean(own or other))
    arm = standing_radius(rolling, sunk)
    apart = 0.0 if own else config.sensors.wheels.radius_deviation
    return Arm(arm, rolling, sinks, float(np.hypot(0.2 * sunk, apart)) / arm)


def _driven_radius(samples: HandlingSamples) -> float:
    """What the wheels roll on that drive, while they do not: torque makes them slip."""
    speed = samples.inputs[:, I_SPEED]
    rolling = _coasting(samples) & _straight(samples) & ~samples.braking
    rolling &= (samples.driven > 0.0) & (speed > 0.0)
    if np.count_nonzero(rolling) < LEAST_COASTING * RATE:
        return float('nan')
    return float(np.median(speed[rolling] / samples.driven[rolling]))


def rotating_mass(config: CarDescription, arm: Arm) -> float:
    """Inertia of the wheels, as a mass."""
    return 4.0 * config.wheel.spin_inertia / (arm.standing * arm.rolling)


def _predictor(
    parts: Sequence[HandlingSamples], config: CarDescription, arm: Arm, positive: BoolArray
) -> Callable[[Array], Innovations]:
    rotating = rotating_mass(config, arm)
    tables, blocks = [], []
    for one in parts:
        rows = np.zeros((len(one), 6))
        rows[:, FORCE] = np.nan_to_num(one.torque) / (arm.standing - arm.sinks * one.forward)
        rows[:, SPEED], rows[:, HEIGHT] = one.told_speed, one.altitude
        # without gravity it says nothing of slopes, only what the speed says as well
        every = (np.arange(len(one)) % 4 == 0) & (one.car[FELT] > 0.0)
        rows[:, FORWARD] = np.where(every, one.forward, np.nan)
        rows[:, KNOWN] = known_forces(one)
        rows[:, BEGIN] = one.inputs[:, I_BEGIN]
        tables.append(rows)
        blocks.append(block_numbers(one))

    def predict(search: Array) -> Innovations:
        value = np.where(positive, np.exp(np.where(positive, search, 0.0)), search)
        found = []
        for rows, block in zip(tables, blocks, strict=True):
            out = np.empty((len(rows), 2, OUTPUTS))
            filtered(value, rotating, config.gravity, rows, 1.0 / RATE, out)
            found.append(innovations_of(out, block))
        return joined(found)

    return predict
