"""What the live identification nodes share: options, estimator, topics, services, diagnostics.

A subclass turns messages into states and states into rows of its equations; this class takes care
of everything else. Input is `fused/state` of the node sensor_fusion, which gives all quantities at
one stamp, so that both sides of an equation can be filtered alike.

Diagnostics (1 Hz). WARN: no estimate yet, states that could not be used in the last second (the
reasons are counted), unexcited parameters, a poor fit, a load change. ERROR: no state for two
seconds, or the estimation fails; the sentence says why.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.identification.live import LiveIdentification, Solution
from veh_identification.identification.rows import (
    Rows,
    RowStream,
    Skipped,
    StateBuffer,
    row_filter,
)
from veh_identification.results.messages import (
    ERROR,
    OK,
    WARN,
    Derived,
    Equations,
    change_rows,
    change_text,
    diagnostics_message,
    parameters_message,
    reconstruction_message,
)
from veh_identification.nodes.identification.services import LiveServices
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.parameters import parameter
from veh_identification.runtime.qos import LATCHED, SYSTEM_DEFAULT, QoS
from veh_identification.types import Array, BoolArray, IntArray

#: An evaluation takes up to a few tenths of a second; no state may be lost meanwhile.
QUEUE = 1000
#: Share of the measured rms above which the fit deserves a word.
POOR_FIT = 0.5


@dataclass(frozen=True)
class CommonOptions:
    """Parameters of every live identification node."""

    topic: str = parameter('fused/state', 'generalized states (veh_identification/FusedState)')
    rate: float = parameter(
        0.0, 'rate of the states; 0: from their first stamps', unit='Hz', minimum=0.0
    )
    memory: float = parameter(
        3.0,
        'what counts as recent when a change is looked for',
        unit='s',
        minimum=1.0,
        maximum=3600.0,
    )
    significance: float = parameter(
        1e-5,
        'probability of a false alarm in one evaluation (once a second, two must agree)',
        minimum=1e-12,
        maximum=0.1,
    )
    publish_period: float = parameter(1.0, 'between estimates', unit='s', minimum=0.1, maximum=1.0)
    reconstruction: bool = parameter(True, 'publish measured and predicted sides of the rows')
    file: str = parameter('', 'where ~/save writes and ~/load reads the estimate (.npz)')


class LiveNode(LiveServices, ABC):
    """Base of the live identification nodes."""

    def __init__(self, node: Node, options: CommonOptions, cutoff_hz: float) -> None:
        self._node, self.common, self.cutoff_hz = node, options, cutoff_hz
        self.enabled, self.file = True, options.file
        self.skipped = Skipped()
        self.received = self._since_report = self._silent = 0
        self.live: LiveIdentification | None = None
        self.equations: Equations | None = None
        self.solution: Solution | None = None
        self.problem = ''
        self._previous: Array | None = None
        self.buffer = StateBuffer(self._on_block, self._on_gap, options.rate)
        self.stream: RowStream | None = None
        self._row_squares = np.zeros((2, 0))
        create = node.create_publisher
        self._parameters = create(
            message_class('veh_identification/msg/ParameterEstimates'), '~/parameters', LATCHED
        )
        self._reconstruction = create(
            message_class('veh_identification/msg/Reconstruction'),
            '~/reconstruction',
            SYSTEM_DEFAULT,
        )
        self._diagnostics = create(
            message_class('diagnostic_msgs/msg/DiagnosticArray'), '/diagnostics', SYSTEM_DEFAULT
        )
        node.create_subscription(
            message_class('veh_identification/msg/FusedState'),
            options.topic,
            self._on_state,
            QoS(depth=QUEUE, reliable=True),
        )
        node.create_timer(options.publish_period, self._on_timer)
        self.create_services(node)

    # What a subclass gives ----------------------------------------------------------------------

    @abstractmethod
    def parse(self, msg: Any) -> Array | str:
        """One row of numbers, or the reason why the state cannot be used."""

    @abstractmethod
    def rows(self, stamps: IntArray, values: Array) -> tuple[Array, Array, BoolArray] | None:
        """W, Y and usable samples of a block; None while the model is not known."""

    @abstractmethod
    def solve(self, information: Any) -> Solution:
        """Estimate from factors."""

    @abstractmethod
    def derived(self, solution: Solution) -> list[Derived]:
        """Further quantities with their deviations."""

    @abstractmethod
    def advice(self, solution: Solution) -> str:
        """What would help; empty when nothing is missing."""

    def facts(self) -> dict[str, Any]:
        """Further entries of the diagnostics."""
        return {}

    def warnings(self) -> list[str]:
        """Further reasons for WARN."""
        return []

    def start(self, equations: Equations) -> None:
        """The model is known: from here on rows are estimated from."""
        self.equations = equations
        filter_ = row_filter(self.buffer.rate or 100.0, self.cutoff_hz)
        self.stream = RowStream(filter_)
        self.live = LiveIdentification(
            equations.names,
            equations.equations,
            equations.watched,
            self.solve,
            row_rate=filter_.output_rate,
            memory=self.common.memory,
            significance=self.common.significance,
        )
        self.solution = self._previous = None
        self._row_squares = np.zeros((2, len(equations.equations)))

    def restart(self) -> None:
        """Forget all rows; a subclass may forget its model too."""
        if self.live is not None:
            self.live.reset()
        self.solution = self._previous = None
        self.problem = ''

    # Input --------------------------------------------------------------------------------------

    def _on_state(self, msg: Any) -> None:
        if not self.enabled:
            return
        self.received += 1
        self._since_report += 1
        values = self.parse(msg)
        stamp_ns = msg.header.stamp.sec * NANOSECONDS + msg.header.stamp.nanosec
        if isinstance(values, str):
            self.skipped.add(values)
            self.buffer.push(stamp_ns, None)
        else:
            self.buffer.push(stamp_ns, values)

    def _on_gap(self) -> None:
        if self.stream is not None:
            self.stream.interrupt()

    def _on_block(self, stamps: IntArray, values: Array) -> None:
        found = self.rows(stamps, values)
        if found is None or self.stream is None or self.live is None:
            return
        W, Y, usable = found
        finite = np.isfinite(W).all(axis=(1, 2)) & np.isfinite(Y).all(axis=1)
        if not finite.all():
            self.skipped.add('values that are no numbers', int(np.sum(usable & ~finite)))
        if self.stream.filter.rate != self.buffer.rate:  # loaded before the first state
            self.stream = RowStream(row_filter(self.buffer.rate, self.cutoff_hz))
        for rows in self.stream.push(stamps, W, Y, usable & finite):
            self.live.add(rows.W, rows.Y)
            self._reconstruct(rows)

    def _reconstruct(self, rows: Rows) -> None:
        if self.solution is None or self.equations is None:
            return
        predicted = rows.W @ np.nan_to_num(self.solution.value)
        fade = 0.99 ** len(rows.Y)
        self._row_squares *= fade
        self._row_squares += [
            np.square(rows.Y - predicted).sum(axis=0),
            np.square(rows.Y).sum(axis=0),
        ]
        if self.common.reconstruction:
            for k, stamp in enumerate(rows.stamps_ns):
                self._reconstruction.publish(
                    reconstruction_message(
                        int(stamp),
                        self.equations.equations,
                        self.equations.equation_units,
                        rows.Y[k],
                        predicted[k],
                        self.solution.sigma,
                    )
                )

    # Output -------------------------------------------------------------------------------------

    def _on_timer(self) -> None:
        self._silent = 0 if self._since_report else self._silent + 1
        self._since_report = 0
        if self.live is not None and self.enabled and self._silent == 0:
            try:
                self.solution = self.live.solve()
                self.problem = ''
                self._publish(self.solution)
            except EstimationError as error:
                self.problem = str(error)
        self._report()

    def _publish(self, solution: Solution) -> None:
        assert self.live is not None and self.equations is not None
        converged = False
        known = solution.excited
        if self._previous is not None and known.any():
            std = np.sqrt(np.diag(solution.covariance))[known]
            moved = np.abs(solution.value - self._previous)[known]
            converged = bool(np.all(moved < std)) and bool(known[self.equations.watched].all())
        self._previous = solution.value.copy()
        self._parameters.publish(
            parameters_message(
                self.equations,
                solution,
                change_rows(self.equations, self.live.change) + self.derived(solution),
                stamp_ns=self._node.get_clock().now().nanoseconds,
                samples=self.live.samples,
                rejected=self.skipped.total,
                converged=converged,
                advice='; '.join(filter(None, [change_text(self.live), self.advice(solution)])),
            )
        )

    def poor_equations(self) -> list[str]:
        """Equations that the estimate reconstructs badly."""
        if self.equations is None or not self._row_squares.any():
            return []
        relative = np.sqrt(self._row_squares[0] / np.maximum(self._row_squares[1], 1e-300))
        return [
            f'{name} ({value:.2g} of its rms)'
            for name, value in zip(self.equations.equations, relative, strict=True)
            if value > POOR_FIT
        ]

    def _state(self, lately: dict[str, int]) -> tuple[int, str]:
        if not self.enabled:
            return OK, 'disabled'
        if self._silent >= 2:
            return ERROR, f'no state on {self.common.topic} for {self._silent} s'
        if self.problem and self.live is not None and self.live.samples > 0:
            return ERROR, self.problem
        texts = [
            f'{count} states in the last second not used: {reason}'
            for reason, count in lately.items()
        ]
        texts += self.warnings()
        if self.solution is None:
            texts.append('no estimate yet')
        elif self.live is not None:
            texts += filter(None, [change_text(self.live), self.advice(self.solution)])
        if texts:
            return WARN, '; '.join(texts)
        return OK, 'all parameters are excited'

    def _report(self) -> None:
        level, text = self._state(dict(self.skipped.take()))
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
        now_ns = self._node.get_clock().now().nanoseconds
        self._diagnostics.publish(
            diagnostics_message(
                now_ns, self._node.get_name(), level, text, {**facts, **self.facts()}
            )
        )
