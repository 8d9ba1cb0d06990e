"""What a recording holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from veh_identification.runtime.qos import QoS


@dataclass(frozen=True)
class TopicInfo:
    """One topic, over all given recordings."""

    topic: str
    typename: str  # of its first connection
    count: int
    qos: QoS
    typenames: tuple[str, ...]  # more than one only in strange recordings
    has_header: bool  # else only the log time says when a message was made
    problem: str = ''  # why its messages cannot be decoded


@dataclass(frozen=True)
class BagInfo:
    """One recording."""

    path: Path
    storage: str  # mcap, sqlite3, ros1
    compression: str  # '', 'file', 'message'; mcap chunks are not counted as compression
    files: int
    message_count: int
    start_ns: int
    end_ns: int
    truncated: bool  # the end is missing; what is intact is read when problems are skipped
    distribution: str
    custom_data: dict[str, str]
    counts: dict[str, int]  # messages of each topic

    @property
    def duration(self) -> float:
        """Seconds between the first and the last message."""
        return max(self.end_ns - self.start_ns, 0) * 1e-9 if self.message_count else 0.0
