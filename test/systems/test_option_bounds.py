"""Every number that an option takes has bounds, and a sentence beyond them."""

from __future__ import annotations

import math

import pytest

from veh_identification.errors import UsageError
from veh_identification.systems import registry
from veh_identification.systems.options import make_options, option_fields

#: Numbers of several parts, which the configuration checks as one.
WHOLE = {('robot', 'gravity'), ('humanoid', 'sigma')}
OPTIONS = [
    (verb, system.name, options, one)
    for system in map(registry.load, registry.SYSTEMS)
    for verb, options in system.verbs.items()
    for one in option_fields(options)
    if one.kind in (int, float) and not one.choices and (system.name, one.name) not in WHOLE
]


@pytest.mark.parametrize(
    ('verb', 'system', 'options', 'one'),
    OPTIONS,
    ids=[f'{verb} {system} {one.name}' for verb, system, _, one in OPTIONS],
)
def test_numbers_beyond_all_measure_are_refused(verb, system, options, one) -> None:
    for value in (1e6, -1e6, math.nan):
        with pytest.raises(UsageError, match=f'{one.name} must be'):
            make_options(options, {one.name: one.kind(value) if value == value else value}, verb)
