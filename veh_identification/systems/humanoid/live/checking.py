"""The checks of `veh-id identify humanoid` on the states of the last seconds."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

import numpy as np

from veh_identification.errors import VehIdError
from veh_identification.findings import Finding
from veh_identification.signals import TimeSeries, rotation_matrix, unwrap_quaternions
from veh_identification.systems.humanoid.checks.comparison import Comparison
from veh_identification.systems.humanoid.checks.delays import (
    DRIFT,
    SMALLEST,
    Delay,
    drift_finding,
    significant_in_parts,
)
from veh_identification.systems.humanoid.checks.explanations import Search
from veh_identification.systems.humanoid.checks.standing import (
    leg_errors_in_parts,
    with_leg_errors,
)
from veh_identification.systems.humanoid.checks.units import unit_findings
from veh_identification.systems.humanoid.configuration import Pose
from veh_identification.systems.humanoid.live.model import ContactModel
from veh_identification.systems.humanoid.live.states import BASE, MOST_PLATES, ContactStates
from veh_identification.systems.humanoid.processing.doubts import Doubt
from veh_identification.systems.humanoid.processing.signals import to_grid
from veh_identification.systems.humanoid.recording.reader import (
    WRENCH_NAMES,
    WRENCH_UNITS,
    Recording,
    Wrench,
)
from veh_identification.systems.humanoid.setup import before_search
from veh_identification.types import Array, IntArray

LABEL = 'fused/state'
#: Hypotheses that are tried at a time: each takes some thousandths of a second.
SLICE = 20
Place = Callable[[str, str], Pose | None]
#: Decimals of metres, radians, newtons that are kept: fusing and turning back leave a constant
#: channel with the rounding of the last one, and a stuck or saturated sensor would not show.
DECIMALS = 9


class StatesCheck:
    """Units, signs, sides, frames and clocks of some seconds of states, looked at in slices.

    A node must not stop for long: each slice lasts some hundredths of a second. The slices are
    counted, not timed, so that the same states are always judged alike.
    """

    def __init__(self, recording: Recording, model: ContactModel) -> None:
        self.model = model
        self.findings: list[Finding] = []
        self.doubt: Doubt | None = None  # about joints or links, for the deviations
        self.conclusive = True  # whether there was enough to compare
        self._parts = self._search(recording, model)

    def step(self) -> bool:
        """The next slice; False when all is done and `findings` are complete."""
        try:
            next(self._parts)
            return True
        except StopIteration:
            return False
        except VehIdError as error:
            self._give_up(str(error))
            return False

    def _give_up(self, reason: str) -> None:
        text = f'the sensors cannot be checked against each other: {reason}'
        self.findings, self.conclusive = [Finding('note', 'not_checked', text, LABEL)], False

    def _search(self, recording: Recording, model: ContactModel) -> Generator[None, None, None]:
        """Stops after each slice."""
        self.findings = unit_findings(recording, model.robot)
        if self.findings or not recording.wrenches:
            return
        problem = model.problem
        raw = to_grid(recording, problem.model)
        yield
        search = Search(Comparison(problem, raw), raw.label)
        yield
        found = before_search(search, recording, model.locked, filtered=True)
        while search.waiting and not _forbidden(found):
            yield
            search.step(SLICE)
        if not _forbidden(found):
            found += search.findings()
        if not _forbidden(found):
            told, self.doubt = yield from leg_errors_in_parts(search.comparison, search.label)
            yield
            delays = yield from significant_in_parts(problem, raw)
            late = _delays([one for one in delays if one.group != DRIFT])
            late += [drift_finding(one, LABEL) for one in delays if one.group == DRIFT]
            if late:  # which says also whose clock it is
                told = [one for one in told if one.code != late[0].code]
            found = [*with_leg_errors(found, told), *late]
        if not np.isfinite(search.comparison.as_it_is.all) and not _forbidden(found):
            self._give_up('too few states carry a load')
            return
        # The same in every stretch, so that it is told once.
        self.findings = [replace(one, text=one.text.removeprefix(f'{LABEL}: ')) for one in found]


def _forbidden(findings: list[Finding]) -> bool:
    return any(one.level == 'bad' for one in findings)


def _delays(found: Sequence[Delay]) -> list[Finding]:
    """Clocks that differ: here they are not taken off, so that they speak against the estimate."""
    return [
        Finding(
            'warn',
            'stamps_delayed',
            f'the stamps of {one.group} are {1e3 * abs(one.value):.3g} ms '
            f'{"late" if one.value > 0.0 else "early"} against the wrenches: set `delay` of the '
            'sensor in sensor_fusion',
            f'stamps of {one.group}',
            size=one.value,
        )
        for one in found
        if abs(one.value) > SMALLEST
    ]


def as_recording(
    stamps: IntArray, rows: Array, states: ContactStates, frames: list[str], place: Place
) -> Recording:
    """States as a recording: each plate's wrench in its own frame, or in the world at its origin.

    What the fusion has brought to the base link is turned back with the same pose, so that a
    channel that was constant is so again.
    """
    epoch = int(stamps[0])
    t = np.asarray((stamps - epoch) * 1e-9, float)
    count = len(states.joints)

    def series(values: Array, names: tuple[str, ...], units: tuple[str, ...]) -> TimeSeries:
        return TimeSeries(t, np.round(values, DECIMALS), names, units, epoch, LABEL)

    wrenches = []
    plates = states.plate_names if len(states.plate_names) <= MOST_PLATES else []
    for k, name in enumerate(plates):
        start = states.own_plates + 6 * k
        pose = place(states.world, name) or Pose(np.zeros(3), np.eye(3))
        values = _in_plate(rows, rows[:, start : start + 6], pose)
        one = series(values, WRENCH_NAMES, WRENCH_UNITS)
        wrenches.append(Wrench(f'{name}/wrench', name, one, pose))
    for k, frame in enumerate(frames):
        start = BASE + 3 * count + 6 * k
        one = series(rows[:, start : start + 6], WRENCH_NAMES, WRENCH_UNITS)
        wrenches.append(Wrench(states.links[k], frame, one))
    joints = rows[:, BASE : BASE + count]
    base = np.hstack([rows[:, 12:15], unwrap_quaternions(rows[:, 15:19])])
    return Recording(
        LABEL,
        (series(joints, tuple(states.joints), ('rad or m',) * count),),
        series(base, ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw'), ('m',) * 3 + ('',) * 4),
        tuple(wrenches),
        tuple(states.unknown),
        tuple(states.missing),
        (),
        epoch,
    )


def _in_plate(rows: Array, wrench: Array, pose: Pose) -> Array:
    """A wrench (n, 6) at the base link as a plate shows it."""
    turn = rotation_matrix(rows[:, 15:19])
    force = np.einsum('nij,nj->ni', turn, wrench[:, :3])
    moment = np.einsum('nij,nj->ni', turn, wrench[:, 3:])
    moment = moment + np.cross(rows[:, 12:15] - pose.position, force)
    return np.hstack([force @ pose.rotation, moment @ pose.rotation])
