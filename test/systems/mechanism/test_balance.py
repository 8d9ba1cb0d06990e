"""Work and energy of a slider-crank: the one mistake in forces or masses is named.

Energies are written down in closed form, apart from the multibody model that the check uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from veh_identification.observation.streaming import Item
from veh_identification.runtime.graph import find_config
from veh_identification.systems.mechanism.agreement.check import check_agreement
from veh_identification.systems.mechanism.configuration import Description, load

CRANK, ROD, G = 0.05, 0.15, 9.80665
Change = Callable[[np.ndarray], np.ndarray]


@pytest.fixture(scope='module')
def description() -> Description:
    return load(find_config('mechanism_slider_crank.yaml'))


def angle(t: np.ndarray) -> np.ndarray:
    return np.asarray(0.6 + 7.0 * t + 2.0 * np.sin(2.2 * t))


def stroke(phi: np.ndarray) -> np.ndarray:
    return np.asarray(CRANK * np.cos(phi) + np.sqrt(ROD**2 - (CRANK * np.sin(phi)) ** 2))


def torque(t: np.ndarray, friction: float) -> np.ndarray:
    """Of the motor: what energy, dampers and dry friction take, over the rate of the crank."""
    fine = np.arange(t[0] - 0.01, t[-1] + 0.01, 2e-4)
    phi = angle(fine)
    tilt = np.arcsin(-CRANK * np.sin(phi) / ROD)
    rate, turning, speed = (np.gradient(one, fine) for one in (phi, tilt, stroke(phi)))
    middle = CRANK * np.cos(phi) + 0.5 * ROD * np.cos(tilt), 0.5 * CRANK * np.sin(phi)
    vx, vy = (np.gradient(one, fine) for one in middle)
    energy = (
        0.5 * (2.0e-3 + 1.2 * 0.015**2) * rate**2
        + 0.5 * 0.4 * (vx**2 + vy**2)
        + 0.5 * 0.4 * ROD**2 / 12.0 * turning**2
        + 0.5 * 0.6 * speed**2
        + G * (1.2 * 0.015 * np.sin(phi) + 0.4 * middle[1])
        + 0.5 * 400.0 * (stroke(phi) - 0.15) ** 2
    )
    lost = 2.0 * speed**2 + 0.02 * rate**2 + friction * np.abs(rate)
    return np.asarray(np.interp(t, fine, (np.gradient(energy, fine) + lost) / rate))


def items(change: Change = lambda f: f, friction: float = 0.05) -> list[Item]:
    t = np.arange(0.0, 7.0, 0.002)
    tick = np.radians(1.0)
    columns = {
        'encoder': tick * np.floor(angle(t) / tick),
        'stroke': stroke(angle(t)),
        'motor': change(torque(t, friction)),
    }
    return [
        Item(10**18 + round(1e9 * time), name, (float(value),))
        for name, values in columns.items()
        for time, value in zip(t, values, strict=True)
    ]


def entered(description: Description, part: str, name: str, field: str, factor: float) -> Any:
    entries = getattr(description, part)
    entry = replace(entries[name], **{field: factor * getattr(entries[name], field)})
    return replace(description, **{part: {**entries, name: entry}})


def half(force: np.ndarray) -> np.ndarray:
    return np.where(np.arange(force.size) < force.size // 2, force, -force)


def older(force: np.ndarray) -> np.ndarray:
    return np.concatenate([np.full(50, force[0]), force[:-50]])  # by 0.1 s


FORCES: dict[str, tuple[Change, str, str]] = {
    '0.1 s late': (older, 'late', 'about 100 ms late'),
    'wrong sign': (lambda f: -f, 'force_sign', 'motor'),
    'in N mm': (lambda f: 1e3 * f, 'unit', 'in N mm'),
    'wrong sign from the middle on': (half, 'force_sign', 'from about 3.'),
    'twice too large': (lambda f: 2.0 * f, 'scale', ' 2 times too large'),
}
ENTRIES = [
    ('masses', 'piston', 'mass', 1e3, 'in g,'),
    ('bodies', 'crank', 'inertia', 1e4, 'in kg cm^2'),
    ('springs', 'return', 'stiffness', 1e-3, 'in N/mm'),
]


@pytest.mark.parametrize('case', FORCES)
def test_forces(description: Description, case: str) -> None:
    change, code, word = FORCES[case]
    (cause,) = check_agreement(items(change), description)
    assert (cause.level, cause.code) == ('bad', code) and word in cause.text


@pytest.mark.parametrize(('part', 'name', 'field', 'factor', 'word'), ENTRIES)
def test_entries(
    description: Description, part: str, name: str, field: str, factor: float, word: str
) -> None:
    wrong = entered(description, part, name, field, factor)
    (cause,) = check_agreement(items(), wrong)
    assert (cause.level, cause.code) == ('bad', 'unit') and word in cause.text
    assert f'{part}.{name}.{field}' in cause.text


def test_gravity(description: Description) -> None:
    (cause,) = check_agreement(items(), replace(description, gravity=(-G, 0.0)))
    assert (cause.level, cause.code) == ('bad', 'gravity') and '-9.81] m/s^2' in cause.text


@pytest.mark.parametrize('friction', [0.0, 0.3])
def test_what_fits_and_what_nobody_knows(description: Description, friction: float) -> None:
    """Dry friction is estimated; a load that no message tells is no mistake."""
    assert check_agreement(items(friction=friction), description) == []
    hand = 0.6 * np.sin(31.0 * np.arange(0.0, 7.0, 0.002)) ** 2
    assert check_agreement(items(lambda f: f + hand, friction), description) == []


def test_a_force_that_never_changes(description: Description) -> None:
    """Its work does not fit, and nothing tells the right one, not even a unit that helps."""
    (doubt,) = check_agreement(items(lambda f: np.full_like(f, 1.0)), description)
    assert (doubt.level, doubt.code) == ('warn', 'stuck') and 'is 1 throughout' in doubt.text
