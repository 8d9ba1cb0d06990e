"""The true car: every number of the simulated vehicle, and what counts as its 33 parameters.

The suspension force on a hub is k q + h qd + fs sign(qd) + off + k_ar (q - q_opposite) in the
range of normal driving: springs are linear up to the bump stops, dampers up to their knees, and
the sign is tanh(qd / friction_speed), or that of surfaces that stick (`Stiction`). The truth of k,
h, fs and off is that of this linear range; beyond it the force departs from the model that is
identified, on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import NamedTuple

import numpy as np

from veh_identification.simulation.car.axle import BETA, GAMMA, TERMS, ZETA, X, Y
from veh_identification.simulation.car.tyre import Tyre
from veh_identification.systems.car.configuration import Geometry
from veh_identification.systems.car.parameters import AERODYNAMIC, NAMES
from veh_identification.types import Array

GRAVITY = 9.80665
#: Names of the suspension's parameters at one corner.
KINDS = ('k', 'fs', 'h', 'off')


@dataclass(frozen=True)
class Inertia:
    """Chassis by its centre of mass; the parameters at `base_link` follow by Steiner's rule."""

    mass: float = 1536.0
    centre: tuple[float, float, float] = (1.588, 0.006, 0.215)
    #: XX, YY, ZZ, XZ, XY, YZ about the centre of mass (products: minus integral of x y dm).
    moments: tuple[float, float, float, float, float, float] = (
        510.0,
        2180.0,
        2420.0,
        46.0,
        14.0,
        -9.0,
    )

    def parameters(self) -> dict[str, float]:
        """Mc .. YZc at the origin of `base_link`."""
        c = np.array(self.centre)
        xx, yy, zz, xz, xy, yz = self.moments
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        J = about + self.mass * (c @ c * np.eye(3) - np.outer(c, c))
        first = self.mass * c
        return {
            'Mc': self.mass,
            'MXc': first[0],
            'MYc': first[1],
            'MZc': first[2],
            'XXc': J[0, 0],
            'YYc': J[1, 1],
            'ZZc': J[2, 2],
            'XZc': J[0, 2],
            'XYc': J[0, 1],
            'YZc': J[1, 2],
        }


@dataclass(frozen=True)
class Suspension:
    """One corner; forces in N, travel in m, positive in compression."""

    stiffness: float
    damping: float
    friction: float
    unsprung: float  # mass between suspension and wheel sensor [kg]
    #: Travel at which the springs carry the standing car: gives the offset.
    standing: float = 0.0
    bump: float = 0.055  # from here on the stop pushes as well
    rebound: float = 0.065
    stop_stiffness: float = 6e7  # of the cubic stop [N/m^3]
    knee_bump: float = 0.45  # damper speed where its valve opens [m/s]
    knee_rebound: float = 0.60
    open_bump: float = 0.45  # slope beyond the knee over the slope before it
    open_rebound: float = 0.65


def _peugeot() -> tuple[Suspension, Suspension, Suspension, Suspension]:
    return (
        Suspension(21150.0, 2760.0, 9.5, 25.4, 0.002),
        Suspension(20780.0, 2830.0, 30.0, 24.1, 0.003),
        Suspension(22460.0, 3060.0, 4.0, 26.3, -0.002),
        Suspension(22910.0, 3170.0, 6.0, 24.8, -0.003),
    )


@dataclass(frozen=True)
class Stiction:
    """Surfaces that really stick: a bristle at each corner, elastoplastic (Prandtl's element).

    Stuck surfaces carry any force up to fs, by a strain of micrometres; they slip at fs. With a
    break-away force above fs the friction falls as soon as they move (Stribeck). `gradual` is the
    law of Dahl and LuGre instead: surfaces slip a little from the first and approach fs.
    """

    presliding: float = 2e-5  # strain at which the surfaces slip [m]
    breakaway: float = 1.0  # static over sliding friction
    stribeck_speed: float = 5e-3  # by which it has fallen [m/s]
    gradual: bool = False


