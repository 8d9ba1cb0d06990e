"""Quantities of a car that several channels tell.

Lateral acceleration is speed times yaw rate, the derivative of speed is the longitudinal one, a
wheel that rolls tells the speed, four wheels carry the weight. As far as units, signs and axes go
(`relations`), or so exactly that a scale shows (`exact_relations`).
"""

from __future__ import annotations

import numpy as np

from veh_identification.checks.grid import quick, slope
from veh_identification.checks.ranges import GRAVITY
from veh_identification.checks.relations import TELLING, Relation, Told
from veh_identification.findings import Finding
from veh_identification.signals.spread import spread
from veh_identification.systems.car.checks.channels import (
    AXLES,
    HEAVIEST,
    LEAST_ACCELERATION,
    LIGHTEST,
    RATE,
    Channels,
    likeness,
    mean_known,
)
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

#: Height [m] of the centre of gravity that the load transfer is compared with.
USUAL_HEIGHT = 0.55
#: Roll angle by lateral acceleration that slopes of roll are compared with [rad s^2/m]: 5 deg/g.
USUAL_ROLL = 0.0089
#: Mass [kg] and speed [m/s] of a car of which nothing is known, and speed that none exceeds.
USUAL_MASS, USUAL_SPEED, FASTEST = 1500.0, 30.0, 60.0
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
#: Smallest changes that say something: yaw and roll rate, load.
LEAST_RATE, LEAST_LOAD = 0.02, 60.0
#: Mean speed [m/s] that tells a scale: zeros of optical sensors are some cm/s, and a car that
#: stands still shows nothing else.
LEAST_SPEED = 1.0
#: Smallest change of a moment that says something [N m], and how the arm of the road's force may
#: differ from the radius (logarithm): the contact moves sideways, tyres give. Correlation and
#: factor within which a moment is that of the road.
LEAST_MOMENT, MOMENT_TOLERANCE = 30.0, 0.2
SAME_MOMENT, MOMENT_SIZE = 0.98, 1.5
#: Lateral force times radius [N m] that must show in the moments, and the share of it below which
#: it does not.
ROAD_MOMENT, OF_THE_ROAD = 150.0, 0.3
#: Slopes within this factor of one tell a sign, and no size.
SIGN_ONLY = 3.0
#: Correlation of another axis with the lateral acceleration that tells an exchange.
EXCHANGED = 0.95
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
        *_wheel_moments(shown, configuration),
    ]


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
                mean_known(rear),
                {'speed': 1.0, 'wheel': -1.0, 'wheel_radius': -1.0},
                LEAST_SPEED,
                constant=True,
            )
        )
    if np.isfinite(rear).any(axis=0).all():
        found.append(
            Relation(
                'difference of the rear wheel speeds against yaw rate times track and load',
                rear[:, 1] - rear[:, 0],
                # Between rigid tyres and those that roll on the radius that their load leaves.
                shown.rate[:, 2]
                * sum(geometry.half_track[2:])
                * np.sqrt(_faster_by_load(shown, configuration)),
                {
                    'wheel': 1.0,
                    'wheel_radius': 1.0,
                    'gyroscope': -1.0,
                    'gyroscope_z': -1.0,
                    'half_track': -1.0,
                },
                LEAST_RATE,
                1.2,  # tyres give less or not at all, driven wheels slip
            )
        )
    return found


def _faster_by_load(shown: Channels, configuration: CarDescription) -> Array:
    """How much larger the difference of the rear wheel speeds is in a bend, at most.

    The tyres of an axle differ in radius by m h v (yaw rate) / (track k), and a wheel turns faster
    by v over the radius for each metre: this grows with the square of the speed.
    """
    geometry = configuration.geometry
    speed = np.clip(np.abs(np.nan_to_num(shown.speed[:, 0], nan=USUAL_SPEED)), 0.0, FASTEST)
    track = sum(geometry.half_track[2:])
    mass = np.clip(configuration.a_priori.get('Mc', USUAL_MASS), LIGHTEST, HEAVIEST)
    given = mass * USUAL_HEIGHT / (track * TYRE_STIFFNESS)  # m per m/s^2
    return np.asarray(1.0 + given * speed**2 / (track * geometry.wheel_radius))


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


