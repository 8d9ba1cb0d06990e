"""SQLite files of rosbag2 as a source of messages.

A database can hold anything under the names that a recorder uses: views with queries that never
end, computed columns, texts where numbers belong. So only true tables with true columns are read,
nothing that the file defines is run, and every query has a limit of time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from veh_identification.errors import BagError
from veh_identification.runtime.bags.qos_text import parse_qos
from veh_identification.runtime.bags.source import Connection, Definition, Item, Problems

ENCODINGS = {'ros2msg': 'msg', 'ros2idl': 'idl'}
COLUMNS = {
    'messages': {'id', 'topic_id', 'timestamp', 'data'},
    'topics': {'id', 'name', 'type', 'serialization_format'},
    'message_definitions': {'id', 'topic_type', 'encoding', 'encoded_message_definition'},
}
#: Rows that can be messages; all others are damage.
SOUND = (
    "typeof(topic_id) = 'integer' AND typeof(timestamp) = 'integer' AND timestamp >= 0 "
    "AND typeof(data) = 'blob'"
)
LARGEST = 2**63 - 1
#: Seconds that a query may take before its next rows, beside those for the size of the file.
SECONDS = 20.0
SLOWEST_DISK = 10e6  # bytes/s
ROWS = 1000
STEPS = 20_000  # of SQLite's machine between two looks at the clock: well below a millisecond


class SqliteSource:
    """One .db3 file of any rosbag2 version."""

    truncated = False

    def __init__(self, path: Path, problems: Problems, shown: Path | None = None):
        """Open the database and read its topics; a damaged one cannot be used at all."""
        self.path = shown or path
        # A log beside the file holds what the recorder had not merged when it was cut off.
        log = path.with_name(path.name + '-wal')
        mode = 'mode=ro' if log.is_file() and log.stat().st_size else 'mode=ro&immutable=1'
        self._allowed = SECONDS + path.stat().st_size / SLOWEST_DISK
        self._deadline = 0.0
        try:
            self.database = sqlite3.connect(f'file:{quote(str(path))}?{mode}', uri=True)
        except sqlite3.Error as error:
            raise BagError(f'{self.path} cannot be opened: {error}.') from error
        try:
            self.database.set_progress_handler(self._is_late, STEPS)
            self._open(problems)
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            self.database.close()
            raise BagError(
                f'{self.path} cannot be read as an sqlite3 recording, it is truncated or damaged: '
                f'{self._why(error)}.'
            ) from error
        except BaseException:
            self.database.close()
            raise

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def _why(self, error: Exception) -> str:
        if self._is_late():
            return f'a query takes longer than {self._allowed:.0f} s'
        return str(error)

    def _rows(self, query: str, values: Collection[int] = ()) -> Iterator[tuple[Any, ...]]:
        """Rows of a query in lists: no cursor is open while somebody else works with them."""
        self._deadline = time.monotonic() + self._allowed
        cursor = self.database.execute(query, tuple(values))
        while rows := cursor.fetchmany(ROWS):
            yield from rows
            self._deadline = time.monotonic() + self._allowed

    def _open(self, problems: Problems) -> None:
        for pragma in ('trusted_schema = OFF', 'cell_size_check = ON', 'mmap_size = 0'):
            list(self._rows(f'PRAGMA {pragma}'))
        columns = {table: self._columns(table) for table in COLUMNS}
        for table in ('topics', 'messages'):
            if not COLUMNS[table] <= columns[table]:
                raise BagError(
                    f'{self.path} is an sqlite3 file but not a recording: no {table} table with '
                    f'{", ".join(sorted(COLUMNS[table]))}.'
                )
        statistics = {
            topic: (count, first, last)
            for topic, count, first, last in self._rows(
                'SELECT topic_id, COUNT(*), MIN(timestamp), MAX(timestamp) '
                f'FROM messages WHERE {SOUND} GROUP BY topic_id'
            )
        }
        self.message_count = sum(row[0] for row in statistics.values())
        self.start_ns = min((row[1] for row in statistics.values()), default=LARGEST)
        self.end_ns = max((row[2] for row in statistics.values()), default=0)
        definitions = self._definitions(columns['message_definitions'], problems)
        counts = {key: row[0] for key, row in statistics.items()}
        self.connections = self._connections(counts, definitions, columns['topics'], problems)
        ((all_rows,),) = self._rows('SELECT COUNT(*) FROM messages')
        topics = {one.id for one in self.connections}
        lost = all_rows - sum(count for key, count in counts.items() if key in topics)
        if lost:
            problems.meet(
                f'{self.path} is damaged: {lost} of {all_rows} messages have no topic, no time '
                f'or no bytes (they hold values of another type).'
            )

    def _columns(self, table: str) -> set[str]:
        """Names of a true table's true columns; none for a view or a virtual table."""
        # A view has no pages of its own, nor has a virtual table.
        query = f"SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = '{table}'"
        pages = [page for (page,) in self._rows(query)]
        if len(pages) != 1 or type(pages[0]) is not int or pages[0] < 1:
            return set()
        # Hidden or computed ones have a number other than 0 in their last field.
        found = list(self._rows(f'PRAGMA table_xinfo({table})'))
        return {row[1] for row in found if row[-1] == 0}

    def _definitions(self, columns: set[str], problems: Problems) -> dict[str, Definition]:
        definitions: dict[str, Definition] = {}
        if not COLUMNS['message_definitions'] <= columns:
            return definitions
        for row in self._rows(
            'SELECT topic_type, encoding, encoded_message_definition '
            'FROM message_definitions ORDER BY id DESC'
        ):
            if all(type(one) is str for one in row):
                name, encoding, text = row
                definitions[name] = Definition(ENCODINGS.get(encoding, 'none'), text)
            else:
                problems.meet(f'{self.path} is damaged: a message definition is no text.')
        return definitions

    def _connections(
        self,
        counts: dict[int, int],
        definitions: dict[str, Definition],
        columns: set[str],
        problems: Problems,
    ) -> list[Connection]:
        qos = 'offered_qos_profiles' if 'offered_qos_profiles' in columns else "''"
        found = []
        for key, topic, typename, serialization, profiles in self._rows(
            f'SELECT id, name, type, serialization_format, {qos} FROM topics ORDER BY id'
        ):
            texts = (topic, typename, serialization)
            if type(key) is not int or not all(type(one) is str for one in texts):
                problems.meet(f'{self.path} is damaged: a topic has a name or type that is none.')
                continue
            found.append(
                Connection(
                    id=key,
                    topic=topic,
                    typename=typename,
                    count=counts.get(key, 0),
                    definition=definitions.get(typename, Definition()),
                    qos=parse_qos(profiles if type(profiles) is str else ''),
                    serialization=serialization,
                )
            )
        return found

    def items(
        self, ids: Collection[int], start_ns: int | None, stop_ns: int | None, problems: Problems
    ) -> Iterator[Item]:
        """Messages of the topics `ids` in the order of log time, ties as recorded."""
        marks = ','.join('?' for _ in ids)
        query = 'SELECT timestamp, topic_id, data FROM messages '
        query += f'WHERE topic_id IN ({marks}) AND {SOUND}'
        values: list[int] = list(ids)
        if start_ns is not None:
            query += ' AND timestamp >= ?'
            values.append(min(max(start_ns, 0), LARGEST))
        if stop_ns is not None:
            query += ' AND timestamp < ?'
            values.append(min(max(stop_ns, 0), LARGEST))
        try:
            yield from self._rows(query + ' ORDER BY timestamp, id', values)  # type: ignore[misc]
        except sqlite3.Error as error:
            sentence = f'{self.path} is damaged, reading stopped: {self._why(error)}.'
            problems.meet(sentence, error)

    def close(self) -> None:
        """Close the database."""
        self.database.close()
