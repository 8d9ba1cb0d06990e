"""Of the vehicle observer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mistaken.common import Mistake
from mistaken.fusion import Edit
from mistaken.unlisted import road
from mistaken.vehicle import Case, described, edited


def _with(edits: Mapping[str, Edit]) -> Callable[[Case], Case]:
    return lambda case: replace(case, edits=edits)


MISTAKES: dict[str, Mistake] = {
    **{
        title: Mistake(_with(edits), codes, corrected=corrected)
        for title, (edits, codes, corrected) in road.EDITS.items()
    },
    'steering wheel in steps of 20 degrees': Mistake(
        edited(joints=road.angles(lambda q: [*q[:4], road.steps(0.349)(q[4])])), ('coarse',)
    ),
    'steering saturated at 0.5 rad': Mistake(
        edited(joints=road.angles(lambda q: [*q[:4], min(max(q[4], -0.5), 0.5)])), ('saturated',)
    ),
    'tracks of another car (half tracks of 0.6 m)': Mistake(
        described(geometry__half_track_front=0.6, geometry__half_track_rear=0.6), ('geometry',)
    ),
    'antenna on the other side, no transform': Mistake(
        described(transforms=False, sensors__gps__position=[1.2, 0.8, 1.2]), ('antenna_place',)
    ),
    'inertial unit 1 m aside, no transform': Mistake(
        described(transforms=False, sensors__imu__position=[1.2, 1.0, 0.5]),
        ('imu_place', 'imu_position', 'geometry'),
    ),
    'mass in lb': Mistake(described(chassis__mass=3130.0), ('unit', 'mass', 'geometry')),
    'mass in t': Mistake(described(chassis__mass=1.42), ('unit', 'mass'), ('mass',)),
    'inertia in g m^2': Mistake(
        described(chassis__inertia=[540e3, 0.0, -40e3, 2200e3, 0.0, 2400e3]),
        ('unit', 'inertia'),
        ('inertia',),
    ),
    'steering ratio 1.5 for 15': Mistake(
        described(sensors__rack__steering_ratio=1.5), ('unit', 'scale', 'geometry')
    ),
    **{
        title: Mistake(_with(edits), codes, corrected=corrected)
        for title, (edits, codes, corrected) in road.FURTHER.items()
    },
    'wheelbase of another car (2.3 m)': Mistake(
        described(geometry__wheelbase=2.3), ('geometry', 'scale')
    ),
    'front axle said to be driven': Mistake(
        described(sensors__wheels__driven='front'), ('wheels_exchanged', 'driven')
    ),
    'centre of mass behind the rear axle': Mistake(
        described(chassis__centre=[-1.46, 0.0, 0.25]), ('geometry', 'centre', 'unit'), ('centre',)
    ),
    'centre of mass in mm': Mistake(
        described(chassis__centre=[1460.0, 0.0, 250.0]), ('geometry', 'unit'), ('centre',)
    ),
    'tyre stiffness in N/mm': Mistake(
        described(tyre__stiffness=230.0), ('unit', 'geometry', 'stiffness'), ('stiffness',)
    ),
    'cornering stiffness a tenth': Mistake(
        described(tyre__cornering=1.5), ('tyre', 'unit', 'scale', 'stiffness'), ('cornering',)
    ),
    'gravity of 1 g': Mistake(described(gravity=1.0), ('unit', 'gravity'), ('gravity',)),
    'antenna 2 m too far ahead, no transform': Mistake(
        described(transforms=False, sensors__gps__position=[3.2, 0.0, 1.2]), ('antenna_place',)
    ),
}
