"""Files of OpenSim into recordings: places of links by hand, wrenches, units, refusals."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from veh_identification.cli.main import main
from veh_identification.errors import InputError, ModelError
from veh_identification.runtime.bags import BagReader
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.laboratory.bags import plate_wrenches
from veh_identification.systems.humanoid.laboratory.skeleton import read_skeleton
from veh_identification.systems.humanoid.laboratory.storage import read_table
from veh_identification.systems.humanoid.options import Subject, with_own_robot

SHIFT = '<LinearFunction name="function"><coefficients>1 0</coefficients></LinearFunction>'


def _axis(name: str, coordinate: str, axis: str, function: str = SHIFT) -> str:
    return (
        f'<TransformAxis name="{name}"><coordinates>{coordinate}</coordinates>'
        f'<axis>{axis}</axis>{function}</TransformAxis>'
    )


def _frames(parent: str, child: str, place: str, turn: str = '0 0 0') -> str:
    return f"""<socket_parent_frame>a</socket_parent_frame>
    <socket_child_frame>b</socket_child_frame><frames>
    <PhysicalOffsetFrame name="a"><socket_parent>/bodyset/{parent}</socket_parent>
    <translation>{place}</translation><orientation>{turn}</orientation></PhysicalOffsetFrame>
    <PhysicalOffsetFrame name="b"><socket_parent>/bodyset/{child}</socket_parent>
    <translation>0.01 0.02 0</translation><orientation>0 0 0</orientation>
    </PhysicalOffsetFrame></frames>"""


KNEE = (
    '<PolynomialFunction name="function"><coefficients>0.02 0.01 0</coefficients>'
    '</PolynomialFunction>'
)
MODEL = f"""<OpenSimDocument Version="40000"><Model name="one_leg"><BodySet><objects>
<Body name="pelvis"><mass>12</mass><mass_center>-0.07 0.02 0</mass_center>
<inertia>0.1 0.08 0.06 0 0 0</inertia></Body>
<Body name="femur"><mass>9</mass><mass_center>0 -0.17 0.01</mass_center>
<inertia>0.13 0.03 0.14 0 0 0</inertia></Body>
<Body name="tibia"><mass>4</mass><mass_center>0 -0.19 0</mass_center>
<inertia>0.05 0.005 0.05 0 0 0</inertia></Body></objects></BodySet><JointSet><objects>
<CustomJoint name="ground_pelvis">
<socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/pelvis</socket_child_frame>
<SpatialTransform>{_axis('rotation1', 'tilt', '0 0 1')}{_axis('rotation2', 'list', '1 0 0')}
{_axis('rotation3', 'turn', '0 1 0')}{_axis('translation1', 'tx', '1 0 0')}
{_axis('translation2', 'ty', '0 1 0')}{_axis('translation3', 'tz', '0 0 1')}</SpatialTransform>
</CustomJoint>
<CustomJoint name="hip">{_frames('pelvis', 'femur', '-0.06 -0.08 0.08', '0.1 0.2 -0.1')}
<SpatialTransform>{_axis('rotation1', 'flexion', '0 0 1')}
{_axis('rotation2', 'adduction', '1 0 0')}
</SpatialTransform></CustomJoint>
<CustomJoint name="knee">{_frames('femur', 'tibia', '0 -0.4 0')}
<SpatialTransform>{_axis('rotation1', 'knee', '0 0 -1')}
{_axis('translation1', 'knee', '1 0 0', KNEE)}
</SpatialTransform></CustomJoint></objects></JointSet></Model></OpenSimDocument>"""
NAMES = ('tilt', 'list', 'turn', 'tx', 'ty', 'tz', 'flexion', 'adduction', 'knee')


@pytest.fixture(name='files')
def _files(tmp_path) -> list[Path]:
    rng = np.random.default_rng(2)
    t = np.arange(0.0, 0.5, 0.01)
    degrees = np.degrees(rng.uniform(-0.5, 0.5, 9)) * np.cos(3.0 * t[:, None] + np.arange(9))
    degrees[:, 3:6] = np.array([0.1, 0.9, -0.2]) + 0.05 * np.sin(t[:, None] + np.arange(3))
    _write(tmp_path / 'ik.mot', 'Coordinates\ninDegrees=yes', ('time', *NAMES), t, degrees)
    force = np.column_stack([5.0 + t, 250.0 + 20.0 * t, 3.0 - t])
    point, free = np.tile([0.3, 0.0, -0.1], (50, 1)), np.tile([0.0, 1.5, 0.0], (50, 1))
    columns = [f'ground_force_1_{kind}{axis}' for kind in 'vpm' for axis in 'xyz']
    _write(tmp_path / 'grf.mot', 'grf', ('time', *columns), t, np.hstack([force, point, free]))
    (tmp_path / 'leg.osim').write_text(MODEL)
    return [tmp_path / name for name in ('leg.osim', 'ik.mot', 'grf.mot')]


def _write(path: Path, header: str, names: tuple[str, ...], t, values) -> None:
    rows = '\n'.join(
        '\t'.join(f'{x:.10g}' for x in (a, *b)) for a, b in zip(t, values, strict=True)
    )
    path.write_text(f'{header}\nendheader\n' + '\t'.join(names) + '\n' + rows + '\n')


def _move(place=(0.0, 0.0, 0.0), turn=None) -> np.ndarray:
    made = np.eye(4)
    made[:3, 3] = place
    if turn is not None:
        made[:3, :3] = turn.as_matrix()
    return made


def test_links_are_where_the_transforms_of_opensim_put_them(files) -> None:
    skeleton, table = read_skeleton(files[0]), read_table(files[1])
    model = pin.buildModelFromXML(skeleton.urdf.decode(), pin.JointModelFreeFlyer())
    data, k = model.createData(), 17
    c = {name: table.columns[name][k] for name in NAMES}
    a = {name: np.radians(value) for name, value in c.items()}
    z, x, y = np.eye(3)[2], np.eye(3)[0], np.eye(3)[1]
    turn = Rotation.from_rotvec
    pelvis = _move(
        (c['tx'], c['ty'], c['tz']),
        turn(a['tilt'] * z) * turn(a['list'] * x) * turn(a['turn'] * y),
    )
    back = np.linalg.inv(_move((0.01, 0.02, 0.0)))
    hip = _move((-0.06, -0.08, 0.08), Rotation.from_euler('XYZ', [0.1, 0.2, -0.1]))
    femur = pelvis @ hip @ _move(turn=turn(a['flexion'] * z) * turn(a['adduction'] * x)) @ back
    moved = (0.02 * a['knee'] ** 2 + 0.01 * a['knee'], 0.0, 0.0)
    tibia = femur @ _move((0.0, -0.4, 0.0)) @ _move(moved, turn(-a['knee'] * z)) @ back
    position, rotation = skeleton.base_pose(table)
    q = pin.neutral(model)
    q[:7] = [*position[k], *Rotation.from_matrix(rotation[k]).as_quat()]
    for name, values in skeleton.values(table).items():
        q[model.joints[model.getJointId(name)].idx_q] = values[k]
    pin.framesForwardKinematics(model, data, q)
    up = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    for name, expected in (('pelvis', pelvis), ('femur', femur), ('tibia', tibia)):
        found = data.oMf[model.getFrameId(name)]
        assert found.translation == pytest.approx(up @ expected[:3, 3], abs=1e-9)
        assert found.rotation == pytest.approx(up @ expected[:3, :3] @ up.T, abs=1e-9)
    assert pin.computeTotalMass(model) == pytest.approx(25.0)


def _simple(kind: str, frames: str, *names: str) -> str:
    coordinates = ''.join(f'<Coordinate name="{name}"/>' for name in names)
    return (
        f'<{kind} name="of_{names[0]}">{frames}<coordinates>{coordinates}</coordinates></{kind}>'
    )


def test_balls_gimbals_and_free_joints_turn_about_x_y_z(tmp_path) -> None:
    """OpenSim's simple joints: turns about axes that move along, displacements in the parent."""
    ground = '<socket_parent_frame>/ground</socket_parent_frame>'
    ground += '<socket_child_frame>/bodyset/pelvis</socket_child_frame>'
    joints = [
        _simple('FreeJoint', ground, 'rx', 'ry', 'rz', 'tx', 'ty', 'tz'),
        _simple('BallJoint', _frames('pelvis', 'femur', '-0.06 -0.08 0.08'), 'b1', 'b2', 'b3'),
        _simple('PlanarJoint', _frames('femur', 'tibia', '0 -0.4 0'), 'p1', 'p2', 'p3'),
    ]
    bodies = MODEL[: MODEL.index('<JointSet>')]
    end = '</objects></JointSet></Model></OpenSimDocument>'
    path = tmp_path / 'ball.osim'
    path.write_text(f'{bodies}<JointSet><objects>{"".join(joints)}{end}')
    names = ('rx', 'ry', 'rz', 'tx', 'ty', 'tz', 'b1', 'b2', 'b3', 'p1', 'p2', 'p3')
    angles = [20.0, -35.0, 50.0, 0.1, 0.9, -0.2, -40.0, 25.0, 70.0, 15.0, 0.03, -0.05]
    _write(tmp_path / 'ik.mot', 'x\ninDegrees=yes', ('time', *names), [0.0, 0.1], [angles] * 2)
    skeleton, table = read_skeleton(path), read_table(tmp_path / 'ik.mot')
    turned = [Rotation.from_euler('XYZ', angles[k : k + 3], degrees=True) for k in (0, 6)]
    back = np.linalg.inv(_move((0.01, 0.02, 0.0)))
    pelvis = _move(angles[3:6], turned[0])
    femur = pelvis @ _move((-0.06, -0.08, 0.08)) @ _move(turn=turned[1]) @ back
    knee = _move((0.03, -0.05, 0.0), Rotation.from_euler('z', 15.0, degrees=True))
    tibia = femur @ _move((0.0, -0.4, 0.0)) @ knee @ back
    model = pin.buildModelFromXML(skeleton.urdf.decode(), pin.JointModelFreeFlyer())
    data, q = model.createData(), pin.neutral(model)
    position, rotation = skeleton.base_pose(table)
    q[:7] = [*position[0], *Rotation.from_matrix(rotation[0]).as_quat()]
    for name, values in skeleton.values(table).items():
        q[model.joints[model.getJointId(name)].idx_q] = values[0]
    pin.framesForwardKinematics(model, data, q)
    up = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    for name, expected in (('pelvis', pelvis), ('femur', femur), ('tibia', tibia)):
        found = data.oMf[model.getFrameId(name)]
        assert found.translation == pytest.approx(up @ expected[:3, 3], abs=1e-9)
        assert found.rotation == pytest.approx(up @ expected[:3, :3] @ up.T, abs=1e-9)
    path.write_text(path.read_text().replace('<Coordinate name="b3"/>', ''))
    with pytest.raises(ModelError, match='BallJoint with 2 coordinates, expected 3'):
        read_skeleton(path)


