"""A local web page of what live nodes, or those of a replay, say of themselves.

Any source of messages feeds one `Collector`; a `DashboardServer` shows what it holds to browsers.
"""

from veh_identification.dashboard.collector import Collector
from veh_identification.dashboard.server import DashboardServer

__all__ = ['Collector', 'DashboardServer']
