"""Options of identify, observe and design as types for editors; made by `make docs`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict


class CarIdentify(TypedDict, total=False):
    """Options of identify."""

    model: Literal['2006', '2002', 'handling']
    mass: float
    mass_std: float
    front_share: float
    dof: Literal[20, 38]
    rate: float
    chassis_cutoff: float
    suspension_cutoff: float
    paper_rule: bool
    gauss_markov: bool
    bias_correction: bool
    beyond_band: bool
    check: bool
    calibrate: bool
    aerodynamics: Sequence[Literal['Cy', 'Cz', 'Cl', 'Cm', 'Cn']]
    compare_models: bool
    filter_study: bool
    curves: bool
    tyres: bool


class HumanoidIdentify(TypedDict, total=False):
    """Options of identify."""

    urdf: str | Path
    momentum: bool
    estimator: Literal['prior', 'weighted', 'robust', 'gauss-markov', 'ordinary']
    loss: Literal['huber', 'tukey']
    essential: bool
    prior_percent: float
    weighed_mass: float
    weighed_sigma: float
    anthropometry: Literal['none', 'de-leva-male', 'de-leva-female', 'winter']
    cutoff_hz: float
    sigma: Sequence[float]
    rate_hz: float
    gravity: float
    contacts: Literal['auto', 'plates', 'sensors', 'both']
    base: Literal['auto', 'pose', 'imu']
    feet: Sequence[str]
    ground: float
    joint_states: str
    base_pose: str
    imu: str
    world_frame: str
    wrench_offset: Literal['auto', 'on', 'off']
    tare: bool
    plate_pose: bool
    joint_errors: bool
    estimate_delays: bool
    lock_below: float
    exclude_support: bool
    support_tolerance: float
    exclude_impacts: bool
    check_frames: bool


class ParallelIdentify(TypedDict, total=False):
    """Options of identify."""

    estimator: Literal['maximum-likelihood', 'gauss-markov']
    processing: Literal['auto', 'band', 'frequency', 'harmonic', 'time', 'raw']
    fundamental_hz: float
    harmonics: int
    cutoff_hz: float
    skip_periods: int
    penalty: Literal['bic', 'aic', 'none']
    effort_delay: str
    topic: str


class RobotIdentify(TypedDict, total=False):
    """Options of identify."""

    urdf: str | Path
    payload: Sequence[str | Path]
    payload_link: str
    estimator: Literal[
        'instrumental-variable', 'consistent', 'weighted', 'ordinary', 'gauss-markov', 'robust'
    ]
    loss: Literal['huber', 'tukey']
    essential: bool
    effort: Literal['torque', 'current']
    cutoff_hz: float
    rate_hz: float
    fundamental_hz: float
    effort_delay: float
    gravity: Sequence[float]
    motor_inertia: bool
    base_wrench: Literal['auto', 'off']
    joint_states: str


class VehicleObserve(TypedDict, total=False):
    """Options of observe."""

    gate_probability: float
    window: float
    bridge: float
    adaptive: Literal['plant', 'sensors', 'both']
    adaptive_time: float
    observability: bool
    poles: bool
    compare_model: bool
    step: float
    settle: float
    force_estimation: bool
    thesis: bool


class FourBarObserve(TypedDict, total=False):
    """Options of observe."""

    gate_probability: float
    window: float
    bridge: float
    adaptive: Literal['plant', 'sensors', 'both']
    adaptive_time: float
    observability: bool
    poles: bool
    compare_model: bool
    step: float
    settle: float
    force_estimation: bool


class MechanismObserve(TypedDict, total=False):
    """Options of observe."""

    gate_probability: float
    window: float
    bridge: float
    adaptive: Literal['plant', 'sensors', 'both']
    adaptive_time: float
    observability: bool
    poles: bool
    compare_model: bool
    step: float
    settle: float
    force_estimation: bool


class CarDesign(TypedDict, total=False):
    """Options of design."""

    want: Sequence[str]
    speed: Sequence[float]
    frequency: Sequence[float]
    lateral: Sequence[float]
    max_lateral: float
    max_steering_rate: float
    track_length: float
    max_duration: float
    noise: float
    roughness: float
    dof: Literal[20, 38]
    check: bool
    seed: int
    time_limit: float


class HumanoidDesign(TypedDict, total=False):
    """Options of design."""

    urdf: str | Path
    criterion: Literal['condition', 'd_optimal']
    want: Sequence[str]
    starts: int
    seed: int
    workers: int
    time_limit: float


class ParallelDesign(TypedDict, total=False):
    """Options of design."""

    criterion: Literal['condition', 'd_optimal']
    fundamental_hz: Sequence[float]
    harmonics: int
    samples: int
    covariance_from: str | Path
    starts: int
    seed: int
    max_iterations: int
    workers: int
    time_limit: float


class RobotDesign(TypedDict, total=False):
    """Options of design."""

    urdf: str | Path
    criterion: Literal['condition', 'd_optimal']
    fundamental_hz: Sequence[float]
    harmonics: int
    samples: int
    limit_share: float
    acceleration: float
    starts: int
    seed: int
    max_iterations: int
    workers: int
    time_limit: float
