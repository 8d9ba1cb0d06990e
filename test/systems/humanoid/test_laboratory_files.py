"""C3D and CSV files into recordings: plates against forces at known places, signs, refusals."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from veh_identification.cli.main import main
from veh_identification.errors import InputError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.laboratory.c3d import read_c3d
from veh_identification.systems.humanoid.laboratory.c3d_plates import c3d_plates
from veh_identification.systems.humanoid.laboratory.convert import _turned
from veh_identification.systems.humanoid.recording.reader import read_recording

COUNT, RATE, PER_FRAME = 30, 100.0, 10


def parameter(group: int, name: str, values, kind: str) -> bytes:
    """A parameter: texts 'c', integers 'i', floats 'f'; arrays as the format stores them."""
    if kind == 'c':
        width = max(len(one) for one in values)
        shape, data = [width, len(values)], ''.join(f'{one:{width}s}' for one in values).encode()
        code = -1
    else:
        array = np.asarray(values)
        shape = list(array.shape)
        data = array.T.astype('<i2' if kind == 'i' else '<f4').tobytes()
        code = 2 if kind == 'i' else 4
    body = struct.pack('<bB', code, len(shape)) + bytes(shape) + data + b'\0'
    head = struct.pack('<bb', len(name), group) + name.encode()
    return head + struct.pack('<H', 2 + len(body)) + body


def group(number: int, name: str) -> bytes:
    return struct.pack('<bb', len(name), -number) + name.encode() + struct.pack('<HB', 3, 0)


def c3d(path: Path, analog: np.ndarray, plates: dict, integers=False, first=51) -> Path:
    """A file of Intel numbers without markers; `plates` are the entries of FORCE_PLATFORM."""
    channels = analog.shape[1]
    scale = 0.05 if integers else 1.0
    blocks = b''.join(
        [
            b'\x01\x50\x00\x54',
            group(1, 'POINT'),
            parameter(1, 'UNITS', ['mm'], 'c'),
            group(2, 'ANALOG'),
            parameter(2, 'SCALE', [scale] * channels, 'f'),
            parameter(2, 'OFFSET', [7 if integers else 0] * channels, 'i'),
            parameter(2, 'GEN_SCALE', [1.0], 'f'),
            group(3, 'FORCE_PLATFORM'),
            *(
                parameter(3, name, value, 'i' if name in ('USED', 'TYPE', 'CHANNEL') else 'f')
                for name, value in plates.items()
            ),
            b'\0\0',
        ]
    )
    count = -(-len(blocks) // 512)
    header = bytearray(512)
    header[:2] = b'\x02\x50'
    struct.pack_into('<HHHH', header, 2, 0, channels * PER_FRAME, first, first - 1 + COUNT)
    struct.pack_into('<fHHf', header, 12, 0.1 if integers else -0.1, 2 + count, PER_FRAME, RATE)
    if integers:
        data = np.rint(analog / scale + 7).astype('<i2').tobytes()
    else:
        data = analog.astype('<f4').tobytes()
    path.write_bytes(bytes(header) + blocks.ljust(512 * count, b'\0') + data)
    return path


CENTRE = np.array([300.0, 200.0, 0.0])  # mm
CORNERS = np.array([[600.0, 400, 0], [0, 400, 0], [0, 0, 0], [600, 0, 0]]).T[:, :, None]
#: x of the plate along the x of the laboratory would have its z up: that is not the format's way.
FLIPPED = CORNERS[:, [1, 0, 3, 2]]


def pressed(corners: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, ...]:
    """A person's force at a wandering point, and what a sensor below the plate shows of it."""
    t = np.linspace(0.0, 1.0, COUNT * PER_FRAME)
    force = np.column_stack([30.0 * np.sin(9.0 * t), -20.0 * t, 600.0 + 200.0 * np.cos(5.0 * t)])
    point = CENTRE + np.column_stack([80.0 * t, 50.0 * np.sin(3.0 * t), 0.0 * t])
    torque = np.column_stack([0.0 * t, 0.0 * t, 4000.0 * np.sin(7.0 * t)])  # N mm
    axes = np.column_stack(
        [corners[:, 0, 0] - corners[:, 1, 0], corners[:, 0, 0] - corners[:, 3, 0], [0, 0, 0]]
    )
    axes /= np.linalg.norm(axes, axis=0) + 1e-12
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    sensor = CENTRE - axes @ origin
    moment = np.cross(point - sensor, force) + torque
    raw = np.hstack([force @ axes, moment @ axes])
    about = (np.cross(point - CENTRE, force) + torque) / 1000.0
    return raw, force, about


