"""The Lagrange car of Venture 2002 on exact data, its validation and the static mass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import configuration, recording

from veh_identification.simulation.car.exact.motion import EXACT_TRUTH
from veh_identification.systems.car.checks.static_mass import StaticLoads, static_loads
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.model_2002.attitude import with_attitude
from veh_identification.systems.car.model_2002.identify import Method2002, identify_car_2002
from veh_identification.systems.car.processing.signals import prepare


def test_exact_data_in_the_papers_axes() -> None:
    runs = [recording(20.0), recording(20.0, seed=3)]
    result = identify_car_2002(
        runs, configuration(), Method2002(check=False), recording(20.0, seed=7)
    ).result
    # Body 6 has x to the right, y down, z forward.
    expected = {
        'm6': EXACT_TRUTH['Mc'],
        'mx6': -EXACT_TRUTH['MYc'],
        'my6': -EXACT_TRUTH['MZc'],
        'mz6': EXACT_TRUTH['MXc'],
        'xx6': EXACT_TRUTH['YYc'],
        'yy6': EXACT_TRUTH['ZZc'],
        'zz6': EXACT_TRUTH['XXc'],
        'ks7': EXACT_TRUTH['k3'],
        'h13': EXACT_TRUTH['h1'],
        'off17': EXACT_TRUTH['off2'],
        'm20': EXACT_TRUTH['M2'],
        'karf': EXACT_TRUTH['karf'],
        'Cx': EXACT_TRUTH['Cx'],
    }
    for name, truth in expected.items():
        assert result.value[result.index(name)] == pytest.approx(truth, rel=0.02, abs=1.0), name
    assert result.validation is not None and np.all(result.validation.rms_relative < 0.02)


def test_without_anti_roll_bars_the_springs_take_their_part() -> None:
    """Venture 2002 has no bars: in roll the springs look stiffer than they are."""
    method = Method2002(anti_roll=False, check=False)
    result = identify_car_2002([recording(30.0)], configuration(), method).result
    assert 'karf' not in result.names
    assert result.value[result.index('ks13')] > 1.2 * EXACT_TRUTH['k1']


@pytest.mark.parametrize('heights', [True, False])
def test_attitude_from_heights_and_gyroscope(heights: bool) -> None:
    run = recording(30.0) if heights else replace(recording(30.0), ride_heights={})
    piece = prepare(run, configuration()).pieces[0]
    found = with_attitude(piece, run, configuration())
    from veh_identification.simulation.car.exact.motion import ExactCar

    drive = ExactCar(configuration()).drive()
    assert found.attitude is not None
    error = found.attitude[:, 1:] - np.stack(
        [drive.pitch(found.stamps), drive.roll(found.stamps)], axis=1
    )
    limit = 2e-4 if heights else 0.02
    assert np.abs(error).max() < limit


def test_static_mass_from_wheel_loads() -> None:
    from veh_identification.simulation.car.exact.motion import ExactCar
    from veh_identification.simulation.car.exact.sensors import exact_recording

    still = exact_recording(ExactCar(configuration(), standstill=True), 8.0)
    loads = static_loads(prepare(still, configuration()).pieces, configuration())
    assert isinstance(loads, StaticLoads)
    total = EXACT_TRUTH['Mc'] + sum(EXACT_TRUTH[f'M{j}'] for j in range(1, 5))
    assert loads.mass == pytest.approx(total, rel=1e-4)
    # A standstill in the validation run weighs the car as well.
    result = identify_recordings(
        [recording(20.0)], configuration(), CarMethod(bias_correction=False, check=False), still
    ).result
    weighed = result.extra['static_mass']
    assert weighed['chassis_weighed'] == pytest.approx(EXACT_TRUTH['Mc'], rel=1e-3)
    assert weighed['chassis_identified'] == result.value[0]
    assert weighed['seconds'] > 5.0
    moving = prepare(recording(20.0), configuration()).pieces
    assert static_loads(moving, configuration()) is None
