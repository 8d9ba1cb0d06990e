"""Compiles everything that a run of the observer needs, on a car that stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from veh_identification.observation.streaming import OnlineObserver, OnlineOptions, Session
from veh_identification.observation.streaming.arrivals import NANOSECONDS
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.observer.online import VehicleSession, VehicleSystem

STEPS = 20
NOWHERE = (45.0, 7.0, 0.0)  # a datum as good as any
NAN = float('nan')


def warm_up(car: CarDescription) -> list[tuple[VehicleSession, int]]:
    """Some steps with every sensor, by wheel angles and by wheel speeds.

    Returns the sessions and the stamps of their last steps: whoever publishes can build its
    messages of them once.
    """
    return [_some_steps(car, wheels) for wheels in ('wheel_angle', 'wheel_rate')]


def _some_steps(car: CarDescription, wheels: str) -> tuple[VehicleSession, int]:
    system = VehicleSystem(car, say=lambda finding: None)
    last: list[tuple[VehicleSession, int]] = []

    def keep(session: Session, end_ns: int, found: Sequence[Any]) -> None:
        assert isinstance(session, VehicleSession)
        last[:] = [(session, end_ns)]
        if end_ns > NANOSECONDS + STEPS // 2 * step_ns:
            # steps of a car whose heading is known are compiled as one
            bearings = session.filter.bearings
            bearings.placed = bearings.aligned = bearings.confirmed = True

    step_ns = round(car.observer.step * 1e9)
    observer = OnlineObserver(system, OnlineOptions(lag=0.004, window=0.02, settle=0.01), keep)
    for k in range(STEPS):
        now = NANOSECONDS + k * step_ns
        observer.push('imu', now, (0.0, 0.0, 0.0, 0.0, 0.0, car.gravity))
        # one sample late, so that going back in time is compiled as well
        late = 8 * step_ns if k == 15 else 0
        observer.push('gps', now - late + k, (*(car.datum or NOWHERE), NAN, NAN, NAN))
        observer.push('gps_velocity', now, (0.0, 0.0))
        observer.push(f'{wheels}:15', now, (0.0, 0.0, 0.0, 0.0))
        observer.push('rack', now, (0.0,))
        observer.poll()
    observer.finish()
    last[0][0].vehicle.world_frame()  # what is asked now and then
    return last[0]
