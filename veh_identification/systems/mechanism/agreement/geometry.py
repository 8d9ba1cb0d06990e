"""What sensors must show where the independent coordinates are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import VehIdError
from veh_identification.systems.mechanism.configuration import Description, SensorEntries
from veh_identification.systems.mechanism.model import Mechanism, build
from veh_identification.types import Array

#: Independent coordinates go from one place to the next in steps of this (rad or m).
STEP = 0.1
#: Places of a whole turn.
TURN_PLACES = 241


@dataclass(frozen=True, eq=False)
class _Turn:
    """Places of one turn of the only freedom."""

    angle: Array
    places: Mapping[str, Array]

    def at(self, z: Array) -> dict[str, Array]:
        """Places by angles of any turn."""
        within = self.angle[0] + np.remainder(z - self.angle[0], 2.0 * np.pi)
        return {
            name: np.column_stack([np.interp(within, self.angle, one) for one in value.T])
            for name, value in self.places.items()
        }


class Geometry:
    """Some sensors by the places of a mechanism, as it is described or otherwise."""

    def __init__(self, names: Sequence[str], spacing: float) -> None:
        """`spacing`: seconds between two places, over which rates are taken."""
        self._names, self._spacing = names, spacing
        self._turns: dict[int, tuple[Description, _Turn | None]] = {}

    def predicted(self, description: Description, z: Array) -> dict[str, Array]:
        """What they must show where the independent coordinates are z (n, count)."""
        turn = self._turn(description)
        places = self._places(description, z) if turn is None else turn.at(z[:, 0])
        found = {}
        for name, value in places.items():
            sensor = description.sensors[name]
            if self._is_angle(description, sensor):
                value = np.unwrap(value, axis=0)
            if sensor.kind in ('gyro', 'rate'):
                value = np.diff(value, axis=0) / self._spacing
            found[name] = np.asarray(value)
        return found

    def _turn(self, description: Description) -> _Turn | None:
        """All places of a mechanism that turns round, once; None: it does not, or has freedoms."""
        known = self._turns.get(id(description))
        if known is None:
            known = self._turns[id(description)] = description, self._turned(description)
        return known[1]

    def _turned(self, description: Description) -> _Turn | None:
        (first, *more) = description.independent
        if more or description.coordinates[first].kind != 'angle':
            return None
        begin = float(build(description).model.z[0])
        angle = begin + np.linspace(0.0, 2.0 * np.pi, TURN_PLACES)
        try:
            places = self._places(description, angle[:, None])
        except VehIdError:
            return None
        for name, value in places.items():
            if self._is_angle(description, description.sensors[name]):
                places[name] = np.unwrap(value, axis=0)
        return _Turn(angle, places)

    @staticmethod
    def _is_angle(description: Description, sensor: SensorEntries) -> bool:
        if sensor.coordinate is None:
            return sensor.kind == 'gyro'
        return description.coordinates[sensor.coordinate].kind == 'angle'

    def _places(self, description: Description, z: Array) -> dict[str, Array]:
        """Lengths, points and angles (n, parts) that they look at, rates before they are."""
        mechanism, q, _ = poses(description, z, np.zeros_like(z))

        def points(name: str) -> Array:
            form = mechanism.points[name]
            return np.asarray(q @ form.matrix(q.shape[1])[:2].T + np.array(form.constant[:2]))

        found = {}
        for name in self._names:
            sensor = description.sensors[name]
            if sensor.kind == 'position':
                found[name] = points(str(sensor.point))
            elif sensor.kind == 'gyro':
                first, second = description.bodies[str(sensor.body)].points
                along = points(second) - points(first)
                found[name] = np.arctan2(along[:, 1], along[:, 0])[:, None]
            else:
                found[name] = q[:, [mechanism.columns[str(sensor.coordinate)]]]
        return found


def poses(description: Description, z: Array, zd: Array) -> tuple[Mechanism, Array, Array]:
    """Natural coordinates and rates (n, all) where the independent ones are z and zd (n, count).

    From each place to the next in small steps: a large one might end on another branch.
    """
    mechanism = build(description, dict(zip(description.independent, z[0], strict=True)))
    model = mechanism.model
    angles = np.array(
        [description.coordinates[name].kind == 'angle' for name in description.independent]
    )
    still, now = np.zeros(z.shape[1]), model.z.copy()
    q, qd = np.empty((len(z), len(model.q))), np.empty((len(z), len(model.q)))
    for k, wanted in enumerate(z):
        way = wanted - now
        way = np.where(angles, np.remainder(way + np.pi, 2.0 * np.pi) - np.pi, way)
        count = 1 + int(np.max(np.abs(way)) / STEP)
        for _ in range(count):
            now = now + way / count
            model.set_independent(now, zd[k], still)
        q[k], qd[k] = model.q, model.qd
    return mechanism, q, qd
