"""Base-link regressor of the two-leg humanoid: our kernel beside Pinocchio in a Python loop.

    python bench/identify/regressor.py [samples]

Both sides get the same motion and give the 6 x 130 block of every sample. `compile_seconds` is
the first call of this process (near zero when Numba's cache is warm); `cold_compile_seconds`
measures it with an empty cache in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from veh_identification.multibody.motion import Motion, floating_base_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.urdf import load_urdf

URDF = Path(__file__).parents[2] / 'config' / 'models' / 'humanoid_two_legs.urdf'
# Where our ten parameters stand in Pinocchio's order (m, mc, xx, xy, yy, xz, yz, zz).
PINOCCHIO_ORDER = np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9])


def make_motion(
    samples: int, joints: int, seed: int = 0
) -> tuple[Motion, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The same random states for us and, as (q, v, a), for Pinocchio."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = (rng.normal(0.0, 1.0, (samples, joints)) for _ in range(3))
    velocity, omega, alpha, acceleration = (rng.normal(0.0, 1.0, (samples, 3)) for _ in range(4))
    quaternion = rng.normal(size=(samples, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1)[:, None]
    x, y, z, w = quaternion.T
    rotation = np.stack(
        [
            1 - 2 * (y * y + z * z),
            2 * (x * y - z * w),
            2 * (x * z + y * w),
            2 * (x * y + z * w),
            1 - 2 * (x * x + z * z),
            2 * (y * z - x * w),
            2 * (x * z - y * w),
            2 * (y * z + x * w),
            1 - 2 * (x * x + y * y),
        ],
        axis=-1,
    )
    motion = floating_base_motion(
        q, qd, qdd, acceleration, omega, alpha, rotation.reshape(samples, 3, 3)
    )
    twin = (
        np.hstack([np.zeros((samples, 3)), quaternion, q]),
        np.hstack([velocity, omega, qd]),
        # Pinocchio takes the spatial acceleration of the base.
        np.hstack([acceleration - np.cross(omega, velocity), alpha, qdd]),
    )
    return motion, twin


def best_times(works: dict[str, Callable[[], object]], repeats: int = 5) -> dict[str, float]:
    """Shortest of a few runs of each, in seconds; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return {name: min(found) for name, found in times.items()}


def run(samples: int = 10_000) -> dict[str, Any]:
    """Microseconds per sample of both sides, the ratios and the largest difference."""
    model = load_urdf(URDF)
    twin = pin.buildModelFromUrdf(str(URDF), pin.JointModelFreeFlyer())
    twin.gravity.linear = np.array([0.0, 0.0, -9.80665])
    data = twin.createData()
    order = [twin.joints[twin.getJointId(name)].idx_v - 6 for name in model.coordinate_names]
    motion, (q, v, a) = make_motion(samples, model.dof)
    for array, first in ((q, 7), (v, 6), (a, 6)):
        array[:, first + np.array(order)] = array[:, first:].copy()
    regressor = Regressor(model, rows='base')
    out = np.empty((samples, *regressor.shape))
    start = time.perf_counter()
    regressor.fill(motion[:1], out[:1])
    compile_seconds = time.perf_counter() - start
    stacked = np.empty((samples, 6, 10 * (twin.njoints - 1)))

    def stream() -> None:
        for _ in regressor.blocks(motion):
            pass

    def plain_calls() -> None:
        for k in range(samples):
            pin.computeJointTorqueRegressor(twin, data, q[k], v[k], a[k])

    def plain_stack() -> None:
        for k in range(samples):
            stacked[k] = pin.computeJointTorqueRegressor(twin, data, q[k], v[k], a[k])[:6]

    seconds = best_times(
        {
            'ours_blocks': stream,
            'ours_stacked': lambda: regressor.fill(motion, out),
            'pinocchio_calls': plain_calls,
            'pinocchio_stacked': plain_stack,
        }
    )
    micro = {f'{name}_us': 1e6 * value / samples for name, value in seconds.items()}
    bodies = [twin.getJointId(name) - 1 if name else 0 for name in model.joint_names]
    columns = np.concatenate([10 * body + PINOCCHIO_ORDER for body in bodies])
    difference = np.max(np.abs(out - stacked[:, :, columns])) / np.max(np.abs(stacked))
    return {
        'samples': samples,
        'rows': 6,
        'columns': len(regressor.columns),
        **micro,
        'ratio': micro['pinocchio_calls_us'] / micro['ours_blocks_us'],
        'ratio_stacked': micro['pinocchio_stacked_us'] / micro['ours_stacked_us'],
        'relative_difference': float(difference),
        'compile_seconds': compile_seconds,
    }


def cold_compile_seconds() -> float:
    """First call with an empty Numba cache, in a process of its own."""
    with tempfile.TemporaryDirectory() as cache:
        code = (
            'import sys; sys.path.insert(0, sys.argv[1]); from identify.regressor import run; '
            'print(run(8)["compile_seconds"])'
        )
        result = subprocess.run(
            [sys.executable, '-c', code, str(Path(__file__).parents[1])],
            env={**os.environ, 'NUMBA_CACHE_DIR': cache},
            text=True,
            capture_output=True,
            check=True,
        )
    return float(result.stdout)


if __name__ == '__main__':
    figures = run(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    figures['cold_compile_seconds'] = cold_compile_seconds()
    print(json.dumps(figures, indent=2))
