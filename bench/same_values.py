"""The same commands through two checkouts, and every value that they write compared.

`python bench/same_values.py --before DIR --after DIR` runs `python -m veh_identification.cli.main`
with this interpreter in both folders. Recordings that a case reads are simulated by `before` for
both sides, so that differences do not chain. What counts as different (exit status 1):

- a number further from that of `before` than the tolerance times max(|before|, |after|, floor),
  the floor being 1e-6 of what is usual in its series or among its namesakes, and for an estimated
  value its standard deviation; whole numbers, truth values and time stamps must be equal;
- names, units and frames that changed; numbers, topics, files that only `before` has;
- simulated recordings whose messages are not the same bytes.

Other text may change and `after` may write and print more: both are listed. What two runs of
`before` disagree on cannot be compared; cases marked `twice` find that out.

Recordings are read by rosbags with the definitions inside them, not by the package under test.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import fnmatch
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

TOLERANCE = 1e-9
#: Times the tolerance this is 1e-15 of what is usual: rounding of the numbers that were added up.
FLOOR = 1e-6
SHOWN = 12
TIMEOUT = 900.0
#: Entries that say when, where and by what something was made, not what came out.
IGNORED = frozenset({'version', 'real_time_factor', 'real_time_factor_processor'})
#: Entries by which the parts of a list are told apart.
LABELS = ('name', 'key', 'child_frame_id')
#: Text that other programs rely on.
IDENTITY = frozenset({'frame_id', 'child_frame_id', 'name', 'unit', 'joint_names'})
STORAGE = ('.mcap', '.db3')
PACKAGE = 'veh_identification'
SOURCES = ('.py', '.yaml', '.urdf', '.msg', '.json')


# --------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class Case:
    """One command; `{simulate-...}` is the recording which that case made with `before`."""

    name: str
    arguments: str
    files: Mapping[str, str] = field(default_factory=dict)  # written to {files}
    timed: bool = False
    twice: bool = False  # `before` runs twice: what differs then is not compared

    @property
    def inputs(self) -> list[str]:
        """Names of the cases whose output it reads."""
        return sorted(set(re.findall(r'\{(simulate-[\w-]+)\}', self.arguments)))


#: Seconds and seed of every scenario.
SCENARIOS = {
    'drive': (20.0, 3),
    'car-sine-steer': (20.0, 3),
    'car-ramp-steer': (12.0, 4),
    'car-braking': (15.0, 3),
    'humanoid-walk': (8.0, 3),
    'humanoid-bend': (8.0, 4),
    'four-bar': (5.0, 3),
    'buggy-straight': (5.0, 3),
    'buggy-circle': (5.0, 4),
    'buggy-parking': (8.0, 5),
    'hexapod-periodic': (13.0, 3),
    'hexapod-circle': (6.0, 4),
}
#: Recordings of other length or noise: the case, its scenario and further options.
VARIANTS = {
    # Too short to be averaged over periods: validated as a motion that does not repeat.
    'hexapod-circle-once': 'hexapod-circle --duration 1.2 --seed 5',
    'buggy-circle-noise-free': 'buggy-circle --duration 1 --seed 5 --noise 0 --storage sqlite3',
    'car-braking-noise-free': 'car-braking --duration 3 --seed 5 --noise 0',
}
CAR = '--bag {simulate-car-sine-steer} --validate {simulate-car-ramp-steer}'
HUMANOID = '--bag {simulate-humanoid-walk} --urdf config/models/ut_mu2_like_cad.urdf'
#: Results of `identify` and `observe`. `{before}/config/...` is a user's file from before.
ESTIMATES = {
    'identify-car-20': f'car {CAR} --config car_peugeot_406 --dof 20',
    'identify-car-38': f'car {CAR} --config car_peugeot_406 --dof 38',
    'identify-car-paper-rule': f'car {CAR} --config car_peugeot_406 --paper-rule',
    'identify-car-gauss-markov': f'car {CAR} --config car_peugeot_406 --gauss-markov',
    'identify-car-2002': 'car --bag {simulate-car-braking} --validate {simulate-car-ramp-steer} '
    '--config car_peugeot_406 --model 2002',
    'identify-car-two-bags-old-file': 'car --bag {simulate-car-sine-steer} '
    '--bag {simulate-car-ramp-steer} --config {before}/config/car_peugeot_406.yaml',
    'identify-car-compare-models': 'car --bag {simulate-car-sine-steer} '
    '--config car_peugeot_406 --compare-models',
    'identify-humanoid': f'humanoid {HUMANOID}',
    'identify-humanoid-validate': f'humanoid {HUMANOID} --validate {{simulate-humanoid-bend}}',
    'identify-parallel': 'parallel --bag {simulate-hexapod-periodic} '
    '--validate {simulate-hexapod-circle}',
    'identify-parallel-free-old-file': 'parallel --bag {simulate-hexapod-periodic} '
    '--validate {simulate-hexapod-circle-once} --config {before}/config/hexapod_palida.yaml',
    'observe-buggy-straight': 'buggy --bag {simulate-buggy-straight}',
    'observe-buggy-circle': 'buggy --bag {simulate-buggy-circle}',
    'observe-buggy-parking': 'buggy --bag {simulate-buggy-parking} --config buggy_parking',
    'observe-buggy-parking-old-file': 'buggy --bag {simulate-buggy-parking} '
    '--config {before}/config/buggy_parking.yaml',
    'observe-four-bar': 'four-bar --bag {simulate-four-bar}',
}
#: Recording, graph and parameter file of `replay`.
REPLAYS = {
    'replay-fusion-drive': '{simulate-drive} --graph sensor_fusion --config sensor_fusion_drive',
    'replay-fusion-car': '{simulate-car-sine-steer} --graph sensor_fusion',
    'replay-fusion-humanoid': '{simulate-humanoid-walk} --graph sensor_fusion '
    '--config sensor_fusion_humanoid',
    'replay-fusion-buggy-old-file': '{simulate-buggy-circle} --graph sensor_fusion '
    '--config {before}/config/sensor_fusion_buggy.yaml',
    'replay-contact': '{simulate-humanoid-walk} --graph contact_identification',
    'replay-car': '{simulate-car-sine-steer} --graph car_identification',
    'replay-parallel': '{simulate-hexapod-periodic} --graph parallel_identification',
    'replay-error-ekf-buggy': '{simulate-buggy-circle} --graph error_ekf',
    'replay-error-ekf-four-bar': '{simulate-four-bar} --graph error_ekf '
    '--config error_ekf_four_bar',
}
#: Searches end by their number of trials, long before the time limit.
DESIGNS = (
    Case(
        'design-parallel',
        'design parallel --starts 1 --seed 1 --time-limit 600 --out {out}.yaml',
        twice=True,
    ),
    Case(
        'design-car',
        'design car --config car_peugeot_406 --speed 90 --frequency 0.5 --lateral 4 --seed 1 '
        '--time-limit 600 --out {out}',
        twice=True,
    ),
    Case(
        'design-humanoid',
        'design humanoid --urdf config/models/ut_mu2_like_cad.urdf --config {files}/few.yaml '
        '--starts 1 --seed 1 --time-limit 600 --out {out}',
        files={'few.yaml': 'evaluations: 10\nsamples: 40\n'},
        twice=True,
    ),
)
BAG_TOOLS = (
    Case('convert', 'convert {simulate-hexapod-circle} --storage sqlite3 --out {out}'),
    Case('info', 'info {simulate-car-sine-steer} --check'),
    Case('info-topic', 'info {simulate-buggy-circle} --topic imu/data'),
)
#: With --recordings: real ones, of which only those that are there are used.
REAL = (
    Case(
        'real-fusion-husky',
        'replay {recordings}/husky_imu_odom_gps.bag --graph sensor_fusion '
        '--config sensor_fusion_husky --out {out}',
        timed=True,
    ),
    Case(
        'real-convert-force-plate',
        'convert {recordings}/force_plate_markers.bag --map map_force_plate --out {out}',
    ),
    Case('real-info-jackal', 'info {recordings}/jackal_imu_odom.bag --check'),
)


def all_cases() -> list[Case]:
    """Every case; simulations first, because the others read them."""
    simulations = [
        Case(
            f'simulate-{name}',
            f'simulate {name} --seed {seed} --duration {seconds:g} --out {{out}}',
        )
        for name, (seconds, seed) in SCENARIOS.items()
    ]
    simulations += [
        Case(f'simulate-{name}', f'simulate {text} --out {{out}}')
        for name, text in VARIANTS.items()
    ]
    estimates = [
        Case(name, f'{name.partition("-")[0]} {text} --out {{out}}', timed=True)
        for name, text in ESTIMATES.items()
    ]
    replays = [
        Case(name, f'replay {text} --out {{out}}', timed=True) for name, text in REPLAYS.items()
    ]
    return [*simulations, *estimates, *replays, *DESIGNS, *BAG_TOOLS]


# -------------------------------------------------------------- what a file or recording holds


@dataclass
class Column:
    """What one path holds: values by the place of the message that held them (0 in files)."""

    places: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)


@dataclass
class Content:
    """Numbers (single ones or arrays) and texts by path."""

    numbers: dict[str, Column] = field(default_factory=dict)
    texts: dict[str, Column] = field(default_factory=dict)

    def add(self, tree: Any, place: int = 0) -> None:
        """Take in all leaves of a tree of plain data."""
        for path, value in leaves(tree):
            table = self.texts if isinstance(value, (str, tuple)) else self.numbers
            column = table.setdefault('/'.join(path), Column())
            column.places.append(place)
            column.values.append(value)

    def count(self) -> int:
        """How many numbers there are."""
        return sum(int(np.size(v)) for column in self.numbers.values() for v in column.values)


def leaves(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Paths and values: numbers, arrays of them, texts, tuples of texts."""
    if isinstance(node, dict):
        for key, value in node.items():
            if str(key) not in IGNORED:
                yield from leaves(value, (*path, str(key)))
    elif isinstance(node, np.ndarray):
        yield path, node
    elif isinstance(node, (list, tuple)):
        if node and all(one is None or isinstance(one, (int, float)) for one in node):
            yield path, np.array([number(one) for one in node])
        elif all(isinstance(one, str) for one in node):
            yield path, tuple(node)
        else:
            for label, value in zip(labels(node), node, strict=True):
                yield from leaves(value, (*path, label))
    else:
        yield path, number(node)


