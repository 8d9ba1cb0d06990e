"""Of a humanoid on two force plates."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from mistaken.common import Mistake
from mistaken.humanoid import (
    PLATES,
    YAWED,
    Case,
    _added,
    _place,
    _sign,
    base,
    joints,
    plates,
    scaled,
    turned,
)
from mistaken.unlisted import arrays, further_humanoid
from veh_identification.types import Array


def _of_joints(change: arrays.Change) -> Callable[[Case], Case]:
    return joints(lambda q, names: change(q))


def _in_world(case: Case) -> Case:
    """Wrenches in axes of the world, in frames that are turned."""
    made = dict(case.plates)
    for name, one in case.plates.items():
        turn = Rotation.from_euler('z', case.places[name][1]).as_matrix()
        made[name] = replace(one, values=turned(turn)(one.values))
    return replace(case, plates=made)


def _reversed_leg(q: Array, names: list[str]) -> Array:
    parts = ('hip', 'knee', 'ankle')
    leg = [
        k
        for k, name in enumerate(names)
        if name.startswith('r_') and any(part in name for part in parts)
    ]
    q[:, leg] = q[:, leg[::-1]]
    return q


def _one_degrees(q: Array, names: list[str]) -> Array:
    q[:, names.index('r_knee_joint')] *= 180.0 / np.pi
    return q


def _urdf(change: Callable[[str], str]) -> Callable[[Case], Case]:
    def make(case: Case) -> Case:
        path = Path(tempfile.mkdtemp()) / case.urdf.name
        path.write_text(change(case.urdf.read_text('utf-8')), 'utf-8')
        return replace(case, urdf=path)

    return make


def _masses(factor: float) -> Callable[[str], str]:
    pattern = r'((?:mass value|i[xyz][xyz])=)"([^"]+)"'
    return lambda text: re.sub(pattern, lambda m: f'{m[1]}"{factor * float(m[2]):.9g}"', text)


def _hips(text: str) -> str:
    """The legs on each other's hips."""

    def place(side: str) -> str:
        found = re.search(rf'<joint name="{side}_hip[^>]*>.*?<origin xyz="([^"]+)"', text, re.S)
        assert found is not None
        return found[1]

    left, right = place('l'), place('r')
    first = dict.fromkeys('lr', True)

    def other(found: re.Match[str]) -> str:
        side = found[2]
        if not first[side]:
            return found[0]
        first[side] = False
        return f'{found[1]}{right if side == "l" else left}"'

    return re.sub(
        r'(<joint name="([lr])_hip[^>]*>.*?<origin xyz=")[^"]+"', other, text, flags=re.S
    )


def _mirrored(values: Array) -> Array:
    """Poses of left-handed axes: y to the right."""
    return values * np.array([1, -1, 1, -1, 1, -1, 1])


def _other_north(values: Array) -> Array:
    """Poses in a world that is a quarter turn about z from that of the plates."""
    turn = Rotation.from_euler('z', 90.0, degrees=True)
    return np.hstack(
        [turn.apply(values[:, :3]), (turn * Rotation.from_quat(values[:, 3:])).as_quat()]
    )


def _marker(values: Array) -> Array:
    """Poses of a marker 5 cm ahead of the origin of the base."""
    ahead = Rotation.from_quat(values[:, 3:]).apply([0.05, 0.0, 0.0])
    return np.hstack([values[:, :3] + ahead, values[:, 3:]])


def _rolled(values: Array) -> Array:
    """Markers that are stuck on 5 degrees askew in roll."""
    roll = Rotation.from_euler('x', 5.0, degrees=True)
    return np.hstack([values[:, :3], (Rotation.from_quat(values[:, 3:]) * roll).as_quat()])


def _both_plates(case: Case) -> Case:
    """Both plates on the topic of the first."""
    a, b = (case.plates[name] for name in PLATES)
    values, count = a.values.copy(), min(len(a.values), len(b.values))
    values[1:count:2] = b.values[1:count:2]
    return replace(case, plates={**case.plates, PLATES[0]: replace(a, values=values)})


def _dead(values: Array) -> Array:
    """Loads below 30 N are cut off."""
    values[np.abs(values[:, 2]) < 30.0] = 0.0
    return values


def _growing(values: Array) -> Array:
    return values * np.linspace(1.0, 1.2, len(values))[:, None]


