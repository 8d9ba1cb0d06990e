"""A sample that makes an estimator raise: counted, said, skipped, and the estimate put back."""

from __future__ import annotations

from typing import Any

import pytest
from fusion_harness import SECOND, START, Sink, imu, prepare

from veh_identification.errors import BagError, EstimationError
from veh_identification.findings import Finding
from veh_identification.nodes.checkpoint import CheckpointOptions
from veh_identification.nodes.guard import MOST_PUT_BACK
from veh_identification.nodes.identification.base import IdentificationNode, Running
from veh_identification.nodes.joint_order import MOST_LAYOUTS, JointOrder
from veh_identification.runtime.cdr.fields import FieldCallback
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.qos import SENSOR_DATA
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.runtime.transforms import (
    MOST_FRAMES,
    FrameError,
    StaticFrames,
    Transform,
)
from veh_identification.saved_state import SavedState
from veh_identification.systems.live import LiveModel

POISON = 666.0


class Summing(LiveModel):
    """Adds numbers; poison breaks it in the middle of an update."""

    def __init__(self) -> None:
        super().__init__()
        self.total, self.number = 0.0, 0
        self.poisoned_report = False

    def push(self, value: float) -> None:
        self.total += value
        if value == POISON:
            raise ZeroDivisionError('poison')
        self.number += 1

    @property
    def samples(self) -> int:
        return self.number

    @property
    def rejected(self) -> int:
        return 0

    def doubts(self) -> list[Finding]:
        if self.poisoned_report:
            raise IndexError('in the report')
        return []

    def interrupt(self) -> None:
        pass

    def reset(self) -> str:
        self.total, self.number = 0.0, 0
        return 'all'

    def state(self) -> dict[str, Any]:
        if not self.number:
            raise EstimationError('nothing yet')
        return {'total': self.total, 'number': self.number}

    def restore(self, stored: SavedState) -> str:
        self.total, self.number = stored.number('total'), stored.count('number')
        return ''


class SummingNode(IdentificationNode):
    model: Summing

    def __init__(self, node: Any) -> None:
        options = CheckpointOptions()
        running = Running(options, lag=0.0)
        super().__init__(node, Summing(), options, running, input_words='imu', file='')

    def subscribe(self) -> None:
        def take(fields: tuple[Any, ...]) -> None:
            self.model.push(fields[0])
            self.sample_came()

        callback = FieldCallback(('angular_velocity.x',), take)
        kind = message_class('sensor_msgs/msg/Imu')
        self._node.create_subscription(kind, 'imu/data', callback, SENSOR_DATA)


def run(values: dict[int, float], seconds: int = 4, **fields: Any) -> tuple[SummingNode, Sink]:
    """Ones at 100 Hz, other values at some of them."""
    sink = Sink()
    engine = ReplayEngine(START, sink=sink, log_level='fatal')
    node = SummingNode(engine.create_node('summing'))
    for name, value in fields.items():
        setattr(node.model, name, value)
    engine.run(
        imu(START + k * SECOND // 100, rate=(values.get(k, 1.0), 0.0, 0.0))
        for k in range(100 * seconds)
    )
    return node, sink


def statuses(sink: Sink) -> list[Any]:
    return [one for array in sink.messages('/diagnostics') for one in array.status]


def test_a_poisoned_sample_is_counted_said_and_put_right() -> None:
    node, sink = run({150: POISON})
    # Put back to the report at 1 s (101 samples), and on from there without the poison.
    assert node.model.total == node.model.number == 101 + 249
    told = statuses(sink)
    assert [int(one.level) for one in told] == [1, 2, 1]  # no estimate, the failure, over
    assert 'ZeroDivisionError in test_guard.py' in told[1].message
    assert '1 callbacks failed and were skipped; the last one on imu/data' in told[1].message
    keys = {item.key for item in told[1].values}
    assert any('callback_failed' in key for key in keys)


def test_before_anything_is_known_it_starts_anew() -> None:
    node, _ = run({50: POISON})
    assert node.model.total == node.model.number == 349


def test_a_flood_is_skipped_until_the_next_report() -> None:
    node, sink = run(dict.fromkeys(range(120, 180), POISON))
    guard = node._guard
    assert guard.failures == MOST_PUT_BACK
    assert guard.skipped == 201 - 120 - guard.failures
    assert node.model.total == node.model.number == 101 + 199
    assert f'{guard.skipped} further ones skipped unseen' in statuses(sink)[1].message


def test_a_report_that_fails_says_so() -> None:
    node, sink = run({}, poisoned_report=True)
    told = statuses(sink)
    assert len(told) == 3 and all(int(one.level) == 2 for one in told)
    assert 'IndexError' in told[0].message
    assert node.model.number == 99  # put back each time, for who knows what it left


def test_a_service_that_fails_answers() -> None:
    engine = ReplayEngine(START, sink=Sink(), log_level='fatal')
    node = SummingNode(engine.create_node('summing'))
    node.model.reset = lambda: 1 / 0  # type: ignore[assignment, method-assign]
    answer = engine.call_service('/summing/reset')
    assert not answer.success and 'ZeroDivisionError' in answer.message


def test_a_full_disk_is_no_failure_of_data() -> None:
    class Full(Sink):
        def write(self, *_: Any, **__: Any) -> None:
            raise BagError('out cannot be written: No space left on device.')

    engine = ReplayEngine(START, sink=Full(), log_level='fatal')
    SummingNode(engine.create_node('summing'))
    with pytest.raises(BagError, match='No space left'):
        engine.run(imu(START + k * SECOND // 100) for k in range(300))


def test_fusion_goes_on_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    result = prepare({})
    core = result.node.core
    poll, calls = core.poll, [0]

    def broken() -> Any:
        calls[0] += 1
        if calls[0] == 40:
            raise FloatingPointError('overflow')
        return poll()

    monkeypatch.setattr(core, 'poll', broken)
    result.engine.run(imu(START + k * SECOND // 100) for k in range(1500))
    assert result.node._guard.failures == 1
    late = [s for s in result.states if s.header.stamp.sec > START // SECOND + 10]
    assert late
    told = [s for s in statuses(result.sink) if 'FloatingPointError' in s.message]
    assert told and int(told[0].level) == 2


# What senders can make grow ---------------------------------------------------------------------


def test_ever_new_lists_of_names_are_not_kept() -> None:
    order = JointOrder(('a', 'b'), ('c',))
    for k in range(10 * MOST_LAYOUTS):
        assert order.places((f'x{k}', 'b', 'c')) == ((-1, 1), (2,))
        assert len(order._known) <= MOST_LAYOUTS
    assert order.places(('a', 'b', 'a')) is None
    assert order.places(('x', 'x', 'a')) == ((2, -1), (-1,))


def test_frames_are_bounded() -> None:
    frames = StaticFrames()
    for k in range(MOST_FRAMES):
        frames.set('base_link', f'f{k}', Transform())
    with pytest.raises(FrameError, match='one more than the 1000 frames'):
        frames.set('base_link', 'another', Transform())
    assert not frames.set('base_link', 'f3', Transform())
    with pytest.raises(FrameError, match='longer than anybody reads'):
        frames.set('base_link', 'x' * 5000, Transform())
