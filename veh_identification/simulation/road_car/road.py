"""The road: a surface of hills and bumps over the plane, and the path that the driver follows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numba import njit

from veh_identification.types import Array

STEP = 1.0  # of the path's tables [m]


def draw_waves(seed: int, hills: float = 1.0, roughness: float = 1.0) -> Array:
    """Waves (N, 4): amplitude [m], wave numbers along x and y [rad/m], phase.

    Hills of 150 to 1500 m with slopes of about 2 % each, so that roads rise, fall and bank by some
    per cent; bumps by the spectrum of a good road (ISO 8608, between class A and B).
    """
    random = np.random.default_rng([seed, 102])
    rows = []
    for length in np.geomspace(150.0, 1500.0, 6):
        rate = 2 * np.pi / length
        rows.append((hills * random.uniform(0.008, 0.02) / rate, rate))
    edges = np.geomspace(0.02, 0.8, 25)  # cycles per metre
    for low, high in itertools.pairwise(edges):
        n = random.uniform(low, high)
        density = 24e-6 * (n / 0.1) ** -2
        rows.append((np.sqrt(roughness * 2 * density * (high - low)), 2 * np.pi * n))
    amplitude, rate = np.array(rows).T
    direction = random.uniform(0.0, 2 * np.pi, amplitude.size)
    phase = random.uniform(0.0, 2 * np.pi, amplitude.size)
    return np.column_stack([amplitude, rate * np.cos(direction), rate * np.sin(direction), phase])


@njit(cache=True)
def surface(waves: Array, x: float, y: float) -> tuple[float, float, float]:
    """Height of the road and its slopes along x and y."""
    h = hx = hy = 0.0
    for i in range(waves.shape[0]):
        angle = waves[i, 1] * x + waves[i, 2] * y + waves[i, 3]
        h += waves[i, 0] * np.sin(angle)
        rise = waves[i, 0] * np.cos(angle)
        hx += rise * waves[i, 1]
        hy += rise * waves[i, 2]
    return h, hx, hy


@dataclass(frozen=True)
class Path:
    """Where to drive: rows every metre of x, y, heading, curvature, speed; and the stops."""

    table: Array  # (N, 5)
    stops: Array  # (M, 2) place along the path [m], seconds of waiting


def _speeds(curvature: Array, limit: Array, halts: Array) -> Array:
    """Speed over the way: limits, bends, stops, and what accelerating and braking allow."""
    lateral = np.where(limit < 15.0, 2.2, 3.0)
    speed = np.minimum(limit, np.sqrt(lateral / np.maximum(np.abs(curvature), 1e-4)))
    for halt in halts:
        speed[min(int(halt), speed.size - 1)] = 0.0
    for k in range(1, speed.size):
        speed[k] = min(speed[k], np.sqrt(speed[k - 1] ** 2 + 2 * 1.4 * STEP))
    for k in range(speed.size - 2, -1, -1):
        speed[k] = min(speed[k], np.sqrt(speed[k + 1] ** 2 + 2 * 1.8 * STEP))
    return speed


def path_of(curvature: Array, limit: Array, stops: Array, start: tuple[float, ...]) -> Path:
    """Integrate a curvature (one row a metre) from x, y, heading."""
    heading = start[2] + np.concatenate(
        [[0.0], np.cumsum(0.5 * (curvature[1:] + curvature[:-1])) * STEP]
    )
    middle = 0.5 * (heading[1:] + heading[:-1])
    x = start[0] + np.concatenate([[0.0], np.cumsum(np.cos(middle)) * STEP])
    y = start[1] + np.concatenate([[0.0], np.cumsum(np.sin(middle)) * STEP])
    speed = _speeds(curvature, limit, stops[:, 0] if stops.size else np.zeros(0))
    return Path(np.column_stack([x, y, heading, curvature, speed]), stops.reshape(-1, 2))


def draw_path(seed: int, length: float, start: tuple[float, float, float]) -> Path:
    """Town and country in turn: bends, straights, stops; the heading wanders by the seed."""
    random = np.random.default_rng([seed, 103])
    parts: list[Array] = []
    limits: list[Array] = []
    stops: list[tuple[float, float]] = []
    way, town = 0.0, bool(random.integers(2))
    while way < length:
        until = way + (random.uniform(300.0, 600.0) if town else random.uniform(600.0, 1300.0))
        limit = random.uniform(10.0, 14.0) if town else random.uniform(18.0, 27.0)
        while way < until:
            if town:
                straight, radius = random.uniform(40.0, 130.0), random.uniform(11.0, 40.0)
                turn, smooth = random.uniform(0.6, 1.7), 9
            else:
                straight, radius = random.uniform(60.0, 350.0), random.uniform(60.0, 350.0)
                turn, smooth = random.uniform(0.3, 1.3), 25
            bend = max(smooth + 1, int(radius * turn))
            count = int(straight) + bend
            curve = np.zeros(count)
            curve[int(straight) :] = random.choice([-1.0, 1.0]) * turn / bend
            tail = np.zeros(smooth)
            parts += [np.convolve(np.r_[curve, tail], np.ones(smooth) / smooth)[: count + smooth]]
            limits.append(np.full(count + smooth, limit))
            if town and random.random() < 0.4 and way > 60.0:
                stops.append((way + straight - 8.0, random.uniform(2.0, 6.0)))
            way += count + smooth
        town = not town
    return path_of(np.concatenate(parts), np.concatenate(limits), np.array(stops), start)


def draw_wind(seed: int, duration: float, strength: float = 1.0) -> Array:
    """Wind [m/s] along x and y of the world, one row every 0.1 s: a mean and gusts."""
    random = np.random.default_rng([seed, 104])
    mean = strength * random.uniform(0.0, 6.0)
    direction = random.uniform(0.0, 2 * np.pi)
    count = int(duration * 10.0) + 3
    gust = np.zeros((count, 2))
    keep = np.exp(-0.1 / 2.5)
    for k in range(1, count):
        step = np.sqrt(1 - keep**2) * (0.3 * mean + 0.3 * strength)
        gust[k] = keep * gust[k - 1] + step * random.standard_normal(2)
    return np.asarray(gust + mean * np.array([np.cos(direction), np.sin(direction)]))
