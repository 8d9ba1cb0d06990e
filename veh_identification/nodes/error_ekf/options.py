"""Parameters of the node `error_ekf`."""

from __future__ import annotations

from dataclasses import dataclass, field

from veh_identification.runtime.parameters import parameter


@dataclass(frozen=True)
class TopicOptions:
    """Topics to read; an empty name switches a sensor off."""

    imu: str = parameter('imu/data', 'sensor_msgs/Imu: rates and specific force')
    fix: str = parameter('gps/fix', 'sensor_msgs/NavSatFix')
    velocity: str = parameter('gps/vel', 'geometry_msgs/TwistStamped: east and north')
    joints: str = parameter(
        'joint_states',
        'sensor_msgs/JointState: wheels, steering, drive torque; or the joints of a mechanism',
    )
    pressure: str = parameter('brake/pressure', 'sensor_msgs/FluidPressure')


@dataclass(frozen=True)
class TimeoutOptions:
    """Silence after which a sensor counts as lost and the model goes on without it."""

    imu: float = parameter(0.2, 'silence of the IMU', unit='s', minimum=0.0)
    fix: float = parameter(1.0, 'silence of the satellite position', unit='s', minimum=0.0)
    velocity: float = parameter(1.0, 'silence of the satellite velocity', unit='s', minimum=0.0)
    joints: float = parameter(0.5, 'silence of wheels or crank', unit='s', minimum=0.0)
    inputs: float = parameter(
        0.5,
        'silence of torque, brake or steering: the force is estimated instead',
        unit='s',
        minimum=0.0,
    )


@dataclass(frozen=True)
class ErrorEkfOptions:
    """Parameters of the node."""

    system: str = parameter(
        'vehicle',
        'what is observed (buggy: the same as vehicle)',
        choices=('vehicle', 'buggy', 'four-bar', 'mechanism'),
    )
    model: str = parameter(
        '',
        'YAML of the vehicle or mechanism: a file, or a name in config/; empty: the packaged one '
        '(a mechanism has none)',
        path=True,
    )
    topics: TopicOptions = field(default_factory=TopicOptions)
    timeout: TimeoutOptions = field(default_factory=TimeoutOptions)
    lag: float = parameter(
        0.01,
        'how long samples wait for each other; it delays every estimate',
        unit='s',
        minimum=0.0,
        maximum=10.0,
    )
    window: float = parameter(
        0.5,
        'how old a sample may be on arrival; beyond the lag the observer goes back in time '
        'for it, older ones are counted as late',
        unit='s',
        minimum=0.0,
        maximum=10.0,
    )
    settle: float = parameter(
        0.3, 'data that is looked at before the start', unit='s', minimum=0.0, maximum=60.0
    )
    bridge: float = parameter(
        10.0,
        'longest silence of all sensors that the model bridges; a longer one, or a clock '
        'that jumps, starts the observer anew',
        unit='s',
        minimum=0.0,
        maximum=600.0,
    )
    odometry_every: int = parameter(
        1,
        'steps of the observer between two odometry messages',
        minimum=1,
        maximum=1000,
        read_only=False,
    )
    slow_every: int = parameter(
        5,
        'steps between two messages of tf, joints and virtual sensors',
        minimum=1,
        maximum=1000,
        read_only=False,
    )
    publish_tf: bool = parameter(True, 'publish the base link in the world on /tf')
    world_frame: str = parameter('odom', 'frame of the pose')
    base_frame: str = parameter('base_link', 'frame of the vehicle')
    reliable_sensors: bool = parameter(False, 'subscribe reliably instead of best effort')
    file: str = parameter('', '.npz of ~/save and ~/load', path=True)
