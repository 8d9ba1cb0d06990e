"""The bench of a day: stamps go on, counters that are wrong are seen."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace

from veh_identification.runtime import messages

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))
import long
import long_live
from hostile.nominal import Estimates, away_by
from hostile.spoiling import SECOND, Item, stamp_of
from hostile.streams import PLANS


def made(folder: Path) -> long.Day:
    (plan,) = (one for one in PLANS if one.scenario == 'four-bar')
    return long.Day(folder, plan._replace(seconds=3.0), 4, 45 * SECOND)


def test_a_short_day(tmp_path: Path) -> None:
    day = made(tmp_path)
    watch, spent = long.run_day(day.plan, day)
    memory, counters, moved = long.rows_of(day.plan, day, watch, spent)
    assert len(watch.counts) == 4 and watch.counts[0]
    assert counters['met'] and moved['met'] and memory['ours'] < 1.5
    name = next(iter(watch.counts[-1]))
    watch.counts[-1][name] += 1
    wrong = long.rows_of(day.plan, day, watch, spent)[1]['wrong']
    (((topic, lacking),),) = (one.items() for one in wrong.values())
    assert list(wrong) == [name] and lacking[-1] == lacking[0] - 1
    watch.counts[-1][name] -= 2
    assert not long.rows_of(day.plan, day, watch, spent)[1]['met']
    watch.lost[-1] = {'node': {topic.split(' ')[0]: 1}}  # it says that one never reached it
    assert long.rows_of(day.plan, day, watch, spent)[1]['met']


def test_stamps_go_on_and_the_noise_is_another(tmp_path: Path) -> None:
    day = made(tmp_path)
    first, later = list(day.recording(0)), list(day.recording(3))
    assert len(first) == len(later)
    assert {b.time_ns - a.time_ns for a, b in zip(first, later, strict=True)} == {135 * SECOND}
    assert stamp_of(later[0].message) - stamp_of(first[0].message) == 135 * SECOND
    assert first[-1].message != later[-1].message


def test_a_counter_follows_its_topic_but_for_what_waits_at_the_end_of_a_recording() -> None:
    way = [2390, 4782, 7170]
    assert long._follows(way, way)
    assert long._follows([2380, 4772, 7160], way)
    assert not long._follows([2390, 4772, 7150], way)  # each later one loses ten
    assert not long._follows([2380, 4772, 7159], way)
    assert not long._follows([2391, 4783, 7171], way)  # more than was sent


def test_what_was_sent_before_a_topic_was_found_is_the_same_number_ever_after() -> None:
    way = [2400, 4800, 7200]  # of recordings of 12 s
    found = 2.0 / 12.0
    assert long._follows([2107, 4507, 6907], way, found)
    assert not long._follows([2107, 4507, 6907], way)  # under replay nothing is looked for
    assert not long._follows([2107, 4507, 6906], way, found)  # one lost later
    assert not long._follows([1900, 4300, 6700], way, found)  # longer than it may take


def test_joints_are_counted_by_their_names() -> None:
    """Several sources may send on one topic, each some joints of its own."""

    def named(message: object) -> list[str]:
        return long._named(Item(0, '/joint_states', 'sensor_msgs/msg/JointState', message))

    joints = messages.new('sensor_msgs/msg/JointState', name=['left', 'right'])
    assert named(joints) == ['/joint_states', '/joint_states left', '/joint_states right']
    assert named(messages.new('sensor_msgs/msg/Imu')) == ['/joint_states']


def test_a_turn_more_is_the_same_place() -> None:
    """Wheels of an observer that starts anew count from elsewhere: the same hours later."""

    def found(time: float, angle: float) -> Estimates:
        estimates = Estimates()
        one = estimates.motion('/joint_states/observed wheel_fl position')
        one.angle = True
        for k in range(5):
            one.add(time + k, angle + 0.1 * k)
        return estimates

    assert away_by(found(3600.0, 1.0 + 26.0 * math.pi), found(0.0, 1.0), 3600.0)[0] < 1e-6
    assert away_by(found(3600.0, 1.0 + 27.0 * math.pi), found(0.0, 1.0), 3600.0)[0] > 10.0


def test_what_is_lost_at_the_end_of_a_recording_is_known_with_the_next_one() -> None:
    way, counts = [100, 200, 300], [100, 197, 297]
    assert not long._follows(counts, way)
    assert long._follows(counts, way, lost=[0, 0, 3, 3])  # told with the third one
    assert long._follows([100, 200, 297], way, lost=[0, 0, 0, 3])  # told behind the last one
    assert not long._follows([100, 200, 297], way, lost=[0, 0, 0, 2])
    assert not long._follows([100, 196, 296], way, lost=[0, 0, 3, 3])  # one more is missing
    assert not long._follows([100, 197, 298], way, lost=[0, 0, 3, 3])  # one too many


def test_the_counters_of_every_node_are_kept_whichever_is_heard_last() -> None:
    """Two nodes tell theirs in turns: a recording must not end with those of one alone."""

    def told(name: str, received: int, lost: int) -> tuple[str, str, bytes, int]:
        kind = 'diagnostic_msgs/msg/{}'
        status = [
            messages.new(
                kind.format('DiagnosticStatus'),
                name=one,
                values=[
                    messages.new(kind.format('KeyValue'), key=key, value=str(value))
                    for key, value in values.items()
                ],
            )
            for one, values in (
                (name, {'lost /imu': lost}),
                (f'{name}: imu', {'received': received}),
            )
        ]
        array = messages.new(kind.format('DiagnosticArray'), status=status)
        return '/diagnostics', kind.format('DiagnosticArray'), messages.serialize(array), 0

    watch = long.Watch(0, SECOND, 2, 1)
    for row in (told('fusion', 7, 1), told('contact', 5, 0), told('fusion', 8, 2)):
        watch.rows.append(row)
    watch.close()
    assert watch.counts == [{'fusion: imu': 8, 'contact: imu': 5}]
    assert watch.lost == [{'fusion': {'/imu': 2}, 'contact': {'/imu': 0}}]


def test_numbers_of_messages_tell_how_many_were_sent() -> None:
    """Also those that the bench did not hear."""
    numbers = long_live.Numbers()
    for gid, sequence in ((b'a', 1), (b'a', 2), (b'b', 4), (b'a', 7)):
        numbers.take('/fused/state', SimpleNamespace(gid=gid, sequence=sequence))
    assert numbers.total() == {'/fused/state': 11}
    assert numbers.missed == 4
