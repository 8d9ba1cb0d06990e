"""The 21-link, 26-dof humanoid: wrenches to base parameters, beside a Pinocchio loop with lstsq.

Six base-link rows, 210 columns (150 base parameters). Each side runs in a process of its own, so
that its peak memory is its own; both get the same motion and the same noisy wrenches as arrays.
Ours also gives deviations that allow for coloured noise; the peer gives plain ones.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from apart import peak_memory_mb, run_apart

PART = 'humanoid'
URDF = Path(__file__).parents[1] / 'config' / 'models' / 'ut_mu2_like.urdf'
NOISE = np.array([0.7, 0.7, 0.7, 0.05, 0.05, 0.05])


def _data(samples: int) -> tuple[Any, Any, Any, np.ndarray]:
    """Model, motion, Pinocchio's states, noisy wrenches."""
    from identify.regressor import make_motion

    from veh_identification.multibody.dynamics import inverse_dynamics
    from veh_identification.multibody.urdf import load_urdf

    model = load_urdf(URDF)
    motion, twin = make_motion(samples, model.dof)
    wrenches = inverse_dynamics(model, motion)[:, :6]
    wrenches = wrenches + NOISE * np.random.default_rng(1).standard_normal(wrenches.shape)
    return model, motion, twin, wrenches


def ours(samples: int) -> dict[str, float]:
    """Streamed: base parameters of the structure, weighted least squares, honest sigmas."""
    from veh_identification.identification import FactoryBlocks, identify
    from veh_identification.multibody.base_parameters import structural_base_parameters
    from veh_identification.multibody.regressor import Regressor

    model, motion, _, wrenches = _data(samples)

    def run(count: int) -> Any:
        base = structural_base_parameters(Regressor(model, rows='base'))
        part = Regressor(model, rows='base', enabled=list(base.names))

        def blocks() -> Any:
            for where, W in part.blocks(motion[:count], size=2048):
                yield W, wrenches[:count][where]

        result = identify(FactoryBlocks(blocks), list(base.names), list(part.row_names))
        truth = base.full_to_base @ model.parameters.ravel()
        return result, float(np.sqrt(np.mean(np.square((result.value - truth) / result.std))))

    run(2000)  # loads and compiles everything
    begin = time.perf_counter()
    result, error = run(samples)
    return {
        'seconds': time.perf_counter() - begin,
        'peak_mb': peak_memory_mb(),
        'base_parameters': len(result.value),
        'rms_error_in_sigmas': error,
    }


def plain(samples: int) -> dict[str, float]:
    """As one would in an afternoon: Pinocchio in a loop, one stacked matrix, lstsq, sigmas."""
    import pinocchio as pin

    model, _, (q, v, a), wrenches = _data(samples)
    twin = pin.buildModelFromUrdf(str(URDF), pin.JointModelFreeFlyer())
    data = twin.createData()
    order = [twin.joints[twin.getJointId(name)].idx_v - 6 for name in model.coordinate_names]
    for array, first in ((q, 7), (v, 6), (a, 6)):
        array[:, first + np.array(order)] = array[:, first:].copy()
    begin = time.perf_counter()
    W = np.empty((6 * samples, 10 * (twin.njoints - 1)))
    for k in range(samples):
        W[6 * k : 6 * k + 6] = pin.computeJointTorqueRegressor(twin, data, q[k], v[k], a[k])[:6]
    loop = time.perf_counter() - begin
    Y = wrenches.ravel()
    X, _, rank, _ = np.linalg.lstsq(W, Y, rcond=1e-10)
    variance = np.sum((Y - W @ X) ** 2) / (len(Y) - rank)
    np.sqrt(np.abs(variance * np.diag(np.linalg.pinv(W.T @ W, rcond=1e-10))))
    return {
        'seconds': time.perf_counter() - begin,
        'loop_seconds': loop,
        'peak_mb': peak_memory_mb(),
        'rank': int(rank),
    }


def _apart(side: str, samples: int) -> dict[str, float]:
    """Run one side in a process of its own.

    One thread on both sides: with more threads than idle cores BLAS spends its time waiting, and
    the ratio would tell about the machine's other work.
    """
    return run_apart(__file__, side, samples, threads='1')


def measure(quick: bool) -> list[dict[str, Any]]:
    """Time and memory of both sides."""
    samples = 20_000 if quick else 200_000
    own, peer = _apart('ours', samples), _apart('plain', samples)
    ratio = peer['seconds'] / own['seconds']
    name = 'Pinocchio loop and numpy lstsq'
    return [
        {
            'case': f'26 dof, arrays to {own["base_parameters"]} base parameters, '
            f'{samples} samples',
            'unit': 's',
            'ours': own['seconds'],
            'peer': peer['seconds'],
            'peer_name': name,
            'ratio': ratio,
            'wanted': 'ratio >= 5',
            'met': ratio >= 5,
            'rms_error_in_sigmas': own['rms_error_in_sigmas'],
        },
        {
            'case': f'26 dof, peak memory, {samples} samples',
            'unit': 'MB',
            'ours': own['peak_mb'],
            'peer': peer['peak_mb'],
            'peer_name': name,
            'ratio': peer['peak_mb'] / own['peak_mb'],
        },
    ]


if __name__ == '__main__':
    print(json.dumps({'ours': ours, 'plain': plain}[sys.argv[1]](int(sys.argv[2]))))
