"""All 33 parameters from exact data, and from noisy data with honest deviations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import TRUTH, configuration, faults, recording, with_noise

from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.model import EQUATIONS
from veh_identification.systems.car.parameters import CORNERS, NAMES, scales
from veh_identification.systems.car.processing.signals import Processing

#: Swapped and turned sensors are another test's matter.
UNCHECKED = CarMethod(check=False)
NEAR_ZERO = ('MYc', 'XZc', 'XYc', 'YZc', 'fs1', 'fs2', 'fs3', 'fs4')


def bound(name: str, truth: float, scale: float) -> float:
    if name in NEAR_ZERO:
        return max(1e-3 * abs(truth), 1e-3 * scale)
    loose = name[0] in 'hM' and name[1:].isdigit()
    return (0.005 if loose else 0.001) * abs(truth)


@pytest.mark.parametrize('dof', [20, 38])
def test_exact_data_give_all_33_parameters(dof: int) -> None:
    identified = identify_recordings(
        [recording(40.0, wrench_rate=500.0)], configuration(), CarMethod(dof=dof)
    )
    result = identified.result
    assert tuple(result.names) == NAMES
    for name, value, truth, scale in zip(NAMES, result.value, TRUTH, scales(), strict=True):
        assert abs(value - truth) < bound(name, truth, scale), name
    assert result.equations == list(EQUATIONS)
    assert np.all(result.residual_rms_relative < 2e-3)
    assert faults(identified.findings) == []
    assert result.impossible == []


def test_noisy_data_beat_the_bar_with_honest_deviations() -> None:
    clean = recording(40.0)
    errors, deviations = [], []
    for seed in range(6):
        result = identify_recordings([with_noise(clean, seed)], configuration(), UNCHECKED).result
        errors.append(result.value - TRUTH)
        deviations.append(result.std)
    error, std = np.array(errors), np.array(deviations)
    inside = float((np.abs(error) < 2.0 * std).mean())
    assert 0.90 <= inside <= 0.99
    relative = 100.0 * np.sqrt(np.square(error).mean(axis=0)) / np.abs(TRUTH)
    bar = {
        'Mc': 0.05,
        'MXc': 0.05,
        'XXc': 0.5,
        'YYc': 0.5,
        'ZZc': 0.5,
        **{f'M{j}': 1.0 for j in range(1, 5)},
        **{f'k{j}': 0.5 for j in range(1, 5)},
        **{f'h{j}': 1.0 for j in range(1, 5)},
        **{f'off{j}': 0.07 for j in range(1, 5)},
    }
    for name, limit in bar.items():
        assert relative[NAMES.index(name)] < limit, name


def test_concatenated_runs_shrink_the_deviations_and_stay_honest() -> None:
    runs = [recording(20.0, 1.0, seed) for seed in range(5)]
    one = identify_recordings(runs[:1], configuration(), UNCHECKED).result
    five = identify_recordings(runs, configuration(), UNCHECKED).result
    assert five.samples == pytest.approx(5 * one.samples, rel=0.02)
    assert np.median(one.std / five.std) == pytest.approx(np.sqrt(5.0), rel=0.2)
    assert np.mean(np.abs(five.value - TRUTH) < 2.0 * five.std) >= 0.85


def test_without_the_bias_correction_unsprung_masses_shrink() -> None:
    run = with_noise(recording(40.0), 3, 2.0)
    wide = replace(UNCHECKED, chassis_cutoff_hz=20.0, suspension_cutoff_hz=25.0)
    plain = identify_recordings(
        [run], configuration(), replace(wide, bias_correction=False)
    ).result
    corrected = identify_recordings([run], configuration(), wide).result
    masses = [NAMES.index(f'M{j}') for j in range(1, 5)]
    before = np.mean((plain.value - TRUTH)[masses] / TRUTH[masses])
    after = np.mean((corrected.value - TRUTH)[masses] / TRUTH[masses])
    assert before < -0.003
    assert abs(after) < 0.5 * abs(before)


def test_gauss_markov_agrees_with_weighted_least_squares() -> None:
    run = recording(20.0, 1.0)
    plain = identify_recordings([run], configuration(), UNCHECKED).result
    optimal = identify_recordings(
        [run], configuration(), replace(UNCHECKED, gauss_markov=True)
    ).result
    assert np.all(np.abs(plain.value - optimal.value) < 4.0 * plain.std)
    assert np.median(optimal.std / plain.std) < 1.0


def test_estimates_hardly_depend_on_the_cut_offs() -> None:
    run = recording(40.0, 1.0)
    results = [
        identify_recordings(
            [run],
            configuration(),
            replace(UNCHECKED, chassis_cutoff_hz=chassis, suspension_cutoff_hz=suspension),
        ).result
        for chassis, suspension in ((8.0, 16.0), (12.0, 20.0), (16.0, 24.0))
    ]
    first = results[0]
    for other in results[1:]:
        assert np.all(np.abs(other.value - first.value) < 4.0 * first.std)


def test_the_papers_filter_rule_ruins_masses_and_dampers() -> None:
    """The paper's unequal filtering is an option; with wheel hop it must show its harm."""
    run = recording(40.0)
    options = replace(UNCHECKED, processing=Processing(paper_rule=True))
    result = identify_recordings([run], configuration(), options).result
    error = np.abs(result.value - TRUTH) / np.abs(TRUTH)
    harmed = [NAMES.index(f'{kind}{j}') for kind in 'Mh' for j in range(1, 5)]
    assert np.median(error[harmed]) > 0.2