def _wheel_moments(shown: Channels, configuration: CarDescription) -> list[Relation]:
    """Moments at the wheel centres: the road acts a radius below.

    Only where they are near that in size: about y just what brakes and shafts take passes on, and
    a model may have its wheel forces at other points. About y the sign is told, by what changes
    or, at a steady speed, by the means.
    """
    radius, found = configuration.geometry.wheel_radius, []
    for axle, wheels in AXLES.items():
        wrench = shown.wrench[:, list(wheels)].sum(axis=1)
        across = Relation(
            f'moments about x of the {axle} wheels against lateral force times radius',
            wrench[:, 3],
            radius * wrench[:, 1],
            {'moment_x': 1.0, 'side_force': -1.0, 'wheel_radius': -1.0},
            LEAST_MOMENT,
            MOMENT_TOLERANCE,
        )
        found += [across] if _near(across, SAME_MOMENT, MOMENT_SIZE) else []
        for constant in (False, True):
            along = Relation(
                f'moments about y of the {axle} wheels against longitudinal force times radius',
                wrench[:, 4],
                -radius * wrench[:, 0],
                {'fore_and_aft': 1.0},
                2.0 * LEAST_MOMENT,
                float(np.log(SIGN_ONLY)),
                constant,
            )
            found += [along] if _near(along, TELLING, SIGN_ONLY) else []
    return found


def _near(relation: Relation, alike: float, factor: float) -> bool:
    """Whether both sides are one quantity, up to its sign and a factor."""
    told = relation.told()
    return (
        told is not None
        and abs(told.correlation) > alike
        and 1.0 / factor < abs(told.slope) < factor
    )


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
        # Bends that last are banked, swerves are not.
        quick(shown.force[:, 1], round(BEND * RATE)),
        quick(path, round(BEND * RATE)),
        _TURNING_BY,
        2.0 * LEAST_ACCELERATION,
        EXACT,
    )


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
        if likeness(travel, load) > EXCHANGED:
            found.append(one)
    return found


def check_axes(told: tuple[Told, ...], shown: Channels, imu: str, speed: str) -> list[Finding]:
    """Lateral acceleration and turns that do not agree at all: an axis is exchanged.

    `imu` and `speed`: who tells them.
    """
    turn = next((one for one in told if one.relation.text.startswith('lateral acc')), None)
    if turn is None or turn.clear:
        return []
    turning = [shown.speed[:, 0] * shown.rate[:, k] for k in range(3)]
    by_rate = [likeness(shown.force[:, 1], one) for one in turning]
    best = int(np.argmax(np.abs(np.nan_to_num(by_rate))))
    if best != 2 and abs(by_rate[best]) > EXCHANGED and spread(turning[best]) > 1.0:
        text = (
            f'{imu} angular_velocity: its {"xyz"[best]} axis in base_link turns as the lateral '
            f'acceleration asks for (correlation {by_rate[best]:.2f}): axes are exchanged, or the '
            'unit is turned against the pose given'
        )
        return [Finding('bad', 'imu_turned', text, imu)]
    if spread(turn.relation.predicted) < 1.0:
        return []
    alike = [likeness(shown.force[:, k], turn.relation.predicted) for k in range(3)]
    best = int(np.argmax(np.abs(np.nan_to_num(alike))))
    where = f'{imu} linear_acceleration'
    if best == 1 or not abs(alike[best]) > EXCHANGED:
        text = (
            'lateral acceleration and speed times yaw rate have nothing in common (correlation '
            f'{turn.correlation:.2f}): stamps, axes or signs of {where}, '
            f'{speed} or the gyroscope are wrong'
        )
        return [Finding('warn', 'sensors_disagree', text, where)]
    text = (
        f'{where}: its {"xyz"[best]} axis in base_link shows the lateral acceleration '
        f'(correlation {alike[best]:.2f}): axes are exchanged, or the unit is turned against '
        'the pose given'
    )
    return [Finding('bad', 'imu_turned', text, imu)]


def check_wrench_point(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """Moments that lack the lateral force times the radius: they are not about the wheel centre.

    Such moments would be explained by a lower centre of gravity and a higher inertial unit.
    """
    radius, shares = configuration.geometry.wheel_radius, []
    for wheels in AXLES.values():
        wrench = shown.wrench[:, list(wheels)].sum(axis=1)
        wrench = wrench[np.isfinite(wrench).all(axis=1)]
        road = radius * float(wrench[:, 1].std()) if len(wrench) else 0.0
        if road > ROAD_MOMENT:
            shares.append(float(wrench[:, 3].std()) / road)
    if not shares or max(shares) > OF_THE_ROAD:
        return []
    where = ', '.join(configuration.topics[f'wrench_{corner}'] for corner in CORNERS)
    text = (
        f'moments about x of the wheel forces are {100.0 * max(shares):.0f} % of the lateral '
        f'force times the wheel radius ({radius:g} m) or less: they are given about the point of '
        'contact, or not recorded. Expected is the wheel centre: add the force times the radius'
    )
    return [Finding('bad', 'wrench_point', text, where)]