@dataclass(frozen=True)
class Vehicle:
    """The whole car; corners in the order fl, fr, rl, rr."""

    geometry: Geometry = field(default_factory=Geometry)
    inertia: Inertia = field(default_factory=Inertia)
    corners: tuple[Suspension, Suspension, Suspension, Suspension] = field(
        default_factory=_peugeot
    )
    anti_roll_front: float = 19600.0
    anti_roll_rear: float = 20450.0
    #: Force on the body is minus coefficient times (vx^2 + vy^2): Cx, Cy, Cz, Cl, Cm, Cn.
    air: tuple[float, float, float, float, float, float] = (0.43, 0.0, -0.008, 0.0, -0.006, 0.0)
    tyre: Tyre = field(default_factory=Tyre)
    wheel_mass: float = 18.8  # rim and tyre: what is beyond the wheel sensor
    wheel_spin_inertia: float = 1.05
    wheel_turn_inertia: float = 0.62
    run_out: float = 0.25e-3  # radial, of every wheel [m]
    friction_speed: float = 2e-3  # of the regularised sign [m/s]
    stiction: Stiction | None = None  # instead of the regularised sign
    #: Coefficients (4, 5, 6) of `car_axle`; made from the geometry when None.
    axles: tuple[tuple[tuple[float, ...], ...], ...] | None = None
    #: 0: every freedom of the axle is a joint of its own, as in the 38-dof model. 1: an ideal
    #: linkage, whose guiding forces do no work; they then jack the body up.
    linkage: float = 0.0

    def axle_array(self) -> Array:
        """Coefficients (4, 5, 6) of the axle kinematics."""
        if self.axles is not None:
            return np.array(self.axles, dtype=float)
        return default_axles(self.geometry)

    def parameters(self) -> dict[str, float]:
        """The 33 true parameters under their names of the contract."""
        values = self.inertia.parameters()
        values.update({f'M{j}': corner.unsprung for j, corner in enumerate(self.corners, 1)})
        values.update(karr=self.anti_roll_rear, karf=self.anti_roll_front, Cx=self.air[0])
        for j, (corner, off) in enumerate(zip(self.corners, self.offsets(), strict=True), 1):
            four = (corner.stiffness, corner.friction, corner.damping, off)
            values.update({f'{kind}{j}': one for kind, one in zip(KINDS, four, strict=True)})
        return {name: float(values[name]) for name in NAMES}

    def further_air(self) -> dict[str, float]:
        """The five aerodynamic coefficients beside Cx."""
        return dict(zip(AERODYNAMIC, self.air[1:], strict=True))

    def spring_loads(self) -> Array:
        """What the four suspensions carry at rest: no warp between the axles."""
        x, y = np.array(self.geometry.wheel_x), np.array(self.geometry.wheel_y)
        weight = self.inertia.mass * GRAVITY
        cx, cy, _ = self.inertia.centre
        front = weight * (cx - x[2:].mean()) / (x[:2].mean() - x[2:].mean())
        axle = np.array([front, weight - front])
        # The same sideways balance on both axles.
        left = np.array([(cy - y[1]) / (y[0] - y[1]), (cy - y[3]) / (y[2] - y[3])])
        return np.array(
            [
                axle[0] * left[0],
                axle[0] * (1 - left[0]),
                axle[1] * left[1],
                axle[1] * (1 - left[1]),
            ]
        )

    def offsets(self) -> Array:
        """off1..off4: spring loads at rest less what the springs add at the standing travel."""
        q = np.array([corner.standing for corner in self.corners])
        k = np.array([corner.stiffness for corner in self.corners])
        bars = np.repeat([self.anti_roll_front, self.anti_roll_rear], 2)
        return self.spring_loads() - k * q - bars * (q - q[[1, 0, 3, 2]])


def default_axles(geometry: Geometry) -> Array:
    """Plausible axle kinematics: bump steer, camber gain, track and wheelbase change."""
    coefficients = np.zeros((4, 5, len(TERMS)))
    for corner in range(4):
        side = 1.0 if corner in (0, 2) else -1.0
        front = corner < 2
        c = coefficients[corner]
        c[X, 0], c[Y, 0] = geometry.wheel_x[corner], geometry.wheel_y[corner]
        c[X, 1] = 0.025 if front else -0.04
        c[Y, 1:3] = side * np.array([0.03, -0.45] if front else [0.02, -0.30])
        # Toe-in: left wheels turned to the right, right wheels to the left.
        c[BETA, 0] = -side * (0.0012 if front else 0.0021)
        c[BETA, 1] = -side * (0.035 if front else -0.02)
        # A positive angle about x leans the top to the right: inwards at the left wheels.
        c[GAMMA, 0] = side * (0.006 if front else 0.012)
        c[GAMMA, 1] = side * (0.12 if front else 0.15)
        c[ZETA, 1] = 0.15 if front else -0.10
        if front:
            c[BETA, 3], c[BETA, 4] = 1.0, side * 0.35  # Ackermann
            c[GAMMA, 3] = -0.09  # caster leans the steered wheel into the bend
            c[X, 3], c[Y, 4] = -side * 0.012, -side * 0.02  # kingpin beside the wheel centre
            c[ZETA, 5] = 0.3
    return coefficients


