from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from multibody_trees import random_tree

from veh_identification.errors import ModelError
from veh_identification.multibody import columns as col
from veh_identification.multibody import regressor as regressor_module
from veh_identification.multibody.dynamics import (
    ExternalWrench,
    external_rows,
    inverse_dynamics,
)
from veh_identification.multibody.mdh import load_mdh
from veh_identification.multibody.motion import random_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import ROOT, Frame, TreeModel
from veh_identification.multibody.urdf import load_urdf

MODELS = Path(__file__).parents[2] / 'config' / 'models'
CORNERS = ('fl', 'fr', 'rl', 'rr')


def car_extras() -> list[col.ExtraColumn]:
    """Every kind of extra column, as Venture 2006 uses them and more."""
    joints = [f'suspension_{corner}' for corner in CORNERS]
    extras = [
        make(joint)
        for joint in joints
        for make in (col.stiffness, col.coulomb, col.viscous, col.offset)
    ]
    extras += [
        col.coupling_spring('suspension_fl', 'suspension_fr', name='karf'),
        col.coupling_spring('suspension_rl', 'suspension_rr', name='karr'),
        col.motor_inertia('wheel_rl'),
        col.coulomb('wheel_rr', smoothing=0.3),
        col.aerodynamic('chassis', 0, name='Cx'),
        col.aerodynamic('tyre_fl', 4),
    ]
    return extras


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize('name', ['car_20_dof', 'car_2002'])
def test_regressor_times_parameters_is_inverse_dynamics(name: str) -> None:
    model = load_mdh(MODELS / f'{name}.yaml')
    motion = random_motion(model, 37, 1)
    extras = [extra for extra in car_extras() if extra.body in ('', *model.body_names)]
    regressor = Regressor(model, extras=extras)
    rng = np.random.default_rng(2)
    values = {col.extra_name(extra): float(rng.uniform(1.0, 1e4)) for extra in extras}
    expected = inverse_dynamics(model, motion, extras=extras, extra_values=values)
    x = regressor.columns.values(model, values)
    assert relative(regressor.compute(motion) @ x, expected) < 1e-12
    without = inverse_dynamics(model, motion)
    assert relative(without, expected) > 1e-3


def test_inverse_dynamics_is_linear_in_the_parameters() -> None:
    for seed in range(20):
        model = random_tree(seed)
        motion = random_motion(model, 9, seed)
        rng = np.random.default_rng(seed)
        first, second = (rng.normal(size=model.parameters.shape) for _ in range(2))
        combined = inverse_dynamics(model, motion, 2.0 * first - 3.0 * second)
        separate = 2.0 * inverse_dynamics(model, motion, first) - 3.0 * inverse_dynamics(
            model, motion, second
        )
        assert relative(combined, separate) < 1e-10


def test_columns_stay_in_step_with_what_is_enabled() -> None:
    """Every subset of columns must be exactly those columns of the whole, under their names."""
    model = load_mdh(MODELS / 'car_20_dof.yaml')
    motion, extras = random_motion(model, 19, 4), car_extras()
    whole = Regressor(model, extras=extras)
    W = whole.compute(motion)
    rng = np.random.default_rng(0)
    for share in (0.05, 0.3, 0.9):
        enabled = [name for name in whole.columns.names if rng.random() < share]
        part = Regressor(model, extras=extras, enabled=rng.permutation(enabled).tolist())
        assert part.columns.names == tuple(enabled)
        assert len(part.columns) == part.shape[1]
        kept = [whole.columns.index(name) for name in enabled]
        assert np.array_equal(part.compute(motion), W[:, :, kept])
        assert part.columns == whole.columns.take(kept)
    few = Regressor(model, bodies=['hub_fl'], extras=extras[3:4], rows='base').compute(motion)
    names = [
        f'hub_fl.{name}'
        for name in ('M', 'MSx', 'MSy', 'MSz', 'Jxx', 'Jxy', 'Jxz', 'Jyy', 'Jyz', 'Jzz')
    ]
    kept = [whole.columns.index(name) for name in [*names, 'suspension_fl.off']]
    assert np.array_equal(few, W[:, :6, kept])


