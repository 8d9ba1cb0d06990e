"""The car: what the command line, the API, nodes, reports and demo reach it through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from veh_identification.errors import EstimationError, UsageError
from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult
from veh_identification.results.outcome import Outcome
from veh_identification.systems.base import System, Task
from veh_identification.systems.car.bicycle.identify import (
    HandlingMethod,
    identify_handling,
    single_track,
)
from veh_identification.systems.car.bicycle.outcome import handling_outcome
from veh_identification.systems.car.bicycle.signals import handling_samples
from veh_identification.systems.car.checks.described import check_alone
from veh_identification.systems.car.checks.plausibility import check_handling
from veh_identification.systems.car.configuration import CarDescription, load_configuration
from veh_identification.systems.car.estimation.gathering import CarMethod, as_gathered
from veh_identification.systems.car.estimation.identified import Identified
from veh_identification.systems.car.estimation.identify import (
    check_recording,
    identify_recordings,
)
from veh_identification.systems.car.live.model import CarLiveModel
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.model_2002.identify import (
    Method2002,
    identify_car_2002,
    names_of_2006,
    prepare_2002,
)
from veh_identification.systems.car.outcome import Presentation, Study, car_outcome
from veh_identification.systems.car.parameters import AERODYNAMIC, CORNERS, DESCRIPTIONS, NAMES
from veh_identification.systems.car.processing.signals import Prepared, Processing, prepare
from veh_identification.systems.car.recording.reader import (
    CarRecording,
    Recordings,
    has_wheel_forces,
    read_recording,
)
from veh_identification.systems.car.studies.filters import filter_study
from veh_identification.systems.car.studies.models import compare_models
from veh_identification.systems.car.suspension import study as curve_study
from veh_identification.systems.car.suspension.curves import suspension_curves
from veh_identification.systems.car.tyres import study as tyre_study
from veh_identification.systems.car.tyres.identify import identify_tyres
from veh_identification.systems.options import option
from veh_identification.types import Progress

#: Options that only the model without wheel forces has.
HANDLING_OPTIONS = ('mass', 'mass_std', 'front_share')
#: Probability of a false alarm of the load change test, per chunk.
LOAD_SIGNIFICANCE = 1e-5


@dataclass(frozen=True)
class CarOptions:
    """Options of `identify car`; the model of 2002 has none but `model`."""

    model: str | None = option(
        None,
        '2006: mixed Newton-Lagrange form (Venture 2006); 2002: Lagrange form (Venture 2002), '
        'identified from ramps and validated by braking; handling: single track with roll, '
        'without wheel forces; by default 2006 where wheel forces are recorded, else handling',
        choices=('2006', '2002', 'handling'),
    )
    mass: float | None = option(
        None,
        'mass of the car as driven, where it was weighed [kg] (handling)',
        minimum=1.0,
        maximum=6e4,
    )
    mass_std: float | None = option(
        None,
        'its standard deviation [kg]; by default 1 % (handling)',
        minimum=0.0,
        maximum=1e4,
    )
    front_share: float | None = option(
        None,
        'share of the weight on the front axle by scales, 0 to 1 (handling)',
        minimum=0.0,
        maximum=1.0,
    )
    dof: int | None = option(
        None,
        'degrees of freedom; by default 38 where half track, wheelbase, camber or kingpin are '
        'measured or tabled, else 20',
        choices=(20, 38),
    )
    rate: float | None = option(
        None,
        'rate of the common grid; by default from the recording, in Hz',
        minimum=1.0,
        maximum=2e4,
    )
    chassis_cutoff: float | None = option(
        None,
        'cut-off of the chassis equations; by default from the spectra, in Hz',
        minimum=0.1,
        maximum=5e3,
    )
    suspension_cutoff: float | None = option(
        None,
        'cut-off of the suspension equations; by default from the spectra, in Hz',
        minimum=0.1,
        maximum=5e3,
    )
    paper_rule: bool = option(
        False, 'the unequal filtering of Venture 2006, which ruins masses and dampers'
    )
    gauss_markov: bool = option(
        False, 'weights that also know the noise which equations share (Gauss-Markov)'
    )
    bias_correction: bool = option(
        True, 'take off the bias by sensor noise in the regressor (three times the work)'
    )
    beyond_band: bool = option(
        True, 'take motion above the bands of the sensors from the wheel forces'
    )
    check: bool = option(True, 'look for swapped, turned and wrongly signed sensors')
    calibrate: bool = option(
        True,
        'estimate and apply the pose of the inertial unit, delays and camber where they differ '
        'from the description and the recording tells them',
    )
    aerodynamics: tuple[str, ...] = option(
        (),
        'further aerodynamic coefficient to identify beside Cx',
        metavar='NAME',
        choices=AERODYNAMIC,
    )
    compare_models: bool = option(
        False, 'also identify with 38 and with 20 dof, side by side (Tables II and IV)'
    )
    filter_study: bool = option(False, 'also identify over a range of cut-offs (section VI.B)')
    curves: bool = option(
        False,
        'also look for dampers and springs that are not straight lines, by evidence',
    )
    tyres: bool = option(
        False,
        'also identify the tyres: stiffness, friction, relaxation, rolling; writes .tir files',
    )

    def method(self) -> CarMethod:
        """How the model of 2006 is identified."""
        return CarMethod(
            dof=self.dof,
            names=(*NAMES, *dict.fromkeys(self.aerodynamics)),
            processing=Processing(rate=self.rate, paper_rule=self.paper_rule),
            chassis_cutoff_hz=self.chassis_cutoff,
            suspension_cutoff_hz=self.suspension_cutoff,
            gauss_markov=self.gauss_markov,
            bias_correction=self.bias_correction,
            beyond_band=self.beyond_band,
            check=self.check,
            calibrate=self.calibrate,
        )

    def check_only(self, model: str, known: tuple[str, ...] = ()) -> None:
        """Refuse what a model does not have."""
        given = asdict(self)
        foreign = [
            one.name
            for one in fields(self)
            if one.name not in ('model', *known) and given[one.name] != one.default
        ]
        if foreign:
            names = ', '.join(repr(name) for name in foreign)
            raise UsageError(f'identify car: model {model} has no option {names}')

    def check_2006(self) -> None:
        """Refuse what belongs to the model without wheel forces."""
        foreign = [name for name in HANDLING_OPTIONS if getattr(self, name) is not None]
        if foreign:
            names = ', '.join(repr(name) for name in foreign)
            raise UsageError(f'identify car: model 2006 has no option {names}')


class Car(System[CarDescription, CarRecording]):
    """A passenger car with wheel force sensors."""

    name = 'car'
    title = 'car'
    summary = 'the 33 parameters of a passenger car (Venture 2006, 2002)'
    verbs: ClassVar[Mapping[str, type]] = {'identify': CarOptions}
    glossary = DESCRIPTIONS
    node = 'car_identification'
    template = 'car_template.yaml'

    def configure(self, path: Path | None, options: Any = None) -> CarDescription:
        """The description of a car, or the defaults."""
        return CarDescription() if path is None else load_configuration(path)

    def read(
        self, bag: Path, config: CarDescription, progress: Progress | None = None
    ) -> CarRecording:
        """The sensors' series of one bag."""
        return read_recording(bag, config, progress)

    def checks(self, recording: CarRecording, config: CarDescription) -> list[Finding]:
        """Missing, swapped, turned, late and wrongly signed sensors.

        Without wheel forces: whether the single-track model can be identified, and what channels
        say of each other. Its fit doubts the sensors further.
        """
        if not recording.wrenches:
            told = single_track(handling_samples(recording, config))
            return [told, *check_handling(recording, config)]
        return check_recording(recording, config)

    def described(self, config: CarDescription) -> list[Finding]:
        """Geometry, gravity, weights and values before that no car has."""
        return check_alone(config)

    def identify(self, task: Task[CarDescription]) -> Outcome[IdentificationResult]:
        """The parameters, with the model that the options name."""
        options: CarOptions = task.options
        if options.model == '2002':
            options.check_only('2002')
            return self._identify_2002(task)
        if options.model == 'handling' or (options.model is None and self._without_forces(task)):
            options.check_only('handling', (*HANDLING_OPTIONS, 'check'))
            return self._identify_handling(task)
        options.check_2006()
        return self._identify_2006(task)

    def live(self, config: CarDescription) -> CarLiveModel:
        """The estimate while the car drives."""
        return CarLiveModel(config, CarMethod(), significance=LOAD_SIGNIFICANCE, seconds=15.0)

    def _identify_2006(self, task: Task[CarDescription]) -> Outcome[IdentificationResult]:
        options: CarOptions = task.options
        method, config = options.method(), task.config
        recordings, validation = self._recordings(task)
        identified = identify_recordings(recordings, config, method, validation)
        last = as_gathered(
            validation or recordings.newest, config, method, identified.calibrations
        )
        shown = prepare(*last, method.processing).pieces
        presentation = Presentation(
            f'{identified.result.input["dof"]}-dof model',
            'Mc',
            {name: (name, 1.0) for name in method.names},
        )
        studies = _studies(options, recordings, config, method)
        if options.curves:
            studies.append(_curves(recordings, config, method, identified))
        if options.tyres:
            studies.append(_tyres(recordings, validation, config, method, identified))
        return car_outcome(task, identified, presentation, shown, studies)

    def _without_forces(self, task: Task[CarDescription]) -> bool:
        """Whether no recording holds a wheel force."""
        for one in task.recordings:
            if isinstance(one, CarRecording):
                if one.wrenches:
                    return False
            elif has_wheel_forces(one, task.config):
                return False
        return bool(task.recordings)

    def _identify_handling(self, task: Task[CarDescription]) -> Outcome[IdentificationResult]:
        options: CarOptions = task.options
        recordings, validation = self._recordings(task)
        method = HandlingMethod(options.mass, options.mass_std, options.front_share, options.check)
        identified = identify_handling(recordings, task.config, method, validation)
        return handling_outcome(task, identified)

    def _identify_2002(self, task: Task[CarDescription]) -> Outcome[IdentificationResult]:
        method, config = Method2002(), task.config
        recordings, validation = self._recordings(task)
        identified = identify_car_2002(recordings, config, method, validation)
        _, shown = prepare_2002(validation or recordings.newest, config, method)
        presentation = Presentation('Lagrange model of Venture 2002', 'm6', names_of_2006())
        return car_outcome(task, identified, presentation, shown)

    def _recordings(self, task: Task[CarDescription]) -> tuple[Recordings, CarRecording | None]:
        """The recordings, read when their turn comes, and the one that judges."""
        recordings = Recordings(task.recordings, task.config, task.progress)
        if task.validation is None:
            return recordings, None
        return recordings, self.series(task.validation, task)


