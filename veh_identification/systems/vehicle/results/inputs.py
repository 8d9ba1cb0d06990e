"""Poses, geometry and calibration that went into a run, and where they came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.observer.online import VehicleSession, VehicleSystem
from veh_identification.systems.vehicle.recording.recording import Recording

Input = tuple[str, str, str]  # what, value, where it came from


def _numbers(values: Iterable[float], unit: str) -> str:
    return f'({", ".join(f"{value:.6g}" for value in values)}) {unit}'


def _entry(car: CarDescription, *path: str) -> str:
    """Where an entry of the description stands."""
    if car.document is None:
        return 'made in Python'
    entry = car.document.find(path)
    if entry is None:
        return 'default of the program'
    return f'{entry.file}:{entry.line}' if entry.line else str(entry.file)


def inputs_of(
    recording: Recording, system: VehicleSystem, session: VehicleSession
) -> tuple[Input, ...]:
    """Everything that a reader may want to doubt."""
    return (
        *_geometry(session.car),
        *_mounting(session),
        *_delays(recording, session.car, system),
        *_start(system, session),
        *([('steering', recording.steering, 'joint_states')] if recording.steering else []),
        *((what, 'completed', source) for what, source in (session.car.provenance or {}).items()),
    )


def _geometry(car: CarDescription) -> Iterator[Input]:
    g = car.geometry
    yield 'car', car.name, _entry(car, 'name')
    for what, value, name in (
        ('wheelbase', g.wheelbase, 'wheelbase'),
        ('half track, front', g.half_track_front, 'half_track_front'),
        ('half track, rear', g.half_track_rear, 'half_track_rear'),
        ('wheel radius', g.wheel_radius, 'wheel_radius'),
    ):
        yield what, f'{value:.6g} m', _entry(car, 'geometry', name)


def _mounting(session: VehicleSession) -> Iterator[Input]:
    car, sources = session.car, session.sources
    imu, gps = car.sensors.imu, car.sensors.gps
    for what, values, unit, sensor, name in (
        ('imu: position in base_link', imu.position, 'm', 'imu', 'position'),
        ('imu: roll, pitch, yaw in base_link', imu.rpy, 'rad', 'imu', 'rpy'),
        ('gps: antenna in base_link', gps.position, 'm', 'gps', 'position'),
    ):
        source = sources[sensor]
        if source == 'configuration':
            source = _entry(car, 'sensors', sensor, name)
        yield what, _numbers(values, unit), source


def _delays(recording: Recording, car: CarDescription, system: VehicleSystem) -> Iterator[Input]:
    entries = {
        'imu': ('imu', 'delay'),
        'gps': ('gps', 'delay'),
        'gps_velocity': ('gps', 'velocity_delay'),
        'wheel_angle': ('wheels', 'delay'),
        'wheel_rate': ('wheels', 'delay'),
    }
    for stream in recording.streams:
        if stream.name in entries:
            seconds = system.delays_ns[stream.name] * 1e-9
            source = _entry(car, 'sensors', *entries[stream.name])
            yield f'{stream.name}: delay', f'{seconds:.6g} s', source


def _start(system: VehicleSystem, session: VehicleSession) -> Iterator[Input]:
    car, start, sources = session.car, session.start, session.sources
    datum = system.places.datum
    if datum is not None:
        place = f'{datum.latitude:.8f} deg, {datum.longitude:.8f} deg, {datum.altitude:.3f} m'
        source = 'first valid fix' if system.car.datum is None else _entry(car, 'datum')
        yield 'datum: latitude, longitude, altitude', place, source
    heading = sources['heading']
    if heading == 'configuration':
        heading = _entry(car, 'observer', 'initial_yaw')
    value = f'{start.yaw:.6g} +- {start.yaw_deviation:.2g} rad'
    yield 'heading at the start', value, heading
    value = f'{_numbers(start.position, "m")} +- {start.position_deviation:.2g} m'
    yield 'place at the start', value, sources['place']
    if car.sensors.imu.gyroscope_bias > 0.0:
        bias = _numbers(start.gyro_bias, 'rad/s')
        yield 'gyroscope bias at the start', bias, sources['gyro bias']
