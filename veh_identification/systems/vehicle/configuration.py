"""Geometry, masses, tyres and sensors of a four-wheel car (see `loading` for the YAML)."""

from __future__ import annotations

from dataclasses import dataclass, field

from veh_identification.errors import InputError
from veh_identification.systems.vehicle.model.road import RoadMap
from veh_identification.types import Vector

CORNERS = ('fl', 'fr', 'rl', 'rr')


@dataclass(frozen=True)
class Geometry:
    """Wheelbase, half tracks and loaded wheel radius [m]."""

    wheelbase: float = 2.05
    half_track_front: float = 0.70
    half_track_rear: float = 0.68
    wheel_radius: float = 0.28

    def centre(self, corner: str) -> Vector:
        """Wheel centre of a corner in base_link at design height."""
        front, left = corner[0] == 'f', corner[1] == 'l'
        half = self.half_track_front if front else self.half_track_rear
        return (self.wheelbase if front else 0.0, half if left else -half, 0.0)


@dataclass(frozen=True)
class Chassis:
    """Body with engine and driver; inertia Jxx Jxy Jxz Jyy Jyz Jzz about its centre."""

    mass: float = 440.0
    centre: Vector = (0.88, 0.0, 0.20)
    inertia: tuple[float, float, float, float, float, float] = (75.0, 0.0, -5.0, 230.0, 0.0, 260.0)


@dataclass(frozen=True)
class Wheel:
    """Wheel with tyre, axisymmetric."""

    mass: float = 14.0
    spin_inertia: float = 0.60
    transverse_inertia: float = 0.36


@dataclass(frozen=True)
class Hub:
    """Hub carrier; `inertia` counts for every axis through its centre."""

    mass: float = 7.0
    inertia: float = 0.05


@dataclass(frozen=True)
class Wishbone:
    """Masses of the arms (uniform triangles)."""

    lower_mass: float = 3.5
    upper_mass: float = 2.5


@dataclass(frozen=True)
class Rack:
    """Steering rack."""

    mass: float = 4.0


@dataclass(frozen=True)
class Axle:
    """Hardpoints of the left corner relative to the wheel centre (y outwards), spring, damper."""

    lower_ball: Vector = (0.0, -0.10, -0.10)
    upper_ball: Vector = (-0.015, -0.125, 0.12)
    lower_pivots: tuple[Vector, Vector] = ((0.16, -0.42, -0.085), (-0.16, -0.42, -0.085))
    upper_pivots: tuple[Vector, Vector] = ((0.12, -0.38, 0.105), (-0.12, -0.38, 0.105))
    tie_outer: Vector = (0.12, -0.095, -0.05)
    tie_inner: Vector = (0.12, -0.41, -0.042)
    spring_share: float = 0.65
    spring_top: Vector = (0.0, -0.30, 0.33)
    stiffness: float = 21000.0
    damping: float = 1700.0
    bump_travel: float = 0.055
    rebound_travel: float = 0.065
    stop_stiffness: float = 150000.0
    antiroll: float = 0.0


@dataclass(frozen=True)
class Suspension:
    """Both axles."""

    front: Axle = field(default_factory=Axle)
    rear: Axle = field(default_factory=Axle)


@dataclass(frozen=True)
class Tyre:
    """Tyre data; the slip stiffnesses are over load."""

    stiffness: float = 130000.0
    damping: float = 300.0
    friction: float = 1.0
    longitudinal: float = 18.0
    cornering: float = 14.0
    relaxation: float = 0.30
    slow_damping: float = 1500.0
    rolling_resistance: float = 0.015


@dataclass(frozen=True)
class Air:
    """Drag -C v |v| along base_link x at a point [N s^2/m^2]."""

    drag: float = 0.55
    point: Vector = (1.0, 0.0, 0.35)


@dataclass(frozen=True)
class Brakes:
    """Brake torque of one wheel over pressure [N m/Pa]."""

    front: float = 1.1e-4
    rear: float = 0.7e-4


@dataclass(frozen=True)
class Imu:
    """Mounting and noise of the IMU; a bias with a deviation above zero is an error state."""

    position: Vector = (0.55, 0.0, 0.30)
    rpy: Vector = (0.0, 0.0, 0.0)
    rate: float = 500.0
    accelerometer: float = 0.5
    gyroscope: float = 0.0002
    gyroscope_bias: float = 0.0
    accelerometer_bias: float = 0.0
    delay: float = 0.0


@dataclass(frozen=True)
class Gps:
    """Antenna position, noise and delays of the receiver.

    `drift` [m] over `drift_time` [s] is a slow error of the position as error states (0: none);
    `velocity_delay_deviation` > 0 makes the delay of `gps/vel` an error state.
    """

    position: Vector = (0.50, 0.0, 0.95)
    rate: float = 50.0
    deviation: float = 0.02
    velocity: float = 0.1
    delay: float = 0.0
    velocity_delay: float = 0.0
    velocity_delay_deviation: float = 0.0
    drift: float = 0.0
    drift_time: float = 60.0


