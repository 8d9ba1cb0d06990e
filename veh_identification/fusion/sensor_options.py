"""Options of each sensor; the node declares each as a parameter of the same name."""

from __future__ import annotations

from dataclasses import dataclass

from veh_identification.runtime.parameters import parameter

ZERO = [0.0, 0.0, 0.0]
IMU_AXES = ('wx', 'wy', 'wz', 'ax', 'ay', 'az')
TWIST, TWIST_WITH_COVARIANCE = 'TwistStamped', 'TwistWithCovarianceStamped'
MOUNTS = ('auto', 'parameters', 'tf')


def _topic(default: str, what: str) -> str:
    return parameter(default, f'Topic of {what}; empty switches it off')


def _delay() -> float:
    return parameter(
        0.0,
        'How late the header stamps are: taken off each stamp',
        unit='s',
        minimum=-1.0,
        maximum=5.0,
    )


def _timeout(default: float) -> float:
    return parameter(
        default,
        'Silence (in stamps of the others) after which it no longer counts',
        unit='s',
        minimum=0.001,
        maximum=600.0,
    )


def _position(what: str) -> list[float]:
    return parameter(list(ZERO), f'Position of {what} in base-link axes', unit='m')


def _rpy() -> list[float]:
    return parameter(list(ZERO), 'Mounting: fixed-axis roll, pitch, yaw', unit='rad')


def _mount() -> str:
    return parameter(
        'auto',
        'Where the pose comes from: parameters, tf (/tf_static), or auto: parameters when any is '
        'not zero, else /tf_static when it knows the frame, else the base link itself',
        choices=MOUNTS,
    )


def _std(default: float, what: str, unit: str) -> float:
    return parameter(
        default, f'Standard deviation of {what}', unit=unit, minimum=1e-9, maximum=1e6
    )


def _uncertain(default: float, what: str, unit: str = '') -> float:
    return parameter(
        default,
        f'Standard deviation of what is not known about {what}: it is estimated; 0 takes it as '
        'given',
        unit=unit,
        minimum=0.0,
        maximum=1.0,
    )


def _message(default: str, *others: str) -> str:
    return parameter(default, 'Type of its messages', choices=(default, *others))


def _gate() -> float:
    return parameter(
        0.999,
        'Probability that a good sample passes the chi-square gate; 1 switches it off',
        minimum=0.5,
        maximum=1.0,
    )


@dataclass(frozen=True)
class ImuOptions:
    """Inertial measurement unit."""

    topic: str = _topic('imu/data', 'the IMU (sensor_msgs/Imu)')
    delay: float = _delay()
    timeout: float = _timeout(0.25)
    position: list[float] = _position('the IMU')
    orientation_rpy: list[float] = _rpy()
    mount: str = _mount()
    mounting_std: float = _uncertain(
        0.012, 'its mounting (yaw by the accelerations; roll and pitch count as unknown)', 'rad'
    )
    gravity: str = parameter(
        'auto',
        'Whether linear_acceleration contains gravity (REP-145) or had it removed',
        choices=('auto', 'present', 'removed'),
    )
    axes: list[str] = parameter(
        list(IMU_AXES),
        'What it measures: rates wx wy wz and accelerations ax ay az; the others are taken as '
        'unknown (a single-axis sensor; their fields may hold anything)',
        choices=IMU_AXES,
    )
    use_orientation: bool = parameter(False, 'Use the orientation field (heading included)')
    orientation_std: float = _std(0.05, 'the orientation field', 'rad')
    yaw_offset: float = parameter(
        0.0,
        'Added to the heading of the orientation field (east is zero)',
        unit='rad',
        minimum=-6.3,
        maximum=6.3,
    )
    start_time: float = parameter(
        0.5, 'Samples of this span give the first attitude', unit='s', minimum=0.0, maximum=60.0
    )
    gyro_noise: float = _std(0.003, 'the gyroscope, per square root of Hz', 'rad/s')
    accel_noise: float = _std(0.1, 'the accelerometer, per square root of Hz', 'm/s^2')
    gyro_walk: float = _std(1e-4, 'the gyroscope bias walk', 'rad/s^2')
    accel_walk: float = _std(1e-3, 'the accelerometer bias walk', 'm/s^3')
    gyro_bias: float = _std(0.02, 'the gyroscope bias at start', 'rad/s')
    accel_bias: float = _std(0.2, 'the accelerometer bias at start', 'm/s^2')
    level_std: float = _std(0.5, 'the acceleration when gravity levels the attitude', 'm/s^2')
    max_rate: float = parameter(
        60.0,
        'Angular velocity beyond which a sample is invalid',
        unit='rad/s',
        minimum=0.1,
        maximum=1e4,
    )
    max_acceleration: float = parameter(
        500.0,
        'Specific force beyond which a sample is invalid',
        unit='m/s^2',
        minimum=1.0,
        maximum=1e6,
    )

    @property
    def measured(self) -> tuple[bool, ...]:
        """Whether each of rate x y z and acceleration x y z is measured."""
        return tuple(axis in self.axes for axis in IMU_AXES)


