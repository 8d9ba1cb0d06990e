"""Mistakes in recordings and descriptions of a humanoid on two force plates."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from mistaken.common import (
    LEFT_OUT,
    Item,
    Mistake,
    Told,
    arrived,
    found,
    glitch,
    live_told,
    outcome_told,
    repeated,
)
from veh_identification.errors import VehIdError
from veh_identification.multibody.inertia import PARAMETER_NAMES
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.motion import fixed_base_motion
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.humanoid.gait import Gait, bending, walking
from veh_identification.simulation.humanoid.motion import HumanoidMotion
from veh_identification.simulation.humanoid.scenarios import robot_path
from veh_identification.simulation.humanoid.sensors import HumanoidSensors, readings
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.driver import configured, run
from veh_identification.systems.humanoid.robot import Robot, parse_robot
from veh_identification.types import Array

NAME = 'humanoid'
SECONDS = 8.0
PLATES = ('force_plate', 'force_plate_2')
#: Where the plates stand: position and yaw.
PLACES = {'force_plate': ((0.25, 0.05, 0.0), 0.4), 'force_plate_2': ((0.1, -0.35, 0.0), -0.3)}


@dataclass(frozen=True)
class Channel:
    """One topic: stamps [ns] and values."""

    stamps: Array
    values: Array


@dataclass(frozen=True)
class Case:
    """A recording as arrays, and what describes robot and laboratory."""

    joints: Channel
    names: tuple[str, ...]
    base: Channel  # position and quaternion x y z w
    plates: dict[str, Channel]
    truth: dict[str, Any]
    places: dict[str, tuple[tuple[float, float, float], float]] = field(
        default_factory=lambda: dict(PLACES)
    )
    urdf: Path = robot_path(cad=True)
    options: dict[str, Any] = field(default_factory=dict)
    known: dict[str, float] = field(default_factory=dict)  # true base parameters, for the node


def _robot(k: int) -> Robot:
    """The simulated robot with masses and inertias that differ from robot to robot."""
    text, rng = robot_path().read_text('utf-8'), np.random.default_rng((k, 41))

    def other(link: re.Match[str]) -> str:
        factor = 1.0 + 0.15 * rng.uniform(-1.0, 1.0)
        scale = lambda one: f'{one[1]}"{factor * float(one[2]):.9g}"'  # noqa: E731
        return re.sub(r'((?:mass value|i[xyz][xyz])=)"([^"]+)"', scale, link[0])

    text = re.sub(r'<inertial>.*?</inertial>', other, text, flags=re.DOTALL)
    return parse_robot(text.encode(), robot_path().name)


def clean(k: int, seconds: float, folder: Path) -> Case:
    """Recording k: another robot, motion, noise and seed."""
    robot = _robot(k)
    kinds = (
        lambda: walking(seconds, Gait(arms=0.5), k),
        lambda: walking(seconds, seed=k),
        lambda: bending(seconds, seed=k),
    )
    motion = HumanoidMotion(robot.model(), kinds[k % 3]())
    noise = (1.0, 0.5, 1.5)[(k // 3) % 3] if k >= 3 else 1.0
    sensors = replace(HumanoidSensors().scaled(noise), sensor_rate=1.0, imu_rate=1.0, plates=2)
    rows: dict[str, list[Any]] = {}
    end = min(seconds, motion.references.t[-1])
    for one in readings(motion, robot, sensors, end, 100 + k):
        rows.setdefault(one.topic, []).append(one.message)
    plates = {name: _plate(rows[f'/{name}/wrench'], sensors, *PLACES[name]) for name in PLATES}
    first = rows['/joint_states']
    base = rows['/base/pose']
    return Case(
        Channel(_stamps(first), np.array([m.position for m in first])),
        tuple(first[0].name),
        Channel(_stamps(base), np.array([_pose(m.pose) for m in base])),
        plates,
        {
            'total_mass': robot.total_mass,
            'parameters': {
                f'{link}.{name}': float(value)
                for link, values in robot.parameters.items()
                for name, value in zip(PARAMETER_NAMES, values, strict=True)
            },
        },
    )


def _stamps(rows: list[Any]) -> Array:
    return np.array([m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in rows], np.int64)


def _pose(pose: Any) -> tuple[float, ...]:
    p, q = pose.position, pose.orientation
    return p.x, p.y, p.z, q.x, q.y, q.z, q.w


def _plate(
    rows: list[Any], sensors: HumanoidSensors, place: tuple[float, ...], yaw: float
) -> Channel:
    """The simulated plate's wrench, as a plate at another place shows it."""
    values = np.array(
        [
            [getattr(part, axis) for part in (m.wrench.force, m.wrench.torque) for axis in 'xyz']
            for m in rows
        ]
    )
    turn = sensors.plate_rotation()
    force, moment = values[:, :3] @ turn.T, values[:, 3:] @ turn.T
    moment = moment + np.cross(np.array(sensors.plate_position) - np.array(place), force)
    own = Rotation.from_euler('z', yaw).as_matrix()
    return Channel(_stamps(rows), np.hstack([force @ own, moment @ own]))


