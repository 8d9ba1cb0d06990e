"""The weight on the sensors against the masses of the URDF."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from veh_identification.systems.humanoid.checks.sensors import weight_finding


def levels(scale: float, percent: float) -> list[str]:
    """Of a robot of two links; each may be off by so many per cent."""
    problem: Any = SimpleNamespace(
        configuration=SimpleNamespace(weighed=None, prior_percent=percent),
        prior=SimpleNamespace(mass=np.array([4.0, 3.0])),
    )
    return [one.level for one in weight_finding(problem, scale, 'walk')]


@pytest.mark.parametrize(
    ('scale', 'percent', 'expected'),
    [
        (1.03, 30.0, []),
        (1.21, 30.0, ['note']),
        (1.21, 5.0, ['warn']),
        (1.51, 30.0, ['warn']),  # one plate of two, 1.5 times too large, and heavier links
        (0.6, 30.0, ['warn']),
    ],
)
def test_a_third_more_or_less_than_the_urdf_is_a_doubt(
    scale: float, percent: float, expected: list[str]
) -> None:
    assert levels(scale, percent) == expected
