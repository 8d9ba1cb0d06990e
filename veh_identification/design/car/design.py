"""`veh-id design car`: advice on a manoeuvre, with what it will bring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from veh_identification.design.base import Design, DesignTask, time_ran_out
from veh_identification.design.car.advice_report import (
    advice_text,
    as_dict,
    manoeuvre_csv,
    missed_wants,
)
from veh_identification.design.car.advisor import (
    DEFAULT_WANTS,
    KMH,
    Advice,
    Advisor,
    Grid,
    Limits,
    wants_of,
)
from veh_identification.design.car.independent_check import Checked, check_advice
from veh_identification.design.car.simulated_car import sensors_of, vehicle_of
from veh_identification.design.car.trial_drives import TrialCar
from veh_identification.errors import UsageError
from veh_identification.findings import Finding, verdict_of
from veh_identification.results.outcome import Outcome, Value
from veh_identification.results.provenance import provenance
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.car.run import Surroundings
from veh_identification.systems.car.configuration import CarDescription, load_configuration
from veh_identification.systems.car.parameters import NAMES, unit
from veh_identification.systems.options import option

EXAMPLE = 'car_peugeot_406.yaml'
MANOEUVRES = ('manoeuvre.csv', 'manoeuvre_2.csv')
#: No trial has used this seed.
CHECK_SEED = 1000


@dataclass(frozen=True)
class CarDesignOptions:
    """Options of `design car`."""

    want: tuple[str, ...] = option(
        (),
        'standard deviation to reach, in percent (ZZc=3%) or in its unit',
        metavar='NAME=SIGMA',
    )
    speed: tuple[float, ...] = option((), 'speed of the candidates, km/h', metavar='KMH')
    frequency: tuple[float, ...] = option((), 'frequency of the steering sine, Hz', metavar='HZ')
    lateral: tuple[float, ...] = option(
        (), 'lateral acceleration that the candidates aim at, m/s^2', metavar='M/S2'
    )
    max_lateral: float = option(5.0, 'largest lateral acceleration, m/s^2', metavar='M/S2')
    max_steering_rate: float = option(
        0.5, 'largest rate of the front wheels, rad/s', metavar='RAD/S'
    )
    track_length: float | None = option(
        None, 'length of one pass; default: no limit, m', metavar='M'
    )
    max_duration: float = option(600.0, 'longest drive in all, s', metavar='S')
    noise: float = option(1.0, 'factor on all sensor noise and disturbances', metavar='X')
    roughness: float | None = option(
        None, 'road roughness G(n0) of ISO 8608; default: 24e-6, m^3', metavar='M3'
    )
    dof: int | None = option(None, 'model; default: 38', choices=(20, 38))
    check: bool = option(False, 'identify a simulated drive of the recommendation')
    seed: int = option(0, 'of road and noise', minimum=0)
    time_limit: float = option(120.0, 'for the whole search, 0: none, s', metavar='S', minimum=0.0)


@dataclass(frozen=True, eq=False)
class CarAdvice:
    """The recommendation, and what an independent drive said of it."""

    advice: Advice
    checked: Checked | None = None


class CarDesign(Design[CarDescription, CarAdvice]):
    """The manoeuvre advisor."""

    name: ClassVar[str] = 'car'
    options: ClassVar[type] = CarDesignOptions
    files: ClassVar[tuple[str, ...]] = ('advice.json', *MANOEUVRES)

    def configure(self, path: Path | None) -> CarDescription:
        """The car of a file, or the example car."""
        return load_configuration(path or share_directory() / 'config' / EXAMPLE)

    def design(self, task: DesignTask[CarDescription]) -> Outcome[CarAdvice]:
        """Drive every candidate and recommend."""
        chosen: CarDesignOptions = task.options
        car, assumed = _trial_car(task.config, chosen)
        if not task.described:
            text = 'no --config was given: this is advice for the example car'
            assumed.insert(0, Finding('warn', 'example_car', text, 'config'))
        wants = wants_of(chosen.want or DEFAULT_WANTS, car.vehicle.parameters())
        limits = Limits(
            chosen.max_lateral,
            chosen.max_steering_rate,
            chosen.track_length or math.inf,
            chosen.max_duration,
        )
        advice = Advisor(car, wants, limits, seed=chosen.seed).advise(
            _grid(chosen), time_limit=chosen.time_limit or None, progress=task.progress
        )
        checked = check_advice(advice, car, chosen.seed + CHECK_SEED) if chosen.check else None
        verdict = verdict_of(
            [
                *missed_wants(advice),
                *assumed,
                *_untried(advice, chosen.time_limit),
                *([] if checked is None else checked.findings(advice)),
            ],
            yes='this manoeuvre is expected to reach every wanted deviation',
        )
        facts = as_dict(advice, car, [one.text for one in assumed], checked)
        wheelbase = task.config.geometry.wheelbase
        return Outcome(
            'design',
            self.name,
            CarAdvice(advice, checked),
            verdict,
            provenance('design', self.name, task.arguments, {'trial': facts['trial']}),
            _values(advice),
            advice_text(advice, car, checked),
            ('advice.json', {**facts, 'verdict': verdict.as_dict()}),
            files={
                name: manoeuvre_csv(run, wheelbase).encode()
                for name, run in zip(MANOEUVRES, advice.runs, strict=False)
            },
            inputs=task.inputs,
        )


def _trial_car(
    configuration: CarDescription, chosen: CarDesignOptions
) -> tuple[TrialCar, list[Finding]]:
    """The simulated car, and what had to be assumed of it."""
    if not chosen.noise > 0.0:
        raise UsageError(
            f'design car: --noise must be positive, found {chosen.noise:g}: without noise '
            'every deviation is zero'
        )
    vehicle, assumed = vehicle_of(configuration)
    roughness = Surroundings().roughness if chosen.roughness is None else chosen.roughness
    sensors = sensors_of(configuration, chosen.noise)
    return (
        TrialCar(configuration, vehicle, sensors, roughness, chosen.noise, chosen.dof),
        assumed,
    )


def _grid(chosen: CarDesignOptions) -> Grid:
    standard = Grid()
    return Grid(
        _positive(chosen.speed, 'speed', KMH) or standard.speeds,
        _positive(chosen.frequency, 'frequency') or standard.frequencies,
        _positive(chosen.lateral, 'lateral') or standard.laterals,
    )


def _positive(values: Sequence[float], name: str, factor: float = 1.0) -> tuple[float, ...]:
    for value in values:
        if not (value > 0.0 and math.isfinite(value)):
            raise UsageError(f'design car: --{name} must be positive, found {value:g}')
    return tuple(factor * value for value in values)


def _untried(advice: Advice, seconds: float) -> list[Finding]:
    if not advice.untried:
        return []
    total = len(advice.candidates) + advice.untried
    return [time_ran_out(seconds, f'{len(advice.candidates)} of {total} candidates')]


def _values(advice: Advice) -> dict[str, Any]:
    """The simulated car's parameters with the deviations that are expected."""
    return {
        name: Value(
            name,
            advice.values[name],
            float(advice.deviations[k]),
            unit(name),
            'value of the simulated car, with the deviation that is expected',
        )
        for k, name in enumerate(NAMES)
    }
