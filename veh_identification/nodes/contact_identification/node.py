"""Node `contact_identification`: a humanoid's parameters from contact wrenches and motion alone.

`veh-id identify humanoid` does the same offline.

Input: `fused/state` (node sensor_fusion) with the base link's motion, joints and wrenches; the
robot's URDF. The six rows of equation (4) of Ayusawa 2008 are filtered, decimated and estimated
recursively. Published about once a second: `~/parameters` (latched) with base parameters, sensor
offsets, total mass and centre of mass, verdict and findings; with every row: `~/reconstruction`.

A start phase finds joints that do not move and locks them; one that moves later is set free, which
starts the estimation over. A load that is picked up (or put down) is noticed by comparing the last
seconds with everything before (`identification.live`); the estimate is held meanwhile.

Diagnostics (1 Hz). WARN: no estimate yet, states that could not be used in the last second (the
reasons are counted), unexcited parameters, a load change, joints of the URDF that no state names.
ERROR: no state for two seconds, degrees, millimetres or a world that is not upright in the first
seconds, a poor fit (frames, signs, stamps), the estimation fails; the sentence says why. Nothing
is published as known meanwhile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veh_identification.errors import InputError, ParameterError, VehIdError
from veh_identification.nodes.identification.base import IdentificationNode, declare_identification
from veh_identification.runtime.cdr.fields import STAMP, FieldCallback
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.qos import STATIC_TF, QoS
from veh_identification.runtime.share import share_directory
from veh_identification.systems.humanoid.live.contact import ContactLive
from veh_identification.systems.humanoid.live.options import ContactOptions
from veh_identification.systems.humanoid.live.states import FIELDS
from veh_identification.systems.humanoid.robot import Robot, load_robot

#: An evaluation takes up to a few tenths of a second, seconds on a machine that is full of other
#: work; no state may be lost meanwhile.
QUEUE = 5000
#: Of parameter `lag` [s]. A slice of a check takes 0.15 s of a core (60 s of humanoid-walk).
LAG = 0.5


class ContactIdentification(IdentificationNode):
    """Hands fused states to the live model."""

    model: ContactLive

    def __init__(self, node: Node) -> None:
        options, running = declare_identification(node, ContactOptions, LAG)
        self.options = options
        links = [name for name in options.link_sensors if name]
        frames = [name for name in options.link_frames if name]
        if len(links) != len(frames):
            raise ParameterError('parameter link_frames: one link per entry of link_sensors')
        if len(options.plate_centre) not in (1, 3):
            raise ParameterError(
                'parameter plate_centre: expected x, y, z, or a single number, '
                f'found {len(options.plate_centre)} numbers'
            )
        plates = [name for name in options.plates if name]
        model = self._model(links, frames, plates)
        for text in model.warnings:
            node.get_logger().warning(text)
        # Before subscribing: states that arrive while it compiles would be lost.
        model.warm_up()
        super().__init__(
            node,
            model,
            options,
            running,
            input_words=f'state on {options.topic}',
            file=options.file,
            period=options.publish_period,
            reconstruction=options.reconstruction,
        )

    def _model(self, links: list[str], frames: list[str], plates: list[str]) -> ContactLive:
        try:
            return ContactLive(self._robot(), self.options, links, frames, plates)
        except VehIdError as error:
            raise ParameterError(f'parameter urdf: {error}') from error

    def _robot(self) -> Robot:
        name = self.options.urdf
        shipped = share_directory() / 'config' / 'models' / name
        if not name:
            raise InputError('no robot description is given')
        return load_robot(shipped if not Path(name).is_file() and shipped.is_file() else name)

    def subscribe(self) -> None:
        """Listen to states and to the places of the plates."""
        create = self._node.create_subscription
        kind = message_class('veh_identification/msg/FusedState')
        callback = FieldCallback((*STAMP, *FIELDS), self._on_state)
        create(kind, self.options.topic, callback, QoS(depth=QUEUE, reliable=True))
        kind = message_class('tf2_msgs/msg/TFMessage')
        create(kind, '/tf_static', self._on_static_transforms, STATIC_TF)

    def _on_state(self, fields: tuple[Any, ...]) -> None:
        if self.enabled:
            stamp_ns = fields[0] * NANOSECONDS + fields[1]
            values = self.model.parse(fields[2:])  # which tells whom a kept estimate must fit
            self.sample_comes(stamp_ns)
            self.model.push(stamp_ns, values)
            self.sample_came()

    def _on_static_transforms(self, msg: Any) -> None:
        for text in self.model.places.take(msg):
            self._node.get_logger().error(text)
