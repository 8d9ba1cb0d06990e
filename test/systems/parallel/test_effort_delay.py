"""Efforts that come later than the lengths: found, applied, said; nothing where there is none."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from veh_identification.errors import InputError
from veh_identification.identification.trajectory import FourierTrajectory, pose_rates
from veh_identification.signals import TimeSeries
from veh_identification.simulation.parallel.scenarios import (
    EPOCH_NS,
    TRUTH,
    HexapodSensors,
    circle,
    default_excitation,
    true_parameters,
)
from veh_identification.systems.driver import run
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.live.accumulation import LiveOptions, ParallelLive
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
from veh_identification.systems.parallel.options import settings_of
from veh_identification.systems.parallel.recording.reader import LegRecording

CONFIGURATION = load_configuration()
MODEL = CONFIGURATION.model()
EXCITATION = default_excitation(CONFIGURATION)
CHANNELS = [f'{field}[{leg}]' for field in ('position', 'effort') for leg in LEGS]


def recording(
    late: float,
    seed: int = 100,
    duration: float = 10.0,
    jitter: float = 0.0,
    trajectory: FourierTrajectory = EXCITATION,
) -> LegRecording:
    """The scenario hexapod-periodic whose efforts are those of `late` seconds before."""
    rng = np.random.default_rng(seed)
    times = np.arange(round(500.0 * duration)) / 500.0
    times = times + jitter * rng.uniform(-0.5, 0.5, len(times)) / 500.0
    lengths = inverse_kinematics(MODEL.robot, trajectory.evaluate(times)[0])
    pose, pose_dot, pose_ddot = trajectory.evaluate(times - late)
    forces = MODEL.regressor(pose, *pose_rates(pose, pose_dot, pose_ddot))
    measured = HexapodSensors().measure(lengths, forces @ true_parameters(MODEL), rng)
    stamps = EPOCH_NS + np.rint(times * 1e9).astype(np.int64)
    units = ['m'] * 6 + ['N'] * 6
    series = TimeSeries.from_nanoseconds(
        stamps, np.concatenate(measured, axis=1), CHANNELS, units, label='simulated'
    )
    return LegRecording('simulated', series)


@lru_cache
def identified(late: float, chosen: str = 'auto', jitter: float = 0.0):
    given = recording(late, jitter=jitter)
    return run('identify', 'parallel', [given], options={'effort_delay': chosen})


def deviations(outcome) -> np.ndarray:
    """Errors of the parameters in their standard deviations."""
    return np.array([(outcome[n].value - true) / outcome[n].std for n, true in TRUTH.items()])


def codes(outcome) -> set[str]:
    return {one.code for one in outcome.findings}


@pytest.mark.parametrize('late', [0.001, 0.002, 0.005, -0.002])
def test_a_delay_is_found_applied_and_said(late) -> None:
    outcome = identified(late)
    found = outcome.document[1]['effort_delay']
    assert found['applied'] and 0.0 < found['std'] < 5e-5
    assert abs(found['value'] - late) < 3.0 * found['std']
    assert np.abs(deviations(outcome)).max() < 3.0
    (said,) = [one for one in outcome.findings if one.code == 'effort_delay']
    assert said.level == 'warn' and said.where == 'joint_states.effort'
    assert f'{1e3 * abs(found["value"]):.4g}' in said.text and 'effort_delay:' in said.text
    assert said.evidence > 1.2
    assert not [code for code in codes(outcome) if code.startswith('force_misfit')]
    assert f'delay of the efforts {1e3 * found["value"]:.4g} +- ' in outcome.text
    origins = {one['what']: one['from'] for one in outcome.document[1]['provenance']['inputs']}
    assert origins['delay of the efforts [s]'] == 'maximum likelihood'


def test_a_late_recording_is_wrong_without_it() -> None:
    """So that the tests above say something."""
    outcome = identified(0.002, 'off')
    off = [
        abs(outcome[name].value / true - 1.0) for name, true in TRUTH.items() if name[0] in 'rv'
    ]
    assert max(off) > 0.3 and np.abs(deviations(outcome)).max() > 5.0
    assert 'effort_delay' not in outcome.document[1]
    assert [code for code in codes(outcome) if code.startswith('force_misfit')]


def test_nothing_is_said_and_nothing_changes_without_a_delay() -> None:
    auto, off = identified(0.0), identified(0.0, 'off')
    np.testing.assert_array_equal(auto.result.value, off.result.value)
    np.testing.assert_array_equal(auto.result.covariance, off.result.covariance)
    assert codes(auto) == codes(off) and 'effort_delay' not in codes(auto)
    assert [one.level for one in auto.findings] == [one.level for one in off.findings]
    found = auto.document[1]['effort_delay']
    assert not found['applied'] and abs(found['value']) < 3.0 * found['std']
    assert np.abs(deviations(auto)).max() < 3.0


def test_the_doubt_of_the_delay_is_in_the_deviations() -> None:
    """What it adds to a delay that is known is what a wrong delay does to the values."""
    auto = identified(0.002)
    found = auto.document[1]['effort_delay']
    given = identified(0.002, repr(found['value']))
    assert given.document[1]['effort_delay'] == {**found, 'std': None}
    assert 'effort_delay' not in codes(given)
    np.testing.assert_array_equal(auto.result.value, given.result.value)
    added = np.sqrt(np.diag(auto.result.covariance - given.result.covariance)[:-1])
    high, low = (identified(0.002, repr(found['value'] + d)) for d in (5e-4, -5e-4))
    slope = np.abs(high.result.value - low.result.value)[:-1] / 1e-3
    # Dry friction depends on the delay by single samples, the others are nearly smooth.
    smooth = np.array([name[0] in 'pv' for name in TRUTH])
    assert (added[smooth] > 0.0).all()
    np.testing.assert_allclose(added[smooth], slope[smooth] * found['std'], rtol=0.25)


def test_samples_off_the_grid() -> None:
    outcome = identified(0.002, jitter=0.4)
    found = outcome.document[1]['effort_delay']
    assert found['applied'] and abs(found['value'] - 0.002) < 3.0 * found['std']
    assert np.abs(deviations(outcome)).max() < 3.0


@pytest.mark.parametrize('duration', [3.0, 0.9])
def test_the_validation_has_the_same_delay(duration) -> None:
    """A circle that repeats, and one that is not closed twice."""
    unseen = recording(0.005, 5, duration, trajectory=circle(CONFIGURATION))
    rms = {}
    for chosen in ('0.005', 'off'):
        made = run(
            'identify',
            'parallel',
            [recording(0.005)],
            validate=unseen,
            options={'effort_delay': chosen, 'estimator': 'gauss-markov'},
        )
        assert (made.document[1]['input']['validation']['periods'] > 0) == (duration > 1.0)
        noise = np.array(made.document[1]['input']['validation_noise_rms'])
        rms[chosen] = made.result.validation.rms / noise
    assert (rms['0.005'] < 1.25).all()
    assert (rms['off'] > 1.1 * rms['0.005']).all()


def test_what_the_option_may_be() -> None:
    def chosen(entry):
        return settings_of(replace(CONFIGURATION, identify={'effort_delay': entry})).effort_delay

    assert chosen('auto') is None
    assert chosen(False) == chosen('off') == 0.0  # YAML reads off as false
    assert chosen(0.002) == chosen('2e-3') == 0.002
    for wrong in ('soon', '5', 'nan', True):
        with pytest.raises(InputError, match='effort_delay must be'):
            chosen(wrong)


@pytest.mark.parametrize('structure', [{'sign_width': 0.02}, {'passive': 'none'}])
def test_another_misfit_is_not_taken_for_a_delay(structure) -> None:
    """Dry friction that is none, or that changes its sign otherwise."""
    config = replace(CONFIGURATION, structure=replace(CONFIGURATION.structure, **structure))
    options = {'estimator': 'gauss-markov'}
    outcome = run('identify', 'parallel', [recording(0.0)], config=config, options=options)
    assert not outcome.document[1]['effort_delay']['applied']
    assert [code for code in codes(outcome) if code.startswith('force_misfit')]


def test_a_delay_beside_another_fault_is_said_but_not_applied() -> None:
    structure = replace(CONFIGURATION.structure, sign_width=0.1)
    config = replace(CONFIGURATION, structure=structure)
    options = {'estimator': 'gauss-markov'}
    outcome = run('identify', 'parallel', [recording(0.002)], config=config, options=options)
    assert not outcome.document[1]['effort_delay']['applied']
    assert 'effort_delay_possible' in codes(outcome) and 'effort_delay' not in codes(outcome)


def test_a_given_delay_counts_live_too() -> None:
    legs = recording(0.005).legs
    config = replace(CONFIGURATION, identify={'effort_delay': 0.005})
    live = ParallelLive(config, LiveOptions(rate=500.0))
    for stamp, values in zip(legs.stamps_ns(), legs.values, strict=True):
        live.push(int(stamp), values)
    assert live.result is not None
    errors = (live.result.value[:-1] - true_parameters(MODEL)) / live.result.std[:-1]
    assert np.abs(errors).max() < 3.5
