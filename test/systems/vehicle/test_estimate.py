"""Pose and twist of the observed car as one row of numbers, and as bytes of a message."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification import orientations
from veh_identification.runtime import messages
from veh_identification.systems.vehicle.observer.estimate import (
    ROW,
    STATES,
    Odometry,
    write_odometry,
)
from veh_identification.systems.vehicle.results.observed_topics import (
    ODOMETRY,
    TRANSFORMS,
    ObservedMessages,
)

# One of each largest entry of the quaternion: w, x, y, z.
TURNS = ((0.1, -0.2, 0.3), (3.0, 0.1, 0.2), (0.1, 3.0, 0.2), (0.1, 0.05, 3.1))
POSITION, VELOCITY, RATES = np.array([1.0, -2.0, 0.5]), (12.0, 0.4, -0.1), (0.02, -0.03, 0.4)


def _frame(rpy: tuple[float, float, float]) -> np.ndarray:
    """Origin and axes of a body, and their rates, for a motion given in its axes."""
    R = orientations.matrix_of_rpy(rpy)
    turn = np.cross(np.array(RATES), np.eye(3))  # of each axis, in the body's axes
    return np.vstack(
        [
            np.concatenate([POSITION, *R.T]),
            np.concatenate([R @ np.array(VELOCITY), *(R @ one for one in turn)]),
        ]
    )


@pytest.mark.parametrize('rpy', TURNS)
def test_a_row_holds_pose_and_twist(rpy: tuple[float, float, float]) -> None:
    row = np.empty(ROW)
    assert write_odometry(_frame(rpy), np.eye(STATES), True, row)
    found = Odometry.of(row)
    assert found.position == tuple(POSITION)
    wanted = orientations.matrix_of_rpy(rpy)
    np.testing.assert_allclose(
        orientations.matrix_of_quaternion(found.orientation), wanted, atol=1e-12
    )
    np.testing.assert_allclose(found.linear, VELOCITY, atol=1e-12)
    np.testing.assert_allclose(found.angular, RATES, atol=1e-12)


def test_covariances_are_those_of_the_errors() -> None:
    """Of a level car: place and speed turned into its axes, roll and pitch from e2z and e1z."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(STATES + 2, STATES + 2))
    P, row, yaw = root @ root.T, np.empty(ROW), 0.7
    assert write_odometry(_frame((0.0, 0.0, yaw)), P, True, row)
    found = Odometry.of(row)
    np.testing.assert_allclose(found.pose_covariance[:3, :3], P[:3, :3])
    np.testing.assert_allclose(found.pose_covariance[5, 5], P[3, 3])
    co, si = np.cos(yaw), np.sin(yaw)
    ahead = np.zeros(STATES + 2)
    ahead[10], ahead[11], ahead[3] = co, si, VELOCITY[1]
    np.testing.assert_allclose(found.twist_covariance[0, 0], ahead @ P @ ahead)
    roll = np.zeros(STATES + 2)
    roll[5], roll[4] = co, si
    np.testing.assert_allclose(found.pose_covariance[3, 3], roll @ P @ roll)
    np.testing.assert_allclose(found.pose_covariance, found.pose_covariance.T)
    np.testing.assert_allclose(found.twist_covariance, found.twist_covariance.T)


@pytest.mark.parametrize('place', ['place', 'pose covariance'])
def test_what_is_no_number_is_told(place: str) -> None:
    frame, P = _frame(TURNS[0]), np.eye(STATES)
    if place == 'place':
        frame[0, 1] = np.nan
    else:
        P[2, 2] = np.inf
    assert not write_odometry(frame, P, True, np.empty(ROW))


def test_rows_become_messages() -> None:
    made = ObservedMessages('map', 'body')
    for k in (1, 2):  # the second one into the bytes of the first
        row, stamp_ns = np.arange(ROW) * float(k), 5_000_000_007 * k
        message = messages.deserialize(made.odometry(row, stamp_ns), ODOMETRY)
        stamp, pose, twist = message.header.stamp, message.pose.pose, message.twist.twist
        assert (stamp.sec, stamp.nanosec) == divmod(stamp_ns, 10**9)
        assert (message.header.frame_id, message.child_frame_id) == ('map', 'body')
        found = Odometry.of(row)
        p, q, v, w = pose.position, pose.orientation, twist.linear, twist.angular
        assert (p.x, p.y, p.z) == found.position
        assert (q.x, q.y, q.z, q.w) == found.orientation
        assert (v.x, v.y, v.z) == found.linear
        assert (w.x, w.y, w.z) == found.angular
        np.testing.assert_array_equal(message.pose.covariance, found.pose_covariance.ravel())
        np.testing.assert_array_equal(message.twist.covariance, found.twist_covariance.ravel())
        (moved,) = messages.deserialize(made.transform(row, stamp_ns), TRANSFORMS).transforms
        p, q = moved.transform.translation, moved.transform.rotation
        assert (moved.header.frame_id, moved.child_frame_id) == ('map', 'body')
        assert (p.x, p.y, p.z, q.x, q.y, q.z, q.w) == tuple(row[:7])
        assert moved.header.stamp.nanosec == stamp.nanosec
