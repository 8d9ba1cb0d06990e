"""Newton and Euler for a tree whose base is free and whose joints are driven: forward in time.

Nothing here is shared with the multibody models that the estimators use: links are read from the
URDF anew, each with its own centre of mass, and the six equations of the base come from the sums
of forces and moments over all links in world axes. The ground is a bed of springs and dampers
under the corners of the soles, with dry friction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree
from numba import njit
from numpy.typing import NDArray

from veh_identification.orientations import matrix_of_rpy
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class Links:
    """Links in the order of the tree, the base first."""

    names: tuple[str, ...]
    joints: tuple[str, ...]  # driven joints in the order of their angles
    parent: NDArray[np.int64]
    angle: NDArray[np.int64]  # which driven joint turns it, -1 for none
    rotation: Array  # (L, 3, 3) of the joint's frame in its parent
    translation: Array
    axis: Array
    mass: Array
    centre: Array  # of mass, in link axes
    inertia: Array  # (L, 3, 3) about the centre of mass, link axes


def read_links(text: bytes) -> Links:
    """Links of a URDF whose joints are revolute or fixed."""
    root = etree.fromstring(text)
    elements = {one.get('name'): one for one in root.findall('link')}
    above = {one.find('child').get('link'): one for one in root.findall('joint')}
    order = [name for name in elements if name not in above]
    for name in order:
        order += [c for c, j in above.items() if j.find('parent').get('link') == name]
    joints = tuple(
        above[name].get('name') for name in order if name in above and _turns(above[name])
    )
    found = Links(
        tuple(order),
        joints,
        np.full(len(order), -1),
        np.full(len(order), -1),
        np.tile(np.eye(3), (len(order), 1, 1)),
        np.zeros((len(order), 3)),
        np.zeros((len(order), 3)),
        np.zeros(len(order)),
        np.zeros((len(order), 3)),
        np.zeros((len(order), 3, 3)),
    )
    for k, name in enumerate(order):
        joint = above.get(name)
        if joint is not None:
            found.parent[k] = order.index(joint.find('parent').get('link'))
            found.rotation[k], found.translation[k] = _origin(joint)
            if _turns(joint):
                found.angle[k] = joints.index(joint.get('name'))
                found.axis[k] = _numbers(joint.find('axis').get('xyz'))
        inertial = elements[name].find('inertial')
        if inertial is not None:
            turn, found.centre[k] = _origin(inertial)
            found.mass[k] = float(inertial.find('mass').get('value'))
            entry = {key: float(value) for key, value in inertial.find('inertia').items()}
            tensor = np.array(
                [
                    [entry['ixx'], entry['ixy'], entry['ixz']],
                    [entry['ixy'], entry['iyy'], entry['iyz']],
                    [entry['ixz'], entry['iyz'], entry['izz']],
                ]
            )
            found.inertia[k] = turn @ tensor @ turn.T
    return found


def _turns(joint: etree._Element) -> bool:
    return joint.get('type') != 'fixed'


def _origin(element: etree._Element) -> tuple[Array, Array]:
    origin = element.find('origin')
    if origin is None:
        return np.eye(3), np.zeros(3)
    turn = matrix_of_rpy(_numbers(origin.get('rpy', '0 0 0')))
    return turn, _numbers(origin.get('xyz', '0 0 0'))


def _numbers(text: str) -> Array:
    return np.array([float(part) for part in text.split()])


@dataclass(frozen=True)
class Ground:
    """Under each corner of a sole; N/m, N s/m, and the friction's coefficient."""

    stiffness: float = 12e3
    damping: float = 60.0
    friction: float = 0.9


@dataclass(frozen=True, eq=False)
class Flow:
    """The base over time, and what the ground exerts on each sole about the world's origin."""

    position: Array  # (N, 3)
    rotation: Array  # (N, 3, 3)
    velocity: Array  # (N, 3) world axes
    omega: Array  # (N, 3) world axes
    acceleration: Array
    alpha: Array
    soles: Array  # (N, S, 6) world axes, about the world's origin


def simulate(
    links: Links,
    joints: tuple[Array, Array, Array],
    soles: list[str],
    corners: Array,
    start: Array,
    step: float,
    ground: Ground,
    gravity: float,
) -> Flow:
    """From rest at `start`; `joints`: angles, rates and accelerations (N, J) at every step.

    `corners` (C, 3) are those of one sole in the frame of the links named in `soles`.
    """
    count = len(joints[0])
    state = np.zeros((count, 24))
    force = np.zeros((count, len(soles), 6))
    tree: Any = (links.parent, links.angle, links.rotation, links.translation, links.axis)
    bodies = (links.mass, links.centre, links.inertia)
    angles = np.stack(joints, axis=1)
    feet = np.array([links.names.index(name) for name in soles])
    bed = np.array([ground.stiffness, ground.damping, ground.friction])
    _simulate(
        tree,
        bodies,
        angles,
        feet,
        corners,
        np.asarray(start, float),
        step,
        bed,
        gravity,
        state,
        force,
    )
    return Flow(
        state[:, :3],
        state[:, 3:12].reshape(-1, 3, 3),
        state[:, 12:15],
        state[:, 15:18],
        state[:, 18:21],
        state[:, 21:24],
        force,
    )


@njit(cache=True)
def _cross(a: Array, b: Array) -> Array:
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