@pytest.mark.parametrize('presses', [False, True])
@pytest.mark.parametrize('kind', [2, 4])
def test_forces_and_moments_come_back_about_the_middle_of_the_plate(tmp_path, kind, presses):
    origin = np.array([3.0, -2.0, -40.0])
    raw, force, about = pressed(FLIPPED, origin)
    matrix = np.eye(6) + 0.1 * np.random.default_rng(1).normal(size=(6, 6))
    analog = raw @ np.linalg.inv(matrix).T if kind == 4 else raw
    plates = {
        'USED': 1,
        'TYPE': [kind],
        'CORNERS': FLIPPED,
        'ORIGIN': origin[:, None],
        'CHANNEL': np.arange(1, 7)[:, None],
        'CAL_MATRIX': matrix[:, :, None],
    }
    plates['USED'] = [1]
    path = c3d(tmp_path / 'a.c3d', (-1.0 if presses else 1.0) * analog, plates)
    file = read_c3d(path)
    assert file.rate == RATE * PER_FRAME and file.start == pytest.approx(0.5)
    (plate,) = c3d_plates(file)
    np.testing.assert_allclose(plate.place, CENTRE / 1000.0)
    np.testing.assert_allclose(plate.values[:, :3], force, atol=0.02)
    np.testing.assert_allclose(plate.values[:, 3:], about, atol=0.02)


def test_integers_and_a_laboratory_whose_y_is_up(tmp_path) -> None:
    raw, force, _ = pressed(FLIPPED, np.zeros(3))
    # The same plate with y up: x stays, z becomes -y.
    turn = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    plates = {
        'USED': [1],
        'TYPE': [2],
        'CORNERS': np.einsum('ij,jkl->ikl', turn, FLIPPED),
        'ORIGIN': np.zeros((3, 1)),
        'CHANNEL': np.arange(1, 7)[:, None],
    }
    raw[:, 3:] *= 0.01  # fits into 16 bits
    (plate,) = c3d_plates(read_c3d(c3d(tmp_path / 'i.c3d', raw, plates, integers=True)))
    np.testing.assert_allclose(plate.values[:, 2], force[:, 2], atol=0.05)
    np.testing.assert_allclose(np.abs(plate.values[:, 0]), np.abs(force[:, 0]), atol=0.05)
    assert plate.place[2] == pytest.approx(0.0)


def test_eight_channels_of_a_kistler_plate(tmp_path) -> None:
    """Four posts at (+-a, +-b): forces by their sums, moments by their places."""
    a, b, depth = 120.0, 200.0, 54.0
    rng = np.random.default_rng(3)
    posts = np.array([[a, b], [-a, b], [-a, -b], [a, -b]])
    vertical = rng.uniform(80.0, 200.0, (COUNT * PER_FRAME, 4))
    side = rng.normal(scale=20.0, size=(COUNT * PER_FRAME, 4))  # fx12, fx34, fy14, fy23
    analog = np.hstack([side, vertical])
    plates = {
        'USED': [1],
        'TYPE': [3],
        'CORNERS': FLIPPED,
        'ORIGIN': np.array([[a], [b], [depth]]),
        'CHANNEL': np.arange(1, 9)[:, None],
    }
    (plate,) = c3d_plates(read_c3d(c3d(tmp_path / 'k.c3d', analog, plates)))
    # In plate axes, z down: what is measured at the posts, `depth` below the surface.
    at = np.column_stack([posts, np.full(4, depth)])
    moment = np.zeros((COUNT * PER_FRAME, 3))
    for k in range(4):
        fz = np.column_stack([0 * vertical[:, k], 0 * vertical[:, k], vertical[:, k]])
        moment += np.cross(at[k], fz)
    for column, (x, y), axis in (
        (0, (0.0, b), 0),
        (1, (0.0, -b), 0),
        (2, (a, 0.0), 1),
        (3, (-a, 0.0), 1),
    ):
        force = np.zeros((COUNT * PER_FRAME, 3))
        force[:, axis] = side[:, column]
        moment += np.cross([x, y, depth], force)
    axes = np.diag([-1.0, 1.0, -1.0])  # of FLIPPED
    sign = -1.0  # z is down there: what presses is positive, what the plate exerts is the opposite
    np.testing.assert_allclose(plate.values[:, 3:], sign * moment @ axes.T / 1000.0, atol=0.01)
    assert np.all(plate.values[:, 2] > 0.0)


