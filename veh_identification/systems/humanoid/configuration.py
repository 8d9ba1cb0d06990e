"""Configuration of the humanoid identification: everything has a default, see humanoid.yaml."""

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
    ANGLE,
    LENGTH,
    MASS,
    NUMBER,
    Choice,
    Cutoff,
    Delay,
    Flag,
    GridRate,
    Number,
    Quantity,
    Text,
    Topic,
)
from veh_identification.configuration.reading import read_all
from veh_identification.types import Array

EstimatorName = Literal['prior', 'weighted', 'robust', 'gauss-markov', 'ordinary']
#: Share by which a usual scale is off.
USUAL_SCALE = 0.005
Percent = Annotated[float, Quantity(NUMBER, positive=True, maximum=1e4)]
Weighed = Annotated[float, Quantity(MASS, 0.0, 1e5)]
#: From the moon to Jupiter.
Gravity = Annotated[float, Quantity(ACCELERATION, 1.5, 26.0)]
Floor = Annotated[float, Quantity(LENGTH, -1e4, 1e4)]
Rest = Annotated[float, Quantity(ANGLE, positive=True, maximum=3.0)]
Share = Annotated[float, Quantity(NUMBER, positive=True, maximum=10.0)]


@dataclass(frozen=True, eq=False)
class Pose:
    """A frame in its parent."""

    position: Array
    rotation: Array


@dataclass(frozen=True)
class Sensor(Model):
    """A 6-axis sensor: its link, and the links beyond it if not simply the link's subtree."""

    schema_changes: ClassVar[Mapping[str, Any]] = {'type': ['object', 'string']}
    frame: Text = entry('', 'link whose frame it measures in; empty: the frame_id')
    beyond: tuple[Text, ...] = entry((), 'links beyond it; empty: all that hang on that link')

    @classmethod
    def prepared(cls, data: Any) -> Any:
        """A mere text is the frame."""
        return {'frame': data} if isinstance(data, str) else data