def number(value: Any) -> Any:
    """A number where it is one, also where it is spelt out (diagnostics, CSV); else text."""
    if value is None:
        return np.nan
    if isinstance(value, (bool, int, float, np.generic)):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


def labels(nodes: Sequence[Any]) -> list[str]:
    """Names of the parts of a list, or their places where they have no names of their own."""
    for label in LABELS:
        names = [str(one.get(label)) for one in nodes if isinstance(one, dict) and label in one]
        if len(set(names)) == len(nodes):
            return names
    return [str(place) for place in range(len(nodes))]


def message_tree(node: Any) -> Any:
    """A message of rosbags as plain data."""
    if hasattr(node, '__msgtype__'):
        return {
            one.name: message_tree(getattr(node, one.name)) for one in dataclasses.fields(node)
        }
    return [message_tree(one) for one in node] if isinstance(node, list) else node


def csv_tree(text: str) -> Any:
    """Rows by name where the first column has names, else columns."""
    header, *rows = csv.reader(text.splitlines())
    cells = [[number(cell or None) for cell in row] for row in rows if row]
    if header[0] in LABELS:
        return [dict(zip(header, row, strict=False)) for row in cells]
    return dict(zip(header, map(list, zip(*cells, strict=True)), strict=False))


def xml_tree(element: ElementTree.Element) -> dict[str, Any]:
    """Attributes and children; '0 0 1' becomes three numbers."""
    tree: dict[str, Any] = {}
    for key, text in element.attrib.items():
        words = [number(word) for word in text.split()]
        tree[key] = text if any(isinstance(word, str) for word in words) else words
    for place, child in enumerate(element):
        tree[f'{child.tag} {child.get("name", place)}'] = xml_tree(child)
    return tree


