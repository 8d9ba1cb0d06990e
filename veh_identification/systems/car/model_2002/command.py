"""`veh-id identify car --model 2002`: the Lagrange car of Venture 2002 from bags to files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from veh_identification.errors import UsageError
from veh_identification.identification import IdentificationResult
from veh_identification.reporting.hooks import write_identification_report
from veh_identification.results.identification import simulated_truth
from veh_identification.systems.car.configuration import CarConfiguration, load_configuration
from veh_identification.systems.car.model_2002.braking import (
    Options2002,
    identify_car_2002,
    names_of_2006,
    prepare_2002,
)
from veh_identification.systems.car.model_2002.lagrange import LagrangeCar
from veh_identification.systems.car.recording.reader import Recordings, read_recording
from veh_identification.systems.car.results import BAG, result_text, write_results
from veh_identification.types import Progress


def identify_2002_bags(
    *,
    bags: Sequence[str | Path],
    out: str | Path,
    validate: str | Path | None = None,
    config: str | Path | None = None,
    cutoff_hz: float = 8.0,
    anti_roll: bool = True,
    camber: bool = True,
    progress: Progress | None = None,
) -> str:
    """Identify from bags, validate on another one (a braking run), write all results to `out`.

    The text that is returned also says which equations the validation run does not move.
    """
    if not bags:
        raise UsageError('identify car needs at least one --bag')
    if not cutoff_hz > 0.0:
        raise UsageError(f'identify car: the cut-off must be positive, found {cutoff_hz:g} Hz')
    configuration = CarConfiguration() if config is None else load_configuration(config)
    opened = Recordings(bags, configuration, progress)
    braking = None if validate is None else read_recording(validate, configuration)
    options = Options2002(cutoff_hz, anti_roll, camber)
    result = identify_car_2002(opened, configuration, options, braking)
    result.input['configuration'] = str(config or 'none')
    assert opened.last is not None
    pieces, _ = prepare_2002(braking or opened.last, configuration, options)
    report = write_results(
        out,
        result,
        LagrangeCar(configuration, anti_roll),
        pieces,
        lambda folder: write_identification_report(
            folder,
            result,
            reconstruction=BAG,
            bags=bags,
            out=out,
            validate=validate,
            config=config,
            truth=truth_2002(bags[0]),
            choices={'model': '2002'},
        ),
    )
    return f'{text_2002(result)}{report}\n'


def truth_2002(bag: str | Path) -> dict[str, float]:
    """True values of a simulated recording under the names and signs of Venture 2002."""
    known = simulated_truth(bag)
    return {
        name: sign * known[other]
        for name, (other, sign) in names_of_2006().items()
        if other in known
    }


def text_2002(result: IdentificationResult) -> str:
    """The usual text, with what the validation cannot say."""
    text = result_text(result)
    excited = result.extra.get('validation_excited')
    if excited is not None:
        idle = [name for name, one in excited.items() if not one]
        if idle:
            text += (
                'the validation run does not move these equations, their relative rms says '
                f'nothing: {" ".join(idle)}\n'
            )
    return text
