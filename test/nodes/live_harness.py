"""Runs live identification nodes over messages made in memory, under the replay engine."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.inertia import from_centre_of_mass
from veh_identification.nodes.sensor_fusion.node import SensorFusion
from veh_identification.runtime import messages
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.simulation.humanoid.motion import HumanoidMotion, Sampled, world_wrench

sys.path.insert(0, str(Path(__file__).parents[2] / 'bench'))

from mistaken.common import Item

STATE = 'veh_identification/msg/FusedState'


@dataclass
class Sink:
    """Keeps everything that is published, in order."""

    rows: list[tuple[str, str, bytes, int]] = field(default_factory=list)

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: Any) -> None:
        self.rows.append((topic, typename, bytes(payload), time_ns))

    def of(self, topic: str) -> list[Any]:
        return [messages.deserialize(p, t) for name, t, p, _ in self.rows if name == topic]

    def timed(self, topic: str) -> list[tuple[int, Any]]:
        return [(ns, messages.deserialize(p, t)) for n, t, p, ns in self.rows if n == topic]

    def statuses(self, node: str) -> list[Any]:
        return [s for d in self.of('/diagnostics') for s in d.status if s.name == node]

    def states(self) -> list[Item]:
        """The fused states as a source for the identification node alone."""
        return [
            Item(ns, '/fused/state', messages.deserialize(p, t), STATE)
            for n, t, p, ns in self.rows
            if n == '/fused/state'
        ]


def run(
    node_class: Any,
    name: str,
    source: list[Any],
    *,
    fusion: bool = False,
    calls: Any = (),
    start: int = 0,
    config: Any = None,
    known: bool = True,
    **parameters: Any,
) -> tuple[Any, Sink]:
    """The node over a source; `fusion` puts sensor_fusion before it, as the graph does."""
    sink, start = Sink(), start or source[0].time_ns
    engine = ReplayEngine(start, sink=sink, log_level='fatal')
    # As of a recording; else a topic is found out about once it has spoken.
    engine.offered.update({one.topic: one.typename for one in source} if known else {})
    files = [find_config(config or f'{name}.yaml')]
    if fusion:
        SensorFusion(engine.create_node('sensor_fusion', parameter_files=files))
    node = node_class(engine.create_node(name, parameter_files=files, parameters=parameters))
    for seconds, service, request in calls:
        engine.call_service_at(start + round(seconds * 1e9), f'/{name}{service}', **request)
    engine.run(source)
    node.finish()
    assert_counted(sink, name)
    return node, sink


def codes(message: Any) -> set[str]:
    """Codes of the findings of ~/parameters or of a diagnostic status."""
    if hasattr(message, 'findings'):
        return {one.code for one in message.findings}
    keys = (item.key.partition(': ') for item in message.values)
    return {rest.split(' ')[0] for head, _, rest in keys if head == 'finding'}


def assert_counted(sink: Sink, name: str) -> None:
    """Nothing that a sensor sent is lost: received is the sum of all that became of it."""
    for array in sink.of('/diagnostics'):
        for status in array.status:
            if not status.name.startswith(f'{name}: '):
                continue
            count = {item.key: item.value for item in status.values}
            known = ('accepted', 'rejected', 'late', 'invalid', 'waiting')
            total = sum(int(count[key]) for key in known) + int(count.get('duplicate', 0))
            assert int(count['received']) == total, (status.name, count)


class LoadedMotion(HumanoidMotion):
    """The same motion with a load on the base link from a given time on."""

    load_from, load_until, load_mass = 0.0, 1e9, 0.0
    load_place = (0.05, 0.0, 0.1)

    def at(self, t: Any) -> Sampled:
        state = super().at(t)
        if not self.load_mass:
            return state
        parameters = self.model.parameters.copy()
        parameters[0] += from_centre_of_mass(
            self.load_mass, np.array(self.load_place), 1e-3 * self.load_mass * np.eye(3)
        )
        loaded = inverse_dynamics(self.model, state.motion, parameters)[:, :6]
        times = np.clip(t, self.references.t[0], self.references.t[-1])
        on = (times >= self.load_from) & (times < self.load_until)
        total = np.where(on[:, None], loaded, state.total)
        world = world_wrench(total, state.rotation, state.position)
        return replace(state, total=total, feet=self._share(times, world))
