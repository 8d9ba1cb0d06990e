"""A first look at a recording: the car roughly, and how far its motion sensors can be believed.

With the parameters of the lowest bands, where every sensor works, the equations predict the wheel
forces in the higher bands. Where a motion sensor's own low-pass sets in, the prediction falls
short of the measured forces. So the wheel forces tell where the band of the inertial unit ends
(vertical force, roll and pitch moments) and where that of the travel sensors (the suspensions).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.signals import TimeSeries
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.bias import series_noise
from veh_identification.systems.car.estimation.weighted import CarProblem, Fit, Selection, estimate
from veh_identification.systems.car.model import EQUATIONS, CarModel
from veh_identification.systems.car.parameters import CORNERS, NAMES
from veh_identification.systems.car.processing.band_extension import CROSSOVER, Extension
from veh_identification.systems.car.processing.cutoffs import (
    LOWEST_HZ,
    USABLE_SHARE,
    Cutoffs,
    fixed_cutoffs,
)
from veh_identification.systems.car.processing.signals import FLAT_SHARE, Prepared
from veh_identification.systems.car.processing.spectral import BAND_HZ, gather
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

LOOK_SECONDS = 60.0
#: Every sensor is believed up to here; the first parameters come from below.
BELIEVED_HZ = 6.0
#: A band ends where the prediction over this width above it falls short by this factor.
EDGE_WIDTH_HZ = 2.0
EDGE_GAIN = 0.9
#: Power over that of the noise from which a band counts as signal.
SIGNAL = 4.0
#: The travel sensors' edge is seen later: the suspension force reacts on one factor of two only.
TRAVEL_SHARE = 0.93
#: Where a suspension's residual is hardly more than the noise of its wheel force (Hz).
SLOW_HZ = (0.5, 3.0)
#: Relative deviations up to which parameters serve to reconstruct small terms.
WORST = {
    'Mc': 0.05,
    'XXc': 0.2,
    'YYc': 0.2,
    'ZZc': 0.2,
    **{f'{kind}{j}': 0.2 for kind in 'kh' for j in range(1, 5)},
    **{f'M{j}': 0.4 for j in range(1, 5)},
}


@dataclass(frozen=True)
class Bands:
    """Highest frequencies (Hz) at which the wheel forces confirm the motion sensors."""

    imu: float
    travel: float


@dataclass(frozen=True)
class Look:
    """What the first look shows; parameters are None where they are too poor to serve."""

    bands: Bands
    parameters: Mapping[str, float] | None = None
    #: Bounds (N^2/Hz) on the noise of the vertical wheel forces from the suspensions' residuals.
    force_density: tuple[float, ...] = ()


def stretch(recording: CarRecording, seconds: float, rank: float) -> CarRecording:
    """A stretch of a long recording: the liveliest (rank 1) or the typical one (rank 0.5)."""
    travels = [
        recording.joints[name]
        for name in sorted(recording.joints)
        if name.startswith('suspension')
    ]
    if not travels or recording.imu is None:
        return recording
    first, last = recording.imu.stamps[0], recording.imu.stamps[-1]
    if last - first < 1.5 * seconds:
        return recording
    begins = first + seconds * np.arange(int((last - first) // seconds))
    lively = [sum(_movement(one, begin, begin + seconds) for one in travels) for begin in begins]
    begin = float(begins[np.argsort(lively)[int(rank * (len(begins) - 1))]])

    def cut(series: TimeSeries) -> TimeSeries:
        return series.take((series.stamps >= begin) & (series.stamps < begin + seconds))

    return replace(
        recording,
        imu=cut(recording.imu),
        speed=None if recording.speed is None else cut(recording.speed),
        joints={name: cut(one) for name, one in recording.joints.items()},
        wrenches={name: cut(one) for name, one in recording.wrenches.items()},
    )


def _movement(series: TimeSeries, begin: float, end: float) -> float:
    """Mean square of the steps of a travel sensor."""
    rows = slice(*np.searchsorted(series.stamps, [begin, end]))
    steps = np.diff(series.values[rows, 0])
    return float(np.mean(steps**2)) if len(steps) else 0.0


def first_look(model: CarModel, prepared: Prepared, cutoffs: Cutoffs) -> Look:
    """Bands of the sensors and the car roughly."""
    problem = CarProblem(model, gather(model, prepared.pieces, prepared.cutoff_hz))
    top = USABLE_SHARE * prepared.cutoff_hz
    nothing = Look(Bands(top, top))
    try:
        fit = _fit(problem, fixed_cutoffs(BELIEVED_HZ, BELIEVED_HZ, cutoffs.stop_bands))
        found = _bands(problem, fit, top)
        lowest = {name: min(hertz, found.imu) for name, hertz in cutoffs.hertz.items()}
        fit = _fit(problem, replace(cutoffs, hertz=lowest))
    except EstimationError:
        return nothing
    value = dict(zip(model.names, fit.value.tolist(), strict=True))
    std = dict(zip(model.names, np.sqrt(np.diag(fit.covariance)).tolist(), strict=True))
    if not all(
        value[name] > 0.0 and std[name] < share * value[name] for name, share in WORST.items()
    ):
        return nothing
    residual = _slow_residual(problem, fit)[6:]
    return Look(found, value, tuple((2.0 * residual / prepared.rate).tolist()))


def _fit(problem: CarProblem, cutoffs: Cutoffs) -> Fit:
    bands = cutoffs.bands(problem.information.frequency)
    # Without speed or excitation some parameters have no influence; they do not matter here.
    chosen = np.array([name in NAMES for name in problem.model.names])
    return estimate(problem, Selection(bands, chosen), iterations=3)


def _bands(problem: CarProblem, fit: Fit, top: float) -> Bands:
    agreed, measured = problem.agreement(fit.value)
    noise = _slow_residual(problem, fit) * problem.information.rows[:, None]
    frequency = problem.information.frequency
    width = round(EDGE_WIDTH_HZ / BAND_HZ)
    agreed, measured, noise = (_ahead(one, width) for one in (agreed, measured, noise))
    # Without signal there is nothing to confirm or to refute.
    gain = np.divide(
        agreed, measured - noise, out=np.ones_like(agreed), where=measured > SIGNAL * noise
    )
    imu = [EQUATIONS.index(name) for name in ('FZ', 'NX', 'NY')]
    travel = [EQUATIONS.index(f'suspension_{corner}') for corner in CORNERS]
    return Bands(
        _edge(frequency, gain[:, imu].mean(axis=1), top),
        TRAVEL_SHARE * _edge(frequency, gain[:, travel].mean(axis=1), top / TRAVEL_SHARE),
    )


def _slow_residual(problem: CarProblem, fit: Fit) -> Array:
    """Residual power per line of every equation where motion is slow: hardly more than noise."""
    frequency = problem.information.frequency
    slow = (frequency > SLOW_HZ[0]) & (frequency < SLOW_HZ[1])
    return np.asarray(np.einsum('bjj->bj', fit.power)[slow].mean(axis=0))


def _ahead(values: Array, width: int) -> Array:
    """Sums over `width` bands from each band on."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    last = np.minimum(np.arange(len(values)) + width, len(values))
    return np.asarray(sums[last] - sums[:-1])


