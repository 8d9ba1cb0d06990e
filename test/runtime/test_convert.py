"""Custom, headerless messages become standard ones; what cannot be mapped is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from veh_identification.errors import BagError, InputError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.convert import convert, read_mapping
from veh_identification.runtime.qos import QoS

MAPPING = """
/raw:
  topic: force_plate/wrench
  type: geometry_msgs/msg/WrenchStamped
  frame_id: plate
  fields:
    wrench.force.x: x
    wrench.force.z: -2.0 * z
"""


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    path = tmp_path / 'in'
    with BagWriter(path) as writer:
        for index in range(3):
            writer.write_message(
                '/raw', messages.new('geometry_msgs/msg/Vector3', x=1.0 + index, z=3.0), 10 + index
            )
            writer.write_message('/other', messages.new('std_msgs/msg/Bool', data=True), 10)
    return path


def mapping(tmp_path: Path, text: str):
    path = tmp_path / 'map.yaml'
    path.write_text(text)
    return read_mapping(path)


def test_mapping_gives_stamped_standard_messages(bag: Path, tmp_path: Path) -> None:
    conversion = convert([bag], tmp_path / 'out', mapping=mapping(tmp_path, MAPPING))
    assert conversion.lost == {}
    assert conversion.written == {'/force_plate/wrench': 3, '/other': 3}
    with BagReader(tmp_path / 'out') as reader:
        found = list(reader.messages(['/force_plate/wrench']))
    assert [messages.stamp_ns(item.message) for item in found] == [10, 11, 12]
    assert found[2].message.wrench.force.x == 3.0
    assert found[2].message.wrench.force.z == -6.0
    assert found[0].message.header.frame_id == 'plate'


@pytest.mark.parametrize(
    ('change', 'sentence'),
    [
        (('force.x: x', 'force.w: x'), 'WrenchStamped has no field wrench.force.w'),
        (('-2.0 * z', 'sin(z)'), 'expected a field or "factor * field"'),
        (('frame_id', 'farme_id'), "farme_id: is not known; did you mean 'frame_id'?"),
        (('  topic: force_plate/wrench\n', ''), '/raw.topic: is missing'),
        (('-2.0 * z', 'e * z'), "'e' is no number"),
        (('geometry_msgs/msg/WrenchStamped', 'nope/msg/N'), '/raw: Unknown message type nope'),
        (('    wrench.force.x: x\n    wrench', '    - wrench'), '/raw.fields: expected a mapping'),
    ],
)
def test_wrong_mappings_are_named(tmp_path: Path, change, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        mapping(tmp_path, MAPPING.replace(*change))


def test_fields_and_topics_that_are_not_there(bag: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match='has no field qx'):
        convert([bag], tmp_path / 'a', mapping=mapping(tmp_path, MAPPING.replace(': x', ': qx')))
    with pytest.raises(BagError, match='no topic /rax; did you mean /raw'):
        convert([bag], tmp_path / 'b', mapping=mapping(tmp_path, MAPPING.replace('/raw', '/rax')))
    assert not (tmp_path / 'a').exists() and not (tmp_path / 'b').exists()


@pytest.mark.shared_data
def test_the_force_plate_recording_of_others(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    recording = root.parent / 'shared' / 'data' / 'force_plate_markers.bag'
    if not recording.is_file():
        pytest.skip('the recordings of others are not beside the repository')
    conversion = convert(
        [recording],
        tmp_path / 'out',
        mapping=read_mapping(root / 'config' / 'map_force_plate.yaml'),
    )
    assert conversion.written['/force_plate/wrench'] == 17600
    with BagReader(tmp_path / 'out') as reader:
        first = next(reader.messages(['force_plate/wrench']))
        assert first.message.header.frame_id == 'force_plate'
        assert messages.stamp_ns(first.message) == first.time_ns
        # A type that only the recording defines keeps its definition.
        assert next(reader.messages(['/Marker_global_translation'])).message is not None


def test_quality_of_service_is_kept(tmp_path: Path) -> None:
    profile = QoS(depth=7, reliable=False, transient_local=True)
    with BagWriter(tmp_path / 'in') as writer:
        message = messages.new('std_msgs/msg/Bool', data=True)
        writer.write_message('/flag', message, 1, qos=profile)
    convert([tmp_path / 'in'], tmp_path / 'out')
    with BagReader(tmp_path / 'out') as reader:
        assert reader.topics['/flag'].qos == profile


def test_messages_that_nobody_defines_are_not_lost_silently(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'in') as writer:
        writer.add_topic(
            '/odd', 'odd_msgs/msg/Odd', definition='nope_msgs/Thing x\n', type_hash='RIHS01_0'
        )
        writer.write('/odd', 'odd_msgs/msg/Odd', b'\x00\x01\x00\x00', 5)
        writer.write_message('/good', messages.new('std_msgs/msg/Bool', data=True), 6)
    with pytest.raises(BagError, match='topic /odd: its messages cannot be converted'):
        convert([tmp_path / 'in'], tmp_path / 'a')
    conversion = convert([tmp_path / 'in'], tmp_path / 'b', on_error='skip')
    assert (conversion.written, conversion.lost) == ({'/good': 1}, {'/odd': 1})
    assert len(conversion.problems) == 1


def test_the_output_never_replaces_the_input(bag: Path) -> None:
    for target in (bag, bag.parent):
        with pytest.raises(BagError, match='would replace the input'):
            convert([bag], target, overwrite=True)
    assert (bag / 'metadata.yaml').is_file()


def test_a_folder_of_something_else_is_never_replaced(bag: Path, tmp_path: Path) -> None:
    (tmp_path / 'thesis').mkdir()
    (tmp_path / 'thesis' / 'chapter.txt').write_text('years of work')
    with pytest.raises(BagError, match='other content'):
        convert([bag], tmp_path / 'thesis', overwrite=True)
    assert (tmp_path / 'thesis' / 'chapter.txt').is_file()


JOINTS = """
/daq/joints:
  topic: joint_states
  joints:
    suspension_fl: mm * pot_FL
    leg_1: {position: mm * cylinder, velocity: cylinder, effort: -1 * kN * cylinder}
    turned: -1 * axis
