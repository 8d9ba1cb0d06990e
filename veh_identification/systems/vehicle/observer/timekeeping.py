"""Who is late, looked at once a second: the filter's state follows whoever is on time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.vehicle.observer.belief import Belief, Told, exchanged
from veh_identification.systems.vehicle.observer.car_filter import CarFilter
from veh_identification.systems.vehicle.observer.clock import (
    NOT_ON_TIME,
    ON_TIME,
    SATELLITES,
    SURE,
    UNKNOWN_DELAY,
    WHEELS,
    Clock,
    Late,
    count_from,
    first_satellite,
    fixes_late,
    is_late,
    not_before,
    told_again,
    told_of_unit,
    who_is_late,
    without,
)
from veh_identification.systems.vehicle.observer.observed import YAW
from veh_identification.systems.vehicle.observer.rolling_wheel import LATE
from veh_identification.types import Array

EARLIEST = 0.01  # satellites that are early by more surely are not [s]


class Timekeeper:
    """Applies `clock` to a filter; `fixes`: how late they may be, None: as their sensor says."""

    def __init__(self, filter_: CarFilter, fixes: Belief | None = None) -> None:
        self._filter, self._fixes, self._clock = filter_, fixes, Clock()
        names = filter_.parameter_names
        self._wheels = names.index(WHEELS) if WHEELS in names else -1
        #: Places of the delays of fixes, velocities and wheels; None: not all are estimated.
        self._places: Any = None
        if all(name in names for name in (*SATELLITES, WHEELS)):
            self._places = np.array([names.index(name) for name in (*SATELLITES, WHEELS)])
            if fixes is not None:  # without the others nothing would tell that they are late
                filter_.set_parameter(SATELLITES[0], 0.0, fixes.usual)

    def state(self) -> Clock:
        """What a snapshot keeps."""
        return replace(self._clock)

    def restore(self, clock: Clock) -> None:
        """Go back to a snapshot."""
        self._clock = replace(clock)

    @property
    def surely_late(self) -> frozenset[str]:
        """Delays that are no longer believed to be about zero."""
        return frozenset(SATELLITES[:1] if self._clock.fixes_late else ())

    def look(self) -> None:
        """Wheels or an inertial unit that are late: from then on the satellites are the clock."""
        clock, filter_ = self._clock, self._filter
        if self._places is not None:
            found = Late.NOBODY
            if clock.late is Late.NOBODY:
                self._look_at_fixes()
                values, covariance = self._measured()
                found = who_is_late(values, covariance, self._believed())
            if found is Late.NOBODY:
                self._let_none_be_early()
                return
            clock.told = self._told_of_unit() if found is Late.UNIT else Told()
            clock.late = found
            self._count_from(first_satellite(values, covariance))
        elif (
            self._wheels >= 0
            and clock.late is Late.NOBODY
            and abs(float(filter_.parameters[self._wheels])) > NOT_ON_TIME * LATE
        ):
            clock.late = Late.WHEELS
            state = self._states(self._wheels)
            filter_.P[state, state] += UNKNOWN_DELAY**2

    def finding(self) -> Finding | None:
        """Fixes and velocities that both seem early are right, and the car's own clock is late."""
        if self._places is None:
            return None
        satellites = self._places[:-1]
        values = self._filter.parameters[satellites]
        variances = np.diag(self._filter.P)[self._states(satellites)]
        deviations = np.sqrt(np.maximum(variances, 0.0))
        told = self._told_of_unit()
        if is_late(told):
            late, who, where = told.value, 'fixes, satellite velocities and wheels all', 'imu/data'
            cause = (
                'the inertial unit is late by about as much (sensors.imu.delay), and the heading '
                'is off in bends'
            )
        elif (values < -np.maximum(EARLIEST, SURE * deviations)).all():
            late = -float(values.mean())
            who, where = 'fixes and satellite velocities both', 'joint_states or imu/data'
            cause = (
                'wheels or inertial unit are late by about as much (sensors.wheels.delay, '
                'sensors.imu.delay), and the state is that of their clock'
            )
        else:
            return None
        text = f'{who} seem to be measured {late:.3f} s after their stamps, which none is: {cause}'
        return Finding('bad', 'late', text, where, size=late)

    def _states(self, places: Any) -> Any:
        """Places of parameters among all states."""
        return self._filter.orders * self._filter.model.size + places

    def _told_of_unit(self) -> Told:
        """See `told_of_unit`."""
        if self._clock.late is not Late.NOBODY:
            return self._clock.told
        return told_of_unit(*self._measured(), self._believed())

    def _measured(self) -> tuple[Array, Array]:
        """Delays (3) and their covariance, without what `not_before` said."""
        states = self._states(self._places)
        covariance = self._filter.P[np.ix_(states, states)]
        return without(self._clock.said, self._filter.parameters[self._places], covariance)

    def _believed(self) -> Array:
        """Deviations of the delays (3) before the first sample."""
        fixes, velocities = (
            one.deviation
            for name in SATELLITES
            for one in self._filter.sensors[name.partition('.')[0]].parameters
            if one.name == 'delay'
        )
        if self._fixes is not None and not self._clock.fixes_late:
            fixes = self._fixes.usual
        return np.array([fixes, velocities, LATE])

    def _look_at_fixes(self) -> None:
        """Fixes count as on time until they surely are not."""
        belief, filter_ = self._fixes, self._filter
        if belief is None or self._clock.fixes_late or not fixes_late(*self._measured(), belief):
            return
        place = int(self._places[0])
        errors = exchanged(
            filter_.P, int(self._states(place)), float(filter_.parameters[place]), belief
        )
        if errors is not None:
            self._clock.fixes_late = True
            filter_.put(errors)

    def _let_none_be_early(self) -> None:
        """Satellites that seem a little early are on time: none measures after its stamp."""
        filter_ = self._filter
        for k, place in enumerate(self._places[:-1].tolist()):
            value, state = float(filter_.parameters[place]), int(self._states(place))
            variance = float(filter_.P[state, state])
            told = not_before(value, variance)
            if told is not None:
                said = self._clock.said.copy()
                said[:, k] += np.array([1.0, told[0]]) / told[1]
                said[:, k] -= np.array([1.0, value]) / variance
                self._clock.said = said
                filter_.put(told_again(filter_.P, state, value, *told))

    def _count_from(self, satellite: int) -> None:
        """A satellite sensor is on time, and the state was late by as much as it seemed early."""
        filter_, places = self._filter, self._places
        n, P, states = filter_.model.size, filter_.P, self._states(places)
        value = float(filter_.parameters[places[satellite]])
        frame, later = filter_.vehicle.frame(), np.zeros(filter_.size)
        later[:2], later[n : n + 2], later[states] = frame[1, :2], frame[2, :2], 1.0
        # how far the heading followed the course or the inertial unit is not known
        P[YAW, YAW] += (value * float(frame[0, 6:9] @ frame[1, 3:6])) ** 2
        deviation = ON_TIME
        if self._clock.late is Late.WHEELS:
            P[states[-1], states[-1]] += UNKNOWN_DELAY**2
            deviation = LATE
        filter_.put(count_from(P, later, int(states[satellite]), value, deviation))
        self._clock.said = np.zeros_like(self._clock.said)  # of delays by another clock
