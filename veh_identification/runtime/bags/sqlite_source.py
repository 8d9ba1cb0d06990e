"""SQLite files of rosbag2 as a source of messages."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import quote

from veh_identification.errors import BagError
from veh_identification.runtime.bags.qos_text import parse_qos
from veh_identification.runtime.bags.source import Connection, Definition, Item, Problems

ENCODINGS = {'ros2msg': 'msg', 'ros2idl': 'idl'}


class SqliteSource:
    """One .db3 file of any rosbag2 version."""

    truncated = False

    def __init__(self, path: Path, problems: Problems, shown: Path | None = None):
        """Open the database and read its topics; a damaged one cannot be used at all."""
        self.path = shown or path
        # A log beside the file holds what the recorder had not merged when it was cut off.
        log = path.with_name(path.name + '-wal')
        mode = 'mode=ro' if log.exists() and log.stat().st_size else 'mode=ro&immutable=1'
        try:
            self.database = sqlite3.connect(f'file:{quote(str(path))}?{mode}', uri=True)
        except sqlite3.Error as error:
            raise BagError(f'{self.path} cannot be opened: {error}.') from error
        try:
            self._open()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.database.close()
            raise BagError(
                f'{self.path} cannot be read as an sqlite3 recording, it is truncated or damaged: '
                f'{error}.'
            ) from error
        except BaseException:
            self.database.close()
            raise

    def _open(self) -> None:
        tables = {name for (name,) in self.database.execute('SELECT name FROM sqlite_master')}
        if not {'topics', 'messages'} <= tables:
            raise BagError(
                f'{self.path} is an sqlite3 file but not a recording: no messages table.'
            )
        statistics = {
            topic: (count, first, last)
            for topic, count, first, last in self.database.execute(
                'SELECT topic_id, COUNT(*), MIN(timestamp), MAX(timestamp) '
                'FROM messages GROUP BY topic_id'
            )
        }
        self.has_definitions = 'message_definitions' in tables
        self.connections = self._connections({key: row[0] for key, row in statistics.items()})
        self.message_count = sum(row[0] for row in statistics.values())
        self.start_ns = min((row[1] for row in statistics.values()), default=2**63 - 1)
        self.end_ns = max((row[2] for row in statistics.values()), default=0)

    def _connections(self, counts: dict[int, int]) -> list[Connection]:
        definitions: dict[str, Definition] = {}
        if self.has_definitions:
            definitions = {
                name: Definition(ENCODINGS.get(encoding, 'none'), text)
                for name, encoding, text in self.database.execute(
                    'SELECT topic_type, encoding, encoded_message_definition '
                    'FROM message_definitions ORDER BY id DESC'
                )
            }
        columns = {row[1] for row in self.database.execute('PRAGMA table_info(topics)')}
        qos = 'offered_qos_profiles' if 'offered_qos_profiles' in columns else "''"
        rows = self.database.execute(
            f'SELECT id, name, type, serialization_format, {qos} FROM topics ORDER BY id'
        )
        return [
            Connection(
                id=key,
                topic=topic,
                typename=typename,
                count=counts.get(key, 0),
                definition=definitions.get(typename, Definition()),
                qos=parse_qos(profiles),
                serialization=serialization,
            )
            for key, topic, typename, serialization, profiles in rows
        ]

    def items(
        self, ids: Collection[int], start_ns: int | None, stop_ns: int | None, problems: Problems
    ) -> Iterator[Item]:
        """Messages of the topics `ids` in the order of log time, ties as recorded."""
        marks = ','.join('?' for _ in ids)
        query = f'SELECT timestamp, topic_id, data FROM messages WHERE topic_id IN ({marks})'
        values: list[int] = list(ids)
        if start_ns is not None:
            query += ' AND timestamp >= ?'
            values.append(start_ns)
        if stop_ns is not None:
            query += ' AND timestamp < ?'
            values.append(stop_ns)
        try:
            yield from self.database.execute(query + ' ORDER BY timestamp, id', values)
        except sqlite3.Error as error:
            problems.meet(f'{self.path} is damaged, reading stopped: {error}.', error)

    def close(self) -> None:
        """Close the database."""
        self.database.close()
