"""SQLite storage for rosbags' writer."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from rosbags.rosbag2 import CompressionMode
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Writer


class SqliteStorage(Sqlite3Writer):
    """rosbags' storage, opened by its path: rosbags' URI breaks on `#`, `?` and `%` in names."""

    def __init__(self, path: Path, compression: CompressionMode):
        """Create the file named after the folder `path`."""
        self.path = path / f'{path.name}.db3'
        self.conn = sqlite3.connect(self.path)
        self.conn.executescript(self.SQLITE_SCHEMA)
        self.cursor = self.conn.cursor()
