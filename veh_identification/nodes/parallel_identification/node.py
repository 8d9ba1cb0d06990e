"""Node `parallel_identification`: a hexapod's parameters while it repeats its excitation.

Input: `joint_states` with `leg_1` .. `leg_6` (position = length, effort = force). After each whole
period, from the second on, the parameters are estimated anew from the mean of all periods and
published on `~/parameters` (latched), and the mean period on `~/reconstruction`.

Diagnostics (1 Hz). WARN: fewer than two periods so far, the last period was dropped (a gap),
messages without all legs, periods that drift (a wrong fundamental), a model that does not explain
the forces (exchanged legs, another geometry, units). ERROR: no usable message for two seconds, or
the last estimation failed (unreachable or singular pose, parameters not excited); the sentence
says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.errors import ParameterError, VehIdError
from veh_identification.identification import IdentificationResult, save
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import header, message_class, new, service_class
from veh_identification.runtime.parameters import declare, parameter, refuse_unknown
from veh_identification.runtime.qos import LATCHED, SYSTEM_DEFAULT, QoS
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.live.accumulation import LiveIdentification, LiveOptions
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.results.bag import (
    parameters_message,
    reconstruction_message,
)
from veh_identification.types import Array

OK, WARN, ERROR = 0, 1, 2
# An estimation takes up to half a second; no sample may be lost meanwhile.
QUEUE = 1000
DRIFT_CYCLES = 0.01  # as signals.check_fundamental: about 3 % of a line's amplitude beside it


@dataclass(frozen=True)
class ParallelOptions:
    """Parameters of the node."""

    topic: str = parameter('joint_states', 'leg lengths and actuator forces (JointState)')
    hexapod: str = parameter(
        'hexapod_palida.yaml', 'geometry, masses and limits: a file, or a name in config/'
    )
    rate: float = parameter(
        0.0, 'samples per second; 0: from the first second of data', unit='Hz', minimum=0.0
    )
    fundamental: float = parameter(
        0.0, 'fundamental of the excitation; 0: that of the hexapod file', unit='Hz', minimum=0.0
    )
    harmonics: int = parameter(
        0, 'harmonics of the excitation; 0: those of the hexapod file', minimum=0, maximum=100
    )
    cutoff: float = parameter(
        0.0,
        'cut-off of the frequency-domain filter; 0: harmonics times fundamental',
        unit='Hz',
        minimum=0.0,
    )
    estimator: str = parameter(
        'gauss-markov',
        'maximum-likelihood also tunes the cut-off (half a second a period)',
        choices=('gauss-markov', 'maximum-likelihood'),
    )
    skip_periods: int = parameter(
        0, 'periods at the start that are not used (run-in)', minimum=0, maximum=1000
    )
    reconstruction_rate: float = parameter(
        50.0, 'measured and predicted forces of the mean period; 0: none', unit='Hz', minimum=0.0
    )
    reliable_sensors: bool = parameter(False, 'subscribe reliably instead of best effort')
    folder: str = parameter('', 'where ~/save writes and ~/load reads parameters.json')


class ParallelIdentification:
    """Averages periods and estimates after each of them."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.options = declare(node, ParallelOptions)
        refuse_unknown(node)
        self.live = LiveIdentification(self._configuration(), self._live_options())
        self.live.warm_up()  # before subscribing: messages meanwhile would be lost
        self.enabled = True
        self.result: IdentificationResult | None = None
        self._order: dict[tuple[str, ...], list[int] | None] = {}
        self._received = self._incomplete = self._since_report = 0
        self._silent = 0
        self._problem = ''
        self._previous: Array | None = None
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
        qos = QoS(depth=QUEUE, reliable=self.options.reliable_sensors)
        node.create_subscription(
            message_class('sensor_msgs/msg/JointState'), self.options.topic, self._on_joints, qos
        )
        node.create_timer(1.0, self._on_report)
        self._create_services()

    def _configuration(self) -> Any:
        try:
            return load_configuration(self.options.hexapod)
        except VehIdError as error:
            raise ParameterError(f'parameter hexapod: {error}') from error

    def _live_options(self) -> LiveOptions:
        o = self.options
        return LiveOptions(
            o.rate, o.fundamental, o.harmonics, o.cutoff, o.estimator, o.skip_periods
        )

    def _create_services(self) -> None:
        trigger, create = service_class('std_srvs/srv/Trigger'), self._node.create_service
        create(trigger, '~/reset', self._on_reset)
        create(trigger, '~/save', self._on_save)
        create(trigger, '~/load', self._on_load)
        create(service_class('std_srvs/srv/SetBool'), '~/enable', self._on_enable)

    # Input --------------------------------------------------------------------------------------

    def _on_joints(self, msg: Any) -> None:
        if not self.enabled:
            return
        values = self._values(msg)
        self._received += 1
        if values is None:
            self._incomplete += 1
            return
        self._since_report += 1
        stamp_ns = msg.header.stamp.sec * NANOSECONDS + msg.header.stamp.nanosec
        try:
            if self.live.push(stamp_ns, values):
                self._publish(stamp_ns)
        except VehIdError as error:
            if str(error) != self._problem:
                self._node.get_logger().error(str(error))
            self._problem = str(error)

    def _values(self, msg: Any) -> Array | None:
        """Lengths and forces (12,), None where the message lacks a leg or holds no number."""
        names = tuple(msg.name)
        if names not in self._order:
            missing = [leg for leg in LEGS if leg not in names]
            if missing:
                self._node.get_logger().warning(
                    f'{self.options.topic}: a message lacks {", ".join(missing)}'
                )
            self._order[names] = None if missing else [names.index(leg) for leg in LEGS]
        order = self._order[names]
        if order is None:
            return None
        position, effort = np.asarray(msg.position), np.asarray(msg.effort)
        if len(position) != len(names) or len(effort) != len(names):
            return None
        values = np.concatenate([position[order], effort[order]])
        return values if np.isfinite(values).all() else None

    # Output -------------------------------------------------------------------------------------

    def _publish(self, stamp_ns: int) -> None:
        result = self.live.result
        assert result is not None
        self._problem = ''
        converged = False
        if self._previous is not None and len(self._previous) == len(result.value):
            moved = np.abs(result.value - self._previous)[:-1] / result.std[:-1]
            converged = bool(moved.max() < 1.0)
        self._previous, self.result = result.value.copy(), result
        weak = [
            name
            for name, good in zip(
                result.names[:-1], result.deviations.well_identified[:-1], strict=True
            )
            if not good
        ]
        advice = ''
        if weak:
            advice = (
                f'{", ".join(weak)}: more periods, or an excitation by `veh-id design parallel`'
            )
        self._parameters.publish(
            parameters_message(
                result,
                stamp_ns,
                rejected=self._incomplete + self.live.dropped_samples,
                converged=converged,
                advice=advice,
            )
        )
        self._publish_reconstruction(result)

    def _publish_reconstruction(self, result: IdentificationResult) -> None:
        if self.options.reconstruction_rate <= 0.0:
            return
        stamps, measured, predicted = self.live.reconstruction()
        stride = max(1, round(self.live.rate / self.options.reconstruction_rate))
        for k in range(0, len(stamps), stride):
            self._reconstruction.publish(
                reconstruction_message(stamps[k], measured[k], predicted[k], result.sigma)
            )

    def _state(self) -> tuple[int, str]:
        if not self.enabled:
            return OK, 'disabled'
        if self._silent >= 2:
            return ERROR, f'no usable message on {self.options.topic} for {self._silent} s'
        if self._problem:
            return ERROR, self._problem
        if self.live.doubt:
            return WARN, f'{self.live.doubt}: check joints, order of the legs and units'
        if self._incomplete:
            return WARN, f'{self._incomplete} messages lacked a leg or held no number'
        if self.live.rejected and self.live.last_rejected:
            return WARN, f'the last period was dropped: {self.live.reason}'
        if abs(self.live.drift) > DRIFT_CYCLES:
            return WARN, (
                f'the last period is {self.live.drift:+.3g} cycles of the highest harmonic off '
                f'the mean: the fundamental is not {self.live.fundamental_hz:g} Hz'
            )
        if self.live.periods < 2:
            return WARN, f'{self.live.periods} whole periods so far, two are needed'
        return OK, f'{self.live.periods} periods averaged'

    def _on_report(self) -> None:
        self._silent = 0 if self._since_report else self._silent + 1
        self._since_report = 0
        level, text = self._state()
        facts = {
            'received': self._received,
            'incomplete': self._incomplete,
            'periods': self.live.periods,
            'dropped periods': self.live.rejected,
            'late or duplicate': self.live.dropped_samples,
            'clock jumps': self.live.clock_jumps,
        }
        values = [
            new('diagnostic_msgs/msg/KeyValue', key=key, value=str(value))
            for key, value in facts.items()
        ]
        status = new(
            'diagnostic_msgs/msg/DiagnosticStatus',
            level=level,
            name=self._node.get_name(),
            message=text,
            hardware_id='',
            values=values,
        )
        now_ns = self._node.get_clock().now().nanoseconds
        self._diagnostics.publish(
            new('diagnostic_msgs/msg/DiagnosticArray', header=header(now_ns), status=[status])
        )

    # Services -----------------------------------------------------------------------------------

    def _on_reset(self, _request: Any, response: Any) -> Any:
        self.live.reset()
        self.result = self._previous = None
        self._problem = ''
        response.success, response.message = True, 'all periods are forgotten'
        return response

    def _on_enable(self, request: Any, response: Any) -> Any:
        if request.data and not self.enabled:
            self.live.interrupt()
        self.enabled = bool(request.data)
        response.success = True
        response.message = 'enabled' if self.enabled else 'disabled'
        return response

    def _on_save(self, _request: Any, response: Any) -> Any:
        response.success = False
        if self.result is None:
            response.message = 'nothing is identified yet'
        elif not self.options.folder:
            response.message = 'the parameter folder is empty'
        else:
            try:
                paths = save(self.result, self.options.folder)
                response.success, response.message = True, ', '.join(map(str, paths))
            except VehIdError as error:
                response.message = str(error)
        return response

    def _on_load(self, _request: Any, response: Any) -> Any:
        """Publish the parameters of an earlier run until this one has its own."""
        response.success = False
        try:
            if not self.options.folder:
                raise ParameterError('the parameter folder is empty')
            result = self.live.load(Path(self.options.folder) / 'parameters.json')
            stamp_ns = self._node.get_clock().now().nanoseconds
            self._parameters.publish(parameters_message(result, stamp_ns, converged=True))
            self.result = result
            response.success, response.message = True, f'{len(result.names)} parameters loaded'
        except VehIdError as error:
            response.message = str(error)
        return response
