"""What may be wrong with a humanoid's recording: units, signs, sides, frames, orders, clocks.

Every hypothesis is a change of the gridded signals with which the recording would be right, in
order of simplicity. None is a list of cases: each sensor, joint and link of the robot is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.checks.ranges import DEGREES, FORCE, LENGTH, MOMENT
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.motion import fixed_base_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.orientations import matrix_of_rpy
from veh_identification.signals import rotation_matrix
from veh_identification.systems.humanoid.configuration import Pose
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.recording.reader import WRENCH_PATHS
from veh_identification.types import Array

Change = Callable[[Raw], Raw]
Hypotheses = Iterator[Hypothesis[Raw]]

#: Words of the left side with those of the right side, as tokens of a joint's name.
SIDES = {'l': 'r', 'left': 'right', 'L': 'R', 'Left': 'Right', 'LEFT': 'RIGHT'}
BOTH_SIDES = {**SIDES, **{right: left for left, right in SIDES.items()}}
#: More than that, and single sensors are not asked one by one.
MANY_SENSORS = 6
#: Logarithm of a gain that is worth a word, sensors being calibrated to some per cent, and of one
#: that is no gain any more.
SMALLEST_GAIN, LARGEST_GAIN = 0.05, 1.6
#: Share of the weight of an offset that is worth a word: what `wrench_offset` does not allow for.
SMALLEST_OFFSET = 0.01
#: Share of the weight that is missing where a plate was set to zero under load.
SMALLEST_TARE = 0.2
#: Seconds at the beginning of which such a plate shows nothing, what nothing is, and how much its
#: load changes later (else its forces are in a larger unit), of the weight.
BEGINNING, NOTHING, MOVES = 0.1, 0.05, 0.003
#: Degrees of a base askew, and radians of a joint's zero, that are worth a word.
SMALLEST_TILT = 2.0
SMALLEST_ZERO, LARGEST_ZERO = 0.03, 1.2
#: Metres of a base too high, and radians of a plate turned, that are worth a word.
SMALLEST_HEIGHT, SMALLEST_YAW = 0.03, 0.05
#: What angles may be shown in, in radians.
ANGLES = {'degrees': 1.0 / DEGREES, 'turns': 2.0 * np.pi}
#: Share of the samples that tell how far a joint goes: glitches, and speeds that stamps of arrival
#: make, go anywhere.
USUAL = 0.75
#: Seconds by which wrenches are tried earlier and later; finer ones are measured (see delays).
LAGS = (0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)


def every_hypothesis(raw: Raw, model: TreeModel) -> Hypotheses:
    """All of them, the simplest first."""
    yield from units(raw)
    yield from signs_and_turns(raw)
    yield from in_other_axes(raw)
    yield from swapped_sensors(raw)
    if raw.imu is None:
        yield from poses(raw, model)
    if raw.inertial is None:
        yield from joints(raw, model)
    yield from mirrored_axes(raw)
    yield from lags(raw)


def joined_at(first: Raw, second: Raw, row: int) -> Raw:
    """One recording until a row and another from it on; poses of plates are those of the first."""

    def both(a: Array, b: Array) -> Array:
        return a if a is b else np.concatenate([a[:row], b[row:]])

    return replace(
        first,
        joints=both(first.joints, second.joints),
        pose=both(first.pose, second.pose),
        wrenches=both(first.wrenches, second.wrenches),
        valid=first.valid & second.valid,
    )


# Wrenches ----------------------------------------------------------------------------------------


def _groups(raw: Raw) -> list[list[int]]:
    """All plates, all sensors on the robot, and each of a few."""
    plates = [k for k, source in enumerate(raw.sources) if source.is_plate]
    sensors = [k for k, source in enumerate(raw.sources) if not source.is_plate]
    found = [group for group in (plates, sensors) if group]
    for group in (plates, sensors):
        found += [[k] for k in group] if 1 < len(group) <= MANY_SENSORS else []
    return found


def _named(raw: Raw, group: Sequence[int]) -> tuple[str, str]:
    topics = [raw.sources[k].topic for k in group]
    return ' and '.join(topics), f'topic {", ".join(topics)}'


def _of_wrenches(group: Sequence[int], change: Callable[[Array], Array]) -> Change:
    """Some sensors' wrenches (N, 6) changed."""

    def make(raw: Raw) -> Raw:
        made = raw.wrenches.copy()
        for k in group:
            made[:, k] = change(raw.wrenches[:, k])
        return replace(raw, wrenches=made)

    return make


