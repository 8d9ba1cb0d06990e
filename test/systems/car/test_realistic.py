"""The realistic simulated car: accuracy and honesty of the offline identification."""

from __future__ import annotations

import numpy as np
import pytest
from car_cases import configuration, driven, faults

from veh_identification.identification import IdentificationResult
from veh_identification.simulation.car.vehicle import Vehicle
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.parameters import AERODYNAMIC, NAMES
from veh_identification.systems.car.system import CarOptions

BOUNDS = {
    'Mc': 0.5,
    'ZZc': 3.0,
    'XXc': 8.0,
    'YYc': 8.0,
    'karf': 5.0,
    'karr': 5.0,
    'Cx': 10.0,
    **{f'{kind}{j}': 5.0 for kind in 'kh' for j in range(1, 5)},
    **{f'off{j}': 2.0 for j in range(1, 5)},
}


@pytest.fixture(scope='module')
def two_runs() -> tuple[IdentificationResult, np.ndarray]:
    runs = [driven(0), driven(1)]
    identified = identify_recordings(
        [one for one, _ in runs], configuration(), validation=driven(2)[0]
    )
    assert faults(identified.findings) == []
    result = identified.result
    return result, np.array([runs[0][1][name] for name in NAMES])


def test_two_sine_steer_runs_reach_the_asked_accuracy(
    two_runs: tuple[IdentificationResult, np.ndarray],
) -> None:
    result, truth = two_runs
    for name, percent in BOUNDS.items():
        k = NAMES.index(name)
        assert 100.0 * abs(result.value[k] / truth[k] - 1.0) < percent, name
    centre = result.value[1:4] / result.value[0] - truth[1:4] / truth[0]
    assert np.abs(centre).max() < 0.010
    inside = np.abs(result.value - truth) < 3.0 * result.std
    assert np.count_nonzero(inside) >= 31, [
        n for n, ok in zip(NAMES, inside, strict=True) if not ok
    ]


def test_the_bands_of_the_sensors_are_found(
    two_runs: tuple[IdentificationResult, np.ndarray],
) -> None:
    bands = two_runs[0].input['sensor_band_hz']
    assert 7.0 < bands['imu'] < 10.0
    assert 14.0 < bands['travel'] < 20.0


def test_another_run_is_predicted(two_runs: tuple[IdentificationResult, np.ndarray]) -> None:
    validation = two_runs[0].validation
    assert validation is not None
    relative = dict(zip(validation.equations, validation.rms_relative, strict=True))
    for name in (
        'FY',
        'NX',
        'NZ',
        'suspension_fl',
        'suspension_fr',
        'suspension_rl',
        'suspension_rr',
    ):
        assert relative[name] < 0.10, name


def test_coulomb_friction_and_dampers_need_the_motion_beyond_the_sensors(
    two_runs: tuple[IdentificationResult, np.ndarray],
) -> None:
    result, truth = two_runs
    blind = identify_recordings(
        [driven(0)[0], driven(1)[0]], configuration(), CarMethod(beyond_band=False, check=False)
    ).result
    for kind, factor in (('fs', 0.6), ('h', 0.5)):
        chosen = [NAMES.index(f'{kind}{j}') for j in range(1, 5)]
        ours = np.sqrt(np.mean(np.square((result.value / truth - 1.0)[chosen])))
        before = np.sqrt(np.mean(np.square((blind.value / truth - 1.0)[chosen])))
        assert ours < factor * before, (kind, ours, before)


def test_further_aerodynamics_are_honest_about_the_sensors_zeros() -> None:
    """Each drive has zeros of its own: what two speeds tell of Cl and Cm is uncertain by those."""
    runs = [driven(0), driven(1)]
    names = (*NAMES, *AERODYNAMIC)
    method = CarMethod(names=names, check=False, calibrate=False, bias_correction=False)
    result = identify_recordings([one for one, _ in runs], configuration(), method).result
    truth = dict(zip(AERODYNAMIC, Vehicle().air[1:], strict=True))
    for name, true in truth.items():
        place = result.index(name)
        assert abs(result.value[place] - true) < 2.5 * result.std[place], name
        assert 1e-3 < result.std[place] < 0.2, name
    assert CarOptions(aerodynamics=('Cm',)).method().names == (*NAMES, 'Cm')
