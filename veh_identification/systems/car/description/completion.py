"""What a file does not say: from its other half, or from an example car, and always said so.

`identify car` and `design car` need parameters at the origin, the observer needs parts. Each takes
what its own half of the file gives; the rest follows from the other half (`conversion`), or is
that of an example, whose masses and stiffnesses are scaled to the car's mass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from veh_identification.configuration.document import Document, Entry, entry_of, merged
from veh_identification.configuration.faults import EntryPath, path_text
from veh_identification.configuration.models import validate
from veh_identification.systems.car.description.conversion import (
    CHASSIS,
    Part,
    parameters_of,
    parts_of,
    sprung,
)
from veh_identification.systems.car.description.files import (
    make_description,
    packaged,
    read_car,
)
from veh_identification.systems.car.description.model import CarDescription

#: The example of road cars without torque and brake sensors.
EXAMPLE = 'road_car.yaml'
#: What a file of the observer leaves out is this buggy's: parts have the defaults of their class.
BUGGY: Mapping[str, Any] = {
    'name': 'buggy',
    'geometry': {
        'wheelbase': 2.05,
        'half_track': {'fl': 0.70, 'fr': 0.70, 'rl': 0.68, 'rr': 0.68},
        'wheel_radius': 0.28,
    },
    'sensors': {'imu': {'position': [0.55, 0.0, 0.30]}},
}
#: Entries that only files for the identification have: what they leave out is the example's.
_IDENTIFICATION = (
    *(('a_priori',), ('axle_kinematics',), ('disturbances',), ('topics',)),
    *(('geometry', 'suspension_zero'), ('sensors', 'speed'), ('sensors', 'suspension')),
    *(('sensors', 'steering'), ('sensors', 'wheel_force'), ('sensors', 'ride_height')),
)
#: Entries of the example that grow with the mass of a car.
_WITH_MASS = (
    *('chassis.mass', 'chassis.inertia', 'rack.mass', 'hub.mass', 'hub.inertia'),
    *('wheel.mass', 'wheel.spin_inertia', 'wheel.transverse_inertia'),
    *('wishbone.lower_mass', 'wishbone.upper_mass'),
    *(
        f'suspension.{axle}.{name}'
        for axle in ('front', 'rear')
        for name in ('stiffness', 'damping', 'antiroll', 'stop_stiffness')
    ),
    *('tyre.stiffness', 'tyre.damping', 'tyre.slow_damping'),
)
#: Which parameters follow from which entries.
FROM_PARTS: Mapping[str, tuple[str, ...]] = {
    'chassis.mass': CHASSIS,
    'hub.mass': ('M1', 'M2', 'M3', 'M4'),
    'suspension.front.stiffness': ('k1', 'k2'),
    'suspension.rear.stiffness': ('k3', 'k4'),
    'suspension.front.damping': ('h1', 'h2'),
    'suspension.rear.damping': ('h3', 'h4'),
    'suspension.front.antiroll': ('karf',),
    'suspension.rear.antiroll': ('karr',),
    'air.drag': ('Cx',),
}


def for_identification(document: Document) -> CarDescription:
    """The description with parameters at the origin also where the file gives parts."""
    found = make_description(document)
    given = [part for part in FROM_PARTS if document.find(_path(part)) is not None]
    if not given:
        return found
    values, provenance = dict(found.a_priori), dict[str, str]()
    amount = parameters_of(found)
    for part in given:
        for name in FROM_PARTS[part]:
            if not _nearer(document, ('a_priori', name), _path(part)):
                values[name] = amount[name]
                provenance[f'a_priori.{name}'] = f'{part} and the parts beside it'
    return replace(found, a_priori=values, provenance=provenance)


def for_observer(document: Document) -> CarDescription:
    """The description with all parts, also where the file gives parameters at the origin."""
    if not any(document.find(path) is not None for path in _IDENTIFICATION):
        filled = document.filled(entry_of(BUGGY, 'the default buggy'))
        found = validate(CarDescription, filled)
        return replace(found, source=document.source, document=document)
    filled = _with_parts(document)
    found = validate(CarDescription, filled)
    provenance = {
        path_text(path): entry.file.removeprefix(f'{packaged("")}/')
        for path, entry in filled.leaves()
        if entry.file not in document.files
    }
    return replace(found, source=document.source, document=filled, provenance=provenance)


def _with_parts(document: Document) -> Document:
    """The document with the example's entries below its own, and the parts that it amounts to."""
    own = make_description(document)
    example_file = str(packaged(EXAMPLE))
    example = read_car(example_file).refuse_faults()
    like = make_description(example)
    factor = own.a_priori.get('Mc', 0.0) / sprung(like)[0]
    root = example.root
    if factor > 0.0:
        told = f'{example_file}, times {factor:.3f} for the mass'
        for name in _WITH_MASS:
            root = merged(root, _tree(_path(name), _scaled(like, name, factor), told))
    shift = own.geometry.wheelbase / like.geometry.wheelbase
    x, y, z = like.chassis.centre
    told = f'{example_file}, times {shift:.3f} for the wheelbase'
    root = merged(root, _tree(('chassis', 'centre'), [x * shift, y, z], told))
    filled = replace(document, root=merged(root, document.root))
    # Hardpoints and wishbones count in the parts, so the parts come last.
    car = validate(CarDescription, filled)
    for name, part in parts_of(own.a_priori, car).items():
        if not _nearer(document, _path(name), ('a_priori',)):
            filled = _put(filled, name, part, document.source)
    return filled


def _scaled(car: CarDescription, name: str, factor: float) -> Any:
    value: Any = car
    for part in _path(name):
        value = getattr(value, str(part))
    return [factor * one for one in value] if isinstance(value, tuple) else factor * value


def _put(document: Document, name: str, part: Part, source: str) -> Document:
    tree = _tree(_path(name), part.value, f'{source}: {part.reason}')
    return replace(document, root=merged(document.root, tree))


def _tree(path: EntryPath, value: Any, told: str) -> Entry:
    """Nested entries that hold one value, which names `told` as its source."""
    entry = entry_of(value, told)
    for key in reversed(path):
        entry = Entry({key: entry}, told)
    return entry


def _path(name: str) -> EntryPath:
    return tuple(name.split('.'))


def _nearer(document: Document, one: EntryPath, other: EntryPath) -> bool:
    """Whether a file gives `one` and no nearer file gives `other`: a base counts less."""
    first, second = _distance(document, one), _distance(document, other)
    return first is not None and (second is None or first <= second)


def _distance(document: Document, path: EntryPath) -> int | None:
    entry = document.find(path)
    if entry is None:
        return None
    files = [Path(file) for file in document.files]
    return files.index(Path(entry.file)) if Path(entry.file) in files else 0
