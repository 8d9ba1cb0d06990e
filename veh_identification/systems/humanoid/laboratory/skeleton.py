"""OpenSim's skeletons (.osim, version 4) as URDF trees.

Each joint of OpenSim is up to three displacements along and three turns about axes, each of them
a function of one coordinate. The tree has one joint for each of them that is not constant, with
massless links between: knees whose axis moves along with the angle are kept as they are. What
hangs on a coupled coordinate only (the kneecap) is held at its place at zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from veh_identification.errors import ModelError
from veh_identification.orientations import rpy_of_matrix
from veh_identification.systems.humanoid.laboratory.storage import Table
from veh_identification.systems.humanoid.robot import parse_xml
from veh_identification.types import Array

#: OpenSim's y is up and z to the right; the world's z is up and y to the left.
UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
ROTATIONS = ('rotation1', 'rotation2', 'rotation3')
TRANSLATIONS = ('translation1', 'translation2', 'translation3')
#: Joints whose axes are those of the frame on the parent, by their coordinates in the file's
#: order: turns follow each other about the axes that the turns before have moved (x, y, z of a
#: ball), displacements are along the axes of the parent's frame.
SIMPLE = {
    'PinJoint': ('rz',),
    'SliderJoint': ('tx',),
    'UniversalJoint': ('rx', 'ry'),
    'BallJoint': ('rx', 'ry', 'rz'),
    'GimbalJoint': ('rx', 'ry', 'rz'),
    'PlanarJoint': ('rz', 'tx', 'ty'),
    'FreeJoint': ('rx', 'ry', 'rz', 'tx', 'ty', 'tz'),
}
Function = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Axis:
    """One displacement or turn: its direction, and its size as a function of a coordinate."""

    direction: Array
    coordinate: str  # '' for a constant
    size: Function
    turns: bool


@dataclass(frozen=True, eq=False)
class Joint:
    """Frames on both bodies and the axes between them, displacements first."""

    name: str
    parent: str
    child: str
    on_parent: Array  # (4, 4)
    on_child: Array
    axes: tuple[Axis, ...]


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The tree, and how its joints follow from the coordinates of the file."""

    name: str
    root: str
    urdf: bytes
    base: Joint
    moving: dict[str, Axis] = field(default_factory=dict)  # by the name of the URDF's joint
    angles: frozenset[str] = frozenset()  # coordinates that are angles

    def values(self, table: Table) -> dict[str, Array]:
        """Positions of the URDF's joints over time."""
        return {
            name: axis.size(self._coordinate(table, axis.coordinate))
            for name, axis in self.moving.items()
            if axis.coordinate in table.columns
        }

    def base_pose(self, table: Table) -> tuple[Array, Array]:
        """Position (N, 3) and rotation (N, 3, 3) of the root in a world whose z is up."""
        count = len(table.time)
        place = np.broadcast_to(self.base.on_parent, (count, 4, 4))
        for axis in self.base.axes:
            coordinate = (
                self._coordinate(table, axis.coordinate) if axis.coordinate else np.zeros(count)
            )
            place = place @ _moved(axis, axis.size(coordinate))
        place = place @ np.linalg.inv(self.base.on_child)
        return place[:, :3, 3], place[:, :3, :3]

    def _coordinate(self, table: Table, name: str) -> Array:
        given = table.column(name)
        return np.deg2rad(given) if table.degrees and name in self.angles else given


