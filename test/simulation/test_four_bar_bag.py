from __future__ import annotations

import json

import numpy as np
import pytest

from veh_identification.errors import InputError
from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.simulation import four_bar as four_bar_bag
from veh_identification.systems.driver import run


def quiet(done: int, total: int) -> None:
    pass


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    path = tmp_path_factory.mktemp('four_bar') / 'bag'
    with BagWriter(path) as writer:
        four_bar_bag.write(writer, 10.0, 1, 1.0, quiet)
    return path


def test_the_bag_holds_encoder_and_truth(bag):
    columns = read_columns(
        bag,
        {
            'joint_states': ['position[crank]'],
            'truth/joint_states': ['position[crank]', 'position[x1]'],
        },
    )
    error = (
        columns['joint_states']['position[crank]']
        - columns['truth/joint_states']['position[crank]']
    )
    assert np.std(error) == pytest.approx(np.radians(1.0), rel=0.1)
    angle = columns['truth/joint_states']['position[crank]']
    assert np.allclose(columns['truth/joint_states']['position[x1]'], 2 * np.cos(angle))


def test_observer_of_table_1(bag, tmp_path):
    text = run('observe', 'four-bar', [bag], out=tmp_path / 'out').text
    metrics = json.loads((tmp_path / 'out' / 'metrics.json').read_text())
    assert 'after_one_second' in text
    points = {'x1', 'y1', 'x2', 'y2', 'vx1', 'vy1', 'vx2', 'vy2'}
    assert set(metrics['coordinates']) == points | {'crank', 'crank rate'}
    for row in metrics['after_one_second'].values():
        assert row['rms_model'] > 20 * row['rms_obs']
    white = metrics['innovation_whiteness']['encoder']
    assert white['statistic'] <= white['band']
    with BagReader(tmp_path / 'out' / 'observed') as reader:
        assert reader.topics['/joint_states/observed'].count == 2000


def test_a_recording_without_the_crank_is_refused(tmp_path):
    from veh_identification.runtime.messages import header, new

    with BagWriter(tmp_path / 'bag') as writer:
        writer.write_message(
            'joint_states',
            new(
                'sensor_msgs/msg/JointState', header=header(10, ''), name=['other'], position=[1.0]
            ),
            10,
        )
    with pytest.raises(InputError, match='crank'):
        run('observe', 'four-bar', [tmp_path / 'bag'], out=tmp_path / 'out')
    assert not (tmp_path / 'out').exists()
