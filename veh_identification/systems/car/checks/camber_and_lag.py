"""What the wheel forces say about the hubs beyond the signs: camber that no sensor tells, lags.

A hub that cambers with its travel or steering turns the vertical force into the lateral one. In
steady roll that looks like another mass, so neither the residuals nor the deviations show it; but
the weight in the vertical equation knows the mass. A wheel sensor that lags shows its force a
little later than the inertial unit shows the motion. Both are small and linear, so they are
estimated as further unknowns beside the parameters on one stretch of the recording:

    W X - sum_a c_a dY/dc_a - sum_j tau_j dY_j/dt = Y

with the camber c_a per travel of axle a or per steering, and the lag tau_j of wheel j. What they
show is named, not corrected: other causes end up in the same numbers, as a constant camber whose
lateral force grows with the load transfer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Fit,
    Selection,
    estimate,
    without_influence,
)
from veh_identification.systems.car.model import EQUATIONS, CarModel, Entry
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.processing.cutoffs import Cutoffs, fixed_cutoffs
from veh_identification.systems.car.processing.first_look import BELIEVED_HZ
from veh_identification.systems.car.processing.spectral import gather
from veh_identification.systems.car.recording.samples import CarSamples, JointMotion
from veh_identification.types import Array

#: Camber per metre of travel at the front and at the rear, and per radian of front steering.
CAMBERS = ('camber_front', 'camber_rear', 'camber_steering')
#: Camber per travel (rad/m) at which the equations are linearised; real axles have 0.1 to 0.6.
STEP = 0.1
#: An effect must be this many deviations large, and matter: rad/m and rad/rad of camber,
#: seconds of lag.
DEVIATIONS = 6.0
CAMBER = 0.08
LAG_SECONDS = 0.002
#: Parameters are named when they change by so many deviations and by this share.
SURE, SHARE, SHOWN = 4.0, 0.004, 5
#: Rotation about x of the left and of the right hubs when the wheels' tops lean inwards.
_INWARDS = np.array([1.0, -1.0, 1.0, -1.0])


class CamberLagModel:
    """The equations of a car with camber per travel and lags of the wheel forces as unknowns."""

    def __init__(self, model: CarModel, camber: bool) -> None:
        self.model = model
        self.cambers = CAMBERS if camber else ()
        self.names = (*model.names, *self.cambers, *(f'lag_{corner}' for corner in CORNERS))

    @property
    def added(self) -> int:
        """Unknowns beyond those of the car."""
        return len(self.names) - len(self.model.names)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Those of the car, then every further unknown in all ten equations."""
        count, start = len(EQUATIONS), self.model.signal_count - len(EQUATIONS)
        more = [
            Entry(equation, len(self.model.names) + extra, start + count * extra + equation)
            for extra in range(self.added)
            for equation in range(count)
        ]
        return (*self.model.entries, *more)

    @property
    def signal_count(self) -> int:
        """Columns of `signals`; the last ten are the measured sides."""
        return self.model.signal_count + len(EQUATIONS) * self.added

    def signals(self, samples: CarSamples) -> Array:
        """Signals of the car with the changes of the measured sides before these."""
        plain = self.model.signals(samples)
        measured = plain[:, -len(EQUATIONS) :]
        added = [
            (measured - self.model.measured(_cambered(samples, STEP * slope))) / STEP
            for slope in _slopes(samples)[: len(self.cambers)]
        ]
        rate = np.gradient(samples.wrench, 1.0 / samples.rate, axis=0)
        for j in range(len(CORNERS)):
            alone = np.zeros_like(rate)
            alone[:, j] = rate[:, j]
            added.append(-self.model.measured(replace(samples, wrench=alone)))
        return np.concatenate([plain[:, : -len(EQUATIONS)], *added, measured], axis=1)


def _slopes(samples: CarSamples) -> list[Array]:
    """Camber (N, 4) per unit of every camber unknown."""
    travel = _INWARDS * samples.joints['suspension'].position
    front = np.array([1.0, 1.0, 0.0, 0.0])
    return [travel * front, travel * (1.0 - front), samples.joints['steering'].position * front]


def _cambered(samples: CarSamples, more: Array) -> CarSamples:
    """The hubs lean by `more`; how fast they do so matters to no force."""
    still = samples.joints['camber']
    moved = JointMotion(still.position + more, still.velocity, still.acceleration)
    return replace(samples, joints={**samples.joints, 'camber': moved})


