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
    search = Search.__new__(Search)
    search.label = 'bag'
    search.comparison = SimpleNamespace(as_it_is=Misfit(np.inf, np.inf))  # type: ignore[assignment]
    cause = Hypothesis('sensors_swapped', 'the plates seem to be swapped', lambda raw: raw, 'x')
    search._judged = [(cause, Misfit(left, left))]
    assert [one.code for one in search.findings()] == [code]