def test_validation_on_another_recording_beats_the_a_priori_values() -> None:
    result = identify_recordings(
        [recording(40.0, 1.0)], configuration(), validation=recording(20.0, 1.0, seed=4)
    ).result
    validation = result.validation
    assert validation is not None and validation.a_priori_rms is not None
    assert np.all(validation.rms_relative < 0.05)
    # Nobody gives the drag (FX) or the suspensions' dry friction and offsets beforehand.
    known = np.isfinite(validation.a_priori_rms)
    judged = [name for name, one in zip(EQUATIONS, known, strict=True) if one]
    assert judged == ['FY', 'FZ', 'NX', 'NY', 'NZ']
    assert np.all(validation.rms[known] < 0.5 * validation.a_priori_rms[known])


def test_complete_a_priori_values_judge_every_equation() -> None:
    told = dict(zip(NAMES, 1.2 * TRUTH, strict=True))
    result = identify_recordings(
        [recording(40.0, 1.0)],
        replace(configuration(), a_priori=told),
        validation=recording(20.0, 1.0, seed=4),
    ).result
    validation = result.validation
    assert validation is not None and validation.a_priori_rms is not None
    assert np.all(validation.rms < 0.5 * validation.a_priori_rms)


def test_further_aerodynamic_coefficients_on_demand() -> None:
    result = identify_recordings(
        [recording(40.0)], configuration(), replace(UNCHECKED, names=(*NAMES, 'Cy', 'Cm'))
    ).result
    assert result.value[result.index('Cy')] == pytest.approx(0.0, abs=1e-3)
    assert result.value[result.index('Cx')] == pytest.approx(0.472, rel=1e-3)
    assert result.units[result.index('Cm')] == 'N s^2/m'


def test_a_sensor_with_another_zero_gives_the_same_parameters() -> None:
    config = configuration()
    moved = replace(
        config, geometry=replace(config.geometry, suspension_zero=(0.02, 0.01, -0.01, 0.03))
    )
    run = recording(40.0)
    joints = dict(run.joints)
    for corner, zero in zip(CORNERS, moved.geometry.suspension_zero, strict=True):
        series = joints[f'suspension_{corner}']
        joints[f'suspension_{corner}'] = replace(series, values=series.values - zero)
    shifted = replace(run, joints=joints)
    a = identify_recordings([run], config, replace(UNCHECKED, bias_correction=False)).result
    b = identify_recordings([shifted], moved, replace(UNCHECKED, bias_correction=False)).result
    np.testing.assert_allclose(b.value, a.value, rtol=1e-4, atol=1e-2)