"""


def joint_bag(path: Path) -> Path:
    with BagWriter(path) as writer:
        writer.write_message(
            '/daq/joints',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(5, 'daq'),
                name=['pot_FL', 'cylinder', 'axis', 'other'],
                position=[25.0, 800.0, 0.5, 7.0],
                velocity=[10.0, 2.0, 0.25, 8.0],
                effort=[0.0, 1.5, 4.0, 9.0],
            ),
            10,
        )
    return path


def test_joints_get_other_names_units_and_signs(tmp_path: Path) -> None:
    convert([joint_bag(tmp_path / 'in')], tmp_path / 'out', mapping=mapping(tmp_path, JOINTS))
    with BagReader(tmp_path / 'out') as reader:
        (found,) = reader.messages(['/joint_states'])
    message = found.message
    assert list(message.name) == ['suspension_fl', 'leg_1', 'turned', 'other']
    assert message.position == pytest.approx([0.025, 0.8, -0.5, 7.0])
    assert message.velocity == pytest.approx([0.01, 2.0, -0.25, 8.0])
    assert message.effort == pytest.approx([0.0, -1500.0, -4.0, 9.0])
    assert (messages.stamp_ns(message), message.header.frame_id) == (5, 'daq')


def test_a_joint_that_no_message_names_is_a_misspelt_one(tmp_path: Path) -> None:
    rules = mapping(tmp_path, JOINTS.replace('* axis', '* axes'))
    with pytest.raises(InputError, match='no message names the joint axes, only pot_FL, cylinder'):
        convert([joint_bag(tmp_path / 'in')], tmp_path / 'out', mapping=rules)
    assert not (tmp_path / 'out').exists()


def test_messages_keep_what_a_rule_does_not_name(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'in') as writer:
        imu = messages.new(
            'sensor_msgs/msg/Imu',
            header=messages.header(7, 'box'),
            angular_velocity=(1.0, 2.0, 180.0),
            linear_acceleration=(0.1, 0.2, 1.0),
        )
        writer.write_message('/box/imu', imu, 9)
    text = """
/box/imu:
  topic: imu/data
  frame_id: imu_link
  fields:
    angular_velocity.z: deg/s * angular_velocity.z
    linear_acceleration.z: g * linear_acceleration.z
"""
    convert([tmp_path / 'in'], tmp_path / 'out', mapping=mapping(tmp_path, text))
    with BagReader(tmp_path / 'out') as reader:
        (found,) = reader.messages(['/imu/data'])
    turning, force = found.message.angular_velocity, found.message.linear_acceleration
    assert (turning.x, turning.y, turning.z) == pytest.approx((1.0, 2.0, 3.14159265))
    assert (force.x, force.y, force.z) == pytest.approx((0.1, 0.2, 9.80665))
    assert (messages.stamp_ns(found.message), found.message.header.frame_id) == (7, 'imu_link')


@pytest.mark.parametrize(
    ('change', 'sentence'),
    [
        (('mm * pot_FL', 'bar * pot_FL'), "'bar * pot_FL' is not in a unit that rad or m comes"),
        (('mm * pot_FL', 'furlong * pot_FL'), "'furlong' is no number and no unit"),
        (
            ('  topic: joint_states\n', '  topic: a\n  type: std_msgs/msg/Bool\n'),
            'joints: expected',
        ),
        (
            ('  topic: joint_states\n', '  topic: a\n  stamp: header.stamp\n'),
            'stamp: expected with',
        ),
    ],
)
def test_wrong_joint_rules_are_named(tmp_path: Path, change, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        mapping(tmp_path, JOINTS.replace(*change))
