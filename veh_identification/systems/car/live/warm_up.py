"""Compiles everything that a chunk needs before the first sensor message is asked for.

Numba compiles a kernel when it is first called: seconds without its cache on disk, in which a
live node would lose messages. So a made-up chunk passes through first.
"""

from __future__ import annotations

import contextlib
import functools
import time
from dataclasses import replace

import numpy as np

from veh_identification.errors import VehIdError
from veh_identification.identification.rows import row_filter
from veh_identification.signals import TimeSeries, decimate
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.identify import CarMethod
from veh_identification.systems.car.live.accumulation import CarLive
from veh_identification.systems.car.live.model import RECONSTRUCTION_HZ
from veh_identification.systems.car.model import EQUATIONS
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import WRENCH_CHANNELS, CarRecording

SECONDS = 6.0
RATE = 100.0
#: Values at rest of the joints of the 38-dof model [m, rad].
REST = {
    'suspension': 0.0,
    'steering': 0.0,
    'half_track': 0.75,
    'wheelbase': 1.3,
    'camber': 0.0,
    'kingpin': 0.0,
}


def made_up_recording(seed: int = 0) -> CarRecording:
    """A chunk of smooth random motion; no car moves like that, but every kernel meets it."""
    generator = np.random.default_rng(seed)
    t = np.arange(round(SECONDS * RATE)) / RATE

    def series(names: tuple[str, ...], size: float, rest: np.ndarray | float = 0.0) -> TimeSeries:
        waves = np.zeros((len(t), len(names)))
        for frequency in (0.5, 1.3, 4.7, 11.0):
            phase = generator.uniform(0.0, 2.0 * np.pi, len(names))
            waves += np.sin(2.0 * np.pi * frequency * t[:, None] + phase)
        waves += 0.01 * generator.standard_normal(waves.shape)
        return TimeSeries(t, rest + size * waves, names, ('',) * len(names), 0, 'made up')

    weight = np.array([0.0, 0.0, 4000.0, 0.0, 0.0, 0.0])
    joints = {
        f'{kind}_{corner}': series((f'{kind}_{corner}',), 0.01, rest)
        for kind, rest in REST.items()
        for corner in CORNERS
    }
    return CarRecording(
        'made up',
        series(('wx', 'wy', 'wz', 'fx', 'fy', 'fz'), 0.2, np.array([0.0] * 5 + [9.81])),
        series(('vx', 'vy'), 0.5, np.array([25.0, 0.0])),
        joints,
        {corner: series(WRENCH_CHANNELS, 200.0, weight) for corner in CORNERS},
    )


@functools.lru_cache(maxsize=8)
def warm_up(dof: int, bias_correction: bool) -> float:
    """Let both kinds of work, a chunk and a solution, happen once; returns the seconds taken."""
    start = time.perf_counter()
    recording = made_up_recording()
    later = replace(recording, label='made up, later')
    for one in (dof,) if dof else (38, 20):  # arrays of the two differ in their layout
        # No cause is searched for what is wrong with it, which is everything: hundreds would be
        # tried, by `check` and beside every setting that `calibrate` finds.
        method = CarMethod(dof=one, bias_correction=bias_correction, check=False, calibrate=False)
        live = CarLive(CarDescription(), method, 1e-5)
        with contextlib.suppress(VehIdError, np.linalg.LinAlgError):
            # What a made-up chunk says does not matter, only that it has been computed.
            live.add(recording)
            live.add(later)  # is compared with the first
            live.solve()
    low_pass = row_filter(RATE, RECONSTRUCTION_HZ)
    decimate(np.zeros((len(low_pass.taps) + 10, len(EQUATIONS))), low_pass)
    return time.perf_counter() - start
