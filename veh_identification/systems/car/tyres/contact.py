"""What every tyre does: forces in the axes of the contact, slip angle, rolling, camber.

Axes of a contact as in ISO 8855: ahead along the track of the wheel, left, normal to the road. The
road under the car is the plane below its four wheels: by the ride heights where they are recorded,
else by travel and the deflection of the tyres under their loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from veh_identification.signals import ZeroPhaseFilter
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.processing.resampling import on_grid
from veh_identification.systems.car.recording.heights import body_heights
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.recording.samples import (
    CarSamples,
    carried_acceleration,
    hub_rotation,
)
from veh_identification.types import Array, BoolArray

#: Below, slips are quotients of small numbers [m/s].
SLOWEST = 6.0
LEAST_LOAD = 300.0  # of a wheel that is on the road [N]
FADE = 0.25  # by which stretches that count fade in and out [s]
#: Of a passenger car, where the description gives none.
TYRE_STIFFNESS, WHEEL_MASS, SPIN_INERTIA = 230e3, 18.0, 1.0
#: Rate that is kept, and the band that is left in it [Hz].
RATE, BAND_HZ = 50.0, 12.0
#: Wheel speeds are taken from angles up to this frequency [Hz].
WHEEL_HZ = 15.0


@dataclass(frozen=True)
class Wheels:
    """What is beyond the wheel sensors, and whether the description tells it."""

    mass: float
    mass_std: float
    spin_inertia: float
    stiffness: float
    told: bool  # the mass stands in the description


@dataclass(frozen=True, eq=False)
class Contacts:
    """One stretch; arrays (N, 4) in the order of the corners."""

    rate: float
    forward: Array  # force along the track of the wheel [N]
    lateral: Array  # to the left
    load: Array
    carried: Array  # lateral acceleration of the wheel: what its mass adds to the force [m/s^2]
    tangent: Array  # of the slip angle, positive when it pushes to the left
    camber: Array  # positive when the top leans to the left
    speed: Array  # of the wheel centre, ahead [m/s]
    spin: Array | None  # of the wheel about its axis, absolute [rad/s]
    spin_acceleration: Array | None
    torque: Array  # about the axis that the wheel exerts on the hub [N m]
    weight: Array  # 0 where nothing counts, 1 where all does

    def __len__(self) -> int:
        return len(self.forward)


def known_wheels(configuration: CarDescription) -> Wheels:
    """Of the description, else of a usual passenger car."""
    document = configuration.document

    def given(*path: str) -> bool:
        return document is not None and document.find(path) is not None

    told = given('wheel', 'mass')
    mass = configuration.wheel.mass if told else WHEEL_MASS
    return Wheels(
        mass,
        (0.04 if told else 0.25) * mass,
        configuration.wheel.spin_inertia if given('wheel', 'spin_inertia') else SPIN_INERTIA,
        configuration.tyre.stiffness if given('tyre', 'stiffness') else TYRE_STIFFNESS,
        told,
    )


def contacts(
    recording: CarRecording, pieces: Sequence[CarSamples], configuration: CarDescription
) -> list[Contacts]:
    """The tyres in every stretch of a prepared recording."""
    wheels = known_wheels(configuration)
    return [_thinned(_contacts(recording, piece, configuration, wheels)) for piece in pieces]


def _thinned(whole: Contacts) -> Contacts:
    """The same at a lower rate: tyres are identified from slow motion."""
    step = int(whole.rate // RATE)
    low = ZeroPhaseFilter(whole.rate, BAND_HZ, 4, label='tyres')
    if step < 2 or len(whole) < low.minimum_length:
        return whole

    def slower(values: Array | None) -> Array | None:
        return None if values is None else low.apply(values)[0][::step]

    arrays = {one.name: getattr(whole, one.name) for one in fields(Contacts)}
    weight = arrays.pop('weight')[::step]
    arrays.pop('rate')
    slow = {name: slower(values) for name, values in arrays.items()}
    return Contacts(rate=whole.rate / step, weight=weight, **slow)  # type: ignore[arg-type]


def _contacts(
    recording: CarRecording, piece: CarSamples, configuration: CarDescription, wheels: Wheels
) -> Contacts:
    joints, count = piece.joints, len(piece)
    travel = joints['suspension']
    turned = hub_rotation(
        joints['steering'].position, joints['camber'].position, joints['kingpin'].position
    )
    place = _places(piece, configuration)
    felt = _felt(piece, place)
    hub = np.einsum('njab,njb->nja', turned, piece.wrench[:, :, :3])
    force = hub + wheels.mass * felt
    spins = _spin(recording, piece, configuration)
    radius = _standing_radius(piece, spins, configuration, wheels, force[:, :, 2])
    heights = _heights(recording, piece, configuration, wheels, force[:, :, 2], radius)
    normal = _normal(heights, configuration)
    axis = turned[:, :, :, 1]
    ahead = np.cross(axis, normal[:, None, :])
    ahead /= np.linalg.norm(ahead, axis=2, keepdims=True)
    left = np.cross(np.broadcast_to(normal[:, None, :], ahead.shape), ahead)
    radial = np.cross(ahead, axis)
    reach = np.clip(heights + travel.position, 0.15, 1.0)
    omega = piece.angular_velocity
    body = np.column_stack([piece.velocity, np.zeros(count)])
    centre = body[:, None, :] + np.cross(omega[:, None, :], place)
    moving = centre - np.cross(omega[:, None, :], reach[..., None] * radial)
    # The hub moves sideways as the track changes.
    side = np.array([1.0, -1.0, 1.0, -1.0])
    moving[:, :, 1] += side * joints['half_track'].velocity if 'half_track' in joints else 0.0
    # It slides along z so that the contact stays on the road. As the body leans that is sideways
    # as well, the other way on either side: half a milliradian of the slip angles.
    sliding = -np.einsum('njk,nk->nj', moving, normal) / normal[:, None, 2]
    for one in (centre, moving):
        one[:, :, 2] += sliding
    # The spin is absolute: the rate of the body is in it already.
    speed = np.einsum('njk,njk->nj', centre, ahead)
    sideways = np.einsum('njk,njk->nj', moving, left)
    load = np.einsum('njk,nk->nj', force, normal)
    carried = np.einsum('nk,njk->nj', omega, axis)
    slow = np.maximum(np.abs(speed), 1.0)
    return Contacts(
        piece.rate,
        np.einsum('njk,njk->nj', force, ahead),
        np.einsum('njk,njk->nj', force, left),
        load,
        np.einsum('njk,njk->nj', felt, left),
        -sideways / slow,
        np.einsum('njk,njk->nj', radial, left),
        speed,
        None if spins is None else spins[0] + carried,
        None if spins is None else spins[1],
        np.einsum('nja,nja->nj', np.einsum('njab,njb->nja', turned, piece.wrench[:, :, 3:]), axis),
        fading((speed > SLOWEST) & (load > LEAST_LOAD), piece.rate),
    )


def _places(piece: CarSamples, configuration: CarDescription) -> Array:
    """Wheel centres (N, 4, 3) in base axes."""
    geometry, count = configuration.geometry, len(piece)
    side = np.array([1.0, -1.0, 1.0, -1.0])
    joints, shape = piece.joints, (count, 4)
    x = (
        joints['wheelbase'].position
        if 'wheelbase' in joints
        else np.broadcast_to(geometry.wheel_x, shape)
    )
    y = (
        side * joints['half_track'].position
        if 'half_track' in joints
        else np.broadcast_to(geometry.wheel_y, shape)
    )
    return np.stack([x, y, joints['suspension'].position], axis=2)


def _felt(piece: CarSamples, place: Array) -> Array:
    """Specific force (N, 4, 3) at the wheel centres."""
    omega, alpha = piece.angular_velocity[:, None, :], piece.angular_acceleration[:, None, :]
    travel = piece.joints['suspension']
    sliding = np.zeros_like(place)
    sliding[:, :, 2] = travel.velocity
    felt = piece.specific_force[:, None, :] + carried_acceleration(omega, alpha, place)
    felt += 2.0 * np.cross(omega, sliding)
    felt[:, :, 2] += travel.acceleration
    return np.asarray(felt)


def _heights(
    recording: CarRecording,
    piece: CarSamples,
    configuration: CarDescription,
    wheels: Wheels,
    load: Array,
    radius: float,
) -> Array:
    """Height (N, 4) of the body over the road at the wheels' places; `radius`: loaded."""
    told = body_heights(recording, piece, configuration)
    if told is not None:
        return told
    # One radius for all wheels: a wheel that carries more stands deeper.
    return radius - (load - load.mean()) / wheels.stiffness - piece.joints['suspension'].position


