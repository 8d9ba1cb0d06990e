"""The steps of the command line for people who script: read, identify, validate, export.

Everything is imported when it is first used. `docs/python_api.md` shows each system in a few
lines, which the tests run. Configurations may be given as a path, as the name of a file in
`config/` (`'car_peugeot_406'`), or as the loaded object.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veh_identification.errors import BagError, UsageError
from veh_identification.types import Progress

if TYPE_CHECKING:
    from veh_identification.identification import IdentificationResult
    from veh_identification.identification import save as save
    from veh_identification.identification import to_table as to_table
    from veh_identification.runtime.bags import BagReader as BagReader
    from veh_identification.runtime.bags import read_columns as read_columns
    from veh_identification.runtime.convert import convert as convert
    from veh_identification.runtime.convert import read_mapping as read_mapping
    from veh_identification.runtime.replay.bag import replay_graph as replay_graph
    from veh_identification.simulation.scenarios import simulate as simulate
    from veh_identification.systems.car.configuration import CarConfiguration
    from veh_identification.systems.car.recording.reader import CarRecording
    from veh_identification.systems.humanoid.command import Outcome
    from veh_identification.systems.parallel import Configuration as HexapodConfiguration
    from veh_identification.systems.parallel import PeriodicRecord
    from veh_identification.systems.vehicle.observer.run import Run

#: What this module hands on as it is.
_ELSEWHERE = {
    'BagReader': 'veh_identification.runtime.bags',
    'convert': 'veh_identification.runtime.convert',
    'read_columns': 'veh_identification.runtime.bags',
    'read_mapping': 'veh_identification.runtime.convert',
    'replay_graph': 'veh_identification.runtime.replay.bag',
    'save': 'veh_identification.identification',
    'simulate': 'veh_identification.simulation.scenarios',
    'to_table': 'veh_identification.identification',
}
__all__ = [
    'BagReader',
    'Observation',
    'convert',
    'design',
    'identify',
    'identify_car',
    'identify_humanoid',
    'identify_parallel',
    'load_car',
    'load_parallel',
    'observe',
    'observe_vehicle',
    'read_car',
    'read_columns',
    'read_mapping',
    'read_parallel',
    'replay_graph',
    'save',
    'simulate',
    'to_table',
]


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f'veh_identification.api has no {name!r}')
    return getattr(importlib.import_module(_ELSEWHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def _file(config: str | Path) -> Path:
    from veh_identification.runtime.graph import find_config

    return find_config(config)


# Whole commands, with all their files ------------------------------------------------------------


def identify(
    system: str,
    bags: Sequence[str | Path],
    out: str | Path,
    validate: str | Path | None = None,
    config: str | Path | None = None,
    urdf: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> str:
    """`veh-id identify SYSTEM`: writes every result into `out` and returns the printed text.

    `options` are those of the system: of the car `model`, `dof`, `compare_models` ... as on the
    command line, with underscores; of the others entries of their configuration.
    """
    from veh_identification.systems.registry import IDENTIFY, load

    text: str = load(IDENTIFY, 'identify', system)(
        bags=list(bags),
        out=out,
        validate=validate,
        config=None if config is None else _file(config),
        urdf=urdf,
        progress=progress,
        **options,
    )
    return text


def design(
    system: str,
    out: str | Path,
    config: str | Path | None = None,
    **options: Any,
) -> str:
    """`veh-id design SYSTEM`: writes a motion that excites the parameters, returns the text.

    `options` are those of the command line, with underscores: `criterion`, `urdf`, `seed`,
    `starts`, `time_limit`, `want` ...
    """
    from veh_identification.systems.registry import DESIGN, load

    file = None if config is None else _file(config)
    text: str = load(DESIGN, 'design', system)(out=out, config=file, **options)
    return text


def observe(
    system: str,
    bag: str | Path,
    out: str | Path,
    config: str | Path | None = None,
    progress: Progress | None = None,
) -> str:
    """`veh-id observe SYSTEM`: writes every result into `out` and returns the printed text."""
    from veh_identification.systems.registry import OBSERVE, load

    file = None if config is None else _file(config)
    text: str = load(OBSERVE, 'observe', system)(bag=bag, out=out, config=file, progress=progress)
    return text


# Car: Venture 2006 and Venture 2002 --------------------------------------------------------------


def load_car(config: str | Path) -> CarConfiguration:
    """Geometry, sensor poses and a-priori values of a car."""
    from veh_identification.systems.car.configuration import load_configuration

    return load_configuration(_file(config))


def read_car(
    bag: str | Path, car: CarConfiguration | str | Path, progress: Progress | None = None
) -> CarRecording:
    """The signals of a car that `identify_car` needs, from one recording."""
    from veh_identification.systems.car.recording.reader import read_recording

    return read_recording(bag, load_car(car) if isinstance(car, (str, Path)) else car, progress)


def identify_car(
    recordings: Sequence[CarRecording],
    car: CarConfiguration | str | Path,
    validation: CarRecording | None = None,
    **options: Any,
) -> IdentificationResult:
    """The 33 parameters of a car; `options` are those of `systems.car.command.make_options`."""
    from veh_identification.systems.car.command import make_options
    from veh_identification.systems.car.estimation.identify import identify_recordings

    configuration = load_car(car) if isinstance(car, (str, Path)) else car
    return identify_recordings(recordings, configuration, make_options(options), validation)


# Humanoid: Ayusawa 2008 --------------------------------------------------------------------------


def identify_humanoid(
    bags: Sequence[str | Path],
    urdf: str | Path,
    validate: str | Path | None = None,
    config: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Outcome:
    """Base parameters of a humanoid from contact wrenches and motion.

    `outcome.result` is the identification, `outcome.urdf` the identified robot description,
    `outcome.notes` what the recordings had that a user should know.
    """
    from veh_identification.systems.humanoid.command import run

    if not bags:
        raise UsageError('identify_humanoid needs at least one recording')
    file = None if config is None else _file(config)
    return run(bags, urdf, validate, file, progress, **options)


# Parallel robot: Abdellatif 2009 -----------------------------------------------------------------


def load_parallel(config: str | Path | None = None) -> HexapodConfiguration:
    """Geometry, model structure, limits and excitation of a six-legged parallel robot."""
    from veh_identification.systems.parallel import load_configuration

    return load_configuration(None if config is None else _file(config))


def read_parallel(bag: str | Path, robot: HexapodConfiguration | None = None) -> PeriodicRecord:
    """The mean period of a recording, with the scatter of the periods about it."""
    from veh_identification.systems.parallel import periodic_record, read_legs

    excitation = (robot or load_parallel()).excitation
    if excitation is None:
        return periodic_record(read_legs(bag))
    return periodic_record(read_legs(bag), excitation.fundamental_hz, excitation.harmonics)


def identify_parallel(
    records: Sequence[PeriodicRecord],
    robot: HexapodConfiguration | None = None,
    validate: str | Path | None = None,
) -> IdentificationResult:
    """Parameters of a parallel robot by maximum likelihood, which also finds the cut-off.

    A model that does not explain the forces is refused; lesser doubts are in `input['warnings']`.
    """
    from veh_identification.systems import parallel as hexapod
    from veh_identification.systems.parallel.checks import judge
    from veh_identification.systems.parallel.estimation.likelihood import with_cutoff
    from veh_identification.systems.parallel.estimation.validation import held_out, validate_model

    robot = robot or load_parallel()
    model, found = robot.model(), list(records)
    harmonics = robot.excitation.harmonics if robot.excitation else 5
    likelihood = hexapod.maximum_likelihood(model, found, harmonics)
    system = hexapod.equations(model, found, harmonics, 'frequency', likelihood.cutoff_hz)
    result = hexapod.gauss_markov(model, system, hexapod.pooled_force_covariance(found))
    doubts = judge(model, found, harmonics, likelihood.cutoff_hz, system, result.value)
    result.input['warnings'] = [*doubts, *(w for record in found for w in record.warnings)]
    result.system, result.estimator = 'parallel', 'maximum-likelihood'
    result = with_cutoff(result, likelihood.cutoff_hz, likelihood.cutoff_std)
    if validate is not None:
        unseen = held_out(robot.robot, validate)
        result.validation = validate_model(model, unseen, result.value[:-1])
    return result


# Vehicle observer: Sinigaglia 2016 ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Observation:
    """An observer's run over a recording."""

    run: Run  # states over time
    metrics: dict[str, Any]  # as in metrics.json
    notes: list[str]  # what was missing and what was done about it


