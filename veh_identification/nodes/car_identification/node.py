"""Node `car_identification`: the 33 parameters of Venture 2006 while the car drives.

`veh-id identify car` does the same offline.

Input: the sensor topics of the car (names from the car's YAML): IMU, optical speed, joints, wheel
wrenches; poses from the YAML or `/tf_static` (along any chain of transforms to base_link). The
data are cut into chunks of some seconds; each passes the offline preparation (all signals of an
equation through one zero-phase filter) and the offline checks, and adds to the estimate. Published
about once a second: `~/parameters` (latched) with verdict and findings; after each chunk:
`~/reconstruction` (both sides below 3 Hz). A chunk that is not full is used when the input is
silent for some seconds (also behind the end of `ros2 bag play --clock`, where its clock stands
still), by `~/save`, and when the node or `veh-id replay` ends.

A load change is noticed by comparing each chunk with all before; the estimate is held meanwhile.
A chunk that contradicts itself (swapped, turned, wrongly signed sensors, units) is not added to
one that does not; before any good one it is estimated from, but nothing is published as known.

Diagnostics (1 Hz). WARN: no estimate yet, a chunk that could not be used (the reason is said and
counted), weak parameters with the manoeuvre that helps, a load change, sensors that are missing.
ERROR: no message for two seconds, a chunk that contradicts itself, values that cannot exist.
One status for each sensor counts its samples: received is the sum of accepted, rejected, late,
invalid and waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification.errors import ParameterError, VehIdError
from veh_identification.nodes.identification.base import IdentificationNode, declare_identification
from veh_identification.runtime.cdr.fields import STAMP, FieldCallback
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.parameters import parameter
from veh_identification.runtime.qos import STATIC_TF, QoS
from veh_identification.systems.car.configuration import CarDescription, load_configuration
from veh_identification.systems.car.estimation.identify import CarMethod
from veh_identification.systems.car.live import chunks
from veh_identification.systems.car.live.model import CarLiveModel
from veh_identification.systems.car.live.warm_up import warm_up
from veh_identification.systems.car.parameters import CORNERS

#: A chunk takes half a second to treat, five on a machine that is full of other work (measured);
#: no message may be lost meanwhile, and sensors send up to 1000 a second.
QUEUE = 10_000
#: Of parameter `lag` [s]. The first chunk takes 2.7 s of a core, later ones 1.6 s (sine steer).
LAG = 4.0


@dataclass(frozen=True)
class CarNodeOptions:
    """Parameters of the node."""

    car: str = parameter(
        'car_peugeot_406.yaml',
        'geometry, sensors, a-priori values: a file or a name in config/',
        path=True,
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
    file: str = parameter(
        '', 'where ~/save writes and ~/load reads the estimate (.npz)', path=True
    )


class CarIdentification(IdentificationNode):
    """Hands the samples of all sensors to the live model."""

    model: CarLiveModel

    def __init__(self, node: Node) -> None:
        options, running = declare_identification(node, CarNodeOptions, LAG)
        self.options = options
        self.configuration = self._configuration()
        if options.dof not in (0, 20, 38):
            raise ParameterError(f'parameter dof: 0, 20 or 38, found {options.dof}')
        model = CarLiveModel(
            self.configuration,
            CarMethod(dof=options.dof or None, bias_correction=options.bias_correction),
            significance=options.significance,
            seconds=options.chunk,
            reconstruction=options.reconstruction,
        )
        self._unusable = 0
        # Before subscribing: messages that come while kernels are compiled would be lost.
        seconds = warm_up(options.dof, options.bias_correction)
        node.get_logger().debug(f'compiled in {seconds:.1f} s, subscribing now')
        super().__init__(
            node, model, options, running, input_words='sensor message', file=options.file
        )

    def _configuration(self) -> CarDescription:
        try:
            return load_configuration(Path(find_config(self.options.car)))
        except VehIdError as error:
            raise ParameterError(f'parameter car: {error}') from error

    def subscribe(self) -> None:
        """Listen to the sensors."""
        topics = self.configuration.topics
        qos = QoS(depth=QUEUE, reliable=self.options.reliable_sensors)
        subscribe = self._node.create_subscription

        def listen(name: str, key: str, kind: str) -> None:
            def receive(fields: tuple[Any, ...]) -> None:
                self._take(name, fields[0] * NANOSECONDS + fields[1], fields[2:])

            callback = FieldCallback((*STAMP, *chunks.FIELDS[key]), receive)
            subscribe(message_class(kind), topics[name], callback, qos)

        listen('imu', 'imu', 'sensor_msgs/msg/Imu')
        listen('speed', 'speed', 'geometry_msgs/msg/TwistStamped')
        for corner in CORNERS:
            listen(f'wrench_{corner}', 'wrench', 'geometry_msgs/msg/WrenchStamped')
        callback = FieldCallback((*STAMP, *chunks.FIELDS['joints']), self._on_joints)
        subscribe(message_class('sensor_msgs/msg/JointState'), topics['joints'], callback, qos)
        kind = message_class('tf2_msgs/msg/TFMessage')
        subscribe(kind, '/tf_static', self._on_static_transforms, STATIC_TF)

    def _on_joints(self, fields: tuple[Any, ...]) -> None:
        sec, nanosec, names, positions = fields
        stamp = sec * NANOSECONDS + nanosec
        values = chunks.joint_values(names, positions)
        self._unusable += not values
        if self.enabled and values:
            self.sample_comes(stamp)
            for name, value in values.items():
                self.model.push(name, stamp, (value,))
            self.sample_came()

    def facts(self) -> dict[str, Any]:
        """Also the joint messages of which nothing could be used."""
        return {**super().facts(), 'joint messages without use': self._unusable}

    def _on_static_transforms(self, msg: Any) -> None:
        for text in self.model.chunks.frames.take(msg):
            self._node.get_logger().error(text)

    def _take(self, name: str, stamp_ns: int, values: Sequence[float]) -> None:
        if self.enabled:
            self.sample_comes(stamp_ns)
            self.model.push(name, stamp_ns, values)
            self.sample_came()
