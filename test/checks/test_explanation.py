"""The search for the best explanation."""

import numpy as np
import pytest

from veh_identification.checks.explanation import (
    Explanation,
    Family,
    Hypothesis,
    alike,
    best_explanation,
    best_of,
    explanation_findings,
    partly,
    sized,
)
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


def test_another_cause_that_explains_no_less_is_told_beside_the_simpler_one() -> None:
    """Of a robot that hardly moves plates exchanged and axes exchanged put right the same."""

    def cause(code: str) -> Hypothesis:
        return Hypothesis(code, f'{code} wrong', lambda data: data)

    judged = [(cause('sign'), 0.054), (cause('axes'), 0.052), (cause('axes'), 0.053)]
    judged += [(cause('unit'), 0.055), (cause('clock'), np.inf)]
    found = best_of(judged, 0.9)
    assert found.best is not None and found.best.code == 'sign'
    assert found.rivals == ('axes wrong',)
    (one,) = explanation_findings(found, label='bag', better='it fits', misfit_text='', good=1.0)
    assert one.code == 'sign' and 'as well explained if axes wrong' in one.text
    clear = best_of([*judged, (cause('place'), 0.01)], 0.9)
    assert clear.best is not None and clear.best.code == 'place' and not clear.rivals


def told(misfit: float, as_it_is: float, good: float = 1.0) -> list[tuple[str, str]]:
    cure = Hypothesis('unit', 'the lengths seem to be in mm', lambda data: data, 'position')
    found = Explanation(cure, misfit, as_it_is, ('unit', 'sign'))
    made = explanation_findings(
        found, label='bag', better='forces fit', misfit_text='nothing fits', good=good
    )
    return [(one.level, one.code) for one in made]


def test_below_a_factor_of_two_a_cause_is_a_maybe() -> None:
    assert told(0.1, 0.5) == [('bad', 'unit')]
    assert told(0.3, 0.5) == [('note', 'maybe_unit')]
    assert told(0.45, 0.5) == []
    # What leaves a poor fit must explain more, and a poor fit without a cause is told.
    assert told(2.0, 5.0) == [('warn', 'misfit_unexplained'), ('note', 'maybe_unit')]
    assert told(1.5, 9.0) == [('bad', 'unit')]


def scale_of(k: int) -> Family:
    def cure(size):
        factors = np.ones(3)
        factors[k] = 1.0 / size
        return lambda data: data * factors

    return Family('scale', lambda size: f'entry {k} times {size}', cure, ((1.5, 2.0, 3.0), (0.7,)))


def test_the_size_that_leaves_least_is_found() -> None:
    wrong = TRUE * np.array([1.0, 1.0, 2.0])
    found, *others = sized(wrong, [scale_of(0), scale_of(1), scale_of(2)], rms, rms(wrong))
    assert found[0].text == 'entry 2 times 2.0' and not alike([found, *others], rms(wrong))
    assert found[1] == pytest.approx(0.1)
    assert sized(TRUE, [scale_of(0), scale_of(2)], rms, rms(TRUE)) == []


def test_a_mistake_in_a_part_of_the_data_is_told_with_where_it_is() -> None:
    wrong = TRUE * np.array([1.0, 1.0, -1.0])  # all of another sign from the third on

    def late(data, changed):
        return np.concatenate([data[:2], changed[2:]])

    turned = Hypothesis('sign', 'the sign is wrong', lambda data: -data)
    found = best_explanation(wrong, [turned, *partly([turned], late, 'from 2 on')], rms)
    assert found.best is not None and found.best.text == 'from 2 on, the sign is wrong'
    assert found.misfit == pytest.approx(0.1)
