"""The search for the best explanation."""

import numpy as np
import pytest

from veh_identification.checks.explanation import Hypothesis, best_explanation
from veh_identification.errors import EstimationError

DATA = np.array([1.0, -2.0, 3.0])
TRUE = np.array([1.0, 2.0, 3.0])


def rms(data):
    return float(np.sqrt(np.mean((data - TRUE) ** 2))) + 0.1


def flip(k):
    sign = np.ones(3)
    sign[k] = -1.0
    return Hypothesis('sign', f'entry {k}', lambda data: data * sign)


def refuse(data):
    raise EstimationError('cannot be judged')


def test_the_best_one_is_named_with_its_factor():
    found = best_explanation(DATA, [flip(0), flip(1), flip(2)], rms)
    assert found.best is not None and found.best.text == 'entry 1'
    assert found.factor == pytest.approx(rms(DATA) / 0.1)
    assert found.tried == ('sign',)


def test_what_cannot_be_judged_explains_nothing():
    found = best_explanation(DATA, [Hypothesis('worse', 'refused', refuse)], rms)
    assert found.best is None and found.factor == 0.0 and found.tried == ('worse',)


def test_known_misfit_is_not_computed_again():
    found = best_explanation(DATA, [flip(1)], rms, as_it_is=5.0)
    assert found.factor == pytest.approx(50.0)
