from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from veh_identification.errors import ModelError
from veh_identification.multibody.dynamics import (
    ExternalWrench,
    external_rows,
    inverse_dynamics,
)
from veh_identification.multibody.inertia import is_consistent, transport
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.locking import lock_joints
from veh_identification.multibody.motion import (
    Motion,
    fixed_base_motion,
    floating_base_motion,
)
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import TreeModel
from veh_identification.multibody.urdf import load_urdf, parse_urdf

HUMANOID = Path(__file__).parents[2] / 'config' / 'models' / 'humanoid_two_legs.urdf'


def link(name: str, mass: float = 1.0) -> str:
    return f'''<link name="{name}"><inertial>
      <origin xyz="0.1 {0.02 * mass} -0.3" rpy="0.3 0.2 0.1"/>
      <mass value="{mass}"/><inertia ixx="0.4" ixy="0.01" ixz="-0.02" iyy="0.5" iyz="0.03"
      izz="0.6"/></inertial></link>'''


def joint(
    name: str, kind: str, parent: str, child: str, axis: str = '0.3 -0.5 0.8', more: str = ''
) -> str:
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    return f'''<joint name="{name}" type="{kind}"><parent link="{parent}"/>
      <child link="{child}"/><origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.3 0.9"/>
      <axis xyz="{axis}"/>{limit}{more}</joint>'''


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


ARM = robot(
    link('a'),
    link('b', 2.0),
    link('c', 3.0),
    link('d', 4.0),
    link('e', 0.5),
    link('f', 0.7),
    '<link name="sensor"/>',
    joint('ab', 'revolute', 'a', 'b'),
    joint('bc', 'fixed', 'b', 'c'),
    joint('cd', 'prismatic', 'c', 'd'),
    joint('ce', 'continuous', 'c', 'e', '0 0 1'),
    joint('af', 'fixed', 'a', 'f'),
    joint('ds', 'fixed', 'd', 'sensor'),
)


def twin_states(
    model: TreeModel, twin: pin.Model, samples: int, floating: bool
) -> tuple[Motion, list[tuple]]:
    """Random motion for us and the states of a Pinocchio model with the same joint names."""
    rng = np.random.default_rng(4)
    names = model.coordinate_names
    q, qd, qdd = (rng.normal(0.0, 1.0, (samples, len(names))) for _ in range(3))
    acceleration, omega, alpha = (rng.normal(0.0, 2.0, (samples, 3)) for _ in range(3))
    states = []
    for s in range(samples):
        position, velocity, second = pin.neutral(twin), np.zeros(twin.nv), np.zeros(twin.nv)
        if floating:
            velocity[3:6], second[:3], second[3:6] = omega[s], acceleration[s], alpha[s]
        for k, name in enumerate(names):
            entry = twin.joints[twin.getJointId(name)]
            value = [q[s, k]] if entry.nq == 1 else [np.cos(q[s, k]), np.sin(q[s, k])]
            position[entry.idx_q : entry.idx_q + entry.nq] = value
            velocity[entry.idx_v], second[entry.idx_v] = qd[s, k], qdd[s, k]
        states.append((position, velocity, second))
    if not floating:
        return fixed_base_motion(q, qd, qdd), states
    rotation = np.tile(np.eye(3), (samples, 1, 1))
    return floating_base_motion(q, qd, qdd, acceleration, omega, alpha, rotation), states


def compare(model: TreeModel, twin: pin.Model, floating: bool) -> None:
    twin.gravity.linear = np.array([0.0, 0.0, -9.80665])
    motion, states = twin_states(model, twin, 6, floating)
    data = twin.createData()
    first = 6 if floating else 0
    order = list(range(first)) + [
        twin.joints[twin.getJointId(name)].idx_v for name in model.coordinate_names
    ]
    expected = np.array([pin.rnea(twin, data, *state)[order] for state in states])
    found = inverse_dynamics(model, motion)
    assert found.shape == (6, twin.nv)
    assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()


@pytest.mark.parametrize('floating', [True, False])
@pytest.mark.parametrize('source', ['humanoid', 'arm'])
def test_models_equal_pinocchio(source: str, floating: bool) -> None:
    text = HUMANOID.read_text() if source == 'humanoid' else ARM
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    compare(parse_urdf(text, floating), pin.buildModelFromXML(text, *root), floating)


def test_sizes_follow_nv_and_not_nq() -> None:
    """A continuous joint and a free flyer have more position numbers than freedoms."""
    model = parse_urdf(ARM)
    twin = pin.buildModelFromXML(ARM, pin.JointModelFreeFlyer())
    assert twin.nq == twin.nv + 2
    assert (model.dof, len(model.row_names)) == (twin.nv - 6, twin.nv)
    too_wide = np.zeros((3, twin.nq))
    still = np.zeros((3, 3))
    with pytest.raises(ModelError, match=r'q has the shape \(3, 11\), expected \(3, 3\)'):
        Regressor(model).compute(
            floating_base_motion(too_wide, too_wide, too_wide, still, still, still)
        )


