"""A humanoid's parameters while it moves: states into rows of equation (4), rows into estimates.

A start phase finds joints that do not move and locks them; one that moves later is set free, which
starts the estimation over. The checks of the offline identification are made on the first seconds,
then ever more rarely on the latest ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError, VehIdError
from veh_identification.findings import Finding, Level
from veh_identification.identification.live import HOLD, LiveIdentification, Solution
from veh_identification.identification.rows import (
    Rows,
    RowStream,
    Skipped,
    StateBuffer,
    StretchStream,
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
from veh_identification.signals.local_polynomial import half_width_for_cutoff
from veh_identification.systems.humanoid.checks.drawn import check_drawn
from veh_identification.systems.humanoid.estimation.by_impulse import updated, with_ends
from veh_identification.systems.humanoid.live.checking import StatesCheck, as_recording
from veh_identification.systems.humanoid.live.impulse import SUMS, ImpulseBalance
from veh_identification.systems.humanoid.live.model import ContactModel, live_configuration
from veh_identification.systems.humanoid.live.momentum_rows import MomentumStream
from veh_identification.systems.humanoid.live.options import ContactOptions
from veh_identification.systems.humanoid.live.plates import PlatePlaces
from veh_identification.systems.humanoid.live.states import BASE, ContactStates, instruments_of
from veh_identification.systems.humanoid.live.support import Block, Judged, LiveSupport
from veh_identification.systems.humanoid.live.tare import PlateTare
from veh_identification.systems.humanoid.processing.equations import MOTION_SCALE
from veh_identification.systems.humanoid.processing.momentum import Balance
from veh_identification.systems.humanoid.processing.supports import scale_of_load
from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.systems.humanoid.results.findings import (
    badly_reconstructed,
    negligible_moments,
    scaled_motion,
)
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.systems.humanoid.setup import none_moves
from veh_identification.systems.live import LiveModel, Sides
from veh_identification.types import Array, BoolArray, IntArray

#: Seconds of states that are checked together, and the share by which rows must have grown until
#: that is done again.
CHECKED_SECONDS, CHECKED_AGAIN = 10.0, 2.0
#: A locked joint that leaves its rest by this many times `lock_below` is moving.
UNLOCK = 3.0
#: Forces that change by this share of the largest are those of a robot that moves.
SWAYS = 0.3
#: Metres by which its base moves.
MOVES = 0.02
#: Levers at which offsets of forces count as those of moments: at the plate's own origin, and at
#: the place where the robot started, some way from it.
PLATE_LEVER, START_LEVER = 0.1, 0.3
#: A start without an estimate that could use nothing for so long is tried again [s].
START_OVER = 3.0
#: The filter of the fusion lets through at least so many times the cut-off of the rows.
FUSION_CUTOFF, FUSION_ORDER = 2.5, 4


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
        """`robot`: the whole one. `links`: wrenches of sensors on the links `frames`; `plates`:
        those from the world. Without any of them the states tell.
        """
        super().__init__()
        self.described = check_drawn(robot)
        self._whole, self.options = robot, options
        self.places = PlatePlaces(options.plate_centre)
        self._told_by_states = not links and not plates
        self._instruments: tuple[list[str], list[str]] | None = None  # names, frames
        self._no_place = ''  # why the wrenches of the states cannot be used
        self._carry(links, frames, plates)
        self.received = 0
        self.skipped = Skipped()
        self._lately: dict[str, int] = {}
        self.buffer = StateBuffer(self._on_block, self._on_gap, options.rate)
        self._woken: list[str] = []  # joints that started the estimation over
        self._checked: list[Finding] = []  # what was last seen of the sensors, by any model
        self._checking: StatesCheck | None = None  # under way
        self._anew = 0  # times that other wrenches made the estimation start over
        self._forget()

    def _carry(self, links: list[str], frames: list[str], plates: list[str]) -> None:
        """The robot as its wrench sensors see it."""
        options = self.options
        self.robot, self._frames = self._whole.cut_at(frames), frames
        self.states = ContactStates(self.robot.moving_joints(), links, plates)
        tree = self.robot.model()
        self.warnings = list(tree.warnings)
        self._limits = np.array(
            [
                options.lock_below
                * (1.0 if tree.coordinate_is_angle(tree.coordinate_index(name)) else 0.1)
                for name in self.states.joints
            ]
        )
        self.posture = np.zeros(len(self.states.joints))
        self._free: set[str] = set()  # joints that have moved once
        self._empty = PlateTare(
            half_width_for_cutoff(FUSION_CUTOFF * options.cutoff, FUSION_ORDER)
        )

    def parse(self, fields: Sequence[Any]) -> Array | str:
        """What is read of a state as a row of numbers, or the reason why it cannot be used."""
        told = instruments_of(fields)
        if self._told_by_states and told != self._instruments:
            self._take_instruments(*told)
        return self._no_place or self.states.parse(fields)

    def _take_instruments(self, names: list[str], frames: list[str]) -> None:
        """Other wrenches than before: what they carry is another robot, or another support."""
        links = [(name, frame) for name, frame in zip(names, frames, strict=True) if frame]
        known = [frame for frame in frames if frame]
        self.buffer.interrupt()
        first, self._instruments = self._instruments is None, (names, frames)
        try:
            self._carry([name for name, _ in links], known, [])
        except VehIdError as error:
            self._no_place = f'its wrenches cannot be placed: {error}'
            return
        self._no_place = ''
        self._forget()
        self._checked, self._checking = [], None
        self._anew += not first

    def _forget(self) -> None:
        """Neither model nor rows."""
        self.states.needs_pose = False
        self.model: ContactModel | None = None
        self.live: LiveIdentification | None = None
        self.stream: StretchStream | None = None
        self.impulse: ImpulseBalance | None = None  # where rows come from momentum
        self.equations, self.solution = None, None
        self.convergence.forget()
        self.problem = ''  # why the last estimation failed
        self._start: list[tuple[IntArray, Array]] = []
        self._latest: deque[tuple[IntArray, Array]] = deque()
        self._seen = self._next_check = 0
        self._row_squares, self._row_weight = np.zeros((2, 0)), 0.0
        self._support = LiveSupport(self.options.support_tolerance)
        self._expected_scale = 1.0  # of loads that CAD values predict
        self._solved = 0  # rows of the last estimate
        self._refused = 0  # states in a row at which the robot was not carried
        self._statue = False  # forces change, and no joint moves

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
        if self.stream is None:
            return
        self._take(self._support.end())
        self._add(self.stream.interrupt())
        if self.impulse is not None:
            self.impulse.interrupt()

    def _on_block(self, stamps: IntArray, values: Array) -> None:
        arrays = self._samples(stamps, values)
        if arrays is not None:
            self._support.weight, self._support.rate = self._weight, self.buffer.rate
            self._take(self._support.push(Block(stamps, arrays, self._loads(values))))
            # Loads by which the start was judged may have been wrong themselves.
            if self.solution is None and self._refused > START_OVER * self.buffer.rate:
                self._forget()

    @property
    def _known(self) -> Array:
        """Unknowns as far as they are known."""
        assert self.model is not None
        return self.model.a_priori if self.solution is None else self.solution.value

    @property
    def _weight(self) -> float:
        """Of the robot as it is known so far [N]."""
        assert self.model is not None
        mass = abs(float(self.model.mass_weights @ self._known))
        return mass * self.options.gravity * self._load_scale

    @property
    def _load_scale(self) -> float:
        """On what `_known` predicts: CAD values may be those of somebody else."""
        return self._expected_scale if self.solution is None else 1.0

    def _take(self, judged: list[Judged]) -> None:
        assert self.stream is not None
        if self.stream.rate != self.buffer.rate:  # loaded before the first state
            self.stream = self._new_stream(isinstance(self.stream, MomentumStream))
        for stamps, arrays, usable in judged:
            self._refused = 0 if usable.any() else self._refused + len(usable)
            if not usable.all():
                count = int(np.sum(~usable))
                self.skipped.add('the sensors do not carry the whole robot', count)
            if self.impulse is not None:
                self._weigh(Balance(*arrays), usable)
            self._add(self.stream.push(stamps, arrays, usable))

    def _weigh(self, samples: Balance, usable: BoolArray) -> None:
        """The vertical balance of further samples."""
        assert self.model is not None and self.impulse is not None
        force, velocity = samples.wrench[:, 2], self.model.rise(samples)
        edges = [0, *(np.flatnonzero(np.diff(usable)) + 1).tolist(), len(usable)]
        for begin, end in pairwise(edges):
            if usable[begin]:
                self.impulse.push(force[begin:end], velocity[begin:end], self.buffer.rate)
            else:
                self.impulse.interrupt()

    def _add(self, found: list[Rows]) -> None:
        assert self.live is not None
        for rows in found:
            self.live.add(rows.W, rows.Y)
            self._reconstruct(rows)

    def _samples(self, stamps: IntArray, values: Array) -> tuple[Array, ...] | None:
        """What rows are made of; None before there is a model."""
        self.posture = values[-1, self._joint_columns()]
        self._go_on_checking()
        if self.model is None:
            self._collect(stamps, values)
            return None
        if self._wakes(values):
            start = [*self._latest, (stamps, values)]
            self._forget()
            self._start = start
            self._begin()
            return None
        self._remember(stamps, values)
        self._check()
        by_momentum = isinstance(self.stream, MomentumStream)
        arrays = self.model.balance(values) if by_momentum else self.model.rows(values)
        return tuple(arrays)

    def _loads(self, values: Array) -> Array:
        """Vertical loads (n, 2) as measured and expected."""
        assert self.model is not None
        return self.model.loads(values, self._known) * [1.0, self._load_scale]

    def _joint_columns(self) -> slice:
        return slice(BASE, BASE + len(self.states.joints))

    # Start phase --------------------------------------------------------------------------------

    def _collect(self, stamps: IntArray, values: Array) -> None:
        """Wait until some joint has moved for long enough, then lock the rest."""
        self._start.append((stamps, values))
        count = sum(len(part) for _, part in self._start)
        if count >= self.options.start_seconds * self.buffer.rate and not self._begin():
            self._statue = self._statue or self._sways()  # which standing still disproves not
            self._start = self._start[len(self._start) // 2 :]  # standing still teaches nothing

    def _sways(self) -> bool:
        """Whether forces or base change as those of a robot that moves, though no joint does."""
        values = np.concatenate([part for _, part in self._start])
        loads = values[:, self._joint_columns().stop :]
        loads = loads[:, np.isfinite(loads).all(axis=0)]
        if not loads.size:
            return False
        low, middle, high = np.percentile(loads, [5.0, 50.0, 95.0], axis=0)
        if np.max(high - low) > SWAYS * np.max(np.abs(middle)):
            return True
        # Or the base moves while the robot stands all the time: nobody carries it.
        largest = int(np.argmax(np.abs(middle)))
        stands = min(abs(low[largest]), abs(high[largest])) > 0.5 * abs(middle[largest])
        place = values[:, 12:15]
        place = place[np.isfinite(place).all(axis=1)]
        if not stands or not len(place):
            return False
        lowest, highest = np.percentile(place, [5.0, 95.0], axis=0)
        return bool(np.linalg.norm(highest - lowest) > MOVES)

    def _begin(self) -> bool:
        """Make the model of the joints that moved so far, and rows of all states; False: none."""
        q = np.concatenate([part for _, part in self._start])[:, self._joint_columns()]
        travel = np.ptp(q, axis=0)
        if not np.any(travel > self._limits):
            return False
        self._statue = False
        rest = {
            name: float(np.median(q[:, k]))
            for k, name in enumerate(self.states.joints)
            if travel[k] < self._limits[k] and name not in self._free
        }
        centre = self.places.centre(self.states.world, self.states.plate_names)
        # Without a place: where the robot started, some way from the plate.
        lever = START_LEVER if centre is None else PLATE_LEVER
        waiting = self._start
        start = waiting[0][1][0, 12:15] if centre is None else centre
        plates = self.states.has_plates
        self._make_model(rest, start, plates, lever, plates or self.states.posed)
        self._scale_loads(np.concatenate([values for _, values in waiting]))
        last = 0
        for stamps, values in waiting:
            if last and self.buffer.is_gap(int(stamps[0]) - last):
                self._on_gap()
            self._on_block(stamps, values)
            last = int(stamps[-1])
        return True

    def _scale_loads(self, values: Array) -> None:
        """What the CAD values weigh against what the sensors show, as offline."""
        measured, predicted = self._loads(values).T
        self._expected_scale = scale_of_load(measured, predicted)
        self._support.weight, self._support.rate = self._weight, self.buffer.rate
        self._support.learn(measured, self._expected_scale * predicted)

    def _remember(self, stamps: IntArray, values: Array) -> None:
        """Keep the latest seconds."""
        self._latest.append((stamps, values))
        self._seen += len(stamps)
        while sum(len(s) for s, _ in self._latest) > CHECKED_SECONDS * self.buffer.rate:
            self._latest.popleft()

    def _check(self) -> None:
        """The offline checks on the latest seconds: at the start, then ever more rarely."""
        wanted = self._next_check or self.options.start_seconds * self.buffer.rate
        if self._seen < wanted:
            return
        self._next_check = int(CHECKED_AGAIN * self._seen)
        if self._checking is None:
            self._begin_checking()

    def _recording(self) -> Recording:
        """The latest seconds."""
        stamps = np.concatenate([s for s, _ in self._latest])
        rows = np.concatenate([v for _, v in self._latest])
        return as_recording(stamps, rows, self.states, self._frames, self.places.pose)

    def _tare(self) -> None:
        """Look for plates that were empty in the latest seconds."""
        if self.model is None or not self.model.plates or not self._latest:
            return
        self._empty.look(self._recording().wrenches, self._weight)
        count, centre = len(self.states.plate_names), self.model.centre
        self.model.tare = self._empty.total(count, centre, self._weight)

    def _begin_checking(self) -> None:
        """The offline checks on the latest seconds, a slice with each block of states."""
        assert self.model is not None
        self._checking = StatesCheck(self._recording(), self.model)

    def _go_on_checking(self) -> None:
        if self._checking is not None and not self._checking.step():
            if self._checking.model is self.model:
                self.model.doubt = self._checking.doubt
            # A look at too little takes nothing back.
            if self._checking.conclusive or not self._checked:
                self._checked = self._checking.findings
            self._checking = None

    def _end_checking(self) -> None:
        while self._checking is not None:
            self._go_on_checking()

    def finish(self) -> bool:
        """Use what waits, be it short, and check once more with all that came."""
        before: list[Finding] | None = self._checked
        self.buffer.interrupt()
        if self.model is None and self._start and self._begin():
            self._on_gap()
        if self.live is not None and self.live.samples != self._solved:
            self._solve()
            before = None
        doubt = None if self.model is None else self.model.doubt
        self._end_checking()
        if self.model is not None and self._latest and self._next_check != self._seen:
            self._next_check = self._seen
            self._begin_checking()
            self._end_checking()
        if self.model is not None and self.solution is not None and self.model.doubt is not doubt:
            self._solve()  # deviations that allow for what was found last
            before = None
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
            live_configuration(o.gravity, o.prior_percent, (o.weighed_mass, o.weighed_sigma)),
            centre,
            lever,
        )

    def _make_model(
        self, locked: dict[str, float], centre: Array, plates: bool, lever: float, momentum: bool
    ) -> None:
        """From here on rows are estimated from; without a pose by accelerations, as offline."""
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
        self.states.needs_pose = momentum
        self.stream = self._new_stream(momentum)
        if momentum:
            self.impulse = ImpulseBalance(self.options.gravity, HOLD * self.options.memory)
        self.live = LiveIdentification(
            equations.names,
            equations.equations,
            equations.watched,
            model.solve,
            row_rate=self.stream.row_rate,
            memory=self.options.memory,
            significance=self.options.significance,
        )
        self._row_squares = np.zeros((2, len(equations.equations)))
        self._row_weight = 0.0

    def _new_stream(self, momentum: bool) -> StretchStream:
        rate, cutoff = self.buffer.rate or 100.0, self.options.cutoff
        return MomentumStream(rate, cutoff) if momentum else RowStream(row_filter(rate, cutoff))

    # Estimate -----------------------------------------------------------------------------------

    def tick(self, silent: int) -> bool:
        """Estimate anew from all rows so far."""
        self._lately = dict(self.skipped.take())
        if self.live is None or (silent and self.live.samples == self._solved):
            return False
        return self._solve()

    def _solve(self) -> bool:
        """Estimate anew; False if that is not possible."""
        assert self.live is not None and self.equations is not None
        self._tare()
        try:
            solution = self.live.solve()
        except EstimationError as error:
            self.problem = str(error)
            return False
        self.problem, self._solved = '', self.live.samples
        solution = self.solution = self._with_impulse(solution)
        self.convergence.update(solution, solution.excited, self.equations.watched)
        return True

    def _with_impulse(self, solution: Solution) -> Solution:
        """The balance of impulse as one more equation, as offline."""
        if self.impulse is None:
            return solution
        assert self.live is not None and self.model is not None
        self.impulse.settle(self.live.changed)
        mass, row = self.impulse.mass(), self.model.impulse_row()
        if mass is None:
            return solution
        rank = self.model.problem.base.rank
        covariance = with_ends(solution.value, solution.covariance, rank, mass)
        if row is None:
            return replace(solution, covariance=covariance)
        value, covariance = updated(solution.value, covariance, row, mass)
        return replace(solution, value=value, covariance=covariance)

    def _reconstruct(self, rows: Rows) -> None:
        if self.solution is None:
            return
        predicted = rows.W @ np.nan_to_num(self.solution.value)
        fading = 0.99 ** len(rows.Y)
        self._row_squares *= fading
        self._row_weight = fading * self._row_weight + len(rows.Y)
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
            if not excited and '.offset.' not in name and name != MOTION_SCALE
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
        if self._anew:
            text = 'other wrench sensors than before: the estimation started over'
            found.append(Finding('note', 'wrenches_changed', text, topic))
        if self._woken:
            text = f'{", ".join(self._woken)} began to move: the estimation started over'
            found.append(Finding('note', 'joint_woke_up', text))
        if self.model is None and self._start:
            found.append(Finding('note', 'waiting_for_motion', 'waiting for motion'))
            found += [none_moves(len(self.states.joints))] if self._statue else []
        if self.problem and self.samples:
            # Rows are still few in the first second: that alone speaks against nothing.
            level: Level = 'warn' if self.solution is None else 'bad'
            found.append(Finding(level, 'estimation_failed', self.problem))
        if self.model is not None and self.solution is not None:
            solved = self.solution
            found += scaled_motion(self.model.names, solved.value, solved.covariance)
        found += self._checked
        named = any(one.level == 'bad' for one in self._checked)  # the cause stands alone
        if not named:
            found += self._poor_fit()
        if self.live is not None:
            found += load_finding(self.live.change, self.live.changed)
        return found

    def _poor_fit(self) -> list[Finding]:
        """Equations that the estimate reconstructs badly; where little is left, for care alone."""
        if self.equations is None or self.model is None or not self._row_squares.any():
            return []
        left, measured = np.sqrt(self._row_squares / max(self._row_weight, 1e-12))
        names, units = self.equations.equations, self.equations.equation_units
        negligible = negligible_moments(self._weight, self.model.problem.size)
        poor = badly_reconstructed(names, units, left, measured, {})
        bad = badly_reconstructed(names, units, left, measured, negligible)
        if not poor:
            return []
        text = f'poor fit of {", ".join(bad or poor)}: check frames, signs, stamps, supports'
        return [Finding('bad' if bad else 'warn', 'poor_fit', text)]

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
        facts['force plates'] = ', '.join(self.states.plate_names)
        facts['sensors on links'] = ', '.join(
            f'{name} ({frame})'
            for name, frame in zip(self.states.links, self._frames, strict=True)
        )
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
        self._checked, self._checking = [], None
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
            'momentum': isinstance(self.stream, MomentumStream),
            'impulse': np.zeros(SUMS + 1) if self.impulse is None else self.impulse.stored,
        }

    def restore(self, stored: SavedState) -> str:
        """Take a stored estimate as the long-term one: later rows add to it or contradict it."""
        names = stored.texts('locked_names')
        values = stored.array('locked_values', (len(names),)).tolist()
        centre, plates = stored.array('centre', (3,)), stored.flag('plates')
        lever = stored.number('lever', low=0.0) if 'lever' in stored else START_LEVER
        momentum = stored.flag('momentum') if 'momentum' in stored else plates
        strange = [name for name in names if name not in self.states.joints]
        if strange:
            raise stored.refused('locked_names', f'has the unknown joint {strange[0][:80]!r}')
        before = dict(vars(self))
        converged = vars(self.convergence).copy()
        try:
            with stored.tried():
                locked = dict(zip(names, values, strict=True))
                self._make_model(locked, centre, plates, lever, momentum)
                assert self.live is not None
                self.live.restore(stored)
                if self.impulse is not None and 'impulse' in stored:
                    self.impulse.restore(stored.array('impulse', (SUMS + 1,)))
        except StateError:
            vars(self).update(before)
            self.states.needs_pose = isinstance(self.stream, MomentumStream)
            vars(self.convergence).update(converged)
            raise
        self.buffer.interrupt()
        self.solution = self.live.reference
        return f'{self.live.samples} rows of {len(self.live.names)} parameters'
