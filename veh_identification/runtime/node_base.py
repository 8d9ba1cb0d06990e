"""What the node objects of our own engines share: names, parameters, clock and logger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from veh_identification.errors import UsageError
from veh_identification.runtime.interface import NANOSECONDS
from veh_identification.runtime.load import Load
from veh_identification.runtime.logger import NodeLogger
from veh_identification.runtime.names import Remapper
from veh_identification.runtime.parameter_store import ParameterStore, StoredParameter
from veh_identification.runtime.parameters import ParameterDescriptor

ClockT = TypeVar('ClockT')


class NodeBase(Generic[ClockT]):
    """rclpy's accessors; the engines add subscriptions, publishers, timers and services."""

    def __init__(
        self, names: Remapper, parameters: ParameterStore, logger: NodeLogger, clock: ClockT
    ) -> None:
        self._names = names
        self._parameters = parameters
        self._logger = logger
        self._clock = clock

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: ParameterDescriptor | None = None
    ) -> StoredParameter:
        """Declare a parameter; an override from a YAML file or the command line wins."""
        return self._parameters.declare(name, value, descriptor)

    def get_parameter(self, name: str) -> StoredParameter:
        """A declared parameter."""
        return self._parameters.get(name)

    def when_changed(self, name: str, callback: Callable[[Any], None]) -> None:
        """Nobody can change a parameter here while the node runs."""

    def undeclared_overrides(self) -> list[str]:
        """Names given from outside that the node did not declare."""
        return self._parameters.undeclared()

    def get_load(self) -> Load | None:
        """How the node keeps up with its input: not measured here."""
        return None

    def get_clock(self) -> ClockT:
        """The node clock."""
        return self._clock

    def get_logger(self) -> NodeLogger:
        """The node's logger."""
        return self._logger

    def get_name(self) -> str:
        """The node's name."""
        return self._names.node_name

    def get_namespace(self) -> str:
        """The node's namespace, with a leading slash."""
        return self._names.namespace


def period_ns(timer_period_sec: float) -> int:
    """A timer's period in nanoseconds; UsageError unless it is positive."""
    if not timer_period_sec > 0:
        raise UsageError(f'a timer period must be positive, got {timer_period_sec}')
    return round(timer_period_sec * NANOSECONDS)
