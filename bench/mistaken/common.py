"""What all mistakes share: a case, what the program said of it, and the judgement.

A module of this folder offers
    NAME        of the system
    MISTAKES    {name: Mistake}
    clean(k, seconds, folder) -> Case                     recording k, each of another machine
    offline(case, folder) -> Told, live(case, folder) -> Told
A case may be anything that these functions understand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.errors import VehIdError
from veh_identification.findings import Finding
from veh_identification.results.outcome import Outcome
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.graph import create_graph, find_graph, finish_graph
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.systems.driver import configured, run

#: What became of a mistake, the best first.
NAMED, NOTED, REFUSED, WITHIN = 'named', 'noted', 'refused', 'within'
OTHER, SILENT = 'other', 'silent'
WORDS = {
    NAMED: 'right cause named',
    NOTED: 'named as a note',
    REFUSED: 'refused',
    WITHIN: 'within three sigma',
    OTHER: 'told with another cause',
    SILENT: 'SILENT',
}
#: Who has a real machine has no truth; that a recording says little does not say it is wrong.
SAYS_NOTHING = {'truth_coverage', 'parameters_weak', 'not_validated', 'unexcited', 'no_estimate'}
#: Share of true values that may lie outside three sigma by chance or small model errors, plus one.
OUTSIDE = 0.02
#: Deviations that none of them may reach.
FARTHEST = 6.0


@dataclass(frozen=True)
class Mistake:
    """How it is made, and how a program names it rightly."""

    change: Callable[[Any], Any]
    codes: tuple[str, ...]
    #: Words of a refusal that name it (refusals have no codes): all of one entry.
    words: tuple[str, ...] = ()
    #: Codes that name it even as a note: what is measured and corrected.
    corrected: tuple[str, ...] = ()
    #: Codes of notes that name what no recording can tell from an ordinary machine, and what would
    #: tell it. They stand in clean recordings as well.
    noted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Told:
    """What the program says of a case."""

    findings: tuple[tuple[str, str, str], ...] = ()  # level, code, text
    refusal: str = ''
    deviations: Mapping[str, float] = field(default_factory=dict)  # by name, in sigma
    truth: Mapping[str, float] = field(default_factory=dict)

    @property
    def within(self) -> bool:
        """Whether there are estimates, and the truth lies where they say."""
        z = np.array(list(self.deviations.values()))
        few = np.sum(~(np.abs(z) <= 3.0)) <= 1 + OUTSIDE * len(z)
        return bool(len(z) and few and np.all(np.abs(z) <= FARTHEST))

    @property
    def reasons(self) -> set[str]:
        """Codes that speak against the result."""
        told = {code for level, code, _ in self.findings if level in ('bad', 'warn')}
        return told - SAYS_NOTHING

    @property
    def bad(self) -> set[str]:
        """Codes that forbid the result."""
        return {code for level, code, _ in self.findings if level == 'bad'}


def found(findings: Iterable[Finding]) -> tuple[tuple[str, str, str], ...]:
    """Findings as plain data."""
    return tuple((one.level, one.code, one.text) for one in findings)


def judged(mistake: Mistake, told: Told, clean: Told) -> tuple[str, str]:
    """What became of a mistake, and the codes or words that were told instead of the right ones.

    What is told of the clean recording as well tells nothing of the mistake, unless it forbids
    the result only now.
    """
    codes = {code for _, code, _ in told.findings}
    new = (told.reasons - clean.reasons) | (told.bad - clean.bad - SAYS_NOTHING)
    best = [code for level, code, _ in told.findings if level == 'bad']
    if any(code in mistake.codes for code in new):
        # The best cause stands first and alone.
        other = [code for code in best if code not in mistake.codes]
        return NAMED, f'also {", ".join(dict.fromkeys(other))}' if other else ''
    if codes & set(mistake.corrected):
        return (NAMED, '') if told.within else (OTHER, 'corrected, yet not within three sigma')
    if told.refusal:
        right = any(
            all(word in told.refusal for word in entry.split('+')) for entry in mistake.words
        )
        return (NAMED, '') if right else (REFUSED, told.refusal[:160])
    if told.within:
        return WITHIN, ', '.join(sorted(new))
    if new:
        return OTHER, ', '.join(sorted(new))
    if codes & set(mistake.noted):
        return NOTED, ''
    worst = max(told.deviations.items(), key=lambda one: abs(one[1]), default=('-', np.nan))
    return SILENT, f'{worst[0]} {worst[1]:.0f} sigma' if told.deviations else 'no estimate'


def deviations(
    names: Iterable[str], values: Iterable[float], stds: Iterable[float], truth: Mapping[str, Any]
) -> dict[str, float]:
    """Errors over their deviations, where the truth is known."""
    found = {}
    for name, value, std in zip(names, values, stds, strict=True):
        true = truth.get(name)
        if true is not None and np.isfinite([true, value, std]).all() and std > 0.0:
            found[name] = float((value - true) / std)
    return found


def repeated(seconds: float) -> Callable[[Any, Any], Any]:
    """Values by stamps (s) and values: each is repeated for so long, as a slower source does."""

    def make(stamps: Any, values: Any) -> Any:
        begin = stamps[0] + seconds * np.floor((stamps - stamps[0]) / seconds)
        return values[np.searchsorted(stamps, begin - 1e-9)]

    return make


def glitch(size: float, column: int) -> Callable[[Any], Any]:
    """Values with one sample of a column that a bit in the cable made."""

    def make(values: Any) -> Any:
        values = values.copy()
        values[2 * len(values) // 3, column] += size
        return values

    return make


def arrived(stamps: Any, seconds: float) -> Any:
    """Stamps (ns) of arrival: messages wait so long in the mean, and for those before them."""
    waits = np.random.default_rng(3).exponential(1e9 * seconds, len(stamps))
    late = np.maximum.accumulate(stamps + np.round(waits).astype(np.int64))
    return late + np.arange(len(late))


def without_a_fifth(count: int) -> Any:
    """Samples that were not lost on the way."""
    return np.flatnonzero(np.random.default_rng(4).random(count) > 0.2)


#: Codes of samples that are left out.
LEFT_OUT = ('glitches_left_out', 'joint_excursions', 'poses_excursion')


def outcome_told(outcome: Any) -> Told:
    """An identification's findings, and how far its values are from the truth."""
    rows = outcome.content.parameters
    truth = {row.name: row.truth for row in rows if np.isfinite(row.truth)}
    z = deviations((r.name for r in rows), (r.value for r in rows), (r.std for r in rows), truth)
    return Told(found(outcome.findings), '', z, truth)


