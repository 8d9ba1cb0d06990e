"""One recording reduced to what all later questions need: a pure function of its job.

What is kept of a recording is small and does not grow with its length: the estimates with their
covariance (its inverse is the information that the recording holds on the parameters), the
verdict and its findings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veh_identification._version import __version__
from veh_identification.errors import UsageError, VehIdError, one_line
from veh_identification.findings import Finding
from veh_identification.fleets.recordings import local_copy
from veh_identification.types import Array, BoolArray

if TYPE_CHECKING:
    from veh_identification.identification import IdentificationResult
    from veh_identification.results.outcome import Outcome

#: Which recordings get a folder of results with a report.
REPORTS = ('none', 'no', 'all')


@dataclass(frozen=True)
class Job:
    """What a worker needs to know of one recording."""

    address: str
    system: str
    config: Path | None = None
    options: tuple[tuple[str, Any], ...] = ()
    report: Path | None = None  # folder of the results of this recording
    reports: str = 'none'
    part: float = 0.0  # longer recordings are reduced in parts of this many seconds; 0: never
    version: str = __version__


@dataclass(frozen=True, eq=False)
class Reduction:
    """What one recording tells of its machine."""

    system: str
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    #: Digest of what a parameter stands for: base parameters are sums that depend on the motion.
    meanings: tuple[str, ...] = ()
    value: Array = field(default_factory=lambda: np.zeros(0))  # nan: unknown
    covariance: Array = field(default_factory=lambda: np.zeros((0, 0)))  # nan: unknown
    start_ns: int = 0
    seconds: float = 0.0
    samples: int = 0
    verdict: str = 'no'
    headline: str = ''
    findings: tuple[Finding, ...] = ()
    error: str = ''  # why the recording cannot be used; then there is no estimate
    kept: bool = True  # false: another run may succeed
    usage: bool = False  # the error is one of the call, not of the recording

    @property
    def std(self) -> Array:
        """Standard deviations; nan where unknown."""
        with np.errstate(invalid='ignore'):
            return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def known(self) -> BoolArray:
        """Parameters with a value and a deviation."""
        std = self.std
        found: BoolArray = np.isfinite(self.value) & np.isfinite(std) & (std > 0.0)
        return found

    @property
    def usable(self) -> bool:
        """Whether the estimate of its machine takes part of it."""
        return not self.error and self.verdict != 'no' and bool(self.known.any())


def refused(system: str, sentence: str, *, kept: bool = True, usage: bool = False) -> Reduction:
    """Of a recording that cannot be used."""
    headline = 'No: the recording cannot be used.'
    return Reduction(system, headline=headline, error=sentence, kept=kept, usage=usage)


def reduce_recording(job: Job) -> Reduction:
    """Identify from this recording alone; whatever is wrong with it is a sentence, no exception.

    The same job gives the same arrays in every process.
    """
    # Whoever only handles reductions need not load the systems.
    from veh_identification.systems.driver import run

    start_ns, seconds = 0, 0.0
    try:
        with local_copy(job.address) as path:
            start_ns, seconds = span_of(path)
            outcome = run(
                'identify', job.system, [path], config=job.config, options=dict(job.options)
            )
            _report(job, outcome)
            return _reduced(outcome, start_ns, seconds)
    except Exception as error:  # one recording must not stop the others
        return replace(failed(job, error), start_ns=start_ns, seconds=seconds)


def span_of(path: Path) -> tuple[int, float]:
    """Begin [ns] and length [s] of a recording; zero where it cannot be opened."""
    from veh_identification.runtime.bags import BagReader

    with suppress(VehIdError), BagReader(path, on_error='skip') as reader:
        info = reader.info()[0]
        return info.start_ns, info.duration
    return 0, 0.0


def failed(job: Job, error: Exception) -> Reduction:
    """Of a recording whose reduction ended so; what may be otherwise next time is not kept."""
    if isinstance(error, VehIdError):
        return refused(job.system, str(error), usage=isinstance(error, UsageError))
    if isinstance(error, MemoryError):
        return refused(job.system, f'{job.address}: not enough memory.', kept=False)
    text = f'{job.address}: unexpected {type(error).__name__}: {one_line(error)}.'
    return refused(job.system, text, kept=False)


def _report(job: Job, outcome: Outcome[IdentificationResult]) -> None:
    wanted = job.reports == 'all' or (job.reports == 'no' and outcome.verdict.level == 'no')
    if wanted and job.report is not None:
        outcome.save(job.report)


def _reduced(outcome: Outcome[IdentificationResult], start_ns: int, seconds: float) -> Reduction:
    result = outcome.result
    return Reduction(
        outcome.system,
        tuple(result.names),
        tuple(result.units),
        meanings_of(result.names, outcome.document[1].get('base_relations')),
        np.asarray(result.value, float),
        symmetric(np.asarray(result.covariance, float)),
        start_ns,
        seconds,
        int(result.samples),
        outcome.verdict.level,
        outcome.verdict.headline,
        outcome.findings,
    )


def symmetric(covariance: Array) -> Array:
    """By its lower triangle, which is all that is stored: fresh and stored are then the same."""
    return np.asarray(np.tril(covariance) + np.tril(covariance, -1).T)


def meanings_of(names: list[str], relations: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Of each parameter a digest of the sum that it stands for; empty: itself."""
    known = relations or {}
    return tuple(
        hashlib.blake2b(str(known[name]).encode(), digest_size=8).hexdigest()
        if name in known
        else ''
        for name in names
    )
