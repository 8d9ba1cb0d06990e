"""Rates, gaps and disorder of the topics of a recording, from header stamps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import VehIdError
from veh_identification.reporting.content import HealthRow
from veh_identification.runtime.bags import BagReader, columns_of
from veh_identification.types import Array

#: A distance between stamps above this many usual ones is a gap.
GAP = 5.0
#: Topics of fewer messages are latched or rare: they have no begin and end of their own.
FEW = 10
#: A topic begins late or ends early from this share of the recording on.
LEAST_PART = 0.05
#: Beyond this many messages only the beginning of a recording is looked at.
MOST_MESSAGES = 3_000_000


def sensor_health(
    bags: Sequence[str | Path], *, skip: Sequence[str] = ('/truth/',)
) -> tuple[HealthRow, ...]:
    """One row per topic and recording; topics of the simulation's truth are left out."""
    rows: list[HealthRow] = []
    for bag in bags:
        try:
            rows.extend(_of_bag(Path(bag), skip))
        except VehIdError as error:  # the result stands: the report only says what it cannot show
            rows.append(
                HealthRow(
                    Path(bag).name,
                    '-',
                    '-',
                    0,
                    np.nan,
                    np.nan,
                    0,
                    np.nan,
                    0,
                    0,
                    f'cannot be read again: {error}',
                )
            )
    return tuple(rows)


def _of_bag(bag: Path, skip: Sequence[str]) -> list[HealthRow]:
    with BagReader(bag, on_error='skip') as reader:
        info = reader.info()[0]
        wanted = [
            name
            for name, topic in reader.topics.items()
            if topic.count and not topic.problem and not name.startswith(tuple(skip))
        ]
        stop, note = None, ''
        if reader.message_count > MOST_MESSAGES:
            share = MOST_MESSAGES / reader.message_count
            stop = info.start_ns + int(share * (info.end_ns - info.start_ns))
            note = f'judged by the first {share:.0%} of the recording'
        columns = columns_of(reader, dict.fromkeys(wanted, ()), stop_ns=stop)
        rows = []
        for name in wanted:
            column = columns[name]
            text = note or ('' if column.has_header else 'no header: log time is used')
            rows.append(
                health_row(
                    bag.name, name, column.typename, column.stamps_ns, column.undecodable, text
                )
            )
        rows = with_ends(rows, {name: columns[name].stamps_ns for name in wanted})
        rows += [
            HealthRow(
                bag.name,
                name,
                topic.typename,
                topic.count,
                np.nan,
                np.nan,
                0,
                np.nan,
                0,
                topic.count,
                topic.problem,
            )
            for name, topic in reader.topics.items()
            if topic.problem
        ]
    return rows


def with_ends(
    rows: list[HealthRow], stamps_ns: Mapping[str, NDArray[np.int64]]
) -> list[HealthRow]:
    """The rows with how much later than the others each topic begins, how much earlier it ends.

    Medians, so that one topic with another clock does not shift all others; topics of a few
    messages (latched ones) neither count nor are judged.
    """
    ends = {
        name: (int(stamps.min()), int(stamps.max()))
        for name, stamps in stamps_ns.items()
        if len(stamps) >= FEW
    }
    if len(ends) < 3:
        return rows
    begin, end = np.median(np.array(list(ends.values()), dtype=np.float64), axis=0)
    result = []
    for row in rows:
        if row.topic in ends:
            first, last = ends[row.topic]
            least = max(LEAST_PART * (end - begin) * 1e-9, GAP / max(row.rate, 1e-9))
            late, early = (first - begin) * 1e-9, (end - last) * 1e-9
            row = replace(
                row,
                starts_late=late if late > least else 0.0,
                ends_early=early if early > least else 0.0,
            )
        result.append(row)
    return result


def health_row(
    recording: str,
    topic: str,
    typename: str,
    stamps_ns: NDArray[np.int64],
    undecodable: int = 0,
    note: str = '',
) -> HealthRow:
    """Statistics of the stamps of one topic."""
    if len(stamps_ns) < 2:
        return HealthRow(
            recording,
            topic,
            typename,
            len(stamps_ns),
            np.nan,
            np.nan,
            0,
            0.0,
            0,
            undecodable,
            note,
        )
    disorder = int(np.sum(np.diff(stamps_ns) <= 0))
    step: Array = np.diff(np.unique(stamps_ns)).astype(float) * 1e-9
    if not len(step):
        return HealthRow(
            recording,
            topic,
            typename,
            len(stamps_ns),
            np.nan,
            np.nan,
            0,
            0.0,
            disorder,
            undecodable,
            'all stamps are equal',
        )
    # The mean where several sources share a topic: their stamps may lie in close pairs.
    usual = max(float(np.median(step)), float(step.mean()))
    gaps = step[step > GAP * usual]
    covered = float(step.sum() - gaps.sum())
    rate = (len(stamps_ns) - 1 - len(gaps)) / covered if covered > 0.0 else np.nan
    if disorder and not note:
        note = 'stamps interleave: several sources or late messages'
    return HealthRow(
        recording,
        topic,
        typename,
        len(stamps_ns),
        rate,
        float(step.max()),
        len(gaps),
        float(gaps.sum()),
        disorder,
        undecodable,
        note,
    )
