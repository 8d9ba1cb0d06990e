"""Nothing is compiled or loaded once a node listens: samples would wait for seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Replays a graph and prints the kernels that are asked for after its nodes were made.
WATCHED = """
import sys
from numba.core import dispatcher
from veh_identification.cli.main import main
from veh_identification.runtime.replay import bag

asked, make, compile_ = [], bag.create_graph, dispatcher.Dispatcher.compile

def made(*arguments, **options):
    nodes = make(*arguments, **options)
    asked.clear()
    return nodes

def compiled(self, signature):
    asked.append(self.py_func.__qualname__)
    return compile_(self, signature)

bag.create_graph, dispatcher.Dispatcher.compile = made, compiled
graph, recording, out = sys.argv[1:]
assert main(['replay', recording, '--graph', graph, '--out', out]) == 0
print('ASKED', *asked)
"""


@pytest.mark.parametrize(
    ('graph', 'scenario', 'seconds'),
    [
        ('car_identification', 'car-sine-steer', 12),
        ('contact_identification', 'humanoid-walk', 12),  # the checks look at some seconds
        ('error_ekf', 'buggy-circle', 3),
        ('parallel_identification', 'hexapod-periodic', 12),
        ('robot_identification', 'arm-free', 6),
        ('sensor_fusion', 'road-drive', 5),
    ],
)
def test_a_node_that_listens_compiles_nothing(
    graph: str, scenario: str, seconds: int, tmp_path: Path
) -> None:
    bag, out = tmp_path / 'bag', tmp_path / 'out'
    command = ['-m', 'veh_identification.cli.main', 'simulate', scenario, '--out', str(bag)]
    made = [sys.executable, *command, '--duration', str(seconds)]
    subprocess.run(made, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, '-c', WATCHED, graph, str(bag), str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith('ASKED')]
    assert line == 'ASKED'