@njit(cache=True)
def _turn(axis: Array, angle: float) -> Array:
    """Rotation about a unit axis (Rodrigues)."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = axis
    d = 1.0 - c
    return np.array(
        [
            [c + x * x * d, x * y * d - z * s, x * z * d + y * s],
            [y * x * d + z * s, c + y * y * d, y * z * d - x * s],
            [z * x * d - y * s, z * y * d + x * s, c + z * z * d],
        ]
    )


@njit(cache=True)
def _move(tree: tuple[Array, ...], angles: Array, R: Array, motion: Array) -> None:
    """Turn (L, 3, 3) of every link, and its place, velocities and accelerations (L, 5, 3).

    Accelerations are those with a base that does not accelerate.
    """
    parent, angle, rotation, translation, axis = tree
    for k in range(1, len(parent)):
        up = parent[k]
        d = R[up] @ translation[k]
        w, alpha = motion[up, 2], motion[up, 4]
        motion[k, 0] = motion[up, 0] + d
        motion[k, 1] = motion[up, 1] + _cross(w, d)
        motion[k, 3] = motion[up, 3] + _cross(alpha, d) + _cross(w, _cross(w, d))
        turn = R[up] @ rotation[k]
        R[k] = turn
        motion[k, 2], motion[k, 4] = w, alpha
        if angle[k] >= 0:
            q, qd, qdd = angles[:, angle[k]]
            around = turn @ axis[k]
            R[k] = turn @ _turn(axis[k], q)
            motion[k, 2] += around * qd
            motion[k, 4] += around * qdd + _cross(w, around) * qd


@njit(cache=True)
def _balance(
    bodies: tuple[Array, ...], R: Array, motion: Array, gravity: float, A: Array, right: Array
) -> None:
    """A (6, 6) x = right (6,): sums over all links, x the accelerations of the base."""
    mass, centre, inertia = bodies
    A[:], right[:] = 0.0, 0.0
    for k in range(len(mass)):
        if mass[k] == 0.0:
            continue
        place, w, alpha = motion[k, 0], motion[k, 2], motion[k, 4]
        r = R[k] @ centre[k]
        arm = place + r - motion[0, 0]
        push = mass[k] * (motion[k, 3] + _cross(alpha, r) + _cross(w, _cross(w, r)))
        push[2] += mass[k] * gravity
        tensor = R[k] @ inertia[k] @ R[k].T
        right[:3] -= push
        right[3:] -= _cross(arm, push) + tensor @ alpha + _cross(w, tensor @ w)
        X = np.array([[0.0, -arm[2], arm[1]], [arm[2], 0.0, -arm[0]], [-arm[1], arm[0], 0.0]])
        for i in range(3):
            A[i, i] += mass[k]
        A[:3, 3:] -= mass[k] * X
        A[3:, :3] += mass[k] * X
        A[3:, 3:] += tensor - mass[k] * (X @ X)


@njit(cache=True)
def _press(bed: Array, place: Array, speed: Array, anchor: Array) -> Array:
    """Force on a corner in the ground; `anchor` (3,): where it sticks, and whether it does."""
    stiffness, damping, friction = bed
    if anchor[2] == 0.0:
        anchor[:2] = place[:2]
        anchor[2] = 1.0
    up = max(0.0, -stiffness * place[2] - damping * speed[2])
    pull = -stiffness * (place[:2] - anchor[:2]) - damping * speed[:2]
    size = np.sqrt(pull[0] ** 2 + pull[1] ** 2)
    if size > friction * up:  # it slides
        pull *= friction * up / max(size, 1e-12)
        anchor[:2] = place[:2] + (pull + damping * speed[:2]) / stiffness
    return np.array([pull[0], pull[1], up])


@njit(cache=True)
def _simulate(
    tree: tuple[Array, ...],
    bodies: tuple[Array, ...],
    angles: Array,
    feet: Array,
    corners: Array,
    start: Array,
    step: float,
    bed: Array,
    gravity: float,
    state: Array,
    force: Array,
) -> None:
    """Fill `state` (N, 24) and `force` (N, feet, 6); steps of Stoermer and Verlet."""
    links = len(bodies[0])
    R, motion = np.zeros((links, 3, 3)), np.zeros((links, 5, 3))
    anchors = np.zeros((len(feet), len(corners), 3))
    A, right = np.zeros((6, 6)), np.zeros(6)
    R[0], motion[0, 0] = np.eye(3), start
    for n in range(len(angles)):
        _move(tree, angles[n], R, motion)
        _balance(bodies, R, motion, gravity, A, right)
        for f in range(len(feet)):
            link = feet[f]
            for c in range(len(corners)):
                reach = R[link] @ corners[c]
                place = motion[link, 0] + reach
                if place[2] >= 0.0:
                    anchors[f, c, 2] = 0.0
                    continue
                speed = motion[link, 1] + _cross(motion[link, 2], reach)
                given = _press(bed, place, speed, anchors[f, c])
                right[:3] += given
                right[3:] += _cross(place - motion[0, 0], given)
                force[n, f, :3] += given
                force[n, f, 3:] += _cross(place, given)
        solved = np.linalg.solve(A, right)
        state[n, :3] = motion[0, 0]
        state[n, 3:12] = R[0].copy().reshape(9)
        state[n, 12:15], state[n, 15:18] = motion[0, 1], motion[0, 2]
        state[n, 18:24] = solved
        motion[0, 1] += step * solved[:3]
        motion[0, 2] += step * solved[3:]
        motion[0, 0] += step * motion[0, 1]
        rate = np.sqrt(np.sum(motion[0, 2] ** 2))
        if rate > 1e-12:
            R[0] = _turn(motion[0, 2] / rate, step * rate) @ R[0]