def _scaled(force: float, moment: float) -> Callable[[Array], Array]:
    factors = np.array([force] * 3 + [moment] * 3)
    return lambda wrench: wrench * factors


def _matrix(matrix: Array) -> Callable[[Array], Array]:
    return lambda wrench: np.hstack([wrench[:, :3] @ matrix.T, wrench[:, 3:] @ matrix.T])


def units(raw: Raw) -> Hypotheses:
    """Forces and moments in other units, together and apart."""
    for group in _groups(raw):
        names, where = _named(raw, group)
        for unit, factor in FORCE.others.items():
            text = f'the forces of {names} seem to be in {unit}, they must be in N'
            change = _of_wrenches(group, _scaled(1.0 / factor, 1.0))
            yield Hypothesis('unit', text, change, f'{where}, wrench.force')
            text = f'{names} seems to be in {unit} and {unit} m, it must be in N and N m'
            change = _of_wrenches(group, _scaled(1.0 / factor, 1.0 / factor))
            yield Hypothesis('unit', text, change, where)
        for unit, factor in FORCE.others.items():
            for part, what in (([0, 1], 'x and force.y'), ([2], 'z')):
                factors = np.ones(6)
                factors[part] = 1.0 / factor
                text = f'force.{what} of {names} alone seem to be in {unit}, they must be in N'
                change = _of_wrenches(group, lambda wrench, f=factors: wrench * f)  # type: ignore[misc]
                yield Hypothesis('unit', text, change, f'{where}, wrench.force')
        for unit, factor in MOMENT.others.items():
            text = f'the moments of {names} seem to be in {unit}, they must be in N m'
            change = _of_wrenches(group, _scaled(1.0, 1.0 / factor))
            yield Hypothesis('unit', text, change, f'{where}, wrench.torque')
        text = (
            f'torque.x and torque.y of {names} seem to hold the centre of pressure (m), they must '
            'be moments (N m)'
        )
        change = _of_wrenches(group, _about_the_origin)
        yield Hypothesis('unit', text, change, f'{where}, wrench.torque')


def _about_the_origin(wrench: Array) -> Array:
    """Moments of forces that act at the places which stand where moments belong."""
    x, y, up = wrench[:, 3], wrench[:, 4], wrench[:, 2]
    return np.column_stack([wrench[:, :3], y * up, -x * up, wrench[:, 5]])


def signs_and_turns(raw: Raw) -> Hypotheses:
    """Opposite signs, and frames turned by quarters."""
    for group in _groups(raw):
        names, where = _named(raw, group)
        for force, moment, what in (
            (-1.0, -1.0, f'{names} seems to have the opposite sign (what the robot exerts)'),
            (-1.0, 1.0, f'the forces of {names} seem to have the opposite sign'),
            (1.0, -1.0, f'the moments of {names} seem to have the opposite sign'),
        ):
            change = _of_wrenches(group, _scaled(force, moment))
            yield Hypothesis('opposite_sign', what, change, where)
        for matrix, what in _turns():
            if len(group) == 1 < len(raw.sources) and abs(matrix[2, 2]) < 0.5:
                continue  # one plate alone that stands on its edge
            for sign, also in ((1.0, ''), (-1.0, ' and to have the opposite sign')):
                yield Hypothesis(
                    'frame_turned',
                    f'the frame of {names} seems to be turned by {what}{also}',
                    _of_wrenches(group, _matrix(sign * matrix)),
                    where,
                )


def in_other_axes(raw: Raw) -> Hypotheses:
    """Plates whose wrenches are in axes of the world, though their frames are turned in it."""
    turns = {k: one.pose.rotation for k, one in enumerate(raw.sources) if one.pose is not None}
    turned = [k for k, turn in turns.items() if not np.allclose(turn, np.eye(3), atol=0.02)]
    if not turned:
        return

    def change(now: Raw) -> Raw:
        made = now.wrenches.copy()
        for k in turned:
            made[:, k] = _matrix(turns[k].T)(now.wrenches[:, k])
        return replace(now, wrenches=made)

    names, where = _named(raw, turned)
    text = (
        f'the wrenches of {names} seem to be in axes of the world, they must be in those of the '
        "plate's frame (or the frame is not turned as its pose says)"
    )
    yield Hypothesis('frame_turned', text, change, where)