def test_the_wrench_of_a_plate_is_about_its_own_place(files) -> None:
    (plate,) = plate_wrenches(read_table(files[2]))
    assert plate.place == pytest.approx([0.3, 0.1, 0.0])
    assert plate.values[0] == pytest.approx([5.0, -3.0, 250.0, 0.0, 0.0, 1.5])


def test_convert_writes_a_recording_that_brings_its_own_urdf(files, tmp_path, capsys) -> None:
    out = tmp_path / 'bag'
    assert main(['convert', *map(str, files), '--out', str(out)]) == 0
    assert '/force_plate_1/wrench  50' in capsys.readouterr().out
    with BagReader(out) as reader:
        assert set(reader.topics) == {
            '/base/pose',
            '/joint_states',
            '/force_plate_1/wrench',
            '/tf_static',
        }
    found = with_own_robot(Subject(load_configuration(None)), [out]).described
    assert found.total_mass == pytest.approx(25.0)
    assert set(found.moving_joints()) == {'flexion', 'adduction', 'knee', 'knee_t0'}


def test_what_is_wrong_with_a_file_is_named(files, tmp_path, capsys) -> None:
    broken = tmp_path / 'broken.mot'
    broken.write_text('x\nendheader\ntime a b\n0 1 2\n0.1 1\n')
    with pytest.raises(InputError, match=r'broken.mot: row 2 .*expected 3 numbers'):
        read_table(broken)
    old = tmp_path / 'old.osim'
    old.write_text(MODEL.replace('40000', '30000'))
    with pytest.raises(ModelError, match='expected a model of OpenSim 4'):
        read_skeleton(old)
    odd = tmp_path / 'odd.osim'
    odd.write_text(
        MODEL.replace('CustomJoint name="knee"', 'BallJoint name="knee"').replace(
            '</SpatialTransform></CustomJoint></objects></JointSet>',
            '</SpatialTransform></BallJoint></objects></JointSet>',
        )
    )
    with pytest.raises(ModelError, match='knee is a BallJoint'):
        read_skeleton(odd)
    assert main(['convert', str(files[0]), str(files[1]), '--out', str(tmp_path / 'no')]) == 2
    assert 'one model' in capsys.readouterr().err


def test_a_cell_that_is_no_number_is_named_with_its_column(tmp_path) -> None:
    """Spreadsheets divide by forces that are zero."""
    path = tmp_path / 'grf.mot'
    path.write_text('grf\nendheader\ntime\tf_vx\tf_px\n0\t1\t2\n0.1\t0\t#NAME?\n0.2\t1\t2\n')
    with pytest.raises(
        InputError, match=r"row 2 .* a number in the column 'f_px', found '#NAME\?'"
    ):
        read_table(path)
    path.write_text('grf\nendheader\ntime\tf_vx\tf_px\n0\t1\t2\n0.1\t0\n')
    with pytest.raises(InputError, match=r'row 2 .* expected 3 numbers, found 2'):
        read_table(path)