def test_units_and_owners_of_columns() -> None:
    model = load_mdh(MODELS / 'car_20_dof.yaml')
    columns = Regressor(model, extras=car_extras()).columns
    units = dict(zip(columns.names, columns.units, strict=True))
    assert units['chassis.M'] == 'kg' and units['hub_rl.Jyz'] == 'kg m^2'
    assert units['suspension_fl.k'] == 'N/m' and units['karf'] == 'N/m'
    assert units['wheel_rr.fs'] == 'N m' and units['Cx'] == 'N s^2/m^2'
    owner = {column.name: (column.body, column.joint) for column in columns}
    assert owner['hub_rl.M'] == ('hub_rl', '') and owner['karf'] == ('', 'suspension_fl')
    # 5 real bodies; the 15 virtual ones have no columns.
    assert sum(column.kind is col.Kind.INERTIAL for column in columns) == 50


def test_anti_roll_bar_and_springs_have_the_papers_signs() -> None:
    model = load_mdh(MODELS / 'car_20_dof.yaml')
    motion = random_motion(model, 5, 6)
    regressor = Regressor(
        model,
        bodies=[],
        extras=[
            col.coupling_spring('suspension_fl', 'suspension_fr'),
            col.stiffness('suspension_rl'),
            col.coulomb('suspension_rr'),
            col.aerodynamic('chassis'),
        ],
    )
    assert regressor.columns.names == (
        'suspension_fl-suspension_fr.k',
        'suspension_rl.k',
        'suspension_rr.fs',
        'chassis.Cx',
    )
    W = regressor.compute(motion)
    index = {name: k for k, name in enumerate(regressor.row_names)}
    left, right = (model.coordinate_index(f'suspension_{c}') for c in ('fl', 'fr'))
    difference = motion.q[:, left] - motion.q[:, right]
    assert np.allclose(W[:, index['suspension_fl'], 0], difference)
    assert np.allclose(W[:, index['suspension_fr'], 0], -difference)
    rear = model.coordinate_index('suspension_rl')
    assert np.allclose(W[:, index['suspension_rl'], 1], motion.q[:, rear])
    rear = model.coordinate_index('suspension_rr')
    assert np.allclose(W[:, index['suspension_rr'], 2], np.sign(motion.qd[:, rear]))
    # Drag: Cx > 0 must need a wheel force FX forwards.
    assert np.allclose(W[:, index['FX'], 3], motion.air_speed_squared)
    assert np.count_nonzero(W) == 5 * 5


def test_blocks_equal_the_whole_and_reuse_one_buffer() -> None:
    model = random_tree(1, bodies=6, floating=True)
    motion = random_motion(model, 101, 2)
    regressor = Regressor(model)
    whole = regressor.compute(motion)
    seen, owners = [], set()
    for samples, block in regressor.blocks(motion, size=24):
        assert np.array_equal(block, whole[samples])
        seen.extend(range(samples.start, samples.stop))
        owners.add(block.__array_interface__['data'][0])
    assert seen == list(range(101)) and len(owners) == 1


def test_fill_refuses_an_output_that_does_not_fit() -> None:
    model = random_tree(1, bodies=3, floating=True)
    regressor, motion = Regressor(model), random_motion(model, 4)
    with pytest.raises(ModelError, match='regressor output'):
        regressor.fill(motion, np.empty((4, *regressor.shape), dtype=np.float32))
    with pytest.raises(ModelError, match='regressor output'):
        regressor.fill(motion, np.empty((5, *regressor.shape)))


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ({'rows': 'torso'}, 'rows "torso"'),
        ({'bodies': ['torso']}, 'no body "torso"'),
        ({'enabled': ['body_0.mass']}, 'no parameter "body_0.mass"'),
        ({'extras': [col.viscous('knee')]}, 'no moving joint "knee"'),
        ({'extras': [col.viscous('joint_1'), col.viscous('joint_1')]}, 'two columns'),
        ({'extras': [col.coupling_spring('joint_1', 'hip')]}, 'no moving joint "hip"'),
        ({'extras': [col.aerodynamic('roof')]}, 'no body "roof"'),
    ],
)
def test_bad_requests_get_one_sentence(arguments: dict, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        Regressor(random_tree(1, bodies=3, floating=True), **arguments)
    assert words in str(caught.value)


def test_a_wrench_has_six_components() -> None:
    with pytest.raises(ModelError, match='component 6, expected 0 to 5'):
        col.aerodynamic('body_0', 6)


def base_wrench_by_power(model: TreeModel, seed: int) -> None:
    """A wrench that hits the base gives the same rows wherever its frame is described."""
    motion = random_motion(model, 6, seed)
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(6, 6))
    at_root = external_rows(
        model, motion, [ExternalWrench(Frame(ROOT, np.eye(3), np.zeros(3)), values)]
    )
    arm = rng.normal(size=3)
    shifted = values.copy()
    shifted[:, 3:] -= np.cross(arm, values[:, :3])
    elsewhere = external_rows(model, motion, [ExternalWrench(Frame(0, np.eye(3), arm), shifted)])
    assert np.allclose(elsewhere, at_root, atol=1e-12)
    assert np.allclose(at_root[:, :6], values, atol=1e-15)
    assert not at_root[:, 6:].any()


