"""The tyres of both axles from recordings with wheel forces, judged on another recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.processing.signals import Prepared
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.tyres import lateral, longitudinal
from veh_identification.systems.car.tyres.contact import Contacts, Wheels, contacts, known_wheels
from veh_identification.systems.car.tyres.rolling import fit_rolling
from veh_identification.systems.car.tyres.spectral_fit import Found, lines_of
from veh_identification.types import Array

AXLES = {'front': slice(0, 2), 'rear': slice(2, 4)}
#: What road planes, compliances and the shape of the model put off, whatever the recording's
#: length: no residual shows it. By what the scatter on simulated cars of other equations is beyond
#: that of the fit.
MODEL_SHARE = 0.005  # of a stiffness
CAMBER_DOUBT = 0.15  # of the camber force over load, per rad
RELAXATION_DOUBT = {'y': 0.01, 'x': 0.02}  # [m]
RADIUS_DOUBT = 1e-4  # [m]
ROLLING_DOUBT = 5e-4
#: Slip angles must vary by so much to say anything (standard deviation, rad).
LEAST_ANGLE = 0.004
#: An unknown counts as told when the recording leaves less than this of the doubt from before.
TOLD = 0.5
#: Share of the friction that must be used before a Magic Formula is more than a straight line.
REACH = 0.75
SHORTEST = 10.0  # of a drive that tells something [s]
#: Zeros of wheel sensors where the description gives none [N], [N m].
FORCE_ZERO, MOMENT_ZERO = 8.0, 2.5


@dataclass(frozen=True)
class Quantity:
    """One number of an axle's tyres."""

    name: str
    value: float
    std: float
    unit: str
    description: str
    told: bool = True  # by the recording, not by what is known of any tyre


@dataclass(frozen=True, eq=False)
class Axle:
    """What is known of the tyres of one axle."""

    name: str
    nominal: float  # load that the values hold for [N]
    quantities: tuple[Quantity, ...]
    sideways: Found | None
    forward: Found | None  # of the linear range
    forward_magic: Found | None
    reach: tuple[float, float]  # largest share of the load that was used: forward, sideways
    magic: tuple[bool, bool]  # whether a Magic Formula stands: forward, sideways
    notes: tuple[str, ...]
    judged: dict[str, float] = field(default_factory=dict)

    def quantity(self, name: str) -> Quantity | None:
        """The quantity of a name without its axle."""
        return next((one for one in self.quantities if one.name == f'{name}_{self.name}'), None)


