"""Do the sensors of the fusion tell the same story? Of the last minute of what they said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veh_identification.checks.channels import CREEPING, HELD, SPEEDS, Channels
from veh_identification.checks.health import (
    check_repeated,
    check_steps,
    check_stuck,
    check_values,
    told_once,
)
from veh_identification.checks.held import check_blank
from veh_identification.checks.lags import Pair
from veh_identification.checks.motion import Story, check_motion, unconfirmed
from veh_identification.checks.satellites import check_rounded, check_scatter
from veh_identification.checks.sides import sides_pair
from veh_identification.checks.ticks import check_wheel_ticks
from veh_identification.checks.two_sources import check_two_sources
from veh_identification.checks.wheels import WheelPlaces, check_places, check_single_wheels
from veh_identification.findings import Finding
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.inertial import FIX_DELAY, VELOCITY_DELAY, WHEEL_DELAY
from veh_identification.fusion.journal import Journal, Newest
from veh_identification.fusion.options import FusionOptions
from veh_identification.fusion.sensor_options import WheelOptions
from veh_identification.runtime.background import give_way
from veh_identification.signals.jitter import check_stamps

#: Fields whose raw values the journal keeps, by channel (its specific forces are means).
RAW = {
    'imu': ('angular_velocity.x', 'angular_velocity.y', 'angular_velocity.z'),
    'gnss': ('longitude', 'latitude'),
    'gnss_velocity': ('twist.linear.x', 'twist.linear.y'),
}
#: Of an inertial unit.
INERTIAL = tuple(
    f'{kind}.{axis}' for kind in ('angular_velocity', 'linear_acceleration') for axis in 'xyz'
)
#: Of a captured pose.
POSE = tuple(
    [f'pose.position.{axis}' for axis in 'xyz'] + [f'pose.orientation.{axis}' for axis in 'xyzw']
)


def channel_checks(core: FusionCore) -> Callable[[], list[Finding]]:
    """A comparison of the channels with each other, by the last minute as it is now.

    What the fusion goes on to change is copied here, so that the comparison, which takes as long
    as ten states, can be made beside it.
    """
    journal, state = core.navigator.journal.copied(), core.navigator.filter.x
    # one more than the errors: an attitude has four numbers
    found_delays = {
        'gnss': float(state[FIX_DELAY + 1]),
        'gnss_velocity': float(state[VELOCITY_DELAY + 1]),
        **dict.fromkeys((*SPEEDS, 'wheel_speeds'), float(state[WHEEL_DELAY + 1])),
    }
    antenna = float(core.satellites.antenna[0]), float(core.satellites.antenna[1])
    wheels = _wheel_places(core.options.wheels)
    options, newest, raw = core.options, core.newest.copied(), core.raw.copied()
    alternating, sampled = _two_sources(core, newest, journal), _sampled(core, newest)
    each = _each(core, raw, journal)
    topics = {name: record.topic for name, record in core.records.items()}

    def check() -> list[Finding]:
        tables = {}
        for name in ('imu', 'gnss', 'gnss_velocity', 'wheel_speeds', *SPEEDS):
            one = journal.of(name)
            if one is not None:
                # A delay that is found is taken off: only what is left speaks against a sensor.
                tables[name] = one[0] - found_delays.get(name, 0.0), one[1]
        # The frame of the fixes tells where it is: without any of them only a parameter does.
        placed = 'gnss' in tables or any(options.gnss.position)
        story = _story(Channels(tables), topics, antenna if placed else None, options)
        if 'wheel_speeds' in tables and wheels is not None:
            story = replace(story, further=(lambda told: check_places(told, wheels),))
        names = () if wheels is None else wheels.names
        return _compare(story, options.imu.measured, alternating, each, sampled, names)

    return check


def _compare(
    story: Story,
    measured: Sequence[bool],
    alternating: Callable[[], list[Finding]],
    each: Callable[[Channels], list[Finding]],
    sampled: Callable[[], list[Finding]],
    names: Sequence[str],
) -> list[Finding]:
    """Everything that the channels say against each other."""
    raw = RAW | {'imu': _measured(RAW['imu'], measured)}
    alone = alternating() or each(story.channels)
    # What is too coarse rests as what is stuck does.
    stuck = alone or _held(story, check_stuck, raw)
    if any(one.level == 'bad' for one in stuck):
        return stuck
    if names and (single := check_single_wheels(story, names)):
        return single
    fixes = story.channels, story.where.get('gnss', '')
    scatter = check_rounded(*fixes) or check_scatter(*fixes)
    repeated = _held(story, check_repeated, raw)
    found = [*check_motion(story), *alone, *scatter, *repeated, *sampled()]
    return found or unconfirmed(story)


def _story(
    channels: Channels,
    topics: Mapping[str, str],
    antenna: tuple[float, float] | None,
    options: FusionOptions,
) -> Story:
    return Story(
        channels,
        topics,
        antenna,
        {'antenna': 'gnss.position', 'imu': 'imu.orientation_rpy', 'imu_gravity': 'imu.gravity'},
        options.gravity,
        options.imu.gravity == 'present',
        options.imu.gravity == 'removed',
        bool(options.imu.measured[5]),
        pairs=_pairs(channels),
    )


def _wheel_places(options: WheelOptions) -> WheelPlaces | None:
    """Four wheels of two axles as the parameters name them; None of any other vehicle."""
    if len(options.front) != 2 or len(options.rear) != 2 or not all(options.front + options.rear):
        return None
    half, length = 0.5 * options.track, options.wheelbase
    return WheelPlaces(
        (*options.front, *options.rear),
        (length, length, 0.0, 0.0),
        (half, -half, half, -half),
        track='wheels.track',
        whole=True,
    )


def _pairs(channels: Channels) -> list[Pair]:
    """Yaw rate against wheels of both sides, where there are such."""
    if 'imu' not in channels or 'wheels' not in channels:
        return []
    turn, (speed, by_wheels) = channels.of('imu', 2), (channels.of('wheels', k) for k in (0, 1))
    return [sides_pair(turn, speed, by_wheels)] if np.isfinite(by_wheels).any() else []


def _two_sources(
    core: FusionCore, newest: Newest, journal: Journal
) -> Callable[[], list[Finding]]:
    """Every other message of a topic is that of another sensor."""
    measured = core.options.imu.measured
    fields = {'imu': _measured(INERTIAL, measured), 'gnss_velocity': RAW['gnss_velocity']}
    topics = {name: core.records[name].topic for name in fields if name in core.records}

    def check() -> list[Finding]:
        found: list[Finding] = []
        for name, topic in topics.items():
            table = newest.tables().get(name) if name == 'imu' else journal.of(name)
            one = []
            for k, field in enumerate(fields[name] if table is not None else ()):
                if field and table is not None:
                    give_way()
                    one += check_two_sources(table[1][:, k], f'{topic} {field}')
            found += told_once(one)
        return found

    return check


def _each(core: FusionCore, raw: Journal, journal: Journal) -> Callable[[Channels], list[Finding]]:
    """Channels by themselves: coarse, cut off, or dead while the vehicle moves."""
    measured = _measured(INERTIAL, core.options.imu.measured)
    topics = {name: record.topic for name, record in core.records.items()}
    wheels = {
        key: [k for k, name in enumerate(group.names) if name in core.wheels.names]
        for key, group in core.joints.groups.items()
        if group.has_position
    }
    names = {key: core.joints.groups[key].names for key in wheels}

    def check(channels: Channels) -> list[Finding]:
        found: list[Finding] = []
        table = raw.of('imu')
        if table is not None:
            time, values = table
            moving = channels.moving_at(time, CREEPING)
            if all(measured):
                found += check_blank(time, values[:, :6], topics['imu'], moving=moving)
            # The vertical force of a simulated vehicle on a plane is one number.
            for k, field in enumerate(measured[:5]):
                if field:
                    give_way()
                    unit = 'rad/s' if k < 3 else 'm/s^2'
                    where = f'{topics["imu"]} {field}'
                    found += check_values(
                        time, values[:, k], where, unit, moving=moving, moved=HELD
                    )
        table = journal.of('gnss_velocity')
        for k, field in enumerate(RAW['gnss_velocity'] if table is not None else ()):
            if table is not None:
                where = f'{topics["gnss_velocity"]} {field}'
                found += check_steps(table[1][:, k], where, 'm/s')
        for key, places in wheels.items():
            table = raw.of(key)
            if table is not None:
                ticks = [
                    one
                    for k in places
                    for one in check_wheel_ticks(
                        table[1][:, k], f'{topics["joints"]} {names[key][k]}'
                    )
                ]
                found += told_once(ticks)
        return _by_code(found)

    return check


def _by_code(findings: Sequence[Finding]) -> list[Finding]:
    """Like findings as one, the worst first."""
    codes = dict.fromkeys(one.code for one in sorted(findings, key=lambda f: f.level != 'bad'))
    return [
        one
        for code in codes
        for one in told_once([finding for finding in findings if finding.code == code])
    ]


def _sampled(core: FusionCore, newest: Newest) -> Callable[[], list[Finding]]:
    """Joints and captured poses behind which a slower source stands, or stamps of arrival."""
    about = {}
    for key in newest.names():
        if key == 'imu':
            continue
        group = core.joints.groups.get(key)
        fields = POSE if group is None else group.names if group.has_position else []
        # a quaternion may change its sign at any time
        positions = 3 if group is None else len(fields)
        topic = core.records[key.partition(':')[0]].topic
        about[key] = [f'{topic} {field}' for field in fields], positions, topic

    def check() -> list[Finding]:
        found: list[Finding] = []
        tables = newest.tables()
        for key, (wheres, positions, topic) in about.items():
            time, values = tables[key]
            each = []
            for k, where in enumerate(wheres):
                give_way()
                each.append(check_repeated(time, values[:, k], where))
            repeated = told_once([one for some in each for one in some])
            found += repeated or (
                check_stamps(time, values[:, :positions], topic) if wheres else []
            )
        return found

    return check


def _measured(fields: Sequence[str], measured: Sequence[bool]) -> tuple[str, ...]:
    """Without what stands for an axis that is not measured: it never changes."""
    return tuple(field if known else '' for field, known in zip(fields, measured, strict=False))


def _held(
    story: Story, check: Callable[..., list[Finding]], raw: Mapping[str, Sequence[str]]
) -> list[Finding]:
    """Sensors that keep or repeat their values while the vehicle moves, each told once."""
    channels, found = story.channels, []
    for name, fields in raw.items():
        if name not in channels:
            continue
        give_way()
        time, values = channels.tables[name]
        more: dict[str, Any] = {}
        if check is check_stuck and name == 'imu':
            more = {'moving': channels.moving_at(time, CREEPING), 'moved': HELD}
        elif check is check_stuck:
            more = {'moving': channels.moving_at(time)}
        found += told_once(
            [
                one
                for k, field in enumerate(fields)
                if field
                for one in check(time, values[:, k], f'{story.where[name]} {field}', **more)
            ]
        )
    return found