def test_wrenches_on_the_base_reach_the_base_rows_only() -> None:
    for seed in (1, 3, 5):
        base_wrench_by_power(random_tree(seed, bodies=5, floating=True), seed)


def test_an_external_wrench_can_balance_a_body() -> None:
    """Held up by exactly its weight at the centre of mass, a still body needs nothing else."""
    model = random_tree(1, bodies=1, floating=True)
    motion = random_motion(model, 3)
    still = type(motion)(
        motion.q,
        motion.qd,
        motion.qdd,
        np.tile([0.0, 0.0, 9.81], (3, 1)),
        np.zeros((3, 3)),
        np.zeros((3, 3)),
        motion.air_speed_squared,
    )
    mass, centre = model.parameters[0, 0], model.parameters[0, 1:4] / model.parameters[0, 0]
    support = ExternalWrench(
        Frame(0, np.eye(3), centre), np.array([0.0, 0.0, mass * 9.81, 0.0, 0.0, 0.0])
    )
    assert np.abs(inverse_dynamics(model, still)).max() > 1.0
    assert np.abs(inverse_dynamics(model, still, wrenches=[support])).max() < 1e-12


def test_frames_that_move_on_the_body() -> None:
    """A wrench given in a frame that turns with time equals the same wrench in body axes."""
    model = random_tree(3, bodies=4, floating=True)
    motion = random_motion(model, 5, 1)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 6))
    angles = rng.normal(size=5)
    turn = np.zeros((5, 3, 3))
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angles)
    turn[:, 1, 0], turn[:, 0, 1] = np.sin(angles), -np.sin(angles)
    turn[:, 2, 2] = 1.0
    plain = values.copy()
    plain[:, :3] = np.einsum('nij,nj->ni', turn, values[:, :3])
    plain[:, 3:] = np.einsum('nij,nj->ni', turn, values[:, 3:])
    rows = [
        external_rows(model, motion, [ExternalWrench(Frame(3, rotation, np.zeros(3)), given)])
        for rotation, given in ((turn, values), (np.eye(3), plain))
    ]
    assert np.allclose(rows[0], rows[1], atol=1e-12)


@pytest.mark.parametrize('samples', [1, 255, 512, 1500])
def test_threads_do_not_change_the_result(samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_urdf(MODELS / 'humanoid_two_legs.urdf')
    regressor = Regressor(model, rows='base')
    motion = random_motion(model, samples, 3)
    monkeypatch.setattr(regressor_module, 'THREADS', 1)
    alone = regressor.compute(motion)
    monkeypatch.setattr(regressor_module, 'THREADS', 3)
    assert np.array_equal(regressor.compute(motion), alone)
    parts = regressor_module.share_out(samples)
    assert parts[0].start == 0 and parts[-1].stop == samples


def test_a_spring_between_the_first_two_joints_of_a_fixed_base() -> None:
    """Its first row is the very first one."""
    model = random_tree(3, bodies=4, floating=False)
    first, second = model.coordinate_names[:2]
    regressor = Regressor(model, bodies=[], extras=[col.coupling_spring(first, second)])
    motion = random_motion(model, 6, 7)
    W = regressor.compute(motion)
    difference = motion.q[:, 0] - motion.q[:, 1]
    assert regressor.row_names[:2] == (first, second)
    assert np.allclose(W[:, 0, 0], difference) and np.allclose(W[:, 1, 0], -difference)
    assert np.abs(difference).min() > 0.0