def _standing_radius(
    piece: CarSamples,
    spins: tuple[Array, Array] | None,
    configuration: CarDescription,
    wheels: Wheels,
    load: Array,
) -> float:
    """Loaded radius: by how the wheels roll where that is recorded, else as described.

    Ten millimetres too much look like a relaxation length that is three hundredths too short.
    """
    described = configuration.geometry.wheel_radius
    if spins is None:
        return described
    spin = spins[0].mean(axis=1)
    moving = (piece.velocity[:, 0] > SLOWEST) & (spin > 1.0)
    if np.count_nonzero(moving) < piece.rate:
        return described
    rolling = float(np.median(piece.velocity[moving, 0] / spin[moving]))
    return standing_radius(rolling, float(load[moving].mean()) / wheels.stiffness)


def standing_radius(rolling: float, pressed: float) -> float:
    """A tyre that is pressed in by d rolls on d / 3 less than its radius, and stands d lower."""
    return rolling - 2.0 / 3.0 * pressed


def _normal(heights: Array, configuration: CarDescription) -> Array:
    """Normal (N, 3) of the plane under the four wheels, in base axes."""
    geometry = configuration.geometry
    plane = np.column_stack([np.ones(4), geometry.wheel_x, geometry.wheel_y])
    slopes = heights @ np.linalg.pinv(plane).T
    normal = np.column_stack([slopes[:, 1:], np.ones(len(slopes))])
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def _spin(
    recording: CarRecording, piece: CarSamples, configuration: CarDescription
) -> tuple[Array, Array] | None:
    """Speeds and accelerations (N, 4) of the wheels against their hubs; None: not recorded."""
    delay = configuration.sensors.wheels.delay
    low = ZeroPhaseFilter(piece.rate, min(WHEEL_HZ, 0.4 * piece.rate), 4, label='wheel speeds')
    speed, acceleration = np.empty((len(piece), 4)), np.empty((len(piece), 4))
    for j, corner in enumerate(CORNERS):
        angle, told = recording.joint('wheel', corner), recording.wheel_speeds.get(corner)
        series = angle if angle is not None else told
        if series is None or len(series) < 20:
            return None
        grid = on_grid(series.delayed(delay), piece.stamps, piece.rate)[0][:, 0]
        motion = low.derivatives(grid[:, None])
        first, second = (
            (motion.velocity, motion.acceleration)
            if angle is not None
            else (motion.position, motion.velocity)
        )
        speed[:, j], acceleration[:, j] = first[:, 0], second[:, 0]
    return speed, acceleration


def fading(counts: BoolArray, rate: float) -> Array:
    """Ones where all within reach counts, falling smoothly to zero elsewhere."""
    half = max(1, round(FADE * rate))
    bell = np.hanning(2 * half + 3)[1:-1]
    bell /= bell.sum()
    # The ends of a stretch count as well: nothing is known beyond them.
    padded = np.pad(counts.astype(float), ((half, half), (0, 0)), mode='edge')
    inner = np.stack(
        [
            np.lib.stride_tricks.sliding_window_view(column, 2 * half + 1).min(axis=1)
            for column in padded.T
        ],
        axis=1,
    )
    padded = np.pad(inner, ((half, half), (0, 0)), mode='edge')
    return np.stack([np.convolve(column, bell, mode='valid') for column in padded.T], axis=1)
