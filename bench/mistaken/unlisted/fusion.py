"""Of sensor fusion on a car."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mistaken.common import Mistake
from mistaken.fusion import Case, Edit, given
from mistaken.unlisted import road


def _with(edits: Mapping[str, Edit]) -> Callable[[Case], Case]:
    return lambda case: replace(case, edits=edits, told=[])


MISTAKES: dict[str, Mistake] = {
    **{
        title: Mistake(_with(edits), codes, corrected=corrected)
        for title, (edits, codes, corrected) in road.EDITS.items()
    },
    'track of another car (1.0 m)': Mistake(given(wheels__track=1.0), ('geometry', 'scale')),
    'wheelbase 20 % too long': Mistake(given(wheels__wheelbase=3.24), ('geometry', 'scale')),
    'steering ratio 1.3 times': Mistake(given(wheels__steering_ratio=19.5), ('scale', 'geometry')),
    'front and rear wheels exchanged': Mistake(
        given(wheels__rear=['wheel_fl', 'wheel_fr'], wheels__front=['wheel_rl', 'wheel_rr']),
        ('wheels_exchanged',),
    ),
    **{
        title: Mistake(_with(edits), codes, corrected=corrected)
        for title, (edits, codes, corrected) in road.FURTHER.items()
    },
    'datum of another site (40 km)': Mistake(
        given(gnss__datum=[48.4, 11.8, 520.0]), ('datum_far',)
    ),
    'left and right wheels exchanged in the parameters': Mistake(
        given(wheels__rear=['wheel_rr', 'wheel_rl'], wheels__front=['wheel_fr', 'wheel_fl']),
        ('wheels_exchanged', 'sign'),
    ),
    'antenna 2 m too far ahead': Mistake(
        given(gnss__position=[3.2, 0.0, 1.2]), ('antenna_place', 'poses_disagree')
    ),
    'inertial unit said to be turned by a quarter': Mistake(
        given(imu__orientation_rpy=[0.0, 0.0, 1.5708]),
        ('imu_turned', 'axis', 'sign', 'poses_disagree'),
    ),
    'gravity said to be removed, though it is there': Mistake(
        given(imu__gravity='removed'), ('gravity_removed', 'gravity_present', 'unit')
    ),
}
