"""The folder of a batch: tables, a result for every machine, the page; each file whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from veh_identification._version import __version__
from veh_identification.atomic import OutputError, atomic_folder, remove, write_text
from veh_identification.fleets.combination import Machine
from veh_identification.fleets.fleet import Fleet
from veh_identification.fleets.page import page_content
from veh_identification.fleets.tables import write_csv, write_parquet, write_with_fleet
from veh_identification.results.comparison import covariance_entries
from veh_identification.results.folder import to_json
from veh_identification.saved_state import write_state

SUMMARY = 'batch.json'
PARAMETERS = 'parameters'
MACHINES = 'machines'
PAGE = 'fleet.html'
WITH_FLEET = 'with_fleet.csv'


def check_out(out: Path) -> None:
    """Refuse a folder of something else before the work begins."""
    if out.exists() and not out.is_dir():
        raise OutputError(f'{out} is a file, expected a folder for the results.')
    ours = {SUMMARY, 'reduced'}
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in ours):
        raise OutputError(f'{out} is a folder with other content: give another one.')


def save(fleet: Fleet, out: Path) -> list[str]:
    """Write everything; returns the lines to print."""
    out.mkdir(parents=True, exist_ok=True)
    for machine in fleet.machines:
        _write_machine(fleet, machine, out / MACHINES / machine.name)
    names = {machine.name for machine in fleet.machines}
    for old in (out / MACHINES).glob('*/parameters.json'):
        if old.parent.name not in names:  # of an earlier run over other recordings
            remove(old.parent)
    write_csv(fleet.entries, out / f'{PARAMETERS}.csv')
    lines = [f'table: {out / PARAMETERS}.csv']
    table = out / f'{PARAMETERS}.parquet'
    refused = write_parquet(fleet.entries, table)
    if refused:
        table.unlink(missing_ok=True)  # of an earlier run, now out of date
    lines.append(f'no Parquet: {refused}' if refused else f'table: {table}')
    if fleet.fleet_prior:
        write_with_fleet(fleet.with_fleet, out / WITH_FLEET)
        lines.append(f'table: {out / WITH_FLEET} (each machine with the others as prior)')
    else:
        (out / WITH_FLEET).unlink(missing_ok=True)  # of an earlier run, now out of date
    write_text(out / SUMMARY, to_json(summary(fleet)))
    return [*lines, _page(fleet, out / PAGE)]


def _page(fleet: Fleet, path: Path) -> str:
    """The least of all files: what it lacks is told and takes nothing else along."""
    try:
        from veh_identification.reporting.pages.fleet import write_fleet_page
    except ImportError as error:
        if (error.name or '').split('.')[0] not in ('plotly', 'jinja2', 'markupsafe'):
            raise
        return f'no page: {error.name} is not installed (pip install plotly jinja2)'
    write_fleet_page(path, page_content(fleet))
    return f'page: {path}'


def summary(fleet: Fleet) -> dict[str, Any]:
    """Content of batch.json."""
    return {
        'system': fleet.system,
        'version': __version__,
        'level': fleet.level,
        'recordings': [
            {
                'recording': one.address,
                'machine': one.machine,
                'config': None if one.config is None else str(one.config),
                'date': one.date,
                'seconds': one.reduction.seconds,
                'verdict': one.reduction.verdict,
                'headline': one.reduction.headline,
                'used': one.reduction.usable,
                'error': one.reduction.error,
                'findings': [f.as_dict() for f in one.reduction.findings],
                'report': one.report,
            }
            for one in fleet.entries
        ],
        'machines': [_machine(one) for one in fleet.machines],
        'changes': [
            {
                'text': fleet.sentence(one),
                **vars(one),
                'last_before': fleet.entries[one.last_before].address,
                'first_after': fleet.entries[one.first_after].address,
                'earliest': fleet.entries[one.earliest].date,
                'latest': fleet.entries[one.latest].date,
            }
            for one in fleet.changes.steps
        ],
        'apart': [
            {**vars(one), 'place': fleet.entries[one.place].address} for one in fleet.changes.apart
        ],
        'outliers': [vars(one) for one in fleet.outliers],
    }


def _machine(one: Machine) -> dict[str, Any]:
    return {
        'name': one.name,
        'recordings': one.recordings,
        'left_out': one.left_out,
        'chi_square': one.chi_square,
        'degrees_of_freedom': one.freedom,
        'probability': one.probability,
        'covariance_scale': one.scale,
        'verdict': one.verdict.as_dict(),
    }


def _write_machine(fleet: Fleet, machine: Machine, folder: Path) -> None:
    """In the shape of a result of `veh-id identify`, so that `veh-id compare` takes it."""
    std = machine.std
    with np.errstate(divide='ignore', invalid='ignore'):
        relative = 100.0 * std / np.abs(machine.value)
    used = [one.address for one in fleet.entries if one.machine == machine.name]
    document = {
        'system': fleet.system,
        'machine': machine.name,
        'verdict': machine.verdict.as_dict(),
        'estimator': 'information of single recordings added up',
        'parameters': [
            {
                'name': name,
                'unit': machine.units[i],
                'value': float(machine.value[i]),
                'std': float(std[i]),
                'rel_std_percent': float(relative[i]),
                'recordings': int(machine.counts[i]),
            }
            for i, name in enumerate(machine.names)
        ],
        'agreement': _machine(machine),
        'input': {'bags': used},
        'version': __version__,
    }
    with atomic_folder(folder, overwrite=True) as partial:
        (partial / 'parameters.json').write_text(to_json(document), encoding='utf-8')
        entries = covariance_entries(machine.names, machine.covariance)
        write_state(partial / 'covariance.npz', entries)
