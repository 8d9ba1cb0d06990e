"""`veh-id design car`: the manoeuvre advisor's options, text and files."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification._version import __version__
from veh_identification.atomic import (
    OutputError,
    partial_name,
    prepare_target,
    publish,
    reason,
    remove,
)
from veh_identification.design.car.advisor import (
    DEFAULT_WANTS,
    KMH,
    Advice,
    Advisor,
    Candidate,
    Grid,
    Limits,
    Run,
    parse_wants,
)
from veh_identification.design.car.runs import TrialCar, drive
from veh_identification.design.car.vehicle import sensors_of, vehicle_of
from veh_identification.errors import UsageError
from veh_identification.identification.result import json_safe
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.car.run import Surroundings
from veh_identification.systems.car.configuration import load_configuration
from veh_identification.systems.car.estimation.identify import CarOptions, identify_recordings
from veh_identification.systems.car.parameters import NAMES, unit
from veh_identification.types import Array, Progress

CSV_RATE = 50.0
OURS = ('advice.json', 'manoeuvre.csv', 'manoeuvre_2.csv')
SHOWN = 12
#: Deviations at which an error is no chance any more.
LARGE_ERROR = 5.0
#: No trial has used this seed.
CHECK_SEED = 1000


@dataclass(frozen=True)
class Checked:
    """Deviations that `identify car` finds on an independent simulated drive."""

    value: Array
    found: Array
    offset_scale: float | None  # constant sensor errors that the identification judged

    def ratio(self, predicted: Array) -> Array:
        """Predicted over found."""
        return predicted / self.found

    def errors(self, values: Mapping[str, float]) -> Array:
        """Errors of the values in found deviations: what no deviation predicts."""
        truth = np.array([values[name] for name in NAMES])
        return np.asarray((self.value - truth) / self.found)


def design(
    *,
    out: str | Path,
    config: str | Path | None = None,
    want: Sequence[str] = (),
    speed: Sequence[float] = (),
    frequency: Sequence[float] = (),
    lateral: Sequence[float] = (),
    max_lateral: float = 5.0,
    max_steering_rate: float = 0.5,
    track_length: float | None = None,
    max_duration: float = 600.0,
    noise: float = 1.0,
    roughness: float | None = None,
    dof: int | None = None,
    check: bool = False,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> str:
    """Advise on a manoeuvre; writes advice.json and manoeuvre.csv into `out`, returns the text.

    Speeds in km/h, lateral accelerations in m/s^2; `noise` is a factor on all sensor noise and
    disturbances, `roughness` the road's G(n0) of ISO 8608 in m^3. `check` drives the
    recommendation once more with other noise and another road and identifies it.
    """
    _ready(Path(out))
    path = config or share_directory() / 'config' / 'car_peugeot_406.yaml'
    configuration = load_configuration(path)
    if not noise > 0.0:
        raise UsageError(
            f'design car: --noise must be positive, found {noise:g}: without noise '
            'every deviation is zero'
        )
    vehicle, notes = vehicle_of(configuration)
    if config is None:
        notes.insert(0, 'no --config was given: this is advice for the example car')
    car = TrialCar(
        configuration,
        vehicle,
        sensors_of(configuration, noise),
        Surroundings().roughness if roughness is None else roughness,
        noise,
        dof,
    )
    wants = parse_wants(tuple(want) or DEFAULT_WANTS, vehicle.parameters())
    standard = Grid()
    grid = Grid(
        _positive(speed, 'speed', KMH) or standard.speeds,
        _positive(frequency, 'frequency') or standard.frequencies,
        _positive(lateral, 'lateral') or standard.laterals,
    )
    limits = Limits(max_lateral, max_steering_rate, track_length or math.inf, max_duration)
    advice = Advisor(car, wants, limits, seed=seed).advise(
        grid, time_limit=time_limit, progress=progress
    )
    checked = check_advice(advice, car, seed + CHECK_SEED) if check else None
    text = json.dumps(json_safe(as_dict(advice, car, notes, checked)), indent=2)
    _write(
        Path(out),
        {
            'advice.json': text + '\n',
            **{
                name: manoeuvre_csv(run, configuration.geometry.wheelbase)
                for name, run in zip(OURS[1:], advice.runs, strict=False)
            },
        },
    )
    return advice_text(advice, car, notes, checked) + f'written to {out}\n'


def _ready(out: Path) -> None:
    """Refuse a folder that holds other people's files, before the work starts."""
    foreign = (
        sorted(one.name for one in out.iterdir() if one.name not in OURS) if out.is_dir() else []
    )
    if foreign or (out.exists() and not out.is_dir()):
        found = (
            f'holds {foreign[0]}, which is no advice on a manoeuvre'
            if foreign
            else 'is a file, expected a folder for advice.json and manoeuvre.csv'
        )
        raise OutputError(f'{out} {found}: give another folder')
    prepare_target(out, overwrite=True, replaceable=OURS)


