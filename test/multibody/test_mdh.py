from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.errors import ModelError
from veh_identification.multibody.dynamics import (
    ExternalWrench,
    external_rows,
    inverse_dynamics,
)
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.mdh import load_mdh, mdh_transform, parse_mdh
from veh_identification.multibody.motion import (
    fixed_base_motion,
    floating_base_motion,
    random_motion,
)
from veh_identification.multibody.regressor import Regressor

MODELS = Path(__file__).parents[2] / 'config' / 'models'


def homogeneous_product(
    gamma: float, b: float, alpha: float, d: float, theta: float, r: float
) -> np.ndarray:
    """Rot(z, gamma) Trans(z, b) Rot(x, alpha) Trans(x, d) Rot(z, theta) Trans(z, r)."""

    def about_z(angle: float, shift: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, shift], [0, 0, 0, 1]])

    c, s = np.cos(alpha), np.sin(alpha)
    about_x = np.array([[1, 0, 0, d], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])
    return about_z(gamma, b) @ about_x @ about_z(theta, r)


def test_transform_is_the_product_of_elementary_ones() -> None:
    values = np.random.default_rng(0).normal(size=6)
    expected = homogeneous_product(*values)
    rotation, translation = mdh_transform(*values)
    assert np.allclose(rotation, expected[:3, :3], atol=1e-14)
    assert np.allclose(translation, expected[:3, 3], atol=1e-14)


def test_joint_variables_enter_where_the_table_says() -> None:
    model = parse_mdh(
        {
            'name': 't',
            'constants': {'L': 0.4},
            'bodies': [
                {
                    'name': 'a',
                    'antecedent': 0,
                    'sigma': 0,
                    'gamma': 0.3,
                    'b': 0.2,
                    'alpha': 'pi/2',
                    'd': 'L',
                    'theta': '-phi + pi/2',
                    'r': 0.1,
                },
                {
                    'name': 'b',
                    'antecedent': 'a',
                    'sigma': 1,
                    'alpha': '-pi/3',
                    'd': '2*L',
                    'theta': 0.7,
                    'r': 's - L',
                },
            ],
        }
    )
    assert model.coordinate_names == ('phi', 's')
    q = np.array([[0.35, -0.8]])
    zero = np.zeros_like(q)
    found = body_motion(model, fixed_base_motion(q, zero, zero))
    first = homogeneous_product(0.3, 0.2, np.pi / 2, 0.4, -0.35 + np.pi / 2, 0.1)
    second = first @ homogeneous_product(0.0, 0.0, -np.pi / 3, 0.8, 0.7, -0.8 - 0.4)
    for k, pose in enumerate((first, second)):
        assert np.allclose(found.orientation[0, k], pose[:3, :3], atol=1e-14)
        assert np.allclose(found.position[0, k], pose[:3, 3], atol=1e-14)


def test_rows_with_one_variable_share_the_coordinate() -> None:
    table = yaml.safe_load((MODELS / 'car_2002.yaml').read_text())
    for row in table['bodies']:
        if str(row.get('theta', '')).startswith('steering'):
            row['theta'] = 'beta'
    common, separate = parse_mdh(table), load_mdh(MODELS / 'car_2002.yaml')
    assert (common.dof, separate.dof) == (15, 16)
    motion = random_motion(common, 20, 3)
    spread = [
        common.coordinate_names.index('beta' if name.startswith('steering') else name)
        for name in separate.coordinate_names
    ]
    twin = fixed_base_motion(motion.q[:, spread], motion.qd[:, spread], motion.qdd[:, spread])
    expected = np.zeros((20, common.dof))
    # The generalised force of a shared coordinate is the sum over its joints.
    np.add.at(expected.T, spread, inverse_dynamics(separate, twin).T)
    assert np.allclose(inverse_dynamics(common, motion), expected, rtol=1e-11, atol=1e-7)


@pytest.mark.parametrize(
    ('name', 'bodies', 'joints'), [('car_20_dof', 20, 14), ('car_38_dof', 37, 32)]
)
def test_car_tables_have_the_geometry_of_the_papers(name: str, bodies: int, joints: int) -> None:
    car = load_mdh(MODELS / f'{name}.yaml')
    assert (car.bodies, car.dof, car.floating) == (bodies, joints, True)
    q, still = np.zeros((1, joints)), np.zeros((1, 3))
    corners = {'fl': (2.7, 0.75), 'fr': (2.7, -0.75), 'rl': (0.0, 0.74), 'rr': (0.0, -0.74)}
    for corner, (x, y) in corners.items():
        q[0, car.coordinate_index(f'suspension_{corner}')] = 0.05
        if joints == 32:
            q[0, car.coordinate_index(f'half_track_{corner}')] = abs(y)
            q[0, car.coordinate_index(f'wheelbase_{corner}')] = x
    rest = np.zeros_like(q)
    poses = body_motion(car, floating_base_motion(q, rest, rest, still, still, still))
    for corner, (x, y) in corners.items():
        sensor = car.body_index(f'sensor_{corner}')
        assert np.allclose(poses.position[0, sensor], [x, y, 0.05], atol=1e-15)
        assert np.allclose(poses.orientation[0, sensor], np.eye(3), atol=1e-15)
        wheel = car.body_index(f'wheel_{corner}')
        assert np.allclose(poses.orientation[0, wheel, :, 2], [0.0, 1.0, 0.0], atol=1e-15)


