"""The fixed short part of the campaign of bench/fuzz.py."""

from __future__ import annotations

import random
import sys
from array import array
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from veh_identification.errors import VehIdError
from veh_identification.systems.parallel.live.periods import PeriodCollector

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))
import fuzz
from hostile import files, guided, motions, streams, tried
from hostile.nominal import Estimates, Motion, away, with_fresh
from hostile.spoiling import spoilt
from hostile.watch import Tally


def cases(count: int) -> Callable[[], bool]:
    left = [count]

    def go_on() -> bool:
        left[0] -= 1
        return left[0] >= 0

    return go_on


@pytest.mark.parametrize(
    ('part', 'count', 'least'),
    [
        (files.try_recordings, 60, 20),
        (files.try_payloads, 400, 200),
        (files.try_states, 25, 12),
        (files.try_descriptions, 20, 10),
    ],
)
def test_damaged_files_are_read_or_refused(
    part: Callable[..., Tally], count: int, least: int, tmp_path: Path
) -> None:
    tally = part(random.Random(20), tmp_path, cases(count))
    assert tally.findings == []
    assert tally.outcomes['refused'] >= least


def test_recordings_are_good_before_they_are_damaged(tmp_path: Path) -> None:
    """One kind was cut off from the beginning: damage never reached its chunks."""
    made = files.recordings(tmp_path)
    assert b'lz4' in made['mcap lz4 unchecked'].read_bytes()
    for kind, path in made.items():
        case, opened = files.case_of(tmp_path, kind, path)
        case.write_bytes(path.read_bytes())
        files.read_everything(opened, 'stop')


@pytest.mark.parametrize('name', guided.TARGETS)
def test_good_inputs_of_guided_targets_are_taken(name: str, tmp_path: Path) -> None:
    """Else nothing behind the first check would ever be reached; damaged ones are sentences."""
    call, seeds = guided.target_of(name, tmp_path)
    good = [seed for seed in seeds if seed not in (files.LAUGHS, files.OUTSIDE)]
    for seed in good:
        call(seed)
    rng, refused = random.Random(20), 0
    for k in range(60):
        try:
            call(files.damaged(rng, good[k % len(good)], good))
        except VehIdError as error:
            assert 'Traceback' not in str(error)
            refused += 1
    assert refused > 5


