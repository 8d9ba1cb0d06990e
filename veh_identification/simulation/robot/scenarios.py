"""Scenarios `arm-free`, `arm-payload`, `arm-closed-loop` and `arm-on-plate`: simulated arms.

The arm is one that differs from its URDF (CAD) by some ten percent; the seed changes the motion,
the noise and the payload, not the arm, so that recordings of several seeds belong together.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veh_identification.runtime import messages
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.robot.base_wrench import BasePlate, measured_wrench
from veh_identification.simulation.robot.closed_loop import Drive, Friction, Run, run
from veh_identification.simulation.robot.plant import Plant, read_plant
from veh_identification.types import Array, Progress

if TYPE_CHECKING:
    from veh_identification.runtime.bags import BagWriter

EPOCH_NS = 1_700_000_000_000_000_000
#: How far the simulated arm is from its URDF.
CAD_SHARE = 0.15


@dataclass(frozen=True)
class ArmSensors:
    """What is published; noise is white."""

    rate: float = 500.0  # Hz, of joint_states
    encoder_step: float = 2.4e-5  # rad: 18 bit on a turn
    effort_noise: float = 0.01  # share of the largest effort of each joint
    effort_delay: float = 0.0  # s

    def scaled(self, noise: float) -> ArmSensors:
        """Noise, quantisation and delay multiplied."""
        return replace(
            self,
            encoder_step=self.encoder_step * noise,
            effort_noise=self.effort_noise * noise,
            effort_delay=self.effort_delay * noise,
        )


@dataclass(frozen=True, eq=False)
class Payload:
    """A load at the flange: centre in the flange frame, inertia about the centre."""

    mass: float
    centre: Array
    inertia: Array

    def as_dict(self) -> dict[str, Any]:
        """For truth.json."""
        return {
            'mass': self.mass,
            'centre': self.centre.tolist(),
            'inertia': self.inertia.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Arm:
    """A simulated arm: its CAD model, what it really is, friction and drives."""

    nominal: Plant
    plant: Plant
    friction: Friction
    drive: Drive

    def truth(self) -> dict[str, float]:
        """Parameters under the names of the identification."""
        found = self.plant.parameters()
        for k, joint in enumerate(self.plant.joints):
            found[f'{joint}.Ia'] = float(self.drive.motor_inertia[k])
            found[f'{joint}.h'] = float(self.friction.viscous[k])
            found[f'{joint}.fs'] = float(self.friction.coulomb[k])
            found[f'{joint}.off'] = float(self.friction.offset[k])
        return found


def random_arm(urdf: str, seed: int, *, sticking: float = 0.0, bristle: float = 5e-5) -> Arm:
    """An arm of that geometry; `sticking` is how much larger friction is at rest."""
    nominal = read_plant(share_directory() / 'config' / 'models' / urdf)
    rng = np.random.default_rng([seed, 99])
    plant = nominal.disturbed(rng, CAD_SHARE)
    count = len(plant.joints)
    coulomb = nominal.effort * rng.uniform(0.02, 0.05, count)
    friction = Friction(
        coulomb,
        coulomb * (1.0 + sticking),
        np.full(count, 0.05),
        nominal.effort * rng.uniform(0.02, 0.06, count),
        np.full(count, bristle),
        0.2 * coulomb * rng.uniform(-1.0, 1.0, count),
    )
    # Gears make the motors' inertia as large as a part of what they move.
    drive = Drive(motor_inertia=nominal.effort * rng.uniform(1.5e-3, 4e-3, count))
    return Arm(nominal, plant, friction, drive)


def random_payload(seed: int) -> Payload:
    """A load of 1.5 to 4 kg that sticks out of the flange."""
    rng = np.random.default_rng([seed, 7])
    mass = float(rng.uniform(1.5, 4.0))
    centre = np.array([*rng.uniform(-0.03, 0.03, 2), rng.uniform(0.03, 0.12)])
    size = rng.uniform(0.06, 0.16, 3) ** 2
    inertia = mass / 12.0 * np.diag(size.sum() - size)
    return Payload(mass, centre, inertia)


def exciting_motion(
    plant: Plant, times: Array, seed: int, fundamental_hz: float = 0.1, harmonics: int = 8
) -> tuple[Array, Array, Array]:
    """A sum of sines for each joint that uses most of its range and 60 % of its speed."""
    rng = np.random.default_rng([seed, 3])
    count = len(plant.joints)
    omega = 2.0 * np.pi * fundamental_hz * np.arange(1, harmonics + 1)
    size = (
        rng.uniform(0.5, 1.0, (harmonics, count)) / np.sqrt(np.arange(1, harmonics + 1))[:, None]
    )
    phase = rng.uniform(0.0, 2.0 * np.pi, (harmonics, count))
    grid = np.arange(0.0, 1.0 / fundamental_hz, 0.02)
    angle = omega[None, :, None] * grid[:, None, None] + phase
    shape = np.sum(size * np.sin(angle), axis=1)
    speed = np.sum(size * omega[:, None] * np.cos(angle), axis=1)
    middle = 0.5 * (plant.upper + plant.lower)
    room = 0.4 * (plant.upper - plant.lower)
    scale = np.minimum(room / np.ptp(shape, axis=0), 0.6 * plant.velocity / np.abs(speed).max(0))
    size = size * scale
    centre = middle - 0.5 * scale * (shape.max(axis=0) + shape.min(axis=0))
    angle = omega[None, :, None] * times[:, None, None] + phase
    return (
        centre + np.sum(size * np.sin(angle), axis=1),
        np.sum(size * omega[:, None] * np.cos(angle), axis=1),
        -np.sum(size * omega[:, None] ** 2 * np.sin(angle), axis=1),
    )


def measured(
    made: Run, sensors: ArmSensors, limits: Array, seed: int
) -> tuple[Array, Array, Array]:
    """Times, positions and efforts as the sensors give them."""
    rng = np.random.default_rng([seed, 5])
    times = np.arange(len(made.position)) / made.rate
    every = max(1, round(made.rate / sensors.rate))
    position = made.position[::every]
    # The integrator acts half a substep early: its speeds stand between its positions.
    late = times[::every] - sensors.effort_delay + 0.5 * made.substep
    effort = np.stack([np.interp(late, times, column) for column in made.torque.T], axis=1)
    effort = effort + sensors.effort_noise * limits * 0.3 * rng.standard_normal(effort.shape)
    if sensors.encoder_step > 0.0:
        position = np.round(position / sensors.encoder_step) * sensors.encoder_step
    return times[::every], position, effort


def _write(
    writer: BagWriter,
    arm: Arm,
    sensors: ArmSensors,
    payload: Payload | None,
    duration: float,
    seed: int,
    fundamental_hz: float,
    progress: Progress,
    plate: BasePlate | None = None,
    gains: Array | None = None,
) -> dict[str, Any]:
    """Simulate second by second is not needed: a minute takes some seconds.

    With `gains` (N m/A) the efforts are currents.
    """
    progress(0, round(duration))
    times = np.arange(round(duration * arm.drive.control_rate)) / arm.drive.control_rate
    plant = arm.plant
    if payload is not None:
        plant = plant.loaded(payload.mass, payload.centre, payload.inertia)
    wanted = exciting_motion(arm.nominal, times, seed, fundamental_hz)
    made = run(plant, arm.nominal, arm.friction, arm.drive, wanted)
    stamps, position, effort = measured(made, sensors, arm.nominal.effort, seed)
    if gains is not None:
        effort = effort / gains
    if plate is not None:
        write_plate(writer, plate, *measured_wrench(plant, made, plate, seed))
    names = list(plant.joints)
    for k, moment in enumerate(stamps):
        stamp = EPOCH_NS + round(1e9 * moment)
        message = messages.new(
            'sensor_msgs/msg/JointState',
            header=messages.header(stamp, 'base_link'),
            name=names,
            position=position[k],
            velocity=[],
            effort=effort[k],
        )
        writer.write_message('joint_states', message, stamp)
    progress(round(duration), round(duration))
    truth: dict[str, Any] = {
        'parameters': arm.truth(),
        'sensors': asdict(sensors),
        'fundamental_hz': fundamental_hz,
    }
    if gains is not None:
        truth['gains'] = dict(zip(names, map(float, gains), strict=True))
    if plate is not None:
        truth['base_plate'] = asdict(plate)
    if payload is not None:
        truth['payload'] = {'link': plant.flange, **payload.as_dict()}
    return truth


def write_plate(writer: BagWriter, plate: BasePlate, stamps: Array, wrenches: Array) -> None:
    """Its pose in `/tf_static`, and what it exerts on the base."""
    turn = (0.0, 0.0, float(np.sin(0.5 * plate.yaw)), float(np.cos(0.5 * plate.yaw)))
    static = messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            {
                'header': messages.header(EPOCH_NS, 'base_link'),
                'child_frame_id': 'base_plate',
                'transform': {'translation': plate.position, 'rotation': turn},
            }
        ],
    )
    writer.write_message('/tf_static', static, EPOCH_NS)
    for moment, wrench in zip(stamps, wrenches, strict=True):
        stamp = EPOCH_NS + round(1e9 * moment)
        message = messages.new(
            'geometry_msgs/msg/WrenchStamped',
            header=messages.header(stamp, 'base_plate'),
            wrench={'force': wrench[:3], 'torque': wrench[3:]},
        )
        writer.write_message('base_plate/wrench', message, stamp)


def _quiet_arm(noise: float) -> Arm:
    arm = random_arm('arm_6_axis.urdf', 0)
    return replace(arm, drive=arm.drive.scaled(noise))


def write_free(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Scenario `arm-free`: the six-axis arm without a load."""
    sensors = ArmSensors().scaled(noise)
    return _write(writer, _quiet_arm(noise), sensors, None, duration, seed, 0.1, progress)


