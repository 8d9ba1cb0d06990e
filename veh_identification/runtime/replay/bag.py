"""Runs the nodes of a graph over recordings: what `veh-id replay` does, as a function."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification.atomic import refuse_inputs
from veh_identification.errors import BagError
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.bags.records import Item, RawMessage
from veh_identification.runtime.graph import create_graph, find_graph, finish_graph
from veh_identification.runtime.replay.engine import ReplayEngine, Sink


@dataclass(frozen=True)
class ReplaySummary:
    """What went in and what came out."""

    duration: float  # seconds of the recordings
    delivered: dict[str, int]  # messages that reached a node, by topic
    published: dict[str, int]
    missing: list[str]  # topics that a node wants and the recordings do not have
    shadowed: list[str]  # topics of the recordings that the nodes publish themselves
    problems: list[str]  # damage that was skipped


def replay_graph(
    bags: Sequence[str | Path],
    graph_name: str,
    out: str | Path | None,
    *,
    config: str | Path | None = None,
    namespace: str = '/',
    parameters: Mapping[str, Any] | None = None,
    remappings: Iterable[tuple[str, str]] = (),
    storage: str = 'mcap',
    overwrite: bool = False,
    keep_inputs: bool = False,
    on_error: str = 'stop',
    log_level: str = 'info',
    progress: Callable[[int, int], None] | None = None,
    sink: Sink | None = None,
    through: Callable[[Iterable[Item]], Iterable[Item]] | None = None,
) -> ReplaySummary:
    """Play recordings through the nodes of a graph; the output bag appears whole or not at all.

    Without an output bag `sink` takes what the nodes publish. `through` is handed the recorded
    messages on their way to the nodes, to look at them or to hold them back.
    """
    graph = find_graph(graph_name)
    if out is not None:
        refuse_inputs(out, bags, BagError)
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(BagReader(bags, on_error=on_error, progress=progress))
        filled = [info for info in reader.info() if info.message_count]
        if not filled:
            raise BagError(f'{", ".join(map(str, bags))}: there is no message in it')
        start = min(info.start_ns for info in filled)
        stop = max(info.end_ns for info in filled)
        writer = None
        if out is not None:
            writer = stack.enter_context(BagWriter(out, storage=storage, overwrite=overwrite))
        engine = ReplayEngine(start, sink=writer or sink, log_level=log_level)
        engine.offered.update(
            {topic: info.typename for topic, info in reader.topics.items() if info.count}
        )
        instances = create_graph(
            engine,
            graph,
            config=config,
            namespace=namespace,
            parameters=parameters,
            remappings=remappings,
        )
        choice = _choose_topics(engine, reader, graph_name)
        selected = choice.kept if keep_inputs else choice.used
        source: Iterable[Item] = reader.items(selected)
        if keep_inputs and writer is not None:
            source = _recording(source, writer)
        if through is not None:
            source = through(source)
        engine.play(source)
        finish_graph(instances)
        return ReplaySummary(
            (stop - start) * 1e-9,
            engine.delivered,
            engine.published,
            choice.missing,
            choice.shadowed,
            list(reader.problems.sentences),
        )


@dataclass(frozen=True)
class _Choice:
    """Topics of the recordings in view of a graph."""

    used: list[str]  # wanted by a node and present
    kept: list[str]  # everything that may be copied into the output
    missing: list[str]
    shadowed: list[str]


def _choose_topics(engine: ReplayEngine, reader: BagReader, graph_name: str) -> _Choice:
    present = [topic for topic, info in reader.topics.items() if info.count]
    wanted = engine.input_topics()
    used = [topic for topic in wanted if topic in present]
    if not used:
        raise BagError(
            f'{", ".join(map(str, reader.paths))}: none of the topics that the graph {graph_name} '
            f'reads is in it (wanted: {", ".join(wanted)}; there are: {", ".join(present)})'
        )
    shadowed = [topic for topic in engine.output_topics() if topic in present]
    return _Choice(
        used,
        [topic for topic in present if topic not in shadowed],
        [topic for topic in wanted if topic not in present],
        shadowed,
    )


def _recording(source: Iterable[Item], writer: BagWriter) -> Iterable[Item]:
    """Pass messages through and write them into the output as well."""
    seen: dict[str, int] = {}
    for time_ns, channel, data in source:
        index = seen[channel.topic] = seen.get(channel.topic, -1) + 1
        payload = RawMessage(time_ns, channel, data, index).payload
        writer.write(channel.topic, channel.typename, payload, time_ns, qos=channel.qos)
        yield time_ns, channel, data