# Mistakes ----------------------------------------------------------------------------------------


def joints(change: Callable[[Array, list[str]], Array]) -> Callable[[Case], Case]:
    """Joint positions changed."""
    return lambda case: replace(
        case,
        joints=replace(case.joints, values=change(case.joints.values.copy(), list(case.names))),
    )


def base(change: Callable[[Array], Array]) -> Callable[[Case], Case]:
    """Base poses changed."""
    return lambda case: replace(
        case, base=replace(case.base, values=change(case.base.values.copy()))
    )


def plates(
    change: Callable[[Array], Array], which: tuple[str, ...] = PLATES
) -> Callable[[Case], Case]:
    """Wrenches of plates changed."""
    return lambda case: replace(
        case,
        plates={
            name: replace(one, values=change(one.values.copy())) if name in which else one
            for name, one in case.plates.items()
        },
    )


def scaled(*factors: float) -> Callable[[Array], Array]:
    """Channels times factors."""
    return lambda values: values * np.array(factors)


def turned(matrix: Any) -> Callable[[Array], Array]:
    """Forces and moments through a matrix."""
    m = np.array(matrix, float)
    return lambda values: np.hstack([values[:, :3] @ m.T, values[:, 3:] @ m.T])


def _sign(name: str) -> Callable[[Array, list[str]], Array]:
    def change(q: Array, names: list[str]) -> Array:
        q[:, names.index(name)] *= -1.0
        return q

    return change


def _sides(q: Array, names: list[str]) -> Array:
    other = [n.replace('l_', 'R_', 1) if n.startswith('l_') else n.replace('r_', 'L_', 1)
             for n in names]  # fmt: skip
    return q[:, [names.index(n.replace('R_', 'r_').replace('L_', 'l_')) for n in other]]


def _exchanged(a: str, b: str) -> Callable[[Array, list[str]], Array]:
    def change(q: Array, names: list[str]) -> Array:
        i, j = names.index(a), names.index(b)
        q[:, [i, j]] = q[:, [j, i]]
        return q

    return change


def _pressure(values: Array) -> Array:
    """Places of the force where moments belong."""
    up = np.where(np.abs(values[:, 2]) > 5.0, values[:, 2], np.inf)
    values[:, [3, 4]] = np.column_stack([-values[:, 4] / up, values[:, 3] / up])
    return values


def _one_late(case: Case) -> Case:
    late = replace(case.plates[PLATES[0]], stamps=case.plates[PLATES[0]].stamps + 60_000_000)
    return replace(case, plates={**case.plates, PLATES[0]: late})


def _y_up(values: Array) -> Array:
    """Poses in a world whose y points upwards."""
    turn = Rotation.from_euler('x', -90.0, degrees=True)
    turned = turn * Rotation.from_quat(values[:, 3:])
    return np.hstack([turn.apply(values[:, :3]), turned.as_quat()])


def _yaw_alone(values: Array) -> Array:
    """Poses of a localisation in the plane."""
    yaw = np.unwrap(Rotation.from_quat(values[:, 3:]).as_euler('ZYX')[:, 0])
    values[:, 3:] = Rotation.from_rotvec(yaw[:, None] * [0.0, 0.0, 1.0]).as_quat()
    return values


