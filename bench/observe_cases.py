"""The observed buggy when something goes wrong in the circle: outages, noise, loss, wrong models.

Every row sets the observer beside what it is compared with: dead reckoning, the gate, the thesis,
the undisturbed run, or the filter without force estimation. `ratio` above one: ours is better.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from veh_identification.fusion.geodesy import Datum
from veh_identification.observation.sensors import count_angle
from veh_identification.simulation.vehicle.bag import body_rates, point_motion
from veh_identification.simulation.vehicle.drive import Truth, circle, simulate_truth, true_car
from veh_identification.systems.vehicle.configuration import Configuration
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.observer.observer import find_start, make_filter
from veh_identification.systems.vehicle.observer.run import Run, observe
from veh_identification.systems.vehicle.recording.reader import Recording
from veh_identification.systems.vehicle.recording.series import Series
from veh_identification.systems.vehicle.results.metrics import errors
from veh_identification.types import Array

PART = 'observe_cases'
THESIS_NOISY = 0.0706  # rms of x in Table 8: 1 m^2 of noise on the fixes


def recording_of(
    truth: Truth, car: Configuration, seed: int, gps_noise: float | None = None
) -> Recording:
    """Sensors of Table 3 as series, without the detour over a bag."""
    rng = np.random.default_rng(seed)
    imu, gps, wheels = car.sensors.imu, car.sensors.gps, car.sensors.wheels

    def noisy(values: Array, deviation: float) -> Array:
        return np.asarray(values + deviation * rng.standard_normal(values.shape), dtype=float)

    axes = np.swapaxes(truth.frame[:, 0, 3:12].reshape(-1, 3, 3), 1, 2)
    force = np.einsum(
        'nji,nj->ni', axes, point_motion(truth.frame, imu.position, 2) + [0.0, 0.0, car.gravity]
    )
    chosen = slice(9, None, 10)
    deviation = gps.deviation if gps_noise is None else gps_noise
    fix = noisy(point_motion(truth.frame[chosen], gps.position, 0), deviation)
    velocity = noisy(point_motion(truth.frame[chosen], gps.position, 1)[:, :2], gps.velocity)
    angle = count_angle(noisy(truth.wheel, wheels.deviation), wheels.resolution)
    time = truth.time - truth.time[0]
    known = {
        'time': time,
        'x': truth.frame[:, 0, 0],
        'y': truth.frame[:, 0, 1],
        'vx': truth.frame[:, 1, 0],
        'vy': truth.frame[:, 1, 1],
        'yaw': np.unwrap(truth.yaw),
        'yaw_rate': body_rates(truth.frame)[:, 2],
    }
    return Recording(
        start_ns=0,
        datum=Datum(*(car.datum or (0.0, 0.0, 0.0))),
        gyro=Series(time, noisy(body_rates(truth.frame), imu.gyroscope)),
        accelerometer=Series(time, noisy(force, imu.accelerometer)),
        fix=Series(time[chosen], fix, np.full(fix.shape, deviation**2)),
        velocity=Series(time[chosen], velocity),
        wheel_angle=Series(time, angle),
        wheel_rate=Series(),
        rack=Series(time, noisy(truth.rack, car.sensors.rack.deviation)),
        torque=Series(time, noisy(truth.torque, car.sensors.torque.deviation)),
        pressure=Series(time, truth.pressure[:, None]),
        truth=known,
        invalid={},
        notes=[],
    )


def run(car: Configuration, recording: Recording) -> Run:
    """The observer over a recording."""
    return observe(car, recording, make_filter(car, recording, find_start(car, recording)))


def part(series: Series, keep: NDArray[np.bool_]) -> Series:
    """Some messages of a series."""
    return Series(
        series.time[keep],
        series.value[keep],
        None if series.variance is None else series.variance[keep],
    )


def position_rms(found: Run, recording: Recording) -> float:
    """Root mean square distance from the truth [m]."""
    gaps = errors(found, recording.truth)
    return float(np.sqrt(np.mean(gaps['x'] ** 2 + gaps['y'] ** 2)))


def without_gps(recording: Recording, begin: float, end: float) -> Recording:
    """No fix and no satellite velocity for a while."""

    def heard(series: Series) -> Series:
        return part(series, (series.time < begin) | (series.time >= end))

    return replace(recording, fix=heard(recording.fix), velocity=heard(recording.velocity))


def with_loss(recording: Recording, share: float, seed: int) -> Recording:
    """Every sensor loses a share of its messages at random."""
    rng = np.random.default_rng(seed)

    def heard(series: Series) -> Series:
        return part(series, rng.random(len(series)) >= share)

    return replace(
        recording,
        gyro=heard(recording.gyro),
        fix=heard(recording.fix),
        accelerometer=heard(recording.accelerometer),
        velocity=heard(recording.velocity),
        wheel_angle=heard(recording.wheel_angle),
    )


def dead_reckoning(recording: Recording, car: Configuration, begin: float, end: float) -> float:
    """Distance [m] that rear wheels and gyroscope are off after a time, from the true pose."""
    truth, time = recording.truth, recording.gyro.time
    inside = (time >= begin) & (time <= end)
    t = time[inside]
    start, stop = np.searchsorted(truth['time'], [begin, end])
    angle = np.interp(t, recording.wheel_angle.time, recording.wheel_angle.value[:, 2:].mean(1))
    way = np.diff(angle) * car.geometry.wheel_radius
    yaw = truth['yaw'][start] + np.concatenate(
        [
            [0.0],
            np.cumsum(
                0.5
                * np.diff(t)
                * (recording.gyro.value[inside, 2][1:] + recording.gyro.value[inside, 2][:-1])
            ),
        ]
    )
    middle = 0.5 * (yaw[1:] + yaw[:-1])
    return float(
        np.hypot(
            truth['x'][start] + way @ np.cos(middle) - truth['x'][stop],
            truth['y'][start] + way @ np.sin(middle) - truth['y'][stop],
        )
    )


def _row(
    case: str, unit: str, ours: float, peer: float, name: str, wanted: float
) -> dict[str, Any]:
    ratio = peer / max(ours, 1e-12)
    return {
        'case': case,
        'unit': unit,
        'ours': ours,
        'peer': peer,
        'peer_name': name,
        'ratio': ratio,
        'wanted': f'ratio >= {wanted:g}',
        'met': ratio >= wanted,
    }


def outage(
    car: Configuration, recording: Recording, begin: float, end: float
) -> list[dict[str, Any]]:
    """Drift at the end of an outage, and the jump when satellites are back."""
    found = run(car, without_gps(recording, begin, end))
    gaps = errors(found, recording.truth)
    time = recording.truth['time'][recording.truth['time'] <= found.time[-1]]
    k = int(np.searchsorted(time, end)) - 1
    drift = float(np.hypot(gaps['x'][k], gaps['y'][k]))
    step = int(np.searchsorted(found.time, end - 1e-6))
    window = slice(step - 1, step + 100)
    moved = np.diff(found.frame[window, 0, :2], axis=0)
    expected = (
        0.5
        * car.observer.step
        * (found.frame[window, 1, :2][1:] + found.frame[window, 1, :2][:-1])
    )
    jump = float(np.hypot(*(moved - expected).T).max())
    variance = np.trace(found.covariance[step - 1][:2, :2]) + 2 * car.sensors.gps.deviation**2
    gate = float(np.sqrt(chi2.ppf(car.observer.gate_probability, 3) * variance))
    seconds = f'GPS lost for {end - begin:g} s'
    return [
        _row(
            f'{seconds}: off at its end',
            'm',
            drift,
            dead_reckoning(recording, car, begin, end),
            'wheels and gyroscope',
            1.0,
        ),
        _row(f'{seconds}: largest jump after it', 'm', jump, gate, 'gate', 1.0),
    ]


def measure(quick: bool) -> list[dict[str, Any]]:
    """One row a case."""
    seconds, lost = (8.0, (3.0, 7.0)) if quick else (20.0, (8.0, 18.0))
    car = load()
    truth = simulate_truth(true_car(car, True), circle(), seconds)
    recording = recording_of(truth, car, 11)
    plain = position_rms(run(car, recording), recording)
    rows = outage(car, recording, *lost)
    noisy = recording_of(truth, car, 12, gps_noise=1.0)
    rows.append(
        _row(
            '1 m noise on the fixes',
            'm rms',
            position_rms(run(car, noisy), noisy),
            THESIS_NOISY,
            'thesis, Table 8',
            1.0,
        )
    )
    dead = recording.wheel_angle.value.copy()
    dead[:, 2] = np.nan
    silent = replace(recording, wheel_angle=replace(recording.wheel_angle, value=dead))
    for case, changed in (
        ('one wheel sensor dead', silent),
        ('10 % of all messages lost', with_loss(recording, 0.1, 3)),
    ):
        rows.append(
            _row(
                case,
                'm rms',
                position_rms(run(car, changed), recording),
                plain,
                'undisturbed',
                0.7,
            )
        )
    slippery = true_car(
        replace(car, simulation=replace(car.simulation, friction_error=-0.3)), True
    )
    other = recording_of(simulate_truth(slippery, circle(), seconds), car, 13)
    rows.append(
        _row(
            'friction 0.3 lower than the model believes',
            'm rms',
            position_rms(run(car, other), other),
            plain,
            'undisturbed',
            0.7,
        )
    )
    windy = true_car(replace(car, simulation=replace(car.simulation, wind=200.0)), True)
    blown = recording_of(simulate_truth(windy, circle(), seconds), car, 14)
    bare = replace(car, observer=replace(car.observer, force_estimation=False))
    rows.append(
        _row(
            '200 N of wind, errorEKF-FE',
            'm rms',
            position_rms(run(car, blown), blown),
            position_rms(run(bare, blown), blown),
            'errorEKF',
            1.0,
        )
    )
    return rows


if __name__ == '__main__':
    print(json.dumps(measure(False), indent=2))
