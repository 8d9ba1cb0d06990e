"""From the sensors' series to synchronised signals of the equations (Venture 2006, IV.C and V.B).

All signals pass one and the same wide zero-phase filter, so both sides of an equation are treated
alike; the cut-offs of the single equations follow later, in the frequency domain. The sensors' own
low-pass behaviour is taken out first where the configuration tells it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veh_identification.checks.standing import stands_left_out
from veh_identification.findings import Finding
from veh_identification.signals import (
    TimeSeries,
    ZeroPhaseFilter,
    common_grid,
    contiguous_segments,
)
from veh_identification.signals.resting import long_stands, resting
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.processing.band_extension import (
    Extension,
    HighBand,
    MotionFromForces,
    low_band,
)
from veh_identification.systems.car.processing.friction import (
    RIGID,
    NearRest,
    friction_column,
    friction_lines,
)
from veh_identification.systems.car.processing.resampling import equalise, on_grid
from veh_identification.systems.car.recording.extra_joints import AXLE_JOINTS, extra_joints
from veh_identification.systems.car.recording.reader import (
    CarRecording,
    CarRecordingError,
    require_all_axes,
    sensor_pose,
)
from veh_identification.systems.car.recording.samples import (
    CarSamples,
    JointMotion,
    carried_acceleration,
    wheel_loads,
)
from veh_identification.types import Array, BoolArray

MAXIMUM_RATE = 250.0
#: Share of the slowest sensor's rate up to which interpolation is flat.
FLAT_SHARE = 0.40
WIDEST_HZ = 35.0
MINIMUM_SECONDS = 4.0
#: A car stands below this speed [m/s] if its suspensions move no further than an engine that
#: idles makes them tremble [m]; seconds of a stand from which on it is cut out, and what stays of
#: it.
STANDS, TREMBLING = 0.2, 5e-4
LONG, KEPT = 2.0, 0.3
#: Seconds of one stand that tell what the wheels carry.
WEIGHED = 30.0


@dataclass(frozen=True)
class Processing:
    """How to prepare signals; None means by rule."""

    rate: float | None = None
    cutoff_hz: float | None = None  # of the wide filter
    order: int = 4
    paper_rule: bool = False  # 3.125 Hz on everything but suspension travel (section VI.B)
    paper_cutoff_hz: float = 3.125
    travel_noise: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    extension: Extension | None = None  # motion beyond the sensors' bands from the wheel forces
    surfaces: NearRest = RIGID  # of the suspensions' dry friction


#: Nothing chosen.
PLAIN = Processing()


@dataclass(frozen=True)
class Prepared:
    """Stretches of samples and what was done."""

    pieces: tuple[CarSamples, ...]
    cutoff_hz: float
    rate: float
    missing_wrenches: tuple[str, ...] = ()
    missing_travels: tuple[str, ...] = ()
    has_speed: bool = True
    measured_extra: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    grid: Array = field(default_factory=lambda: np.zeros(0))  # all stamps, and which were known
    valid: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    details: dict[str, Any] = field(default_factory=dict)
    beyond: tuple[HighBand, ...] = ()  # of every stretch, with an extension
    #: Poses that were used of 'imu' and 'speed', and where they come from.
    poses: Mapping[str, tuple[Sensor, str]] = field(default_factory=dict)
    #: Stretches that were left out: they tell the loads at rest.
    stands: tuple[CarSamples, ...] = ()


class _Grid:
    """Series of one recording on their common grid; wrenches of `same` are not done again."""

    def __init__(
        self,
        recording: CarRecording,
        configuration: CarDescription,
        options: Processing,
        same: Prepared | None = None,
    ) -> None:
        self.options, self.same = options, same
        self.columns: list[tuple[str, TimeSeries, Sensor]] = []
        sensors = configuration.sensors
        self.poses = {
            'imu': sensor_pose(sensors.imu, recording),
            'speed': sensor_pose(sensors.speed, recording),
        }
        self.imu, self.speed = self.poses['imu'][0], self.poses['speed'][0]
        if recording.imu is None:
            raise CarRecordingError(
                f'{recording.label}: the topic {configuration.topics["imu"]} is missing or empty; '
                'without the inertial unit none of the ten equations can be formed'
            )
        require_all_axes(recording, configuration.topics['imu'])
        self._add('imu', recording.imu, self.imu)
        if recording.speed is not None:
            self._add('speed', recording.speed, self.speed)
        for corner in CORNERS:
            if corner in recording.wrenches and same is None:
                self._add(f'wrench_{corner}', recording.wrenches[corner], sensors.wheel_force)
        for name, series in recording.joints.items():
            kind = name.rpartition('_')[0]
            if kind in ('wheel', 'tyre'):
                continue  # no equation needs them
            self._add(
                name, series, sensors.suspension if kind == 'suspension' else sensors.steering
            )
        self._resample(recording.label)

    def _add(self, name: str, series: TimeSeries, sensor: Sensor) -> None:
        self.columns.append((name, series.delayed(sensor.delay), sensor))

    def _resample(self, label: str) -> None:
        fast = [series for name, series, _ in self.columns if name != 'speed']
        rates = [1.0 / series.median_period for series in fast]
        if self.same is not None:
            rates = [self.same.rate, self.same.details['slowest_sensor_hz']]
        rate = round(self.options.rate or min(max(rates), MAXIMUM_RATE), 3)
        slowest = min(rates)
        if self.same is None:
            self.grid, self.rate = common_grid([series for _, series, _ in self.columns], rate)
        else:
            self.grid, self.rate = self.same.grid, self.same.rate
        self.cutoff = self.options.cutoff_hz or min(
            WIDEST_HZ, FLAT_SHARE * slowest, 0.4 * self.rate
        )
        self.slowest = slowest
        travels = [series for name, series, _ in self.columns if name.startswith('suspension')]
        self.travel_rate = 1.0 / travels[0].median_period if travels else rate
        self.values: dict[str, Array] = {}
        self.valid = np.ones(len(self.grid), dtype=bool)
        if self.same is not None:
            self.valid = self.same.valid.copy()
        for group in _equal_stamps(self.columns):
            first = self.columns[group[0]][1]
            merged = np.concatenate([self.columns[i][1].values for i in group], axis=1)
            names = tuple(f'{k}' for k in range(merged.shape[1]))
            together = TimeSeries(
                first.stamps, merged, names, ('',) * len(names), first.epoch_ns, first.label
            )
            values, known = on_grid(together, self.grid, self.rate)
            self.valid &= known
            start = 0
            for i in group:
                name, series, _ = self.columns[i]
                width = series.values.shape[1]
                self.values[name] = values[:, start : start + width]
                start += width
        self.stands = np.zeros(len(self.grid), dtype=bool)  # what was left out
        if self.same is None:
            self._leave_out_stands()
        if not contiguous_segments(self.valid, int(MINIMUM_SECONDS * self.rate)):
            raise CarRecordingError(
                f'{label}: no {MINIMUM_SECONDS:g} s at a stretch in which all sensors have values'
            )

    def _leave_out_stands(self) -> None:
        """Suspensions of a car that stands hold any force up to that of their friction."""
        names = [
            f'suspension_{corner}' for corner in CORNERS if f'suspension_{corner}' in self.values
        ]
        if not names:
            return
        travels = np.concatenate([self.values[name][:, :1] for name in names], axis=1)
        speed = self.values.get('speed')
        rests = resting(travels, self.valid, self.rate, 0.0 if speed is None else TREMBLING)
        if speed is not None:
            rests &= np.abs(np.nan_to_num(speed[:, :1])) < STANDS
        stands = long_stands(rests, self.valid, self.rate, longer=LONG, kept=KEPT)
        self.stands = stands & self.valid
        self.valid &= ~stands


def _equal_stamps(columns: Sequence[tuple[str, TimeSeries, Sensor]]) -> list[list[int]]:
    """Indices of series that share their stamps, so that they are interpolated together."""
    groups: list[list[int]] = []
    for index, (_, series, _) in enumerate(columns):
        for group in groups:
            other = columns[group[0]][1]
            if len(other) == len(series) and np.array_equal(other.stamps, series.stamps):
                group.append(index)
                break
        else:
            groups.append([index])
    return groups


def prepare(
    recording: CarRecording,
    configuration: CarDescription,
    options: Processing = PLAIN,
    same: Prepared | None = None,
) -> Prepared:
    """Synchronise and filter one recording; `same` lends the wrenches of an equal one."""
    grid = _Grid(recording, configuration, options, same)
    wide = ZeroPhaseFilter(grid.rate, grid.cutoff, options.order, label=recording.label)
    stood, seconds = float(grid.stands.sum()) / grid.rate, float(np.ptp(grid.grid))
    found = [*recording.findings, *stands_left_out(recording.label, stood, seconds)]
    pieces: list[CarSamples] = []
    beyond: list[HighBand] = []
    for place, segment in enumerate(_usable_segments(grid, wide, recording.label)):
        values = {
            name: _equalised(values[segment], grid, name) for name, values in grid.values.items()
        }
        piece, travel = _piece(values, grid, configuration, options, wide, segment, found)
        told, forces = None, None
        if options.extension is not None and same is not None:
            told = same.beyond[place]
        elif options.extension is not None:
            forces = _motion_from_forces(piece, values, wide, configuration, options.extension)
            told = forces.band()
        friction = friction_lines(
            travel,
            options.travel_noise,
            wide,
            grid.travel_rate,
            configuration.geometry,
            options.extension,
            told,
            options.surfaces,
        )
        if told is not None and options.extension is not None:
            # The friction stands in the loads as well.
            told = told if forces is None else forces.band(friction)
            beyond.append(told)
            piece = _extended(piece, told, options.extension)
        sign = friction_column(friction, wide, len(travel))
        kept = replace(piece, friction_sign=sign)[wide.transient : len(piece) - wide.transient]
        if same is not None:
            kept = replace(kept, wrench=same.pieces[place].wrench)
        pieces.append(kept)
    stands = _stands(grid, configuration, options, wide, found)
    return replace(_prepared(grid, pieces, beyond, found), stands=stands)


def _stands(
    grid: _Grid,
    configuration: CarDescription,
    options: Processing,
    wide: ZeroPhaseFilter,
    found: list[Finding],
) -> tuple[CarSamples, ...]:
    """The first seconds of every stand that was left out."""
    made = []
    for segment in contiguous_segments(grid.stands, wide.minimum_length + 16):
        part = slice(segment.start, min(segment.stop, segment.start + round(WEIGHED * grid.rate)))
        values = {name: _equalised(all_[part], grid, name) for name, all_ in grid.values.items()}
        piece, _ = _piece(values, grid, configuration, options, wide, part, found)
        made.append(piece[wide.transient : len(piece) - wide.transient])
    return tuple(made)


def _usable_segments(grid: _Grid, wide: ZeroPhaseFilter, label: str) -> list[slice]:
    """Stretches without gaps of which enough remains between the filter's transients."""
    fewest = int(0.5 * MINIMUM_SECONDS * grid.rate) + 2 * wide.transient
    found = [
        segment
        for segment in contiguous_segments(grid.valid, wide.minimum_length + 16)
        if segment.stop - segment.start >= fewest
    ]
    if not found:
        raise CarRecordingError(
            f'{label}: every stretch is shorter than the filter transients '
            f'({2 * wide.transient / grid.rate:.3g} s)'
        )
    return found


