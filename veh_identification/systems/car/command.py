"""`veh-id identify car`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from veh_identification.errors import UsageError
from veh_identification.reporting.hooks import write_identification_report
from veh_identification.systems.car.checks.explanations import Finding
from veh_identification.systems.car.configuration import CarConfiguration, load_configuration
from veh_identification.systems.car.estimation.identify import CarOptions, identify_recordings
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.model_2002.command import identify_2002_bags
from veh_identification.systems.car.parameters import AERODYNAMIC, NAMES
from veh_identification.systems.car.processing.signals import Processing, prepare
from veh_identification.systems.car.recording.reader import Recordings, read_recording
from veh_identification.systems.car.results import BAG, result_text, write_results
from veh_identification.systems.car.studies.filters import filter_study
from veh_identification.systems.car.studies.models import compare_models
from veh_identification.types import Progress

OPTIONS = {
    'dof',
    'rate',
    'chassis_cutoff',
    'suspension_cutoff',
    'paper_rule',
    'gauss_markov',
    'bias_correction',
    'aerodynamics',
}
#: What `identify` does beside the identification itself.
STUDIES = {'compare_models', 'filter_study'}
#: Options of Python only: a command line in a report cannot name them.
PYTHON_ONLY = {'bias_correction', 'aerodynamics'}


def identify(
    *,
    bags: Sequence[str | Path],
    out: str | Path,
    validate: str | Path | None = None,
    config: str | Path | None = None,
    urdf: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> str:
    """Identify a car from bags (concatenated), write the results to `out`, return the text.

    Options: dof (20, 38), rate (Hz of the common grid), chassis_cutoff and suspension_cutoff
    (Hz), paper_rule (the unequal filtering of Venture 2006), gauss_markov, bias_correction,
    aerodynamics (names among Cy Cz Cl Cm Cn to identify beside Cx); compare_models (38 and 20 dof
    side by side), filter_study (estimates over cut-offs); model ('2006', or '2002' for the
    Lagrange car of Venture 2002, which takes bags, validate and config only).
    """
    if urdf is not None:
        raise UsageError('identify car takes no URDF: the geometry stands in --config')
    if not bags:
        raise UsageError('identify car needs at least one --bag')
    if str(options.pop('model', '2006')) == '2002':
        if options:
            raise UsageError(f'identify car --model 2002 has no option {sorted(options)[0]!r}')
        return identify_2002_bags(
            bags=bags, out=out, validate=validate, config=config, progress=progress
        )
    given = dict(options)
    studies = {name for name in STUDIES if options.pop(name, False)}
    chosen = make_options(options)
    configuration = CarConfiguration() if config is None else load_configuration(config)
    opened = Recordings(bags, configuration, progress)
    validation = None if validate is None else read_recording(validate, configuration)
    result = identify_recordings(opened, configuration, chosen, validation)
    findings = list(result.extra['findings'])
    if config is None:
        findings.insert(
            0,
            Finding(
                'no_configuration',
                'no --config was given: wheelbase 2.70 m, half tracks 0.75 and '
                '0.74 m and sensors at the base_link origin (or where /tf_static says) are '
                'assumed',
            ).as_dict(),
        )
    result.extra['findings'] = findings
    result.input['configuration'] = str(config or 'none')
    assert opened.last is not None
    shown = validation or opened.last
    model = CarModel(configuration, int(result.input['dof']), tuple(result.names))
    pieces = prepare(shown, configuration, chosen.processing).pieces
    text = ''
    if 'compare_models' in studies:
        compared = compare_models(opened, configuration, chosen)
        result.extra['model_comparison'], text = compared.as_dict(), text + compared.text()
    if 'filter_study' in studies:
        studied = filter_study(opened, configuration, chosen)
        result.extra['filter_study'], text = studied.as_dict(), text + studied.text()
    report = write_results(
        out,
        result,
        model,
        pieces,
        lambda folder: write_identification_report(
            folder,
            result,
            reconstruction=BAG,
            bags=bags,
            out=out,
            validate=validate,
            config=config,
            choices={name: value for name, value in given.items() if name not in PYTHON_ONLY},
        ),
    )
    return f'{result_text(result)}{text}{report}\n'


def make_options(options: dict[str, Any]) -> CarOptions:
    """Options of the command line as CarOptions."""
    given = {key: value for key, value in options.items() if value is not None}
    unknown = sorted(set(given) - OPTIONS)
    if unknown:
        raise UsageError(
            f'identify car has no option {unknown[0]!r}; it has {", ".join(sorted(OPTIONS))}'
        )
    dof = given.get('dof')
    if dof is not None and int(dof) not in (20, 38):
        raise UsageError(f'identify car: dof must be 20 or 38, found {dof!r}')
    extra = tuple(given.get('aerodynamics', ()))
    wrong = [name for name in extra if name not in AERODYNAMIC]
    if wrong:
        raise UsageError(
            f'identify car: aerodynamics knows {", ".join(AERODYNAMIC)}, found {wrong[0]!r}'
        )
    return CarOptions(
        dof=None if dof is None else int(dof),
        names=(*NAMES, *extra),
        processing=Processing(
            rate=given.get('rate'), paper_rule=bool(given.get('paper_rule', False))
        ),
        chassis_cutoff_hz=given.get('chassis_cutoff'),
        suspension_cutoff_hz=given.get('suspension_cutoff'),
        gauss_markov=bool(given.get('gauss_markov', False)),
        bias_correction=bool(given.get('bias_correction', True)),
    )
