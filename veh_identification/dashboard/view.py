"""What the page shows, joined from what the collector holds; plain data, ready for JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from veh_identification.dashboard.collector import Collector, Diagnosis, Told, full_topic
from veh_identification.dashboard.history import History
from veh_identification.dashboard.readings import COUNTS, FINDINGS, LEVELS, number

#: Reports come once a second: a node that was not heard for so long [s] is not there.
STALE = 3.0
#: Lags below this [s] are of clocks that agree; beyond it a recording of another day is played.
PLAUSIBLE_LAG = 60.0
#: Codes by which a sensor is quarantined.
QUARANTINE = ('set_aside', 'clock_off', 'clock_stepped')
LAMPS = {0: 'good', 1: 'warn', 2: 'bad'}
FINDING = 'finding: '

Cursors = dict[str, Any]


def head(collector: Collector) -> dict[str, Any]:
    """The present state, without the past."""
    with collector.lock:
        now = collector.now()
        names = {*collector.estimates, *collector.statuses, *collector.sides}
        owners: dict[str, str] = {}
        for bare in collector.diagnoses:
            owners[collector.owner(bare) or f'/{bare}'] = bare
        lags = _Lags(collector)
        shared = [bare for bare in collector.diagnoses if not collector.owner(bare)]
        return {
            'version': collector.version,
            'left_out': collector.left_out,
            'nodes': [
                _node(collector, name, owners.get(name), now, lags)
                for name in sorted(names | {*owners})
            ],
            'tracks': [
                {
                    'topic': topic,
                    **told.last,
                    'age': now - told.heard,
                    'lag': lags.of(topic),
                    'relative': lags.relative,
                }
                for topic, told in sorted(collector.tracks.items())
            ],
            'others': [
                {'name': name, 'lamp': _lamp(one['level']), 'text': one['text']}
                for name, one in sorted(collector.others.items())
                if now - one['heard'] < 10.0 * STALE
            ],
            'notes': [
                f'two nodes are called {bare}; /diagnostics carries no namespace, so what it '
                'says of them stands apart'
                for bare in shared
            ],
        }


def past(collector: Collector, cursors: Cursors) -> dict[str, Any]:
    """Rows of all histories that a reader lacks; `cursors` is brought up to date."""
    with collector.lock:
        found = {}
        for key, history in _histories(collector):
            rows, cursors[key] = history.since(cursors.get(key))
            if rows is not None:
                found[key] = rows
        return found


def as_json(data: Any) -> str:
    """JSON with null for what is no number, and numbers no longer than what can be seen."""
    return json.dumps(_plain(data), separators=(',', ':'), allow_nan=False)


def _plain(data: Any) -> Any:
    if isinstance(data, float):
        return float(f'{data:.8g}') if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    return data


def _histories(collector: Collector) -> Iterable[tuple[str, History]]:
    for kind, group in (
        ('parameters', collector.estimates),
        ('sides', collector.sides),
        ('track', collector.tracks),
    ):
        for name, told in group.items():
            yield f'{kind} {name}', told.history
    for bare, diagnosis in collector.diagnoses.items():
        yield f'latency {bare}', diagnosis.history


def _node(
    collector: Collector, name: str, bare: str | None, now: float, lags: _Lags
) -> dict[str, Any]:
    estimate, status = collector.estimates.get(name), collector.statuses.get(name)
    sides = collector.sides.get(name)
    diagnosis = None if bare is None else collector.diagnoses[bare]
    heard = [one.heard for one in (estimate, status, sides, diagnosis) if one is not None]
    age = now - max(heard, default=now)
    return {
        'name': name,
        'bare': bare or name.rpartition('/')[2],
        'age': age,
        'stale': age > STALE,
        **_judgement(estimate, diagnosis),
        'mode': '' if status is None else status.last['mode'],
        'advice': '' if estimate is None else estimate.last['advice'],
        'facts': {} if diagnosis is None else _facts(diagnosis),
        'estimate': None if estimate is None else _estimate(estimate),
        'equations': _equations(sides),
        'sensors': _sensors(name, status, diagnosis, lags),
    }


def _estimate(told: Told) -> dict[str, Any]:
    left = ('advice', 'verdict', 'headline', 'findings')
    return {key: value for key, value in told.last.items() if key not in left}


def _equations(told: Told | None) -> list[dict[str, str]]:
    if told is None:
        return []
    pairs = zip(told.last['equations'], told.last['units'], strict=False)
    return [{'name': name, 'unit': unit} for name, unit in pairs]


def _judgement(estimate: Told | None, diagnosis: Diagnosis | None) -> dict[str, Any]:
    """Verdict, sentence and findings: of the diagnostics, which come every second."""
    said = [] if estimate is None else estimate.last['findings']
    if diagnosis is None:
        verdict = '' if estimate is None else estimate.last['verdict']
        headline = '' if estimate is None else estimate.last['headline']
        return {
            'verdict': verdict,
            'level': LEVELS.get(verdict, 'note'),
            'headline': headline,
            'text': '',
            'findings': said,
        }
    facts = diagnosis.last['facts']
    verdict = facts['verdict']
    level = LEVELS.get(verdict, 'note')
    known = {one['code']: one['level'] for one in said}
    findings: list[dict[str, str]] = []
    for key, text in facts.items():
        if key.startswith(FINDING) and len(findings) < FINDINGS:
            code = key.removeprefix(FINDING).partition(' (')[0]
            # They come worst first, and the worst one makes the verdict; diagnostics do not say
            # how serious the others are.
            first = level if not findings and level != 'good' else ''
            findings.append({'level': known.get(code) or first, 'code': code, 'text': text})
    return {
        'verdict': verdict,
        'level': max(level, _lamp(diagnosis.last['level']), key=_seriousness),
        'headline': facts.get('headline', ''),
        'text': diagnosis.last['text'],
        'findings': findings,
    }


def _seriousness(level: str) -> int:
    return ('note', 'good', 'warn', 'bad').index(level)


def _lamp(level: int) -> str:
    return LAMPS.get(level, 'note')


def _facts(diagnosis: Diagnosis) -> dict[str, str]:
    shown = ('verdict', 'headline')
    return {
        key: value
        for key, value in diagnosis.last['facts'].items()
        if key not in shown and not key.startswith((FINDING, 'received '))
    }


def _sensors(
    node: str, status: Told | None, diagnosis: Diagnosis | None, lags: _Lags
) -> list[dict[str, Any]]:
    told = {} if status is None else status.last['sensors']
    diagnosed = {} if diagnosis is None else diagnosis.sensors
    # what the node as a whole says of sensors: `finding: sensor_set_aside` and its text
    aside = [
        text
        for key, text in ({} if diagnosis is None else diagnosis.last['facts']).items()
        if key.startswith(f'{FINDING}sensor_set_aside')
    ]
    return [
        _sensor(name, told.get(name, {}), diagnosed.get(name), lags, node, aside)
        for name in dict.fromkeys([*diagnosed, *told])
    ]


class _Lags:
    """Arrival minus stamp; behind the newest sensor where the clocks do not agree."""

    def __init__(self, collector: Collector) -> None:
        self._meters = collector.meters
        known = [one.lag for one in self._meters.values() if math.isfinite(one.lag)]
        self.relative = abs(min(known, default=0.0)) > PLAUSIBLE_LAG

    def of(self, topic: str) -> float:
        """Seconds, NaN where nothing is known."""
        meter = self._meters.get(topic)
        if meter is None:
            return float('nan')
        return meter.behind if self.relative else meter.lag


def _sensor(
    name: str,
    told: dict[str, Any],
    diagnosed: dict[str, Any] | None,
    lags: _Lags,
    node: str,
    aside: list[str],
) -> dict[str, Any]:
    facts = {} if diagnosed is None else diagnosed['facts']
    counts: dict[str, Any] = {key: told.get(key) for key in COUNTS}
    counts.update({key: int(facts[key]) for key in COUNTS if facts.get(key, '').isdigit()})
    topic = told.get('topic') or facts.get('topic', '')
    text = '' if diagnosed is None else diagnosed['text']
    codes = [key.removeprefix(FINDING) for key in facts if key.startswith(FINDING)]
    quarantined = any(code in QUARANTINE for code in codes)
    lamp = _lamp(0 if diagnosed is None else diagnosed['level'])
    for sentence in aside:
        if sentence.startswith(f'{name}: '):
            quarantined, text = True, sentence.removeprefix(f'{name}: ')
            lamp = max(lamp, 'warn', key=_seriousness)
    rate = number(facts.get('rate [Hz]')) if 'rate [Hz]' in facts else told.get('rate')
    if rate is None:
        rate = float('nan') if diagnosed is None else diagnosed['counted']
        if rate == 0.0 and lamp == 'good':
            lamp, text = 'warn', 'nothing came since the last report'
    if told.get('active') is False and lamp == 'good':
        lamp, text = 'warn', text if text not in ('', 'ok') else 'silent'
    return {
        'name': name,
        'topic': topic,
        'lamp': lamp,
        'quarantined': quarantined,
        'text': '' if text in ('ok', 'counts') else text,
        'rate': rate,
        'lag': lags.of(full_topic(topic, node)),
        'relative': lags.relative,
        'quarantines': number(facts.get('quarantines')),
        'nis': told.get('nis', float('nan')),
        **counts,
    }