def test_every_link_keeps_its_own_inertia() -> None:
    """CAD values must not slip to a neighbour: each body's mass and centre by link name."""
    model = load_urdf(HUMANOID)
    tree = ElementTree.parse(HUMANOID)
    masses = {
        element.get('name'): float(element.find('inertial/mass').get('value'))
        for element in tree.iter('link')
    }
    assert len(masses) == model.bodies == 13
    assert model.dof == 12
    for name, mass in masses.items():
        parameters = model.parameters[model.body_index(name)]
        origin = tree.find(f".//link[@name='{name}']/inertial/origin")
        centre = np.array(origin.get('xyz').split(), dtype=float)
        assert parameters[0] == mass
        assert np.allclose(parameters[1:4], mass * centre, atol=1e-15)
    regressor = Regressor(model)
    values = regressor.columns.values(model)
    for name, mass in masses.items():
        assert values[regressor.columns.index(f'{name}.M')] == mass
    assert is_consistent(model.parameters).all()


def test_fixed_links_are_merged_into_their_parents() -> None:
    model = parse_urdf(ARM)
    assert model.body_names == ('a', 'b', 'd', 'e')
    assert dict(model.merged) == {'c': 'b', 'f': 'a', 'sensor': 'd'}
    lonely = parse_urdf(robot(link('c', 3.0)))
    frame = model.frame('c')
    alone = parse_urdf(robot(link('b', 2.0))).parameters[0]
    carried = transport(lonely.parameters[0], frame.rotation, frame.translation)
    assert np.allclose(model.parameters[1], alone + carried, atol=1e-14)


def test_massless_links_get_no_columns() -> None:
    text = robot(
        link('a'),
        '<link name="b"/>',
        link('c'),
        joint('ab', 'revolute', 'a', 'b'),
        joint('bc', 'revolute', 'b', 'c'),
    )
    model = parse_urdf(text)
    regressor = Regressor(model)
    assert {column.body for column in regressor.columns} == {'a', 'c'}
    assert not model.parameters[1].any()
    compare(model, pin.buildModelFromXML(text, pin.JointModelFreeFlyer()), True)


def test_locking_equals_pinocchio_reduced_model() -> None:
    held = {'r_knee_joint': 0.7, 'l_hip_yaw_joint': -0.3, 'l_ankle_roll_joint': 0.2}
    twin = pin.buildModelFromUrdf(str(HUMANOID), pin.JointModelFreeFlyer())
    configuration = pin.neutral(twin)
    for name, value in held.items():
        configuration[twin.joints[twin.getJointId(name)].idx_q] = value
    reduced = pin.buildReducedModel(twin, [twin.getJointId(name) for name in held], configuration)
    model = load_urdf(HUMANOID, locked=held)
    assert (model.dof, model.bodies) == (9, 10)
    compare(model, reduced, True)
    assert np.allclose(lock_joints(load_urdf(HUMANOID), held).parameters, model.parameters)


def test_locking_without_merging_keeps_the_motion() -> None:
    model = load_urdf(HUMANOID)
    held = {'r_knee_joint': 0.7}
    loose, tight = lock_joints(model, held, merge=False), lock_joints(model, held)
    rng = np.random.default_rng(1)
    q, qd, qdd = (rng.normal(size=(5, 11)) for _ in range(3))
    base = [rng.normal(size=(5, 3)) for _ in range(3)]
    motion = floating_base_motion(q, qd, qdd, *base)
    assert np.allclose(inverse_dynamics(loose, motion), inverse_dynamics(tight, motion))
    assert loose.bodies == model.bodies and tight.bodies == model.bodies - 1


def test_mimic_joints_follow_their_source() -> None:
    free = robot(
        link('a'),
        link('b'),
        link('c', 2.0),
        joint('ab', 'revolute', 'a', 'b'),
        joint('bc', 'prismatic', 'b', 'c'),
    )
    tied = free.replace(
        '</joint></robot>', '<mimic joint="ab" multiplier="-0.5" offset="0.2"/></joint></robot>'
    )
    one, two = parse_urdf(tied, floating=False), parse_urdf(free, floating=False)
    assert (one.dof, two.dof) == (1, 2)
    rng = np.random.default_rng(0)
    q, qd, qdd = (rng.normal(size=(4, 1)) for _ in range(3))
    factor = np.array([[1.0, -0.5]])
    motion = fixed_base_motion(q @ factor + [0.0, 0.2], qd @ factor, qdd @ factor)
    expected = inverse_dynamics(two, motion) @ factor.T
    assert np.allclose(inverse_dynamics(one, fixed_base_motion(q, qd, qdd)), expected, atol=1e-12)
    W = Regressor(two).compute(motion)
    folded = Regressor(one).compute(fixed_base_motion(q, qd, qdd))
    assert np.allclose(folded, np.einsum('ij,njk->nik', factor, W), atol=1e-12)


