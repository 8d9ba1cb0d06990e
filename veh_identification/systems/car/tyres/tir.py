"""A tyre property file (`.tir`) of one axle, in the form that MF 5.2 readers take.

Signs are those of such files: ISO axes of the wheel in which a positive slip angle gives a
negative lateral force, so that PKY1 is negative. What was not identified stands there with the
value of a usual passenger car tyre and a comment that says so. Every entry of MF 5.2 is written:
readers refuse a file that lacks some, or take values of their own.
"""

from __future__ import annotations

import numpy as np

from veh_identification._version import __version__
from veh_identification.systems.car.tyres import lateral, longitudinal
from veh_identification.systems.car.tyres.contact import Wheels
from veh_identification.systems.car.tyres.identify import TOLD, Axle
from veh_identification.systems.car.tyres.spectral_fit import Found

Entry = tuple[str, float, str]
#: Entries of MF 5.2 that the model has not: no shifts, no change of shape with the load, no
#: moments but that of rolling.
ABSENT = {
    'LONGITUDINAL_COEFFICIENTS': 'PDX3 PEX2 PEX3 PEX4 PHX1 PHX2 PVX1 PVX2 REX1 REX2 RHX1',
    'OVERTURNING_COEFFICIENTS': 'QSX1 QSX2 QSX3',
    'LATERAL_COEFFICIENTS': 'PDY3 PEY2 PEY3 PEY4 PHY1 PHY2 PHY3 PVY1 PVY2 PVY4 RBY3 REY1 REY2 '
    'RHY1 RHY2 RVY1 RVY2 RVY3 RVY4 RVY5 RVY6',
    'ROLLING_COEFFICIENTS': 'QSY2 QSY3 QSY4',
    'ALIGNING_COEFFICIENTS': 'QBZ1 QBZ2 QBZ3 QBZ4 QBZ5 QBZ9 QBZ10 QCZ1 QDZ1 QDZ2 QDZ3 QDZ4 QDZ6 '
    'QDZ7 QDZ8 QDZ9 QEZ1 QEZ2 QEZ3 QEZ4 QEZ5 QHZ1 QHZ2 QHZ3 QHZ4 SSZ1 SSZ2 SSZ3 SSZ4',
}
SCALES = (
    'LFZO LCX LMUX LEX LKX LHX LVX LGAX LCY LMUY LEY LKY LHY LVY LGAY LTR LRES LGAZ LMX LVMX LMY '
    'LXAL LYKA LVYKA LS LSGKP LSGAL LGYR'
)
#: Slips, angles [rad] and loads over the nominal one that programs may ask the file for.
RANGES = {
    'LONG_SLIP_RANGE': ('KPUMIN', -1.0, 'KPUMAX', 1.0),
    'SLIP_ANGLE_RANGE': ('ALPMIN', -0.5, 'ALPMAX', 0.5),
    'INCLINATION_ANGLE_RANGE': ('CAMMIN', -0.15, 'CAMMAX', 0.15),
}
LEAST_LOAD, MOST_LOAD = 0.1, 2.5


def tir_file(axle: Axle, wheels: Wheels, radius: float) -> str:
    """The text of the file; `radius`: loaded radius where the recording tells none."""
    loaded = axle.quantity('loaded_radius')
    standing = loaded.value if loaded is not None and loaded.told else radius
    free = standing + axle.nominal / wheels.stiffness
    parts = [
        _header(axle),
        _section(
            'UNITS',
            [
                "LENGTH = 'meter'",
                "FORCE = 'newton'",
                "ANGLE = 'radians'",
                "MASS = 'kg'",
                "TIME = 'second'",
            ],
        ),
        _section(
            'MODEL',
            [
                "PROPERTY_FILE_FORMAT = 'PAC2002'",
                'FITTYP = 6  $MF 5.2',
                'USE_MODE = 14  $combined slip, relaxation; 4 where a program has none',
                "FE_METHOD = 'NO'  $combined slip by RBX1 and RBY1, no ellipse of friction",
                "TYRESIDE = 'LEFT'",
                'VXLOW = 1',
                'LONGVL = 20',
            ],
        ),
        _numbers(
            'DIMENSION',
            [
                ('UNLOADED_RADIUS', free, 'loaded radius and deflection'),
                ('WIDTH', 0.205, 'not identified'),
                ('ASPECT_RATIO', 0.55, 'not identified'),
                ('RIM_RADIUS', 0.65 * free, 'not identified'),
                ('RIM_WIDTH', 0.17, 'not identified'),
            ],
        ),
        _numbers(
            'VERTICAL',
            [
                ('VERTICAL_STIFFNESS', wheels.stiffness, 'of the description, not identified'),
                ('VERTICAL_DAMPING', 50.0, 'not identified'),
                ('BREFF', 0.0, 'of the model'),
                ('DREFF', 0.0, 'of the model'),
                ('FREFF', 1.0 / 3.0, 'share of the deflection that the rolling radius loses'),
                ('FNOMIN', axle.nominal, 'mean load in the recording'),
            ],
        ),
        *_ranges(axle.nominal),
        _numbers('SCALING_COEFFICIENTS', [(key, 1.0, 'as identified') for key in SCALES.split()]),
        _numbers('LONGITUDINAL_COEFFICIENTS', _longitudinal(axle)),
        _numbers('OVERTURNING_COEFFICIENTS', []),
        _numbers('LATERAL_COEFFICIENTS', _lateral(axle)),
        _numbers('ROLLING_COEFFICIENTS', _rolling(axle)),
        _numbers('ALIGNING_COEFFICIENTS', []),
        _numbers('TRANSIENT_COEFFICIENTS', _transient(axle, free)),
    ]
    return '\n'.join(parts)


