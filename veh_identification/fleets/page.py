"""What the page of a fleet shows of a fleet."""

from __future__ import annotations

import shlex
from datetime import datetime, timezone

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import beside, counted, listed, sentence
from veh_identification.fleets.changes import FEWEST_MACHINES
from veh_identification.fleets.entries import Entry
from veh_identification.fleets.fleet import Fleet
from veh_identification.reporting.fleet import (
    FleetContent,
    MachineRow,
    OutlierRow,
    PriorRow,
    RecordingRow,
    Step,
    TimeSeries,
)

#: Sentences of one kind on the first screen.
SHOWN = 4
#: The page lists values whose deviation the other machines bring below this share.
TOLD = 0.9


def page_content(fleet: Fleet, title: str = '') -> FleetContent:
    """Everything of the page."""
    machines = fleet.machines
    units = dict(pair for one in machines for pair in zip(one.names, one.units, strict=True))
    place = {name: k for k, name in enumerate(units)}
    value, std = (np.full((len(machines), len(units)), np.nan) for _ in range(2))
    for m, one in enumerate(machines):
        columns = [place[name] for name in one.names]
        value[m, columns], std[m, columns] = one.value, one.std
    changes = fleet.changes
    return FleetContent(
        title or f'Fleet of {fleet.system}s',
        datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
        fleet.level,
        changes.series,
        tuple(
            MachineRow(
                one.name,
                one.recordings,
                one.left_out,
                one.verdict.level,
                ' '.join(sentence(finding.text) for finding in one.verdict.reasons)
                or one.verdict.headline,
            )
            for one in machines
        ),
        tuple(units.items()),
        value,
        std,
        _steps(fleet),
        tuple(
            f'{one.machine}: {one.parameter} of {fleet.entries[one.place].address} '
            f'({fleet.entries[one.place].date}) is {abs(one.z):.1f} sigma away from its neighbours'
            for one in changes.apart
        ),
        tuple(
            OutlierRow(
                one.machine,
                one.parameter,
                units[one.parameter],
                one.value,
                one.others,
                one.spread,
                one.probability,
            )
            for one in fleet.outliers
        ),
        tuple(_recording(one) for one in fleet.entries),
        tuple(
            TimeSeries(one.machine, one.parameter, one.unit, one.start_ns, one.value, one.std)
            for one in fleet.series
        ),
        tuple(_findings(fleet)),
        _command(fleet),
        _prior(fleet) if fleet.fleet_prior else None,
    )


def _prior(fleet: Fleet) -> tuple[PriorRow, ...]:
    """What the others tell, the most that they do first."""
    rows = [
        PriorRow(
            one.machine,
            name,
            one.units[i],
            float(one.own_value[i]),
            float(one.own_std[i]),
            float(one.value[i]),
            float(one.std[i]),
            float(one.weight[i]),
        )
        for one in fleet.with_fleet
        for i, name in enumerate(one.names)
        if one.used[i] and one.std[i] < TOLD * one.own_std[i]
    ]
    return tuple(sorted(rows, key=lambda row: row.std / row.own_std))


def _steps(fleet: Fleet) -> tuple[Step, ...]:
    date = [one.date for one in fleet.entries]
    return tuple(
        Step(
            one.machine,
            one.parameter,
            one.unit,
            one.before,
            one.before_std,
            one.after,
            one.after_std,
            one.share,
            abs(one.z),
            one.probability,
            date[one.last_before],
            date[one.first_after],
            date[one.earliest],
            date[one.latest],
            one.lasting,
            fleet.sentence(one),
        )
        for one in fleet.changes.steps
    )


def _recording(entry: Entry) -> RecordingRow:
    one = entry.reduction
    reasons = [finding.text for finding in one.findings if finding.level in ('bad', 'warn')]
    return RecordingRow(
        entry.address,
        entry.machine,
        entry.date,
        'unusable' if one.error else one.verdict,
        one.error or '; '.join(reasons),
        entry.report,
    )


def _findings(fleet: Fleet) -> list[Finding]:
    """What the first screen says."""
    found = [
        Finding('warn', 'changed', fleet.sentence(one), one.machine)
        for one in fleet.changes.steps[:SHOWN]
    ]
    more = len(fleet.changes.steps) - SHOWN
    if more > 0:
        found.append(Finding('warn', 'changed', f'{more} more changes over time'))
    for one in fleet.outliers[:SHOWN]:
        text = (
            f'{one.machine}: {one.parameter} is {beside(one.value, one.spread)}, the others have '
            f'{beside(one.others, one.spread)} with a spread of {one.spread:.2g}'
        )
        found.append(Finding('warn', 'apart', text, one.machine))
    if len(fleet.outliers) > SHOWN:
        text = f'{len(fleet.outliers) - SHOWN} more values beyond those of the other machines'
        found.append(Finding('warn', 'apart', text))
    none = [one.name for one in fleet.machines if one.verdict.level == 'no']
    if none:
        text = f'no recording can be used of {", ".join(none[:6])}'
        found.append(Finding('bad', 'no_recording', text))
    bad = [one for one in fleet.entries if not one.reduction.usable]
    if bad:
        text = f'{counted(len(bad), "recording")} of {len(fleet.entries)} take no part'
        found.append(Finding('warn', 'recordings_left_out', f'{text}: see below why'))
    apart = [
        one.name
        for one in fleet.machines
        if any(finding.code == 'recordings_disagree' for finding in one.verdict.findings)
    ]
    if apart:
        text = (
            f'the recordings of {listed(apart)} disagree by more than their deviations allow: the '
            'machine, its load or a sensor changed between them, or a deviation is too small'
        )
        found.append(Finding('warn', 'recordings_disagree', text, ', '.join(apart)))
    if not fleet.changes.series:
        found.append(Finding('warn', 'changes_not_judged', fleet.unjudged))
    elif not fleet.changes.steps:
        text = f'no change over time in {counted(fleet.changes.series, "series", "series")}'
        found.append(Finding('good', 'unchanged', text))
    if len(fleet.machines) < FEWEST_MACHINES:
        text = (
            f'whether a machine stands apart from the others is judged from {FEWEST_MACHINES} '
            f'machines on; there are {len(fleet.machines)}'
        )
        found.append(Finding('note', 'apart_not_judged', text))
    return found


def _command(fleet: Fleet) -> str:
    worst = min(fleet.entries, key=lambda one: (one.reduction.usable, one.address))
    words = ['veh-id', 'identify', fleet.system, worst.address]
    if worst.config is not None:
        words += ['--config', str(worst.config)]
    for name, value in fleet.options:
        if value is True:
            words.append(f'--{name.replace("_", "-")}')
        elif value is not False:
            words += [f'--{name.replace("_", "-")}', str(value)]
    return shlex.join([*words, '--out', 'one_recording'])
