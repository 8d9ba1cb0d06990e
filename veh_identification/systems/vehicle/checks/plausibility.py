"""Everything that the sensors of the observed car say against each other and its description.

One function for recordings and for what a node heard in the last minute.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from veh_identification.checks.channels import CREEPING, HELD, SURELY, Channels
from veh_identification.checks.health import (
    STUCK_SECONDS,
    STUCK_TIMES,
    check_coarse,
    check_lost,
    check_repeated,
    check_same_stamps,
    check_saturated,
    check_steps,
    check_stuck,
    check_values,
    longest_rest,
    told_once,
)
from veh_identification.checks.held import check_blank
from veh_identification.checks.lags import Pair
from veh_identification.checks.motion import Story, check_motion, unconfirmed
from veh_identification.checks.ranges import ANGLE, DEGREES, check_range
from veh_identification.checks.relations import Relation, Source, Suspect
from veh_identification.checks.satellites import check_rounded, check_scatter
from veh_identification.checks.sides import sides_pair
from veh_identification.checks.ticks import check_wheel_ticks
from veh_identification.checks.two_sources import check_two_sources
from veh_identification.checks.wheels import check_places, check_single_wheels
from veh_identification.findings import Finding
from veh_identification.signals.spread import spread
from veh_identification.systems.vehicle.checks.described import check_described
from veh_identification.systems.vehicle.checks.heard import Heard, tables_of
from veh_identification.systems.vehicle.checks.steering import check_ratio
from veh_identification.systems.vehicle.checks.wheels import (
    NAMES,
    check_rates_as_angles,
    check_stuck_wheels,
    places_of,
)
from veh_identification.systems.vehicle.configuration import CORNERS, CarDescription
from veh_identification.types import Array

TOPICS = {
    'imu': 'imu/data',
    'gnss': 'gps/fix',
    'gnss_velocity': 'gps/vel',
    'wheels': 'joint_states',
    'steering': 'joint_states steering',
}
#: Yaw rate of a usual car over that of wheels that do not slip.
UNDERSTEER = 0.8
#: Road wheels turn no further (rad).
FULL_LOCK = 1.0
#: Change of the yaw rate (standard deviation, rad/s) that needs steering.
STEERED = 0.03
#: Angle of the road wheels [rad] with which no car goes straight on; straight: speed [m/s], angle
#: of the path over the wheelbase [rad], for so long (seconds).
ZERO = 0.02
ROLLING, STRAIGHT, STRAIGHT_SECONDS = 3.0, 0.01, 2.0
#: Rolling radii of the description differ no more from the true ones (in logarithms).
RADIUS_TOLERANCE = 0.06
#: Deviations of a delay that the observer finds without a word.
LEARNS = 5.0


def check_heard(
    heard: Heard,
    car: CarDescription,
    rack_per_angle: float,
    topics: Mapping[str, str] = TOPICS,
    times: Mapping[str, Array] | None = None,
    newest: Heard | None = None,
) -> list[Finding]:
    """Findings, the first cause alone; `car` has the poses of its sensors already.

    `times`: of all samples by stream, where some of them are left out of what was heard;
    `newest`: the newest samples themselves, none left out.
    """
    found = check_described(car)
    found = found or _two_sources(heard if newest is None else newest, topics)
    if found:
        return found
    channels = Channels(tables_of(heard, car))
    x, y, _ = car.sensors.gps.position
    story = Story(
        channels,
        topics,
        (x, y),
        {
            'antenna': 'sensors.gps.position',
            'imu': 'sensors.imu.rpy',
            'imu_gravity': 'sensors.imu.gravity',
        },
        car.gravity,
        car.sensors.imu.gravity == 'present',
        car.sensors.imu.gravity == 'removed',
        speed_tolerance=RADIUS_TOLERANCE,
        sources=_sources(car, topics),
        relations=_relations(channels, car, rack_per_angle),
        pairs=_pairs(channels, car, rack_per_angle),
        learns=_learns(car),
        further=(lambda told: check_places(told, places_of(car)),),
    )
    found = _stuck(heard, story, car) or _steering_range(channels, rack_per_angle, topics)
    found = found or check_single_wheels(story, NAMES) or check_motion(story)
    fixes = channels, topics.get('gnss', '')
    found = found or check_rounded(*fixes) or check_scatter(*fixes)
    found = found or _steering_scale(channels, car, rack_per_angle, topics)
    found = found or _steering_zero(channels, car, rack_per_angle, topics)
    if times is None:
        times = {stream: time for stream, (time, _) in heard.items()}
    notes = [] if found else unconfirmed(story)
    return [*found, *_repeated(heard, topics), *_lost(times, topics), *notes]


#: Fields of each stream that are looked at for repeated values: the topic, then by column.
FIELDS = {
    'imu': (
        'imu',
        [f'{v}.{a}' for v in ('angular_velocity', 'linear_acceleration') for a in 'xyz'],
    ),
    'gps': ('gnss', ['latitude', 'longitude']),
    'gps_velocity': ('gnss_velocity', ['twist.linear.x', 'twist.linear.y']),
    'wheel_angle': ('wheels', [f'wheel_{corner}' for corner in CORNERS]),
    'wheel_rate': ('wheels', [f'wheel_{corner}' for corner in CORNERS]),
    'rack': ('steering', ['']),
}

#: Topics of the streams of a recording.
TOPIC_OF = {stream: TOPICS[name] for stream, (name, _) in FIELDS.items()}


def _two_sources(heard: Heard, topics: Mapping[str, str]) -> list[Finding]:
    """Topics on which two sources publish by turns: nothing else can be said of them."""
    found = []
    for stream in ('imu', 'gps_velocity', 'wheel_rate'):
        if stream in heard:
            name, fields = FIELDS[stream]
            _, values = heard[stream]
            found += told_once(
                [
                    one
                    for k, field in enumerate(fields)
                    for one in check_two_sources(values[:, k], f'{topics[name]} {field}')
                ]
            )
    return found


def _repeated(heard: Heard, topics: Mapping[str, str]) -> list[Finding]:
    """Sensors behind which a slower source stands."""
    found = []
    for stream, (name, fields) in FIELDS.items():
        if stream not in heard:
            continue
        time, values = heard[stream]
        found += told_once(
            [
                one
                for k, field in enumerate(fields)
                for one in check_repeated(time, values[:, k], f'{topics[name]} {field}'.rstrip())
            ]
        )
    return found


def _lost(times: Mapping[str, Array], topics: Mapping[str, str]) -> list[Finding]:
    """Sensors of which samples are missing."""
    found = []
    for stream, (name, _) in FIELDS.items():
        if stream in times and name in topics:
            # Messages of single wheels may share a stamp.
            twice = [] if 'wheel' in stream else check_same_stamps(times[stream], topics[name])
            found += twice or check_lost(times[stream], topics[name])
    lost = [one for one in found if one.code == 'samples_lost']
    return [*told_once(lost), *told_once([one for one in found if one not in lost])]


def _learns(car: CarDescription) -> dict[str, float]:
    """Delays that the observer finds itself: so many deviations of what is configured."""
    velocity = LEARNS * car.sensors.gps.velocity_delay_deviation
    return {'gnss_velocity': velocity, 'gnss': 0.5 * velocity}


def _stuck(heard: Heard, story: Story, car: CarDescription) -> list[Finding]:
    """Channels that stand still or run into their limits while the car moves."""
    found = check_rates_as_angles(heard, story, car) or check_stuck_wheels(heard, story)
    found = found or _inertial(heard, story)
    for stream, name, field in (
        ('gps', 'gnss', 'latitude'),
        ('gps_velocity', 'gnss_velocity', 'twist.linear.x'),
    ):
        if stream in heard:
            time, values = heard[stream]
            where = f'{story.where[name]} {field}'
            moving = story.channels.moving_at(time, SURELY)
            found += check_stuck(time, values[:, 0], where, moving=moving)
    return found[:1] or _stuck_steering(heard, story) or _coarse(heard, story)


def _inertial(heard: Heard, story: Story) -> list[Finding]:
    """Rates and horizontal forces by themselves; on a plane the vertical force may be constant."""
    if 'imu' not in heard:
        return []
    time, values = heard['imu']
    moving = story.channels.moving_at(time, CREEPING)
    found = check_blank(time, values[:, :6], story.where['imu'], moving=moving)
    for k, field in enumerate(FIELDS['imu'][1][:5]):
        where, unit = f'{story.where["imu"]} {field}', 'rad/s' if k < 3 else 'm/s^2'
        found += check_values(time, values[:, k], where, unit, moving=moving, moved=HELD)
    return sorted(found, key=lambda one: one.level != 'bad')


def _coarse(heard: Heard, story: Story) -> list[Finding]:
    """Satellite velocity, wheels and steering in steps that tell nothing between them."""
    found: list[Finding] = []
    if 'gps_velocity' in heard:
        where = f'{story.where["gnss_velocity"]} twist.linear.x'
        found += check_steps(heard['gps_velocity'][1][:, 0], where, 'm/s')
    for k, corner in enumerate(CORNERS if 'wheel_angle' in heard else ()):
        where = f'{story.where["wheels"]} wheel_{corner}'
        found += check_wheel_ticks(heard['wheel_angle'][1][:, k], where)[: 0 if found else 1]
    if 'rack' in heard and not found:
        rack = heard['rack'][1][:, 0]
        found += check_coarse(rack, story.where['steering'], 'rad or m')
        found += check_saturated(rack, story.where['steering'])
    return found


def _stuck_steering(heard: Heard, story: Story) -> list[Finding]:
    """Steering rests on straights: it is stuck where the yaw rate changes meanwhile."""
    if 'rack' not in heard or 'imu' not in story.channels:
        return []
    time, values = heard['rack']
    rest = longest_rest(time, values[:, 0])
    if rest is None or rest.seconds < max(STUCK_SECONDS, STUCK_TIMES * rest.usual):
        return []
    grid = story.channels.grid
    inside = (grid > rest.begin) & (grid < rest.end)
    if not spread(story.channels.of('imu', 2)[inside]) > STEERED:
        return []
    where = story.where['steering']
    text = (
        f'{where} does not change at all from {rest.begin:.2f} s to {rest.end:.2f} s while the '
        'car turns: the sensor is stuck or repeats its last value'
    )
    # one that rests at the end of its range does so for another reason
    return check_saturated(values[:, 0], where) or [Finding('bad', 'stuck', text, where)]


def _sources(car: CarDescription, topics: Mapping[str, str]) -> dict[str, Source]:
    """What may be wrong with wheels and steering."""
    ratio = car.sensors.rack.steering_ratio
    wheels = (
        Suspect(DEGREES, 'the angles seem to be in degrees, they must be in rad'),
        Suspect(1.0 / (2.0 * np.pi), 'the angles seem to be in turns, they must be in rad'),
        Suspect(60.0 / (2.0 * np.pi), 'the speeds seem to be in turns a minute, not rad/s'),
        Suspect(1000.0, 'geometry.wheel_radius seems to be in mm'),
        Suspect(2.0, 'geometry.wheel_radius seems to be the diameter'),
        Suspect(-1.0, 'the wheels have the wrong sign (forward is positive)', 'sign'),
    )
    steering = [*ANGLE.suspects(), Suspect(1000.0, 'the rack travel seems to be in mm')]
    if abs(ratio) > 1.5:
        text = 'the steering wheel angle seems to be that of the road wheels: no ratio is needed'
        steering.append(Suspect(1.0 / abs(ratio), text, 'scale'))
    return {
        'wheels': Source(
            f'{topics["wheels"]} wheel_* (or geometry.wheel_radius)', wheels, scale=True
        ),
        'steering': Source(topics['steering'], tuple(steering), scale=True),
        'wheelbase': Source(
            'geometry.wheelbase', (Suspect(0.5, 'it seems to be half of it', 'geometry'),)
        ),
    }


def _steering_angle(channels: Channels, rack_per_angle: float) -> Array:
    """Of the road wheels."""
    return channels.of('rack', 0) / rack_per_angle


def _steering_range(
    channels: Channels, rack_per_angle: float, topics: Mapping[str, str]
) -> list[Finding]:
    if 'rack' not in channels:
        return []
    angle = _steering_angle(channels, rack_per_angle)
    return check_range(angle, ANGLE, f'{topics["steering"]} (of the road wheels)', FULL_LOCK)


def _steering_scale(
    channels: Channels, car: CarDescription, rack_per_angle: float, topics: Mapping[str, str]
) -> list[Finding]:
    speed = _forward(channels)
    if 'rack' not in channels or 'imu' not in channels or speed is None:
        return []
    angle = _steering_angle(channels, rack_per_angle)
    return check_ratio(channels, angle, speed, car.geometry.wheelbase, topics['steering'])


def _steering_zero(
    channels: Channels, car: CarDescription, rack_per_angle: float, topics: Mapping[str, str]
) -> list[Finding]:
    """Road wheels that are turned in the median while the car goes straight on."""
    speed = _forward(channels)
    if 'rack' not in channels or 'imu' not in channels or speed is None:
        return []
    angle = _steering_angle(channels, rack_per_angle)
    with np.errstate(divide='ignore', invalid='ignore'):
        bend = channels.of('imu', 2) * car.geometry.wheelbase / speed
    straight = (speed > ROLLING) & (np.abs(bend) < STRAIGHT) & np.isfinite(angle)
    if len(channels.grid) < 2:  # one moment of common time has no length
        return []
    if straight.sum() * float(np.median(np.diff(channels.grid))) < STRAIGHT_SECONDS:
        return []
    zero = float(np.median((angle - bend)[straight]))
    if abs(zero) < ZERO:
        return []
    where = topics['steering']
    text = (
        f'{where}: while the car goes straight on, the road wheels are turned by {zero:+.3g} rad '
        f'({np.degrees(zero):+.2g} degrees): the zero of the steering is wrong (take it off, or '
        'align the sensor), or the yaw rate has an offset'
    )
    return [Finding('warn', 'steering_zero', text, where)]


def _forward(channels: Channels) -> Array | None:
    """Speed by who needs no radius, else by who tells it."""
    if 'gnss_velocity' in channels:
        return channels.ground_speed()
    told = channels.forward_speed()
    return None if told is None else told[1]


def _expected_turn(
    channels: Channels, car: CarDescription, rack_per_angle: float, speed: Array
) -> Array | None:
    """Yaw rate of a usual car with this steering and speed."""
    if 'rack' not in channels:
        return None
    angle = _steering_angle(channels, rack_per_angle)
    if not np.isfinite(angle).any():
        return None
    angle = angle - np.nanmedian(angle)
    turn = speed * np.tan(np.clip(angle, -1.2, 1.2)) / car.geometry.wheelbase
    return np.asarray(UNDERSTEER * turn)


def _relations(channels: Channels, car: CarDescription, rack_per_angle: float) -> list[Relation]:
    if 'imu' not in channels:
        return []
    speed = channels.forward_speed()
    powers = {'gyro': 1.0, 'imu_side': 1.0, 'steering': -1.0, 'wheelbase': 1.0}
    size, backwards = frozenset({'gnss_velocity'}), False
    if 'gnss_velocity' in channels:  # needs no radius
        forward, powers['gnss_velocity'] = channels.ground_speed(), -1.0
        # Most of the time cars go forwards, and wheels that say otherwise have the wrong sign.
        if speed is not None and np.sum(speed[1] > 0.0) > np.sum(speed[1] < 0.0):
            forward, backwards = np.copysign(forward, speed[1]), True
    elif speed is not None:
        forward, powers[speed[0]] = speed[1], -1.0
    else:
        return []
    expected = _expected_turn(channels, car, rack_per_angle, forward)
    if expected is None:
        return []
    text = 'yaw rate against the steering'
    turn = channels.of('imu', 2)
    return [Relation(text, turn, expected, powers, 0.02, 0.6, sizes=size, backwards=backwards)]


def _pairs(channels: Channels, car: CarDescription, rack_per_angle: float) -> list[Pair]:
    """Yaw rate against wheels and steering, which it follows by a tenth of a second."""
    pairs: list[Pair] = []
    if 'imu' not in channels or 'wheels' not in channels:
        return pairs
    turn, speed = channels.of('imu', 2), channels.of('wheels', 0)
    if 'wheel_speeds' in channels:
        s = np.column_stack([channels.of('wheel_speeds', k) for k in range(4)])
        difference = s[:, 1] + s[:, 3] - s[:, 0] - s[:, 2]
        tracks = 2.0 * (car.geometry.half_track_front + car.geometry.half_track_rear)
        pairs.append(sides_pair(turn, speed, difference / tracks))
    if 'rack' in channels:
        steered = speed * _steering_angle(channels, rack_per_angle)
        text = 'yaw rate against the steering'
        pairs.append(Pair(text, 'gyro', 'wheels', turn, steered, 0.1, 0.15, 0.02))
    return pairs
