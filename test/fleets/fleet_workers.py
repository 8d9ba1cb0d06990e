"""Functions that workers of the tests run; a module of its own, which new processes can load."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from veh_identification.fleets.reduction import Job, Reduction


def number(job: Job) -> Reduction:
    """A reduction that tells its job and its process."""
    seed = int(job.address)
    value = np.random.default_rng(seed).standard_normal(3)
    return Reduction('car', value=value, samples=os.getpid(), headline=job.address)


def surroundings(job: int) -> tuple[int, str, str]:
    """The job, and what the process was begun with."""
    names = ('MALLOC_MMAP_THRESHOLD_', 'OMP_NUM_THREADS')
    return (job, *(os.environ.get(name, '') for name in names))


def slow_number(job: Job) -> Reduction:
    time.sleep(0.2)
    return number(job)


def ends_once(job: Job) -> Reduction:
    """The worker that first gets the job 3 is killed, as by a system without memory."""
    if job.address == '3' and not Path(job.system).exists():
        Path(job.system).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number(job)


def ends_always(job: Job) -> Reduction:
    if job.address == '1':
        os.kill(os.getpid(), signal.SIGKILL)
    return number(job)
