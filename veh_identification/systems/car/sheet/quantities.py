"""What engineers ask for as functions of the 33 parameters: masses, loads, inertia, modes.

Every function takes the parameters by name and gives numbers by name; the sheet propagates their
covariance through all of them at once. Loads and modes are those of the car on level ground with
its tyres taken as rigid: the recording does not tell how stiff they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veh_identification.systems.car.configuration import Geometry
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

Parameters = Mapping[str, float]


@dataclass(frozen=True)
class Car:
    """What is known of a car beside its identified parameters."""

    geometry: Geometry
    gravity: float
    wheel_mass: float | None = None  # of one wheel with its tyre, beyond the wheel sensor
    tyre_stiffness: float | None = None  # vertical [N/m]

    @property
    def places(self) -> Array:
        """x and y (4, 2) of the wheel centres."""
        return np.stack([self.geometry.wheel_x, self.geometry.wheel_y], axis=1)


def quantities(p: Parameters, car: Car) -> dict[str, float]:
    """All entries of the sheet, in its order."""
    return {
        **masses(p, car),
        **loads(p, car),
        **central_inertia(p),
        **roll_stiffness(p, car),
        **ride_modes(p, car),
        **corner_damping(p, car),
        **hop_modes(p, car),
    }


def unsprung(p: Parameters, car: Car) -> Array:
    """Mass at each corner that the suspension does not carry; without wheels of unknown mass."""
    return np.array([p[f'M{j}'] + (car.wheel_mass or 0.0) for j in range(1, 5)])


def masses(p: Parameters, car: Car) -> dict[str, float]:
    """Masses and centres of gravity in base_link."""
    first = np.array([p['MXc'], p['MYc'], p['MZc']])
    below = unsprung(p, car)
    total = p['Mc'] + below.sum()
    # The wheel centres are at z = 0 of base_link.
    whole = first + np.append(below @ car.places, 0.0)
    result = {'total_mass': total, 'sprung_mass': p['Mc'], 'unsprung_mass': float(below.sum())}
    for name, one in (('cg', whole / total), ('sprung_cg', first / p['Mc'])):
        result |= {f'{name}_{axis}': float(value) for axis, value in zip('xyz', one, strict=True)}
    result['cg_height'] = result['cg_z'] + car.geometry.wheel_radius
    return result


def loads(p: Parameters, car: Car) -> dict[str, float]:
    """Wheel loads on level ground: the springs share what three equations of balance leave."""
    x, y = car.places.T
    stiffness = corner_stiffness(p)
    offset = np.array([p[f'off{j}'] for j in range(1, 5)])
    plane = np.stack([np.ones(4), x, y], axis=1)  # travels of rigid tyres on level ground
    wanted = car.gravity * np.array([p['Mc'], p['MXc'], p['MYc']])
    pose = np.linalg.solve(plane.T @ stiffness @ plane, wanted - plane.T @ offset)
    corner = stiffness @ plane @ pose + offset + car.gravity * unsprung(p, car)
    total, front = corner.sum(), corner[:2].sum()
    return {
        **{f'load_{name}': float(one) for name, one in zip(CORNERS, corner, strict=True)},
        'load_front': float(front),
        'load_rear': float(total - front),
        'front_share': float(100.0 * front / total),
        'left_share': float(100.0 * (corner[0] + corner[2]) / total),
        'cross_weight': float(100.0 * (corner[1] + corner[2]) / total),
    }


def corner_stiffness(p: Parameters) -> Array:
    """Forces of the suspensions per travel (4, 4): springs and anti-roll bars (31)."""
    result = np.diag([p[f'k{j}'] for j in range(1, 5)])
    for i, bar in ((0, p['karf']), (2, p['karr'])):
        result[i : i + 2, i : i + 2] += bar * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return result


def inertia_tensor(p: Parameters) -> Array:
    """Inertia (3, 3) of the sprung mass about its own centre of gravity."""
    about_origin = np.array(
        [
            [p['XXc'], p['XYc'], p['XZc']],
            [p['XYc'], p['YYc'], p['YZc']],
            [p['XZc'], p['YZc'], p['ZZc']],
        ]
    )
    c = np.array([p['MXc'], p['MYc'], p['MZc']]) / p['Mc']
    return np.asarray(about_origin - p['Mc'] * (c @ c * np.eye(3) - np.outer(c, c)))


def central_inertia(p: Parameters) -> dict[str, float]:
    """Moments and products at the centre of gravity, principal moments and their axes."""
    tensor = inertia_tensor(p)
    moments, axes = np.linalg.eigh(tensor)
    roll = axes[:, 0] * (1.0 if axes[0, 0] >= 0.0 else -1.0)  # the axis of the smallest moment
    radius = np.sqrt(np.maximum(np.diag(tensor), 0.0) / p['Mc'])
    names = ('Ixx', 'Iyy', 'Izz')
    return {
        **{name: float(tensor[k, k]) for k, name in enumerate(names)},
        'Ixy': float(tensor[0, 1]),
        'Ixz': float(tensor[0, 2]),
        'Iyz': float(tensor[1, 2]),
        **{f'principal_{k + 1}': float(one) for k, one in enumerate(moments)},
        'roll_axis_pitch': float(np.degrees(np.arctan2(-roll[2], roll[0]))),
        'roll_axis_yaw': float(np.degrees(np.arctan2(roll[1], roll[0]))),
        'roll_radius': float(radius[0]),
        'pitch_radius': float(radius[1]),
        'yaw_radius': float(radius[2]),
    }


def roll_stiffness(p: Parameters, car: Car) -> dict[str, float]:
    """Roll stiffness of the axles by springs and bars, and its share in front."""
    y = car.places[:, 1]
    result: dict[str, float] = {}
    for axle, i, bar in (('front', 0, p['karf']), ('rear', 2, p['karr'])):
        springs = p[f'k{i + 1}'] * y[i] ** 2 + p[f'k{i + 2}'] * y[i + 1] ** 2
        result[f'roll_stiffness_{axle}'] = float(springs + bar * (y[i] - y[i + 1]) ** 2)
        damping = p[f'h{i + 1}'] * y[i] ** 2 + p[f'h{i + 2}'] * y[i + 1] ** 2
        result[f'roll_damping_{axle}'] = float(damping)
    front, rear = result['roll_stiffness_front'], result['roll_stiffness_rear']
    result['roll_stiffness_share'] = 100.0 * front / (front + rear)
    return result


#: Coordinates of the sprung mass about its centre of gravity: up, roll, pitch.
MODES = ('heave', 'roll', 'pitch')


def ride_modes(p: Parameters, car: Car) -> dict[str, float]:
    """Natural frequencies and damping ratios of the sprung mass on its suspensions."""
    centre = np.array([p['MXc'], p['MYc']]) / p['Mc']
    arms = car.places - centre
    # Compression of a suspension per heave, roll and pitch of the body.
    motion = -np.stack([np.ones(4), arms[:, 1], -arms[:, 0]], axis=1)
    tensor = inertia_tensor(p)
    mass = np.zeros((3, 3))
    mass[0, 0], mass[1:, 1:] = p['Mc'], tensor[:2, :2]
    stiffness = motion.T @ corner_stiffness(p) @ motion
    damping = motion.T @ np.diag([p[f'h{j}'] for j in range(1, 5)]) @ motion
    squares, shapes = _undamped(mass, stiffness)
    result: dict[str, float] = {}
    for name, k in zip(MODES, _matched(shapes, mass), strict=True):
        omega = np.sqrt(max(squares[k], 0.0))
        result[f'{name}_frequency'] = float(omega / (2.0 * np.pi))
        # Of the mode by itself: the shapes have unit mass.
        result[f'{name}_damping'] = float(shapes[:, k] @ damping @ shapes[:, k] / (2.0 * omega))
    return result


def _undamped(mass: Array, stiffness: Array) -> tuple[Array, Array]:
    """Squares of the natural frequencies and shapes of unit mass."""
    root = np.linalg.inv(np.linalg.cholesky(mass))
    squares, vectors = np.linalg.eigh(root @ stiffness @ root.T)
    return squares, root.T @ vectors


def _matched(shapes: Array, mass: Array) -> list[int]:
    """Which shape is mostly heave, roll, pitch: each coordinate takes the best one left."""
    share = np.square(shapes) * np.diag(mass)[:, None]
    left = [0, 1, 2]
    chosen = []
    for coordinate in (1, 0, 2):  # roll is the clearest one
        best = max(left, key=lambda k, c=coordinate: share[c, k])  # type: ignore[misc]
        left.remove(best)
        chosen.append(best)
    return [chosen[1], chosen[0], chosen[2]]


def corner_damping(p: Parameters, car: Car) -> dict[str, float]:
    """Damping ratio of each corner with the sprung mass that it carries."""
    carried = loads(p, car)
    result = {}
    for j, name in enumerate(CORNERS):
        below = p[f'M{j + 1}'] + (car.wheel_mass or 0.0)
        mass = carried[f'load_{name}'] / car.gravity - below
        critical = 2.0 * np.sqrt(max(p[f'k{j + 1}'] * mass, 1e-12))
        result[f'damping_ratio_{name}'] = float(p[f'h{j + 1}'] / critical)
    return result


def hop_modes(p: Parameters, car: Car) -> dict[str, float]:
    """Frequency and damping ratio of each wheel on its tyre; needs tyre and wheel mass."""
    if car.tyre_stiffness is None or car.wheel_mass is None:
        return {}
    result = {}
    for j, name in enumerate(CORNERS):
        mass = p[f'M{j + 1}'] + car.wheel_mass
        bar = p['karf'] if j < 2 else p['karr']
        omega = np.sqrt((car.tyre_stiffness + p[f'k{j + 1}'] + bar) / mass)
        result[f'hop_frequency_{name}'] = float(omega / (2.0 * np.pi))
        result[f'hop_damping_{name}'] = float(p[f'h{j + 1}'] / (2.0 * mass * omega))
    return result
