"""Spoilt messages through the real nodes under the replay engine."""

from __future__ import annotations

import copy
import dataclasses
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hostile.watch import Tally
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.graph import create_graph, find_graph, finish_graph
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.simulation.scenarios import simulate

SECOND = 1_000_000_000
#: Seconds after a fault until a node must say something again.
RECOVERY = 10


class Plan(NamedTuple):
    """A graph, what it is fed with, and its outputs that must go on."""

    graph: str
    scenario: str
    seconds: float
    outputs: tuple[str, ...] = ()
    config: str | None = None


PLANS = (
    Plan('sensor_fusion', 'car-sine-steer', 25.0, ('/fused/state',)),
    Plan('car_identification', 'car-sine-steer', 25.0),
    Plan('contact_identification', 'humanoid-walk', 22.0, ('/fused/state',)),
    Plan('parallel_identification', 'hexapod-periodic', 25.0),
    Plan('robot_identification', 'arm-free', 22.0),
    Plan('error_ekf', 'buggy-circle', 20.0, ('/odometry/observed',)),
    Plan('error_ekf', 'four-bar', 15.0, ('/joint_states/observed',), 'error_ekf_four_bar.yaml'),
)
#: Fields that are NaN where there is nothing to say, as their .msg files tell.
MAY_BE_NAN = frozenset(
    {
        *('a_priori', 'evidence', 'sigma', 'sideslip', 'innovation_mean', 'innovation_std'),
        *('nis_mean', 'nis_lower', 'nis_upper', 'value', 'std', 'rel_std_percent'),
        *('measured', 'predicted', 'condition_number', 'relative_std_percent'),
    }
)


@dataclass
class Item:
    """One message of a source."""

    time_ns: int
    topic: str
    typename: str
    message: Any

    def decode(self) -> Any:
        """The message."""
        return self.message


@dataclass
class Sink:
    """Keeps what the nodes publish."""

    rows: list[tuple[str, str, bytes, int]] = field(default_factory=list)

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: Any) -> None:
        """Store one message."""
        self.rows.append((topic, typename, bytes(payload), time_ns))


# Spoiling ---------------------------------------------------------------------------------------

ODD = [
    *(math.nan, math.inf, -math.inf, 1e308, -1e308, 1e150, 1e30, -1e9, 1e6, 5e-324, 0.0, -0.0),
    *(-1.0, 1.0, 360.0),
]
NAMES = ['', 'x', '<script>alert(1)</script>', 'é' * 50, 'a\0b', 'wheel_fl', 'leg_1', 'y' * 3000]


def _leaves(message: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[Any, str, Any]]:
    for one in dataclasses.fields(message):
        if one.name.startswith('__'):
            continue
        value = getattr(message, one.name)
        if dataclasses.is_dataclass(value):
            yield from _leaves(value, (*path, one.name))
        elif isinstance(value, list) and value and dataclasses.is_dataclass(value[0]):
            for inner in value:
                yield from _leaves(inner, (*path, one.name))
        elif not one.name.isupper():
            yield message, one.name, value


def _set_stamp(message: Any, ns: int) -> None:
    if hasattr(message, 'header'):
        sec, nanosec = divmod(ns, SECOND)
        message.header.stamp.sec = max(-(2**31), min(2**31 - 1, sec))
        message.header.stamp.nanosec = nanosec


def _stamp(message: Any) -> int:
    return int(message.header.stamp.sec) * SECOND + int(message.header.stamp.nanosec)


def spoil_values(rng: random.Random, message: Any) -> None:
    """Numbers, arrays, names, frames, quaternions, covariances."""
    leaves = list(_leaves(message))
    for _ in range(rng.choice([1, 1, 2, 6])):
        owner, name, value = rng.choice(leaves)
        if name in ('sec', 'nanosec'):
            continue
        if isinstance(value, np.ndarray):
            made = np.array(value)
            kind = rng.randrange(5)
            fixed = 'covariance' in name
            if kind == 0 and not fixed:
                made = made[: rng.randrange(len(made) + 1)]
            elif kind == 1 and not fixed:
                made = np.concatenate([made, made, made[:1]])
            elif kind == 2:
                made = -made
            elif len(made):
                made[rng.randrange(len(made)) :] = rng.choice(ODD)
            setattr(owner, name, made)
        elif isinstance(value, list):
            setattr(owner, name, _spoilt_names(rng, value))
        elif isinstance(value, float):
            setattr(owner, name, rng.choice(ODD))
        elif isinstance(value, str):
            setattr(owner, name, rng.choice(NAMES) + str(rng.randrange(10**6)))


