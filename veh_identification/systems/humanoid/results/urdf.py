"""identified.urdf: the file as it was, with other numbers in the inertial elements only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from lxml import etree

from veh_identification.errors import EstimationError
from veh_identification.multibody.inertia import centre_of_mass, consistency_violation
from veh_identification.systems.humanoid.robot import Robot, link_parameters, parse_xml
from veh_identification.types import Array

_ENTRIES = {
    'ixx': (0, 0),
    'ixy': (0, 1),
    'ixz': (0, 2),
    'iyy': (1, 1),
    'iyz': (1, 2),
    'izz': (2, 2),
}


def identified_urdf(robot: Robot, parameters: Mapping[str, Array]) -> bytes:
    """The robot's URDF with the given parameters; everything else stays as it stands there."""
    root = parse_xml(robot.text, robot.path)
    for link in root.findall('link'):
        values = parameters.get(link.get('name', ''))
        if values is not None:
            _set_inertial(link, values)
    # Declaration, comments and line ends around the robot element stay byte for byte.
    begin = robot.text.index(b'<robot')
    end = robot.text.rindex(b'</robot>') + len(b'</robot>')
    body: bytes = etree.tostring(
        root,
        encoding=root.getroottree().docinfo.encoding or 'utf-8',
        xml_declaration=False,
        with_tail=False,
    )
    text = robot.text[:begin] + body + robot.text[end:]
    _check(text, parameters)
    return text


def _set_inertial(link: Any, values: Array) -> None:
    mass, centre, inertia = centre_of_mass(values)
    inertial = link.find('inertial')
    origin = inertial.find('origin')
    if origin is None:
        origin = etree.Element('origin')
        origin.tail = inertial.text
        inertial.insert(0, origin)
    origin.set('xyz', ' '.join(_text(v) for v in centre))
    origin.set('rpy', '0 0 0')
    inertial.find('mass').set('value', _text(float(mass)))
    tensor = inertial.find('inertia')
    if tensor is None:
        tensor = etree.SubElement(inertial, 'inertia')
    for key, place in _ENTRIES.items():
        tensor.set(key, _text(inertia[place]))


def _text(value: float) -> str:
    return repr(float(value))


def _check(text: bytes, parameters: Mapping[str, Array]) -> None:
    """Read the file back: what stands in it must be what was meant, and consistent."""
    root = parse_xml(text, 'identified.urdf')
    for link in root.findall('link'):
        name = link.get('name', '')
        if name not in parameters:
            continue
        found = link_parameters(link)
        reason = consistency_violation(found)
        size = np.abs(parameters[name]).max()
        if reason or np.abs(found - parameters[name]).max() > 1e-9 * size:
            raise EstimationError(f'identified.urdf, link {name}: {reason or "values changed"}')
