"""What all identification nodes share: outputs, services, verdict, diagnostics.

A subclass turns messages into samples of its live model (`systems.live.LiveModel`); whatever the
model says comes out the same way for every system.

`~/parameters` (latched) carries the verdict and its findings; while one of them is bad, nothing is
published as known. Diagnostics (1 Hz): the level is that of the verdict (care: WARN, no: ERROR),
and ERROR where no usable input came for two seconds; the values hold the verdict and each finding,
and how a live node keeps up (latency, queues, share of the processor): WARN before data are lost.
A finding is logged when it appears and when it is gone.

Samples are worked on beside the thread that takes them, and what comes of them is published when
the data have gone on by the parameter `lag` (`nodes.delivery`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from veh_identification.errors import ParameterError, VehIdError
from veh_identification.findings import Finding, Verdict, verdict_of
from veh_identification.nodes.checkpoint import Checkpoint, CheckpointOptions, identity_of
from veh_identification.nodes.delivery import DeliveringNode
from veh_identification.nodes.findings import FindingLog, load_of, verdict_facts, verdict_status
from veh_identification.nodes.guard import GuardedNode
from veh_identification.nodes.services import create_services
from veh_identification.results.messages import (
    ERROR,
    OK,
    WARN,
    diagnostic_status,
    diagnostics_message,
    parameters_message,
    reconstruction_message,
)
from veh_identification.runtime.interface import Node
from veh_identification.runtime.memory import hand_back, keep_little
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.parameters import ParameterDescriptor, declare, refuse_unknown
from veh_identification.runtime.qos import LATCHED, SYSTEM_DEFAULT
from veh_identification.saved_state import SavedState
from veh_identification.systems.live import LiveModel

#: Reports without a usable sample after which the input counts as silent.
SILENT = 2
#: Seconds between times at which memory is given back that evaluations needed for a moment.
HAND_BACK = 10.0
_T = TypeVar('_T')


@dataclass(frozen=True)
class Running:
    """Parameters of every identification node beside its own."""

    checkpoint: CheckpointOptions
    lag: float  # s


def declare_identification(node: Node, options: type[_T], lag: float) -> tuple[_T, Running]:
    """The parameters of an identification node, and those that every one of them has.

    `lag` unless told: longer than what the node computes at once takes on a busy machine.
    """
    descriptor = ParameterDescriptor(
        'of the data between a sample and the publication of what it brought: the time that the '
        'estimation has; 0: computed before the next sample is taken',
        unit='s',
        minimum=0.0,
        maximum=60.0,
    )
    found = declare(node, options)
    checkpoint = declare(node, CheckpointOptions, 'checkpoint')
    told = float(node.declare_parameter('lag', lag, descriptor).value)
    refuse_unknown(node)
    return found, Running(checkpoint, told)


class IdentificationNode:
    """Drives a live model; a subclass subscribes to its input."""

    def __init__(
        self,
        node: Node,
        model: LiveModel,
        options: Any,
        running: Running,
        *,
        input_words: str,
        file: str,
        file_parameter: str = 'file',
        period: float = 1.0,
        reconstruction: bool = True,
    ) -> None:
        """`input_words`: what is missing when nothing comes, such as `state on fused/state`."""
        self._delivery = DeliveringNode(node, running.lag)
        self._guard = GuardedNode(cast(Node, self._delivery), self._put_back)
        node = self._node = cast(Node, self._guard)
        self.model = model
        self._good: SavedState | None = None  # the estimate at the last report
        self._good_samples = self._good_progress = -1
        self._input_words, self._show_sides = input_words, reconstruction
        self._file, self._file_parameter = file, file_parameter
        self.enabled = True
        self._since_report = self._silent = 0
        self._log = FindingLog(node.get_logger())
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
        self.checkpoint = Checkpoint(
            node, running.checkpoint, identity_of(options), model.kept, self._go_on
        )
        self.subscribe()
        node.create_timer(period, self._on_timer)
        if node.get_load() is not None:  # live, for months
            keep_little()
            node.create_timer(HAND_BACK, hand_back)
        create_services(
            node, reset=self._reset, enable=self._enable, save=self._save, load=self._load
        )

    def subscribe(self) -> None:
        """Listen to the input; a subclass does."""
        raise NotImplementedError

    def sample_comes(self, stamp_ns: int) -> None:
        """Call before a sample is taken: it may go on from what an earlier run kept."""
        self.checkpoint.arrived(stamp_ns)

    def sample_came(self) -> None:
        """A usable sample was taken: the input is not silent; publish what it brought."""
        self._since_report += 1
        self.publish_sides()

    def facts(self) -> dict[str, Any]:
        """Entries of the diagnostics beside the verdict."""
        return self.model.facts()

    def finish(self) -> None:
        """The recording is over: use and publish what still waits."""
        self._delivery.settle(
            lambda: self._guard.contained(self._finish, 'end of the recording'), stop=True
        )

    def _finish(self) -> None:
        if self.enabled and self.model.finish():
            self.publish_sides()
            self.publish_estimate(self._now_ns())
            self._report()
        self.checkpoint.finish()

    # Output -------------------------------------------------------------------------------------

    def _now_ns(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def _on_timer(self) -> None:
        self._silent = 0 if self._since_report else self._silent + 1
        self._since_report = 0
        if self.enabled:
            if self._silent == SILENT:
                self.model.finish()  # a recording may be over: nothing tells a live node
                self.publish_sides()
            if self.model.tick(self._silent):
                self.publish_estimate(self._now_ns())
        self._report()
        self._keep()

    def _keep(self) -> None:
        """Keep the estimate, to which a sample that makes it fail will lead back."""
        if self.model.progress == self._good_progress:
            return
        try:
            self._good = SavedState.of(self.model.state())
            self._good_samples, self._good_progress = self.model.samples, self.model.progress
        except VehIdError:  # nothing to keep yet
            self._good = None

    def _put_back(self) -> str:
        """After a failure: what was known at the last report, without what waits."""
        self.model.take_sides()
        if self._good is not None:
            with suppress(Exception):  # what it holds may be what cannot be used
                self.model.interrupt()
                self.model.restore(self._good)
                return f'the estimate is that of {self._good_samples} samples again'
        self.model.reset()
        return 'the estimate starts anew'

    def verdict(self) -> Verdict:
        """Can the estimate be used?"""
        return verdict_of([*self.model.findings(), *self._guard.findings()], yes=self.model.ready)

    def publish_estimate(self, stamp_ns: int) -> None:
        """`~/parameters`."""
        model = self.model
        if model.equations is None or model.solution is None:
            return
        verdict = self.verdict()
        hints = [one.text for one in verdict.findings if one.code == 'load_changed']
        self._parameters.publish(
            parameters_message(
                model.equations,
                model.solution,
                model.derived(),
                verdict,
                stamp_ns=stamp_ns,
                samples=model.samples,
                rejected=model.rejected,
                converged=model.convergence.reached,
                advice='; '.join(filter(None, [*hints, model.advice()])),
                estimator=model.estimator,
                impossible=model.impossible,
            )
        )

    def publish_sides(self) -> None:
        """`~/reconstruction`: one message per row."""
        equations = self.model.equations
        for sides in self.model.take_sides():
            if not self._show_sides or equations is None:
                continue
            for k, stamp in enumerate(sides.stamps_ns):
                self._reconstruction.publish(
                    reconstruction_message(
                        int(stamp),
                        equations.equations,
                        equations.equation_units,
                        sides.measured[k],
                        sides.predicted[k],
                        sides.sigma,
                    )
                )

    def _report(self) -> None:
        verdict = self.verdict()
        level, text = verdict_status(verdict)
        if not self.enabled:
            level, text = OK, 'disabled'
        elif self._silent >= SILENT:
            silence = f'no {self._input_words} for {self._silent} s'
            told = Finding('warn', 'silent_input', silence)
            verdict = verdict_of([told, *verdict.findings])
            level, text = ERROR, silence
        load, loaded = load_of(self._node)
        if loaded:
            verdict = verdict_of([*verdict.findings, *loaded])
            level = max(level, WARN)
            text = '; '.join([text, *(one.text for one in loaded)])
        if self.enabled:
            self._log.tell(verdict.findings)
        name = self._node.get_name()
        kept = self.checkpoint.facts()
        lag = self._delivery.facts()
        facts = {**verdict_facts(verdict), **self.facts(), **kept, **lag, **load}
        sensors = [
            diagnostic_status(f'{name}: {sensor}', OK, 'counts', counts.as_dict())
            for sensor, counts in self.model.counts().items()
        ]
        whole = diagnostic_status(name, level, text, facts)
        self._diagnostics.publish(diagnostics_message(self._now_ns(), [whole, *sensors]))
        self._guard.reported()

    # Services -----------------------------------------------------------------------------------

    def _path(self) -> str:
        if not self._file:
            raise ParameterError(f'the parameter {self._file_parameter} is empty')
        return self._file

    def _reset(self) -> str:
        self.checkpoint.forget()
        self._good, self._good_progress = None, -1
        return self.model.reset()

    def _go_on(self, stored: SavedState) -> str:
        found = self.model.go_on(stored)
        self.publish_estimate(self._now_ns())
        return found

    def _enable(self, on: bool) -> None:
        if on != self.enabled:
            self.model.interrupt()
        self.enabled = on

    def _save(self) -> str:
        self.model.finish()
        return self.model.save(self._path())

    def _load(self) -> str:
        return self.model.load(self._path())
