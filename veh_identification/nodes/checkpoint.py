"""What a live node keeps by itself, so that a crash costs no more than one period.

Every `checkpoint.period` seconds and at shutdown the state is written, whole or not at all. After
a restart the node goes on from it, if it is the node's own: same parameters, same files behind
them, same version, written not long ago, and with data that go on behind it. Anything else is said
in one sentence, and the node starts afresh. The first sample decides, because a recording that is
played again, or another one, must not continue an estimate.

Off under replay (a recording must give the same bytes every time), and, unless a file is named,
with `use_sim_time`, for that is a played recording.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from veh_identification._version import __version__
from veh_identification.errors import EstimationError, VehIdError
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.parameters import declare, flatten, parameter, refuse_unknown
from veh_identification.runtime.share import share_directory
from veh_identification.saved_state import SavedState, StateError, read_state, write_state

_T = TypeVar('_T')
#: Entries of ours among those of the estimate.
_PREFIX = 'checkpoint_'


@dataclass(frozen=True)
class CheckpointOptions:
    """Parameters `checkpoint.*` of every live node."""

    file: str = parameter(
        'auto',
        'where the state is kept for a restart; auto: in the state folder of the user (off with '
        'use_sim_time); empty: nowhere',
        path=True,
    )
    period: float = parameter(
        10.0,
        'between two writings',
        unit='s',
        minimum=0.1,
        maximum=86_400.0,
        read_only=False,
    )
    max_age: float = parameter(
        600.0, 'of a state that is still gone on from', unit='s', minimum=0.0
    )


def declare_live(node: Node, options: type[_T]) -> tuple[_T, CheckpointOptions]:
    """The parameters of a live node, and those that every live node has."""
    found = declare(node, options), declare(node, CheckpointOptions, 'checkpoint')
    refuse_unknown(node)
    return found


def state_folder() -> Path:
    """Where programs of this user keep what they must not lose (XDG base directories)."""
    home = os.environ.get('XDG_STATE_HOME')
    return (Path(home) if home else Path.home() / '.local' / 'state') / 'veh_identification'


def identity_of(options: Any) -> dict[str, str]:
    """Parameters of a node as texts; one that names a file has the hash of its content too."""
    told = {}
    for name, value in flatten(dataclasses.asdict(options)).items():
        if name in ('file', 'folder'):  # of ~/save and ~/load: not what is estimated
            continue
        text = json.dumps(value)
        if isinstance(value, str) and value:
            text += _content(value)
        told[name] = text
    return told


def _content(name: str) -> str:
    shipped = share_directory() / 'config' / name
    for path in (Path(name), shipped, shipped.with_suffix('.yaml')):
        if path.is_file():
            return f' ({hashlib.sha256(path.read_bytes()).hexdigest()[:12]})'
    return ''


class Checkpoint:
    """Keeps the state of one node."""

    def __init__(
        self,
        node: Node,
        options: CheckpointOptions,
        identity: Mapping[str, str],
        state: Callable[[], Mapping[str, Any]],
        restore: Callable[[SavedState], str],
    ) -> None:
        """`state` raises EstimationError while there is nothing to keep, `restore` StateError."""
        self._log = node.get_logger()
        self._options, self._identity = options, dict(identity)
        self._name = f'{node.get_namespace().rstrip("/")}/{node.get_name()}'
        self._state, self._restore = state, restore
        self._stamp_ns = 0
        self._pending: SavedState | None = None
        self._writer: threading.Thread | None = None
        self._failure = ''
        self.told = 'off'
        self.path = self._place(node)
        if self.path is not None:
            self.told = 'starts afresh'
            self._look()
            self._timer = node.create_timer(options.period, self.write)
            node.when_changed('checkpoint.period', lambda period: self._retime(node, period))

    def _retime(self, node: Node, period: float) -> None:
        self._timer.cancel()
        self._timer = node.create_timer(period, self.write)

    def _place(self, node: Node) -> Path | None:
        file = self._options.file
        if not file or node.get_load() is None:  # replay
            return None
        if file != 'auto':
            return Path(file).expanduser()
        if node.get_parameter('use_sim_time').value:
            return None
        return state_folder() / (re.sub(r'[^\w.-]+', '.', self._name.strip('/')) + '.npz')

    # Going on -----------------------------------------------------------------------------------

    def _look(self) -> None:
        """Is there a state to go on from? The first sample decides whether it is."""
        assert self.path is not None
        if not self.path.exists():
            return
        try:
            stored = read_state(self.path)
            self._check(stored)
        except StateError as error:
            self._refuse(str(error))
        else:
            self._pending = stored

    def _check(self, stored: SavedState) -> None:
        version = stored.text(f'{_PREFIX}version')
        if version != __version__:
            raise stored.refused('version', f'is {version[:40]!r}, this is {__version__}')
        node = stored.text(f'{_PREFIX}node')
        if node != self._name:
            raise stored.refused('node', f'is {node[:80]!r}, this is {self._name}')
        names = stored.texts(f'{_PREFIX}parameters')
        found = dict(zip(names, stored.texts(f'{_PREFIX}values'), strict=False))
        other = [k for k in {*found, *self._identity} if found.get(k) != self._identity.get(k)]
        if other:
            one = sorted(other)[0]
            before, now = found.get(one, 'not there'), self._identity.get(one, 'not there')
            more = f' (and {len(other) - 1} more)' if len(other) > 1 else ''
            text = f'were others: {one[:80]} was {before[:80]}, is {now[:80]}{more}'
            raise stored.refused('parameters', text)
        age = time.time() - stored.number(f'{_PREFIX}written')
        if not -1.0 <= age <= self._options.max_age:
            limit = self._options.max_age
            raise stored.refused('state', f'is {age:.0f} s old, at most {limit:g} s are allowed')

    def _refuse(self, reason: str) -> None:
        self.told = f'starts afresh: {reason}'
        self._log.warning(f'checkpoint: {self.told}')

    def arrived(self, stamp_ns: int) -> None:
        """A sample with this stamp comes; call before it is used."""
        if self._pending is not None:
            self._go_on(stamp_ns)
        if stamp_ns > self._stamp_ns:
            self._stamp_ns = stamp_ns

    def _go_on(self, stamp_ns: int) -> None:
        stored, self._pending = self._pending, None
        assert stored is not None
        try:
            age = time.time() - stored.number(f'{_PREFIX}written')
            gap = stamp_ns / NANOSECONDS - stored.number(f'{_PREFIX}stamp')
            # Data may lag behind the clock by a constant; they cannot step back, nor ahead of it.
            if not -1.0 <= gap <= age + self._options.max_age:
                self._refuse(
                    f'{stored.source}: its last sample and the first one now are {gap:.1f} s '
                    'apart, so these are other data'
                )
                return
            found = self._restore(stored)
        except StateError as error:
            self._refuse(str(error))
            return
        self.told = f'went on from a state {age:.1f} s old: {found}'
        self._log.info(f'checkpoint: {self.told}')

    # Writing ------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write the state in the background; a writing that still runs is not overtaken."""
        if self._writer is not None and self._writer.is_alive():
            return
        entries = self._entries()
        if entries is not None:
            self._writer = threading.Thread(target=self._write, args=(entries,))
            self._writer.start()

    def finish(self) -> None:
        """The node ends: write the last state before it does."""
        if self._writer is not None:
            self._writer.join()
        entries = self._entries()
        if entries is not None:
            self._write(entries)

    def forget(self) -> None:
        """The estimate was reset: the one on the disk must not come back."""
        self._pending = None
        if self._writer is not None:
            self._writer.join()
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _entries(self) -> dict[str, Any] | None:
        # Before the first sample the state on the disk is the better one.
        if self.path is None or not self._stamp_ns:
            return None
        try:
            state = dict(self._state())
        except EstimationError:
            return None
        names = sorted(self._identity)
        about = {
            'version': __version__,
            'node': self._name,
            'parameters': [*names],
            'values': [self._identity[name] for name in names],
            'written': time.time(),
            'stamp': self._stamp_ns / NANOSECONDS,
        }
        return {**state, **{f'{_PREFIX}{key}': value for key, value in about.items()}}

    def _write(self, entries: Mapping[str, Any]) -> None:
        assert self.path is not None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_state(self.path, entries)
            self._failure = ''
        except (VehIdError, OSError) as error:
            if not self._failure:
                self._log.warning(f'checkpoint: not written: {error}')
            self._failure = str(error)

    def facts(self) -> dict[str, str]:
        """Entries of the diagnostics."""
        if self.path is None:
            return {}
        return {'checkpoint': f'not written: {self._failure}' if self._failure else self.told}
