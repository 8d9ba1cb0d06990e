"""Of a humanoid on two force plates: thought of after the first list was mended."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from mistaken.common import LEFT_OUT, Mistake
from mistaken.humanoid import (
    PLATES,
    Case,
    _exchanged,
    _place,
    base,
    halfway,
    joints,
    plates,
    scaled,
)
from mistaken.unlisted import arrays
from veh_identification.types import Array

FIRST, SECOND = PLATES[:1], PLATES[1:]


def _yawed(name: str, degrees: float) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        place, yaw = case.places[name]
        return replace(case, places={**case.places, name: (place, yaw + np.radians(degrees))})

    return change


def _stamped(seconds: float) -> Callable[[Case], Case]:
    """Stamps of the plates on ticks."""

    def change(case: Case) -> Case:
        made = {}
        for name, one in case.plates.items():
            t = arrays.on_ticks(seconds)(1e-9 * (one.stamps - one.stamps[0]))
            made[name] = replace(one, stamps=one.stamps[0] + np.round(1e9 * t).astype(np.int64))
        return replace(case, plates=made)

    return change


def _joint(name: str, change: Callable[[Array], Array]) -> Callable[[Case], Case]:
    def make(q: Array, names: list[str]) -> Array:
        k = names.index(name)
        q[:, k : k + 1] = change(q[:, k : k + 1].copy())
        return q

    return joints(make)


def _urdf(pattern: str, change: Callable[[re.Match[str]], str]) -> Callable[[Case], Case]:
    def make(case: Case) -> Case:
        path = Path(tempfile.mkdtemp()) / case.urdf.name
        text, count = re.subn(pattern, change, case.urdf.read_text('utf-8'), flags=re.S)
        assert count
        path.write_text(text, 'utf-8')
        return replace(case, urdf=path)

    return make


def _longer(found: re.Match[str]) -> str:
    place = [1.08 * float(one) for one in found[2].split()]
    return f'{found[1]}{" ".join(f"{one:.6g}" for one in place)}"'


def _heavier(found: re.Match[str]) -> str:
    return f'{found[1]}{1.5 * float(found[2]):.6g}"'


def _mounted(place: tuple[float, float, float], rpy: tuple[float, float, float]) -> arrays.Change:
    """Poses of a frame that is fixed to the base so."""
    own = Rotation.from_euler('xyz', rpy, degrees=True)

    def change(values: Array) -> Array:
        turn = Rotation.from_quat(values[:, 3:])
        return np.hstack([values[:, :3] + turn.apply(place), (turn * own).as_quat()])

    return change


def _below(metres: float) -> arrays.Change:
    """Moments about a point so far below the origin of the frame."""

    def change(values: Array) -> Array:
        values[:, 3:] += np.cross([0.0, 0.0, metres], values[:, :3])
        return values

    return change


LATE = ('wrench_late', 'stamps_delayed', 'stamps_jitter', 'clocks_differ')
CROSS = ('cross_talk', 'frame_turned', 'axis_sign', 'plate_offset', 'base_tilted', 'plate_tilted')
MISTAKES: dict[str, Mistake] = {
    'second plate turned by 15 degrees': Mistake(
        _yawed(PLATES[1], 15.0), ('plate_yaw', 'frame_turned')),
    'second plate 8 cm off': Mistake(
        _place(PLATES[1], (0.08, 0.0, 0.0)), ('moments_about_another_point', 'plate_place')),
    'left knee 1.08 times': Mistake(
        _joint('l_knee_joint', arrays.times(1.08, 0)),
        ('joint_scale', 'joint_zero', 'link_length')),
    'left knee and ankle exchanged from the middle on': Mistake(
        halfway(joints(_exchanged('l_knee_joint', 'l_ankle_pitch_joint'))),
        ('joints_swapped', 'changes')),
    'stamps of the plates on ticks of 20 ms': Mistake(
        _stamped(0.02),
        (*LATE, 'repeated', 'duplicates'), (), ('stamps_jitter', 'stamps_delayed')),
    'Fz of the first plate clipped at 70 % of its swing': Mistake(
        plates(arrays.clipped(0.7, 2), FIRST), ('saturated',)),
    'Fz of the first plate talks into Fx by 6 %': Mistake(
        plates(arrays.talking(0.06, 2, 0), FIRST), CROSS),
    'Fx and Fy of the plates in lbf': Mistake(
        plates(scaled(0.2248, 0.2248, 1, 1, 1, 1)), ('unit', 'scale')),
    'Fz of the plates with a play of 8 N': Mistake(
        plates(arrays.played(8.0, 2)), ('hysteresis', 'coarse', 'saturated')),
    'quaternions of half their length': Mistake(
        base(arrays.times(0.5, 3, 4, 5, 6)), ('quaternion_norm', 'unit', 'quaternion_order')),
    'shank of the right leg 8 % longer in the URDF': Mistake(
        _urdf(r'(<joint name="r_ankle_pitch[^>]*>.*?<origin xyz=")([^"]+)"', _longer),
        ('link_length',)),
    'torso of another variant (1.5 times as heavy) in the URDF': Mistake(
        _urdf(r'(<link name="base_link">.*?<mass value=")([^"]+)"', _heavier),
        ('weight_not_of_urdf', 'links_implausible')),
    'both hips of wrong sign in roll': Mistake(
        joints(lambda q, names: q * np.where(['hip_roll' in one for one in names], -1.0, 1.0)),
        ('joint_sign', 'joints_swapped')),
    'first plate zero for half a second': Mistake(
        plates(arrays.dropped(0.5, 0.06), FIRST),
        ('stuck', 'dropped_out', 'plate_zeroed', *LEFT_OUT)),
    'second plate 50 ms late': Mistake(
        lambda case: replace(case, plates={
            **case.plates,
            PLATES[1]: replace(case.plates[PLATES[1]],
                               stamps=case.plates[PLATES[1]].stamps + 50_000_000)}),
        LATE, (), ('stamps_delayed',)),
    'right knee slips by 8 degrees in the middle': Mistake(
        _joint('r_knee_joint', arrays.stepped(0.14, 0)),
        ('changes', 'joint_zero', 'joint_drift', 'joint_scale')),
    'markers 4 cm to the left and 3 cm up': Mistake(
        base(_mounted((0.0, 0.04, 0.03), (0, 0, 0))), ('base_shifted', 'base_turned')),
    'markers pitched by 8 degrees': Mistake(
        base(_mounted((0, 0, 0),
        (0.0, 8.0, 0.0))), ('base_tilted', 'base_turned', 'base_shifted')),
    'moments about a point 4 cm below the plates': Mistake(
        plates(_below(0.04)), ('moments_about_another_point', 'plate_height')),
    'zero of Fz of the second plate wanders by 10 N': Mistake(
        plates(arrays.drifted(10.0, 2), SECOND), ('drift', 'changes', 'plate_offset')),
    'base pose 6 cm too low': Mistake(base(arrays.plus(-0.06, 2)), ('base_shifted',)),
    'gravity of the moon': Mistake(
        lambda case: replace(case, options={**case.options, 'gravity': 1.62}),
        ('gravity', 'weight_not_of_urdf', 'weight_against_scale', 'motion_scaled')),
}  # fmt: skip