def _prepared(
    grid: _Grid, pieces: list[CarSamples], beyond: list[HighBand], found: list[Finding]
) -> Prepared:
    return Prepared(
        tuple(pieces),
        grid.cutoff,
        grid.rate,
        tuple(corner for corner in CORNERS if f'wrench_{corner}' not in grid.values),
        tuple(corner for corner in CORNERS if f'suspension_{corner}' not in grid.values),
        'speed' in grid.values,
        tuple(sorted(name for name in grid.values if name.startswith(AXLE_JOINTS))),
        tuple(dict.fromkeys(found)),
        grid.grid,
        grid.valid,
        {
            'grid_rate_hz': grid.rate,
            'wide_cutoff_hz': grid.cutoff,
            'slowest_sensor_hz': grid.slowest,
            'pose_from': {name: source for name, (_, source) in grid.poses.items()},
        },
        tuple(beyond),
        grid.poses,
    )


def _motion_from_forces(
    piece: CarSamples,
    values: Mapping[str, Array],
    wide: ZeroPhaseFilter,
    configuration: CarDescription,
    extension: Extension,
) -> MotionFromForces:
    """Motion beyond the sensors' bands from the wheel forces as recorded, not yet filtered."""
    wrench = np.stack([values[f'wrench_{corner}'] for corner in CORNERS], axis=1)
    geometry, shape = configuration.geometry, (len(piece), 4)
    total, vertical = wheel_loads(
        replace(piece, wrench=wrench),
        np.broadcast_to(geometry.wheel_x, shape),
        np.broadcast_to(geometry.wheel_y, shape),
    )
    return MotionFromForces(np.concatenate([total, vertical], axis=1), wide, geometry, extension)


