"""What the names of Table I of Abdellatif 2009 mean; see `LegInertia` for the bodies of a leg."""

from __future__ import annotations

_RIGID = {
    'p1': 'leg about the axis along it, with the ring: I_zz1 + I_yy2 + I_zz3',
    'p2': 'leg across the beta axis less about itself: I_xx2 + I_xx3 - I_yy2 - I_zz3',
    'p3': 'leg about the beta axis: I_zz2 + I_yy3',
    'p4': 'first moment of the stator along the leg, from the base joint: s_y2',
    'p5': 'first moment of the rod along the leg, from the platform joint: s_z3',
    'p6': 'platform about x, with the rods at their joints: I_xx',
    'p7': 'platform about y, with the rods at their joints: I_yy',
    'p8': 'platform about z, with the rods at their joints: I_zz',
    'p9': 'first moment of the platform along z, with the rods: s_z',
    'p10': 'moving mass: platform and six rods',
    'p_sx': 'first moment of the platform along x, with the rods',
    'p_sy': 'first moment of the platform along y, with the rods',
    'p_Ixy': 'entry xy of the inertia matrix of the platform, with the rods',
    'p_Ixz': 'entry xz of the inertia matrix of the platform, with the rods',
    'p_Iyz': 'entry yz of the inertia matrix of the platform, with the rods',
}
_PASSIVE = {
    f'{kind}_{angle}{leg}': f'{what} friction of the {angle} axis of {whose}'
    for angle in ('alpha', 'beta')
    for kind, what, legs in (('r', 'dry', ('', *'123456')), ('v', 'viscous', ('',)))
    for leg in legs
    for whose in [f'the universal joint of leg {leg}' if leg else 'every universal joint']
}
_ACTUATORS = {
    f'{kind}{leg}': f'{what} friction of actuator {leg}'
    for kind, what in (('r', 'dry'), ('v', 'viscous'))
    for leg in range(1, 7)
}
GLOSSARY = {
    **_RIGID,
    **_PASSIVE,
    **_ACTUATORS,
    'fc': 'cut-off of the motion; its deviation is that of a line of the spectrum',
}
