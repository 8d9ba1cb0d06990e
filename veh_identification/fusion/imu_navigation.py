"""What the IMU alone does to the inertial filter: first attitude, prediction, levelling.

Samples come in order of time, in the axes of the IMU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from veh_identification import orientations
from veh_identification.fusion import measurements, rotation
from veh_identification.fusion.health import Witnesses
from veh_identification.fusion.imu_noise import ImuNoise
from veh_identification.fusion.inertial import (
    MOTION_ONLY,
    WITH_SLIP,
    InertialFilter,
    InertialNoise,
)
from veh_identification.fusion.journal import Journal
from veh_identification.fusion.kept_motion import KeptMotion
from veh_identification.fusion.lean import Lean
from veh_identification.fusion.measurements import Model
from veh_identification.fusion.options import FusionOptions
from veh_identification.fusion.start import AttitudeStarter, turned_imu_warning
from veh_identification.fusion.statistics import SensorRecord
from veh_identification.fusion.track import Track
from veh_identification.orientations import Quaternion
from veh_identification.runtime.transforms import Transform
from veh_identification.types import Array

AXES = {
    'x': slice(0, 1),
    'xy': slice(0, 2),
    'xyz': slice(0, 3),
    'z': slice(2, 3),
    'yz': slice(1, 3),
}
VELOCITY_SOURCES = ('gnss', 'gnss_velocity', 'odometry', 'speed', 'wheels', 'mocap')
#: A sensor that nobody else contradicts is right after so many seconds (and `recover_after`).
PATIENCE = 2.5
#: A mean vertical acceleration (of gravity) that does not last so many seconds in any vehicle.
LIFT, LIFT_SPAN = 0.5, 4.0
#: No IMU that is worth its name is off by more (rad/s, m/s^2), nor by so many times what is
#: expected of it: an estimate that says so was led astray, and its attitude with it.
LARGEST_BIAS, MOST_EXPECTED = (0.2, 2.0), 10.0
#: No estimate is further from the origin than this (m).
FURTHEST = 1e7
LEVEL_PERIOD = 0.05
#: How often the noise of the IMU is set to what was learnt (seconds).
NOISE_PERIOD = 0.5
CONSTRAINT_PERIOD = 0.1
AIDING_PAUSE = 2.0
#: The first attitude may be wrong by more than its covariance says: no gates for so long.
SETTLING = 5.0
#: An attitude that began in full motion is not relied on for so long (seconds).
DISTRUST = 3.0
#: Accelerations beside gravity are remembered so long (seconds); one deviation of them counts as
#: so many, for neighbours in time are no witnesses of each other.
BESIDE_SPAN, BESIDE_WEIGHT = 2.0, 2.0
#: What the attitude may be off (rad) after the IMU was silent for longer than its timeout.
SILENCE_SIGMA = 0.3
#: After a longer silence of the IMU roll, pitch and heading are found anew (seconds).
LONGEST_SILENCE = 1.0


class ImuNavigation:
    """The inertial filter, its IMU and what supports it in between."""

    def __init__(self, options: FusionOptions, records: Mapping[str, SensorRecord]) -> None:
        self.options = options
        self.records = records
        imu = options.imu
        self._imu_on = bool(imu.topic)
        self._imu_timeout = imu.timeout
        self._imu_record = records['imu']
        self._with_covariances = options.publish_odometry or bool(options.odom_frame)
        self._constrained = options.nonholonomic.axes != 'none'
        self.filter = InertialFilter(_noise(options), options.gravity)
        self.imu_noise = ImuNoise(imu.gyro_noise, imu.accel_noise)
        self._imu_period = math.nan
        self._next_noise = -math.inf
        self._levelled = all(imu.measured[:2])  # roll and pitch rates
        #: Mean specific force of the last LEVEL_PERIOD, base-link axes.
        self._mean_force = np.zeros(3)
        self._witnesses = Witnesses(PATIENCE)
        self._starter = AttitudeStarter(imu.start_time, options.gravity, imu.gravity)
        self.imu_mount = Transform()
        self._mount_matrix = np.eye(3)
        self._mount_is_straight = True
        self._imu_point = np.zeros(3)
        self._levers: dict[str, Array] = {}
        #: Biases while the IMU was last heard, and their variances.
        self._biases, self._bias_variances = np.zeros(6), np.zeros(6)
        self._expected = np.repeat([imu.gyro_bias, imu.accel_bias], 3)
        largest = np.maximum(np.repeat(LARGEST_BIAS, 3), MOST_EXPECTED * self._expected)
        self._largest_biases = largest
        self._velocity_records = [records[n] for n in VELOCITY_SOURCES if n in records]
        self.recoveries = 0
        self.restarts = 0
        self.restart_reason = ''
        #: Counts the beginnings of a dead-reckoned track.
        self.starts = 0
        self.mean_start_force = np.zeros(3)
        self.journal = Journal()
        self._lean = Lean()
        #: Scatter of sensors (and parts of them) that an earlier process has learnt, and what of
        #: it its calibration was made with.
        self._scatter: dict[tuple[str, str], float] = {}
        self._believed_before: dict[str, float] = {}
        self.reset()

    def reset(self) -> None:
        """Start over with attitude and position; biases stay."""
        self.starts += 1
        self.filter.time = math.nan
        self.filter.navigating = False
        self._starter.reset()
        self.heading_known = not self.options.gnss.topic or bool(self.options.mocap.topic)
        #: Without satellites the odometry frame starts where the vehicle starts.
        self.position_known = not self.options.gnss.topic
        self.filter.force_sum[:] = 0.0
        self._level_count = 0
        self._lift = self._beside = 0.0
        self._absolute_until = -math.inf
        self._next_level = -math.inf
        self._last_level = math.nan
        self._next_noise = -math.inf
        self._next_constraint = -math.inf
        self.turn_rate: Array | None = None
        self._still_since = math.inf
        self.settled_at = -math.inf
        self._surrenders: list[float] = []
        #: Scatter of sensors that the calibration was made with.
        self._believed: dict[str, float] = dict(self._believed_before)
        #: Until when (see DISTRUST) the pose does not count as valid.
        self.distrusted_until = -math.inf

    def restart(self, time: float, reason: str) -> None:
        """The attitude itself is wrong, or the numbers are no longer any: begin anew."""
        self.restarts += 1
        self.restart_reason = reason
        self.filter.clear()
        self._biases[:], self._bias_variances[:] = 0.0, self._expected**2
        self.reset()
        self.distrusted_until = time + DISTRUST  # it begins in full motion

    @property
    def located(self) -> bool:
        """Whether place, heading and velocity are known and relied on."""
        state = self.filter
        return (
            state.ready
            and state.navigating
            and self.heading_known
            and self.position_known
            and state.time >= self.distrusted_until
        )

    def go_on(self, kept: KeptMotion, time: float) -> None:
        """Be where an earlier process was at `time`, as if nothing had been heard since then."""
        kept.give(self.filter, time)
        self.heading_known = self.position_known = True
        self._imu_record.last_used = self._last_level = time
        self._biases[:] = self.filter.x[10:16]
        self._bias_variances[:] = np.diagonal(self.filter.P)[9:15]

    def set_imu_mount(self, mount: Transform) -> None:
        """Pose of the IMU in the base link."""
        self.imu_mount = mount
        self._mount_matrix = rotation.matrix(mount.rotation)
        self._mount_is_straight = mount.rotation == orientations.IDENTITY
        self._imu_point = np.array(mount.translation)
        self._levers.clear()

    def _lever(self, name: str, position: list[float]) -> Array:
        """A sensor's position relative to the IMU, base-link axes."""
        lever = self._levers.get(name)
        if lever is None:
            lever = self._levers[name] = np.array(position) - self._imu_point
        return lever

    def forget_lever(self, name: str) -> None:
        """A sensor's position has become known."""
        self._levers.pop(name, None)

    # IMU ----------------------------------------------------------------------------------------

    def to_base(self, values: tuple[float, ...]) -> Array:
        """Rate and force of the IMU in base-link axes."""
        if self._mount_is_straight:
            return np.array(values if len(values) == 6 else values[:6])
        return (np.array(values[:6]).reshape(2, 3) @ self._mount_matrix.T).ravel()

    def imu(self, time: float, sample: Array, measured: Quaternion | None) -> None:
        """One IMU sample (rate, force; base-link axes), with its orientation field if known."""
        if measured is not None:
            measured = orientations.multiply(
                measured, orientations.conjugate(self.imu_mount.rotation)
            )
            turn = rotation.from_rotation_vector(0.0, 0.0, self.options.imu.yaw_offset)
            measured = orientations.multiply(turn, measured)
        state = self.filter
        if state.ready and time - self._imu_record.last_used > self._imu_timeout:
            self._after_silence(time)
        if not state.ready:
            self._first_attitude(time, sample[:3], sample[3:], measured)
        else:
            state.imu(time, sample, self._imu_timeout)
            self._after_imu(time, measured)
        self._imu_record.last_used = time

    def imu_directly(self, time: float, values: tuple[float, ...], track: Track) -> bool:
        """`Track.add` and `imu` of a usual sample in one step; False if this one is not usual:
        the first ones, after a gap, of a turned IMU, or with an orientation field.
        """
        if not (
            self._mount_is_straight
            and len(values) == 6
            and time - track.newest <= track.half_width
            and self.filter.imu_with(track.smoother, time, values, self._imu_timeout)
        ):
            return False
        track.add_beside(time, values)
        self._level_count += 1
        if time >= self._next_level or time >= self._next_constraint:
            self._support(time, None)
        record = self._imu_record
        record.last_used = time
        record.used += 1
        return True

    def _after_imu(self, time: float, measured: Quaternion | None) -> None:
        self._level_count += 1
        self._support(time, measured)

    def _support(self, time: float, measured: Quaternion | None) -> None:
        """What keeps the filter upright between the aiding sensors, when it is due."""
        if time >= self._next_level:
            self._level(time, measured)
        if time >= self._next_constraint and self._constrained and self.filter.navigating:
            self._constrain(time)

    def _first_attitude(
        self, time: float, rate: Array, force: Array, measured: Quaternion | None
    ) -> None:
        options = self.options
        # A sensor in wrong units makes the filter begin anew in every bend: the checks need those.
        self.journal.note('imu', time, (*rate.tolist(), *force.tolist()))
        yaw = options.gnss.heading if options.gnss.heading_given else 0.0
        use_heading = options.imu.use_orientation
        first = self._starter.add(time, rate, force, measured, use_heading, yaw)
        if first is None:
            return
        self.mean_start_force = first.mean_force
        self.filter.gravity_removed = first.gravity_removed
        if options.gnss.heading_given or first.heading_measured:
            self.heading_known = True
        sigma = options.imu.orientation_std if first.heading_measured else 0.1
        self.filter.start(time, first.orientation, first.tilt_sigma, sigma)
        self.settled_at = time + SETTLING

    def _after_silence(self, time: float) -> None:
        """The IMU was silent: the attitude may have changed more than coasting allows for.

        While it was, the other sensors' corrections had nowhere to go but attitude and biases:
        the biases of before are taken again, and after a long silence the attitude starts anew.
        Wheel odometry that tells the turn rate has carried the attitude on, and nothing is lost.
        """
        if self.turn_rate is not None:
            return
        self.filter.renew_attitude(SILENCE_SIGMA, self._biases, self._bias_variances)
        self.settled_at = time + SETTLING
        if time - self._imu_record.last_used > LONGEST_SILENCE:
            self.reset()
            self.distrusted_until = time + DISTRUST

    def _level(self, time: float, measured: Quaternion | None) -> None:
        """Gravity levels the attitude while nothing else does; the orientation field may help."""
        state, imu = self.filter, self.options.imu
        mean = state.force_sum / self._level_count
        self._imu_period = (time - self._last_level) / self._level_count
        self._last_level = time
        if time >= self._next_noise:
            self._next_noise = time + NOISE_PERIOD
            state.scale_noise(*self.imu_noise.shares())
        state.force_sum[:] = 0.0
        self._level_count = 0
        self._next_level = time + LEVEL_PERIOD
        self._mean_force = mean
        self.journal.note('imu', time, (*state.sample[:3].tolist(), *mean.tolist()))
        self._biases[:] = state.x[10:16]
        self._bias_variances[:] = np.diagonal(state.P)[9:15]
        if self._lifts_off():
            self.restart(time, 'the attitude does not fit the accelerations')
            return
        if (np.abs(self._biases) > self._largest_biases).any():
            self.restart(time, 'the biases are more than an IMU can have')
            return
        if imu.use_orientation and measured is not None:
            self._correct_quietly(measurements.orientation(state, measured), imu.orientation_std)
        elif state.gravity_removed or not self._levelled:
            # Nothing else keeps roll and pitch: the orientation field, or a level road.
            reference = orientations.IDENTITY if measured is None else measured
            self._correct_quietly(measurements.tilt(state, reference), 0.1)
        elif not self.aided(time) and not self._tilt_is_better_known():
            # A moving vehicle shows more than gravity: trust it less the further from one g, and
            # the further from where gravity should be lately. A swerving car would else be told
            # for seconds that it leans, and believe it.
            excess = abs(float(np.linalg.norm(mean)) - state.gravity)
            model = measurements.gravity(state, mean)
            self._beside += (
                LEVEL_PERIOD / BESIDE_SPAN * (float(model[0] @ model[0]) - self._beside)
            )
            beside = BESIDE_WEIGHT * math.sqrt(self._beside)
            self._correct_quietly(model, math.hypot(imu.level_std + 2.0 * excess, beside))

    def _lifts_off(self) -> bool:
        """Whether the mean vertical acceleration of the last seconds is more than can last: the
        attitude is wrong then (an IMU that was turned).
        """
        state = self.filter
        if state.gravity_removed:
            return False
        rise = float(state.R[2] @ (self._mean_force - state.accel_bias)) - state.gravity
        self._lift += LEVEL_PERIOD / LIFT_SPAN * (rise - self._lift)
        return abs(self._lift) > LIFT * state.gravity

    def _tilt_is_better_known(self) -> bool:
        """Whether the filter knows roll and pitch better than an accelerometer could tell.

        A turning car that just lost its satellites shows more than gravity for minutes: levelling
        by it would ruin the dead reckoning.
        """
        state = self.filter
        sigma = math.sqrt(max(state.P[6, 6], state.P[7, 7], 0.0))
        return state.navigating and sigma < self.options.imu.level_std / state.gravity

    def _constrain(self, time: float) -> None:
        options = self.options.nonholonomic
        self._next_constraint = time + CONSTRAINT_PERIOD
        lever = self._lever('nonholonomic', options.position)
        residual, H = measurements.no_slide(self.filter, lever)
        rows = AXES[options.axes]
        self._correct_quietly((residual[rows], H[rows]), options.std, WITH_SLIP)

    def _correct_quietly(self, model: Model, sigma: float, estimated: int = MOTION_ONLY) -> None:
        residual, H = model
        covariance = measurements.noise(sigma**2, len(residual))
        self.filter.correct(residual, H, covariance, math.inf, estimated)

    def aided(self, time: float) -> bool:
        """Whether velocity or position has been measured lately."""
        if self.filter.navigating:
            for record in self._velocity_records:
                if time - record.last_used <= max(AIDING_PAUSE, record.timeout):
                    return True
        return False

    def acceleration(self, time: float) -> Array:
        """Of the IMU in base-link axes, mean of the last samples; zero without any."""
        state = self.filter
        if not self._imu_record.active_at(time):
            return np.zeros(3)
        here = self._mean_force - state.accel_bias
        return here if state.gravity_removed else here - state.gravity * state.R[2]

    def snapshot(self, time: float) -> Array | None:
        """State at an output instant; None without an attitude."""
        if not self.filter.ready or time < self.filter.time:
            return None
        if not self.filter.is_sane(self.options.max_speed, FURTHEST):
            self.restart(time, 'the estimate ran away')
            return None
        gap = self._imu_timeout
        if not self._imu_record.active_at(time):
            self.filter.advance(time, gap, self.turn_rate)
        row = self.filter.snapshot(time, gap)
        if self._with_covariances:
            self.filter.add_covariances(row, self._imu_point, self.options.filter.cutoff)
        return row

    @property
    def imu_point(self) -> Array:
        """Position of the IMU in the base link."""
        return self._imu_point

    def level_warning(self) -> str:
        """Says when the first attitude looks like a wrongly given mounting."""
        if not self.filter.ready:
            return ''
        return turned_imu_warning(float(self.filter.R[2, 2]), self.mean_start_force)

    def lean_warning(self) -> str:
        """Says when no road leans as the vehicle does; to be asked each second."""
        if self._constrained and self._imu_on and self.heading_known and self.filter.navigating:
            self._lean.note(self.filter.R, self.filter.velocity)
        return self._lean.warning()


