"""Fusion of a car recording whose sensor poses stand in /tf_static only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from veh_identification.api import simulate
from veh_identification.cli.main import main
from veh_identification.runtime.bags import BagReader, read_columns


@pytest.fixture(scope='module')
def fused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('car')
    simulate('car-sine-steer', folder / 'car', duration=12.0, seed=4)
    bag, out = str(folder / 'car'), str(folder / 'fused')
    assert main(['replay', bag, '--graph', 'sensor_fusion', '--out', out]) == 0
    return folder / 'fused'


def test_speed_sensor_far_from_the_imu_does_not_tilt_the_car(fused: Path) -> None:
    """The optical sensor sits 3.4 m ahead of base_link: taken as there, pitch went to 13 deg."""
    state = read_columns(fused, {'fused/state': None})['fused/state']
    later = state.stamps_ns > state.stamps_ns[0] + 2_000_000_000
    quaternion = np.stack([state[f'pose.orientation.{axis}'] for axis in 'xyzw'], axis=1)[later]
    pitch = Rotation.from_quat(quaternion).as_euler('ZYX', degrees=True)[:, 1]
    assert np.abs(pitch).max() < 3.0
    assert np.abs(state['pose.position.z'][later]).max() < 10.0
    assert state['pose_valid'][later].all()


def test_wrenches_on_moving_links_need_no_static_transform(fused: Path) -> None:
    texts = set()
    with BagReader(fused) as reader:
        for one in reader.messages(['/diagnostics']):
            texts |= {status.message for status in one.message.status}
    assert texts
    assert not any('hub_' in text for text in texts)
