"""Do the sensors of the fusion tell the same story? Of the last minute of what they said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from veh_identification.checks.channels import SPEEDS, Channels
from veh_identification.checks.health import check_repeated, check_stuck, told_once
from veh_identification.checks.lags import Pair
from veh_identification.checks.motion import Story, check_motion
from veh_identification.checks.satellites import check_rounded, check_scatter
from veh_identification.checks.sides import sides_pair
from veh_identification.checks.two_sources import check_two_sources
from veh_identification.findings import Finding
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.inertial import FIX_DELAY, VELOCITY_DELAY, WHEEL_DELAY
from veh_identification.signals.jitter import check_stamps

#: Fields whose raw values the journal keeps, by channel (its specific forces are means).
RAW = {
    'imu': ('angular_velocity.x', 'angular_velocity.y', 'angular_velocity.z'),
    'gnss': ('longitude', 'latitude'),
    'gnss_velocity': ('twist.linear.x', 'twist.linear.y'),
}
#: Of a captured pose.
POSE = tuple(
    [f'pose.position.{axis}' for axis in 'xyz'] + [f'pose.orientation.{axis}' for axis in 'xyzw']
)


def check_channels(core: FusionCore) -> list[Finding]:
    """Everything that the channels say against each other."""
    journal = core.navigator.journal
    state = core.navigator.filter.x  # one more than the errors: an attitude has four numbers
    found_delays = {'gnss': state[FIX_DELAY + 1], 'gnss_velocity': state[VELOCITY_DELAY + 1]}
    found_delays |= dict.fromkeys(SPEEDS, state[WHEEL_DELAY + 1])
    tables = {}
    for name in ('imu', 'gnss', 'gnss_velocity', *SPEEDS):
        one = journal.of(name)
        if one is not None:
            # A delay that is found is taken off: only what is left speaks against a sensor.
            tables[name] = one[0] - found_delays.get(name, 0.0), one[1]
    antenna = core.satellites.antenna
    # The frame of the fixes tells where it is: without any of them only a parameter does.
    placed = 'gnss' in tables or any(core.options.gnss.position)
    imu = core.options.imu
    channels = Channels(tables)
    story = Story(
        channels,
        {name: record.topic for name, record in core.records.items()},
        (float(antenna[0]), float(antenna[1])) if placed else None,
        {'antenna': 'gnss.position', 'imu': 'imu.orientation_rpy', 'imu_gravity': 'imu.gravity'},
        core.options.gravity,
        imu.gravity == 'present',
        bool(imu.measured[5]),
        pairs=_pairs(channels),
    )
    raw = RAW | {'imu': _measured(RAW['imu'], imu.measured)}
    stuck = _two_sources(core) or _held(story, check_stuck, raw)
    fixes = story.channels, story.where.get('gnss', '')
    scatter = check_rounded(*fixes) or check_scatter(*fixes)
    repeated = _held(story, check_repeated, raw)
    return stuck or [*check_motion(story), *scatter, *repeated, *_sampled(core)]


def _pairs(channels: Channels) -> list[Pair]:
    """Yaw rate against wheels of both sides, where there are such."""
    if 'imu' not in channels or 'wheels' not in channels:
        return []
    turn, (speed, by_wheels) = channels.of('imu', 2), (channels.of('wheels', k) for k in (0, 1))
    return [sides_pair(turn, speed, by_wheels)] if np.isfinite(by_wheels).any() else []


def _two_sources(core: FusionCore) -> list[Finding]:
    """Every other message of the inertial unit is that of another one."""
    tables = core.newest.tables()
    if 'imu' not in tables:
        return []
    values, topic = tables['imu'][1], core.records['imu'].topic
    fields = [f'{kind}.{axis}' for kind in ('angular_velocity', 'linear_acceleration')
              for axis in 'xyz']  # fmt: skip
    found = [
        one
        for k, field in enumerate(_measured(fields, core.options.imu.measured))
        if field
        for one in check_two_sources(values[:, k], f'{topic} {field}')
    ]
    return told_once(found)


def _sampled(core: FusionCore) -> list[Finding]:
    """Joints and captured poses behind which a slower source stands, or stamps of arrival."""
    found = []
    for key, (time, values) in core.newest.tables().items():
        name = key.partition(':')[0]
        if name == 'imu':
            continue
        group = core.joints.groups.get(key)
        fields = POSE if group is None else group.names if group.has_position else []
        topic = core.records[name].topic
        each = [
            check_repeated(time, values[:, k], f'{topic} {field}')
            for k, field in enumerate(fields)
        ]
        repeated = told_once([one for some in each for one in some])
        # a quaternion may change its sign at any time
        positions = values[:, : 3 if group is None else len(fields)]
        found += repeated or (check_stamps(time, positions, topic) if fields else [])
    return found


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
        time, values = channels.tables[name]
        more = {'moving': channels.moving_at(time)} if check is check_stuck else {}
        found += told_once(
            [
                one
                for k, field in enumerate(fields)
                if field
                for one in check(time, values[:, k], f'{story.where[name]} {field}', **more)
            ]
        )
    return found
