"""The checks of the documents find what they are there to find."""

from __future__ import annotations

from pathlib import Path

import pytest
from fences import check_command, commands, fences


def test_blocks_and_their_markers_are_found(tmp_path: Path) -> None:
    path = tmp_path / 'a.md'
    path.write_text(
        'text\n```sh\necho 1\n```\n<!-- needs ros -->\n\n```sh\nros2 topic list\n```\n'
        '<!-- needs ros -->\ntext between\n```python\nx = 1\n```\n',
        encoding='utf-8',
    )
    found = fences(path)
    assert [(f.language, f.marker, f.text) for f in found] == [
        ('sh', '', 'echo 1'),
        ('sh', 'needs ros', 'ros2 topic list'),
        ('python', '', 'x = 1'),
    ]


def test_a_block_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / 'a.md'
    path.write_text('```sh\necho 1\n', encoding='utf-8')
    with pytest.raises(AssertionError, match='no end'):
        fences(path)


def test_commands_are_taken_apart() -> None:
    text = 'cd a && veh-id info BAG   # comment\n# only a comment\nA=1 make demo \\\n  test | less'
    assert commands(text) == [
        ['cd', 'a'],
        ['veh-id', 'info', 'BAG'],
        ['make', 'demo', 'test'],
        ['less'],
    ]


@pytest.mark.parametrize(
    'line',
    [
        'veh-id identify car --bag B --out D',
        'make demo',
        'ros2 run veh_identification sensor_fusion',
        'ros2 launch veh_identification sensor_fusion.launch.py bag:=B imu_driver:=xsens',
        "pip install '.[zenoh]'",
        'pip install rosbags numba',
        'colcon build',
    ],
)
def test_right_commands_pass(line: str) -> None:
    for words in commands(line):
        check_command(words)


@pytest.mark.parametrize(
    'line',
    [
        'veh-id identify plane --bag B --out D',
        'veh-id identify car --bag B',
        'make dinner',
        'ros2 launch veh_identification nothing.launch.py',
        'ros2 launch veh_identification parallel_identification.launch.py gnss_driver:=x',
        'ros2 run veh_identification nothing',
        "pip install '.[nothing]'",
        'pip install requests',
        'frobnicate',
    ],
)
def test_wrong_commands_fail(line: str) -> None:
    with pytest.raises(AssertionError):
        for words in commands(line):
            check_command(words)
