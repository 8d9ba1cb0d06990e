"""The node `parallel_identification` on the replay engine."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from veh_identification.errors import ParameterError
from veh_identification.nodes.parallel_identification.node import ParallelIdentification
from veh_identification.runtime import messages
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.simulation.parallel.scenarios import (
    EPOCH_NS,
    TRUTH,
    HexapodSensors,
    default_excitation,
    exact_run,
)
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.live.accumulation import LiveOptions, ParallelLive
from veh_identification.systems.parallel.model.geometry import LEGS

RATE = 100.0
STEP = 10_000_000
JOINTS = 'sensor_msgs/msg/JointState'
NAME = '/parallel_identification'


@dataclass
class Sample:
    time_ns: int
    message: object
    topic: str = '/joint_states'
    typename: str = JOINTS

    def decode(self):
        return self.message


class Sink:
    def __init__(self) -> None:
        self.rows: list[tuple[str, str, bytes]] = []

    def write(self, topic, typename, payload, time_ns, *, qos) -> None:
        self.rows.append((topic, typename, bytes(payload)))

    def of(self, topic: str) -> list:
        return [messages.deserialize(p, t) for name, t, p in self.rows if name == topic]


def samples(periods: float, noise: float = 0.0, seed: int = 0, change=None) -> list[Sample]:
    configuration = load_configuration()
    run = exact_run(configuration.model(), default_excitation(configuration), RATE)
    count = round(periods * len(run.times)) + 1
    q, Q = run.repeated(count, HexapodSensors().scaled(noise), np.random.default_rng(seed))
    made = []
    for k in range(count):
        stamp = EPOCH_NS + k * STEP
        fields = {'name': list(LEGS), 'position': q[k], 'effort': Q[k]}
        if change is not None:
            fields = change(k, fields)
            if fields is None:
                continue
        made.append(Sample(stamp, messages.new(JOINTS, header=messages.header(stamp), **fields)))
    return made


def run_node(recorded: list[Sample], calls=(), **parameters):
    sink = Sink()
    engine = ReplayEngine(EPOCH_NS, sink=sink, log_level='fatal')
    node = ParallelIdentification(
        engine.create_node('parallel_identification', parameters=parameters)
    )
    for seconds, service, request in calls:
        engine.call_service_at(EPOCH_NS + round(seconds * 1e9), NAME + service, **request)
    engine.run(recorded)
    node._delivery.settle(lambda: None)  # what waits is sent; the period under way is not used
    return node, sink


def last_status(sink: Sink):
    return sink.of('/diagnostics')[-1].status[0]


def codes(status) -> set[str]:
    """Codes of the findings in a diagnostic status."""
    keys = (item.key.partition(': ') for item in status.values)
    return {rest.split(' ')[0] for head, _, rest in keys if head == 'finding'}


def test_estimates_after_every_period_from_the_second() -> None:
    node, sink = run_node(samples(4), rate=RATE)
    estimates = sink.of(NAME + '/parameters')
    assert len(estimates) == 3
    names = [p.name for p in estimates[-1].parameters]
    assert names == [*TRUTH, 'fc']
    for p in estimates[-1].parameters[:-1]:
        assert p.value == pytest.approx(TRUTH[p.name], rel=1e-6)
        assert p.excited
    assert estimates[-1].system == 'parallel'
    assert node.model.periods == 4
    shown = sink.of(NAME + '/reconstruction')
    assert len(shown) == 3 * 125
    np.testing.assert_allclose(shown[-1].measured, shown[-1].predicted, atol=1e-6)
    status = last_status(sink)
    assert messages.byte_value(status.level) == 0
    assert status.message == 'Yes: 4 periods averaged.'
    assert estimates[-1].verdict == 'yes'
    # Nothing is wrong; what nothing can tell is told.
    assert [one.code for one in estimates[-1].findings] == ['scale_not_checked']


def test_rate_is_found_and_noise_gives_honest_deviations() -> None:
    node, sink = run_node(samples(6, noise=1.0), estimator='maximum-likelihood')
    assert node.model.rate == pytest.approx(RATE)
    final = sink.of(NAME + '/parameters')[-1]
    assert final.estimator == 'maximum-likelihood'
    deviation = [abs(p.value - TRUTH[p.name]) / p.std for p in final.parameters[:-1]]
    assert max(deviation) < 4.5
    assert final.parameters[-1].value == pytest.approx(2.0)
    assert 'p1' in final.advice


def test_a_gap_drops_its_period_only() -> None:
    node, sink = run_node(samples(5, change=lambda k, f: None if 300 <= k < 310 else f), rate=RATE)
    assert (node.model.periods, node.model.rejected_periods) == (4, 1)
    assert sink.of(NAME + '/parameters')[-1].parameters[9].value == pytest.approx(16.3081)
    texts = [d.status[0].message for d in sink.of('/diagnostics')]
    assert any('the last period was dropped: a gap of 0.1' in t for t in texts)


def test_a_wrong_fundamental_is_said() -> None:
    _, sink = run_node(samples(4), rate=RATE, fundamental=0.4004, harmonics=5)
    status = last_status(sink)
    assert messages.byte_value(status.level) == 1
    assert 'the fundamental is not 0.4004 Hz' in status.message
    assert 'fundamental_off' in codes(status)


def test_missing_legs_and_bad_numbers_are_counted_and_said() -> None:
    def change(k, fields):
        if k % 2:
            return {key: value[:5] for key, value in fields.items()}
        if k == 100:
            fields['position'] = np.full(6, np.nan)
        return fields

    node, sink = run_node(samples(1, change=change), rate=RATE)
    assert node.model.result is None and sink.of(NAME + '/parameters') == []
    status = last_status(sink)
    assert messages.byte_value(status.level) == 1
    assert 'messages lacked a leg' in status.message
    assert {'incomplete_messages', 'few_periods', 'no_estimate'} <= codes(status)


def test_unreachable_lengths_are_an_error_in_diagnostics() -> None:
    far = samples(3, change=lambda k, f: {**f, 'position': f['position'] + 0.5})
    _, sink = run_node(far, rate=RATE)
    status = last_status(sink)
    assert messages.byte_value(status.level) == 2
    assert 'the lengths seem to be strokes' in status.message
    assert 'length_offset' in codes(status)
    assert sink.of(NAME + '/parameters') == []


def test_exchanged_efforts_are_named_as_offline_and_nothing_counts_as_known() -> None:
    def change(k, fields):
        effort = np.array(fields['effort'])
        effort[[0, 1]] = effort[[1, 0]]
        return {**fields, 'effort': effort}

    _, sink = run_node(samples(3, noise=1.0, change=change), rate=RATE)
    final = sink.of(NAME + '/parameters')[-1]
    assert final.verdict == 'no' and not final.converged
    assert not any(p.well_identified for p in final.parameters)
    told = {f.code: f for f in final.findings}['efforts_exchanged']
    assert told.level == 'bad' and 'the efforts of leg_1 and leg_2 seem' in told.text
    status = last_status(sink)
    assert messages.byte_value(status.level) == 2
    assert 'efforts_exchanged' in codes(status)
    assert next(v.value for v in status.values if v.key == 'verdict') == 'no'


def test_services_reset_enable_save_load(tmp_path) -> None:
    node, sink = run_node(
        samples(6),
        rate=RATE,
        folder=str(tmp_path),
        calls=[
            (5.2, '/save', {}),
            (5.3, '/reset', {}),
            (6.0, '/enable', {'data': False}),
            (7.0, '/enable', {'data': True}),
            (7.5, '/load', {}),
        ],
    )
    saved = json.loads((tmp_path / 'parameters.json').read_text())
    assert saved['parameters'][9]['value'] == pytest.approx(16.3081, rel=1e-6)
    estimates = sink.of(NAME + '/parameters')
    assert [e.estimator for e in estimates[:2]] == ['maximum-likelihood', 'loaded']
    # 7 to 15 s hold three whole periods of 2.5 s
    assert node.model.periods == 3
    np.testing.assert_allclose(
        [p.value for p in estimates[-1].parameters[:-1]], list(TRUTH.values()), rtol=1e-6
    )


def test_a_bag_played_again_starts_over() -> None:
    recorded = samples(3)
    again = [Sample(s.time_ns + 10**11, s.message) for s in recorded]
    node, _ = run_node(recorded + again, rate=RATE)
    assert node.model.clock_jumps == 1
    assert node.model.periods == 3


@pytest.mark.parametrize('estimator', ['gauss-markov', 'maximum-likelihood'])
def test_the_warm_up_leaves_no_trace(estimator: str) -> None:
    options = LiveOptions(rate=RATE, estimator=estimator)
    cold = ParallelLive(load_configuration(), options)
    warm = ParallelLive(load_configuration(), options)
    warm.warm_up()
    assert (warm.periods, warm.result, warm.rate) == (0, None, RATE)
    for sample in samples(3, noise=1.0):
        message = sample.message
        values = np.concatenate([message.position, message.effort])
        assert cold.push(sample.time_ns, values) == warm.push(sample.time_ns, values)
    np.testing.assert_array_equal(cold.result.value, warm.result.value)


def test_two_runs_give_the_same_bytes() -> None:
    recorded = samples(3, noise=1.0)
    assert run_node(recorded)[1].rows == run_node(recorded)[1].rows


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match=r'parameter hexapod: .*nowhere'):
        run_node([], hexapod='nowhere.yaml')
    with pytest.raises(ParameterError, match='unknown parameter harmonic'):
        run_node([], harmonic=3)
    with pytest.raises(ParameterError, match='below its minimum'):
        run_node([], rate=-1.0)


@pytest.fixture(scope='module')
def clean():
    """What five periods without a glitch give."""
    return run_node(samples(5, 1.0), rate=RATE)[0].model.result


@pytest.mark.parametrize(
    ('period', 'field', 'size'),
    [
        (0, 'effort', 1e6),
        (1, 'effort', -400.0),
        (4, 'effort', 1e6),
        (0, 'position', 0.3),
        (4, 'position', 0.01),
    ],
)
def test_a_period_with_a_glitch_is_left_out_and_counted(clean, period, field, size) -> None:
    def spoilt(k, fields):
        if k != period * 250 + 77:
            return fields
        values = fields[field].copy()
        values[2] += size
        return {**fields, field: values}

    node, _ = run_node(samples(5, 1.0, change=spoilt), rate=RATE)
    assert (node.model.periods, node.model.rejected_periods) == (4, 1)
    moved = np.abs(node.model.result.value - clean.value)[:-1] / clean.std[:-1]
    assert moved.max() < 1.0  # that a fifth of the data is missing included
    assert 'leg_3' in node.model.reason
    assert ('period_dropped' in {one.code for one in node.model.doubts()}) == (period == 4)


@pytest.mark.parametrize('size', [30.0, 60.0, 120.0])
def test_a_small_glitch_moves_no_estimate_by_a_deviation(clean, size) -> None:
    def spoilt(k, fields):
        return {**fields, 'effort': fields['effort'] + size * (k == 300) * np.eye(6)[2]}

    result = run_node(samples(5, 1.0, change=spoilt), rate=RATE)[0].model.result
    moved = np.abs(result.value - clean.value)[:-1] / clean.std[:-1]
    assert moved.max() < 1.0
