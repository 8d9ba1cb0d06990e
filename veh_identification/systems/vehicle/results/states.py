"""States of the buggy and of the four-bar linkage for the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from veh_identification.reporting.content import StateSeries
from veh_identification.results.observation import at
from veh_identification.types import Array

UNITS = {'x': 'm', 'y': 'm', 'z': 'm', 'vx': 'm/s', 'vy': 'm/s', 'yaw': 'rad', 'yaw_rate': 'rad/s'}


def unit_of(name: str) -> str:
    """Unit of a name of metrics.json."""
    return UNITS.get(
        name, 'rad' if name.startswith('theta') else 'rad/s' if name.startswith('omega') else ''
    )


def buggy_states(run: Any, model: Any, truth: Mapping[str, Array]) -> list[StateSeries]:
    """The judged states with their deviations, then the others; `model` may be None."""
    from veh_identification.systems.vehicle.results.metrics import JUDGED, columns

    estimate = columns(run)
    alone = None if model is None else columns(model)
    spread = np.sqrt(np.maximum(np.einsum('nii->ni', run.covariance), 0.0))
    states = []
    for name in (*JUDGED, *(one for one in estimate if one not in JUDGED)):
        exact = (
            at(run.time, truth['time'], _whole_turns(name, truth[name], estimate[name]))
            if name in truth
            else None
        )
        states.append(
            StateSeries(
                name,
                unit_of(name),
                run.time,
                estimate[name],
                spread[:, JUDGED.index(name)] if name in JUDGED else None,
                exact,
                None if alone is None else at(run.time, model.time, alone[name]),
            )
        )
    return states


def _whole_turns(name: str, exact: Array, estimate: Array) -> Array:
    """The truth of an angle shifted by whole turns to where the estimate starts."""
    if name != 'yaw':
        return exact
    unwrapped = np.unwrap(exact)
    return np.asarray(unwrapped + 2 * np.pi * np.round((estimate[0] - unwrapped[0]) / (2 * np.pi)))


def _crank_truth(
    times: Array, angle: Array, truth: Mapping[str, Array]
) -> tuple[Array | None, Array | None]:
    """Angle and rate of the crank, which turns about the origin, from its pin."""
    keys = [f'{kind}[{name}]' for kind in ('position', 'velocity') for name in ('x1', 'y1')]
    if any(key not in truth for key in keys):
        return None, None
    x, y, vx, vy = (truth[key] for key in keys)
    exact = np.unwrap(np.arctan2(y, x))
    exact = exact + 2 * np.pi * np.round((angle[0] - exact[0]) / (2 * np.pi))
    return at(times, truth['time'], exact), at(
        times, truth['time'], (x * vy - y * vx) / (x * x + y * y)
    )


def four_bar_states(
    times: Array,
    q: Array,
    qd: Array,
    covariance: Array | None,
    truth: Mapping[str, Array],
    alone: tuple[Array, Array] | None,
) -> list[StateSeries]:
    """Crank angle and rate with their deviations, then the two pins."""
    from veh_identification.systems.four_bar.model import COORDINATES

    spread = (
        None if covariance is None else np.sqrt(np.maximum(np.einsum('nii->ni', covariance), 0.0))
    )
    angle, rate = _crank_truth(times, q[:, 4], truth)
    states = [
        StateSeries(
            'crank',
            'rad',
            times,
            q[:, 4],
            None if spread is None else spread[:, 0],
            angle,
            None if alone is None else alone[0][:, 4],
        ),
        StateSeries(
            'crank rate',
            'rad/s',
            times,
            qd[:, 4],
            None if spread is None else spread[:, 1],
            rate,
            None if alone is None else alone[1][:, 4],
        ),
    ]
    for prefix, kind, level, unit in (('', 'position', 0, 'm'), ('v', 'velocity', 1, 'm/s')):
        for k, name in enumerate(COORDINATES):
            key = f'{kind}[{name}]'
            exact = at(times, truth['time'], truth[key]) if key in truth else None
            states.append(
                StateSeries(
                    prefix + name,
                    unit,
                    times,
                    (q, qd)[level][:, k],
                    None,
                    exact,
                    None if alone is None else alone[level][:, k],
                )
            )
    return states
