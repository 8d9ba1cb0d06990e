"""Observers of multibody models: errorEKF, its sensors and the checks of its health."""

from veh_identification.observation.adaptive import AdaptiveSettings
from veh_identification.observation.consistency import (
    Consistency,
    average_band,
    consistency,
    fraction_inside,
    normalised_error_square,
    normalised_innovation_square,
)
from veh_identification.observation.delayed import DelayedErrorEKF
from veh_identification.observation.error_ekf import ErrorEKF
from veh_identification.observation.natural import ObservedModel
from veh_identification.observation.observability import (
    Observability,
    integrator_pair,
    observability,
    observability_matrix,
)
from veh_identification.observation.poles import (
    combined_matrix,
    discrete,
    gain,
    linearised,
    observer_poles,
)
from veh_identification.observation.protocols import (
    BodyView,
    Counts,
    Innovation,
    Measurement,
    Model,
    Parameter,
    Reading,
    Sensor,
)
from veh_identification.observation.settings import ErrorEKFSettings
from veh_identification.observation.whiteness import Whiteness, cumulative_periodogram

__all__ = [
    'AdaptiveSettings',
    'BodyView',
    'Consistency',
    'Counts',
    'DelayedErrorEKF',
    'ErrorEKF',
    'ErrorEKFSettings',
    'Innovation',
    'Measurement',
    'Model',
    'Observability',
    'ObservedModel',
    'Parameter',
    'Reading',
    'Sensor',
    'Whiteness',
    'average_band',
    'combined_matrix',
    'consistency',
    'cumulative_periodogram',
    'discrete',
    'fraction_inside',
    'gain',
    'integrator_pair',
    'linearised',
    'normalised_error_square',
    'normalised_innovation_square',
    'observability',
    'observability_matrix',
    'observer_poles',
]
