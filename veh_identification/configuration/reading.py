"""YAML files to documents: the only place of the package that parses YAML.

Beyond PyYAML's safe loader: equal keys are refused (PyYAML silently keeps the last), every entry
knows its line, and no file can exhaust the machine (size, nesting, aliases of aliases, digits).
Entries are built from libyaml's events, so that nesting is counted before anything recurses.

Kept of YAML 1.1 are the booleans (`yes`, `on`) and octal numbers, because files rely on them. Not
kept: dates and sexagesimal numbers (`12:30`), which are texts; keys are always the text that
stands in the file (`on: 1` has the key `on`). Tags beyond the plain ones (`!!set`, `!!python`) are
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from veh_identification.configuration.document import Document, Entry, merged
from veh_identification.configuration.faults import Fault, shown
from veh_identification.files import FileError, read_plain, shortened

#: Limits that no configuration of a person comes near (bytes, levels, entries, digits, files).
MOST_BYTES = 8 * 2**20
MOST_LEVELS = 50
MOST_ENTRIES = 500_000
MOST_DIGITS = 40
MOST_BASES = 8

_Loader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)  # by libyaml: twenty times faster
_TAG = 'tag:yaml.org,2002:'
_BOOLEANS = {'yes': True, 'no': False, 'true': True, 'false': False, 'on': True, 'off': False}


Each = Callable[[Document], Document]


def read(path: Path | str, find_base: Callable[[str], Path] | None = None) -> Document:
    """The document of a YAML file, or a ConfigurationError with every fault of the reading.

    With `find_base` the entry `base: other.yaml` names a file whose entries this one changes: one
    beside it or, where there is none, the one that `find_base` gives for the name.
    """
    return read_all(path, find_base).refuse_faults()


def parse(text: str, source: str) -> Document:
    """The document of a YAML text; `source` names it in messages."""
    return _parse(text, source).refuse_faults()


def read_all(
    path: Path | str,
    find_base: Callable[[str], Path] | None = None,
    each: Each = lambda document: document,
) -> Document:
    """As `read`, but the faults stand in the document, to be listed with those of a model.

    `each` brings a file to its newest form, before it is joined with its base.
    """
    return _with_bases(Path(path), find_base, each, ())


def _with_bases(
    path: Path, find_base: Callable[[str], Path] | None, each: Each, above: tuple[Path, ...]
) -> Document:
    text, reason = _text(path)
    if reason:
        return Document(str(path), Entry(None), (Fault(str(path), 0, (), reason),))
    document = each(_parse(text, str(path)))
    name = document.root.child('base')
    if find_base is None or name is None:
        return document
    rest = {key: entry for key, entry in document.root.content.items() if key != 'base'}
    document = replace(document, root=replace(document.root, content=rest))
    chain = (*above, path)
    fault = ''
    if not isinstance(name.content, str) or not name.content.isprintable():
        fault = f'expected the name of a file, found {shown(name.plain())}'
    else:
        base = path.parent / name.content
        base = base if _exists(base) else find_base(base.name)
        if not _exists(base):
            missing = shortened(name.content)
            fault = f'there is no file {missing} beside this one nor among the packaged ones'
        elif any(_same(base, other) for other in chain):
            circle = ' -> '.join(one.name for one in (*chain, base))
            fault = f'the bases go in a circle: {circle}'
        elif len(chain) >= MOST_BASES:
            fault = f'more than {MOST_BASES} files change one another'
    if fault:
        faults = (*document.faults, Fault(str(path), name.line, ('base',), fault))
        return replace(document, faults=faults)
    below = _with_bases(base, find_base, each, chain)
    return replace(
        document,
        root=merged(below.root, document.root),
        faults=(*document.faults, *below.faults),
        files=(*document.files, *below.files),
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # names that no file can have
        return False


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _text(path: Path) -> tuple[str, str]:
    """The text of a file, or why it has none."""
    try:
        content = read_plain(path, MOST_BYTES)
    except FileError as error:
        return '', error.why
    try:
        return content.decode('utf-8-sig'), ''
    except UnicodeDecodeError as error:
        line = content.count(b'\n', 0, error.start) + 1
        return '', f'is no text in UTF-8 (line {line}, byte {error.start})'


class _StopReading(Exception):  # noqa: N818 - not an error of the program
    """The rest of the text cannot be understood."""


def _parse(text: str, source: str) -> Document:
    composer = _Composer(source)
    root = Entry(None, source)
    try:
        root = composer.document(text)
    except _StopReading as stop:
        composer.faults.append(stop.args[0])
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 0
        what = ' '.join(f'{error.problem or error.context or "cannot be understood"}'.split())
        composer.faults.append(Fault(source, line, (), f'not YAML: {what}'))
    except yaml.reader.ReaderError as error:
        line = _line_of(text, error.position)
        composer.faults.append(Fault(source, line, (), 'not YAML: control characters in it'))
    except yaml.YAMLError as error:
        what = ' '.join(str(error).split())
        composer.faults.append(Fault(source, 0, (), f'not YAML: {what}'))
    except UnicodeEncodeError as error:  # half characters, which a command line can hold
        line = _line_of(text, error.start)
        composer.faults.append(Fault(source, line, (), 'is no text in UTF-8'))
    return Document(source, root, tuple(composer.faults), files=(source,))


def _line_of(text: str, position: int) -> int:
    return text.count('\n', 0, max(position, 0)) + 1


class _Composer:
    """Entries from the events of the parser; faults are gathered as long as it can go on."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.faults: list[Fault] = []
        self.anchors: dict[str, Entry | None] = {}  # None while the entry is being built
        self.path: list[str | int] = []
        self.entries = 0

    def document(self, text: str) -> Entry:
        """The one document of a text; nothing at all is an empty one."""
        nul = text.find('\0')
        if nul >= 0:
            fault = Fault(self.source, _line_of(text, nul), (), 'not YAML: a NUL byte in it')
            raise _StopReading(fault)
        self.loader = _Loader(text)
        try:
            self._next()  # begin of the stream
            event = self._next()
            if isinstance(event, yaml.StreamEndEvent):
                return Entry(None, self.source)
            root = self._entry(self._next())
            self._next()  # end of the document
            event = self._next()
            if not isinstance(event, yaml.StreamEndEvent):
                self._fault(event, 'a second document begins here, expected one in a file')
            return root
        finally:
            self.loader.dispose()

    def _next(self) -> Any:
        return self.loader.get_event()

    def _fault(self, event: Any, text: str) -> None:
        fault = Fault(self.source, event.start_mark.line + 1, tuple(self.path), text)
        self.faults.append(fault)

    def _stop(self, event: Any, text: str) -> _StopReading:
        return _StopReading(Fault(self.source, event.start_mark.line + 1, tuple(self.path), text))

    def _entry(self, event: Any) -> Entry:
        """The entry that begins with an event."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        self._count(event, 1)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        before = self.entries
        content: Any
        below: Iterable[Entry] = ()
        if isinstance(event, yaml.ScalarEvent):
            content = self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            self._check_levels(event, 1)
            self._plain_tag(event, 'map')
            content = self._mapping()
            below = content.values()
        else:
            self._check_levels(event, 1)
            self._plain_tag(event, 'seq')
            below = content = self._list()
        mark = event.start_mark
        size = 1 + self.entries - before
        levels = max((1 + entry.levels for entry in below), default=0)
        entry = Entry(content, self.source, mark.line + 1, mark.column + 1, size, levels)
        if event.anchor is not None:
            self.anchors[event.anchor] = entry
        return entry

    def _count(self, event: Any, size: int) -> None:
        self.entries += size
        if self.entries > MOST_ENTRIES:
            raise self._stop(event, f'more than {MOST_ENTRIES} entries, aliases written out')

    def _check_levels(self, event: Any, levels: int) -> None:
        if len(self.path) + levels > MOST_LEVELS:
            raise self._stop(event, f'nested deeper than {MOST_LEVELS} levels')

    def _plain_tag(self, event: Any, kind: str) -> None:
        if event.tag not in (None, '!', f'{_TAG}{kind}'):
            self._fault(event, f'expected plain values, found the tag {_tag_text(event.tag)}')

    def _alias(self, event: Any) -> Entry:
        if event.anchor not in self.anchors:
            self._fault(event, f'the alias *{event.anchor} stands for nothing above it')
            return Entry(None, self.source, event.start_mark.line + 1)
        entry = self.anchors[event.anchor]
        if entry is None:
            self._fault(event, f'the alias *{event.anchor} makes the entry a part of itself')
            return Entry(None, self.source, event.start_mark.line + 1)
        self._count(event, entry.size)
        self._check_levels(event, entry.levels)
        return entry

    def _list(self) -> list[Entry]:
        items: list[Entry] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            self.path.append(len(items))
            items.append(self._entry(event))
            self.path.pop()
        return items

    def _mapping(self) -> dict[str, Entry]:
        items: dict[str, Entry] = {}
        inherited: dict[str, Entry] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event)
            self.path.append(key)
            value = self._entry(self._next())
            mark = event.start_mark  # of the key: the value may begin lines below
            value = replace(value, line=mark.line + 1, column=mark.column + 1)
            if _is_merge(event):
                for name, one in self._merged_in(event, value).items():
                    inherited.setdefault(name, one)
            elif key in items:
                self._fault(event, f'stands twice, here and in line {items[key].line}')
            else:
                items[key] = value
            self.path.pop()
        return {**{k: v for k, v in inherited.items() if k not in items}, **items}

    def _key(self, event: Any) -> str:
        if isinstance(event, yaml.ScalarEvent):
            self._count(event, 1)
            return str(event.value)
        entry = self._entry(event)  # so that what follows it can be read
        if isinstance(event, yaml.AliasEvent) and isinstance(entry.content, str):
            return entry.content
        self._fault(event, f'expected a name before the colon, found {shown(entry.plain())}')
        return '?'

    def _merged_in(self, event: Any, value: Entry) -> dict[str, Entry]:
        """The entries that `<<` brings in: of a mapping or of a list of them, the first wins."""
        sources = value.content if isinstance(value.content, list) else [value]
        found: dict[str, Entry] = {}
        for source in sources:
            if not source.is_mapping:
                self._fault(
                    event, f'expected a mapping to take over, found {shown(value.plain())}'
                )
                break
            for name, entry in source.content.items():
                found.setdefault(name, entry)
        return found

    def _scalar(self, event: Any) -> Any:
        tag, text = event.tag, event.value
        if tag is None:
            tag = self.loader.resolve(yaml.ScalarNode, text, event.implicit)
        kind = str(tag).removeprefix(_TAG)
        if kind in ('str', '!', 'timestamp', 'value', 'merge'):
            return text
        try:
            return _CONSTRUCTED[kind](text)
        except KeyError:
            self._fault(event, f'expected plain values, found the tag {_tag_text(event.tag)}')
        except ValueError as error:
            self._fault(event, str(error) or f'{shown(text)} is no {kind}')
        return None


def _is_merge(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == '<<' and event.implicit[0]


def _tag_text(tag: str) -> str:
    text = f'!!{tag.removeprefix(_TAG)}' if tag.startswith(_TAG) else str(tag)
    return text if text.isprintable() and len(text) <= 60 else shown(text)


def _null(text: str) -> None:
    if text.lower() not in ('', '~', 'null'):
        raise ValueError(f'{shown(text)} is no empty value')


def _boolean(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise ValueError(f'expected true or false, found {shown(text)}')
    return _BOOLEANS[text.lower()]


def _integer(text: str) -> int | str:
    if ':' in text:  # sexagesimal in YAML 1.1; to everybody else a time of day
        return text
    digits = text.replace('_', '').lower()
    if len(digits) > MOST_DIGITS:
        raise ValueError(f'expected a number of at most {MOST_DIGITS} digits, found {len(digits)}')
    sign = -1 if digits.startswith('-') else 1
    body = digits.lstrip('+-')
    base = {'0b': 2, '0x': 16}.get(body[:2], 8 if body.startswith('0') and len(body) > 1 else 10)
    try:
        return sign * int(body[2:] if base in (2, 16) else body, base)
    except ValueError:
        raise ValueError(f'expected a whole number, found {shown(text)}') from None


def _real(text: str) -> float | str:
    if ':' in text:
        return text
    digits = text.replace('_', '').lower()
    for name in ('inf', 'nan'):
        digits = digits.replace(f'.{name}', name)
    try:
        return float(digits)
    except ValueError:
        raise ValueError(f'expected a number, found {shown(text)}') from None


_CONSTRUCTED: dict[str, Callable[[str], Any]] = {
    'null': _null,
    'bool': _boolean,
    'int': _integer,
    'float': _real,
}
