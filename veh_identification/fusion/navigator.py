"""Base motion from IMU, satellites, odometry, speed sensor and motion capture.

`Navigator` owns the inertial filter and decides what each sample does to it: give the first
attitude, start the navigation, find the heading, or correct. All samples come in order of time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from veh_identification import orientations
from veh_identification.fusion import measurements, rotation
from veh_identification.fusion.health import HealthOptions, SensorHealth, usual_square
from veh_identification.fusion.imu_navigation import AXES, PATIENCE, ImuNavigation
from veh_identification.fusion.inertial import (
    ACCEL_BIAS,
    GYRO_BIAS,
    POSITION,
    ROTATION,
    VELOCITY,
    WITH_ALL,
    WITH_WHEELS,
    Update,
)
from veh_identification.fusion.kept_learning import KeptLearning
from veh_identification.fusion.measurements import Model
from veh_identification.fusion.statistics import SensorRecord
from veh_identification.orientations import Quaternion
from veh_identification.types import Array

#: So many surrenders to sensors within so many seconds mean that the attitude itself is wrong.
SURRENDERS, SURRENDER_SPAN = 3, 20.0
#: Sensors against which others can be calibrated, and for how long (seconds) after they spoke.
ABSOLUTE, ABSOLUTE_FOR = frozenset({'gnss', 'gnss_velocity', 'speed', 'mocap'}), 1.5
POSITIONS = frozenset({'gnss', 'mocap'})
#: The part of a fix that is judged apart; places of the errors of the climb and of the bias of the
#: accelerometer upwards.
HEIGHT, CLIMB, LIFT_BIAS = 'height', VELOCITY.stop - 1, ACCEL_BIAS.stop - 1
#: So long (seconds) the others must have contradicted the estimate, too.
ALONE = 1.0
#: A position that the other sensors contradict by carrying on is believed after so many seconds.
PATIENCE_WHEN_CARRIED = 10.0
SATELLITES = frozenset({'gnss', 'gnss_velocity'})
#: A sample beyond so many gates is not used at all.
HARD = 3.0
#: Receivers state covariances that have nothing to do with their noise: it is learnt up to so many
#: times what they state. Any other sensor that scatters so much is broken.
LARGEST_SCATTER = 300.0
#: What was calibrated by a receiver that scatters so many times as much as was believed is worth
#: nothing.
MISBELIEVED = 3.0
#: So many deviations of a sensor's noise are far; so many steps at most lead there.
FAR, MOST_STEPS = 10.0, 16
#: What each sensor tells, and what else it would notice.
QUANTITIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    'gnss': ('position', ('velocity',)),
    'mocap': ('position', ('velocity', 'orientation')),
    'gnss_velocity': ('velocity', ()),
    'odometry': ('velocity', ()),
    'speed': ('velocity', ()),
    'wheels': ('velocity', ()),
}


class Navigator(ImuNavigation):
    """The inertial filter and its rules."""

    def learnt(self) -> KeptLearning:
        """What is known of the sensors by now, wheels apart."""
        scatter = {
            (name, part): health.scatter
            for name, record in self.records.items()
            for part, health in record.healths.items()
        }
        return KeptLearning(self.imu_noise.learnt(), scatter, dict(self._believed))

    def know(self, learnt: KeptLearning) -> None:
        """Begin with what an earlier process has learnt."""
        self.imu_noise.know(learnt.noise)
        self.filter.scale_noise(*self.imu_noise.shares())
        self._scatter = dict(learnt.scatter)
        self._believed_before, self._believed = dict(learnt.believed), dict(learnt.believed)

    # Aiding sensors -----------------------------------------------------------------------------

    def advance(self, name: str, time: float) -> bool:
        """Bring the filter to `time`; false while there is no attitude yet."""
        state = self.filter
        if not state.ready:
            if self._imu_on:
                self.records[name].skip('no attitude yet')
                return False
            yaw = self.options.gnss.heading if self.options.gnss.heading_given else 0.0
            self.heading_known |= self.options.gnss.heading_given
            state.start(time, orientations.quaternion_of_rpy((0.0, 0.0, yaw)), 0.05, 0.1)
        state.advance(time, self.options.imu.timeout, self.turn_rate)
        if name in ABSOLUTE:
            self._absolute_until = time + ABSOLUTE_FOR
        # Acceleration tells a scale, too, but road, tilt and slip tell it another.
        state.calibrating = self.heading_known and time <= self._absolute_until
        return True

    def body_velocity(
        self,
        name: str,
        time: float,
        velocity: tuple[float, ...],
        axes: str,
        lever: list[float],
        sigma: float,
        gate: float,
    ) -> None:
        """Velocity of a point in base-link axes (odometry, optical sensor)."""
        self.journal.note(name, time, velocity[:4])
        if not self.advance(name, time):
            return
        state = self.filter
        arm = self._lever(name, lever)
        rows = AXES[axes]
        measured = np.array(velocity[:3])
        if not state.navigating:
            self.start_navigation(measured - rotation.cross_array(state.rate, arm), rows)
        kind = measurements.body_velocity
        if name == 'odometry':
            kind = measurements.scaled_velocity

        def model() -> Model:
            residual, H = kind(state, measured, arm)
            return residual[rows], H[rows]

        covariance = measurements.noise(sigma**2, rows.stop - rows.start)
        self.update(name, time, model(), covariance, gate, VELOCITY, again=model)

    def start_navigation(self, velocity: Array, rows: slice) -> None:
        """Begin to integrate with a velocity of the IMU in base-link axes, of which `rows` count.

        The base link starts at the origin, the filter follows the IMU.
        """
        state = self.filter
        start = np.zeros(3)
        start[rows] = velocity[rows]
        state.start_in_body(np.zeros(3), 0.01, start, 1.0)
        state.position[:] = state.R @ self._imu_point

    def odometry(self, time: float, twist: tuple[float, ...]) -> None:
        """Twist (vx, vy, vz, wz) of the wheel odometry; a fifth number is its own deviation."""
        options = self.options.odometry
        self.turn_rate = np.array([0.0, 0.0, twist[3]])
        sigma = twist[4] if len(twist) > 4 else options.std
        self.body_velocity(
            'odometry', time, twist, options.axes, options.position, sigma, options.gate
        )
        still = abs(twist[0]) + abs(twist[1]) < 5e-3 and abs(twist[3]) < 5e-3
        self.learn_at_rest(time, still, options.standstill)

    def learn_at_rest(self, time: float, still: bool, learn: bool) -> None:
        """A vehicle that stands for a second does not turn: the gyroscope shows its bias."""
        self._still_since = min(self._still_since, time) if still else math.inf
        state = self.filter
        if (
            learn
            and self.records['imu'].active_at(time)
            and state.ready
            and time - self._still_since > 1.0
            and math.hypot(*state.velocity[:2].tolist())
            < 0.1 + 3.0 * math.sqrt(max(state.P[3, 3], state.P[4, 4], 0.0))
        ):
            self._correct_quietly(measurements.standstill_rate(state), 0.02)
            self.imu_noise.rest(state.sample, self._imu_period)
        else:
            self.imu_noise.moved()

    def mocap(self, time: float, position: Array, measured: Quaternion) -> None:
        """Pose of the base link; only useful here when an IMU is to be aided by it."""
        if not self.advance('mocap', time):
            return
        state, options = self.filter, self.options.mocap
        lever = -self._imu_point
        if not state.navigating:
            state.start(time, measured, options.orientation_std, options.orientation_std)
            state.start_navigation(position - state.R @ lever, options.std, np.zeros(3), 5.0)
        covariance = measurements.noise(options.orientation_std**2, 3)
        model = measurements.orientation(state, measured)
        self.update('mocap', time, model, covariance, options.gate, ROTATION)
        covariance = measurements.noise(options.std**2, 3)
        model = measurements.position(state, position, lever)
        self.update('mocap', time, model, covariance, options.gate, POSITION, 'position')

    # Corrections --------------------------------------------------------------------------------

    def health(self, name: str, part: str, gate: float) -> SensorHealth:
        """Of a sensor, or of a part of it that is judged apart."""
        healths = self.records[name].healths
        found = healths.get(part)
        if found is None:
            title = f'{name} {part}'.strip()
            options = HealthOptions(gate=gate, hard=HARD)
            if name in SATELLITES:
                options = replace(options, largest_scatter=LARGEST_SCATTER)
            found = healths[part] = SensorHealth(title, options)
            scatter = self._scatter.get((name, part), 1.0)
            found.scatter = min(scatter, 0.5 * options.largest_scatter)
            quantity, also = QUANTITIES.get(name, ('', ()))
            if name != 'wheels':
                quantity = f'{quantity} {part}'.strip()
            self._witnesses.add(found, quantity, True, also)
        return found

    def update(
        self,
        name: str,
        time: float,
        model: Model,
        covariance: Array,
        gate: float,
        block: slice,
        part: str = '',
        again: Callable[[], Model] | None = None,
    ) -> bool:
        """Correct with the weight that the sensor deserves; whether it was used.

        After many rejections in a row of a sensor that nobody else contradicts the filter is the
        one in error, and the part `block` of its state is taken as unknown by the size of the
        residual. A sample that corrects in two steps names the second one by `part`: it has its
        own run of rejections and is not counted as another sample. `again` tells the model of a
        measurement that is not linear once more, where the filter is then.
        """
        residual, H = model
        record = self.records[name]
        health = self.health(name, part, gate)
        whitened = self.filter.innovate(residual, H, covariance)
        values = whitened.tolist()
        if time < self.settled_at:
            weight = health.unsettled(values)
        else:
            weight = health.judge(time, values)
            if name in SATELLITES and health.noise > MISBELIEVED * self._believed.get(name, 1.0):
                self._believed[name] = health.noise
                self.filter.forget_calibration()
            if weight > 0.0 and name in SATELLITES and not part:
                square = sum([value * value for value in values]) / len(values)
                self.imu_noise.innovation(name, square)
        if weight == 0.0 and self._gives_in(record, health, part, time):
            if block == POSITION and part != HEIGHT and self._stands_alone(record, time):
                self.note(record, time, whitened, False, part)
                self.restart(time, 'place and velocity contradict it')
                return False
            self.widen(time, residual, H, block)
            if part == HEIGHT:
                self._doubt_climb(float(residual[0]))
            health.believe()
            weight = 1.0
        if weight > 0.0:
            noise = covariance if weight == 1.0 else covariance / weight
            estimated = WITH_ALL if name in SATELLITES else WITH_WHEELS
            biases = self.filter.x[10:16].copy()
            done = self._correct(model, noise, estimated, again)
            if done.nis > len(residual) * usual_square(gate, len(residual)):
                health.surprises += 1
                self.filter.doubt_biases(biases, health.surprises)
            else:
                health.surprises = 0
            weight = weight if done.accepted else 0.0
        self.note(record, time, whitened, weight > 0.0, part)
        if len(self._surrenders) >= SURRENDERS:
            self.restart(time, 'its corrections do not hold')
        return weight > 0.0

    def _correct(
        self,
        model: Model,
        noise: Array,
        estimated: int,
        again: Callable[[], Model] | None,
    ) -> Update:
        """One update; of a measurement that is not linear and comes far from where it is expected
        in small ones with the same sum, each with the model of where the one before has led.

        A velocity in body axes behind an outage, heading unknown by half a radian: one step along
        the tangent leaves most of the residual, and a covariance that knows nothing of it.
        """
        state, (residual, H) = self.filter, model
        variances = np.diagonal(noise)
        if again is None or not (residual**2 > FAR**2 * variances).any():
            return state.correct(residual, H, noise, math.inf, estimated)
        whitened = state.innovate(residual, H, noise)
        spread = np.einsum('ij,jk,ik->i', H, state.P, H) / variances
        # Shares 1, 2, 4 ... of the information: the first is as large as what is known already,
        # and each halves what is left.
        count = min(max(math.ceil(math.log2(1.0 + float(spread.max()))), 1), MOST_STEPS)
        accepted = True
        for k in range(count):
            residual, H = again()
            share = 2.0**k / (2.0**count - 1.0)
            accepted &= state.correct(residual, H, noise / share, math.inf, estimated).accepted
        # What is left lies on an arc: off its tangent by half the square of the angle.
        up = state.R[2]
        sagitta = 0.5 * float(up @ state.P[ROTATION, ROTATION] @ up) * state.velocity
        state.P[VELOCITY, VELOCITY] += np.outer(sagitta, sagitta)
        return Update(accepted, float(whitened @ whitened), whitened)

    def _gives_in(
        self, record: SensorRecord, health: SensorHealth, part: str, time: float
    ) -> bool:
        """Whether the filter, not the sensor, must be wrong."""
        run = record.rejections_in_a_row.get(part, 0)
        return self.gives_in_to_all(record, [health], run, time, part)

    def gives_in_to_all(
        self,
        record: SensorRecord,
        healths: Sequence[SensorHealth],
        run: int,
        time: float,
        part: str = '',
    ) -> bool:
        """Whether the filter must be wrong where all these parts of a sensor disagree with it."""
        if run < self.options.recover_after:
            return False
        active = [
            one.name
            for other in self._velocity_records
            if other is not record and other.active_at(time)
            for one in other.healths.values()
        ]
        right = self._witnesses.right_after_all
        if not all(right(health.name, time, active) for health in healths):
            return False
        # Wheels or velocities that agree with the filter carry the position on: it has time to
        # see whether a shift of the fixes is a reflection that passes.
        carried = record.name in POSITIONS and any(
            other.name not in POSITIONS
            and other.active_at(time)
            and (part != HEIGHT or self._tells_climb(other.name))
            for other in self._velocity_records
        )
        since = max(health.aside_since for health in healths)
        return not carried or time - since >= PATIENCE_WHEN_CARRIED

    def _stands_alone(self, record: SensorRecord, time: float) -> bool:
        """Whether all others that are heard contradict the estimate, too: then velocity and
        attitude are as wrong as the place.
        """
        told = [
            one.contradicts(time, ALONE, other.timeout)
            for other in self._velocity_records
            if other is not record
            for one in other.healths.values()
        ]
        return True in told and False not in told

    def _tells_climb(self, name: str) -> bool:
        """Whether a sensor of velocities, with the road under the wheels, tells how it climbs."""
        o = self.options
        if 'z' in o.nonholonomic.axes:
            return True
        if name == 'gnss_velocity':
            return o.gnss_velocity.use_vertical
        axes = {'odometry': o.odometry.axes, 'speed': o.speed.axes}
        return 'z' in axes.get(name, '')

    def _doubt_climb(self, residual: float) -> None:
        """A height that went away unseen: the climb is unknown by as much, and the bias of the
        accelerometer that led to it as at the start.
        """
        P = self.filter.P
        P[CLIMB, CLIMB] += (residual / PATIENCE) ** 2
        P[LIFT_BIAS, LIFT_BIAS] += self._expected[LIFT_BIAS - GYRO_BIAS.start] ** 2

    def widen(self, time: float, residual: Array, H: Array, block: slice) -> None:
        """Take a part of the state as unknown by the size of a residual."""
        own = H[:, block]
        self.filter.P[block, block] += float(residual @ residual) * (own.T @ own)
        self.recoveries += 1
        if block == POSITION:
            return  # a place that shifts says nothing against the attitude
        self._surrenders = [t for t in self._surrenders if time - t < SURRENDER_SPAN]
        self._surrenders.append(time)

    def note(
        self, record: SensorRecord, time: float, whitened: Array, used: bool, part: str = ''
    ) -> None:
        """Count a sample that was offered to the filter."""
        if math.isfinite(float(whitened[0])):
            record.innovations.add(whitened)
        if used:
            record.rejections_in_a_row[part] = 0
            record.last_used = time
            record.used += int(not part)
        else:
            record.rejections_in_a_row[part] = record.rejections_in_a_row.get(part, 0) + 1
            record.rejected += int(not part)
            if part:
                record.reasons[f'{part} gated'] = record.reasons.get(f'{part} gated', 0) + 1
