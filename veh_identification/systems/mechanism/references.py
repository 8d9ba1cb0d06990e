"""Names in a description that name nothing, and parts that do not fit together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from veh_identification.configuration.models import unknown_text

Fault = tuple[tuple[str | int, ...], str]
LISTS = (
    'position_deviation',
    'velocity_deviation',
    'acceleration_noise',
    'acceleration_deviation',
    'force_estimation_noise',
    'force_noise',
)


def wrong_references(found: Any) -> Iterator[Fault]:
    """Path and sentence of everything that names nothing."""
    points = [*found.points, *(name for body in found.bodies.values() for name in body.further)]
    known = {
        'points': points,
        'bodies': list(found.bodies),
        'coordinates': list(found.coordinates),
        'joints': list(found.joints),
        'drives': list(found.drives),
        'sensors': list(found.sensors),
        'springs': list(found.springs),
    }
    for path, kind, name in _named(found):
        if name not in known[kind]:
            word = {'bodies': 'body'}.get(kind, kind[:-1])
            yield path, f'{word} {name!r} {unknown_text(name, known[kind])}'
    yield from _twice(found)
    yield from _misfits(found)


def _each(path: tuple[str | int, ...], kind: str, names: Iterable[str] | None) -> Iterator[Any]:
    for k, name in enumerate(names or ()):
        yield (*path, k), kind, name


def _one(path: tuple[str | int, ...], kind: str, name: str | None) -> Iterator[Any]:
    if name is not None:
        yield path, kind, name


def _named(found: Any) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    for name, body in found.bodies.items():
        yield from _each(('bodies', name, 'points'), 'points', body.points)
    for name, joint in found.joints.items():
        yield from _each(('joints', name, 'points'), 'points', joint.points)
        yield from _one(('joints', name, 'on'), 'bodies', joint.on)
        yield from _one(('joints', name, 'body'), 'bodies', joint.body)
    for name, one in found.coordinates.items():
        place = ('coordinates', name)
        yield from _each((*place, 'angle'), 'points', one.angle)
        yield from _each((*place, 'distance'), 'points', one.distance)
        for key, kind in (
            ('of', 'bodies'),
            ('travel', 'joints'),
            ('x', 'points'),
            ('y', 'points'),
        ):
            yield from _one((*place, key), kind, getattr(one, key))
    for name, spring in found.springs.items():
        yield from _each(('springs', name, 'points'), 'points', spring.points)
        yield from _one(('springs', name, 'coordinate'), 'coordinates', spring.coordinate)
    for name, drive in found.drives.items():
        yield from _one(('drives', name, 'coordinate'), 'coordinates', drive.coordinate)
    for kind in ('loads', 'masses'):
        for name, load in getattr(found, kind).items():
            yield (kind, name, 'point'), 'points', load.point
    for name, sensor in found.sensors.items():
        for key, kind in (('coordinate', 'coordinates'), ('body', 'bodies'), ('point', 'points')):
            yield from _one(('sensors', name, key), kind, getattr(sensor, key))
    yield from _each(('observer', 'sensors'), 'sensors', found.observer.sensors)
    truth = found.truth
    for key in ('bodies', 'coordinates', 'springs', 'sensors'):
        for name in getattr(truth, key):
            yield ('truth', key, name), key, name
    for name in truth.swings:
        yield ('truth', 'swings', name), 'drives', name
    for k, pulse in enumerate(truth.pulses):
        yield ('truth', 'pulses', k, 'drive'), 'drives', pulse.drive


def _twice(found: Any) -> Iterator[Fault]:
    """Further points that are points already."""
    seen = set(found.points)
    for name, body in found.bodies.items():
        for point in body.further:
            if point in seen:
                yield ('bodies', name, 'further', point), f'point {point!r} is defined twice'
            seen.add(point)
    streams = set(found.sensors) & set(found.drives)
    for name in sorted(streams):
        yield ('drives', name), f'{name!r} is the name of a sensor already'


def _misfits(found: Any) -> Iterator[Fault]:
    """Entries that are known each and do not fit to each other."""
    count = len(found.independent)
    if not count:
        yield ('coordinates',), 'expected at least one independent coordinate'
    for name, body in found.bodies.items():
        if all(found.points[one].fixed for one in body.points if one in found.points):
            yield ('bodies', name, 'points'), 'expected a point that is not fixed'
        elif body.points[0] == body.points[1]:
            yield ('bodies', name, 'points'), 'expected two points, found one twice'
    for name, one in found.coordinates.items():
        joint = found.joints.get(one.travel or '')
        if joint is not None and joint.kind not in ('slider', 'prismatic'):
            text = f'expected a slider or prismatic joint, found a {joint.kind}'
            yield ('coordinates', name, 'travel'), text
    for name, sensor in found.sensors.items():
        coordinate = found.coordinates.get(sensor.coordinate or '')
        if coordinate is not None and sensor.kind in ('encoder', 'distance'):
            fits = (coordinate.kind == 'angle') == (sensor.kind == 'encoder')
            if not fits:
                what = 'angle' if sensor.kind == 'encoder' else 'length'
                text = f'sensor kind {sensor.kind} needs a coordinate that is an {what}'
                yield ('sensors', name, 'coordinate'), text.replace('an length', 'a length')
        carrier = found.bodies.get(sensor.body or '')
        own = () if carrier is None else (*carrier.points, *carrier.further)
        if carrier is not None and sensor.point is not None and sensor.point not in own:
            text = f'point {sensor.point!r} is none of body {sensor.body!r}'
            yield ('sensors', name, 'point'), text
    for key in LISTS:
        values = getattr(found.observer, key)
        if values is not None and len(values) not in (1, count):
            text = f'expected one number, or one for each of {", ".join(found.independent)}'
            yield ('observer', key), f'{text}; found {len(values)}'
    for k, pulse in enumerate(found.truth.pulses):
        if pulse.end <= pulse.start:
            yield ('truth', 'pulses', k), 'expected an end after the start'
