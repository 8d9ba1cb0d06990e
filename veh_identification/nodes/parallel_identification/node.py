"""Node `parallel_identification`: a hexapod's parameters while it repeats its excitation.

`veh-id identify parallel` does the same offline, by the same code.

Input: `joint_states` with `leg_1` .. `leg_6` (position = length, effort = force). After each whole
period, from the second on, the parameters are estimated anew from the mean of all periods and
published on `~/parameters` (latched) with verdict and findings, and the mean period on
`~/reconstruction`. Motion that goes beyond its harmonics (in closed loop) or does not repeat is
estimated by filtered rows (`processing`): anew each time that the samples have doubled, from the
newest 40,000 samples and from what all blocks before them have said.

Diagnostics (1 Hz). WARN: fewer than two periods so far, the last period was dropped (a gap),
messages without all legs, periods that drift (a wrong fundamental), forces that fit less well than
their scatter explains, parameters that are not well known. ERROR: no usable message for two
seconds, a model that does not explain the forces (exchanged legs, another geometry, units), values
that cannot exist, or the last estimation failed (unreachable or singular pose, parameters not
excited); the sentence says why. Nothing is published as known meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.errors import ParameterError, VehIdError
from veh_identification.nodes.identification.base import IdentificationNode, declare_identification
from veh_identification.nodes.joint_order import JointOrder
from veh_identification.runtime.cdr.fields import STAMP, FieldCallback
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.parameters import parameter
from veh_identification.runtime.qos import QoS
from veh_identification.signals.hygiene import possible
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.live.accumulation import LiveOptions, ParallelLive
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.options import ESTIMATORS, PROCESSING
from veh_identification.types import Array

# An estimation takes up to half a second, several on a machine that is full of other work; no
# sample may be lost meanwhile.
QUEUE = 5000
#: Of parameter `lag` [s]. A search for the cut-off takes 0.75 s of a core (hexapod-periodic).
LAG = 2.0


@dataclass(frozen=True)
class ParallelOptions:
    """Parameters of the node."""

    topic: str = parameter('joint_states', 'leg lengths and actuator forces (JointState)')
    hexapod: str = parameter(
        'hexapod_palida.yaml',
        'geometry, masses and limits: a file, or a name in config/',
        path=True,
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
        'maximum-likelihood',
        'maximum-likelihood also finds the cut-off, and with processing auto whether the motion '
        'ends with its harmonics; gauss-markov takes the cut-off as given',
        choices=ESTIMATORS,
    )
    processing: str = parameter(
        'auto',
        'as of `identify parallel`: auto is frequency (mean periods) where the motion ends with '
        'its harmonics, else band (any motion, both sides low-passed alike); what the '
        'description of the hexapod says replaces auto',
        choices=PROCESSING,
    )
    skip_periods: int = parameter(
        0, 'periods at the start that are not used (run-in)', minimum=0, maximum=1000
    )
    reconstruction_rate: float = parameter(
        50.0, 'measured and predicted forces of the mean period; 0: none', unit='Hz', minimum=0.0
    )
    reliable_sensors: bool = parameter(False, 'subscribe reliably instead of best effort')
    folder: str = parameter('', 'where ~/save writes and ~/load reads parameters.json', path=True)


class ParallelIdentification(IdentificationNode):
    """Hands lengths and forces of the legs to the live model."""

    model: ParallelLive

    def __init__(self, node: Node) -> None:
        options, running = declare_identification(node, ParallelOptions, LAG)
        self.options = options
        model = ParallelLive(*self._setup())
        model.warm_up()  # before subscribing: messages meanwhile would be lost
        self._order = JointOrder(LEGS)
        self.received = 0
        super().__init__(
            node,
            model,
            options,
            running,
            input_words=f'usable message on {options.topic}',
            file=options.folder,
            file_parameter='folder',
            reconstruction=options.reconstruction_rate > 0.0,
        )

    def _setup(self) -> tuple[Any, LiveOptions]:
        o = self.options
        try:
            configuration = load_configuration(o.hexapod)
        except VehIdError as error:
            raise ParameterError(f'parameter hexapod: {error}') from error
        return configuration, LiveOptions(
            o.rate,
            o.fundamental,
            o.harmonics,
            o.cutoff,
            o.estimator,
            o.skip_periods,
            o.reconstruction_rate,
            o.processing,
        )

    def subscribe(self) -> None:
        """Listen to the legs."""
        self._node.create_subscription(
            message_class('sensor_msgs/msg/JointState'),
            self.options.topic,
            FieldCallback((*STAMP, 'name', 'position[]', 'effort[]'), self._on_joints),
            QoS(depth=QUEUE, reliable=self.options.reliable_sensors),
        )

    def _on_joints(self, fields: tuple[Any, ...]) -> None:
        if not self.enabled:
            return
        sec, nanosec, names, position, effort = fields
        self.received += 1
        values = self._values(tuple(names), np.array(position), np.array(effort))
        if values is None:
            self.model.incomplete += 1
            return
        stamp_ns = sec * NANOSECONDS + nanosec
        self.sample_comes(stamp_ns)
        if self.model.push(stamp_ns, values):
            self.publish_estimate(stamp_ns)
        self.sample_came()

    def _values(self, names: tuple[str, ...], position: Array, effort: Array) -> Array | None:
        """Lengths and forces (12,), None where the message lacks a leg or holds no number."""
        found = self._order.places(names)
        if found is None or -1 in found[0]:
            missing = ', '.join(one for one in LEGS if one not in names)
            self._node.get_logger().warning(
                f'{self.options.topic}: a message lacks {missing}'
                if missing
                else f'{self.options.topic}: a message names a joint twice',
                throttle_duration_sec=60.0,
            )
            return None
        order = list(found[0])
        if len(position) != len(names) or len(effort) != len(names):
            return None
        values = np.concatenate([position[order], effort[order]])
        return values if possible(values).all() else None

    def facts(self) -> dict[str, Any]:
        """Counts."""
        return {'received': self.received, **super().facts()}

    def _load(self) -> str:
        """Publish the parameters of an earlier run until this one has its own."""
        text = super()._load()
        self.publish_estimate(self._now_ns())
        return text