LATE = ('stamps_delayed', 'wrench_late', 'base_late', 'clocks_differ')
FIRST = PLATES[:1]
MISTAKES: dict[str, Mistake] = {
    'plate said to be 5 cm higher': Mistake(
        _place('force_plate', (0.0, 0.0, 0.05)), ('moments_about_another_point', 'plate_height')
    ),
    'wrenches in axes of the world': Mistake(_in_world, ('frame_turned', 'plate_yaw')),
    'one plate of left-handed axes': Mistake(
        plates(scaled(1, -1, 1, -1, 1, -1), FIRST), ('axis_sign', 'frame_turned', 'opposite_sign')
    ),
    'moments of wrong sign': Mistake(
        plates(scaled(1, 1, 1, -1, -1, -1)), ('axis_sign', 'opposite_sign', 'moment_sign')
    ),
    'Mz of one plate of wrong sign': Mistake(
        plates(scaled(1, 1, 1, 1, 1, -1), FIRST), ('axis_sign', 'opposite_sign')
    ),
    'one knee in degrees': Mistake(joints(_one_degrees), ('unit', 'joints_in_degrees')),
    'all joints of wrong sign': Mistake(_of_joints(lambda q: -q), ('joint_sign',)),
    'joints of the right leg named from the foot upwards': Mistake(
        joints(_reversed_leg), ('joints_swapped',)
    ),
    'names of the joints one further': Mistake(
        _of_joints(lambda q: np.roll(q, 1, axis=1)), ('joints_swapped', 'joints_misordered')
    ),
    'ankle roll of wrong sign': Mistake(joints(_sign('r_ankle_roll_joint')), ('joint_sign',)),
    'masses of the URDF in lb': Mistake(
        _urdf(_masses(2.20462)), ('unit', 'weight_not_of_urdf', 'scale')
    ),
    'masses of the URDF in g': Mistake(
        _urdf(_masses(1e3)), ('unit', 'weight_not_of_urdf', 'scale'), ('mass',)
    ),
    'legs of the URDF on each other\'s hips': Mistake(
        _urdf(_hips), ('joints_swapped', 'link_place', 'link_length', 'sensors_swapped')
    ),
    'base pose smoothed over 0.1 s': Mistake(base(arrays.smoothed(10.0)), LATE, (), LATE),
    'joints smoothed over 80 ms': Mistake(_of_joints(arrays.smoothed(8.0)), LATE, (), LATE),
    'plates smoothed over 50 ms': Mistake(plates(arrays.smoothed(25.0)), LATE, (), LATE),
    'forces in steps of 50 N': Mistake(plates(arrays.rounded(50.0, [0, 1, 2])), ('coarse',)),
    'joints in steps of 3 degrees': Mistake(_of_joints(arrays.rounded(0.0524)), ('coarse',)),
    'base position in steps of 2 cm': Mistake(base(arrays.rounded(0.02, [0, 1, 2])), ('coarse',)),
    'one plate freezes for 1 s': Mistake(
        plates(arrays.frozen(0.5, 0.625), FIRST), ('stuck', 'repeated')
    ),
    'base pose freezes for 1 s': Mistake(base(arrays.frozen(0.5, 0.625)), ('stuck', 'repeated')),
    'joints freeze for 1 s': Mistake(_of_joints(arrays.frozen(0.5, 0.625)), ('stuck', 'repeated')),
    'both plates on the topic of the first': Mistake(
        _both_plates, ('two_sources', 'duplicates', 'changes', 'sensors_swapped')
    ),
    'loads below 30 N are cut off': Mistake(plates(_dead), ('plate_zeroed',), (), (),
                                            ('plate_zeroed',)),
    'height of the base in mm': Mistake(
        base(arrays.times(1e3, 2)), ('unit', 'base_far_from_plates', 'base_shifted')
    ),
    'motion capture of left-handed axes': Mistake(
        base(_mirrored), ('world_turned', 'world_mirrored', 'base_turned')
    ),
    'motion capture a quarter turn from the plates': Mistake(
        base(_other_north),
        ('world_turned', 'base_turned', 'frame_turned', 'moments_about_another_point'),
    ),
    'base marker 5 cm ahead': Mistake(base(_marker), ('base_shifted',)),
    'base markers 5 degrees askew in roll': Mistake(base(_rolled), ('base_tilted', 'base_turned')),
    'markers askew by 5 degrees in yaw and 5 cm ahead': Mistake(
        base(lambda v: _marker(
            np.hstack([v[:, :3], (Rotation.from_quat(v[:, 3:]) * YAWED).as_quat()])
        )),
        ('base_turned', 'base_shifted'),
    ),
    'gain of the plates grows by a fifth': Mistake(
        plates(_growing), ('scale', 'changes', 'drift', 'plate_drift')
    ),
    'Fz of a plate with 60 N of a load that was taken off': Mistake(
        plates(arrays.plus(60.0, 2), FIRST), ('plate_offset',), (), ('plate_tared',)
    ),
    'ankle pitch 5 degrees off its zero': Mistake(
        joints(_added('l_ankle_pitch_joint', np.radians(5.0))), ('joint_zero',)
    ),
    'Fz of a plate 1.2 times too large': Mistake(
        plates(arrays.times(1.2, 2), FIRST), ('scale',)
    ),
}  # fmt: skip
MISTAKES |= further_humanoid.MISTAKES