@dataclass(frozen=True)
class GnssOptions:
    """Satellite position."""

    topic: str = _topic('', 'the receiver (sensor_msgs/NavSatFix)')
    delay: float = _delay()
    timeout: float = _timeout(3.0)
    position: list[float] = _position('the antenna')
    mount: str = _mount()
    position_std: float = _uncertain(
        0.025, 'its place (y by how it swings in turns; x and z count as unknown)', 'm'
    )
    gate: float = _gate()
    std: float = _std(2.0, 'east and north when the message does not know it', 'm')
    std_up: float = _std(5.0, 'the height when the message does not know it', 'm')
    std_scale: float = parameter(
        1.0, 'Factor on the standard deviations of the message', minimum=0.01, maximum=100.0
    )
    delay_std: float = _uncertain(
        0.0, 'its delay (the velocity tells the difference; what both share only an IMU can)', 's'
    )
    use_altitude: bool = parameter(True, 'Use the height')
    fixed_datum: bool = parameter(False, 'Use `datum`; otherwise the first valid fix')
    datum: list[float] = parameter(list(ZERO), 'Latitude, longitude [deg], altitude [m]')
    align_distance: float = parameter(
        5.0,
        'Way after which the heading is found by comparing tracks',
        unit='m',
        minimum=0.5,
        maximum=1000.0,
    )
    course_speed: float = parameter(
        1.0,
        'Speed above which the course over ground gives the first heading',
        unit='m/s',
        minimum=0.1,
        maximum=100.0,
    )
    heading_given: bool = parameter(False, 'Take `heading` as the first heading')
    heading: float = parameter(
        0.0, 'First heading, counted from east to north', unit='rad', minimum=-6.3, maximum=6.3
    )


@dataclass(frozen=True)
class GnssVelocityOptions:
    """Satellite velocity in east-north-up axes; the antenna is that of `gnss`."""

    topic: str = _topic('', 'the velocity (geometry_msgs/TwistStamped, east north up)')
    message: str = _message(TWIST, TWIST_WITH_COVARIANCE)
    delay: float = _delay()
    delay_std: float = _uncertain(0.05, 'its delay against that of the fixes', 's')
    timeout: float = _timeout(3.0)
    gate: float = _gate()
    std: float = _std(0.1, 'each axis', 'm/s')
    use_vertical: bool = parameter(False, 'Use the vertical velocity')


@dataclass(frozen=True)
class OdometryOptions:
    """Wheel odometry: its twist is a velocity source, its pose is not used."""

    topic: str = _topic('', 'the wheel odometry (nav_msgs/Odometry)')
    message: str = _message('Odometry', TWIST, TWIST_WITH_COVARIANCE)
    delay: float = _delay()
    timeout: float = _timeout(1.0)
    position: list[float] = _position('the point whose velocity it gives')
    axes: str = parameter('xy', 'Axes of the twist to use', choices=('x', 'xy', 'xyz'))
    gate: float = _gate()
    std: float = _std(0.1, 'each axis', 'm/s')
    standstill: bool = parameter(True, 'Learn the gyroscope bias while the wheels stand still')


@dataclass(frozen=True)
class SpeedOptions:
    """Optical speed sensor, velocity of its own position in base-link axes."""

    topic: str = _topic('', 'the optical speed sensor (geometry_msgs/TwistStamped)')
    message: str = _message(TWIST, TWIST_WITH_COVARIANCE)
    delay: float = _delay()
    timeout: float = _timeout(0.5)
    position: list[float] = _position('the measured point')
    frame: str = parameter(
        'correvit_link',
        'Frame of the measured point: while `position` is zero and /tf_static knows the frame, it '
        'tells the position (the axes are those of the base link in any case)',
    )
    axes: str = parameter('xy', 'Axes to use', choices=('x', 'xy', 'xyz'))
    gate: float = _gate()
    std: float = _std(0.05, 'each axis', 'm/s')


def _joints(what: str) -> list[str]:
    return parameter([''], f'Joints of {what} in `joints.topic`, left then right')


