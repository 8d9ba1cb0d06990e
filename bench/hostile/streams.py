"""Spoilt messages through the real nodes under the replay engine."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hostile.nominal import Estimates, away, collect, with_fresh
from hostile.spoiling import SECOND, STATIC, Item, leaves, spoilt
from hostile.watch import Tally
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.graph import create_graph, find_graph, finish_graph
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.simulation.scenarios import simulate

#: Seconds after a fault until a node must be back.
RECOVERY = 10


class Plan(NamedTuple):
    """A graph, what it is fed with, and its outputs that must go on."""

    graph: str
    scenario: str
    seconds: float
    outputs: tuple[str, ...] = ()
    config: str | None = None
    model: str | None = None  # of the simulation, where it takes one
    parameters: tuple[tuple[str, Any], ...] = ()  # besides those of the file

    def __str__(self) -> str:
        return f'{self.graph} ({self.scenario})'


PLANS = (
    Plan('sensor_fusion', 'car-sine-steer', 25.0, ('/fused/state',)),
    Plan(
        *('sensor_fusion', 'drive', 25.0, ('/fused/state',), 'sensor_fusion_drive.yaml'),
        parameters=(('publish_odometry', True),),  # tells the deviations, which the state does not
    ),
    Plan('car_identification', 'car-sine-steer', 25.0),
    Plan('contact_identification', 'humanoid-walk', 22.0, ('/fused/state',)),
    Plan('parallel_identification', 'hexapod-periodic', 25.0),
    Plan('robot_identification', 'arm-free', 22.0),
    Plan('error_ekf', 'buggy-circle', 20.0, ('/odometry/observed',)),
    Plan('error_ekf', 'four-bar', 15.0, ('/joint_states/observed',), 'error_ekf_four_bar.yaml'),
    Plan(
        *('error_ekf', 'mechanism', 15.0, ('/joint_states/observed',)),
        *('error_ekf_mechanism.yaml', 'mechanism_slider_crank.yaml'),
    ),
)
#: Fields that are NaN where there is nothing to say, as their .msg files tell.
MAY_BE_NAN = frozenset(
    {
        *('a_priori', 'evidence', 'size', 'sigma', 'sideslip'),
        *('innovation_mean', 'innovation_std'),
        *('nis_mean', 'nis_lower', 'nis_upper', 'value', 'std', 'rel_std_percent'),
        *('measured', 'predicted', 'condition_number', 'relative_std_percent'),
    }
)


@dataclass
class Sink:
    """Keeps what the nodes publish."""

    rows: list[tuple[str, str, bytes, int]] = field(default_factory=list)

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: Any) -> None:
        """Store one message."""
        self.rows.append((topic, typename, bytes(payload), time_ns))


def load_source(folder: Path, plan: Plan) -> list[Item]:
    """The messages of a scenario, simulated once."""
    path = folder / f'{plan.scenario}-{plan.seconds:g}'
    if not path.exists():
        simulate(plan.scenario, path, duration=plan.seconds, seed=1, config=plan.model)
    with BagReader(path) as reader:
        wanted = [name for name in reader.topics if '/truth' not in name]
        return [
            Item(one.time_ns, one.topic, one.typename, one.message)
            for one in reader.messages(wanted)
        ]


@dataclass(frozen=True)
class Call:
    """A call of a service in the middle of a run."""

    time_ns: int
    name: str  # the last part
    data: bool = True


def run(plan: Plan, source: list[Item], calls: tuple[Call, ...] = ()) -> tuple[Sink, list[Any]]:
    """All messages through the nodes of a graph."""
    sink = Sink()
    engine = ReplayEngine(source[0].time_ns, sink=sink, log_level='fatal')
    given = dict(plan.parameters)
    nodes = create_graph(engine, find_graph(plan.graph), config=plan.config, parameters=given)
    for call in calls:
        for name in engine.services():
            if name.rpartition('/')[2] == call.name:
                asked = {'data': call.data} if call.name == 'enable' else {}
                engine.call_service_at(call.time_ns, name, **asked)
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
        odd |= {f'{topic} {name} is {value}' for name, value in not_finite(message, typename)}
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


def not_finite(message: Any, typename: str) -> Iterator[tuple[str, Any]]:
    """Numbers that are none; NaN may stand where the message's definition says so."""
    for owner, name, value in leaves(message):
        if isinstance(value, float):
            odd = np.array([value])
        elif isinstance(value, np.ndarray) and value.dtype.kind == 'f':
            odd = value
        else:
            continue
        if np.isfinite(odd).all():
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


