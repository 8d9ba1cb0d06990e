"""Node `contact_identification`: a humanoid's parameters from contact wrenches and motion alone.

Input: `fused/state` (node sensor_fusion) with the base link's motion, joints and wrenches; the
robot's URDF. The six rows of equation (4) of Ayusawa 2008 are filtered, decimated and estimated
recursively. Published about once a second: `~/parameters` (latched) with base parameters, sensor
offsets, total mass and centre of mass; with every row: `~/reconstruction`.

A start phase finds joints that do not move and locks them; one that moves later is set free, which
starts the estimation over. A load that is picked up (or put down) is noticed by comparing the last
seconds with everything before (`identification.live`); the estimate is held meanwhile.

Diagnostics as in `live_identification`; further reasons for WARN: joints of the URDF that no state
names, wrenches that carry much less than the robot's weight, a poor fit (frames, signs, stamps).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.errors import InputError, ParameterError, VehIdError
from veh_identification.identification import Information
from veh_identification.identification.live import Solution
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.nodes.identification.base import CommonOptions, LiveNode
from veh_identification.results.messages import Derived, Equations, group_by_prefix
from veh_identification.runtime.interface import Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.parameters import declare, parameter, refuse_unknown
from veh_identification.runtime.qos import STATIC_TF
from veh_identification.runtime.share import share_directory
from veh_identification.systems.humanoid.live.model import ContactModel, live_configuration
from veh_identification.systems.humanoid.live.plates import PlatePlaces
from veh_identification.systems.humanoid.live.states import BASE, ContactStates
from veh_identification.systems.humanoid.robot import Robot, load_robot
from veh_identification.types import Array, BoolArray, IntArray


@dataclass(frozen=True)
class ContactOptions(CommonOptions):
    """Parameters of the node."""

    urdf: str = parameter('', 'robot description: a file, or a name in config/models')
    cutoff: float = parameter(
        6.0,
        'cut-off of the rows; filter.cutoff of sensor_fusion should be 2.5 times as high',
        unit='Hz',
        minimum=0.2,
        maximum=200.0,
    )
    link_sensors: list[str] = parameter(
        [''], 'wrench names of 6-axis sensors on links (attached: link in sensor_fusion)'
    )
    link_frames: list[str] = parameter([''], 'their links in the URDF, in the same order')
    plates: list[str] = parameter(
        [''], 'wrench names of force plates; empty: all wrenches but those of link_sensors'
    )
    offset_percent: float = parameter(
        0.4,
        'how large offsets of the wrench sensors may be, of the weight; 0: none',
        unit='%',
        minimum=0.0,
        maximum=100.0,
    )
    plate_centre: list[float] = parameter(
        [0.0],
        'place of the plate in world (the middle of several), to which its offsets belong: '
        'x, y, z; a single number: that of the frames in /tf_static with the names of the plates, '
        'if they are there (else offsets of moments are larger)',
        unit='m',
    )
    prior_percent: float = parameter(
        40.0,
        'how far from the truth the values of the URDF may be',
        unit='%',
        minimum=1.0,
        maximum=1000.0,
    )
    gravity: float = parameter(9.80665, 'for the scale of offsets', unit='m/s^2', minimum=0.1)
    start_seconds: float = parameter(
        2.5, 'of motion, after which resting joints are locked', unit='s', minimum=0.1
    )
    lock_below: float = parameter(
        0.01, 'travel that counts as rest (a tenth of it for sliding joints)', minimum=0.0
    )
    support_tolerance: float = parameter(
        0.3, 'share of the weight that may be missing on the sensors', minimum=0.01, maximum=1.0
    )


#: A locked joint that leaves its rest by this many times `lock_below` is moving.
UNLOCK = 3.0
#: Levers at which offsets of forces count as those of moments: at the plate's own origin, and at
#: the place where the robot started, some way from it.
PLATE_LEVER, START_LEVER = 0.1, 0.3


class ContactIdentification(LiveNode):
    """Estimates base parameters from the six base-link rows."""

    def __init__(self, node: Node) -> None:
        self.options = declare(node, ContactOptions)
        refuse_unknown(node)
        links = [name for name in self.options.link_sensors if name]
        self._frames = [name for name in self.options.link_frames if name]
        if len(links) != len(self._frames):
            raise ParameterError('parameter link_frames: one link per entry of link_sensors')
        if len(self.options.plate_centre) not in (1, 3):
            raise ParameterError(
                'parameter plate_centre: expected x, y, z, or a single number, '
                f'found {len(self.options.plate_centre)} numbers'
            )
        self._places = PlatePlaces(self.options.plate_centre)
        self.robot = self._load_robot()
        self.states = ContactStates(
            self.robot.moving_joints(), links, [name for name in self.options.plates if name]
        )
        tree = self.robot.model()
        self._limits = np.array(
            [
                self.options.lock_below
                * (1.0 if tree.coordinate_is_angle(tree.coordinate_index(name)) else 0.1)
                for name in self.states.joints
            ]
        )
        self.model: ContactModel | None = None
        self._start: list[tuple[IntArray, Array]] = []
        self._free: set[str] = set()  # joints that have moved once
        self._posture = np.zeros(len(self.states.joints))
        for text in tree.warnings:
            node.get_logger().warning(text)
        # Before subscribing: states that arrive while it compiles would be lost.
        self._contact_model({}, np.zeros(3), True, PLATE_LEVER).warm_up(self.states.width)
        super().__init__(node, self.options, self.options.cutoff)
        kind = message_class('tf2_msgs/msg/TFMessage')
        node.create_subscription(kind, '/tf_static', self._on_static_transforms, STATIC_TF)

    def _on_static_transforms(self, msg: Any) -> None:
        for text in self._places.take(msg):
            self._node.get_logger().error(text)

    def _load_robot(self) -> Robot:
        name = self.options.urdf
        shipped = share_directory() / 'config' / 'models' / name
        try:
            if not name:
                raise InputError('no robot description is given')
            robot = load_robot(shipped if not Path(name).is_file() and shipped.is_file() else name)
            return robot.cut_at(self._frames)
        except VehIdError as error:
            raise ParameterError(f'parameter urdf: {error}') from error

    # Rows ---------------------------------------------------------------------------------------

    def parse(self, msg: Any) -> Array | str:
        """A state as a row of numbers."""
        return self.states.parse(msg)

    def rows(self, stamps: IntArray, values: Array) -> tuple[Array, Array, BoolArray] | None:
        """Rows of equation (4) and whether the sensors carry the robot."""
        self._posture = values[-1, self._joint_columns()]
        if self.model is None:
            self._collect(stamps, values)
            return None
        if self._woken(values):
            self.model, self.live, self.solution = None, None, None
            self._start = [(stamps, values)]
            return None
        W, Y = self.model.rows(values)
        up = -values[:, 9:12] / np.linalg.norm(values[:, 9:12], axis=1)[:, None]
        known = self.model.a_priori if self.solution is None else self.solution.value
        measured = np.einsum('ni,ni->n', Y[:, :3], up)
        predicted = np.einsum('ni,ni->n', (W @ known)[:, :3], up)
        carried = measured > (1.0 - self.options.support_tolerance) * predicted
        if not carried.all():
            self.skipped.add('the sensors do not carry the whole robot', int(np.sum(~carried)))
        return W, Y, carried

    def _joint_columns(self) -> slice:
        return slice(BASE, BASE + len(self.states.joints))

    def _collect(self, stamps: IntArray, values: Array) -> None:
        """Start phase: wait until some joint has moved for long enough, then lock the rest."""
        self._start.append((stamps, values))
        q = np.concatenate([part[:, self._joint_columns()] for _, part in self._start])
        if len(q) < self.options.start_seconds * self.buffer.rate:
            return
        travel = np.ptp(q, axis=0)
        if not np.any(travel > self._limits):
            self._start = self._start[len(self._start) // 2 :]  # standing still teaches nothing
            return
        rest = {
            name: float(np.median(q[:, k]))
            for k, name in enumerate(self.states.joints)
            if travel[k] < self._limits[k] and name not in self._free
        }
        centre = self._places.centre(self.states.world, self.states.plate_names)
        # Without a place: where the robot started, some way from the plate.
        lever = START_LEVER if centre is None else PLATE_LEVER
        start = self._start[0][1][0, 12:15] if centre is None else centre
        self._make_model(rest, start, self.states.has_plates, lever)
        waiting, self._start = self._start, []
        for block in waiting:
            self._on_block(*block)

    def _woken(self, values: Array) -> bool:
        assert self.model is not None
        q = values[:, self._joint_columns()]
        woken = [
            name
            for name, rest in self.model.locked.items()
            if np.median(np.abs(q[:, (k := self.states.joints.index(name))] - rest))
            > UNLOCK * self._limits[k]
        ]
        if woken:
            self._free.update(woken)
            self._node.get_logger().warning(
                f'{", ".join(woken)} began to move: the estimation starts over'
            )
        return bool(woken)

    def _contact_model(
        self, locked: dict[str, float], centre: Array, plates: bool, lever: float
    ) -> ContactModel:
        configuration = live_configuration(self.options.gravity, self.options.prior_percent)
        weight = self.robot.total_mass * self.options.gravity
        return ContactModel(
            self.robot,
            self.states.joints,
            locked,
            self._frames,
            plates,
            0.01 * self.options.offset_percent * weight,
            configuration,
            centre,
            lever,
        )

    def _make_model(
        self, locked: dict[str, float], centre: Array, plates: bool, lever: float
    ) -> None:
        model = self.model = self._contact_model(locked, centre, plates, lever)
        self.start(
            Equations(
                'humanoid',
                model.names,
                model.units,
                list(BASE_ROWS),
                ['N'] * 3 + ['N m'] * 3,
                model.a_priori,
                model.watched,
            )
        )

    # Estimate -----------------------------------------------------------------------------------

    def solve(self, information: Information) -> Solution:
        """As the offline identification."""
        assert self.model is not None
        return self.model.solve(information)

    def derived(self, solution: Solution) -> list[Derived]:
        """Total mass and centre of mass (base axes, latest posture)."""
        assert self.model is not None
        rows = self.model.mass_and_moments(self._posture)
        beyond = self.robot.mass_beyond
        value, covariance = rows @ solution.value, rows @ solution.covariance @ rows.T
        before = rows @ self.model.a_priori
        found = [
            Derived(
                'total_mass',
                'kg',
                float(value[0]) + beyond,
                float(np.sqrt(covariance[0, 0])),
                float(before[0]) + beyond,
            )
        ]
        for k, axis in enumerate('xyz', start=1):
            centre = value[k] / value[0]
            gradient = np.zeros(4)
            gradient[k], gradient[0] = 1.0 / value[0], -centre / value[0]
            found.append(
                Derived(
                    f'centre_of_mass.{axis}',
                    'm',
                    float(centre),
                    float(np.sqrt(gradient @ covariance @ gradient)),
                    float(before[k] / before[0]),
                )
            )
        return found

    def advice(self, solution: Solution) -> str:
        """Links that have not shown their parameters yet."""
        assert self.model is not None
        weak = [
            name
            for name, excited in zip(self.model.names, solution.excited, strict=True)
            if not excited and '.offset.' not in name
        ]
        if not weak:
            return ''
        groups = group_by_prefix(weak)
        text = ', '.join(f'{link} ({" ".join(entries)})' for link, entries in groups.items())
        return f'not excited: {text}; turn these links faster and about more axes'

    def facts(self) -> dict[str, Any]:
        """Joints and mass."""
        facts: dict[str, Any] = {}
        if self.model is not None:
            facts['locked joints'] = ', '.join(
                f'{name} {value:.4g}' for name, value in self.model.locked.items()
            )
        if self.solution is not None:
            for item in self.derived(self.solution):
                facts[item.name.replace('_', ' ')] = f'{item.value:.5g} +- {item.std:.2g}'
            facts['excited'] = f'{int(self.solution.excited.sum())} of {len(self.solution.value)}'
        return facts

    def warnings(self) -> list[str]:
        """Joints without data and a poor fit."""
        texts = []
        if self.states.missing and self.received:
            texts.append(
                f'no state names {", ".join(self.states.missing)}: taken as resting at zero'
            )
        poor = [text for text in self.poor_equations() if text.split()[0] in ('FZ', 'NX', 'NY')]
        if poor:
            texts.append(f'poor fit of {", ".join(poor)}: check frames, signs, stamps, supports')
        if self.model is None and self._start:
            texts.append('waiting for motion')
        return texts

    # Storage ------------------------------------------------------------------------------------

    def extra_state(self) -> dict[str, Any]:
        """Locked joints and the place to which plate offsets belong."""
        assert self.model is not None
        return {
            'locked_names': np.array(list(self.model.locked), dtype=str),
            'locked_values': np.array(list(self.model.locked.values())),
            'centre': self.model.centre,
            'plates': self.model.plates,
            'lever': self.model.lever,
        }

    def prepare_load(self, state: dict[str, Any]) -> None:
        """The model of the stored estimate."""
        try:
            names = [str(name) for name in state['locked_names']]
            values = [float(value) for value in state['locked_values']]
            centre, plates = np.asarray(state['centre'], float), bool(state['plates'])
            lever = float(state.get('lever', START_LEVER))
        except KeyError as error:
            raise InputError(f'not an estimate of a humanoid: {error} is missing') from None
        strange = [name for name in names if name not in self.states.joints]
        if strange:
            raise InputError(f'the stored estimate names the unknown joint {strange[0]}')
        self._start = []
        self._make_model(dict(zip(names, values, strict=True)), centre, plates, lever)

    def restart(self) -> None:
        """Forget all rows and look for resting joints again."""
        super().restart()
        self.model, self.live, self.stream = None, None, None
        self._start = []
