"""The fleet as prior: errors become smaller, intervals stay true, strangers stay outside."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fleet_numbers import reduction

from veh_identification.fleets.entries import Entry
from veh_identification.fleets.fleet import Fleet
from veh_identification.fleets.output import save
from veh_identification.fleets.page import page_content
from veh_identification.fleets.prior import shrink
from veh_identification.types import Array


def scatter(rng: np.random.Generator, count: int, kind: str) -> Array:
    """True values of machines with mean 0 and deviation 1."""
    if kind == 'uniform':
        return np.asarray(rng.uniform(-1.0, 1.0, count) * np.sqrt(3.0))
    return np.asarray(rng.standard_normal(count))


@pytest.mark.parametrize('kind', ['normal', 'uniform'])
@pytest.mark.parametrize('machines', [6, 20])
def test_machines_with_one_short_recording(machines: int, kind: str) -> None:
    """Known twice as badly as the machines scatter, the others five times better than that."""
    rng = np.random.default_rng(machines)
    std = np.full(machines, 0.4)
    std[0] = 2.0
    own, shrunk, covered = [], [], []
    for _ in range(1000):
        truth = scatter(rng, machines, kind)
        value = truth + std * rng.standard_normal(machines)
        found = shrink(value, std)
        own.append(value[0] - truth[0])
        shrunk.append(found.value[0] - truth[0])
        covered.append(np.abs(found.value - truth) < 1.96 * found.std)
    assert np.std(shrunk) < 0.7 * np.std(own)
    share = np.mean(covered, axis=0)
    assert 0.92 <= share[0] <= 0.98
    assert 0.92 <= share[1:].mean() <= 0.98


def test_what_is_known_well_stays_and_units_do_not_matter() -> None:
    value, std = np.array([1.0, 1.2, 0.9, 1.1, 0.7, 1.4]), np.full(6, 1e-4)
    found = shrink(value, std)
    np.testing.assert_allclose(found.value, value, atol=1e-5)
    np.testing.assert_allclose(found.std, std, rtol=1e-3)
    wide = shrink(1e6 * value + 5e7, 3e5 * np.ones(6))
    plain = shrink(value, 0.3 * np.ones(6))
    np.testing.assert_allclose((wide.value - 5e7) / 1e6, plain.value, rtol=1e-9)
    np.testing.assert_allclose(wide.std / 1e6, plain.std, rtol=1e-9)


def cars(meanings: tuple[str, ...] = ('', '')) -> Fleet:
    """Seven cars; the first has one bad recording, the last is of another kind."""
    rng = np.random.default_rng(3)
    entries = []
    for machine in range(7):
        truth = np.array([1500.0, 30_000.0]) * (1.0 + 0.01 * rng.standard_normal(2))
        truth[0] += 900.0 * (machine == 6)
        for day in range(1 if machine == 0 else 4):
            std = np.array([15.0, 300.0]) * (3.0 if machine == 0 else 0.1)
            value = truth + std * rng.standard_normal(2)
            made = reduction(value, np.diag(std**2), day, meanings=meanings)
            entries.append(Entry(f'/d/{machine}/{day}', f'car_{machine}', None, made))
    return Fleet('car', tuple(entries), fleet_prior=True)


def test_fleet_gives_each_machine_its_weight_and_leaves_strangers_alone(tmp_path: Path) -> None:
    fleet = cars()
    assert [(one.machine, one.parameter) for one in fleet.outliers] == [('car_6', 'Mc')]
    first, *_, last = fleet.with_fleet
    assert first.used.all()
    assert np.all(first.std < 0.7 * first.own_std)
    assert np.all(first.weight > 0.7)
    assert last.used.tolist() == [False, True]
    assert last.value[0] == last.own_value[0]
    assert fleet.machine('car_0').value.tolist() == first.own_value.tolist()  # stays as it is
    save(fleet, tmp_path)
    with (tmp_path / 'with_fleet.csv').open() as file:
        row = next(iter(csv.DictReader(file)))
    assert float(row['std']) == first.std[0]
    prior = page_content(fleet).prior
    assert prior is not None and {one.machine for one in prior} == {'car_0'}
    assert page_content(replace(fleet, fleet_prior=False)).prior is None
    save(replace(fleet, fleet_prior=False), tmp_path)
    assert not (tmp_path / 'with_fleet.csv').exists()


def test_other_sums_of_the_same_name_are_no_part_of_the_fleet() -> None:
    fleet = cars()
    strange = [
        replace(one, reduction=replace(one.reduction, meanings=('other', '')))
        if one.machine == 'car_0'
        else one
        for one in fleet.entries
    ]
    first = replace(fleet, entries=tuple(strange)).with_fleet[0]
    assert first.used.tolist() == [False, True]


def test_near_the_least_error_that_is_possible() -> None:
    """No prior does better than one that knows mean and scatter of the fleet beforehand."""
    from fleet_drawn import draw

    for new in (1.0, 2.0, 5.0):
        found = draw(20, 'normal', new, 0.4, 600)
        assert found.ratio < 1.15 * found.least
        assert 0.92 <= found.coverage <= 0.98
    wide = draw(20, 'normal', 0.1, 0.1, 200)  # its own recording knows it better: nothing to gain
    assert 0.95 < wide.ratio < 1.05
