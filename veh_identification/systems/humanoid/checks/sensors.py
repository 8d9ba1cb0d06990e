"""Single channels of a humanoid's recording: stuck, saturated; and what all of them weigh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from veh_identification.checks.copied import check_copied
from veh_identification.checks.health import (
    check_coarse,
    check_jumps,
    check_repeated,
    check_saturated,
    check_stuck,
    told_once,
)
from veh_identification.checks.held import check_held
from veh_identification.checks.rectified import check_rectified
from veh_identification.checks.ticks import check_ticks
from veh_identification.checks.two_sources import check_two_sources
from veh_identification.findings import Finding, Level
from veh_identification.signals import TimeSeries, rotation_matrix
from veh_identification.systems.humanoid.estimation.problem import Problem
from veh_identification.systems.humanoid.recording.reader import WRENCH_PATHS, Recording
from veh_identification.types import Array, BoolArray

#: A wrench that does not change while it is loaded is stuck; empty plates show one value for long.
LOADED = 0.2
#: Jump of a joint [rad, m] that is told.
SMALLEST_JUMP = 0.1
#: Radians that every base leans at times, and metres or radians that one moves which is not fixed.
UPRIGHT, MOVES = 1e-6, 1e-3
#: Share of its load below which a plate may be empty.
EMPTY = 0.05
#: Steps (m) of the base's position that are no matter: a robot may hardly move along one axis.
BASE_STEP = 3e-3
#: Steps of a force, as a share of the weight, that are no matter.
FORCE_STEP = 0.05
#: Share of the robot's weight that a sensor must carry at times to be asked at all.
CARRIES = 0.02
#: Deviations of the URDF's mass, each link being off by prior_percent, beyond which it is told.
MASS_DEVIATIONS = 3.0
#: Share of it that is told in any case: nearer than that few URDFs are.
URDF_SHARE = 0.05
#: Logarithm of the ratio that is a doubt whatever links may be off by: masses a third too small,
#: or a third of the robot as a load, are rarer than a plate or a sole of the wrong gain.
RARE = 0.3
#: Deviations and share by which the weight may differ from that of a scale.
WEIGHED_DEVIATIONS, WEIGHED_SHARE = 3.0, 0.01
#: Share to which the loads alone, before any fit, tell the weight.
SHOWN_SHARE = 0.01


def channel_findings(
    recording: Recording, doubtful: bool, weight: float, *, filtered: bool = False
) -> list[Finding]:
    """Channels that hold one value, or run into a limit, while the robot moves.

    `doubtful`: whether wrench and motion do not fit; `weight` [N] of the robot; `filtered`:
    whether the values have passed the sensor fusion.
    """
    return [
        replace(
            one, text=f'{recording.label}: {one.text}', where=f'{recording.label}, {one.where}'
        )
        for one in _two_sources(recording)
        or _rectified(recording)
        or _coarse(recording, doubtful, weight)
        or [
            *_wrenches(recording, weight, filtered),
            *_joints(recording, doubtful),
            *(_base(recording) if doubtful else ()),
            *_upright(recording, doubtful),
            *_held(recording),
            *_repeated(recording),
        ]
    ]


def _two_sources(recording: Recording) -> list[Finding]:
    """Topics on which two sources publish by turns: nothing else can be said of them."""
    found = []
    places = {f'topic joint_states, joint {name}': (series, k) for series in recording.joints
              for k, name in enumerate(series.names)}  # fmt: skip
    for one in recording.wrenches:
        own = {
            f'topic {one.topic}, {path}': (one.series, k) for k, path in enumerate(WRENCH_PATHS)
        }
        places |= own
    for where, (series, k) in places.items():
        found += check_two_sources(series.values[:, k], where)
    return told_once(found)


def _rectified(recording: Recording) -> list[Finding]:
    """Plates whose forces along the ground and moments have no signs."""
    found = []
    for one in recording.wrenches if recording.wrenches else ():
        columns = [0, 1, 3, 4, 5]  # the vertical force has one sign rightly
        places = [f'topic {one.topic}, {WRENCH_PATHS[k]}' for k in columns]
        found += check_rectified(one.series.values[:, columns], places)
    return found + _copied(recording)


def _copied(recording: Recording) -> list[Finding]:
    """Channels of one wrench, or two wrenches of one driver, that are the same."""
    found = []
    for one in recording.wrenches:
        places = [f'topic {one.topic}, {path}' for path in WRENCH_PATHS]
        found += check_copied(one.series.values, places)
    counts = {len(one.series) for one in recording.wrenches}
    if len(recording.wrenches) > 1 and len(counts) == 1:
        values = np.column_stack([one.series.values[:, 2] for one in recording.wrenches])
        places = [f'topic {one.topic}, {WRENCH_PATHS[2]}' for one in recording.wrenches]
        found += check_copied(values, places)
    return found


def _coarse(recording: Recording, doubtful: bool, weight: float) -> list[Finding]:
    """Positions and forces in steps as large as what they show: they are made of steps.

    Where nothing fits that is the cause, and others would only seem to cure it.
    """
    found = [*_coarse_base(recording), *_coarse_joints(recording)]
    for one in recording.wrenches:
        places = [f'topic {one.topic}, {path}' for path in WRENCH_PATHS[:3]]
        found += told_once(
            [
                coarse
                for k, place in enumerate(places)
                for coarse in check_coarse(
                    one.series.values[:, k], place, 'N', FORCE_STEP * weight
                )
            ]
        )
    return [replace(one, level='bad') for one in found] if doubtful else found


def _coarse_joints(recording: Recording) -> list[Finding]:
    """Joints, told once."""
    return told_once(
        [
            one
            for series in recording.joints
            for k, name in enumerate(series.names)
            for one in check_ticks(
                series.values[:, k], f'topic joint_states, joint {name}', series.units[k]
            )
        ]
    )


def _coarse_base(recording: Recording) -> list[Finding]:
    """Places of the base, told once."""
    base = recording.base
    if base.values.shape[1] != 7:
        return []
    return told_once(
        [
            one
            for k, name in enumerate(base.names[:3])
            for one in check_coarse(base.values[:, k], f'{base.label}, {name}', 'm', BASE_STEP)
        ]
    )


def _held(recording: Recording) -> Iterator[Finding]:
    """Topics whose values stand all at once while else they change all the time."""
    many = [(one, 'topic joint_states, joint {}') for one in recording.joints]
    many += [(one.series, f'topic {one.topic}, {{}}') for one in recording.wrenches]
    for series, place in [*many, (recording.base, f'{recording.base.label}, {{}}')]:
        yield from told_once(
            [
                one
                for k, name in enumerate(series.names)
                for one in check_held(series.stamps, series.values[:, k], place.format(name))
            ]
        )


def _repeated(recording: Recording) -> Iterator[Finding]:
    """Joints, base and wrenches behind which a slower source stands, each topic once."""
    for series in recording.joints:
        places = [f'topic joint_states, joint {name}' for name in series.names]
        yield from _repeated_columns(series, places)
    for one in recording.wrenches:
        yield from _repeated_columns(
            one.series, [f'topic {one.topic}, {path}' for path in WRENCH_PATHS]
        )
    base = recording.base
    yield from _repeated_columns(base, [f'{base.label}, {name}' for name in base.names])


def _repeated_columns(series: TimeSeries, places: Sequence[str]) -> list[Finding]:
    found = [
        check_repeated(series.stamps, series.values[:, k], place) for k, place in enumerate(places)
    ]
    return told_once([one for each in found for one in each])


def _wrenches(recording: Recording, weight: float, filtered: bool) -> Iterator[Finding]:
    for one in recording.wrenches:
        force = np.linalg.norm(one.series.values[:, :3], axis=1)
        if np.percentile(force, 98.0) < CARRIES * weight:
            continue  # nothing was ever on it
        # An empty plate shows one value, by its ticks or as laboratories set small forces to zero:
        # that is no limit.
        loaded = force > EMPTY * np.percentile(force, 98.0)
        for k, path in enumerate(WRENCH_PATHS):
            value, where = one.series.values[:, k], f'topic {one.topic}, {path}'
            size = float(np.percentile(np.abs(value), 98.0))
            beside = one.series.values[:, 3 * (k // 3) : 3 * (k // 3) + 3]
            # A sensor's noise shows on its other axes as well: one that has none is stuck.
            alive = np.abs(value) > LOADED * size
            alive |= _changing(np.delete(beside, k % 3, axis=1))
            stuck = check_stuck(one.series.stamps, value, where, moving=alive)
            # A limit is left again; what holds its value to the end is stuck, wherever that is.
            for_good = stuck and value[-1] == value[-2]
            limited = check_saturated(value[loaded], where, filtered=filtered)
            yield from stuck if for_good else limited or stuck


def _joints(recording: Recording, doubtful: bool) -> Iterator[Finding]:
    """Joints may well rest while others move: only where something does not fit it is a fault."""
    for series in recording.joints:
        moving = _changing(series.values)
        for k, name in enumerate(series.names):
            where = f'topic joint_states, joint {name}'
            value = series.values[:, k]
            if np.ptp(value) > 0.0:
                for one in check_stuck(series.stamps, value, where, moving=moving):
                    yield one if doubtful else replace(one, level='warn')
            yield from check_jumps(series.stamps, value, where, SMALLEST_JUMP)


def _base(recording: Recording) -> Iterator[Finding]:
    """A base that has moved may come to rest, though hardly while nothing fits and joints move."""
    base = recording.base
    moving = np.zeros(len(base.stamps), dtype=bool)
    for series in recording.joints:
        last = np.searchsorted(series.stamps, base.stamps, side='right') - 1
        moving |= _changing(series.values)[np.clip(last, 0, None)] & (last >= 0)
    found = [
        check_stuck(base.stamps, base.values[:, k], f'{base.label}, {name}', moving=moving)
        for k, name in enumerate(base.names)
        if np.ptp(base.values[:, k]) > 0.0
    ]
    if found and all(found):
        yield from told_once([one for each in found for one in each])


def _upright(recording: Recording, doubtful: bool) -> Iterator[Finding]:
    """A base that goes about and never leans at all: its pose is that of a map, or nobody's."""
    base = recording.base
    if base.values.shape[1] != 7:
        return
    turn = rotation_matrix(base.values[:, 3:])
    leans = float(np.abs(turn[:, :2, 2]).max())
    heading = np.unwrap(np.arctan2(turn[:, 1, 0], turn[:, 0, 0]))
    moved = max(float(np.ptp(base.values[:, :3], axis=0).max()), float(np.ptp(heading)))
    if leans > UPRIGHT or moved < MOVES:
        return
    text = (
        f'{base.label}: the base moves, but its roll and pitch are zero throughout: it seems to '
        'be the pose of a planar localisation, or an orientation that nobody fills; give one of '
        'all three axes (motion capture, or the IMU of the base)'
    )
    level: Level = 'bad' if doubtful else 'warn'
    yield Finding(level, 'base_upright', text, f'{base.label}, pose.orientation')