def _prepared(
    recording: CarRecording, config: CarDescription, method: CarMethod, identified: Identified
) -> tuple[CarRecording, CarDescription, Prepared]:
    """A recording as it was calibrated, and its signals."""
    known, description = as_gathered(recording, config, method, identified.calibrations)
    return known, description, prepare(known, description, method.processing)


def _curves(
    recordings: Recordings, config: CarDescription, method: CarMethod, identified: Identified
) -> Study:
    """Curves of springs and dampers."""
    several = [_prepared(one, config, method, identified) for one in recordings]
    missing = [one for _, _, done in several for one in done.missing_wrenches]
    missing += [one for _, _, done in several for one in done.missing_travels]
    if missing:
        raise EstimationError(
            f'{several[0][0].label}: suspension curves need force and travel of all wheels; '
            f'missing at: {", ".join(dict.fromkeys(missing))}'
        )
    details = identified.result.input
    # Without motion from the wheel forces, nothing beyond the bands of the sensors is known.
    most = min(details.get('sensor_band_hz', {'': np.inf}).values())
    cutoffs = [min(details['cutoff_hz'][f'suspension_{one}'], most) for one in CORNERS]
    found = suspension_curves(
        CarModel(several[-1][1], details['dof'], method.names),
        [piece for _, _, done in several for piece in done.pieces],
        min(done.cutoff_hz for _, _, done in several),
        cutoffs,
    )
    return Study(
        'suspension_curves',
        found.as_dict(),
        curve_study.table(found) if found.bent else None,
        curve_study.text(found),
        curve_study.findings(found),
        curve_study.files(found),
        curve_study.figures(found),
    )


def _tyres(
    recordings: Recordings,
    validation: CarRecording | None,
    config: CarDescription,
    method: CarMethod,
    identified: Identified,
) -> Study:
    """The tyres, from the recordings as they were calibrated."""
    found = identify_tyres(
        (_prepared(one, config, method, identified) for one in recordings),
        None if validation is None else _prepared(validation, config, method, identified),
    )
    return Study(
        'tyres',
        found.as_dict(),
        tyre_study.table(found),
        tyre_study.text(found),
        found.findings,
        tyre_study.files(found, config),
    )


def _studies(
    options: CarOptions, recordings: Recordings, config: CarDescription, method: CarMethod
) -> list[Study]:
    found = []
    if options.compare_models:
        compared = compare_models(recordings, config, method)
        found.append(
            Study(
                'model_comparison',
                compared.as_dict(),
                compared.table(),
                compared.text(),
                (compared.finding(),),
            )
        )
    if options.filter_study:
        studied = filter_study(recordings, config, method)
        found.append(Study('filter_study', studied.as_dict(), studied.table(), studied.text()))
    return found
