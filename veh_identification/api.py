"""The library's face: the verbs of the command line as functions that return objects.

    import veh_identification as vid
    outcome = vid.identify('car', ['run0'], config='my_car.yaml', dof=20)
    outcome['Mc'].value, outcome.verdict.headline

The same call serves every system. Recordings are paths or what `vid.read` made of them;
configurations are paths, names of files in `config/` (`'car_peugeot_406'`) or what
`vid.configure` gave. Everything is imported when it is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from veh_identification.types import Progress

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from veh_identification import api_options as told
    from veh_identification.findings import Finding as Finding
    from veh_identification.findings import Verdict as Verdict
    from veh_identification.fleets.fleet import Fleet
    from veh_identification.identification import IdentificationResult
    from veh_identification.results.comparison import Comparison
    from veh_identification.results.observation import ObserverRun
    from veh_identification.results.outcome import Outcome as Outcome
    from veh_identification.runtime.bags import BagReader as BagReader
    from veh_identification.runtime.bags import read_columns as read_columns
    from veh_identification.runtime.convert import convert as convert
    from veh_identification.runtime.convert import read_mapping as read_mapping
    from veh_identification.runtime.replay.bag import replay_graph as replay_graph
    from veh_identification.simulation.scenarios import simulate as simulate

#: What this module hands on as it is.
_ELSEWHERE = {
    'BagReader': 'veh_identification.runtime.bags',
    'Finding': 'veh_identification.findings',
    'Outcome': 'veh_identification.results.outcome',
    'Verdict': 'veh_identification.findings',
    'convert': 'veh_identification.runtime.convert',
    'read_columns': 'veh_identification.runtime.bags',
    'read_mapping': 'veh_identification.runtime.convert',
    'replay_graph': 'veh_identification.runtime.replay.bag',
    'simulate': 'veh_identification.simulation.scenarios',
}
__all__ = [
    'BagReader',
    'Finding',
    'Outcome',
    'Verdict',
    'batch',
    'check_recording',
    'compare',
    'configure',
    'convert',
    'design_motion',
    'identify',
    'observe',
    'read',
    'read_columns',
    'read_mapping',
    'replay_graph',
    'simulate',
]


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f'veh_identification.api has no {name!r}')
    return getattr(importlib.import_module(_ELSEWHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def _listed(recordings: Any) -> list[Any]:
    single = isinstance(recordings, (str, Path)) or not isinstance(recordings, Sequence)
    return [recordings] if single else list(recordings)


@overload
def identify(
    system: Literal['car'],
    recordings: Any,
    *,
    config: Any = None,
    validate: Any = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[told.CarIdentify],
) -> Outcome[IdentificationResult]: ...
@overload
def identify(
    system: Literal['humanoid'],
    recordings: Any,
    *,
    config: Any = None,
    validate: Any = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[told.HumanoidIdentify],
) -> Outcome[IdentificationResult]: ...
@overload
def identify(
    system: Literal['parallel', 'hexapod'],
    recordings: Any,
    *,
    config: Any = None,
    validate: Any = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[told.ParallelIdentify],
) -> Outcome[IdentificationResult]: ...
@overload
def identify(
    system: str,
    recordings: Any,
    *,
    config: Any = None,
    validate: Any = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Outcome[IdentificationResult]: ...
def identify(
    system: str,
    recordings: Any,
    *,
    config: Any = None,
    validate: Any = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Outcome[IdentificationResult]:
    """Parameters of a machine from its recordings; `options` are those of the command line.

    With `out` all files are written into that folder; `outcome.save(folder)` does it later.
    """
    from veh_identification.systems.driver import run

    return run(
        'identify',
        system,
        _listed(recordings),
        out=out,
        config=config,
        validate=validate,
        options=options,
        progress=progress,
    )


@overload
def observe(
    system: Literal['vehicle', 'buggy'],
    recording: Any,
    *,
    config: Any = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[told.VehicleObserve],
) -> Outcome[ObserverRun]: ...
@overload
def observe(
    system: Literal['four-bar'],
    recording: Any,
    *,
    config: Any = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[told.FourBarObserve],
) -> Outcome[ObserverRun]: ...
@overload
def observe(
    system: Literal['mechanism'],
    recording: Any,
    *,
    config: Any = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[told.MechanismObserve],
) -> Outcome[ObserverRun]: ...
@overload
def observe(
    system: str,
    recording: Any,
    *,
    config: Any = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Outcome[ObserverRun]: ...
def observe(
    system: str,
    recording: Any,
    *,
    config: Any = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Outcome[ObserverRun]:
    """States of a machine over one recording; `outcome['yaw']` is a series over time."""
    from veh_identification.systems.driver import run

    return run(
        'observe',
        system,
        _listed(recording),
        out=out,
        config=config,
        options=options,
        progress=progress,
    )


@overload
def design_motion(
    system: Literal['car'],
    *,
    config: str | Path | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[told.CarDesign],
) -> Outcome[Any]: ...
@overload
def design_motion(
    system: Literal['humanoid'],
    *,
    config: str | Path | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[told.HumanoidDesign],
) -> Outcome[Any]: ...
@overload
def design_motion(
    system: Literal['parallel', 'hexapod'],
    *,
    config: str | Path | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[told.ParallelDesign],
) -> Outcome[Any]: ...
@overload
def design_motion(
    system: str,
    *,
    config: str | Path | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Outcome[Any]: ...
def design_motion(
    system: str,
    *,
    config: str | Path | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Outcome[Any]:
    """A motion or manoeuvre that excites what is to be identified, within limits."""
    from veh_identification.design.driver import run

    return run(system, out=out, config=config, options=options, progress=progress)


def configure(system: str, config: str | Path | None = None, **options: Any) -> Any:
    """The description of a machine, checked; `options` are those of identify or observe."""
    from veh_identification.systems.driver import configured

    return configured(system, config, options)[1]


def read(
    system: str,
    bag: str | Path,
    config: Any = None,
    progress: Progress | None = None,
    **options: Any,
) -> Any:
    """A recording as plain series, to be handed to `identify` or `observe` as often as wanted."""
    from veh_identification.systems.driver import configured

    made, description = configured(system, config, options)
    return made.read(Path(bag), description, progress)


def check_recording(
    system: str, recording: Any, config: Any = None, **options: Any
) -> list[Finding]:
    """What a system's checks say of a recording before anything is fitted to it."""
    from veh_identification.systems.driver import configured

    made, description = configured(system, config, options)
    known = isinstance(recording, (str, Path))
    return made.checks(
        made.read(Path(recording), description) if known else recording, description
    )