def _stuck(q: Array, names: list[str]) -> Array:
    k, half = names.index('r_knee_joint'), len(q) // 3
    q[half:, k] = q[half, k]
    return q


def _stuck_plate(values: Array) -> Array:
    half = len(values) // 3
    values[half:, 2] = values[half, 2]
    return values


def _saturated(values: Array) -> Array:
    limit = 0.6 * np.percentile(values[:, 2], 98)
    values[:, 2] = np.minimum(values[:, 2], limit)
    return values


def _late(seconds: float) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        late = np.int64(round(seconds * 1e9))
        moved = {n: replace(one, stamps=one.stamps + late) for n, one in case.plates.items()}
        return replace(case, plates=moved)

    return change


def _other_link(link: str) -> Callable[[Case], Case]:
    """Base poses are those of another link."""

    def change(case: Case) -> Case:
        model = parse_robot(robot_path().read_bytes(), '').model()
        places = [list(case.names).index(name) for name in model.coordinate_names]
        stamps = case.joints.stamps.astype(float)
        q = np.stack(
            [np.interp(case.base.stamps, stamps, case.joints.values[:, k]) for k in places], axis=1
        )
        bodies = body_motion(model, fixed_base_motion(q, 0 * q, 0 * q))
        frame = model.frame(link)
        local = bodies.orientation[:, frame.body] @ frame.rotation
        arm = bodies.position[:, frame.body] + (
            bodies.orientation[:, frame.body] @ frame.translation
        )
        turn = Rotation.from_quat(case.base.values[:, 3:])
        place = case.base.values[:, :3] + turn.apply(arm)
        values = np.hstack([place, (turn * Rotation.from_matrix(local)).as_quat()])
        return replace(case, base=replace(case.base, values=values))

    return change


def _tilted(case: Case) -> Case:
    """A world that stands askew by 8 degrees about x: base and plates in it."""
    turn = Rotation.from_euler('x', 8.0, degrees=True)
    values = np.hstack(
        [turn.apply(case.base.values[:, :3]),
         (turn * Rotation.from_quat(case.base.values[:, 3:])).as_quat()]
    )  # fmt: skip
    return replace(
        case,
        base=replace(case.base, values=values),
        truth={**case.truth, 'tilt': 8.0},
    )


def _weighed(case: Case) -> Case:
    """Somebody has put the robot on a scale."""
    return replace(case, options={**case.options, 'weighed_mass': case.truth['total_mass']})


def _place(name: str, shift: tuple[float, float, float]) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        place, yaw = case.places[name]
        moved = tuple(float(a + b) for a, b in zip(place, shift, strict=True))
        return replace(case, places={**case.places, name: (moved, yaw)})  # type: ignore[dict-item]

    return change


def _swapped(case: Case) -> Case:
    a, b = PLATES
    return replace(case, plates={a: case.plates[b], b: case.plates[a]})


def halfway(change: Callable[[Case], Case]) -> Callable[[Case], Case]:
    """A change of values that begins in the middle of the recording."""

    def half(right: Channel, wrong: Channel) -> Channel:
        middle = len(right.values) // 2
        return replace(right, values=np.vstack([right.values[:middle], wrong.values[middle:]]))

    def make(case: Case) -> Case:
        wrong = change(case)
        return replace(
            case,
            joints=half(case.joints, wrong.joints),
            base=half(case.base, wrong.base),
            plates={name: half(one, wrong.plates[name]) for name, one in case.plates.items()},
        )

    return make


def held_for(name: str, seconds: float) -> Callable[[Case], Case]:
    """Values of joints or base that are repeated for so long."""

    def make(case: Case) -> Case:
        one: Channel = getattr(case, name)
        values = repeated(seconds)(1e-9 * (one.stamps - one.stamps[0]), one.values)
        return replace(case, **{name: replace(one, values=values)})

    return make


def _leg_degrees(q: Array, names: list[str]) -> Array:
    leg = [name.startswith('r_') and any(w in name for w in ('hip', 'knee', 'ankle'))
           for name in names]  # fmt: skip
    return q * np.where(leg, np.degrees(1.0), 1.0)