def _write(out: Path, files: dict[str, str]) -> None:
    """All files or none."""
    partial = partial_name(out)
    try:
        partial.mkdir()
        for name, text in files.items():
            (partial / name).write_text(text, encoding='utf-8')
        publish(partial, out, overwrite=True)
    except OSError as failure:
        raise OutputError(f'{out} cannot be written: {reason(failure)}.') from failure
    finally:
        remove(partial)


def _positive(values: Sequence[float], name: str, factor: float = 1.0) -> tuple[float, ...]:
    for value in values:
        if not (value > 0.0 and math.isfinite(value)):
            raise UsageError(f'design car: --{name} must be positive, found {value:g}')
    return tuple(factor * value for value in values)


def check_advice(advice: Advice, car: TrialCar, seed: int) -> Checked:
    """Drive the recommendation with another seed and identify it as a user would."""
    recordings = [
        drive(car, run.sine, run.seconds, seed + place, seed + place).recording
        for place, run in enumerate(advice.runs)
    ]
    result = identify_recordings(recordings, car.configuration, CarOptions(dof=car.dof))
    return Checked(result.value, result.std, result.input.get('offset_scale'))


def manoeuvre_csv(run: Run, wheelbase: float) -> str:
    """Time, steering angle of the front wheels and speed for one pass."""
    end = run.seconds / run.passes
    t = np.arange(round(end * CSV_RATE) + 1) / CSV_RATE
    steering = run.sine.manoeuvre.steering(t, end, wheelbase)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator='\n')
    writer.writerow(['time_s', 'steering_rad', 'speed_m_per_s'])
    writer.writerows(
        [f'{a:.3f}', f'{b:.6f}', f'{run.sine.speed:.4f}'] for a, b in zip(t, steering, strict=True)
    )
    return buffer.getvalue()


def as_dict(
    advice: Advice, car: TrialCar, notes: Sequence[str], checked: Checked | None
) -> dict[str, Any]:
    """Content of advice.json."""
    wheelbase = car.configuration.geometry.wheelbase
    asked = {want.name: want.sigma for want in advice.wants}
    return {
        'system': 'car',
        'car': car.configuration.name,
        'version': __version__,
        'notes': list(notes),
        'recommended': [
            {
                'speed_km_per_h': run.sine.speed / KMH,
                'frequency_hz': run.sine.frequency,
                'steering_amplitude_rad': run.sine.amplitude(wheelbase),
                'steering_rate_rad_per_s': run.sine.steering_rate(wheelbase),
                'aimed_lateral_m_per_s2': run.sine.lateral,
                'duration_s': run.seconds,
                'passes': run.passes,
                'distance_m': run.seconds * run.sine.speed,
            }
            for run in advice.runs
        ],
        'missed': list(advice.missed),
        'never_by_driving_longer': list(advice.never),
        'offset_scale': advice.offset_scale,
        'candidates_not_tried': advice.untried,
        'parameters': [
            {
                'name': name,
                'unit': unit(name),
                'value': advice.values[name],
                'predicted_std': advice.deviations[k],
                'predicted_rel_std_percent': _percent(advice.deviations[k], advice.values[name]),
                'wanted_std': asked.get(name),
                'identified_std': None if checked is None else checked.found[k],
                'identified_value': None if checked is None else checked.value[k],
            }
            for k, name in enumerate(NAMES)
        ],
        'candidates': [_candidate(one, advice, wheelbase) for one in advice.candidates],
        'limits': {
            'lateral_m_per_s2': advice.limits.lateral,
            'steering_rate_rad_per_s': advice.limits.steering_rate,
            'track_length_m': advice.limits.track_length,
            'longest_s': advice.limits.longest,
        },
        'trial': {'noise_factor': car.noise, 'road_roughness_m3': car.roughness, 'dof': car.dof},
    }


def _candidate(one: Candidate, advice: Advice, wheelbase: float) -> dict[str, Any]:
    content: dict[str, Any] = {
        'speed_km_per_h': one.sine.speed / KMH,
        'frequency_hz': one.sine.frequency,
        'steering_amplitude_rad': one.sine.amplitude(wheelbase),
        'excluded': one.excluded,
    }
    if one.trial is not None:
        content |= {
            'peak_lateral_m_per_s2': one.trial.lateral,
            'peak_steering_rate_rad_per_s': one.trial.steering_rate,
            'share_beyond_linear_suspension': one.trial.beyond_linear,
        }
    if not one.excluded:
        content |= {
            'duration_s': one.seconds,
            'std_after_60_s': {
                want.name: one.at_minute[NAMES.index(want.name)] for want in advice.wants
            },
        }
    return content


def _percent(deviation: float, value: float) -> float:
    return 100.0 * float(deviation) / abs(value) if value else math.inf