def read_file(path: Path) -> Content | None:
    """What a result file holds; None where only its being there counts (pages)."""
    content = Content()
    if path.suffix == '.html':
        return None
    if path.suffix not in ('.json', '.yaml', '.csv', '.urdf'):
        content.add({'bytes': 'sha256 ' + hashlib.sha256(path.read_bytes()).hexdigest()})
        return content
    text = path.read_text('utf-8')
    if path.suffix == '.csv':
        content.add(csv_tree(text))
    elif path.suffix == '.urdf':
        content.add(xml_tree(ElementTree.fromstring(text)))
    else:
        content.add(json.loads(text) if path.suffix == '.json' else yaml.safe_load(text))
    return content


@dataclass
class Topic:
    """The messages of a topic as they stand in the recording."""

    kind: str
    store: Any
    stamps: list[int] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)

    def decode(self) -> Content:
        """All fields of all messages."""
        content = Content()
        for place in range(len(self.payloads)):
            self.decode_one(place, content)
        return content

    def decode_one(self, place: int, content: Content) -> None:
        """All fields of one message."""
        tree = message_tree(self.store.deserialize_cdr(self.payloads[place], self.kind))
        content.add({'log time': self.stamps[place], **tree}, place)

    def count(self) -> int:
        """How many numbers there are, taking messages of one length for alike."""
        places = {len(data): place for place, data in enumerate(self.payloads)}
        lengths = Counter(map(len, self.payloads))
        total = 0
        for length, place in places.items():
            content = Content()
            self.decode_one(place, content)
            total += lengths[length] * content.count()
        return total


def read_bag(folder: Path) -> dict[str, Topic]:
    """Topics of a recording."""
    topics: dict[str, Topic] = {}
    with AnyReader([folder], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        for connection in reader.connections:
            topics.setdefault(connection.topic, Topic(connection.msgtype, reader.typestore))
        for connection, stamp, data in reader.messages():
            topics[connection.topic].stamps.append(stamp)
            topics[connection.topic].payloads.append(bytes(data))
    return topics


def find_documents(folder: Path, prefix: str = '') -> dict[str, Path]:
    """Files and recordings below a folder, by name; what a recording consists of is no file."""
    found: dict[str, Path] = {}
    recording = (folder / 'metadata.yaml').is_file()
    for path in sorted(folder.iterdir()):
        name = f'{prefix}{path.name}'
        if path.is_dir():
            if (path / 'metadata.yaml').is_file():
                found[name] = path
            found |= find_documents(path, f'{name}/')
        elif not (recording and (path.name == 'metadata.yaml' or path.suffix in STORAGE)):
            found[name] = path
    return found


# ---------------------------------------------------------------------------------- comparison


@dataclass
class Comparison:
    """What was found out about one case."""

    roots: Mapping[str, str] = field(default_factory=dict)  # folders by what they are
    tolerance: float = TOLERANCE
    skipped: frozenset[str] = frozenset()  # paths that two runs of `before` disagree on
    exact: bool = False  # messages must be the same bytes
    values: int = 0
    unrepeatable: int = 0
    largest: float = 0.0
    largest_where: str = ''
    differing: int = 0
    lines: list[tuple[float, str]] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)  # of what differs
    texts: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    def differ(self, path: str, text: str, relative: float = np.inf, count: int = 1) -> None:
        """Note `count` values of one path that are not equal."""
        self.differing += count
        self.paths.add(path)
        self.lines.append((relative, f'{path}: {text}'))

    def neutral(self, value: Any) -> Any:
        """Text without the names of the folders that the sides were run in."""
        if isinstance(value, tuple):
            return tuple(self.neutral(one) for one in value)
        for root in sorted(self.roots, key=len, reverse=True):
            value = value.replace(root, self.roots[root])
        return value


