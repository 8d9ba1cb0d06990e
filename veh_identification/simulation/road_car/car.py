"""The road car as numbers: the nominal one, and cars drawn around it as they leave the factory.

`base_link` is fixed to the body at the midpoint of the rear wheel centres of the nominal car at
rest. Corners in the order fl, fr, rl, rr.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

import numpy as np

from veh_identification.simulation.road_car.tyre import lateral_stiffness
from veh_identification.types import Array

GRAVITY = 9.80665
CORNERS = ('fl', 'fr', 'rl', 'rr')
EXTENSION = 1.6  # damping in extension over compression


@dataclass(frozen=True)
class Tyre:
    """Magic Formula of one axle; stiffnesses are those at the nominal load."""

    friction: float = 1.0
    load: float = 4000.0  # nominal vertical load [N]
    cornering: float = 15.0  # cornering stiffness over the load [1/rad]
    longitudinal: float = 22.0  # slip stiffness over the load
    load_sensitivity: float = 0.08  # of the friction, per nominal load
    relaxation_x: float = 0.25  # [m]
    relaxation_y: float = 0.45
    trail: float = 0.03  # pneumatic [m]
    rolling_resistance: float = 0.011
    stiffness: float = 230e3  # vertical [N/m]
    damping: float = 400.0

    def cornering_stiffness(self, load: float) -> float:
        """Slope [N/rad] of the sideways force at a load."""
        return float(lateral_stiffness(np.array(astuple(self)), load))


@dataclass(frozen=True)
class Axle:
    """Suspension of one axle: wheel rates, since the hubs slide along z of the body."""

    stiffness: float
    damping: float  # in compression; in extension 1.6 times
    antiroll: float
    travel: float = 0.08  # to the bump stop [m]
    stop: float = 180e3


@dataclass(frozen=True)
class RoadCar:
    """Everything that moves the car; SI units."""

    wheelbase: float = 2.70
    half_track_front: float = 0.78
    half_track_rear: float = 0.77
    mass: float = 1420.0  # of the sprung body with load
    centre: tuple[float, float, float] = (1.46, 0.0, 0.25)
    inertia: tuple[float, float, float, float] = (540.0, 2200.0, 2400.0, -40.0)  # xx yy zz xz
    unsprung: float = 45.0  # of a corner
    spin_inertia: float = 1.1
    radius: tuple[float, float, float, float] = (0.338, 0.338, 0.338, 0.338)  # without load
    front: Axle = Axle(26e3, 1700.0, 9e3)
    rear: Axle = Axle(25e3, 1600.0, 4e3)
    tyre_front: Tyre = Tyre(load=4100.0)
    tyre_rear: Tyre = Tyre(load=3500.0, cornering=17.0)
    drag: float = 0.42  # half density times area times coefficient [N s^2/m^2]
    side_drag: float = 1.6
    pressure_point: tuple[float, float, float] = (1.55, 0.0, 0.35)
    front_drive: float = 0.0  # share of the drive torque in front
    front_brakes: float = 0.62
    steering_ratio: float = 15.0
    steering_offset: float = 0.0  # of the steering wheel when going straight [rad]
    wheel_mass: float = 20.0  # of the unsprung mass: what is beyond a wheel force sensor

    @property
    def total_mass(self) -> float:
        """Body and corners [kg]."""
        return self.mass + 4.0 * self.unsprung

    def static_loads(self) -> Array:
        """Sprung load [N] on the four suspensions at rest on a level road."""
        x, y = self.centre[0] / self.wheelbase, self.centre[1]
        weight = self.mass * GRAVITY
        front, rear = weight * x, weight * (1.0 - x)
        tilt_front = 0.5 * y / self.half_track_front
        tilt_rear = 0.5 * y / self.half_track_rear
        return np.array(
            [
                front * (0.5 + tilt_front),
                front * (0.5 - tilt_front),
                rear * (0.5 + tilt_rear),
                rear * (0.5 - tilt_rear),
            ]
        )

    def understeer(self) -> float:
        """Slope of the steering angle over the lateral acceleration [rad s^2/m], small slips."""
        corners = self.unsprung * self.wheelbase * 2.0
        front = (self.mass * self.centre[0] + corners) / (self.total_mass * self.wheelbase)
        half = 0.5 * self.total_mass
        slips = []
        for tyre, share, sign in (
            (self.tyre_front, front, 1.0),
            (self.tyre_rear, 1.0 - front, -1.0),
        ):
            stiffness = tyre.cornering_stiffness(half * GRAVITY * share)
            # the forces act the pneumatic trail behind the wheel centres
            slips.append(half * (share + sign * tyre.trail / self.wheelbase) / stiffness)
        return slips[0] - slips[1]

    def handling(self) -> dict[str, float]:
        """What `identify car` without wheel forces looks for, under its names."""
        total, length = self.total_mass, self.wheelbase
        x = (self.mass * self.centre[0] + 2.0 * self.unsprung * length) / total
        front, rear = (
            2.0 * tyre.cornering_stiffness(0.5 * total * GRAVITY * share)
            for tyre, share in ((self.tyre_front, x / length), (self.tyre_rear, 1.0 - x / length))
        )
        corners = (length - x) ** 2 + self.half_track_front**2 + x**2 + self.half_track_rear**2
        inertia = self.inertia[2] + self.mass * (self.centre[0] - x) ** 2
        inertia += 2.0 * self.unsprung * corners
        return {
            'm': total,
            'cg_x': x,
            'Cf': front,
            'Cr': rear,
            'Izz': inertia,
            'Cf/m': front / total,
            'Cr/m': rear / total,
            'Izz/m': inertia / total,
            'sigma_f': self.tyre_front.relaxation_y,
            'sigma_r': self.tyre_rear.relaxation_y,
            'understeer': self.understeer(),
            'Cx': self.drag,
            'rolling': self._rolling(x / length),
            **self.roll(),
        }

    def _rolling(self, front: float) -> float:
        """Force against rolling over weight: the tyres' moments over the heights of the wheels."""
        found = 0.0
        for tyre, radii, share in (
            (self.tyre_front, self.radius[:2], front),
            (self.tyre_rear, self.radius[2:], 1.0 - front),
        ):
            free = 0.5 * sum(radii)
            height = free - 0.5 * share * self.total_mass * GRAVITY / tyre.stiffness
            found += share * tyre.rolling_resistance * free / height
        return found

    def roll(self) -> dict[str, float]:
        """Slow roll about the road: natural frequency, damping ratio, and angle over acceleration.

        The hubs slide along z of the body, so it rolls about the ground, springs and tyres in
        series; across z the hubs move with it, along z they stay on the road.
        """
        height = float(np.mean(self.radius)) - self.total_mass * GRAVITY / (
            2.0 * (self.tyre_front.stiffness + self.tyre_rear.stiffness)
        )
        corners, above = 4.0 * self.unsprung, self.centre[2]
        stiffness = damping = 0.0
        for axle, tyre, half in (
            (self.front, self.tyre_front, self.half_track_front),
            (self.rear, self.tyre_rear, self.half_track_rear),
        ):
            spring = axle.stiffness + 2.0 * axle.antiroll
            soft = tyre.stiffness / (tyre.stiffness + spring)
            stiffness += 2.0 * half**2 * spring * soft
            damping += half**2 * axle.damping * (1.0 + EXTENSION) * soft**2
        stiffness -= self.mass * GRAVITY * above
        arm = self.mass * above / self.total_mass  # of the centre of gravity over the hubs
        inertia = self.inertia[0] + self.mass * (above - arm) ** 2 + corners * arm**2
        moment = self.total_mass * (height + arm)
        frequency = np.sqrt(stiffness / inertia)
        return {
            'roll_frequency': float(frequency),
            'roll_damping': float(damping / (2.0 * frequency * inertia)),
            'roll_gradient': float(np.degrees(1.0) * GRAVITY * moment / stiffness),
        }

    def tyres(self) -> dict[str, float]:
        """What `identify car --tyres` looks for; stiffness over load, to be had at any load."""
        found: dict[str, float] = {}
        for axle, tyre, radii in (
            ('front', self.tyre_front, self.radius[:2]),
            ('rear', self.tyre_rear, self.radius[2:]),
        ):
            found |= {
                f'friction_y_{axle}': tyre.friction,
                f'friction_x_{axle}': tyre.friction,
                f'nominal_load_{axle}': tyre.load,
                f'slip_stiffness_over_load_{axle}': tyre.longitudinal,
                f'cornering_stiffness_at_nominal_{axle}': tyre.cornering_stiffness(tyre.load),
                f'camber_stiffness_{axle}': 0.0,
                f'relaxation_y_{axle}': tyre.relaxation_y,
                f'relaxation_x_{axle}': tyre.relaxation_x,
                f'rolling_resistance_{axle}': tyre.rolling_resistance,
                f'vertical_stiffness_{axle}': tyre.stiffness,
                f'free_radius_{axle}': 0.5 * sum(radii),
            }
        return found

    def packed(self, preload: Array) -> Array:
        """The numbers in the order that the kernel takes them (see `dynamics`)."""
        tyres = [value for t in (self.tyre_front, self.tyre_rear) for value in astuple(t)]
        axles = [value for a in (self.front, self.rear) for value in astuple(a)]
        return np.array(
            [
                self.wheelbase,
                self.half_track_front,
                self.half_track_rear,
                self.mass,
                *self.centre,
                *self.inertia,
                self.unsprung,
                self.spin_inertia,
                *self.radius,
                self.drag,
                self.side_drag,
                *self.pressure_point,
                self.front_drive,
                self.front_brakes,
                *preload,
                *axles,
                *tyres,
            ]
        )


