"""What drives bring into a mechanism against the energy that it has.

Work that goes in is energy of masses and springs, or lost in dampers and by dry friction, which no
description knows and which is estimated. No acceleration is needed. Forces that no message tells
(a hand, a brake) are ordinary, so that only what one mistake explains is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from veh_identification.checks.explanation import (
    Hypothesis,
    best_explanation,
    explanation_findings,
    partly,
)
from veh_identification.errors import VehIdError
from veh_identification.findings import Finding
from veh_identification.observation.streaming import Item
from veh_identification.signals.smoothing import local_polynomial_derivatives
from veh_identification.systems.mechanism.agreement.changes import turning_point
from veh_identification.systems.mechanism.agreement.geometry import poses
from veh_identification.systems.mechanism.agreement.heard import Heard, noise_of, shown_by
from veh_identification.systems.mechanism.configuration import Description
from veh_identification.systems.mechanism.model import build
from veh_identification.systems.mechanism.streams import JOINTS
from veh_identification.types import Array

#: Seconds between two places, how many at most (the last ones) and at least.
SPACING, MOST, FEWEST = 0.005, 1200, 200
#: Rates are of polynomials over so many samples to either side, at least over so long [s].
SAMPLES, SHORTEST, ORDER = 8, 0.03, 3
#: Energies are compared over this time [s].
SPAN = 0.25
#: Part of energy and work that may be missing (masses are never quite known): units of misfit.
ALLOWED = 0.1
#: Units up to which nothing is said, and up to which a cause has explained all; below the last
#: one all fit alike.
AGREE, GOOD, ALIKE = 1.0, 1.5, 0.3
#: Rates below so many deviations say nothing.
MOVING = 10.0
#: A factor this near to one is none [-].
NEAR = 0.3
#: By how much forces may be later than what they drive [s].
LAGS = (0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2, 0.25)
#: What a torque or force may be shown in, and how many of it are one N m or one N.
TORQUES = {'N mm': 1e3, 'N cm': 1e2, 'kgf cm': 10.1972, 'lbf in': 8.8507, 'kN m': 1e-3}
FORCES = {'kN': 1e-3, 'mN': 1e3, 'kgf': 1.0 / 9.80665, 'lbf': 1.0 / 4.44822}
#: What entries of the description may be in, and how many of it are one SI unit.
MASSES = {'g': 1e3}
INERTIAS = {'g m^2': 1e3, 'kg cm^2': 1e4, 'kg mm^2': 1e6, 'g cm^2': 1e7, 'g mm^2': 1e9}
STIFFNESSES = {'N/mm': 1e-3}


@dataclass(frozen=True, eq=False)
class Driven:
    """Forces of the drives by name at the times of the places, and what describes the machine."""

    forces: Mapping[str, Array]
    description: Description


class Balance:
    """Work against energy over a recording's last seconds."""

    def __init__(self, case: Driven, at: Array, z: Array, zd: Array) -> None:
        """`z` and `zd`: independent coordinates and rates (n, count) at equal times."""
        self.case, self.at, self._zd = case, at, zd
        spacing = self._spacing = float(at[1] - at[0])
        self._mechanism, self._q, self._qd = poses(case.description, z, zd)
        self._span = max(1, round(SPAN / spacing))

    @classmethod
    def of(cls, heard: Heard, items: Sequence[Item], description: Description) -> Balance | None:
        """None where no force was heard or nothing moves."""
        shown = shown_by(description, heard)
        told = {name: [one for one in items if one.key == name] for name in description.drives}
        told = {name: found for name, found in told.items() if len(found) > 1}
        if shown is None or not told:
            return None
        first = min(item.time_ns for item in items if item.key in heard)
        sensors = [(description.sensors[name], *heard[name]) for name in shown]
        period = max(float(np.median(np.diff(time))) for _, time, _ in sensors)
        width = max(SHORTEST, SAMPLES * period)
        begin = max(time[0] for _, time, _ in sensors) + width
        end = min(time[-1] for _, time, _ in sensors) - width
        at = np.arange(begin, end, max(SPACING, period))[-MOST:]
        if len(at) < FEWEST:
            return None
        z, zd = np.empty((len(at), len(shown))), np.empty((len(at), len(shown)))
        moving = False
        for k, (sensor, time, values) in enumerate(sensors):
            found = local_polynomial_derivatives(time, values[:, 0], at, width, order=ORDER)
            if not np.all(found.valid):
                return None  # a pause, across which no work is known
            z[:, k], zd[:, k] = np.ravel(found.position), np.ravel(found.velocity)
            moving |= float(np.std(zd[:, k])) > MOVING * noise_of(sensor) / width
        forces = {}
        for name, found_items in told.items():
            stamps = np.array([(one.time_ns - first) * 1e-9 for one in found_items])
            values = np.array([one.payload[0] for one in found_items])
            order = np.argsort(stamps, kind='stable')
            forces[name] = np.interp(at, stamps[order], values[order])
        if not moving or not any(np.any(force != 0.0) for force in forces.values()):
            return None
        return cls(Driven(forces, description), at, z, zd)

    def misfit(self, case: Driven) -> float:
        """What of the energy no work explains, over what may be missing."""
        work, energy = self._parts(case)
        size = float(np.sqrt(np.mean(work**2)) + np.sqrt(np.mean(energy**2)))
        left = nnls(self._friction(), work - energy)[1] / np.sqrt(len(work))
        return float(np.hypot(left / max(ALLOWED * size, 1e-12), ALIKE))

    def change(self) -> int:
        """The place from which on work and energy disagree more, or less, than before."""
        work, energy = self._parts(self.case)
        size = float(np.mean(np.square(work)) + np.mean(np.square(energy)))
        return turning_point(np.square(work - energy) / size) + self._span // 2

    def factor(self, name: str) -> float:
        """The factor with which the work of a drive explains the energy best, beside friction."""
        work, energy = self._parts(self.case)
        own = self._work(self.case, name)
        columns = np.column_stack([own, -self._friction()])
        found = np.linalg.lstsq(columns, energy - (work - own), rcond=None)[0]
        return float(found[0])

    def _parts(self, case: Driven) -> tuple[Array, Array]:
        """Work of the drives and loads, and energy with what dampers took, over each span."""
        q, qd = self._q, self._qd
        model = build(case.description).model
        kinetic, potential = model.energies(q, qd)
        loads = q @ model.loads.coordinate_force  # with forces of drives before messages come
        lost = self._summed(model.damped_power(q, qd))
        work = sum((self._work(case, name) for name in case.forces), self._over(loads))
        return work, self._over(kinetic + potential + lost)

    def _work(self, case: Driven, name: str) -> Array:
        """Of a drive beyond what the description says, over each span."""
        drive = case.description.drives[name]
        rate = self._qd[:, self._mechanism.columns[drive.coordinate]]
        return self._over(self._summed((case.forces[name] - drive.force) * rate))

    def _friction(self) -> Array:
        """Ways (n, count) of the independent coordinates, whatever their direction."""
        return np.column_stack([self._over(self._summed(np.abs(one))) for one in self._zd.T])

    def _summed(self, power: Array) -> Array:
        between = 0.5 * (power[1:] + power[:-1])
        return np.append(0.0, np.cumsum(between)) * self._spacing

    def _over(self, values: Array) -> Array:
        return np.asarray(values[self._span :] - values[: -self._span])


