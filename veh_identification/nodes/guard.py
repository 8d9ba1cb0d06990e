"""Callbacks that cannot end a node: what data make them raise is counted, said and skipped.

`GuardedNode` stands before the engine's node object, so that every engine contains failures the
same way. After a failure the node's estimator is put back to its last good state, for an update
may have been broken off half-way. A few failures a report are put back one by one; when more come,
samples are skipped until the next report, so that a flood of them cannot take all the processor.

Each failure is logged with its place in the source (again once a report), stands in the
diagnostics as the finding `callback_failed` (bad in the report after it, then a warning for some
seconds, then a note with the count), and a report that itself fails says so in its place.
Errors of the output (a full disk under `veh-id replay`) are no failures of data and pass through.
"""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veh_identification.atomic import OutputError
from veh_identification.errors import BagError, one_line
from veh_identification.findings import Finding, Level
from veh_identification.results.messages import ERROR, diagnostic_status, diagnostics_message
from veh_identification.runtime.cdr.fields import FieldCallback
from veh_identification.runtime.interface import Node

DIAGNOSTICS = '/diagnostics'
#: Failures a report after which the estimator is put back; further samples are skipped.
MOST_PUT_BACK = 5
#: Reports in which a failure that is over is a warning.
MEMORY = 10
PASS = (BagError, OutputError)


class GuardedNode:
    """A node object whose subscriptions, timers and services contain what they raise."""

    def __init__(self, node: Node, put_back: Callable[[], str]) -> None:
        """`put_back` restores the estimator and says to what, in words."""
        self._node, self._put_back = node, put_back
        self._diagnostics: Any = None
        self.failures = self.skipped = 0
        self._new = self._put_back_now = 0
        self._reports_since = MEMORY
        self._holding = False
        self._text = self._where = ''

    def __getattr__(self, name: str) -> Any:
        """Everything else is the engine's."""
        return getattr(self._node, name)

    def create_publisher(self, msg_type: type, topic: str, qos_profile: Any) -> Any:
        """Make a publisher."""
        made = self._node.create_publisher(msg_type, topic, qos_profile)
        if topic == DIAGNOSTICS:
            self._diagnostics = made
        return made

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[[Any], None], qos_profile: Any
    ) -> Any:
        """Call `callback(message)` for every message on `topic`."""
        if isinstance(callback, FieldCallback):
            contained = copy.copy(callback)
            contained.function = self._of_sample(callback.function, topic)
            return self._node.create_subscription(msg_type, topic, contained, qos_profile)
        contained_whole = self._of_sample(callback, topic)
        return self._node.create_subscription(msg_type, topic, contained_whole, qos_profile)

    def create_timer(self, timer_period_sec: float, callback: Callable[[], None]) -> Any:
        """Call `callback()` every `timer_period_sec` of node time."""

        def fire() -> None:
            self._holding, self._put_back_now = False, 0
            if not self.contained(callback, 'timer'):
                self._say_by_itself()

        return self._node.create_timer(timer_period_sec, fire)

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any]
    ) -> Any:
        """Serve `callback(request, response) -> response`."""

        def serve(request: Any, response: Any) -> Any:
            answer = response

            def ask() -> None:
                nonlocal answer
                answer = callback(request, response)

            if not self.contained(ask, srv_name):
                answer.success, answer.message = False, f'it failed: {self._text}'
            return answer

        return self._node.create_service(srv_type, srv_name, serve)

    def contained(self, work: Callable[[], None], where: str) -> bool:
        """Do something that must not end the node; whether it went well."""
        try:
            work()
        except PASS:
            raise
        except Exception as error:  # whatever data can bring about
            self._failed(error, where)
            return False
        return True

    def _of_sample(self, take: Callable[[Any], None], topic: str) -> Callable[[Any], None]:
        def receive(sample: Any) -> None:
            if self._holding:
                self.skipped += 1
                return
            try:
                take(sample)
            except PASS:
                raise
            except Exception as error:  # whatever data can bring about
                self._failed(error, topic)

        return receive

    def _failed(self, error: Exception, where: str) -> None:
        self.failures += 1
        self._new += 1
        self._reports_since = 0
        frames = traceback.extract_tb(error.__traceback__)
        place = f'{Path(frames[-1].filename).name}:{frames[-1].lineno}' if frames else ''
        self._where = where
        self._text = f'{type(error).__name__} in {place}: {one_line(error)[:200]}'
        self._put_back_now += 1
        self._holding = self._put_back_now >= MOST_PUT_BACK
        try:
            done = self._put_back()
        except PASS:
            raise
        except Exception as further:
            done = (
                f'it could not be put back ({type(further).__name__}: {one_line(further)[:100]})'
            )
        if self._put_back_now == 1:  # once a report
            self._node.get_logger().error(f'{where}: {self._text}; skipped, {done}')

    def findings(self) -> list[Finding]:
        """What there is to say at a report."""
        if not self.failures:
            return []
        level: Level = 'bad' if self._new else 'warn' if self._reports_since < MEMORY else 'note'
        skipped = f', {self.skipped} further ones skipped unseen' if self.skipped else ''
        text = (
            f'{self.failures} callbacks failed and were skipped{skipped}; the last one on '
            f'{self._where}: {self._text}'
        )
        return [Finding(level, 'callback_failed', text, self._where)]

    def reported(self) -> None:
        """A report with the findings went out."""
        self._new = 0
        self._reports_since += 1

    def _say_by_itself(self) -> None:
        """The report failed: say at least that."""
        if self._diagnostics is None:
            return
        (found,) = self.findings()
        name, now_ns = self._node.get_name(), int(self._node.get_clock().now().nanoseconds)
        status = diagnostic_status(name, ERROR, found.text, {f'finding: {found.code}': found.text})
        self.contained(
            lambda: self._diagnostics.publish(diagnostics_message(now_ns, [status])), 'diagnostics'
        )
