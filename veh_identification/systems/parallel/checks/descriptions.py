"""Entries of the configuration that are wrong: units, order of the joints, home, gravity."""

from __future__ import annotations

from functools import partial

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.checks.ranges import DEGREES
from veh_identification.systems.parallel.checks.machine import Hypotheses, Machine, described
from veh_identification.systems.parallel.model.geometry import LEGS, Hexapod
from veh_identification.types import Array

#: On earth (m/s^2); what lies between these is somebody's own value.
GRAVITY, WEAKEST_GRAVITY, STRONGEST_GRAVITY = 9.80665, 8.0, 12.0


def descriptions(robot: Hexapod) -> Hypotheses:
    """Entries of the configuration: units, base and platform, home, gravity."""
    g, home = robot.gravity, robot.home
    changes: list[tuple[str, str, str, dict[str, Array]]] = []
    for factor, unit in ((1e-3, 'mm'), (1e-2, 'cm')):
        parts = {'base_joints': 'base', 'platform_joints': 'platform'}
        for entry, name in parts.items():
            text = f'the joints of the {name} seem to be in {unit}, they must be in m'
            changes.append(('unit', text, name, {entry: factor * getattr(robot, entry)}))
        both = {entry: factor * getattr(robot, entry) for entry in parts}
        place = np.concatenate([factor * home[:3], home[3:]])
        text = f'the geometry seems to be in {unit}, it must be in m'
        changes.append(('unit', text, 'base, platform, home', {**both, 'home': place}))
        text = f'the joints seem to be in {unit}, they must be in m'
        changes.append(('unit', text, 'base, platform', both))
        text = f'the place of home seems to be in {unit}, it must be in m'
        changes.append(('unit', text, 'home', {'home': place}))
    text = 'the joints of base and platform seem to be swapped'
    swapped = {'base_joints': robot.platform_joints, 'platform_joints': robot.base_joints}
    changes.append(('geometry_swapped', text, 'base, platform', swapped))
    degrees = np.concatenate([home[:3], home[3:] / DEGREES])
    changes.append(('unit', 'the angles of home seem to be in degrees', 'home', {'home': degrees}))
    mirrored = home * np.array([1.0, 1.0, -1.0, 1.0, 1.0, 1.0])
    text = 'home seems to lie on the other side of the base: z of another sign'
    changes.append(('home_mirrored', text, 'home', {'home': mirrored}))
    size = float(np.linalg.norm(g))
    if not WEAKEST_GRAVITY < size < STRONGEST_GRAVITY:  # in g, in mm/s^2, none
        if size:
            text = f'gravity seems to be {GRAVITY:.4g} m/s^2, not {size:.4g} m/s^2'
            changes.append(('gravity', text, 'gravity', {'gravity': GRAVITY / size * g}))
        size = GRAVITY
    for axis in np.eye(3):
        for sign in (1.0, -1.0):
            other = sign * size * axis
            if not np.allclose(other, g):
                shown = ', '.join(f'{value:.4g}' for value in other + 0.0)
                text = f'gravity seems to be ({shown}) m/s^2 in the base frame'
                changes.append(('gravity', text, 'gravity', {'gravity': other}))
    for code, text, entry, fields in changes:
        yield Hypothesis(code, text, partial(described, fields=fields), f'entry {entry}')


def listed_otherwise(robot: Hexapod) -> Hypotheses:
    """Joints of base or platform in another order than the legs, or of mirrored axes."""
    parts = {'base': ('base_joints', 'alpha_axes'), 'platform': ('platform_joints',)}
    for part, entries in parts.items():
        own = {entry: getattr(robot, entry) for entry in entries}
        for turn in range(1, 6):
            text = f'the joints of the {part} seem to be listed from that of {LEGS[-turn]} on'
            fields = {entry: np.roll(value, -turn, axis=0) for entry, value in own.items()}
            yield _geometry(text, part, fields)
        fields = {entry: value[::-1] for entry, value in own.items()}
        yield _geometry(f'the joints of the {part} seem to be listed backwards', part, fields)
        for axis, mirror in zip('xy', np.ones((2, 3)) - 2.0 * np.eye(2, 3), strict=True):
            text = f'the joints of the {part} seem to be mirrored: {axis} of another sign'
            yield _geometry(text, part, {entry: value * mirror for entry, value in own.items()})


def _geometry(text: str, part: str, fields: dict[str, Array]) -> Hypothesis[Machine]:
    return Hypothesis('geometry', text, partial(described, fields=fields), f'entry {part}')