@dataclass(frozen=True)
class Configuration(Model):
    """Options of `identify humanoid`; times in seconds, frequencies in Hz."""

    gravity: Gravity = entry(9.80665, 'along -z of the world')
    joint_states: Topic = entry('joint_states', 'topic of the joint positions')
    base_pose: Topic = entry('base/pose', "topic of the base link's pose (motion capture)")
    imu: Topic = entry('imu/data', 'topic of an IMU on the base link')
    base: Annotated[str, Choice(('auto', 'pose', 'imu'))] = entry(
        'auto',
        "what gives the base link's motion: pose, imu (angular velocity and specific force; with "
        'plates also leg odometry), or auto: the pose if there is one',
    )
    feet: tuple[Topic, ...] = entry(
        (), 'links at the soles, for leg odometry; empty: by their usual names'
    )
    ground: Floor = entry(0.0, 'height of the floor in the world, for leg odometry')
    world_frame: Topic = entry('', "frame of the plates' poses; empty: the frame_id of base_pose")
    contacts: Annotated[str, Choice(('auto', 'plates', 'sensors', 'both'))] = entry(
        'auto',
        'which wrenches make up the total: auto (plates if the recording holds any, else sensors '
        'on the robot), plates, sensors, or both (plates under the feet and sensors elsewhere)',
    )
    plates: Mapping[Text, Mounting] = entry(
        {},
        "pose of a force plate's frame in the world, by topic without /wrench or by frame_id; it "
        'wins over /tf_static',
    )
    sensors: Mapping[Topic, Sensor] = entry({}, 'sensors on the robot by topic')
    delays: Mapping[Topic, Delay] = entry(
        {}, 'by topic: the value stamped t was true at t - delay'
    )
    estimate_delays: Flag = entry(
        True, 'clear delays of base and joints against the wrenches are taken off'
    )
    cutoff_hz: Cutoff = entry(
        0.0, 'of the equations; 0 chooses the one of the smallest expected error'
    )
    momentum: Flag = entry(
        True,
        'rows from the balance of momentum where the base has a pose: no accelerations, filtered '
        'once, after all products',
    )
    rate_hz: GridRate = entry(
        0.0, 'of the common grid; 0: the faster of joints and base, at most 500'
    )
    estimator: EstimatorName = entry(
        'prior',
        'prior: CAD values weigh as much as the recording says they deserve; data only: weighted, '
        'robust (rows that do not fit count for less), gauss-markov (equations share noise), '
        'ordinary (all equations weigh alike)',
    )
    loss: Literal['huber', 'tukey'] = entry('huber', 'of the estimator robust')
    essential: Flag = entry(
        False,
        'remove, step by step, parameters that cannot be told from zero; not with the estimator '
        'prior',
    )
    sigma: tuple[Number, ...] = entry(
        (), 'noise of FX FY FZ NX NY NZ for the weights; empty: estimated'
    )
    prior_percent: Percent = entry(
        40.0, 'deviation of the CAD values before the recording judges them'
    )
    weighed_mass: Weighed = entry(
        0.0,
        'of the whole robot by a scale: tells a wrong gain of all wrench sensors from wrong '
        'masses in the URDF; 0: it was not weighed',
    )
    weighed_sigma: Weighed = entry(0.0, 'deviation of weighed_mass; 0: half a per cent of it')
    anthropometry: Annotated[str, Choice(('none', 'de-leva-male', 'de-leva-female', 'winter'))] = (
        entry(
            'none',
            'for people: masses of links by a published table instead of those of the URDF, '
            'scaled to the weight; links are told by their names',
        )
    )
    wrench_offset: Annotated[str, Choice(('auto', 'on', 'off'))] = entry(
        'auto', 'small offsets of the wrench sensors as unknowns; auto: unless implausible'
    )
    tare: Flag = entry(True, 'offsets of plates, read off while nobody stands on them')
    plate_pose: Flag = entry(False, "small errors of the plates' poses as unknowns")
    joint_errors: Flag = entry(
        False,
        'zero and gain of every joint angle as unknowns, for people on force plates: wrenches are '
        'predicted better; the parameters belong to the corrected angles then',
    )
    locked_joints: Mapping[Topic, Number] = entry({}, 'joints to hold still, with their positions')
    lock_below: Rest = entry(0.01, 'travel below which a joint counts as resting (m: a tenth)')
    exclude_support: Flag = entry(
        True, 'leave out samples at which the sensors do not carry the whole robot'
    )
    support_tolerance: Share = entry(
        0.2, 'share of the weight by which the vertical force may miss the model'
    )
    exclude_impacts: Flag = entry(True, 'leave out samples around impacts')
    check_frames: Flag = entry(True, 'refuse turned frames, flipped signs and swapped sensors')

    def __post_init__(self) -> None:
        if self.sigma and len(self.sigma) != 6:
            raise ValueError(
                f'sigma needs six numbers (FX FY FZ NX NY NZ), found {len(self.sigma)}'
            )
        if self.joint_errors and self.estimator != 'prior':
            raise ValueError(
                'errors of joint angles cannot be told from masses by data alone: joint_errors '
                'needs the estimator prior'
            )
        if self.essential and self.estimator == 'prior':
            raise ValueError(
                'essential parameters are found by data alone: essential needs another estimator '
                'than prior (weighted, robust ...)'
            )

    @property
    def weighed(self) -> tuple[float, float] | None:
        """Mass by a scale with its deviation, where somebody weighed."""
        if not self.weighed_mass > 0.0:
            return None
        return self.weighed_mass, self.weighed_sigma or USUAL_SCALE * self.weighed_mass

    def plate(self, name: str) -> Pose | None:
        """Pose of a plate in the world, by topic or frame, where the configuration gives it."""
        given = self.plates.get(name)
        return None if given is None else Pose(np.array(given.position), given.matrix)


def load_configuration(path: str | Path | None, **overrides: Any) -> Configuration:
    """From a YAML file (or defaults); keyword arguments win over the file."""
    document = Document.of({}, 'the options') if path is None else read_all(path)
    document = document.unwrapped({'humanoid'})
    return validate(Configuration, document.changed(overrides, 'the options'))
