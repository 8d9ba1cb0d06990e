"""What may be wrong and needs no fit of its own, in the order in which it is tried."""

from __future__ import annotations

from veh_identification.systems.parallel.checks.descriptions import descriptions, listed_otherwise
from veh_identification.systems.parallel.checks.lags import lags, single_lags
from veh_identification.systems.parallel.checks.machine import Hypotheses, Machine
from veh_identification.systems.parallel.checks.orders import orders
from veh_identification.systems.parallel.checks.signs import inwards, signs
from veh_identification.systems.parallel.checks.units import units


def every_hypothesis(machine: Machine) -> Hypotheses:
    """All that need no fit of their own, the simplest first."""
    yield from units()
    yield from signs()
    yield from orders()
    yield from inwards(machine)
    yield from descriptions(machine.model.robot)
    yield from listed_otherwise(machine.model.robot)
    yield from lags()
    yield from single_lags(machine)
