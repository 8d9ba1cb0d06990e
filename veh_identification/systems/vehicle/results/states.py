"""States of the car over time, in the order in which a reader wants to see them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from veh_identification.reporting.content import StateSeries
from veh_identification.results.observation import at
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.observer.estimate import SLOWEST
from veh_identification.systems.vehicle.observer.run import Run
from veh_identification.systems.vehicle.results.metrics import JUDGED, columns
from veh_identification.types import Array

#: Unit and meaning; those of `GROUPS` have one state a wheel, named with its corner.
MEANINGS: Mapping[str, tuple[str, str]] = {
    'x': ('m', 'place of base_link east of the datum (odom)'),
    'y': ('m', 'place of base_link north of the datum (odom)'),
    'z': ('m', 'height of base_link above the datum (odom)'),
    'yaw': ('rad', 'heading of the car from east to the left'),
    'vx': ('m/s', 'velocity of base_link along x of odom (east)'),
    'vy': ('m/s', 'velocity of base_link along y of odom (north)'),
    'speed': ('m/s', 'horizontal speed of base_link'),
    'yaw_rate': ('rad/s', 'turning rate about the axis of the car that points up'),
    'sideslip': ('rad', 'angle of the velocity of base_link from the axis of the car'),
    'tyre_fx': ('N', 'tyre force along the wheel, on the car'),
    'tyre_fy': ('N', 'tyre force across the wheel, on the car'),
    'tyre_fz': ('N', 'wheel load, normal to the road'),
    'stroke': ('m', 'compression of the damper'),
    'unknown_fx': ('N', 'estimated force along the car that the model does not know'),
    'unknown_fy': ('N', 'estimated force across the car that the model does not know'),
    'unknown_mz': ('N m', 'estimated yaw moment that the model does not know'),
    'omega': ('rad/s', 'turning rate of the wheel'),
    'theta': ('rad', 'angle of the wheel since the start'),
}
#: Four lines, one a wheel, in one figure.
GROUPS = {
    'tyre_fx': 'tyre forces along the wheels',
    'tyre_fy': 'tyre forces across the wheels',
    'tyre_fz': 'wheel loads',
    'stroke': 'damper strokes',
    'omega': 'wheel speeds',
    'theta': 'wheel angles',
}
FOLDED = ('stroke', 'unknown_fx', 'unknown_fy', 'unknown_mz', 'omega', 'theta')


def glossary() -> dict[str, str]:
    """Meaning of every state."""
    found: dict[str, str] = {}
    for name, (_, words) in MEANINGS.items():
        if name in GROUPS:
            found |= {f'{name}_{c}': f'{words} ({c})' for c in CORNERS}
        else:
            found[name] = words
    return found


def units() -> dict[str, str]:
    """Unit of every state."""
    found: dict[str, str] = {}
    for name, (unit, _) in MEANINGS.items():
        names = [f'{name}_{c}' for c in CORNERS] if name in GROUPS else [name]
        found |= dict.fromkeys(names, unit)
    return found


def _along(yaw: Array, vx: Array, vy: Array) -> tuple[Array, Array]:
    """Speeds along and across the car."""
    co, si = np.cos(yaw), np.sin(yaw)
    return co * vx + si * vy, co * vy - si * vx


def _derived(known: Mapping[str, Array]) -> dict[str, Array]:
    """Speed and sideslip of x, y, yaw and their rates."""
    forward, side = _along(known['yaw'], known['vx'], known['vy'])
    slip = np.where(np.abs(forward) < SLOWEST, np.nan, np.arctan2(side, np.abs(forward)))
    return {'speed': np.hypot(known['vx'], known['vy']), 'sideslip': slip}


def values_of(run: Run) -> dict[str, Array]:
    """All states of a run by name."""
    known = columns(run)
    found = {**known, **_derived(known)}
    for k, corner in enumerate(CORNERS):
        for axis, name in enumerate(('tyre_fx', 'tyre_fy', 'tyre_fz')):
            found[f'{name}_{corner}'] = run.tyre[:, k, axis]
        found[f'stroke_{corner}'] = run.stroke[:, k]
    forward, side = _along(run.yaw, run.force_error[:, 0], run.force_error[:, 1])
    return found | {
        'unknown_fx': forward,
        'unknown_fy': side,
        'unknown_mz': run.force_error[:, 3],
    }


def deviations(run: Run, values: Mapping[str, Array]) -> dict[str, Array]:
    """Standard deviations of the judged states and of what follows from them."""
    spread = np.sqrt(np.maximum(np.einsum('nii->ni', run.covariance), 0.0))
    found = {name: spread[:, k] for k, name in enumerate(JUDGED)}
    vx, vy, speed = values['vx'], values['vy'], np.maximum(values['speed'], 1e-9)
    rows = np.zeros((2, len(run.time), len(JUDGED)))
    yaw, east, north = (JUDGED.index(name) for name in ('yaw', 'vx', 'vy'))
    rows[0, :, east], rows[0, :, north] = vx / speed, vy / speed
    # sideslip is the course less the heading; backwards its sign is turned
    sign = np.where(_along(values['yaw'], vx, vy)[0] < 0.0, -1.0, 1.0)
    rows[1, :, east], rows[1, :, north] = -sign * vy / speed**2, sign * vx / speed**2
    rows[1, :, yaw] = -sign
    variance = np.einsum('kni,nij,knj->kn', rows, run.covariance, rows)
    found['speed'], found['sideslip'] = np.sqrt(np.maximum(variance, 0.0))
    found['sideslip'] = np.where(np.isfinite(values['sideslip']), found['sideslip'], np.nan)
    return found


def true_values(run: Run, truth: Mapping[str, Array], yaw: Array) -> dict[str, Array]:
    """What the recording knows of the states, at the times of the run."""
    if not truth:
        return {}
    known = {
        name: at(
            run.time,
            truth['time'],
            _whole_turns(values, yaw) if name == 'yaw' else values,
        )
        for name, values in truth.items()
        if name != 'time'
    }
    return known | _derived(known)


def _whole_turns(exact: Array, estimate: Array) -> Array:
    """The truth of an angle shifted by whole turns to where the estimate starts."""
    unwrapped = np.unwrap(exact)
    return np.asarray(unwrapped + 2 * np.pi * np.round((estimate[0] - unwrapped[0]) / (2 * np.pi)))


def states_of(
    run: Run, model: Run | None, truth: Mapping[str, Array], forces: bool
) -> tuple[StateSeries, ...]:
    """Place, heading, speeds, sideslip and tyre forces, then the others.

    `model`: the model alone, None where it was not run; `forces`: whether unknown forces were
    estimated.
    """
    values = values_of(run)
    alone = {} if model is None else values_of(model)
    exact = true_values(run, truth, values['yaw'])
    spread = deviations(run, values)
    states = []
    for stem, (unit, meaning) in MEANINGS.items():
        if stem.startswith('unknown') and not forces:
            continue
        names = [f'{stem}_{c}' for c in CORNERS] if stem in GROUPS else [stem]
        states += [
            StateSeries(
                name,
                unit,
                run.time,
                values[name],
                spread.get(name),
                exact.get(name),
                None
                if model is None or stem.startswith('unknown')
                else at(run.time, model.time, alone[name]),
                GROUPS.get(stem, ''),
                stem in FOLDED,
                meaning,
            )
            for name in names
        ]
    return tuple(states)
