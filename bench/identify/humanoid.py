"""Base parameters with sigmas of the 18-dof humanoid, beside a Pinocchio loop with lstsq.

Six base-link rows, 130 columns. Each side runs in a process of its own, so that its peak memory
is its own; both get the same motion and the same noisy wrenches as arrays. The sides take turns
several times; medians are shown, with the range of the ratios of neighbouring runs. Both are warm:
libraries loaded, ours compiled by a run on fewer samples, LAPACK of the peer used once. On a
machine that does other work these are times of the moment; processor times stand beside them.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from apart import peak_memory_mb, run_apart

PART = 'identify'
NOISE = np.array([0.7, 0.7, 0.7, 0.05, 0.05, 0.05])


def make_data(samples: int, folder: Path) -> None:
    """Write motion, Pinocchio's states and noisy wrenches as plain arrays."""
    from identify.regressor import URDF, make_motion
    from veh_identification.multibody.dynamics import inverse_dynamics
    from veh_identification.multibody.urdf import load_urdf

    model = load_urdf(URDF)
    motion, (q, v, a) = make_motion(samples, model.dof)
    wrenches = inverse_dynamics(model, motion)[:, :6]
    wrenches = wrenches + NOISE * np.random.default_rng(1).standard_normal(wrenches.shape)
    fields = {field.name: getattr(motion, field.name) for field in dataclasses.fields(motion)}
    for name, array in {'q': q, 'v': v, 'a': a, 'wrenches': wrenches}.items():
        np.save(folder / f'{name}.npy', array)
    for name, array in fields.items():
        np.save(folder / f'motion_{name}.npy', array)


def _load(folder: Path, name: str) -> np.ndarray:
    array: np.ndarray = np.load(folder / f'{name}.npy')
    return array


def ours(samples: int, folder: Path) -> dict[str, float]:
    """Streamed: regressor blocks, weighted least squares, honest sigmas."""
    from identify.regressor import URDF
    from veh_identification.identification import FactoryBlocks, identify
    from veh_identification.multibody.base_parameters import structural_base_parameters
    from veh_identification.multibody.motion import Motion
    from veh_identification.multibody.regressor import Regressor
    from veh_identification.multibody.urdf import load_urdf

    model = load_urdf(URDF)
    names = [field.name for field in dataclasses.fields(Motion)]
    motion = Motion(**{name: _load(folder, f'motion_{name}') for name in names})
    wrenches = _load(folder, 'wrenches')
    regressor = Regressor(model, rows='base')
    truth = regressor.columns.values(model, {})
    begin = time.perf_counter()
    next(iter(regressor.blocks(motion[:8])))
    compile_seconds = time.perf_counter() - begin

    def run(count: int) -> Any:
        base = structural_base_parameters(regressor)
        part = Regressor(model, rows='base', enabled=list(base.names))

        def blocks() -> Any:
            for where, W in part.blocks(motion[:count], size=2048):
                yield W, wrenches[:count][where]

        names = list(base.names)
        result = identify(FactoryBlocks(blocks), names, list(regressor.row_names))
        error = (result.value - base.full_to_base @ truth) / result.std
        return result, float(np.sqrt(np.mean(error**2)))

    run(2000)  # loads and compiles everything
    before = peak_memory_mb()
    begin, cpu = time.perf_counter(), time.process_time()
    result, error = run(samples)
    return {
        'seconds': time.perf_counter() - begin,
        'cpu_seconds': time.process_time() - cpu,
        'peak_mb': peak_memory_mb(),
        'before_mb': before,
        'compile_seconds': compile_seconds,
        'base_parameters': len(result.value),
        'rms_error_in_sigmas': error,
    }


def plain(samples: int, folder: Path) -> dict[str, float]:
    """As one would in an afternoon: Pinocchio in a loop, one stacked matrix, lstsq, sigmas."""
    import pinocchio as pin

    from identify.regressor import URDF
    from veh_identification.multibody.urdf import load_urdf

    model = load_urdf(URDF)
    q, v, a, wrenches = (_load(folder, name) for name in ('q', 'v', 'a', 'wrenches'))
    twin = pin.buildModelFromUrdf(str(URDF), pin.JointModelFreeFlyer())
    data = twin.createData()
    order = [twin.joints[twin.getJointId(name)].idx_v - 6 for name in model.coordinate_names]
    for array, first in ((q, 7), (v, 6), (a, 6)):
        array[:, first + np.array(order)] = array[:, first:].copy()
    np.linalg.lstsq(np.eye(200), np.ones(200), rcond=1e-10)
    before = peak_memory_mb()
    begin, cpu = time.perf_counter(), time.process_time()
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
        'cpu_seconds': time.process_time() - cpu,
        'loop_seconds': loop,
        'peak_mb': peak_memory_mb(),
        'before_mb': before,
        'rank': int(rank),
    }