def observe_vehicle(
    bag: str | Path, config: str | Path | None = None, progress: Progress | None = None
) -> Observation:
    """Run the errorEKF over a recording of a four-wheel car.

    Where the bag holds a truth, `metrics['coordinates']` compares the observer with it, and beside
    it the uncorrected model.
    """
    from veh_identification.systems.vehicle.command import (
        make_system,
        offline_options,
        uncorrected,
    )
    from veh_identification.systems.vehicle.loading import load
    from veh_identification.systems.vehicle.model.vehicle import Vehicle
    from veh_identification.systems.vehicle.observer.run import observe_arrivals
    from veh_identification.systems.vehicle.recording.reader import read
    from veh_identification.systems.vehicle.results.metrics import summary

    file = None if config is None else _file(config)
    car = load(file)
    recording = read(Path(bag), car, Vehicle(car).rack_per_angle())
    system = make_system(recording, file)
    found = observe_arrivals(system, recording, offline_options(system), progress)
    if found is None:
        raise BagError(f'{bag}: no step of the observer could be made of its messages')
    recording.notes.extend(found.observer.events)
    session, model = found.session, uncorrected(found, recording, progress)
    repeated = session.observed.repeated_steps
    metrics = summary(recording, found.run, model, session.filter, repeated)
    return Observation(found.run, metrics, list(recording.notes))
