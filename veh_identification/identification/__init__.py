"""Estimators of linear-in-parameters models from streamed blocks of samples."""

from veh_identification.identification.accumulator import Accumulator, Information, accumulate
from veh_identification.identification.batch import Options, identify
from veh_identification.identification.blocks import (
    ArrayBlocks,
    Block,
    BlockSource,
    FactoryBlocks,
    select_columns,
)
from veh_identification.identification.change import ChangeTest, change_test
from veh_identification.identification.essential import EssentialFit, Removal, essential_parameters
from veh_identification.identification.factor import Factor
from veh_identification.identification.gauss_markov import gauss_markov_fit
from veh_identification.identification.least_squares import (
    Estimate,
    Prior,
    ordinary,
    regularised,
    weighted,
)
from veh_identification.identification.recursive import LiveEstimate, RecursiveEstimator
from veh_identification.identification.result import IdentificationResult
from veh_identification.identification.robust import RobustFit, robust_fit
from veh_identification.identification.validation import Validation, validate

__all__ = [
    'Accumulator',
    'ArrayBlocks',
    'Block',
    'BlockSource',
    'ChangeTest',
    'EssentialFit',
    'Estimate',
    'Factor',
    'FactoryBlocks',
    'IdentificationResult',
    'Information',
    'LiveEstimate',
    'Options',
    'Prior',
    'RecursiveEstimator',
    'Removal',
    'RobustFit',
    'Validation',
    'accumulate',
    'change_test',
    'essential_parameters',
    'gauss_markov_fit',
    'identify',
    'ordinary',
    'regularised',
    'robust_fit',
    'select_columns',
    'validate',
    'weighted',
]
