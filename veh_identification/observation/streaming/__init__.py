"""One observer for files, replay and live streams: samples in, estimates out, stamps only."""

from veh_identification.observation.streaming.arrivals import Arrivals, Item
from veh_identification.observation.streaming.online import (
    ObservedSystem,
    OnlineObserver,
    OnlineOptions,
    Session,
)
from veh_identification.observation.streaming.steps import Stepper

__all__ = [
    'Arrivals',
    'Item',
    'ObservedSystem',
    'OnlineObserver',
    'OnlineOptions',
    'Session',
    'Stepper',
]
