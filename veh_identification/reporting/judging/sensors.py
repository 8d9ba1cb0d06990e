"""Sentences about the recordings themselves: gaps, sensors that stop, what cannot be read."""

from __future__ import annotations

from veh_identification.findings import Finding, Level
from veh_identification.findings.numbers import counted, listed, number, percent
from veh_identification.reporting.content import HealthRow

#: Share of a topic's time in gaps from which on they are a reservation.
MANY_GAPS = 0.1


def sensor_findings(health: tuple[HealthRow, ...], many_gaps: Level = 'warn') -> list[Finding]:
    """What the reader must know about the topics; `many_gaps` is how serious those are."""
    result = [*_incomplete(health), *_gaps(health, many_gaps)]
    broken = [row for row in health if row.undecodable]
    if broken:
        result.append(
            Finding(
                'warn',
                'undecodable_messages',
                f'{listed([row.topic for row in broken])}: messages that cannot be decoded.',
            )
        )
    return result + [
        Finding('warn', 'recording_unreadable', f'{row.recording}: {row.note}')
        for row in health
        if row.topic == '-'
    ]


def _incomplete(health: tuple[HealthRow, ...]) -> list[Finding]:
    """Topics that begin late or end early: one sentence for all that do so together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in health:
        if row.starts_late > 0.0:
            how = (row.recording, f'{number(row.starts_late, 2)} s after', 'begin')
            found.setdefault(how, []).append(row.topic)
        if row.ends_early > 0.0:
            how = (row.recording, f'{number(row.ends_early, 2)} s before', 'end')
            found.setdefault(how, []).append(row.topic)
    return [
        Finding(
            'warn',
            'topic_incomplete',
            f'{recording}: {listed(topics)} {verb}{"s" * (len(topics) == 1)} '
            f'{when} the other topics.',
        )
        for (recording, when, verb), topics in found.items()
    ]


def _gaps(health: tuple[HealthRow, ...], many_gaps: Level) -> list[Finding]:
    gaps = [row for row in health if row.gaps]
    if not gaps:
        return []
    worst = max(gaps, key=lambda row: row.longest_gap)
    share = max(row.missing / max(row.missing + row.count / row.rate, 1e-9) for row in gaps)
    level: Level = many_gaps if share > MANY_GAPS else 'note'
    return [
        Finding(
            level,
            'gaps',
            f'{counted(len(gaps), "topic has", "topics have")} gaps, up to '
            f'{percent(share)} of the time; the longest is '
            f'{number(worst.longest_gap, 3)} s in {worst.topic} of '
            f'{worst.recording}.',
        )
    ]
