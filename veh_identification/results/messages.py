"""Results as messages: the same for live nodes and for result bags."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from veh_identification.findings import Finding, Verdict
from veh_identification.identification import IdentificationResult
from veh_identification.identification.live import Change, Solution
from veh_identification.identification.statistics import WELL_IDENTIFIED_PERCENT
from veh_identification.runtime.messages import header, new
from veh_identification.types import Array

OK, WARN, ERROR = 0, 1, 2
#: Level of /diagnostics.
DIAGNOSTIC_LEVELS = {'yes': OK, 'care': WARN, 'no': ERROR}


@dataclass(frozen=True, eq=False)
class Equations:
    """The unknowns and equations of the rows, known once the model is."""

    system: str
    names: list[str]
    units: list[str]
    equations: list[str]
    equation_units: list[str]
    a_priori: Array
    watched: list[int]  # mass and first moments that a load changes


@dataclass(frozen=True)
class Derived:
    """A quantity that follows from the parameters."""

    name: str
    unit: str
    value: float
    std: float
    a_priori: float = float('nan')
    possible: bool = True  # false: no such value can exist


def _entry(item: Derived, excited: bool, trusted: bool = True) -> dict[str, Any]:
    relative = 100.0 * item.std / abs(item.value) if item.value else float('inf')
    return {
        'name': item.name,
        'unit': item.unit,
        'value': item.value,
        'std': item.std,
        'rel_std_percent': relative,
        'well_identified': relative < WELL_IDENTIFIED_PERCENT and item.possible and trusted,
        'excited': excited,
        'a_priori': item.a_priori,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        'verdict': verdict.level,
        'headline': verdict.headline,
        'findings': [asdict(one) for one in verdict.findings],
    }


def parameters_message(
    equations: Equations,
    solution: Solution,
    further: list[Derived],
    verdict: Verdict,
    *,
    stamp_ns: int,
    samples: int,
    rejected: int,
    converged: bool,
    advice: str,
    estimator: str = 'recursive',
    impossible: Collection[str] = (),
) -> Any:
    """veh_identification/msg/ParameterEstimates: parameters, then what follows from them.

    While the verdict is no, nothing is given out as known.
    """
    std = np.sqrt(np.diag(solution.covariance))
    trusted = verdict.level != 'no'
    entries = [
        _entry(
            Derived(
                name,
                equations.units[k],
                float(solution.value[k]),
                float(std[k]),
                float(equations.a_priori[k]),
                name not in impossible,
            ),
            bool(solution.excited[k]),
            trusted,
        )
        for k, name in enumerate(equations.names)
    ]
    return new(
        'veh_identification/msg/ParameterEstimates',
        header=header(stamp_ns),
        system=equations.system,
        estimator=estimator,
        parameters=entries + [_entry(item, True, trusted) for item in further],
        condition_number=float(solution.condition_number),
        sample_count=samples,
        rejected_count=rejected,
        converged=converged and trusted,
        advice=advice,
        **_verdict(verdict),
    )


def result_message(
    result: IdentificationResult,
    verdict: Verdict,
    stamp_ns: int,
    *,
    rejected: int | None = None,
    converged: bool = True,
    advice: str = '',
    frame: str = '',
) -> Any:
    """veh_identification/msg/ParameterEstimates of a whole identification."""
    std = result.std
    prior = result.a_priori if result.a_priori is not None else np.full(len(std), np.nan)
    return new(
        'veh_identification/msg/ParameterEstimates',
        header=header(stamp_ns, frame),
        system=result.system,
        estimator=result.estimator,
        parameters=[
            _entry(
                Derived(
                    name,
                    result.units[k],
                    float(result.value[k]),
                    float(std[k]),
                    float(prior[k]),
                    name not in result.impossible,
                ),
                name not in result.unexcited and bool(np.isfinite(result.value[k])),
            )
            for k, name in enumerate(result.names)
        ],
        condition_number=float(result.condition_number),
        sample_count=int(result.samples),
        rejected_count=int(result.excluded_samples if rejected is None else rejected),
        converged=converged,
        advice=advice,
        **_verdict(verdict),
    )


def reconstruction_message(
    stamp_ns: int,
    equations: list[str],
    units: list[str],
    measured: Array,
    predicted: Array,
    sigma: Array,
    frame: str = '',
) -> Any:
    """veh_identification/msg/Reconstruction of one row."""
    return new(
        'veh_identification/msg/Reconstruction',
        header=header(stamp_ns, frame),
        equations=equations,
        units=units,
        measured=measured,
        predicted=predicted,
        sigma=sigma,
    )


def diagnostic_status(name: str, level: int, text: str, facts: Mapping[str, Any]) -> Any:
    """diagnostic_msgs/msg/DiagnosticStatus."""
    return new(
        'diagnostic_msgs/msg/DiagnosticStatus',
        level=level,
        name=name,
        message=text,
        hardware_id='',
        values=[
            new('diagnostic_msgs/msg/KeyValue', key=key, value=str(value))
            for key, value in facts.items()
        ],
    )


def diagnostics_message(stamp_ns: int, statuses: list[Any]) -> Any:
    """diagnostic_msgs/msg/DiagnosticArray."""
    return new('diagnostic_msgs/msg/DiagnosticArray', header=header(stamp_ns), status=statuses)


def finding_facts(findings: Iterable[Finding]) -> dict[str, str]:
    """Entries of a diagnostic status: `finding: CODE`, numbered where a code comes again."""
    facts: dict[str, str] = {}
    for one in findings:
        key, many = f'finding: {one.code}', 1
        while key in facts:
            many += 1
            key = f'finding: {one.code} ({many})'
        facts[key] = one.told
    return facts


def change_rows(equations: Equations, change: Change | None) -> list[Derived]:
    """The watched parameters' change, once it is looked for."""
    if change is None:
        return []
    return [
        Derived(f'change.{equations.names[k]}', equations.units[k], float(value), float(std), 0.0)
        for k, value, std in zip(equations.watched, change.value, change.std, strict=True)
    ]


def load_finding(change: Change | None, changed: bool) -> list[Finding]:
    """A load that came or went, with its mass and place; nothing while there is none."""
    if change is None or not changed:
        return []
    where = ''
    if abs(change.value[0]) > 3.0 * change.std[0]:
        place = change.value[1:] / change.value[0]
        where = f' at x {place[0]:.3g}, y {place[1]:.3g}, z {place[2]:.3g} m'
    text = (
        f'the load has changed by {change.value[0]:+.3g} +- {change.std[0]:.2g} kg{where}; '
        'the estimate is held until the change is gone or ~/reset'
    )
    return [Finding('warn', 'load_changed', text)]


def group_by_prefix(names: Sequence[str]) -> dict[str, list[str]]:
    """`LINK.Jxx` names by link."""
    groups: dict[str, list[str]] = {}
    for name in names:
        owner, _, entry = name.rpartition('.')
        groups.setdefault(owner, []).append(entry)
    return groups
