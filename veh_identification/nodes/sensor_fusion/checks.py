"""Do the sensors of the fusion tell the same story? Of the last minute of what they said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from veh_identification.checks.channels import CREEPING, HELD, SPEEDS, Channels
from veh_identification.checks.health import check_repeated, check_stuck, told_once
from veh_identification.checks.lags import Pair
from veh_identification.checks.motion import Story, check_motion
from veh_identification.checks.satellites import check_rounded, check_scatter
from veh_identification.checks.sides import sides_pair
from veh_identification.checks.two_sources import check_two_sources
from veh_identification.findings import Finding
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.inertial import FIX_DELAY, VELOCITY_DELAY, WHEEL_DELAY
from veh_identification.fusion.journal import Newest
from veh_identification.fusion.options import FusionOptions
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
        **dict.fromkeys(SPEEDS, float(state[WHEEL_DELAY + 1])),
    }
    antenna = float(core.satellites.antenna[0]), float(core.satellites.antenna[1])
    options, newest = core.options, core.newest.copied()
    alternating, sampled = _two_sources(core, newest), _sampled(core, newest)
    topics = {name: record.topic for name, record in core.records.items()}

    def check() -> list[Finding]:
        tables = {}
        for name in ('imu', 'gnss', 'gnss_velocity', *SPEEDS):
            one = journal.of(name)
            if one is not None:
                # A delay that is found is taken off: only what is left speaks against a sensor.
                tables[name] = one[0] - found_delays.get(name, 0.0), one[1]
        # The frame of the fixes tells where it is: without any of them only a parameter does.
        placed = 'gnss' in tables or any(options.gnss.position)
        story = _story(Channels(tables), topics, antenna if placed else None, options)
        return _compare(story, options.imu.measured, alternating, sampled)

    return check


def _compare(
    story: Story,
    measured: Sequence[bool],
    alternating: Callable[[], list[Finding]],
    sampled: Callable[[], list[Finding]],
) -> list[Finding]:
    """Everything that the channels say against each other."""
    raw = RAW | {'imu': _measured(RAW['imu'], measured)}
    if stuck := alternating() or _held(story, check_stuck, raw):
        return stuck
    fixes = story.channels, story.where.get('gnss', '')
    scatter = check_rounded(*fixes) or check_scatter(*fixes)
    repeated = _held(story, check_repeated, raw)
    return [*check_motion(story), *scatter, *repeated, *sampled()]


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
        bool(options.imu.measured[5]),
        pairs=_pairs(channels),
    )


def _pairs(channels: Channels) -> list[Pair]:
    """Yaw rate against wheels of both sides, where there are such."""
    if 'imu' not in channels or 'wheels' not in channels:
        return []
    turn, (speed, by_wheels) = channels.of('imu', 2), (channels.of('wheels', k) for k in (0, 1))
    return [sides_pair(turn, speed, by_wheels)] if np.isfinite(by_wheels).any() else []


def _two_sources(core: FusionCore, newest: Newest) -> Callable[[], list[Finding]]:
    """Every other message of the inertial unit is that of another one."""
    if 'imu' not in newest.names():
        return list
    measured, topic = core.options.imu.measured, core.records['imu'].topic

    def check() -> list[Finding]:
        values, found = newest.tables()['imu'][1], []
        for k, field in enumerate(_measured(INERTIAL, measured)):
            if field:
                give_way()
                found += check_two_sources(values[:, k], f'{topic} {field}')
        return told_once(found)

    return check


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
