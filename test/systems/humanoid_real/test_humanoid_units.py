"""Habits of laboratories that contradict the contract: each is named."""

import numpy as np
import pytest
from people import CAD, Lab, record
from scipy.spatial.transform import Rotation

from veh_identification.errors import InputError
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.recording.setup import set_up

Y_UP = Rotation.from_euler('x', -90.0, degrees=True).as_matrix()


def setup_of(bag):
    return set_up(CAD, [bag], None, load_configuration(None))


@pytest.mark.parametrize(
    ('lab', 'said'),
    [
        (Lab(angle_unit=180.0 / np.pi), r'joint_states seems to be in degrees'),
        (Lab(moment_unit=1000.0), r'moments of force_plate/wrench .* seem to be in N mm'),
        (Lab(length_unit=1000.0), r'base/pose is \d+ m away .* in mm'),
        (Lab(world=Y_UP), r'mean force points along \+y of the world.*expected \+z'),
        (Lab(plate_stamps=False), r'force_plate/wrench.*3000 messages have no header stamp'),
    ],
    ids=['degrees', 'N mm', 'mm', 'y up', 'no stamps'],
)
def test_other_units_and_axes_are_named(tmp_path, lab, said) -> None:
    with pytest.raises(InputError, match=said):
        setup_of(record(tmp_path / 'bag', lab))


def test_moments_about_another_point_are_named_with_the_point(tmp_path) -> None:
    bag = record(tmp_path / 'bag', Lab(moments_about=(0.3, 0.2, 0.0)))
    with pytest.raises(InputError, match=r'moments of force_plate/wrench.*\(0\.30, 0\.20'):
        setup_of(bag)


def test_origin_at_the_corner_of_the_plate(tmp_path) -> None:
    found = setup_of(record(tmp_path / 'bag', Lab(poses=((-0.4, -0.6, 0.0),))))
    assert not [note for note in found.notes if 'moments' in note]


def test_topics_in_a_namespace(tmp_path) -> None:
    found = setup_of(record(tmp_path / 'bag', Lab(prefix='/person_1/')))
    assert any('person_1/joint_states is taken for joint_states' in note for note in found.notes)
    assert found.raws[0].valid.mean() > 0.9


def test_clock_of_the_plates_was_never_set(tmp_path) -> None:
    found = setup_of(record(tmp_path / 'bag', Lab(plate_delay=0.7)))
    early = [note for note in found.notes if 'ms early against the wrenches' in note]
    values = [float(note.split(' ms early')[0].split()[-1]) for note in early]
    assert len(values) == 2
    assert values == pytest.approx([700.0, 700.0], abs=2.0)
