"""Which test files a worker of pytest-xdist takes: folder by folder, each worker another one.

On a machine with cold caches most of the time goes into compiling kernels. Files of one folder use
the same ones, so two workers in one folder would both compile them, and two in different folders
find later what the other has compiled. The folders whose kernels many others use stand first.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from xdist.scheduler.loadfile import LoadFileScheduling

#: First the folders that compile most, then those that use it. Long tests must not come last,
#: while the other worker has nothing left to do.
FIRST = (
    *('test/systems/vehicle', 'test/fusion', 'test/systems/car', 'test/systems/humanoid'),
    *('test/systems/parallel', 'test/simulation', 'test/systems/robot', 'test/natural'),
    *('test/observation', 'test/nodes', 'test/docs', 'test/systems'),
)


def folder_of(scope: str) -> str:
    """Of a test file."""
    return str(PurePosixPath(scope).parent)


def next_file(waiting: list[str], own: str, others: set[str]) -> str:
    """The file for a worker that was in the folder `own`, while others are in theirs."""
    for scope in waiting:
        if folder_of(scope) == own:
            return scope
    free = [scope for scope in waiting if folder_of(scope) not in others]
    ranks = {folder: rank for rank, folder in enumerate(FIRST)}
    return min(free or waiting, key=lambda scope: ranks.get(folder_of(scope), len(FIRST)))


class FolderScheduling(LoadFileScheduling):
    """A worker stays in its folder while files are left there."""

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        self._folders: dict[Any, str] = {}

    def _assign_work_unit(self, node: Any) -> None:
        others = {folder for one, folder in self._folders.items() if one is not node}
        chosen = next_file(list(self.workqueue), self._folders.get(node, ''), others)
        self._folders[node] = folder_of(chosen)
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)
