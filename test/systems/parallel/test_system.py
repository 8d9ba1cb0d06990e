"""Recordings in, results out: `identify parallel`, and each bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from veh_identification.errors import (
    BagError,
    InputError,
    ModelError,
    SignalError,
    UsageError,
    VehIdError,
)
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.graph import find_config
from veh_identification.simulation.parallel.scenarios import TRUTH, write_circle, write_periodic
from veh_identification.systems.driver import run
from veh_identification.systems.parallel.recording.reader import periodic_record, read_legs
from veh_identification.systems.registry import find


def quiet(done: int, total: int) -> None:
    assert 0 <= done <= total


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    folder = tmp_path_factory.mktemp('parallel')
    made = {}
    for name, write, duration, noise in (
        ('periodic', write_periodic, 10.0, 1.0),
        ('exact', write_periodic, 5.0, 0.0),
        ('circle', write_circle, 3.0, 1.0),
    ):
        made[name] = folder / name
        with BagWriter(made[name]) as writer:
            truth = write(writer, duration, 7, noise, quiet)
            writer.add_file('truth.json', json.dumps(truth))
    return made


def rewritten(source, target, change) -> str:
    """A copy of a recording whose messages passed `change(index, message)` (None drops one)."""
    with BagReader(source) as reader, BagWriter(target) as writer:
        for index, item in enumerate(reader.messages()):
            message = change(index, item.message)
            if message is not None:
                writer.write_message('joint_states', message, item.time_ns)
    return str(target)


def joint_state(message, **fields):
    values = {
        'header': message.header,
        'name': message.name,
        'position': message.position,
        'effort': message.effort,
        **fields,
    }
    return messages.new('sensor_msgs/msg/JointState', **values)


def test_identify_writes_everything_and_finds_the_truth(bags, tmp_path) -> None:
    out = tmp_path / 'out'
    outcome = run('identify', 'parallel', [bags['periodic']], out=out, validate=bags['circle'])
    assert sorted(p.name for p in out.iterdir()) == [
        'covariance.npz',
        'parameters.csv',
        'parameters.json',
        'report.html',
        'result',
    ]
    data = json.loads((out / 'parameters.json').read_text())
    assert data['system'] == 'parallel' and data['estimator'] == 'maximum-likelihood'
    found = {p['name']: p for p in data['parameters']}
    assert list(found) == [*TRUTH, 'fc']
    for name, true in TRUTH.items():
        assert abs(found[name]['value'] - true) < 4.5 * found[name]['std'], name
    assert found['fc']['value'] == pytest.approx(2.0)
    assert found['p10']['a_priori'] == pytest.approx(16.192)
    assert set(data['residuals']) == {f'leg_{j}' for j in range(1, 7)}
    for leg in data['validation'].values():
        assert leg['a_priori_rms'] is None  # nobody knows the friction beforehand
        # Nothing but noise is left: 5 N, in the mean of four periods.
        assert leg['rms'] == pytest.approx(2.5, rel=0.1)
    recommended = [c['passive'] for c in data['model_selection'] if c['recommended']]
    assert recommended == ['dry']
    assert data['input']['periods'] == [4] and data['input']['validation']['periods'] == 4
    assert data['verdict']['level'] == outcome.verdict.level == 'yes'
    assert outcome.text.splitlines()[0] == outcome.text.splitlines()[-1] == outcome.verdict.line
    assert outcome['p10'].description.startswith('moving mass')
    assert 'periods of 2.5 s' in outcome.text and 'validation on' in outcome.text
    assert 'passive_friction_model' in {one.code for one in outcome.findings}
    origins = {one['what']: one['from'] for one in data['provenance']['inputs']}
    assert origins['base joints [m]'].endswith('hexapod_palida.yaml')
    assert origins['cut-off [Hz]'] == 'maximum likelihood'
    with BagReader(out / 'result') as reader:
        counts = {topic: info.count for topic, info in reader.topics.items()}
    assert counts == {
        '/parallel_identification/parameters': 1,
        '/parallel_identification/reconstruction': 1250,
        '/parallel_identification/validation': data['input']['validation']['samples'],
    }
    run('identify', 'parallel', [bags['exact']], out=out)  # an earlier result is replaced
    assert json.loads((out / 'parameters.json').read_text())['input']['periods'] == [2]
    (out / 'notes.txt').write_text('mine')
    with pytest.raises(VehIdError, match=r"holds 'notes.txt', which is no result"):
        run('identify', 'parallel', [bags['periodic']], out=out)


def test_noise_free_recording_gives_the_truth_to_1e_6(bags, tmp_path) -> None:
    """Through a bag: stamps and values as a robot would send them."""
    (tmp_path / 'out').mkdir()  # an empty folder may be there
    options = {'estimator': 'gauss-markov'}
    outcome = run('identify', 'parallel', [bags['exact']], out=tmp_path / 'out', options=options)
    data = json.loads((tmp_path / 'out' / 'parameters.json').read_text())
    found = {p['name']: p['value'] for p in data['parameters']}
    for name, true in TRUTH.items():
        assert found[name] == pytest.approx(true, rel=1e-6), name
    # A chosen cut-off has no deviation, and nobody may take it for one that was identified.
    chosen = data['parameters'][-1]
    assert (chosen['name'], chosen['std'], chosen['well_identified']) == ('fc', None, False)
    assert outcome.content.parameters[-1].flag == 'given'


def test_several_recordings_and_other_processing(bags) -> None:
    outcome = run(
        'identify',
        'parallel',
        [bags['periodic'], bags['periodic']],
        options={'processing': 'time', 'harmonics': '5', 'skip-periods': 1},
    )
    assert outcome.text.count('3 periods of 2.5 s, 1250 samples each') == 2
    assert outcome['fc'].value == pytest.approx(10.0)  # of the low-pass of the lengths
    assert 'processing_for_comparison' in {one.code for one in outcome.verdict.reasons}


def test_a_cutoff_that_is_not_used_has_no_value(bags) -> None:
    outcome = run('identify', 'hexapod', [bags['periodic']], options={'processing': 'raw'})
    assert np.isnan(outcome['fc'].value) and not outcome['fc'].well_identified
    assert outcome.document[1]['removed'] == [
        {'name': 'fc', 'reason': 'processing raw filters nothing'}
    ]


def test_recordings_that_were_read_before_give_the_same(bags, tmp_path) -> None:
    """Options win over `identify:` of the configuration, whichever way a recording comes."""
    robot = find('identify', 'parallel')
    entries = yaml.safe_load(find_config('hexapod_palida.yaml').read_text())
    file = tmp_path / 'robot.yaml'
    file.write_text(yaml.safe_dump({**entries, 'identify': {'estimator': 'gauss-markov'}}))
    config = robot.configure(file)
    read = robot.read(bags['periodic'], config)
    assert robot.checks(read, config) == []
    validate = robot.read(bags['circle'], config)
    ready = run('identify', 'parallel', [read], config=config, validate=validate)
    paths = run('identify', 'parallel', [bags['periodic']], config=file, validate=bags['circle'])
    np.testing.assert_array_equal(ready.result.value, paths.result.value)
    np.testing.assert_array_equal(ready.result.validation.rms, paths.result.validation.rms)
    assert ready.result.estimator == paths.result.estimator == 'gauss-markov'
    likely = run(
        'identify',
        'parallel',
        [read],
        config=config,
        options={'estimator': 'maximum-likelihood', 'penalty': 'aic'},
    )
    assert likely.result.estimator == 'maximum-likelihood' and likely['fc'].std > 0.0


@pytest.mark.parametrize(
    ('rate', 'told'), [(3.0, '3 times as fast'), (2.0, '2 times'), (0.5, '0.5 times'), (1.0, '')]
)
def test_stamps_of_another_rate_are_named(bags, rate: float, told: str) -> None:
    """The motion still repeats, but not every 2.5 s as the excitation says."""
    robot = find('identify', 'parallel')
    config = robot.configure(None)
    read = robot.read(bags['periodic'], config)
    legs = read.legs
    changed = replace(read, legs=replace(legs, stamps=legs.stamps[0] + rate * legs.stamps))
    found = [one for one in robot.checks(changed, config) if one.level != 'note']
    off = [one.text for one in found if one.code == 'fundamental_off']
    assert [told in text for text in off] == ([True] if told else [])
    assert told or not found


def test_values_that_cannot_exist_are_never_called_good() -> None:
    from veh_identification.systems.parallel.identify import impossible_names
    from veh_identification.systems.parallel.model.model import Structure

    names = Structure().names()
    made = SimpleNamespace(
        names=names,
        value=np.array([-1.0 if name in ('p2', 'p6', 'p9', 'r3') else 1.0 for name in names]),
        std=np.array([0.9 if name == 'r3' else 0.1 for name in names]),
    )
    found = impossible_names(SimpleNamespace(structure=Structure()), made)
    assert found == ['p6']  # p2 and p9 may have any sign, r3 may be chance


def test_wrong_options_are_usage_errors(bags, tmp_path) -> None:
    cases = [
        ({'penality': 'bic'}, "no option 'penality'; did you mean 'penalty'"),
        ({'harmonics': 'many'}, 'harmonics must be a whole number'),
        ({'estimator': 'magic'}, 'estimator must be one of'),
        ({'skip_periods': -1}, 'skip_periods must be at least 0'),
        ({'urdf': 'robot.urdf'}, "has no option 'urdf'"),
    ]
    for options, sentence in cases:
        with pytest.raises(UsageError, match=sentence):
            run('identify', 'parallel', [bags['periodic']], out=tmp_path / 'out', options=options)
    with pytest.raises(UsageError, match='at least one recording'):
        run('identify', 'parallel', [], out=tmp_path / 'out')
    entries = yaml.safe_load(find_config('hexapod_palida.yaml').read_text())
    file = tmp_path / 'robot.yaml'
    file.write_text(yaml.safe_dump({**entries, 'identify': {'penality': 'bic'}}))
    with pytest.raises(InputError, match=r"robot.yaml: identify has no option 'penality'"):
        run('identify', 'parallel', [bags['periodic']], out=tmp_path / 'out', config=file)
    assert not (tmp_path / 'out').exists()


def test_missing_leg_is_named(bags, tmp_path) -> None:
    def without_leg(_index, message):
        keep = [0, 1, 2, 3, 5]
        return joint_state(
            message,
            name=[message.name[i] for i in keep],
            position=message.position[keep],
            effort=message.effort[keep],
        )

    bag = rewritten(bags['exact'], tmp_path / 'five', without_leg)
    with pytest.raises(BagError, match=r'five, topic joint_states: .*leg_5'):
        read_legs(bag)
    bag = rewritten(bags['exact'], tmp_path / 'silent', lambda i, m: joint_state(m, effort=[]))
    with pytest.raises(BagError, match=r'silent, topic joint_states: .*effort \(force\).*leg_1'):
        read_legs(bag)


def test_unequal_and_too_few_periods_are_named(bags, tmp_path) -> None:
    bag = rewritten(
        bags['periodic'], tmp_path / 'gap', lambda i, m: None if 1400 <= i < 1440 else m
    )
    record = periodic_record(read_legs(bag).legs, 0.4)
    whole = periodic_record(read_legs(bags['periodic']).legs, 0.4)
    assert record.periods == whole.periods
    assert [one.code for one in record.findings] == ['gaps_left_out']
    bag = rewritten(
        bags['periodic'], tmp_path / 'long', lambda i, m: None if 1400 <= i < 1840 else m
    )
    record = periodic_record(read_legs(bag).legs, 0.4)
    assert record.periods == whole.periods - 1
    assert 'period 1 lacks too many samples' in record.findings[0].text
    bag = rewritten(
        bags['periodic'], tmp_path / 'torn', lambda i, m: m if i % 1250 < 900 else None
    )
    with pytest.raises(SignalError, match=r'torn: samples are missing: 0 of .*a gap of 0.702'):
        periodic_record(read_legs(bag).legs, 0.4)
    bag = rewritten(bags['periodic'], tmp_path / 'short', lambda i, m: m if i < 2000 else None)
    with pytest.raises(SignalError, match=r'short: at least two periods of 2.5 s are needed'):
        run('identify', 'parallel', [bag], out=tmp_path / 'out')
    with pytest.raises(SignalError, match='after 3 skipped'):
        periodic_record(read_legs(bags['periodic']).legs, 0.4, skip_periods=3)
    assert not (tmp_path / 'out').exists()


def test_unreachable_and_singular_recordings_are_named(bags, tmp_path) -> None:
    bag = rewritten(
        bags['exact'], tmp_path / 'far', lambda i, m: joint_state(m, position=m.position + 0.5)
    )
    with pytest.raises(InputError, match=r'the lengths seem to be strokes: -0\.51'):
        run('identify', 'parallel', [bag], out=tmp_path / 'out')
    data = yaml.safe_load(find_config('hexapod_palida.yaml').read_text())
    data['limits']['condition'] = 15.0
    strict = tmp_path / 'strict.yaml'
    strict.write_text(yaml.safe_dump(data))
    with pytest.raises(ModelError, match=r'singular pose, at sample .* above the guard 15'):
        run('identify', 'parallel', [bags['exact']], out=tmp_path / 'out', config=strict)


def test_fundamental_is_found_without_help(bags) -> None:
    series = read_legs(bags['periodic']).legs
    found = periodic_record(series)
    assert found.fundamental_hz == pytest.approx(0.4, rel=1e-4)
    assert found.periods in (3, 4)
    drifted = periodic_record(series, 0.405)
    assert drifted.fundamental_hz == pytest.approx(0.4, rel=1e-5)
    assert [one.code for one in drifted.findings] == ['fundamental_corrected']
    assert 'the fundamental is 0.4' in drifted.findings[0].text


@pytest.mark.parametrize(('name', 'first'), [('late_start', 0), ('stop', 2500)])
def test_a_period_unlike_the_others_is_left_out_and_said(bags, tmp_path, name, first) -> None:
    def still(index, message):
        if index == first:
            still.position = message.position
        stopped = first <= index < first + 600
        return joint_state(message, position=still.position) if stopped else message

    bag = rewritten(bags['periodic'], tmp_path / name, still)
    record = periodic_record(read_legs(bag).legs, 0.4)
    assert record.periods == 3
    # A run-in is usual, a stop in the middle is not.
    level, code = ('warn', 'period_left_out') if first else ('note', 'run_in_left_out')
    (said,) = [one for one in record.findings if one.code == code]
    assert said.level == level
    assert f'{name}: period {first // 1250} differs from the others' in said.text


def test_validation_on_a_motion_that_does_not_repeat(bags, tmp_path) -> None:
    bag = rewritten(bags['periodic'], tmp_path / 'once', lambda i, m: m if i < 1500 else None)
    outcome = run('identify', 'parallel', [bags['periodic']], validate=bag)
    data = outcome.document[1]
    assert 'validation_not_periodic' in {one.code for one in outcome.findings}
    assert data['input']['validation']['periods'] == 0
    assert all(leg['rms'] < 6.5 for leg in data['validation'].values())  # 5 N of noise


def test_quantisation_and_coupling_are_in_the_recording(bags) -> None:
    series = read_legs(bags['periodic']).legs
    steps = series.values[:, :6] / 5e-6
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)
    record = periodic_record(series, 0.4)
    noise = record.forces.covariance
    assert np.sqrt(np.diag(noise)) == pytest.approx(5.0, rel=0.1)
    correlation = noise[0, 1] / noise[0, 0]
    assert correlation == pytest.approx(0.6, abs=0.06)
