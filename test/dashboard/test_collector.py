"""What nodes say, joined for the page: right, apart where it must be, and bounded."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from veh_identification.dashboard import Collector
from veh_identification.dashboard.collector import MOST
from veh_identification.dashboard.history import History
from veh_identification.dashboard.intake import Intake
from veh_identification.dashboard.meters import NewestStamp, StreamMeter
from veh_identification.dashboard.readings import ellipse_of
from veh_identification.dashboard.view import as_json, head, past
from veh_identification.runtime import messages

COUNTS = {'received': '10', 'accepted': '6', 'rejected': '3', 'late': '1', 'invalid': '0'}
YES = {'verdict': 'yes', 'headline': 'Yes.'}


def only_node(collector: Collector) -> Any:
    (node,) = head(collector)['nodes']
    return node


def sensors(collector: Collector) -> Any:
    return {one['name']: one for one in only_node(collector)['sensors']}


def test_an_estimate_and_its_diagnostics_are_one_node(collector: Collector, talker: Any) -> None:
    finding = {'level': 'note', 'code': 'short', 'text': 'short drive'}
    talker.estimate(
        0.0, {'Mc': (1500.0, 2.0)}, advice='brake harder', verdict='care', findings=[finding]
    )
    facts = {
        'verdict': 'care',
        'headline': 'With care: 1 reservation.',
        'finding: not_known': 'Cx is not known',
        'finding: short': 'short drive',
        'latency p99 [ms]': '3.20',
    }
    talker.diagnostics(1.0, facts, level=1)
    node = only_node(collector)
    assert (node['name'], node['verdict'], node['level']) == ('/car', 'care', 'warn')
    assert node['advice'] == 'brake harder'
    assert node['headline'] == 'With care: 1 reservation.'
    # the first is what makes the verdict; the estimate says how serious the other is
    assert [(one['code'], one['level']) for one in node['findings']] == [
        ('not_known', 'warn'),
        ('short', 'note'),
    ]
    assert node['facts'] == {'latency p99 [ms]': '3.20'}
    told = past(collector, {})
    assert told['parameters /car'] == {'columns': ['Mc', 'Mc std'], 'rows': [[0.0, 1500.0, 2.0]]}
    assert told['latency car'] == {'columns': ['p99'], 'rows': [[0.0, 3.2]]}


def test_the_worse_of_verdict_and_diagnostic_level_is_shown(
    collector: Collector, talker: Any
) -> None:
    talker.diagnostics(0.0, YES, level=2)  # silent input: the estimate was good, nothing comes
    assert only_node(collector)['level'] == 'bad'


def test_sensors_of_status_and_diagnostics(collector: Collector, talker: Any) -> None:
    facts = {**COUNTS, 'topic': 'imu/data', 'rate [Hz]': '99.50', 'quarantines': '2'}
    facts['finding: set_aside'] = 'imu is set aside: it disagrees'
    talker.status(0.0, name='imu', topic='imu/data', active=True, rate=99.5, nis_mean=1.1)
    talker.diagnostics(0.0, YES, {'imu': (1, 'imu is set aside: it disagrees', facts)})
    (imu,) = sensors(collector).values()
    assert (imu['lamp'], imu['quarantined'], imu['quarantines']) == ('warn', True, 2.0)
    assert (imu['received'], imu['accepted'], imu['rejected'], imu['late']) == (10, 6, 3, 1)
    assert (imu['rate'], imu['nis'], imu['topic']) == (99.5, 1.1, 'imu/data')
    assert imu['text'] == 'imu is set aside: it disagrees'


def test_a_quarantine_that_only_the_whole_tells(collector: Collector, talker: Any) -> None:
    whole = {**YES, 'finding: sensor_set_aside': 'gps: set aside since 3.00 s: jumps'}
    rows = {'gps': (0, 'ok', COUNTS), 'gps_velocity': (0, 'ok', COUNTS)}
    talker.diagnostics(0.0, whole, rows)
    found = sensors(collector)
    assert found['gps']['quarantined'] and found['gps']['lamp'] == 'warn'
    assert found['gps']['text'] == 'set aside since 3.00 s: jumps'
    assert not found['gps_velocity']['quarantined'] and found['gps_velocity']['lamp'] == 'good'


def test_rates_are_counted_where_the_node_tells_none(collector: Collector, talker: Any) -> None:
    for at, received in ((0.0, '100'), (2.0, '300')):
        talker.diagnostics(at, YES, {'camber': (0, 'counts', {'received': received})})
    assert sensors(collector)['camber']['rate'] == 100.0
    assert sensors(collector)['camber']['lamp'] == 'good'
    talker.diagnostics(3.0, YES, {'camber': (0, 'counts', {'received': '300'})})
    silent = sensors(collector)['camber']
    assert (silent['rate'], silent['lamp']) == (0.0, 'warn')
    talker.diagnostics(4.0, YES, {'camber': (0, 'counts', {'received': '5'})})
    assert math.isnan(sensors(collector)['camber']['rate']), 'restarted: no negative rate'


def test_a_silent_sensor_of_the_status_is_no_green_lamp(collector: Collector, talker: Any) -> None:
    talker.status(0.0, name='gps', topic='gps/fix', active=False)
    assert sensors(collector)['gps']['lamp'] == 'warn'


def test_lags_against_the_clock(another: Any, collector: Collector) -> None:
    robot = another('/robot/fusion')
    for name, topic in (('imu', 'imu/data'), ('gnss', '/gps/fix')):
        robot.status(0.0, name=name, topic=topic)
    assert collector.metered_topics() == {'/gps/fix'}, 'a status holds all sensors of a node'
    rows = {name: (0, 'ok', {'topic': topic}) for name, topic in (('imu', 'imu/data'),)}
    robot.diagnostics(0.0, YES, rows)
    assert collector.metered_topics() == {'/robot/imu/data', '/gps/fix'}
    travel = {'/robot/imu/data': (10, 3), '/gps/fix': (100, 90)}  # period and delay in ms
    play(collector, travel)
    found = sensors(collector)
    assert found['imu']['lag'] == pytest.approx(0.003)
    assert found['gnss']['lag'] == pytest.approx(0.090)
    assert not found['imu']['relative']


@pytest.mark.parametrize('pace', [1, 2], ids=['real time', 'half the pace'])
def test_lags_of_a_recording_of_another_day(collector: Collector, another: Any, pace: int) -> None:
    rows = {name: (0, 'ok', {'topic': f'/{name}'}) for name in ('imu', 'gps')}
    another('/fusion').diagnostics(0.0, YES, rows)
    for again in range(2):  # the recording is played twice
        play(collector, {'/imu': (10, 3), '/gps': (100, 90)}, pace, later=(1 + again) * 86_400)
        found = sensors(collector)
        assert found['imu']['relative']
        assert found['imu']['lag'] == 0.0
        # the newest stamp of the other one is up to a period old
        assert found['gps']['lag'] == pytest.approx(0.085, abs=0.006)


def play(
    collector: Collector, topics: dict[str, tuple[int, int]], pace: int = 1, later: int = 0
) -> None:
    """Ten seconds of topics with their periods and delays [ms], in the order of arrival."""
    sent = [
        (stamp + delay, stamp, topic)
        for topic, (period, delay) in topics.items()
        for stamp in range(1000, 11_000, period)
    ]
    for arrival, stamp, topic in sorted(sent):
        collector.meter(topic, (pace * arrival + 1000 * later) * 1_000_000, stamp * 1_000_000)


def test_a_recording_that_begins_again_has_one_lag() -> None:
    meter = StreamMeter(NewestStamp())
    for k in range(150):
        meter.add((1000 + k) * 10**9, (500 + k % 100) * 10**9)
    assert (meter.lag, meter.behind) == (600.0, 0.0)
    assert meter.rate == pytest.approx(1.0)


def test_nodes_of_one_name_in_two_namespaces_stay_apart(
    collector: Collector, another: Any
) -> None:
    another('/a/car').estimate(0.0, {'Mc': (1000.0, 1.0)})
    another('/a/car').diagnostics(0.0, YES)
    assert only_node(collector)['verdict'] == 'yes'
    another('/b/car').estimate(0.0, {'Mc': (2000.0, 1.0)})
    found = {one['name']: one for one in head(collector)['nodes']}
    assert found['/a/car']['estimate']['parameters'][0]['value'] == 1000.0
    assert found['/b/car']['estimate']['parameters'][0]['value'] == 2000.0
    assert found['/a/car']['verdict'] == found['/b/car']['verdict'] == '', 'whose it is: unknown'
    assert found['/car']['verdict'] == 'yes'
    assert 'two nodes are called car' in head(collector)['notes'][0]


def test_every_history_counts_from_its_own_beginning(collector: Collector, talker: Any) -> None:
    """Odometry of a played recording beside diagnostics of the present."""
    years = 1e8
    for k in range(3):
        talker.odometry(float(k), 0.0, 0.0)
        talker.diagnostics(years + k, {**YES, 'latency p50 [ms]': '1.0'})
    told = past(collector, {})
    for key in ('latency car', 'track /odometry/observed'):
        assert [row[0] for row in told[key]['rows']] == [0.0, 1.0, 2.0]


def test_a_node_that_is_no_longer_heard_is_old(
    collector: Collector, talker: Any, clock: Any
) -> None:
    talker.diagnostics(0.0, YES)
    clock.seconds = 2.0
    assert not only_node(collector)['stale']
    clock.seconds = 3.5
    assert only_node(collector)['stale']
    assert only_node(collector)['age'] == 3.5


def test_the_ellipse_holds_95_percent_of_the_points() -> None:
    covariance = np.array([[0.5, 0.3], [0.3, 0.4]])
    points = np.random.default_rng(5).multivariate_normal([0.0, 0.0], covariance, 40_000)
    found = ellipse_of(covariance)
    assert found is not None
    turn = np.array(
        [
            [math.cos(found['angle']), math.sin(found['angle'])],
            [-math.sin(found['angle']), math.cos(found['angle'])],
        ]
    )
    along = points @ turn.T / [found['long'], found['short']]
    assert np.mean(np.sum(along**2, axis=1) < 1.0) == pytest.approx(0.95, abs=0.005)
    assert found['long'] > found['short']


@pytest.mark.parametrize(
    'covariance',
    [np.zeros(36), np.full(36, np.nan), np.diag([-1.0, 1, 1, 1, 1, 1]).ravel()],
    ids=['none given', 'not finite', 'negative'],
)
def test_no_ellipse_without_a_covariance(
    collector: Collector, talker: Any, covariance: Any
) -> None:
    talker.odometry(0.0, 1.0, 2.0, covariance)
    (track,) = head(collector)['tracks']
    assert track['ellipse'] is None
    assert (track['x'], track['y'], track['frame']) == (1.0, 2.0, 'odom')


def test_diagnostics_of_other_programs(collector: Collector, another: Any) -> None:
    another('driver: gps').diagnostics(0.0, {'satellites': '3', 'verdict ': ''}, level=2)
    another('odd').diagnostics(0.0, {'verdict': 'perhaps', 'latency p50 [ms]': 'n/a'})
    told = head(collector)
    assert told['others'] == [{'name': 'driver: gps', 'lamp': 'bad', 'text': 'text'}]
    (odd,) = told['nodes']
    assert odd['level'] == 'good', 'the diagnostic level counts where no verdict is known'
    as_json(past(collector, {}))


def test_what_is_no_number_is_null(collector: Collector, talker: Any) -> None:
    nothing = float('nan')
    talker.estimate(0.0, {'Mc': (nothing, float('inf'))}, condition_number=float('inf'))
    talker.odometry(0.0, nothing, 0.0)

    def refuse(word: str) -> None:
        raise AssertionError(word)

    told = json.loads(as_json([head(collector), past(collector, {})]), parse_constant=refuse)
    assert told[0]['nodes'][0]['estimate']['parameters'][0]['value'] is None
    assert told[1]['parameters /car']['rows'] == [[0.0, None, None]]


def test_memory_is_bounded_whatever_comes(collector: Collector, another: Any) -> None:
    long = 'x' * 5000
    for k in range(3 * MOST):
        one = another(f'/ns{k}/car{k}')
        one.estimate(0.0, {f'p{k}': (1.0, 1.0)}, advice=long)
        one.diagnostics(0.0, {**YES, **{f'fact {j}': long for j in range(5)}})
        one.status(0.0, name=f's{k}', topic=long)
        collector.meter(f'/topic{k}', 0, 0)
    for group in (collector.estimates, collector.diagnoses, collector.statuses, collector.meters):
        assert len(group) == MOST
    assert collector.left_out == 4 * 2 * MOST
    talker = another('/ns0/car0')
    for k in range(2000):
        talker.estimate(float(k), {f'p{k % 700}': (1.0, 1.0)})
    sizes = [len(as_json([head(collector), past(collector, {})]))]
    for k in range(2000, 6000):
        talker.estimate(float(k), {f'p{k % 700}': (1.0, 1.0)})
    sizes.append(len(as_json([head(collector), past(collector, {})])))
    assert sizes[1] < 1.5 * sizes[0]
    assert all(
        len(told.history.rows) <= History().capacity for told in collector.estimates.values()
    )


def test_poses_are_decoded_only_as_often_as_anybody_sees(
    collector: Collector, another: Any
) -> None:
    message = another('/x').odometry(0.0, 1.0, 2.0)
    payload, kind = messages.serialize(message), messages.type_name(message)
    before = collector.version
    intake = Intake(collector)
    for k in range(1000):  # two seconds at 500 Hz
        intake.take('/odometry/observed', kind, payload, k * 2_000_000)
    assert collector.version - before == 40
    intake.take('/odometry/observed', kind, payload[:20], 10**12)
    assert intake.unreadable == 1
