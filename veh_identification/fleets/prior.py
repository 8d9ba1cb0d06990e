"""The fleet as prior: what the other machines tell of one that is known badly.

Of each parameter, machine m has the value y_m with variance v_m. Machines of one kind scatter:
their true values are normal with a mean and a variance t^2 that the fleet itself tells (a model of
random effects; Gelman et al., Bayesian Data Analysis, section 5.4, with a flat prior on the mean
and on t). For a given t, with w_i = 1 / (v_i + t^2), W = sum w_i, mean = sum w_i y_i / W and
B_m = v_m / (v_m + t^2), machine m has

    value B_m mean + (1 - B_m) y_m,   variance (1 - B_m) v_m + B_m^2 / W

and all t are averaged by their probability, p(t | y), so that a small fleet, of which t is known
badly, gives wider deviations than a large one.

Each parameter is taken alone, by its own y and v: that is right whatever correlations the machines
of the fleet have among their parameters, which few machines could not tell. What is given away is
what a correlated estimate of another parameter would say.

Values beyond those of the others (`changes.find_outliers`) are no part of the fleet: they neither
give nor take. The deviations of recordings are enlarged where neighbouring recordings of the fleet
scatter more than they state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.fleets.changes import FEWEST_MACHINES
from veh_identification.fleets.combination import Key, Machine
from veh_identification.types import Array, BoolArray

#: Places of the scatter between none and the largest one that is thought of.
_GRID = 240
#: The largest scatter that is thought of, over that of the values.
_WIDEST = 12.0


@dataclass(frozen=True, eq=False)
class WithFleet:
    """The parameters of one machine with the fleet as prior; where it says nothing, its own."""

    machine: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    value: Array
    std: Array
    own_value: Array
    own_std: Array  # enlarged where the recordings of the fleet scatter more than they state
    weight: Array  # of the fleet: 0 is the machine's own value, 1 the mean of the others
    used: BoolArray  # false: too few others know it, or it is no part of the fleet


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Values of one parameter over the machines that know it, with all of them as prior."""

    value: Array
    std: Array
    weight: Array


def shrink(value: Array, std: Array) -> Shrunk:
    """All machines of one parameter, by the formulas above."""
    middle = float(np.median(value))
    size = float(max(np.std(value), np.median(std)))
    y, v = (value - middle) / size, (std / size) ** 2
    # Dense near zero, where t hides behind the variances.
    u = (np.arange(_GRID) + 0.5) / _GRID
    scatter = _WIDEST * u**2
    w = 1.0 / (v[:, None] + scatter[None, :] ** 2)
    total = w.sum(axis=0)
    mean = (w * y[:, None]).sum(axis=0) / total
    misfit = (w * (y[:, None] - mean) ** 2).sum(axis=0)
    likelihood = 0.5 * (np.log(w).sum(axis=0) - np.log(total) - misfit)
    probability = np.exp(likelihood - likelihood.max()) * u  # u: width of a place of the grid
    probability /= probability.sum()
    back = v[:, None] * w
    each = back * mean + (1.0 - back) * y[:, None]
    spread = (1.0 - back) * v[:, None] + back**2 / total
    found = each @ probability
    variance = (spread + (each - found[:, None]) ** 2) @ probability
    return Shrunk(middle + size * found, size * np.sqrt(variance), back @ probability)


def with_fleet(
    machines: Sequence[Machine],
    scales: Mapping[str, float],
    apart: Collection[tuple[str, str]] = (),
) -> tuple[WithFleet, ...]:
    """Every machine with the others as prior.

    `scales`: by parameter, how many times larger than stated deviations are; `apart`: machines and
    parameters that are no part of the fleet.
    """
    gathered: dict[Key, list[tuple[int, int]]] = {}
    for m, machine in enumerate(machines):
        for i, key in enumerate(machine.keys):
            if (machine.name, machine.names[i]) not in apart:
                gathered.setdefault(key, []).append((m, i))
    own_std = [
        one.std * np.array([scales.get(name, 1.0) for name in one.names]) for one in machines
    ]
    value = [one.value.copy() for one in machines]
    std = [one.copy() for one in own_std]
    weight = [np.zeros(len(one.names)) for one in machines]
    used = [np.zeros(len(one.names), dtype=bool) for one in machines]
    for places in gathered.values():
        if len(places) <= FEWEST_MACHINES:  # the machine itself and so many others
            continue
        shrunk = shrink(
            np.array([machines[m].value[i] for m, i in places]),
            np.array([own_std[m][i] for m, i in places]),
        )
        for k, (m, i) in enumerate(places):
            value[m][i], std[m][i] = shrunk.value[k], shrunk.std[k]
            weight[m][i], used[m][i] = shrunk.weight[k], True
    return tuple(
        WithFleet(
            one.name,
            one.names,
            one.units,
            value[m],
            std[m],
            one.value,
            own_std[m],
            weight[m],
            used[m],
        )
        for m, one in enumerate(machines)
    )