@dataclass(frozen=True)
class CamberAndLag:
    """Camber and lags (s) with their deviations, and what camber changes."""

    camber: Array  # as CAMBERS, or empty where the camber is known
    camber_std: Array
    lag: Array  # (corners,)
    lag_std: Array
    names: tuple[str, ...]  # of the car's parameters
    value: Array  # with the further unknowns
    plain: Array  # of the same stretch without camber
    std: Array

    def moved(self) -> list[str]:
        """Parameters that untold camber moves most, with the change that knowing it brings."""
        with np.errstate(divide='ignore', invalid='ignore'):
            share = (self.value - self.plain) / np.abs(self.plain)
            sure = (np.abs(self.value - self.plain) > SURE * self.std) & (np.abs(share) > SHARE)
        order = sorted(
            np.flatnonzero(sure), key=lambda k: -abs(self.value - self.plain)[k] / self.std[k]
        )
        return [f'{self.names[k]} {100.0 * share[k]:+.1f} %' for k in order[:SHOWN]]


def estimate_camber_and_lag(
    model: CarModel, piece: CarSamples, stop_bands: tuple[tuple[float, float], ...] = ()
) -> CamberAndLag | None:
    """Estimate the further unknowns on one stretch of measured motion; None if it is too poor."""
    wide = CamberLagModel(model, camber=not np.any(piece.joints['camber'].position))
    cutoffs = fixed_cutoffs(BELIEVED_HZ, BELIEVED_HZ, stop_bands)
    count, cambers = len(model.names), len(wide.cambers)
    try:
        problem = CarProblem(wide, gather(wide, [piece], BELIEVED_HZ + 1.0))
        full = _fit(problem, cutoffs, ())
        plain = _fit(problem, cutoffs, wide.cambers)
    except EstimationError:
        return None
    std = np.sqrt(np.diag(full.covariance))
    camber, lag = slice(count, count + cambers), slice(count + cambers, None)
    return CamberAndLag(
        full.value[camber],
        std[camber],
        full.value[lag],
        std[lag],
        model.names,
        full.value[:count],
        plain.value[:count],
        std[:count],
    )


def _fit(problem: CarProblem, cutoffs: Cutoffs, without: tuple[str, ...]) -> Fit:
    """All unknowns that the stretch excites, less those named."""
    bands = cutoffs.bands(problem.information.frequency)
    chosen = ~without_influence(problem, bands)
    chosen &= np.array([name not in without for name in problem.model.names])
    return estimate(problem, Selection(bands, chosen), iterations=3)


def check_camber_and_lag(found: CamberAndLag) -> list[Finding]:
    """Findings for what is both certain and large enough to matter."""
    return [*_check_camber(found), *_check_lag(found)]


def _check_camber(found: CamberAndLag) -> list[Finding]:
    if not np.any(np.abs(found.camber) > np.maximum(CAMBER, DEVIATIONS * found.camber_std)):
        return []
    front, rear = np.degrees(found.camber[:2]) * 0.01
    moved = found.moved()
    change = f' With it the estimates change: {", ".join(moved)}.' if moved else ''
    return [
        Finding(
            'bad',
            'untold_camber',
            'the wheel forces fit as if the hubs cambered (as much as front '
            f'{front:+.2f}, rear {rear:+.2f} degrees per 10 mm of compression, tops inwards '
            'positive; '
            f'{found.camber[2]:+.2f} degrees per degree of steering), and nothing tells the '
            'camber.'
            f'{change} Record camber_* in joint_states or give a table of camber under '
            'axle_kinematics in the configuration (a wrong scale of lateral force or acceleration '
            'looks alike)',
            'camber_* of joint_states, or axle_kinematics.camber of the configuration',
        )
    ]


def _check_lag(found: CamberAndLag) -> list[Finding]:
    late = np.abs(found.lag) > np.maximum(LAG_SECONDS, DEVIATIONS * found.lag_std)
    cure = (
        'give delay, or bandwidth_hz and order of its own low-pass, under sensors in the '
        'configuration'
    )
    mean = float(found.lag.mean())
    if late.all() and float(np.ptp(found.lag)) < LAG_SECONDS:
        pair, where = (
            ('all wheel wrenches lag the inertial unit', 'wheel_*/wrench')
            if mean > 0.0
            else ('imu/data lags all wheel wrenches', 'imu/data')
        )
        text = f'{pair} by {1e3 * abs(mean):.1f} ms: {cure}'
        return [Finding('bad', 'sensor_lag', text, where)]
    return [
        Finding(
            'bad',
            'sensor_lag',
            f'wheel_{CORNERS[j]}/wrench '
            f'{"lags" if found.lag[j] > 0.0 else "leads"} the inertial unit by '
            f'{1e3 * abs(found.lag[j]):.1f} ms: {cure}',
            f'wheel_{CORNERS[j]}/wrench',
        )
        for j in np.flatnonzero(late)
    ]
