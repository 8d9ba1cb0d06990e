"""A humanoid's URDF: its links' inertia, the tree left of its sensors, and where links went.

Standard parameters are kept per URDF link, also for links that the model merges (fixed joints,
joints that never move), so that the identified values can go back into the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from veh_identification.errors import ModelError
from veh_identification.multibody.inertia import (
    PARAMETERS_PER_BODY,
    from_centre_of_mass,
    transport_matrix,
)
from veh_identification.multibody.tree import TreeModel
from veh_identification.multibody.urdf import parse_urdf, read_description, usable_inertia
from veh_identification.orientations import matrix_of_rpy
from veh_identification.types import Array


@dataclass(frozen=True)
class UrdfJoint:
    """One joint as the file gives it; `mimics` names the joint it follows."""

    name: str
    type: str
    parent: str
    child: str
    mimics: str = ''

    @property
    def moves(self) -> bool:
        """True for a joint with a coordinate of its own."""
        return self.type != 'fixed' and not self.mimics


@dataclass(frozen=True, eq=False)
class Robot:
    """A URDF file; `cut` names the sensor links beyond which nothing belongs to the model."""

    path: str
    text: bytes
    links: tuple[str, ...]
    joints: tuple[UrdfJoint, ...]
    parameters: Mapping[str, Array]  # of links with mass, at the link origin
    cut: tuple[str, ...] = ()

    @property
    def massive(self) -> tuple[str, ...]:
        """Links with mass that belong to the model."""
        gone = self.beyond
        return tuple(name for name in self.links if name in self.parameters and name not in gone)

    @property
    def beyond(self) -> frozenset[str]:
        """Links at and beyond the sensors at which the tree is cut."""
        found: set[str] = set()
        for name in self.cut:
            found.update(self.subtree(name))
        return frozenset(found)

    @property
    def total_mass(self) -> float:
        """Mass of all links of the file."""
        return float(sum(values[0] for values in self.parameters.values()))

    @property
    def mass_beyond(self) -> float:
        """Mass of the links beyond the sensors."""
        gone = self.beyond
        return float(sum(v[0] for name, v in self.parameters.items() if name in gone))

    def subtree(self, link: str) -> list[str]:
        """The link and everything that hangs on it."""
        found = [link]
        for name in found:
            found.extend(joint.child for joint in self.joints if joint.parent == name)
        return found

    def mass_moved_by(self, joint: str) -> float:
        """Mass of all links that a joint moves, within the model."""
        child = next(j.child for j in self.joints if j.name == joint)
        kept = set(self.massive)
        return float(sum(self.parameters[n][0] for n in self.subtree(child) if n in kept))

    def cut_at(self, frames: Iterable[str]) -> Robot:
        """The robot without what lies beyond the named sensor links."""
        for name in frames:
            if name not in self.links:
                raise ModelError(f'{self.path}: there is no link "{name}" for a sensor')
        return Robot(
            self.path,
            self.text,
            self.links,
            self.joints,
            self.parameters,
            tuple(dict.fromkeys([*self.cut, *frames])),
        )

    def model(self, locked: Mapping[str, float] | None = None) -> TreeModel:
        """The floating tree; links beyond sensors are gone, sensor links stay as frames."""
        return parse_urdf(_pruned(self).decode('utf-8'), locked=locked or None, where=self.path)

    def moving_joints(self) -> list[str]:
        """Joints of the model that have a coordinate of their own."""
        gone = self.beyond
        return [j.name for j in self.joints if j.moves and j.child not in gone]

    def standard(self, model: TreeModel, names: Iterable[str] | None = None) -> Array:
        """Map (10 bodies, 10 links) from links' parameters to those of the model's bodies."""
        chosen = list(self.massive if names is None else names)
        matrix = np.zeros((PARAMETERS_PER_BODY * model.bodies, PARAMETERS_PER_BODY * len(chosen)))
        for k, name in enumerate(chosen):
            frame = model.frame(name)
            rows = slice(PARAMETERS_PER_BODY * frame.body, PARAMETERS_PER_BODY * (frame.body + 1))
            columns = slice(PARAMETERS_PER_BODY * k, PARAMETERS_PER_BODY * (k + 1))
            matrix[rows, columns] = transport_matrix(frame.rotation, frame.translation)
        return matrix


def load_robot(path: str | Path) -> Robot:
    """Read a URDF file; ModelError names what is wrong with it."""
    return parse_robot(read_description(path), str(path))


def parse_robot(content: bytes, where: str) -> Robot:
    """A robot from the content of a URDF file."""
    root = parse_xml(content, where)
    parse_urdf(content.decode('utf-8', errors='replace').removeprefix('\ufeff'), where=where)
    links = tuple(element.get('name', '') for element in root.findall('link'))
    joints = tuple(_joint(element) for element in root.findall('joint'))
    found = {element.get('name', ''): link_parameters(element) for element in root.findall('link')}
    parameters = {name: values for name, values in found.items() if values[0] > 0.0}
    return Robot(where, content, links, joints, parameters)


def parse_xml(content: bytes, where: str) -> Any:
    """The XML tree with its comments, nothing fetched from outside."""
    parser = etree.XMLParser(remove_comments=False, resolve_entities=False, no_network=True)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        reason = ' '.join(str(error).split())
        raise ModelError(f'{where}: the URDF cannot be parsed ({reason})') from None


def link_parameters(link: Any) -> Array:
    """Ten parameters at the link origin in link axes; zeros without mass."""
    inertial = link.find('inertial')
    mass_element = None if inertial is None else inertial.find('mass')
    mass = 0.0 if mass_element is None else float(mass_element.get('value', 0.0))
    if inertial is None or not mass > 0.0:
        return np.zeros(PARAMETERS_PER_BODY)
    origin, inertia = inertial.find('origin'), inertial.find('inertia')
    centre = _triple(None if origin is None else origin.get('xyz'))
    rotation = matrix_of_rpy(_triple(None if origin is None else origin.get('rpy')))
    entries = (
        {}
        if inertia is None
        else {
            key: float(inertia.get(key, 0.0)) for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        }
    )
    tensor = np.zeros((3, 3))
    for (row, column), key in zip(
        ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)),
        ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'),
        strict=True,
    ):
        tensor[row, column] = tensor[column, row] = entries.get(key, 0.0)
    return from_centre_of_mass(mass, centre, rotation @ usable_inertia(tensor) @ rotation.T)


def _triple(text: str | None) -> Array:
    return np.array([float(part) for part in (text or '0 0 0').split()])


def _joint(element: Any) -> UrdfJoint:
    mimic = element.find('mimic')
    parent, child = element.find('parent'), element.find('child')
    return UrdfJoint(
        element.get('name', ''),
        element.get('type', ''),
        '' if parent is None else parent.get('link', ''),
        '' if child is None else child.get('link', ''),
        '' if mimic is None else mimic.get('joint', ''),
    )


def _pruned(robot: Robot) -> bytes:
    """URDF text without the links beyond the sensors; the sensor links lose their inertia."""
    root = parse_xml(robot.text, robot.path)
    gone, kept = robot.beyond, set(robot.cut)
    for element in root.findall('link'):
        name = element.get('name', '')
        if name in kept:
            for inertial in element.findall('inertial'):
                element.remove(inertial)
        elif name in gone:
            root.remove(element)
    for element in root.findall('joint'):
        joint = _joint(element)
        if (joint.child in gone and joint.child not in kept) or (
            joint.child in kept and any(joint.parent == other for other in gone - kept)
        ):
            root.remove(element)
    for name in kept:
        for element in root.findall('link'):
            if element.get('name') == name and not any(
                _joint(e).child == name for e in root.findall('joint')
            ):
                root.remove(element)
    text: bytes = etree.tostring(root)
    return text
