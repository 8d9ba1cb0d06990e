"""From the averaged period of leg lengths to x, v, a (Abdellatif 2009, sections 3.2 and 3.3).

Four ways, of which 'frequency' is the one to use; the others are there to be compared with:

- raw: direct kinematics of the measured lengths, central differences;
- time: lengths through a zero-phase Butterworth low-pass first (as on serial robots), then as raw;
- harmonic: Fourier coefficients of the pose by least squares, (17) and (18);
- frequency: DFT of the pose, rectangular window up to f_c, times (j w)^k, back.

Forces are never filtered: their noise is additive, and filtering would smear dry friction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veh_identification.errors import ModelError, UsageError
from veh_identification.identification.trajectory import pose_rates
from veh_identification.signals import (
    ZeroPhaseFilter,
    harmonic_fit_derivatives,
    spectral_derivatives,
)
from veh_identification.systems.parallel.model.geometry import Hexapod
from veh_identification.systems.parallel.model.kinematics import (
    direct_kinematics,
    inverse_kinematics,
)
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.systems.parallel.recording.phases import FourierSeries
from veh_identification.types import Array

METHODS = ('frequency', 'harmonic', 'time', 'raw')
# Time-domain cut-off over the excitation's bandwidth: below about five it bends the motion.
TIME_DOMAIN_FACTOR = 5.0
#: Share of a line by which a cut-off may lie below a line that it passes.
LINE_SLACK = 0.01


@dataclass(frozen=True)
class PlatformMotion:
    """Pose (N, 6), and v and a of equation (16), with the cut-off that made them."""

    pose: Array
    velocity: Array
    acceleration: Array
    method: str
    cutoff_hz: float | None


def applied_cutoff(method: str, nominal_hz: float, cutoff_hz: float | None = None) -> float | None:
    """Cut-off [Hz] that a method works with, `nominal_hz` being n_h f_f; None: it has none."""
    if method == 'raw':
        return None
    if method == 'harmonic':
        return nominal_hz
    return cutoff_hz or (TIME_DOMAIN_FACTOR if method == 'time' else 1.0) * nominal_hz


def measured_pose(robot: Hexapod, record: PeriodicRecord) -> Array:
    """Direct kinematics of the mean period; angles continue over full turns."""
    try:
        return direct_kinematics(robot, record.lengths.mean)
    except ModelError as error:
        raise ModelError(f'{record.source}: {error}') from None


def platform_motion(
    robot: Hexapod,
    record: PeriodicRecord,
    harmonics: int,
    method: str = 'frequency',
    cutoff_hz: float | None = None,
    pose: Array | None = None,
) -> PlatformMotion:
    """x, v, a of the mean period.

    `harmonics` is the nominal n_h: f_c defaults to n_h f_f. `pose` saves the direct kinematics
    where it was computed before (not for 'time', which filters the lengths).
    """
    if method not in METHODS:
        raise UsageError(f'processing must be one of {", ".join(METHODS)}, found {method!r}')
    rate = record.rate
    cutoff = applied_cutoff(method, harmonics * record.fundamental_hz, cutoff_hz)
    if method == 'time' and cutoff is not None:
        pose = direct_kinematics(robot, _low_passed(record.lengths.mean, rate, cutoff))
        derivatives = (pose, *_central_differences(pose, rate))
        return _motion(derivatives, method, cutoff)
    if pose is None:
        pose = measured_pose(robot, record)
    if cutoff is None:
        return _motion((pose, *_central_differences(pose, rate)), method, None)
    if method == 'harmonic':
        times = np.arange(record.samples) / rate
        fitted = harmonic_fit_derivatives(times, pose, record.fundamental_hz, harmonics)
        return _motion(fitted, method, cutoff)
    highest = passed_lines(record, cutoff) * record.fundamental_hz
    return _motion(spectral_derivatives(pose, rate, highest), method, cutoff)


def passed_lines(record: PeriodicRecord, cutoff_hz: float) -> int:
    """Lines up to the cut-off; fundamentals of two recordings never agree to the last digit."""
    return max(int(cutoff_hz / record.fundamental_hz + LINE_SLACK), 1)


def motion_at(
    record: PeriodicRecord, pose: Array, cutoff_hz: float, times: Array
) -> PlatformMotion:
    """x, v, a of the frequency method at any moments [s] after the begin of the period."""
    series = FourierSeries(pose, record.fundamental_hz, passed_lines(record, cutoff_hz))
    x, x_dot, x_ddot = series(times, derivatives=2)
    return _motion((x, x_dot, x_ddot), 'frequency', cutoff_hz)


def motion_of_efforts(record: PeriodicRecord, motion: PlatformMotion) -> PlatformMotion:
    """The motion at the moments that the forces belong to, which may be stamped late."""
    if not record.effort_delay:
        return motion
    count = record.samples
    turn = np.exp(-2j * np.pi * np.fft.rfftfreq(count, 1.0 / record.rate) * record.effort_delay)

    def shifted(values: Array) -> Array:
        return np.asarray(np.fft.irfft(np.fft.rfft(values, axis=0) * turn[:, None], count, axis=0))

    return replace(
        motion,
        pose=shifted(motion.pose),
        velocity=shifted(motion.velocity),
        acceleration=shifted(motion.acceleration),
    )


def length_errors(robot: Hexapod, record: PeriodicRecord, motion: PlatformMotion) -> Array:
    """delta(k) of (23): measured lengths minus those of the filtered pose."""
    return record.lengths.mean - inverse_kinematics(robot, motion.pose)


def _motion(
    derivatives: tuple[Array, Array, Array], method: str, cutoff: float | None
) -> PlatformMotion:
    velocity, acceleration = pose_rates(*derivatives)
    return PlatformMotion(derivatives[0], velocity, acceleration, method, cutoff)


def _low_passed(lengths: Array, rate: float, cutoff: float) -> Array:
    low_pass = ZeroPhaseFilter(rate, cutoff, method='butterworth', label='leg lengths')
    # The mean period repeats: enough copies on both sides take the transients of the ends.
    count = len(lengths)
    copies = int(np.ceil(low_pass.transient / count))
    tiled = np.tile(lengths, (2 * copies + 1, 1))
    filtered, _ = low_pass.apply(tiled)
    return filtered[copies * count : (copies + 1) * count]


def _central_differences(values: Array, rate: float) -> tuple[Array, Array]:
    """Periodic central differences; the second derivative over three samples."""
    before, after = np.roll(values, 1, axis=0), np.roll(values, -1, axis=0)
    return 0.5 * rate * (after - before), rate**2 * (after - 2.0 * values + before)
