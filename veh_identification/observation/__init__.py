"""Observers of multibody models: errorEKF, its sensors and the checks of its health."""

from veh_identification.observation.adaptive import AdaptiveSettings
from veh_identification.observation.analysis import ObserverAnalysis
from veh_identification.observation.consistency import average_band
from veh_identification.observation.error_ekf import ErrorEKF
from veh_identification.observation.natural import ObservedModel
from veh_identification.observation.observability import Observability, observability
from veh_identification.observation.protocols import (
    BodyView,
    Counts,
    Innovation,
    Measurement,
    Model,
    Parameter,
    Reading,
    Sensor,
    is_pseudo,
)
from veh_identification.observation.settings import ErrorEKFSettings
from veh_identification.observation.whiteness import Whiteness, cumulative_periodogram

__all__ = [
    'AdaptiveSettings',
    'BodyView',
    'Counts',
    'ErrorEKF',
    'ErrorEKFSettings',
    'Innovation',
    'Measurement',
    'Model',
    'Observability',
    'ObservedModel',
    'ObserverAnalysis',
    'Parameter',
    'Reading',
    'Sensor',
    'Whiteness',
    'average_band',
    'cumulative_periodogram',
    'is_pseudo',
    'observability',
]
