"""Declared parameters of a node for the engines that have no rclpy (replay, zenoh)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification.errors import ParameterError
from veh_identification.runtime.parameters import (
    ParameterDescriptor,
    check,
    coerce,
    read_parameter_file,
)


@dataclass(frozen=True)
class StoredParameter:
    """A declared parameter with its value and descriptor."""

    name: str
    value: Any
    descriptor: ParameterDescriptor


class ParameterStore:
    """Overrides from files and from the command line, and what the node declared of them."""

    def __init__(self, overrides: Mapping[str, Any] | None = None) -> None:
        self._overrides = dict(overrides or {})
        self._declared: dict[str, StoredParameter] = {}

    @classmethod
    def from_sources(
        cls,
        full_name: str,
        files: Iterable[str | Path] = (),
        values: Mapping[str, Any] | None = None,
    ) -> ParameterStore:
        """Parameter files in order, later ones win, then single values."""
        overrides: dict[str, Any] = {}
        for path in files:
            overrides.update(read_parameter_file(path, full_name))
        overrides.update(values or {})
        return cls(overrides)

    def declare(
        self, name: str, value: Any = None, descriptor: ParameterDescriptor | None = None
    ) -> StoredParameter:
        """Declare a parameter once; the override is checked against type and descriptor."""
        if name in self._declared:
            raise ParameterError(f'parameter {name} is declared twice')
        descriptor = descriptor or ParameterDescriptor()
        if name in self._overrides:
            given = self._overrides[name]
            value = given if value is None else coerce(name, given, value)
        check(name, value, descriptor)
        self._declared[name] = StoredParameter(name, value, descriptor)
        return self._declared[name]

    def get(self, name: str) -> StoredParameter:
        """A declared parameter."""
        try:
            return self._declared[name]
        except KeyError:
            raise ParameterError(f'parameter {name} is not declared') from None

    def undeclared(self) -> list[str]:
        """Overrides that nobody declared."""
        return sorted(name for name in self._overrides if name not in self._declared)

    def declared(self) -> list[StoredParameter]:
        """All declared parameters in order of declaration."""
        return list(self._declared.values())