def _added(name: str, angle: float) -> Callable[[Array, list[str]], Array]:
    return lambda q, names: q + angle * (np.array(names) == name)


def _one_joint(name: str, change: Callable[[Array], Array]) -> Callable[[Case], Case]:
    def made(q: Array, names: list[str]) -> Array:
        q[:, names.index(name)] = change(q[:, names.index(name)])
        return q

    return joints(made)


def _thighs(factor: float) -> Callable[[Case], Case]:
    """A URDF whose knees are so many times as far from the hips."""

    def longer(found: re.Match[str]) -> str:
        return f'{found[1]}{" ".join(str(factor * float(x)) for x in found[2].split())}"'

    def change(case: Case) -> Case:
        pattern = r'(<joint name="[lr]_knee_joint".*?<origin xyz=")([^"]+)"'
        text = re.sub(pattern, longer, case.urdf.read_text('utf-8'), flags=re.DOTALL)
        path = Path(tempfile.mkdtemp()) / case.urdf.name
        path.write_text(text, 'utf-8')
        return replace(case, urdf=path)

    return change


def _stuck_base(values: Array) -> Array:
    third = len(values) // 3
    values[third:] = values[third]
    return values


def _drifting(share: float) -> Callable[[Case], Case]:
    """A clock of the plates that runs too fast."""

    def moved(one: Channel) -> Channel:
        since = one.stamps - one.stamps[0]
        return replace(one, stamps=one.stamps + (share * since).astype(np.int64))

    return lambda case: replace(
        case, plates={name: moved(one) for name, one in case.plates.items()}
    )


def _turn_place(name: str, angle: float) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        place, yaw = case.places[name]
        return replace(case, places={**case.places, name: (place, yaw + angle)})

    return change


