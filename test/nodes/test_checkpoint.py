"""What a live node keeps for a restart, and what it refuses to go on from."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_robot_identification import source  # noqa: F401

from veh_identification.errors import EstimationError
from veh_identification.nodes import checkpoint as module
from veh_identification.nodes.checkpoint import Checkpoint, CheckpointOptions, identity_of
from veh_identification.nodes.robot_identification.node import RobotIdentification
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.load import Load
from veh_identification.runtime.logger import NodeLogger
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.runtime.replay.node import ReplayNode
from veh_identification.saved_state import SavedState

NOW = 1_700_000_000_000_000_000


class Worker:
    """A live node of which only the surroundings of a checkpoint are real."""

    def __init__(self, name: str = 'worker', *, live: bool = True, simulated: bool = False):
        self.name, self.live, self.simulated = name, live, simulated
        self.text = io.StringIO()
        self.logger = NodeLogger(name, lambda: NOW, stream=self.text)
        self.timers: list[Callable[[], None]] = []
        self.changes: dict[str, Callable[[Any], None]] = {}

    def get_load(self) -> Load | None:
        return Load() if self.live else None

    def get_parameter(self, name: str) -> Any:
        assert name == 'use_sim_time'
        return SimpleNamespace(value=self.simulated)

    def get_logger(self) -> NodeLogger:
        return self.logger

    def get_name(self) -> str:
        return self.name

    def get_namespace(self) -> str:
        return '/car'

    def create_timer(self, period: float, callback: Callable[[], None]) -> SimpleNamespace:
        self.timers.append(callback)
        return SimpleNamespace(cancel=lambda: self.timers.remove(callback))

    def when_changed(self, name: str, callback: Callable[[Any], None]) -> None:
        self.changes[name] = callback


class Estimate:
    """Counts samples."""

    def __init__(self) -> None:
        self.samples = 0

    def state(self) -> dict[str, Any]:
        if not self.samples:
            raise EstimationError('nothing yet')
        return {'samples': self.samples, 'matrix': np.eye(3)}

    def restore(self, stored: SavedState) -> str:
        self.samples = stored.count('samples')
        return f'{self.samples} samples'


def start(
    path: Path | str, worker: Worker | None = None, *, max_age: float = 600.0, **identity: str
) -> tuple[Checkpoint, Estimate, Worker]:
    worker, estimate = worker or Worker(), Estimate()
    options = CheckpointOptions(str(path), 10.0, max_age)
    made = Checkpoint(worker, options, identity, estimate.state, estimate.restore)  # type: ignore[arg-type]
    return made, estimate, worker


def feed(checkpoint: Checkpoint, estimate: Estimate, begin: int, end: int) -> None:
    for k in range(begin, end):
        checkpoint.arrived(NOW + k * 10_000_000)
        estimate.samples += 1


def kept(path: Path, **identity: str) -> None:
    """A run that died after 100 samples."""
    checkpoint, estimate, worker = start(path, **identity)
    feed(checkpoint, estimate, 0, 100)
    worker.timers[0]()
    joined(checkpoint)


def joined(checkpoint: Checkpoint) -> None:
    """Wait for the writing that runs."""
    if checkpoint._writer is not None:
        checkpoint._writer.join()


def test_goes_on_from_the_last_period_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / 'deep' / 'state.npz'
    kept(path, car='a')
    checkpoint, estimate, worker = start(path, car='a')
    assert estimate.samples == 0, 'the first sample decides'
    feed(checkpoint, estimate, 120, 130)
    assert estimate.samples == 110
    assert 'went on from a state' in checkpoint.facts()['checkpoint']
    assert '100 samples' in worker.text.getvalue()


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'car': 'b'}, 'car was a, is b'),
        ({'name': 'other'}, "node is '/car/worker', this is /car/other"),
        ({'version': '0.0.1'}, "version is '0.0.1'"),
        ({'age': 3600.0}, 'is 3600 s old'),
        ({'begin': 50}, 'apart, so these are other data'),
        ({'begin': 10**7}, 'apart, so these are other data'),
        ({'damage': b'PK\x03\x04'}, 'not a stored state, or damaged'),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else '',
)
def test_other_states_are_refused_in_a_sentence(
    change: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'state.npz'
    with monkeypatch.context() as then:
        if 'version' in change:
            then.setattr(module, '__version__', change['version'])
        if 'age' in change:
            moment = time.time() - change['age']
            then.setattr(module.time, 'time', lambda: moment)
        kept(path, car='a')
    if 'damage' in change:
        path.write_bytes(change['damage'])
    worker = Worker(change.get('name', 'worker'))
    checkpoint, estimate, _ = start(path, worker, car=change.get('car', 'a'))
    begin = -change['begin'] if change.get('begin') == 50 else change.get('begin', 100)
    # -50 samples: half a second before the first one of the state, which had one second.
    feed(checkpoint, estimate, begin, begin + 1)
    assert estimate.samples == 1
    assert words in worker.text.getvalue() and 'starts afresh' in worker.text.getvalue()
    checkpoint.finish()
    again, estimate, _ = start(path, Worker(worker.name), car=change.get('car', 'a'))
    feed(again, estimate, begin + 1, begin + 2)
    assert estimate.samples == 2, 'the new state has taken the place of the refused one'


def test_what_was_reset_does_not_come_back(tmp_path: Path) -> None:
    path = tmp_path / 'state.npz'
    kept(path)
    checkpoint, estimate, _ = start(path)
    checkpoint.forget()
    feed(checkpoint, estimate, 120, 121)
    assert estimate.samples == 1 and not path.exists()


def test_nothing_is_kept_under_replay_or_of_a_played_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path))
    assert start('auto', Worker(live=False))[0].path is None
    assert start(tmp_path / 'x.npz', Worker(live=False))[0].path is None
    assert start('auto', Worker(simulated=True))[0].path is None
    assert start('', Worker())[0].path is None
    named = start(tmp_path / 'x.npz', Worker(simulated=True))[0]
    assert named.path == tmp_path / 'x.npz'
    assert start('auto')[0].path == tmp_path / 'veh_identification' / 'car.worker.npz'


def test_a_state_that_cannot_be_written_is_said_once_and_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    checkpoint, estimate, worker = start(tmp_path / 'file' / 'state.npz')
    feed(checkpoint, estimate, 0, 10)
    for _ in range(3):
        checkpoint.write()
        joined(checkpoint)
    assert worker.text.getvalue().count('not written') == 1
    assert checkpoint.facts()['checkpoint'].startswith('not written: ')


def test_a_file_behind_a_parameter_belongs_to_the_identity(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Options:
        car: str
        rate: float = 1.0
        file: str = 'of save and load'

    path = tmp_path / 'car.yaml'
    path.write_text('mass: 1\n')
    before = identity_of(Options(str(path)))
    path.write_text('mass: 2\n')
    assert identity_of(Options(str(path)))['car'] != before['car']
    assert set(before) == {'car', 'rate'}


def test_a_killed_node_goes_on_where_it_was(
    source: list[Any],  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The arm, killed after 9 of 16 s: what the whole run finds is nearly found."""
    monkeypatch.setattr(ReplayNode, 'get_load', lambda self: Load())
    # Replay runs ahead of the clock: on a busy disk one writing would outlast many periods.
    write = Checkpoint.write
    monkeypatch.setattr(Checkpoint, 'write', lambda self: (write(self), joined(self)))
    files = [find_config('robot_identification.yaml')]

    def run(items: list[Any], file: str) -> RobotIdentification:
        engine = ReplayEngine(items[0].time_ns, log_level='fatal')
        parameters = {'checkpoint.file': file, 'checkpoint.period': 0.5}
        made = engine.create_node(
            'robot_identification', parameter_files=files, parameters=parameters
        )
        node = RobotIdentification(made)
        engine.run(items)
        node._delivery._worker.drain()  # it works beside, and replay does not wait for it
        return node

    whole = run(source, '')
    whole.finish()
    path = tmp_path / 'state.npz'
    run(source[:900], str(path))  # no finish: kill -9
    kept_ns = round(float(np.load(path)['checkpoint_stamp']) * 1e9)
    second = run(source[900:], str(path))
    second.finish()
    assert 'went on' in second.checkpoint.told
    # One period and the run-in of the filter on both sides of the gap are lost: 1.2 of 16 s.
    assert second.model.samples > 0.9 * whole.model.samples
    # Nothing else is: a node that lived on and did not hear in between finds the same.
    heard = [item for k, item in enumerate(source) if k >= 900 or item.time_ns <= kept_ns + 1000]
    deaf = run(heard, '')
    deaf.finish()
    assert 0 < 900 - (len(heard) - len(source[900:])) < 60
    assert second.model.samples == deaf.model.samples
    # Only the memory of the checks is shorter: 0.007 (0.15 where looks and scores were not kept).
    assert off(second, deaf) < 0.02
    lost = whole.model.samples - second.model.samples
    assert off(second, whole) < 1.5 * np.sqrt(lost / second.model.samples)


def off(one: RobotIdentification, other: RobotIdentification) -> float:
    """Distance of two estimates in deviations of the second, rms over the parameters."""
    first, last = one.model.solution, other.model.solution
    assert first is not None and last is not None
    deviation = np.sqrt(np.diag(last.covariance))
    known = deviation > 0
    return float(np.sqrt(np.mean(((first.value - last.value)[known] / deviation[known]) ** 2)))


def test_the_period_may_be_changed_while_it_runs() -> None:
    worker = Worker()
    estimate = Estimate()
    options = CheckpointOptions(file='somewhere.npz')
    Checkpoint(worker, options, {}, estimate.state, lambda stored: '')
    before = worker.timers[0]
    worker.changes['checkpoint.period'](2.0)
    assert len(worker.timers) == 1 and worker.timers[0] == before