def _spoilt_names(rng: random.Random, names: list[Any]) -> list[Any]:
    made = list(names)
    kind = rng.randrange(5)
    if kind == 0:
        rng.shuffle(made)
    elif kind == 1 and made:
        del made[rng.randrange(len(made))]
    elif kind == 2 and made:
        made.append(rng.choice(made))
    elif kind == 3 and made:
        made[rng.randrange(len(made))] = rng.choice(NAMES)
    else:
        made = [f'{rng.randrange(10**9)}' for _ in range(rng.choice([0, 1, 40]))]
    return made


def spoil_stamp(rng: random.Random, message: Any) -> None:
    """Zero, backward, hours off, impossible."""
    if hasattr(message, 'header'):
        off = rng.choice([-1, 1, 100, 3600, -3600, 10**7, -(10**9)]) * SECOND
        ns = rng.choice([0, _stamp(message) + off, -SECOND, 2**62])
        _set_stamp(message, ns)
        if rng.random() < 0.1:
            message.header.stamp.nanosec = 2**32 - 1


@dataclass
class Spoiler:
    """One way of spoiling a stream while a fault lasts."""

    name: str
    share: float
    topics: frozenset[str]
    offset_ns: int


FAULTS = (
    *('values', 'stamps', 'loss', 'silence', 'double', 'burst', 'reorder', 'clock', 'mixed'),
    'repeat stamps',
)


def spoilt(
    rng: random.Random, source: list[Item], begin_ns: int, end_ns: int, tally: Tally
) -> tuple[str, list[Item]]:
    """The source with a fault between two times; its name."""
    every = sorted({one.topic for one in source})
    chosen = frozenset(rng.sample(every, rng.randint(1, len(every))))
    fault = Spoiler(
        rng.choice(FAULTS),
        rng.choice([0.01, 0.1, 0.5, 1.0]),
        chosen,
        rng.choice([-7200, -2, -0.5, 0.5, 2, 7200]) * SECOND if rng.random() < 0.9 else 0,
    )
    made: list[Item] = []
    last: dict[str, int] = {}
    for item in source:
        inside = begin_ns <= item.time_ns < end_ns and item.topic in fault.topics
        if inside and rng.random() < fault.share:
            tally.messages += 1
            made += _spoilt_items(rng, fault, item, last, end_ns)
        else:
            made.append(item)
        if hasattr(item.message, 'header'):
            last[item.topic] = _stamp(item.message)
    made.sort(key=lambda one: one.time_ns)
    return f'{fault.name} on {fault.share:.0%} of {len(chosen)} topics', made


def _spoilt_items(
    rng: random.Random, fault: Spoiler, item: Item, last: dict[str, int], end_ns: int
) -> list[Item]:
    kind = fault.name if fault.name != 'mixed' else rng.choice(FAULTS[:-2])
    if kind in ('loss', 'silence'):
        return []
    if kind == 'double':
        return [item] * rng.choice([2, 3, 20])
    if kind == 'burst':
        return [dataclasses.replace(item, time_ns=end_ns)]
    if kind == 'reorder':
        late = round(rng.choice([0.01, 0.1, 1.0]) * SECOND)
        return [dataclasses.replace(item, time_ns=item.time_ns + late)]
    message = copy.deepcopy(item.message)
    if kind == 'values':
        spoil_values(rng, message)
    elif kind == 'stamps':
        spoil_stamp(rng, message)
    elif kind == 'clock':
        if hasattr(message, 'header'):
            _set_stamp(message, _stamp(message) + round(fault.offset_ns))
    elif item.topic in last:
        _set_stamp(message, last[item.topic])
    return [dataclasses.replace(item, message=message)]


# Running ----------------------------------------------------------------------------------------


def load_source(folder: Path, plan: Plan) -> list[Item]:
    """The messages of a scenario, simulated once."""
    path = folder / f'{plan.scenario}-{plan.seconds:g}'
    if not path.exists():
        simulate(plan.scenario, path, duration=plan.seconds, seed=1)
    with BagReader(path) as reader:
        wanted = [name for name in reader.topics if '/truth' not in name]
        return [
            Item(one.time_ns, one.topic, one.typename, one.message)
            for one in reader.messages(wanted)
        ]


