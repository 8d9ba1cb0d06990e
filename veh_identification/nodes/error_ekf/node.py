"""Node `error_ekf`: observes a car (or a planar mechanism) with its multibody model.

The estimate depends on header stamps and data only (see `observation.streaming`): replay, ROS and
`veh-id observe` give the same numbers from the same messages. The node clock serves the reports.

Output: `odometry/observed` with covariance, /tf, `joint_states/observed`, `~/virtual_sensors`
(tyre forces, suspension strokes, sideslip, unknown forces), `~/status` and /diagnostics (reasons
for WARN and ERROR: `report`). Services: ~/reset, ~/enable, ~/save and ~/load (heading
and sensor parameters, so that a parked car starts knowing them).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, cast

from veh_identification.errors import EstimationError, ParameterError, VehIdError
from veh_identification.findings import Finding
from veh_identification.nodes.checkpoint import Checkpoint, declare_live, identity_of
from veh_identification.nodes.error_ekf.mechanism import MechanismFace
from veh_identification.nodes.error_ekf.options import ErrorEkfOptions
from veh_identification.nodes.error_ekf.report import ErrorEkfReport
from veh_identification.nodes.error_ekf.saved_state import known_state, restore_known
from veh_identification.nodes.error_ekf.vehicle import CarFace
from veh_identification.nodes.findings import load_of, log_finding
from veh_identification.nodes.guard import GuardedNode
from veh_identification.nodes.services import create_services
from veh_identification.observation import Innovation
from veh_identification.observation.streaming import OnlineObserver, OnlineOptions, Session
from veh_identification.observation.streaming.arrivals import stream_of
from veh_identification.observation.streaming.collector import set_aside_for_good
from veh_identification.observation.streaming.kept import is_kept
from veh_identification.runtime.interface import Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.qos import SYSTEM_DEFAULT, QoS
from veh_identification.saved_state import SavedState, read_state, write_state
from veh_identification.systems.vehicle.observer.online import VehicleSession

REPORT_PERIOD = 1.0
MECHANISMS = ('four-bar', 'mechanism')
# Sensors at 500 Hz while a belated sample makes the observer compute a stretch again.
QUEUE = 5000


class ErrorEkf:
    """Hands samples to the online observer and publishes what it makes of them."""

    def __init__(self, node: Node) -> None:
        self._guard = GuardedNode(node, self._put_back)
        node = self._node = cast(Node, self._guard)
        options, checkpoint = declare_live(node, ErrorEkfOptions)
        self.options = options
        self.enabled = True
        make = MechanismFace if options.system in MECHANISMS else CarFace
        self.face: Any = make(node, options, self._note)
        delay = max(self.face.delays_ns.values()) * 1e-9
        online = OnlineOptions(
            lag=options.lag,
            window=max(options.lag, options.window + delay),
            settle=options.settle,
            bridge=options.bridge,
        )
        self.observer = OnlineObserver(self.face.system, online, self._made)
        self.report = ErrorEkfReport(self.face, self.observer, node.get_load())
        self._steps = 0
        self._running = False
        self._noted = 0  # start that the notes are about
        self.face.advertise()
        create = node.create_publisher
        self._diagnostics = create(
            message_class('diagnostic_msgs/msg/DiagnosticArray'), '/diagnostics', SYSTEM_DEFAULT
        )
        self._status = create(
            message_class('veh_identification/msg/ObserverStatus'), '~/status', SYSTEM_DEFAULT
        )
        # compiling takes seconds: messages would pile up meanwhile
        self.face.warm_up()
        set_aside_for_good()
        self.checkpoint = Checkpoint(
            node, checkpoint, identity_of(options), self._state, self._go_on
        )
        self.face.subscribe(
            self._push, self._refuse, QoS(depth=QUEUE, reliable=options.reliable_sensors)
        )
        for name in ('odometry_every', 'slow_every'):
            node.when_changed(name, partial(self._change, name))
        node.create_timer(REPORT_PERIOD, self._on_report)
        create_services(
            node, reset=self._reset, enable=self._enable, save=self._save, load=self._load
        )

    def _change(self, name: str, value: Any) -> None:
        """A parameter was changed while the node runs."""
        self.options = self.face.options = replace(self.options, **{name: value})

    def _note(self, finding: Finding) -> None:
        """What the system says while it starts or changes."""
        start = self.observer.starts + (self.observer.session is None)
        if start != self._noted:  # a burst may end one start and make another at once
            self.report.notes.clear()
        self._noted = start
        self.report.notes.append(finding)
        log_finding(self._node.get_logger(), finding)

    # Samples ------------------------------------------------------------------------------------

    def _push(self, key: str, stamp_ns: int, payload: tuple[float, ...]) -> None:
        if not self.enabled:
            return
        stream = stream_of(key)
        self.checkpoint.arrived(stamp_ns)
        if self._running and self.observer.session is None:
            self.report.notes.clear()  # they were said about a start that is over
        self.observer.push(key, stamp_ns - self.face.delays_ns[stream], payload)
        if not self.observer.is_due:
            return
        try:
            self.observer.poll()
        except VehIdError as error:
            # what cannot be started now may start with what comes later
            self.observer.restart(str(error))
        self._running = self.observer.session is not None
        self._tell_events()

    def _put_back(self) -> str:
        """After a failure: the observer starts anew with what comes, as after a jump in time."""
        self.observer.reset('a callback failed: the observer starts anew')
        self._tell_events()
        return 'the observer starts anew'

    def _refuse(self, stream: str, reason: str) -> None:
        if self.enabled:
            self.observer.arrivals.record(stream).refuse(reason)

    def _tell_events(self) -> None:
        events = self.observer.events
        for event in events:
            log_finding(self._node.get_logger(), event)
            self.report.tell(event)
        events.clear()  # stamps that jump to and fro make new ones for ever

    def _made(self, session: Session, end_ns: int, innovations: Sequence[Innovation]) -> None:
        self.report.totals.watch(session)
        self.report.totals.add(innovations)
        self.face.publish(session, end_ns, self._steps)
        self._steps += 1

    def _on_report(self) -> None:
        now_ns = self._node.get_clock().now().nanoseconds
        load, loaded = load_of(self._node)
        self.report.load = {**load, **self.checkpoint.facts()}
        self.report.update(now_ns, self.enabled, [*loaded, *self._guard.findings()])
        self._diagnostics.publish(self.report.diagnostics(now_ns, self._node.get_name()))
        self._status.publish(self.report.status(now_ns, self.options.world_frame))
        self._guard.reported()

    def finish(self) -> None:
        """The input is over: keep what is known."""
        self.checkpoint.finish()

    # Services -----------------------------------------------------------------------------------

    def _reset(self) -> str:
        self.checkpoint.forget()
        if self.options.system not in MECHANISMS:
            self.face.system.known = None  # of a state that waited for its start
        self.observer.reset('reset by service: the observer starts anew')
        return 'the observer starts anew; the datum is kept'

    def _enable(self, on: bool) -> None:
        if on and not self.enabled:
            self.observer.reset('enabled: the observer starts anew')
        self.enabled = on

    def _path(self) -> str:
        if self.options.system in MECHANISMS:
            raise ParameterError('a mechanism has nothing to keep')
        if not self.options.file:
            raise ParameterError('the parameter file is empty')
        return self.options.file

    def _state(self) -> dict[str, Any]:
        """For a restart: the whole observer, and what helps if too much time has passed."""
        session = self.observer.session
        if not isinstance(session, VehicleSession):
            return self.observer.state()
        found = known_state(session, self.face.system)
        with suppress(EstimationError):  # a start of very many samples is not kept
            found |= self.observer.state()
        return found

    def _go_on(self, stored: SavedState) -> str:
        if is_kept(stored):
            self.observer.go_on_from(stored)
        if self.options.system in MECHANISMS:
            return 'the state of the mechanism'
        found = restore_known(stored, self.face.system, moved=True)
        return f'the state of the observer, {found}'

    def _save(self) -> str:
        path, session = self._path(), self.observer.session
        if not isinstance(session, VehicleSession):
            raise EstimationError('nothing is observed yet')
        write_state(path, known_state(session, self.face.system))
        return path

    def _load(self) -> str:
        found = restore_known(read_state(self._path()), self.face.system)
        self.observer.reset('loaded: the observer starts anew')
        return found
