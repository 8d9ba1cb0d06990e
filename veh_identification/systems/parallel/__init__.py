"""Six-legged parallel robots (Abdellatif 2009): model, processing, estimation, excitation."""

from veh_identification.systems.parallel.configuration import Configuration, load_configuration
from veh_identification.systems.parallel.estimation.likelihood import (
    Likelihood,
    equations,
    gauss_markov,
    maximum_likelihood,
    pooled_force_covariance,
)
from veh_identification.systems.parallel.estimation.structure_selection import select_structure
from veh_identification.systems.parallel.model.geometry import LEGS, Hexapod
from veh_identification.systems.parallel.model.kinematics import (
    direct_kinematics,
    inverse_kinematics,
)
from veh_identification.systems.parallel.model.model import HexapodModel, Structure
from veh_identification.systems.parallel.processing import (
    PeriodicRecord,
    average_record,
    platform_motion,
)
from veh_identification.systems.parallel.recording.reader import periodic_record, read_legs

__all__ = [
    'LEGS',
    'Configuration',
    'Hexapod',
    'HexapodModel',
    'Likelihood',
    'PeriodicRecord',
    'Structure',
    'average_record',
    'direct_kinematics',
    'equations',
    'gauss_markov',
    'inverse_kinematics',
    'load_configuration',
    'maximum_likelihood',
    'periodic_record',
    'platform_motion',
    'pooled_force_covariance',
    'read_legs',
    'select_structure',
]
