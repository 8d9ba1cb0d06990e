from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import EstimationError
from veh_identification.multibody.natural.fused import (
    held_model,
    shift_independent,
    step_with_r,
)
from veh_identification.observation import ObservedModel
from veh_identification.systems.four_bar import model as four_bar


@pytest.fixture
def linkages():
    setup = four_bar.load()
    return [four_bar.build(setup.geometry, setup.truth) for _ in range(2)]


def held(model):
    """The model with room for its R, which is given as well."""
    room = np.zeros((3, model.q.size, 1))
    return held_model(model, np.array([0]), *room), room


def test_step_and_r_in_one_call_are_the_same(linkages):
    one, two = linkages
    arrays, room = held(one)
    for _ in range(20):
        assert step_with_r(one, arrays, 0.002, 2)
        two.step(0.002)
    assert np.array_equal(one.q, two.q) and np.array_equal(one.qdd, two.qdd)
    for ours, theirs in zip(room, two.r_matrices(np.array([0]), 2), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-12)


def test_a_shift_in_one_call_is_the_same(linkages):
    one, two = linkages
    delta = np.array([0.01])
    assert shift_independent(one, held(one)[0], delta, 2 * delta, 3 * delta)
    two.set_independent(two.z + delta, two.zd + 2 * delta, two.zdd + 3 * delta)
    assert one.q == pytest.approx(two.q, abs=1e-12)
    assert one.qd == pytest.approx(two.qd, abs=1e-12)
    assert one.qdd == pytest.approx(two.qdd, abs=1e-10)


def test_what_cannot_be_done_leaves_the_state_and_says_why(linkages):
    model = linkages[0]
    before = model.q.copy()
    bad = np.array([np.nan])
    assert not shift_independent(model, held(model)[0], bad, bad, bad)
    assert not step_with_r(model, held(model)[0], -1.0, 0)
    assert np.array_equal(model.q, before)
    observed = ObservedModel(model)
    with pytest.raises(EstimationError):
        observed.correct(bad, bad)
    with pytest.raises(EstimationError, match='time step must be positive'):
        observed.predict(-1.0, None)
    assert np.array_equal(model.q, before)
