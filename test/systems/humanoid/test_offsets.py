"""Offsets of plates: between recordings, on the validation, and where they cannot be told."""

from __future__ import annotations

import numpy as np
import pytest
from humanoid_cases import CAD, record
from humanoid_runs import biased, by_code, identified, the

from veh_identification.errors import EstimationError
from veh_identification.simulation.humanoid.sensors import HumanoidSensors
from veh_identification.systems.humanoid.estimation import offsets

OTHER = (-2.0, 1.5, 3.0, 0.15, 0.1, -0.05)  # N, N m: 4 % of the weight


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    return record(tmp_path_factory.mktemp('walk') / 'walk', duration=7.2)


@pytest.fixture(scope='module')
def other(tmp_path_factory):
    return record(
        tmp_path_factory.mktemp('other') / 'other',
        seed=1,
        sensors=HumanoidSensors(plate_offset=OTHER),
    )


def unknowns(outcome) -> dict:
    return {u['name']: u for u in outcome.result.extra['sensor_unknowns']}


def test_recordings_of_other_days_have_offsets_of_their_own(walk, other) -> None:
    outcome = identified([walk, other], CAD, cutoff_hz=5.0)
    assert 'force_plate/wrench' in the(outcome.findings, 'offsets_differ').where
    found = unknowns(outcome)
    usual = HumanoidSensors().plate_offset
    for k, axis in enumerate(('FX', 'FY', 'FZ')):
        one = found[f'force_plate.offset2.{axis}']
        assert one['value'] == pytest.approx(OTHER[k] - usual[k], abs=4.0 * one['std'])
    mass, std = outcome.estimate.total_mass
    assert abs(mass - 8.0) < 3.0 * std < 0.08


def test_recordings_of_one_day_share_their_offsets(walk, tmp_path) -> None:
    outcome = identified([walk, record(tmp_path / 'same', seed=2)], CAD, cutoff_hz=5.0)
    assert not by_code(outcome.findings, 'offsets_differ')
    assert not any('offset2' in name for name in unknowns(outcome))


def test_offsets_of_the_validation_are_not_held_against_the_urdf(walk, other) -> None:
    outcome = identified([walk], CAD, other, cutoff_hz=5.0)
    assert the(outcome.findings, 'validation_offsets').level == 'warn'
    assert outcome.validation is not None
    check = outcome.validation.validation(outcome.validation.urdf)
    assert np.all(check.rms < check.a_priori_rms)
    assert check.rms[2] < 1.0  # N, where the offset is 3 N
    # It may as well be a load: that is said, too.
    assert the(outcome.findings, 'weight_differs').where == str(other)
    shown = outcome.validation.weight * outcome.estimate.total_mass[0]
    assert shown == pytest.approx(8.0 + 2.8 / 9.80665, abs=0.02)  # 0.2 N were identified


def test_vertical_offset_that_cannot_be_told_is_in_the_deviation(walk, monkeypatch) -> None:
    """As for people, whose centre of pressure misses the model by millimetres."""
    monkeypatch.setattr(offsets, 'WELL_PLACED', 0.0)
    outcome = identified([walk], CAD, cutoff_hz=5.0)
    mass, std = outcome.estimate.total_mass
    # 0.2 N of offset are weight now, and 0.3 % of the weight its deviation.
    assert mass == pytest.approx(8.0 + 0.2 / 9.80665, abs=0.008)
    assert std == pytest.approx(0.003 * 8.0, rel=0.2)
    vertical = unknowns(outcome)['force_plate.offset.FZ']
    assert abs(vertical['value']) < 0.01
    assert vertical['std'] == pytest.approx(0.003 * 8.0 * 9.80665, rel=0.05)


def test_several_recordings_with_imu_and_legs(tmp_path) -> None:
    """Each has a place and a drift of its own."""
    sensors = HumanoidSensors(encoder_noise=0.0005)
    bags = [
        record(
            tmp_path / str(seed),
            duration=5.4,
            seed=seed,
            sensors=sensors,
            lean=False,
            change=biased('base/pose', 'l_foot/wrench', 'r_foot/wrench'),
        )
        for seed in (0, 1)
    ]
    outcome = identified(bags, CAD, cutoff_hz=6.0)
    found = unknowns(outcome)
    for shape in ('pose', 'drift', 'pose2', 'drift2'):
        assert {f'force_plate.{shape}.{axis}' for axis in 'xyz'} <= set(found)
    assert 'force_plate.pose3.x' not in found
    # The second recording's place differs from the first one's by millimetres, known to as much.
    assert abs(found['force_plate.pose2.x']['value']) < 0.02
    assert found['force_plate.pose2.x']['std'] < 0.02
    mass, std = outcome.estimate.total_mass
    assert abs(mass - 8.0) < 3.0 * std
    assert 0.01 < std < 0.03


def test_too_few_rows_are_refused_with_the_reasons(walk, monkeypatch) -> None:
    monkeypatch.setattr(
        'veh_identification.systems.humanoid.estimation.estimate.FEWEST_SAMPLES', 1000
    )
    with pytest.raises(EstimationError, match=r'rows are left.*at least 1000.*left out'):
        identified([walk], CAD, cutoff_hz=5.0)
