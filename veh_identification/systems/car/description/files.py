"""Files of cars: their older forms become the present one, bases are joined, a model is made.

Two kinds of files grew up side by side: that of `identify car` (everything below `car:`, half
tracks of each corner or full tracks, `static.gravity`) and that of the vehicle observer
(`half_track_front`, `base`). Both are the same description today.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from veh_identification.configuration.document import Document, Entry, entry_of
from veh_identification.configuration.faults import Fault, shown
from veh_identification.configuration.models import validate
from veh_identification.configuration.quantities import LENGTH, Quantity, QuantityError
from veh_identification.configuration.reading import read_all
from veh_identification.runtime.share import share_directory
from veh_identification.systems.car.description.model import CarDescription
from veh_identification.systems.car.description.parts import Geometry
from veh_identification.systems.car.parameters import CORNERS

#: Names that may stand around a description, also in a ROS 2 parameter file.
WRAPPERS = ('/**', 'car_identification', 'ros__parameters', 'car')
_FRONT, _REAR = CORNERS[:2], CORNERS[2:]
#: Forms of the half tracks, the more special ones later: their corners; whether it is all of it.
_TRACKS: dict[str, tuple[tuple[str, ...], bool]] = {
    'track': (CORNERS, True),
    'track_front': (_FRONT, True),
    'track_rear': (_REAR, True),
    'half_track_front': (_FRONT, False),
    'half_track_rear': (_REAR, False),
    'half_track': (CORNERS, False),
    **{f'half_track_{corner}': ((corner,), False) for corner in CORNERS},
}
_LOOSE = ('wheelbase', 'wheel_radius', 'suspension_zero', *_TRACKS)


def packaged(name: str) -> Path:
    """A file of config/."""
    return share_directory() / 'config' / name


def read_car(path: Path | str) -> Document:
    """The document of a car's file with its bases, in the present form."""
    return read_all(path, packaged, present_form)


def parse_car(content: Any, source: str) -> Document:
    """The same of plain data."""
    return present_form(Document.of(content, source))


def make_description(document: Document) -> CarDescription:
    """The description that a document in the present form holds."""
    # One corner of a track without the others: those keep their defaults, as they always did.
    tracks = dict(zip(CORNERS, Geometry().half_track, strict=True))
    filled = document
    if document.find(('geometry', 'half_track')) is not None:
        filled = document.filled(entry_of({'geometry': {'half_track': tracks}}, 'defaults'))
    found = validate(CarDescription, filled)
    return replace(found, source=document.source, document=document)


def present_form(document: Document) -> Document:
    """A document without the older forms; what cannot be understood stays for the model to say."""
    document = document.unwrapped(WRAPPERS)
    if not document.root.is_mapping:
        return document
    content = dict(document.root.content)
    loose = {key: content.pop(key) for key in _LOOSE if key in content}
    given = content.get('geometry')
    if loose and (given is None or given.is_mapping or given.content is None):
        mark = given or next(iter(loose.values()))
        inside = given.content if given is not None and given.is_mapping else {}
        content['geometry'] = replace(mark, content={**loose, **inside})
    else:
        content |= loose
    static = content.get('static')
    if static is not None and static.is_mapping and set(static.content) <= {'gravity'}:
        del content['static']
        content = {**static.content, **content}
    faults = list(document.faults)
    geometry = content.get('geometry')
    if geometry is not None and geometry.is_mapping:
        tracks, wrong = _half_tracks(document, geometry.content, 'base' in content)
        content['geometry'] = replace(geometry, content=tracks)
        faults += wrong
    root = replace(document.root, content=content)
    return replace(document, root=root, faults=tuple(faults))


def _half_tracks(
    document: Document, geometry: Mapping[str, Entry], has_base: bool
) -> tuple[dict[str, Entry], list[Fault]]:
    """The geometry with all forms of half tracks as `half_track: {fl: ...}`, and what is wrong."""
    corners: dict[str, Entry] = {}
    faults: list[Fault] = []
    for name, (places, full) in _TRACKS.items():
        given = geometry.get(name)
        if given is None or given.content is None:
            continue
        parts = _of_corners(given, places)
        if parts is None:
            wanted = '4 lengths [fl, fr, rl, rr]' if name == 'half_track' else 'one length'
            text = f'expected {wanted}, found {shown(given.plain())}'
            faults.append(document.fault(('geometry', name), text))
        elif name == 'half_track' and set(parts) != set(CORNERS) and not has_base:
            # A part of the corners only makes sense where another file gives the rest.
            missing = next(corner for corner in CORNERS if corner not in parts)
            text = f'has no entry {missing!r}, expected fl, fr, rl and rr'
            faults.append(document.fault(('geometry', name), text))
        else:
            corners |= {corner: _half(one) if full else one for corner, one in parts.items()}
    rest = {name: entry for name, entry in geometry.items() if name not in _TRACKS}
    if corners:
        rest['half_track'] = replace(next(iter(corners.values())), content=corners)
    return rest, faults


def _of_corners(given: Entry, places: tuple[str, ...]) -> dict[str, Entry] | None:
    if given.is_mapping:
        known = len(places) == 4 and set(given.content) <= set(CORNERS)
        return dict(given.content) if known else None
    if isinstance(given.content, list):
        if len(places) != 4 or len(given.content) != 4:
            return None
        return dict(zip(CORNERS, given.content, strict=True))
    return dict.fromkeys(places, given)


def _half(entry: Entry) -> Entry:
    try:
        return replace(entry, content=0.5 * Quantity(LENGTH).read(entry.content))
    except QuantityError:
        return entry