def random_vehicle(seed: int, geometry: Geometry | None = None, spread: float = 1.0) -> Vehicle:
    """Another car of the same class: every parameter differs by some per cent."""
    rng = np.random.default_rng((seed, 406))

    def near(value: float, percent: float) -> float:
        return float(value * (1.0 + spread * percent / 100.0 * rng.uniform(-1.0, 1.0)))

    base = Vehicle(geometry=geometry or Geometry())
    x, y, z = base.inertia.centre
    inertia = Inertia(
        near(base.inertia.mass, 12.0),
        (near(x, 5.0), y + 0.012 * spread * rng.uniform(-1.0, 1.0), near(z, 15.0)),
        _other_moments(base.inertia.moments, spread, rng),
    )
    corners = [
        replace(
            one,
            stiffness=near(one.stiffness, 15.0),
            damping=near(one.damping, 15.0),
            friction=near(one.friction, 40.0),
            unsprung=near(one.unsprung, 15.0),
            standing=one.standing + 0.003 * spread * rng.uniform(-1.0, 1.0),
        )
        for one in base.corners
    ]
    return replace(
        base,
        inertia=inertia,
        corners=(corners[0], corners[1], corners[2], corners[3]),
        anti_roll_front=near(base.anti_roll_front, 20.0),
        anti_roll_rear=near(base.anti_roll_rear, 20.0),
        air=(near(base.air[0], 12.0), *base.air[1:]),
    )


def _other_moments(
    moments: tuple[float, ...], spread: float, rng: np.random.Generator
) -> tuple[float, float, float, float, float, float]:
    xx, yy, zz = np.array(moments[:3]) * (1.0 + spread * 0.10 * rng.uniform(-1.0, 1.0, 3))
    xz, xy, yz = np.array(moments[3:]) + spread * 12.0 * rng.uniform(-1.0, 1.0, 3)
    # No body has one moment larger than the sum of the others.
    zz = min(zz, 0.98 * (xx + yy))
    return (float(xx), float(yy), float(zz), float(xz), float(xy), float(yz))


class CarArrays(NamedTuple):
    """The vehicle as the kernels want it."""

    mass: float
    first: Array  # (3,) MX, MY, MZ
    inertia: Array  # (3, 3) at base_link
    axles: Array  # (4, 5, 6)
    corners: Array  # (4, 12), see `pack`
    bars: Array  # (4,) anti-roll stiffness of the corner's axle
    air: Array  # (6,)
    wheel: Array  # mass, spin inertia, turn inertia, run-out
    tyre: Tyre
    friction_speed: float
    stiction: Array  # (4,) of `Stiction`; no presliding: the regularised sign
    linkage: float


def pack(vehicle: Vehicle) -> CarArrays:
    """Arrays for the kernels; corner columns: k, h, fs, off, M, then those of `Suspension`."""
    p: Mapping[str, float] = vehicle.parameters()
    J = np.array(
        [
            [p['XXc'], p['XYc'], p['XZc']],
            [p['XYc'], p['YYc'], p['YZc']],
            [p['XZc'], p['YZc'], p['ZZc']],
        ]
    )
    rows = [
        [
            c.stiffness,
            c.damping,
            c.friction,
            off,
            c.unsprung,
            c.bump,
            c.rebound,
            c.stop_stiffness,
            c.knee_bump,
            c.knee_rebound,
            c.open_bump,
            c.open_rebound,
        ]
        for c, off in zip(vehicle.corners, vehicle.offsets(), strict=True)
    ]
    front, rear = vehicle.anti_roll_front, vehicle.anti_roll_rear
    return CarArrays(
        p['Mc'],
        np.array([p['MXc'], p['MYc'], p['MZc']]),
        J,
        vehicle.axle_array(),
        np.array(rows),
        np.array([front, front, rear, rear]),
        np.array(vehicle.air),
        np.array(
            [
                vehicle.wheel_mass,
                vehicle.wheel_spin_inertia,
                vehicle.wheel_turn_inertia,
                vehicle.run_out,
            ]
        ),
        vehicle.tyre,
        vehicle.friction_speed,
        np.array(
            (0.0, 1.0, 1.0, 0.0) if vehicle.stiction is None else astuple(vehicle.stiction),
            dtype=float,
        ),
        vehicle.linkage,
    )