def turned_worlds(raw: Raw) -> Hypotheses:
    """The world of the base pose turned about the vertical against that of the plates.

    By the poses of the plates, so that wrenches alone change.
    """
    for matrix, what in _turns():
        if matrix[2, 2] < 0.5:
            continue

        def change(now: Raw, turn: Array = matrix.T) -> Raw:
            sources = tuple(
                one
                if one.pose is None
                else replace(one, pose=Pose(turn @ one.pose.position, turn @ one.pose.rotation))
                for one in now.sources
            )
            return replace(now, sources=sources)

        text = (
            f'the world of the plates seems to be turned by {what} against that of the base pose'
        )
        yield Hypothesis('world_turned', text, change, 'poses of the plates')


#: Channels x and y of forces and moments in each other's place, together and apart.
EXCHANGES = {
    'the x and y axes': [1, 0, 2, 4, 3, 5],
    'wrench.force.x and wrench.force.y': [1, 0, 2, 3, 4, 5],
    'wrench.torque.x and wrench.torque.y': [0, 1, 2, 4, 3, 5],
}


def mirrored_axes(raw: Raw) -> Hypotheses:
    """One axis, or channel, of the wrong sign or place: a left-handed frame, a cable turned."""
    for group in _groups(raw):
        names, where = _named(raw, group)
        for what, order in EXCHANGES.items():
            yield Hypothesis(
                'axes_exchanged',
                f'{what} of {names} seem to be exchanged',
                _of_wrenches(group, lambda wrench, o=order: wrench[:, o]),  # type: ignore[misc]
                where,
            )
        for k, axis in enumerate('xyz'):
            mirror = np.ones(3)
            mirror[k] = -1.0
            both = np.concatenate([mirror, -mirror])  # moments are axial
            same = np.concatenate([mirror, mirror])
            for factors in (both, same):
                yield Hypothesis(
                    'axis_sign',
                    f'the {axis} axis of {names} seems to have the opposite sign',
                    _of_wrenches(group, lambda wrench, f=factors: wrench * f),  # type: ignore[misc]
                    where,
                )
        for k, channel in enumerate(WRENCH_PATHS):
            one = np.ones(6)
            one[k] = -1.0
            yield Hypothesis(
                'axis_sign',
                f'{channel} of {names} seems to have the opposite sign',
                _of_wrenches(group, lambda wrench, f=one: wrench * f),  # type: ignore[misc]
                f'{where}, {channel}',
            )


def swapped_sensors(raw: Raw) -> Hypotheses:
    """Two plates, or two sensors on the robot, exchanged."""
    for i in range(len(raw.sources)):
        for j in range(i):
            if raw.sources[i].is_plate == raw.sources[j].is_plate:
                one, other = raw.sources[j].topic, raw.sources[i].topic
                yield Hypothesis(
                    'sensors_swapped',
                    f'{one} and {other} seem to be swapped',
                    _swapped(i, j),
                    f'topics {one} and {other}',
                )


def _swapped(i: int, j: int) -> Change:
    def make(raw: Raw) -> Raw:
        made = raw.wrenches.copy()
        made[:, [i, j]] = raw.wrenches[:, [j, i]]
        return replace(raw, wrenches=made)

    return make


def shifts(raw: Raw, moments: Callable[[Raw], Array], wanted: Array, least: float) -> Hypotheses:
    """Each plate's moments about the point from which they fit the motion best.

    Moments that are about a point d from the frame's origin miss d x F. `moments` are those at
    the base of a recording, `wanted` what the motion needs; below `least` [m] the model decides.
    """
    as_they_are = moments(raw)
    nothing = moments(replace(raw, wrenches=np.zeros_like(raw.wrenches)))
    plates = [k for k, source in enumerate(raw.sources) if source.is_plate]
    for group in [plates, *([[k] for k in plates] if len(plates) > 1 else [])]:
        effects = []
        for axis in np.eye(3)[:2]:  # along its normal it hardly matters, so that errors decide
            turned = np.zeros_like(raw.wrenches)
            for k in group:
                turned[:, k, 3:] = np.cross(axis, raw.wrenches[:, k, :3])
            effects.append((moments(replace(raw, wrenches=turned)) - nothing).ravel())
        if not effects:
            continue
        columns, missing = np.column_stack(effects), (wanted - as_they_are).ravel()
        shift = np.append(np.linalg.lstsq(columns, missing, rcond=None)[0], 0.0)
        if not np.linalg.norm(shift) >= least:
            continue
        names, where = _named(raw, group)
        place = ', '.join(f'{value:.2f}' for value in shift[:2])
        yield Hypothesis(
            'moments_about_another_point',
            f'the moments of {names} seem to be about the point ({place}) m '
            'of its frame and not about its origin, or the pose of the plate is wrong '
            'by that',
            _of_wrenches(group, _moved(shift)),
            f'{where}, wrench.torque',
        )


