"""Node `car_identification`: the 33 parameters of Venture 2006 while the car drives.

Input: the sensor topics of the car (names from the car's YAML): IMU, optical speed, joints, wheel
wrenches; poses from the YAML or `/tf_static` (along any chain of transforms to base_link). The
data are cut into chunks of some seconds; each passes the offline preparation (all signals of an
equation through one zero-phase filter) and adds to the estimate (`car_live`). Published about once
a second: `~/parameters` (latched); after each chunk: `~/reconstruction` (both sides below 3 Hz).

A load change is noticed by comparing each chunk with all before; the estimate is held meanwhile.

Diagnostics (1 Hz). WARN: no estimate yet, a chunk that could not be used (the reason is said and
counted), weak parameters with the manoeuvre that helps, a load change. ERROR: no message for two
seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.errors import ParameterError, VehIdError
from veh_identification.identification.live import Solution
from veh_identification.identification.rows import Skipped, row_filter
from veh_identification.nodes.car_identification.warm_up import RECONSTRUCTION_HZ, warm_up
from veh_identification.nodes.identification.services import LiveServices
from veh_identification.results.messages import (
    ERROR,
    OK,
    WARN,
    Derived,
    Equations,
    change_rows,
    diagnostics_message,
    load_text,
    parameters_message,
    reconstruction_message,
)
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.parameters import declare, parameter, refuse_unknown
from veh_identification.runtime.qos import LATCHED, STATIC_TF, SYSTEM_DEFAULT, QoS
from veh_identification.signals import decimate, decimated_stamps
from veh_identification.systems.car.configuration import CarConfiguration, load_configuration
from veh_identification.systems.car.estimation.identify import CarMethod
from veh_identification.systems.car.live import chunks
from veh_identification.systems.car.live.accumulation import CarLive
from veh_identification.systems.car.live.advice import advice
from veh_identification.systems.car.model import EQUATION_UNITS, EQUATIONS
from veh_identification.systems.car.parameters import CORNERS, unit
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array

#: A chunk takes about half a second to treat; no message may be lost meanwhile.
QUEUE = 2000


@dataclass(frozen=True)
class CarNodeOptions:
    """Parameters of the node."""

    car: str = parameter(
        'car_peugeot_406.yaml', 'geometry, sensors, a-priori values: a file or a name in config/'
    )
    chunk: float = parameter(
        15.0, 'seconds of data that are treated together', unit='s', minimum=5.0, maximum=120.0
    )
    dof: int = parameter(
        0,
        '20 or 38; 0: 38 where half tracks, camber ... are measured or tabled',
        minimum=0,
        maximum=38,
    )
    bias_correction: bool = parameter(
        True, 'take off the bias by sensor noise (three times the work)'
    )
    significance: float = parameter(
        1e-5,
        'probability of a false alarm of the load change test, per chunk',
        minimum=1e-12,
        maximum=0.1,
    )
    reconstruction: bool = parameter(True, 'publish measured and predicted sides')
    reliable_sensors: bool = parameter(False, 'subscribe reliably instead of best effort')
    file: str = parameter('', 'where ~/save writes and ~/load reads the estimate (.npz)')


class CarIdentification(LiveServices):
    """Collects chunks and publishes what they say."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.options = declare(node, CarNodeOptions)
        refuse_unknown(node)
        self.configuration = self._configuration()
        if self.options.dof not in (0, 20, 38):
            raise ParameterError(f'parameter dof: 0, 20 or 38, found {self.options.dof}')
        options = CarMethod(
            dof=self.options.dof or None, bias_correction=self.options.bias_correction
        )
        self.live = CarLive(self.configuration, options, self.options.significance)
        self.buffer = chunks.CarChunks(self.options.chunk)
        self.enabled, self.file = True, self.options.file
        self.solution: Solution | None = None
        self.skipped = Skipped()
        self._last_skip = ''
        self._previous: Array | None = None
        self._converged = False
        self._since_report = self._silent = 0
        self.equations = Equations(
            'car',
            list(options.names),
            [unit(name) for name in options.names],
            list(EQUATIONS),
            list(EQUATION_UNITS),
            self.configuration.a_priori_array(options.names),
            self.live.watched,
        )
        self._create_outputs()
        # Before subscribing: messages that come while kernels are compiled would be lost.
        seconds = warm_up(self.options.dof, self.options.bias_correction)
        node.get_logger().debug(f'compiled in {seconds:.1f} s, subscribing now')
        self._create_inputs()
        node.create_timer(1.0, self._on_timer)
        self.create_services(node)

    def _configuration(self) -> CarConfiguration:
        try:
            return load_configuration(Path(find_config(self.options.car)))
        except VehIdError as error:
            raise ParameterError(f'parameter car: {error}') from error

    def _create_outputs(self) -> None:
        create = self._node.create_publisher
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

    def _create_inputs(self) -> None:
        topics = self.configuration.topics
        qos = QoS(depth=QUEUE, reliable=self.options.reliable_sensors)
        subscribe = self._node.create_subscription

        def listen(key: str, kind: str, values: Callable[[Any], Sequence[float]]) -> None:
            def receive(msg: Any) -> None:
                self._take(key, _stamp(msg), values(msg))

            subscribe(message_class(kind), topics[key], receive, qos)

        listen('imu', 'sensor_msgs/msg/Imu', chunks.imu_values)
        listen('speed', 'geometry_msgs/msg/TwistStamped', chunks.speed_values)
        for corner in CORNERS:
            listen(f'wrench_{corner}', 'geometry_msgs/msg/WrenchStamped', chunks.wrench_values)
        kind = message_class('sensor_msgs/msg/JointState')
        subscribe(kind, topics['joints'], self._on_joints, qos)
        kind = message_class('tf2_msgs/msg/TFMessage')
        subscribe(kind, '/tf_static', self._on_static_transforms, STATIC_TF)

    # Input --------------------------------------------------------------------------------------

    def _on_joints(self, msg: Any) -> None:
        stamp = _stamp(msg)
        for name, value in chunks.joint_values(msg).items():
            self._take(name, stamp, (value,))

    def _on_static_transforms(self, msg: Any) -> None:
        for text in self.buffer.frames.take(msg):
            self._node.get_logger().error(text)

    def _take(self, name: str, stamp_ns: int, values: Sequence[float]) -> None:
        if not self.enabled:
            return
        self._since_report += 1
        recording = self.buffer.push(name, stamp_ns, values)
        if recording is None:
            return
        try:
            self._last_skip = self.live.add(recording)
            if not self._last_skip:
                self._solve()
        except VehIdError as error:
            self._last_skip = str(error)
        if self._last_skip:
            self.skipped.add(self._last_skip)

    def _solve(self) -> None:
        self.solution = self.live.solve()
        known, value = self.solution.excited, self.solution.value
        if self._previous is not None:
            std = np.sqrt(np.diag(self.solution.covariance))[known]
            self._converged = bool(np.all(np.abs(value - self._previous)[known] < std))
        self._previous = value.copy()
        self._reconstruct(self.live.latest)

    # Output -------------------------------------------------------------------------------------

    def _reconstruct(self, piece: CarSamples | None) -> None:
        model = self.live.model
        if not self.options.reconstruction or piece is None or model is None:
            return
        assert self.solution is not None
        low_pass = row_filter(piece.rate, RECONSTRUCTION_HZ)
        if len(piece) < len(low_pass.taps):
            return
        W, Y = model.matrices(piece)
        predicted = decimate(W @ np.nan_to_num(self.solution.value), low_pass)
        measured = decimate(np.ascontiguousarray(Y), low_pass)
        stamps = piece.epoch_ns + np.rint(1e9 * decimated_stamps(piece.stamps, low_pass)).astype(
            np.int64
        )
        for k, stamp in enumerate(stamps):
            self._reconstruction.publish(
                reconstruction_message(
                    int(stamp),
                    self.equations.equations,
                    self.equations.equation_units,
                    measured[k],
                    predicted[k],
                    self.solution.sigma,
                )
            )

    def _on_timer(self) -> None:
        self._silent = 0 if self._since_report else self._silent + 1
        self._since_report = 0
        now_ns = self._node.get_clock().now().nanoseconds
        if self.solution is not None and self.enabled:
            self._parameters.publish(
                parameters_message(
                    self.equations,
                    self.solution,
                    change_rows(self.equations, self.live.change) + self._centre(self.solution),
                    stamp_ns=now_ns,
                    samples=self.live.samples,
                    rejected=self.skipped.total,
                    converged=self._converged,
                    advice='; '.join(self._texts(self.solution)),
                )
            )
        level, text = self._state()
        facts: dict[str, Any] = {
            **{f'received {name}': n for name, n in sorted(self.buffer.received.items())},
            'chunks': self.live.chunks,
            'chunks held back': self.live.held_chunks,
            'chunks not used': self.skipped.total,
            'seconds used': f'{self.live.seconds:.1f}',
            **{f'not used: {reason}': n for reason, n in self.skipped.reasons.items()},
            'clock jumps': self.buffer.clock_jumps,
            'noise level': f'{self.live.level:.3g}',
        }
        if self.live.change is not None:
            facts['change statistic'] = f'{self.live.change.test.statistic:.4g}'
            facts['change threshold'] = f'{self.live.change.test.threshold:.4g}'
        self._diagnostics.publish(
            diagnostics_message(now_ns, self._node.get_name(), level, text, facts)
        )

    def _centre(self, solution: Solution) -> list[Derived]:
        """Centre of gravity of the chassis."""
        places = self.live.watched
        value = solution.value[places]
        covariance = solution.covariance[np.ix_(places, places)]
        found = []
        for k, axis in enumerate('xyz', start=1):
            centre = value[k] / value[0]
            gradient = np.zeros(4)
            gradient[k], gradient[0] = 1.0 / value[0], -centre / value[0]
            std = float(np.sqrt(gradient @ covariance @ gradient))
            found.append(Derived(f'centre_of_gravity.{axis}', 'm', float(centre), std))
        return found

    def _texts(self, solution: Solution) -> list[str]:
        std = np.sqrt(np.diag(solution.covariance))
        texts = [advice(self.equations.names, solution.value, std)]
        if self.live.changed and self.live.change is not None:
            texts.insert(0, load_text(self.live.change))
        return [text for text in texts if text]

    def _state(self) -> tuple[int, str]:
        if not self.enabled:
            return OK, 'disabled'
        if self._silent >= 2:
            return ERROR, f'no sensor message for {self._silent} s'
        texts = [f'the last chunk was not used: {self._last_skip}'] if self._last_skip else []
        if self.solution is None:
            texts.append('no estimate yet')
        else:
            texts += self._texts(self.solution)
        return (WARN, '; '.join(texts)) if texts else (OK, 'all parameters are known')

    def restart(self) -> None:
        """Forget everything."""
        self.live.reset()
        self.solution = self._previous = None
        self._last_skip = ''


def _stamp(msg: Any) -> int:
    return int(msg.header.stamp.sec) * NANOSECONDS + int(msg.header.stamp.nanosec)