def test_files_that_are_no_c3d_or_damaged_are_refused_in_one_sentence(tmp_path) -> None:
    path = tmp_path / 'no.c3d'
    path.write_bytes(b'x' * 3000)
    with pytest.raises(InputError, match='no C3D file'):
        read_c3d(path)
    raw, _, _ = pressed(FLIPPED, np.zeros(3))
    plates = {'USED': [1], 'TYPE': [9], 'CORNERS': FLIPPED, 'ORIGIN': np.zeros((3, 1))}
    whole = c3d(tmp_path / 'a.c3d', raw, plates)
    with pytest.raises(InputError, match='has the type 9, expected 1, 2, 3 or 4'):
        c3d_plates(read_c3d(whole))
    for share in (0.1, 0.3, 0.6, 0.95):
        cut = whole.read_bytes()[: int(share * whole.stat().st_size)]
        (tmp_path / 'cut.c3d').write_bytes(cut)
        with pytest.raises(InputError):
            read_c3d(tmp_path / 'cut.c3d')


COLUMNS = """
urdf: arm.urdf
time: t
units: {angle: deg, length: mm, moment: N mm}
joints: {hip: Hip, knee: {column: Knee, scale: -1}}
base: {position: [x, y, z], rpy: [roll, pitch, yaw]}
plates:
  left_plate: {force: [fx, fy, fz], moment: [mx, my, mz], presses: true,
               pose: {position: [0.3, 0, 0], rpy: [0, 0, 1.5707963]}}
  right_plate: {force: [rx, ry, rz], point: [px, py], free_moment: tz}
"""


@pytest.fixture(name='table')
def _table(tmp_path) -> list[Path]:
    t = np.arange(0.0, 2.0, 0.01)
    rows = ['t;Hip;Knee;x;y;z;roll;pitch;yaw']
    for k, one in enumerate(t):
        knee = '' if k == 5 else f'{-10.0 * one:.6f}'
        rows.append(f'{one:.3f};{20.0 * one:.6f};{knee};100;200;900;0;0;90')
    (tmp_path / 'motion.csv').write_text('\n'.join(rows))
    rows = ['t,fx,fy,fz,mx,my,mz,rx,ry,rz,px,py,tz']
    rows += [f'{one:.3f},1,2,-300,4000,5000,6000,0,0,400,50,-20,3000' for one in t]
    (tmp_path / 'forces.csv').write_text('\n'.join(rows))
    (tmp_path / 'columns.yaml').write_text(COLUMNS)
    (tmp_path / 'arm.urdf').write_text('<robot name="r"/>')
    return [tmp_path / 'motion.csv', tmp_path / 'forces.csv', tmp_path / 'columns.yaml']


def test_csv_files_become_a_recording_that_the_identification_reads(table, tmp_path) -> None:
    out = tmp_path / 'bag'
    arguments = [*map(str, table[:2]), '--map', str(table[2]), '--out', str(out)]
    assert main(['convert', *arguments]) == 0
    assert (out / 'model.urdf').read_text() == '<robot name="r"/>'
    found = read_recording(out, ['hip', 'knee'], load_configuration(None))
    np.testing.assert_allclose(found.joint('hip')[100], np.radians(20.0), atol=1e-9)
    np.testing.assert_allclose(found.joint('knee')[-1], np.radians(19.9), atol=1e-9)
    np.testing.assert_allclose(found.base.values[0, :3], [0.1, 0.2, 0.9])
    np.testing.assert_allclose(np.abs(found.base.values[0, 3:]), [0, 0, 0.5**0.5, 0.5**0.5])
    # Topics of no usual name: found by their type and their frame.
    left, right = found.wrenches
    assert (left.topic, right.topic) == ('left_plate/wrench', 'right_plate/wrench')
    assert {one.code for one in found.findings} >= {'wrench_by_frame'}
    np.testing.assert_allclose(left.pose.position, [0.3, 0.0, 0.0])
    np.testing.assert_allclose(
        left.series.values[0], [2.0, -1.0, 300.0, 5.0, -4.0, -6.0], atol=1e-5
    )
    np.testing.assert_allclose(right.series.values[0], [0, 0, 400, -8.0, -20.0, 3.0], atol=1e-9)


@pytest.mark.parametrize(
    ('before', 'after', 'said'),
    [
        ('Hip', 'Hipp', "no column 'Hipp'"),
        ('time: t', 'time: when', "no column 'when' of the time"),
        ('force: [fx, fy, fz]', 'force: [fx, fy]', 'three columns of force'),
        ('angle: deg', 'angle: gon', 'expected'),
        ('joints:', 'joint:', 'joint'),
    ],
)
def test_columns_that_do_not_fit_are_named(table, tmp_path, capsys, before, after, said) -> None:
    table[2].write_text(COLUMNS.replace(before, after, 1))
    arguments = [*map(str, table[:2]), '--map', str(table[2]), '--out', str(tmp_path / 'bag')]
    assert main(['convert', *arguments]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / 'bag').exists()


