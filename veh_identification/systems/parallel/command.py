"""`veh-id identify parallel` and `veh-id design parallel`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from veh_identification.atomic import OutputError, atomic_folder, write_text
from veh_identification.design.parallel.excitation import design as design_trajectory
from veh_identification.design.parallel.excitation import limits_use
from veh_identification.errors import InputError, UsageError
from veh_identification.identification import IdentificationResult, to_csv, to_json
from veh_identification.reporting.hooks import write_identification_report
from veh_identification.systems.parallel.checks import judge
from veh_identification.systems.parallel.configuration import Configuration, load_configuration
from veh_identification.systems.parallel.estimation.likelihood import (
    PENALTIES,
    Likelihood,
    equations,
    gauss_markov,
    maximum_likelihood,
    pooled_force_covariance,
    with_cutoff,
)
from veh_identification.systems.parallel.estimation.structure_selection import select_structure
from veh_identification.systems.parallel.estimation.validation import (
    HeldOut,
    held_out,
    predicting_regressor,
    validate_model,
)
from veh_identification.systems.parallel.processing import METHODS, PeriodicRecord
from veh_identification.systems.parallel.recording.reader import TOPIC, periodic_record, read_legs
from veh_identification.systems.parallel.results.bag import write_result_bag
from veh_identification.systems.parallel.results.summary import extra_facts, input_facts, table
from veh_identification.types import Array, Progress

#: What an earlier run may have left in the output folder.
RESULTS = ('parameters.json', 'parameters.csv', 'result', 'report.html')
ESTIMATORS = ('maximum-likelihood', 'gauss-markov')


@dataclass(frozen=True)
class IdentifyOptions:
    """Options, from `identify:` in the configuration and from `arguments`, which win.

    Zero means: from the configuration's excitation or from the data.
    """

    estimator: str = 'maximum-likelihood'
    processing: str = 'frequency'
    fundamental_hz: float = 0.0
    harmonics: int = 0
    cutoff_hz: float = 0.0
    skip_periods: int = 0
    penalty: str = 'bic'
    topic: str = TOPIC

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.estimator, ESTIMATORS, 'estimator'),
            (self.processing, METHODS, 'processing'),
            (self.penalty, PENALTIES, 'penalty'),
        ):
            if value not in known:
                raise UsageError(f'{what} must be one of {", ".join(known)}, found {value!r}')
        if min(self.fundamental_hz, self.harmonics, self.cutoff_hz, self.skip_periods) < 0:
            raise UsageError('fundamental, harmonics, cut-off, skipped periods: not negative')


def parse_arguments(arguments: Mapping[str, Any] | None) -> IdentifyOptions:
    """Check names and types of further options; texts become numbers where one is needed."""
    known = {f.name: f for f in fields(IdentifyOptions)}
    values: dict[str, Any] = {}
    for name, value in (arguments or {}).items():
        key = name.replace('-', '_')
        if key not in known:
            raise UsageError(
                f'identify parallel does not know {name!r}; it knows: {", ".join(known)}'
            )
        kind: Any = type(known[key].default)
        try:
            values[key] = value if isinstance(value, kind) else kind(value)
        except (TypeError, ValueError):
            raise UsageError(f'{name} must be a {kind.__name__}, found {value!r}') from None
    return IdentifyOptions(**values)


def identify(
    *,
    bags: Sequence[str | Path],
    out: str | Path,
    validate: str | Path | None = None,
    config: str | Path | None = None,
    urdf: str | Path | None = None,
    arguments: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> str:
    """Identify a hexapod from recordings of its periodic excitation.

    Writes OUT/parameters.json, parameters.csv, report.html and the bag OUT/result, whole or not
    at all, and returns the table to print. An earlier result in OUT is replaced; a folder that
    holds anything else is refused.
    """
    if urdf is not None:
        raise UsageError('identify parallel takes no URDF: the geometry stands in --config')
    if not bags:
        raise UsageError('at least one --bag is needed')
    configuration = load_configuration(config)
    options = parse_arguments({**configuration.identify, **(arguments or {})})
    _check_out(Path(out))
    harmonics = options.harmonics or (
        configuration.excitation.harmonics if configuration.excitation else 5
    )
    records = [_record(bag, configuration, options, harmonics, progress) for bag in bags]
    validation = (
        None if validate is None else held_out(configuration.robot, validate, options.topic)
    )
    result, likelihood, doubts = _estimate(configuration, records, harmonics, options)
    chosen, candidates = select_structure(
        configuration.robot,
        records,
        round(result.value[-1] / records[0].fundamental_hz),
        configuration.structure,
    )
    if validation is not None:
        result.validation = validate_model(configuration.model(), validation, result.value[:-1])
    result.system = 'parallel'
    result.input = input_facts(
        configuration,
        records,
        harmonics,
        options.processing,
        options.topic,
        result,
        bags,
        validation,
        doubts,
    )
    result.extra = extra_facts(likelihood, candidates, chosen)
    text = table(result, records, candidates, likelihood, validation)
    report = _write(
        Path(out),
        result,
        configuration,
        records,
        harmonics,
        options,
        validation,
        lambda folder: write_identification_report(
            folder,
            result,
            reconstruction='result',
            bags=bags,
            validate=validate,
            config=config,
            out=out,
        ),
    )
    return f'{text}{report}\n'


def _record(
    bag: str | Path,
    configuration: Configuration,
    options: IdentifyOptions,
    harmonics: int,
    progress: Progress | None,
) -> PeriodicRecord:
    nominal = options.fundamental_hz or (
        configuration.excitation.fundamental_hz if configuration.excitation else 0.0
    )
    series = read_legs(bag, options.topic, progress)
    return periodic_record(series, nominal or None, harmonics, options.skip_periods)


def _estimate(
    configuration: Configuration,
    records: list[PeriodicRecord],
    harmonics: int,
    options: IdentifyOptions,
) -> tuple[IdentificationResult, Likelihood | None, list[str]]:
    """The result, how its cut-off was found, and doubts."""
    model = configuration.model()
    likelihood: Likelihood | None = None
    cutoff: float | None = options.cutoff_hz or None
    if options.estimator == 'maximum-likelihood' and options.processing == 'frequency':
        likelihood = maximum_likelihood(
            model, records, harmonics, start_hz=cutoff, penalty=options.penalty
        )
        cutoff = likelihood.cutoff_hz
    system = equations(model, records, harmonics, options.processing, cutoff)
    covariance = pooled_force_covariance(records)
    result = gauss_markov(model, system, covariance)
    used = cutoff or harmonics * records[0].fundamental_hz
    doubts: list[str] = []
    if options.processing in ('frequency', 'harmonic'):  # the others are bad on purpose
        doubts = judge(model, records, harmonics, used, system, result.value)
    if likelihood is not None:
        result.estimator = 'maximum-likelihood'
    result = with_cutoff(result, used, np.nan if likelihood is None else likelihood.cutoff_std)
    return result, likelihood, doubts


def _check_out(out: Path) -> None:
    """Replacing a folder removes it: only results of this command may stand there."""
    if not out.exists():
        return
    if not out.is_dir():
        raise OutputError(f'{out} is not a folder')
    foreign = sorted(p.name for p in out.iterdir() if p.name not in RESULTS)
    if foreign:
        raise OutputError(
            f'{out} holds {foreign[0]!r}, which is no result of `veh-id identify`: give another '
            'folder'
        )


def _write(
    out: Path,
    result: IdentificationResult,
    configuration: Configuration,
    records: list[PeriodicRecord],
    harmonics: int,
    options: IdentifyOptions,
    validation: HeldOut | None,
    report: Callable[[Path], str],
) -> str:
    with atomic_folder(out, overwrite=True) as folder:
        (folder / 'parameters.json').write_text(to_json(result), encoding='utf-8')
        (folder / 'parameters.csv').write_text(to_csv(result), encoding='utf-8')
        model = configuration.model()
        cutoff = float(result.value[-1]) if options.processing == 'frequency' else None
        system = equations(model, records, harmonics, options.processing, cutoff)
        unused = None if validation is None else predicting_regressor(model, validation)
        write_result_bag(folder / 'result', result, records, system, validation, unused)
        return report(folder)


def design(
    *,
    out: str | Path,
    criterion: str = 'd_optimal',
    config: str | Path | None = None,
    urdf: str | Path | None = None,
    seed: int = 0,
    starts: int = 2,
    time_limit: float | None = None,
    fundamental_hz: float | None = None,
    harmonics: int | None = None,
    samples: int = 100,
    max_iterations: int = 60,
    covariance_from: str | Path | None = None,
) -> str:
    """Design an excitation; writes the trajectory (YAML or JSON) and returns what to print.

    `covariance_from` is the parameters.json of an earlier identification, whose force covariance
    weighs the criterion; without it all forces count alike. Fundamental and harmonics are those
    of the configuration's excitation unless given, else 0.4 Hz and five.
    """
    if urdf is not None:
        raise UsageError('design parallel takes no URDF: the geometry stands in --config')
    criterion = criterion.replace('-', '_')
    configuration = load_configuration(config)
    stored = configuration.excitation
    fundamental_hz = fundamental_hz or (stored.fundamental_hz if stored else 0.4)
    harmonics = harmonics or (stored.harmonics if stored else 5)
    model = configuration.model()
    covariance = None if covariance_from is None else _covariance(Path(covariance_from))
    found = design_trajectory(
        model,
        fundamental_hz,
        criterion=criterion,
        harmonics=harmonics,
        samples=samples,
        force_covariance=covariance,
        starts=starts,
        seed=seed,
        max_iterations=max_iterations,
        time_limit=time_limit,
    )
    target = Path(out)
    data = found.trajectory.to_dict()
    if target.suffix in ('.yaml', '.yml'):
        write_text(target, yaml.safe_dump(data, sort_keys=False))
    else:
        write_text(target, json.dumps(data, indent=2) + '\n')
    use = limits_use(model, found.trajectory)
    limits = configuration.robot.limits
    return (
        f'{target}: {harmonics} harmonics of {found.trajectory.fundamental_hz:g} Hz, criterion '
        f'{criterion}, seed {seed}\n'
        f'condition number {found.condition_number:.5g}, log det {found.log_det:.6g}, '
        f'{found.evaluations} evaluations, stopped by {found.stopped_by}\n'
        f'lengths {use["length_min"]:.4g} to {use["length_max"]:.4g} m (limits '
        f'{limits.length_min:g} to {limits.length_max:g}), rate {use["velocity"]:.4g} m/s '
        f'({limits.velocity:g}), acceleration {use["acceleration"]:.4g} m/s^2 '
        f'({limits.acceleration:g}), Jacobian condition {use["condition"]:.3g} '
        f'({limits.condition:g})\n'
    )


def _covariance(path: Path) -> Array:
    try:
        data = json.loads(path.read_text(encoding='utf-8'))
        covariance = np.array(data['input']['force_covariance'], dtype=float)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f'{path}: no force covariance of an identification in it ({error})'
        ) from error
    if covariance.shape != (6, 6):
        raise InputError(f'{path}: input.force_covariance must be 6 x 6')
    return covariance
