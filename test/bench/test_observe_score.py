"""The judge of `veh-id bench observe` must be right before it judges."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from veh_identification.runtime.share import share_directory
from veh_identification.simulation.road_car.drive import RoadDrive, drive

sys.path.insert(0, str(share_directory() / 'bench'))

from observe.plain import plain_filter
from observe.score import STATES, Estimate, score

SIGMA = np.array([0.02, 0.03, 0.05, 0.04, 0.03, 0.02, 0.003, 0.004, 0.005])


@pytest.fixture(scope='module')
def driven() -> RoadDrive:
    return drive(6, ['outage'], duration=40.0)


def disturbed(driven: RoadDrive, factor: float = 1.0) -> Estimate:
    """The truth with errors of SIGMA times a factor that it believes to be SIGMA."""
    random, record = np.random.default_rng(1), driven.record
    rows = slice(0, None, 10)
    rotation = record.rotation[rows]
    error = factor * SIGMA * random.standard_normal((len(rotation), 9))
    heading = np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
    level = Rotation.from_rotvec(np.outer(heading, [0.0, 0.0, 1.0]))
    turned = Rotation.from_rotvec(level.apply(error[:, 6:])).as_matrix()
    velocity = np.einsum('nji,nj->ni', rotation, record.velocity[rows])
    return Estimate(
        record.time[rows],
        record.position[rows] + error[:, :3],
        turned @ rotation,
        velocity + error[:, 3:6],
        np.broadcast_to(SIGMA, error.shape),
    )


def test_an_honest_estimate_has_nees_of_one(driven):
    found = score(disturbed(driven), driven)
    assert [found.nees[name] for name in STATES] == pytest.approx([1.0] * 9, rel=0.15)
    assert found.rms == pytest.approx(np.hypot(0.02, 0.03), rel=0.05)
    assert found.rms_yaw == pytest.approx(0.005, rel=0.05)
    assert found.dishonest() == []
    assert found.share > 0.99


def test_one_that_is_three_times_too_sure_is_found(driven):
    found = score(disturbed(driven, 3.0), driven)
    assert found.dishonest() == list(STATES)
    assert found.nees['z'] == pytest.approx(9.0, rel=0.15)


def test_drift_is_what_an_outage_adds(driven):
    exact = disturbed(driven, 0.0)
    begin = driven.faults.outage_time
    exact.position[:, 0] += 0.1 + np.clip(exact.time - begin, 0.0, 10.0) * 0.2
    moved = driven.record.position[int(begin * 1000) : int((begin + 10) * 1000)]
    way = np.linalg.norm(np.diff(moved, axis=0), axis=1).sum()
    assert score(exact, driven).drift == pytest.approx(2.0 / way, rel=0.01)


def test_the_plain_filter_is_a_worthy_peer(driven):
    """Centimetres with satellites, metres after ten seconds without: no straw man."""
    nominal = driven.sensed_again([], 40.0)
    found = score(plain_filter(nominal), nominal)
    assert found.rms < 0.12
    assert found.rms_yaw < 0.02
    assert found.rms_speed < 0.15
    assert score(plain_filter(driven), driven).drift < 0.02
