"""Share of true car parameters inside two deviations: cars x speeds, one run and five together.

Every car differs in mass, centre of gravity, inertia, springs, dampers, friction, anti-roll bars
and drag. The peer is weighted least squares with the same equations and cut-offs by spectra, but
without the correction for noise in the regressor and without motion beyond the sensors' bands.

With `--mode sticking`: suspensions that stick by several laws, friction, speed and road drawn too.

With `--mode handling`: cars without wheel forces, of another simulator, on a rough road in the
wind, steps and sines of the steering in turn; with the centre of gravity of the description, and
with weighed axles. True stiffness is the slope of both tyres at zero slip and static load.

With `--mode tyres`: the tyres of such cars with wheel forces, driven up to their limit.

With `--mode other`: the 33 parameters and `Cm` of such cars, described as the nominal one.

With `--mode 2002`: the 33 parameters of the model of 2002, from a ramp to each side.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # new processes inherit it

from car_coverage_study import ALONE, GROUPS, LAWS, NAMES, one_car, one_sticking
from car_handling_study import ABSOLUTE, CASES, one_handling
from car_other_study import one_2002, one_other
from car_tyre_study import one_tyres

from veh_identification.engines import study as parallel
from veh_identification.types import Array

PART = 'car-coverage'


def study(cars: int, seconds: float, count: int, workers: int = 1) -> dict[str, dict[str, Array]]:
    """Normalised errors (runs, parameters) of both sides: 'one' run and 'all' runs of a car."""
    found: dict[str, dict[str, list[Array]]] = {
        side: {'one': [], 'all': []} for side in ('ours', 'plain')
    }
    for made in parallel(one_car, [(car, seconds, count) for car in range(cars)], workers):
        for side, (one, together) in made.items():
            found[side]['one'] += one
            found[side]['all'].append(together)
    return {
        side: {case: np.array(rows) for case, rows in cases.items()}
        for side, cases in found.items()
    }


def coverage(z: Array, names: tuple[str, ...] = NAMES) -> float:
    """Percentage within two deviations."""
    chosen = [NAMES.index(name) for name in names]
    return float(100.0 * np.mean(np.abs(z[:, chosen]) < 2.0))


def options_parser() -> argparse.ArgumentParser:
    """Options of this part."""
    parser = argparse.ArgumentParser(prog='veh-id bench car-coverage', description=__doc__)
    parser.add_argument('--cars', type=int, help='cars that differ (default: 6)')
    parser.add_argument('--workers', type=int, help='processes; 0: all cores (default: 1)')
    parser.add_argument(
        '--mode',
        choices=('forces', 'sticking', 'handling', 'tyres', 'other', '2002'),
        help='with wheel forces (default), the same with suspensions that stick, without '
        'wheel forces (the handling model), the tyres, with wheel forces by another '
        'formulation, or the model of 2002',
    )
    parser.add_argument(
        '--seed',
        type=int,
        help='of the first car (default: sticking 2000, 2002 300, others 620)',
    )
    return parser


#: Values from which a share inside two deviations is judged.
FEWEST = 60
#: Largest errors that are asked for [%]: without wheel forces, and of tyres.
WANTED = {'m': 2.0, 'Izz': 5.0, 'Cf': 5.0, 'Cr': 5.0}
WANTED_TYRES = {'cornering_stiffness': 3.0, 'slip_stiffness': 3.0}


def row_of(name: str, of: str, errors: Array, unit: str, most: float | None) -> dict[str, Any]:
    """One quantity; `errors` (N, 2): error, and error over deviation."""
    error, z = errors.T
    largest = float(np.abs(error).max())
    return {
        'case': f'{name}, {of}: largest error (mean {error.mean():+.2g}, rms '
        f'{np.sqrt(np.mean(error**2)):.2g}; over sigma: mean {z.mean():+.2f}, rms '
        f'{np.sqrt(np.mean(z**2)):.2f}, {100.0 * np.mean(np.abs(z) < 2.0):.0f} % inside 2)',
        'unit': unit,
        'ours': largest,
        'wanted': '' if most is None else f'at most {most:g} %',
        'met': None if most is None else largest <= most,
    }


def tyres(cars: int, seconds: float, seed: int, workers: int) -> list[dict[str, Any]]:
    """A row per quantity: axles of cars with wheel forces."""
    made = list(parallel(one_tyres, [(seed + k, seconds) for k in range(cars)], workers))
    rows = []
    for name in dict.fromkeys(name for one in made for name in one):
        errors = np.array([pair for one in made for pair in one.get(name, [])])
        of = f'{len(errors)} axles of {cars} cars'
        rows.append(row_of(name, of, errors, '%', WANTED_TYRES.get(name)))
    return rows


def other(cars: int, seconds: float, seed: int, workers: int) -> list[dict[str, Any]]:
    """A row per group of parameters: cars of another formulation."""
    made = list(parallel(one_other, [(seed + k, seconds) for k in range(cars)], workers))
    rows = []
    for group, names in {**GROUPS, 'Cm': ('Cm',), 'everything': (*NAMES, 'Cm')}.items():
        percent, z = np.array([one[name] for one in made for name in names]).T
        share = float(100.0 * np.mean(np.abs(z) < 2.0))
        known = np.abs(percent[np.isfinite(percent)])
        largest = f', largest error {known.max():.2g} %' if known.size else ''
        rows.append(
            {
                'case': f'{group}, {cars} cars of another formulation, {seconds:g} s: truths '
                f'inside 2 sigma (error over sigma: mean {z.mean():+.2f}, rms '
                f'{np.sqrt(np.mean(z**2)):.2f}, largest {np.abs(z).max():.1f}{largest})',
                'unit': '%',
                'ours': share,
                'wanted': '90 to 98 %',
                'met': 90.0 <= share <= 98.0 if z.size >= FEWEST else None,
            }
        )
    return rows


def model_2002(cars: int, seed: int, workers: int) -> list[dict[str, Any]]:
    """How many of the 33 parameters of the model of 2002 are inside, and its worst ones."""
    made = list(parallel(one_2002, [seed + k for k in range(cars)], workers))
    names, z = made[0][0], np.array([one for _, one in made])
    inside = np.sum(np.abs(z) < 2.0, axis=1)
    rms = np.sqrt(np.mean(z**2, axis=0))
    worst = ', '.join(f'{names[k]} {rms[k]:.2f}' for k in np.argsort(-rms)[:4])
    return [
        {
            'case': f'model of 2002, {cars} cars, a ramp to each side: of {len(names)} parameters '
            f'inside 2 sigma (least {inside.min()}; largest rms of error over sigma: {worst})',
            'unit': '',
            'ours': float(inside.mean()),
            'wanted': 'at least 31',
            'met': bool(inside.mean() >= 31.0),
        }
    ]


def handling(cars: int, seconds: float, seed: int, workers: int) -> list[dict[str, Any]]:
    """A row per quantity and case: cars without wheel forces."""
    jobs = [(seed + k, seconds) for k in range(cars)]
    made = list(parallel(one_handling, jobs, workers))
    rows = []
    for case in CASES:
        for name in made[0][case]:
            errors = np.array([one[case][name] for one in made])
            of = f'{case} centre of gravity, {cars} cars'
            unit = 'deg/g' if name in ABSOLUTE else '%'
            rows.append(row_of(name, of, errors, unit, WANTED.get(name)))
    return rows


def sticking(cars: int, seconds: float, seed: int, workers: int) -> list[dict[str, Any]]:
    """A row per group of parameters, and one of the errors beside those of a plain solution."""
    laws = list(LAWS)
    jobs = [(seed + k, laws[k % len(laws)], seconds) for k in range(cars)]
    made = list(parallel(one_sticking, jobs, workers))
    ours, plain, beside = (np.array(rows) for rows in zip(*made, strict=True))
    rows = []
    for group, names in {**GROUPS, 'everything': NAMES}.items():
        z = ours[:, [NAMES.index(name) for name in names]]
        share = coverage(ours, names)
        rows.append(
            {
                'case': f'{group}, {cars} cars that stick, {seconds:g} s: truths inside 2 sigma '
                f'(error over sigma: mean {z.mean():+.2f}, rms {np.sqrt(np.mean(z**2)):.2f})',
                'unit': '%',
                'ours': share,
                'peer': coverage(plain, names),
                'peer_name': 'without bias correction and motion beyond the bands',
                'wanted': '90 to 98 %',
                # a few values do not tell 95 from 100 %
                'met': 90.0 <= share <= 98.0 if z.size >= FEWEST else None,
            }
        )
    ratio = float(np.sqrt(np.mean(ours**2) / np.mean(beside**2)))
    rows.append(
        {
            'case': f'{cars} cars that stick: rms error, over our sigma, beside the plain one',
            'unit': '',
            'ours': ratio,
            'wanted': 'at most 0.6',
            'met': ratio <= 0.6,
        }
    )
    return rows


def measure(
    quick: bool,
    cars: int | None = None,
    workers: int = 1,
    mode: str = 'forces',
    seed: int | None = None,
) -> list[dict[str, Any]]:
    """Coverage of ours and of the plain estimate."""
    if mode == 'handling':
        number, seconds = cars or (2 if quick else 12), 60.0 if quick else 100.0
        return handling(number, seconds, 620 if seed is None else seed, workers)
    if mode == 'tyres':
        return tyres(cars or (2 if quick else 12), 60.0, 620 if seed is None else seed, workers)
    if mode == 'other':
        return other(cars or (2 if quick else 12), 60.0, 620 if seed is None else seed, workers)
    if mode == '2002':
        return model_2002(cars or (1 if quick else 8), 300 if seed is None else seed, workers)
    if mode == 'sticking':
        return sticking(
            cars or (2 if quick else 18), 40.0, 2000 if seed is None else seed, workers
        )
    usual, seconds, count = (2, 30.0, 3) if quick else (6, 60.0, 5)
    cars = cars or usual
    result = study(cars, seconds, count, workers)
    rows = []
    for case, text in (
        ('one', f'{cars} cars x {min(ALONE, count)} speeds, one run each'),
        ('all', f'{cars} cars, {count} runs concatenated'),
    ):
        ours, plain = result['ours'][case], result['plain'][case]
        groups = ', '.join(
            f'{group} {coverage(ours, names):.0f}' for group, names in GROUPS.items()
        )
        share = coverage(ours)
        rows.append(
            {
                'case': f'{text}, {seconds:g} s: truths inside 2 sigma (by group: {groups}; '
                f'rms of error over sigma {np.sqrt(np.mean(ours**2)):.2f})',
                'unit': '%',
                'ours': share,
                'peer': coverage(plain),
                'peer_name': 'without bias correction and motion beyond the bands',
                'wanted': '90 to 98 %',
                'met': None if quick else 90.0 <= share <= 98.0,
            }
        )
    return rows


if __name__ == '__main__':
    for row in measure(quick=False):
        print(row)
