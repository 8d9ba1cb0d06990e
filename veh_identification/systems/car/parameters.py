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
