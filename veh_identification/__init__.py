"""Dynamic models of vehicles, humanoids and parallel robots from recordings or live streams.

The package joins two trees under one name: these sources and, in a colcon workspace, the Python
modules that rosidl generates from `msg/` (`veh_identification.msg`). `extend_path` lets Python
find both wherever they are installed.
"""

import pkgutil

from veh_identification._version import __version__

__path__ = pkgutil.extend_path(__path__, __name__)

__all__ = ['__version__']
