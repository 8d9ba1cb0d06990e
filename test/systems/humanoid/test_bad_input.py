"""Recordings with mistakes: each is named and refused, or left out and reported."""

from dataclasses import replace

import humanoid_runs
import numpy as np
import pytest
from humanoid_cases import CAD, record
from humanoid_runs import by_code, faults_of, identified, seconds_left_out, the
from scipy.spatial.transform import Rotation

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.errors import InputError
from veh_identification.runtime import messages
from veh_identification.simulation.humanoid.sensors import HumanoidSensors
from veh_identification.simulation.sensors import EPOCH_NS, Reading
from veh_identification.systems.humanoid.configuration import load_configuration

QUICK = {'cutoff_hz': 6.0}


def setup_of(bag, **entries):
    return humanoid_runs.setup_of([bag], CAD, **entries)


def seconds(reading: Reading) -> float:
    return (reading.log_ns - EPOCH_NS) * 1e-9


def wrench(reading: Reading, force, torque) -> Reading:
    stamp, frame = messages.stamp_ns(reading.message), reading.message.header.frame_id
    return replace(
        reading,
        message=messages.new(
            'geometry_msgs/msg/WrenchStamped',
            header=messages.header(stamp, frame),
            wrench={'force': force, 'torque': torque},
        ),
    )


def vectors(reading: Reading):
    f, t = reading.message.wrench.force, reading.message.wrench.torque
    return np.array([f.x, f.y, f.z]), np.array([t.x, t.y, t.z])


def turned(degrees: float, sign: float = 1.0, topic: str = '/force_plate/wrench'):
    matrix = sign * Rotation.from_euler('z', degrees, degrees=True).as_matrix()

    def change(reading: Reading) -> Reading:
        if reading.topic != topic:
            return reading
        force, torque = vectors(reading)
        return wrench(reading, matrix @ force, matrix @ torque)

    return change


def test_right_frames_pass(tmp_path) -> None:
    for kind in ('walk', 'bend'):
        bag = record(tmp_path / kind, kind=kind, lean=False)
        for contacts in ('plates', 'sensors'):
            setup_of(bag, contacts=contacts)


@pytest.mark.parametrize('kind', ['walk', 'bend'])
@pytest.mark.parametrize(
    ('degrees', 'sign', 'words'),
    [
        (-90.0, 1.0, 'turned by 90 degrees about its z axis'),
        (90.0, 1.0, 'turned by -90 degrees about its z axis'),
        (180.0, 1.0, 'turned by 180 degrees about its z axis'),
        (0.0, -1.0, 'opposite sign'),
    ],
)
def test_turned_or_flipped_plate_is_named(tmp_path, kind, degrees, sign, words) -> None:
    bag = record(tmp_path / 'bag', kind=kind, change=turned(degrees, sign))
    with pytest.raises(InputError, match=words) as caught:
        setup_of(bag)
    assert 'force_plate/wrench' in str(caught.value)
    setup_of(bag, check_frames=False)


def test_checks_name_the_fault_without_refusing(tmp_path) -> None:
    bag = record(tmp_path / 'bag', change=turned(-90.0))
    (fault,) = faults_of(bag, CAD)
    assert fault.code == 'frame_turned'
    assert fault.where == f'{bag}, topic force_plate/wrench'
    assert fault.evidence > 2.0
    assert not faults_of(bag, CAD, check_frames=False)


def test_swapped_feet_are_named(tmp_path) -> None:
    def swap(reading: Reading) -> Reading:
        other = {'/l_foot/wrench': '/r_foot/wrench', '/r_foot/wrench': '/l_foot/wrench'}
        if reading.topic not in other:
            return reading
        # The values go to the other side's topic, whose frame the driver writes.
        force, torque = vectors(reading)
        topic = other[reading.topic]
        stamp = messages.stamp_ns(reading.message)
        return Reading(
            reading.log_ns,
            topic,
            messages.new(
                'geometry_msgs/msg/WrenchStamped',
                header=messages.header(stamp, f'{topic[1]}_ankle_sensor'),
                wrench={'force': force, 'torque': torque},
            ),
        )

    bag = record(tmp_path / 'bag', change=swap, lean=False)
    with pytest.raises(InputError, match='l_foot/wrench and r_foot/wrench seem to be swapped'):
        setup_of(bag, contacts='sensors')


