"""Units, signs, axes and geometry of a car, by their ranges and by who else tells them.

Nothing is fitted here: lateral acceleration is speed times yaw rate, the derivative of speed is
the longitudinal one, a wheel that rolls tells the speed, four wheels carry the weight. Whatever
contradicts that is named with its topic before an estimate makes it into a wrong parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.checks.grid import averaged, slope
from veh_identification.checks.health import (
    check_lost,
    check_missing,
    check_repeated,
    check_saturated,
    check_stuck,
    told_once,
)
from veh_identification.checks.lags import Pair, check_lags
from veh_identification.checks.ranges import (
    ACCELERATION,
    ANGLE,
    ANGULAR_VELOCITY,
    FORCE,
    GRAVITY,
    MOMENT,
    SPEED,
    TRAVEL,
    Quantity,
    check_range,
    size_of,
)
from veh_identification.checks.relations import (
    TELLING,
    Judgement,
    Relation,
    Source,
    Suspect,
    Told,
    judge,
)
from veh_identification.findings import Finding
from veh_identification.signals import TimeSeries
from veh_identification.systems.car.checks.geometry import check_geometry
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

#: Grid and window of the comparisons: slower than wheel hop and the engine, faster than driving.
RATE, WINDOW = 25.0, 0.24
#: Height [m] of the centre of gravity that the load transfer is compared with.
USUAL_HEIGHT = 0.55
#: Roll angle by lateral acceleration that slopes of roll are compared with [rad s^2/m]: 5 deg/g.
USUAL_ROLL = 0.0089
#: Stiffness of a tyre that the roll of an axle takes its share from [N/m].
TYRE_STIFFNESS = 230e3
#: Correlation of the roll by the gyroscope and by the travels of an axle that are one motion (road
#: under one wheel makes them two), and the logarithm of their ratio that tyres may explain.
SAME_ROLL, ROLL_TOLERANCE = 0.985, 0.15
#: The same of the lateral acceleration where an optical sensor, travels and loads tell it, and the
#: time [s] after which a bend may be banked.
SAME_BEND, EXACT, BEND = 0.995, 0.08, 5.0
#: Beyond this logarithm of a slope units and signs are wrong, not scales.
COARSE = 0.7
#: Stiffness of a wheel's suspension that slopes of load over travel are compared with [N/m].
TYPICAL_STIFFNESS = 30e3
#: Smallest changes that say something: acceleration, yaw and roll rate, speed, load, travel.
LEAST_ACCELERATION, LEAST_RATE, LEAST_SPEED, LEAST_LOAD = 0.25, 0.02, 0.5, 60.0
#: Road cars lie between these [kg]; without an a-priori mass it is all that is known.
LIGHTEST, HEAVIEST = 250.0, 8000.0
#: Mean specific force that is neither one g nor nothing: sensor tilted or in another unit.
GRAVITY_TOLERANCE = 0.08
TILT_DEGREES = 15.0
#: Steering wheels turn two times and a half at most, and a zero somewhere [rad].
MOST_TURNED = 20.0
#: Arm [m] from a wheel's centre that no force of the road has.
FARTHEST = 2.0
#: Below this yaw rate [rad/s] a car goes straight.
STRAIGHT_RATE = 0.02
#: Correlation of another axis with the lateral acceleration that tells an exchange.
EXCHANGED = 0.95


@dataclass(frozen=True, eq=False)
class Channels:
    """A car's signals at common times, in base axes; nan where a sensor says nothing."""

    grid: Array
    rate: Array  # (N, 3) angular velocity
    force: Array  # (N, 3) specific force
    speed: Array  # (N, 2)
    steering: Array  # (N,) mean of the front wheels
    travel: Array  # (N, 4)
    load: Array  # (N, 4) vertical wheel forces
    side: Array  # (N,) sum of the lateral wheel forces
    wheel_rate: Array  # (N, 4)

    @property
    def moving(self) -> Array:
        """Samples at which the car surely moves."""
        fast = np.abs(self.speed[:, 0]) > 2.0
        return np.asarray(fast | (np.abs(self.rate[:, 2]) > 0.05))


