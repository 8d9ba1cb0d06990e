"""From a recording to what the single-track car takes: one row per 20 ms of a moving car."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from veh_identification.errors import EstimationError
from veh_identification.orientations import matrix_of_rpy
from veh_identification.signals import TimeSeries
from veh_identification.systems.car.bicycle import model
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording, sensor_pose
from veh_identification.types import Array, BoolArray, IntArray

RATE = 50.0  # of the rows [Hz]
LOW_PASS = 0.07  # deviation of the bell that signals are smoothed with [s]: -3 dB at 1.9 Hz
#: Rows from one inertial measurement to the next: nearer ones would share their smoothed noise (at
#: 0.08 s its correlation is 0.7, at 0.16 s 0.3), which the filter takes for motion.
EVERY = 8
SLOWEST = 8.0  # below, slip angles say nothing [m/s]
LARGEST_STEER = 0.10  # of the road wheels [rad]
FRONT_BRAKES = 0.65  # usual share of the brakes in front
BLOCK = 5.0  # of the scores that tell the deviations [s]
SHORTEST = 4.0  # of a stretch [s]
LONGEST_GAP = 0.12  # of the inertial unit and the steering [s]
LONGEST_SILENCE = 1.6  # of whatever tells the speed [s]
SMOOTHING, GRADE_SMOOTHING = 0.4, 1.2  # of speed and of the nose's angle [s]
NEEDED = ('wz', 'fx', 'fy')  # of the inertial unit
UPRIGHT = 0.995  # cosine of a tilt that mixes axes that are measured with others
#: Share of the sideways force that a usual car makes by leaning, where no roll rate tells it.
LEANS = 0.08


@dataclass(frozen=True)
class Steering:
    """Road wheel angle: where it comes from and how wrong its gain may be."""

    source: str
    gain_deviation: float


@dataclass(frozen=True, eq=False)
class HandlingSamples:
    """Rows of one recording; what was left out is not in them."""

    label: str
    epoch_ns: int
    time: Array  # (N,) since the epoch [s]
    inputs: Array  # (N, INPUTS), see `model`
    measured: Array  # (N, 9)
    forward: Array  # (N,) specific force along x [m/s^2]
    told_speed: Array  # (N,) as told by its sensor, NaN in between
    altitude: Array  # (N,) NaN where there is none
    torque: Array  # (N,) of all wheels [N m], NaN where there is none
    braking: BoolArray  # (N,)
    driven: Array  # (N,) speed of the driven wheels [rad/s], NaN where there is none
    car: Array
    steering: Steering
    speed_source: str
    sideways_source: str
    radius: float  # rolling, by wheel speeds and satellites; NaN: not told
    seconds: float  # of the recording

    def __len__(self) -> int:
        return len(self.time)

    @property
    def rolls(self) -> bool:
        """Whether the roll rate is measured."""
        return model.M_ROLL in told_columns(self.measured)


def block_numbers(samples: HandlingSamples) -> IntArray:
    """Number of the block of some seconds that each row belongs to."""
    stretch = np.cumsum(samples.inputs[:, model.I_BEGIN] > 0.0)
    number = np.floor(samples.time / BLOCK).astype(np.int64) + stretch * 1_000_000
    return np.asarray(np.unique(number, return_inverse=True)[1], dtype=np.int64)


def _averaged(series: TimeSeries, grid: Array, delay: float, width: float) -> Array:
    """Means over `width` about the times of the grid; NaN where samples are missing."""
    time, values = series.stamps - delay, series.values
    area = np.vstack(
        [
            np.zeros(values.shape[1]),
            np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(time)[:, None], axis=0),
        ]
    )
    half = 0.5 * width
    out = np.stack(
        [
            (np.interp(grid + half, time, column) - np.interp(grid - half, time, column)) / width
            for column in area.T
        ],
        axis=1,
    )
    out[_silent(time, grid, max(LONGEST_GAP, 3.0 * width))] = np.nan
    return out


def _silent(time: Array, grid: Array, longest: float) -> BoolArray:
    """Where the samples about a time are further apart than `longest`."""
    after = np.searchsorted(time, grid)
    before = np.clip(after - 1, 0, len(time) - 1)
    gap = time[np.clip(after, 0, len(time) - 1)] - time[before]
    outside = (grid < time[0]) | (grid > time[-1])
    return np.asarray(outside | (gap > longest))


def _interpolated(series: TimeSeries, grid: Array, delay: float = 0.0) -> Array:
    time = series.stamps - delay
    value = np.interp(grid, time, series.values[:, 0])
    value[_silent(time, grid, LONGEST_GAP)] = np.nan
    return value


def road_wheel_angle(
    recording: CarRecording, config: CarDescription, grid: Array
) -> tuple[Array, Steering]:
    """Mean angle of the front wheels, from their own sensors, the steering wheel or the rack."""
    delay = config.sensors.steering.delay
    own = [one for c in ('fl', 'fr') if (one := recording.joint('steering', c)) is not None]
    if own:
        angle = np.mean([_interpolated(one, grid, delay) for one in own], axis=0)
        return angle, Steering('the sensors of the road wheels', 0.005)
    wheel, rack = (recording.joints.get(name) for name in ('steering_wheel', 'steering_rack'))
    ratio = config.sensors.rack.steering_ratio
    if wheel is not None and ratio:
        angle = (_interpolated(wheel, grid, delay) - config.sensors.rack.offset) / ratio
        return angle, Steering(f'the steering wheel and its ratio {ratio:g}', 0.03)
    if rack is not None:
        arm = abs(config.suspension.front.tie_outer[0])
        return _interpolated(rack, grid, delay) / arm, Steering('the rack', 0.1)
    why = (
        'steering_wheel is there, but the description gives no sensors.rack.steering_ratio'
        if wheel is not None
        else 'expected steering_fl and steering_fr, steering_wheel or steering_rack'
    )
    raise EstimationError(
        f'{recording.label}, topic {config.topics["joints"]}: no steering: {why}'
    )


def _kernel_mean(time: Array, value: Array, grid: Array, width: float) -> tuple[Array, Array]:
    """Local straight lines (Gaussian weights): value and slope at the times of the grid."""
    step = 0.1
    coarse = np.arange(grid[0], grid[-1] + step, step)
    low = np.searchsorted(time, coarse - 3.0 * width)
    high = np.searchsorted(time, coarse + 3.0 * width)
    fitted = np.full((len(coarse), 2), np.nan)
    for k, (a, b) in enumerate(zip(low, high, strict=True)):
        if b - a < 2:
            continue
        x = time[a:b] - coarse[k]
        w = np.exp(-0.5 * np.square(x / width))
        s0, s1, s2 = w.sum(), (w * x).sum(), (w * x * x).sum()
        y0, y1 = (w * value[a:b]).sum(), (w * x * value[a:b]).sum()
        scale = s0 * s2 - s1 * s1
        if scale > 1e-9 * s0 * s0 * width**2:
            fitted[k] = (s2 * y0 - s1 * y1) / scale, (s0 * y1 - s1 * y0) / scale
    return np.interp(grid, coarse, fitted[:, 0]), np.interp(grid, coarse, fitted[:, 1])


def wheel_speed(recording: CarRecording, config: CarDescription) -> TimeSeries | None:
    """Mean speed [rad/s] of the wheels of an axle that is not driven, else of the rear wheels."""
    driven = config.sensors.wheels.driven
    own = _mean_speed(recording, ('fl', 'fr') if driven == 'rear' else ('rl', 'rr'))
    return _mean_speed(recording, CORNERS) if own is None else own


def _driven(recording: CarRecording, config: CarDescription, grid: Array) -> Array:
    """Mean speed of the wheels that the torque acts on."""
    corners = {'front': ('fl', 'fr'), 'rear': ('rl', 'rr'), 'all': CORNERS}
    told = _mean_speed(recording, corners[config.sensors.wheels.driven])
    if told is None:
        return np.full(len(grid), np.nan)
    return _interpolated(told, grid, config.sensors.wheels.delay)


def _mean_speed(recording: CarRecording, corners: tuple[str, ...]) -> TimeSeries | None:
    """Mean speed of those of some wheels that tell one."""
    found = [one for c in corners if (one := _one_wheel(recording, c)) is not None]
    if not found:
        return None
    time = found[0].stamps
    mean = np.mean([np.interp(time, one.stamps, one.values[:, 0]) for one in found], axis=0)
    return TimeSeries(time, mean, ('speed',), ('rad/s',), found[0].epoch_ns, 'wheels')


def _one_wheel(recording: CarRecording, corner: str) -> TimeSeries | None:
    told = recording.wheel_speeds.get(corner)
    if told is not None:
        return told
    angle = recording.joint('wheel', corner)
    if angle is None or len(angle) < 20:
        return None
    # increments over about 0.1 s, at their middles
    span = max(1, round(0.1 / angle.median_period))
    time = 0.5 * (angle.stamps[span:] + angle.stamps[:-span])
    gap = angle.stamps[span:] - angle.stamps[:-span]
    rate = (angle.values[span:, 0] - angle.values[:-span, 0]) / gap
    keep = gap < 0.3
    return TimeSeries(time[keep], rate[keep], ('speed',), ('rad/s',), angle.epoch_ns, angle.label)


@dataclass(frozen=True, eq=False)
class _Speed:
    value: Array  # at base_link
    nose: Array  # nose up [rad]
    told: Array  # samples of its sensor, NaN in between
    source: str
    radius: float


def _forward_speed(
    recording: CarRecording, config: CarDescription, grid: Array, forward: Array, yaw: Array
) -> _Speed:
    """Forward speed: what tells it slowly, with the forward acceleration between."""
    candidates = _speeds(recording, config, grid, yaw)
    radius = float('nan')
    wheels = wheel_speed(recording, config)
    if wheels is not None and candidates:
        time, value, _ = candidates[0]
        turned = np.interp(time, wheels.stamps, wheels.values[:, 0])
        straight = (np.abs(np.interp(time, grid, np.nan_to_num(yaw))) < 0.05) & (value > SLOWEST)
        if np.count_nonzero(straight) > 20:
            radius = float(np.median(value[straight] / turned[straight]))
    if wheels is not None and not candidates:
        rolled = config.geometry.wheel_radius * wheels.values[:, 0]
        candidates.append((wheels.stamps, rolled, 'the wheels and the configured radius'))
    if not candidates:
        raise EstimationError(
            f'{recording.label}: nothing tells the speed; expected {config.topics["speed"]}, '
            f'{config.topics["gps_velocity"]} or wheel_* in {config.topics["joints"]}'
        )
    time, value, source = candidates[0]
    carried = np.concatenate([[0.0], np.cumsum(np.nan_to_num(forward))[:-1]]) / RATE
    apart = value - np.interp(time, grid, carried)
    period = float(np.median(np.diff(time))) if len(time) > 1 else 1.0
    smooth, _ = _kernel_mean(time, apart, grid, max(SMOOTHING, period))
    _, drift = _kernel_mean(time, apart, grid, max(GRADE_SMOOTHING, 1.5 * period))
    speed = carried + smooth
    speed[_silent(time, grid, max(LONGEST_SILENCE, 2.5 * period))] = np.nan
    told = np.full(len(grid), np.nan)
    rows, kept = _rows_of(time, grid)
    told[rows] = value[kept] + forward[rows] * (grid[rows] - time[kept])
    return _Speed(speed, -drift / config.gravity, told, source, radius)


def _speeds(
    recording: CarRecording, config: CarDescription, grid: Array, yaw: Array
) -> list[tuple[Array, Array, str]]:
    """Times and forward speeds of base_link, the best first."""
    found = []
    if recording.speed is not None:
        sensor, _ = sensor_pose(config.sensors.speed, recording)
        time = recording.speed.stamps - sensor.delay
        turning = np.interp(time, grid, np.nan_to_num(yaw))
        forward = recording.speed.values[:, 0] + sensor.position[1] * turning
        found.append((time, forward, 'the optical speed sensor'))
    if recording.velocity is not None:
        gps = config.sensors.gps
        time = recording.velocity.stamps - gps.velocity_delay
        turning = np.interp(time, grid, np.nan_to_num(yaw))
        square = np.square(recording.velocity.values).sum(axis=1)
        ahead = np.sqrt(np.maximum(square - np.square(gps.position[0] * turning), 0.0))
        found.append((time, ahead + gps.position[1] * turning, 'satellites'))
    return found


def _rows_of(time: Array, grid: Array) -> tuple[IntArray, IntArray]:
    """The row nearest to each time, one time per row, and which times those are."""
    row = np.rint((time - grid[0]) * RATE).astype(np.int64)
    inside = np.flatnonzero((row >= 0) & (row < len(grid)))
    _, first = np.unique(row[inside], return_index=True)
    kept: IntArray = np.asarray(inside[first], dtype=np.int64)
    return np.asarray(row[kept]), kept


def _inertial_unit(recording: CarRecording, config: CarDescription) -> TimeSeries:
    """What measures yaw rate, forward and sideways acceleration, if nothing else."""
    topic, imu = config.topics['imu'], recording.imu
    if imu is None:
        why = f'topic {topic} is missing; rates and accelerations of the body are needed'
        for report in recording.reports:
            if report.label.strip('/') == topic.strip('/') and report.non_finite_by_channel:
                lost = ', '.join(report.non_finite_by_channel)
                why = f'topic {topic}: {lost} hold no number where the others do'
        raise EstimationError(f'{recording.label}: {why}')
    missing = [name for name in NEEDED if name in recording.unmeasured]
    if missing:
        raise EstimationError(
            f'{recording.label}, topic {topic}: {", ".join(missing)} hold no number; yaw rate, '
            'forward and sideways acceleration (wz, fx, fy) are needed'
        )
    sensor, _ = sensor_pose(config.sensors.imu, recording)
    upright = float(sensor.matrix[2, 2])
    if recording.unmeasured and upright < UPRIGHT:
        raise EstimationError(
            f'{recording.label}, topic {topic}: {", ".join(recording.unmeasured)} hold no number, '
            f'and the unit is tilted by {np.degrees(np.arccos(upright)):.0f} degrees (sensors.imu '
            'or its transform): its axes must be those of the car, within 6 degrees'
        )
    return imu


def handling_samples(recording: CarRecording, config: CarDescription) -> HandlingSamples:
    """The rows of one recording."""
    imu = _inertial_unit(recording, config)
    sensor, _ = sensor_pose(config.sensors.imu, recording)
    if imu.median_period > 0.06:
        raise EstimationError(
            f'{recording.label}, topic {config.topics["imu"]}: {1 / imu.median_period:.0f} Hz; '
            'at least 20 Hz are needed'
        )
    grid = np.arange(imu.stamps[0] + 0.05, imu.stamps[-1] - 0.05, 1.0 / RATE)
    if len(grid) < SHORTEST * RATE:
        raise EstimationError(f'{recording.label}: shorter than {SHORTEST:g} s')
    raw = _averaged(imu, grid, sensor.delay, max(1.0 / RATE, imu.median_period))
    turn = matrix_of_rpy(sensor.rpy)
    rates, force = raw[:, :3] @ turn.T, raw[:, 3:] @ turn.T
    steer, steering = road_wheel_angle(recording, config, grid)
    speed = _forward_speed(recording, config, grid, force[:, 0], rates[:, 2])
    arm = np.subtract(config.sensors.gps.position, sensor.position)
    rolls, gravity = 'wx' not in recording.unmeasured, _felt_gravity(config)
    taken = _taken_by_low_pass(rates, force, arm, gravity, rolls)
    steer, rates, force = (_low_passed(one) for one in (steer, rates, force))
    rate = np.gradient(steer, 1.0 / RATE)
    inputs = np.zeros((len(grid), model.INPUTS))
    inputs[:, model.I_STEER], inputs[:, model.I_RATE] = steer, rate
    inputs[:, model.I_SPEED], inputs[:, model.I_NOSE] = speed.value, speed.nose
    inputs[:, model.I_FRONT] = _front_force(force[:, 0], config)
    inputs[:, model.I_AHEAD] = force[:, 0]
    measured = np.full((len(grid), 9), np.nan)
    measured[:, model.M_YAW] = rates[:, 2]
    if rolls:
        measured[:, model.M_ROLL] = rates[:, 0]
    measured[:, model.M_SIDE] = force[:, 1]
    measured[:, model.M_AX], measured[:, model.M_AY] = force[:, 0], force[:, 1]
    place, sideways = _sideways(recording, config, grid, measured, taken)
    between = np.arange(len(grid)) % EVERY != 0
    keep = _moving(inputs, measured)
    rows = np.flatnonzero(keep)
    if not len(rows):
        raise EstimationError(
            f'{recording.label}: the car never drives faster than {SLOWEST:g} m/s for '
            f'{SHORTEST:g} s with inertial unit, steering and speed at hand'
        )
    measured[between, : model.M_EAST] = np.nan
    inputs[rows, model.I_BEGIN] = np.diff(rows, prepend=rows[0] - 2) > 1
    geometry = config.geometry
    car = np.zeros(model.KNOWN)
    car[model.LENGTH], car[model.HEIGHT] = geometry.wheelbase, geometry.wheel_radius
    car[model.GRAVITY], car[model.FELT] = config.gravity, gravity
    car[model.X_IMU], car[model.Z_IMU] = sensor.position[0], sensor.position[2]
    car[model.X_SPEED], car[model.Z_SPEED] = place
    return HandlingSamples(
        recording.label,
        imu.epoch_ns,
        grid[rows],
        inputs[rows],
        measured[rows],
        force[rows, 0],
        speed.told[rows],
        _altitude(recording, config, grid)[rows],
        _torque(recording, grid)[rows],
        _braking(recording, grid)[rows],
        _driven(recording, config, grid)[rows],
        car,
        steering,
        speed.source,
        sideways,
        speed.radius,
        float(grid[-1] - grid[0]),
    )


def _low_passed(values: Array) -> Array:
    """All signals of the dynamics through one zero-phase low-pass: bumps are above its band."""
    bad = ~np.isfinite(values)
    smooth = gaussian_filter1d(np.where(bad, 0.0, values), LOW_PASS * RATE, axis=0)
    reach = int(3.0 * LOW_PASS * RATE)
    near = maximum_filter1d(bad.astype(np.int8), 2 * reach + 1, axis=0) > 0
    return np.asarray(np.where(near, np.nan, smooth))


def _front_force(forward: Array, config: CarDescription) -> Array:
    """Drive and brake force of the front axle over mass: who drives is known, brakes are usual."""
    drive = {'front': 1.0, 'rear': 0.0, 'all': 0.5}[config.sensors.wheels.driven]
    return np.asarray(np.where(forward > 0.0, drive, FRONT_BRAKES) * forward)


def _felt_gravity(config: CarDescription) -> float:
    """What of gravity a body that leans has in its sideways acceleration."""
    return 0.0 if config.sensors.imu.gravity == 'removed' else config.gravity


def _taken_by_low_pass(
    rates: Array, force: Array, arm: Array, gravity: float, rolls: bool = True
) -> Array:
    """What the low-pass takes off the velocity (N, 2), forward and sideways.

    Satellites tell the velocity too seldom to be low-passed as the other signals are; without it
    they would see wider swings than the model, whose inputs are smooth. The inertial unit knows
    what happens within a tenth of a second, at a place `arm` from it with its rates. As the car
    rolls gravity enters the sideways force, an eighth of it: that is no acceleration (`rolls`:
    the roll rate tells how much).
    """
    yaw, roll = np.nan_to_num(rates[:, 2]), np.nan_to_num(rates[:, 0])
    ahead, aside = np.nan_to_num(force[:, 0]), np.nan_to_num(force[:, 1])
    if rolls:
        aside = aside - gravity * np.cumsum(roll - np.median(roll)) / RATE
    elif gravity > 0.0:
        aside = aside / (1.0 + LEANS)
    heading = np.cumsum(yaw) / RATE
    turn = np.exp(1j * heading)
    velocity = np.cumsum(turn * (ahead + 1j * aside)) / RATE
    velocity += 1j * (arm[0] * yaw - arm[2] * roll) * turn
    width = LOW_PASS * RATE
    smooth = gaussian_filter1d(velocity.real, width) + 1j * gaussian_filter1d(velocity.imag, width)
    taken = (velocity - smooth) / turn
    reach = int(3.0 * width)
    taken[:reach] = taken[-reach:] = 0.0  # nothing is known beyond the ends
    return np.stack([taken.real, taken.imag], axis=1)


def _sideways(
    recording: CarRecording, config: CarDescription, grid: Array, measured: Array, taken: Array
) -> tuple[tuple[float, float], str]:
    """Put the sideways speed into `measured`; where its sensor sits, and which it is."""
    if recording.speed is not None:
        sensor, _ = sensor_pose(config.sensors.speed, recording)
        seen = _averaged(recording.speed, grid, sensor.delay, 1 / RATE)[:, 1]
        measured[:, model.M_OPTICAL] = _low_passed(seen)
        return (sensor.position[0], sensor.position[2]), 'the optical speed sensor'
    gps = config.sensors.gps
    if recording.velocity is not None:
        time = recording.velocity.stamps - gps.velocity_delay
        rows, kept = _rows_of(time, grid)
        moving = np.hypot(*recording.velocity.values[kept].T) > 2.0
        rows, kept = rows[moving], kept[moving]
        velocity = recording.velocity.values[kept, 0] + 1j * recording.velocity.values[kept, 1]
        course = velocity / np.abs(velocity)  # within some hundredths the car's own heading
        velocity -= course * (taken[rows, 0] + 1j * taken[rows, 1])
        measured[rows, model.M_EAST] = velocity.real
        measured[rows, model.M_NORTH] = velocity.imag
        measured[rows, model.M_AGE] = grid[rows] - time[kept]
        return (gps.position[0], gps.position[2]), 'satellites'
    return (0.0, 0.0), 'nothing'


def told_columns(measured: Array) -> list[int]:
    """Yaw rate, roll rate and sideways force, as far as anything measures them."""
    columns = (model.M_YAW, model.M_ROLL, model.M_SIDE)
    return [one for one in columns if np.isfinite(measured[:, one]).any()]


def _moving(inputs: Array, measured: Array) -> BoolArray:
    """Rows of stretches that are fast, complete and long enough."""
    good = np.isfinite(inputs).all(axis=1)
    for column in told_columns(measured):
        good &= np.isfinite(measured[:, column])
    with np.errstate(invalid='ignore'):
        good &= inputs[:, model.I_SPEED] > SLOWEST
        good &= np.abs(inputs[:, model.I_STEER]) < LARGEST_STEER
    edges = np.flatnonzero(np.diff(np.concatenate([[0], good.astype(np.int8), [0]])))
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        if b - a < SHORTEST * RATE:
            good[a:b] = False
    return good


def _altitude(recording: CarRecording, config: CarDescription, grid: Array) -> Array:
    out = np.full(len(grid), np.nan)
    if recording.fix is not None:
        time = recording.fix.stamps - config.sensors.gps.delay
        rows, kept = _rows_of(time, grid)
        out[rows] = recording.fix.values[kept, 2]
    return out


def _torque(recording: CarRecording, grid: Array) -> Array:
    """Drive torque of all wheels that tell one."""
    out = np.full(len(grid), np.nan)
    told = [_interpolated(one, grid) for one in recording.torques.values() if len(one) > 8]
    return np.sum(told, axis=0) if told else out


def _braking(recording: CarRecording, grid: Array) -> BoolArray:
    if recording.pressure is None:
        return np.zeros(len(grid), dtype=bool)
    pressure = np.interp(grid, recording.pressure.stamps, recording.pressure.values[:, 0])
    released = np.percentile(pressure, 10.0)
    return np.asarray(pressure > released + 2e4)