def usual(values: Iterable[Any]) -> float:
    """Median magnitude of what is neither zero nor missing."""
    parts = [np.abs(np.ravel(one).astype(float)) for one in values]
    flat = np.concatenate(parts) if parts else np.zeros(0)
    flat = flat[np.isfinite(flat) & (flat > 0.0)]
    return float(np.median(flat)) if flat.size else 0.0


def series_floors(content: Content) -> dict[str, float]:
    """Floors of the fields of messages: each field is a series of one quantity."""
    return {path: FLOOR * usual(column.values) for path, column in content.numbers.items()}


def file_floors(content: Content) -> dict[str, float]:
    """Floors of entries of a file: from their namesakes beside them; a deviation wins."""
    families: dict[tuple[str, ...], list[Any]] = {}
    family_of: dict[str, tuple[str, ...]] = {}
    for path, column in content.numbers.items():
        parts = tuple(path.split('/'))
        family_of[path] = (*parts[:-2], '*', parts[-1])
        families.setdefault(family_of[path], []).extend(column.values)
    scales = {family: FLOOR * usual(values) for family, values in families.items()}
    floors = {path: scales[family] for path, family in family_of.items()}
    for path in floors:
        deviation = content.numbers.get(f'{path.removesuffix("/value")}/std')
        if path.endswith('/value') and deviation is not None:
            floors[path] = max(floors[path], usual(deviation.values))
    return floors


def compare_content(
    name: str, before: Content, after: Content, floors: Mapping[str, float], out: Comparison
) -> None:
    """Numbers and texts of a file or topic."""
    for path, column in before.numbers.items():
        where = f'{name} {path}'
        if where in out.skipped:
            out.unrepeatable += 1
        elif path not in after.numbers:
            out.differ(where, f'only before: {column.values[0]!r}', count=len(column.values))
        else:
            compare_numbers(where, column, after.numbers[path], floors.get(path, 0.0), out)
    for path, column in before.texts.items():
        where = f'{name} {path}'
        if where not in out.skipped:
            compare_texts(where, column, after.texts.get(path, Column()), out)
    out.new += [f'{name} {path}' for path in after.numbers if path not in before.numbers]
    out.texts += [
        f'{name} {path}: only after: {shown(after.texts[path].values[0])}'
        for path in after.texts
        if path not in before.texts
    ]


def compare_texts(where: str, before: Column, after: Column, out: Comparison) -> None:
    """Names must be equal; other text is listed where it changed."""
    old = dict(zip(before.places, before.values, strict=True))
    new = dict(zip(after.places, after.values, strict=True))
    changed = [
        place
        for place, text in old.items()
        if place not in new or out.neutral(text) != out.neutral(new[place])
    ]
    names = re.split('/| ', where)[-1] in IDENTITY
    out.values += len(old) if names else 0
    if not changed:
        return
    example = f'{shown(old[changed[0]])} -> {shown(new.get(changed[0], "nothing"))}'
    if names:
        out.differ(where, example, count=len(changed))
    else:
        out.texts.append(f'{where}: {example} ({len(changed)} of {len(old)})')


def shown(value: Any, width: int = 70) -> str:
    """A value in one short line."""
    text = repr(value)
    return text if len(text) <= width else f'{text[:width]}...'


def compare_numbers(
    where: str, before: Column, after: Column, floor: float, out: Comparison
) -> None:
    """One path: places, lengths, then all elements at once."""
    places, old, new = before.places, before.values, after.values
    if places != after.places:
        held = dict(zip(after.places, after.values, strict=True))
        lost = [place for place in places if place not in held]
        if lost:
            out.differ(where, f'missing after in {len(lost)} messages', count=len(lost))
        pairs = [(p, v) for p, v in zip(places, old, strict=True) if p in held]
        if not pairs:
            return
        places, old = [p for p, _ in pairs], [v for _, v in pairs]
        new = [held[place] for place in places]
    sizes = np.array([np.size(one) for one in old])
    same = sizes == np.array([np.size(one) for one in new])
    if not same.all():
        k = int(np.argmin(same))
        text = f'{np.size(old[k])} -> {np.size(new[k])} elements'
        out.differ(f'{where}{place_text(places[k])}', text, count=int((~same).sum()))
    rows = np.flatnonzero(same)
    if rows.size and sizes[rows].sum():
        first, second = (np.concatenate([np.ravel(v[k]) for k in rows]) for v in (old, new))
        owners = np.repeat(np.array(places)[rows], sizes[rows])
        compare_arrays(where, first, second, owners, floor, out)


