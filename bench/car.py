"""Ten minutes of a car's data identified offline, beside a plain Pinocchio loop with lstsq.

The peer is what one would write in an afternoon: np.interp on one grid, filtfilt, np.gradient, one
computeJointTorqueRegressor call a sample from Python, numpy's lstsq over all rows. It gives no
honest deviations, no bias correction and no checks; ours does all of that in the time shown.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from typing import Any

import numpy as np
from scipy import signal

import veh_identification as vid
from veh_identification.simulation.car.exact.motion import EXACT_TRUTH, ExactCar
from veh_identification.simulation.car.exact.sensors import ExactSensors, exact_recording

PART = 'car'
RATE = 200.0
CORNERS = ('fl', 'fr', 'rl', 'rr')


def plain_signals(run: Any, config: Any) -> dict[str, np.ndarray]:
    """Everything on one grid, filtered with one Butterworth filter."""
    assert run.imu is not None and run.speed is not None
    grid = np.arange(0.1, run.imu.stamps[-1] - 0.1, 1.0 / RATE)
    sos = signal.butter(4, 25.0, fs=RATE, output='sos')

    def column(series: Any, k: int) -> np.ndarray:
        return signal.sosfiltfilt(sos, np.interp(grid, series.stamps, series.values[:, k]))

    imu = np.stack([column(run.imu, k) for k in range(6)], axis=1)
    omega = imu[:, :3]
    alpha = np.gradient(omega, 1.0 / RATE, axis=0)
    arm = np.array(config.sensors.imu.position)
    force = imu[:, 3:] - np.cross(alpha, arm) - np.cross(omega, np.cross(omega, arm))
    q = np.stack([column(run.joints[f'suspension_{c}'], 0) for c in CORNERS], axis=1)
    qd = np.gradient(q, 1.0 / RATE, axis=0)
    speed = np.stack([column(run.speed, k) for k in range(2)], axis=1)
    speed = speed - np.cross(omega, np.array(config.sensors.speed.position))[:, :2]
    steering = np.stack([column(run.joints[f'steering_{c}'], 0) for c in CORNERS], axis=1)
    wrench = np.stack(
        [np.stack([column(run.wrenches[c], k) for k in range(6)], axis=1) for c in CORNERS], axis=1
    )
    return {
        'omega': omega,
        'alpha': alpha,
        'force': force,
        'q': q,
        'qd': qd,
        'qdd': np.gradient(qd, 1.0 / RATE, axis=0),
        'air': np.square(speed).sum(axis=1),
        'steering': steering,
        'wrench': wrench,
    }


def plain_identification(run: Any, config: Any) -> np.ndarray:
    """Pinocchio regressor in a Python loop, then one least-squares call."""
    import pinocchio as pin  # tests and benchmarks only

    model = pin.Model()
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'base')
    for j, corner in enumerate(CORNERS):
        place = pin.SE3(
            np.eye(3), np.array([config.geometry.wheel_x[j], config.geometry.wheel_y[j], 0.0])
        )
        model.addJoint(base, pin.JointModelPZ(), place, corner)
    model.gravity = pin.Motion.Zero()
    data = model.createData()
    s = plain_signals(run, config)
    count = len(s['q'])
    # Columns of Pinocchio's standard parameters: m, mc (3), Ixx Ixy Iyy Ixz Iyz Izz.
    order = [0, 1, 2, 3, 4, 6, 9, 7, 5, 8]
    W = np.zeros((count, 10, 33))
    Y = np.zeros((count, 10))
    configuration_vector = np.zeros(11)
    configuration_vector[6] = 1.0
    velocity, acceleration = np.zeros(10), np.zeros(10)
    side = {0: 1, 1: 0, 2: 3, 3: 2}
    for n in range(count):
        configuration_vector[7:] = s['q'][n]
        velocity[3:6], velocity[6:] = s['omega'][n], s['qd'][n]
        acceleration[:3], acceleration[3:6] = s['force'][n], s['alpha'][n]
        acceleration[6:] = s['qdd'][n]
        full = pin.computeJointTorqueRegressor(
            model, data, configuration_vector, velocity, acceleration
        )
        W[n, :, :10] = full[:, order]
        for j in range(4):
            W[n, :, 10 + j] = full[:, 10 * (j + 1)]
            row, column = 6 + j, 16 + 4 * j
            W[n, row, 15 if j < 2 else 14] = s['q'][n, j] - s['q'][n, side[j]]
            W[n, row, column : column + 4] = (
                s['q'][n, j],
                np.sign(s['qd'][n, j]),
                s['qd'][n, j],
                1.0,
            )
            c, d = np.cos(s['steering'][n, j]), np.sin(s['steering'][n, j])
            turn = np.array([[c, -d, 0.0], [d, c, 0.0], [0.0, 0.0, 1.0]])
            push = turn @ s['wrench'][n, j, :3]
            centre = np.array(
                [config.geometry.wheel_x[j], config.geometry.wheel_y[j], s['q'][n, j]]
            )
            Y[n, :3] += push
            Y[n, 3:6] += turn @ s['wrench'][n, j, 3:] + np.cross(centre, push)
            Y[n, row] = push[2]
        W[n, 0, 32] = s['air'][n]
    return np.linalg.lstsq(W.reshape(-1, 33), Y.reshape(-1), rcond=None)[0]


def worst_error(value: np.ndarray, order: list[str]) -> float:
    """Largest relative error of the main inertial and spring parameters, in percent."""
    names = ('Mc', 'MXc', 'XXc', 'YYc', 'ZZc', 'M1', 'M4', 'k1', 'k4', 'h1', 'h4', 'off1')
    return max(100.0 * abs(value[order.index(name)] / EXACT_TRUTH[name] - 1.0) for name in names)


def measure(quick: bool) -> list[dict[str, Any]]:
    """Wall time and peak memory of ours and of the peer, in turns; medians."""
    config = vid.configure('car', 'car_peugeot_406')
    seconds, turns = (60.0, 1) if quick else (600.0, 3)
    run = exact_recording(ExactCar(config), seconds, ExactSensors.noisy())
    short = exact_recording(ExactCar(config), 20.0, ExactSensors.noisy())
    order = vid.identify('car', short, config=config).result.names  # compiles
    plain_identification(short, config)
    value = peer_value = np.zeros(0)
    ours, peer, ours_cpu, peer_cpu = [], [], [], []
    for _ in range(turns):
        wall, cpu = time.perf_counter(), time.process_time()
        value = vid.identify('car', run, config=config).result.value
        ours.append(time.perf_counter() - wall)
        ours_cpu.append(time.process_time() - cpu)
        wall, cpu = time.perf_counter(), time.process_time()
        peer_value = plain_identification(run, config)
        peer.append(time.perf_counter() - wall)
        peer_cpu.append(time.process_time() - cpu)
    tracemalloc.start()
    vid.identify('car', run, config=config)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    ratio = statistics.median(b / a for a, b in zip(ours, peer, strict=True))
    cpu_ratio = statistics.median(b / a for a, b in zip(ours_cpu, peer_cpu, strict=True))
    return [
        {
            'case': f'{seconds:g} s of car data, 33 parameters, 10 equations at 200 Hz '
            f'(worst main parameter off by {worst_error(value, order):.2g} %, the peer '
            f'{worst_error(peer_value, order):.2g} %; our peak memory {peak:.0f} MB; ratio of '
            f'processor times {cpu_ratio:.2g})',
            'unit': 's',
            'ours': statistics.median(ours),
            'peer': statistics.median(peer),
            'peer_name': 'Pinocchio loop and numpy lstsq',
            'ratio': ratio,
            'wanted': 'ratio >= 5',
            'met': ratio >= 5.0,
        }
    ]


if __name__ == '__main__':
    print(measure(quick=False))
