"""What the driver does: steering, speed and braking over time, and the driveline's shaking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.errors import UsageError
from veh_identification.simulation.car.integrate import (
    BRAKE,
    COMMANDS,
    RACK_SHAKE,
    SPEED,
    STEERING,
    TORQUE_SHAKE,
)
from veh_identification.types import Array

KMH = 1.0 / 3.6
#: Modes of the driveline on the paper's car (section VI.B) [Hz].
DRIVELINE = (3.9, 4.3, 5.5)


@dataclass(frozen=True)
class Manoeuvre:
    """One way of driving; times count from the start of the recording."""

    kind: str  # sine, ramp or brake
    speed: float = 90.0 * KMH  # m/s
    frequency: float = 0.45  # of the sine [Hz]
    lateral: float = 4.0  # peak lateral acceleration that is aimed at [m/s^2], > 0 to the left
    deceleration: float = 6.0  # of the braking [m/s^2]
    heading_gain: float = 0.05
    from_rest: bool = False  # start standing instead of at speed

    def __post_init__(self) -> None:
        if self.kind not in ('sine', 'ramp', 'brake'):
            raise UsageError(f'there is no manoeuvre {self.kind!r}; there are: sine, ramp, brake')
        if not self.speed > 0.0:
            raise UsageError(f'a manoeuvre needs a positive speed, got {self.speed:g} m/s')

    def steering(self, t: Array, end: float, wheelbase: float) -> Array:
        """Steering angle over time from the aimed lateral acceleration."""
        if self.kind == 'brake':
            return np.zeros_like(t)
        # Steady cornering: kinematic angle plus what an understeering car asks for.
        amplitude = self.lateral * (wheelbase / self.speed**2 + UNDERSTEER)
        if self.kind == 'sine':
            return amplitude * fade(t, 0.5, 2.5) * np.sin(2.0 * np.pi * self.frequency * t)
        top = 2.0 + 0.5 * (end - 2.0)
        rise = np.clip((t - 2.0) / max(top - 2.0, 1e-6), 0.0, 1.0)
        return amplitude * rise * (1.0 - fade(t, end - 0.3 * (end - top), end - 1.0))

    def speed_and_brake(self, t: Array, end: float) -> tuple[Array, Array]:
        """Speed that the driver wants and the deceleration asked of the brakes."""
        speed, brake = np.full_like(t, self.speed), np.zeros_like(t)
        if self.kind != 'brake':
            return speed, brake
        brake_at = self.brake_time(end)
        if self.from_rest:
            speed = np.clip(START_ACCELERATION * (t - STANDING), 0.0, self.speed)
            brake = np.where(t < STANDING, 1.0, 0.0)
        braking = fade(t, brake_at, brake_at + 0.4)
        return np.where(t < brake_at, speed, 0.0), brake + self.deceleration * braking

    def brake_time(self, end: float) -> float:
        """Start of braking: so that the car stands still for some seconds at the end."""
        return max(end - self.speed / self.deceleration - STANDING - 1.0, 0.2 * end)


#: Steering per lateral acceleration that a front-heavy car needs beside the kinematic angle.
UNDERSTEER = 0.00125
#: Seconds that a braking run stands still at its start and end.
STANDING = 3.0
START_ACCELERATION = 2.5


def fade(t: Array, start: float, end: float) -> Array:
    """From 0 at `start` to 1 at `end` with two continuous derivatives."""
    u = np.clip((t - start) / max(end - start, 1e-9), 0.0, 1.0)
    return u**3 * (10.0 - 15.0 * u + 6.0 * u * u)


def driveline(t: Array, generator: np.random.Generator) -> Array:
    """Three narrow-band signals (N, 3) of unit standard deviation at the driveline's modes."""
    signals = np.zeros((len(t), len(DRIVELINE)))
    lines = 6
    for mode, frequency in enumerate(DRIVELINE):
        for _ in range(lines):
            detuned = frequency + 0.07 * generator.standard_normal()
            phase = generator.uniform(0.0, 2.0 * np.pi)
            signals[:, mode] += np.sin(2.0 * np.pi * detuned * t + phase)
    return signals * np.sqrt(2.0 / lines)


@dataclass(frozen=True)
class Shaking:
    """Standard deviations of what the driveline does to the car, each mode."""

    torque: float = 25.0  # at the driven wheels together [N m]
    rack: float = 0.15e-3  # steering angle [rad]

    def scaled(self, factor: float) -> Shaking:
        """Everything multiplied by `factor`."""
        return Shaking(self.torque * factor, self.rack * factor)


def commands(
    manoeuvre: Manoeuvre,
    t: Array,
    end: float,
    wheelbase: float,
    modes: Array,
    shaking: Shaking,
    rack_frequency: float,
) -> Array:
    """Command rows at the times `t` of a run that lasts until `end`.

    `modes` are the driveline's signals at `t`.
    """
    rows = np.zeros((len(t), COMMANDS))
    rows[:, STEERING] = manoeuvre.steering(t, end, wheelbase)
    rows[:, SPEED], rows[:, BRAKE] = manoeuvre.speed_and_brake(t, end)
    # A standing or braking car has its clutch open.
    together = modes.sum(axis=1) * np.clip(rows[:, SPEED] / 10.0, 0.0, 1.0)
    rows[:, TORQUE_SHAKE] = shaking.torque * together
    rows[:, RACK_SHAKE] = shaking.rack * rack_frequency**2 * together
    return rows