Z_DOWN = np.diag([1.0, -1.0, -1.0])
YAWED = Rotation.from_euler('z', 5.0, degrees=True)
QUARTER = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
MISTAKES: dict[str, Mistake] = {
    'joints in degrees': Mistake(
        joints(lambda q, n: np.degrees(q)), ('unit', 'joints_in_degrees')
    ),
    'forces and moments in kN': Mistake(plates(scaled(*[1e-3] * 6)), ('unit',)),
    'forces in kN, moments in N m': Mistake(plates(scaled(*[1e-3] * 3, 1, 1, 1)), ('unit',)),
    'forces in kgf': Mistake(plates(scaled(*[1 / 9.80665] * 3, 1, 1, 1)), ('unit',)),
    'moments in N mm': Mistake(
        plates(scaled(1, 1, 1, *[1e3] * 3)), ('unit', 'moments_in_newton_millimetres')
    ),
    'base position in mm': Mistake(
        base(scaled(*[1e3] * 3, 1, 1, 1, 1)), ('unit', 'base_far_from_plates')
    ),
    'base quaternion w x y z': Mistake(
        base(lambda v: v[:, [0, 1, 2, 6, 3, 4, 5]]), ('quaternion_order',)
    ),
    'orientation of the world in the base': Mistake(
        base(scaled(1, 1, 1, -1, -1, -1, 1)), ('pose_inverted',)
    ),
    'plates exchanged': Mistake(_swapped, ('sensors_swapped',)),
    'forces on the ground': Mistake(plates(scaled(*[-1.0] * 6)), ('opposite_sign',)),
    'one plate of wrong sign': Mistake(
        plates(scaled(*[-1.0] * 6), PLATES[:1]), ('opposite_sign',)
    ),
    'plates with z down': Mistake(plates(turned(Z_DOWN)), ('frame_turned',)),
    'one plate turned by 90 degrees': Mistake(
        plates(turned(QUARTER), PLATES[1:]), ('frame_turned',)
    ),
    'moments about the corner': Mistake(
        plates(lambda v: np.hstack([v[:, :3], v[:, 3:] + np.cross([0.25, 0.2, 0.0], v[:, :3])])),
        ('moments_about_another_point',),
    ),
    'plate 0.2 m elsewhere': Mistake(
        _place('force_plate', (0.2, 0.0, 0.0)), ('moments_about_another_point',)
    ),
    'knee of wrong sign': Mistake(joints(_sign('r_knee_joint')), ('joint_sign',)),
    'hip roll of wrong sign': Mistake(joints(_sign('l_hip_roll_joint')), ('joint_sign',)),
    'left and right joints swapped': Mistake(joints(_sides), ('joints_swapped',)),
    'hip pitches swapped': Mistake(
        joints(_exchanged('l_hip_pitch_joint', 'r_hip_pitch_joint')), ('joints_swapped',)
    ),
    'base pose of the head': Mistake(_other_link('head_top'), ('pose_of_another_link',)),
    'base pose of the thigh': Mistake(_other_link('r_hip_pitch'), ('pose_of_another_link',)),
    'one plate 1.5 times too large': Mistake(
        plates(scaled(*[1.5] * 6), PLATES[:1]), ('scale', 'misfit_unexplained')
    ),
    'wrenches 60 ms late': Mistake(
        _late(0.06), ('wrench_late', 'stamps_delayed', 'clocks_differ'), (), ('stamps_delayed',)
    ),
    'knee encoder stuck': Mistake(joints(_stuck), ('stuck',)),
    'positions that nobody fills': Mistake(joints(lambda q, _: 0.0 * q), ('stuck',)),
    'Fz of a plate stuck': Mistake(plates(_stuck_plate, PLATES[:1]), ('stuck',)),
    'Fz of the plates saturated': Mistake(plates(_saturated), ('saturated', 'stuck')),
    'Fy of 12 N not tared': Mistake(
        plates(lambda v: v + np.array([0.0, 12.0, 0, 0, 0, 0]), PLATES[:1]),
        ('plate_offset',),
        (),
        ('plate_tared',),
    ),
    'motion capture 8 degrees askew': Mistake(_tilted, ('base_tilted',)),
    'one plate in kN': Mistake(plates(scaled(*[1e-3] * 6), PLATES[:1]), ('unit',)),
    'joints of the right leg in degrees': Mistake(
        joints(_leg_degrees), ('unit', 'joints_in_degrees')
    ),
    'knee of wrong sign from the middle on': Mistake(
        halfway(joints(_sign('r_knee_joint'))), ('joint_sign', 'changes')
    ),
    'plates exchanged from the middle on': Mistake(
        halfway(_swapped), ('sensors_swapped', 'changes')
    ),
    'one plate of wrong sign from the middle on': Mistake(
        halfway(plates(scaled(*[-1.0] * 6), PLATES[:1])), ('opposite_sign', 'changes')
    ),
    'knee 8 degrees off its zero': Mistake(
        joints(_added('r_knee_joint', np.radians(8.0))), ('joint_zero',)
    ),
    'knee shows 1.1 times its angle': Mistake(
        _one_joint('r_knee_joint', lambda q: 1.1 * q), ('joint_scale',)
    ),
    'hip 5 degrees off its zero': Mistake(
        joints(_added('l_hip_pitch_joint', np.radians(5.0))), ('joint_zero',)
    ),
    'zero of the knee wanders by 0.1 rad': Mistake(
        _one_joint('r_knee_joint', lambda q: q + np.linspace(0.0, 0.1, len(q))),
        ('joint_drift',),
    ),
    'all joints show 1.05 times their angles': Mistake(
        joints(lambda q, n: 1.05 * q), ('joint_scale',)
    ),
    'base markers 5 degrees askew in yaw': Mistake(
        base(
            lambda v: np.hstack(
                [v[:, :3], (Rotation.from_quat(v[:, 3:]) * YAWED).as_quat()],
            )
        ),
        ('base_turned',),
    ),
    'thighs of the URDF 5 % too long': Mistake(_thighs(1.05), ('link_length',)),
    'thighs of the URDF 15 % too long': Mistake(_thighs(1.15), ('link_length',)),
    'Fx of a plate of wrong sign': Mistake(
        plates(scaled(-1, 1, 1, 1, 1, 1), PLATES[:1]), ('axis_sign', 'opposite_sign')
    ),
    'plate turned by 15 degrees': Mistake(
        _turn_place('force_plate', np.radians(15.0)), ('frame_turned', 'plate_yaw')
    ),
    'joints repeat their values for 60 ms': Mistake(
        held_for('joints', 0.06), ('repeated',), (), ('stamps_delayed',)
    ),
    'base pose repeats its values for 0.1 s': Mistake(
        held_for('base', 0.1), ('repeated',), (), ('stamps_delayed',)
    ),
    'clock of the plates 0.5 % fast': Mistake(
        _drifting(0.005), ('clock_drift', 'clocks_differ', 'wrench_late', 'stamps_delayed')
    ),
    'base pose 40 ms late': Mistake(
        lambda case: replace(
            case, base=replace(case.base, stamps=case.base.stamps + np.int64(40_000_000))
        ),
        ('base_late', 'stamps_delayed', 'clocks_differ'),
        (),
        ('stamps_delayed',),
    ),
    'base pose stuck': Mistake(base(_stuck_base), ('stuck',)),
    'base 10 cm too high': Mistake(
        base(lambda v: v + np.array([0, 0, 0.1, 0, 0, 0, 0])), ('base_shifted', 'base_height')
    ),
    'elbow and shoulder exchanged': Mistake(
        joints(_exchanged('r_elbow_joint', 'r_shoulder_pitch_joint')), ('joints_swapped',)
    ),
    'knee of wrong sign and forces in kgf': Mistake(
        lambda case: plates(scaled(*[1 / 9.80665] * 3, 1, 1, 1))(
            joints(_sign('r_knee_joint'))(case)
        ),
        ('unit', 'joint_sign', 'misfit_unexplained'),
    ),
    'one glitch of a plate of 1e5 N': Mistake(
        plates(glitch(1e5, 2), PLATES[:1]), LEFT_OUT, corrected=LEFT_OUT
    ),
    'one glitch of the knee of 3 rad': Mistake(
        joints(lambda q, names: glitch(3.0, names.index('r_knee_joint'))(q)),
        LEFT_OUT,
        corrected=LEFT_OUT,
    ),
    # No motion tells it from other masses than the URDF's, which are what is identified; a scale
    # does (the next one), and the note says so.
    'stamps of arrival of the joints, 10 ms late in the mean': Mistake(
        lambda case: replace(
            case, joints=replace(case.joints, stamps=arrived(case.joints.stamps, 0.01))
        ),
        ('stamps_jitter',),
        corrected=('stamps_jitter',),
    ),
    'stamps of arrival of the base pose, 6 ms late in the mean': Mistake(
        lambda case: replace(
            case, base=replace(case.base, stamps=arrived(case.base.stamps, 0.006))
        ),
        ('stamps_jitter',),
        corrected=('stamps_jitter',),
    ),
    'stamps of arrival of the base pose, 20 ms late in the mean': Mistake(
        lambda case: replace(
            case, base=replace(case.base, stamps=arrived(case.base.stamps, 0.02))
        ),
        ('stamps_jitter',),
        corrected=('stamps_jitter',),
    ),
    'hip pitch in turns': Mistake(
        _one_joint('r_hip_pitch_joint', lambda q: q / (2.0 * np.pi)), ('unit', 'scale')
    ),
    'both plates 1.1 times too large': Mistake(
        plates(scaled(*[1.1] * 6)), ('scale', 'total_mass'), noted=('weight_not_of_urdf',)
    ),
    'both plates 1.1 times too large, robot weighed': Mistake(
        lambda case: plates(scaled(*[1.1] * 6))(_weighed(case)), ('weight_against_scale',)
    ),
    'plates set to zero under load': Mistake(
        plates(lambda v: v - v[0]), ('tared_under_load', 'weight_not_of_urdf')
    ),
    'one plate set to zero under load': Mistake(
        plates(lambda v: v - v[0], PLATES[:1]), ('tared_under_load',)
    ),
    'centre of pressure for moments': Mistake(plates(_pressure), ('unit',)),
    'moments that nobody fills': Mistake(plates(scaled(1, 1, 1, 0, 0, 0)), ('moments_missing',)),
    'Mx and My exchanged': Mistake(
        plates(lambda v: v[:, [0, 1, 2, 4, 3, 5]]), ('axes_exchanged',)
    ),
    'Fx and Fy exchanged': Mistake(
        plates(lambda v: v[:, [1, 0, 2, 3, 4, 5]]), ('axes_exchanged',)
    ),
    'one plate 60 ms late': Mistake(_one_late, ('wrench_late',)),
    'base with y up': Mistake(base(_y_up), ('world_turned', 'world_not_upright', 'base_turned')),
    'base with yaw alone': Mistake(base(_yaw_alone), ('base_upright',)),
    'pitch and roll of an ankle exchanged': Mistake(
        joints(_exchanged('r_ankle_pitch_joint', 'r_ankle_roll_joint')), ('joints_swapped',)
    ),
}


