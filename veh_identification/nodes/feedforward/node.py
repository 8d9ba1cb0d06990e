"""Node `feedforward`: efforts for a wanted motion from an identified robot, with their deviations.

`result` is the folder that `veh-id identify parallel` or `identify robot` wrote. A motion on
`wanted` (trajectory_msgs/JointTrajectory, every point with positions, velocities and
accelerations) is answered by the same motion with actuator forces or torques as effort on
`~/feedforward`, and with the deviations of that prediction as effort on `~/feedforward_deviation`:
header, order and times are those of the question. An arm's motion names the joints of the URDF, a
parallel robot's its legs (`leg_1` .. `leg_6`) or the platform (`x y z phi theta psi`; the answer
is in legs).

A result whose verdict is no is refused, at the start and by `~/load`, which reads the folder anew;
so is a motion that lacks something, in one sentence of the log, and counted.

Diagnostics (1 Hz). WARN: the last motion was refused. ERROR: no result is given, or `~/load`
refused it; then no motion is answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from veh_identification.errors import InputError, ParameterError, VehIdError
from veh_identification.findings import Finding
from veh_identification.nodes.feedforward.robots import Identified, load_identified
from veh_identification.nodes.findings import load_of
from veh_identification.nodes.guard import GuardedNode
from veh_identification.nodes.services import create_services
from veh_identification.nodes.wanted_motion import TRAJECTORY
from veh_identification.results.messages import (
    ERROR,
    OK,
    WARN,
    diagnostic_status,
    diagnostics_message,
    finding_facts,
)
from veh_identification.runtime.interface import Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.parameters import declare, parameter, refuse_unknown
from veh_identification.runtime.qos import SYSTEM_DEFAULT

NO_RESULT = 'the parameter result is empty: it must name the folder of an identification'


@dataclass(frozen=True)
class FeedforwardOptions:
    """Parameters of the node."""

    result: str = parameter(
        '', 'folder of `veh-id identify parallel` or `identify robot`', path=True
    )
    urdf: str = parameter(
        '', 'of an arm: the file that was identified, or the name of one below config/', path=True
    )
    hexapod: str = parameter(
        'hexapod_palida.yaml',
        'of a parallel robot: the file that was identified, or a name in config/',
        path=True,
    )
    wanted: str = parameter('wanted', 'motions whose efforts are asked for (JointTrajectory)')
    noise: bool = parameter(
        False, 'deviations of efforts that would be measured, not of the prediction alone'
    )


class Feedforward:
    """Answers wanted motions."""

    def __init__(self, node: Node) -> None:
        self.options = declare(node, FeedforwardOptions)
        refuse_unknown(node)
        self._guard = GuardedNode(node, lambda: 'the motion is not answered')
        self._node = cast(Node, self._guard)
        self.robot: Identified | None = None
        self._told, self._problem = '', NO_RESULT
        self._answered = self._refused = 0
        self._refusal = ''  # since the last report
        self.enabled = True
        if self.options.result:
            try:
                self._load()
            except VehIdError as error:
                raise ParameterError(f'parameters result, urdf, hexapod: {error}') from error
        create = self._node.create_publisher
        self._efforts, self._deviations = (
            create(message_class(TRAJECTORY), f'~/{name}', SYSTEM_DEFAULT)
            for name in ('feedforward', 'feedforward_deviation')
        )
        self._diagnostics = create(
            message_class('diagnostic_msgs/msg/DiagnosticArray'), '/diagnostics', SYSTEM_DEFAULT
        )
        self._node.create_subscription(
            message_class(TRAJECTORY), self.options.wanted, self._on_wanted, SYSTEM_DEFAULT
        )
        self._node.create_timer(1.0, self._report)
        create_services(self._node, reset=self._reset, enable=self._enable, load=self._load)

    def _load(self) -> str:
        """Read the result anew; one that is refused leaves no model, not the one before."""
        o = self.options
        self.robot, self._told, self._problem = None, '', NO_RESULT
        if not o.result:
            raise ParameterError(NO_RESULT)
        try:
            self.robot, self._told = load_identified(o.result, o.urdf, o.hexapod, o.noise)
        except VehIdError as error:
            self._problem = str(error)
            raise
        self._problem = ''
        return self._told

    def _reset(self) -> str:
        self._answered = self._refused = 0
        return 'the counts are zero'

    def _enable(self, on: bool) -> None:
        self.enabled = on

    def _on_wanted(self, msg: Any) -> None:
        if not self.enabled:
            return
        try:
            if self.robot is None:
                raise InputError(self._problem)
            efforts, deviations = self.robot.answer(msg, self.options.wanted)
        except VehIdError as error:
            self._refused += 1
            self._refusal = str(error)
            self._node.get_logger().warning(f'no efforts: {error}')
            return
        self._answered += 1
        self._efforts.publish(efforts)
        self._deviations.publish(deviations)

    def facts(self) -> dict[str, Any]:
        """Entries of the diagnostics."""
        kind = 'none' if self.robot is None else self.robot.kind
        return {
            'robot': kind,
            'result': self._told or 'none',
            'wanted_answered': self._answered,
            'wanted_refused': self._refused,
        }

    def _report(self) -> None:
        load, loaded = load_of(self._node)
        findings = [*self._guard.findings(), *loaded]
        if self.robot is None:
            findings.append(Finding('bad', 'no_model', self._problem, 'result'))
        elif self._refusal:
            findings.append(Finding('warn', 'motion_refused', self._refusal, self.options.wanted))
        self._refusal = ''
        levels = {one.level for one in findings}
        level = ERROR if 'bad' in levels else WARN if 'warn' in levels else OK
        text = '; '.join(one.text for one in findings) or f'answers; {self._told}'
        if not self.enabled:
            level, text = OK, 'disabled'
        facts = {**finding_facts(findings), **self.facts(), **load}
        status = diagnostic_status(self._node.get_name(), level, text, facts)
        now_ns = int(self._node.get_clock().now().nanoseconds)
        self._diagnostics.publish(diagnostics_message(now_ns, [status]))
        self._guard.reported()