def read_skeleton(path: str | Path) -> Skeleton:
    """Read a model file."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ModelError(f'{path}: cannot be read ({error.strerror})') from None
    document = parse_xml(content, str(path))
    model = document.find('Model')
    if document.tag != 'OpenSimDocument' or model is None:
        raise ModelError(f'{path}: expected an OpenSimDocument with a Model')
    if int(document.get('Version', '0')) < 40000:
        raise ModelError(f'{path}: expected a model of OpenSim 4 (save it there once more)')
    coupled = {
        one.findtext('dependent_coordinate_name', '').strip()
        for one in model.iter('CoordinateCouplerConstraint')
    }
    joints = [_joint(one, str(path)) for one in model.find('JointSet/objects')]
    base = next((one for one in joints if one.parent == 'ground'), None)
    if base is None:
        raise ModelError(f'{path}: no joint connects the skeleton to the ground')
    tree = etree.Element('robot', name=model.get('name') or 'person')
    for body in model.find('BodySet/objects'):
        _add_body(tree, body)
    moving: dict[str, Axis] = {}
    for one in joints:
        if one is not base:
            _add_joint(tree, one, coupled, moving)
    angles = {
        axis.coordinate for one in joints for axis in one.axes if axis.turns and axis.coordinate
    }
    etree.indent(tree)
    return Skeleton(
        model.get('name') or 'person',
        base.child,
        etree.tostring(tree, xml_declaration=True, encoding='utf-8'),
        base,
        moving,
        frozenset(angles),
    )


# Joints -----------------------------------------------------------------------------------------


def _joint(element: Any, where: str) -> Joint:
    frames = {one.get('name'): one for one in element.findall('frames/PhysicalOffsetFrame')}
    ends = []
    for side in ('parent', 'child'):
        name = element.findtext(f'socket_{side}_frame', '').strip()
        frame = frames.get(name)
        if frame is None:
            ends.append((name.split('/')[-1], np.eye(4)))
            continue
        body = frame.findtext('socket_parent', '').strip().split('/')[-1]
        ends.append((body, _offset(frame)))
    (parent, on_parent), (child, on_child) = [(body, _upright(place)) for body, place in ends]
    name = element.get('name', '')
    return Joint(name, parent, child, on_parent, on_child, _axes(element, f'{where}: {name}'))


def _upright(place: Array) -> Array:
    """A transform between axes whose y is up as one between axes whose z is."""
    turn = np.eye(4)
    turn[:3, :3] = UPRIGHT
    return turn @ place @ turn.T


def _offset(frame: Any) -> Array:
    place = np.eye(4)
    place[:3, 3] = _numbers(frame.findtext('translation', '0 0 0'))
    angles = _numbers(frame.findtext('orientation', '0 0 0'))
    place[:3, :3] = Rotation.from_euler('XYZ', angles).as_matrix()
    return place


def _axes(element: Any, where: str) -> tuple[Axis, ...]:
    coordinates = [one.get('name', '') for one in element.findall('coordinates/Coordinate')]
    if element.tag == 'WeldJoint':
        return ()
    if element.tag in SIMPLE:
        if len(coordinates) != len(SIMPLE[element.tag]):
            raise ModelError(
                f'{where} is a {element.tag} with {len(coordinates)} coordinates, expected '
                f'{len(SIMPLE[element.tag])}'
            )
        axes = [
            Axis(UPRIGHT[:, 'xyz'.index(word[1])], name, _same, word[0] == 'r')
            for word, name in zip(SIMPLE[element.tag], coordinates, strict=True)
        ]
        return tuple(sorted(axes, key=lambda one: one.turns))  # displacements first
    if element.tag != 'CustomJoint':
        raise ModelError(
            f'{where} is a {element.tag}, expected CustomJoint, WeldJoint, {", ".join(SIMPLE)}'
        )
    found = {one.get('name'): one for one in element.findall('SpatialTransform/TransformAxis')}
    return tuple(
        _axis(found[name], name in ROTATIONS, where)
        for name in (*TRANSLATIONS, *ROTATIONS)
        if name in found
    )


def _same(x: Array) -> Array:
    return x


def _axis(element: Any, turns: bool, where: str) -> Axis:
    coordinate = element.findtext('coordinates', '').strip()
    direction = UPRIGHT @ _numbers(element.findtext('axis', '0 0 1'))
    function = next((one for one in element if one.get('name') == 'function'), None)
    if function is None:
        function = next((one for one in element if 'unction' in one.tag), None)
    size = (lambda x: np.zeros_like(x)) if function is None else _function(function, where)
    trial = size(np.linspace(-1.0, 1.0, 7))
    if not coordinate or np.ptp(trial) < 1e-12:
        return Axis(direction, '', size, turns)
    return Axis(direction / np.linalg.norm(direction), coordinate, size, turns)


def _function(element: Any, where: str) -> Function:
    """One of OpenSim's functions of one variable."""
    if element.tag == 'LinearFunction':
        slope, start = _numbers(element.findtext('coefficients', '1 0'))
        return lambda x: slope * x + start
    if element.tag == 'Constant':
        value = float(element.findtext('value', '0'))
        return lambda x: np.full_like(x, value)
    if element.tag == 'PolynomialFunction':
        coefficients = _numbers(element.findtext('coefficients', '0'))
        return lambda x: np.asarray(np.polyval(coefficients, x), float)
    if element.tag == 'MultiplierFunction':
        scale = float(element.findtext('scale', '1'))
        inner = _function(element.find('function')[0], where)
        return lambda x: scale * inner(x)
    if element.tag in ('SimmSpline', 'NaturalCubicSpline'):
        x, y = _numbers(element.findtext('x', '')), _numbers(element.findtext('y', ''))
        spline = CubicSpline(x, y, bc_type='natural')
        low, high = spline(x[[0, -1]], 1)
        return lambda q: np.where(
            q < x[0],
            y[0] + low * (q - x[0]),
            np.where(q > x[-1], y[-1] + high * (q - x[-1]), spline(q)),
        )
    raise ModelError(f'{where}: the function {element.tag} is not known')


