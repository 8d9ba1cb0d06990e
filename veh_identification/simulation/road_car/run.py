"""The driver and the run: a path or a list of manoeuvres, integrated at 2 kHz."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from veh_identification.simulation.road_car.car import NOMINAL, RoadCar
from veh_identification.simulation.road_car.dynamics import (
    ALPHA,
    CONTACT,
    FRONT_BRAKES,
    FRONT_DRIVE,
    LOAD,
    MASS,
    OMEGA,
    QD,
    QDD,
    RADIUS,
    RATE_SIZE,
    SPIN,
    SPIN_RATE,
    STATE_SIZE,
    THETA,
    TYRE_SIZE,
    TYRES,
    UNSPRUNG,
    UX,
    A,
    P,
    Q,
    R,
    V,
    W,
    accelerate,
    advance,
)
from veh_identification.simulation.road_car.road import Path, surface
from veh_identification.types import Array

STEP = 0.0005  # [s]
EVERY = 2  # steps a row of the record
RATE = 1.0 / (STEP * EVERY)
SETTLE = 4.0  # seconds at rest before the time counts
FASTEST_EVENT = 20.0  # where wheels are made to slip [m/s]: faster, the car may turn round
LAG_STEER, LAG_PEDAL = 0.12, 0.15  # of the driver [s]
#: Further columns of the record, after state and rates.
STEER, DRIVE, BRAKE, WAY = (STATE_SIZE + RATE_SIZE + k for k in range(4))
WIDTH = STATE_SIZE + RATE_SIZE + 4


@dataclass(frozen=True)
class WheelEvent:
    """Wheels that the torque makes spin or lock, on a slippery patch.

    It begins at the first straight after `time` that is driven at 8 to 20 m/s.
    """

    time: float
    duration: float
    wheels: tuple[int, ...]  # corners
    factor: float  # rim speed over that of rolling; 0: locked
    grip: float = 0.4  # factor on the friction under these wheels


@dataclass(frozen=True)
class Task:
    """What is driven: a path, or rows of (until [s], road wheel angle, speed; NaN: coasting)."""

    path: Path | None = None
    manoeuvres: tuple[tuple[float, float, float], ...] = ()
    start: tuple[float, float, float] = (0.0, 0.0, 0.0)  # x, y, heading
    speed: float = 0.0
    events: tuple[WheelEvent, ...] = ()


@dataclass(frozen=True, eq=False)
class Record:
    """The run at 1 kHz; vectors of `base_link`."""

    car: RoadCar
    table: Array = field(repr=False)  # (N, WIDTH)
    events: tuple[float, ...] = ()  # when the wheel events really began [s], NaN: never

    def columns(self, first: int, count: int) -> Array:
        """Some columns."""
        return self.table[:, first : first + count]

    @property
    def time(self) -> Array:
        """Seconds since the start."""
        return np.arange(len(self.table)) / RATE

    @property
    def position(self) -> Array:
        """In the world (N, 3)."""
        return self.columns(P, 3)

    @property
    def rotation(self) -> Array:
        """Base to world (N, 3, 3)."""
        return self.columns(R, 9).reshape(-1, 3, 3)

    @property
    def velocity(self) -> Array:
        """In the world (N, 3)."""
        return self.columns(V, 3)

    @property
    def rates(self) -> Array:
        """Angular velocity in base axes (N, 3)."""
        return self.columns(W, 3)

    @property
    def acceleration(self) -> Array:
        """In base axes, against the world (N, 3)."""
        return self.columns(STATE_SIZE + A, 3)

    @property
    def angular_acceleration(self) -> Array:
        """In base axes (N, 3)."""
        return self.columns(STATE_SIZE + ALPHA, 3)

    @property
    def wheel(self) -> Array:
        """Angles of the wheels (N, 4)."""
        return self.columns(THETA, 4)

    @property
    def wheel_rate(self) -> Array:
        """Their rates (N, 4)."""
        return self.columns(OMEGA, 4)

    @property
    def travel(self) -> Array:
        """Hub travel, positive in compression (N, 4)."""
        return self.columns(Q, 4)

    @property
    def travel_rate(self) -> Array:
        """Its first derivative (N, 4)."""
        return self.columns(QD, 4)

    @property
    def travel_acceleration(self) -> Array:
        """Its second derivative (N, 4)."""
        return self.columns(STATE_SIZE + QDD, 4)

    @property
    def spin_rate(self) -> Array:
        """Angular acceleration of the wheels (N, 4)."""
        return self.columns(STATE_SIZE + SPIN_RATE, 4)

    @property
    def contact(self) -> Array:
        """Force of the road and its moment about the wheel centre (N, 4, 6), body axes."""
        return self.columns(STATE_SIZE + CONTACT, 24).reshape(-1, 4, 6)

    @property
    def load(self) -> Array:
        """Tyre loads (N, 4)."""
        return self.columns(STATE_SIZE + LOAD, 4)

    @property
    def steer(self) -> Array:
        """Mean angle of the front wheels (N,)."""
        return self.table[:, STEER]

    @property
    def drive(self) -> Array:
        """Drive torque of all wheels (N,)."""
        return self.table[:, DRIVE]

    @property
    def speed(self) -> Array:
        """Forward speed (N,)."""
        return np.asarray(np.einsum('ni,ni->n', self.velocity, self.rotation[:, :, 0]))


@njit(cache=True)
def ackermann(par: Array, mean: float, steer: Array) -> None:
    """Angles of the two front wheels."""
    tangent = np.tan(mean)
    for i in range(2):
        side = 1.0 if i == 0 else -1.0
        steer[i] = np.arctan(par[0] * tangent / (par[0] - side * par[1] * tangent))
    steer[2] = steer[3] = 0.0


@njit(cache=True)
def look(table: Array, way: float, column: int) -> float:
    """A column of the path at a place along it."""
    place = min(max(way, 0.0), table.shape[0] - 2.0)
    k = int(place)
    part = place - k
    return (1.0 - part) * table[k, column] + part * table[k + 1, column]


@njit(cache=True)
def straight(table: Array, way: float, length: float) -> float:
    """Largest curvature of the path ahead."""
    most = 0.0
    for k in range(13):
        most = max(most, abs(look(table, way + k / 12.0 * length, 3)))
    return most


@njit(cache=True)
def share(margin: float) -> float:
    """What a slip control leaves of a torque."""
    return min(max(10.0 * margin, 0.0), 1.0)


@njit(cache=True)
def follow(
    par: Array, table: Array, state: Array, speed: float, way: float, wanted_understeer: float
) -> tuple[float, float, float]:
    """Steering that brings the car back to the path; the place along it; the distance from it."""
    dx, dy = state[P] - look(table, way, 0), state[P + 1] - look(table, way, 1)
    heading = look(table, way, 2)
    way += dx * np.cos(heading) + dy * np.sin(heading)
    dx, dy = state[P] - look(table, way, 0), state[P + 1] - look(table, way, 1)
    heading = look(table, way, 2)
    aside = -dx * np.sin(heading) + dy * np.cos(heading)
    course = np.arctan2(state[R + 3], state[R])
    turned = (course - heading + np.pi) % (2 * np.pi) - np.pi
    stiff = 1.0 / (0.8 * max(speed, 5.0))
    ahead = look(table, way + LAG_STEER * speed + 0.3, 3)
    curve = ahead - stiff**2 * aside - 1.8 * stiff * turned
    angle = np.arctan(par[0] * curve) + wanted_understeer * curve * speed**2
    angle -= 0.12 * (state[W + 2] - speed * look(table, way, 3))  # catches a sliding car
    return min(max(angle, -0.6), 0.6), way, aside


@njit(cache=True)
def drive_kernel(
    par: Array,
    waves: Array,
    wind: Array,
    path: Array,
    stops: Array,
    manoeuvres: Array,
    events: Array,
    state: Array,
    understeer: float,
    steps: int,
    hold: bool,
    record: Array,
    begun: Array,
) -> None:
    """Integrate; with `hold` the brakes are on and nothing is recorded."""
    rates = np.zeros(RATE_SIZE)
    steer, drive, brake, grip = np.zeros(4), np.zeros(4), np.zeros(4), np.ones(4)
    mass = par[MASS] + 4 * par[UNSPRUNG]
    radius = par[RADIUS]
    mean = pedal = way = 0.0
    halt, waited, row = 0, 0.0, 0
    gust = np.zeros(2)
    for step in range(steps):
        t = step * STEP
        speed = 0.0
        for k in range(3):
            speed += state[V + k] * state[R + 3 * k]
        place = 10.0 * t
        k = min(int(place), wind.shape[0] - 2)
        for j in range(2):
            gust[j] = wind[k, j] + (place - k) * (wind[k + 1, j] - wind[k, j])
        # what the driver wants: a road wheel angle and an acceleration
        angle, wanted, coasting = 0.0, -2.0, False
        if hold:
            pass
        elif manoeuvres.shape[0] > 0:
            k = 0
            while k < manoeuvres.shape[0] - 1 and t >= manoeuvres[k, 0]:
                k += 1
            angle, target = manoeuvres[k, 1], manoeuvres[k, 2]
            coasting = np.isnan(target)
            wanted = 0.0 if coasting else 1.5 * (target - speed)
        else:
            angle, way, _ = follow(par, path, state, speed, way, understeer)
            target = max(look(path, way + 0.25 * speed + 0.4, 4), 1.2)
            wanted = 1.2 * (target - speed)
            if halt < stops.shape[0] and way > stops[halt, 0] - 0.4:
                wanted = -2.0
                if abs(speed) < 0.05:
                    waited += STEP
                if waited > stops[halt, 1]:
                    halt, waited = halt + 1, 0.0
        mean += STEP / LAG_STEER * (angle - mean)
        wanted = min(max(wanted, -5.0), 2.5)
        drag = 0.0 if hold else 0.42 * speed**2 + 0.011 * mass * 9.8
        pedal += STEP / LAG_PEDAL * (mass * wanted + (drag if wanted > -2.0 else 0.0) - pedal)
        torque = 0.0 if coasting else pedal * radius
        ackermann(par, mean, steer)
        for i in range(4):
            grip[i] = 1.0
            front_drive = par[FRONT_DRIVE] if i < 2 else 1.0 - par[FRONT_DRIVE]
            front_brakes = par[FRONT_BRAKES] if i < 2 else 1.0 - par[FRONT_BRAKES]
            # traction control and anti-lock brakes, as any car has
            slip = state[UX + i] / par[TYRES + (i // 2) * TYRE_SIZE + 5]
            drive[i] = 0.5 * front_drive * max(torque, 0.0) * share(0.2 - slip)
            brake[i] = 0.5 * front_brakes * max(-torque, 0.0) * share(0.2 + slip)
        for e in range(events.shape[0]):
            if (
                not hold
                and np.isnan(begun[e])
                and t >= events[e, 0]
                and 8.0 < speed < FASTEST_EVENT
                and abs(state[W + 2]) < 0.02
                and straight(path, way, speed * (events[e, 1] + 1.5)) < 0.002
            ):
                begun[e] = t
            if not np.isnan(begun[e]) and begun[e] <= t < begun[e] + events[e, 1]:
                for i in range(4):
                    if events[e, 2 + i] > 0.0:
                        grip[i] = events[e, 7]
                        if events[e, 6] > 0.0:
                            rolling = par[RADIUS + i] - 0.006
                            error = events[e, 6] * speed / rolling - state[OMEGA + i]
                            drive[i] = min(max(300.0 + 200.0 * par[SPIN] * error, 0.0), 2500.0)
                        else:
                            drive[i], brake[i] = 0.0, 4000.0
        accelerate(par, waves, state, steer, drive, brake, grip, gust, STEP, rates)
        if not hold and step % EVERY == 0:
            record[row, :STATE_SIZE] = state
            record[row, STATE_SIZE : STATE_SIZE + RATE_SIZE] = rates
            record[row, STEER], record[row, WAY] = mean, way
            record[row, DRIVE], record[row, BRAKE] = np.sum(drive), np.sum(brake)
            row += 1
        advance(par, state, rates, STEP)


def _start(car: RoadCar, waves: Array, pose: tuple[float, float, float]) -> Array:
    """The car on the road without speed, its axes along the slope."""
    state = np.zeros(STATE_SIZE)
    x, y, heading = pose
    height, slope_x, slope_y = surface(waves, x, y)
    normal = np.array([-slope_x, -slope_y, 1.0])
    normal /= np.linalg.norm(normal)
    forward = np.array([np.cos(heading), np.sin(heading), 0.0])
    forward -= (forward @ normal) * normal
    forward /= np.linalg.norm(forward)
    rotation = np.column_stack([forward, np.cross(normal, forward), normal])
    state[R : R + 9] = rotation.ravel()
    state[P : P + 3] = np.array([x, y, height]) + normal * (car.radius[2] - 0.015)
    return state


def simulate(
    car: RoadCar,
    task: Task,
    duration: float,
    waves: Array | None = None,
    wind: Array | None = None,
) -> Record:
    """Drive; without waves the road is level, without wind the air is still."""
    ground = np.zeros((0, 4)) if waves is None else waves
    air = np.zeros((2, 2)) if wind is None else wind
    par = car.packed(NOMINAL.static_loads())
    state = _start(car, ground, task.start)
    path = np.zeros((2, 5)) if task.path is None else task.path.table
    stops = np.zeros((0, 2)) if task.path is None else task.path.stops
    manoeuvres = np.array(task.manoeuvres, dtype=float).reshape(-1, 3)
    events = np.array(
        [
            (e.time, e.duration, *(float(i in e.wheels) for i in range(4)), e.factor, e.grip)
            for e in task.events
        ]
    ).reshape(-1, 8)
    begun = np.full(len(task.events), np.nan)
    count = int(np.ceil(duration * RATE)) + 1
    record = np.empty((count, WIDTH))
    common = (par, ground, air, path, stops, manoeuvres, events, state, car.understeer())
    drive_kernel(*common, round(SETTLE / STEP), True, record, begun)
    state[V : V + 3] += task.speed * state[R : R + 9].reshape(3, 3)[:, 0]
    state[OMEGA : OMEGA + 4] += task.speed / (np.array(car.radius) - 0.006)
    state[THETA : THETA + 4] = 0.0
    drive_kernel(*common, count * EVERY, False, record, begun)
    return Record(car, record, tuple(begun.tolist()))