def _changing(values: Array) -> BoolArray:
    """Samples at which some channel is not what it was."""
    changed: BoolArray = np.any(np.diff(values, axis=0) != 0.0, axis=1)
    return np.append(changed, changed[-1:] if len(changed) else [True])


def weight_finding(problem: Problem, scale: float, label: str) -> list[Finding]:
    """The weight that the sensors show against a scale, or against the mass of the URDF.

    A wrong gain of all sensors looks like other masses in every equation: only who has weighed
    the robot can tell.
    """
    configuration, own = problem.configuration, float(problem.prior.mass.sum())
    where = f'{label}, wrench.force'
    if not scale > 0.0:
        return []
    if configuration.weighed is not None:
        shown = scale * own + problem.robot.mass_beyond
        unsure = SHOWN_SHARE * shown
        found = against_scale(shown, unsure, configuration.weighed, label, where)
        return [one for one in found if one.level == 'bad']  # the rest is for the estimate
    mass = problem.prior.mass
    spread = 0.01 * configuration.prior_percent
    deviation = spread * float(np.linalg.norm(mass)) / own
    if abs(np.log(scale)) < URDF_SHARE:
        return []
    usual = abs(np.log(scale)) < min(MASS_DEVIATIONS * deviation, RARE)
    if usual:
        why = 'the masses of the URDF, a load, or one wrong gain of all wrench sensors; no motion '
        why += 'tells these apart: if the robot was weighed, give weighed_mass'
    else:
        why = f'its masses together could be off by {100.0 * deviation:.2g} %: wrong gain of a '
        why += 'sensor, a load, or another robot (if it was weighed, give weighed_mass)'
    text = (
        f'{label}: the wrench sensors show {scale:.3g} times the weight of the URDF '
        f'({own:.4g} kg): {why}'
    )
    # The last bits depend on the frame in which a wrench came.
    shown = round(scale, 6)
    return [Finding('note' if usual else 'warn', 'weight_not_of_urdf', text, where, size=shown)]


def against_scale(
    mass: float, std: float, weighed: tuple[float, float], label: str, where: str
) -> list[Finding]:
    """A mass with its deviation beside that of a scale."""
    value, sigma = weighed
    apart = mass - value
    told = f'{label}: {mass:.4g} +- {std:.2g} kg on the wrench sensors, {value:.4g} +- {sigma:.2g}'
    told += f' kg by the scale ({100.0 * apart / value:+.2g} %)'
    if abs(apart) < max(WEIGHED_DEVIATIONS * float(np.hypot(std, sigma)), WEIGHED_SHARE * value):
        return [Finding('good', 'weight_against_scale', told, where, size=mass / value)]
    text = (
        f'{told}: the gain of all wrench sensors is wrong, a load is carried that was not '
        'weighed, or gravity is given wrongly; masses and inertias come out wrong by as much'
    )
    return [Finding('bad', 'weight_against_scale', text, where, size=mass / value)]
