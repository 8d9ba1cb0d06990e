"""Columns of CSV files become messages; what a table does not hold is not made up."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from veh_identification.configuration.models import load
from veh_identification.errors import InputError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.convert import read_mapping
from veh_identification.runtime.csv_files import read_csv_columns
from veh_identification.runtime.tables import TableMapping, convert_tables, is_table_mapping

TABLE = """Timestamp,YawRate,LatAcc,SWA,Speed FL
0,180.0,1.0,90.0,36.0
10,,,45.0,72.0
20,90.0,0.5,,
30,,,,
"""
MAPPING = """
time: ms * Timestamp
topics:
  imu/data:
    type: sensor_msgs/msg/Imu
    frame_id: imu_link
    fields: {angular_velocity.z: deg/s * YawRate, linear_acceleration.y: g * LatAcc}
  joint_states:
    joints:
      steering_wheel: deg * SWA
      wheel_fl: {velocity: 2.0 * km/h * Speed FL}
"""


def converted(folder: Path, table: str = TABLE, text: str = MAPPING) -> dict[str, list]:
    (folder / 'drive.csv').write_text(table)
    (folder / 'map.yaml').write_text(text)
    convert_tables([folder / 'drive.csv'], folder / 'out', folder / 'map.yaml')
    found: dict[str, list] = {}
    with BagReader(folder / 'out') as reader:
        for item in reader.messages():
            found.setdefault(item.topic, []).append(item.message)
    return found


def test_rows_become_messages_in_si_units(tmp_path: Path) -> None:
    found = converted(tmp_path)
    imu, joints = found['/imu/data'], found['/joint_states']
    assert [one.angular_velocity.z for one in imu] == pytest.approx([math.pi, math.pi / 2])
    assert [one.linear_acceleration.y for one in imu] == pytest.approx([9.80665, 4.903325])
    stamps = [messages.stamp_ns(one) for one in imu]
    assert stamps[1] - stamps[0] == 20_000_000 and stamps[0] > 0
    # What a joint does not have is no NaN: a message for those with a position, one for speeds.
    assert [list(one.name) for one in joints] == [['steering_wheel'], ['wheel_fl']] * 2
    assert (joints[0].position, len(joints[0].velocity)) == (pytest.approx([math.pi / 2]), 0)
    assert (joints[1].velocity, len(joints[1].position)) == (pytest.approx([20.0]), 0)


def test_axes_that_nothing_measures_are_no_numbers(tmp_path: Path) -> None:
    one = converted(tmp_path)['/imu/data'][0]
    for part, axis in (('angular_velocity', 'x'), ('linear_acceleration', 'z')):
        assert math.isnan(getattr(getattr(one, part), axis))
    assert one.orientation_covariance[0] == -1.0
    assert one.angular_velocity_covariance[0] == 0.0


@pytest.mark.parametrize(
    ('table', 'text', 'sentence'),
    [
        (TABLE, MAPPING.replace('* SWA', '* SAW'), "there is no column 'SAW' in the CSV files"),
        (TABLE, MAPPING.replace('ms * Timestamp', 't'), "there is no column 't' of the time"),
        (TABLE, MAPPING.replace('ms * Time', 'kN * Time'), 'is not in a unit that s comes of'),
        (TABLE.replace('20,90', '5,90'), MAPPING, 'line 4: the time'),
        (TABLE.replace('45.0', 'forty'), MAPPING, "line 3, column 'SWA': expected a number"),
        (TABLE, MAPPING.replace('g * Lat', 'deg * Lat'), 'is not in a unit that m/s^2 comes of'),
        (TABLE, MAPPING.replace('Imu', 'Imx'), 'topics.imu/data: '),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, table: str, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        converted(tmp_path, table, text)
    assert not (tmp_path / 'out').exists()


def test_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / 'a.csv'
    path.write_text('t;x\n0,5;-1,25\n1;2e0\n')
    assert read_csv_columns(path)['x'].tolist() == [-1.25, 2.0]
    path.write_text('t;x\n0,5;1.234,5\n1;2\n')  # thousands or decimals: nobody says
    with pytest.raises(InputError, match="found '0,5'"):
        read_csv_columns(path)


def test_the_shipped_examples_are_taken() -> None:
    config = Path(__file__).parents[2] / 'config'
    assert set(read_mapping(config / 'map_names.yaml')) == {
        '/daq/joints',
        '/xsens/imu',
        '/kistler/front_left',
    }
    table = load(TableMapping, config / 'map_car_csv.yaml')
    assert set(table.topics) == {'imu/data', 'gps/fix', 'gps/vel', 'joint_states'}


def test_mappings_of_laboratories_are_told_from_those_of_tables(tmp_path: Path) -> None:
    (tmp_path / 'a.yaml').write_text(MAPPING)
    (tmp_path / 'b.yaml').write_text('joints: {hip: Hip}')
    assert is_table_mapping(tmp_path / 'a.yaml') and not is_table_mapping(tmp_path / 'b.yaml')


@pytest.mark.parametrize(
    ('table', 'sentence'),
    [
        ('t,r\n\n\n\n', '0 rows of numbers'),
        ('t,r\n1,2\n\n\n', '1 rows of numbers'),
        ('t,r\n1,2\n2,' + 'x' * 200_000 + '\n', 'field larger than field limit'),
    ],
)
def test_tables_without_rows(tmp_path: Path, table: str, sentence: str) -> None:
    """The first found by bench/hostile/guided.py: lines that are all empty (ValueError)."""
    path = tmp_path / 'a.csv'
    path.write_text(table)
    with pytest.raises(InputError, match=sentence):
        read_csv_columns(path)
