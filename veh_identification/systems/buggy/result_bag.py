"""The observed topics as a bag: odometry, tf, joints and virtual sensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.messages import header, new
from veh_identification.systems.buggy.configuration import CORNERS
from veh_identification.systems.buggy.run import Run

#: Every so many steps the slower topics are written.
SLOW = 5


def write(path: Path, run: Run, start_ns: int) -> None:
    """Write DIR/observed."""
    axes = run.frame[:, 0, 3:12].reshape(-1, 3, 3)
    rates = run.frame[:, 1, 3:12].reshape(-1, 3, 3)
    rotation = Rotation.from_matrix(np.swapaxes(axes, 1, 2))
    quaternions = rotation.as_quat()
    velocity = rotation.apply(run.frame[:, 1, 0:3], inverse=True)
    angular = np.stack([np.sum(axes[:, 2] * rates[:, 1], axis=1),
                        np.sum(axes[:, 0] * rates[:, 2], axis=1),
                        np.sum(axes[:, 1] * rates[:, 0], axis=1)], axis=1)
    names = [*(f'wheel_{c}' for c in CORNERS), *(f'suspension_{c}' for c in CORNERS),
             'steering_rack']
    with BagWriter(path) as writer:
        for k in range(run.time.size):
            stamp = start_ns + round(run.time[k] * 1e9)
            pose_covariance, twist_covariance = np.zeros(36), np.zeros(36)
            P = run.covariance[k]
            pose_covariance[[0, 1, 6, 7, 35]] = P[0, 0], P[0, 1], P[1, 0], P[1, 1], P[2, 2]
            turn = axes[k, :2, :2]
            twist_covariance[[0, 1, 6, 7]] = (turn @ P[3:5, 3:5] @ turn.T).ravel()
            twist_covariance[35] = P[5, 5]
            writer.write_message('odometry/observed', new(
                'nav_msgs/msg/Odometry', header=header(stamp, 'odom'),
                child_frame_id='base_link',
                pose={'pose': {'position': run.frame[k, 0, 0:3], 'orientation': quaternions[k]},
                      'covariance': pose_covariance},
                twist={'twist': {'linear': velocity[k], 'angular': angular[k]},
                       'covariance': twist_covariance}), stamp)
            if k % SLOW:
                continue
            writer.write_message('/tf', new('tf2_msgs/msg/TFMessage', transforms=[{
                'header': header(stamp, 'odom'), 'child_frame_id': 'base_link',
                'transform': {'translation': run.frame[k, 0, 0:3],
                              'rotation': quaternions[k]}}]), stamp)
            writer.write_message('joint_states/observed', new(
                'sensor_msgs/msg/JointState', header=header(stamp, ''), name=names,
                position=[*run.wheel[k], *run.stroke[k], run.rack[k]],
                velocity=[*run.wheel_rate[k], *([0.0] * 5)]), stamp)
            for i, corner in enumerate(CORNERS):
                writer.write_message(f'error_ekf/virtual_sensors/tyre_{corner}', new(
                    'geometry_msgs/msg/WrenchStamped', header=header(stamp, f'tyre_{corner}'),
                    wrench={'force': run.tyre[k, i]}), stamp)