def _moved(shift: Array) -> Callable[[Array], Array]:
    return lambda wrench: np.hstack(
        [wrench[:, :3], wrench[:, 3:] + np.cross(shift, wrench[:, :3])]
    )


def yaws(raw: Raw, wrench: Callable[[Raw], Array], wanted: Array) -> Hypotheses:
    """One plate turned about its normal by the angle with which all fit the motion best.

    `wrench` is that of a recording and `wanted` what the motion needs, in comparable units. A
    plate turned by an angle shows what lies in its plane times the cosine, and turned by a
    quarter times the sine.
    """
    nothing = wrench(replace(raw, wrenches=np.zeros_like(raw.wrenches)))
    missing = wanted - wrench(raw)
    across = matrix_of_rpy([0.0, 0.0, 0.5 * np.pi])
    for k, source in enumerate(raw.sources):
        if not source.is_plate:
            continue
        plane = raw.wrenches[:, k] * np.array([1.0, 1.0, 0.0, 1.0, 1.0, 0.0])
        columns = []
        for one in (plane, _matrix(across)(plane)):
            alone = np.zeros_like(raw.wrenches)
            alone[:, k] = one
            columns.append((wrench(replace(raw, wrenches=alone)) - nothing).ravel())
        right = missing.ravel() + columns[0]
        cosine, sine = np.linalg.lstsq(np.column_stack(columns), right, rcond=None)[0]
        angle = float(np.arctan2(sine, cosine))
        if abs(angle) < SMALLEST_YAW:
            continue
        names, where = _named(raw, [k])
        yield Hypothesis(
            'plate_yaw',
            f'{names} seems to be turned by {np.degrees(angle):.2g} degrees about its z axis '
            'against the pose that is given for it (under feet that stay where they are, one that '
            'is moved looks alike)',
            _of_wrenches([k], _matrix(matrix_of_rpy([0.0, 0.0, angle]))),
            f'{where}, pose of the plate',
        )


def offsets(raw: Raw, missing: Array, weight: float) -> Hypotheses:
    """A constant horizontal force on a plate: `missing` (6,) along the world at their centre.

    A vertical one, and moments, are first of all a matter of the robot's masses.
    """
    for k, source in enumerate(raw.sources):
        if source.pose is None or np.linalg.norm(missing[:2]) < SMALLEST_OFFSET * weight:
            continue
        force = source.pose.rotation.T @ (missing[:3] * np.array([1.0, 1.0, 0.0]))
        offset = np.concatenate([force, np.zeros(3)])
        shown = ', '.join(f'{-value:.3g}' for value in force)
        yield Hypothesis(
            'plate_offset',
            f'{source.topic} seems to have an offset of {shown} N: tare it while it is empty',
            _of_wrenches([k], lambda wrench, o=offset: wrench + o),  # type: ignore[misc]
            f'topic {source.topic}, wrench.force',
        )


def vertical_offsets(raw: Raw, wrench: Callable[[Raw], Array], predicted: Array) -> Hypotheses:
    """A constant vertical force on one of several plates, by the moment that it makes as well.

    Beside the masses' own scale, which explains a mere force.
    """
    if not 1 < len(raw.sources) <= MANY_SENSORS:
        return
    nothing = wrench(replace(raw, wrenches=np.zeros_like(raw.wrenches)))
    shown = wrench(raw) - nothing
    for k, source in enumerate(raw.sources):
        if source.pose is None:
            continue
        alone = np.zeros_like(raw.wrenches)
        alone[:, k, 2] = 1.0
        effect = (wrench(replace(raw, wrenches=alone)) - nothing).ravel()
        columns = np.column_stack([effect, predicted.ravel()])
        size = float(np.linalg.lstsq(columns, shown.ravel(), rcond=None)[0][0])
        if abs(size) < SMALLEST_OFFSET * float(np.abs(shown[:, 2]).mean()):
            continue
        offset = np.array([0.0, 0.0, -size, 0.0, 0.0, 0.0])
        yield Hypothesis(
            'plate_offset',
            f'{source.topic} seems to show {size:+.3g} N of vertical force all the time: tare it '
            'while it is empty',
            _of_wrenches([k], lambda one, o=offset: one + o),  # type: ignore[misc]
            f'topic {source.topic}, wrench.force.z',
        )