def compare_arrays(
    where: str, before: Any, after: Any, owners: Any, floor: float, out: Comparison
) -> None:
    """Elements of one path; `owners` are the messages they stand in."""
    out.values += before.size
    whole = before.dtype.kind in 'iub' and after.dtype.kind in 'iub'
    equal = before == after
    first, second = before.astype(float), after.astype(float)
    equal |= np.isnan(first) & np.isnan(second)
    with np.errstate(invalid='ignore', divide='ignore'):
        size = np.maximum(np.maximum(np.abs(first), np.abs(second)), floor)
        relative = np.abs(first - second) / size
    relative[equal] = 0.0
    relative[np.isnan(relative)] = np.inf
    worst = int(np.argmax(relative))
    place = f'{where}{place_text(int(owners[worst]))}'
    if relative[worst] > out.largest:
        out.largest, out.largest_where = float(relative[worst]), place
    beyond = ~equal if whole else relative > out.tolerance
    if beyond.any():
        worst = int(np.argmax(np.where(beyond, relative, -1.0)))
        text = (
            f'{before[worst].item()!r} -> {after[worst].item()!r}, relative {relative[worst]:.2g}'
            f'{place_text(int(owners[worst]))}, {int(beyond.sum())} of {before.size} values'
        )
        out.differ(where, text, float(relative[worst]), int(beyond.sum()))


def place_text(place: int) -> str:
    """Which message, where there is more than one."""
    return f' [message {place}]' if place else ''


def compare_bags(name: str, before: Path, after: Path, out: Comparison) -> None:
    """Two recordings, topic by topic."""
    old, new = read_bag(before), read_bag(after)
    for topic, first in old.items():
        where = f'{name}:{topic}'
        if topic not in new:
            out.differ(where, f'only before: {len(first.stamps)} messages')
            continue
        second = new[topic]
        if first.kind != second.kind:
            out.differ(where, f'{first.kind} -> {second.kind}')
            continue
        if (first.stamps, first.payloads) == (second.stamps, second.payloads):
            out.values += first.count()
            continue
        if len(first.stamps) != len(second.stamps):
            text = f'{len(first.stamps)} -> {len(second.stamps)} messages'
            out.differ(where, text)
        bytes_differ = sum(map(bytes.__ne__, first.payloads, second.payloads))
        if out.exact and bytes_differ:
            out.differ(f'{where} bytes', f'differ in {bytes_differ} messages', count=bytes_differ)
        content = first.decode()
        compare_content(where, content, second.decode(), series_floors(content), out)
    out.new += [f'{name}:{topic} (topic)' for topic in new if topic not in old]


def compare_folders(before: Path, after: Path, out: Comparison) -> None:
    """Everything that a command wrote."""
    old, new = find_documents(before), find_documents(after)
    for name, path in old.items():
        if name not in new:
            out.differ(name, 'only before')
        elif path.is_dir() != new[name].is_dir():
            out.differ(name, 'a file on one side, a folder on the other')
        elif path.is_dir():
            compare_bags(name, path, new[name], out)
        else:
            first, second = read_file(path), read_file(new[name])
            if first is not None and second is not None:
                compare_content(name, first, second, file_floors(first), out)
    out.new += [f'{name} (file)' for name in new if name not in old]


def printed_content(text: str) -> Content:
    """The numbers of each line that `info` prints, by its first word."""
    content, seen = Content(), dict[str, int]()
    for line in text.splitlines():
        words = line.replace(',', ' ').split()
        if words:
            seen[words[0]] = seen.get(words[0], 0) + 1
            values = [one for one in map(number, words[1:]) if not isinstance(one, str)]
            content.add({f'{words[0]} {seen[words[0]]}': np.array(values)})
    return content


def compare_printed(case: Case, before: str, after: str, out: Comparison) -> None:
    """Numbers that `info` prints are its result; of other commands changed lines are listed."""
    old, new = out.neutral(before), out.neutral(after)
    if case.arguments.startswith('info'):
        compare_content('printed', printed_content(old), printed_content(new), {}, out)
    lines = [
        {line.strip() for line in text.splitlines() if line.strip() and 'real time' not in line}
        for text in (old, new)
    ]
    gone, come = sorted(lines[0] - lines[1]), sorted(lines[1] - lines[0])
    for what, part in (('no longer printed', gone), ('printed only after', come)):
        if part:
            out.texts.append(f'{what}: {len(part)} lines, such as {shown(part[0], 110)}')


# ------------------------------------------------------------------------------------- running


@dataclass(frozen=True)
class Run:
    """How a command ended; what it wrote stands below `folder`."""

    folder: Path
    status: int
    printed: str
    errors: str
    seconds: float  # of processor, user and system, of the command and what it started


def fingerprint(checkout: Path) -> str:
    """Hash of the sources that decide on the values."""
    state = hashlib.sha256()
    for part in (PACKAGE, 'config', 'msg'):
        for path in sorted((checkout / part).rglob('*')):
            if path.suffix in SOURCES and path.is_file():
                state.update(f'{path.relative_to(checkout)}\n'.encode())
                state.update(path.read_bytes())
    return state.hexdigest()