def _noise(options: FusionOptions) -> InertialNoise:
    """Of the IMU, and what is not known about the other sensors."""
    imu, wheels, gnss = options.imu, options.wheels, options.gnss
    rolling = bool(wheels.names()) or bool(options.odometry.topic)
    satellites = bool(gnss.topic)
    straight = 'y' in options.nonholonomic.axes
    # The accelerations tell the yaw of the IMU, the direction of the velocity that of the car.
    mounting = imu.mounting_std * bool(imu.topic)
    # A road under the wheels tells the pitch, too.
    pitch = mounting * (0.4 if 'z' in options.nonholonomic.axes else 1.0)
    place = gnss.position_std * satellites
    return InertialNoise(
        imu.gyro_noise,
        imu.accel_noise,
        imu.gyro_walk,
        imu.accel_walk,
        imu.gyro_bias,
        imu.accel_bias,
        unmeasured=tuple(not known for known in imu.measured),
        calibration=(
            mounting * (satellites and straight),
            options.nonholonomic.slip_std * straight,
            wheels.scale_std * rolling,
            wheels.slip_std * bool(wheels.names()),
            wheels.delay_std * bool(wheels.names()),
            gnss.delay_std * satellites,
            options.gnss_velocity.delay_std * bool(options.gnss_velocity.topic),
            *[place * bool(imu.topic)] * 2,
        ),
        calibration_walk=(0.0, 0.0, 1e-4 * rolling, *[0.0] * 6),
        mounting=(mounting, pitch, place),
    )