@dataclass(frozen=True, eq=False)
class Tyres:
    """Both axles, and what was found on the way."""

    axles: tuple[Axle, ...]
    wheels: Wheels
    findings: tuple[Finding, ...]

    @property
    def quantities(self) -> list[Quantity]:
        """Of both axles."""
        return [one for axle in self.axles for one in axle.quantities]

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json."""
        return {
            'axles': {
                axle.name: {
                    'nominal_load': axle.nominal,
                    'largest_use': {'forward': axle.reach[0], 'sideways': axle.reach[1]},
                    'magic_formula': {'forward': axle.magic[0], 'sideways': axle.magic[1]},
                    'unknowns': {
                        kind: {
                            one.name: {
                                'value': found[one.name],
                                'std': found.std(one.name),
                                'told': found.told(one.name) < TOLD,
                            }
                            for one in found.unknowns
                        }
                        for kind, found in (
                            ('sideways', axle.sideways),
                            ('forward', axle.forward_magic or axle.forward),
                        )
                        if found is not None
                    },
                    'validation': axle.judged,
                    'notes': list(axle.notes),
                }
                for axle in self.axles
            },
            'quantities': [vars(one) for one in self.quantities],
        }


def identify_tyres(
    prepared: Iterable[tuple[CarRecording, CarDescription, Prepared]],
    validation: tuple[CarRecording, CarDescription, Prepared] | None = None,
) -> Tyres:
    """Tyres from recordings as they were prepared for the identification."""
    pieces: list[Contacts] = []
    configuration, labels = CarDescription(), []
    for recording, configuration, one in prepared:
        if one.missing_wrenches or one.missing_travels or not one.has_speed:
            what = [
                *(f'wheel_{corner}/wrench' for corner in one.missing_wrenches),
                *(f'suspension_{corner}' for corner in one.missing_travels),
                *([] if one.has_speed else [configuration.topics['speed']]),
            ]
            raise EstimationError(
                f'{recording.label}: tyres need the forces and the travel of all wheels and the '
                f'speed along and across; missing: {", ".join(what)}'
            )
        labels.append(recording.label)
        pieces += contacts(recording, one.pieces, configuration)
    seconds = sum(float(one.weight.min(axis=1).sum()) / one.rate for one in pieces)
    if seconds < SHORTEST:
        raise EstimationError(
            f'{", ".join(labels)}: tyres need {SHORTEST:g} s of driving faster than 6 m/s, found '
            f'{seconds:.1f} s'
        )
    wheels = known_wheels(configuration)
    judge = (
        [] if validation is None else contacts(validation[0], validation[2].pieces, configuration)
    )
    axles = tuple(
        _axle(name, axle, pieces, configuration, wheels, judge) for name, axle in AXLES.items()
    )
    return Tyres(axles, wheels, tuple(_findings(axles, wheels)))


def _axle(
    name: str,
    axle: slice,
    pieces: Sequence[Contacts],
    configuration: CarDescription,
    wheels: Wheels,
    judge: Sequence[Contacts],
) -> Axle:
    rows = [one.weight[:, axle].min(axis=1) > 0.5 for one in pieces]

    def taken(field_name: str) -> Array:
        return np.concatenate(
            [
                getattr(one, field_name)[chosen, axle]
                for one, chosen in zip(pieces, rows, strict=True)
            ]
        )

    load = taken('load')
    nominal = float(load.mean())
    reach = (
        float(np.percentile(np.abs(taken('forward')) / load, 99.5)),
        float(np.percentile(np.abs(taken('lateral')) / load, 99.5)),
    )
    notes: list[str] = []
    linear = magic = sideways = rolling = None
    radius = configuration.geometry.wheel_radius
    spinning = all(one.spin is not None for one in pieces)
    if spinning:
        linear = longitudinal.fit_linear(pieces, axle, nominal, radius, wheels)
        if reach[0] > longitudinal.MOST_USED:
            magic, _ = longitudinal.fit_magic(pieces, axle, nominal, linear)
        rolling = fit_rolling(pieces, axle, radius, nominal, wheels, _zeros(configuration))
    else:
        notes.append(
            'no rolling radius, slip stiffness and rolling resistance: wheel_* of joint_states '
            'is not recorded'
        )
    if float(taken('tangent').std()) > LEAST_ANGLE:
        sideways = lateral.fit_lateral(
            pieces,
            axle,
            nominal,
            wheels,
            _slips(linear, pieces, axle, nominal),
            _zeros(configuration)[0],
        )
    else:
        notes.append(
            'no cornering stiffness: the slip angles vary by less than '
            f'{1e3 * LEAST_ANGLE:g} mrad (standard deviation); the recording hardly corners'
        )
    stands = (
        _magic_stands(magic or linear, reach[0]),
        _magic_stands(sideways, reach[1]),
    )
    quantities = [
        *_sideways(name, nominal, sideways, stands[1]),
        *_forward(name, nominal, linear, magic, stands[0]),
        *_rolling(name, rolling),
    ]
    for which, done, used in (
        ('longitudinal', stands[0], reach[0]),
        ('lateral', stands[1], reach[1]),
    ):
        if not done:
            notes.append(
                f'no {which} Magic Formula: forces reach {100 * used:.0f} % of the load, which '
                'does not tell where the curve bends off; the stiffness alone stands'
            )
    judged = {}
    if judge and sideways is not None:
        judged = _judged(sideways, judge, axle, nominal, linear)
    return Axle(
        name,
        nominal,
        tuple(quantities),
        sideways,
        linear,
        magic,
        reach,
        stands,
        tuple(notes),
        judged,
    )


def _zeros(configuration: CarDescription) -> tuple[float, float]:
    given = configuration.sensors.wheel_force.offset
    if not given:
        return FORCE_ZERO, MOMENT_ZERO
    return float(given[0]), float(given[-1])


def _slips(
    linear: Found | None, pieces: Sequence[Contacts], axle: slice, nominal: float
) -> list[Array | None]:
    if linear is None or any(one.spin is None for one in pieces):
        return [None for _ in pieces]
    return [longitudinal.slip_of(linear, one, axle, nominal) for one in pieces]


def _magic_stands(found: Found | None, reach: float) -> bool:
    return (
        found is not None and found.told('friction') < TOLD and reach > REACH * found['friction']
    )


def _sideways(name: str, nominal: float, found: Found | None, magic: bool) -> list[Quantity]:
    if found is None:
        return []
    stiffness = nominal * float(np.exp(found['log_stiffness']))
    result = [
        Quantity(
            f'cornering_stiffness_{name}',
            stiffness,
            stiffness * float(np.hypot(found.std('log_stiffness'), MODEL_SHARE)),
            'N/rad',
            'lateral force of one tyre per slip angle, at small angles and the nominal load',
        ),
        Quantity(
            f'camber_stiffness_{name}',
            nominal * found['camber'],
            nominal * float(np.hypot(found.std('camber'), CAMBER_DOUBT)),
            'N/rad',
            'lateral force of one tyre per angle that it leans, towards the side it leans to',
            found.told('camber') < TOLD,
        ),
        Quantity(
            f'relaxation_y_{name}',
            found['relaxation'],
            float(np.hypot(found.std('relaxation'), RELAXATION_DOUBT['y'])),
            'm',
            'way that the lateral force follows the slip angle behind',
            found.told('relaxation') < TOLD,
        ),
    ]
    if magic:
        text = 'largest lateral force over load, at the nominal load'
        result.append(
            Quantity(f'friction_y_{name}', found['friction'], found.std('friction'), '', text)
        )
    return result


def _forward(
    name: str, nominal: float, linear: Found | None, magic: Found | None, stands: bool
) -> list[Quantity]:
    if linear is None:
        return []
    stiffness = nominal / linear['compliance']
    share = linear.std('compliance') / linear['compliance']
    corners = ('fl', 'fr') if name == 'front' else ('rl', 'rr')
    result = [
        Quantity(
            f'slip_stiffness_{name}',
            stiffness,
            abs(stiffness) * float(np.hypot(share, MODEL_SHARE)),
            'N',
            'forward force of one tyre per slip, at small slip and the nominal load',
            linear.told('compliance') < TOLD,
        ),
        Quantity(
            f'relaxation_x_{name}',
            linear['relaxation'],
            float(np.hypot(linear.std('relaxation'), RELAXATION_DOUBT['x'])),
            'm',
            'way that the forward force follows the slip behind',
            linear.told('relaxation') < TOLD,
        ),
        *(
            Quantity(
                f'rolling_radius_{corner}',
                linear[f'radius_{side}'],
                float(np.hypot(linear.std(f'radius_{side}'), RADIUS_DOUBT)),
                'm',
                'way per angle of the wheel rolling freely at the nominal load',
            )
            for corner, side in zip(corners, ('left', 'right'), strict=True)
        ),
    ]
    if stands:
        one = magic or linear
        text = 'largest forward force over load, at the nominal load'
        result.append(
            Quantity(f'friction_x_{name}', one['friction'], one.std('friction'), '', text)
        )
    return result


def _rolling(name: str, found: Found | None) -> list[Quantity]:
    if found is None:
        return []
    return [
        Quantity(
            f'rolling_resistance_{name}',
            found['coefficient'],
            float(np.hypot(found.std('coefficient'), ROLLING_DOUBT)),
            '',
            'moment of rolling resistance over load and radius',
            found.told('coefficient') < TOLD,
        ),
        Quantity(
            f'loaded_radius_{name}',
            found['radius'],
            float(np.hypot(found.std('radius'), 1e-3)),
            'm',
            'height of the wheel centre over the road, by torque over force',
            found.told('radius') < TOLD,
        ),
    ]


def _judged(
    found: Found,
    pieces: Sequence[Contacts],
    axle: slice,
    nominal: float,
    linear: Found | None,
) -> dict[str, float]:
    """What is left of the lateral force of another recording, over the force."""
    x = {one.name: found[one.name] for one in found.unknowns}
    # With endless friction the same equations are the linear tyre.
    straight = {**x, 'friction': 1e3 * x['friction'], 'friction_slope': 0.0}
    sums = np.zeros(3)
    for piece, slip in zip(pieces, _slips(linear, pieces, axle, nominal), strict=True):
        weight = piece.weight[:, axle].min(axis=1)[:, None]
        seen = piece.lateral[:, axle]
        others = (
            np.zeros_like(seen),
            lateral.predicted(x, piece, axle, nominal, slip),
            lateral.predicted(straight, piece, axle, nominal, slip),
        )
        for k, other in enumerate(others):
            lines = lines_of(weight * (seen - other), piece.rate, lateral.TOP_HZ)
            sums[k] += float(np.square(lines).sum())
    if not sums[0] > 0.0:
        return {}
    return {
        'lateral_rms_relative': float(np.sqrt(sums[1] / sums[0])),
        'lateral_rms_relative_linear': float(np.sqrt(sums[2] / sums[0])),
    }


def _findings(axles: Sequence[Axle], wheels: Wheels) -> list[Finding]:
    found = []
    if not wheels.told:
        text = (
            f'wheel.mass is not in the description: {wheels.mass:g} +- {wheels.mass_std:g} kg '
            'beyond each wheel sensor is assumed, which the tyre stiffnesses hang on (some per '
            'cent)'
        )
        found.append(Finding('warn', 'wheel_mass_assumed', text, '--config'))
    for axle in axles:
        judged = axle.judged.get('lateral_rms_relative', 0.0)
        plain = axle.judged.get('lateral_rms_relative_linear', np.inf)
        if axle.magic[1] and judged > plain:
            text = (
                f'the Magic Formula of the {axle.name} tyres leaves {100 * judged:.1f} % of the '
                f'lateral forces of the validation recording, plain stiffness {100 * plain:.1f} %'
            )
            found.append(Finding('warn', 'magic_formula_no_better', text, axle.name))
    return found
