"""The errorEKF of a car: it finds place and heading, and its parameters go to the model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.held_arrays import HeldArrays
from veh_identification.observation import (
    ErrorEKF,
    ErrorEKFSettings,
    Innovation,
    Measurement,
    Sensor,
)
from veh_identification.observation.channels import Channel
from veh_identification.observation.error_ekf import QUIET, Snapshot
from veh_identification.observation.protocols import Brief, Innovations, briefly
from veh_identification.observation.sequential import LATER, NEVER, NOW
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.model.chassis_frame import E3Z
from veh_identification.systems.vehicle.observer.at_once import (
    CORRECTED,
    FAILED,
    NOT_MADE,
    TO_JUDGE,
    SensorTable,
    held_step,
    predict_errors,
    step_at_once,
    use_and_correct,
)
from veh_identification.systems.vehicle.observer.bearings import (
    ALIGN_SPEED,
    Bearings,
    find,
    turn_wanted,
)
from veh_identification.systems.vehicle.observer.belief import Belief, exchanged, told_alone
from veh_identification.systems.vehicle.observer.observed import YAW, ObservedVehicle
from veh_identification.systems.vehicle.observer.pseudo_sensors import RAKE
from veh_identification.systems.vehicle.observer.ride import (
    MOVING,
    Ride,
    heave_density,
    plane_density,
)
from veh_identification.systems.vehicle.observer.sensor_models import Stated
from veh_identification.systems.vehicle.observer.tied_wheels import PERIOD, SILENT, tie_wheels
from veh_identification.systems.vehicle.observer.timekeeping import Timekeeper
from veh_identification.systems.vehicle.observer.untold import SATELLITES, Untold
from veh_identification.types import Array, BoolArray, IntArray

BEYOND, SURE = 1.5, 4.0  # deviations, stated and estimated, that make a parameter conspicuous
AXLES = (('wheel_fl', 'wheel_fr'), ('wheel_rl', 'wheel_rr'))
SLIPPING = 5.0  # deviations of both wheels of an axle, to the same side
SLIP_LASTS = 0.09  # and so long: jitter, and bumps of a real road for 0.07 s, move both wheels [s]
HEIGHT = 2  # among the coordinates
TILTS = 4  # where the errors of the two tilts begin
UNKNOWN_YAW = 0.5  # beyond this deviation a linear filter cannot find the heading [rad]
UNKNOWN_PLACE = 100.0  # beyond this deviation the first fix sets the place [m]
JUMP = 10.0  # of the acceleration of a car whose tyres grip again [m/s^2]
FAST = 5.0  # above this speed estimated side forces last [m/s]
WRONG_HEADING = 0.5  # between course and heading, beyond any sideslip [rad]
UNIFORM_YAW = np.pi / np.sqrt(3.0)  # deviation of a heading of which nothing is known [rad]
ALONE = 1.0  # so long all sensors of place and speed may contradict the estimate [s]
HEARD = 1.0  # a sensor that has been silent for so long neither supports nor contradicts it [s]
UPRIGHT = 0.5  # cosine of a tilt of the body against the road at which no car goes on
RAKED, LEAKS = 'road.rake', ('gyroscope.leak_x', 'gyroscope.leak_y')
TURN = 'accelerometer.turn'
TWISTED = 5.0  # deviations of a careful mounting that surely are none
TILTED = 2.0  # deviations of rake and mounting together, beyond which the mounting is unknown
LOOK = 1.0  # how often it is looked whether a sensor is askew or late [s]


class VehicleErrorEKF(ErrorEKF):
    """`ErrorEKF` over an `ObservedVehicle`.

    A heading that is not known at all is left alone until satellites see the car move, and is
    then set at once; a place that is not known is set by the first fix.

    `leak` [1/s] lets estimated side forces and yaw moments of a slow car fade. Tyres hold a slow
    car within milliseconds, which the integrator (54) does not know: it would take their answer
    to any correction for a missing force, cancel it, and the car would slide away.

    `felt`: where accelerations are felt, see `swing`. `askew`, `turned`: how far the inertial
    unit may be mounted otherwise than described, tilted and about its vertical axis. `fixes`: how
    late they may be.
    """

    essential = frozenset({'gyroscope', 'accelerometer', 'gps'})

    def __init__(
        self,
        model: ObservedVehicle,
        sensors: Sequence[Sensor],
        settings: ErrorEKFSettings,
        antenna: Sequence[float] = (0.0, 0.0, 0.0),
        time: float = 0.0,
        leak: float = 0.0,
        stated: Mapping[str, Stated] | None = None,
        ride: Ride | None = None,
        felt: Sequence[float] | None = None,
        askew: Belief | None = None,
        turned: Belief | None = None,
        fixes: Belief | None = None,
    ) -> None:
        super().__init__(model, sensors, settings, time)
        self._ride = ride if 'accelerometer' in self.sensors else None
        self._learners = np.flatnonzero(self._stack.groups[:, 3] != NEVER)
        self._moving = True
        self._described = self._acceleration.copy()
        deviation = np.asarray(settings.acceleration_deviation, dtype=float)
        self._unknown_force = np.full(model.size, deviation) ** 2  # of an acceleration, at first
        self._stated = stated or {}
        self.observed, self.vehicle = model, model.vehicle
        self.antenna = np.asarray(antenna, dtype=float)
        self._leak = leak if self.orders == 3 else 0.0
        self._arm, self._turning = np.asarray(felt or (0.0, 0.0, 0.0), dtype=float), np.zeros(3)
        self._swings = model.carried and felt is not None and 'accelerometer' in self.sensors
        names = self.parameter_names
        self._radii = [
            (i, names.index(f'wheel_{c}.radius'))
            for i, c in enumerate(CORNERS)
            if f'wheel_{c}.radius' in names
        ]
        self._table = SensorTable(self.channels, model.columns)
        self._fixed: tuple[Any, ...] | None = None
        self._held: tuple[Array, float, HeldArrays] | None = None
        self._yaw_variance = float(self.P[YAW, YAW])
        self._rear_slip: Any = self.sensors.get('rear_slip')  # the thesis has none
        self._timekeeper, self._looked = Timekeeper(self, fixes), -math.inf
        # the thesis has neither
        counted = not self._radii and self._rear_slip is not None
        self._counting = counted and any(name[:6] == 'wheel_' for name in self.sensors)
        self._began = self._tied = self.time
        self._untold = Untold(self, self._radii)
        self._askew, self._turned = askew, turned
        self._tilted = 0.0  # of the inertial unit against the car, once that is beyond belief
        self._twisted = False  # whether it surely is turned about its vertical axis
        self._slipping: dict[tuple[str, str], tuple[float, float]] = {}  # to which side, since
        self.contradicted = 0  # times that the course was another than the heading given
        self.bearings = Bearings(
            float(self.P[0, 0]) < UNKNOWN_PLACE**2, self._yaw_variance < UNKNOWN_YAW**2
        )

    @property
    def lost(self) -> bool:
        """Whether the heading was known and has become uncertain beyond `UNKNOWN_YAW`."""
        return self.bearings.aligned and float(self.P[YAW, YAW]) > UNKNOWN_YAW**2

    @property
    def swing(self) -> float:
        """Variance [m^2] of the place along east and north that an unknown heading leaves.

        Fixes tell where the antenna is; base_link may be on any side of it, which no error state
        knows while the heading is left alone.
        """
        if self.bearings.aligned:
            return 0.0
        arm = float(self.antenna[:2] @ self.antenna[:2])
        return arm * (1.0 - math.exp(-0.5 * self._yaw_variance))

    def place_by_fix(self, deviation: float) -> None:
        """Say that the place is that of a fix, and errs with it.

        By its delay, the place of the antenna, the heading and the slow error of the receiver.
        Taken for a place of its own it would tell that all of those are small.
        """
        if not (self.bearings.placed and self.bearings.aligned):
            return
        channel = self.channels['gps']
        self.observed.prepare(2)
        channel.sensor.linearise(self.observed, channel.mine(self.parameters), channel.reading)
        H, P = self._stack.H[channel.rows][:2], self.P
        P[:2], P[:, :2] = 0.0, 0.0
        P[0, 0] = P[1, 1] = UNKNOWN_PLACE**2
        gain = np.linalg.solve(H @ P @ H.T + deviation**2 * np.eye(2), H @ P).T
        P -= gain @ (H @ P)
        P[:] = 0.5 * (P + P.T)

    def findings(self, since: float = -math.inf) -> list[Finding]:
        """`ErrorEKF.findings`, and what is not known of place and heading."""
        found = super().findings(since)
        if self.contradicted:
            text = 'the course over ground contradicted the heading: it was found anew'
            found.append(Finding('warn', 'heading_contradicted', text, 'observer.initial_yaw'))
        found += self._calibration()
        found += self._untold.findings()
        if self._tilted:
            text = (
                f'the inertial unit is tilted along the car by {abs(self._tilted):.3f} rad '
                'against it, more than its load explains: how it is mounted is estimated, '
                'and roll and pitch are known less well'
            )
            found.append(Finding('warn', 'imu_turned', text, 'sensors.imu.rpy', size=self._tilted))
        if self._twisted:
            turn = self.parameter(TURN)
            text = (
                f'the inertial unit is turned about its vertical axis by {turn:.3f} rad '
                'against the car: how it is mounted is estimated'
            )
            found.append(Finding('warn', 'imu_turned', text, 'sensors.imu.rpy', size=turn))
        if not self.bearings.placed:
            text = 'the place is not known before the first fix'
            found.append(Finding('warn', 'place_unknown', text))
        if not self.bearings.aligned:
            text = 'the heading is not known: it is found when the car moves'
            found.append(Finding('warn', 'heading_unknown', text, 'observer.initial_yaw'))
        elif self.bearings.found is not None:
            text = f'from {self.bearings.found:.2f} s on the heading is known'
            found.append(Finding('note', 'heading_found', text, 'observer.initial_yaw'))
        return found

    def _calibration(self) -> list[Finding]:
        """Parameters that are surely further off than the description allows for."""
        first, found = self.orders * self.model.size, []
        for k, name in enumerate(self.parameter_names):
            said = self._stated.get(name)
            if said is None:
                continue
            value = float(self.parameters[k])
            deviation = float(np.sqrt(max(self.P[first + k, first + k], 0.0)))
            off = abs(value - said.value) > max(BEYOND * said.deviation, SURE * deviation)
            if off or name in self._timekeeper.surely_late:
                text = (
                    f'{name} is {value:.3g} +- {deviation:.1g} {said.unit}, further from '
                    f'{said.value:.3g} than {said.where} allows for: it is estimated'
                )
                where = said.where
                found.append(Finding('warn', 'calibration_off', text, where, size=value))
        return found if (late := self._timekeeper.finding()) is None else [*found, late]

    def predict(self, dt: float, inputs: Any = None) -> None:
        """`ErrorEKF.predict`; side forces of a slow car fade."""
        observed, n = self.observed, self.model.size
        observed.predict(dt, inputs)
        F, W = self.transition(dt)
        banded = self._bands(F)
        assert banded is not None
        model, view = self.vehicle.model, observed.seen(2)
        predict_errors(
            banded,
            W,
            self.P,
            self._spare,
            self._process.kept(dt),
            self._process.initial,
            self.parameters,
            observed.turned,
            (self._leak * dt, FAST),
            observed.carried,
            self.vehicle.ground,
            model.q,
            model.qd,
            model.qdd,
            model.force_error,
            (TILTS, 2 * n),
            self._arm,
            self._turns(),
            dt,
            view.values,
            view.derivatives,
        )
        self.time += dt

    def _turns(self) -> Array:
        """What `swing` takes."""
        if self._swings:
            self._turning[:] = self._acceleration[YAW : YAW + 3]
        return self._turning

    def step(
        self, dt: float, inputs: Any, measurements: Iterable[Measurement]
    ) -> Sequence[Innovation]:
        """`ErrorEKF.step` in one compiled call where nothing is unusual."""
        self._tie_now_and_then()
        self._untold.look()
        bearings, listed = self.bearings, list(measurements)
        if not (
            bearings.confirmed and bearings.placed and bearings.aligned and self.adaptive is None
        ):
            return super().step(dt, inputs, listed)
        pairs = self._once_each(listed)
        if pairs is None or inputs is None:
            return super().step(dt, inputs, listed)
        torques, pressure, *rack = inputs
        # as `Vehicle.apply`: a pressure that is no number brakes nothing
        self._table.given[:] = (*torques, max(0.0, pressure), *rack)
        told, now = self._fill(pairs), self.time + dt
        if self._swings:
            self._turns()
        self._untold.keep(self._moving)
        done = step_at_once(self._held_step(dt), len(pairs), now)
        if done == NOT_MADE:
            return super().step(dt, inputs, listed)
        self.time = now
        self.observed.stepped(dt)
        results = self._conclude(done, pairs, told)
        self._untold.put_back()
        self._push()
        self._look_whether_it_stands()
        self._look_now_and_then()
        return results

    def _tie_now_and_then(self) -> None:
        """Wheels whose angles are counted tell the speed where satellites are silent."""
        if not self._counting or self.time - self._tied < PERIOD:
            return
        self._tied = self.time
        told = (self.channels[name].counts.last_used for name in SATELLITES)
        if self.bearings.aligned and self.time - max(self._began, *told) > SILENT:
            tie_wheels(self.P, self.vehicle)

    def doubt(self, parameters: Iterable[int]) -> None:
        """`ErrorEKF.doubt`, which is not undone."""
        super().doubt(parameters)
        self._untold.doubted()

    def _once_each(
        self, measurements: list[Measurement]
    ) -> list[tuple[Channel, Measurement]] | None:
        """With their sensors; None: one speaks twice, is unknown or is read by itself."""
        channels, by_itself = self._channels, self._table.by_itself
        pairs, seen = [], set()
        for measurement in measurements:
            channel = channels.get(measurement[0])
            if channel is None or by_itself[channel.number]:
                return None
            if measurement[2].size != channel.size:
                return None
            seen.add(channel.number)
            pairs.append((channel, measurement))
        return pairs if len(seen) == len(pairs) else None

    def _fill(self, pairs: list[tuple[Channel, Measurement]]) -> list[tuple[str, float, slice]]:
        """Put messages where `use_and_correct` finds them; returns what `Innovations` are told."""
        table, stack = self._table, self._stack
        measured, by_itself, count = stack.measured, table.by_itself, len(pairs)
        numbers, times, told = [], [], []
        for channel, message in pairs:
            name, time, value, variance = message
            number, rows = channel.number, channel.rows
            if channel.receive is not None:
                value, variance = channel.receive(value, variance)
            measured[rows] = value
            if variance is not None:
                (stack.variance if by_itself[number] else table.stated)[rows] = variance
            numbers.append(number)
            times.append(time)
            told.append((name, time, rows))
        table.numbers[:count], table.times[:count] = numbers, times
        return told

    def _use_and_correct(self, pairs: list[tuple[Channel, Measurement]]) -> Sequence[Innovation]:
        """`ErrorEKF._use_and_correct` in one compiled call."""
        observed, now = self.observed, self.time
        observed.prepare(2)
        for channel, message in pairs:
            if self._table.by_itself[channel.number]:
                if channel.aged is not None:
                    channel.aged(now - message.time)
                channel.sensor.linearise(observed, channel.mine(self.parameters), channel.reading)
        told = self._fill(pairs)
        return self._conclude(use_and_correct(len(pairs), now, *self._arguments()), pairs, told)

    def _conclude(
        self,
        done: int,
        pairs: list[tuple[Channel, Measurement]],
        told: list[tuple[str, float, slice]],
    ) -> Sequence[Innovation]:
        """What came of an update, and what the kernel left to do."""
        table, stack, count = self._table, self._stack, len(pairs)
        results = Innovations(
            told, table.outcome[:count].copy(), stack.innovation.copy(), stack.total.copy()
        )
        if self._ride is not None:
            self._look_at_ride(told)
        if self._radii:
            found = results.briefly()
            self._look_at_wheels(found)
            self._look_at_force(found)
        if done == TO_JUDGE:
            for (channel, message), (_, degrees, _, quiet) in zip(
                pairs, table.outcome[:count].tolist(), strict=True
            ):
                if degrees and not quiet and channel.trust is not None:
                    self._judge(channel, message.time, int(degrees))
            self._correct_if_any(results)
        elif done == FAILED:
            self.failed_corrections += 1
        elif done == CORRECTED:
            self.observed.corrected()
        return results

    def _arguments(self) -> tuple[Any, ...]:
        """What `use_and_correct` takes: arrays that stay the same ones."""
        if self._fixed is None:
            table, stack, view = self._table, self._stack, self.observed.seen(2)
            self._fixed = (
                table.numbers,
                table.times,
                table.kind,
                table.integers,
                table.reals,
                table.own,
                table.common,
                table.judged,
                table.stated,
                view.values,
                view.derivatives,
                self.parameters,
                self._process.bounds,
                self.P,
                self._x,
                stack.H,
                stack.predicted,
                stack.measured,
                stack.variance,
                stack.available,
                stack.groups,
                stack.scatter,
                self._gates,
                stack.noise,
                stack.innovation,
                stack.total,
                stack.whitened,
                stack.judged,
                stack.hot,
                self._medians,
                QUIET,
                stack.tally,
                table.outcome,
                self._spare,
                *self.observed.correction,
            )
        return self._fixed

    def _held_step(self, dt: float) -> IntArray:
        """What `step_at_once` takes, made anew where the transition is another one."""
        held, plant = self._held, self._plant
        if held is None or plant is None or held[0] is not plant[1] or held[1] != dt:
            F, W = self.transition(dt)
            banded = self._bands(F)
            assert banded is not None
            rack, moving, solver = self.vehicle.at_once(dt)
            others = (
                dt,
                self._table.given,
                rack,
                solver,
                banded,
                W,
                self._process.kept(dt),
                self._process.initial,
                (self._leak * dt, FAST),
                (TILTS, 2 * self.model.size),
                self._arm,
                self._turning,
            )
            self._held = held = F, dt, held_step(moving, self._arguments(), others)
        return held[2].table

    def _push(self) -> None:
        """Hand the estimated parameters to the model."""
        for corner, index in self._radii:
            self.vehicle.set_rolling_radius(corner, float(self.parameters[index]))

    def update(
        self, measurements: Iterable[Measurement], dt: float | None = None
    ) -> Sequence[Innovation]:
        """`ErrorEKF.update`; place and heading are found first when they are not known."""
        bearings = self.bearings
        self._untold.keep(self._moving)
        if not bearings.confirmed:
            measurements = list(measurements)
            self._confirm(measurements)
        if bearings.placed and bearings.aligned:
            results = super().update(measurements, dt)
        else:
            listed = list(measurements)
            for measurement in listed:
                find(self, measurement)
            if not bearings.aligned:
                # nothing may correct the heading bit by bit, nor be explained by it
                listed = self._without(listed, 'gps_velocity')
                self.forget(YAW, 0.0)
            if not bearings.placed:
                listed = self._without(listed, 'gps')
            results = super().update(listed, dt)
            if not bearings.aligned:
                self.forget(YAW, self._yaw_variance)
        self._untold.put_back()
        self._push()
        self._look_whether_it_stands()
        return results

    def _use(self, pairs: list[tuple[Channel, Measurement]]) -> list[Innovation]:
        """`ErrorEKF._use`, and a look at the wheels."""
        results = super()._use(pairs)
        if self._ride is not None:
            self._look_at_ride([(c.sensor.name, m.time, c.rows) for c, m in pairs])
        if self._radii:  # not for counted angles: what a slip adds to them stays
            found = briefly(results)
            self._look_at_wheels(found)
            self._look_at_force(found)
        return results

    def _look_at_ride(self, told: list[tuple[str, float, slice]]) -> None:
        """Learn how the road shakes the car from the last innovation of the accelerometer."""
        ride = self._ride
        assert ride is not None
        for name, time, rows in told:
            if name == 'accelerometer':
                q, qd = self.vehicle.model.q, self.vehicle.model.qd
                moving = bool(abs(q[3] * qd[0] + q[4] * qd[1]) >= MOVING)
                if moving != self._moving:
                    self._let_learn(moving)
                if not moving:
                    return
                if ride.learn(time, float(self._stack.innovation[rows.stop - 1])):
                    self._expect_ride()

    def _let_learn(self, moving: bool) -> None:
        """Sensors of a car that stands show less noise than those of one that moves.

        Nor is what was learnt on the move used then: a wheel that stands before the estimate of
        the speed has come to rest would look like one that is stuck.
        """
        self._moving = moving
        self._stack.groups[self._learners, 3] = NOW if moving else LATER

    def _expect_ride(self) -> None:
        """Plant noise as the ride was learnt to be."""
        ride = self._ride
        assert ride is not None
        self._plant = None
        self._acceleration[: HEIGHT + 1] = self._described[: HEIGHT + 1]
        if not ride.learnt:
            return
        self._acceleration[HEIGHT] = heave_density(ride.shake)
        if self._radii:
            self._acceleration[:HEIGHT] = plane_density(ride.shake)

    def retune(self, settings: ErrorEKFSettings) -> None:
        """`ErrorEKF.retune`; what was learnt of the road stays.

        A force that stood for an input is none any more when the input is known again.
        """
        before = self._force
        super().retune(settings)
        deviation = np.asarray(settings.acceleration_deviation, dtype=float)
        self._unknown_force = np.full(self.model.size, deviation) ** 2
        self._forget_forces(self._force < before)
        self._described = self._acceleration.copy()
        if self._ride is not None:
            self._expect_ride()

    def _forget_forces(self, which: BoolArray) -> None:
        """Find the forces on these of the coordinates anew.

        None is found where none is looked for: wheels whose torque is known would keep one that
        brakes them while another pushes the car, for good and ever more surely.
        """
        observed, n = np.flatnonzero(which), self.model.size
        if self.orders < 3 or not observed.size:
            return
        self.observed.forget_forces(observed)
        for i in observed.tolist():
            state = 2 * n + i
            known = float(self.P[state, state]) if self._force[i] > 0.0 else 0.0
            self.forget(state, max(float(self._unknown_force[i]), known))

    def _look_now_and_then(self) -> None:
        """What lasts is looked at once a second."""
        if self.time - self._looked >= LOOK:
            self._looked = self.time
            self._look_at_mounting()
            self._look_at_turn()
            self._timekeeper.look()

    def _look_whether_it_stands(self) -> None:
        """A model that has turned over is no car that drives, whatever sensors make of it."""
        if not self.vehicle.model.q[E3Z] >= UPRIGHT:
            raise EstimationError('the car of the model has turned over')

    def put(self, errors: Array) -> None:
        """Correct the whole state by errors."""
        self._x[:] = errors
        self._correct()

    def _look_at_mounting(self) -> None:
        """An inertial unit that is tilted against the road further than load and care allow for.

        Nothing tells how the body stands on the road from how the unit is mounted on the body:
        the sum of both is seen. A large one is the mounting, of which nothing is known then.
        """
        names, first, askew = self.parameter_names, self.orders * self.model.size, self._askew
        if askew is None or self._tilted or not all(name in names for name in (RAKED, *LEAKS)):
            return
        places = np.array([names.index(name) for name in (RAKED, LEAKS[0])])
        tilt = float(self.parameters[places].sum())
        deviation = math.sqrt(
            max(float(self.P[np.ix_(first + places, first + places)].sum()), 0.0)
        )
        if abs(tilt) < max(TILTED * math.hypot(RAKE, askew.usual), SURE * deviation):
            return
        self._tilted = tilt
        for name in LEAKS:
            place = names.index(name)
            errors = exchanged(self.P, first + place, float(self.parameters[place]), askew)
            if errors is not None:
                self.put(errors)

    def _look_at_turn(self) -> None:
        """An inertial unit that is surely turned about its vertical axis."""
        names, belief = self.parameter_names, self._turned
        if belief is None or self._twisted or TURN not in names:
            return
        place = names.index(TURN)
        state, value = self.orders * self.model.size + place, float(self.parameters[place])
        told = told_alone(value, float(self.P[state, state]), belief.usual)
        if abs(told.value) < max(TWISTED * belief.usual, SURE * told.deviation):
            return
        errors = exchanged(self.P, state, value, belief)
        if errors is not None:
            self._twisted = True
            self.put(errors)

    def _look_at_force(self, results: Sequence[Brief]) -> None:
        """Tyres that grip again let the force on the car jump, faster than any driver does.

        While both wheels of an axle are set aside, an accelerometer that is not believed makes the
        acceleration unknown: its next sample tells it. Else the speed went on with the old one.
        """
        if self.orders < 3 or all(one.accepted for one in results):
            return
        if any(one.sensor == 'accelerometer' and not one.accepted for one in results):
            aside = [
                all(
                    (trust := self._channels[name].trust) is not None and trust.health.aside
                    for name in axle
                    if name in self._channels
                )
                for axle in AXLES
            ]
            if any(aside):
                for axis in (0, 1):
                    self.forget(2 * self.model.size + axis, JUMP**2)

    def _look_at_wheels(self, results: Sequence[Brief]) -> None:
        """Wheels of an axle that slip together are set aside at once."""
        wheels = {one.sensor: one for one in results if one.sensor[:6] == 'wheel_'}
        if len(wheels) > 1:
            for axle in AXLES:
                if axle[0] in wheels and axle[1] in wheels:
                    self._look_at_axle(axle, wheels[axle[0]], wheels[axle[1]])
            rear = [self._channels[name].trust for name in AXLES[1]]
            sliding = all(one is not None and one.health.aside for one in rear)
            if self._rear_slip is not None and sliding != self._rear_slip.sliding:
                self._rear_slip.sliding = sliding
                self._table.fill(self._channels['rear_slip'])

    def _look_at_axle(self, axle: tuple[str, str], left: Brief, right: Brief) -> None:
        """Wheel against IMU: two wheels that leave the motion of the car the same way slip.

        One after the other they would be doubted for some tenths of a second, in which they pull
        the estimate, their radii and their slips along.
        """
        first = left.value / math.sqrt(left.variance)
        second = right.value / math.sqrt(right.variance)
        if not (min(abs(first), abs(second)) > SLIPPING and first * second > 0.0):
            self._slipping.pop(axle, None)
            return
        side, since = self._slipping.get(axle, (0.0, left.time))
        if side * first <= 0.0:
            since = left.time
        self._slipping[axle] = first, since
        speed = self._channels['gps_velocity'].trust
        if left.time - since < SLIP_LASTS or (speed is not None and speed.health.aside):
            return
        for name in axle:
            channel = self.channels[name]
            trust = self._look_up(channel)
            if trust is not None and not trust.health.aside:
                text = 'both wheels of its axle turn otherwise than the car moves'
                trust.set_aside(self.time, text)
                channel.counts.set_aside = trust.health.quarantines
                self._write_down(channel)

    def _without(self, measurements: list[Measurement], name: str) -> list[Measurement]:
        """Measurements of other sensors; those of this one are counted as not usable now."""
        kept = [m for m in measurements if m.sensor != name]
        self.counts[name].unavailable += len(measurements) - len(kept)
        return kept

    def _give_in(self, channel: Channel) -> bool:
        """Give in to satellites when they are right: place, speed and heading are found anew.

        Where position and velocity both contradict the estimate for long, it is the estimate that
        is wrong (whether the two agree with each other is not looked at). Where the velocity
        agrees with the estimate only the place was lost. A velocity that contradicts it alone,
        while the positions agree, is wrong itself.
        """
        name, channels = channel.sensor.name, self.channels
        if name not in ('gps', 'gps_velocity'):
            return super()._give_in(channel)
        fix, speed = channels['gps'].trust, channels['gps_velocity'].trust
        assert fix is not None and speed is not None
        if not fix.health.aside:
            return False
        if not speed.health.aside:
            self.bearings.placed = False
            return True
        self._give_up()
        return True

    def _judge(self, channel: Channel, time: float, degrees: int) -> None:
        """`ErrorEKF._judge`; an estimate that everyone contradicts is wrong itself."""
        super()._judge(channel, time, degrees)
        if channel.sensor.name == 'gps_velocity' and self._stands_alone(time):
            channel.counts.believed += 1
            self._give_up()
        elif self._supported_by_none(channel, time):
            raise EstimationError('every sensor that is heard contradicts it')

    def _supported_by_none(self, channel: Channel, time: float) -> bool:
        """Whether all sensors that are heard have been set aside for a while, this one among them.

        A car without satellites would go on alone for good, wherever that led.
        """
        if channel.trust is None or not time - channel.trust.health.aside_since >= ALONE:
            return False
        trusts = [trust for one in self._channels.values() if (trust := self._look_up(one))]
        votes = [trust.health.contradicts(time, ALONE, HEARD) for trust in trusts]
        return votes.count(True) > 1 and False not in votes

    def _stands_alone(self, time: float) -> bool:
        """Whether fixes and velocities, and with them all wheels or the gyroscope, have been set
        aside for a while.

        Then it does not matter whether they stay at the same distance: of an estimate that is off
        in speed the fixes go away more and more. Wheels may agree with a car that turns wrongly.
        """

        def aside(names: Iterable[str]) -> bool:
            trusts = [self._channels[name].trust for name in names if name in self._channels]
            return bool(trusts) and all(
                one is not None and time - one.health.aside_since >= ALONE for one in trusts
            )

        if not aside(('gps', 'gps_velocity')):
            return False
        wheels = [name for axle in AXLES for name in axle if name in self._channels]
        return (len(wheels) == 4 and aside(wheels)) or aside(('gyroscope',))

    def _give_up(self) -> None:
        """The estimate is wrong. A car that rolls is found anew; springs and tyres of one that is
        driven by its torques are where a wrong motion has led them: it is put down anew.
        """
        if not self._radii and not self.observed.carried:
            raise EstimationError('satellites and other sensors contradict it')
        self._lose_bearings()

    def _lose_bearings(self) -> None:
        """Place, speed and heading are wrong, and so is what the other sensors were judged by."""
        self._yaw_variance = UNIFORM_YAW**2
        self.bearings.placed = self.bearings.aligned = self.bearings.confirmed = False
        self.bearings.anchor, self.bearings.away, self.bearings.speeds = None, None, 0
        self._forget_forces(np.ones(self.model.size, dtype=bool))
        self._forget_biases()
        for channel in self.channels.values():
            trust = self._look_up(channel)
            if trust is not None:
                trust.believe(self.time)
                self._write_down(channel)

    def _forget_biases(self) -> None:
        """A motion that was wrong was explained by biases, too: they may be what they were."""
        self.doubt(k for k, name in enumerate(self.parameter_names) if '.bias_' in name)

    def _confirm(self, measurements: list[Measurement]) -> None:
        """Compare a heading that was given with the first course over ground."""
        for value in (m.value for m in measurements if m.sensor == 'gps_velocity'):
            speed = float(np.hypot(value[0], value[1]))
            if not (self.bearings.aligned and speed > ALIGN_SPEED):
                continue
            turn = turn_wanted(self, value, speed)
            if abs(turn) > WRONG_HEADING and abs(abs(turn) - np.pi) > WRONG_HEADING:
                self.contradicted += 1
                self._lose_bearings()
            else:
                self.bearings.confirmed = True

    def snapshot(self) -> Snapshot:
        """Copy of the whole observer state."""
        ride = None if self._ride is None else self._ride.state()
        clock = self._timekeeper.state(), self._looked
        held = self._untold.state()
        found = self._tilted, self._twisted, self._moving, self._yaw_variance, self._tied, held
        more = replace(self.bearings), ride, clock, found, self._force.copy()
        return replace(super().snapshot(), more=more)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot."""
        super().restore(snapshot)
        if snapshot.more is not None:
            bearings, ride, clock, found, force = snapshot.more
            self._tilted, self._twisted, moving, self._yaw_variance, self._tied, held = found
            self._untold.restore(held)
            self._let_learn(moving)
            self.bearings, self._looked = replace(bearings), clock[1]
            self._timekeeper.restore(clock[0])
            if self._ride is not None:
                self._ride.restore(ride)
                self._expect_ride()
            # an input may have come back since
            self._forget_forces(self._force < force)
        self._push()
