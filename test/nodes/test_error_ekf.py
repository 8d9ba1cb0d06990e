"""Node error_ekf on the replay engine: topics, counters, services, silence, bad input."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_harness import Item, Sink

from veh_identification.errors import EstimationError, ParameterError
from veh_identification.findings import Finding
from veh_identification.nodes.error_ekf.node import ErrorEkf
from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.messages import header, new, stamp_ns
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.saved_state import StateError
from veh_identification.simulation import four_bar as four_bar_bag
from veh_identification.simulation.scenarios import simulate
from veh_identification.simulation.vehicle import bag as buggy_bag
from veh_identification.systems.driver import run as run_verb

SECONDS = 3.0
START = buggy_bag.EPOCH_NS
Change = Callable[[str, float, Any], Any]


def silent(done: int, total: int) -> None:
    pass


@pytest.fixture(scope='module')
def circle(tmp_path_factory) -> Path:
    bag = tmp_path_factory.mktemp('circle') / 'bag'
    with BagWriter(bag) as writer:
        buggy_bag.write_circle(writer, SECONDS, 6, 1.0, silent)
    return bag


def messages(bag: Path, change: Change | None = None, seconds: float = SECONDS) -> list[Item]:
    """Sensor messages of a bag; `change(topic, time, message)` may replace or drop them."""
    found = []
    with BagReader(bag) as reader:
        for item in reader.messages():
            time = (item.time_ns - START) * 1e-9
            if item.topic.startswith('/truth') or time > seconds:
                continue
            message = item.message if change is None else change(item.topic, time, item.message)
            if message is not None:
                found.append(Item(item.time_ns, item.topic, message, item.typename))
    return found


def run(
    source: list[Item], config: str = 'error_ekf_buggy.yaml', calls: Any = (), **parameters: Any
) -> tuple[ErrorEkf, Sink]:
    sink = Sink()
    engine = ReplayEngine(source[0].time_ns, sink=sink, log_level='fatal')
    node = ErrorEkf(
        engine.create_node(
            'error_ekf', parameter_files=[find_config(config)], parameters=parameters
        )
    )
    for seconds, service, request in calls:
        engine.call_service_at(START + round(seconds * 1e9), f'/error_ekf{service}', **request)
    engine.run(source)
    assert_counted(sink)
    return node, sink


def assert_counted(sink: Any) -> None:
    """Nothing that arrives is lost without being counted, in any report."""
    for status in sink.of('/error_ekf/status'):
        for one in status.sensors:
            known = one.accepted + one.rejected + one.late + one.duplicate + one.invalid
            assert one.received == known + one.waiting, one


def sensor(status: Any, name: str) -> Any:
    return next(s for s in status.sensors if s.name == name)


def test_samples_of_wheels_that_become_a_later_speed_are_used(tmp_path):
    """A road car makes speeds of angles over 50 ms: the samples in between are not invalid."""
    simulate('road-drive', tmp_path / 'bag', duration=4.0, seed=3)
    _, sink = run(messages(tmp_path / 'bag', seconds=4.0), model='road_drive.yaml')
    row = sensor(sink.of('/error_ekf/status')[-1], 'wheel_rl')
    assert row.received > 250
    assert row.invalid == 0 and row.accepted + row.rejected > 0.8 * row.received


def test_same_numbers_as_offline_and_nothing_lost(circle, tmp_path):
    _, sink = run(messages(circle))
    run_verb('observe', 'vehicle', [circle], out=tmp_path / 'out')
    found = read_columns(tmp_path / 'out' / 'observed', {'odometry/observed': None})
    offline = found['odometry/observed']
    rows = {stamp: k for k, stamp in enumerate(offline.stamps_ns.tolist())}
    live = sink.of('/odometry/observed')
    assert len(live) > 1485
    for m in live:
        k = rows[stamp_ns(m)]
        assert m.pose.pose.position.x == offline['pose.pose.position.x'][k]
        assert m.pose.pose.orientation.z == offline['pose.pose.orientation.z'][k]
        assert m.twist.twist.angular.z == offline['twist.twist.angular.z'][k]
    np.testing.assert_array_equal(
        live[-1].pose.covariance, offline.values['pose.covariance'][rows[stamp_ns(live[-1])]]
    )
    # at the last report everything that came in was used but what still waits
    status = sink.of('/error_ekf/status')[-1]
    assert status.mode == 'running'
    assert list(status.messages) == []
    for name in ('gyroscope', 'accelerometer', 'wheel_rr'):
        row = sensor(status, name)
        assert row.active
        assert row.rejected == row.late == row.duplicate == row.invalid == 0
        assert 0 <= row.received - row.accepted <= 8
    assert sensor(status, 'gyroscope').rate == pytest.approx(500.0, abs=5.0)
    assert 0.5 < sensor(status, 'gps').nis_mean < 1.6
    assert sink.statuses('error_ekf')[-1].level == 0


def test_topics_and_their_contents(circle):
    _, sink = run(messages(circle, seconds=1.5), odometry_every=5, world_frame='map')
    odometry = sink.of('/odometry/observed')[-1]
    assert odometry.header.frame_id == 'map'
    assert odometry.child_frame_id == 'base_link'
    q = odometry.pose.pose.orientation
    assert math.hypot(q.x, q.y, q.z, q.w) == pytest.approx(1.0)
    for covariance in (odometry.pose.covariance, odometry.twist.covariance):
        matrix = np.array(covariance).reshape(6, 6)
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
        assert np.linalg.eigvalsh(matrix).min() > -1e-12
        assert np.diag(matrix).min() > 0.0
    transform = sink.of('/tf')[-1].transforms[0]
    assert (transform.header.frame_id, transform.child_frame_id) == ('map', 'base_link')
    joints = sink.of('/joint_states/observed')[-1]
    assert list(joints.name)[:5] == [
        'wheel_fl',
        'wheel_fr',
        'wheel_rl',
        'wheel_rr',
        'suspension_fl',
    ]
    assert joints.velocity[0] > 1.0
    virtual = sink.of('/error_ekf/virtual_sensors')[-1]
    assert list(virtual.wheels) == ['fl', 'fr', 'rl', 'rr']
    weight = sum(f.z for f in virtual.tyre_forces)
    assert weight == pytest.approx(562.0 * 9.81, rel=0.1)
    assert len(virtual.suspension_strokes) == 4
    assert {t for t, *_ in sink.rows} == {
        '/odometry/observed',
        '/tf',
        '/joint_states/observed',
        '/error_ekf/virtual_sensors',
        '/error_ekf/status',
        '/diagnostics',
    }


def test_silent_imu_and_gps_leave_the_model_alone_and_it_says_so(circle):
    def cut(topic: str, time: float, message: Any) -> Any:
        if time > 1.2 and topic in ('/imu/data', '/gps/fix', '/gps/vel'):
            return None
        if time > 1.2 and topic == '/joint_states':
            message.effort = np.zeros(0)
        return message

    _, sink = run(messages(circle, cut), **{'timeout.fix': 0.5})
    status = sink.of('/error_ekf/status')[-1]
    assert status.mode == 'model_only'
    text = ' / '.join(status.messages)
    assert 'imu is silent (imu/data): the model goes on alone' in text
    assert 'gps is silent (gps/fix): the model goes on alone' in text
    assert 'no drive torque: the unknown force is estimated instead' in text
    assert not sensor(status, 'gyroscope').active
    assert sensor(status, 'wheel_fl').active
    assert sink.statuses('error_ekf')[-1].level == 1
    stamps = [stamp_ns(m) for m in sink.of('/odometry/observed')]
    assert stamps[-1] > START + 2.9e9
    assert np.all(np.diff(stamps) == 2_000_000)


def test_wheels_that_come_behind_the_start_are_used(circle):
    """Found by bench/fuzz.py: a filter that was started without wheels had none for good, counted
    their samples as used, and set the gyroscope aside.
    """

    def later(topic: str, time: float, message: Any) -> Any:
        return None if time < 1.0 and topic == '/joint_states' else message

    node, sink = run(messages(circle, later))
    assert node.observer.starts == 2
    said = {text for status in sink.of('/error_ekf/status') for text in status.messages}
    assert 'wheels are heard that were silent at the start: the observer starts anew' in said
    status = sink.of('/error_ekf/status')[-1]
    wheel = sensor(status, 'wheel_fl')
    assert wheel.accepted > 0.9 * 500 * (SECONDS - 1.0 - 0.6)
    assert 250 <= wheel.invalid < 280  # until they have stayed for half a second
    # the gyroscope is believed again
    rejected = [sensor(one, 'gyroscope').rejected for one in sink.of('/error_ekf/status')]
    assert rejected[-1] == rejected[-2]


@pytest.mark.parametrize(
    ('heard', 'starts'),
    [
        (lambda time: round(time * 500) % 200 == 160, 1),  # single messages end no estimate
        (lambda time: 0.38 < time < 0.903 or 1.3 < time < 1.9, 2),  # nor does who comes and goes,
        (lambda time: 0.38 < time < 0.903 or time > 1.3, 3),  # who stays is used
    ],
    ids=['single', 'passing', 'staying'],
)
def test_wheels_that_do_not_stay_are_told_as_not_used(circle, heard, starts):
    def change(topic: str, time: float, message: Any) -> Any:
        return None if topic == '/joint_states' and not heard(time) else message

    node, sink = run(messages(circle, change))
    assert node.observer.starts == starts
    last = {one.key: one.value for one in sink.statuses('error_ekf: wheel_fl')[-1].values}
    assert int(last['count: silent at the start, no sensor since']) > 0
    assert (int(last['accepted']) > 0) == (starts == 3)
    assert 'used, with a later sample' not in last


def test_missing_inputs_run_with_force_estimation_and_say_so(circle):
    def strip(topic: str, time: float, message: Any) -> Any:
        if topic in ('/brake/pressure', '/gps/vel'):
            return None
        if topic == '/joint_states':
            return new(
                'sensor_msgs/msg/JointState',
                header=header(stamp_ns(message)),
                name=list(message.name)[:4],
                position=message.position[:4],
            )
        return message

    node, sink = run(messages(circle, strip))
    status = sink.of('/error_ekf/status')[-1]
    text = ' / '.join(status.messages)
    for words in ('no drive torque', 'no brake pressure', 'no steering', 'no satellite velocity'):
        assert words in text
    session: Any = node.observer.session
    assert session.filter.orders == 3
    torques = sink.of('/error_ekf/virtual_sensors')[-1].unknown_wheel_torques
    # 100 N m on each rear wheel, less what rolling resistance takes; which wheel it is that
    # drives cannot be seen while all of them roll
    assert 100.0 < sum(torques) < 250.0
    truth = read_columns(circle, {'truth/odom': None})['truth/odom']
    last = sink.of('/odometry/observed')[-1]
    x = np.interp(stamp_ns(last), truth.stamps_ns, truth['pose.pose.position.x'])
    assert abs(last.pose.pose.position.x - x) < 0.15


def test_bad_messages_are_counted_and_survived(circle):
    count: dict[str, int] = {}

    def spoil(topic: str, time: float, message: Any) -> Any:
        n = count[topic] = count.get(topic, 0) + 1
        if topic == '/imu/data' and n % 4 == 0:
            message.angular_velocity.z = message.linear_acceleration.x = math.nan
            message.orientation.w = 0.0
        if topic == '/gps/fix' and n % 3 == 0:
            message.status.status = -1
        elif topic == '/gps/fix' and n % 3 == 1:
            message.latitude += 20.0
        if topic == '/gps/vel' and n % 2:
            message.twist.linear.x = math.inf
        if topic == '/brake/pressure':
            message.fluid_pressure = -5000.0
        if topic == '/joint_states' and n % 5 == 0:
            message.header = header(0)
        if topic == '/tf_static':
            q = message.transforms[0].transform.rotation
            q.x = q.y = q.z = q.w = 0.0
        return message

    node, sink = run(messages(circle, spoil))
    status = sink.of('/error_ekf/status')[-1]
    for name in ('gyroscope', 'gps', 'gps_velocity', 'pressure', 'wheel_fl'):
        assert sensor(status, name).invalid > 10, name
    gps = next(s for s in sink.statuses('error_ekf: gps')[-1:])
    reasons = {v.key: int(v.value) for v in gps.values if v.key.startswith('count: ')}
    assert reasons['count: no fix'] > 10
    assert reasons['count: more than 200 km from the datum'] > 10
    assert node.observer.starts == 1
    assert any('quaternion' in text and 'ignored' in text for text in status.messages)
    values = [m.pose.pose.position.x for m in sink.of('/odometry/observed')]
    assert np.isfinite(values).all()
    assert len(values) > 1400


def test_services(circle, tmp_path):
    file = str(tmp_path / 'state.npz')
    calls = [
        (0.2, '/save', {}),
        (1.6, '/save', {}),
        (1.8, '/load', {}),
        (1.9, '/enable', {'data': False}),
        (1.95, '/enable', {'data': True}),
    ]
    node, sink = run(messages(circle, seconds=2.8), calls=calls, file=file, settle=0.5)
    assert Path(file).exists()
    assert node.observer.starts == 2
    assert [e.text for _, e in node.report._told if 'starts anew' in e.text] == [
        'loaded: the observer starts anew',
        'enabled: the observer starts anew',
    ]
    odometry = sink.of('/odometry/observed')
    gap = np.diff([stamp_ns(m) for m in odometry]).max() * 1e-9
    assert 0.1 < gap < 0.25  # from the load to the first sample after it was enabled again
    session: Any = node.observer.session
    node._note(Finding('warn', 'rack_lost', 'of the start that is over soon'))
    truth = read_columns(circle, {'truth/odom': None})['truth/odom']
    last = odometry[-1]
    x = np.interp(stamp_ns(last), truth.stamps_ns, truth['pose.pose.position.x'])
    assert abs(last.pose.pose.position.x - x) < 0.2
    assert session.vehicle.model.q[12] > 0.0

    assert 'heading' in node._load()
    Path(file).write_bytes(b'nonsense')
    with pytest.raises(StateError, match='not a stored state'):
        node._load()
    node.observer.reset('again')
    # A burst ends one start and makes another between two messages.
    node._note(Finding('warn', 'heading_unknown', 'of the next start'))
    assert [one.code for one in node.report.notes] == ['heading_unknown']
    with pytest.raises(EstimationError, match='nothing is observed yet'):
        node._save()
    assert 'the datum is kept' in node._reset()


def test_four_bar(tmp_path):
    bag = tmp_path / 'bag'
    with BagWriter(bag) as writer:
        four_bar_bag.write(writer, 3.0, 1, 1.0, silent)
    _, sink = run(messages(bag), 'error_ekf_four_bar.yaml')
    found = sink.of('/joint_states/observed')
    assert list(found[-1].name) == ['x1', 'y1', 'x2', 'y2', 'crank']
    assert len(found) > 590
    run_verb('observe', 'four-bar', [bag], out=tmp_path / 'out')
    offline = read_columns(
        tmp_path / 'out' / 'observed',
        {'joint_states/observed': ['position[x2]', 'velocity[crank]']},
    )['joint_states/observed']
    rows = {stamp: k for k, stamp in enumerate(offline.stamps_ns.tolist())}
    for m in found:
        k = rows[stamp_ns(m)]
        assert m.position[2] == offline['position[x2]'][k]
        assert m.velocity[4] == offline['velocity[crank]'][k]
    status = sink.of('/error_ekf/status')[-1]
    assert status.mode == 'running'
    assert sensor(status, 'encoder').accepted > 390


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({'system': 'train'}, "parameter system: 'train' is not one of vehicle, buggy, four-bar"),
        ({'model': 'nowhere.yaml'}, 'nowhere.yaml: no such file'),
        ({'lag': -1.0}, 'parameter lag'),
        ({'windw': 1.0}, 'unknown parameter windw'),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(parameters, words):
    engine = ReplayEngine(START, sink=Sink(), log_level='fatal')
    with pytest.raises(ParameterError, match=words):
        ErrorEkf(engine.create_node('error_ekf', parameters=parameters))


@pytest.mark.parametrize(
    ('system', 'text', 'words'),
    [
        (
            'buggy',
            'base: buggy.yaml\ngeometry: {wheel_radius: 0}',
            'wheel_radius: expected a positive length',
        ),
        ('buggy', 'base: buggy.yaml\nchassis: {centre: [9.0, 0, 0]}', 'carries no load'),
        ('four-bar', 'geometry: {crank: 0}', 'crank: expected a positive length'),
    ],
)
def test_impossible_models_are_refused_in_a_sentence(tmp_path, system, text, words):
    file = tmp_path / 'model.yaml'
    file.write_text(text)
    engine = ReplayEngine(START, sink=Sink(), log_level='fatal')
    with pytest.raises(ParameterError, match=words) as caught:
        ErrorEkf(
            engine.create_node('error_ekf', parameters={'system': system, 'model': str(file)})
        )
    assert str(caught.value).startswith('parameter model: ')


def test_mechanism(tmp_path):
    """Encoder, stroke, torque by joint_states and a gyro with its own topic: live as offline."""
    bag = tmp_path / 'bag'
    simulate('mechanism', bag, config='mechanism_slider_crank', duration=1.2, seed=2)
    _, sink = run(messages(bag), 'error_ekf_mechanism.yaml')
    found = sink.of('/joint_states/observed')
    assert len(found) > 580
    run_verb(
        'observe',
        'mechanism',
        [bag],
        out=tmp_path / 'out',
        config='mechanism_slider_crank',
        options={'settle': 0.1},
    )
    offline = read_columns(
        tmp_path / 'out' / 'observed',
        {'joint_states/observed': ['position[stroke]', 'velocity[crank]']},
    )['joint_states/observed']
    rows = {stamp: k for k, stamp in enumerate(offline.stamps_ns.tolist())}
    names = list(found[-1].name)
    for m in found:
        k = rows[stamp_ns(m)]
        assert m.position[names.index('stroke')] == offline['position[stroke]'][k]
        assert m.velocity[names.index('crank')] == offline['velocity[crank]'][k]
    status = sink.of('/error_ekf/status')[-1]
    assert status.mode == 'running'
    assert sensor(status, 'rod_gyro').accepted > 200
