"""The observed buggy when something goes wrong in the circle: outages, noise, loss, wrong models.

Every row sets the observer beside what it is compared with: dead reckoning, the gate, the thesis,
the undisturbed run, or the filter without force estimation. `ratio` above one: ours is better.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from veh_identification.observation.streaming import OnlineOptions
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.vehicle.bag import write_truth
from veh_identification.simulation.vehicle.drive import Truth, circle, simulate_truth, true_car
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.online import VehicleSystem
from veh_identification.systems.vehicle.observer.run import Run, observe_recording
from veh_identification.systems.vehicle.recording.reader import read
from veh_identification.systems.vehicle.recording.recording import Recording, Stream
from veh_identification.systems.vehicle.results.metrics import errors

PART = 'observe_cases'
THESIS_NOISY = 0.0706  # rms of x in Table 8: 1 m^2 of noise on the fixes


def recording_of(
    truth: Truth, car: CarDescription, seed: int, gps_noise: float | None = None
) -> Recording:
    """Sensors of Table 3, through a bag as any recording."""
    noisy = car
    if gps_noise is not None:
        gps = replace(car.sensors.gps, deviation=gps_noise)
        noisy = replace(car, sensors=replace(car.sensors, gps=gps))
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / 'bag'
        with BagWriter(bag) as writer:
            write_truth(writer, truth, noisy, seed, 1.0)
        return read(bag, car, Vehicle(car).rack_per_angle())


def run(car: CarDescription, recording: Recording) -> Run:
    """The observer over a recording."""
    system = VehicleSystem(car, say=lambda finding: None)
    found = observe_recording(system, recording, OnlineOptions(settle=10.0))
    assert found is not None
    return found.run


def changed(recording: Recording, change: Callable[[Stream], Stream]) -> Recording:
    """The recording with other samples."""
    return replace(recording, streams=tuple(change(one) for one in recording.streams))


def part(stream: Stream, keep: NDArray[np.bool_]) -> Stream:
    """Some samples of a stream."""
    return Stream(
        stream.name, stream.stamps_ns[keep], stream.arrived_ns[keep], stream.values[keep]
    )


def position_rms(found: Run, recording: Recording) -> float:
    """Root mean square distance from the truth [m]."""
    gaps = errors(found, recording.truth)
    return float(np.sqrt(np.mean(gaps['x'] ** 2 + gaps['y'] ** 2)))


def without_gps(recording: Recording, begin: float, end: float) -> Recording:
    """No fix and no satellite velocity for a while."""

    def heard(stream: Stream) -> Stream:
        if not stream.name.startswith('gps'):
            return stream
        time = (stream.stamps_ns - recording.start_ns) * 1e-9
        return part(stream, (time < begin) | (time >= end))

    return changed(recording, heard)


def with_loss(recording: Recording, share: float, seed: int) -> Recording:
    """Every sensor loses a share of its messages at random."""
    rng = np.random.default_rng(seed)

    def heard(stream: Stream) -> Stream:
        if stream.name in ('torque', 'rack', 'pressure'):
            return stream
        return part(stream, rng.random(stream.stamps_ns.size) >= share)

    return changed(recording, heard)


def with_dead_wheel(recording: Recording, wheel: int) -> Recording:
    """One wheel sensor says nothing."""

    def heard(stream: Stream) -> Stream:
        if stream.name != 'wheel_angle':
            return stream
        values = stream.values.copy()
        values[:, wheel] = np.nan
        return replace(stream, values=values)

    return changed(recording, heard)


def dead_reckoning(recording: Recording, car: CarDescription, begin: float, end: float) -> float:
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
    car: CarDescription, recording: Recording, begin: float, end: float
) -> list[dict[str, Any]]:
    """Drift at the end of an outage, and the jump when satellites are back."""
    found = run(car, without_gps(recording, begin, end))
    gaps = errors(found, recording.truth)
    time = recording.truth['time']
    time = time[(time >= found.time[0]) & (time <= found.time[-1])]
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
    for case, other in (
        ('one wheel sensor dead', with_dead_wheel(recording, 2)),
        ('10 % of all messages lost', with_loss(recording, 0.1, 3)),
    ):
        rows.append(
            _row(
                case,
                'm rms',
                position_rms(run(car, other), recording),
                plain,
                'undisturbed',
                0.7,
            )
        )
    slippery = true_car(
        replace(car, simulation=replace(car.simulation, friction_error=-0.3)), True
    )
    icy = recording_of(simulate_truth(slippery, circle(), seconds), car, 13)
    rows.append(
        _row(
            'friction 0.3 lower than the model believes',
            'm rms',
            position_rms(run(car, icy), icy),
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
