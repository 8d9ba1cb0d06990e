"""The one description of a car: every entry that a file may hold (config/car_template.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from veh_identification.configuration.models import Model, entry, internal
from veh_identification.configuration.quantities import (
    FORCE,
    FREQUENCY,
    NUMBER,
    Angle,
    Components,
    Dimension,
    Entries,
    Flag,
    NotNegativeLength,
    NotNegativeNumber,
    Number,
    PositiveAcceleration,
    PositiveTime,
    Quantity,
    Text,
)
from veh_identification.systems.car.description.axle_tables import (
    AxleKinematics,
    AxleTable,
    by_corner,
)
from veh_identification.systems.car.description.parts import (
    Air,
    Brakes,
    Chassis,
    Geometry,
    Hub,
    Rack,
    Suspension,
    Tyre,
    Weighed,
    Wheel,
    Wishbone,
)
from veh_identification.systems.car.description.road import RoadMap
from veh_identification.systems.car.description.sensors import Sensors
from veh_identification.systems.car.parameters import (
    AERODYNAMIC,
    CORNERS,
    DESCRIPTIONS,
    NAMES,
    unit,
)
from veh_identification.types import Array, Vector

#: Names of the topics of `identify car`.
TOPICS: dict[str, str] = {
    'imu': 'imu/data',
    'speed': 'correvit/velocity',
    'joints': 'joint_states',
    'gps_velocity': 'gps/vel',
    'gps_fix': 'gps/fix',
    'brake_pressure': 'brake/pressure',
    **{f'wrench_{corner}': f'wheel_{corner}/wrench' for corner in CORNERS},
    **{f'ride_height_{corner}': f'ride_height_{corner}' for corner in CORNERS},
    'tf_static': '/tf_static',
}


def _parameter_entries(name: str, minimum: float | None) -> type[Any]:
    """A model with one entry for each parameter of the car."""
    return make_dataclass(
        name,
        [
            (
                one,
                Annotated[float, Quantity(Dimension('a number', unit(one)), minimum)] | None,
                entry(None, DESCRIPTIONS[one]),
            )
            for one in (*NAMES, *AERODYNAMIC)
        ],
        bases=(Model,),
        frozen=True,
    )


APriori = _parameter_entries('APriori', None)
Deviations = _parameter_entries('Deviations', 0.0)
Topics = make_dataclass(
    'Topics',
    [(name, Text, entry(topic, f'instead of {topic}')) for name, topic in TOPICS.items()],
    bases=(Model,),
    frozen=True,
)
Five = Annotated[
    tuple[float, float, float, float, float],
    Components(Quantity(NUMBER), ('position', 'height', 'yaw', 'tilt', 'wheels')),
]
Band = Annotated[
    tuple[float, float], Components(Quantity(FREQUENCY, positive=True), ('low', 'high'))
]


@dataclass(frozen=True)
class Simulation(Model):
    """What the true vehicle has and the observer's model does not know."""

    step: PositiveTime = entry(0.001, 'of the simulation')
    rolling_resistance_error: NotNegativeNumber = entry(0.015, 'added to that of the tyres')
    friction_error: Number = entry(0.0, 'added to that of the tyres')
    unevenness: NotNegativeLength = entry(0.0, 'amplitude of bumps that no survey holds')
    wind: Annotated[float, Quantity(FORCE, 0.0)] = entry(
        0.0, 'constant force on the car towards -x of odom'
    )


