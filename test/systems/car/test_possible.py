"""Values that no car can have."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from car_cases import configuration

from veh_identification.identification import IdentificationResult
from veh_identification.simulation.car.exact.motion import EXACT_TRUTH
from veh_identification.systems.car.checks.possible import impossible_values
from veh_identification.systems.car.description.identified import identified_description
from veh_identification.systems.car.parameters import NAMES
from veh_identification.types import Array

MASS, CENTRE = 1500.0, np.array([1.6, 0.01, 0.2])


def car(principal: tuple[float, float, float]) -> Array:
    """Parameters of a chassis with given moments of inertia about its centre of gravity."""
    value = np.ones(len(NAMES))
    shift = MASS * (CENTRE @ CENTRE * np.eye(3) - np.outer(CENTRE, CENTRE))
    inertia = np.diag(principal) + shift
    named = {
        'Mc': MASS,
        'MXc': MASS * CENTRE[0],
        'MYc': MASS * CENTRE[1],
        'MZc': MASS * CENTRE[2],
        'XXc': inertia[0, 0],
        'YYc': inertia[1, 1],
        'ZZc': inertia[2, 2],
        'XZc': inertia[0, 2],
        'XYc': inertia[0, 1],
        'YZc': inertia[1, 2],
    }
    for name, one in named.items():
        value[NAMES.index(name)] = one
    return value


def covariance(**std: float) -> Array:
    deviation = np.full(len(NAMES), 1e-3)
    for name, one in std.items():
        deviation[NAMES.index(name)] = one
    return np.diag(deviation**2)


def test_a_possible_car_is_not_suspected() -> None:
    assert impossible_values(NAMES, car((500.0, 2200.0, 2400.0)), covariance()) == ([], [])


def test_a_spring_that_is_surely_negative_is_impossible() -> None:
    value = car((500.0, 2200.0, 2400.0))
    value[NAMES.index('k3')] = -0.003  # three deviations
    value[NAMES.index('Cx')] = -0.001  # one deviation: chance
    value[NAMES.index('off1')] = -5.0  # may have any sign
    value[NAMES.index('M2')] = np.nan  # not identified
    assert impossible_values(NAMES, value, covariance()) == (['k3'], [])
    assert impossible_values(NAMES, value, covariance(k3=0.002)) == ([], [])


@pytest.mark.parametrize(('std', 'named'), [(20.0, True), (60.0, False)])
def test_the_triangle_inequality_may_break_by_chance_only(std: float, named: bool) -> None:
    """2500 exceeds 500 + 1900 by 100; half of it is the moment that is negative."""
    value = car((500.0, 1900.0, 2500.0))
    names, found = impossible_values(NAMES, value, covariance(ZZc=std, XXc=1e-6))
    if not named:
        assert names == [] and found == []
        return
    assert names == ['XXc', 'YYc', 'ZZc']
    assert [(one.level, one.code) for one in found] == [('bad', 'triangle_inequality')]
    assert '5 standard deviations' in found[0].text


def test_a_negative_moment_is_named_by_its_axis() -> None:
    names, found = impossible_values(NAMES, car((-50.0, 2200.0, 2100.0)), covariance(XXc=10.0))
    assert names == ['XXc'] and [one.code for one in found] == ['inertia_not_positive']
    far = covariance(XXc=30.0, YYc=30.0)
    assert impossible_values(NAMES, car((-50.0, 2200.0, 2200.0)), far) == ([], [])


def test_the_deviation_counts_mass_and_place_of_the_centre() -> None:
    """A centre of gravity that is known badly leaves the inertia about it open."""
    value = car((500.0, 1900.0, 2500.0))
    assert impossible_values(NAMES, value, covariance())[0] == ['XXc', 'YYc', 'ZZc']
    assert impossible_values(NAMES, value, covariance(MZc=150.0))[0] == []
    assert impossible_values(NAMES, value, covariance(Mc=900.0))[0] == []


def test_the_car_of_exact_data_can_exist() -> None:
    """A recording of it, clean and fitted to rounding, was answered with: no such value."""
    truth = np.array([EXACT_TRUTH[name] for name in NAMES])
    assert impossible_values(NAMES, truth, covariance()) == ([], [])


def test_a_value_that_cannot_exist_is_not_handed_on() -> None:
    """identified.yaml keeps what the description said, and names what is left out."""
    described = configuration()
    result = IdentificationResult(
        names=['Mc', 'YYc'],
        units=['kg', 'kg m^2'],
        value=np.array([1400.0, -7.0]),
        covariance=np.diag([1.0, 4.0]),
        equations=['FX'],
        estimator='weighted',
        samples=500,
        excluded_samples=0,
        condition_number=20.0,
        correlation_condition=1.0,
        sigma=np.ones(1),
        residual_rms=np.ones(1),
        residual_rms_relative=np.array([0.01]),
        a_priori=np.array([1500.0, 5000.0]),
        system='car',
        impossible=['YYc'],
    )
    text = identified_description(described, result)
    known = yaml.safe_load(text)['a_priori']
    assert known['Mc'] == 1400.0
    assert known['YYc'] == described.a_priori['YYc'] != -7.0
    assert any(line.startswith('#') and 'YYc' in line for line in text.splitlines())