def _ranges(nominal: float) -> list[str]:
    limits = {
        **RANGES,
        'VERTICAL_FORCE_RANGE': ('FZMIN', LEAST_LOAD * nominal, 'FZMAX', MOST_LOAD * nominal),
    }
    return [
        _numbers(name, [(low, least, 'allowed'), (high, most, 'allowed')])
        for name, (low, least, high, most) in limits.items()
    ]


def _header(axle: Axle) -> str:
    lines = [
        '[MDI_HEADER]',
        "FILE_TYPE = 'tir'",
        'FILE_VERSION = 3.0',
        "FILE_FORMAT = 'ASCII'",
        f'! tyres of the {axle.name} axle, identified by veh-id {__version__}',
        '! values with +- are identified, the number behind it is one standard deviation;',
        '! "not identified": about that of a usual passenger car tyre, fit for extrapolation only',
        *(f'! {note}' for note in axle.notes),
    ]
    return '\n'.join(lines) + '\n'


def _section(name: str, lines: list[str]) -> str:
    return '\n'.join([f'[{name}]', *lines]) + '\n'


def _numbers(name: str, entries: list[Entry]) -> str:
    absent = [(key, 0.0, 'not in the model') for key in ABSENT.get(name, '').split()]
    return _section(
        name, [f'{key:<18} = {value:<14.7g} ${note}' for key, value, note in [*entries, *absent]]
    )


def _entry(key: str, found: Found | None, name: str, default: float, stands: bool) -> Entry:
    """One unknown of a fit, or the usual value; `stands`: the recording reaches far enough."""
    if found is None:
        return key, default, 'not identified'
    if not stands or found.told(name) >= TOLD:
        return key, found[name], 'not identified'
    return key, found[name], f'+- {found.std(name):.2g}'


def _of_axle(key: str, axle: Axle, name: str, factor: float, default: float) -> Entry:
    """One quantity of the axle, or the usual value."""
    one = axle.quantity(name)
    if one is None:
        return key, default, 'not identified'
    if not one.told:
        return key, factor * one.value, 'not identified'
    return key, factor * one.value, f'+- {abs(factor) * one.std:.2g}'


def _longitudinal(axle: Axle) -> list[Entry]:
    found, stands = axle.forward_magic or axle.forward, axle.magic[0]
    return [
        _entry('PCX1', found, 'shape', 1.6, stands),
        _entry('PDX1', found, 'friction', 1.0, stands),
        ('PDX2', *_slope(found, -0.1, stands)),
        _entry('PEX1', found, 'curvature', 0.2, stands),
        _of_axle('PKX1', axle, 'slip_stiffness', 1.0 / axle.nominal, 22.0),
        ('PKX2', 0.0, 'not identified'),
        ('PKX3', 0.0, 'not identified'),
        _entry('RBX1', found, 'combined', 10.0, stands),
        ('RBX2', longitudinal.COMBINED_B2, 'not identified'),
        ('RCX1', 1.0, 'of the model'),
    ]


def _lateral(axle: Axle) -> list[Entry]:
    found, stands = axle.sideways, axle.magic[1]
    peak = 2.2 if found is None else found['load_peak']
    # The stiffness is that at the nominal load; PKY1 that at the load of the largest one.
    scale = -1.0 / (axle.nominal * float(np.sin(2.0 * np.arctan(1.0 / peak))))
    return [
        _entry('PCY1', found, 'shape', 1.35, stands),
        _entry('PDY1', found, 'friction', 1.0, stands),
        ('PDY2', *_slope(found, -0.1, stands)),
        _entry('PEY1', found, 'curvature', -0.4, stands),
        _of_axle('PKY1', axle, 'cornering_stiffness', scale, -19.0),
        _entry('PKY2', found, 'load_peak', 2.2, True),
        ('PKY3', 0.0, 'not identified'),
        _of_axle('PVY3', axle, 'camber_stiffness', -1.0 / axle.nominal, -0.8),
        _entry('RBY1', found, 'combined', 7.0, stands),
        ('RBY2', lateral.COMBINED_B2, 'not identified'),
        ('RCY1', 1.0, 'of the model'),
    ]


def _slope(found: Found | None, default: float, stands: bool) -> tuple[float, str]:
    """Change of the friction with the load, as those files have it."""
    if found is None:
        return default, 'not identified'
    value = found['friction'] * found['friction_slope']
    told = stands and found.told('friction_slope') < TOLD
    std = found['friction'] * found.std('friction_slope')
    return value, f'+- {std:.2g}' if told else 'not identified'


def _rolling(axle: Axle) -> list[Entry]:
    return [_of_axle('QSY1', axle, 'rolling_resistance', 1.0, 0.012)]


def _transient(axle: Axle, free: float) -> list[Entry]:
    # sigma_kappa = Fz PTX1 R0 / Fz0; sigma_alpha = PTY1 sin(2 atan(Fz / (PTY2 Fz0))) R0
    half = float(np.sin(2.0 * np.arctan(0.5)))
    return [
        _of_axle('PTX1', axle, 'relaxation_x', 1.0 / free, 0.25 / free),
        _of_axle('PTY1', axle, 'relaxation_y', 1.0 / (half * free), 0.45 / (half * free)),
        ('PTY2', 2.0, 'not identified'),
    ]