def kernel_fingerprint(checkout: Path) -> str:
    """Hash of the compiled sources and of what they import.

    Numba looks at the file of a function only, not at what that calls: a cache that outlives a
    change of another file would hand out the old values.
    """
    state = hashlib.sha256(sys.version.encode())
    texts = {path: path.read_text('utf-8') for path in (checkout / PACKAGE).rglob('*.py')}
    used = {path for path, text in texts.items() if 'numba' in text}
    for path in tuple(used):
        for module in re.findall(rf'^from ({PACKAGE}[\w.]*) import', texts[path], re.MULTILINE):
            place = checkout / module.replace('.', '/')
            used |= {place.with_suffix('.py'), place / '__init__.py'} & set(texts)
    for path in sorted(used):
        state.update(f'{path.relative_to(checkout)}\n{texts[path]}'.encode())
    return state.hexdigest()[:16]


def environment(checkout: Path, numba_cache: Path | None) -> dict[str, str]:
    """One thread of linear algebra, so that sums have one order and times mean something."""
    variables = {**os.environ, 'PYTHONPATH': str(checkout)}
    variables |= dict.fromkeys(
        ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS'), '1'
    )
    if numba_cache is not None:
        variables['NUMBA_CACHE_DIR'] = str(numba_cache)
    return variables