def _edge(frequency: Array, gain: Array, top: float) -> float:
    """Where the gain over the next bands has fallen; `top` if it never does."""
    low = np.flatnonzero((frequency > LOWEST_HZ) & (gain < EDGE_GAIN))
    edge = float(frequency[low[0]]) if len(low) else top
    return min(edge, top)


def limited(cutoffs: Cutoffs, bands: Bands) -> Cutoffs:
    """Cut-offs within the bands that the wheel forces confirm."""
    hertz, reasons = dict(cutoffs.hertz), dict(cutoffs.reasons)
    for place, name in enumerate(EQUATIONS):
        chassis = place < 6
        kind, edge = (
            ('inertial unit' if chassis else 'travel sensors'),
            (bands.imu if chassis else bands.travel),
        )
        limit = (1.0 - CROSSOVER) * edge
        if hertz[name] > limit:
            hertz[name] = limit
            reasons[name] = (
                f'cut-off {limit:.3g} Hz: the wheel forces confirm the {kind} up to {edge:.3g} Hz.'
            )
    return Cutoffs(hertz, cutoffs.stop_bands, reasons)


def extension_of(
    look: Look,
    cutoffs: Cutoffs,
    recording: CarRecording,
    configuration: CarDescription,
    rate: float,
) -> Extension | None:
    """Measured motion serves just beyond the cut-offs of the equations, the forces above."""
    if look.parameters is None:
        return None
    hertz = [cutoffs.hertz[name] / (1.0 - CROSSOVER) for name in EQUATIONS]
    periods, densities = [], []
    for corner, bound in zip(CORNERS, look.force_density, strict=True):
        series = recording.wrenches[corner]
        sigma = float(series_noise(series, configuration.sensors.wheel_force)[2])
        periods.append(series.median_period)
        # Forces reach up to the highest lines: what looks like a floor there may be motion.
        densities.append(min(2.0 * sigma**2 * series.median_period, bound))
    fl, fr, rl, rr = densities
    return Extension(
        look.parameters,
        max(hertz[:6]),
        (hertz[6], hertz[7], hertz[8], hertz[9]),
        min(FLAT_SHARE / max(periods), 0.45 * rate),
        (fl, fr, rl, rr),
    )
