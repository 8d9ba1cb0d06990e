"""Recordings that cannot be used: one clear sentence each, nothing written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import parallel_stewart as stewart
import pytest

from veh_identification.errors import VehIdError
from veh_identification.findings import Finding
from veh_identification.systems.driver import run

ROBOT = stewart.Robot()
GOOD = stewart.record(
    ROBOT, stewart.excitation(ROBOT), stewart.Recording(rate=250.0, duration=8.5)
)


def refused(folder, data: stewart.Data, sentence: str, *, config=None, **bag) -> None:
    config = config or stewart.write_config(folder / 'stewart.yaml', ROBOT)
    path = stewart.write_bag(folder / 'bag', data, **bag)
    with pytest.raises(VehIdError, match=sentence) as caught:
        run('identify', 'parallel', [path], out=folder / 'out', config=config)
    assert '\n' not in str(caught.value)
    assert not (folder / 'out').exists()


def exchanged(values: np.ndarray, a: int, b: int) -> np.ndarray:
    order = list(range(6))
    order[a], order[b] = b, a
    return values[:, order]


def against_good(folder, data: stewart.Data):
    """Findings, and by how many deviations the values differ from those of good data."""
    config = stewart.write_config(folder / 'stewart.yaml', ROBOT)
    made, plain = (
        run('identify', 'parallel', [stewart.write_bag(folder / name, one)], config=config)
        for name, one in (('bag', data), ('plain', GOOD))
    )
    pairs = zip(made.content.parameters, plain.content.parameters, strict=True)
    moved = [abs(a.value - b.value) / b.std for a, b in pairs if b.std > 0.0 and b.name != 'fc']
    return {one.code: one.text for one in made.findings}, max(moved)


def test_nan_in_one_leg_costs_its_samples_alone(tmp_path) -> None:
    lengths = GOOD.lengths.copy()
    lengths[300:330, 2] = np.nan
    findings, moved = against_good(tmp_path, replace(GOOD, lengths=lengths))
    told = findings['gaps_left_out']
    assert 'gaps of up to 0.124 s' in told
    assert 'filled by the mean of the other periods' in told
    assert 'position[leg_3]' in told
    assert moved < 1.0


@pytest.mark.parametrize('size', [500.0, 1e6])
def test_one_spike_of_any_size_moves_no_estimate(tmp_path, size) -> None:
    forces = GOOD.forces.copy()
    forces[777, 2] += size
    findings, moved = against_good(tmp_path, replace(GOOD, forces=forces))
    assert 'glitches_left_out' in findings
    assert moved < 1.0


def test_stretches_shorter_than_what_a_glitch_costs(tmp_path) -> None:
    """A fifth of the samples are lost, and some of them in a row."""
    random = np.random.default_rng(8)
    kept = random.random(len(GOOD.stamps)) > 0.2
    kept &= np.repeat(random.random(len(kept) // 25 + 1) > 0.05, 25)[: len(kept)]
    data = replace(
        GOOD, stamps=GOOD.stamps[kept], lengths=GOOD.lengths[kept], forces=GOOD.forces[kept]
    )
    findings, moved = against_good(tmp_path, data)
    assert any('gaps' in one for one in findings)
    assert moved < 3.0


def test_topic_and_joints_of_other_names_are_told(tmp_path) -> None:
    sentence = 'there is no topic joint_states .*, only /cylinders; --topic, or topic under'
    refused(tmp_path, GOOD, sentence, topic='/cylinders')
    names = [f'cylinder_{k}' for k in range(6)]
    sentence = r'leg_1 to leg_6 are needed, the messages name .*cylinder_0.*convert --map'
    (tmp_path / 'other').mkdir()
    refused(tmp_path / 'other', GOOD, sentence, names=names)


def test_a_leg_that_is_never_measured(tmp_path) -> None:
    forces = GOOD.forces.copy()
    forces[:, 4] = np.nan
    sentence = r'joint_states: no message gives the effort \(force\) of leg_5'
    refused(tmp_path, replace(GOOD, forces=forces), sentence)


@pytest.mark.parametrize(('a', 'b'), [(0, 1), (1, 2)])
def test_exchanged_legs_are_named(tmp_path, a, b) -> None:
    data = replace(
        GOOD, lengths=exchanged(GOOD.lengths, a, b), forces=exchanged(GOOD.forces, a, b)
    )
    refused(
        tmp_path,
        data,
        f'leg_{a + 1} and leg_{b + 1} seem to be exchanged; with that .* times better',
    )


def test_exchanged_efforts_are_named(tmp_path) -> None:
    data = replace(GOOD, forces=exchanged(GOOD.forces, 2, 5))
    refused(tmp_path, data, 'the efforts of leg_3 and leg_6 seem to be exchanged')


def test_an_effort_of_opposite_sign_is_named(tmp_path) -> None:
    forces = GOOD.forces * np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0])
    sentence = 'the effort of leg_4 seems to have the opposite sign'
    refused(tmp_path, replace(GOOD, forces=forces), sentence)


def test_a_length_five_millimetres_out_of_reach(tmp_path) -> None:
    longest = float(GOOD.lengths.max())
    limits = {'length_min': 0.7, 'length_max': longest - 0.005}
    config = stewart.write_config(tmp_path / 'short.yaml', ROBOT, limits=limits)
    sentence = r'unreachable pose, sample \d+ asks leg_\d for a length'
    refused(tmp_path, GOOD, sentence, config=config)


def test_millimetres_and_kilonewtons(tmp_path) -> None:
    (tmp_path / 'mm').mkdir()
    (tmp_path / 'kN').mkdir()
    data = replace(GOOD, lengths=1e3 * GOOD.lengths)
    refused(tmp_path / 'mm', data, 'the lengths seem to be in mm, they must be in m')
    data = replace(GOOD, forces=1e-3 * GOOD.forces)
    refused(tmp_path / 'kN', data, 'the efforts seem to be in kN, they must be in N')


def test_efforts_of_the_opposite_sign(tmp_path) -> None:
    refused(
        tmp_path, replace(GOOD, forces=-GOOD.forces), 'all efforts seem to have the opposite sign'
    )


def test_gravity_the_wrong_way(tmp_path) -> None:
    config = stewart.write_config(tmp_path / 'down.yaml', ROBOT, gravity=[0.0, 0.0, 9.81])
    refused(tmp_path, GOOD, r'gravity seems to be \(0, 0, -9.81\)', config=config)


def test_constant_efforts(tmp_path) -> None:
    data = replace(GOOD, forces=np.zeros_like(GOOD.forces))
    refused(tmp_path, data, r'the effort \(force\) of leg_1 is 0 N in every message')


def test_a_sensor_that_is_stuck(tmp_path) -> None:
    lengths = GOOD.lengths.copy()
    lengths[:, 3] = lengths[0, 3]
    sentence = r'the position \(length\) of leg_4 is 0\.\d+ m in every message'
    refused(tmp_path, replace(GOOD, lengths=lengths), sentence)


@pytest.mark.parametrize('noise', [0.0, 15e-6])
def test_a_robot_that_stands_still(tmp_path, noise) -> None:
    rng = np.random.default_rng(0)
    lengths = GOOD.lengths[:1] + noise * rng.standard_normal(GOOD.lengths.shape)
    refused(tmp_path, replace(GOOD, lengths=lengths), 'the robot stands still')


def test_a_motion_that_does_not_repeat(tmp_path) -> None:
    how = stewart.Recording(rate=250.0, duration=15.0)
    data = stewart.record(ROBOT, stewart.wandering(ROBOT), how)
    assert 'motion_not_periodic' in findings(tmp_path, data)
    configuration = stewart.write_config(
        tmp_path / 'periods.yaml', ROBOT, identify={'processing': 'frequency'}
    )
    with pytest.raises(VehIdError, match=r'does not repeat|no repetition|two periods of'):
        run('identify', 'parallel', [tmp_path / 'bag'], config=configuration)


def test_messages_that_never_hold_all_legs(tmp_path) -> None:
    lengths = GOOD.lengths.copy()
    lengths[::2, :3], lengths[1::2, 3:] = np.nan, np.nan
    sentence = 'messages give the position and the effort of all six legs'
    refused(tmp_path, replace(GOOD, lengths=lengths), sentence)


def findings(folder, data: stewart.Data, robot: stewart.Robot = ROBOT) -> dict[str, Finding]:
    outcome = run(
        'identify',
        'parallel',
        [stewart.write_bag(folder / 'bag', data)],
        config=stewart.write_config(folder / 'stewart.yaml', robot),
    )
    return {one.code: one for one in outcome.findings}


def test_a_slightly_wrong_geometry_is_told_not_refused(tmp_path) -> None:
    found = findings(tmp_path, GOOD, stewart.Robot(platform=0.95 * ROBOT.platform))
    assert found['geometry'].level == found['force_misfit'].level == 'warn'
    assert 'the joints of the platform seem to be described 0.94' in found['geometry'].text


def test_a_wrong_geometry_that_forces_tell_for_sure_is_refused(tmp_path) -> None:
    other = stewart.Robot(platform=0.9 * ROBOT.platform)
    with pytest.raises(
        VehIdError, match=r'joints of the platform seem to be described 0\.(89|90)'
    ):
        findings(tmp_path, GOOD, other)


def test_friction_that_changes_sign_gradually_is_named(tmp_path) -> None:
    how = stewart.Recording(rate=250.0, duration=8.5, sign_width=0.02)
    data = stewart.record(ROBOT, stewart.excitation(ROBOT), how)
    found = findings(tmp_path, data)['force_misfit_sign_width']
    assert (found.level, found.where) == ('warn', 'model.sign_width')
    assert 'with `sign_width: 0.02` under model: it would be' in found.text
    assert found.evidence > 1.1


def test_a_clock_that_leaps(tmp_path) -> None:
    stamps = GOOD.stamps.copy()
    stamps[1000:] += 3_000_000_000
    refused(tmp_path, replace(GOOD, stamps=stamps), 'a gap of 3.004 s at 3.996 s')


def test_a_right_model_raises_no_doubt(tmp_path) -> None:
    found = findings(tmp_path, GOOD).values()
    reasons = {one.code for one in found if one.level in ('bad', 'warn')}
    # Nothing of the recording or the model: 8.5 s are short, and nothing else judged them.
    assert reasons == {'parameters_weak', 'not_validated'}