@dataclass
class Side:
    """A checkout and where its results go."""

    name: str
    checkout: Path
    folder: Path
    numba_cache: Path | None = None

    def check(self) -> None:
        """Make sure that commands run here take the package from here."""
        code = f'import {PACKAGE}; print({PACKAGE}.__file__)'
        done = subprocess.run(
            [sys.executable, '-c', code],
            cwd=self.checkout,
            env=environment(self.checkout, None),
            capture_output=True,
            text=True,
            check=False,
        )
        found = Path(done.stdout.strip() or '.').resolve()
        if not found.is_relative_to(self.checkout):
            raise SystemExit(
                f'--{self.name} {self.checkout}: no package {PACKAGE} in it '
                f'({done.stderr.strip().splitlines()[-1:] or found})'
            )

    def run(self, case: Case, values: Mapping[str, str], folder: Path) -> Run:
        """Run a command once, in a folder that is empty first."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        values = {**values, 'out': str(folder / 'out')}
        command = [part.format_map(values) for part in shlex.split(case.arguments)]
        with (
            tempfile.TemporaryFile('w+', encoding='utf-8', errors='replace') as printed,
            tempfile.TemporaryFile('w+', encoding='utf-8', errors='replace') as errors,
        ):
            process = subprocess.Popen(
                [sys.executable, '-m', f'{PACKAGE}.cli.main', *command],
                cwd=self.checkout,
                env=environment(self.checkout, self.numba_cache),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=errors,
            )
            watchdog = threading.Timer(TIMEOUT, process.kill)
            watchdog.start()
            try:
                _, status, usage = os.wait4(process.pid, 0)
            finally:
                watchdog.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            printed.seek(0)
            errors.seek(0)
            return Run(
                folder,
                process.returncode,
                printed.read(),
                errors.read(),
                usage.ru_utime + usage.ru_stime,
            )

    def compiled_since(self, moment: float) -> bool:
        """Whether Numba stored anything: then a run says nothing about speed."""
        stored = self.numba_cache or Path(os.environ.get('NUMBA_CACHE_DIR', self.checkout))
        return any(path.stat().st_mtime >= moment for path in stored.rglob('*.nb[ci]'))

    def run_warm(self, case: Case, values: Mapping[str, str], folder: Path) -> Run:
        """Run; where code was compiled on the way and time counts, run again."""
        moment = time.time()
        done = self.run(case, values, folder)
        if case.timed and done.status == 0 and self.compiled_since(moment):
            done = self.run(case, values, folder)
        return done


class Bench:
    """Runs cases on both sides; what `before` gave is kept as long as nothing changed."""

    def __init__(self, before: Side, after: Side, cases: Iterable[Case], recordings: Path | None):
        self.before, self.after = before, after
        self.cases = {case.name: case for case in cases}
        self.recordings = recordings
        self.source = fingerprint(before.checkout)
        self.fresh: set[str] = set()

    def key(self, case: Case) -> str:
        """Changes with the sources of `before`, with the command and with what it reads."""
        parts = [self.source, sys.version, case.arguments, str(sorted(case.files.items()))]
        parts += [self.key(self.cases[name]) for name in case.inputs]
        return hashlib.sha256('\n'.join(parts).encode()).hexdigest()

    def values(self, case: Case) -> dict[str, str]:
        """What stands for the names in braces; makes the recordings that are read."""
        files = self.before.folder / case.name / 'files'
        files.mkdir(parents=True, exist_ok=True)
        for name, text in case.files.items():
            (files / name).write_text(text, 'utf-8')
        values = {'before': str(self.before.checkout), 'files': str(files)}
        values['recordings'] = str(self.recordings)
        for name in case.inputs:
            values[name] = str(self.run_before(self.cases[name]).folder / 'out')
        return values

    def run_before(self, case: Case) -> Run:
        """The run of `before`, from the cache where it is still true."""
        folder = self.before.folder / case.name
        record = folder / 'run.json'
        if record.is_file():
            stored = json.loads(record.read_text('utf-8'))
            if stored.pop('key') == self.key(case):
                return Run(folder / 'run', **stored)
        values = self.values(case)
        record.unlink(missing_ok=True)
        done = self.before.run_warm(case, values, folder / 'run')
        if case.twice:
            self.before.run(case, values, folder / 'again')
        stored = {name: getattr(done, name) for name in ('status', 'printed', 'errors', 'seconds')}
        record.write_text(json.dumps({'key': self.key(case), **stored}), 'utf-8')
        self.fresh.add(case.name)
        return done

    def times(self, case: Case, old: Run, new: Run, repeat: int) -> tuple[float, float] | None:
        """Least processor seconds; with `repeat` the sides take turns, nothing from the cache."""
        if not case.timed or old.status or new.status:
            return None
        taken = {'before': [old.seconds], 'after': [new.seconds]}
        if repeat > 1 and case.name not in self.fresh:
            taken['before'].clear()
        values = self.values(case)
        with tempfile.TemporaryDirectory() as scratch:
            while min(map(len, taken.values())) < repeat:
                for side in (self.before, self.after):
                    if len(taken[side.name]) < repeat:
                        again = side.run_warm(case, values, Path(scratch) / 'run')
                        taken[side.name].append(again.seconds)
        return min(taken['before']), min(taken['after'])

    def compare(self, case: Case, tolerance: float, repeat: int) -> dict[str, Any]:
        """Run and compare one case."""
        old = self.run_before(case)
        new = self.after.run_warm(case, self.values(case), self.after.folder / case.name / 'run')
        roots = {
            str(self.before.checkout): 'CHECKOUT',
            str(self.after.checkout): 'CHECKOUT',
            str(old.folder): 'RUN',
            str(new.folder): 'RUN',
            str(old.folder.with_name('again')): 'RUN',
        }
        out = Comparison(roots, tolerance, exact=case.name.startswith('simulate-'))
        if old.status:
            out.differ('command', f'fails before: {last_line(old.errors)}')
        elif new.status:
            out.differ('command', f'status {new.status}: {last_line(new.errors)}')
        else:
            if case.twice:
                twice = Comparison(roots, tolerance)
                compare_folders(old.folder, old.folder.with_name('again'), twice)
                out.skipped = frozenset(twice.paths)
            compare_folders(old.folder, new.folder, out)
            compare_printed(case, old.printed, new.printed, out)
        return as_row(case.name, out, self.times(case, old, new, repeat))


def last_line(text: str) -> str:
    """The sentence with which a command ended."""
    return (text.strip().splitlines() or ['nothing was said'])[-1]


# -------------------------------------------------------------------------------------- report


def as_row(name: str, out: Comparison, times: tuple[float, float] | None) -> dict[str, Any]:
    """A comparison as plain data."""
    worst_first = sorted(out.lines, key=lambda line: -line[0])
    return {
        'case': name,
        'values': out.values,
        'differing': out.differing,
        'largest_relative': out.largest if np.isfinite(out.largest) else 'inf',
        'largest_where': out.largest_where,
        'unrepeatable': out.unrepeatable,
        'seconds_before': times and times[0],
        'seconds_after': times and times[1],
        'differences': [line for _, line in worst_first],
        'texts': out.texts,
        'new': out.new,
    }


def print_details(row: Mapping[str, Any]) -> None:
    """What differs, and what is listed only."""
    for title, entries in (
        (f'{row["differing"]} values differ', row['differences']),
        ('text changed (listed only)', row['texts']),
        ('only after (listed only)', row['new']),
    ):
        if entries:
            print(f'\n{row["case"]}: {title}')
            for line in entries[:SHOWN]:
                print(f'  {line}')
            if len(entries) > SHOWN:
                print(f'  and {len(entries) - SHOWN} lines more (all of them: --json)')
    if row['unrepeatable']:
        print(
            f'\n{row["case"]}: {row["unrepeatable"]} paths not compared: two runs of before '
            'disagree on them'
        )


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """One line a case, and the sums."""
    width = max(len(row['case']) for row in rows)
    print(
        f'\n{"case":{width}} {"values":>9} {"differ":>7} {"largest":>8} '
        f'{"before s":>8} {"after s":>8} {"ratio":>6}  where it is largest'
    )
    for row in [*rows, total(rows)]:
        old, new = row['seconds_before'], row['seconds_after']
        times = f'{old:8.2f} {new:8.2f} {new / old:6.3f}' if old else f'{"-":>8} {"-":>8} {"-":>6}'
        print(
            f'{row["case"]:{width}} {row["values"]:>9} {row["differing"]:>7} '
            f'{float(row["largest_relative"]):>8.1e} {times}  {row["largest_where"]}'.rstrip()
        )


def total(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All cases as one."""
    largest = max(rows, key=lambda row: float(row['largest_relative']))
    timed = [row for row in rows if row['seconds_before']]
    return {
        'case': 'all',
        'values': sum(row['values'] for row in rows),
        'differing': sum(row['differing'] for row in rows),
        'largest_relative': largest['largest_relative'],
        'largest_where': largest['case'] if largest['largest_where'] else '',
        'seconds_before': sum(row['seconds_before'] for row in timed),
        'seconds_after': sum(row['seconds_after'] for row in timed),
    }


