"""Do the sensors of a vehicle tell the same story? Units, signs and axes, by who else tells it.

The same relations for the sensor fusion and the observer, offline and live.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from veh_identification.checks.changes import USUAL, check_changes
from veh_identification.checks.channels import SPEEDS, Channels, correlation
from veh_identification.checks.courses import check_jumps, check_wandering, turn_relations
from veh_identification.checks.grid import slope
from veh_identification.checks.health import STUCK_SECONDS
from veh_identification.checks.lags import Pair, check_lags, lag_of
from veh_identification.checks.ranges import (
    ACCELERATION,
    ANGULAR_VELOCITY,
    DEGREES,
    SPEED,
    check_range,
)
from veh_identification.checks.relations import Relation, Source, Suspect, judge
from veh_identification.checks.satellites import (
    DELAY,
    check_antenna,
    check_bearing,
    check_stretched,
    check_units,
    check_velocity,
)
from veh_identification.checks.tilting import check_leaning, check_tilting
from veh_identification.findings import Finding
from veh_identification.signals.spread import spread
from veh_identification.types import Array

#: The least span that says anything (seconds).
SHORTEST = 8.0
#: An axis that follows this much better (in correlation) than the right one is the wrong one.
CLEARLY = 0.25
#: Course rates (rad/s, standard deviation) that tell an axis.
LEAST_RATE = 0.015
#: Mean specific force along z that a vehicle on its wheels has at least, over gravity.
UPRIGHT = 0.8
#: How near to one the mean along z is where it is in g.
ONE_G = 0.06
#: Tolerance of slopes (in logarithms) while delays are not known yet.
COARSE = 0.2
#: Angle (rad) by which the pitch of a car that accelerates turns what its accelerometer shows: up
#: to 0.22 in clean simulated drives.
TILTED = 0.3
#: What angles of wheels are recorded in besides.
WHEEL_UNITS = (
    Suspect(DEGREES, 'the angles seem to be in degrees, they must be in rad'),
    Suspect(1.0 / (2.0 * np.pi), 'the angles seem to be in turns, they must be in rad'),
)
#: What altitudes are recorded in besides.
ALTITUDES = (
    Suspect(3.28084, 'it seems to be in feet, it must be in m'),
    Suspect(1000.0, 'it seems to be in mm, it must be in m'),
    Suspect(-1.0, 'it seems to be counted downwards (or the vertical velocity is)', 'sign'),
)
#: Of an inertial unit whose y goes to the right: sideways forces and turns have the wrong sign.
MIRRORED = Suspect(
    -1.0,
    'its sideways force and its yaw rate both have the wrong sign: left and right are mirrored (y '
    'must be to the left, turns to the left positive)',
    'imu_turned',
)
#: Climb (m/s, standard deviation) that tells the scale of altitudes, and its tolerance.
LEAST_CLIMB, CLIMB_TOLERANCE = 0.2, 0.35
#: Share of speeds that are exactly nothing, above this speed (m/s) by others, that is a fault.
RESTING, MOVING = 0.2, 3.0
#: Wheels that roll are no further from the speed by satellites: m/s, and as a share of it.
SLIPS = (1.5, 0.15)
#: Samples of the grid before and after.
BESIDE = 10
#: Wheels that are locked may stand as well: the vehicle slows down then (m/s^2).
BRAKING = -2.0
#: Mean speed (m/s) that tells a scale, and the tolerance of paths of fixes (in logarithms).
LEAST_SPEED, PATH_TOLERANCE = 2.0, 0.1
#: Where it goes faster (m/s) noise of fixes hardly makes their path longer: its own velocity
#: agrees (within 0.3 % on clean simulated drives).
FAST_PATH, FAST_TOLERANCE = 8.0, 0.05


@dataclass(frozen=True, eq=False)
class Story:
    """Channels, what the description says of them, and what a system adds."""

    channels: Channels
    where: Mapping[str, str]  # topics by channel
    antenna: tuple[float, float] | None = None  # x and y as described
    entries: Mapping[str, str] = field(
        default_factory=dict
    )  # `antenna`, `imu`: of the description
    gravity: float = 9.80665
    gravity_present: bool = True  # as described; else removed, or found by the system
    gravity_removed: bool = False  # whether the description says so
    vertical: bool = True  # whether the vertical axis is measured
    sources: Mapping[str, Source] = field(default_factory=dict)
    relations: Sequence[Relation] = ()
    pairs: Sequence[Pair] = ()
    further: Sequence[Callable[[Story], list[Finding]]] = ()  # where units and signs are right
    speed_tolerance: float = 0.2  # of forward speeds, in logarithms
    #: Delays (seconds) of sensors that the system itself finds and takes off.
    learns: Mapping[str, float] = field(default_factory=dict)

    def imu(self) -> tuple[list[Array], list[Array]]:
        """Rates and specific forces along the axes of the vehicle."""
        of = self.channels.of
        return [of('imu', axis) for axis in range(3)], [of('imu', 3 + axis) for axis in range(3)]


def check_motion(story: Story) -> list[Finding]:
    """Everything that the channels say against each other; the first cause found stands alone."""
    channels, where = story.channels, story.where
    if channels.span < SHORTEST:
        return []
    found = check_resting(channels, where) or _speed_ranges(channels, where)
    found = found or check_units(channels, where.get('gnss', ''))
    jumps = check_jumps(channels, where.get('gnss', ''), where.get('gnss_velocity', ''))
    if jumps:  # what goes wrong with a path that jumps is no news
        channels = channels.without('gnss')
        story = replace(story, channels=channels)
    return [*(found or _told(story)), *jumps]


def _told(story: Story) -> list[Finding]:
    """Everything but jumps."""
    channels, where = story.channels, story.where
    receiver = where.get('gnss_velocity', ''), where.get('gnss', '')
    found = check_velocity(channels, *receiver) or check_stretched(channels, *receiver)
    found = found or check_bearing(channels, *receiver)
    if 'imu' not in channels:
        return found
    rates, forces = story.imu()
    found += _ranges(rates, forces, where['imu'])
    found += check_gravity(story, rates, forces)
    found = found or check_axes(story, rates, forces) or _axes_changed(story, rates, forces)
    if found:
        return found
    if wandering := check_wandering(channels, rates[2], f'{where["imu"]} angular_velocity.z'):
        return wandering
    sources = {**_sources(channels, where), **story.sources}
    relations = [*_relations(story, rates, forces), *story.relations]
    # What is late makes scales and places look wrong, a wrong unit does not make it late; means
    # do not care.
    coarse = [
        one if one.constant else replace(one, tolerance=max(one.tolerance, COARSE))
        for one in relations
    ]
    found += judge(coarse, sources).findings
    # A factor of any size explains little where a usual mistake begins on the way, and the mean
    # of two speeds may be that of another unit.
    usual = any(one.level == 'bad' and one.code in USUAL for one in found)
    found = check_changes(coarse, sources, channels.grid, only_both=usual) or found
    if any(one.level == 'bad' for one in found):
        return found
    pairs = [*_pairs(channels, forces), *story.pairs]
    pairs = [replace(one, tolerance=_tolerance(story, one)) for one in pairs]
    places = {**where, 'gyro': f'{where["imu"]} angular_velocity'}
    late = check_lags(pairs, places, [('imu', 'gyro'), ('gnss', 'gnss_velocity')])
    # A clock that runs away makes places look wrong as a delay does.
    if any(one.level == 'bad' or one.code == 'clock_drift' for one in late):
        return late
    found = found or list(judge(relations, sources).findings)
    unit = f'{where["imu"]} linear_acceleration'
    found = found or check_leaning(channels, rates, forces, unit, story.gravity)
    found = found or check_tilting(channels, rates, forces, where['imu'], story.gravity)
    for further in story.further:
        found = found or further(story)
    found = found or [one for one in _antenna(story, _apart(pairs)) if one.level != 'note']
    return found or late


def unconfirmed(story: Story) -> list[Finding]:
    """What the channels should confirm and cannot: notes, which are no causes."""
    if story.channels.span < SHORTEST or 'imu' not in story.channels:
        return []
    return [one for one in _antenna(story) if one.level == 'note']


def _apart(pairs: Sequence[Pair]) -> float:
    """How late satellites may be beside speeds (seconds), though it is too little to be told."""
    told = [lag_of(one) for one in pairs if 'gnss' in one.second and 'gnss' not in one.first]
    return max((abs(one.seconds) for one in told if one is not None), default=0.0)


def _antenna(story: Story, apart: float = 0.0) -> list[Finding]:
    """What is said of the place of the antenna; satellites that are late seem to swing."""
    if story.antenna is None:
        return []
    rates, _ = story.imu()
    delay = max(DELAY, 0.5 * story.learns.get('gnss_velocity', 0.0), apart)
    entry = story.entries.get('antenna', '')
    return check_antenna(story.channels, rates[2], story.antenna, entry, delay, 2.0 * apart)


def check_resting(channels: Channels, where: Mapping[str, str]) -> list[Finding]:
    """Speeds of exactly nothing while another sensor says that the vehicle moves."""
    present = [name for name in SPEEDS if name in channels]
    for name in present:
        others = [channels.of(one, 0) for one in present if one != name]
        if 'gnss_velocity' in channels:
            others.append(channels.ground_speed())
        if not others:
            continue
        time, values = channels.tables[name][0], channels.tables[name][1][:, 0]
        speed = np.interp(time, channels.grid, np.nan_to_num(np.abs(others[-1])))
        moving = speed > MOVING
        stuck = _stands(time, values, speed)
        if moving.sum() < 50 or (np.mean(values[moving] == 0.0) < RESTING and not stuck):
            continue
        share = 100.0 * float(np.mean(values[moving] == 0.0))
        text = (
            f'{where[name]}: {share:.0f} % of its speeds are exactly nothing while the vehicle '
            'moves: '
        )
        text += (
            'the sensor is stuck, or repeats its last value'
            if stuck
            else 'a slower source stands behind the topic, which repeats its values'
        )
        code: tuple[Literal['bad', 'warn'], str] = (
            ('bad', 'stuck') if stuck else ('warn', 'repeated')
        )
        return [Finding(*code, text, where[name])]
    return []


def _stands(time: Array, values: Array, speed: Array) -> bool:
    """Whether a speed is nothing for seconds while the vehicle moves on, and does not brake."""
    braking = np.gradient(speed, time) < BRAKING if len(np.unique(time)) == len(time) else 0.0
    rests = (values == 0.0) & (speed > MOVING) & ~np.asarray(braking, dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], rests.astype(int), [0]])))
    lasted = time[edges[1::2] - 1] - time[edges[::2]]
    return bool(len(lasted)) and float(lasted.max()) > STUCK_SECONDS


def _tolerance(story: Story, pair: Pair) -> float:
    learns = story.learns
    return max(pair.tolerance, learns.get(pair.first, 0.0), learns.get(pair.second, 0.0))


def _speed_ranges(channels: Channels, where: Mapping[str, str]) -> list[Finding]:
    found: list[Finding] = []
    for name in (*SPEEDS, 'gnss_velocity'):
        if name in channels:
            found += check_range(channels.of(name, 0), SPEED, where[name])
    return found


def _ranges(rates: list[Array], forces: list[Array], where: str) -> list[Finding]:
    found: list[Finding] = []
    for axis, values in zip('xyz', rates, strict=True):
        found += check_range(values, ANGULAR_VELOCITY, f'{where} angular_velocity.{axis}')
    for axis, values in zip('xyz', forces, strict=True):
        found += check_range(values, ACCELERATION, f'{where} linear_acceleration.{axis}')
    return found[:1]


def _mean_at_rest(story: Story, rates: list[Array], forces: list[Array]) -> Array:
    """Mean specific force; less what a lasting bend asks for, where less is left then.

    A minute on a circle is felt as much as gravity.
    """
    mean = np.array([np.nanmean(values) for values in forces])
    speed = story.channels.forward_speed()
    if speed is None:
        return mean
    across = forces[1] - speed[1] * rates[2]
    if not np.isfinite(across).any():
        return mean
    rest = np.array([mean[0], np.nanmean(across), mean[2]])
    return min(mean, rest, key=lambda one: float(np.linalg.norm(one[:2])))


def check_gravity(story: Story, rates: list[Array], forces: list[Array]) -> list[Finding]:
    """The mean specific force is one g, or nothing where gravity was removed."""
    if not story.vertical or not all(np.isfinite(values).any() for values in forces):
        return []
    mean = _mean_at_rest(story, rates, forces)
    size, gravity = float(np.linalg.norm(mean)), story.gravity
    where = f'{story.where["imu"]} linear_acceleration'
    if abs(size - gravity) < 0.1 * gravity:
        if story.gravity_removed:
            text = (
                f'{where}: its mean is {size:.2f} m/s^2: gravity is there, though '
                f'{story.entries.get("imu_gravity", "the program")} says that it was removed'
            )
            return [Finding('bad', 'gravity_present', text, where)]
        return _upright(story, mean, where)
    whole = abs(size - 1.0) < 0.1 and _in_g(story, mean, forces)
    # Accelerating makes the mean of x one, but nothing makes that of z one where no g is.
    if whole or abs(mean[2] - 1.0) < ONE_G:
        place, shown = (where, size) if whole else (f'{where}.z', mean[2])
        text = f'{place}: its mean is {shown:.3f}, one g: it seems to be in g, not in m/s^2'
        return [Finding('bad', 'unit', text, place)]
    if size < 0.15 * gravity:
        if not story.gravity_present:
            return []
        text = (
            f'{where}: its mean is {size:.2f} m/s^2: gravity seems to have been removed '
            f'({story.entries.get("imu_gravity", "")} says that it is present)'
        )
        return [Finding('bad', 'gravity_removed', text.replace('( says', '(the program'), where)]
    text = f'{where}: its mean is {size:.2f} m/s^2 instead of {gravity:.2f}: wrong unit or scale'
    return [Finding('bad', 'unit', text, where)]


def _in_g(story: Story, mean: Array, forces: list[Array]) -> bool:
    """Whether a mean of one is gravity in g: acceleration and change of speed tell."""
    speed = story.channels.forward_speed()
    if speed is not None:
        gain = slope(story.channels.grid, speed[1])
        told = Relation('', forces[0], gain, {}, 0.2).told()
        if told is not None and told.clear:
            return abs(told.slope) < 0.4
    return bool(abs(mean).max() > 0.85)


def _upright(story: Story, mean: Array, where: str) -> list[Finding]:
    if mean[2] > UPRIGHT * story.gravity:
        return []
    shown = ', '.join(f'{x:.2f}' for x in mean)
    text = (
        f'{where}: at rest it does not show +9.81 m/s^2 along z of base_link but [{shown}]: '
        f'the inertial unit is mounted upside down or turned ({story.entries.get("imu", "")} or '
        '/tf_static)'
    )
    return [Finding('bad', 'imu_turned', text, where)]


def check_axes(story: Story, rates: list[Array], forces: list[Array]) -> list[Finding]:
    """The axis that follows the turns is z, and the one that follows speed times turn is y."""
    channels, where = story.channels, story.where['imu']
    course = channels.course_rate()
    turns = [] if course is None else [course]
    if 'odometry' in channels and channels.width('odometry') > 3:
        turns.append(channels.of('odometry', 3))
    for turn in turns:
        if not spread(turn) > LEAST_RATE:
            continue
        told = [abs(correlation(rate, turn)) for rate in rates]
        best = int(np.argmax(told))
        if best != 2 and told[best] > 0.85 and told[2] < told[best] - CLEARLY:
            what = f'{where} angular_velocity'
            return [_axis(story, what, 'turns of the path', 'xyz'[best], 'z')]
    speed = channels.forward_speed()
    if speed is None:
        return []
    lateral = speed[1] * rates[2]
    told = [abs(correlation(force, lateral)) for force in forces]
    best = int(np.argmax(told))
    if (
        spread(lateral) > 0.5
        and best != 1
        and told[best] > 0.85
        and told[1] < told[best] - CLEARLY
    ):
        what = f'{where} linear_acceleration'
        return [_axis(story, what, 'speed times yaw rate', 'xyz'[best], 'y')]
    return []


def _axes_changed(story: Story, rates: list[Array], forces: list[Array]) -> list[Finding]:
    """Axes that are exchanged in one half of the time alone: a unit that was turned meanwhile."""
    count = len(story.channels.grid)
    if 0.5 * story.channels.span < SHORTEST:
        return []
    early = np.arange(count) < count // 2
    told = {}
    for when, inside in (('in the first half', early), ('in the second half', ~early)):
        parts = [[np.where(inside, one, np.nan) for one in rows] for rows in (rates, forces)]
        told[when] = check_axes(story, *parts)
    wrong = [when for when, found in told.items() if found]
    if len(wrong) != 1:
        return []
    return [
        replace(one, code='changes', text=f'{wrong[0]} of what was heard: {one.text}')
        for one in told[wrong[0]]
    ]


def _axis(story: Story, where: str, what: str, found: str, wanted: str) -> Finding:
    text = (
        f'{where}: its {found} follows the {what}, not its {wanted}: axes are exchanged, or the '
        f'IMU is mounted turned ({story.entries.get("imu", "")} or /tf_static)'
    )
    return Finding('bad', 'axis', text, where)


def _sources(channels: Channels, where: Mapping[str, str]) -> dict[str, Source]:
    imu = where['imu']
    sources = {
        'gyro': Source(f'{imu} angular_velocity', ANGULAR_VELOCITY.suspects(), scale=True),
        'accel': Source(
            f'{imu} linear_acceleration',
            (
                *ACCELERATION.units(),
                Suspect(
                    -1.0,
                    'x and y have the wrong sign: is the inertial unit mounted turned by half a '
                    'turn?',
                    'sign',
                ),
            ),
        ),
    }
    sources['imu_side'] = Source(imu, (MIRRORED,), several=True)
    for axis in 'xy':
        place = f'{imu} linear_acceleration.{axis}'
        sources[f'accel_{axis}'] = Source(place, ACCELERATION.suspects())
    if 'gnss' in channels:
        sources['altitude'] = Source(f'{where["gnss"]} altitude', ALTITUDES, scale=True)
    if 'odometry' in channels:
        # Wheels of a skid-steered robot slip in every turn: by three times, or none.
        place = f'{where["odometry"]} (its turn rate)'
        sources['odometry_turn'] = Source(place, scale=True, told=False)
    for name in (*SPEEDS, 'gnss_velocity'):
        if name in channels:
            more = WHEEL_UNITS if name == 'wheels' else ()
            sources[name] = Source(where[name], (*SPEED.suspects(), *more), scale=True)
    return sources


def _relations(story: Story, rates: list[Array], forces: list[Array]) -> list[Relation]:
    channels, tolerance = story.channels, story.speed_tolerance
    relations = []
    present = [name for name in SPEEDS if name in channels]
    speed = channels.forward_speed()
    if speed is not None:
        name, forward = speed
        sizes = frozenset({name} & {'gnss_velocity'})
        text = f'lateral acceleration against {name} times yaw rate'
        powers = {'accel': 1.0, 'accel_y': 1.0, name: -1.0, 'gyro': -1.0}
        lateral = forward * rates[2]
        relations.append(Relation(text, forces[1], lateral, powers, 0.5, 0.5, sizes=sizes))
        gain = slope(channels.grid, forward)
        text = f'forward acceleration against the change of {name}'
        powers = {'accel': 1.0, 'accel_x': 1.0, name: -1.0}
        relations.append(Relation(text, forces[0], gain, powers, 0.5, 0.5, sizes=sizes))
    course = channels.course_rate()
    if course is not None:
        ground = channels.ground_speed()
        text = 'lateral acceleration against satellite speed times yaw rate'
        powers = {'accel': 1.0, 'accel_y': 1.0, 'gnss_velocity': -1.0, 'gyro': -1.0}
        size = frozenset({'gnss_velocity'})
        lateral = ground * rates[2]
        relations.append(Relation(text, forces[1], lateral, powers, 0.5, 0.5, sizes=size))
        relations += [
            _same_speed(
                f'{name} against satellite speed',
                channels.of(name, 0),
                ground,
                {name: 1.0, 'gnss_velocity': -1.0},
                tolerance,
            )
            for name in present
        ]
        text, powers = 'yaw rate against the course over ground', {'gyro': 1.0, 'imu_side': 1.0}
        relations.append(Relation(text, rates[2], course, powers, 0.05, 0.4))
        relations += turn_relations(channels, rates[2])
    for i, a in enumerate(present):
        for b in present[i + 1 :]:
            text, powers = f'{a} against {b}', {a: 1.0, b: -1.0}
            pair = channels.of(a, 0), channels.of(b, 0)
            relations.append(Relation(text, *pair, powers, 0.5, 0.2))
    if 'odometry' in channels and channels.width('odometry') > 3:
        text = 'yaw rate against that of the odometry'
        powers = {'gyro': 1.0, 'imu_side': 1.0, 'odometry_turn': -1.0}
        turn = channels.of('odometry', 3)
        relations.append(Relation(text, rates[2], turn, powers, 0.05, 0.5))
    if 'gnss' in channels:
        relations += _path_relations(channels, present, tolerance)
    return relations


def _same_speed(
    text: str, one: Array, other: Array, powers: Mapping[str, float], tolerance: float
) -> Relation:
    """Ways gone at the same times. Satellites do not tell backwards."""
    sizes = np.abs(one), np.abs(other)
    names = frozenset(powers)
    return Relation(text, *sizes, powers, LEAST_SPEED, tolerance, constant=True, sizes=names)


def _path_relations(channels: Channels, present: list[str], tolerance: float) -> list[Relation]:
    """Speeds against that of the fixes, over seconds."""
    path = channels.path_speed()
    if not np.isfinite(path).any():
        return []
    speeds = {name: channels.of(name, 0) for name in present}
    if 'gnss_velocity' in channels:
        speeds['gnss_velocity'] = channels.ground_speed()
    # Noise of fixes makes their path longer; radii of wheels are not known well.
    own = FAST_TOLERANCE if np.nanmean(path) > FAST_PATH else PATH_TOLERANCE
    loose = {name: max(tolerance, PATH_TOLERANCE) for name in present}
    along = [
        _same_speed(
            f'{name} against the path of the fixes',
            channels.as_path(speed),
            path,
            {name: 1.0},
            loose.get(name, own),
        )
        for name, speed in speeds.items()
    ]
    return [*along, *_climb_relations(channels)]


def _climb_relations(channels: Channels) -> list[Relation]:
    """Altitudes against the vertical velocity of the same receiver."""
    if 'gnss_velocity' not in channels or channels.width('gnss_velocity') < 3:
        return []
    if channels.width('gnss') < 3:
        return []
    text, powers = 'change of the altitude against the vertical velocity', {'altitude': 1.0}
    upward = channels.as_path(channels.of('gnss_velocity', 2))
    return [Relation(text, channels.climb(), upward, powers, LEAST_CLIMB, CLIMB_TOLERANCE)]


def _pairs(channels: Channels, forces: list[Array]) -> list[Pair]:
    """Speeds and accelerations that change together; tolerances are what physics brings.

    Drive slip makes wheels lead by a tenth of a second. (Slip angles move the course by more: it
    tells nothing about time.)
    """
    pairs = []
    ground = channels.ground_speed() if 'gnss_velocity' in channels else None
    speed = channels.forward_speed()
    if speed is not None:
        name, forward = speed
        text = f'forward acceleration against the change of {name}'
        if ground is not None and name != 'gnss_velocity':
            # Wheels that lock or spin change their speed in times of their own.
            slipping = np.abs(np.abs(forward) - ground) > SLIPS[0] + SLIPS[1] * ground
            # Means and differences carry that to either side.
            beside = np.convolve(slipping, np.ones(2 * BESIDE + 1), 'same') > 0.0
            forward = np.where(beside, np.nan, forward)
        gain = slope(channels.grid, forward)
        pairs.append(Pair(text, 'imu', name, forces[0], gain, 0.0, 0.25, 0.4, TILTED))
        if name != 'gnss_velocity':
            pairs += _satellite_pairs(channels, name, np.abs(forward), -0.05)
    if ground is not None:
        pairs += _satellite_pairs(channels, 'gnss_velocity', ground, 0.0)
    return pairs


def _satellite_pairs(channels: Channels, name: str, speed: Array, usual: float) -> list[Pair]:
    """A speed against those of the receiver and of its fixes; `usual`: how far it lags."""
    found = []
    if name != 'gnss_velocity' and 'gnss_velocity' in channels:
        ground, text = channels.ground_speed(), f'{name} against satellite speed'
        found.append(Pair(text, name, 'gnss_velocity', speed, ground, usual, 0.15, 1.0))
    if 'gnss' in channels:
        path = channels.path_speed()
        text = f'{name} against the path of the fixes'
        found.append(Pair(text, name, 'gnss', channels.as_path(speed), path, usual, 0.15, 1.0))
    return found
