"""Innovations that are made into objects when someone looks."""

from __future__ import annotations

import numpy as np

from veh_identification.observation.protocols import Innovations, accepted


def innovations() -> Innovations:
    told = [('gps', 1.0, slice(0, 2)), ('wheel', 1.0, slice(2, 3)), ('silent', 1.0, slice(3, 4))]
    # NIS, components, weight: the second was refused, the third says nothing.
    outcome = np.array([[1.0, 2.0, 1.0, 0.0], [9.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    return Innovations(told, outcome, np.array([1.0, 2.0, 3.0, 4.0]), np.full(4, 0.5))


def test_those_accepted_are_the_same_before_and_after_they_are_made() -> None:
    found, made = innovations(), innovations()
    assert [one.sensor for one in made] == ['gps', 'wheel']
    for source in (found, made, list(made)):
        ((sensor, value, variance, rows),) = accepted(source)
        assert sensor == 'gps'
        assert value[rows].tolist() == [1.0, 2.0] and variance[rows].tolist() == [0.5, 0.5]
