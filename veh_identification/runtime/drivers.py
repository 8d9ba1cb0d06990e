"""The table of hardware drivers that the launch files can start (config/drivers.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.quantities import Text


@dataclass(frozen=True)
class Driver(Model):
    """A node of somebody else's package."""

    package: Text = entry(description='package of the driver')
    executable: Text = entry(description='its node')
    remappings: Mapping[Text, Text] = entry(
        {}, "the driver's topic to ours, relative to the namespace"
    )
    arguments: tuple[Text, ...] = entry((), 'of its command line')


Drivers = dict[Text, dict[Text, Driver]]
