"""The logger refuses what rclpy refuses, and the sources hold nothing of the kind."""

from __future__ import annotations

import ast
import io
import re
from pathlib import Path

import pytest

from veh_identification.runtime.logger import NodeLogger

PACKAGE = Path(__file__).parents[2] / 'veh_identification'
SEVERITIES = {'debug', 'info', 'warning', 'warn', 'error', 'fatal'}


def logger_at(times: list[int]) -> tuple[NodeLogger, io.StringIO]:
    text = io.StringIO()
    return NodeLogger('n', lambda: times[0], level='warning', stream=text), text


def test_one_place_keeps_one_severity() -> None:
    log, _ = logger_at([0])
    log.warning('here'), log.info('and here, on the same line')
    for warn in (True, True):
        (log.warning if warn else log.info)('text')
    with pytest.raises(ValueError, match=r'test_logger.py, line \d+ logs at the severities'):
        for warn in (True, False):
            (log.warning if warn else log.info)('text')


def test_one_place_keeps_its_options() -> None:
    log, _ = logger_at([0])
    with pytest.raises(ValueError, match='changing options'):
        for seconds in (1.0, 2.0):
            log.error('text', throttle_duration_sec=seconds)


def test_once_and_throttle_count_for_the_place_not_for_the_text() -> None:
    times = [0]
    log, text = logger_at(times)
    for k in range(4):
        times[0] = k * 10**9
        log.error(f'once {k}', once=True)
        log.error(f'now and then {k}', throttle_duration_sec=2.0)
        log.error(f'also here {k}', once=True)
    said = [line.partition('[n]: ')[2] for line in text.getvalue().splitlines()]
    assert said == ['once 0', 'now and then 0', 'also here 0', 'now and then 2']


def is_method_of_logger(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in SEVERITIES
        and 'log' in ast.unparse(node.value).lower()
    )


def chosen_severities(tree: ast.AST) -> list[int]:
    """Lines that hand a severity of a logger on, or choose one, instead of calling it."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.Attribute)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    called = {id(node.func) for node in calls}
    found = [node.lineno for node in nodes if is_method_of_logger(node) and id(node) not in called]
    for node in calls:
        if not node.args:
            continue
        if (
            isinstance(node.func, ast.Name)
            and node.func.id == 'getattr'
            and 'log' in ast.unparse(node.args[0]).lower()
        ):
            found.append(node.lineno)
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == 'log'
            and 'logger' in ast.unparse(node.func.value).lower()
        ):
            found.append(node.lineno)
    return sorted(set(found))


@pytest.mark.parametrize(
    'line',
    [
        '(log.warning if bad else log.info)(text)',
        'say = self._node.get_logger().warning if bad else print',
        'getattr(node.get_logger(), level)(text)',
        '{"warn": logger.warning}[level](text)',
        'node.get_logger().log(text, severity)',
    ],
)
def test_choices_of_a_severity_are_found(line: str) -> None:
    assert chosen_severities(ast.parse(line)) == [1]


def test_plain_calls_are_not() -> None:
    text = 'log.warning(text)\nnode.get_logger().info(text)\nfound.warning\nnp.log(x)'
    assert chosen_severities(ast.parse(text)) == []


def test_no_line_of_the_package_chooses_a_severity() -> None:
    """rclpy raises ValueError where one place logs at two severities."""
    texts = {path: path.read_text(encoding='utf-8') for path in sorted(PACKAGE.rglob('*.py'))}
    # Parsing takes a while; a file without these words cannot hold any such line.
    word = re.compile(rf'\.({"|".join(SEVERITIES)})\b|logger\W.*\.log\b|getattr\(.*log', re.I)
    speaking = {path: text for path, text in texts.items() if word.search(text)}
    assert len(speaking) > 50
    found = {
        f'{path.relative_to(PACKAGE.parent)}:{line}'
        for path, text in speaking.items()
        for line in chosen_severities(ast.parse(text))
    }
    assert found == set()