@dataclass(frozen=True)
class WheelOptions:
    """Wheels of a car, as joints of `joints.topic` (angles, or rates where there are none)."""

    rear: list[str] = _joints('the rear wheels (beside the base link)')
    front: list[str] = _joints('the front wheels')
    front_steering: list[str] = _joints('the front steering (one for both, or one each)')
    rear_steering: list[str] = _joints('the rear steering')
    radius: float = parameter(
        0.3, 'Rolling radius (a common error is estimated)', unit='m', minimum=0.01, maximum=5.0
    )
    track: float = parameter(
        1.5, 'Distance of left and right wheels', unit='m', minimum=0.0, maximum=10.0
    )
    wheelbase: float = parameter(
        2.7, 'Distance of front and rear axle', unit='m', minimum=0.0, maximum=30.0
    )
    steering_ratio: float = parameter(
        1.0,
        'Turn of the steering joints over the angle of the wheels (a steering wheel: about 15)',
        minimum=0.01,
        maximum=100.0,
    )
    timeout: float = _timeout(0.5)
    gate: float = _gate()
    std: float = _std(0.03, 'the speed', 'm/s')
    std_share: float = parameter(
        0.005, 'Further standard deviation as a share of the speed', minimum=0.0, maximum=1.0
    )
    scale_std: float = _uncertain(0.03, 'the radius (share of it; of the odometry as well)')
    slip_std: float = _uncertain(0.003, 'the slip a m/s^2')
    delay_std: float = _uncertain(0.02, 'their delay', 's')
    standstill: bool = parameter(True, 'Learn the gyroscope bias while the wheels stand still')

    def names(self) -> list[str]:
        """All wheels that are given."""
        return [name for name in (*self.rear, *self.front) if name]


@dataclass(frozen=True)
class NonholonomicOptions:
    """A ground vehicle does not slide sideways or lift off."""

    axes: str = parameter(
        'none', 'Base-link velocities that are zero on average', choices=('none', 'z', 'yz')
    )
    std: float = _std(0.2, 'those velocities', 'm/s')
    slip_std: float = _uncertain(
        0.005, 'the slip angle that a m/s^2 of lateral acceleration takes', 'rad'
    )
    position: list[float] = _position('the point that does not slide')


@dataclass(frozen=True)
class MocapOptions:
    """Motion capture: pose of the base link in the world."""

    topic: str = _topic('', 'the base pose (geometry_msgs/PoseStamped)')
    delay: float = _delay()
    timeout: float = _timeout(0.2)
    position: list[float] = _position('the captured body')
    orientation_rpy: list[float] = _rpy()
    gate: float = _gate()
    std: float = _std(0.002, 'the position', 'm')
    orientation_std: float = _std(0.01, 'the orientation', 'rad')
    max_distance: float = parameter(
        1000.0,
        'Distance from the origin beyond which a pose is invalid',
        unit='m',
        minimum=0.1,
        maximum=1e6,
    )
    max_speed: float = parameter(
        20.0,
        'Speed beyond which a pose is a jump and not used',
        unit='m/s',
        minimum=0.1,
        maximum=1e4,
    )


@dataclass(frozen=True)
class JointOptions:
    """Encoders."""

    topic: str = _topic('joint_states', 'the encoders (sensor_msgs/JointState)')
    delay: float = _delay()
    timeout: float = _timeout(0.25)
    names: list[str] = parameter([''], 'Joints to use, in this order; empty: all, sorted')
    use_velocity: bool = parameter(False, 'Use measured velocities where the messages hold them')
    unwrap: list[str] = parameter([''], 'Joints whose position jumps by full turns')


@dataclass(frozen=True)
class WrenchOptions:
    """A force plate or 6-axis sensor."""

    topic: str = _topic('', 'the wrench (geometry_msgs/WrenchStamped)')
    delay: float = _delay()
    timeout: float = _timeout(0.25)
    attached: str = parameter(
        'world',
        'What the sensor is fixed to: world (force plate), base (base link), or link (a moving '
        'link: the wrench is passed on in the axes and at the origin of the sensor frame)',
        choices=('world', 'base', 'link'),
    )
    position: list[float] = parameter(list(ZERO), 'Its origin in what it is fixed to', unit='m')
    orientation_rpy: list[float] = _rpy()
    mount: str = _mount()


@dataclass(frozen=True)
class ChannelOptions:
    """A scalar sensor: ride height (sensor_msgs/Range) or pressure (sensor_msgs/FluidPressure)."""

    topic: str = _topic('', 'the sensor')
    delay: float = _delay()
    timeout: float = _timeout(0.5)
