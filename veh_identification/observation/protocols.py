"""What the observer asks of a model and of a sensor, and the messages between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from veh_identification.types import Array, IntArray


@dataclass(frozen=True)
class BodyView:
    """Frame of a body as 12 numbers [origin, e1, e2, e3].

    `values` (3, 12): the frame, its rate, its acceleration. `derivatives` (3, 12, nz): A R, A R',
    A R'' with R = dq/dz of the observed coordinates.
    """

    values: Array
    derivatives: Array


class Model(Protocol):
    """A model that the observer corrects; `size` is the number of observed coordinates."""

    size: int

    def predict(self, dt: float, inputs: Any) -> None:
        """Advance the model by dt."""

    def correct(self, delta_z: Array, delta_zd: Array, delta_zdd: Array | None = None) -> None:
        """Add estimated errors to the observed positions and rates.

        Acceleration errors become a lasting change of the model's forces. When the model cannot
        follow, it raises an EstimationError and stays as it was.
        """

    def prepare(self, order: int) -> None:
        """Get Jacobians up to this derivative ready; called once before sensors are read."""

    def transition(self, dt: float, orders: int) -> Array:
        """Transition matrix of the error state with `orders` blocks (2, or 3 with forces)."""

    def body(self, name: str, order: int) -> BodyView:
        """Motion of a body and, up to the derivative `order`, its Jacobians."""

    def coordinate(
        self, index: int, order: int
    ) -> tuple[Sequence[float] | Array, Array, Array, Array]:
        """[q, q', q''] of one coordinate and its rows of R, R', R''."""

    def snapshot(self) -> Any:
        """Copy of the state."""

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot."""


@dataclass(frozen=True)
class Parameter:
    """An extra error state of a sensor: a bias or a radius, a random walk around its value.

    With a finite `correlation_time` it is a Gauss-Markov process that always returns to `initial`
    and keeps its deviation (the slow error of satellite positions), whatever `walk` says.
    """

    name: str
    initial: float
    deviation: float
    walk: float = 0.0  # spectral density of the random walk [unit^2 / s]
    correlation_time: float = math.inf  # [s]
    bounds: tuple[float, float] = (-math.inf, math.inf)  # it is never taken beyond these


@dataclass
class Reading:
    """What a sensor fills in: predicted value and its rows of the output matrix H."""

    value: Array  # (size,)
    z: Array  # (size, nz) and the same for rates, accelerations and own parameters
    zd: Array
    zdd: Array
    parameters: Array
    variance: Array  # (size,)
    available: NDArray[np.bool_]  # (size,)
    common: Array  # (size, all parameters of the filter), and which of them it shares
    places: IntArray


class Sensor(Protocol):
    """A sensor model with analytic Jacobians with respect to z, z', z'' and its parameters.

    A sensor may also have a method `receive(value, variance)` that returns both as the filter
    shall use them (rotated into body axes, the variance without what parameters explain), and a
    method `aged(seconds)` that is told before `linearise` how old the message is. One
    whose attribute `pseudo` is true is a constraint of the model that enters like a measurement;
    if `passive` is true as well, its innovation is always zero: it changes the covariance only.
    One whose attribute `absolute` is true measures its coordinates without the help of others:
    the estimate may give in to it (after a `patience` of its own, where it has one), see `trust`.
    One whose attribute `learns` is true states the largest noise that it may have: how much of it
    there is follows from its innovations. Parameters in its attribute `common`, by their whole
    names, are those of all sensors that name them: `linearise` gets them after its own.
    """

    name: str
    size: int
    wrap: bool
    order: int  # derivatives of R that its Jacobian needs (0: positions only)
    delay: float
    parameters: tuple[Parameter, ...]

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading for the model's present state."""


def is_pseudo(sensor: Sensor) -> bool:
    """Whether nothing measures it: such a sensor has no noise of its own and no outages."""
    return bool(getattr(sensor, 'pseudo', False))


class Measurement(NamedTuple):
    """One message of a sensor: its stamp, values and, if it brings them, its own variances."""

    sensor: str
    time: float
    value: Array
    variance: Array | None = None


class Innovation(NamedTuple):
    """What came of one measurement."""

    sensor: str
    time: float
    value: Array  # innovation of each component (NaN where unavailable)
    variance: Array  # H P H^T + N of each component when it was used
    nis: float
    degrees: int
    accepted: bool


class Brief(NamedTuple):
    """An innovation by its first component."""

    sensor: str
    time: float
    value: float
    variance: float
    accepted: bool


class Innovations(Sequence[Innovation]):
    """What came of the measurements of an update, made into objects when someone looks.

    `told`: sensor, time and rows of every measurement; `outcome` (k, 4): NIS, components, weight;
    `value` and `variance` of all rows of the filter.
    """

    __slots__ = ('_list', '_outcome', '_told', '_value', '_variance')

    def __init__(
        self,
        told: Sequence[tuple[str, float, slice]],
        outcome: Array,
        value: Array,
        variance: Array,
    ) -> None:
        self._told, self._outcome = told, outcome
        self._value, self._variance = value, variance
        self._list: list[Innovation] | None = None

    def _made(self) -> list[Innovation]:
        if self._list is None:
            self._list = [
                Innovation(
                    name,
                    time,
                    self._value[rows],
                    self._variance[rows],
                    nis,
                    int(degrees),
                    weight > 0.0,
                )
                for (name, time, rows), (nis, degrees, weight, _) in zip(
                    self._told, self._outcome.tolist(), strict=True
                )
                if degrees
            ]
            self._told = ()
        return self._list

    def accepted(self) -> Iterator[tuple[str, Array, Array, slice]]:
        """Of each that was used: sensor, values and variances of all rows, and its rows."""
        if self._list is None:
            for (name, _, rows), (_, degrees, weight, _) in zip(
                self._told, self._outcome.tolist(), strict=True
            ):
                if degrees and weight > 0.0:
                    yield name, self._value, self._variance, rows
            return
        yield from accepted(self._list)

    def briefly(self) -> list[Brief]:
        """`briefly` without making objects of arrays: it is asked at every step."""
        if self._list is not None:
            return briefly(self._list)
        value, variance = self._value.tolist(), self._variance.tolist()
        return [
            Brief(name, time, value[rows.start], variance[rows.start], weight > 0.0)
            for (name, time, rows), (_, degrees, weight, _) in zip(
                self._told, self._outcome.tolist(), strict=True
            )
            if degrees
        ]

    def __len__(self) -> int:
        return len(self._made())

    def __getitem__(self, index: Any) -> Any:
        return self._made()[index]

    def __iter__(self) -> Iterator[Innovation]:
        return iter(self._made())


def briefly(innovations: Iterable[Innovation]) -> list[Brief]:
    """Each by its first component."""
    if isinstance(innovations, Innovations):
        return innovations.briefly()
    return [
        Brief(one.sensor, one.time, float(one.value[0]), float(one.variance[0]), one.accepted)
        for one in innovations
    ]


def accepted(
    innovations: Iterable[Innovation],
) -> Iterator[tuple[str, Array, Array, slice]]:
    """Of each that was used: sensor, values, variances and which of these are its own."""
    if isinstance(innovations, Innovations):
        yield from innovations.accepted()  # without making them
        return
    for one in innovations:
        if one.accepted:
            yield one.sensor, one.value, one.variance, slice(None)


@dataclass
class Counts:
    """How many measurements of a sensor were used, and why the others were not."""

    used: int = 0
    rejected: int = 0  # by the gate, or while the sensor was set aside
    weighted: int = 0  # used with less than their weight
    unavailable: int = 0  # the sensor model itself declined (course at standstill)
    invalid: int = 0  # NaN or infinite
    late: int = 0  # older than the window
    set_aside: int = 0  # times
    taken_back: int = 0  # times
    believed: int = 0  # times that the estimate gave in to it
    last_used: float = field(default=float('-inf'))

    def copied(self) -> Counts:
        """A copy; `copy.copy` takes ten times as long and every snapshot has many."""
        return Counts(
            self.used,
            self.rejected,
            self.weighted,
            self.unavailable,
            self.invalid,
            self.late,
            self.set_aside,
            self.taken_back,
            self.believed,
            self.last_used,
        )


NONE = slice(0, 0)


def common_of(sensor: Sensor) -> tuple[Parameter, ...]:
    """Parameters that a sensor has in common with others, by their whole names."""
    found: tuple[Parameter, ...] = getattr(sensor, 'common', ())
    return found


def parameters_of(sensors: Sequence[Sensor]) -> dict[str, Parameter]:
    """All parameters by their whole names: those of each sensor, then the common ones."""
    found = {f'{s.name}.{p.name}': p for s in sensors for p in s.parameters}
    return found | {p.name: p for s in sensors for p in common_of(s)}


def reading_views(
    H: Array,
    value: Array,
    variance: Array,
    available: NDArray[np.bool_],
    nz: int,
    orders: int,
    parameters: slice,
    common: slice = NONE,
    places: Sequence[int] = (),
) -> Reading:
    """A reading that writes into the rows H (size, states) and vectors of a filter."""
    spare = np.zeros((H.shape[0], nz + 1))[:, :nz]  # strided like the views: one compiled kernel
    return Reading(
        value,
        H[:, :nz],
        H[:, nz : 2 * nz],
        H[:, 2 * nz : 3 * nz] if orders == 3 else spare,
        H[:, parameters],
        variance,
        available,
        H[:, common],
        np.array(places, dtype=np.int64),
    )
