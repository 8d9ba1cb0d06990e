"""Causes that noise hides, told by how surely their size is known."""

import numpy as np
import pytest

from veh_identification.checks.explanation import Family
from veh_identification.checks.small_causes import small_cause, small_cause_findings

TIME = np.linspace(0.0, 40.0, 8000)
EFFECTS = {'one': np.sin(TIME), 'other': np.sign(np.cos(3.0 * TIME))}


def families(step=0.2):
    def family(name):
        effect = EFFECTS[name]
        return Family(
            name,
            lambda size: f'{name} seems to be {-size:+.3g} off',
            lambda size: lambda data: data + size * effect,
            ((step,),),
        )

    return [family(name) for name in EFFECTS]


def noise(seed=1):
    return np.random.default_rng(seed).normal(size=len(TIME))


def found(data, variance=1.0):
    return small_cause(data, families(), lambda one: one, variance)


@pytest.mark.parametrize('name', EFFECTS)
@pytest.mark.parametrize('size', [0.3, -0.2])
def test_a_cause_far_below_the_noise_is_told_with_its_size(name, size) -> None:
    data = noise() + size * EFFECTS[name]
    # The misfit tells nothing: it is 1.03 times smaller with the cause put right.
    assert np.std(data) < 1.05 * np.std(noise())
    (told,) = small_cause_findings(found(data), 'recording')
    assert (told.level, told.code) == ('warn', name)
    assert float(told.text.split('be ')[1].split(' off')[0]) == pytest.approx(size, abs=0.05)
    assert told.size > 6.0


@pytest.mark.parametrize('seed', range(5))
def test_noise_alone_says_nothing(seed) -> None:
    assert found(noise(seed)) is None
    assert small_cause_findings(None, 'recording') == []


def test_what_leaves_more_than_noise_is_no_cause() -> None:
    data = noise() + 0.4 * EFFECTS['one'] + 0.7 * np.sin(0.7 * TIME**1.5)
    assert found(data) is None


def test_noise_that_is_not_white_moves_sizes_more() -> None:
    # Each number twenty times.
    seen = [found(np.repeat(noise(seed)[:400], 20)) for seed in range(20)]
    assert [one for one in seen if one is not None] == []
