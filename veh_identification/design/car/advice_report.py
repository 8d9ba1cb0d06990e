"""Advice on a manoeuvre for people and programs: findings, text, advice.json, CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from veh_identification._version import __version__
from veh_identification.design.car.advisor import KMH, Advice, Candidate, Run
from veh_identification.design.car.independent_check import Checked
from veh_identification.design.car.trial_drives import TrialCar
from veh_identification.findings import Finding
from veh_identification.systems.car.parameters import NAMES, unit

CSV_RATE = 50.0
SHOWN = 12


def missed_wants(advice: Advice) -> list[Finding]:
    """Wanted deviations that the recommendation does not reach."""
    findings = []
    for name in advice.missed:
        if name in advice.never:
            code = 'wanted_beyond_sensors'
            why = (
                'constant errors of the sensors alone are larger: calibrate them (offset in the '
                'configuration)'
            )
        else:
            code = 'wanted_not_reached'
            why = 'allow more time, more lateral acceleration or better sensors'
        findings.append(Finding('warn', code, f'NOT REACHED: {name}: {why}', f'want {name}'))
    return findings


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
    return {
        'system': 'car',
        'car': car.configuration.name,
        'version': __version__,
        'notes': list(notes),
        'recommended': [_recommended(run, wheelbase) for run in advice.runs],
        'missed': list(advice.missed),
        'never_by_driving_longer': list(advice.never),
        'offset_scale': advice.offset_scale,
        'candidates_not_tried': advice.untried,
        'parameters': _parameters(advice, checked),
        'candidates': [_candidate(one, advice, wheelbase) for one in advice.candidates],
        'limits': {
            'lateral_m_per_s2': advice.limits.lateral,
            'steering_rate_rad_per_s': advice.limits.steering_rate,
            'track_length_m': advice.limits.track_length,
            'longest_s': advice.limits.longest,
        },
        'trial': {'noise_factor': car.noise, 'road_roughness_m3': car.roughness, 'dof': car.dof},
    }


def _recommended(run: Run, wheelbase: float) -> dict[str, Any]:
    return {
        'speed_km_per_h': run.sine.speed / KMH,
        'frequency_hz': run.sine.frequency,
        'steering_amplitude_rad': run.sine.amplitude(wheelbase),
        'steering_rate_rad_per_s': run.sine.steering_rate(wheelbase),
        'aimed_lateral_m_per_s2': run.sine.lateral,
        'duration_s': run.seconds,
        'passes': run.passes,
        'distance_m': run.seconds * run.sine.speed,
    }


def _parameters(advice: Advice, checked: Checked | None) -> list[dict[str, Any]]:
    asked = {want.name: want.sigma for want in advice.wants}
    return [
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
    ]


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


def advice_text(advice: Advice, car: TrialCar, checked: Checked | None) -> str:
    """What the user reads beside the findings."""
    wheelbase = car.configuration.geometry.wheelbase
    lines = [*_table(advice, wheelbase), '', 'recommended:']
    for run in advice.runs:
        angle = run.sine.amplitude(wheelbase)
        many = f' in {run.passes} passes' if run.passes > 1 else ''
        lines.append(
            f'  {run.seconds:.0f} s{many} at {run.sine.speed / KMH:.0f} km/h, steering sine of '
            f'{run.sine.frequency:g} Hz and {angle:.4f} rad ({math.degrees(angle):.2f} deg) at '
            f'the front wheels, about {run.seconds * run.sine.speed / 1e3:.2f} km'
        )
    head = f'{"deviation of":<12} {"value":>10} {"wanted":>9} {"predicted":>9} {"%":>7}'
    more = f' {"identified":>10} {"ratio":>6} {"error/dev":>10}' if checked is not None else ''
    lines += ['', head + more]
    lines += [_row(want.name, want.sigma, advice, checked) for want in advice.wants]
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
    return lines


def _worst(one: Candidate, advice: Advice) -> tuple[float, str]:
    ratios = [
        (float(one.at_minute[NAMES.index(want.name)] / want.sigma), want.name)
        for want in advice.wants
    ]
    return max(ratios)
