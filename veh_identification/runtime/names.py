"""Topic, service and node names: resolution and remapping by the ROS 2 rules."""

from __future__ import annotations

import re
from collections.abc import Iterable

from veh_identification.errors import UsageError

_NAME = re.compile(r'^(~?/?)([A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*)?$')


def normalise(topic: str) -> str:
    """With exactly one leading slash and none at the end, whatever a bag wrote."""
    return '/' + topic.strip('/')


def resolve(name: str, node_name: str, namespace: str) -> str:
    """The absolute name of a relative (`imu/data`), private (`~/reset`) or absolute name."""
    if not _NAME.match(name) or not name:
        raise UsageError(f'{name!r} is not a valid ROS name')
    base = namespace.strip('/')
    if name.startswith('/'):
        parts = [name]
    elif name.startswith('~'):
        parts = [base, node_name, name[1:]]
    else:
        parts = [base, name]
    return normalise('/'.join(part.strip('/') for part in parts if part.strip('/')))


def parse_remapping(rule: str) -> tuple[str, str]:
    """`from:=to` as on a ROS command line."""
    source, separator, target = rule.partition(':=')
    if not separator or not source or not target:
        raise UsageError(f'{rule!r} is not a remapping of the form from:=to')
    return source, target


class Remapper:
    """Resolves names of one node and applies its remappings, first match wins."""

    def __init__(
        self, node_name: str, namespace: str = '/', rules: Iterable[tuple[str, str]] = ()
    ) -> None:
        self.node_name = node_name
        self.namespace = normalise(namespace)
        self._rules = [(self._absolute(one), self._absolute(other)) for one, other in rules]

    def _absolute(self, name: str) -> str:
        return resolve(name, self.node_name, self.namespace)

    @property
    def full_name(self) -> str:
        """`/namespace/name` of the node."""
        return resolve(self.node_name, self.node_name, self.namespace)

    def __call__(self, name: str) -> str:
        """The absolute, remapped name."""
        absolute = self._absolute(name)
        for source, target in self._rules:
            if source == absolute:
                return target
        return absolute