def _moved(axis: Axis, size: Array) -> Array:
    """Transforms (N, 4, 4) of one axis."""
    place = np.tile(np.eye(4), (len(size), 1, 1))
    if axis.turns:
        place[:, :3, :3] = Rotation.from_rotvec(size[:, None] * axis.direction).as_matrix()
    else:
        place[:, :3, 3] = size[:, None] * axis.direction
    return place


# URDF -------------------------------------------------------------------------------------------


def _add_body(tree: Any, body: Any) -> None:
    link = etree.SubElement(tree, 'link', name=body.get('name'))
    mass = float(body.findtext('mass', '0'))
    if not mass > 0.0:
        return
    inertial = etree.SubElement(link, 'inertial')
    centre = UPRIGHT @ _numbers(body.findtext('mass_center', '0 0 0'))
    etree.SubElement(inertial, 'origin', xyz=_text(centre), rpy='0 0 0')
    etree.SubElement(inertial, 'mass', value=repr(mass))
    moments = _numbers(body.findtext('inertia', '0 0 0 0 0 0'))
    xx, yy, zz, xy, xz, yz = moments
    tensor = UPRIGHT @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ UPRIGHT.T
    entries = {
        f'i{"xyz"[row]}{"xyz"[column]}': repr(float(tensor[row, column]))
        for row in range(3)
        for column in range(row, 3)
    }
    etree.SubElement(inertial, 'inertia', entries)


def _add_joint(tree: Any, joint: Joint, coupled: set[str], moving: dict[str, Axis]) -> None:
    """A chain of joints with one degree of freedom each."""
    place, parent = joint.on_parent, joint.parent
    for axis in joint.axes:
        if not axis.coordinate or axis.coordinate in coupled:
            place = place @ _moved(axis, axis.size(np.zeros(1)))[0]
            continue
        used = sum(one.coordinate == axis.coordinate for one in joint.axes) > 1
        main = axis.turns and not any(
            one.coordinate == axis.coordinate and one.turns
            for one in joint.axes[: joint.axes.index(axis)]
        )
        name = axis.coordinate
        if used and not main:
            name = f'{axis.coordinate}_{"r" if axis.turns else "t"}{joint.axes.index(axis)}'
        link = f'{name}_link'
        etree.SubElement(tree, 'link', name=link)
        kind = 'revolute' if axis.turns else 'prismatic'
        element = _connect(tree, name, kind, parent, link, place)
        etree.SubElement(element, 'axis', xyz=_text(axis.direction))
        limit = {'lower': '-10', 'upper': '10', 'effort': '1e4', 'velocity': '100'}
        etree.SubElement(element, 'limit', limit)
        moving[name] = axis
        place, parent = np.eye(4), link
    _connect(
        tree,
        f'{joint.name}_joint',
        'fixed',
        parent,
        joint.child,
        place @ np.linalg.inv(joint.on_child),
    )


def _connect(tree: Any, name: str, kind: str, parent: str, child: str, place: Array) -> Any:
    element = etree.SubElement(tree, 'joint', name=name, type=kind)
    etree.SubElement(element, 'parent', link=parent)
    etree.SubElement(element, 'child', link=child)
    etree.SubElement(
        element, 'origin', xyz=_text(place[:3, 3]), rpy=_text(rpy_of_matrix(place[:3, :3]))
    )
    return element


def _numbers(text: str) -> Array:
    return np.array([float(part) for part in text.split()])


def _text(values: Any) -> str:
    return ' '.join(repr(float(value)) for value in values)
