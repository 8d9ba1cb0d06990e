"""Configuration of `identify robot`: everything has a default, see config/robot.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from veh_identification.configuration.document import Document
from veh_identification.configuration.models import Model, entry, validate
from veh_identification.configuration.poses import Mounting
from veh_identification.configuration.quantities import (
    ACCELERATION,
    NUMBER,
    Components,
    Cutoff,
    Delay,
    Flag,
    GridRate,
    NotNegativeNumber,
    Number,
    Position,
    PositiveAngle,
    PositiveMass,
    PositiveNumber,
    Quantity,
    Text,
    Topic,
)
from veh_identification.configuration.reading import read_all
from veh_identification.multibody.inertia import from_centre_of_mass
from veh_identification.types import Array

EstimatorName = Literal[
    'instrumental-variable', 'consistent', 'weighted', 'ordinary', 'gauss-markov', 'robust'
]
Gravity = Annotated[
    tuple[float, float, float], Components(Quantity(ACCELERATION), ('x', 'y', 'z'))
]
_SIX = ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')
Tensor = Annotated[
    tuple[float, float, float, float, float, float],
    Components(Quantity(NUMBER), _SIX, zeros=True),
]


@dataclass(frozen=True)
class Payload(Model):
    """A load in one recording: to be found, or known (then it gives the drives' gains)."""

    recording: Text = entry(description='folder of the recording that carries it')
    link: Text = entry('', 'link that it is fixed to; empty: the last one of the longest chain')
    mass: PositiveMass | None = entry(None, 'left out: mass, centre and inertia are estimated')
    centre: Position | None = entry(
        None, 'of a known load, in the frame of the link; left out: only its mass is known'
    )
    inertia: Tensor = entry(
        (0.0,) * 6, 'of a known load about its centre: xx xy xz yy yz zz, kg m^2'
    )

    @property
    def known(self) -> Array:
        """The ten parameters at the link's origin; nan: not known."""
        if self.mass is None:
            return np.full(10, np.nan)
        if self.centre is None:
            return np.array([self.mass, *[np.nan] * 9])
        xx, xy, xz, yy, yz, zz = self.inertia
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return from_centre_of_mass(self.mass, np.array(self.centre), tensor)


@dataclass(frozen=True)
class Coupling(Model):
    """Two joints whose motors are coupled, as in many wrists: the second turns with the first."""

    first: Text = entry(description='joint that carries the other')
    second: Text = entry(description='joint whose motor turns with both')
    ratio: Number = entry(1.0, 'speed of that motor: ratio times the first plus the second')


@dataclass(frozen=True)
class Friction(Model):
    """Which terms each joint has."""

    viscous: Flag = entry(True, 'h qd')
    coulomb: Flag = entry(True, 'fs tanh(qd / width)')
    offset: Flag = entry(True, 'a constant; it also holds the asymmetry of the dry friction')
    asymmetric: Flag = entry(False, 'ha |qd|: viscous friction that depends on the direction')
    width: NotNegativeNumber = entry(
        0.0, 'speed over which dry friction changes its sign, rad/s; 0: found from the data'
    )


@dataclass(frozen=True)
class Configuration(Model):
    """Options of `identify robot`; SI units."""

    older_entries: ClassVar[Mapping[str, Any]] = {}
    joint_states: Topic = entry('joint_states', 'topic of positions and efforts')
    gravity: Gravity = entry(
        (0.0, 0.0, -9.80665),
        'in the axes of the root link: a robot on a wall or ceiling has other',
    )
    effort: Literal['torque', 'current'] = entry(
        'torque', 'what effort holds: torque (N m) or current (A)'
    )
    gains: Mapping[Text, PositiveNumber] = entry(
        {},
        'torque for each ampere, at the joint; of joints that are not named it is estimated, '
        'which needs a recording with a known load, or the wrench below the base',
    )
    base_wrench: Literal['auto', 'off'] = entry(
        'auto',
        'equations of sensors below the base beside those of the joints; auto: of every '
        'geometry_msgs/WrenchStamped whose frame is fixed to the root link',
    )
    base_sensors: Mapping[Topic, Mounting] = entry(
        {},
        "pose of such a sensor's frame in the root link, by topic; where any is named, no other "
        'is used',
    )
    motor_inertia: Flag = entry(True, 'of each joint, Ia qdd, where it can be told apart')
    friction: Friction = entry(Friction, 'terms of each joint')
    coupled: tuple[Coupling, ...] = entry((), 'wrists whose motors are coupled')
    locked_joints: Mapping[Text, Number] = entry({}, 'joints to hold still, with their positions')
    without_effort: tuple[Text, ...] = entry(
        (), 'joints whose effort is not to be used (their motion is)'
    )
    lock_below: PositiveAngle = entry(
        0.01, 'travel below which a joint counts as resting (m: a tenth)'
    )
    payloads: tuple[Payload, ...] = entry((), 'loads by recording')
    cutoff_hz: Cutoff = entry(
        0.0, 'of both sides of the equations; 0: from the spectrum of the motion'
    )
    rate_hz: GridRate = entry(0.0, 'of the grid; 0: that of the recording')
    fundamental_hz: Cutoff = entry(
        0.0, 'of a motion that repeats: its periods are averaged; 0: no averaging'
    )
    effort_delay: Delay | None = entry(
        None, 'how much later than the positions the efforts come; left out: estimated'
    )
    estimator: EstimatorName = entry(
        'instrumental-variable',
        'instrumental-variable (what controller and noise add to the motion does not bias), '
        'consistent (the same, with bodies that can exist only); plain least squares: weighted '
        '(by the noise of each joint), ordinary (all alike), gauss-markov (joints share noise), '
        'robust (rows that do not fit count for less)',
    )
    loss: Literal['huber', 'tukey'] = entry('huber', 'of the estimator robust')
    essential: Flag = entry(False, 'remove, step by step, parameters not told from zero')

    def __post_init__(self) -> None:
        if not 1.0 < float(np.linalg.norm(self.gravity)) < 30.0 and any(self.gravity):
            raise ValueError(f'gravity must be an acceleration in m/s^2, found {self.gravity}')
        if self.essential and self.estimator == 'consistent':
            raise ValueError(f'essential parameters do not go with the estimator {self.estimator}')
        names = [one.recording for one in self.payloads]
        if len(set(names)) < len(names):
            raise ValueError('payloads: a recording carries one payload, one is named twice')


def load_configuration(path: str | Path | None, **overrides: Any) -> Configuration:
    """From a YAML file (or defaults); keyword arguments win over the file."""
    document = Document.of({}, 'the options') if path is None else read_all(path)
    document = document.unwrapped({'robot'})
    return validate(Configuration, document.changed(overrides, 'the options'))
