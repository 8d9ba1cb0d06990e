"""Unit and meaning of every quantity of the engineer's sheet, and what simulators call it."""

from __future__ import annotations

_CORNER = {'fl': 'front left', 'fr': 'front right', 'rl': 'rear left', 'rr': 'rear right'}
_AXES = {
    'x': 'ahead of the rear axle',
    'y': 'left of the middle',
    'z': 'above the wheel centres',
}

#: Unit and description.
MEANING: dict[str, tuple[str, str]] = {
    'total_mass': ('kg', 'sprung and unsprung mass, with wheels where their mass is known'),
    'sprung_mass': ('kg', 'carried by the suspensions'),
    'unsprung_mass': ('kg', 'all four corners, with wheels where their mass is known'),
    **{f'cg_{a}': ('m', f'centre of gravity of the car, {w}') for a, w in _AXES.items()},
    **{f'sprung_cg_{a}': ('m', f'of the sprung mass, {w}') for a, w in _AXES.items()},
    'cg_height': ('m', 'centre of gravity above the road, by the loaded wheel radius'),
    **{f'load_{c}': ('N', f'wheel load {w}, car standing level') for c, w in _CORNER.items()},
    'load_front': ('N', 'load of the front axle'),
    'load_rear': ('N', 'load of the rear axle'),
    'front_share': ('%', 'of the load on the front axle'),
    'left_share': ('%', 'of the load on the left wheels'),
    'cross_weight': ('%', 'of the load on front right and rear left'),
    'Ixx': ('kg m^2', 'roll inertia of the sprung mass at its centre of gravity'),
    'Iyy': ('kg m^2', 'pitch inertia of the sprung mass at its centre of gravity'),
    'Izz': ('kg m^2', 'yaw inertia of the sprung mass at its centre of gravity'),
    'Ixy': ('kg m^2', 'product of inertia, -integral of x y dm'),
    'Ixz': ('kg m^2', 'product of inertia, -integral of x z dm'),
    'Iyz': ('kg m^2', 'product of inertia, -integral of y z dm'),
    'principal_1': ('kg m^2', 'smallest principal moment (roll)'),
    'principal_2': ('kg m^2', 'middle principal moment'),
    'principal_3': ('kg m^2', 'largest principal moment'),
    'roll_axis_pitch': ('deg', 'pitch of the principal roll axis, nose down positive'),
    'roll_axis_yaw': ('deg', 'yaw of the principal roll axis, to the left positive'),
    'roll_radius': ('m', 'radius of gyration in roll'),
    'pitch_radius': ('m', 'radius of gyration in pitch'),
    'yaw_radius': ('m', 'radius of gyration in yaw'),
    **{
        f'roll_stiffness_{a}': ('N m/rad', f'of the {a} axle, springs and anti-roll bar')
        for a in ('front', 'rear')
    },
    **{f'roll_damping_{a}': ('N m s/rad', f'of the {a} axle') for a in ('front', 'rear')},
    'roll_stiffness_share': ('%', 'of the roll stiffness at the front axle'),
    **{f'{m}_frequency': ('Hz', f'natural frequency in {m}') for m in ('heave', 'roll', 'pitch')},
    **{f'{m}_damping': ('', f'damping ratio in {m}') for m in ('heave', 'roll', 'pitch')},
    **{
        f'damping_ratio_{c}': ('', f'of the damper {w} with the mass that it carries')
        for c, w in _CORNER.items()
    },
    **{f'hop_frequency_{c}': ('Hz', f'wheel hop {w}') for c, w in _CORNER.items()},
    **{f'hop_damping_{c}': ('', f'damping ratio of wheel hop {w}') for c, w in _CORNER.items()},
    'cornering_front': ('N/rad', 'cornering stiffness of the front axle at small slip angles'),
    'cornering_rear': ('N/rad', 'cornering stiffness of the rear axle at small slip angles'),
    'compliance_front': ('deg/g', 'cornering compliance of the front axle'),
    'compliance_rear': ('deg/g', 'cornering compliance of the rear axle'),
    'roll_gradient': ('deg/g', 'roll angle over lateral acceleration'),
    'roll_hz': ('Hz', 'natural frequency of roll'),
    'characteristic_speed': ('m/s', 'at which the yaw response to steering is largest'),
    'understeer_gradient': ('deg/g', 'steering at the wheels beyond the kinematic angle, per g'),
}

#: What vehicle dynamics programs ask for under these headings.
TERMS: dict[str, str] = {
    'sprung_mass': 'sprung mass',
    'sprung_cg_x': 'sprung mass centre, from the rear axle',
    'sprung_cg_y': 'sprung mass lateral offset',
    'sprung_cg_z': 'sprung mass height over the wheel centres',
    'Ixx': 'roll inertia (Ixx)',
    'Iyy': 'pitch inertia (Iyy)',
    'Izz': 'yaw inertia (Izz)',
    'Ixy': 'product: Ixy',
    'Ixz': 'product: Ixz',
    'Iyz': 'product: Iyz',
    'unsprung_mass': 'unsprung mass, all corners',
    'roll_stiffness_front': 'total front roll stiffness',
    'roll_stiffness_rear': 'total rear roll stiffness',
    'understeer_gradient': 'understeer gradient',
}