NOMINAL = RoadCar()


def draw_car(seed: int, spread: float = 1.0) -> RoadCar:
    """A car as somebody drives it: load, springs, tyres and radii off by realistic amounts."""
    random = np.random.default_rng([seed, 101])

    def about(value: float, deviation: float) -> float:
        return float(value * np.exp(spread * deviation * random.uniform(-1.7, 1.7)))

    n = NOMINAL
    load = spread * random.uniform(0.0, 220.0)  # passengers and luggage
    mass = about(n.mass, 0.02) + load
    low, high = (-0.10, -0.03, -0.03), (0.05, 0.03, 0.06)
    shift = (spread * random.uniform(low, high)).tolist()
    grip = about(1.0, 0.06)
    cornering = about(1.0, 0.1)

    def tyre(base: Tyre) -> Tyre:
        return replace(
            base,
            friction=base.friction * grip,
            cornering=about(base.cornering, 0.05) * cornering,
            longitudinal=about(base.longitudinal, 0.15),
            relaxation_y=about(base.relaxation_y, 0.2),
            rolling_resistance=about(base.rolling_resistance, 0.2),
            stiffness=about(base.stiffness, 0.06),
        )

    def axle(base: Axle) -> Axle:
        return replace(
            base,
            stiffness=about(base.stiffness, 0.06),
            damping=about(base.damping, 0.15),
            antiroll=about(base.antiroll, 0.1),
        )

    worn = spread * random.uniform(-0.004, 0.002)  # tread and pressure, all wheels alike
    radii = [r + worn + spread * random.uniform(-0.0012, 0.0012) for r in n.radius]
    return replace(
        n,
        wheelbase=n.wheelbase + spread * random.uniform(-0.01, 0.01),
        half_track_front=n.half_track_front + spread * random.uniform(-0.01, 0.01),
        half_track_rear=n.half_track_rear + spread * random.uniform(-0.01, 0.01),
        mass=mass,
        centre=(n.centre[0] + shift[0], n.centre[1] + shift[1], n.centre[2] + shift[2]),
        inertia=(
            about(n.inertia[0], 0.05) * mass / n.mass,
            about(n.inertia[1], 0.05) * mass / n.mass,
            about(n.inertia[2], 0.05) * mass / n.mass,
            n.inertia[3],
        ),
        spin_inertia=about(n.spin_inertia, 0.08),
        radius=(radii[0], radii[1], radii[2], radii[3]),
        front=axle(n.front),
        rear=axle(n.rear),
        tyre_front=tyre(n.tyre_front),
        tyre_rear=tyre(n.tyre_rear),
        drag=about(n.drag, 0.08),
        side_drag=about(n.side_drag, 0.1),
        steering_ratio=about(n.steering_ratio, 0.015),
        steering_offset=spread * random.uniform(-0.03, 0.03),
        # drawn apart, so that the cars stay those they were
        wheel_mass=n.wheel_mass
        + spread * float(np.random.default_rng([seed, 110]).uniform(-1.0, 1.0)),
    )