def test_what_a_guided_target_did_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tool ends its process; a turn that ends otherwise, or did nothing, is a finding."""
    corpus = tmp_path / 'wire'
    tally = Tally()
    ends = [(0, (5, 2)), (77, (1, 1)), (0, (0, 0)), (0, (1, 0))]
    says = [
        f'INFO: seed corpus: files: 2 rss: {normal}Mb\n#2\nstat::peak_rss_mb:   {peak}\n'
        for normal, peak in ((200, 210), (200, 240), (300, 310), (200, 500))
    ]

    def run(*_: object, **__: object) -> SimpleNamespace:
        status, counts = ends.pop(0)
        memoryview(guided.shared_counts(corpus)).cast('q')[:] = array('q', counts)
        return SimpleNamespace(returncode=status, stdout='', stderr=says.pop(0))

    monkeypatch.setattr(guided.subprocess, 'run', run)
    for seed in range(3):
        guided.one_turn(tally, 'wire', corpus, seed)
    assert (tally.outcomes['taken'], tally.outcomes['refused']) == (6, 3)
    assert tally.cases == 10 and len(tally.findings) == 2
    assert (tally.document()['normal_mb'], tally.peak_mb) == (200, 240)
    guided.one_turn(tally, 'wire', corpus, 3)
    assert tally.findings[2] == 'wire: 500 MB, 200 MB is normal'


def test_several_seeds_in_one_process(tmp_path: Path) -> None:
    """The second one found the recordings of the first one and ended."""
    for seed in (1, 2):
        found = fuzz.run_parts(seed, 0.05, ['recordings'], tmp_path)
        assert found['recordings'].cases > 0


def test_spoilt_streams(tmp_path: Path) -> None:
    graphs = ('parallel_identification',)  # the one whose recording is made in no time
    tally = streams.try_streams(random.Random(20), tmp_path, cases(2), graphs)
    assert tally.findings == []
    assert tally.cases == 2 and sum(tally.messages.values()) > 0


def test_stray_stamps_are_counted_once(tmp_path: Path) -> None:
    """Found by the campaign: inputs of error_ekf were counted as used and as invalid."""
    (plan,) = (one for one in streams.PLANS if one.scenario == 'four-bar')
    source = streams.load_source(tmp_path, plan)
    start, stop = source[0].time_ns, source[-1].time_ns
    end = stop - 11 * streams.SECOND
    fault, made = spoilt(random.Random(4118952670), source, start, end, Counter())
    assert fault.name == 'stamps'
    streams.check(plan, made, end)


@pytest.mark.parametrize(
    ('scenario', 'graph', 'seed'),
    [
        ('mechanism', 'error_ekf', 2831644936),
        ('car-sine-steer', 'sensor_fusion', 3903375864),
        ('car-sine-steer', 'car_identification', 2658599014),
        ('car-sine-steer', 'car_identification', 174457106),
        ('humanoid-walk', 'contact_identification', 4171748721),
        ('humanoid-walk', 'contact_identification', 1500595554),
        ('buggy-circle', 'error_ekf', 365269580),
        ('buggy-circle', 'error_ekf', 2312914256),
        ('buggy-circle', 'error_ekf', 3201180554),
        ('buggy-circle', 'error_ekf', 2883849569),
        ('buggy-circle', 'error_ekf', 1709182512),
        ('buggy-circle', 'error_ekf', 1183997912),
        ('buggy-circle', 'error_ekf', 3272382990),
        ('buggy-circle', 'error_ekf', 326467164),
        ('buggy-circle', 'error_ekf', 1915373718),
        ('buggy-circle', 'error_ekf', 2195848318),
        ('buggy-circle', 'error_ekf', 1989201774),
        ('buggy-circle', 'error_ekf', 1570023973),
        ('buggy-circle', 'error_ekf', 1415555512),
        ('buggy-circle', 'error_ekf', 376773172),
        ('buggy-circle', 'error_ekf', 3582648974),
        ('buggy-circle', 'error_ekf', 1245510788),
        ('buggy-circle', 'error_ekf', 131383004),
        ('car-sine-steer', 'sensor_fusion', 1362426560),
        ('drive', 'sensor_fusion', 3884180851),
        ('drive', 'sensor_fusion', 580245115),
        ('drive', 'sensor_fusion', 239881496),
        ('drive', 'sensor_fusion', 1398758873),
        ('drive', 'sensor_fusion', 3432060315),
        ('drive', 'sensor_fusion', 1492298756),
        ('arm-free', 'robot_identification', 4037414192),
        ('arm-free', 'robot_identification', 153029954),
        ('arm-free', 'robot_identification', 1661973361),
        ('arm-free', 'robot_identification', 1228035472),
        ('car-sine-steer', 'sensor_fusion', 1836321225),
        ('car-sine-steer', 'sensor_fusion', 475204238),
        ('car-sine-steer', 'sensor_fusion', 3098936469),
        ('car-sine-steer', 'sensor_fusion', 1123634281),
        ('drive', 'sensor_fusion', 1935109113),
        ('drive', 'sensor_fusion', 3306818047),
        ('four-bar', 'error_ekf', 3201216371),
        ('mechanism', 'error_ekf', 4104770025),
    ],
)
def test_streams_that_once_were_findings(
    scenario: str, graph: str, seed: int, tmp_path: Path
) -> None:
    """Each was wrong or failed in a way of its own: docs/hostile_input.md."""
    (plan,) = (one for one in streams.PLANS if (one.scenario, one.graph) == (scenario, graph))
    source, nominal = streams.prepare(tmp_path, plan)
    case = streams.make_case(plan, source, seed, Counter())
    streams.check(plan, case.source, case.fault_end_ns, nominal, case.calls)


def test_a_stamp_of_another_age_takes_no_time() -> None:
    """Found by the campaign: every period up to a stamp years ahead was counted one by one."""
    collector = PeriodCollector(1.0, 100.0)
    for k in range(250):
        collector.push(k * 10_000_000, np.zeros(12))
    collector.push(2**62, np.zeros(12))
    assert collector.accepted == 2
    assert collector.rejected == 2**62 // 10**9 - 2


def test_spoilt_motions_are_answered_or_refused(tmp_path: Path) -> None:
    tally = motions.try_motions(random.Random(20), tmp_path, cases(2))
    assert tally.findings == []
    assert tally.cases == 2 and sum(tally.messages.values()) == 2 * motions.BATCH


def run_of(offset: float, *, verdict: str = 'yes', mass: float = 1500.0) -> Estimates:
    times = [0.1 * k for k in range(100)]
    motion = Motion(times, [offset + np.sin(time) for time in times], [0.01] * 100)
    return Estimates({'/state x': motion}, {'Mc': (mass, 5.0)}, verdict, 100)


def test_estimates_that_are_not_back_are_findings() -> None:
    nominal = run_of(0.0)
    assert away(run_of(0.05), nominal) == []  # 2 % of the range are 0.04
    (told,) = away(run_of(0.5), nominal)
    assert '/state x is 0.5' in told
    assert away(run_of(0.5), with_fresh(nominal, run_of(-0.4))) == []  # a new start is no better
    assert 'not given any more' in away(Estimates(samples=100), nominal)[0]
    (told,) = away(run_of(0.0, mass=1600.0), nominal)
    assert told.startswith('Mc is 1600')
    assert away(run_of(0.0, mass=1600.0, verdict='care'), nominal) == []  # it says so itself


def test_a_tilt_that_is_told_to_be_uncertain_is_no_silent_error() -> None:
    name, nominal = '/fused/state gravity y', run_of(0.0)
    nominal.motions = {name: nominal.motions['/state x']}
    off = run_of(0.5)
    off.motions = {name: Motion(off.motions['/state x'].times, off.motions['/state x'].values)}
    assert 'gravity y is 0.5' in away(off, nominal)[0]
    off.stated = {'gravity': [0.01] * 10}
    assert 'gravity y is 0.5' in away(off, nominal)[0]
    off.stated = {'gravity': [0.3] * 10}
    assert away(off, nominal) == []


def test_sums_of_several_runs() -> None:
    part = {
        **{'cases': 60_000, 'outcomes': {'taken': 20_000, 'refused': 40_000}, 'peak_mb': 150},
        **{'made_of': {'mcap': 60_000}, 'messages': {'values': 7}, 'findings': ['x']},
        'normal_mb': 100,
    }
    runs = [
        {'seed': seed, 'seconds': 600.0, 'processor_seconds': 1800, 'parts': {'recordings': part}}
        for seed in (1, 2)
    ]
    text = tried.table(runs)
    assert '| recordings | 120,000 files | 40,000 / 80,000 | 14 | 2 | 1.50 |' in text
    assert 'In all 120,000 damaged files and 14 spoilt messages' in text
    assert 'seeds 1, 2), 1.0 hours' in text


def test_the_table_of_the_document_is_that_of_the_runs() -> None:
    text = tried.DOCUMENT.read_text('utf-8')
    assert tried.filled(text, tried.read_runs()) == text


def test_findings_are_findings() -> None:
    """The watch itself: what it must notice, it notices."""
    tally = Tally()
    tally.try_case('a', lambda: 1 / 0)
    tally.try_case('b', lambda: None)
    assert len(tally.findings) == 1 and 'ZeroDivisionError' in tally.findings[0]
    assert tally.outcomes['taken'] == 1