def write_payload(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Scenario `arm-payload`: the same arm with a load at its flange."""
    sensors, load = ArmSensors().scaled(noise), random_payload(seed)
    return _write(writer, _quiet_arm(noise), sensors, load, duration, seed, 0.1, progress)


def write_closed_loop(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Scenario `arm-closed-loop`: seven axes, stiction, ripple, coarse encoders, late efforts."""
    arm = random_arm('arm_7_axis.urdf', 0, sticking=0.3 * noise, bristle=2e-4)
    drive = replace(arm.drive, ripple=0.05, feedforward=0.0, stiffness=400.0, damping=35.0)
    arm = replace(arm, drive=drive.scaled(noise))
    sensors = ArmSensors(
        rate=250.0, encoder_step=1e-4, effort_noise=0.02, effort_delay=0.003
    ).scaled(noise)
    # The fundamental is no whole number of samples: the motion never quite repeats.
    return _write(writer, arm, sensors, None, duration, seed, 0.1037, progress)


def write_on_plate(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Scenario `arm-on-plate`: efforts are currents, a force plate carries the base."""
    sensors, plate = ArmSensors().scaled(noise), BasePlate().scaled(noise)
    gains = np.array([12.3, 11.7, 9.4, 10.2, 8.1, 7.6])
    arm = _quiet_arm(noise)
    return _write(writer, arm, sensors, None, duration, seed, 0.1, progress, plate, gains)
