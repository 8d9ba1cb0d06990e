"""What the commands call: one line each, after the other results are in the output folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from veh_identification.errors import one_line
from veh_identification.identification import IdentificationResult

NAME = 'report.html'
#: The systems whose parameters have the names of truth.json.
COMPARABLE = ('car', 'parallel')


def _guarded(write: Callable[[], None], out: str | Path) -> str:
    """The line to print about the report.

    The page is the last thing that is written and the least: whatever goes wrong with it must not
    take the results along, so that it is told instead of raised.
    """
    try:
        write()
    except ImportError as error:
        if (error.name or '').split('.')[0] not in ('plotly', 'jinja2', 'markupsafe'):
            raise
        return f'no report: {error.name} is not installed (pip install plotly jinja2)'
    except Exception as error:
        return f'no report: {type(error).__name__}: {one_line(error)}'
    return f'report: {Path(out) / NAME}'


def write_identification_report(
    folder: Path,
    result: IdentificationResult,
    *,
    reconstruction: str | None,
    bags: Sequence[str | Path],
    out: str | Path,
    validate: str | Path | None = None,
    config: str | Path | None = None,
    urdf: str | Path | None = None,
    truth: Mapping[str, float] | None = None,
    choices: Mapping[str, Any] | None = None,
) -> str:
    """Write FOLDER/report.html and return the line to print.

    `folder` may be the temporary folder of an atomic output, `out` is its final name;
    `reconstruction` names the bag in the folder; without one there are no traces. `choices` are
    further options of the command line, by name.
    """
    options = [
        *(('bag', bag) for bag in bags),
        ('validate', validate),
        ('config', config),
        ('urdf', urdf),
        *(choices or {}).items(),
        ('out', out),
    ]

    def write() -> None:
        from veh_identification.reporting.html import write_page
        from veh_identification.reporting.pages.identification import identification_page
        from veh_identification.results.identification import (
            identification_content,
            simulated_truth,
        )
        from veh_identification.results.provenance import provenance

        origin = provenance(
            'identify',
            result.system,
            options,
            {'input': result.input, 'noise': result.noise, **result.extra},
        )
        known = truth
        if known is None and result.system in COMPARABLE:
            known = simulated_truth(bags[0])
        traces = None if reconstruction is None else folder / reconstruction
        content = identification_content(result, traces, origin, bags, validate, known)
        write_page(folder / NAME, identification_page(content))

    return _guarded(write, out)


def write_buggy_report(
    folder: Path,
    run: Any,
    model: Any,
    recording: Any,
    metrics: Mapping[str, Any],
    *,
    bag: str | Path,
    out: str | Path,
    config: str | Path | None = None,
    gate_probability: float | None = None,
) -> str:
    """Write FOLDER/report.html of a run of the buggy's observer; returns the line to print."""

    def write() -> None:
        from veh_identification.systems.vehicle.results.states import buggy_states

        _write_observation(
            folder,
            'buggy',
            buggy_states(run, model, recording.truth),
            run.innovations,
            metrics,
            bag,
            out,
            config,
            gate_probability,
            ('x', 'y'),
        )

    return _guarded(write, out)


def write_four_bar_report(
    folder: Path,
    times: Any,
    q: Any,
    qd: Any,
    covariance: Any,
    innovations: Sequence[Any],
    truth: Mapping[str, Any],
    alone: Any,
    metrics: Mapping[str, Any],
    *,
    bag: str | Path,
    out: str | Path,
    config: str | Path | None = None,
    gate_probability: float | None = None,
) -> str:
    """Write FOLDER/report.html of a run of the four-bar observer; returns the line to print."""

    def write() -> None:
        from veh_identification.systems.vehicle.results.states import four_bar_states

        by_sensor: dict[str, list[Any]] = {name: [] for name in metrics['sensors']}
        for one in innovations:
            by_sensor.setdefault(one.sensor, []).append(one)
        _write_observation(
            folder,
            'four-bar',
            four_bar_states(times, q, qd, covariance, truth, alone),
            by_sensor,
            metrics,
            bag,
            out,
            config,
            gate_probability,
            None,
        )

    return _guarded(write, out)


def _write_observation(
    folder: Path,
    system: str,
    states: Sequence[Any],
    innovations: Mapping[str, Sequence[Any]],
    metrics: Mapping[str, Any],
    bag: str | Path,
    out: str | Path,
    config: str | Path | None,
    gate_probability: float | None,
    path: tuple[str, str] | None,
) -> None:
    from veh_identification.reporting.html import write_page
    from veh_identification.reporting.pages.observation import observation_page
    from veh_identification.results.observation import observation_content
    from veh_identification.results.provenance import provenance

    origin = provenance(
        'observe',
        system,
        [('bag', bag), ('config', config), ('out', out)],
        {key: value for key, value in metrics.items() if key != 'coordinates'},
    )
    content = observation_content(
        system,
        states,
        innovations,
        metrics,
        origin,
        bag,
        gate_probability=gate_probability,
        path=path,
    )
    write_page(folder / NAME, observation_page(content))
