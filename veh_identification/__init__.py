"""Dynamic models of vehicles, humanoids and parallel robots from recordings or live streams.

The package joins two trees under one name: these sources and, in a colcon workspace, the Python
modules that rosidl generates from `msg/` (`veh_identification.msg`). `extend_path` lets Python
find both wherever they are installed.
"""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veh_identification._version import __version__
from veh_identification.kernel_caches import remove_stale

# Before any kernel is loaded.
remove_stale(Path(__file__).parent)

__path__ = pkgutil.extend_path(__path__, __name__)

if TYPE_CHECKING:
    from veh_identification.api import *  # noqa: F403

#: `import veh_identification as vid; vid.identify(...)`: the names of `api`, loaded when used.
_API = frozenset(
    {
        'BagReader',
        'Finding',
        'Outcome',
        'Verdict',
        'batch',
        'check_recording',
        'compare',
        'configure',
        'convert',
        'design_motion',
        'identify',
        'observe',
        'read',
        'read_columns',
        'read_mapping',
        'replay_graph',
        'simulate',
    }
)
__all__ = ['__version__', *sorted(_API)]


def __getattr__(name: str) -> Any:
    if name not in _API:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    from veh_identification import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted(__all__)