def test_a_mimic_of_a_fixed_joint_is_locked_at_its_offset() -> None:
    text = robot(
        link('a'),
        link('b'),
        link('c'),
        joint('ab', 'fixed', 'a', 'b'),
        joint('bc', 'revolute', 'b', 'c', more='<mimic joint="ab" multiplier="2" offset="0.4"/>'),
    )
    free = text.replace('<mimic joint="ab" multiplier="2" offset="0.4"/>', '')
    assert np.allclose(
        parse_urdf(text).parameters, parse_urdf(free, locked={'bc': 0.4}).parameters, atol=1e-14
    )


def test_wrench_at_a_merged_frame_acts_where_the_frame_is() -> None:
    """The Jacobian of Pinocchio's frame gives the same projection."""
    model = parse_urdf(ARM, floating=False)
    twin = pin.buildModelFromXML(ARM)
    motion, states = twin_states(model, twin, 3, False)
    values = np.random.default_rng(2).normal(size=(3, 6))
    rows = external_rows(model, motion, [ExternalWrench(model.frame('sensor'), values)])
    data = twin.createData()
    order = [twin.joints[twin.getJointId(name)].idx_v for name in model.coordinate_names]
    for s, state in enumerate(states):
        jacobian = pin.computeFrameJacobian(twin, data, state[0], twin.getFrameId('sensor'))
        assert np.allclose(rows[s], (jacobian.T @ values[s])[order], atol=1e-12)
    assert body_motion(model, motion).position.shape == (3, 3, 3)


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (
            robot('<link name="a"/>', '<link name="b"/>', joint('j', 'revolute', 'a', 'b')),
            'no link has an inertial',
        ),
        (robot(link('a', -1.0), link('b')), 'link "a" has the mass -1'),
        (robot(link('a').replace('0.01', 'nan')), 'link "a", inertia ixy is "nan"'),
        (robot(link('a'), link('b')), 'disconnected'),
        (robot(link('a'), link('a')), 'two bodies have the name "a"'),
        (robot(link('a'), link('b'), joint('j', 'spherical', 'a', 'b')), 'spherical'),
        (robot(link('a'), link('b'), joint('j', 'planar', 'a', 'b')), 'type "planar"'),
        (robot(link('a'), link('b'), joint('j', 'revolute', 'x', 'b')), 'parent "x"'),
        (robot(link('a'), joint('j', 'revolute', 'a', 'b')), 'child link "b"'),
        (robot(link('a'), link('b'), joint('j', 'revolute', 'a', 'b', '0 0 0')), 'the axis'),
        (
            robot(
                link('a'),
                link('b'),
                joint('j', 'revolute', 'a', 'b'),
                joint('k', 'revolute', 'b', 'a'),
            ),
            'cyclic',
        ),
        (
            robot(
                link('a'),
                link('b'),
                link('c'),
                joint('j', 'revolute', 'a', 'b'),
                joint('j', 'revolute', 'a', 'c'),
            ),
            'two joints have the name "j"',
        ),
        (
            robot(
                link('a'),
                link('b'),
                joint('i', 'revolute', 'a', 'b'),
                joint('j', 'revolute', 'a', 'b'),
            ),
            'child of two joints',
        ),
        (
            robot(
                link('a'), link('b'), joint('j', 'revolute', 'a', 'b', more='<mimic joint="z"/>')
            ),
            'mimics "z"',
        ),
        ('<robot name="r"><link', 'cannot be parsed'),
        ('not xml', 'cannot be parsed'),
        (
            robot('<link name="a"><inertial><mass value="x"/></inertial></link>'),
            'link "a", mass value is "x"',
        ),
    ],
)
@pytest.mark.parametrize('floating', [True, False])
def test_bad_files_get_one_sentence(text: str, words: str, floating: bool) -> None:
    with pytest.raises(ModelError) as caught:
        parse_urdf(text, floating, where='bad.urdf')
    assert words in str(caught.value)
    assert '\n' not in str(caught.value)


def test_unknown_names_are_listed() -> None:
    with pytest.raises(ModelError, match='no moving joint "knee"'):
        load_urdf(HUMANOID, locked={'knee': 0.0})
    with pytest.raises(ModelError, match='cannot be read'):
        load_urdf('/nowhere/robot.urdf')
    with pytest.raises(ModelError, match='no body "head"'):
        load_urdf(HUMANOID).frame('head')
