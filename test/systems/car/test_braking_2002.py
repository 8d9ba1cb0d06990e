"""Venture 2002 on the realistic car: ramps, validation by braking, mass by weighing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from car_cases import CONFIG, configuration, faults, recording

from veh_identification.errors import EstimationError, UsageError
from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult
from veh_identification.reporting.content import IdentificationContent
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.car.exact.bag import write_recording
from veh_identification.simulation.car.exact.motion import EXACT_TRUTH
from veh_identification.simulation.car.scenarios import braking, car_recording, ramp_steer
from veh_identification.systems.car.checks.static_mass import static_mass_line
from veh_identification.systems.car.configuration import load_configuration
from veh_identification.systems.car.estimation.identify import Identified, identify_recordings
from veh_identification.systems.car.model_2002.identify import (
    Method2002,
    a_priori_2002,
    identify_car_2002,
    names_of_2006,
)
from veh_identification.systems.car.model_2002.lagrange import EQUATIONS_2002
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.driver import run

MOVED = ('x', 'z', 'phi', *(f'suspension_{corner}' for corner in ('fl', 'fr', 'rl', 'rr')))


@pytest.fixture(scope='module')
def runs() -> tuple[list[CarRecording], CarRecording, dict[str, float]]:
    ramps = [car_recording(configuration(), ramp_steer(seed), 24.0, seed)[0] for seed in (0, 1)]
    brake, truth = car_recording(configuration(), braking(1), 28.0, 2)
    return ramps, brake, truth


@pytest.fixture(scope='module')
def identified(
    runs: tuple[list[CarRecording], CarRecording, dict[str, float]],
) -> Identified:
    return identify_car_2002(runs[0], configuration(), None, runs[1])


@pytest.fixture(scope='module')
def result(identified: Identified) -> IdentificationResult:
    return identified.result


def by_code(identified: Identified) -> dict[str, Finding]:
    return {one.code: one for one in identified.findings}


def test_every_parameter_has_its_name_of_2006() -> None:
    table = names_of_2006()
    assert sorted(name for name, _ in table.values()) == sorted(NAMES)
    priors = a_priori_2002(configuration(), ('m6', 'my6', 'xx6', 'yz6', 'ks7', 'fs7'))
    np.testing.assert_allclose(priors, [1508.5, 15.01, 5898.0, -44.12, 22000.0, np.nan])


def test_ramps_find_mass_springs_and_dampers(
    result: IdentificationResult, runs: tuple[list[CarRecording], CarRecording, dict[str, float]]
) -> None:
    table, truth = names_of_2006(), runs[2]
    asked = {'m6': 0.005, 'mz6': 0.005, 'my6': 0.01, 'xx6': 0.05, 'yy6': 0.1, 'zz6': 0.05}
    asked |= {name: 0.05 for name in result.names if name.startswith(('ks', 'h', 'kar'))}
    asked |= {name: 0.01 for name in result.names if name.startswith('off')}
    for name, limit in asked.items():
        other, sign = table[name]
        found = result.value[result.index(name)]
        assert found == pytest.approx(sign * truth[other], rel=limit), name
    expected = np.array([table[name][1] * truth[table[name][0]] for name in result.names])
    inside = np.abs(result.value - expected) < 3.0 * result.std
    print(f'{inside.sum()} of {len(inside)} inside 3 deviations')
    assert inside.sum() >= 0.8 * len(inside)


def test_the_largest_friction_is_not_taken_for_damping() -> None:
    """Other ramps: by the travel sensors alone fs17 is four deviations low, h17 two high."""
    runs = [
        car_recording(configuration(), ramp_steer(seed), 24.0, seed) for seed in (51000, 51001)
    ]
    method = Method2002(check=False)
    found = identify_car_2002([one for one, _ in runs], configuration(), method).result
    table, truth = names_of_2006(), runs[0][1]
    expected = np.array([table[name][1] * truth[table[name][0]] for name in found.names])
    away = np.abs(found.value - expected) / found.std
    assert away[found.index('fs17')] < 2.0 and away[found.index('h17')] < 2.0
    assert np.count_nonzero(away < 2.0) >= 31


def test_braking_is_reconstructed(identified: Identified, result: IdentificationResult) -> None:
    assert result.validation is not None
    rows = dict(zip(EQUATIONS_2002, result.validation.rms_relative, strict=True))
    print({name: round(float(value), 4) for name, value in rows.items()})
    for name in MOVED:
        assert rows[name] < 0.02, name
    assert result.extra['validation_excited']['x']
    # A straight braking says nothing about lateral force and yaw.
    assert not result.extra['validation_excited']['y']
    assert not result.extra['validation_excited']['psi']
    idle = by_code(identified)['equations_not_validated']
    assert idle.level == 'note' and idle.text.endswith(': y psi')
    assert result.validation.a_priori_rms is not None
    gain = result.validation.a_priori_rms / result.validation.rms
    before = dict(zip(EQUATIONS_2002, gain, strict=True))
    assert before['phi'] > 2.0 and before['theta'] > 2.0
    # Nobody gives the drag or the suspensions' dry friction and offsets beforehand.
    assert np.isnan([before[name] for name in ('x', 'z', 'suspension_fl')]).all()


def test_the_mass_is_that_of_the_standing_car(
    identified: Identified, result: IdentificationResult
) -> None:
    """The document finds 6.5 % between the two; braking runs here stand still at both ends."""
    static = result.extra['static_mass']
    assert static['seconds'] > 3.0
    assert abs(static['difference_percent']) < 0.5
    assert by_code(identified)['static_mass'].level == 'good'


def test_good_runs_raise_no_doubt(identified: Identified, result: IdentificationResult) -> None:
    told = {'equations_not_validated', 'static_mass', 'not_weighed'}
    assert set(by_code(identified)) == told
    assert result.impossible == []


def test_the_2006_model_is_weighed_as_well(
    runs: tuple[list[CarRecording], CarRecording, dict[str, float]],
) -> None:
    found = identify_recordings([runs[1]], configuration())
    static = found.result.extra['static_mass']
    assert abs(static['difference_percent']) < 0.5
    total = runs[2]['Mc'] + sum(runs[2][f'M{j}'] for j in range(1, 5))
    assert static['total'] == pytest.approx(total, rel=0.005)
    assert f'identified {static["chassis_identified"]:.1f} kg' in static_mass_line(static)
    assert by_code(found)['static_mass'].level == 'good'


def test_a_ramp_is_not_suspected_though_its_yaw_moment_is_small(
    runs: tuple[list[CarRecording], CarRecording, dict[str, float]],
) -> None:
    found = identify_recordings(runs[0][:1], configuration())
    assert faults(found.findings) == []


def test_without_camber_the_lateral_force_misleads_the_mass(
    runs: tuple[list[CarRecording], CarRecording, dict[str, float]],
) -> None:
    found = identify_car_2002(runs[0], configuration(), Method2002(camber=False)).result
    error = found.value[found.index('m6')] / runs[2]['Mc'] - 1.0
    assert -0.04 < error < -0.005
    assert 'static_mass' not in found.extra  # ramps never stand still


def test_swapped_wheels_are_named_before_the_fit() -> None:
    good = recording(20.0, 1.0)
    wrenches = {**good.wrenches, 'fl': good.wrenches['rl'], 'rl': good.wrenches['fl']}
    found = by_code(identify_car_2002([replace(good, wrenches=wrenches)], configuration()))
    assert found['swapped_wrenches'].level == 'bad'
    assert found['swapped_wrenches'].where == 'wheel_fl/wrench and wheel_rl/wrench'
    fine = identify_car_2002([good], configuration())
    assert faults(fine.findings) == [] and fine.result.impossible == []


def test_from_bags_to_files(tmp_path: Path) -> None:
    for name, seed in (('a', 0), ('b', 3)):
        with BagWriter(tmp_path / name) as writer:
            write_recording(writer, recording(14.0, seed=seed), configuration())
    truth = {'Mc': 1500.0, 'MYc': 8.0, 'k3': 22000.0, 'other': 1.0}
    (tmp_path / 'a' / 'truth.json').write_text(json.dumps({'parameters': truth}))
    out, options = tmp_path / 'result', {'model': '2002'}
    outcome = run(
        'identify',
        'car',
        [tmp_path / 'a'],
        validate=tmp_path / 'b',
        config=CONFIG,
        out=out,
        options=options,
    )
    content = json.loads((out / 'parameters.json').read_text())
    values = {one['name']: one['value'] for one in content['parameters']}
    assert values['m6'] == pytest.approx(EXACT_TRUTH['Mc'], rel=1e-3)
    assert values['ks17'] == pytest.approx(EXACT_TRUTH['k2'], rel=5e-3)
    assert content['input']['model'] == '2002' and list(content['validation']) == list(
        EQUATIONS_2002
    )
    assert (out / 'parameters.csv').exists() and 'm6' in outcome.text
    # Names and signs of Venture 2002, also of the truth.
    assert outcome['ks7'].description == outcome['ks7'].description.strip() != ''
    assert outcome['mx6'].description.startswith('minus the first moment')
    assert isinstance(outcome.content, IdentificationContent)
    known = {row.name: row.truth for row in outcome.content.parameters if row.truth == row.truth}
    assert known == {'m6': 1500.0, 'mx6': -8.0, 'ks7': 22000.0}
    (series,) = outcome.series
    assert series.equations == EQUATIONS_2002 and series.units[4] == 'N m' and series.held_out
    # The series are of the validation run with the residuals that parameters.json states.
    for name in ('x', 'z', 'suspension_rr'):
        j = EQUATIONS_2002.index(name)
        shown = np.sqrt(np.nanmean(np.square(series.measured[:, j] - series.predicted[:, j])))
        stated = content['validation'][name]['rms']
        size = np.sqrt(np.nanmean(np.square(series.measured[:, j])))
        assert shown < 2.0 * stated + 1e-3 * size, name
    # The description has the names and signs that every command knows.
    found = load_configuration(out / 'identified.yaml').a_priori
    assert found['k3'] == pytest.approx(values['ks7'], rel=1e-8)
    assert found['MYc'] == pytest.approx(-values['mx6'], rel=1e-8)
    report = (out / 'report.html').read_text('utf-8')
    assert 'Lagrange model of Venture 2002' in report
    assert '--model 2002' in re.sub('<[^>]*>', '', report)
    assert 'Validation recording b' in report
    # A second run replaces its own results.
    run('identify', 'car', [tmp_path / 'a'], config=CONFIG, out=out, options=options)
    assert 'Identification data: a' in (out / 'report.html').read_text('utf-8')
    with pytest.raises(UsageError, match='at least one'):
        run('identify', 'car', [], out=tmp_path / 'x', options=options)


@pytest.mark.parametrize(
    ('given', 'named'),
    [
        ({'dof': 20}, "'dof'"),
        ({'bias_correction': False, 'chassis_cutoff': 5.0}, "'chassis_cutoff', 'bias_correction'"),
        ({'aerodynamics': ['Cz']}, "'aerodynamics'"),
    ],
)
def test_options_that_the_model_does_not_have_are_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=f'model 2002 has no option {named}$'):
        run('identify', 'car', [recording(14.0)], options={'model': '2002', **given})


def test_a_missing_wheel_and_a_short_recording_are_named() -> None:
    blind = replace(
        recording(20.0),
        wrenches={
            corner: one for corner, one in recording(20.0).wrenches.items() if corner != 'rl'
        },
    )
    with pytest.raises(EstimationError, match=r'needs all ten equations.*rl'):
        identify_car_2002([blind], configuration())
    with pytest.raises(EstimationError, match='no recording'):
        identify_car_2002([], configuration())
    with pytest.raises(EstimationError, match='record 20 s or more'):
        identify_car_2002([recording(10.0)], configuration())
