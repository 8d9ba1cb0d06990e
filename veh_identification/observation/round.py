"""An update by at most one message of each sensor: gate, use and judge them in one call."""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.held_arrays import (
    HeldArrays,
    flags_1,
    reals_1,
    reals_2,
    wholes_1,
    wholes_2,
)
from veh_identification.observation.channels import Stack
from veh_identification.observation.sequential import update_groups
from veh_identification.observation.trust import judge_groups
from veh_identification.types import Array, IntArray


class Round:
    """Room for the messages of a round, and what `update_groups` and `judge_groups` take.

    `numbers` and `times` of its messages are written before, `outcome` (k, 4) is read behind
    `run`: NIS, components, weight, and whether the sensor is judged already.
    """

    def __init__(
        self,
        P: Array,
        x: Array,
        stack: Stack,
        gates: Array,
        medians: Array,
        quiet: tuple[float, float, float],
    ) -> None:
        count = stack.scatter.size
        self.numbers, self.times = np.zeros(count, dtype=np.int64), np.zeros(count)
        self.outcome = np.zeros((count, 4))
        self._held = HeldArrays(
            (
                P,
                x,
                stack.H,
                stack.predicted,
                stack.measured,
                stack.variance,
                stack.available,
                self.numbers,
                stack.groups,
                stack.scatter,
                gates,
                stack.noise,
                stack.innovation,
                stack.total,
                stack.whitened,
                self.outcome,
                self.times,
                stack.judged,
                stack.hot,
                medians,
                quiet,
            )
        )

    def run(self, count: int) -> None:
        """Use the first `count` messages."""
        _update_and_judge(self._held.table, count)


@njit(cache=True, nogil=True)
def _update_and_judge(held: IntArray, count: int) -> None:
    numbers, groups, outcome = wholes_1(held, 7)[:count], wholes_2(held, 8), reals_2(held, 15)
    measured, innovation, whitened = reals_1(held, 4), reals_1(held, 12), reals_1(held, 14)
    scatter = reals_1(held, 9)
    update_groups(
        reals_2(held, 0),
        reals_1(held, 1),
        reals_2(held, 2),
        reals_1(held, 3),
        measured,
        reals_1(held, 5),
        flags_1(held, 6),
        numbers,
        groups,
        scatter,
        reals_2(held, 10),
        reals_2(held, 11),
        innovation,
        reals_1(held, 13),
        whitened,
        outcome,
    )
    judge_groups(
        numbers,
        groups,
        reals_1(held, 16),
        measured,
        innovation,
        whitened,
        flags_1(held, 17),
        reals_2(held, 18),
        scatter,
        reals_1(held, 19),
        (reals_1(held, 20)[0], reals_1(held, 21)[0], reals_1(held, 22)[0]),
        outcome,
    )
