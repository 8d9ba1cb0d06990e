"""From URDF text to the elements that a dynamic model needs, with the faults of the text named.

Only links with their inertial and joints with pose, axis, parent, child and mimic are kept:
limits, shapes, transmissions, plugins and whatever simulators add have no say in a tree model, so
their mistakes must not stop it. Entities are refused (a few lines of them can grow without
bound), and so is text that xacro has still to expand.
"""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from veh_identification.errors import ModelError

_JOINT_PARTS = ('origin', 'axis', 'parent', 'child', 'mimic')
# How many numbers the attributes of an element hold.
_NUMBERS = {
    'origin': {'xyz': 3, 'rpy': 3},
    'axis': {'xyz': 3},
    'mass': {'value': 1},
    'inertia': {'ixx': 1, 'ixy': 1, 'ixz': 1, 'iyy': 1, 'iyz': 1, 'izz': 1},
    'mimic': {'multiplier': 1, 'offset': 1},
}
_PENDING = ('${', '$(')


def kinematic_elements(text: str, where: str) -> str:
    """The URDF reduced to what a tree model uses; ModelError says what is wrong with the text."""
    if not text.strip():
        raise ModelError(f'{where}: the file is empty, expected a URDF')
    _Scan(where).run(text)
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise unreadable(where, error) from None
    if root.find('link') is None:
        raise ModelError(f'{where}: the URDF holds no link')
    reduced = ElementTree.Element('robot', dict(root.attrib))
    for element in root:
        if element.tag in ('link', 'joint'):
            reduced.append(_reduced(element, where))
    return ElementTree.tostring(reduced, encoding='unicode')


def unreadable(where: str, error: Exception) -> ModelError:
    """The error for text that a parser refused; its message may span lines, ours must not."""
    reason = ' '.join(str(error).split()) or type(error).__name__
    return ModelError(f'{where}: the URDF cannot be parsed ({reason})')


def _reduced(element: ElementTree.Element, where: str) -> ElementTree.Element:
    """A link with its inertial only, or a joint without limits and the like."""
    name = element.get('name', '')
    # Inside the program an empty name stands for the root frame.
    if not name.strip():
        raise ModelError(f'{where}: a {element.tag} has no name')
    parts = ('inertial',) if element.tag == 'link' else _JOINT_PARTS
    result = ElementTree.Element(element.tag, dict(element.attrib))
    for tag in parts:
        found = element.findall(tag)
        if len(found) > 1:
            raise ModelError(
                f'{where}: {element.tag} "{name}" has {len(found)} elements <{tag}>, expected one'
            )
        result.extend(found)
    for part in result.iter():
        for key, count in _NUMBERS.get(part.tag, {}).items():
            _check_numbers(
                part.get(key), count, f'{where}: {element.tag} "{name}", {part.tag} {key}'
            )
    return result


def _check_numbers(text: str | None, count: int, here: str) -> None:
    """What is left out has a default or is missed by the parser, which names the place."""
    if text is None:
        return
    try:
        values = [float(part) for part in text.split()]
    except ValueError:
        values = []
    if len(values) != count or not all(map(math.isfinite, values)):
        expected = 'a finite number' if count == 1 else f'{count} finite numbers'
        raise ModelError(f'{here} is "{text}", expected {expected}')


class _Scan:
    """One pass over the raw text, before anything is expanded or namespaces are looked up."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.depth = 0
        self.owner = ''
        self.prefixes = {'xacro'}

    def run(self, text: str) -> None:
        """Raise ModelError for broken XML, entities, another format and unexpanded xacro."""
        parser = expat.ParserCreate('utf-8')
        parser.EntityDeclHandler = self.entity
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        try:
            parser.Parse(text.encode('utf-8'), True)
        except (expat.ExpatError, ValueError) as error:
            raise unreadable(self.where, error) from None

    def entity(self, name: str, *_: Any) -> None:
        """Refuse a declared entity before its first use."""
        raise ModelError(
            f'{self.where}: the URDF declares the entity "{name}", expected a file '
            'without entities'
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Look at one element: `owner` is the link or joint that it belongs to."""
        if self.depth == 0 and tag != 'robot':
            raise ModelError(f'{self.where}: the outermost element is <{tag}>, expected <robot>')
        if self.depth == 1:
            named = tag in ('link', 'joint')
            self.owner = f'{tag} "{attributes.get("name", "")}"' if named else ''
        self.prefixes |= {
            key[6:]
            for key, value in attributes.items()
            if key.startswith('xmlns:') and value.rstrip('/').endswith('xacro')
        }
        inside = f'{self.owner} holds' if self.owner else 'the robot holds'
        if ':' in tag and tag.split(':')[0] in self.prefixes:
            raise ModelError(
                f'{self.where}: {inside} the unexpanded element <{tag}>: run xacro '
                'on the file first'
            )
        # Elsewhere (plugins, controllers) such text means nothing to the model.
        if self.owner or self.depth == 0:
            for key, value in attributes.items():
                if any(mark in value for mark in _PENDING):
                    raise ModelError(
                        f'{self.where}: {inside} the unexpanded value {key}='
                        f'"{value}" in <{tag}>: run xacro on the file first'
                    )
        self.depth += 1

    def end(self, tag: str) -> None:
        """Leave one element."""
        self.depth -= 1
