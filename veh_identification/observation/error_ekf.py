"""The errorEKF (chapter 3 and section 4.5) and its force-estimating form errorEKF-FE."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.fusion.health import HealthOptions
from veh_identification.held_arrays import HeldArrays
from veh_identification.observation.adaptive import AdaptiveNoise
from veh_identification.observation.channels import (
    Channel,
    connect,
    refusal,
    tell_counts,
    trusting,
)
from veh_identification.observation.noise import integrator_noise
from veh_identification.observation.parameters import ParameterProcess
from veh_identification.observation.protocols import (
    Counts,
    Innovation,
    Measurement,
    Model,
    Sensor,
    parameters_of,
)
from veh_identification.observation.round import Round
from veh_identification.observation.sequential import (
    BandedTransition,
    banded_transition,
    predict_covariance,
    predict_held,
)
from veh_identification.observation.settings import ErrorEKFSettings
from veh_identification.observation.trust import (
    Trust,
    gates,
    medians,
    trust_findings,
)
from veh_identification.types import Array

#: Of `HealthOptions`, what a measurement must keep to that gives no cause for doubt.
QUIET = (HealthOptions.tolerated, HealthOptions.longest_step, HealthOptions.largest_scatter)
#: Deviations by which what a sensor has learnt of itself may be off what it usually is.
IMPLAUSIBLE = 3.0


@dataclass(frozen=True)
class Snapshot:
    """Everything the observer must remember to go back in time."""

    model: Any
    P: Array
    parameters: Array
    time: float
    density: tuple[Array, ...] | None
    factors: dict[str, Array]
    counts: dict[str, tuple[Counts, float | None, Trust | None]]
    failed_corrections: int
    noise: Array
    hot: Array
    more: Any = None  # of a filter that adds to this one


class ErrorEKF:
    """Error-state observer over a swappable model and sensors; the error is zero between steps.

    One step: the model runs (`predict`), every measurement is compared with the model's virtual
    sensor in sequential scalar updates, and the estimated errors go into the model (`update`).
    """

    def __init__(
        self,
        model: Model,
        sensors: Sequence[Sensor],
        settings: ErrorEKFSettings,
        time: float = 0.0,
    ) -> None:
        self.model, self.settings, self.time = model, settings, time
        self.orders = 3 if settings.force_estimation else 2
        n = model.size
        deviations = [
            settings.position_deviation,
            settings.velocity_deviation,
            settings.acceleration_deviation,
        ][: self.orders]
        variances = [np.full(n, np.asarray(d, dtype=float)) ** 2 for d in deviations]
        named = parameters_of(sensors)
        parameters, self.parameter_names = list(named.values()), list(named)
        self._parameters = np.array([p.initial for p in parameters], dtype=float)
        self._process = ParameterProcess(parameters)
        self._P = np.diag(
            np.concatenate([*variances, np.array([p.deviation**2 for p in parameters])])
        )
        self.size = self.P.shape[0]
        self._x = np.zeros(self.size)
        self._acceleration = np.full(n, np.asarray(settings.acceleration_noise, dtype=float))
        self._force = np.full(n, np.asarray(settings.force_noise, dtype=float))
        driven = self._force if self.orders == 3 else self._acceleration
        self.adaptive = (
            None if settings.adaptive is None else AdaptiveNoise(settings.adaptive, driven)
        )
        self._gates, self._medians = gates(settings.gate_probability), medians()
        self._plant: tuple[float, Array, Array] | None = None
        self._banded: tuple[Array, BandedTransition | None] = (np.zeros(0), None)
        self._spare = np.empty_like(self.P)
        self._predicting: tuple[Array, HeldArrays | None] | None = None  # of a plant noise
        self.failed_corrections = 0
        self._stack, self._channels = connect(sensors, n, self.orders, self.size)
        if settings.gate_probability is not None:
            for name, channel in self._channels.items():
                if not channel.pseudo:
                    absolute = bool(getattr(channel.sensor, 'absolute', False))
                    patience = getattr(channel.sensor, 'patience', settings.patience)
                    trusting(self._stack, channel, Trust.of(name, absolute, patience))
        self._round = Round(self.P, self._x, self._stack, self._gates, self._medians, QUIET)

    # compiled steps hold these arrays themselves: another one in their place would not be seen

    @property
    def P(self) -> Array:
        """Covariance of the errors; what is assigned is copied into it."""
        return self._P

    @P.setter
    def P(self, covariance: Array) -> None:
        self._P[:] = covariance

    @property
    def parameters(self) -> Array:
        """Of the sensors, as estimated; what is assigned is copied into them."""
        return self._parameters

    @parameters.setter
    def parameters(self, values: Array) -> None:
        self._parameters[:] = values

    @property
    def counts(self) -> dict[str, Counts]:
        """Counters of every sensor."""
        tell_counts(self._stack, self._channels.values())
        return {name: channel.counts for name, channel in self._channels.items()}

    @property
    def sensors(self) -> dict[str, Sensor]:
        """Sensors by name."""
        return {name: channel.sensor for name, channel in self._channels.items()}

    @property
    def channels(self) -> dict[str, Channel]:
        """Sensors with their counters and their judgement."""
        tell_counts(self._stack, self._channels.values())
        return self._channels

    #: Sensors whose loss makes the estimate doubtful.
    essential: frozenset[str] = frozenset()

    def findings(self, since: float = -math.inf) -> list[Finding]:
        """What there is to say about the sensors from a time of the filter on."""
        for channel in self.channels.values():
            self._look_up(channel)
        return trust_findings(self._channels, self.failed_corrections, self.essential, since)

    @property
    def _any_aside(self) -> bool:
        return math.inf in self._stack.scatter.tolist()

    @property
    def alone_since(self) -> float:
        """Since when two or more sensors, and all that are there, contradict the model; else NaN.

        One that is stuck says nothing about the model.
        """
        if not self._any_aside:  # it is asked at every step
            return math.nan
        judged = self._judged()
        if len(judged) < 2 or not all(trust.contradicts for trust in judged):
            return math.nan
        return max(trust.health.aside_since for trust in judged)

    @property
    def contradicted_by_most(self) -> bool:
        """Whether two or more sensors, and more than half of them, contradict the model."""
        if not self._any_aside:
            return False
        judged = self._judged()
        return sum(trust.contradicts for trust in judged) > max(1, len(judged) // 2)

    @property
    def lost(self) -> bool:
        """Whether the model has gone on alone for so long that corrections cannot mend it."""
        return False

    def _judged(self) -> list[Trust]:
        return [one.trust for one in self._channels.values() if one.trust is not None]

    def output(self) -> tuple[Array, Array, list[Sensor]]:
        """Output matrix H (rows, states) of all sensors that can speak now.

        With it the variances of the rows, and the sensors that they belong to.
        """
        channels, stack = list(self._channels.values()), self._stack
        self.model.prepare(max((channel.order for channel in channels), default=0))
        for channel in channels:
            channel.sensor.linearise(self.model, channel.mine(self.parameters), channel.reading)
        owners = [channel.sensor for channel in channels for _ in range(channel.size)]
        rows = np.flatnonzero(stack.available)
        return stack.H[rows], stack.variance[rows], [owners[row] for row in rows]

    def parameter(self, name: str) -> float:
        """Present value of a sensor parameter (`sensor.parameter`)."""
        return float(self.parameters[self.parameter_names.index(name)])

    def set_parameter(self, name: str, value: float, deviation: float) -> None:
        """Say what is known of a sensor parameter before the first update."""
        index = self.parameter_names.index(name)
        state = self.orders * self.model.size + index
        self.parameters[index] = value
        self.P[state, :] = self.P[:, state] = 0.0
        self.P[state, state] = deviation**2

    def retune(self, settings: ErrorEKFSettings) -> None:
        """Other noise densities for a running filter; the rest of its settings stays."""
        n = self.model.size
        self._acceleration = np.full(n, np.asarray(settings.acceleration_noise, dtype=float))
        self._force = np.full(n, np.asarray(settings.force_noise, dtype=float))
        self._plant = None
        if self.adaptive is not None:
            self.adaptive.retune(self._force if self.orders == 3 else self._acceleration)

    # -- prediction -----------------------------------------------------------------------------

    def transition(self, dt: float) -> tuple[Array, Array]:
        """Transition F of the error state and plant noise W for a step of dt."""
        dt = round(float(dt), 9)  # stamps make the same step differ in its last bits
        if self._plant is not None and self._plant[0] == dt and self.adaptive is None:
            return self._plant[1], self._plant[2]
        own = self.orders * self.model.size
        F, W = np.eye(self.size), np.zeros((self.size, self.size))
        F[:own, :own] = self.model.transition(dt, self.orders)
        acceleration, force = self._acceleration, self._force
        if self.adaptive is not None:
            acceleration, force = (
                (acceleration, self.adaptive.density)
                if self.orders == 3
                else (self.adaptive.density, force)
            )
        W[:own, :own] = integrator_noise(dt, acceleration, force if self.orders == 3 else None)
        self._process.fill(dt, F[own:, own:], W[own:, own:])
        self._plant = (dt, F, W)
        return F, W

    def predict(self, dt: float, inputs: Any = None) -> None:
        """Run the model and the covariance (57); the predicted error is zero."""
        self.model.predict(dt, inputs)
        F, W = self.transition(dt)
        if self._predicting is None or self._predicting[0] is not W:
            banded = self._bands(F)
            held = None if banded is None else HeldArrays((*banded, self.P, W, self._spare))
            self._predicting = W, held
        if self._predicting[1] is None:
            self.P[:] = predict_covariance(F, self.P, W)
        else:
            predict_held(self._predicting[1].table)
        self._process.decay(dt, self.parameters)
        self.time += dt

    def _bands(self, F: Array) -> BandedTransition | None:
        """The transition by its bands, if it has few."""
        if self._banded[0] is not F:
            self._banded = F, banded_transition(F)
        return self._banded[1]

    # -- update ---------------------------------------------------------------------------------

    def update(
        self, measurements: Iterable[Measurement], dt: float | None = None
    ) -> Sequence[Innovation]:
        """Use measurements that belong to the present time and correct the model."""
        self._x[:] = 0.0
        rounds, order = self._rounds(measurements)
        if rounds:
            self.model.prepare(order)
        if len(rounds) == 1 and self.adaptive is None:
            return self._use_and_correct(rounds[0])
        highest = slice((self.orders - 1) * self.model.size, self.orders * self.model.size)
        before = np.diag(self.P)[highest].copy() if self.adaptive is not None else None
        results = [one for pairs in rounds for one in self._use(pairs)]
        self._correct_if_any(results)
        if self.adaptive is not None and before is not None and dt is not None:
            self.adaptive.corrected(self._x[highest], before - np.diag(self.P)[highest], dt)
        return results

    def _use_and_correct(self, pairs: list[tuple[Channel, Measurement]]) -> Sequence[Innovation]:
        """All of an update in which no sensor speaks twice."""
        results = self._use(pairs)
        self._correct_if_any(results)
        return results

    def _correct_if_any(self, results: Sequence[Innovation]) -> None:
        """Put the errors into the model if any measurement was used."""
        for result in results:
            if result.accepted:
                self._correct()
                break

    def _rounds(
        self, measurements: Iterable[Measurement]
    ) -> tuple[list[list[tuple[Channel, Measurement]]], int]:
        """Messages in rounds with at most one of each sensor, and the derivatives they need."""
        rounds: list[list[tuple[Channel, Measurement]]] = []
        taken: dict[str, int] = {}
        order = 0
        for measurement in measurements:
            name = measurement.sensor
            channel = self._channels.get(name)
            if channel is None or measurement.value.size != channel.size:
                raise refusal(measurement, self._channels)
            number = taken.get(name, 0)
            taken[name] = number + 1
            if number == len(rounds):
                rounds.append([])
            rounds[number].append((channel, measurement))
            if channel.order > order:
                order = channel.order
        return rounds, order

    def _use(self, pairs: list[tuple[Channel, Measurement]]) -> list[Innovation]:
        """Gate and sequential scalar updates of one message of each of some sensors."""
        stack, count = self._stack, len(pairs)
        round_ = self._round
        for k, (channel, measurement) in enumerate(pairs):
            sensor, rows = channel.sensor, channel.rows
            if channel.aged is not None:
                channel.aged(self.time - measurement.time)
            sensor.linearise(self.model, channel.mine(self.parameters), channel.reading)
            value, variance = measurement.value, measurement.variance
            if channel.receive is not None:
                value, variance = channel.receive(value, variance)
            stack.measured[rows] = value
            if variance is not None:
                stack.variance[rows] = variance
            if self.adaptive is not None and self.adaptive.settings.measurement:
                stack.variance[rows] *= self.adaptive.factor(sensor.name, sensor.size)
            round_.numbers[k], round_.times[k] = channel.number, measurement.time
        round_.run(count)
        return self._take_stock(pairs, round_.outcome[:count])

    def _take_stock(
        self, pairs: list[tuple[Channel, Measurement]], outcome: Array
    ) -> list[Innovation]:
        """Count what the kernels did, and judge the sensors that gave cause for doubt."""
        stack, results = self._stack, []
        innovation, total = stack.innovation.copy(), stack.total.copy()
        for (channel, message), (nis, degrees, weight, quiet) in zip(
            pairs, outcome.tolist(), strict=True
        ):
            self._count(channel, message, degrees, weight)
            if degrees and not quiet and channel.trust is not None:
                self._judge(channel, message.time, int(degrees))
            if degrees:
                results.append(
                    Innovation(
                        channel.sensor.name,
                        message.time,
                        innovation[channel.rows],
                        total[channel.rows],
                        nis,
                        int(degrees),
                        weight > 0.0,
                    )
                )
        return results

    def _count(
        self, channel: Channel, message: Measurement, degrees: float, weight: float
    ) -> None:
        counts = channel.counts
        if not degrees:
            if np.isfinite(message.value).any():
                counts.unavailable += 1
            else:
                counts.invalid += 1
            return
        if weight == 0.0:
            counts.rejected += 1
            return
        counts.used += 1
        counts.weighted += weight < 1.0
        if message.time > counts.last_used:
            counts.last_used = message.time
        # constraints of the model have no noise that their innovations could tell
        if self.adaptive is not None and channel.last_time is not None and not channel.pseudo:
            rows, stack = channel.rows, self._stack
            self.adaptive.measured(
                channel.sensor.name,
                stack.innovation[rows],
                stack.total[rows],
                stack.variance[rows],
                max(0.0, message.time - channel.last_time),
            )
        channel.last_time = message.time

    def _look_up(self, channel: Channel) -> Trust | None:
        """Judgement of a sensor as the kernel left it; whoever changes it calls `_write_down`."""
        if channel.trust is not None and self._stack.judged[channel.number]:
            channel.trust.read(self._stack.hot[channel.number])
        return channel.trust

    def _write_down(self, channel: Channel) -> None:
        """Let the kernel go on from the judgement of a sensor."""
        trust, stack = channel.trust, self._stack
        assert trust is not None
        trust.write(stack.hot[channel.number])
        stack.scatter[channel.number] = trust.scatter

    def _judge(self, channel: Channel, time: float, degrees: int) -> None:
        """Judge a sensor by its last innovation, and the estimate by a sensor that stays away."""
        trust, counts, stack = self._look_up(channel), channel.counts, self._stack
        assert trust is not None
        row, before = channel.rows.start, trust.health.quarantines
        trust.judge(
            time,
            float(stack.measured[row]),
            float(stack.innovation[row]),
            stack.whitened[row : row + degrees].tolist(),
        )
        self._write_down(channel)
        if trust.health.quarantines > before:
            # It may have said wrong things for a while before, which its parameters took up:
            # nothing else would correct them while it is not used, and with them it would never
            # agree again. What is plausible was learnt in better times, and is kept.
            self.doubt(self._implausible(range(channel.own.start, channel.own.stop)))
        if trust.health.aside:
            counts.set_aside = trust.health.quarantines
            if trust.right_after_all and self._give_in(channel):
                counts.believed += 1
                trust.believe(time)
        counts.taken_back = trust.health.recoveries
        self._write_down(channel)

    def _give_in(self, channel: Channel) -> bool:
        """Make the coordinates that a sensor measures unknown; False: the estimate stands."""
        reading, rows = channel.reading, channel.rows
        gap = float(np.nanmax(np.abs(self._stack.innovation[rows])))
        for state in np.flatnonzero(np.any(reading.z != 0.0, axis=0)):
            self.forget(int(state), max(float(self.P[state, state]), gap * gap))
        return True

    def _implausible(self, parameters: Iterable[int]) -> list[int]:
        """Those of parameters that are far from what they usually are."""
        process = self._process
        return [
            k
            for k in parameters
            if (self.parameters[k] - process.initial[k]) ** 2
            > IMPLAUSIBLE**2 * process.variance[k]
        ]

    def doubt(self, parameters: Iterable[int]) -> None:
        """Have parameters be unknown: what they were at first, or what was learnt."""
        first, process = self.orders * self.model.size, self._process
        for k in parameters:
            learnt, usual = (self.parameters[k] - process.initial[k]) ** 2, process.variance[k]
            if usual > 0.0:
                state = first + k
                self.forget(state, float(max(usual, learnt, self.P[state, state])))

    def forget(self, state: int, variance: float) -> None:
        """Give a state another variance and no correlation."""
        self.P[state, :] = self.P[:, state] = 0.0
        self.P[state, state] = variance

    def _correct(self) -> None:
        """Put the errors into the model; it is left as predicted when it cannot follow."""
        n = self.model.size
        try:
            self.model.correct(
                self._x[:n],
                self._x[n : 2 * n],
                self._x[2 * n : 3 * n] if self.orders == 3 else None,
            )
        except EstimationError:
            self.failed_corrections += 1
            return
        self.parameters += self._x[self.orders * n :]
        self._process.confine(self.parameters)

    def step(
        self, dt: float, inputs: Any, measurements: Iterable[Measurement]
    ) -> Sequence[Innovation]:
        """Predict, then update."""
        self.predict(dt, inputs)
        return self.update(measurements, dt)

    # -- history --------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Copy of the whole observer state, counters included."""
        adaptive = self.adaptive
        return Snapshot(
            self.model.snapshot(),
            self.P.copy(),
            self.parameters.copy(),
            self.time,
            None if adaptive is None else adaptive.state(),
            {} if adaptive is None else {k: v.copy() for k, v in adaptive.factors.items()},
            {
                name: (
                    channel.counts.copied(),
                    channel.last_time,
                    None if channel.trust is None else channel.trust.copied(),
                )
                for name, channel in self.channels.items()
            },
            self.failed_corrections,
            self._stack.noise.copy(),
            self._stack.hot.copy(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot; only the counters of late messages keep counting."""
        self.model.restore(snapshot.model)
        self.P[:], self.parameters[:] = snapshot.P, snapshot.parameters
        self.time = snapshot.time
        self.failed_corrections = snapshot.failed_corrections
        self._stack.noise[:], self._stack.hot[:] = snapshot.noise, snapshot.hot
        self._stack.tally[:] = 0.0
        for name, (counts, last_time, trust) in snapshot.counts.items():
            channel = self._channels[name]
            channel.counts = replace(counts, late=channel.counts.late)
            channel.last_time = last_time
            if trust is not None:
                channel.trust = trust.copied()
                self._look_up(channel)
                self._stack.scatter[channel.number] = channel.trust.scatter
        if self.adaptive is not None and snapshot.density is not None:
            self.adaptive.restore(snapshot.density)
            self.adaptive.factors = {k: v.copy() for k, v in snapshot.factors.items()}