def check_balance(heard: Heard, items: Sequence[Item], description: Description) -> list[Finding]:
    """The one mistake in forces or masses that explains why work and energy disagree."""
    try:
        balance = Balance.of(heard, items, description)
        as_it_is = 0.0 if balance is None else balance.misfit(balance.case)
    except VehIdError:
        return []  # what the sensors show is impossible, which others tell
    if balance is None or as_it_is <= AGREE:
        return []
    found = best_explanation(balance.case, _hypotheses(balance), balance.misfit, as_it_is)
    told = explanation_findings(
        found,
        label=description.name,
        better='the work of the drives fits the energy',
        good=GOOD,
        misfit_text='',
    )
    causes = [one for one in told if one.level == 'bad']
    return _same_throughout(balance.case, as_it_is, causes) or causes


def _same_throughout(case: Driven, misfit: float, causes: Sequence[Finding]) -> list[Finding]:
    """Forces that never change although their work does not fit: nothing tells the right ones."""
    found = []
    for name, force in case.forces.items():
        if float(np.ptp(force)) > 0.0:
            continue
        where = _told_by(case.description, name)
        text = (
            f'the force of {name} ({where}) is {force[0]:.4g} throughout, and its work misses the '
            f'energy by {misfit:.3g} times what is usual: is it stuck, or does something else '
            'drive or brake as well?'
        )
        text += ''.join(f' (or {one.text})' for one in causes)
        found.append(Finding('warn', 'stuck', text, where, size=misfit))
    return found


