"""`veh-id identify car --model 2002`: the Lagrange car of document 001 from bags to files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from veh_identification.errors import UsageError
from veh_identification.identification import IdentificationResult, save
from veh_identification.reporting.hooks import write_identification_report
from veh_identification.runtime.atomic import atomic_folder
from veh_identification.systems.car.braking_2002 import Options2002, identify_car_2002
from veh_identification.systems.car.configuration import CarConfiguration, load_configuration
from veh_identification.systems.car.output import result_text
from veh_identification.systems.car.recording import read_recording

Progress = Callable[[int, int], None]


def identify_2002_bags(*, bags: Sequence[str | Path], out: str | Path,
                       validate: str | Path | None = None, config: str | Path | None = None,
                       cutoff_hz: float = 8.0, anti_roll: bool = True, camber: bool = True,
                       progress: Progress | None = None) -> str:
    """Identify from bags, validate on another one (a braking run), write parameters.json and csv.

    The text that is returned also says which equations the validation run does not move.
    """
    if not bags:
        raise UsageError('identify car needs at least one --bag')
    if not cutoff_hz > 0.0:
        raise UsageError(f'identify car: the cut-off must be positive, found {cutoff_hz:g} Hz')
    configuration = CarConfiguration() if config is None else load_configuration(config)
    recordings = (read_recording(bag, configuration, progress) for bag in bags)
    braking = None if validate is None else read_recording(validate, configuration)
    result = identify_car_2002(recordings, configuration,
                               Options2002(cutoff_hz, anti_roll, camber), braking)
    result.input['configuration'] = str(config or 'none')
    with atomic_folder(out, overwrite=True) as partial:
        save(result, partial)
        # Its parameters are regrouped: the names of truth.json mean other things.
        report = write_identification_report(partial, result, reconstruction=None, bags=bags,
                                             out=out, validate=validate, config=config, truth={})
    return f'{text_2002(result)}{report}\n'


def text_2002(result: IdentificationResult) -> str:
    """The usual text, with what the validation cannot say."""
    text = result_text(result)
    excited = result.extra.get('validation_excited')
    if excited is not None:
        idle = [name for name, one in excited.items() if not one]
        if idle:
            text += ('the validation run does not move these equations, their relative rms says '
                     f'nothing: {" ".join(idle)}\n')
    return text
