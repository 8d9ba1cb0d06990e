"""What cannot be estimated is told with what the checks say of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from veh_identification.errors import EstimationError, InputError, VehIdError
from veh_identification.findings import Finding
from veh_identification.systems.base import Task
from veh_identification.systems.driver import _caused


def machine(described: list[Finding], checked: list[Finding] | VehIdError) -> Any:
    def checks(recording: Any, config: Any) -> list[Finding]:
        if isinstance(checked, VehIdError):
            raise checked
        return checked

    return SimpleNamespace(
        described=lambda config: described, checks=checks, series=lambda one, task: one
    )


ERROR = EstimationError('no masses were found (the solver says PrimalInfeasible)')
NOTE = Finding('note', 'imu_axes', 'a note')
WARN = Finding('warn', 'joints_swapped', 'names stand in another order')
BAD = Finding('bad', 'unit', 'knee is in degrees')
DESCRIBED = Finding('bad', 'unit', 'geometry.wheelbase is in mm')


@pytest.mark.parametrize(
    ('described', 'checked', 'said'),
    [
        ([], [NOTE, WARN], 'names stand in another order (no masses'),
        ([], [WARN, BAD], 'knee is in degrees (no masses'),
        ([DESCRIBED], [BAD], 'geometry.wheelbase is in mm (no masses'),
        ([], [NOTE], 'no masses were found'),
        ([], InputError('unreadable'), 'no masses were found'),
    ],
)
def test_a_refusal_begins_with_its_cause(described: Any, checked: Any, said: str) -> None:
    task: Task[Any] = Task((Path('run'),), None, None)
    assert str(_caused(machine(described, checked), task, ERROR)).startswith(said)


def test_what_a_refusal_says_itself_is_not_repeated() -> None:
    task: Task[Any] = Task((Path('run'),), None, None)
    error = EstimationError('run: knee is in degrees')
    assert _caused(machine([], [BAD]), task, error) is error
    unreadable = InputError('run: damaged')  # no matter of the checks
    assert _caused(machine([], [BAD]), task, unreadable) is unreadable
