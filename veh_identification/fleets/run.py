"""The whole of a batch: find, plan, reduce what is new, put together, write."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification.engines import TRIES, engine
from veh_identification.errors import UsageError, VehIdError
from veh_identification.fleets.changes import LEVEL
from veh_identification.fleets.entries import Entry
from veh_identification.fleets.fingerprints import hashed, key_of
from veh_identification.fleets.fleet import Fleet
from veh_identification.fleets.machines import FOLDER, Planned, machine_rule, once, plan
from veh_identification.fleets.parts import PART_NAME, PART_SECONDS, reduce_job
from veh_identification.fleets.recordings import find_recordings, is_remote
from veh_identification.fleets.reduction import (
    REPORTS,
    Job,
    Reduction,
    refused,
)
from veh_identification.fleets.store import Store
from veh_identification.results.folder import REPORT
from veh_identification.systems import registry
from veh_identification.systems.options import make_options
from veh_identification.types import Progress

#: Folder of the reductions below the output.
STORE = 'reduced'
#: Folder of the results of single recordings below the output.
SINGLE = 'recordings'
#: What is said when a cluster is gone.
LOST = (
    'after {done} of {all} recordings; what was reduced is stored: the same command goes on from '
    'there'
)
#: Seconds between two writings of the index of the store.
_INDEX_EVERY = 60.0


@dataclass(frozen=True)
class Settings:
    """How a batch is done; `docs/batch.md` explains each."""

    machine_from: str = FOLDER
    workers: int | None = 1
    scheduler: str = ''
    store: Path | None = None
    reports: str = 'none'
    verify: bool = False
    level: float = LEVEL
    fleet_prior: bool = False
    part: float = PART_SECONDS

    def check(self) -> None:
        """UsageError where something cannot be."""
        if self.reports not in REPORTS:
            raise UsageError(f'--reports {self.reports}: expected {", ".join(REPORTS)}')
        if not 0.0 < self.level < 1.0:
            raise UsageError(f'--level {self.level:g}: expected a probability between 0 and 1')
        if self.workers is not None and self.workers < 0:
            raise UsageError(f'--workers {self.workers}: expected 0 (all cores) or more')
        if not self.part >= 0.0:
            raise UsageError(f'--part {self.part:g}: expected seconds, or 0 for whole recordings')


def run_batch(
    system: str,
    recordings: Sequence[str | Path],
    *,
    config: str | Path | None = None,
    out: Path | None = None,
    settings: Settings | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Fleet:
    """Reduce every recording that is not known yet; nothing but the store is written."""
    settings = settings or Settings()
    settings.check()
    made = registry.find('identify', system)
    given = {k: v for k, v in (options or {}).items() if v is not None}
    make_options(made.verbs['identify'], given, f'batch {made.name}')
    if settings.reports != 'none' and out is None:
        raise UsageError('--reports needs a folder for the results (--out)')
    rule = machine_rule(settings.machine_from)
    planned, copies = once(plan(one, rule, config) for one in find_recordings(recordings))
    folder = settings.store or (out / STORE if out is not None else None)
    campaign = _Campaign(
        made.name, tuple(sorted(given.items())), planned, Store(folder), settings, out
    )
    entries = campaign.entries(progress or (lambda done, total: None))
    if all(one.reduction.usage for one in entries):
        raise UsageError(entries[0].reduction.error)
    remarks = (*copies, *campaign.store.damaged)
    return Fleet(
        made.name,
        tuple(entries),
        settings.level,
        remarks,
        campaign.options,
        settings.fleet_prior,
    )


@dataclass(frozen=True, eq=False)
class _Campaign:
    """Recordings with what is asked of them."""

    system: str
    options: tuple[tuple[str, Any], ...]
    planned: tuple[Planned, ...]
    store: Store
    settings: Settings
    out: Path | None

    def entries(self, progress: Progress) -> list[Entry]:
        """Every recording, what is new by the engine; each is stored as soon as it is there."""
        found, keys = self._known()
        known = set(found)
        new = [index for index in range(len(self.planned)) if index not in known]
        progress(len(known), len(self.planned))
        saved = time.monotonic()
        work = engine(self.settings.workers, self.settings.scheduler)
        try:
            jobs = [self._job(index) for index in new]
            for place, reduction in work(reduce_job, jobs, given_up=given_up, lost=LOST):
                found[new[place]] = reduction
                if new[place] in keys:
                    self.store.put(keys[new[place]], reduction)
                if time.monotonic() - saved > _INDEX_EVERY:
                    self.store.save_index()
                    saved = time.monotonic()
                progress(len(found), len(self.planned))
        finally:
            self.store.save_index()
        return [
            Entry(
                one.address,
                one.machine,
                one.config,
                found[index],
                index in known and not one.error,
                self._report_link(one),
            )
            for index, one in enumerate(self.planned)
        ]

    def _known(self) -> tuple[dict[int, Reduction], dict[int, str]]:
        """What is refused or stored already, and the keys of what can be stored."""
        found: dict[int, Reduction] = {}
        keys: dict[int, str] = {}
        for index, one in enumerate(self.planned):
            if one.error:
                found[index] = refused(self.system, one.error, kept=False)
            elif self.store.folder is not None:
                try:
                    content = self.store.content(one.address, verify=self.settings.verify)
                except VehIdError as error:
                    found[index] = refused(self.system, str(error), kept=False)
                    continue
                keys[index] = key_of(
                    content, self.system, one.config, (*self.options, ('part', self.settings.part))
                )
                stored = self.store.get(keys[index])
                if stored is not None and not self._lacks_report(one, stored):
                    found[index] = stored
        return found, keys

    def _job(self, index: int) -> Job:
        one = self.planned[index]
        return Job(
            _absolute(one.address),
            self.system,
            None if one.config is None else one.config.resolve(),
            tuple((name, _resolved(value)) for name, value in self.options),
            self._place(one) if self.settings.reports != 'none' else None,
            self.settings.reports,
            self.settings.part,
        )

    def _place(self, one: Planned) -> Path | None:
        """Folder of the results of one recording; its name tells machine and recording."""
        if self.out is None:
            return None
        name = re.sub(r'[^\w.-]+', '_', one.address.rstrip('/').rpartition('/')[2])[:60]
        return self.out.absolute() / SINGLE / f'{one.machine} {name} {hashed([one.address])[:8]}'

    def _lacks_report(self, one: Planned, stored: Reduction) -> bool:
        reports = self.settings.reports
        wanted = reports == 'all' or (reports == 'no' and stored.verdict == 'no')
        place = self._place(one)
        return bool(wanted and not stored.error and place and _report_in(place) is None)

    def _report_link(self, one: Planned) -> str:
        place = self._place(one)
        report = None if place is None else _report_in(place)
        if self.out is None or report is None:
            return ''
        return report.relative_to(self.out.absolute()).as_posix()


def given_up(job: Job) -> Reduction:
    """What stands for a recording that ends every process."""
    text = (
        f'{job.address}: {TRIES} worker processes ended while they reduced it (not enough memory?)'
    )
    return refused(job.system, f'{text}.', kept=False)


def _report_in(place: Path) -> Path | None:
    """The report of a recording, or of the first of its parts that has one."""
    found = [place / REPORT, *sorted(place.glob(f'{PART_NAME}*/{REPORT}'))]
    return next((one for one in found if one.is_file()), None)


def _absolute(address: str) -> str:
    return address if is_remote(address) else os.path.abspath(address)  # noqa: PTH100


def _resolved(value: Any) -> Any:
    """Workers stand in other folders."""
    if isinstance(value, (list, tuple)):
        return tuple(_resolved(one) for one in value)
    return value.absolute() if isinstance(value, Path) else value
