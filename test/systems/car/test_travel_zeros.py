"""Travels that count from elsewhere than the car at rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import configuration

from veh_identification.systems.car.checks.channels import Channels
from veh_identification.systems.car.checks.travel_zeros import check_travel_zeros

TIME = np.linspace(0.0, 6.0 * np.pi, 500, endpoint=False)  # whole periods of swaying


def swaying(zero: list[float], lean: float = 0.0) -> Channels:
    """A car that sways, with zeros of its travels (m) off, that leans to one side all the time."""
    wave = 0.03 * np.sin(2.0 * TIME)[:, None] + lean
    sides = np.array([1.0, -1.0, 1.0, -1.0])
    wrench = np.zeros((len(TIME), 4, 6))
    wrench[:, :, 2] = 4000.0 + 25_000.0 * wave * sides
    nothing = np.zeros((len(TIME), 4))
    return Channels(
        TIME,
        nothing[:, :3],
        nothing[:, :3],
        nothing[:, :2],
        nothing[:, 0],
        wave * sides + zero,
        wrench,
        nothing,
    )


@pytest.mark.parametrize(
    ('zero', 'words'),
    [
        ([0.08, 0.08, 0.08, 0.08], '80 mm in the mean'),
        ([0.02, 0.0, 0.0, 0.0], 'suspension_fl and suspension_fr are 20'),
        ([0.0, 0.0, 0.0, 0.02], 'suspension_rl and suspension_rr are -20'),
    ],
)
def test_travels_off_their_zero_are_told(zero, words) -> None:
    (found,) = check_travel_zeros(swaying(zero), configuration())
    assert (found.level, found.code) == ('warn', 'travel_zero')
    assert words in found.text


def test_a_car_that_leans_or_has_no_travels_is_not_judged() -> None:
    assert check_travel_zeros(swaying([0.0] * 4), configuration()) == []
    assert check_travel_zeros(swaying([0.0] * 4, lean=0.02), configuration()) == []
    unknown = replace(swaying([0.08] * 4), travel=np.full((len(TIME), 4), np.nan))
    assert check_travel_zeros(unknown, configuration()) == []
