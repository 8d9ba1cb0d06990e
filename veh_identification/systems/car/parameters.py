"""The 33 unknowns of the car (Venture 2006, Table II), their units, signs and natural scales."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CORNERS = ('fl', 'fr', 'rl', 'rr')  # branches 1, 2, 3, 4
OPPOSITE = {'fl': 'fr', 'fr': 'fl', 'rl': 'rr', 'rr': 'rl'}

CHASSIS = ('Mc', 'MXc', 'MYc', 'MZc', 'XXc', 'YYc', 'ZZc', 'XZc', 'XYc', 'YZc')
UNSPRUNG = ('M1', 'M2', 'M3', 'M4')
ANTI_ROLL = ('karr', 'karf')
SUSPENSION = tuple(f'{kind}{j}' for j in (1, 2, 3, 4) for kind in ('k', 'fs', 'h', 'off'))
NAMES: tuple[str, ...] = (*CHASSIS, *UNSPRUNG, *ANTI_ROLL, *SUSPENSION, 'Cx')
#: Further aerodynamic coefficients of equation 32, identified on demand only.
AERODYNAMIC = ('Cy', 'Cz', 'Cl', 'Cm', 'Cn')

_UNITS = {
    'Mc': 'kg',
    'MXc': 'kg m',
    'MYc': 'kg m',
    'MZc': 'kg m',
    'karr': 'N/m',
    'karf': 'N/m',
    'Cx': 'N s^2/m^2',
    'Cy': 'N s^2/m^2',
    'Cz': 'N s^2/m^2',
    'Cl': 'N s^2/m',
    'Cm': 'N s^2/m',
    'Cn': 'N s^2/m',
}
_SUSPENSION_UNITS = {'k': 'N/m', 'fs': 'N', 'h': 'N s/m', 'off': 'N', 'M': 'kg'}

#: Size that a parameter of a passenger car has, for statements about values near zero.
_SCALES = {
    'Mc': 1500.0,
    'MXc': 2000.0,
    'MYc': 1500.0,
    'MZc': 1500.0,
    'XXc': 600.0,
    'YYc': 6000.0,
    'ZZc': 6000.0,
    'XZc': 600.0,
    'XYc': 600.0,
    'YZc': 600.0,
    'karr': 2e4,
    'karf': 2e4,
    'Cx': 0.5,
    'Cy': 0.5,
    'Cz': 0.5,
    'Cl': 0.5,
    'Cm': 0.5,
    'Cn': 0.5,
}
_SUSPENSION_SCALES = {'k': 2.5e4, 'fs': 50.0, 'h': 3e3, 'off': 4e3, 'M': 25.0}
#: Parameters that cannot be negative in any car.
POSITIVE = (
    'Mc',
    'XXc',
    'YYc',
    'ZZc',
    'Cx',
    *UNSPRUNG,
    *ANTI_ROLL,
    *(name for name in SUSPENSION if name.rstrip('1234') in ('k', 'h')),
)


_CORNER_WORDS = ('front left', 'front right', 'rear left', 'rear right')
#: What every name means, in plain words.
DESCRIPTIONS: dict[str, str] = {
    'Mc': 'mass of the chassis: all that the suspensions carry',
    'MXc': 'first moment of the chassis along x: mass times x of its centre of gravity',
    'MYc': 'first moment of the chassis along y: mass times y of its centre of gravity',
    'MZc': 'first moment of the chassis along z: mass times z of its centre of gravity',
    'XXc': 'moment of inertia of the chassis about the x axis of base_link (roll)',
    'YYc': 'moment of inertia of the chassis about the y axis of base_link (pitch)',
    'ZZc': 'moment of inertia of the chassis about the z axis of base_link (yaw)',
    'XZc': 'product of inertia of the chassis, -integral of x z dm at the base_link origin',
    'XYc': 'product of inertia of the chassis, -integral of x y dm at the base_link origin',
    'YZc': 'product of inertia of the chassis, -integral of y z dm at the base_link origin',
    **{
        f'M{j}': f'mass between suspension and wheel sensor {corner}, without the wheel'
        for j, corner in enumerate(_CORNER_WORDS, start=1)
    },
    'karr': 'stiffness of the rear anti-roll bar at the wheels',
    'karf': 'stiffness of the front anti-roll bar at the wheels',
    **{
        f'{kind}{j}': f'{what} {corner}'
        for j, corner in enumerate(_CORNER_WORDS, start=1)
        for kind, what in (
            ('k', 'spring stiffness of the suspension'),
            ('fs', 'dry (Coulomb) friction of the suspension'),
            ('h', 'damping of the suspension'),
            ('off', 'spring force at zero travel, about the static wheel load,'),
        )
    },
    'Cx': 'aerodynamic drag: force along -x at the base_link origin per square of the speed',
    'Cy': 'aerodynamic side force along -y per square of the speed',
    'Cz': 'aerodynamic downforce, along -z, per square of the speed',
    'Cl': 'aerodynamic rolling moment about -x of base_link per square of the speed',
    'Cm': 'aerodynamic pitching moment about -y of base_link per square of the speed',
    'Cn': 'aerodynamic yawing moment about -z of base_link per square of the speed',
}


def unit(name: str) -> str:
    """SI unit of a parameter."""
    if name in _UNITS:
        return _UNITS[name]
    return _SUSPENSION_UNITS.get(name.rstrip('1234'), 'kg m^2')


def scale(name: str) -> float:
    """Natural size of a parameter."""
    if name in _SCALES:
        return _SCALES[name]
    return _SUSPENSION_SCALES[name.rstrip('1234')]


def scales(names: tuple[str, ...] = NAMES) -> NDArray[np.float64]:
    """Natural sizes of several parameters."""
    return np.array([scale(name) for name in names])
