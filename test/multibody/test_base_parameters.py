from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from multibody_trees import random_tree

from veh_identification.errors import EstimationError, ModelError
from veh_identification.multibody.base_parameters import (
    base_from_factor,
    factor_of_motion,
    structural_base_parameters,
    triangular_factor,
    unexcited_parameters,
)
from veh_identification.multibody.closed_form import closed_form_base_parameters
from veh_identification.multibody.mdh import load_mdh
from veh_identification.multibody.motion import floating_base_motion, random_motion
from veh_identification.multibody.parameter_relations import tie_parameters
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import PRISMATIC, REVOLUTE
from veh_identification.multibody.urdf import load_urdf, parse_urdf

MODELS = Path(__file__).parents[2] / 'config' / 'models'
HUMANOID = MODELS / 'humanoid_two_legs.urdf'


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize('rows', ['base', 'all'])
def test_humanoid_has_94_base_parameters(rows: str) -> None:
    found = structural_base_parameters(Regressor(load_urdf(HUMANOID), rows=rows))
    assert found.rank == 94 == 10 + 12 * 7
    assert found.gap > 1e10
    assert found.spectrum[93] > 1e3 * found.tolerance > 1e6 * found.spectrum[94]


def test_car_of_2002_has_20_base_parameters() -> None:
    model = load_mdh(MODELS / 'car_2002.yaml')
    regressor = Regressor(model)
    ties = tie_parameters(regressor.columns, model.ties)
    assert len(ties.columns) == 22
    found = structural_base_parameters(regressor, ties)
    assert found.rank == 20
    assert found.gap > 1e10
    # The two entries that go are the rear wheels' lateral inertia, which joins the chassis.
    gone = set(ties.columns.names) - set(found.names)
    assert gone == {'wheel_rl.Jxx', 'wheel_rr.Jxx'}
    relation = dict(line.split(' = ') for line in found.relations() if '=' in line)
    assert relation['chassis.Jyy_R'] == 'chassis.Jyy + wheel_rl.Jxx + wheel_rr.Jxx'


def test_closed_form_equals_numeric_on_the_humanoid() -> None:
    model = load_urdf(HUMANOID)
    closed = closed_form_base_parameters(model)
    numeric = structural_base_parameters(Regressor(model, rows='base'))
    assert closed.names == numeric.names
    assert np.abs(closed.full_to_base - numeric.full_to_base).max() < 1e-10
    motion = random_motion(model, 50, 7)
    x = model.parameters.ravel()
    for rows in ('base', 'all'):
        W = Regressor(model, rows=rows).compute(motion)
        expected = W @ x
        for found in (closed, numeric):
            assert relative(W[:, :, found.base] @ (found.full_to_base @ x), expected) < 1e-10


def test_total_mass_and_the_zero_of_equation_17() -> None:
    """The base link carries the total mass; Jxx of a link with axis z loses Jyy."""
    model = load_urdf(HUMANOID)
    closed = closed_form_base_parameters(model)
    total = closed.full_to_base @ model.parameters.ravel()
    assert total[closed.names.index('base_link.M')] == pytest.approx(model.parameters[:, 0].sum())
    row = closed.full_to_base[closed.names.index('r_hip_yaw.Jxx')]
    assert row[closed.columns.index('r_hip_yaw.Jyy')] == -1.0
    dropped = set(closed.columns.names) - set(closed.names)
    assert {'r_hip_yaw.M', 'r_hip_yaw.MSz', 'r_hip_yaw.Jyy'} <= dropped


@pytest.mark.parametrize('seed', range(1, 40, 2))
def test_closed_form_is_minimal_and_exact_on_random_floating_trees(seed: int) -> None:
    model = random_tree(seed, bodies=6)
    assert model.floating
    closed = closed_form_base_parameters(model)
    revolute = int(np.sum(model.joint_type == REVOLUTE))
    prismatic = int(np.sum(model.joint_type == PRISMATIC))
    assert closed.rank == 10 + 7 * revolute + 4 * prismatic
    for rows in ('all', 'base'):
        numeric = structural_base_parameters(Regressor(model, rows=rows), seed=seed)
        assert numeric.rank == closed.rank
    W = Regressor(model).compute(random_motion(model, 20, seed))
    x = np.random.default_rng(seed).normal(size=len(closed.columns))
    for found in (closed, numeric):
        assert relative(W[:, :, found.base] @ (found.full_to_base @ x), W @ x) < 1e-10


def test_closed_form_refuses_what_it_does_not_cover() -> None:
    with pytest.raises(ModelError, match='floating base'):
        closed_form_base_parameters(load_mdh(MODELS / 'car_2002.yaml'))
    text = HUMANOID.read_text().replace(
        '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="r_hip_yaw_joint"/>', 1
    )
    with pytest.raises(ModelError, match='follow one coordinate'):
        closed_form_base_parameters(parse_urdf(text))