def channels(
    recording: CarRecording, imu: Sensor, configuration: CarDescription
) -> Channels | None:
    """All series on one grid; None for a recording that is too short to say anything.

    Without an optical sensor satellites tell the speed, without sensors at the road wheels the
    steering wheel and its ratio their angle.
    """
    known = [one for one in _all_series(recording) if len(one.stamps) > 1]
    if not known:
        return None
    begin = min(float(one.stamps[0]) for one in known)
    end = max(float(one.stamps[-1]) for one in known)
    grid = np.arange(begin, end, 1.0 / RATE)
    if len(grid) < 3.0 * RATE:
        return None

    def on_grid(series: TimeSeries | None, column: int = 0) -> Array:
        if series is None:
            return np.full(len(grid), np.nan)
        return averaged(series.stamps, series.values[:, column], grid, WINDOW)

    def joints(kind: str) -> Array:
        return np.column_stack([on_grid(recording.joint(kind, one)) for one in CORNERS])

    turn = imu.matrix
    motion = np.column_stack([on_grid(recording.imu, k) for k in range(6)])
    wrenches = [recording.wrenches.get(one) for one in CORNERS]
    front = [on_grid(recording.joint('steering', one)) for one in CORNERS[:2]]
    steering = _mean_known(np.column_stack(front))
    column, rack = recording.joints.get('steering_wheel'), configuration.sensors.rack
    if column is not None and rack.steering_ratio and not np.isfinite(steering).any():
        steering = (on_grid(column) - rack.offset) / rack.steering_ratio
    speed = np.column_stack([on_grid(recording.speed, k) for k in range(2)])
    if recording.speed is None and recording.velocity is not None:
        speed[:, 0] = np.hypot(on_grid(recording.velocity), on_grid(recording.velocity, 1))
    wheel = joints('wheel')
    return Channels(
        grid,
        motion[:, :3] @ turn.T,
        motion[:, 3:] @ turn.T,
        speed,
        steering,
        joints('suspension'),
        np.column_stack([on_grid(one, 2) for one in wrenches]),
        np.sum([on_grid(one, 1) for one in wrenches], axis=0),
        np.column_stack([slope(grid, wheel[:, k]) for k in range(4)]),
    )


def _mean_known(columns: Array) -> Array:
    """Mean over the columns that are known at all."""
    known = columns[:, np.isfinite(columns).any(axis=0)]
    return known.mean(axis=1) if known.shape[1] else np.full(len(columns), np.nan)


def _all_series(recording: CarRecording) -> list[TimeSeries]:
    single = [
        one for one in (recording.imu, recording.speed, recording.velocity) if one is not None
    ]
    return [*single, *recording.joints.values(), *recording.wrenches.values()]


def check_plausibility(
    recording: CarRecording, configuration: CarDescription, imu: Sensor
) -> list[Finding]:
    """Everything that can be said before a fit; `imu` is the pose that was found for the unit."""
    label = recording.label
    found = _found(recording, configuration, imu)
    return [replace(one, where=f'{label} {one.where}'.strip()) for one in found]


def _found(recording: CarRecording, configuration: CarDescription, imu: Sensor) -> list[Finding]:
    found = _ranges(recording, configuration)
    shown = channels(recording, imu, configuration)
    if shown is None:
        return found
    if not found:  # a wrong unit makes every comparison wrong
        found += check_specific_force(shown, configuration)
    if not found:
        found += _late(shown, recording, configuration)
    if not found:
        told_by = sources(configuration, _speed_topic(recording, configuration))
        coarse = relations(shown, configuration)
        judged = judge(coarse, told_by)
        # A wrong unit or sign makes what is known exactly wrong as well.
        if all(one.code in ('scale', 'sensors_disagree') for one in judged.findings):
            exact = judge([*coarse, *exact_relations(shown, configuration, imu)], told_by)
            judged = judged if judged.findings and not _named(exact) else exact
        found += judged.findings
        found += [] if found else _axes(judged.told, shown, configuration)
    return [*found, *_health(recording, shown, configuration)]


def _named(judged: Judgement) -> bool:
    """Whether a single cause was found."""
    return any(one.level == 'bad' for one in judged.findings)