# Offline and live --------------------------------------------------------------------------------


def _messages(case: Case) -> list[Item]:
    made = [Item(EPOCH_NS, '/tf_static', _static(case))]
    names = list(case.names)
    for stamp, row in zip(case.joints.stamps, case.joints.values, strict=True):
        message = messages.new(
            'sensor_msgs/msg/JointState', header=messages.header(int(stamp)), name=names,
            position=row,
        )  # fmt: skip
        made.append(Item(int(stamp), '/joint_states', message))
    for stamp, row in zip(case.base.stamps, case.base.values, strict=True):
        message = messages.new(
            'geometry_msgs/msg/PoseStamped',
            header=messages.header(int(stamp), 'world'),
            pose={'position': row[:3], 'orientation': row[3:]},
        )
        made.append(Item(int(stamp), '/base/pose', message))
    for name, one in case.plates.items():
        for stamp, row in zip(one.stamps, one.values, strict=True):
            message = messages.new(
                'geometry_msgs/msg/WrenchStamped',
                header=messages.header(int(stamp), name),
                wrench={'force': row[:3], 'torque': row[3:]},
            )
            made.append(Item(int(stamp), f'/{name}/wrench', message))
    return sorted(made, key=lambda item: item.time_ns)


def _static(case: Case) -> Any:
    transforms = [
        {
            'header': messages.header(EPOCH_NS, 'world'),
            'child_frame_id': name,
            'transform': {
                'translation': place,
                'rotation': tuple(Rotation.from_euler('z', yaw).as_quat()),
            },
        }
        for name, (place, yaw) in case.places.items()
    ]
    return messages.new('tf2_msgs/msg/TFMessage', transforms=transforms)


