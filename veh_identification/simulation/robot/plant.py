"""An arm as masses on Jacobians in world axes: shares no code with `multibody/`.

Every link is described by its mass, centre of mass and inertia about it; the equations of motion
are M(q) qdd = tau - c(q, qd) with M and c summed over the links from the Jacobians of their
centres of mass (D'Alembert), all vectors in world axes. The identification uses recursive
Newton-Euler sums in link axes with parameters at the link origins.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from veh_identification.errors import ModelError
from veh_identification.types import Array

GRAVITY = np.array([0.0, 0.0, -9.80665])


@dataclass(frozen=True, eq=False)
class Plant:
    """A serial chain of revolute joints about z of their frames, with one link each."""

    joints: tuple[str, ...]
    links: tuple[str, ...]
    placement: Array  # (n, 3, 3) joint frame in the frame of the joint before, at zero
    position: Array  # (n, 3) its origin there
    mass: Array  # (n,)
    centre: Array  # (n, 3) in the link frame
    inertia: Array  # (n, 3, 3) about the centre, link axes
    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    flange: str
    flange_position: Array  # of the tool frame in the last link; its axes are those of the link
    gravity: Array

    def arrays(self) -> tuple[Array, ...]:
        """What the kernel needs."""
        return (
            self.placement,
            self.position,
            self.mass,
            self.centre,
            self.inertia,
            self.gravity,
        )

    def loaded(self, mass: float, centre: Array, inertia: Array) -> Plant:
        """With a payload whose centre and inertia (about its centre) are given at the flange."""
        new_mass = self.mass.copy()
        new_centre, new_inertia = self.centre.copy(), self.inertia.copy()
        place = self.flange_position + centre
        total = self.mass[-1] + mass
        common = (self.mass[-1] * self.centre[-1] + mass * place) / total
        new_mass[-1], new_centre[-1] = total, common
        new_inertia[-1] = (
            self.inertia[-1]
            + _parallel(self.mass[-1], self.centre[-1] - common)
            + inertia
            + _parallel(mass, place - common)
        )
        return replace(self, mass=new_mass, centre=new_centre, inertia=new_inertia)

    def disturbed(self, rng: np.random.Generator, share: float) -> Plant:
        """Another arm of the same geometry: masses, centres and inertia are off by that share."""
        count = len(self.mass)
        mass = self.mass * (1.0 + share * rng.uniform(-1.0, 1.0, count))
        centre = self.centre + share * rng.uniform(-0.1, 0.1, (count, 3))
        inertia = np.empty_like(self.inertia)
        for k in range(count):
            # A turn and a stretch of the second moments of the density keep it a body.
            second = 0.5 * np.trace(self.inertia[k]) * np.eye(3) - self.inertia[k]
            stretch = np.eye(3) + share * rng.uniform(-1.0, 1.0, (3, 3))
            second = stretch @ second @ stretch.T * mass[k] / self.mass[k]
            inertia[k] = np.trace(second) * np.eye(3) - second
        return replace(self, mass=mass, centre=centre, inertia=inertia)

    def parameters(self) -> dict[str, float]:
        """Mass, first moments and inertia matrix at the link origins, by `LINK.NAME`."""
        found: dict[str, float] = {}
        for k, link in enumerate(self.links):
            tensor = self.inertia[k] + _parallel(self.mass[k], self.centre[k])
            moment = self.mass[k] * self.centre[k]
            found |= {f'{link}.M': self.mass[k]}
            found |= {f'{link}.MS{a}': moment[i] for i, a in enumerate('xyz')}
            found |= {
                f'{link}.J{"xyz"[i]}{"xyz"[j]}': tensor[i, j]
                for i in range(3)
                for j in range(i, 3)
            }
        return {name: float(value) for name, value in found.items()}


def _parallel(mass: float, offset: Array) -> Array:
    """Inertia of a point mass at an offset."""
    return np.asarray(mass * (offset @ offset * np.eye(3) - np.outer(offset, offset)))


def read_plant(path: str | Path, gravity: Array = GRAVITY) -> Plant:
    """A chain from a URDF written for this simulation: revolute joints about z, one flange."""
    root = ElementTree.parse(path).getroot()
    joints = {joint.find('parent').get('link'): joint for joint in root.findall('joint')}  # type: ignore[union-attr]
    inertial = {link.get('name'): link.find('inertial') for link in root.findall('link')}
    parent: str | None = 'base_link'
    rows, names, links = [], [], []
    flange, flange_position = '', np.zeros(3)
    while parent in joints:
        joint = joints[parent]
        child = joint.find('child').get('link')  # type: ignore[union-attr]
        origin = joint.find('origin')
        place = _vector(origin, 'xyz')
        if joint.get('type') == 'fixed':
            flange, flange_position = str(child), place
            break
        limit, body = joint.find('limit'), inertial[child]
        if limit is None or body is None or joint.get('type') != 'revolute':
            raise ModelError(f'{path}: joint {joint.get("name")} is not one that is simulated')
        tensor = body.find('inertia')
        matrix = np.zeros((3, 3))
        for i in range(3):
            for j in range(i, 3):
                matrix[i, j] = matrix[j, i] = float(tensor.get(f'i{"xyz"[i]}{"xyz"[j]}'))  # type: ignore[union-attr,arg-type]
        rows.append(
            (
                _rotation(_vector(origin, 'rpy')),
                place,
                float(body.find('mass').get('value')),  # type: ignore[union-attr,arg-type]
                _vector(body.find('origin'), 'xyz'),
                matrix,
                *(float(limit.get(key, 0.0)) for key in ('lower', 'upper', 'velocity', 'effort')),
            )
        )
        names.append(str(joint.get('name')))
        links.append(str(child))
        parent = child
    parts: list[Any] = [np.array(column) for column in zip(*rows, strict=True)]
    chain: list[Any] = [tuple(names), tuple(links), *parts, flange, flange_position, gravity]
    return Plant(*chain)


def _vector(element: ElementTree.Element | None, key: str) -> Array:
    text = '0 0 0' if element is None else element.get(key, '0 0 0')
    return np.array([float(part) for part in text.split()])


def _rotation(rpy: Array) -> Array:
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


@njit(cache=True, nogil=True, inline='always')
def _cross(ax, ay, az, bx, by, bz):  # type: ignore[no-untyped-def]
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit(cache=True, nogil=True)
def fill_equations(  # type: ignore[no-untyped-def]
    q, qd, placement, position, mass, centre, inertia, gravity, axes, origins, work, M, c
):
    """Mass matrix and bias of `equations_of_motion`, into arrays of the caller."""
    n = len(q)
    M[:] = 0.0
    c[:] = 0.0
    R, turned, inertia_world, half = work[0], work[1], work[2], work[3]
    jv, jw = work[4:].reshape(-1)[: 3 * n].reshape(n, 3), axes
    R[:] = 0.0
    for i in range(3):
        R[i, i] = 1.0
    px = py = pz = wx = wy = wz = ex = ey = ez = ax = ay = az = 0.0
    for k in range(n):
        # Offset to the next joint, in world axes; its origin's acceleration with qdd = 0.
        t = position[k]
        ox = R[0, 0] * t[0] + R[0, 1] * t[1] + R[0, 2] * t[2]
        oy = R[1, 0] * t[0] + R[1, 1] * t[1] + R[1, 2] * t[2]
        oz = R[2, 0] * t[0] + R[2, 1] * t[1] + R[2, 2] * t[2]
        ux, uy, uz = _cross(wx, wy, wz, ox, oy, oz)
        sx, sy, sz = _cross(wx, wy, wz, ux, uy, uz)
        gx, gy, gz = _cross(ex, ey, ez, ox, oy, oz)
        ax, ay, az = ax + gx + sx, ay + gy + sy, az + gz + sz
        px, py, pz = px + ox, py + oy, pz + oz
        cosine, sine = np.cos(q[k]), np.sin(q[k])
        for i in range(3):
            for j in range(3):
                turned[i, j] = (
                    R[i, 0] * placement[k, 0, j]
                    + R[i, 1] * placement[k, 1, j]
                    + R[i, 2] * placement[k, 2, j]
                )
        for i in range(3):
            R[i, 0] = turned[i, 0] * cosine + turned[i, 1] * sine
            R[i, 1] = turned[i, 1] * cosine - turned[i, 0] * sine
            R[i, 2] = turned[i, 2]
        zx, zy, zz = R[0, 2], R[1, 2], R[2, 2]
        ux, uy, uz = _cross(wx, wy, wz, zx, zy, zz)
        ex, ey, ez = ex + ux * qd[k], ey + uy * qd[k], ez + uz * qd[k]
        wx, wy, wz = wx + zx * qd[k], wy + zy * qd[k], wz + zz * qd[k]
        jw[k, 0], jw[k, 1], jw[k, 2] = zx, zy, zz
        origins[k, 0], origins[k, 1], origins[k, 2] = px, py, pz
        # The link: its centre of mass, force and moment about it.
        t = centre[k]
        rx = R[0, 0] * t[0] + R[0, 1] * t[1] + R[0, 2] * t[2]
        ry = R[1, 0] * t[0] + R[1, 1] * t[1] + R[1, 2] * t[2]
        rz = R[2, 0] * t[0] + R[2, 1] * t[1] + R[2, 2] * t[2]
        ux, uy, uz = _cross(wx, wy, wz, rx, ry, rz)
        sx, sy, sz = _cross(wx, wy, wz, ux, uy, uz)
        gx, gy, gz = _cross(ex, ey, ez, rx, ry, rz)
        fx = mass[k] * (ax + gx + sx - gravity[0])
        fy = mass[k] * (ay + gy + sy - gravity[1])
        fz = mass[k] * (az + gz + sz - gravity[2])
        for i in range(3):
            for j in range(3):
                half[i, j] = (
                    R[i, 0] * inertia[k, 0, j]
                    + R[i, 1] * inertia[k, 1, j]
                    + R[i, 2] * inertia[k, 2, j]
                )
        for i in range(3):
            for j in range(3):
                inertia_world[i, j] = (
                    half[i, 0] * R[j, 0] + half[i, 1] * R[j, 1] + half[i, 2] * R[j, 2]
                )
        I = inertia_world  # noqa: E741
        hx = I[0, 0] * wx + I[0, 1] * wy + I[0, 2] * wz
        hy = I[1, 0] * wx + I[1, 1] * wy + I[1, 2] * wz
        hz = I[2, 0] * wx + I[2, 1] * wy + I[2, 2] * wz
        ux, uy, uz = _cross(wx, wy, wz, hx, hy, hz)
        mx = I[0, 0] * ex + I[0, 1] * ey + I[0, 2] * ez + ux
        my = I[1, 0] * ex + I[1, 1] * ey + I[1, 2] * ez + uy
        mz = I[2, 0] * ex + I[2, 1] * ey + I[2, 2] * ez + uz
        for j in range(k + 1):
            jv[j, 0], jv[j, 1], jv[j, 2] = _cross(
                jw[j, 0],
                jw[j, 1],
                jw[j, 2],
                px + rx - origins[j, 0],
                py + ry - origins[j, 1],
                pz + rz - origins[j, 2],
            )
            c[j] += jv[j, 0] * fx + jv[j, 1] * fy + jv[j, 2] * fz
            c[j] += jw[j, 0] * mx + jw[j, 1] * my + jw[j, 2] * mz
        for i in range(k + 1):
            hx = I[0, 0] * jw[i, 0] + I[0, 1] * jw[i, 1] + I[0, 2] * jw[i, 2]
            hy = I[1, 0] * jw[i, 0] + I[1, 1] * jw[i, 1] + I[1, 2] * jw[i, 2]
            hz = I[2, 0] * jw[i, 0] + I[2, 1] * jw[i, 1] + I[2, 2] * jw[i, 2]
            for j in range(i + 1):
                M[i, j] += mass[k] * (
                    jv[i, 0] * jv[j, 0] + jv[i, 1] * jv[j, 1] + jv[i, 2] * jv[j, 2]
                )
                M[i, j] += jw[j, 0] * hx + jw[j, 1] * hy + jw[j, 2] * hz
    for i in range(n):
        for j in range(i):
            M[j, i] = M[i, j]


def equations_of_motion(plant: Plant, q: Array, qd: Array) -> tuple[Array, Array]:
    """Mass matrix (n, n) and bias (n,): tau = M qdd + c."""
    n = len(q)
    axes, origins, work = np.empty((n, 3)), np.empty((n, 3)), np.empty((4 + (n + 2) // 3, 3, 3))
    M, c = np.empty((n, n)), np.empty(n)
    everything: Any = (q, qd, *plant.arrays(), axes, origins, work, M, c)
    fill: Any = fill_equations
    fill(*everything)
    return M, c
