"""Recordings in which too little is loaded: said where nothing was compared, and only there."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from veh_identification.checks.explanation import Hypothesis
from veh_identification.systems.humanoid.checks.comparison import Misfit
from veh_identification.systems.humanoid.checks.explanations import Search


@pytest.mark.parametrize(
    ('left', 'code'), [(np.inf, 'frames_unchecked'), (0.05, 'sensors_swapped')]
)
def test_a_cause_that_makes_it_comparable_is_still_told(left: float, code: str) -> None:
    search = searched(Misfit(np.inf, np.inf), Misfit(left, left))
    assert [one.code for one in search.findings()] == [code]


def searched(as_it_is: Misfit, left: Misfit) -> Search:
    """A search that has tried one cause."""
    search = Search.__new__(Search)
    search.label = 'bag'
    plates = SimpleNamespace(sources=[])
    search.comparison = SimpleNamespace(  # type: ignore[assignment]
        as_it_is=as_it_is, raw=plates, measured=plates, weight=600.0
    )
    cause = Hypothesis('sensors_swapped', 'the plates seem to be swapped', lambda raw: raw, 'x')
    search._judged = [(cause, left)]
    return search


@pytest.mark.parametrize(('left', 'told'), [(0.1, True), (0.16, False), (0.14, False)])
def test_soles_that_stand_with_one_change_as_well_as_any_are_told(left: float, told: bool) -> None:
    """Wrenches fit as well as their noise lets them: nothing can fit twice as well."""
    found = searched(Misfit(0.2, 0.1), Misfit(left, left))._likely()
    assert [(one.level, one.code) for one in found] == [('warn', 'sensors_swapped')] * told
