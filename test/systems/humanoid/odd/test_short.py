"""Recordings of a second: how far masses are off, and whether their deviations say so."""

from dataclasses import replace

import numpy as np
import pytest
from humanoid_runs import setup_of
from people import CAD, Lab, moving, record, shortened

from veh_identification.systems.humanoid.estimation.estimate import estimate

SECONDS, PIECES = 1.1, 6
#: rms of the velocity [m/s] of the centre of mass that no joint shows, and its frequency.
UNSEEN, FREQUENCY = 0.01, 0.4


def breathing(motion):
    """The motion of somebody in whom something heavy rises and sinks slowly."""
    w = 2.0 * np.pi * FREQUENCY
    force = np.zeros((len(motion.t), 3))
    force[:, 2] = motion.mass * 2.0**0.5 * UNSEEN * w * np.cos(w * motion.t)
    more = np.hstack([force, np.cross(motion.position, force)])
    return replace(motion, wrench=motion.wrench + more)


@pytest.mark.parametrize('unseen', [False, True])
def test_deviations_of_a_second_cover_what_no_joint_shows(tmp_path, unseen) -> None:
    motion = moving(SECONDS * PIECES + 0.1)
    moved = breathing(motion) if unseen else motion
    off = []
    for k in range(PIECES):
        part = shortened(moved, k * SECONDS, (k + 1) * SECONDS)
        bag = record(tmp_path / str(k), Lab(), part)
        made = setup_of([bag], CAD, wrench_offset='off', tare=False)
        mass, std = estimate(made.problem, made.raws, made.recordings).total_mass
        off.append([(mass - motion.mass) / std, mass / motion.mass - 1.0, std / mass])
    deviations, share, stated = np.array(off).T
    rms = float(np.sqrt(np.mean(deviations**2)))
    assert rms < 1.5
    assert np.all(stated < 0.005)
    if unseen:
        assert np.sqrt(np.mean(share**2)) > 0.001  # it does change the mass