def without(names, rename=None):
    def change(reading: Reading) -> Reading:
        if reading.topic != '/joint_states':
            return reading
        m = reading.message
        kept = [k for k, name in enumerate(m.name) if name not in names]
        spelled = [(rename or {}).get(m.name[k], m.name[k]) for k in kept]
        return replace(
            reading,
            message=messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(messages.stamp_ns(m)),
                name=spelled,
                position=np.asarray(m.position)[kept],
            ),
        )

    return change


def test_missing_leg_joint_is_named(tmp_path) -> None:
    bag = record(tmp_path / 'bag', kind='bend', change=without({'l_knee_joint'}))
    with pytest.raises(InputError, match='never gives the joint l_knee_joint'):
        setup_of(bag)
    # At a place where it never was, so that the sole does not stand flat.
    with pytest.raises(InputError, match='l_knee_joint is held at 1 rad, but a foot stands'):
        setup_of(bag, locked_joints={'l_knee_joint': 1.0})


def test_missing_light_joint_is_held_and_reported(tmp_path) -> None:
    bag = record(tmp_path / 'bag', kind='bend', change=without({'l_elbow_joint'}))
    found = setup_of(bag)
    assert found.locked['l_elbow_joint'] == 0.0
    held = the(found.findings, 'joint_held')
    assert held.level == 'warn' and 'joint l_elbow_joint' in held.where


def test_unknown_joint_names_are_reported(tmp_path) -> None:
    bag = record(
        tmp_path / 'bag', kind='bend', change=without(set(), {'l_elbow_joint': 'left_elbow'})
    )
    found = setup_of(bag)
    unknown = the(found.findings, 'joints_unknown')
    assert unknown.level == 'warn' and unknown.text.endswith('ignored: left_elbow')
    assert 'joint l_elbow_joint' in the(found.findings, 'joint_held').where


def test_positions_that_nobody_fills_are_named(tmp_path) -> None:
    """A driver that publishes zeros: the robot would be one body, and the checks once failed."""

    def zeros(reading: Reading) -> Reading:
        if reading.topic == '/joint_states':
            reading.message.position = np.zeros(len(reading.message.name))
        return reading

    bag = record(tmp_path / 'bag', kind='bend', change=zeros)
    # A later check may refuse the recording; what the first one found stands before it.
    assert 'stuck' in [one.code for one in faults_of(bag, CAD)]


def test_no_known_joint_at_all_is_refused(tmp_path) -> None:
    def rename(reading: Reading) -> Reading:
        if reading.topic != '/joint_states':
            return reading
        m = reading.message
        return replace(
            reading,
            message=messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(messages.stamp_ns(m)),
                name=[f'other_{name}' for name in m.name],
                position=m.position,
            ),
        )

    bag = record(tmp_path / 'bag', kind='bend', change=rename)
    with pytest.raises(InputError, match=r'none of its joints .*other_r_hip_yaw_joint'):
        setup_of(bag)


@pytest.mark.parametrize('how', ['no messages', 'frozen', 'zero quaternion'])
def test_lost_motion_capture_is_left_out(tmp_path, how) -> None:
    last = {}

    def lose(reading: Reading) -> Reading | None:
        if reading.topic != '/base/pose':
            return reading
        if not 2.0 < seconds(reading) < 3.0:
            last['pose'] = reading.message.pose
            return reading
        if how == 'no messages':
            return None
        stamp = messages.stamp_ns(reading.message)
        pose = {'position': (0.0, 0.0, 0.0), 'orientation': (0.0, 0.0, 0.0, 0.0)}
        if how == 'frozen':
            p, o = last['pose'].position, last['pose'].orientation
            pose = {'position': (p.x, p.y, p.z), 'orientation': (o.x, o.y, o.z, o.w)}
        return replace(
            reading,
            message=messages.new(
                'geometry_msgs/msg/PoseStamped', header=messages.header(stamp, 'world'), pose=pose
            ),
        )

    bag = record(tmp_path / 'bag', duration=6.0, change=lose)
    outcome = identified([bag], CAD, **QUICK)
    code = {
        'no messages': 'signal_gaps',
        'frozen': 'poses_frozen',
        'zero quaternion': 'poses_no_rotation',
    }[how]
    lost = [one for one in by_code(outcome.findings, code) if 'base/pose' in one.where]
    assert len(lost) == 1
    # A second of six: more than a tenth of the poses is a reservation, a gap is left out.
    assert lost[0].level == ('note' if how == 'no messages' else 'warn')
    assert seconds_left_out(outcome, 'signal_missing') > 1.0
    assert outcome.estimate.total_mass[0] == pytest.approx(8.0, rel=0.01)