def compare(
    results: Sequence[str | Path],
    *,
    level: float = 0.01,
    report: str | Path | None = None,
    residuals: bool = False,
) -> list[Comparison]:
    """What changed between result folders, each with the one before and the last with the first.

    `level` is the probability of a false alarm of one comparison. `report` names a page (HTML) to
    write, which with `residuals` holds what each model misses of the other's recordings.
    """
    from veh_identification.fleets.compared import compared, write_page

    found = compared(list(results), level, residuals=residuals)
    if report is not None:
        write_page(found, Path(report))
    return list(found.pairs)


def batch(
    system: str,
    recordings: Any,
    *,
    config: str | Path | None = None,
    out: str | Path | None = None,
    machine_from: str = 'folder',
    workers: int | None = 1,
    scheduler: str = '',
    store: str | Path | None = None,
    reports: str = 'none',
    verify: bool = False,
    level: float = 0.01,
    fleet_prior: bool = False,
    part: float = 900.0,
    progress: Progress | None = None,
    **options: Any,
) -> Fleet:
    """Many recordings of many machines; the same options as `veh-id batch` (docs/batch.md).

    `fleet.machines`, `fleet.changes`, `fleet.outliers`, `fleet.with_fleet` (each machine with the
    others as prior), `fleet.to_dataframe()`; with `out` all files are written and a second call
    reduces only what is new.
    """
    from veh_identification.fleets.output import check_out, save
    from veh_identification.fleets.run import Settings, run_batch

    place = None if out is None else Path(out)
    if place is not None:
        check_out(place)
    fleet = run_batch(
        system,
        _listed(recordings),
        config=config,
        out=place,
        settings=Settings(
            machine_from,
            workers,
            scheduler,
            None if store is None else Path(store),
            reports,
            verify,
            level,
            fleet_prior,
            part,
        ),
        options=options,
        progress=progress,
    )
    if place is not None:
        save(fleet, place)
    return fleet