def check(
    plan: Plan,
    source: list[Item],
    fault_end_ns: int,
    nominal: Estimates | None = None,
    calls: tuple[Call, ...] = (),
) -> None:
    """Run a source; AssertionError with what must not be."""
    with np.errstate(all='ignore'):
        sink, nodes = run(plan, source, calls)
    wrong = complaints(plan, sink, nodes, fault_end_ns)
    if nominal is not None:
        if any(call.name == 'reset' for call in calls):  # it may be too early for a new estimate
            nominal = replace(nominal, samples=0)
        wrong += away(collect(sink.rows, fault_end_ns + RECOVERY * SECOND), nominal)
    assert not wrong, '; '.join(wrong[:4])


def service_calls(rng: random.Random, begin_ns: int, end_ns: int) -> tuple[Call, ...]:
    """Now and then somebody plays with the services while the fault lasts; it ends enabled."""
    if rng.random() > 0.2:
        return ()
    names = ('reset', 'enable', 'save', 'load')
    made = [
        Call(rng.randrange(begin_ns, end_ns), rng.choice(names), rng.random() < 0.5)
        for _ in range(rng.choice([1, 3, 30]))
    ]
    return (*sorted(made, key=lambda one: one.time_ns), Call(end_ns, 'enable'))


def fault_end(source: list[Item]) -> int:
    """Every fault ends so that the recovery and a second more are left."""
    return source[-1].time_ns - (RECOVERY + 1) * SECOND


def nominal_of(plan: Plan, source: list[Item]) -> Estimates:
    """The undisturbed run, and how far from it a node is that starts when the fault ends."""
    end = fault_end(source)
    later = [one for one in source if one.time_ns >= end or one.topic == STATIC]
    fresh = collect(run(plan, later)[0].rows, end + RECOVERY * SECOND)
    return with_fresh(collect(run(plan, source)[0].rows), fresh)


@functools.cache
def prepare(folder: Path, plan: Plan) -> tuple[list[Item], Estimates]:
    """Source and undisturbed run; several seeds in one process share them."""
    source = load_source(folder, plan)
    return source, nominal_of(plan, source)


@dataclass(frozen=True)
class Case:
    """A spoilt source."""

    label: str
    source: list[Item]
    fault_end_ns: int
    calls: tuple[Call, ...]


def make_case(plan: Plan, source: list[Item], seed: int, counted: Counter[str]) -> Case:
    """All of it from the seed; in one of four the fault is there from the first message on."""
    rng = random.Random(seed)
    start, stop = source[0].time_ns, source[-1].time_ns
    later = round(rng.uniform(0.02, 0.2) * (stop - start))
    begin = start if rng.random() < 0.25 else start + later
    end = fault_end(source)
    calls = service_calls(rng, begin, end)
    name, made = spoilt(rng, source, begin, end, counted)
    told = f', {len(calls)} calls' if calls else ''
    label = f'{plan}, {name} from {(begin - start) / SECOND:.2f} s{told}, seed {seed}'
    return Case(label, made, end, calls)


def try_streams(
    rng: random.Random,
    folder: Path,
    go_on: Callable[[], bool],
    graphs: tuple[str, ...] = (),
) -> Tally:
    """Spoilt streams through every node in turn."""
    tally = Tally()
    plans = [plan for plan in PLANS if not graphs or plan.graph in graphs]
    prepared = {plan: prepare(folder, plan) for plan in plans}
    while go_on():
        plan = plans[tally.cases % len(plans)]
        source, nominal = prepared[plan]
        tally.made_of[str(plan)] += 1
        case = make_case(plan, source, rng.randrange(2**32), tally.messages)
        work = partial(check, plan, case.source, case.fault_end_ns, nominal, case.calls)
        tally.try_case(case.label, work)
    return tally
