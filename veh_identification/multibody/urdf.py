"""Tree models from URDF files.

Links on fixed joints are merged into their parent (inertia transported to the parent's link
frame), mimic joints follow the coordinate of the joint they mimic, links without inertial or
with zero mass stay massless (they get no columns). Parameters keep the URDF link frames.

Inertia that no body can have is common in CAD exports, and `TreeModel.warnings` says which link
it is. A broken triangle inequality, a point or line mass and inertia without mass are used as they
stand; with a negative principal moment (a negative or indefinite matrix) no estimator can start,
and the nearest inertia that a body can have takes its place.
Moments within ZERO_MOMENT of the border count as on it (rounding of printed digits).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from urdf_parser_py.urdf import URDF
from urdf_parser_py.xml_reflection import core as urdf_core

from veh_identification.errors import ModelError
from veh_identification.files import MOST_DESCRIPTION, FileError, read_plain, shortened
from veh_identification.multibody.inertia import (
    PARAMETERS_PER_BODY,
    from_centre_of_mass,
    nearest_inertia,
)
from veh_identification.multibody.locking import lock_joints, merge_locked
from veh_identification.multibody.tree import (
    LOCKED,
    PRISMATIC,
    REVOLUTE,
    BodySpec,
    TreeModel,
    assemble,
)
from veh_identification.multibody.urdf_text import kinematic_elements, unreadable
from veh_identification.orientations import matrix_of_rpy
from veh_identification.types import Array

# As a share of the largest principal moment: files print six digits or more.
ZERO_MOMENT = 1e-6
#: Metres: mass that is nowhere farther than this from its centre is a point.
POINT_RADIUS = 1e-6

_JOINT_TYPES = {
    'revolute': REVOLUTE,
    'continuous': REVOLUTE,
    'prismatic': PRISMATIC,
    'fixed': LOCKED,
}


def read_description(path: str | Path) -> bytes:
    """The content of a URDF file."""
    try:
        return read_plain(path, MOST_DESCRIPTION)
    except FileError as error:
        raise ModelError(f'{shortened(path)}: the URDF {error.why}') from None


def load_urdf(
    path: str | Path, floating: bool = True, locked: Mapping[str, float] | None = None
) -> TreeModel:
    """Model from a URDF file; `locked` joints are held at the given positions and merged."""
    try:
        text = read_description(path).decode('utf-8-sig')
    except UnicodeDecodeError as error:
        raise ModelError(f'{path}: the URDF cannot be read ({error})') from None
    return parse_urdf(text, floating, locked, where=str(path))


def parse_urdf(
    text: str,
    floating: bool = True,
    locked: Mapping[str, float] | None = None,
    where: str = 'URDF',
) -> TreeModel:
    """Model from URDF text; `where` names the source in errors."""
    robot = _parse(text, where)
    if not any(_mass(link) for link in robot.links):
        raise ModelError(f'{where}: no link has an inertial element with mass')
    joints = {joint.name: joint for joint in robot.joints}
    if len(joints) < len(robot.joints):
        names = [joint.name for joint in robot.joints]
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelError(f'{where}: two joints have the name "{twice}"')
    by_child: dict[str, Any] = {}
    links = {link.name for link in robot.links}
    for joint in robot.joints:
        if joint.child in by_child:
            raise ModelError(
                f'{where}: link "{joint.child}" is the child of two joints, '
                f'"{by_child[joint.child].name}" and "{joint.name}"'
            )
        if joint.child not in links:
            raise ModelError(
                f'{where}: joint "{joint.name}" names the child link '
                f'"{joint.child}", which does not exist'
            )
        by_child[joint.child] = joint
    specs = [_body(link, by_child.get(link.name), joints, where) for link in robot.links]
    model = assemble(robot.name or where, specs, floating, where=where)
    roots = [spec.name for spec in specs if not spec.parent]
    if len(roots) > 1:
        raise ModelError(
            f'{where}: the tree is disconnected, "{roots[0]}" and "{roots[1]}" are both root links'
        )
    notes = (_inertia_warning(link, where) for link in robot.links)
    model = replace(merge_locked(model), warnings=tuple(note for note in notes if note))
    try:
        return lock_joints(model, locked) if locked else model
    except ModelError as error:
        raise ModelError(f'{where}: {error}') from None


def _parse(text: str, where: str) -> Any:
    """The parsed robot; the parser's own complaints about unknown tags stay silent."""
    elements = kinematic_elements(text, where)
    try:
        with _quiet():
            return URDF.from_xml_string(elements)
    except (
        urdf_core.ParseError,
        ValueError,
        AssertionError,
        KeyError,
        AttributeError,
        TypeError,
    ) as error:
        raise unreadable(where, error) from None


@contextmanager
def _quiet() -> Iterator[None]:
    report: Callable[[str], None] = urdf_core.on_error
    urdf_core.on_error = lambda message: None
    try:
        yield
    finally:
        urdf_core.on_error = report


def _mass(link: Any) -> float:
    return float(link.inertial.mass or 0.0) if link.inertial is not None else 0.0