def tares(raw: Raw, missing: Array, centre: Array, weight: float) -> Hypotheses:
    """Plates set to zero under load: `missing` (6,) along the world at `centre`.

    They begin with nothing, and a part of the weight is missing all the time, with the moment
    that it has there.
    """
    valid = np.flatnonzero(raw.valid)
    if not missing[2] > SMALLEST_TARE * weight or not len(valid):
        return
    begin = valid[: max(1, round(BEGINNING * raw.rate))]
    group = [
        k
        for k, source in enumerate(raw.sources)
        if source.pose is not None
        and np.linalg.norm(raw.wrenches[begin, k, :3].mean(axis=0)) < NOTHING * weight
        and np.ptp(np.percentile(raw.wrenches[valid, k, 2], [2.0, 98.0])) > MOVES * weight
    ]
    if not group:
        return
    pose = raw.sources[group[0]].pose
    assert pose is not None
    moment = missing[3:] + np.cross(centre - pose.position, missing[:3])
    offset = np.concatenate([pose.rotation.T @ missing[:3], pose.rotation.T @ moment])
    names, where = _named(raw, group)
    yield Hypothesis(
        'tared_under_load',
        f'{names} seems to have been set to zero while the robot stood on it: {missing[2]:.3g} N '
        'of its weight are missing all the time; tare it while it is empty',
        _of_wrenches(group[:1], lambda wrench: wrench + offset),
        f'{where}, wrench.force',
    )


def gains(raw: Raw, wrench: Callable[[Raw], Array], wanted: Array) -> Hypotheses:
    """One of several sensors with another gain than the others, by the weight that they share."""
    if not 1 < len(raw.sources) <= MANY_SENSORS:
        return
    columns = []
    for k in range(len(raw.sources)):
        alone = np.zeros_like(raw.wrenches)
        alone[:, k] = raw.wrenches[:, k]
        columns.append(wrench(replace(raw, wrenches=alone)).ravel())
    cure = np.linalg.lstsq(np.column_stack(columns), wanted.ravel(), rcond=None)[0]
    for k, source in enumerate(raw.sources):
        factor = float(cure[k] / np.median(np.delete(cure, k)))
        if not (factor > 0.0 and SMALLEST_GAIN < abs(np.log(factor)) < LARGEST_GAIN):
            continue
        yield Hypothesis(
            'scale',
            f'{source.topic} seems to show {1.0 / factor:.3g} times too much beside the others',
            _of_wrenches([k], _scaled(factor, factor)),
            f'topic {source.topic}',
        )


def lags(raw: Raw) -> Hypotheses:
    """The wrenches, or those of one plate, later or earlier than the motion."""
    every = list(range(len(raw.sources)))
    single = [group for group in _groups(raw) if len(group) == 1 < len(every)]
    for group in [every, *single]:
        what = 'the wrenches seem' if group == every else f'{_named(raw, group)[0]} seems'
        for lag in LAGS:
            for sign, word in ((1.0, 'late'), (-1.0, 'early')):
                steps = round(sign * lag * raw.rate)
                if not steps or abs(steps) > len(raw.stamps) // 4:
                    continue
                yield Hypothesis(
                    'wrench_late',
                    f'{what} to be about {1e3 * lag:.3g} ms {word} against joints and base',
                    _earlier(steps, group),
                    'stamps of the wrenches',
                )


def _earlier(steps: int, group: Sequence[int]) -> Change:
    def make(raw: Raw) -> Raw:
        made, valid = raw.wrenches.copy(), raw.valid.copy()
        made[:, group] = np.roll(raw.wrenches[:, group], -steps, axis=0)
        valid &= np.roll(raw.valid, -steps)
        edge = slice(-steps, None) if steps > 0 else slice(None, -steps)
        valid[edge] = False
        return replace(raw, wrenches=made, valid=valid)

    return make


# Base --------------------------------------------------------------------------------------------


