"""Sensors of a car: where they sit, what they distort, how much they err."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from veh_identification.configuration.models import Model, entry, internal
from veh_identification.configuration.poses import Mounting
from veh_identification.configuration.quantities import (
    ACCELERATION,
    ANGULAR_SPEED,
    SPEED,
    Angle,
    Choice,
    NotNegativeAngle,
    NotNegativeFrequency,
    NotNegativeLength,
    NotNegativeNumber,
    NotNegativeTime,
    Number,
    Numbers,
    Position,
    PositiveFrequency,
    PositiveTime,
    Quantity,
    Text,
    Time,
    WholeNumber,
)

PositiveAngularSpeed = Annotated[float, Quantity(ANGULAR_SPEED, positive=True)]


@dataclass(frozen=True)
class Sensor(Mounting):
    """Mounting and dynamics of one sensor (or of four equal ones).

    Its own low-pass (Butterworth) is taken out again with its phase; so is the delay.
    """

    frame: Text = entry(
        '', 'its frame in /tf_static, which gives the pose where nothing else does'
    )
    bandwidth_hz: NotNegativeFrequency = entry(0.0, 'of its own low-pass; 0: no limit')
    order: Annotated[int, WholeNumber(1, 8)] = entry(2, 'of its own low-pass')
    delay: Time = entry(0.0, 'the value was true this long before its stamp')
    noise: Numbers = entry(
        (), 'standard deviation per sample, one or one per group of channels; empty: found'
    )
    offset: Numbers = entry(
        (), 'standard deviation of an unknown constant error, likewise; empty: judged'
    )
    #: Whether a file gives the pose, which then wins over /tf_static.
    pose_given: bool = internal(False)

    @classmethod
    def prepared(cls, data: Any) -> Any:
        """Whether there is a pose."""
        if not isinstance(data, dict):
            return data
        given = any(name in data for name in ('position', 'rpy', 'quaternion'))
        return {**super().prepared(data), 'pose_given': given}


@dataclass(frozen=True)
class Imu(Sensor):
    """The IMU; a bias with a deviation above zero is an error state of the observer."""

    frame: Text = entry('imu_link', 'its frame in /tf_static')
    rate: PositiveFrequency = entry(500.0, 'in simulations')
    accelerometer: Annotated[float, Quantity(ACCELERATION, positive=True)] = entry(
        0.5, 'noise for the observer, engine and road included'
    )
    gyroscope: PositiveAngularSpeed = entry(0.0002, 'noise for the observer')
    gyroscope_bias: Annotated[float, Quantity(ANGULAR_SPEED, 0.0)] = entry(
        0.0, 'how large the biases may be; 0: none are estimated'
    )
    accelerometer_bias: Annotated[float, Quantity(ACCELERATION, 0.0)] = entry(0.0, 'likewise')
    gravity: Annotated[str, Choice(('present', 'removed'))] = entry(
        'present',
        'in its accelerations, as REP-145 has it; removed: they are those of its place, level and '
        'without gravity, as inertial navigation systems give them (not with wheel forces)',
    )


@dataclass(frozen=True)
class SpeedSensor(Sensor):
    """Gives the velocity of its own position in the axes of base_link."""

    frame: Text = entry('correvit_link', 'its frame in /tf_static')


@dataclass(frozen=True)
class RideHeights(Sensor):
    """Heights over the road, each sensor where it is said to sit, else above its wheel's place."""

    fl: Position | None = entry(None, 'place of the front left one in base_link')
    fr: Position | None = entry(None, 'place of the front right one')
    rl: Position | None = entry(None, 'place of the rear left one')
    rr: Position | None = entry(None, 'place of the rear right one')

    @property
    def given(self) -> tuple[tuple[float, float, float] | None, ...]:
        """The places in the order of the corners."""
        return (self.fl, self.fr, self.rl, self.rr)


