"""Plain data that remember where they stood: the file, line and column of every entry."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from veh_identification.configuration.faults import ConfigurationError, EntryPath, Fault


@dataclass(frozen=True, slots=True)
class Entry:
    """A scalar, a mapping or a list, and where it begins (line 0: not from a file).

    Entries of aliases are shared, not copied: `size` counts them as often as they are used,
    `levels` is how deep the nesting goes below.
    """

    content: Any  # a scalar, dict[str, Entry] or list[Entry]
    file: str = ''
    line: int = 0
    column: int = 0
    size: int = 1
    levels: int = 0

    @property
    def is_mapping(self) -> bool:
        """Whether it holds named entries."""
        return isinstance(self.content, dict)

    def child(self, key: str | int) -> Entry | None:
        """The entry below, if there is one."""
        if isinstance(self.content, dict):
            found: Entry | None = self.content.get(key)
            return found
        if isinstance(self.content, list) and isinstance(key, int) and key < len(self.content):
            item: Entry = self.content[key]
            return item
        return None

    def plain(self) -> Any:
        """Fresh dictionaries, lists and scalars."""
        if isinstance(self.content, dict):
            return {key: entry.plain() for key, entry in self.content.items()}
        if isinstance(self.content, list):
            return [entry.plain() for entry in self.content]
        return self.content


def entry_of(data: Any, file: str = '') -> Entry:
    """Entry of plain data that no file holds; keys become text, as in files."""
    content = data
    if isinstance(data, Mapping):
        content = {str(key): entry_of(value, file) for key, value in data.items()}
    elif isinstance(data, (list, tuple)):
        content = [entry_of(value, file) for value in data]
    return Entry(content, file)


def merged(base: Entry, change: Entry) -> Entry:
    """`base` with the entries of `change`: mappings are joined, anything else is replaced."""
    if base.is_mapping and change.content is None:  # a section without entries changes nothing
        return base
    if not (base.is_mapping and change.is_mapping):
        return change
    content = dict(base.content)
    for key, entry in change.content.items():
        content[key] = merged(content[key], entry) if key in content else entry
    return replace(change, content=content)


@dataclass(frozen=True)
class Document:
    """A configuration: its entries, the file they come from, and faults of the reading.

    `prefix` is the path of the root where a part of a file is taken for the whole (`car:`).
    """

    source: str
    root: Entry
    faults: tuple[Fault, ...] = ()
    prefix: EntryPath = ()
    #: The file and those that it names as its bases, from the top.
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Any, source: str) -> Document:
        """Document of plain data; `source` names them in messages."""
        return cls(source, entry_of(data, source), files=(source,))

    @cached_property
    def data(self) -> Any:
        """The content as plain data."""
        return self.root.plain()

    @property
    def mapping(self) -> dict[str, Any]:
        """The content, which must be a mapping; an empty file is an empty one."""
        if self.data is None:
            return {}
        if not isinstance(self.data, dict):
            raise self.error((), 'expected a mapping of names to values')
        return self.data

    def find(self, path: EntryPath) -> Entry | None:
        """The entry at a path below the root, if there is one."""
        entry: Entry | None = self.root
        for part in path:
            entry = entry.child(part) if entry is not None else None
        return entry

    def fault(self, path: EntryPath, text: str) -> Fault:
        """A fault at a path, whose line is that of the deepest entry on it that exists."""
        entry = self.root
        for part in path:
            below = entry.child(part)
            if below is None:
                break
            entry = below
        return Fault(entry.file or self.source, entry.line, (*self.prefix, *path), text)

    def error(self, path: EntryPath, text: str) -> ConfigurationError:
        """The error of one fault, for checks that no model declares."""
        return ConfigurationError([self.fault(path, text)])

    def refuse_faults(self) -> Document:
        """The document itself, or the error that lists what was found in reading."""
        if self.faults:
            raise ConfigurationError(self.faults)
        return self

    def below(self, key: str) -> Document:
        """The part under a key as a document of its own; an empty one when there is none."""
        child = self.root.child(key) or replace(self.root, content=None)
        return replace(self, root=child, prefix=(*self.prefix, key))

    def unwrapped(self, names: Collection[str]) -> Document:
        """The document without outer mappings that hold nothing but one of `names`."""
        document = self
        while document.root.is_mapping and len(document.root.content) == 1:
            (key,) = document.root.content
            if key not in names:
                break
            document = document.below(key)
        return document

    def changed(self, data: Mapping[str, Any], source: str) -> Document:
        """The document with other values on top, which `source` (the options) gives."""
        root = self.root if self.root.content is not None else replace(self.root, content={})
        return replace(self, root=merged(root, entry_of(data, source)))

    def filled(self, defaults: Entry) -> Document:
        """The document with the entries of `defaults` where it has none."""
        return replace(self, root=merged(defaults, self.root))

    def leaves(self) -> Iterator[tuple[EntryPath, Entry]]:
        """Entries that are no mappings, with their paths."""
        stack: list[tuple[EntryPath, Entry]] = [((), self.root)]
        while stack:
            path, entry = stack.pop()
            if entry.is_mapping:
                below = [((*path, key), child) for key, child in entry.content.items()]
                stack.extend(reversed(below))
            else:
                yield path, entry
