"""The car of Venture 2002: Lagrange form, the chassis on six virtual joints (Table 1).

Names and axes are the paper's: the chassis is body 6 with x to the right, y down and z forward,
the suspensions are joints 7 (rear left), 10 (rear right), 13 (front left), 17 (front right). The
wheel's own mass is outside of the wheel sensors of the contract, so m9, m12, m16 and m20 are what
stands between suspension and sensor. Ten of the sixteen equations are used: six of the chassis and
four of the suspensions; steering and spin hold no unknown of their own.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.configuration.reading import read
from veh_identification.errors import ModelError
from veh_identification.multibody.columns import aerodynamic
from veh_identification.multibody.dynamics import ExternalWrench, external_rows
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.mdh import parse_mdh
from veh_identification.multibody.motion import Motion, fixed_base_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import Frame
from veh_identification.runtime.share import share_directory
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.model import Entry
from veh_identification.systems.car.model_2002.attitude import euler_accelerations, euler_rates
from veh_identification.systems.car.parameters import CORNERS, OPPOSITE
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array

EQUATIONS_2002 = ('x', 'y', 'z', 'psi', 'phi', 'theta', *(f'suspension_{c}' for c in CORNERS))
JOINT_NUMBER = {'rl': 7, 'rr': 10, 'fl': 13, 'fr': 17}
WHEEL_NUMBER = {'rl': 9, 'rr': 12, 'fl': 16, 'fr': 20}
_CHASSIS = {
    'm6': 'M',
    'mx6': 'MSx',
    'my6': 'MSy',
    'mz6': 'MSz',
    'xx6': 'Jxx',
    'xy6': 'Jxy',
    'xz6': 'Jxz',
    'yy6': 'Jyy',
    'yz6': 'Jyz',
    'zz6': 'Jzz',
}


class LagrangeCar:
    """Signals of the ten equations in the form that `gather` and `CarProblem` take."""

    def __init__(self, configuration: CarDescription, anti_roll: bool = True) -> None:
        self.configuration, self.anti_roll = configuration, anti_roll
        path = share_directory() / 'config' / 'models' / 'car_2002.yaml'
        table = read(path).mapping
        geometry = configuration.geometry
        fl, fr, rl, rr = geometry.half_track
        table['constants'] = {
            'D1': fl,
            'D2': fr,
            'D3': rl,
            'D4': rr,
            'B13': geometry.wheelbase,
            'B17': geometry.wheelbase,
        }
        self.tree = parse_mdh(table, str(path))
        bodies = {name: f'chassis.{entry}' for name, entry in _CHASSIS.items()}
        bodies |= {f'm{WHEEL_NUMBER[c]}': f'wheel_{c}.M' for c in CORNERS}
        # z of the chassis frame points forward: component 2 is the drag.
        self._regressor = Regressor(
            self.tree, extras=[aerodynamic('chassis', 2, 'Cx')], enabled=[*bodies.values(), 'Cx']
        )
        springs = [
            f'{kind}{JOINT_NUMBER[c]}' for c in CORNERS for kind in ('ks', 'h', 'fs', 'off')
        ]
        bars = ('karf', 'karr') if anti_roll else ()
        self.names = (*bodies, 'Cx', *springs, *bars)
        self._rows = [self.tree.coordinate_names.index(name) for name in EQUATIONS_2002]
        self._columns = [self._regressor.columns.index(name) for name in (*bodies.values(), 'Cx')]
        pose = body_motion(self.tree, fixed_base_motion(*(np.zeros((1, self.tree.dof)),) * 3))
        self._frames = {}
        for corner in CORNERS:
            body = self.tree.body_index(f'hub_{corner}')
            # The contract's hub axes are those of base_link when the wheel is not steered.
            self._frames[corner] = Frame(body, pose.orientation[0, body].T, np.zeros(3))

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Where every signal stands."""
        width = len(self._columns)
        result = [
            Entry(row, column, row * width + column)
            for row in range(10)
            for column in range(width)
        ]
        start = 10 * width
        for j, corner in enumerate(CORNERS):
            number = JOINT_NUMBER[corner]
            for i, kind in enumerate(('ks', 'h', 'fs')):
                result.append(Entry(6 + j, self.names.index(f'{kind}{number}'), start + 4 * j + i))
            result.append(Entry(6 + j, self.names.index(f'off{number}'), start + 16))
            if self.anti_roll:
                bar = 'karf' if corner.startswith('f') else 'karr'
                result.append(Entry(6 + j, self.names.index(bar), start + 4 * j + 3))
        return tuple(result)

    @property
    def signal_count(self) -> int:
        """Columns of `signals`."""
        return 10 * len(self._columns) + 17 + 10

    def signals(self, samples: CarSamples) -> Array:
        """Matrix (N, signal_count) of all signals of the equations."""
        motion = self.motion(samples)
        width = len(self._columns)
        out = np.empty((len(samples), self.signal_count))
        for rows, W in self._regressor.blocks(motion, 512):
            chosen = W[:, self._rows][:, :, self._columns]
            out[rows, : 10 * width] = chosen.reshape(len(W), -1)
        start, travel = 10 * width, samples.joints['suspension']
        for j, corner in enumerate(CORNERS):
            out[:, start + 4 * j] = travel.position[:, j]
            out[:, start + 4 * j + 1] = travel.velocity[:, j]
            out[:, start + 4 * j + 2] = samples.friction_sign[:, j]
            other = CORNERS.index(OPPOSITE[corner])
            out[:, start + 4 * j + 3] = travel.position[:, j] - travel.position[:, other]
        out[:, start + 16] = 1.0
        wrenches = [
            ExternalWrench(self._frames[corner], samples.wrench[:, j])
            for j, corner in enumerate(CORNERS)
        ]
        out[:, -10:] = external_rows(self.tree, motion, wrenches)[:, self._rows]  # (4), (5)
        return out

    def motion(self, samples: CarSamples) -> Motion:
        """The sixteen joint coordinates with their derivatives."""
        if samples.attitude is None:
            raise ModelError('the Lagrange model of 2002 needs the attitude of the chassis')
        names = self.tree.coordinate_names
        q, qd, qdd = (np.zeros((len(samples), self.tree.dof)) for _ in range(3))
        rotation = Rotation.from_euler('ZYX', samples.attitude)
        gravity = np.array([0.0, 0.0, -self.configuration.gravity])
        acceleration = rotation.apply(samples.specific_force) + gravity
        for axis, name in enumerate('xyz'):
            qdd[:, names.index(name)] = acceleration[:, axis]
        rates = euler_rates(samples.attitude, samples.angular_velocity)
        second = euler_accelerations(
            samples.attitude, rates, samples.angular_velocity, samples.angular_acceleration
        )
        for axis, name in enumerate(('psi', 'phi', 'theta')):
            place = names.index(name)
            q[:, place], qd[:, place] = samples.attitude[:, axis], rates[:, axis]
            qdd[:, place] = second[:, axis]
        for kind in ('suspension', 'steering'):
            joint = samples.joints[kind]
            for j, corner in enumerate(CORNERS):
                if f'{kind}_{corner}' in names:
                    place = names.index(f'{kind}_{corner}')
                    q[:, place], qd[:, place] = joint.position[:, j], joint.velocity[:, j]
                    qdd[:, place] = joint.acceleration[:, j]
        return fixed_base_motion(q, qd, qdd, gravity, samples.air_speed_squared)
