"""The YAML of a car: every form that the template names, and errors that name the entry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.systems.car.configuration import load_configuration, parse_configuration

CONFIG = Path(__file__).resolve().parents[3] / 'config'


def test_shipped_files_load() -> None:
    car = load_configuration(CONFIG / 'car_peugeot_406.yaml')
    assert car.a_priori['Mc'] == 1508.5 and car.a_priori['karr'] == 19938.0
    assert np.isnan(car.a_priori_array()[-1])  # no a-priori Cx
    template = load_configuration(CONFIG / 'car_template.yaml')
    assert template.geometry.half_track == (0.75, 0.75, 0.74, 0.74)
    assert not template.sensors.imu.pose_given  # so that /tf_static of a bag counts


@pytest.mark.parametrize(
    'half_track',
    [
        {'half_track': {'fl': 0.7, 'fr': 0.71, 'rl': 0.72, 'rr': 0.73}},
        {'half_track': [0.7, 0.71, 0.72, 0.73]},
        {
            'half_track_fl': 0.7,
            'half_track_fr': 0.71,
            'half_track_rl': 0.72,
            'half_track_rr': 0.73,
        },
    ],
)
@pytest.mark.parametrize('wrap', ['geometry', 'car', 'ros'])
def test_half_tracks_in_every_form(half_track: dict, wrap: str) -> None:
    table = {'wheelbase': 2.5, **half_track}
    content = {
        'geometry': {'geometry': table},
        'car': {'car': {'geometry': table}},
        'ros': {'/**': {'ros__parameters': {'geometry': table}}},
    }[wrap]
    geometry = parse_configuration(content).geometry
    assert geometry.half_track == (0.7, 0.71, 0.72, 0.73)
    assert geometry.wheel_y == (0.7, -0.71, 0.72, -0.73)
    assert geometry.wheel_x == (2.5, 2.5, 0.0, 0.0)


def test_rpy_and_quaternion_say_the_same() -> None:
    a = parse_configuration({'sensors': {'imu': {'rpy': [np.pi, 0.0, 0.0]}}}).sensors.imu
    b = parse_configuration({'sensors': {'imu': {'quaternion': [1, 0, 0, 0]}}}).sensors.imu
    np.testing.assert_allclose(a.matrix, np.diag([1.0, -1.0, -1.0]), atol=1e-12)
    np.testing.assert_allclose(b.matrix, a.matrix, atol=1e-12)


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        ({'wheelbse': 2.7}, 'wheelbse: is not known'),
        ({'geometry': {'wheelbase': -2.7}}, 'geometry.wheelbase: expected a positive length'),
        ({'geometry': {'wheelbase': 'long'}}, "such as 2.7 or '2700 mm', found 'long'"),
        ({'geometry': {'half_track': {'fl': 0.7}}}, "half_track: has no entry 'fr'"),
        ({'geometry': {'half_track': [0.7, -0.7, 0.7, -0.7]}}, 'half_track: fr: expected a pos'),
        ({'geometry': {'half_track': [0.7, 0.7]}}, 'half_track: expected 4 lengths [fl, fr, rl'),
        ({'geometry': {'track_front': '3 kg'}}, 'half_track: fl: expected a positive length'),
        ({'sensors': {'imu': {'position': [1, 2]}}}, 'imu.position: expected 3 lengths [x, y, z]'),
        ({'sensors': {'imu': {'quaternion': [0, 0, 0, 2]}}}, 'quaternion: expected one of the le'),
        ({'sensors': {'imu': {'rpy': [0, 0, 0], 'quaternion': [0, 0, 0, 1]}}}, 'not both'),
        ({'sensors': {'imu': {'order': 9}}}, 'imu.order: expected a whole number from 1 to 8'),
        ({'sensors': {'imu': {'pose_given': True}}}, 'sensors.imu: pose_given: is not known'),
        ({'a_priori': {'mass': 1500}}, 'a_priori.mass: is not known'),
        ({'a_priori': {'Mcc': 1500}}, "a_priori.Mcc: is not known; did you mean 'Mc'?"),
        ({'a_priori': {'k1': '3 kg'}}, 'the unit must be N/m or a multiple'),
        ({'disturbances': [[5.0, 3.0]]}, 'low < high'),
        (
            {'axle_kinematics': {'camber': {'fl': {'travel': [0.1, 0.0], 'values': [0, 1]}}}},
            'camber.fl: travel must hold at least two increasing',
        ),
        ([1, 2], 'expected a mapping'),
    ],
)
def test_errors_name_the_entry(content: object, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(content, 'my.yaml')
    assert words in str(caught.value) and 'my.yaml' in str(caught.value)


def test_all_errors_of_a_file_stand_in_their_lines(tmp_path: Path) -> None:
    path = tmp_path / 'car.yaml'
    path.write_text(
        'car:\n  geometry:\n    wheelbase: abc\n    track: 1.5\n    track: 1.6\n'
        '  sensors:\n    imo: {}\n  static: {gravity: -1}\n'
    )
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)
    assert [(fault.line, fault.path[1:]) for fault in caught.value.faults] == [
        (3, ('geometry', 'wheelbase')),
        (5, ('geometry', 'track')),
        (7, ('sensors', 'imo')),
        (8, ('gravity',)),
    ]


def test_units_by_suffix() -> None:
    car = parse_configuration(
        {
            'geometry': {'wheelbase': '2637 mm', 'track_front': '1500 mm', 'track_rear': 1.48},
            'sensors': {'imu': {'position': ['1200 mm', 0, '5 cm'], 'rpy': ['180 deg', 0, 0]}},
            'a_priori': {'Mc': '1.5 t', 'k1': '20.6 N/mm', 'h1': '3.2 kN s/m'},
        }
    )
    assert car.geometry.wheelbase == pytest.approx(2.637)
    assert car.geometry.half_track == pytest.approx((0.75, 0.75, 0.74, 0.74))
    assert car.sensors.imu.position == pytest.approx((1.2, 0.0, 0.05))
    np.testing.assert_allclose(car.sensors.imu.matrix, np.diag([1.0, -1.0, -1.0]), atol=1e-15)
    assert car.a_priori == pytest.approx({'Mc': 1500.0, 'k1': 20600.0, 'h1': 3200.0})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r'nothing\.yaml: cannot be read: No such file'):
        load_configuration(tmp_path / 'nothing.yaml')
    broken = tmp_path / 'broken.yaml'
    broken.write_text('a: [1')
    with pytest.raises(ConfigurationError, match='not YAML'):
        load_configuration(broken)


def test_axle_tables_over_travel_and_steering() -> None:
    entry = {
        'travel': [-0.1, 0.0, 0.1],
        'steering': [-0.5, 0.5],
        'values': [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]],
    }
    car = parse_configuration(
        yaml.safe_load(yaml.safe_dump({'axle_kinematics': {'camber': {'fl': entry}}}))
    )
    table = car.axle_tables['camber', 'fl']
    found = table(np.array([0.0, 0.1, 5.0]), np.array([0.0, 0.5, 0.5]))
    np.testing.assert_allclose(found, [1.0, 3.0, 3.0])