def _ranges(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    topics, found = configuration.topics, []
    if recording.imu is not None:
        found += check_range(
            recording.imu.values[:, :3].ravel(),
            ANGULAR_VELOCITY,
            f'{topics["imu"]} angular_velocity',
            6.0,
        )
        found += check_range(
            recording.imu.values[:, 3:].ravel(),
            ACCELERATION,
            f'{topics["imu"]} linear_acceleration',
        )
    if recording.speed is not None:
        found += check_range(recording.speed.values[:, 0], SPEED, f'{topics["speed"]} twist')
    if recording.velocity is not None:
        told = np.hypot(*recording.velocity.values.T)
        found += check_range(told, SPEED, f'{topics["gps_velocity"]} twist.linear')
    if (column := recording.joints.get('steering_wheel')) is not None:
        where = f'{topics["joints"]}.position[steering_wheel]'
        found += check_range(column.values[:, 0], ANGLE, where, MOST_TURNED)
    for kind, quantity, largest in (
        ('suspension', TRAVEL, 0.3),
        ('steering', ANGLE, 1.2),
        ('camber', ANGLE, 1.2),
        ('kingpin', ANGLE, 1.2),
    ):
        found += _together(
            {
                f'{topics["joints"]}.position[{kind}_{corner}]': _varying(series)
                for corner in CORNERS
                if (series := recording.joint(kind, corner)) is not None
            },
            quantity,
            largest,
        )
    found += _together(
        {topics[f'wrench_{c}']: s.values[:, 2] for c, s in recording.wrenches.items()},
        FORCE,
        6e4,
    )
    return [*found, *_arms(recording, configuration), *check_geometry(configuration)]


def _arms(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    """Moments that forces of this size have about no point of a wheel: in another unit."""
    forces = {c: np.linalg.norm(s.values[:, :3], axis=1) for c, s in recording.wrenches.items()}
    if sum(float(np.nanmean(one)) for one in forces.values()) < LIGHTEST * GRAVITY:
        return []  # forces that carry no car are in another unit themselves
    far = {}
    for corner, series in recording.wrenches.items():
        moment = size_of(np.linalg.norm(series.values[:, 3:6], axis=1))
        arm = moment / size_of(forces[corner])
        if arm > FARTHEST:
            far[f'{configuration.topics[f"wrench_{corner}"]} torque'] = arm
    if not far:
        return []
    text = (
        f'{", ".join(far)}: the moments are those of forces up to {max(far.values()):.3g} m away '
        f'from the centre of the wheel: they seem to be in {next(iter(MOMENT.others))}, they must '
        f'be in {MOMENT.unit}'
    )
    return [Finding('bad', 'unit', text, ', '.join(far))]


def _varying(series: TimeSeries) -> Array:
    """Deviation from the median: a travel sensor may have any zero."""
    return np.asarray(series.values[:, 0] - np.nanmedian(series.values[:, 0]))


def _together(values: Mapping[str, Array], quantity: Quantity, largest: float) -> list[Finding]:
    """Ranges of like channels: one finding for all that are too large."""
    found = [
        one
        for where, value in values.items()
        for one in check_range(value, quantity, where, largest)
    ]
    if len(found) < 2:
        return found
    places = ', '.join(one.where for one in found)
    return [replace(found[0], where=places, text=f'{found[0].text} (so are {places})')]


def check_specific_force(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """One g upwards in the mean: gravity removed, another unit, tilted or turned."""
    where = f'{configuration.topics["imu"]} linear_acceleration'
    mean = _straight_mean(shown)
    if not np.isfinite(mean).all():
        return []
    size = float(np.linalg.norm(mean))
    told = f'the mean specific force is [{mean[0]:.3g}, {mean[1]:.3g}, {mean[2]:.3g}]'
    if abs(mean[2]) < 0.2 * GRAVITY and size < 0.25 * GRAVITY:
        in_g = abs(abs(mean[2]) - 1.0) < 0.1
        code, text = (
            ('unit', 'it seems to be in g, it must be in m/s^2')
            if in_g
            else (
                'gravity_removed',
                'gravity has been removed; it must be the specific force, '
                '+9.81 m/s^2 upwards at rest (REP-145)',
            )
        )
        return [Finding('bad', code, f'{where}: {told}: {text}', where)]
    if abs(size / GRAVITY - 1.0) > 2.0 * GRAVITY_TOLERANCE:
        text = f'{told}, {size:.4g} m/s^2 in all: scale or unit is wrong, one g is 9.81 m/s^2'
        return [Finding('bad', 'scale', f'{where}: {text}', where)]
    tilt = float(np.degrees(np.arccos(np.clip(mean[2] / size, -1.0, 1.0))))
    if tilt > TILT_DEGREES:
        up = 'xyz'[int(np.argmax(np.abs(mean)))]
        sign = '-' if mean['xyz'.index(up)] < 0.0 else '+'
        text = (
            f'{told} in base_link, {tilt:.0f} degrees from upwards ({sign}{up} shows up): the '
            'inertial unit is mounted upside down or turned against the pose given (sensors.imu, '
            'or /tf_static)'
        )
        return [Finding('bad', 'imu_turned', f'{where}: {text}', configuration.topics['imu'])]
    return []


def _straight_mean(shown: Channels) -> Array:
    """Mean specific force where the car goes straight: bends tilt it rightly.

    Without such a time the acceleration of the path is taken off.
    """
    straight = np.abs(shown.rate[:, 2]) < STRAIGHT_RATE
    known = np.isfinite(shown.force).all(axis=1)
    if np.sum(straight & known) >= RATE:
        return np.asarray(shown.force[straight & known].mean(axis=0))
    along = slope(shown.grid, shown.speed[:, 0])
    path = np.column_stack([along, shown.speed[:, 0] * shown.rate[:, 2], np.zeros(len(along))])
    rest = shown.force - path
    known = np.isfinite(rest).all(axis=1)
    return rest[known].mean(axis=0) if known.any() else np.full(3, np.nan)


def _speed_topic(recording: CarRecording, configuration: CarDescription) -> str:
    """Who tells the speed."""
    optical = recording.speed is not None or recording.velocity is None
    return configuration.topics['speed' if optical else 'gps_velocity']


def sources(configuration: CarDescription, speed: str) -> dict[str, Source]:
    """Channels and entries that the relations are made of, with the mistakes made with each.

    `speed`: the topic that tells it.
    """
    topics = configuration.topics
    joints = topics['joints']
    length = (Suspect(1000.0, 'it seems to be in mm, it must be in m', 'geometry'),)
    half = Suspect(2.0, 'it seems to be the full track: give half of it', 'geometry')
    return {
        # Gravity tells the sign of the whole unit.
        'accelerometer': Source(f'{topics["imu"]} linear_acceleration', ACCELERATION.units()),
        'gyroscope': Source(
            f'{topics["imu"]} angular_velocity', ANGULAR_VELOCITY.suspects(), scale=True
        ),
        **{
            f'gyroscope_{axis}': Source(
                f'{topics["imu"]} angular_velocity.{axis}',
                (Suspect(-1.0, 'it has the wrong sign', 'gyro_sign'),),
            )
            for axis in 'xyz'
        },
        **{
            f'accelerometer_{axis}': Source(
                f'{topics["imu"]} linear_acceleration.{axis}',
                (Suspect(-1.0, 'it has the wrong sign', 'accelerometer_sign'),),
                scale=True,
            )
            for axis in 'xy'
        },
        'speed': Source(f'{speed} twist.linear', SPEED.suspects(), scale=True),
        'steering': Source(f'{joints}.position[steering_*]', ANGLE.suspects()),
        'travel': Source(f'{joints}.position[suspension_*]', TRAVEL.suspects(), scale=True),
        **{
            f'travel_{axle}': Source(
                f'{joints}.position[suspension_{axle[0]}l, suspension_{axle[0]}r]', scale=True
            )
            for axle in AXLES
        },
        # The fit tells these from a wrong sign of the gyroscope.
        'travel_sides': Source(
            f'{joints}.position[suspension_*]',
            (Suspect(-1.0, 'left and right travels are exchanged', 'swapped_travels'),),
            told=False,
        ),
        'travel_ends': Source(
            f'{joints}.position[suspension_*]',
            (Suspect(-1.0, 'front and rear travels are exchanged', 'swapped_travels'),),
            told=False,
        ),
        'sides': Source(
            f'{topics["wrench_fl"].replace("fl", "*")} and {joints}.position[suspension_*]',
            (Suspect(-1.0, 'left and right corners are exchanged', 'swapped_sides'),),
        ),
        'wheel': Source(f'{joints}.position[wheel_*]', ANGLE.suspects()),
        'force': Source(topics['wrench_fl'].replace('fl', '*'), FORCE.suspects()),
        # One wheel's may be turned, exchanged or of the wrong sign: the fit tells which.
        'side_force': Source(
            f'{topics["wrench_fl"].replace("fl", "*")} force.y', scale=True, told=False
        ),
        'wheelbase': Source('geometry.wheelbase', length),
        'half_track': Source('geometry.half_track', (half, *length), scale=True),
        'wheel_radius': Source('geometry.wheel_radius', length),
        'mass': Source('a_priori.Mc', (Suspect(1e-3, 'it seems to be in t, it must be in kg'),)),
    }


_TURNING = 'lateral acceleration against speed times yaw rate'
_TURNING_BY = {
    'accelerometer': 1.0,
    'accelerometer_y': 1.0,
    'speed': -1.0,
    'gyroscope': -1.0,
    'gyroscope_z': -1.0,
}


def relations(shown: Channels, configuration: CarDescription) -> list[Relation]:
    """Who tells the same quantity, as far as units, signs and axes go."""
    geometry = configuration.geometry
    speed, yaw = shown.speed[:, 0], shown.rate[:, 2]
    drift = slope(shown.grid, shown.speed[:, 1])
    return [
        Relation(
            _TURNING,
            shown.force[:, 1],
            speed * yaw + np.nan_to_num(drift),
            _TURNING_BY,
            LEAST_ACCELERATION,
        ),
        Relation(
            'longitudinal acceleration against the derivative of speed',
            shown.force[:, 0],
            slope(shown.grid, speed),
            {'accelerometer': 1.0, 'accelerometer_x': 1.0, 'speed': -1.0},
            2.0 * LEAST_ACCELERATION,
        ),
        Relation(
            'yaw rate against speed times steering angle over wheelbase',
            yaw,
            speed * shown.steering / geometry.wheelbase,
            {
                'gyroscope': 1.0,
                'gyroscope_z': 1.0,
                'speed': -1.0,
                'steering': -1.0,
                'wheelbase': 1.0,
            },
            LEAST_RATE,
            1.2,  # understeer, and the steering of the rear axle
        ),
        Relation(
            'roll rate against how fast the lateral acceleration changes',
            shown.rate[:, 0],
            USUAL_ROLL * slope(shown.grid, shown.force[:, 1]),
            {'gyroscope': 1.0, 'gyroscope_x': 1.0, 'accelerometer': -1.0, 'accelerometer_y': -1.0},
            LEAST_RATE,
            1.2,  # cars roll by 2 to 15 degrees per g
        ),
        *_rolling(shown, configuration),
        *_wheel_speeds(shown, configuration),
        *_loads(shown, configuration),
    ]


def exact_relations(shown: Channels, configuration: CarDescription, imu: Sensor) -> list[Relation]:
    """Quantities that are told twice so well that a scale can be seen.

    `imu` is the pose that was found for the unit.
    """
    bend, rolling = _bend(shown, configuration, imu), _rolling_axles(shown, configuration)
    found = [bend] if _one_motion(bend, SAME_BEND) else []
    return [*found, *(one for one in rolling if _one_motion(one, SAME_ROLL))]


def _bend(shown: Channels, configuration: CarDescription, imu: Sensor) -> Relation:
    """The lateral acceleration that the unit feels where it sits.

    An optical sensor tells how the car slides, travels and loads how it leans, which the unit
    feels as gravity: then little is left that is not told.
    """
    ahead, _, above = np.subtract(configuration.sensors.speed.position, imu.position)
    turning, rolling = (slope(shown.grid, shown.rate[:, k]) for k in (2, 0))
    drift = slope(shown.grid, shown.speed[:, 1]) - ahead * turning + above * rolling
    lean = np.mean([_lean(shown, configuration, *axle) for axle in AXLES.values()], axis=0)
    path = shown.speed[:, 0] * shown.rate[:, 2] + drift + GRAVITY * lean
    return Relation(
        f'{_TURNING}, with sliding and leaning',
        _quick(shown.force[:, 1]),
        _quick(path),
        _TURNING_BY,
        2.0 * LEAST_ACCELERATION,
        EXACT,
    )


def _quick(value: Array) -> Array:
    """What changes within seconds: bends that last are banked, swerves are not."""
    known = np.isfinite(value)
    window = np.ones(round(BEND * RATE))
    count = np.convolve(known, window, 'same')
    total = np.convolve(np.where(known, value, 0.0), window, 'same')
    return np.asarray(value - total / np.maximum(count, 1.0))


def _one_motion(relation: Relation, alike: float) -> bool:
    """Whether both sides are so much alike that a scale can be told, and not far from one."""
    told = relation.told()
    return told is not None and told.correlation > alike and abs(np.log(told.slope)) < COARSE


def _lean(shown: Channels, configuration: CarDescription, left: int, right: int) -> Array:
    """Roll angle by the wheels of an axle: travels, and what the tyres give by their loads."""
    travel = shown.travel[:, right] - shown.travel[:, left]
    load = shown.load[:, right] - shown.load[:, left]
    track = sum(configuration.geometry.half_track[left : right + 1])
    return np.asarray((travel + load / TYRE_STIFFNESS) / track)


def _rolling(shown: Channels, configuration: CarDescription) -> list[Relation]:
    left, right = shown.travel[:, [0, 2]], shown.travel[:, [1, 3]]
    tracks = 2.0 * np.mean(configuration.geometry.half_track)
    roll = (right - left).mean(axis=1) / tracks
    front, rear = shown.travel[:, :2].mean(axis=1), shown.travel[:, 2:].mean(axis=1)
    pitch = (front - rear) / configuration.geometry.wheelbase  # positive: nose down
    # Where wheel forces are recorded a fit tells exchanged travels from a wrong sign.
    fitted = -1.0 if np.isfinite(shown.load).all(axis=1).any() else 0.0
    return [
        Relation(
            'roll rate against the difference of the suspension travels over the track',
            shown.rate[:, 0],
            slope(shown.grid, roll),
            {
                'gyroscope': 1.0,
                'gyroscope_x': 1.0,
                'travel': -1.0,
                'sides': -1.0,
                'travel_sides': fitted,
                'half_track': 1.0,
            },
            LEAST_RATE,
            0.55,  # the tyres roll too
        ),
        Relation(
            'pitch rate against the travels of front and rear over the wheelbase',
            shown.rate[:, 1],
            slope(shown.grid, pitch),
            {
                'gyroscope': 1.0,
                'gyroscope_y': 1.0,
                'travel': -1.0,
                'travel_ends': fitted,
                'wheelbase': 1.0,
            },
            LEAST_RATE,
            0.8,  # road under the wheels
        ),
    ]


def _rolling_axles(shown: Channels, configuration: CarDescription) -> list[Relation]:
    """The roll of the body by each axle.

    It is known well enough to tell a scale; only where loads and travels agree in their signs,
    for a wrong sign shows elsewhere.
    """
    found = []
    for axle, (left, right) in AXLES.items():
        travel = shown.travel[:, right] - shown.travel[:, left]
        load = shown.load[:, right] - shown.load[:, left]
        one = Relation(
            f'roll rate against travels and loads of the {axle} wheels over the track',
            shown.rate[:, 0],
            slope(shown.grid, _lean(shown, configuration, left, right)),
            {'gyroscope': 1.0, 'travel': -1.0, f'travel_{axle}': -1.0, 'half_track': 1.0},
            LEAST_RATE,
            ROLL_TOLERANCE,
        )
        if _likeness(travel, load) > EXCHANGED:
            found.append(one)
    return found


def _wheel_speeds(shown: Channels, configuration: CarDescription) -> list[Relation]:
    geometry = configuration.geometry
    rim = shown.wheel_rate * geometry.wheel_radius
    rear = rim[:, 2:]
    found = []
    if np.isfinite(rear).any():
        found.append(
            Relation(
                'speed against wheel speed times radius',
                shown.speed[:, 0],
                _mean_known(rear),
                {'speed': 1.0, 'wheel': -1.0, 'wheel_radius': -1.0},
                constant=True,
            )
        )
    if np.isfinite(rear).any(axis=0).all():
        found.append(
            Relation(
                'difference of the rear wheel speeds against yaw rate times track',
                rear[:, 1] - rear[:, 0],
                shown.rate[:, 2] * sum(geometry.half_track[2:]),
                {
                    'wheel': 1.0,
                    'wheel_radius': 1.0,
                    'gyroscope': -1.0,
                    'gyroscope_z': -1.0,
                    'half_track': -1.0,
                },
                LEAST_RATE,
                1.2,  # loaded wheels turn faster, driven ones slip
            )
        )
    return found


def _loads(shown: Channels, configuration: CarDescription) -> list[Relation]:
    total = shown.load.sum(axis=1)
    found = []
    if np.isfinite(total).any():
        weighed = float(np.nanmean(total)) / GRAVITY
        prior = configuration.a_priori.get('Mc', float('nan'))
        known = np.isfinite(prior)
        centre = prior if known else np.sqrt(LIGHTEST * HEAVIEST)
        found.append(
            Relation(
                f'mass on the wheels ({weighed:.4g} kg) against '
                + ('the a-priori one' if known else 'that of a car'),
                np.array([weighed]),
                np.array([centre]),
                {'force': 1.0, 'mass': -1.0} if known else {'force': 1.0},
                tolerance=0.5 if known else 0.5 * float(np.log(HEAVIEST / LIGHTEST)),
                constant=True,
            )
        )
        found.append(
            Relation(
                'lateral wheel forces against the weighed mass times lateral acceleration',
                shown.side,
                weighed * shown.force[:, 1],
                {'accelerometer': -1.0, 'accelerometer_y': -1.0, 'side_force': 1.0},
                300.0 * LEAST_ACCELERATION,
                0.1,
            )
        )
        right = shown.load[:, [1, 3]].sum(axis=1) - shown.load[:, [0, 2]].sum(axis=1)
        arm = USUAL_HEIGHT / float(np.mean(configuration.geometry.half_track))
        found.append(
            Relation(
                'load that moves to the right wheels against lateral acceleration',
                right,
                weighed * arm * shown.force[:, 1],
                {'sides': 1.0, 'accelerometer': -1.0, 'accelerometer_y': -1.0, 'half_track': 1.0},
                300.0 * LEAST_ACCELERATION,
                1.0,  # low and high cars
            )
        )
    for k, corner in enumerate(CORNERS):
        found.append(
            Relation(
                f'load of wheel {corner} against its suspension travel times a usual stiffness',
                shown.load[:, k],
                TYPICAL_STIFFNESS * shown.travel[:, k],
                {'force': 1.0, 'travel': -1.0},
                LEAST_LOAD,
                1.8,  # soft and hard cars
            )
        )
    return found


def _late(
    shown: Channels, recording: CarRecording, configuration: CarDescription
) -> list[Finding]:
    """A sensor that is late by tenths of a second; what is less the fit finds.

    Channels that go against each other may be late by half a period of the driver's or have the
    wrong sign: they tell nothing here, but the road is under all wheels and has no period.
    """
    topics = configuration.topics
    across = shown.load[:, [1, 3]].sum(axis=1) - shown.load[:, [0, 2]].sum(axis=1)
    leaning = shown.travel[:, [1, 3]].sum(axis=1) - shown.travel[:, [0, 2]].sum(axis=1)
    ahead = slope(shown.grid, shown.speed[:, 0])
    wheels, force, turning = 'wheels', shown.force, shown.rate[:, 2]
    pairs = [  # what is usual was read off simulated cars
        Pair(
            'wheel loads against vertical acceleration',
            wheels,
            'imu',
            shown.load.sum(axis=1),
            force[:, 2],
            usual=-0.03,
        ),
        Pair(
            'lateral wheel forces against lateral acceleration',
            wheels,
            'imu',
            shown.side,
            force[:, 1],
            usual=-0.05,
        ),
        Pair(
            'loads of left and right against their travels',
            wheels,
            'travel',
            across,
            leaning,
            usual=-0.12,  # dampers lead
            tolerance=0.15,
        ),
        Pair(
            'yaw rate against steering',
            'imu',
            'steering',
            turning,
            shown.steering,
            usual=0.2,
            tolerance=0.25,
        ),
    ]
    if recording.speed is not None:  # satellites are late as a rule, and the fit finds by how much
        pairs.append(
            Pair(
                'longitudinal acceleration against speed',
                'imu',
                'speed',
                force[:, 0],
                ahead,
                tolerance=0.15,
                least=LEAST_ACCELERATION,
            )
        )
    where = {
        'wheels': topics['wrench_fl'].replace('fl', '*'),
        'imu': topics['imu'],
        'travel': f'{topics["joints"]}.position[suspension_*]',
        'speed': _speed_topic(recording, configuration),
        'steering': f'{topics["joints"]}.position[steering_*]',
    }
    plain = [one for one in pairs if not _likeness(one.a, one.b) < -TELLING]
    return [one for one in check_lags(plain, where, (), 1.0 / RATE) if one.code == 'late']


def _axes(told: tuple[Told, ...], shown: Channels, configuration: CarDescription) -> list[Finding]:
    """A relation between quantities that move and do not agree at all: an axis is exchanged."""
    turn = next((one for one in told if one.relation.text.startswith('lateral acc')), None)
    if turn is None or turn.clear or float(np.nanstd(turn.relation.predicted)) < 1.0:
        return []
    likeness = [_likeness(shown.force[:, k], turn.relation.predicted) for k in range(3)]
    best = int(np.nanargmax(np.abs(likeness)))
    where = f'{configuration.topics["imu"]} linear_acceleration'
    if best == 1 or not abs(likeness[best]) > EXCHANGED:
        text = (
            'lateral acceleration and speed times yaw rate have nothing in common (correlation '
            f'{turn.correlation:.2f}): stamps, axes or signs of {where}, '
            f'{configuration.topics["speed"]} or the gyroscope are wrong'
        )
        return [Finding('warn', 'sensors_disagree', text, where)]
    text = (
        f'{where}: its {"xyz"[best]} axis in base_link shows the lateral acceleration '
        f'(correlation {likeness[best]:.2f}): axes are exchanged, or the unit is turned against '
        'the pose given'
    )
    return [Finding('bad', 'imu_turned', text, configuration.topics['imu'])]


def _likeness(a: Array, b: Array) -> float:
    good = np.isfinite(a) & np.isfinite(b)
    if good.sum() < 20 or a[good].std() == 0.0 or b[good].std() == 0.0:
        return float('nan')
    return float(np.corrcoef(a[good], b[good])[0, 1])


def _health(
    recording: CarRecording, shown: Channels, configuration: CarDescription
) -> list[Finding]:
    topics, found = configuration.topics, []
    repeated: list[Finding] = []
    lost: list[Finding] = []
    places = {
        topics['imu']: recording.imu,
        topics['speed']: recording.speed,
        topics['gps_velocity']: recording.velocity,
    }
    places |= {f'{topics["joints"]}.position[{n}]': s for n, s in recording.joints.items()}
    places |= {topics[f'wrench_{c}']: s for c, s in recording.wrenches.items()}
    for where, series in places.items():
        if series is None:
            continue
        lost += check_lost(series.stamps, where)
        moving = np.interp(series.stamps, shown.grid, shown.moving.astype(float)) > 0.5
        for column, name in enumerate(series.names):
            place = where if series.values.shape[1] == 1 else f'{where}.{name}'
            value = series.values[:, column]
            # Angles of wheels that are held straight and axle joints rest rightly.
            if not where.endswith(tuple(f'{k}_{c}]' for k in RESTING for c in CORNERS)):
                found += check_stuck(series.stamps, value, place, moving=moving)
            found += check_saturated(value, place)
            found += check_missing(value, place)
            repeated += check_repeated(series.stamps, value, place)
    return [*found, *told_once(repeated), *told_once(lost)]


#: Wheels of an axle, left and right.
AXLES = {'front': (0, 1), 'rear': (2, 3)}
#: Joints that need not move while the car does.
RESTING = ('steering', 'half_track', 'wheelbase', 'camber', 'kingpin', 'tyre')