def run(plan: Plan, source: list[Item]) -> tuple[Sink, list[Any]]:
    """All messages through the nodes of a graph."""
    sink = Sink()
    engine = ReplayEngine(source[0].time_ns, sink=sink, log_level='fatal')
    nodes = create_graph(engine, find_graph(plan.graph), config=plan.config)
    engine.run(source)
    finish_graph(nodes)
    return sink, nodes


def complaints(plan: Plan, sink: Sink, nodes: list[Any], fault_end_ns: int) -> list[str]:
    """What must not be: failed callbacks, numbers that are none, lost samples, silence."""
    found = [
        f'a callback failed: {node._guard.findings()[0].text}'
        for node in nodes
        if node._guard.failures
    ]
    odd: set[str] = set()
    spoken = dict.fromkeys(plan.outputs, 0)
    for topic, typename, payload, time_ns in sink.rows:
        message = messages.deserialize(payload, typename)
        odd |= {f'{topic} {name} is {value}' for name, value in _not_finite(message, typename)}
        if topic == '/diagnostics':
            found += _uncounted(message)
        if topic in spoken and time_ns > fault_end_ns + RECOVERY * SECOND:
            spoken[topic] += 1
    found += sorted(odd)[:5]
    silent = [topic for topic, count in spoken.items() if not count]
    found += [f'{topic} is silent {RECOVERY} s after the fault' for topic in silent]
    return found


#: Arrays whose entries are NaN where a flag says so.
FLAGGED = {
    'joint_positions': 'joint_valid',
    'joint_velocities': 'joint_valid',
    'joint_accelerations': 'joint_valid',
    'channel_values': 'channel_valid',
}


def _not_finite(message: Any, typename: str) -> Iterator[tuple[str, Any]]:
    """Numbers that are none; NaN may stand where the message's definition says so."""
    for owner, name, value in _leaves(message):
        if isinstance(value, float):
            odd = np.array([value])
        elif isinstance(value, np.ndarray) and value.dtype.kind == 'f':
            odd = value
        else:
            continue
        allowed = np.full(len(odd), name in MAY_BE_NAN)
        if typename.endswith('/FusedState') and name in FLAGGED:
            allowed = ~np.asarray(getattr(owner, FLAGGED[name]), bool)
        odd = odd[np.isinf(odd) | (np.isnan(odd) & ~allowed)]
        if len(odd):
            yield name, odd[0]


KNOWN = ('accepted', 'rejected', 'late', 'duplicate', 'invalid', 'waiting')


def _uncounted(array: Any) -> list[str]:
    found = []
    for status in array.status:
        count = {item.key: item.value for item in status.values}
        if 'accepted' in count and 'received' in count:
            total = sum(int(count.get(key, 0)) for key in KNOWN)
            if total != int(count['received']):
                found.append(f'{status.name}: received {count["received"]}, accounted {total}')
    return found[:1]


def check(plan: Plan, source: list[Item], fault_end_ns: int) -> None:
    """Run a source; AssertionError with what must not be."""
    with np.errstate(all='ignore'):
        sink, nodes = run(plan, source)
    wrong = complaints(plan, sink, nodes, fault_end_ns)
    assert not wrong, '; '.join(wrong[:4])


def try_streams(
    rng: random.Random,
    folder: Path,
    go_on: Callable[[], bool],
    graphs: tuple[str, ...] = (),
) -> Tally:
    """Spoilt streams through every node in turn."""
    tally = Tally()
    plans = [plan for plan in PLANS if not graphs or plan.graph in graphs]
    sources = {plan: load_source(folder, plan) for plan in plans}
    while go_on():
        plan = plans[tally.cases % len(plans)]
        source = sources[plan]
        start, stop = source[0].time_ns, source[-1].time_ns
        begin = start + round(rng.uniform(0.0, 0.2) * (stop - start))
        end = stop - (RECOVERY + 1) * SECOND
        seed = rng.randrange(2**32)
        name, made = spoilt(random.Random(seed), source, begin, end, tally)

        label = f'{plan.graph} ({plan.scenario}), {name}, seed {seed}'
        tally.try_case(label, partial(check, plan, made, end))
    return tally