def _body(link: Any, joint: Any, joints: Mapping[str, Any], where: str) -> BodySpec:
    """One link with the joint above it (none for the root link)."""
    parameters = _parameters(link, where)
    real = bool(parameters[0] > 0.0)
    if joint is None:
        return BodySpec(link.name, '', real=real, parameters=parameters)
    rotation, translation = _pose(joint.origin)
    joint_type = _joint_type(joint, where)
    axis = np.array(joint.axis if joint.axis is not None else (1.0, 0.0, 0.0), dtype=float)
    if joint_type == LOCKED:
        return BodySpec(
            link.name,
            joint.parent,
            joint.name,
            LOCKED,
            rotation,
            translation,
            real=real,
            parameters=parameters,
        )
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        raise ModelError(
            f'{where}: joint "{joint.name}" has the axis {axis.tolist()}, expected a direction'
        )
    coordinate, multiplier, offset = _source(joint, joints, where)
    spec = BodySpec(
        link.name,
        joint.parent,
        joint.name,
        joint_type,
        rotation,
        translation,
        axis / length,
        coordinate,
        multiplier,
        offset,
        real,
        parameters,
    )
    return spec if coordinate else _frozen(spec)


def _frozen(spec: BodySpec) -> BodySpec:
    """A mimic joint of a fixed joint never moves: lock it where its offset puts it."""
    moving = BodySpec(**{**spec.__dict__, 'parent': '', 'coordinate': 'q'})
    held = lock_joints(assemble(spec.name, [moving], floating=False), {'q': 0.0}, merge=False)
    return BodySpec(
        spec.name,
        spec.parent,
        spec.joint,
        LOCKED,
        held.rotation[0],
        held.translation[0],
        real=spec.real,
        parameters=spec.parameters,
    )


def _joint_type(joint: Any, where: str) -> int:
    if joint.type not in _JOINT_TYPES:
        raise ModelError(
            f'{where}: joint "{joint.name}" has the type "{joint.type}", expected '
            f'one of {", ".join(_JOINT_TYPES)}'
        )
    return _JOINT_TYPES[joint.type]


def _source(joint: Any, joints: Mapping[str, Any], where: str) -> tuple[str, float, float]:
    """Coordinate, multiplier and offset after following mimic joints; '' if it never moves."""
    multiplier, offset, visited = 1.0, 0.0, [joint.name]
    while joint.mimic is not None:
        mimic = joint.mimic
        if mimic.joint not in joints or mimic.joint in visited:
            raise ModelError(
                f'{where}: joint "{joint.name}" mimics "{mimic.joint}", which is '
                'no other joint of the model'
            )
        step = 1.0 if mimic.multiplier is None else float(mimic.multiplier)
        offset += multiplier * (0.0 if mimic.offset is None else float(mimic.offset))
        multiplier *= step
        joint = joints[mimic.joint]
        visited.append(joint.name)
    return ('' if joint.type == 'fixed' else joint.name), multiplier, offset


def _pose(origin: Any) -> tuple[Array, Array]:
    if origin is None:
        return np.eye(3), np.zeros(3)
    xyz = origin.xyz if origin.xyz is not None else (0.0, 0.0, 0.0)
    rpy = origin.rpy if origin.rpy is not None else (0.0, 0.0, 0.0)
    return matrix_of_rpy(rpy), np.array(xyz, dtype=float)


def _parameters(link: Any, where: str) -> Array:
    """The ten parameters at the link origin in link axes; zeros for a massless link."""
    mass = _mass(link)
    if mass < 0.0:
        raise ModelError(
            f'{where}: link "{link.name}" has the mass {mass:g} kg, expected a '
            'number that is not negative'
        )
    if mass == 0.0:
        return np.zeros(PARAMETERS_PER_BODY)
    rotation, centre = _pose(link.inertial.origin)
    return from_centre_of_mass(
        mass, centre, rotation @ usable_inertia(_inertia(link)) @ rotation.T
    )


def usable_inertia(inertia: Array) -> Array:
    """The inertia, or what takes its place where a principal moment is negative."""
    return nearest_inertia(inertia) if _is_negative(np.linalg.eigvalsh(inertia)) else inertia


def _is_negative(moments: NDArray[np.floating[Any]]) -> bool:
    return bool(moments[0] < -ZERO_MOMENT * np.abs(moments).max())


def _inertia(link: Any) -> Array:
    """Inertia matrix about the centre of mass in the axes of the inertial element.

    Some converters write 1e-35 for none at all, with rounding errors of either sign.
    """
    if link.inertial.inertia is None:
        return np.zeros((3, 3))
    found = np.array(link.inertial.inertia.to_matrix(), dtype=float)
    return np.where(np.abs(found).max() < POINT_RADIUS**2 * _mass(link), 0.0, found)


def _inertia_warning(link: Any, where: str) -> str:
    """What looks wrong with inertia that can still be used; empty when all is well."""
    if link.inertial is None:
        return ''
    here, moments = f'{where}: link "{link.name}"', np.linalg.eigvalsh(_inertia(link))
    margin = ZERO_MOMENT * np.abs(moments).max()
    if _mass(link) == 0.0:
        return f'{here} has inertia but no mass, it is taken as massless' if margin > 0.0 else ''
    if margin == 0.0:
        return f'{here} has mass but no inertia, it is taken as a point mass'
    listed = ', '.join(f'{moment:.6g}' for moment in moments)
    if _is_negative(moments):
        taken = np.linalg.eigvalsh(nearest_inertia(_inertia(link)))
        return (
            f'{here} has a negative principal moment of inertia ({listed} kg m^2), which no body '
            f'can have; {", ".join(f"{moment:.6g}" for moment in taken)} kg m^2, the nearest that '
            'one can have, take their place'
        )
    if moments[0] <= margin:
        return (
            f'{here} has a principal moment of inertia that is zero ({listed} kg m^2), which '
            'only an infinitely thin body has'
        )
    if moments[0] + moments[1] - moments[2] < -margin:
        return (
            f'{here} has principal moments of inertia that break the triangle inequality '
            f'({listed} kg m^2): the largest may not exceed the sum of the others'
        )
    return ''
