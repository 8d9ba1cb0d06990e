"""Result bags are read by mcap's own decoder, with which Foxglove and PlotJuggler read them too.

The programs themselves are not started here.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from veh_identification.api import identify, observe, replay_graph, simulate
from veh_identification.runtime.graph import find_config


@pytest.fixture(scope='module')
def bags(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One result bag of each kind: identify, observe, replay."""
    base = tmp_path_factory.mktemp('results')
    simulate('hexapod-periodic', base / 'hexapod', duration=7.5, seed=0)
    identify('parallel', base / 'hexapod', out=base / 'parallel')
    simulate('four-bar', base / 'four_bar', duration=2.0, seed=0)
    observe('four-bar', base / 'four_bar', out=base / 'observed')
    simulate('drive', base / 'drive', duration=3.0, seed=0)
    config = find_config('sensor_fusion_drive')
    replay_graph([base / 'drive'], 'sensor_fusion', base / 'fused', config=config)
    return {
        'identify': base / 'parallel' / 'result',
        'observe': base / 'observed' / 'observed',
        'replay': base / 'fused',
    }


def decoded(folder: Path) -> dict[str, list[tuple[Any, Any, Any]]]:
    """Schema, record and decoded message by topic."""
    # Here and not above: the plugins of ROS import every test file, needed or not.
    make_reader = pytest.importorskip('mcap.reader').make_reader
    factory = pytest.importorskip('mcap_ros2.decoder').DecoderFactory
    found: dict[str, list[tuple[Any, Any, Any]]] = {}
    (file,) = folder.glob('*.mcap')
    with file.open('rb') as stream:
        reader = make_reader(stream, validate_crcs=True, decoder_factories=[factory()])
        summary = reader.get_summary()
        assert summary is not None and summary.statistics is not None
        for schema, channel, message, content in reader.iter_decoded_messages():
            assert channel.message_encoding == 'cdr' and schema.encoding == 'ros2msg'
            found.setdefault(channel.topic, []).append((schema, message, content))
        assert sum(map(len, found.values())) == summary.statistics.message_count
    return found


@pytest.mark.parametrize('kind', ['identify', 'observe', 'replay'])
def test_every_message_decodes_with_rising_times(bags: dict[str, Path], kind: str) -> None:
    topics = decoded(bags[kind])
    assert topics
    for topic, rows in topics.items():
        times = [message.log_time for _, message, _ in rows]
        assert times == sorted(times), topic


def test_parameters_and_reconstruction_hold_numbers(bags: dict[str, Path]) -> None:
    topics = decoded(bags['identify'])
    ((schema, _, estimates),) = topics['/parallel_identification/parameters']
    assert schema.name == 'veh_identification/msg/ParameterEstimates'
    values = {entry.name: entry.value for entry in estimates.parameters}
    assert math.isfinite(values['p2']) and len(values) == len(estimates.parameters)
    _, _, first = topics['/parallel_identification/reconstruction'][0]
    assert len(first.equations) == len(first.measured) == len(first.predicted) == 6


def test_observed_joints_hold_numbers(bags: dict[str, Path]) -> None:
    rows = decoded(bags['observe'])['/joint_states/observed']
    _, _, joints = rows[-1]
    assert 'crank' in joints.name and all(map(math.isfinite, joints.position))


def test_fused_states_and_diagnostics_hold_numbers(bags: dict[str, Path]) -> None:
    topics = decoded(bags['replay'])
    _, _, state = topics['/fused/state'][-1]
    assert state.twist_valid and math.isfinite(state.twist.linear.x)
    _, _, diagnostics = topics['/diagnostics'][-1]
    assert diagnostics.status[0].name == 'sensor_fusion'