@pytest.mark.parametrize(
    ('coordinate', 'axis'),
    [('steering_fl', 2), ('camber_fl', 0), ('kingpin_fl', 1), ('wheel_fl', 1)],
)
def test_wheel_angles_turn_about_their_axes(coordinate: str, axis: int) -> None:
    car = load_mdh(MODELS / 'car_38_dof.yaml')
    q, still = np.zeros((1, 32)), np.zeros((1, 3))
    rate = np.zeros_like(q)
    rate[0, car.coordinate_index(coordinate)] = 1.0
    found = body_motion(car, floating_base_motion(q, rate, q, still, still, still))
    wheel = car.body_index('wheel_fl')
    turning = found.orientation[0, wheel] @ found.omega[0, wheel]
    assert np.allclose(turning, np.eye(3)[axis], atol=1e-15)


def test_mixed_form_equals_the_form_with_six_virtual_joints() -> None:
    """Section III.B.4 of Venture 2006 on the table of Venture 2002."""
    table = yaml.safe_load((MODELS / 'car_2002.yaml').read_text())
    lagrange = parse_mdh(table)
    chassis = {
        key: value for key, value in table['bodies'][5].items() if key in ('name', 'inertia')
    }
    mixed = parse_mdh(
        {
            **table,
            'base': 'euler',
            'bodies': [{**chassis, 'antecedent': 0, 'sigma': 2}, *table['bodies'][6:]],
        }
    )
    motion = random_motion(lagrange, 30, 8)
    body = lagrange.body_index('chassis')
    chassis_motion = body_motion(lagrange, motion)
    euler = floating_base_motion(
        motion.q[:, 6:],
        motion.qd[:, 6:],
        motion.qdd[:, 6:],
        chassis_motion.acceleration[:, body],
        chassis_motion.omega[:, body],
        chassis_motion.omega_dot[:, body],
    )
    rows, expected = inverse_dynamics(mixed, euler), inverse_dynamics(lagrange, motion)
    scale = np.abs(expected).max()
    assert np.allclose(rows[:, 6:], expected[:, 6:], rtol=0.0, atol=1e-11 * scale)
    wrench = ExternalWrench(lagrange.frame('chassis'), rows[:, :6])
    assert np.allclose(
        external_rows(lagrange, motion, [wrench])[:, :6],
        expected[:, :6],
        rtol=0.0,
        atol=1e-11 * scale,
    )
    joint_rows = Regressor(lagrange).compute(motion)[:, 6:]
    difference = Regressor(mixed).compute(euler)[:, 6:] - joint_rows
    assert np.abs(difference).max() < 1e-11 * np.abs(joint_rows).max()


def row(name: str, antecedent: object, **entries: object) -> dict[str, object]:
    return {'name': name, 'antecedent': antecedent, 'sigma': 0, **entries}


@pytest.mark.parametrize(
    ('table', 'words'),
    [
        ({'bodies': [row('a', 0), row('b', 'c'), row('c', 'b')]}, 'cyclic, b -> c -> b'),
        ({'bodies': [row('a', 'a')]}, 'cyclic, a -> a'),
        (
            {'base': 'euler', 'bodies': [{'name': 'a', 'antecedent': 0, 'sigma': 2}, row('b', 0)]},
            'disconnected, body "b"',
        ),
        ({'bodies': [row('a', 0), row('a', 1)]}, 'two bodies have the name "a"'),
        ({'bodies': [row('a', 'x')]}, "antecedent 'x'"),
        ({'bodies': [row('a', 7)]}, 'antecedent 7'),
        ({'bodies': [{'name': 'a', 'antecedent': 0, 'sigma': 3}]}, 'sigma 3'),
        ({'bodies': [{'name': 'a', 'antecedent': 0}]}, 'sigma None'),
        ({'bodies': [row('a', 0, alpha='pi/')]}, 'not an expression'),
        ({'bodies': [row('a', 0, alpha='unknown')]}, 'unknown constant "unknown"'),
        ({'bodies': [row('a', 0, theta='x*y')]}, 'not linear'),
        ({'bodies': [row('a', 0, theta='x + y')]}, 'depends on 2 variables'),
        ({'bodies': [row('a', 0, theta='__import__("os")')]}, 'not linear'),
        ({'bodies': [row('a', 0, inertia={'M': -2})]}, 'mass -2'),
        ({'bodies': [row('a', 0, inertia={'mass': 2})]}, 'inertia'),
        ({'bodies': [row('a', 0, virtual=True, inertia={'M': 1})]}, 'virtual but has inertia'),
        ({'bodies': [row('a', 0, sigm=1)]}, 'unknown entry "sigm"'),
        ({'bodies': [row('a', 0, **{'9' * 6000: 1})]}, 'unknown entry "9999'),
        (
            {'bodies': [row('a', 0)], 'base': 'floating'},
            "base is 'floating', expected euler or joints",
        ),
        (
            {'bodies': [row('a', 0)], 'base': 1000 * 'joints '},
            "joints ', expected euler",
        ),
        ({'bodies': [row('a', 0)], 'base': 'euler'}, 'moves with Euler variables'),
        ({'bodies': []}, 'no body'),
        ({'rows': []}, 'list "bodies"'),
    ],
)
def test_bad_tables_get_one_sentence(table: dict, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_mdh(table, where='bad.yaml')
    assert words in str(caught.value)
    assert '\n' not in str(caught.value) and len(str(caught.value)) < 600


def test_missing_and_broken_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r'none\.yaml'):
        load_mdh(tmp_path / 'none.yaml')
    broken = tmp_path / 'broken.yaml'
    broken.write_text('bodies: [')
    with pytest.raises(ConfigurationError, match='not YAML') as caught:
        load_mdh(broken)
    assert '\n' not in str(caught.value)