@dataclass(frozen=True)
class Observer(Model):
    """Settings of the errorEKF; densities of white acceleration and of force walks.

    The lists of five are for position, height, yaw, tilt and wheel angles. Height and tilt are
    small on purpose: on a known road the tyres know them to a millimetre, and every correction of
    them is a kick against springs of hundreds of newtons a millimetre.
    """

    step: PositiveTime = entry(0.002, 'time step: 0.005 with metre GPS, 0.002 with RTK')
    force_estimation: Flag = entry(True, 'whether unknown forces are estimated')
    acceleration_noise: Five = entry((5e-3, 1e-8, 3e-4, 2e-3, 1e-2), 'white acceleration')
    force_noise: Five = entry((0.05, 0.0, 1e-3, 0.0, 0.0), 'random walk of unknown forces')
    position_deviation: Five = entry((5e-3, 1e-3, 1e-3, 3e-4, 0.02), 'at the start')
    velocity_deviation: Five = entry((0.01, 0.01, 5e-3, 5e-3, 0.05), 'at the start')
    acceleration_deviation: Five = entry((0.05, 0.0, 0.02, 0.0, 0.0), 'at the start')
    gate_probability: Annotated[float, Quantity(NUMBER, 0.0, 1.0)] = entry(
        0.99999, 'of the gate that refuses outliers'
    )
    slip_deviation: Annotated[float, Quantity(NUMBER, positive=True)] = entry(
        0.1, 'of the slip of rolling wheels'
    )
    road_deviation: Annotated[Vector, Components(Quantity(NUMBER), ('height', 'rate', 'tilt'))] = (
        entry((0.02, 0.05, 0.02), 'height [m], its rate [m/s], tilt [rad] over the road')
    )
    thesis: Flag = entry(
        False, 'the observer of Sinigaglia 2016 as it stands: course as yaw, chassis grabbed'
    )
    initial_yaw: Angle | None = entry(None, 'known heading at the start; empty: from the course')


@dataclass(frozen=True)
class CarDescription(Model):
    """Everything that a recording does not say about a car."""

    name: Text = entry('car', 'shown in reports')
    gravity: PositiveAcceleration = entry(9.80665, 'where the car drives')
    datum: (
        Annotated[Vector, Components(Quantity(NUMBER), ('latitude', 'longitude', 'altitude'))]
        | None
    ) = entry(None, 'origin of odom: latitude, longitude [deg], altitude [m]; empty: first fix')
    geometry: Geometry = entry(Geometry, 'measure these: they matter most')
    chassis: Chassis = entry(Chassis, 'about the centre of gravity; or a_priori, at the origin')
    weighed: Weighed = entry(Weighed, 'on scales: it alone tells the scale of the wheel forces')
    wheel: Wheel = entry(Wheel, 'all four alike')
    hub: Hub = entry(Hub, 'all four alike')
    wishbone: Wishbone = entry(Wishbone, 'all four alike')
    rack: Rack = entry(Rack, 'of the steering')
    suspension: Suspension = entry(Suspension, 'double wishbones; the right side is mirrored')
    tyre: Tyre = entry(Tyre, 'all four alike')
    air: Air = entry(Air, 'drag')
    brakes: Brakes = entry(Brakes, 'torque over pressure')
    road: RoadMap = entry(RoadMap, 'what is known of the ground')
    sensors: Sensors = entry(Sensors, 'mounting, dynamics and noise')
    a_priori: Annotated[Mapping[str, float], Entries(APriori)] = entry(
        {}, 'known or identified parameters; inertia at the base_link origin'
    )
    a_priori_std: Annotated[Mapping[str, float], Entries(Deviations)] = entry(
        {}, 'their standard deviations'
    )
    axle_kinematics: AxleKinematics = entry(
        {}, 'for the 38-dof model: half_track, wheelbase, steering, camber, kingpin by corner'
    )
    topics: Annotated[Mapping[str, str], Entries(Topics)] = entry(
        TOPICS, "if they differ from the contract's"
    )
    disturbances: tuple[Band, ...] = entry(
        (), 'frequency bands [low, high] that the chassis equations leave out'
    )
    simulation: Simulation = entry(Simulation, 'what the true vehicle has and the model has not')
    observer: Observer = entry(Observer, 'settings of the errorEKF')
    older_entries: ClassVar[Mapping[str, Any]] = {
        'base': {'type': 'string', 'description': 'a file whose entries this one changes'},
        'static': {
            'type': 'object',
            'properties': {'gravity': {'type': 'number'}},
            'description': 'gravity stands at the top today',
        },
    }
    #: The file, and what was read of it.
    source: str = internal('')
    document: Any = internal(None)
    #: Where entries come from that the file does not give.
    provenance: Any = internal(None)

    def __post_init__(self) -> None:
        for low, high in self.disturbances:
            if not low < high:
                raise ValueError(f'disturbances: expected low < high, found [{low:g}, {high:g}]')

    def a_priori_array(self, names: tuple[str, ...] = NAMES) -> Array:
        """A-priori values in the order of `names`, NaN where unknown."""
        return np.array([self.a_priori.get(name, np.nan) for name in names])

    @property
    def axle_tables(self) -> dict[tuple[str, str], AxleTable]:
        """Variations of the axle geometry by (quantity, corner)."""
        return by_corner(self.axle_kinematics)
