"""Habits of laboratories that contradict the contract: each is named."""

import numpy as np
import pytest
from humanoid_runs import by_code, faults_of, setup_of
from people import CAD, Lab, record
from scipy.spatial.transform import Rotation

from veh_identification.errors import InputError

Y_UP = Rotation.from_euler('x', -90.0, degrees=True).as_matrix()


@pytest.mark.parametrize(
    ('lab', 'code', 'said'),
    [
        (
            Lab(angle_unit=180.0 / np.pi),
            'joints_in_degrees',
            r'joint_states seems to be in degrees',
        ),
        (
            Lab(moment_unit=1000.0),
            'moments_in_newton_millimetres',
            r'moments of force_plate/wrench .* seem to be in N mm',
        ),
        (Lab(length_unit=1000.0), 'base_far_from_plates', r'base/pose is \d+ m away .* in mm'),
        (
            Lab(world=Y_UP),
            'world_not_upright',
            r'mean force points along \+y of the world.*expected \+z',
        ),
    ],
    ids=['degrees', 'N mm', 'mm', 'y up'],
)
def test_other_units_and_axes_are_named(tmp_path, lab, code, said) -> None:
    bag = record(tmp_path / 'bag', lab)
    with pytest.raises(InputError, match=said):
        setup_of([bag], CAD)
    faults = faults_of(bag, CAD)
    assert [one.code for one in faults] == [code]
    assert faults[0].where.startswith(f'{bag}, topic ')


def test_messages_without_stamps_are_named(tmp_path) -> None:
    bag = record(tmp_path / 'bag', Lab(plate_stamps=False))
    with pytest.raises(InputError, match=r'force_plate/wrench.*3000 messages bear no stamp'):
        setup_of([bag], CAD)


def test_moments_about_another_point_are_named_with_the_point(tmp_path) -> None:
    bag = record(tmp_path / 'bag', Lab(moments_about=(0.3, 0.2, 0.0)))
    with pytest.raises(InputError, match=r'moments of force_plate/wrench.*\(0\.30, 0\.20'):
        setup_of([bag], CAD)


def test_origin_at_the_corner_of_the_plate(tmp_path) -> None:
    found = setup_of([record(tmp_path / 'bag', Lab(poses=((-0.4, -0.6, 0.0),)))], CAD)
    assert all('moments' not in one.code for one in found.findings)


def test_topics_in_a_namespace(tmp_path) -> None:
    found = setup_of([record(tmp_path / 'bag', Lab(prefix='/person_1/'))], CAD)
    taken = by_code(found.findings, 'topic_in_namespace')
    assert [one.where.split(', ')[1] for one in taken] == [
        'topic person_1/joint_states',
        'topic person_1/base/pose',
    ]
    assert found.raws[0].valid.mean() > 0.9


def test_clock_of_the_plates_was_never_set(tmp_path) -> None:
    found = setup_of([record(tmp_path / 'bag', Lab(plate_delay=0.7))], CAD)
    early = by_code(found.findings, 'clocks_differ')
    assert [one.where.split(', ')[1] for one in early] == ['stamps of base', 'stamps of joints']
    assert all(one.level == 'warn' for one in early)
    moved = [one.stamps[0] for one in (found.recordings[0].base, *found.recordings[0].joints)]
    assert moved == pytest.approx([0.7] * len(moved), abs=0.002)
