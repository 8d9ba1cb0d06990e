"""A humanoid's parameters while it moves: states into rows of equation (4), rows into estimates.

A start phase finds joints that do not move and locks them; one that moves later is set free, which
starts the estimation over. The checks of the offline identification are made on the first seconds,
then ever more rarely on the latest ones.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding, Level
from veh_identification.identification.live import LiveIdentification
from veh_identification.identification.rows import (
    Rows,
    RowStream,
    Skipped,
    StateBuffer,
    row_filter,
)
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.results.messages import (
    Derived,
    Equations,
    change_rows,
    group_by_prefix,
    load_finding,
)
from veh_identification.saved_state import SavedState, StateError
from veh_identification.systems.humanoid.live.checking import StatesCheck
from veh_identification.systems.humanoid.live.model import ContactModel, live_configuration
from veh_identification.systems.humanoid.live.options import ContactOptions
from veh_identification.systems.humanoid.live.plates import PlatePlaces
from veh_identification.systems.humanoid.live.states import BASE, ContactStates
from veh_identification.systems.humanoid.processing.supports import (
    load_misses,
    other_support,
)
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.systems.live import LiveModel, Sides
from veh_identification.types import Array, BoolArray, IntArray

#: Seconds of states that are checked together, and the share by which rows must have grown until
#: that is done again.
CHECKED_SECONDS, CHECKED_AGAIN = 10.0, 2.0
#: A locked joint that leaves its rest by this many times `lock_below` is moving.
UNLOCK = 3.0
#: Levers at which offsets of forces count as those of moments: at the plate's own origin, and at
#: the place where the robot started, some way from it.
PLATE_LEVER, START_LEVER = 0.1, 0.3
#: Share of the measured rms above which the fit is bad, as in reports.
POOR_FIT = 0.5
#: Equations that a standing robot's weight fills.
LOADED = ('FZ', 'NX', 'NY')


class ContactLive(LiveModel):
    """Estimates base parameters from the six base-link rows."""

    advice_code = 'unexcited'

    def __init__(
        self,
        robot: Robot,
        options: ContactOptions,
        links: list[str],
        frames: list[str],
        plates: list[str],
    ) -> None:
        """`links`: wrenches of sensors on the links `frames`; `plates`: those from the world."""
        super().__init__()
        self.robot, self.options, self._frames = robot, options, frames
        self.states = ContactStates(robot.moving_joints(), links, plates)
        self.places = PlatePlaces(options.plate_centre)
        tree = robot.model()
        self.warnings = list(tree.warnings)
        self._limits = np.array(
            [
                options.lock_below
                * (1.0 if tree.coordinate_is_angle(tree.coordinate_index(name)) else 0.1)
                for name in self.states.joints
            ]
        )
        self.received = 0
        self.skipped = Skipped()
        self._lately: dict[str, int] = {}
        self.buffer = StateBuffer(self._on_block, self._on_gap, options.rate)
        self.posture = np.zeros(len(self.states.joints))
        self._free: set[str] = set()  # joints that have moved once
        self._woken: list[str] = []  # those that started the estimation over
        self._forget()

    def _forget(self) -> None:
        """Neither model nor rows."""
        self.model: ContactModel | None = None
        self.live: LiveIdentification | None = None
        self.stream: RowStream | None = None
        self.equations, self.solution = None, None
        self.convergence.forget()
        self.problem = ''  # why the last estimation failed
        self._start: list[tuple[IntArray, Array]] = []
        self._checked: list[Finding] = []
        self._checking: StatesCheck | None = None  # under way
        self._latest: deque[tuple[IntArray, Array]] = deque()
        self._seen = self._next_check = 0
        self._row_squares = np.zeros((2, 0))
        # Blocks of the stretch with their rows and loads; the last ones of them wait to be used.
        self._held: deque[tuple[IntArray, Array, Array, Array]] = deque(maxlen=3)
        self._waiting = 0

    def warm_up(self) -> None:
        """Compile and load what the first rows would have to wait for."""
        self._contact_model({}, np.zeros(3), True, PLATE_LEVER).warm_up(self.states.width)

    # States -------------------------------------------------------------------------------------

    def push(self, stamp_ns: int, values: Array | str) -> None:
        """One state as a row of numbers, or the reason why it cannot be used."""
        self.received += 1
        if isinstance(values, str):
            self.skipped.add(values)
            self.buffer.push(stamp_ns, None)
        else:
            self.buffer.push(stamp_ns, values)

    def _on_gap(self) -> None:
        self._use_waiting()
        self._held.clear()
        if self.stream is not None:
            self.stream.interrupt()

    def _on_block(self, stamps: IntArray, values: Array) -> None:
        found = self._rows(stamps, values)
        if found is None:
            return
        self._held.append((stamps, *found))
        self._waiting += 1
        # Whether load is missing for long shows with the next block only.
        measured, expected = found[2][-1:].T
        unclear = load_misses(measured, expected, self._weight, self.options.support_tolerance)
        if not unclear[0] or self._waiting > 1:
            self._use_waiting()

    def _use_waiting(self) -> None:
        """Judge the support of the blocks that wait, with those before them, and use them."""
        waiting = list(self._held)[len(self._held) - self._waiting :]
        if self._waiting and self.live is not None:
            loads = np.concatenate([block[3] for block in self._held])
            tolerance, rate = self.options.support_tolerance, self.buffer.rate
            wrong = other_support(loads[:, 0], loads[:, 1], self._weight, tolerance, rate)
            start = len(loads) - sum(len(block[0]) for block in waiting)
            for stamps, W, Y, _ in waiting:
                bad = wrong[start : start + len(stamps)]
                start += len(stamps)
                if bad.any():
                    count = int(np.sum(bad))
                    self.skipped.add('the sensors do not carry the whole robot', count)
                self._take(stamps, W, Y, ~bad)
        self._waiting = 0

    @property
    def _weight(self) -> float:
        """Of the robot as it is known so far [N]."""
        assert self.model is not None
        known = self.model.a_priori if self.solution is None else self.solution.value
        return abs(float(self.model.mass_weights @ known)) * self.options.gravity

    def _take(self, stamps: IntArray, W: Array, Y: Array, usable: BoolArray) -> None:
        assert self.stream is not None and self.live is not None
        # An equation that is missing is no reason to lose the others.
        finite = np.isfinite(W).all(axis=(1, 2)) & np.isfinite(Y).any(axis=1)
        if not finite.all():
            self.skipped.add('values that are no numbers', int(np.sum(usable & ~finite)))
        if self.stream.filter.rate != self.buffer.rate:  # loaded before the first state
            self.stream = RowStream(row_filter(self.buffer.rate, self.options.cutoff))
        for rows in self.stream.push(stamps, W, Y, usable & finite):
            self.live.add(rows.W, rows.Y)
            self._reconstruct(rows)

    def _rows(self, stamps: IntArray, values: Array) -> tuple[Array, Array, Array] | None:
        """Rows of equation (4), vertical loads (n, 2) as measured and expected; None before."""
        self.posture = values[-1, self._joint_columns()]
        if self.model is None:
            self._collect(stamps, values)
            return None
        if self._wakes(values):
            self._forget()
            self._start = [(stamps, values)]
            return None
        self._check(stamps, values)
        W, Y = self.model.rows(values)
        up = -values[:, 9:12] / np.linalg.norm(values[:, 9:12], axis=1)[:, None]
        known = self.model.a_priori if self.solution is None else self.solution.value
        measured = np.einsum('ni,ni->n', Y[:, :3], up)
        predicted = np.einsum('ni,ni->n', (W @ known)[:, :3], up)
        return W, Y, np.column_stack([measured, predicted])

    def _joint_columns(self) -> slice:
        return slice(BASE, BASE + len(self.states.joints))

    # Start phase --------------------------------------------------------------------------------

    def _collect(self, stamps: IntArray, values: Array) -> None:
        """Wait until some joint has moved for long enough, then lock the rest."""
        self._start.append((stamps, values))
        rows = np.concatenate([part for _, part in self._start])
        q = rows[:, self._joint_columns()]
        if len(q) < self.options.start_seconds * self.buffer.rate:
            return
        travel = np.ptp(q, axis=0)
        if not np.any(travel > self._limits):
            self._start = self._start[len(self._start) // 2 :]  # standing still teaches nothing
            return
        rest = {
            name: float(np.median(q[:, k]))
            for k, name in enumerate(self.states.joints)
            if travel[k] < self._limits[k] and name not in self._free
        }
        centre = self.places.centre(self.states.world, self.states.plate_names)
        # Without a place: where the robot started, some way from the plate.
        lever = START_LEVER if centre is None else PLATE_LEVER
        start = self._start[0][1][0, 12:15] if centre is None else centre
        waiting = self._start
        self._make_model(rest, start, self.states.has_plates, lever)
        for block in waiting:
            self._on_block(*block)

    def _check(self, stamps: IntArray, values: Array) -> None:
        """The offline checks on the latest seconds: at the start, then ever more rarely."""
        self._latest.append((stamps, values))
        self._seen += len(stamps)
        while sum(len(s) for s, _ in self._latest) > CHECKED_SECONDS * self.buffer.rate:
            self._latest.popleft()
        self._go_on_checking()
        wanted = self._next_check or self.options.start_seconds * self.buffer.rate
        if self._seen < wanted:
            return
        self._next_check = int(CHECKED_AGAIN * self._seen)
        if self._checking is None:
            self._begin_checking()

    def _begin_checking(self) -> None:
        """The offline checks on the latest seconds, a slice with each block of states."""
        assert self.model is not None
        stamps = np.concatenate([s for s, _ in self._latest])
        rows = np.concatenate([v for _, v in self._latest])
        self._checking = StatesCheck(
            stamps, rows, self.states, self._frames, self.model, self.places.pose
        )

    def _go_on_checking(self) -> None:
        if self._checking is not None and not self._checking.step():
            self._checked, self._checking = self._checking.findings, None

    def finish(self) -> bool:
        """Check once more with all that came."""
        before = self._checked
        self.buffer.interrupt()
        if self.model is not None and self._latest and self._next_check != self._seen:
            self._next_check = self._seen
            self._begin_checking()
        while self._checking is not None:
            self._go_on_checking()
        return self._checked != before and self.solution is not None

    def _wakes(self, values: Array) -> bool:
        assert self.model is not None
        q = values[:, self._joint_columns()]
        woken = [
            name
            for name, rest in self.model.locked.items()
            if np.median(np.abs(q[:, (k := self.states.joints.index(name))] - rest))
            > UNLOCK * self._limits[k]
        ]
        if woken:
            self._free.update(woken)
            self._woken = woken
        return bool(woken)

    def _contact_model(
        self, locked: dict[str, float], centre: Array, plates: bool, lever: float
    ) -> ContactModel:
        o = self.options
        weight = self.robot.total_mass * o.gravity
        return ContactModel(
            self.robot,
            self.states.joints,
            locked,
            self._frames,
            plates,
            0.01 * o.offset_percent * weight,
            live_configuration(o.gravity, o.prior_percent),
            centre,
            lever,
        )

    def _make_model(
        self, locked: dict[str, float], centre: Array, plates: bool, lever: float
    ) -> None:
        """From here on rows are estimated from."""
        self._forget()
        model = self.model = self._contact_model(locked, centre, plates, lever)
        equations = self.equations = Equations(
            'humanoid',
            model.names,
            model.units,
            list(BASE_ROWS),
            ['N'] * 3 + ['N m'] * 3,
            model.a_priori,
            model.watched,
        )
        filter_ = row_filter(self.buffer.rate or 100.0, self.options.cutoff)
        self.stream = RowStream(filter_)
        self.live = LiveIdentification(
            equations.names,
            equations.equations,
            equations.watched,
            model.solve,
            row_rate=filter_.output_rate,
            memory=self.options.memory,
            significance=self.options.significance,
        )
        self._row_squares = np.zeros((2, len(equations.equations)))

    # Estimate -----------------------------------------------------------------------------------

    def tick(self, silent: int) -> bool:
        """Estimate anew from all rows so far."""
        self._lately = dict(self.skipped.take())
        if self.live is None or self.equations is None or silent:
            return False
        try:
            solution = self.solution = self.live.solve()
        except EstimationError as error:
            self.problem = str(error)
            return False
        self.problem = ''
        self.convergence.update(solution, solution.excited, self.equations.watched)
        return True

    def _reconstruct(self, rows: Rows) -> None:
        if self.solution is None:
            return
        predicted = rows.W @ np.nan_to_num(self.solution.value)
        self._row_squares *= 0.99 ** len(rows.Y)
        self._row_squares += [
            np.nansum(np.square(rows.Y - predicted), axis=0),
            np.nansum(np.square(rows.Y), axis=0),
        ]
        self._sides.append(Sides(rows.stamps_ns, rows.Y, predicted, self.solution.sigma))

    @property
    def samples(self) -> int:
        """Rows in use."""
        return 0 if self.live is None else self.live.samples

    @property
    def rejected(self) -> int:
        """States that were not used."""
        return self.skipped.total

    def derived(self) -> list[Derived]:
        """A change of the load; total mass and centre of mass (base axes, latest posture)."""
        assert self.model is not None and self.solution is not None
        assert self.equations is not None and self.live is not None
        rows = self.model.mass_and_moments(self.posture)
        beyond = self.robot.mass_beyond
        value = rows @ self.solution.value
        covariance = rows @ self.solution.covariance @ rows.T
        before = rows @ self.model.a_priori
        mass = Derived(
            'total_mass',
            'kg',
            float(value[0]) + beyond,
            float(np.sqrt(covariance[0, 0])),
            float(before[0]) + beyond,
            possible=bool(value[0] > 0.0),
        )
        found = [*change_rows(self.equations, self.live.change), mass]
        for k, axis in enumerate('xyz', start=1):
            centre = value[k] / value[0]
            gradient = np.zeros(4)
            gradient[k], gradient[0] = 1.0 / value[0], -centre / value[0]
            found.append(
                Derived(
                    f'centre_of_mass.{axis}',
                    'm',
                    float(centre),
                    float(np.sqrt(gradient @ covariance @ gradient)),
                    float(before[k] / before[0]),
                )
            )
        return found

    # What it says -------------------------------------------------------------------------------

    @property
    def impossible(self) -> list[str]:
        """A robot without mass; sums of inertias below zero are possible for base parameters."""
        if self.model is None or self.solution is None:
            return []
        return [] if self.model.mass_weights @ self.solution.value > 0.0 else ['total_mass']

    def advice(self) -> str:
        """Links that have not shown their parameters yet."""
        if self.model is None or self.solution is None:
            return ''
        weak = [
            name
            for name, excited in zip(self.model.names, self.solution.excited, strict=True)
            if not excited and '.offset.' not in name
        ]
        if not weak:
            return ''
        groups = group_by_prefix(weak)
        text = ', '.join(f'{link} ({" ".join(entries)})' for link, entries in groups.items())
        return f'not excited: {text}; turn these links faster and about more axes'

    @property
    def ready(self) -> str:
        """What is said when nothing speaks against the estimate."""
        return 'all parameters are excited'

    def doubts(self) -> list[Finding]:
        """States not used, joints without data, units, a poor fit, a load, a failed estimation."""
        topic = self.options.topic
        found = [
            Finding(
                'warn',
                'states_not_used',
                f'{count} states in the last second not used: {reason}',
                f'{topic}: {reason}',
            )
            for reason, count in self._lately.items()
        ]
        if self.states.missing and self.received:
            text = f'no state names {", ".join(self.states.missing)}: taken as resting at zero'
            found.append(Finding('warn', 'joints_missing', text, topic))
        if self.model is not None and self.model.left_aside:
            aside = ', '.join(f'{name} ({n} rows)' for name, n in self.model.left_aside.items())
            text = f'left aside for too few rows that are numbers: {aside}'
            found.append(Finding('warn', 'equation_left_aside', text, topic))
        if self._woken:
            text = f'{", ".join(self._woken)} began to move: the estimation started over'
            found.append(Finding('note', 'joint_woke_up', text))
        if self.model is None and self._start:
            found.append(Finding('note', 'waiting_for_motion', 'waiting for motion'))
        if self.problem and self.samples:
            # Rows are still few in the first second: that alone speaks against nothing.
            level: Level = 'warn' if self.solution is None else 'bad'
            found.append(Finding(level, 'estimation_failed', self.problem))
        found += self._checked
        named = any(one.level == 'bad' for one in self._checked)  # the cause stands alone
        if not named and (poor := self._poor_equations()):
            text = f'poor fit of {", ".join(poor)}: check frames, signs, stamps, supports'
            found.append(Finding('bad', 'poor_fit', text))
        if self.live is not None:
            found += load_finding(self.live.change, self.live.changed)
        return found

    def _poor_equations(self) -> list[str]:
        """Equations that the estimate reconstructs badly."""
        if self.equations is None or not self._row_squares.any():
            return []
        relative = np.sqrt(self._row_squares[0] / np.maximum(self._row_squares[1], 1e-300))
        return [
            f'{name} ({value:.2g} of its rms)'
            for name, value in zip(self.equations.equations, relative, strict=True)
            if value > POOR_FIT and name in LOADED
        ]

    def facts(self) -> dict[str, Any]:
        """Counts, the statistic of the load, joints and mass."""
        facts: dict[str, Any] = {
            'received': self.received,
            'not used': self.skipped.total,
            **{f'not used: {reason}': n for reason, n in self.skipped.reasons.items()},
            'late or duplicate': self.buffer.late,
            'gaps': self.buffer.gaps,
            'clock jumps': self.buffer.clock_jumps,
        }
        if self.live is not None:
            facts['rows'] = self.live.samples
            facts['rows held back'] = self.live.held_rows
            facts['noise level'] = f'{self.live.level:.3g}'
            if self.live.change is not None:
                facts['change statistic'] = f'{self.live.change.test.statistic:.4g}'
                facts['change threshold'] = f'{self.live.change.test.threshold:.4g}'
        if self.model is not None:
            facts['locked joints'] = ', '.join(
                f'{name} {value:.4g}' for name, value in self.model.locked.items()
            )
        if self.solution is not None:
            for item in self.derived():
                if not item.name.startswith('change.'):
                    name = item.name.replace('_', ' ')
                    facts[name] = f'{item.value:.5g} +- {item.std:.2g}'
            facts['excited'] = f'{int(self.solution.excited.sum())} of {len(self.solution.value)}'
        return facts

    # Control ------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """End the present stretch."""
        self.buffer.interrupt()

    def reset(self) -> str:
        """Forget all rows and look for resting joints again."""
        self.buffer.interrupt()
        self._forget()
        self._woken = []
        return 'all rows are forgotten'

    def state(self) -> dict[str, Any]:
        """Rows, locked joints and the place to which plate offsets belong."""
        if self.live is None or self.model is None or self.live.samples == 0:
            raise EstimationError('nothing is identified yet')
        return {
            **self.live.state(),
            'locked_names': np.array(list(self.model.locked), dtype=str),
            'locked_values': np.array(list(self.model.locked.values()), dtype=float),
            'centre': self.model.centre,
            'plates': self.model.plates,
            'lever': self.model.lever,
        }

    def restore(self, stored: SavedState) -> str:
        """Take a stored estimate as the long-term one: later rows add to it or contradict it."""
        names = stored.texts('locked_names')
        values = stored.array('locked_values', (len(names),)).tolist()
        centre, plates = stored.array('centre', (3,)), stored.flag('plates')
        lever = stored.number('lever', low=0.0) if 'lever' in stored else START_LEVER
        strange = [name for name in names if name not in self.states.joints]
        if strange:
            raise stored.refused('locked_names', f'has the unknown joint {strange[0][:80]!r}')
        before = dict(vars(self))
        converged = vars(self.convergence).copy()
        try:
            with stored.tried():
                self._make_model(dict(zip(names, values, strict=True)), centre, plates, lever)
                assert self.live is not None
                self.live.restore(stored)
        except StateError:
            vars(self).update(before)
            vars(self.convergence).update(converged)
            raise
        self.buffer.interrupt()
        self.solution = self.live.reference
        return f'{self.live.samples} rows of {len(self.live.names)} parameters'
