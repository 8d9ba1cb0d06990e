"""Spoilt questions to the node `feedforward`: motions that nobody can drive."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hostile.spoiling import spoil_stamp, spoil_values
from hostile.streams import Item, Sink, not_finite
from hostile.watch import Tally
from veh_identification.nodes.feedforward.node import Feedforward
from veh_identification.runtime import messages
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.simulation.parallel.scenarios import EPOCH_NS, TRUTH
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.model.geometry import LEGS, POSE_NAMES

TYPE = 'trajectory_msgs/msg/JointTrajectory'
BATCH = 50


def identified_hexapod(folder: Path) -> str:
    """The folder of an identification, as far as the node reads it."""
    names = load_configuration().model().names
    document = {
        'system': 'parallel',
        'verdict': {'level': 'yes', 'findings': []},
        'parameters': [{'name': name, 'value': TRUTH[name]} for name in names],
        'covariance': np.diag([(0.01 * TRUTH[name]) ** 2 for name in names]).tolist(),
        'residuals': {leg: {'sigma': 2.0} for leg in LEGS},
    }
    folder.mkdir(exist_ok=True)
    (folder / 'parameters.json').write_text(json.dumps(document), 'utf-8')
    return str(folder)


def good_motion() -> Any:
    """Three points of a motion of the platform."""
    pose = load_configuration().model().robot.home + 0.01
    points = [
        messages.new(
            'trajectory_msgs/msg/JointTrajectoryPoint',
            positions=pose + 0.001 * k,
            velocities=np.full(6, 0.05),
            accelerations=np.full(6, 0.4),
        )
        for k in range(3)
    ]
    return messages.new(TYPE, joint_names=list(POSE_NAMES), points=points)


def try_motions(rng: random.Random, folder: Path, go_on: Callable[[], bool]) -> Tally:
    """Batches of spoilt motions; the good one behind them must be answered."""
    tally = Tally()
    result, good = identified_hexapod(folder / 'hexapod'), good_motion()
    while go_on():
        seed = rng.randrange(2**32)
        made = random.Random(seed)
        batch = [copy.deepcopy(good) for _ in range(BATCH)]
        for message in batch:
            kind = made.choice(['values', 'values', 'stamps', 'points'])
            tally.messages[kind] += 1
            if kind == 'values':
                spoil_values(made, message)
            elif kind == 'stamps':
                spoil_stamp(made, message)
            else:
                message.points = made.choices(message.points, k=made.choice([0, 1, 40]))
        tally.try_case(f'feedforward, seed {seed}', lambda b=batch: ask(result, [*b, good]))
    return tally


def ask(result: str, batch: list[Any]) -> None:
    """All motions to a node; the last one is good."""
    sink = Sink()
    engine = ReplayEngine(EPOCH_NS, sink=sink, log_level='fatal')
    node = Feedforward(engine.create_node('feedforward', parameters={'result': result}))
    with np.errstate(all='ignore'):
        engine.run(Item(EPOCH_NS + k, '/wanted', TYPE, one) for k, one in enumerate(batch))
    failed = node._guard.findings()
    assert not failed, failed[0].text
    facts = node.facts()
    answered = facts['wanted_answered'] + facts['wanted_refused']
    assert answered == len(batch), f'{answered} of {len(batch)} motions accounted for'
    answers = [row for row in sink.rows if row[1] == TYPE]
    assert answers and answers[-1][3] == EPOCH_NS + len(batch) - 1, 'the good one has no answer'
    for topic, typename, payload, _ in answers:
        odd = list(not_finite(messages.deserialize(payload, typename), typename))
        assert not odd, f'{topic} {odd[0]}'
