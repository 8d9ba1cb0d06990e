"""Options of the sensor fusion; the node declares each as a parameter of the same name."""

from __future__ import annotations

from dataclasses import dataclass, field

from veh_identification.fusion.sensor_options import (
    GnssOptions,
    GnssVelocityOptions,
    ImuOptions,
    JointOptions,
    MocapOptions,
    NonholonomicOptions,
    OdometryOptions,
    SpeedOptions,
    WheelOptions,
)
from veh_identification.runtime.parameters import parameter


@dataclass(frozen=True)
class FilterOptions:
    """Smoothing and differentiation; one window for all signals, so that they stay in phase."""

    cutoff: float = parameter(
        20.0,
        'Frequency at which accelerations have fallen to 1/sqrt(2)',
        unit='Hz',
        minimum=0.05,
        maximum=2000.0,
    )
    order: int = parameter(4, 'Order of the local polynomial', minimum=2, maximum=6)
    delay: float = parameter(
        0.0,
        'Half window = latency of the outputs; 0 takes what cutoff and order give',
        unit='s',
        minimum=0.0,
        maximum=10.0,
    )
    wrenches: bool = parameter(
        True, 'Smooth wrenches like the positions; false interpolates the raw samples'
    )
    channels: bool = parameter(True, 'The same for scalar channels')


@dataclass(frozen=True)
class MergeParameters:
    """Time alignment."""

    max_wait: float = parameter(
        0.05,
        'How much later than the newest sample another may arrive (plus its delay)',
        unit='s',
        minimum=0.0,
        maximum=10.0,
    )
    in_order: bool = parameter(
        False,
        'Every topic arrives in the order of its stamps: do not wait once all have delivered',
    )
    max_step: float = parameter(
        2.0,
        'A stamp further than this from the others is set aside',
        unit='s',
        minimum=0.05,
        maximum=3600.0,
    )
    max_pause: float = parameter(
        60.0,
        'A longer step forward counts as a clock jump, not as a pause',
        unit='s',
        minimum=0.05,
        maximum=1e6,
    )
    confirm: float = parameter(
        2.0,
        'How long (in its own stamps) a new time must last before it is taken',
        unit='s',
        minimum=0.0,
        maximum=60.0,
    )


@dataclass(frozen=True)
class FusionOptions:
    """Everything."""

    rate: float = parameter(100.0, 'Rate of fused/state', unit='Hz', minimum=0.01, maximum=5000.0)
    world_frame: str = parameter(
        '',
        'World-fixed frame of the pose; empty: the frame_id of the captured poses (mocap), or '
        'odom where there is no motion capture',
    )
    odom_frame: str = parameter(
        '',
        'Continuous frame between world_frame (then to be called map) and base_frame, REP-105: '
        'odometry/continuous and the transforms world_frame -> odom_frame -> base_frame; empty: '
        'none',
    )
    base_frame: str = parameter('base_link', 'Frame of the base link')
    gravity: float = parameter(
        9.80665, 'Gravity along -z of the world', unit='m/s^2', minimum=0.0, maximum=30.0
    )
    max_position_sigma: float = parameter(
        10.0,
        'The pose is invalid when its horizontal standard deviation is larger',
        unit='m',
        minimum=1e-3,
        maximum=1e6,
    )
    max_speed: float = parameter(
        150.0,
        'Speed beyond which a sample is invalid and an estimate is given up',
        unit='m/s',
        minimum=0.1,
        maximum=1e4,
    )
    recover_after: int = parameter(
        20,
        'Rejections in a row after which the filter gives in to a sensor',
        minimum=1,
        maximum=100000,
    )
    reliable_sensors: bool = parameter(
        False, 'Subscribe to sensors reliably instead of best effort'
    )
    publish_tf: bool = parameter(
        False, 'Publish world_frame -> base_frame (over odom_frame) on /tf'
    )
    publish_odometry: bool = parameter(False, 'Publish odometry/fused (nav_msgs/Odometry)')
    wrench_sensors: list[str] = parameter([''], 'Names of force plates and 6-axis sensors')
    find_wrenches: bool = parameter(
        False,
        'Without wrench_sensors: take topics of geometry_msgs/WrenchStamped as they appear, as '
        '`identify humanoid` does: force_plate*/wrench, l_foot/wrench and r_foot/wrench by their '
        'names, where there are none of these all by their frames: force plates stand in the '
        'world (/tf_static), others are sensors on moving links',
    )
    range_sensors: list[str] = parameter([''], 'Names of ride height sensors')
    pressure_sensors: list[str] = parameter([''], 'Names of pressure sensors')
    merge: MergeParameters = field(default_factory=MergeParameters)
    filter: FilterOptions = field(default_factory=FilterOptions)
    imu: ImuOptions = field(default_factory=ImuOptions)
    gnss: GnssOptions = field(default_factory=GnssOptions)
    gnss_velocity: GnssVelocityOptions = field(default_factory=GnssVelocityOptions)
    odometry: OdometryOptions = field(default_factory=OdometryOptions)
    speed: SpeedOptions = field(default_factory=SpeedOptions)
    wheels: WheelOptions = field(default_factory=WheelOptions)
    nonholonomic: NonholonomicOptions = field(default_factory=NonholonomicOptions)
    mocap: MocapOptions = field(default_factory=MocapOptions)
    joints: JointOptions = field(default_factory=JointOptions)