def _hypotheses(balance: Balance) -> Iterator[Hypothesis[Driven]]:
    """The simplest first; last those of a part of the time."""
    yield from _forces(balance.case)
    yield from _late(balance.case, float(balance.at[1] - balance.at[0]))
    yield from _entries(balance.case.description)
    for name in balance.case.forces:
        factor = balance.factor(name)
        if factor > 0.0 and abs(np.log(factor)) > NEAR:
            text = (
                f'the force of {name} seems to be shown {1.0 / factor:.3g} times too large '
                '(or masses of the description are as much too small)'
            )
            yield Hypothesis('scale', text, _scaled(name, factor), f'drives.{name}')
    place = balance.change()
    time = float(balance.at[place])

    def late(case: Driven, changed: Driven) -> Driven:
        return _joined(case, changed, place)

    def early(case: Driven, changed: Driven) -> Driven:
        return _joined(changed, case, place)

    yield from partly(_forces(balance.case), late, f'from about {time:.2g} s on')
    yield from partly(_forces(balance.case), early, f'until about {time:.2g} s')


def _told_by(description: Description, name: str) -> str:
    """Topic and field of the force of a drive."""
    drive = description.drives[name]
    return f'effort of {drive.joint or drive.coordinate} in {JOINTS}'


def _late(case: Driven, spacing: float) -> Iterator[Hypothesis[Driven]]:
    """Forces that are older than the places beside them."""
    for name, force in case.forces.items():
        where = _told_by(case.description, name)
        if float(np.ptp(force)) == 0.0:
            continue
        for lag in LAGS:
            text = f'the force of {name} ({where}) seems to be about {1e3 * lag:.3g} ms late'
            yield Hypothesis('late', text, _sooner(name, round(lag / spacing)), where)


def _sooner(name: str, steps: int) -> Callable[[Driven], Driven]:
    """The force of a drive so many steps earlier; the last one lasts."""

    def change(case: Driven) -> Driven:
        force = case.forces[name]
        moved = force[np.minimum(np.arange(len(force)) + steps, len(force) - 1)]
        return replace(case, forces={**case.forces, name: moved})

    return change


def _forces(case: Driven) -> Iterator[Hypothesis[Driven]]:
    """Signs and units of the drives."""
    description = case.description
    for name, drive in description.drives.items():
        if name not in case.forces:
            continue
        where = _told_by(description, name)
        turns = description.coordinates[drive.coordinate].kind == 'angle'
        text = f'the force of {name} ({where}) seems to have the wrong sign'
        yield Hypothesis('force_sign', text, _scaled(name, -1.0), where)
        for unit, count in (TORQUES if turns else FORCES).items():
            right = 'N m' if turns else 'N'
            text = f'the force of {name} ({where}) seems to be in {unit}, it must be in {right}'
            yield Hypothesis('unit', text, _scaled(name, 1.0 / count), where)


def _entries(description: Description) -> Iterator[Hypothesis[Driven]]:
    """Masses, inertias and springs of the description in another unit, and another gravity."""
    fields = (
        ('bodies', 'mass', 'kg', MASSES),
        ('masses', 'mass', 'kg', MASSES),
        ('bodies', 'inertia', 'kg m^2', INERTIAS),
        ('springs', 'stiffness', 'N/m', STIFFNESSES),
    )
    for part, field, right, units in fields:
        for name, entry in getattr(description, part).items():
            if not getattr(entry, field):
                continue
            for unit, count in units.items():
                where = f'{part}.{name}.{field}'
                text = f'{where} seems to be in {unit}, it must be in {right}'
                yield Hypothesis('unit', text, _entered(part, name, field, 1.0 / count), where)
    x, y = description.gravity
    for turned in ((y, -x), (-y, x), (-x, -y)):
        text = f'gravity seems to be [{turned[0]:.3g}, {turned[1]:.3g}] m/s^2 in the drawing'
        yield Hypothesis('gravity', text, _pulled(turned), 'gravity')


def _joined(first: Driven, second: Driven, place: int) -> Driven:
    """Forces of one up to a place and of the other from it on."""
    forces = {
        name: np.append(force[:place], second.forces[name][place:])
        for name, force in first.forces.items()
    }
    return replace(first, forces=forces)


def _scaled(name: str, factor: float) -> Callable[[Driven], Driven]:
    """The force of a drive times a factor."""
    return lambda case: replace(case, forces={**case.forces, name: factor * case.forces[name]})


def _pulled(gravity: tuple[float, float]) -> Callable[[Driven], Driven]:
    """Another gravity."""
    return lambda case: replace(case, description=replace(case.description, gravity=gravity))


def _entered(part: str, name: str, field: str, factor: float) -> Callable[[Driven], Driven]:
    """An entry of the description times a factor."""

    def change(case: Driven) -> Driven:
        entries: Mapping[str, Any] = getattr(case.description, part)
        entry = replace(entries[name], **{field: factor * getattr(entries[name], field)})
        changed: dict[str, Any] = {part: {**entries, name: entry}}
        return replace(case, description=replace(case.description, **changed))

    return change