def _peer(samples: int, folder: str) -> dict[str, float]:
    """The peer with numpy's own choice of threads and with one, whichever is faster: on a loaded
    machine the threads of OpenBLAS wait for each other for seconds.
    """
    runs = [_apart('plain', samples, folder, threads) for threads in (None, '1')]
    return min(runs, key=lambda run: run['seconds'])


def _apart(side: str, samples: int, folder: str, threads: str | None = None) -> dict[str, float]:
    """Run one side in a process of its own; ours with one thread, as veh-id sets it."""
    return run_apart(__file__, side, samples, folder, threads='1' if side == 'ours' else threads)


def compare(
    samples: int, pairs: list[tuple[dict[str, float], dict[str, float]]]
) -> list[dict[str, Any]]:
    """Time and memory of runs that took turns: medians, and the range of the ratios."""
    ratios = sorted(peer['seconds'] / own['seconds'] for own, peer in pairs)
    ratio = statistics.median(ratios)
    own, peer = pairs[0]
    count = own['base_parameters']
    spread = f'(ratios {ratios[0]:.1f} to {ratios[-1]:.1f})'
    return [
        {
            'case': f'arrays to {count} base parameters, {samples} samples {spread}',
            'unit': 's',
            'ours': statistics.median(one['seconds'] for one, _ in pairs),
            'peer': statistics.median(other['seconds'] for _, other in pairs),
            'peer_name': 'the loop and numpy lstsq',
            'ratio': ratio,
            'ratio_spread': [ratios[0], ratios[-1]],
            'repetitions': len(ratios),
            'wanted': 'ratio >= 5',
            'met': ratio >= 5,
            'rms_error_in_sigmas': own['rms_error_in_sigmas'],
        },
        {
            'case': f'processor time of the same, {samples} samples',
            'unit': 's of CPU',
            'ours': statistics.median(one['cpu_seconds'] for one, _ in pairs),
            'peer': statistics.median(other['cpu_seconds'] for _, other in pairs),
            'peer_name': 'the loop and numpy lstsq',
            'ratio': statistics.median(
                other['cpu_seconds'] / one['cpu_seconds'] for one, other in pairs
            ),
        },
        {
            'case': f'peak memory, {samples} samples',
            'unit': 'MB',
            'ours': own['peak_mb'],
            'peer': peer['peak_mb'],
            'peer_name': 'the loop and numpy lstsq',
            'ratio': peer['peak_mb'] / own['peak_mb'],
        },
    ]


def measure(quick: bool) -> list[dict[str, Any]]:
    """Regressor alone, the whole identification short and long, and the memory of both."""
    from identify.regressor import cold_compile_seconds, run

    regressor = run(2_000 if quick else 10_000)
    rows: list[dict[str, Any]] = [
        {
            'case': 'regressor 6 x 130',
            'unit': 'us/sample',
            'ours': regressor['ours_blocks_us'],
            'peer': regressor['pinocchio_calls_us'],
            'peer_name': 'computeJointTorqueRegressor in a loop',
            'ratio': regressor['ratio'],
            'wanted': 'ratio >= 5',
            'met': regressor['ratio'] >= 5,
        },
    ]
    peaks = {}
    for samples, repetitions in (
        ((2_000, 3), (20_000, 2)) if quick else ((10_000, 7), (200_000, 3))
    ):
        with tempfile.TemporaryDirectory() as folder:
            _apart('data', samples, folder)
            pairs = [
                (_apart('ours', samples, folder), _peer(samples, folder))
                for _ in range(repetitions)
            ]
        peaks[samples] = pairs[0][0]
        rows += compare(samples, pairs)
    short, long = (peaks[key]['peak_mb'] for key in sorted(peaks))
    rows.append(
        {
            'case': 'peak memory, long run over short run',
            'unit': 'MB',
            'ours': long,
            'peer': short,
            'peer_name': 'our short run',
            'ratio': long / short,
            'wanted': 'ratio <= 1.5',
            'met': long / short <= 1.5,
        }
    )
    rows.append(
        {
            'case': 'Numba compile, empty cache; peer: cached',
            'unit': 's',
            'ours': cold_compile_seconds(),
            'peer': regressor['compile_seconds'],
            'peer_name': 'the second process',
        }
    )
    return rows


if __name__ == '__main__':
    _side, _samples, _folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    if _side == 'data':
        make_data(_samples, _folder)
        print('{}')
    else:
        print(json.dumps({'ours': ours, 'plain': plain}[_side](_samples, _folder)))