def advice_text(
    advice: Advice, car: TrialCar, notes: Sequence[str], checked: Checked | None
) -> str:
    """What the user reads."""
    wheelbase = car.configuration.geometry.wheelbase
    lines = [f'note: {note}' for note in notes]
    lines += ['', *_table(advice, wheelbase), '', 'recommended:']
    for run in advice.runs:
        angle = run.sine.amplitude(wheelbase)
        many = f' in {run.passes} passes' if run.passes > 1 else ''
        lines.append(
            f'  {run.seconds:.0f} s{many} at {run.sine.speed / KMH:.0f} km/h, steering sine of '
            f'{run.sine.frequency:g} Hz and {angle:.4f} rad ({math.degrees(angle):.2f} deg) at '
            f'the front wheels, about {run.seconds * run.sine.speed / 1e3:.2f} km'
        )
    head = f'{"deviation of":<12} {"value":>10} {"wanted":>9} {"predicted":>9} {"%":>7}'
    lines += [
        '',
        head
        + (f' {"identified":>10} {"ratio":>6} {"error/dev":>10}' if checked is not None else ''),
    ]
    for want in advice.wants:
        lines.append(_row(want.name, want.sigma, advice, checked))
    if checked is not None:
        ratio = checked.ratio(advice.deviations)
        lines.append(
            f'an independent simulated drive was identified: predicted over identified '
            f'deviation of all parameters {ratio.min():.2f} to {ratio.max():.2f}'
        )
        errors = checked.errors(advice.values)
        wrong = [
            f'{name} ({errors[k]:+.0f})'
            for k, name in enumerate(NAMES)
            if abs(errors[k]) > LARGE_ERROR
        ]
        if wrong:
            lines.append(
                f'values off by more than {LARGE_ERROR:g} deviations: the model lacks '
                f'something, driving longer does not help: {", ".join(wrong)}'
            )
        if advice.offset_scale is not None and checked.offset_scale is not None:
            lines.append(
                'constant sensor errors over typical ones: predicted with '
                f'{advice.offset_scale:.2f}, judged from that drive '
                f'{checked.offset_scale:.2f} (give offset in the configuration if known)'
            )
    for name in advice.missed:
        why = (
            (
                'constant errors of the sensors alone are larger: calibrate them (offset in the '
                'configuration)'
            )
            if name in advice.never
            else 'allow more time, more lateral acceleration or better sensors'
        )
        lines.append(f'NOT REACHED: {name}: {why}')
    return '\n'.join(lines) + '\n'


def _row(name: str, sigma: float, advice: Advice, checked: Checked | None) -> str:
    place, value = NAMES.index(name), advice.values[name]
    predicted = float(advice.deviations[place])
    percent = _percent(predicted, value)
    shown = f'{percent:.3f}' if percent < 1000.0 else ''
    row = f'{name:<12} {value:>10.5g} {sigma:>9.3g} {predicted:>9.3g} {shown:>7}'
    if checked is not None:
        row += (
            f' {checked.found[place]:>10.3g} {predicted / checked.found[place]:>6.2f} '
            f'{checked.errors(advice.values)[place]:>10.1f}'
        )
    return row


def _table(advice: Advice, wheelbase: float) -> list[str]:
    """The best candidates; per parameter the worst of wanted ones after one minute."""
    usable = sorted(
        (one for one in advice.candidates if not one.excluded),
        key=lambda one: (one.seconds, _worst(one, advice)[0]),
    )
    lines = [
        f'{"km/h":>5} {"Hz":>5} {"steer rad":>9} {"lateral":>8} {"needs s":>8}  '
        'predicted / wanted deviation after 60 s'
    ]
    for one in usable[:SHOWN]:
        assert one.trial is not None
        ratio, name = _worst(one, advice)
        needs = f'{one.seconds:.0f}' if math.isfinite(one.seconds) else 'never'
        lines.append(
            f'{one.sine.speed / KMH:>5.0f} {one.sine.frequency:>5.2f} '
            f'{one.sine.amplitude(wheelbase):>9.4f} {one.trial.lateral:>8.2f} '
            f'{needs:>8}  {ratio:.2f} ({name})'
        )
    reasons = [one.excluded for one in advice.candidates if one.excluded]
    lines += [
        f'{reasons.count(reason)} candidates left out: {reason}'
        for reason in dict.fromkeys(reasons)
    ]
    if len(usable) > SHOWN:
        lines.append(f'{len(usable) - SHOWN} more in advice.json')
    if advice.untried:
        lines.append(f'{advice.untried} candidates were not tried for want of time')
    return lines


def _worst(one: Candidate, advice: Advice) -> tuple[float, str]:
    ratios = [
        (float(one.at_minute[NAMES.index(want.name)] / want.sigma), want.name)
        for want in advice.wants
    ]
    return max(ratios)
