"""Supports as they are in laboratories: several plates, a step beside them, bounces, short passes.

Masses are compared with the model that made the motion, in standard deviations and per cent.
"""

from dataclasses import replace

import numpy as np
import pytest
from humanoid_runs import by_code, identified, seconds_left_out
from people import CAD, Lab, moving, record, shortened

from veh_identification.errors import VehIdError

QUICK = {'cutoff_hz': 5.0}


def mass_of(outcome) -> tuple[float, float]:
    total = outcome.result.extra['total_mass']
    return total['value'], total['std']


def check_mass(outcome, percent: float = 0.3) -> None:
    value, std = mass_of(outcome)
    true = moving().mass
    assert abs(value - true) < 3.5 * std
    assert abs(value / true - 1.0) < 0.01 * percent


def test_weight_shifted_slowly_between_four_plates(tmp_path) -> None:
    """The load of each passes through zero, and none is ever empty."""
    poses = ((0.3, 0.2, 0.0), (-0.3, 0.2, 0.0), (0.3, -0.2, 0.0), (-0.3, -0.2, 0.0))
    outcome = identified([record(tmp_path / 'bag', Lab(plates=4, poses=poses))], CAD, **QUICK)
    assert not by_code(outcome.findings, 'plate_tared')
    check_mass(outcome)


def test_a_foot_beside_the_plate(tmp_path) -> None:
    """For a second of six, 40 % of everything is carried by the floor."""
    bag = record(tmp_path / 'bag', Lab(lost=(0.4, 2.5, 3.5)))
    outcome = identified([bag], CAD, **QUICK)
    # Its begin and its end are steps of the force, as impacts are.
    assert seconds_left_out(outcome, 'other_support') > 0.7
    assert (
        0.95
        < seconds_left_out(outcome, 'other_support') + seconds_left_out(outcome, 'impacts')
        < 1.6
    )
    check_mass(outcome)


def test_a_wrong_centre_of_pressure_is_left_out(tmp_path) -> None:
    """For 0.8 s it lies 8 cm beside the truth while the force is right."""
    motion = moving()
    wrench = motion.wrench.copy()
    wrong = (motion.t >= 2.5) & (motion.t < 3.3)
    wrench[wrong, 3:] += np.cross([0.0, 0.08, 0.0], wrench[wrong, :3])
    bag = record(tmp_path / 'bag', motion=replace(motion, wrench=wrench))
    outcome = identified([bag], CAD, **QUICK)
    assert (
        0.75
        < seconds_left_out(outcome, 'moments_unfit') + seconds_left_out(outcome, 'impacts')
        < 1.4
    )
    assert seconds_left_out(outcome, 'moments_unfit') > 0.5
    # The stretch bends the first estimate, which then finds a little load missing elsewhere.
    assert seconds_left_out(outcome, 'other_support') < 0.15
    check_mass(outcome)
    rms = dict(zip(outcome.result.equations, outcome.result.residual_rms, strict=True))
    assert rms['NX'] < 0.005 * motion.mass * 9.81  # 5 mm; with the wrong stretch it is 31


def test_bounces_nearly_off_the_plate(tmp_path) -> None:
    """0.15 to 1.85 times the weight, all measured: hardly anything may be left out for that."""
    motion = moving(bounce=0.85)
    assert motion.wrench[:, 2].min() < 0.3 * motion.mass * 9.81
    outcome = identified([record(tmp_path / 'bag', Lab(plate_delay=0.008), motion)], CAD)
    assert seconds_left_out(outcome, 'other_support') < 0.2
    assert all(' early ' in one.text for one in by_code(outcome.findings, 'stamps_delayed'))
    assert by_code(outcome.findings, 'stamps_delayed')
    check_mass(outcome)


def test_a_short_pass_gives_the_mass_or_says_why_not(tmp_path) -> None:
    whole = moving()
    bags = [
        record(tmp_path / f'pass{k}', motion=shortened(whole, start, start + 1.3))
        for k, start in enumerate((0.5, 2.5, 4.5))
    ]
    check_mass(identified(bags, CAD), percent=1.0)
    tiny = record(tmp_path / 'tiny', motion=shortened(whole, 1.0, 1.25))
    with pytest.raises(VehIdError):
        identified([tiny], CAD)


def test_motion_capture_at_60_hz(tmp_path) -> None:
    """A frame for every 8th sample of the plates."""
    check_mass(identified([record(tmp_path / 'bag', Lab(every=8))], CAD, **QUICK))
