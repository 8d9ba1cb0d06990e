"""Signals of whole recordings and live streams: cleaning, synchronising, filtering, spectra."""

from veh_identification.signals.causal import CausalDerivativeFilter, KalmanDerivativeFilter
from veh_identification.signals.coulomb import filtered_noise_sigma, smoothed_sign
from veh_identification.signals.cutoff import (
    CutoffChoice,
    NamedBand,
    choose_cutoff,
    noise_share,
)
from veh_identification.signals.decimation import (
    BlockDecimator,
    DecimationFilter,
    decimate,
    decimate_equations,
    decimated_stamps,
    design_decimation,
)
from veh_identification.signals.delay import DelayEstimate, estimate_delay
from veh_identification.signals.filtering import (
    Derivatives,
    ZeroPhaseFilter,
    central_difference,
    integrate_high_passed,
    trapezoid,
)
from veh_identification.signals.hygiene import SampleReport, clean, split_segments
from veh_identification.signals.periodic import (
    Fundamental,
    PeriodAverage,
    average_periods,
    check_fundamental,
    guess_fundamental,
    harmonic_fit_derivatives,
    resample_periods,
    spectral_derivatives,
    stack_periods,
)
from veh_identification.signals.rotation import (
    BaseMotion,
    align_sign,
    angular_rates,
    base_motion,
    filter_orientation,
    rotation_matrix,
    unwrap_quaternions,
)
from veh_identification.signals.segments import contiguous_segments, erode, gap_segments
from veh_identification.signals.smoothing import (
    local_polynomial_derivatives,
    noise_gain,
    savitzky_golay,
    savitzky_golay_coefficients,
)
from veh_identification.signals.spectra import Spectrum, noise_floor, welch_spectrum
from veh_identification.signals.synchronise import (
    SynchronisedSeries,
    common_grid,
    resample,
    synchronise,
    uniform,
)
from veh_identification.signals.time_series import TimeSeries

__all__ = [
    'BaseMotion',
    'BlockDecimator',
    'CausalDerivativeFilter',
    'CutoffChoice',
    'DecimationFilter',
    'DelayEstimate',
    'Derivatives',
    'Fundamental',
    'KalmanDerivativeFilter',
    'NamedBand',
    'PeriodAverage',
    'SampleReport',
    'Spectrum',
    'SynchronisedSeries',
    'TimeSeries',
    'ZeroPhaseFilter',
    'align_sign',
    'angular_rates',
    'average_periods',
    'base_motion',
    'central_difference',
    'check_fundamental',
    'choose_cutoff',
    'clean',
    'common_grid',
    'contiguous_segments',
    'decimate',
    'decimate_equations',
    'decimated_stamps',
    'design_decimation',
    'erode',
    'estimate_delay',
    'filter_orientation',
    'filtered_noise_sigma',
    'gap_segments',
    'guess_fundamental',
    'harmonic_fit_derivatives',
    'integrate_high_passed',
    'local_polynomial_derivatives',
    'noise_floor',
    'noise_gain',
    'noise_share',
    'resample',
    'resample_periods',
    'rotation_matrix',
    'savitzky_golay',
    'savitzky_golay_coefficients',
    'smoothed_sign',
    'spectral_derivatives',
    'split_segments',
    'stack_periods',
    'synchronise',
    'trapezoid',
    'uniform',
    'unwrap_quaternions',
    'welch_spectrum',
]