def poses(raw: Raw, model: TreeModel) -> Hypotheses:
    """The base's place in other units, its orientation otherwise written, another link's pose."""
    where = 'base pose'
    for unit, factor in LENGTH.others.items():
        yield Hypothesis(
            'unit',
            f'the positions of the base pose seem to be in {unit}, they must be in m',
            _of_pose(lambda pose, f=factor: np.hstack([pose[:, :3] / f, pose[:, 3:]])),  # type: ignore[misc]
            f'{where}, pose.position',
        )
    for order, what in (([4, 5, 6, 3], 'w x y z'), ([6, 3, 4, 5], 'shifted: y z w x')):
        yield Hypothesis(
            'quaternion_order',
            f'the orientation of the base pose seems to be written in the order {what}, it must '
            'be x y z w',
            _of_pose(lambda pose, o=order: pose[:, [0, 1, 2, *o]]),  # type: ignore[misc]
            f'{where}, pose.orientation',
        )
    for axis in range(3):
        # A mirror turns what lies across it the other way about.
        across = 1.0 - 2.0 * np.eye(3)[axis]
        mirror = np.concatenate([across, -across, [1.0]])
        yield Hypothesis(
            'world_mirrored',
            f'the world of the base pose seems to be left-handed: {"xyz"[axis]} points the other '
            'way than that of the plates',
            _of_pose(lambda pose, m=mirror: pose * m),  # type: ignore[misc]
            where,
        )
    conjugate = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
    yield Hypothesis(
        'pose_inverted',
        'the orientation of the base pose seems to be that of the world in the base link, it '
        'must be that of the base link in the world',
        _of_pose(lambda pose: pose * conjugate),
        f'{where}, pose.orientation',
    )
    yield Hypothesis(
        'pose_inverted',
        'the base pose seems to be that of the world in the base link, it must be that of the '
        'base link in the world',
        _of_pose(_inverse),
        where,
    )
    for matrix, what in _turns():
        yield Hypothesis(
            'base_turned',
            f'the axes of the base pose seem to be turned by {what.replace("its", "their")} '
            'against those of the base link',
            _of_pose(lambda pose, m=matrix: _after(pose, m)),  # type: ignore[misc]
            f'{where}, pose.orientation',
        )
    for matrix, what in _turns():
        yield Hypothesis(
            'world_turned',
            f'the world of the base pose seems to be turned by {what} against that of the plates',
            _of_pose(lambda pose, m=matrix: _before(pose, m)),  # type: ignore[misc]
            where,
        )
        if any(source.is_plate for source in raw.sources) and matrix[2, 2] < 0.5:
            yield Hypothesis(
                'world_not_upright',
                f'base pose and plates seem to be in a world that is turned by {what}: gravity '
                'is taken along -z of the world',
                _world_of_all(matrix),
                where,
            )
    for name in [*model.body_names[1:], *(n for n in model.frames if n not in model.body_names)]:
        yield Hypothesis(
            'pose_of_another_link',
            f'the base pose seems to be that of the link {name}, it must be that of '
            f'{model.body_names[0]}',
            _from_link(model, name),
            where,
        )


def tilts(raw: Raw, level: Array) -> Hypotheses:
    """World or marker frame askew: `level` is where what should be vertical points to."""
    turn = _to_vertical(level)
    angle = float(np.degrees(np.arccos(np.clip(level[2] / np.linalg.norm(level), -1.0, 1.0))))
    if angle < SMALLEST_TILT:
        return
    middle = int(np.flatnonzero(raw.valid)[raw.valid.sum() // 2])
    base = rotation_matrix(raw.pose[middle : middle + 1, 3:])[0]
    for what, change in (
        ('the world of the base pose', lambda pose: _before(pose, turn)),
        ("the base link's axes in the base pose", lambda pose: _after(pose, base.T @ turn @ base)),
    ):
        yield Hypothesis(
            'base_tilted',
            f'{what} seem{"s" if what.endswith("pose") and "axes" not in what else ""} to be '
            f'{angle:.3g} degrees askew, as the soles that stand are',
            _of_pose(change),
            'base pose, pose.orientation',
        )


def heights(height: float) -> Hypotheses:
    """A base that is too high, by as much as soles that stand are above the plates."""
    if not abs(height) >= SMALLEST_HEIGHT:
        return
    lower = np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 0.0])
    yield Hypothesis(
        'base_shifted',
        f'the base pose, or the plates, seem to be {100.0 * abs(height):.2g} cm too '
        f'{"high" if height > 0.0 else "low"} against each other, as the soles that stand are',
        _of_pose(lambda pose: pose - lower),
        'base pose, pose.position.z',
    )


def _to_vertical(direction: Array) -> Array:
    """The smallest rotation that brings a direction upright."""
    from scipy.spatial.transform import Rotation

    axis = np.cross(direction, [0.0, 0.0, 1.0])
    size = float(np.linalg.norm(axis))
    angle = float(np.arctan2(size, direction[2]))
    return np.asarray(Rotation.from_rotvec(axis * (angle / max(size, 1e-12))).as_matrix())