@dataclass
class Item:
    """One recorded message in memory, as the replay engine takes it."""

    time_ns: int
    topic: str
    message: Any
    typename: str = ''

    def __post_init__(self) -> None:
        self.typename = self.typename or self.message.__msgtype__

    def decode(self) -> Any:
        """The message."""
        return self.message


def joint_items(
    stamps: Iterable[int], names: Iterable[str], position: Iterable[Any], effort: Iterable[Any]
) -> list[Item]:
    """Joint states as they would be recorded."""
    joints = list(names)
    return [
        Item(
            int(stamp),
            '/joint_states',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(int(stamp), 'base_link'),
                name=joints,
                position=q,
                effort=f,
            ),
        )
        for stamp, q, f in zip(stamps, position, effort, strict=True)
    ]


def write_bag(path: Path, items: Iterable[Item], truth: Mapping[str, float] | None = None) -> None:
    """A recording with the truth beside it, where there is one."""
    with BagWriter(path, overwrite=True) as writer:
        for item in items:
            writer.write_message(item.topic, item.message, item.time_ns)
    if truth is not None:
        (path / 'truth.json').write_text(json.dumps({'parameters': dict(truth)}), 'utf-8')


def live_told(
    graph_name: str,
    source: list[Item],
    truth: Mapping[str, float],
    config: Any = None,
    parameters: Mapping[str, Any] | None = None,
) -> Told:
    """A graph's nodes over messages: the verdict of its identification node at the end.

    What the nodes before it say counts as well: whoever runs them sees both.
    """
    engine = ReplayEngine(source[0].time_ns, log_level='fatal')
    nodes = create_graph(engine, find_graph(graph_name), config=config, parameters=parameters)
    engine.run(source)
    finish_graph(nodes)
    node = next(one for one in nodes if hasattr(one, 'verdict'))
    before = [one.report.findings for one in nodes if one is not node and hasattr(one, 'report')]
    told = [one for findings in before for one in findings]
    findings, model = found([*told, *node.verdict().findings]), node.model
    if model.equations is None or model.solution is None:
        return Told(findings)
    std = np.sqrt(np.maximum(np.diag(model.solution.covariance), 0.0))
    z = deviations(model.equations.names, model.solution.value, std, truth)
    return Told(findings, '', z, truth)


def observed(
    name: str, items: Iterable[Item], config: Path, folder: Path, **options: object
) -> tuple[Any, Outcome | Told]:
    """A recording as the system read it, and the observer's outcome or why there is none."""
    bag = folder / name
    write_bag(bag, items)
    try:
        system, described = configured(name, config)
        recording = system.read(bag, described)
        findings = found(system.checks(recording, described))
        if any(level == 'bad' for level, _, _ in findings):
            return recording, Told(findings)
        return recording, run('observe', name, [recording], config=described, options=options)
    except VehIdError as error:
        return None, Told(refusal=str(error))