def test_a_laboratory_time_in_ms_is_named_and_taken_with_its_unit(table, tmp_path, capsys) -> None:
    rows = table[0].read_text().splitlines()
    slow = [f'{1000.0 * float(one.split(";", 1)[0]):g};{one.split(";", 1)[1]}' for one in rows[1:]]
    table[0].write_text('\n'.join([rows[0], *slow]))
    arguments = [str(table[0]), '--map', str(table[2]), '--out', str(tmp_path / 'bag')]
    table[2].write_text(COLUMNS.split('plates:')[0])
    assert main(['convert', *arguments]) == 1
    assert 'write time: ms * t (100 Hz)' in capsys.readouterr().err
    table[2].write_text(COLUMNS.split('plates:')[0].replace('time: t', 'time: ms * t'))
    assert main(['convert', *arguments]) == 0
    assert 'empty cells of 200 rows: Knee 1' in capsys.readouterr().err
    with BagReader(tmp_path / 'bag') as reader:
        stamps = [messages.stamp_ns(item.message) for item in reader.messages(['/joint_states'])]
    assert (len(stamps), stamps[-1] - stamps[0]) == (200, 1_990_000_000)


def test_csv_without_a_map_and_bad_cells(table, tmp_path, capsys) -> None:
    assert main(['convert', str(table[0]), '--out', str(tmp_path / 'bag')]) == 2
    assert '--map' in capsys.readouterr().err
    text = table[1].read_text().replace('4000', 'four', 1)
    table[1].write_text(text)
    arguments = [*map(str, table[:2]), '--map', str(table[2]), '--out', str(tmp_path / 'bag')]
    assert main(['convert', *arguments]) == 1
    assert "line 2, column 'mx': expected a number, found 'four'" in capsys.readouterr().err


def test_plates_of_a_c3d_alone(tmp_path) -> None:
    raw, force, _ = pressed(FLIPPED, np.zeros(3))
    plates = {
        'USED': [1],
        'TYPE': [2],
        'CORNERS': FLIPPED,
        'ORIGIN': np.zeros((3, 1)),
        'CHANNEL': np.arange(1, 7)[:, None],
    }
    path = c3d(tmp_path / 'a.c3d', raw, plates)
    assert main(['convert', str(path), '--out', str(tmp_path / 'bag')]) == 0
    with BagReader(tmp_path / 'bag') as reader:
        assert reader.topics['/force_plate_1/wrench'].count == len(force)
        assert '/tf_static' in reader.topics


def test_the_direction_of_a_laboratory_is_found_by_the_pelvis(tmp_path) -> None:
    raw, force, about = pressed(FLIPPED, np.zeros(3))
    plates = {
        'USED': [1],
        'TYPE': [2],
        'CORNERS': FLIPPED,
        'ORIGIN': np.zeros((3, 1)),
        'CHANNEL': np.arange(1, 7)[:, None],
    }
    path = c3d(tmp_path / 'a.c3d', raw, plates, first=1)
    made = [(read_c3d(path).time, one) for one in c3d_plates(read_c3d(path))]
    motion = SimpleNamespace(time=np.linspace(0.0, 0.3, 40), path='ik.mot')

    def stands(place) -> SimpleNamespace:
        return SimpleNamespace(base_pose=lambda _: (np.tile([*place, 0.9], (40, 1)), None))

    # The person is where the plate is after a quarter of a turn to the left.
    ((_, turned),) = _turned(made, stands((-0.22, 0.33)), motion, 'a.c3d')
    np.testing.assert_allclose(turned.place, [-0.2, 0.3, 0.0], atol=1e-12)
    np.testing.assert_allclose(turned.values[:, 1], force[:, 0], atol=0.01)
    np.testing.assert_allclose(turned.values[:, 3], -about[:, 1], atol=0.01)
    with pytest.raises(InputError, match='which way its x points'):
        _turned(made, stands((0.0, 0.0)), motion, 'a.c3d')
    later = SimpleNamespace(time=motion.time + 9.0, path='ik.mot')
    with pytest.raises(InputError, match='nobody stands on the plates while'):
        _turned(made, stands((-0.22, 0.33)), later, 'a.c3d')