@dataclass(frozen=True)
class Wheels:
    """Hall counters: resolution of a hole and further noise [rad]; speed noise [rad/s].

    `radius_deviation` [m] > 0: the wheels roll (cars without torque); their speeds measure the
    speed of the car, every wheel radius is an error state, and so is the slip by which drive and
    brakes change its speed (deviation `slip`; less for the wheels of an axle not `driven`: front,
    rear or all).
    """

    rate: float = 500.0
    resolution: float = 0.15707963267948966
    deviation: float = 0.17
    speed: float = 0.2
    radius_deviation: float = 0.0
    slip: float = 0.004
    driven: str = 'all'
    delay: float = 0.0

    def __post_init__(self) -> None:
        if self.driven not in ('front', 'rear', 'all'):
            raise InputError(
                f'sensors.wheels.driven must be front, rear or all, found {self.driven!r}'
            )

    def slip_of(self, corner: str) -> float:
        """Deviation of a wheel's slip: an axle without drive slips when braking only."""
        axle = 'front' if corner[0] == 'f' else 'rear'
        return self.slip * (1.0 if self.driven in (axle, 'all') else 0.4)


@dataclass(frozen=True)
class Simple:
    """Noise and rate of an input sensor."""

    deviation: float = 0.0
    rate: float = 500.0


@dataclass(frozen=True)
class Steering:
    """Rack sensor, or a steering wheel: its angle over the road wheels', or rack over angle.

    `steering_ratio` [-] steering wheel over road wheel angle, negative when the sensor counts to
    the right; or `wheel_ratio` [m/rad] rack travel over steering wheel angle; `offset` [rad] is
    what the steering wheel shows when the car goes straight.
    """

    deviation: float = 0.0002
    wheel_ratio: float = 0.0
    steering_ratio: float = 0.0
    offset: float = 0.0


@dataclass(frozen=True)
class Sensors:
    """All sensors of Table 3 and the input sensors."""

    imu: Imu = field(default_factory=Imu)
    gps: Gps = field(default_factory=Gps)
    wheels: Wheels = field(default_factory=Wheels)
    rack: Steering = field(default_factory=Steering)
    torque: Simple = field(default_factory=lambda: Simple(1.0))
    pressure: Simple = field(default_factory=lambda: Simple(5000.0, 100.0))


@dataclass(frozen=True)
class Simulation:
    """What the true vehicle has and the model does not know."""

    step: float = 0.001
    rolling_resistance_error: float = 0.015
    friction_error: float = 0.0
    unevenness: float = 0.0  # amplitude of bumps that no survey holds [m]
    wind: float = 0.0  # constant force on the car towards -x of odom [N]


@dataclass(frozen=True)
class Observer:
    """Settings of the errorEKF; densities of white acceleration and of force walks.

    The tuples are for position, height, yaw, tilt and wheel angles. Height and tilt are small on
    purpose: on a known road the tyres know them to a millimetre, and every correction of them is
    a kick against springs of hundreds of newtons a millimetre.
    """

    step: float = 0.002
    force_estimation: bool = True
    acceleration_noise: tuple[float, float, float, float, float] = (5e-3, 1e-8, 3e-4, 2e-3, 1e-2)
    force_noise: tuple[float, float, float, float, float] = (0.05, 0.0, 1e-3, 0.0, 0.0)
    position_deviation: tuple[float, float, float, float, float] = (5e-3, 1e-3, 1e-3, 3e-4, 0.02)
    velocity_deviation: tuple[float, float, float, float, float] = (0.01, 0.01, 5e-3, 5e-3, 0.05)
    acceleration_deviation: tuple[float, float, float, float, float] = (0.05, 0.0, 0.02, 0.0, 0.0)
    gate_probability: float = 0.99999
    slip_deviation: float = 0.1
    road_deviation: Vector = (0.02, 0.05, 0.02)  # height [m], its rate [m/s], tilt [rad]
    initial_yaw: float | None = None


@dataclass(frozen=True)
class Configuration:
    """A whole car."""

    name: str = 'buggy'
    gravity: float = 9.80665
    datum: Vector | None = None
    geometry: Geometry = field(default_factory=Geometry)
    chassis: Chassis = field(default_factory=Chassis)
    wheel: Wheel = field(default_factory=Wheel)
    hub: Hub = field(default_factory=Hub)
    wishbone: Wishbone = field(default_factory=Wishbone)
    rack: Rack = field(default_factory=Rack)
    suspension: Suspension = field(default_factory=Suspension)
    tyre: Tyre = field(default_factory=Tyre)
    air: Air = field(default_factory=Air)
    brakes: Brakes = field(default_factory=Brakes)
    road: RoadMap = field(default_factory=RoadMap)
    sensors: Sensors = field(default_factory=Sensors)
    simulation: Simulation = field(default_factory=Simulation)
    observer: Observer = field(default_factory=Observer)
