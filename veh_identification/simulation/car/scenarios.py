"""Scenarios of the car for `veh-id simulate`: sine steering, ramp steering, braking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from veh_identification.errors import UsageError
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.signals import TimeSeries
from veh_identification.simulation.car.manoeuvres import KMH, Manoeuvre
from veh_identification.simulation.car.messages import readings, static_transforms, truth_streams
from veh_identification.simulation.car.run import (
    CarRecord,
    Surroundings,
    simulate_car,
)
from veh_identification.simulation.car.satellites import fix, satellite_streams, velocity
from veh_identification.simulation.car.sensors import CarSensors, Stream, sensor_streams
from veh_identification.simulation.car.truth import truth_of
from veh_identification.simulation.car.vehicle import Stiction, Vehicle
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.car.configuration import CarDescription, load_configuration
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Progress

#: Speeds of the sine steering, by the seed [km/h].
SINE_SPEEDS = (90.0, 110.0, 130.0, 160.0)
SINE_FREQUENCIES = (0.45, 0.55, 0.40, 0.50)
#: Friction of suspensions that stick [N]: that of the example car is too small to matter.
STICKING_FRICTION = (32.0, 48.0, 25.0, 38.0)


def sine_steer(seed: int) -> Manoeuvre:
    """Sine steering; the seed chooses the speed (90, 110, 130, 160 km/h in turn)."""
    place = seed % len(SINE_SPEEDS)
    return Manoeuvre(
        'sine',
        SINE_SPEEDS[place] * KMH,
        frequency=SINE_FREQUENCIES[place],
        lateral=4.0 if place < 3 else 3.5,
    )


def ramp_steer(seed: int) -> Manoeuvre:
    """A ramp to the left at 90 km/h (even seeds) or to the right at 110 km/h (Venture 2002)."""
    if seed % 2 == 0:
        return Manoeuvre('ramp', 90.0 * KMH, lateral=5.0, heading_gain=0.0)
    return Manoeuvre('ramp', 110.0 * KMH, lateral=-5.0, heading_gain=0.0)


def braking(seed: int) -> Manoeuvre:
    """From standstill to 110 km/h (90 for odd seeds), straight braking, standstill again."""
    speed = 110.0 if seed % 2 == 0 else 90.0
    return Manoeuvre('brake', speed * KMH, deceleration=6.0, heading_gain=0.4, from_rest=True)


def write_sine_steer(
    writer: BagWriter,
    duration: float,
    seed: int,
    noise: float,
    progress: Progress,
    faults: Sequence[str] = (),
) -> dict[str, Any]:
    """`car-sine-steer`."""
    car = faulty_vehicle(faults)
    return write_run(writer, sine_steer(seed), duration, seed, noise, progress, vehicle=car)


def write_ramp_steer(
    writer: BagWriter,
    duration: float,
    seed: int,
    noise: float,
    progress: Progress,
    faults: Sequence[str] = (),
) -> dict[str, Any]:
    """`car-ramp-steer`."""
    car = faulty_vehicle(faults)
    return write_run(writer, ramp_steer(seed), duration, seed, noise, progress, vehicle=car)


def write_braking(
    writer: BagWriter,
    duration: float,
    seed: int,
    noise: float,
    progress: Progress,
    faults: Sequence[str] = (),
) -> dict[str, Any]:
    """`car-braking`."""
    car = faulty_vehicle(faults)
    return write_run(writer, braking(seed), duration, seed, noise, progress, vehicle=car)


#: What `--fault NAME` changes in the car.
FAULTS: dict[str, dict[str, Any]] = {
    'stiction': {'stiction': Stiction()},
    'breakaway': {'stiction': Stiction(breakaway=1.3)},
    'creep': {'stiction': Stiction(gradual=True)},
    'dampers': {},
}
#: Dampers whose valves open early, more so in compression.
EARLY_VALVES = {
    'knee_bump': 0.08,
    'knee_rebound': 0.12,
    'open_bump': 0.45,
    'open_rebound': 0.70,
}


def faulty_vehicle(faults: Sequence[str]) -> Vehicle:
    """The example car with what is named: suspensions that stick, dampers that bend."""
    vehicle = Vehicle()
    for name in faults:
        if name not in FAULTS:
            raise UsageError(
                f'the car has no fault {name!r}; there are: {", ".join(sorted(FAULTS))}'
            )
        bent = name == 'dampers'
        fl, fr, rl, rr = (
            replace(one, **EARLY_VALVES) if bent else replace(one, friction=friction)
            for one, friction in zip(vehicle.corners, STICKING_FRICTION, strict=True)
        )
        vehicle = replace(vehicle, corners=(fl, fr, rl, rr), **FAULTS[name])
    return vehicle


def default_configuration() -> CarDescription:
    """The shipped example car."""
    return load_configuration(share_directory() / 'config' / 'car_peugeot_406.yaml')


def write_run(
    writer: BagWriter,
    manoeuvre: Manoeuvre,
    duration: float,
    seed: int,
    noise: float,
    progress: Progress,
    configuration: CarDescription | None = None,
    vehicle: Vehicle | None = None,
) -> dict[str, Any]:
    """Simulate a manoeuvre with all sensors into a bag; returns the truth."""
    car = configuration or default_configuration()
    record, streams, sensors = run_sensors(car, manoeuvre, duration, seed, noise, vehicle)
    truth, makers = truth_streams(record, duration)
    writer.write_message('/tf_static', static_transforms(car), EPOCH_NS)
    spoken = -1
    receiver = satellite_streams(record, duration, seed, noise)
    count = len(truth) + len(streams)
    makers |= {count: fix, count + 1: velocity}
    for reading in readings([*truth, *streams, *receiver], makers):
        writer.write_message(reading.topic, reading.message, reading.log_ns)
        second = (reading.log_ns - EPOCH_NS) // 1_000_000_000
        if second > spoken:
            spoken = second
            progress(min(second, round(duration)), round(duration))
    return truth_of(record, car, manoeuvre, streams, sensors)


def run_sensors(
    configuration: CarDescription,
    manoeuvre: Manoeuvre,
    duration: float,
    seed: int,
    noise: float = 1.0,
    vehicle: Vehicle | None = None,
    surroundings: Surroundings | None = None,
) -> tuple[CarRecord, list[Stream], CarSensors]:
    """Exact motion and what the sensors show of it; `noise` scales noise and disturbances."""
    around = surroundings or Surroundings()
    around = replace(around, shaking=around.shaking.scaled(noise))
    sensors = CarSensors().scaled(noise)
    record = simulate_car(
        configuration, manoeuvre, duration, seed, vehicle=vehicle, surroundings=around
    )
    return record, sensor_streams(record, configuration, duration, seed, sensors), sensors


def car_recording(
    configuration: CarDescription,
    manoeuvre: Manoeuvre,
    duration: float,
    seed: int,
    noise: float = 1.0,
    vehicle: Vehicle | None = None,
    surroundings: Surroundings | None = None,
) -> tuple[CarRecording, dict[str, float]]:
    """A simulated run as the identification reads it, without a bag, and the 33 true values."""
    record, streams, _ = run_sensors(
        configuration, manoeuvre, duration, seed, noise, vehicle, surroundings
    )
    series: dict[str, TimeSeries] = {}
    joints: dict[str, TimeSeries] = {}
    for one in streams:
        if one.topic == 'joint_states':
            for k, name in enumerate(one.names):
                joints[name] = _series(one, [k], (name,), f'/joint_states {name}')
        else:
            series[one.topic] = _series(
                one, list(range(len(one.names))), one.names, f'/{one.topic}'
            )
    recording = CarRecording(
        f'simulated {manoeuvre.kind}, seed {seed}',
        series['imu/data'],
        series['correvit/velocity'],
        joints,
        {corner: series[f'wheel_{corner}/wrench'] for corner in CORNERS},
        {corner: series[f'ride_height_{corner}'] for corner in CORNERS},
    )
    return recording, record.vehicle.parameters()


def _series(stream: Stream, columns: list[int], names: tuple[str, ...], label: str) -> TimeSeries:
    return TimeSeries(
        stream.stamps, stream.values[:, columns], names, ('',) * len(names), EPOCH_NS, label
    )
