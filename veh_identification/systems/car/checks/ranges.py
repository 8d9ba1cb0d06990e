"""Units of a car's channels by their size, and channels that are stuck, cut off or missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from veh_identification.checks.bursts import check_bursts
from veh_identification.checks.copied import check_copied
from veh_identification.checks.health import (
    LEAST_STEPS,
    check_coarse,
    check_lost,
    check_missing,
    check_repeated,
    check_saturated,
    check_stuck,
    told_once,
)
from veh_identification.checks.held import check_blank, check_held
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
from veh_identification.checks.ticks import check_ticks
from veh_identification.checks.two_sources import check_two_sources
from veh_identification.findings import Finding
from veh_identification.signals import TimeSeries
from veh_identification.systems.car.checks.channels import HEAVIEST, LIGHTEST, Channels
from veh_identification.systems.car.checks.described import check_car, check_described
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

#: Steering wheels turn two times and a half at most, and a zero somewhere [rad].
MOST_TURNED = 20.0
#: Arm [m] from a wheel's centre that no force of the road has.
FARTHEST = 2.0
#: Angle [rad] to which no wheel leans, and forces aside over those that it carries.
LEANING, FRICTION = 0.4, 2.0
#: Joints that need not move while the car does.
RESTING = ('steering', 'half_track', 'wheelbase', 'camber', 'kingpin', 'tyre')


def check_ranges(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    """Channels and entries that are too large or too small for their unit."""
    topics, found = configuration.topics, []
    if recording.imu is not None:
        # Of axes that nobody measures the numbers are ours.
        known = recording.measured_axes
        rates, forces = ([k for k in known if k // 3 == part] for part in range(2))
        found += check_range(
            recording.imu.values[:, rates].ravel(),
            ANGULAR_VELOCITY,
            f'{topics["imu"]} angular_velocity',
            6.0,
        )
        found += check_range(
            recording.imu.values[:, forces].ravel(),
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
    found += _cambers(recording, configuration) if not found else []
    found += [] if found else _vertical_alone(recording, configuration)
    # Without wheel forces the model knows what a unit without gravity feels.
    described = check_described if recording.wrenches else check_car
    return [*found, *_arms(recording, configuration), *described(configuration)]


def _cambers(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    """Wheels that lean farther than any wheel does."""
    shown = {
        f'{configuration.topics["joints"]}.position[camber_{corner}]': series.values[:, 0]
        for corner in CORNERS
        if (series := recording.joint('camber', corner)) is not None
    }
    return _together(shown, ANGLE, LEANING)


def _vertical_alone(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    """Wheels that push sideways far more than they carry: force.z alone is in another unit."""
    sizes = np.array(
        [np.nanmedian(np.abs(one.values[:, :3]), axis=0) for one in recording.wrenches.values()]
    )
    if len(sizes) < len(CORNERS):
        return []
    aside, carried = np.linalg.norm(sizes[:, :2], axis=1).sum(), float(sizes[:, 2].sum())
    if not aside > FRICTION * carried or carried > LIGHTEST * GRAVITY:
        return []
    for unit, factor in FORCE.others.items():
        if LIGHTEST * GRAVITY < carried / factor < HEAVIEST * GRAVITY:
            where = f'{configuration.topics["wrench_fl"].replace("fl", "*")} force.z'
            text = (
                f'{where}: all wheels together carry {carried:.3g} N and push aside with '
                f'{aside:.3g} N, which no tyre does: it seems to be in {unit}, it must be in N'
            )
            return [Finding('bad', 'unit', text, where, size=aside / carried)]
    return []


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
    others = ', '.join(one.where for one in found[1:])
    where = f'{found[0].where}, {others}'
    return [replace(found[0], where=where, text=f'{found[0].text} (the same of {others})')]


def _by_place(recording: CarRecording, configuration: CarDescription) -> dict[str, TimeSeries]:
    """All series that are used, by topic, and by name where a topic holds several."""
    topics = configuration.topics
    places = {
        topics['imu']: recording.imu,
        topics['speed']: recording.speed,
        topics['gps_velocity']: recording.velocity,
    }
    places |= {f'{topics["joints"]}.position[{n}]': s for n, s in recording.joints.items()}
    places |= {topics[f'wrench_{c}']: s for c, s in recording.wrenches.items()}
    return {where: series for where, series in places.items() if series is not None}


def _channel(where: str, series: TimeSeries, name: str) -> str:
    return where if series.values.shape[1] == 1 else f'{where}.{name}'


def _copied(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    """Wheels whose forces, or travels, are those of another wheel, or another axis."""
    topics = configuration.topics
    travels = {
        f'{topics["joints"]}.position[suspension_{corner}]': series.values[:, 0]
        for corner in CORNERS
        if (series := recording.joint('suspension', corner)) is not None
    }
    loads = {f'{topics[f"wrench_{c}"]} force.z': s.values[:, 2]
             for c, s in recording.wrenches.items()}  # fmt: skip
    groups = [travels, loads]
    if recording.imu is not None:
        names = recording.imu.names
        groups.append({f'{topics["imu"]}.{names[k]}': recording.imu.values[:, k]
                       for k in recording.measured_axes})  # fmt: skip
    for corner, one in recording.wrenches.items():
        place = topics[f'wrench_{corner}']
        groups.append({f'{place}.{name}': one.values[:, k] for k, name in enumerate(one.names)})
    found = []
    for group in groups:
        if len(group) > 1 and len({len(one) for one in group.values()}) == 1:
            found += check_copied(np.column_stack([*group.values()]), [*group])
    return found


def check_sources(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    """Topics on which two sources publish by turns, and copies: nothing else can be said."""
    return _copied(recording, configuration) or [
        one
        for where, series in _by_place(recording, configuration).items()
        for one in told_once(
            [
                found
                for column, name in enumerate(series.names)
                for found in check_two_sources(
                    series.values[:, column], _channel(where, series, name)
                )
            ]
        )
    ]


def check_health(
    recording: CarRecording, shown: Channels, configuration: CarDescription
) -> list[Finding]:
    """Channels that are stuck, cut off, repeated, missing or lost on the way."""
    found: list[Finding] = []
    coarse: list[Finding] = []
    bursts: list[Finding] = []
    repeated: list[Finding] = []
    lost: list[Finding] = []
    for where, series in _by_place(recording, configuration).items():
        bursts += check_bursts(series.stamps, where)
        lost += [] if bursts else check_lost(series.stamps, where)
        moving = np.interp(series.stamps, shown.grid, shown.moving.astype(float)) > 0.5
        # Gravity and noise: never exactly nothing at once (the wrench of a wheel in the air is).
        own = series is recording.imu
        known = recording.measured_axes if own else range(len(series.names))
        held = (
            check_blank(series.stamps, series.values[:, known], where, moving=moving)
            if own
            else []
        )
        for column in known:
            name = series.names[column]
            place = _channel(where, series, name)
            value = series.values[:, column]
            # Angles of wheels that are held straight and axle joints rest rightly.
            if not where.endswith(tuple(f'{k}_{c}]' for k in RESTING for c in CORNERS)):
                held += check_stuck(series.stamps, value, place, moving=moving) or check_held(
                    series.stamps, value, place, moving=moving
                )
            found += check_saturated(value, place)
            unit = series.units[column]
            if where.endswith(tuple(f'suspension_{c}]' for c in CORNERS)):
                coarse += check_ticks(value, place, 'm')  # dampers feel their speed
            elif unit in LEAST_STEPS:
                coarse += check_coarse(value, place, unit, LEAST_STEPS[unit])
            found += check_missing(value, place)
            repeated += check_repeated(series.stamps, value, place)
        found += told_once(held)
    return [*found, *told_once(coarse), *told_once(repeated), *told_once([*bursts, *lost])]