def test_mappings_between_full_and_base() -> None:
    model = random_tree(5, bodies=5)
    regressor = Regressor(model)
    found = structural_base_parameters(regressor)
    W = regressor.compute(random_motion(model, 15, 3))
    x = model.parameters.ravel()
    base = found.full_to_base @ x
    assert np.allclose(found.full_to_base @ found.base_to_full, np.eye(found.rank), atol=1e-12)
    assert relative(W @ (found.base_to_full @ base), W @ x) < 1e-10
    assert found.null_space.shape == (len(x), len(x) - found.rank)
    assert np.abs(W @ found.null_space).max() < 1e-10 * np.abs(W).max()
    assert np.abs(found.full_to_base @ found.null_space).max() < 1e-10


def test_streamed_factor_equals_the_whole() -> None:
    model = random_tree(7, bodies=4)
    regressor, motion = Regressor(model), random_motion(model, 600, 2)
    R = factor_of_motion(regressor, motion)
    W = regressor.compute(motion).reshape(-1, len(regressor.columns))
    assert R.shape == (len(regressor.columns),) * 2
    assert relative(R.T @ R, W.T @ W) < 1e-12
    with pytest.raises(EstimationError, match='not finite'):
        triangular_factor([np.full((2, 3), np.nan)], 3)


def test_parameters_a_recording_does_not_excite_are_named() -> None:
    """A robot that only moves its right knee tells nothing about the left leg."""
    model = load_urdf(HUMANOID)
    regressor = Regressor(model, rows='base')
    structural = structural_base_parameters(regressor)
    samples = 160
    rng = np.random.default_rng(0)
    q, qd, qdd = (np.zeros((samples, model.dof)) for _ in range(3))
    knee = model.coordinate_index('r_knee_joint')
    for array in (q, qd, qdd):
        array[:, knee] = rng.normal(size=samples)
    base = [rng.normal(0.0, 3.0, (samples, 3)) for _ in range(3)]
    factor = factor_of_motion(regressor, floating_base_motion(q, qd, qdd, *base))
    missing = unexcited_parameters(structural, factor)
    # What is left: ten of the rigid rest and seven beyond the knee.
    assert structural.rank - len(missing) == 17
    assert any(name.startswith('l_knee') for name in missing)
    assert 'base_link.M' not in missing
    assert all(
        'cannot be told apart' in reason or 'no effect' in reason for reason in missing.values()
    )
    everything = factor_of_motion(regressor, random_motion(model, 90, 5))
    assert unexcited_parameters(structural, everything) == {}


def test_parameters_without_effect_are_found() -> None:
    """Turning about one fixed axis, a body shows only its inertia about it (no gravity arm)."""
    model = random_tree(0, bodies=1, floating=False, prismatic=0.0)
    regressor = Regressor(model)
    found = structural_base_parameters(regressor)
    assert 'body_0.M' in [regressor.columns.names[k] for k in found.no_effect]
    assert found.rank == 3


def test_explicit_tolerance_cuts_the_spectrum() -> None:
    columns = Regressor(random_tree(1, bodies=1, floating=True)).columns
    rng = np.random.default_rng(0)
    W = rng.normal(size=(400, 10))
    W[:, 9] = W[:, 0] + 1e-4 * rng.normal(size=400)
    R = triangular_factor([W], 10)
    assert base_from_factor(R, columns).rank == 10
    assert base_from_factor(R, columns, tolerance=1e-2).rank == 9
    with pytest.raises(EstimationError, match='no parameter'):
        base_from_factor(np.zeros((10, 10)), columns)


def test_ties_substitute_through_chains() -> None:
    columns = Regressor(random_tree(1, bodies=2, floating=True)).columns
    ties = tie_parameters(
        columns,
        [
            'body_1.Jyy = body_1.Jxx',
            'body_1.Jxx = 2 * body_0.Jxx - 0.5 * body_0.Jyy',
            'body_1.MSx = 0',
        ],
    )
    assert len(ties.columns) == len(columns) - 3
    free = np.random.default_rng(0).normal(size=len(ties.columns))
    full = dict(zip(columns.names, ties.expand(free), strict=True))
    expected = 2.0 * full['body_0.Jxx'] - 0.5 * full['body_0.Jyy']
    assert full['body_1.Jxx'] == full['body_1.Jyy'] == pytest.approx(expected)
    assert full['body_1.MSx'] == 0.0
    W = np.random.default_rng(1).normal(size=(4, len(columns)))
    assert np.allclose(ties.reduce(W) @ free, W @ ties.expand(free))


@pytest.mark.parametrize(
    ('relations', 'words'),
    [
        (['body_0.M = body_1.M', 'body_1.M = body_0.M'], 'leads back'),
        (['body_0.M = 0', 'body_0.M = body_1.M'], 'already given'),
        (['body_0.X = 0'], 'no parameter "body_0.X"'),
        (['body_0.M = 3'], 'must be 0 or a sum'),
        (['body_0.M = body_1.M +'], 'must be 0 or a sum'),
        (['body_0.M'], 'expected "PARAMETER = combination"'),
    ],
)
def test_bad_relations_get_one_sentence(relations: list[str], words: str) -> None:
    columns = Regressor(random_tree(1, bodies=2, floating=True)).columns
    with pytest.raises(ModelError) as caught:
        tie_parameters(columns, relations)
    assert words in str(caught.value)