def _extended(piece: CarSamples, told: HighBand, extension: Extension) -> CarSamples:
    """The chassis' motion measured below the inertial unit's band end, told above it."""
    measured = np.concatenate([piece.specific_force, piece.angular_acceleration], axis=1)
    motion = low_band(measured, piece.rate, extension.imu_hz) + told.motion
    return replace(piece, specific_force=motion[:, :3], angular_acceleration=motion[:, 3:])


def _equalised(values: Array, grid: _Grid, name: str) -> Array:
    sensor = next(sensor for label, _, sensor in grid.columns if label == name)
    if sensor.bandwidth_hz <= 0.0:
        return values
    return equalise(values, grid.rate, sensor.bandwidth_hz, sensor.order)


def _piece(
    values: dict[str, Array],
    grid: _Grid,
    configuration: CarDescription,
    options: Processing,
    wide: ZeroPhaseFilter,
    segment: slice,
    found: list[Finding],
) -> tuple[CarSamples, Array]:
    """One stretch without its friction sign, and the travel as recorded."""
    slow = wide
    if options.paper_rule:
        slow = replace(wide, cutoff_hz=min(options.paper_cutoff_hz, wide.cutoff_hz))
        wide = replace(wide, cutoff_hz=0.95 * 0.5 * wide.rate)
    turn = grid.imu.matrix
    rates = values['imu'][:, :3] @ turn.T
    gyro = slow.derivatives(rates)
    specific = slow.apply(values['imu'][:, 3:] @ turn.T)[0]
    omega, alpha = gyro.position, gyro.velocity
    arm = np.array(grid.imu.position)
    # From the sensor to the origin of base_link; gravity stays in: it is the Euler variable.
    specific = specific - carried_acceleration(omega, alpha, arm)
    count = len(rates)
    velocity = np.zeros((count, 2))
    if 'speed' in values:
        seen = slow.apply(values['speed'])[0]
        carried = np.cross(omega, np.array(grid.speed.position))[:, :2]
        velocity = seen - carried
    wrench = np.full((count, 4, 6), np.nan)
    for j, corner in enumerate(CORNERS):
        if f'wrench_{corner}' in values:
            wrench[:, j] = slow.apply(values[f'wrench_{corner}'])[0]
    wrench = np.nan_to_num(wrench)
    travel, joints = _joints(values, count, wide, slow, configuration, found)
    return CarSamples(
        grid.rate,
        grid.columns[0][1].epoch_ns,
        grid.grid[segment],
        specific,
        omega,
        alpha,
        velocity,
        np.zeros((count, 4)),
        joints,
        wrench,
    ), travel


