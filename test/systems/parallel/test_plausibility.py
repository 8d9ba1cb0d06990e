"""Mistakes of a parallel robot that the checks name before anything is identified."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from veh_identification.signals import TimeSeries
from veh_identification.simulation.parallel.scenarios import (
    HexapodSensors,
    PeriodicRun,
    default_excitation,
    exact_run,
)
from veh_identification.systems.parallel.checks.channels import channel_findings
from veh_identification.systems.parallel.checks.plausibility import plausibility
from veh_identification.systems.parallel.checks.units import length_range
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.recording.mean_period import (
    PeriodicRecord,
    average_record,
)

CONFIGURATION = load_configuration()
MODEL = CONFIGURATION.model()
EXCITATION = default_excitation(CONFIGURATION)


@cache
def run() -> PeriodicRun:
    """Not made at import: every worker imports this file, and its kernels take seconds."""
    return exact_run(MODEL, EXCITATION, 500.0)


def record(lengths=lambda q: q, forces=lambda f: f) -> PeriodicRecord:
    count = len(run().times)
    q, f = run().repeated(4 * count, HexapodSensors(), np.random.default_rng(5))
    return average_record(lengths(q), forces(f), count, EXCITATION.fundamental_hz)


def codes(made: PeriodicRecord, model=MODEL) -> list[tuple[str, str]]:
    found = plausibility(model, made, EXCITATION.harmonics)
    return [(one.level, one.code) for one in found]


def test_a_good_recording_says_nothing() -> None:
    assert codes(record()) == []


@pytest.mark.parametrize(
    ('changes', 'code'),
    [
        ({'lengths': lambda q: 1e3 * q}, 'unit'),
        ({'forces': lambda f: 1e-3 * f}, 'unit'),
        ({'forces': lambda f: -f}, 'effort_sign'),
        ({'forces': lambda f: f * np.array([1.0, 1.0, 1.25, 1.0, 1.0, 1.0])}, 'scale'),
        ({'lengths': lambda q: q - 0.4}, 'length_offset'),
        ({'forces': lambda f: f + np.array([0.0, -60.0, 0.0, 0.0, 0.0, 0.0])}, 'effort_offset'),
    ],
)
def test_one_cause_stands_alone(changes, code) -> None:
    assert codes(record(**changes)) == [('bad', code)]


@pytest.mark.parametrize(
    ('changes', 'code', 'words'),
    [
        (
            {'forces': lambda f: f / np.array([52.0, 48.0, 50.0, 51.0, 49.0, 50.0])},
            'unit',
            'motor currents',
        ),
        (
            {'forces': lambda f: f * np.array([1.1, 0.9, 1.0, 1.05, 0.95, 1.0])},
            'scale',
            'its own gain',
        ),
        ({'forces': lambda f: f - f[0]}, 'effort_offset', 'off their zeros'),
        ({'lengths': lambda q: 1.02 * q}, 'length_scale', 'seem to be 1.02'),
        ({'lengths': lambda q: q + 0.03}, 'length_offset', 'all lengths seem to be +30'),
    ],
)
def test_what_is_wrong_with_all_legs_at_once_is_named(changes, code, words) -> None:
    (found,) = plausibility(MODEL, record(**changes), EXCITATION.harmonics)
    assert (found.level, found.code) == ('bad', code)
    assert words in found.text


@pytest.mark.parametrize(
    ('changes', 'code', 'words'),
    [
        ({'lengths': lambda q: q + 0.005}, 'length_offset', 'all lengths seem to be +5'),
        (
            {'forces': lambda f: f * np.array([1.0, 1.04, 1.0, 1.0, 1.0, 1.0])},
            'scale',
            'leg_2 seems to be 1.04',
        ),
    ],
)
def test_what_noise_hides_is_told_with_its_size(changes, code, words) -> None:
    # Five millimetres move the values by five deviations and the misfit by a twentieth.
    found = [
        one
        for one in plausibility(MODEL, record(**changes), EXCITATION.harmonics)
        if not one.code.startswith('maybe')
    ]
    assert [(one.level, one.code) for one in found] == [('warn', code)]
    assert words in found[0].text


def test_late_efforts_are_left_to_the_estimate() -> None:
    assert codes(record(forces=lambda f: np.roll(f, 2, axis=0))) == []


def test_lengths_without_noise_are_commanded() -> None:
    lengths = np.tile(run().lengths, (4, 1))
    assert codes(record(lengths=lambda q: lengths)) == [('warn', 'lengths_commanded')]


def test_base_and_platform_swapped() -> None:
    robot = MODEL.robot
    swapped = replace(robot, base_joints=robot.platform_joints, platform_joints=robot.base_joints)
    model = type(MODEL)(swapped, MODEL.structure)
    assert codes(record(), model) == [('bad', 'geometry_swapped')]


def test_the_zero_of_one_leg_is_named_with_its_size() -> None:
    made = record(lengths=lambda q: q - np.array([0.0, 0.0, 0.0, 0.0, 0.006, 0.0]))
    (found,) = plausibility(MODEL, made, EXCITATION.harmonics)
    assert found.code == 'length_offset'
    assert found.where.endswith('position[leg_5]')
    size = float(found.text.split('seems to be ')[1].split(' mm')[0])
    assert size == pytest.approx(-6.0, abs=0.3)


@pytest.mark.parametrize(
    ('factor', 'unit'), [(1e3, 'mm'), (100.0, 'cm'), (180.0 / np.pi, 'degrees'), (39.37, 'inches')]
)
def test_lengths_that_no_leg_has_are_in_another_unit(factor, unit) -> None:
    (found,) = length_range(MODEL.robot, factor * run().lengths, 'joint_states')
    assert (found.level, found.code) == ('bad', 'unit')
    assert f'seem to be in {unit}' in found.text


def test_one_leg_in_another_unit_is_named() -> None:
    lengths = run().lengths * [1.0, 1.0, 1e3, 1.0, 1.0, 1.0]
    (found,) = length_range(MODEL.robot, lengths, 'joint_states')
    assert (found.level, found.code) == ('bad', 'unit')
    assert 'of leg_3 seem to be in mm' in found.text


def test_lengths_are_not_judged_by_a_description_that_contradicts_itself() -> None:
    in_mm = replace(MODEL.robot, base_joints=1e3 * MODEL.robot.base_joints)
    assert length_range(in_mm, 1e3 * run().lengths, 'joint_states') == []
    assert length_range(MODEL.robot, run().lengths, 'joint_states') == []


def test_without_limits_lengths_are_judged_by_those_at_home() -> None:
    unlimited = replace(MODEL.robot, limits=type(MODEL.robot.limits)())
    (found,) = length_range(unlimited, 1e3 * run().lengths, 'joint_states')
    assert 'in mm' in found.text
    assert length_range(unlimited, run().lengths, 'joint_states') == []


def _of_robot(**fields):
    robot = replace(CONFIGURATION.robot, **fields)
    return type(MODEL)(robot, MODEL.structure)


@pytest.mark.parametrize(
    ('fields', 'code', 'words'),
    [
        ({'gravity': np.array([0.0, 0.0, -1.0])}, 'gravity', 'not 1 m/s^2'),
        ({'gravity': np.zeros(3)}, 'gravity', '-9.807'),
        (
            {
                'base_joints': np.roll(CONFIGURATION.robot.base_joints, 1, axis=0),
                'alpha_axes': np.roll(CONFIGURATION.robot.alpha_axes, 1, axis=0),
            },
            'geometry',
            'listed from that of leg_6 on',
        ),
        (
            {'platform_joints': CONFIGURATION.robot.platform_joints * [1.0, -1.0, 1.0]},
            'geometry',
            'mirrored',
        ),
        (
            {'platform_joints': CONFIGURATION.robot.platform_joints * [1.1, 1.1, 1.0]},
            'geometry',
            '1.1 times too far out',
        ),
        (
            {'base_joints': CONFIGURATION.robot.base_joints * [1.05, 1.05, 1.0]},
            'geometry',
            '1.05 times too far out',
        ),
        (
            {'platform_joints': CONFIGURATION.robot.platform_joints - [0.0, 0.0, 0.02]},
            'geometry',
            'mm too high',
        ),
    ],
)
def test_a_wrong_drawing_is_named(fields, code, words) -> None:
    (found,) = plausibility(_of_robot(**fields), record(), EXCITATION.harmonics)
    assert (found.level, found.code) == ('bad', code)
    assert words in found.text


@pytest.mark.parametrize('zero', [0.0, 0.01])
def test_a_leg_that_counts_inwards_is_named(zero) -> None:
    def inwards(q):
        q = q.copy()
        q[:, 2] = 2.0 * q[:, 2].mean() + zero - q[:, 2]
        return q

    assert codes(record(lengths=inwards)) == [('bad', 'length_sign')]


def test_a_leg_so_long_that_no_pose_has_it_is_named() -> None:
    """Nothing else could be judged: the lengths as they are have no pose at all."""
    longer = codes(record(lengths=lambda q: q * [1, 1, 1, 1, 1.02, 1]))
    assert longer == [('bad', 'length_offset')]


def test_one_effort_that_lags_is_named() -> None:
    def filtered(f):
        """A low pass of 50 ms behind one leg."""
        f = f.copy()  # four periods
        line = np.fft.rfft(f[:, 3])
        omega = 0.5 * np.pi * EXCITATION.fundamental_hz * np.arange(len(line))
        f[:, 3] = np.fft.irfft(line / (1.0 + 0.05j * omega), len(f))
        return f

    (found,) = plausibility(MODEL, record(forces=filtered), EXCITATION.harmonics)
    assert (found.level, found.code) == ('bad', 'effort_delay')
    assert 'the effort of leg_4' in found.text


def test_efforts_without_signs_are_named_before_anything_is_fitted() -> None:
    made = run()
    stamps = np.arange(len(made.forces)) / made.rate
    for change, told in ((np.abs, ['rectified']), (lambda f: f, [])):
        legs = TimeSeries(
            stamps,
            np.hstack([made.lengths, change(made.forces)]),
            tuple('abcdefghijkl'),
            ('',) * 12,
        )
        found = channel_findings(CONFIGURATION.robot, legs, 'joint_states')
        assert [one.code for one in found if one.level == 'bad'] == told