def unknown_scenarios(side: Side) -> list[str]:
    """Scenarios that no case simulates."""
    with tempfile.TemporaryDirectory() as scratch:
        listed = side.run(Case('list', 'simulate --list'), {}, Path(scratch) / 'run').printed
    names = [line.split()[0] for line in listed.splitlines() if line.strip()]
    return [name for name in names if name not in SCENARIOS]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('--before', type=Path, required=True, metavar='DIR')
    parser.add_argument('--after', type=Path, required=True, metavar='DIR')
    parser.add_argument('--only', nargs='+', metavar='NAME', help="cases; 'identify-*' works")
    parser.add_argument('--list', action='store_true', help='list the cases and stop')
    parser.add_argument('--cache', type=Path, metavar='DIR', help='keeps what before gave')
    parser.add_argument('--keep', type=Path, metavar='OUT', help='keeps what after gave')
    parser.add_argument('--json', type=Path, metavar='FILE', help='every line, as JSON')
    parser.add_argument('--repeat', type=int, default=1, metavar='N', help='least time of N runs')
    parser.add_argument('--recordings', type=Path, metavar='DIR', help='real ones to take as well')
    parser.add_argument('--tolerance', type=float, default=TOLERANCE)
    options = parser.parse_args(arguments)
    for name in ('before', 'after'):
        path = getattr(options, name).resolve()
        if not (path / PACKAGE).is_dir():
            parser.error(f'--{name} {path}: no checkout of the project')
        setattr(options, name, path)
    return options


def chosen_cases(cases: Sequence[Case], only: Sequence[str] | None) -> list[Case]:
    """Cases that match one of the patterns; a pattern that matches none is an error."""
    for pattern in only or ():
        if not fnmatch.filter([case.name for case in cases], pattern):
            raise SystemExit(f'--only {pattern}: no such case (see --list)')
    return [
        case
        for case in cases
        if not only or any(fnmatch.fnmatch(case.name, pattern) for pattern in only)
    ]


def with_real(cases: list[Case], recordings: Path | None) -> list[Case]:
    """The cases, and those of real recordings whose file is there."""
    if recordings is None:
        return cases
    files = [re.findall(r'\{recordings\}/(\S+)', case.arguments)[0] for case in REAL]
    there = [(recordings / name).is_file() for name in files]
    return cases + [case for case, found in zip(REAL, there, strict=True) if found]


def compiled(cache: Path | None, checkout: Path) -> Path | None:
    """Where compiled code of a checkout is kept; older code of the same checkout is removed."""
    if cache is None:
        return None
    place = hashlib.sha256(str(checkout).encode()).hexdigest()[:8]
    folder = cache.resolve() / 'numba' / place / kernel_fingerprint(checkout)
    if not folder.is_dir():
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.mkdir(parents=True)
    return folder


def run_cases(
    options: argparse.Namespace, cases: Sequence[Case], scratch: Path
) -> list[dict[str, Any]]:
    """Compare the chosen cases one after the other."""
    cache, keep = options.cache, options.keep
    old_folder = (cache or (keep / 'before' if keep else scratch / 'before')).resolve()
    new_folder = (keep / 'after' if keep else scratch / 'after').resolve()
    before = Side('before', options.before, old_folder, compiled(cache, options.before))
    after = Side('after', options.after, new_folder, compiled(cache, options.after))
    for side in (before, after):
        side.check()
    recordings = options.recordings and options.recordings.resolve()
    bench = Bench(before, after, cases, recordings)
    rows = []
    state = fingerprint(options.after)
    for case in chosen_cases(cases, options.only):
        begin = time.perf_counter()
        rows.append(bench.compare(case, options.tolerance, options.repeat))
        seconds = time.perf_counter() - begin
        word = f'{rows[-1]["differing"]} DIFFER' if rows[-1]['differing'] else 'same'
        print(f'{case.name}: {word} ({seconds:.1f} s)', file=sys.stderr, flush=True)
        if not keep:
            shutil.rmtree(new_folder / case.name)
    if state != fingerprint(options.after):
        print('note: the sources of after changed while they were compared: run again')
    if not options.only:
        for name in unknown_scenarios(after):
            print(f'note: no case simulates the scenario {name}')
    return rows


def main(arguments: Sequence[str] | None = None, cases: Sequence[Case] | None = None) -> int:
    """Compare and print; 1 where anything differs."""
    options = parse(arguments)
    cases = cases or with_real(all_cases(), options.recordings)
    if options.list:
        print('\n'.join(f'{case.name:32} {case.arguments}' for case in cases))
        return 0
    with tempfile.TemporaryDirectory(prefix='same_values_') as scratch:
        rows = run_cases(options, cases, Path(scratch))
    for row in rows:
        print_details(row)
    print_table(rows)
    if options.json:
        document = {'before': str(options.before), 'after': str(options.after), 'cases': rows}
        options.json.write_text(json.dumps(document, indent=2) + '\n', 'utf-8')
    differing = [row['case'] for row in rows if row['differing']]
    print(
        f'\n{len(differing)} of {len(rows)} cases differ: {", ".join(differing)}'
        if differing
        else f'\nall {len(rows)} cases give the same values'
    )
    return int(bool(differing))


if __name__ == '__main__':
    sys.exit(main())