def _of_pose(change: Callable[[Array], Array]) -> Change:
    return lambda raw: replace(raw, pose=change(raw.pose))


def _product(a: Array, b: Array) -> Array:
    """Quaternions x y z w (N, 4) one after the other."""
    av, aw, bv, bw = a[:, :3], a[:, 3:], b[:, :3], b[:, 3:]
    vector = aw * bv + bw * av + np.cross(av, bv)
    return np.hstack([vector, aw * bw - (av * bv).sum(axis=1, keepdims=True)])


def _quaternion(matrix: Array) -> Array:
    from veh_identification.orientations import quaternion_of_matrix

    return np.asarray(quaternion_of_matrix(matrix), float)[None]


def _after(pose: Array, matrix: Array) -> Array:
    """Turned in the body's axes."""
    return np.hstack([pose[:, :3], _product(pose[:, 3:], _quaternion(matrix))])


def _before(pose: Array, matrix: Array) -> Array:
    """Turned in the axes of the world."""
    return np.hstack([pose[:, :3] @ matrix.T, _product(_quaternion(matrix), pose[:, 3:])])


def _inverse(pose: Array) -> Array:
    turned = pose[:, 3:] * np.array([-1.0, -1.0, -1.0, 1.0])
    safe = np.where(np.isfinite(turned).all(axis=1)[:, None], turned, [0.0, 0.0, 0.0, 1.0])
    place = -np.einsum('nij,nj->ni', rotation_matrix(safe), pose[:, :3])
    return np.hstack([place, turned])


def _world_of_all(matrix: Array) -> Change:
    """Base and plates in a world that is turned."""

    def make(raw: Raw) -> Raw:
        sources = tuple(
            one
            if one.pose is None
            else replace(one, pose=Pose(matrix @ one.pose.position, matrix @ one.pose.rotation))
            for one in raw.sources
        )
        return replace(raw, pose=_before(raw.pose, matrix), sources=sources)

    return make


def _from_link(model: TreeModel, name: str) -> Change:
    """The pose of the base where the recorded one is that of a link."""

    def make(raw: Raw) -> Raw:
        frame = model.frame(name)
        q = np.nan_to_num(raw.joints)
        bodies = body_motion(model, fixed_base_motion(q, np.zeros_like(q), np.zeros_like(q)))
        local = bodies.orientation[:, frame.body] @ frame.rotation
        place = bodies.position[:, frame.body] + (
            bodies.orientation[:, frame.body] @ frame.translation
        )
        good = np.isfinite(raw.pose).all(axis=1, keepdims=True)
        link = rotation_matrix(np.where(good, raw.pose[:, 3:], [0.0, 0.0, 0.0, 1.0]))
        base = link @ np.swapaxes(local, -1, -2)
        from scipy.spatial.transform import Rotation

        from veh_identification.signals import unwrap_quaternions

        quaternion = unwrap_quaternions(Rotation.from_matrix(base).as_quat())
        moved = raw.pose[:, :3] - np.einsum('nij,nj->ni', base, place)
        return replace(raw, pose=np.where(good, np.hstack([moved, quaternion]), np.nan))

    return make


# Joints ------------------------------------------------------------------------------------------


def joints(raw: Raw, model: TreeModel) -> Hypotheses:
    """Units, signs, sides and neighbours."""
    names, where = list(model.coordinate_names), 'topic joint_states'
    angles = np.array([model.coordinate_is_angle(k) for k in range(len(names))], bool)
    wide = angles & _wide(raw.joints)
    for unit, size in _units(bool(wide.any())):
        every = np.where(angles, size, 1.0)
        yield Hypothesis(
            'unit',
            f'joint_states seems to be in {unit}, it must be in rad',
            _of_joints(lambda q, f=every: q * f),  # type: ignore[misc]
            f'{where}, position',
        )
    pairs = mirrored_pairs(names)
    if pairs:
        yield Hypothesis(
            'joints_swapped',
            'the joints of the left and the right side seem to be swapped in joint_states',
            _of_joints(lambda q: q[:, _exchanged(len(names), pairs)]),
            where,
        )
    yield Hypothesis(
        'joint_sign',
        'all joints seem to have the opposite sign in joint_states',
        _of_joints(lambda q: -q),
        where,
    )
    for k, name in enumerate(names):
        factor = np.ones(len(names))
        factor[k] = -1.0
        yield Hypothesis(
            'joint_sign',
            f'{name} seems to have the opposite sign in joint_states',
            _of_joints(lambda q, f=factor: q * f),  # type: ignore[misc]
            f'{where}, joint {name}',
        )
        for unit, size in _units(bool(wide[k])) if angles[k] else ():
            other = np.where(factor < 0.0, size, 1.0)
            yield Hypothesis(
                'unit',
                f'{name} seems to be in {unit} in joint_states, it must be in rad',
                _of_joints(lambda q, f=other: q * f),  # type: ignore[misc]
                f'{where}, joint {name}',
            )
    for limb in _limbs(model):
        backwards = list(range(len(names)))
        for place, taken in zip(limb, reversed(limb), strict=True):
            backwards[place] = taken
        yield Hypothesis(
            'joints_swapped',
            f'the joints from {names[limb[0]]} to {names[limb[-1]]} seem to be named the other '
            'way round in joint_states',
            _of_joints(lambda q, o=backwards: q[:, o]),  # type: ignore[misc]
            where,
        )
    neighbours = [(k, k + 1) for k in range(len(names) - 1)]
    for a, b in [*pairs, *(pair for pair in neighbours if pair not in pairs)]:
        order = _exchanged(len(names), [(a, b)])
        yield Hypothesis(
            'joints_swapped',
            f'{names[a]} and {names[b]} seem to be swapped in joint_states',
            _of_joints(lambda q, o=order: q[:, o]),  # type: ignore[misc]
            f'{where}, joints {names[a]} and {names[b]}',
        )