def test_robot_off_the_plate_is_left_out_and_reported(tmp_path) -> None:
    def lift(reading: Reading) -> Reading:
        if reading.topic != '/force_plate/wrench' or not 3.0 < seconds(reading) < 4.5:
            return reading
        force, torque = vectors(reading)
        return wrench(reading, 0.0 * force, 0.0 * torque)

    bag = record(tmp_path / 'bag', duration=7.2, change=lift)
    outcome = identified([bag], CAD, **QUICK)
    assert 1.2 < seconds_left_out(outcome, 'off_the_sensors') < 1.8
    assert the(outcome.findings, 'left_out_off_the_sensors').level == 'note'
    assert outcome.estimate.total_mass[0] == pytest.approx(8.0, rel=0.01)


def test_partial_support_is_left_out_and_reported(tmp_path) -> None:
    """Two plates, one per foot; the second one's forces stop arriving as if on the floor."""

    def step_off(reading: Reading) -> Reading:
        if reading.topic != '/force_plate_2/wrench' or seconds(reading) < 4.5:
            return reading
        force, torque = vectors(reading)
        return wrench(reading, 0.0 * force, 0.0 * torque)

    bag = record(
        tmp_path / 'bag', duration=7.2, change=step_off, sensors=HumanoidSensors(plates=2)
    )
    outcome = identified([bag], CAD, **QUICK)
    # From 4.5 of 7.2 s on at each step: much of what is left may be in doubt as well.
    assert seconds_left_out(outcome, 'other_support') > 1.0
    assert outcome.estimate.total_mass[0] == pytest.approx(8.0, rel=0.01)


def test_plate_without_pose_is_named(tmp_path) -> None:
    bag = record(
        tmp_path / 'bag', kind='bend', change=lambda r: None if r.topic == '/tf_static' else r
    )
    with pytest.raises(InputError, match=r'force_plate/wrench: the pose of its frame'):
        setup_of(bag)
    pose = {'force_plate': {'position': [0.25, 0.05, 0.0], 'rpy': [0.0, 0.0, 0.4]}}
    assert setup_of(bag, plates=pose).raws[0].sources[0].pose is not None


def test_configured_plate_pose_wins_over_tf_static(tmp_path) -> None:
    bag = record(tmp_path / 'bag', kind='bend')
    found = setup_of(bag, check_frames=False, plates={'force_plate': {'position': [1, 2, 3]}})
    assert found.raws[0].sources[0].pose.position.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize('topic', ['/joint_states', '/base/pose'])
def test_missing_topic_is_named(tmp_path, topic) -> None:
    bag = record(
        tmp_path / 'bag',
        kind='bend',
        change=lambda r: None if r.topic in (topic, '/imu/data') else r,
    )
    with pytest.raises(InputError, match=f'no topic {topic[1:]}'):
        setup_of(bag)


def test_plates_and_sensors_without_base_pose_need_a_choice(tmp_path) -> None:
    bag = record(
        tmp_path / 'bag', kind='bend', change=lambda r: None if r.topic == '/base/pose' else r
    )
    with pytest.raises(InputError, match=r'together need the base pose \(base/pose\)'):
        setup_of(bag, contacts='both')


def test_nothing_usable_says_why(tmp_path) -> None:
    bag = record(tmp_path / 'bag', kind='bend', change=turned(0.0, -1.0))
    with pytest.raises(InputError, match=r'no sample can be used: .*not on the sensors'):
        identified([bag], CAD, check_frames=False)


def test_no_wrench_is_named(tmp_path) -> None:
    bag = record(
        tmp_path / 'bag', kind='bend', change=lambda r: None if 'wrench' in r.topic else r
    )
    with pytest.raises(InputError, match='there is no wrench'):
        setup_of(bag)


@pytest.mark.parametrize(
    ('entry', 'words'),
    [
        ({'cutof_hz': 5.0}, "cutof_hz: is not known; did you mean 'cutoff_hz'"),
        ({'cutoff_hz': 'high'}, 'cutoff_hz: expected a frequency from 0 to 5000'),
        ({'estimator': 'magic'}, 'estimator: expected .prior., .weighted., .robust., '),
        ({'plates': {'p': {'position': [1.0]}}}, 'plates.p.position: expected 3 lengths'),
        ({'locked_joints': {'l_knee_joint': True}}, 'l_knee_joint: expected a number'),
    ],
)
def test_wrong_configuration_is_named(entry, words) -> None:
    with pytest.raises(ConfigurationError, match=words):
        load_configuration(None, **entry)
