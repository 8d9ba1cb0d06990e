"""Forces on one corner of the simulated car: suspension, and what the road does to the wheel."""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.simulation.car.road import road_height
from veh_identification.simulation.car.tyre import Tyre, slow_share, tyre_force
from veh_identification.simulation.car.vehicle import CarArrays
from veh_identification.types import Array

#: Fields that `road_wrench` leaves in its output row after force and moment.
DEFLECTION, LOAD, SLIP_RATE_X, SLIP_RATE_Y, HEIGHT = range(6, 11)


@njit(cache=True, nogil=True)
def slipping_strain(car: CarArrays, qd: float) -> float:
    """Strain at which the surfaces of a suspension slip: more where they hardly move yet."""
    presliding, breakaway, slow, _ = car.stiction
    return float(presliding * (1.0 + (breakaway - 1.0) * np.exp(-((qd / slow) ** 2))))


@njit(cache=True, nogil=True)
def bristle_rate(car: CarArrays, qd: float, strain: float) -> float:
    """Stuck surfaces strain as the suspension moves; slipping ones do no more."""
    if car.stiction[0] == 0.0 or car.stiction[3] > 0.0:
        return 0.0
    slips = qd * strain > 0.0 and abs(strain) >= slipping_strain(car, qd)
    return 0.0 if slips else qd


@njit(cache=True, nogil=True)
def strain_after(car: CarArrays, qd: float, strain: float, step: float) -> float:
    """Strain at the end of a step: slipped back to what holds, or nearer to it (`gradual`)."""
    most = slipping_strain(car, qd)
    if car.stiction[0] == 0.0 or car.stiction[3] == 0.0:
        return float(min(max(strain, -most), most))
    # z' = v - |v| z / g (Dahl), solved for a speed that stays: stiff where the surfaces move
    end = most if qd > 0.0 else -most
    return float(end + (strain - end) * np.exp(-abs(qd) * step / most))


@njit(cache=True, nogil=True)
def dry_friction(car: CarArrays, corner: int, qd: float, strain: float) -> float:
    """Friction of a suspension: a smoothed sign, or surfaces that stick and slip."""
    coulomb = car.corners[corner, 2]
    if car.stiction[0] == 0.0:
        return float(coulomb * np.tanh(qd / car.friction_speed))
    stiffness = coulomb / car.stiction[0]
    most = slipping_strain(car, qd)
    return float(stiffness * min(max(strain, -most), most))


@njit(cache=True, nogil=True)
def suspension_force(
    car: CarArrays, corner: int, q: float, qd: float, opposite: float, strain: float
) -> float:
    """What spring, damper, friction and anti-roll bar push down on the hub."""
    c = car.corners[corner]
    force = c[0] * q + c[3] + car.bars[corner] * (q - opposite)
    force += dry_friction(car, corner, qd, strain)
    if q > c[5]:
        force += c[7] * (q - c[5]) ** 3
    elif q < -c[6]:
        force += c[7] * (q + c[6]) ** 3
    # Beyond a knee the valve opens: a softer slope.
    knee, share = (c[8], c[10]) if qd > 0.0 else (-c[9], c[11])
    if abs(qd) <= abs(knee):
        return force + c[1] * qd
    return force + c[1] * (knee + share * (qd - knee))


@njit(cache=True, nogil=True)
def cross(a: Array, b: Array, out: Array) -> None:
    """Vector product."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@njit(cache=True, nogil=True)
def dot(a: Array, b: Array) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, nogil=True)
def _contact_axes(spin: Array, up: Array, slope: float, axes: Array) -> None:
    """Rows of `axes`: along the track of the wheel, to its left, normal to the road."""
    ahead, left, normal = axes[0], axes[1], axes[2]
    cross(spin, up, ahead)
    length = np.sqrt(dot(ahead, ahead))
    for k in range(3):
        normal[k] = up[k] - slope * ahead[k] / length
    length = np.sqrt(dot(normal, normal))
    for k in range(3):
        normal[k] /= length
    cross(spin, normal, ahead)
    length = np.sqrt(dot(ahead, ahead))
    for k in range(3):
        ahead[k] /= length
    cross(normal, ahead, left)


@njit(cache=True, nogil=True)
def _vertical_load(tyre: Tyre, deflection: float, rate: float) -> float:
    """A tyre pushes but never pulls."""
    if deflection <= 0.0:
        return 0.0
    return max(0.0, tyre.stiffness * deflection + tyre.damping * rate)


@njit(cache=True, nogil=True)
def road_wrench(
    car: CarArrays,
    profile: Array,
    start: float,
    side: int,
    station: float,
    station_rate: float,
    height: float,
    up: Array,
    spin: Array,
    velocity: Array,
    hub_rate: Array,
    wheel: Array,
    work: Array,
    out: Array,
) -> None:
    """Force of the road on the wheel and its moment about the wheel centre, in chassis axes.

    `height`: wheel centre over the datum; `up`: world vertical; `spin`: wheel axis; `velocity`:
    of the wheel centre; `wheel`: angle, absolute spin rate and the two tyre deflections.
    """
    tyre, run_out = car.tyre, car.wheel[3]
    road, slope = road_height(profile, start, side, station)
    axes, radial, arm, force = work[0:3], work[3], work[4], work[5]
    _contact_axes(spin, up, slope, axes)
    ahead, left, normal = axes[0], axes[1], axes[2]
    cross(ahead, spin, radial)
    loaded = (height - road) * dot(up, normal) / dot(radial, normal)
    deflection = tyre.radius + run_out * np.cos(wheel[0]) - loaded
    rate = -(dot(up, velocity) - slope * station_rate) - run_out * wheel[1] * np.sin(wheel[0])
    load = _vertical_load(tyre, deflection, rate)
    for k in range(3):
        arm[k] = -loaded * radial[k]
    cross(hub_rate, arm, force)
    speed = dot(velocity, ahead)
    slide_x = speed - wheel[1] * (tyre.radius - deflection / 3.0)
    slide_y = dot(velocity, left) + dot(force, left)
    out[SLIP_RATE_X] = -slide_x - abs(speed) * wheel[2] / tyre.relaxation_x
    out[SLIP_RATE_Y] = -slide_y - abs(speed) * wheel[3] / tyre.relaxation_y
    force_x, force_y, aligning = tyre_force(
        tyre, load, wheel[2] / tyre.relaxation_x, wheel[3] / tyre.relaxation_y, dot(radial, left)
    )
    slow = tyre.slow_damping * slow_share(abs(speed)) if load > 0.0 else 0.0
    force_x, force_y = force_x - slow * slide_x, force_y - slow * slide_y
    for k in range(3):
        force[k] = force_x * ahead[k] + force_y * left[k] + load * normal[k]
        out[k] = force[k]
    cross(arm, force, out[3:6])
    rolling = -tyre.rolling * load * tyre.radius * np.tanh(wheel[1])
    for k in range(3):
        out[3 + k] += aligning * normal[k] + rolling * spin[k]
    out[DEFLECTION], out[LOAD], out[HEIGHT] = deflection, load, road
