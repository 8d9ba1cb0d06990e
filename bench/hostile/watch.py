"""One case at a time: a sentence, or done; never a traceback, a hang or memory without end."""

from __future__ import annotations

import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from veh_identification.errors import VehIdError

#: Of the processor: the machine may be full of other work. Of the clock: for what only waits.
HANG_SECONDS, WAIT_SECONDS = 60, 900
LONGEST_SENTENCE = 4000
#: Times the normal memory that a case may take, beyond a floor for small ones.
MOST_MEMORY, FLOOR_KB = 1.5, 200_000


class Hang(BaseException):
    """A case took too long; no handler for Exception may swallow it."""


def _brief(finding: str) -> str:
    """What and why; the places between are those of this machine."""
    first, *_, last = [*finding.strip().splitlines(), '']
    why = finding.strip().splitlines()[-1] if 'Traceback' in finding else last
    return f'{first[:200]} {why[:300]}'.strip()


@dataclass
class Tally:
    """What became of the cases of a part."""

    outcomes: Counter[str] = field(default_factory=Counter)
    cases: int = 0
    made_of: Counter[str] = field(default_factory=Counter)  # cases by what was damaged
    messages: Counter[str] = field(default_factory=Counter)  # spoilt ones by the way
    findings: list[str] = field(default_factory=list)
    peak_mb: int = 0
    _normal_kb: int = 0
    _looks: int = 0

    def document(self) -> dict[str, Any]:
        """For a JSON file."""
        return {
            'cases': self.cases,
            'outcomes': dict(self.outcomes),
            'made_of': dict(self.made_of),
            'messages': dict(self.messages),
            'findings': [_brief(one) for one in self.findings],
            'normal_mb': self._normal_kb // 1024,
            'peak_mb': self.peak_mb,
        }

    def find(self, what: str) -> None:
        """Something that must not happen."""
        self.outcomes['FOUND'] += 1
        if len(self.findings) < 50:
            self.findings.append(what)

    def try_case(self, label: str, work: Callable[[], Any]) -> None:
        """Run a case; anything but an error of ours is a finding."""
        self.cases += 1
        try:
            with _limited():
                work()
            self.outcomes['taken'] += 1
        except VehIdError as error:
            text = str(error)
            if not text.strip() or len(text) > LONGEST_SENTENCE or 'Traceback' in text:
                self.find(f'{label}: no sentence: {text[:300]!r}')
            else:
                self.outcomes['refused'] += 1
        except Hang:
            self.find(f'{label}: hangs for {HANG_SECONDS} s\n{traceback.format_exc()[-1500:]}')
        except Exception:
            self.find(f'{label}:\n{traceback.format_exc()[-1800:]}')
        self.look_at_memory(label)

    def compare_memory(self, label: str, normal_mb: int, peak_mb: int) -> None:
        """The same of a process of its own; the worst of all is kept."""
        if peak_mb * max(self._normal_kb, 1) >= self.peak_mb * normal_mb * 1024:
            self.peak_mb, self._normal_kb = peak_mb, normal_mb * 1024
        if peak_mb > max(MOST_MEMORY * normal_mb, normal_mb + FLOOR_KB // 1024):
            self.find(f'{label}: {peak_mb} MB, {normal_mb} MB is normal')

    def look_at_memory(self, label: str) -> None:
        """More than 1.5 times of what the first cases took is a finding."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._looks += 1
        if self._looks <= 5:
            self._normal_kb = peak
        elif peak > max(MOST_MEMORY * self._normal_kb, self._normal_kb + FLOOR_KB):
            self.find(f'{label}: {peak // 1024} MB, {self._normal_kb // 1024} MB is normal')
            self._normal_kb = peak
        self.peak_mb = peak // 1024


@contextmanager
def _limited() -> Iterator[None]:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise Hang

    before = [signal.signal(number, late) for number in (signal.SIGALRM, signal.SIGPROF)]
    signal.alarm(WAIT_SECONDS)
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGALRM, before[0])
        signal.signal(signal.SIGPROF, before[1])


@contextmanager
def nothing_ignored(tally: Tally) -> Iterator[None]:
    """`Exception ignored in ...` is a traceback too."""
    before = sys.unraisablehook

    def hook(found: Any) -> None:
        tally.find(f'ignored in {found.object!r}: {found.exc_value!r}')

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