def offline(case: Case, folder: Path) -> Told:
    """Checks, and the identification where they do not forbid it."""
    bag = folder / 'humanoid'
    with BagWriter(bag, overwrite=True) as writer:
        for item in _messages(case):
            writer.write_message(item.topic, item.message, item.time_ns)
    (bag / 'truth.json').write_text(json.dumps(case.truth), 'utf-8')
    options = {'urdf': case.urdf, **case.options}
    try:
        system, config = configured(NAME, None, options)
        findings = found(system.checks(system.read(bag, config), config))
        if any(level == 'bad' for level, _, _ in findings):
            return Told(findings)
        told = outcome_told(run('identify', NAME, [bag], options=options))
    except VehIdError as error:
        return Told(refusal=str(error))
    return replace(told, findings=(*findings, *told.findings))


def live(case: Case, folder: Path) -> Told:
    """Sensor fusion and the identification node over the same messages."""
    config = yaml.safe_load(
        (robot_path().parents[1] / 'contact_identification.yaml').read_text('utf-8')
    )
    fusion = config['sensor_fusion']['ros__parameters']
    fusion.update(
        wrench_sensors=list(PLATES), publish_tf=False, publish_odometry=False, rate=100.0
    )
    for name in PLATES:
        fusion[name] = {'topic': f'{name}/wrench', 'attached': 'world'}
    contact = config['contact_identification']['ros__parameters']
    contact.update(plate_centre=[0.0], reconstruction=False, urdf=str(case.urdf), **case.options)
    path = folder / 'contact.yaml'
    path.write_text(yaml.safe_dump(config), 'utf-8')
    try:
        return live_told('contact_identification', _messages(case), case.known, path)
    except VehIdError as error:
        return Told(refusal=str(error))
