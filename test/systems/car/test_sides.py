"""Left and right of an axle have the same parts as a rule."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.systems.car.checks.sides import unequal_sides
from veh_identification.systems.car.parameters import NAMES

ALIKE = dict.fromkeys(('k1', 'k2', 'k3', 'k4'), 2e4) | dict.fromkeys(('h1', 'h2', 'h3', 'h4'), 2e3)


def told(std: float = 1.0, **values: float) -> list[tuple[str, str]]:
    value = np.array([(ALIKE | values).get(name, 30.0) for name in NAMES])
    found = unequal_sides(NAMES, value, std**2 * np.eye(len(NAMES)))
    return [(one.level, one.where) for one in found]


def test_equal_sides_are_not_told() -> None:
    assert told() == []
    assert told(k1=2.15e4, h4=1.9e3) == []


def test_other_parts_are_a_note_and_parts_that_no_axle_has_a_warning() -> None:
    assert told(k4=2.6e4) == [('note', 'suspension_rl and suspension_rr')]
    # A travel behind a low pass of 60 ms: damping 1.65, mass 1.9 times that of the other side.
    assert told(h1=3.3e3, M1=57.0) == [('warn', 'suspension_fl and suspension_fr')]


def test_what_is_hardly_known_is_not_told() -> None:
    assert told(std=500.0, h1=3.3e3) == []
    assert told(h1=-100.0) == []
    assert told(h1=float('nan')) == []


def test_each_axle_is_told_by_itself() -> None:
    assert [level for level, _ in told(k2=3.5e4, k3=2.4e4)] == ['warn', 'note']


@pytest.mark.parametrize('name', ['k2', 'h2', 'M2'])
def test_the_text_names_the_values(name: str) -> None:
    value = np.array([(ALIKE | {name: 1e5}).get(one, 30.0) for one in NAMES])
    (found,) = unequal_sides(NAMES, value, np.eye(len(NAMES)))
    assert f'{name} = 100000' in found.text
