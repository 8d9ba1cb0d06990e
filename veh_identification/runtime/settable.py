"""Which parameters of a managed node may be set now, and what is said where they may not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from veh_identification.errors import ParameterError
from veh_identification.runtime.parameters import ParameterDescriptor, check, coerce


class Settable:
    """The declared parameters of a node, and those that may change while it runs."""

    def __init__(self, node_name: str) -> None:
        self._node_name = node_name
        self.declared: dict[str, tuple[Any, ParameterDescriptor]] = {}
        self.changes: dict[str, Callable[[Any], None]] = {}

    def set(self, values: Mapping[str, Any], configured: bool) -> str:
        """Check all values and hand those of a running node on; the reason of a refusal."""
        ours = {name: value for name, value in values.items() if name in self.declared}
        try:
            checked = {name: self._checked(name, value) for name, value in ours.items()}
        except ParameterError as error:
            return str(error)
        if not configured:
            return ''
        fixed = [name for name in checked if name not in self.changes]
        if fixed:
            free = ', '.join(sorted(self.changes)) or 'none'
            return (
                f'parameter {fixed[0]}: is read when the node is configured; to change it take '
                f'{self._node_name} through deactivate and cleanup (ros2 lifecycle set), set it, '
                f'then configure and activate. While it runs may be changed: {free}'
            )
        for name, value in checked.items():
            self.changes[name](value)
        return ''

    def _checked(self, name: str, value: Any) -> Any:
        default, descriptor = self.declared[name]
        if descriptor.path:
            raise ParameterError(
                f'parameter {name}: names a file, which nothing from the network may choose; give '
                'it when the node starts'
            )
        if value is None:
            raise ParameterError(f'parameter {name}: cannot be taken away')
        listed = list(value) if hasattr(value, '__len__') and not isinstance(value, str) else value
        result = listed if default is None else coerce(name, listed, default)
        check(name, result, descriptor)
        return result
