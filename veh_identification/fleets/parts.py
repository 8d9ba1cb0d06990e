"""Long recordings are reduced in parts, so that the memory of a worker does not grow with them.

Each part is cut out as a recording of its own, identified and thrown away; what the parts tell is
put together as recordings of one machine are (`combination.py`), with the same test whether they
agree. A choice that is made once for a whole recording (cut-offs, calibration, friction law) is
made for each part.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from veh_identification._version import __version__
from veh_identification.findings import Finding
from veh_identification.findings.finding import worst_first
from veh_identification.fleets.combination import combine
from veh_identification.fleets.recordings import local_copy
from veh_identification.fleets.reduction import (
    Job,
    Reduction,
    failed,
    reduce_recording,
    refused,
    span_of,
    symmetric,
)

#: Recordings up to this long are reduced whole [s].
PART_SECONDS = 900.0
#: Share of a part by which the last may be longer than asked for.
OVER = 0.05
#: How the folder of the report of a part begins.
PART_NAME = 'part_'
#: Said of a machine; of a recording in parts it says nothing new.
_OF_MACHINES = ('one_recording', 'recordings_left_out', 'no_recording')


def reduce_job(job: Job) -> Reduction:
    """What a worker does with one recording; whatever is wrong with it is a sentence."""
    if job.version != __version__:
        text = f'the worker has veh_identification {__version__}, expected {job.version}'
        return refused(job.system, text, kept=False, usage=True)
    if job.part <= 0.0:
        return reduce_recording(job)
    try:
        with local_copy(job.address) as path:
            start_ns, seconds = span_of(path)
            count = math.ceil(seconds / job.part - OVER)
            # Of an address the copy is at hand; its own name is what sentences should tell.
            whole = replace(job, address=str(path))
            if count <= 1:
                return reduce_recording(whole)
            parts = _reduced_parts(whole, path, start_ns, seconds, count)
    except Exception as error:  # one recording must not stop the others
        return failed(job, error)
    return together(job, parts, start_ns, seconds)


def _reduced_parts(
    job: Job, path: Path, start_ns: int, seconds: float, count: int
) -> list[Reduction]:
    from veh_identification.runtime.bags import BagReader, write_stretch

    found = []
    edges = [start_ns + round(1e9 * seconds * k / count) for k in range(count)]
    ends = [*edges[1:], start_ns + round(1e9 * seconds) + 1]
    with tempfile.TemporaryDirectory(prefix='veh-id-part-') as folder:
        for k, (begin, end) in enumerate(zip(edges, ends, strict=True)):
            target = Path(folder) / f'{path.stem}_{PART_NAME}{k}'
            with BagReader(path, on_error='skip') as reader:
                write_stretch(reader, target, begin, end)
            report = None if job.report is None else job.report / f'{PART_NAME}{k}'
            found.append(reduce_recording(replace(job, address=str(target), report=report)))
            for file in target.iterdir():
                file.unlink()
            target.rmdir()
    return found


def together(job: Job, parts: Sequence[Reduction], start_ns: int, seconds: float) -> Reduction:
    """One recording of its parts."""
    usable = [one for one in parts if one.usable]
    if not usable:
        worst = next((one for one in parts if one.error), parts[0])
        return replace(worst, start_ns=start_ns, seconds=seconds, findings=_findings(parts))
    machine = combine(job.system, parts)
    remarks = [one for one in machine.verdict.findings if one.code not in _OF_MACHINES]
    doubted = remarks or len(usable) < len(parts) or any(one.verdict != 'yes' for one in usable)
    text = f'put together from {len(usable)} of {len(parts)} parts'
    return Reduction(
        job.system,
        machine.names,
        machine.units,
        machine.meanings,
        machine.value,
        symmetric(machine.covariance),
        start_ns,
        seconds,
        sum(one.samples for one in usable),
        'care' if doubted else 'yes',
        f'{"With care" if doubted else "Yes"}: {text}.',
        worst_first([*remarks, *_findings(parts)]),
        kept=all(one.kept for one in parts),
    )


def _findings(parts: Sequence[Reduction]) -> tuple[Finding, ...]:
    """What was said of any part, once each, with how many of them it was said of."""
    said: Counter[str] = Counter()
    first: dict[str, Finding] = {}
    for k, one in enumerate(parts):
        told = list(one.findings)
        if one.error:
            told.append(Finding('warn', 'part_unusable', one.error, f'part {k}'))
        for code in {finding.code for finding in told}:
            said[code] += 1
        for finding in told:
            first.setdefault(finding.code, finding)
    return tuple(
        replace(one, text=f'{one.text} (in {said[one.code]} of {len(parts)} parts)')
        for one in first.values()
    )