def _joints(
    values: dict[str, Array],
    count: int,
    wide: ZeroPhaseFilter,
    slow: ZeroPhaseFilter,
    configuration: CarDescription,
    found: list[Finding],
) -> tuple[Array, dict[str, JointMotion]]:
    """Raw travel and the motion of all joints; tables or nominal values where not measured."""
    travel = np.zeros((count, 4))
    steering = np.zeros((count, 4))
    for j, corner in enumerate(CORNERS):
        if f'suspension_{corner}' in values:
            zero = configuration.geometry.suspension_zero[j]
            travel[:, j] = values[f'suspension_{corner}'][:, 0] + zero
        else:
            name = f'suspension_{corner}'
            text = f'{name} is not recorded: taken as zero'
            found.append(Finding('note', 'travel_not_recorded', text, name))
        if f'steering_{corner}' in values:
            steering[:, j] = values[f'steering_{corner}'][:, 0]
        elif corner.startswith('f'):
            name = f'steering_{corner}'
            text = f'{name} is not recorded: its wheel wrench is not turned'
            found.append(Finding('warn', 'steering_not_recorded', text, name))
    extra, told = extra_joints(values, travel, steering, configuration)
    found.extend(told)
    result = {'suspension': _motion(travel, wide)}
    for kind, positions in extra.items():
        result[kind] = _motion(positions, slow)
    return travel, result


def _motion(positions: Array, zero_phase: ZeroPhaseFilter) -> JointMotion:
    if np.ptp(positions, axis=0).max() == 0.0:
        still = np.zeros_like(positions)
        return JointMotion(positions, still, still)
    motion = zero_phase.derivatives(positions)
    return JointMotion(motion.position, motion.velocity, motion.acceleration)
