"""The fleet as prior over drawn fleets: what it gains, beside the least that is possible.

The numbers are drawn, not simulated, so that thousands of fleets can be tried: sizes, shapes of
the scatter among the machines, how well the new machine and the others are known. The least
possible error knows mean and scatter of the fleet beforehand (normal scatter t, deviation s: the
share sqrt(t^2 / (t^2 + s^2)) of the error without a prior remains).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from veh_identification.fleets.prior import shrink
from veh_identification.types import Array

Draw = Callable[[np.random.Generator, int], Array]
#: True values of machines with mean 0 and deviation 1.
SHAPES: dict[str, Draw] = {
    'normal': lambda rng, n: np.asarray(rng.standard_normal(n)),
    'uniform': lambda rng, n: np.asarray(rng.uniform(-1.0, 1.0, n) * np.sqrt(3.0)),
    'long tails': lambda rng, n: np.asarray(rng.standard_t(5, n) * np.sqrt(3.0 / 5.0)),
    'two lots': lambda rng, n: np.asarray(
        0.9 * rng.choice([-1.0, 1.0], n) + np.sqrt(0.19) * rng.standard_normal(n)
    ),
}
SIZES = (6, 10, 20, 40)
#: Deviation of the new machine's recording, and that of the others, over the scatter.
NEW, OTHERS = (0.5, 1.0, 2.0, 5.0), (0.1, 0.4, 1.0)


@dataclass(frozen=True)
class Drawn:
    """One kind of fleet."""

    machines: int
    shape: str
    new: float
    others: float
    ratio: float  # error with the fleet over that without
    least: float  # the same with a fleet that is known beforehand
    coverage: float  # of the new machine's 95 % interval

    def __str__(self) -> str:
        return (
            f'{self.machines} machines, {self.shape}, deviation over scatter {self.new:g}, of the '
            f'others {self.others:g}'
        )


def draw(
    machines: int, shape: str, new: float, others: float, fleets: int, seed: int = 0
) -> Drawn:
    """So many fleets of one kind."""
    rng = np.random.default_rng([seed, machines, list(SHAPES).index(shape), round(100 * new)])
    std = np.full(machines, others)
    std[0] = new
    own, shrunk, held = [], [], []
    for _ in range(fleets):
        truth = SHAPES[shape](rng, machines)
        value = truth + std * rng.standard_normal(machines)
        found = shrink(value, std)
        own.append(value[0] - truth[0])
        shrunk.append(found.value[0] - truth[0])
        held.append(abs(shrunk[-1]) < 1.96 * found.std[0])
    ratio = float(np.sqrt(np.mean(np.square(shrunk)) / np.mean(np.square(own))))
    least = float(np.sqrt(1.0 / (1.0 + new**2)))
    return Drawn(machines, shape, new, others, ratio, least, float(np.mean(held)))


def every(fleets: int, seed: int = 0) -> Iterator[Drawn]:
    """All kinds of fleets."""
    for machines, shape, new, others in itertools.product(SIZES, SHAPES, NEW, OTHERS):
        if new >= others:  # of the new one less is known
            yield draw(machines, shape, new, others, fleets, seed)
