"""Tables and URDF files with faults that a loader must not let pass in silence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veh_identification.errors import EstimationError, InputError, ModelError
from veh_identification.multibody.base_parameters import structural_base_parameters
from veh_identification.multibody.inertia import centre_of_mass
from veh_identification.multibody.locking import lock_joints
from veh_identification.multibody.mdh import load_mdh, parse_mdh
from veh_identification.multibody.parameter_relations import tie_parameters
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import TreeModel
from veh_identification.multibody.urdf import load_urdf, parse_urdf

NAN = float('nan')
INERTIA = 'ixx="0.4" ixy="0" ixz="0" iyy="0.5" iyz="0" izz="0.6"'


def row(**entries: object) -> dict[str, object]:
    return {'name': 'arm', 'antecedent': 0, 'sigma': 0, **entries}


def table(**entries: object) -> dict[str, object]:
    return {'bodies': [row(**entries)]}


def link(name: str, mass: str = '2', inertia: str = INERTIA, origin: str = '0 0 0') -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="{origin}"/><mass value="{mass}"/>'
        f'<inertia {inertia}/></inertial></link>'
    )


def joint(name: str, parent: str, child: str, kind: str = 'continuous', more: str = '') -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'{more}</joint>'
    )


def robot(*parts: str, attributes: str = '') -> str:
    return f'<robot name="r" {attributes}>{"".join(parts)}</robot>'


def pair(more: str, kind: str = 'continuous') -> str:
    return robot(link('a'), link('b'), joint('hinge', 'a', 'b', kind, more))


def moments(*values: float) -> str:
    xx, yy, zz = values
    return f'ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"'


def refused(text: str, floating: bool = True) -> str:
    with pytest.raises(ModelError) as caught:
        parse_urdf(text, floating, where='robot.urdf')
    assert str(caught.value).startswith('robot.urdf: ')
    assert '\n' not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ('bad', 'words'),
    [
        ({'base': 'euler', 'bodies': []}, ('no body',)),
        (table(alpha=NAN), ('"arm"', 'alpha', 'nan', 'finite')),
        (table(theta=NAN), ('"arm"', 'theta', 'nan', 'finite')),
        (table(theta='nan'), ('"arm"', 'theta', 'nan', 'finite')),
        (table(theta='q + 1e999'), ('"arm"', 'theta', 'finite')),
        (table(theta='1e999 * q'), ('"arm"', 'theta', 'finite')),
        (table(theta='0 * q'), ('"arm"', 'theta', 'factor 0')),
        (table(d='-inf'), ('"arm"', ', d', 'inf', 'finite')),
        (table(d='sqrt(-1)'), ('"arm"', ', d', 'sqrt')),
        (table(d=10**400), ('"arm"', ', d', 'finite')),
        (table(d='True'), ('"arm"', ', d')),
        (table(inertia={'M': 2, 'Jxy': NAN}), ('"arm"', 'Jxy', 'nan', 'finite')),
        (table(inertia={'M': 2, 'Jyy': -1}), ('"arm"', 'Jyy', '-1', 'negative')),
        ({**table(), 'constants': {'L': NAN}}, ('constant L', 'nan', 'finite')),
        ({**table(), 'bodys': []}, ('"bodys"', 'bodies, ')),
        ({**table(), 3: []}, ('"3"', 'bodies, ')),
        ({**table(), 'ties': 'arm.MSx = 0'}, ('ties', 'arm.MSx = 0', 'list')),
        ({**table(), 'ties': ['arm.MSx = 0', {'arm.M': 0}]}, ('ties', 'entry 2')),
        ({**table(), 'ties': ['arm.MSx']}, ('ties', 'entry 1')),
        (table(antecedent=False), ('"arm"', 'antecedent False')),
        (table(virtual='no'), ('"arm"', 'virtual', "'no'")),
        (table(inertia=''), ('"arm"', 'inertia')),
        (table(name=''), ('row 1', 'name')),
        (table(name=None), ('row 1', 'name')),
        (table(name='arm\nleg'), ('row 1', 'printable')),
        (table(name='arm, ' * 100), ('row 1', '100 printable')),
        ({'name': 'car', 'bodies': [row(), row()]}, ('two bodies', '"arm"')),
        ({'name': 'car', 'bodies': [row(antecedent='arm')]}, ('cyclic',)),
        (None, ('mapping',)),
    ],
)
def test_tables_that_would_slip_through(bad: dict, words: tuple[str, ...]) -> None:
    with pytest.raises(ModelError) as caught:
        parse_mdh(bad, where='car.yaml')
    sentence = str(caught.value)
    assert sentence.startswith('car.yaml: ')
    assert '\n' not in sentence
    for word in words:
        assert word in sentence


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (b'', 'mapping'),
        (b'bodies: [\xff]', 'is no text in UTF-8'),
        (b'{? [a, b] : 1, bodies: []}', 'expected a name before the colon'),
    ],
)
def test_table_files_that_cannot_be_used(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / 'car.yaml'
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_mdh(path)
    assert str(caught.value).startswith(f'{path}:')
    assert words in str(caught.value)


@pytest.mark.parametrize(
    'text',
    [
        robot(link('a'), '<link name="b"/>', joint('hinge', 'a', 'b')),
        robot(link('a')),
        robot(link('a'), link('b'), joint('weld', 'a', 'b', 'fixed')),
    ],
)
@pytest.mark.parametrize('rows', ['all', 'base'])
def test_a_fixed_base_with_nothing_that_moves(text: str, rows: str) -> None:
    model = parse_urdf(text, floating=False)
    with pytest.raises(EstimationError, match=r'model r: .*nothing to identify'):
        structural_base_parameters(Regressor(model, rows=rows))


def test_ties_that_leave_no_parameter() -> None:
    model = parse_mdh(table(inertia={'M': 1}))
    regressor = Regressor(model, enabled=['arm.Jzz'])
    mapping = tie_parameters(regressor.columns, ['arm.Jzz = 0'])
    with pytest.raises(EstimationError, match='nothing to identify'):
        structural_base_parameters(regressor, mapping)


@pytest.mark.parametrize('kind', ['continuous', 'fixed'])
@pytest.mark.parametrize('origin', ['xyz="0 nan 0"', 'rpy="inf 0 0"'])
def test_joint_origins_are_finite(origin: str, kind: str) -> None:
    sentence = refused(pair(f'<origin {origin}/>', kind))
    assert 'joint "hinge"' in sentence and 'origin' in sentence and 'finite' in sentence


@pytest.mark.parametrize('entry', ['multiplier="nan"', 'offset="inf"'])
def test_mimic_numbers_are_finite(entry: str) -> None:
    text = robot(
        link('a'),
        link('b'),
        link('c'),
        joint('drive', 'a', 'b'),
        joint('follower', 'a', 'c', more=f'<mimic joint="drive" {entry}/>'),
    )
    sentence = refused(text)
    assert 'joint "follower"' in sentence and entry.split('=')[0] in sentence
    assert 'finite' in sentence


@pytest.mark.parametrize('origin', ['nan 0 0', '0 0 inf'])
def test_inertial_origins_are_finite(origin: str) -> None:
    assert 'link "a"' in refused(robot(link('a', origin=origin)))


@pytest.mark.parametrize(
    'inertia',
    [
        moments(-0.4, 0.5, 0.6),
        moments(0.4, -1e-3, 0.6),
        'ixx="0.4" ixy="0.9" ixz="0" iyy="0.5" iyz="0" izz="0.6"',
    ],
)
def test_negative_and_indefinite_inertia_is_told_and_replaced(inertia: str) -> None:
    model = two_links(inertia)
    (sentence,) = model.warnings
    assert 'link "shin"' in sentence and 'negative principal moment' in sentence
    mass, _, taken = centre_of_mass(model.parameters[model.body_index('shin')])
    first, second, third = np.linalg.eigvalsh(taken)
    assert mass == 2.0
    assert first > -1e-12 and first + second >= third - 1e-12
    assert third > 0.3  # it is no point mass


def two_links(inertia: str, mass: str = '2') -> TreeModel:
    text = robot(link('a'), link('shin', mass, inertia), joint('j', 'a', 'shin'))
    return parse_urdf(text, where='robot.urdf')


@pytest.mark.parametrize(
    ('inertia', 'mass', 'words'),
    [
        (moments(0.1, 0.2, 0.31), '2', 'triangle'),
        (moments(0.0, 0.0, 0.0), '2', 'point'),
        (moments(0.0, 0.2, 0.2), '2', 'zero'),
        (moments(0.1, 0.1, 0.1), '0', 'no mass'),
    ],
)
def test_doubtful_inertia_is_recorded(inertia: str, mass: str, words: str) -> None:
    model = two_links(inertia, mass)
    assert len(model.warnings) == 1
    assert model.warnings[0].startswith('robot.urdf: link "shin" ')
    assert words in model.warnings[0]
    assert lock_joints(model, {'j': 0.1}).warnings == model.warnings


@pytest.mark.parametrize(
    'inertia',
    [
        moments(0.4, 0.5, 0.6),
        moments(0.1, 0.2, 0.3),  # a flat plate stands on the border
        moments(0.1, 0.2, 0.30000001),
    ],
)  # and printed digits push it over
def test_possible_inertia_gets_no_warning(inertia: str) -> None:
    assert two_links(inertia).warnings == ()


def test_a_link_without_inertia_element_is_a_point_mass() -> None:
    text = robot('<link name="a"><inertial><mass value="3"/></inertial></link>')
    model = parse_urdf(text)
    assert model.parameters[0].tolist() == [3.0] + [0.0] * 9
    assert 'point' in model.warnings[0]


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (
            robot(link('a'), '<xacro:leg side="l"/>', attributes='xmlns:xacro="http://x/xacro"'),
            '<xacro:leg>',
        ),
        (robot(link('a'), '<xacro:leg side="l"/>'), '<xacro:leg>'),
        (
            robot(link('a'), '<x:leg/>', attributes='xmlns:x="http://www.ros.org/wiki/xacro"'),
            '<x:leg>',
        ),
        (robot('<link name="thigh"><xacro:inertia m="2"/></link>'), 'link "thigh"'),
        (robot(link('thigh', mass='${m}')), 'link "thigh"'),
        (pair('<origin xyz="0 0 ${length}"/>'), 'joint "hinge"'),
        (pair('<origin xyz="0 0 $(arg length)"/>'), 'joint "hinge"'),
        (robot(link('${side}_thigh')), 'link "${side}_thigh"'),
    ],
)
def test_unexpanded_xacro_is_named(text: str, words: str) -> None:
    sentence = refused(text)
    assert words in sentence
    assert 'run xacro' in sentence


def test_traces_of_xacro_that_do_no_harm() -> None:
    text = robot(
        link('a'),
        '<gazebo><plugin args="$(find x)">${y}</plugin></gazebo>',
        '<!-- <xacro:leg/> ${z} -->',
        attributes='xmlns:xacro="http://x/xacro"',
    )
    assert parse_urdf(text).body_names == ('a',)


@pytest.mark.parametrize('floating', [True, False])
@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (robot(link('a'), link('a')), 'the name "a"'),
        (robot(link('a'), link('b'), joint('j', 'x', 'b')), '"x"'),
        (robot(link('a'), link('b'), joint('j', 'a', 'b'), joint('k', 'b', 'a')), 'cyclic'),
        (
            robot(link('a'), link('b'), link('c'), joint('j', 'b', 'c'), joint('k', 'c', 'b')),
            'cyclic',
        ),
        (robot(link('a'), link('b')), 'disconnected'),
        (robot(link('a'), '<link/>'), 'name'),
        (robot(link('a'), '<link name=""/>', joint('j', 'a', '')), 'name'),
        (
            robot(
                link('a'),
                link('a')
                .replace('</link>', '<inertial><mass value="1"/></inertial></link>')
                .replace('"a"', '"b"'),
                joint('j', 'a', 'b'),
            ),
            'link "b"',
        ),
        (pair('<axis xyz="0 0 0"/>'), 'joint "hinge"'),
        (pair('<axis xyz="0 nan 0"/>'), 'joint "hinge"'),
        (pair('<axis xyz="0 1"/>'), 'joint "hinge", axis xyz'),
        (robot(link('a', inertia='ixx="1"')), 'link'),
        (
            robot(link('a', inertia=INERTIA.replace('0.5', 'nan'))),
            'link "a", inertia iyy is "nan"',
        ),
        (robot(link('a', mass='inf')), 'link "a", mass value is "inf"'),
        (robot(link('a'), '<joint name="j" type="fixed"><child link="a"/></joint>'), "'j'"),
        (robot(), 'no link'),
        ('<sdf version="1.6"><model/></sdf>', '<sdf>'),
        ('', 'empty'),
        (' \n', 'empty'),
        ('<robot name="r">', 'cannot be parsed'),
        (robot(link('a', mass='\ud800')), 'cannot be parsed'),
    ],
)
def test_structure_faults_name_the_file(text: str, words: str, floating: bool) -> None:
    assert words in refused(text, floating)


def test_load_urdf_names_its_path(tmp_path: Path) -> None:
    path = tmp_path / 'robot.urdf'
    for content, words in (
        (robot(link('a'), link('a')).encode(), 'the name "a"'),
        (b'', 'empty'),
        (b'<robot name="\xff"/>', 'cannot be read'),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelError) as caught:
            load_urdf(path)
        assert str(caught.value).startswith(f'{path}: ')
        assert words in str(caught.value)
    path.write_text(robot(link('a')), encoding='utf-8-sig')
    assert load_urdf(path).body_names == ('a',)
    for place in (tmp_path, tmp_path / 'none.urdf'):
        with pytest.raises(ModelError, match='cannot be read'):
            load_urdf(place)
    with pytest.raises(ModelError) as caught:
        load_urdf(path, locked={'knee': 0.0})
    assert str(caught.value).startswith(f'{path}: ') and '"knee"' in str(caught.value)


def test_locked_positions_are_finite() -> None:
    with pytest.raises(ModelError, match=r'"hinge".*nan.*finite'):
        parse_urdf(pair(''), locked={'hinge': NAN})


@pytest.mark.parametrize(
    'declaration',
    [
        '<!ENTITY a "1">',
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">',
        '<!ENTITY a SYSTEM "file:///etc/hostname">',
        '<!ENTITY % p "q">',
    ],
)
def test_entities_are_refused_before_they_grow(declaration: str) -> None:
    text = f'<?xml version="1.0"?><!DOCTYPE robot [{declaration}]>' + robot(link('a'))
    assert 'entity' in refused(text)


def test_parts_of_a_file_that_the_model_does_not_use() -> None:
    """Limits upside down or without effort, shapes, transmissions and plugins change nothing."""
    plain = robot(link('a'), link('b'), joint('hinge', 'a', 'b', 'revolute'))
    dressed = plain.replace(
        '</joint>',
        '<limit lower="1" upper="-1"/><dynamics damping="x"/>'
        '<calibration rising="nope"/></joint>'
        '<transmission name="t"/><ros2_control/><material name="m"/>',
    )
    dressed = dressed.replace('</link>', '<visual><geometry><capsule/></geometry></visual></link>')
    dressed = '<?xml version="1.0" encoding="latin-1"?><!DOCTYPE robot>' + dressed
    one, two = parse_urdf(plain), parse_urdf(dressed)
    assert one.body_names == two.body_names and one.coordinate_names == two.coordinate_names
    assert np.array_equal(one.parameters, two.parameters)
    assert two.warnings == ()
