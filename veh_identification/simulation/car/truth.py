"""What truth.json says about a simulated run of the car."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from veh_identification.simulation.car.axle import BETA, QUANTITIES, TERMS, axle_values
from veh_identification.simulation.car.manoeuvres import DRIVELINE, Manoeuvre
from veh_identification.simulation.car.run import CarRecord
from veh_identification.simulation.car.sensors import CarSensors, Stream
from veh_identification.simulation.car.vehicle import Vehicle
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

#: Travels and steering angles of the tables that a test bench would print.
TABLE_TRAVEL = (-0.08, -0.06, -0.04, -0.02, 0.0, 0.02, 0.04, 0.06, 0.08)
TABLE_STEERING = (-0.06, -0.03, 0.0, 0.03, 0.06)


def truth_of(
    record: CarRecord,
    configuration: CarDescription,
    manoeuvre: Manoeuvre,
    streams: list[Stream],
    sensors: CarSensors,
) -> dict[str, Any]:
    """Everything that the sensors do not show, for truth.json."""
    vehicle = record.vehicle
    coefficients = vehicle.axle_array()
    return {
        'car': configuration.name,
        'manoeuvre': asdict(manoeuvre),
        'parameters': vehicle.parameters(),
        'parameters_meaning': 'k, h, fs, off: the linear range of springs and dampers (up to the '
        'stops and knees under suspension); fs sign(qd) is smoothed as '
        'fs tanh(qd / friction_speed); with stiction the surfaces stick up to fs instead',
        'further_aerodynamics': vehicle.further_air(),
        'beyond_linear_range': beyond_linear_range(record),
        'geometry': asdict(vehicle.geometry),
        'suspension': [asdict(corner) for corner in vehicle.corners],
        'friction_speed': vehicle.friction_speed,
        'stiction': None if vehicle.stiction is None else asdict(vehicle.stiction),
        'linkage': vehicle.linkage,
        'axle_kinematics': {
            'terms': list(TERMS),
            'meaning': 'q: travel, s: mean front steering; wheelbase and half_track are x and y '
            'of the wheel centre; the hub is turned by Rz(steering) Rx(camber) '
            'Ry(kingpin)',
            **{
                corner: {name: coefficients[i, k].tolist() for k, name in enumerate(QUANTITIES)}
                for i, corner in enumerate(CORNERS)
            },
        },
        'wheel': {
            'mass': vehicle.wheel_mass,
            'spin_inertia': vehicle.wheel_spin_inertia,
            'turn_inertia': vehicle.wheel_turn_inertia,
            'run_out': vehicle.run_out,
        },
        'tyre': vehicle.tyre._asdict(),
        'driveline_hz': list(DRIVELINE),
        'sensors': {
            **asdict(sensors),
            'low_pass': 'linear phase, its delay taken off the stamps, half the power at cutoff; '
            'a sensor with bandwidth_hz in the configuration: causal Butterworth',
            'drawn_offsets': {
                f'{one.topic} {name}': float(value)
                for one in streams
                for name, value in zip(one.names, one.offset, strict=True)
            },
        },
        'configuration': configuration_of(configuration, vehicle, sensors),
    }


def beyond_linear_range(record: CarRecord) -> dict[str, float]:
    """Share of the recording that a corner spends beyond its stops or damper knees."""
    inside = (record.t >= 0.0) & (record.t <= record.t[-1] + record.t[0])
    shares = {}
    for i, (corner, c) in enumerate(zip(CORNERS, record.vehicle.corners, strict=True)):
        q, qd = record.travel[inside, i], record.travel_rate[inside, i]
        beyond = (q > c.bump) | (q < -c.rebound) | (qd > c.knee_bump) | (qd < -c.knee_rebound)
        shares[corner] = float(np.mean(beyond))
    return shares


def configuration_of(
    configuration: CarDescription, vehicle: Vehicle, sensors: CarSensors
) -> dict[str, Any]:
    """The mapping of a YAML file (`--config`) that describes this car and its sensors."""
    geometry, poses = vehicle.geometry, configuration.sensors
    described: dict[str, Any] = {}
    for name, one in poses.of_identification().items():
        instrument = getattr(sensors, name)
        described[name] = {'noise': list(instrument.noise), 'offset': list(instrument.offset)}
        if one.delay:
            described[name]['delay'] = one.delay
        if one.bandwidth_hz > 0.0:
            described[name].update(bandwidth_hz=one.bandwidth_hz, order=one.order)
        if name in ('imu', 'speed'):
            described[name].update(position=list(one.position), rpy=list(one.rpy))
    return {
        'name': configuration.name,
        'geometry': {
            'wheelbase': geometry.wheelbase,
            'half_track': dict(zip(CORNERS, geometry.half_track, strict=True)),
            'wheel_radius': geometry.wheel_radius,
            'suspension_zero': list(geometry.suspension_zero),
        },
        'sensors': described,
        'axle_kinematics': axle_tables(vehicle),
        'disturbances': [[frequency - 0.3, frequency + 0.3] for frequency in DRIVELINE],
    }


def axle_tables(vehicle: Vehicle) -> dict[str, dict[str, Any]]:
    """Variations of half track, wheelbase, camber and kingpin over travel and steering."""
    coefficients = vehicle.axle_array()
    nominal = {
        'half_track': np.abs(vehicle.geometry.wheel_y),
        'wheelbase': np.array(vehicle.geometry.wheel_x),
        'camber': np.zeros(4),
        'kingpin': np.zeros(4),
    }
    tables: dict[str, dict[str, Any]] = {name: {} for name in nominal}
    for i, corner in enumerate(CORNERS):
        steered = np.any(coefficients[i, :, 3:] != 0.0)
        angles = np.array(TABLE_STEERING if steered else (0.0,))
        travel = np.repeat(TABLE_TRAVEL, len(angles))
        s = _mean_steering(coefficients[i, BETA], travel, np.tile(angles, len(TABLE_TRAVEL)))
        values = axle_values(coefficients[i], travel, s if steered else np.zeros_like(travel))
        for name, rest in nominal.items():
            column = values[:, QUANTITIES.index(name)]
            distance = np.abs(column) if name == 'half_track' else column
            grid = (distance - rest[i]).reshape(len(TABLE_TRAVEL), -1)
            entry: dict[str, Any] = {'travel': list(TABLE_TRAVEL), 'values': grid.tolist()}
            if steered:
                entry['steering'] = list(TABLE_STEERING)
            tables[name][corner] = entry
    return tables


def _mean_steering(coefficients: Array, q: Array, beta: Array) -> Array:
    """The mean steering angle for which a front wheel stands at the angle beta."""
    one, cq, cqq, cs, css, cqs = coefficients
    s = beta.copy()
    for _ in range(20):
        value = one + cq * q + cqq * q * q + cs * s + css * s * s + cqs * q * s
        s = s - (value - beta) / np.where(cs == 0.0, 1.0, cs + 2.0 * css * s + cqs * q)
    return s
