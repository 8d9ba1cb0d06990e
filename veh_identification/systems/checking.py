"""Which systems a description serves, and what their checks say of recordings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veh_identification.errors import InputError, VehIdError
from veh_identification.findings import Finding
from veh_identification.findings.finding import worst_first
from veh_identification.systems import registry
from veh_identification.systems.base import System
from veh_identification.systems.options import make_options, option_fields


@dataclass(frozen=True, eq=False)
class Described:
    """A system that understands a description."""

    system: System[Any, Any]
    verb: str
    config: Any

    @property
    def name(self) -> str:
        """Of the system."""
        return self.system.name


def describing(path: Path, name: str | None, given: Mapping[str, Any]) -> list[Described]:
    """The systems whose configuration a file is; one sentence or list of faults if none is.

    Without a name the file is tried with every system; the faults told are those of the system
    that finds fewest.
    """
    if name is not None:
        return [_described(registry.find(registry.main_verb(name), name), path, given)]
    found, refused = [], []
    for entry in registry.SYSTEMS:
        try:
            found.append(_described(registry.load(entry), path, given))
        except VehIdError as error:
            refused.append(str(error))
    if not found:
        raise InputError(min(refused, key=_strangeness))
    return found


def _strangeness(faults: str) -> tuple[int, int]:
    """Entries at the top that a system does not know say most, then the number of faults."""
    return len(re.findall(r':\d+: [\w-]+: is not known', faults)), faults.count('\n')


def _described(system: System[Any, Any], path: Path, given: Mapping[str, Any]) -> Described:
    verb = next(iter(system.verbs))
    known = {one.name for one in option_fields(system.verbs[verb])}
    fitting = {key: value for key, value in given.items() if key in known}
    options: Any = make_options(system.verbs[verb], fitting, f'{verb} {system.name}')
    return Described(system, verb, system.configure(path, options))


def check_descriptions(systems: Sequence[Described]) -> list[Finding]:
    """What the description alone says that no such machine has."""
    return [found for one in systems for found in one.system.described(one.config)]


def check_recordings(systems: Sequence[Described], bags: Sequence[Path]) -> list[Finding]:
    """Findings of every recording, each named; a recording that nobody can read is refused."""
    findings = []
    for bag in bags:
        refused, understood = [], False
        for one in systems:
            try:
                recording = one.system.read(bag, one.config)
                found = one.system.checks(recording, one.config)
            except VehIdError as error:
                refused.append(f'{one.verb} {one.name}: {error}')
                continue
            understood = True
            alone = {(each.code, each.where) for each in one.system.described(one.config)}
            findings += [
                replace(finding, text=f'{bag}, {one.verb} {one.name}: {finding.text}')
                for finding in worst_first(found)
                if (finding.code, finding.where.removeprefix(str(bag)).strip()) not in alone
            ]
        if not understood:
            raise InputError(f'{bag}: {"; ".join(refused)}')
        findings += [Finding('warn', 'not_for', f'not for {one}', str(bag)) for one in refused]
    return findings