def _limbs(model: TreeModel) -> list[list[int]]:
    """Coordinates of each chain of joints that does not branch, from the base outwards."""
    children: dict[int, list[int]] = {}
    for body, parent in enumerate(model.parent):
        children.setdefault(int(parent), []).append(body)
    found = []
    for begin in (body for own in children.values() if len(own) > 1 for body in own):
        limb, body = [], begin
        while True:
            if model.coordinate[body] >= 0:
                limb.append(int(model.coordinate[body]))
            if len(children.get(body, [])) != 1:
                break
            body = children[body][0]
        if len(limb) > 2:
            found.append(limb)
    return found


def _wide(positions: Array) -> Array:
    """Joints (of (N, joints)) that go farther than half a turn, if they are in rad."""
    size = np.abs(positions)
    known = np.where(np.isfinite(size), size, 0.0)
    return np.asarray(np.quantile(known, USUAL, axis=0) > np.pi)


def _units(wide: bool) -> list[tuple[str, float]]:
    """Units of angles that may have been taken for rad.

    Degrees that stay within half a turn of radians would be three degrees: such a joint all but
    stands, and to take it so only removes it, which noise and stamps of arrival ask for as well.
    """
    return [(unit, size) for unit, size in ANGLES.items() if wide or size > 1.0]


def zeros(names: Sequence[str], offsets: Array) -> Hypotheses:
    """A joint with another zero: by how much each is off, as the soles that stand tell."""
    for k, name in enumerate(names):
        if not SMALLEST_ZERO < abs(offsets[k]) < LARGEST_ZERO:
            continue
        move = np.zeros(len(names))
        move[k] = offsets[k]
        yield Hypothesis(
            'joint_zero',
            f'the zero of {name}, or of a joint of the same leg with a parallel axis, seems to be '
            f'{-offsets[k]:.3g} rad off in joint_states',
            _of_joints(lambda q, m=move: q + m),  # type: ignore[misc]
            f'topic joint_states, joint {name}',
        )


def _of_joints(change: Callable[[Array], Array]) -> Change:
    return lambda raw: replace(raw, joints=change(raw.joints))


def mirrored_pairs(names: Sequence[str]) -> list[tuple[int, int]]:
    """Places of joints that stand for the same on the left and the right side."""
    known = {name: k for k, name in enumerate(names)}
    found = []
    for name, k in known.items():
        tokens = name.split('_')
        for place, token in enumerate(tokens):
            other = '_'.join([*tokens[:place], BOTH_SIDES.get(token, ''), *tokens[place + 1 :]])
            if token in BOTH_SIDES and other in known and k < known[other]:
                found.append((k, known[other]))
    return found


def _exchanged(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    order = list(range(count))
    for a, b in pairs:
        order[a], order[b] = b, a
    return order


def _turns() -> Iterator[tuple[Array, str]]:
    for axis, angles in (('z', (90, 180, -90)), ('x', (180, 90, -90)), ('y', (180, 90, -90))):
        for angle in angles:
            yield (
                matrix_of_rpy([np.radians(angle) * (axis == one) for one in 'xyz']),
                f'{angle} degrees about its {axis} axis',
            )
