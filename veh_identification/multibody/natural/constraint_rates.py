"""Time derivatives of the constraint Jacobian times given directions, for all constraints at once.

`W` (coordinates, k) are directions that are held constant while time runs; `V = A W` are their
forms. With W = R these products are the right-hand sides for R' and R'' (equation 107).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.constraints import WIDTH, dot
from veh_identification.multibody.natural.packing import integers_of, reals_of
from veh_identification.multibody.natural.records import ANGLE, DISTANCE, LINEAR
from veh_identification.types import Array

Memory = tuple[Any, ...]


@njit(cache=True, nogil=True)
def form_block(memory: Memory, W: Array, out: Array) -> None:
    """A W for all forms and all columns of W (coordinates, k)."""
    integers, reals, table, _, _, _ = memory
    pointer = integers_of(integers, pk.FORM_POINTER)
    column = integers_of(integers, pk.FORM_COLUMN)
    value = reals_of(reals, table, pk.FORM_VALUE)
    for row in range(out.shape[0]):
        for c in range(W.shape[1]):
            out[row, c] = 0.0
        for p in range(pointer[row], pointer[row + 1]):
            k, coefficient = column[p], value[p]
            for c in range(W.shape[1]):
                out[row, c] += coefficient * W[k, c]


@njit(cache=True, nogil=True)
def _add_products(
    out: Array, row: int, weights: Array, a: int, factor: float, V: Array, b: int
) -> None:
    """out[row] += factor (weights_a . V_b) for every direction."""
    for axis in range(3):
        weight = factor * weights[3 * a + axis]
        for c in range(out.shape[1]):
            out[row, c] += weight * V[3 * b + axis, c]


@njit(cache=True, nogil=True)
def _angle_rate(
    out: Array,
    row: int,
    f: Array,
    d: Array,
    V: Array,
    a: int,
    b: int,
    c: int,
    theta: float,
    rate: float,
    turn: Array,
) -> None:
    """d/dt of (Phi_q w) of an ANGLE row with w held constant; `turn` are the w of the angle.

    Phi_q w = (w_b.v + e_b.w_v) cos - (w_a.v + e_a.w_v) sin - (e_b.v sin + e_a.v cos) w_theta.
    """
    co, si = np.cos(theta), np.sin(theta)
    _add_products(out, row, d, c, co, V, b)
    _add_products(out, row, d, b, co, V, c)
    _add_products(out, row, f, c, -si * rate, V, b)
    _add_products(out, row, f, b, -si * rate, V, c)
    _add_products(out, row, d, c, -si, V, a)
    _add_products(out, row, d, a, -si, V, c)
    _add_products(out, row, f, c, -co * rate, V, a)
    _add_products(out, row, f, a, -co * rate, V, c)
    g, h = dot(f, b, f, c), dot(f, a, f, c)
    g1 = dot(d, b, f, c) + dot(f, b, d, c)
    h1 = dot(d, a, f, c) + dot(f, a, d, c)
    weight = g1 * si + h1 * co + (g * co - h * si) * rate
    for k in range(out.shape[1]):
        out[row, k] -= weight * turn[k]


@njit(cache=True, nogil=True)
def _angle_second(
    out: Array,
    row: int,
    f: Array,
    d: Array,
    e: Array,
    V: Array,
    a: int,
    b: int,
    c: int,
    theta: float,
    rate: float,
    second: float,
    turn: Array,
) -> None:
    """d^2/dt^2 of (Phi_q w) of an ANGLE row with w held constant."""
    co, si = np.cos(theta), np.sin(theta)
    c1, s1 = -si * rate, co * rate
    c2, s2 = -si * second - co * rate * rate, co * second - si * rate * rate
    for form, zeroth, first, last in ((b, co, c1, c2), (a, -si, -s1, -s2)):
        _add_products(out, row, e, c, zeroth, V, form)
        _add_products(out, row, e, form, zeroth, V, c)
        _add_products(out, row, d, c, 2.0 * first, V, form)
        _add_products(out, row, d, form, 2.0 * first, V, c)
        _add_products(out, row, f, c, last, V, form)
        _add_products(out, row, f, form, last, V, c)
    g, h = dot(f, b, f, c), dot(f, a, f, c)
    g1 = dot(d, b, f, c) + dot(f, b, d, c)
    h1 = dot(d, a, f, c) + dot(f, a, d, c)
    g2 = dot(e, b, f, c) + 2.0 * dot(d, b, d, c) + dot(f, b, e, c)
    h2 = dot(e, a, f, c) + 2.0 * dot(d, a, d, c) + dot(f, a, e, c)
    weight = g2 * si + 2.0 * g1 * s1 + g * s2 + h2 * co + 2.0 * h1 * c1 + h * c2
    for k in range(out.shape[1]):
        out[row, k] -= weight * turn[k]


@njit(cache=True, nogil=True)
def jacobian_rate_times(
    memory: Memory, q: Array, qd: Array, W: Array, V: Array, out: Array
) -> None:
    """(d Phi_q / dt) W; needs the forms in POSITION and RATE, and V = A W."""
    integers, _, _, scratch, places, _ = memory
    records = integers_of(integers, pk.CONSTRAINTS)
    f = reals_of(scratch, places, pk.POSITION)
    d = reals_of(scratch, places, pk.RATE)
    for row in range(records.size // WIDTH):
        base = WIDTH * row
        kind, a, b = records[base], records[base + 1], records[base + 2]
        c, k = records[base + 3], records[base + 4]
        out[row, :] = 0.0
        if kind == ANGLE:
            _angle_rate(out, row, f, d, V, a, b, c, q[k], qd[k], W[k])
        elif kind == DISTANCE:
            _add_products(out, row, d, a, 2.0, V, a)
            for j in range(W.shape[1]):
                out[row, j] -= 2.0 * qd[k] * W[k, j]
        elif kind != LINEAR:
            _add_products(out, row, d, a, 1.0, V, b)
            _add_products(out, row, d, b, 1.0, V, a)


@njit(cache=True, nogil=True)
def jacobian_second_times(
    memory: Memory, q: Array, qd: Array, qdd: Array, W: Array, V: Array, out: Array
) -> None:
    """(d^2 Phi_q / dt^2) W; needs POSITION, RATE, ACCELERATION, and V = A W."""
    integers, _, _, scratch, places, _ = memory
    records = integers_of(integers, pk.CONSTRAINTS)
    f = reals_of(scratch, places, pk.POSITION)
    d = reals_of(scratch, places, pk.RATE)
    e = reals_of(scratch, places, pk.ACCELERATION)
    for row in range(records.size // WIDTH):
        base = WIDTH * row
        kind, a, b = records[base], records[base + 1], records[base + 2]
        c, k = records[base + 3], records[base + 4]
        out[row, :] = 0.0
        if kind == ANGLE:
            _angle_second(out, row, f, d, e, V, a, b, c, q[k], qd[k], qdd[k], W[k])
        elif kind == DISTANCE:
            _add_products(out, row, e, a, 2.0, V, a)
            for j in range(W.shape[1]):
                out[row, j] -= 2.0 * qdd[k] * W[k, j]
        elif kind != LINEAR:
            _add_products(out, row, e, a, 1.0, V, b)
            _add_products(out, row, e, b, 1.0, V, a)


@njit(cache=True, nogil=True)
def velocity_products(memory: Memory, q: Array, qd: Array, out: Array) -> None:
    """(d Phi_q / dt) qd for every row, from the forms in POSITION and RATE."""
    integers, _, _, scratch, places, _ = memory
    records = integers_of(integers, pk.CONSTRAINTS)
    f = reals_of(scratch, places, pk.POSITION)
    d = reals_of(scratch, places, pk.RATE)
    for row in range(records.size // WIDTH):
        base = WIDTH * row
        kind, a, b = records[base], records[base + 1], records[base + 2]
        c, k = records[base + 3], records[base + 4]
        if kind == LINEAR:
            out[row] = 0.0
        elif kind == ANGLE:
            co, si, t = np.cos(q[k]), np.sin(q[k]), qd[k]
            g, h = dot(f, b, f, c), dot(f, a, f, c)
            g1 = dot(d, b, f, c) + dot(f, b, d, c)
            h1 = dot(d, a, f, c) + dot(f, a, d, c)
            out[row] = (
                2.0 * dot(d, b, d, c) * co
                - 2.0 * dot(d, a, d, c) * si
                - 2.0 * t * (g1 * si + h1 * co)
                - t * t * (g * co - h * si)
            )
        elif kind == DISTANCE:
            out[row] = 2.0 * dot(d, a, d, a) - 2.0 * qd[k] * qd[k]
        else:
            out[row] = 2.0 * dot(d, a, d, b)