@dataclass(frozen=True)
class Gps(Model):
    """Antenna position, noise and delays of the receiver."""

    position: Position = entry((0.50, 0.0, 0.95), 'of the antenna in base_link')
    rate: PositiveFrequency = entry(50.0, 'in simulations')
    deviation: NotNegativeLength = entry(0.02, 'of a fix without a covariance of its own')
    velocity: Annotated[float, Quantity(SPEED, positive=True)] = entry(0.1, 'noise of gps/vel')
    delay: NotNegativeTime = entry(0.0, 'of gps/fix: stamp minus the time of the measurement')
    delay_deviation: NotNegativeTime | None = entry(
        None, 'of that delay, which is estimated; left out: 0.03 with RTK; 0: it is known'
    )
    velocity_delay: NotNegativeTime = entry(0.0, 'of gps/vel; 0.1 to 0.2 s is common')
    velocity_delay_deviation: NotNegativeTime = entry(
        0.0, 'above 0 the delay of gps/vel is estimated, starting from velocity_delay'
    )
    drift: NotNegativeLength = entry(0.0, 'slow part of the error of a fix; 0 with RTK')
    drift_time: PositiveTime = entry(60.0, 'and how long it lasts')


@dataclass(frozen=True)
class Wheels(Model):
    """Wheel counters.

    With a `radius_deviation` above 0 the wheels roll (cars without torque): their speeds measure
    the speed of the car, every wheel radius is an error state, and so is the slip by which drive
    and brakes change its speed (less for the wheels of an axle that is not driven).
    """

    rate: PositiveFrequency = entry(500.0, 'in simulations')
    resolution: NotNegativeAngle = entry(
        0.15707963267948966, 'of wheel angles, if they are counted in teeth'
    )
    deviation: NotNegativeAngle = entry(0.17, 'further noise of wheel angles')
    speed: PositiveAngularSpeed = entry(0.2, 'noise of a wheel speed')
    radius_deviation: NotNegativeLength = entry(
        0.0, 'of the wheel radius; above 0 wheels roll and torque is unknown'
    )
    slip: NotNegativeNumber = entry(0.004, 'under drive and brakes, over the speed')
    driven: Annotated[str, Choice(('front', 'rear', 'all'))] = entry('all', 'the driven axle')
    delay: NotNegativeTime = entry(0.0, 'stamp minus the time of the measurement')

    def slip_of(self, corner: str) -> float:
        """Deviation of a wheel's slip: an axle without drive slips when braking only."""
        axle = 'front' if corner[0] == 'f' else 'rear'
        return self.slip * (1.0 if self.driven in (axle, 'all') else 0.4)


@dataclass(frozen=True)
class InputSensor(Model):
    """Noise and rate of an input sensor."""

    deviation: NotNegativeNumber = entry(0.0, 'noise in SI units')
    rate: PositiveFrequency = entry(500.0, 'in simulations')


@dataclass(frozen=True)
class Steering(Model):
    """Rack sensor, or a steering wheel: its angle over the road wheels', or rack over angle."""

    deviation: NotNegativeLength = entry(0.0002, 'noise of the rack travel')
    wheel_ratio: Number = entry(0.0, 'rack travel over steering wheel angle [m/rad]')
    steering_ratio: Number = entry(
        0.0, 'or steering wheel over road wheel angle, negative when it counts to the right'
    )
    offset: Angle = entry(0.0, 'what the steering wheel shows when the car goes straight')


@dataclass(frozen=True)
class Sensors(Model):
    """All sensors: of the identification (Venture 2006, section V.A), and of the observer."""

    imu: Imu = entry(Imu, 'angular velocity and specific force')
    speed: SpeedSensor = entry(SpeedSensor, 'optical speed sensor')
    suspension: Sensor = entry(Sensor, 'travel of the suspension')
    steering: Sensor = entry(Sensor, 'steering, camber, kingpin, half track, wheelbase')
    wheel_force: Sensor = entry(Sensor, 'six-axis wheel sensors')
    ride_height: RideHeights = entry(RideHeights, 'heights of the body over the road')
    gps: Gps = entry(Gps, 'satellite receiver')
    wheels: Wheels = entry(Wheels, 'wheel angles or speeds')
    rack: Steering = entry(Steering, 'rack, or steering wheel')
    torque: InputSensor = entry(lambda: InputSensor(1.0), 'drive torque')
    pressure: InputSensor = entry(lambda: InputSensor(5000.0, 100.0), 'brake pressure')

    def of_identification(self) -> dict[str, Sensor]:
        """The sensors of `identify car` by their names."""
        return {name: one for name, one in vars(self).items() if isinstance(one, Sensor)}
