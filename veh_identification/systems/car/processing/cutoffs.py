"""Cut-off of every equation, by rule from the spectra of the signals that it differentiates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veh_identification.signals import NamedBand, choose_cutoff, welch_spectrum
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.model import EQUATIONS
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.processing.driveline import merged
from veh_identification.systems.car.processing.signals import Prepared
from veh_identification.systems.car.processing.spectral import BAND_HZ
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array

CHASSIS_MODES = NamedBand('chassis modes', 0.4, 3.0)
#: Where wheels hop on their tyres; the peak itself is looked up in the spectrum.
WHEEL_HOP = (7.0, 20.0)
#: Share of the wide filter's cut-off up to which equations are used.
USABLE_SHARE = 0.75
#: Regressor noise that the bias correction takes off reliably.
BIAS_BOUND = 0.02
SPECTRUM_SAMPLES = 20000
#: Near its own band limit a sensor already distorts: stay below where its signal ends.
BELOW_EDGE = 0.75
LOWEST_HZ = 5.0
#: What each chassis equation differentiates once: angular velocities (x, y, z).
_ROTATION = {'FX': 1, 'FY': 2, 'FZ': 1, 'NX': 0, 'NY': 1, 'NZ': 2}


@dataclass(frozen=True)
class Cutoffs:
    """Highest frequency of each equation, bands left out of the chassis equations, reasons."""

    hertz: Mapping[str, float]
    stop_bands: tuple[tuple[float, float], ...]
    reasons: Mapping[str, str]

    def bands(self, frequency: Array) -> NDArray[np.bool_]:
        """Mask (equations, bands) of the bands that each equation uses."""
        result = np.array([frequency <= self.hertz[name] for name in EQUATIONS])
        for low, high in self.stop_bands:
            inside = (frequency + 0.5 * BAND_HZ > low) & (frequency - 0.5 * BAND_HZ < high)
            result[:6, inside] = False
        return result


def choose_cutoffs(
    prepared: Prepared,
    recording: CarRecording,
    noise: Mapping[str, Array],
    configuration: CarDescription,
) -> Cutoffs:
    """The highest cut-off at which noise does not rule, with the modes that must stay."""
    piece = max(prepared.pieces, key=len)[:SPECTRUM_SAMPLES]
    top = USABLE_SHARE * prepared.cutoff_hz
    hertz: dict[str, float] = {}
    reasons: dict[str, str] = {}
    imu_rate = 1.0 / recording.imu.median_period if recording.imu is not None else piece.rate
    spectrum = welch_spectrum(piece.angular_velocity, piece.rate, names=('roll', 'pitch', 'yaw'))
    for name, axis in _ROTATION.items():
        one = welch_spectrum(
            piece.angular_velocity[:, [axis]], piece.rate, names=(spectrum.names[axis],)
        )
        floor = 2.0 * np.square(noise['imu'][[axis]]) / imu_rate
        choice = choose_cutoff(
            one, derivative=1, bias_bound=BIAS_BOUND, floor=floor, keep=[CHASSIS_MODES]
        )
        hertz[name] = min(max(BELOW_EDGE * choice.cutoff_hz, LOWEST_HZ), top)
        reasons[name] = choice.reason
    for j, corner in enumerate(CORNERS):
        name = f'suspension_{corner}'
        hertz[name], reasons[name] = _suspension(piece, j, recording, noise, top)
    return Cutoffs(hertz, configuration.disturbances, reasons)


def _suspension(
    piece: CarSamples, j: int, recording: CarRecording, noise: Mapping[str, Array], top: float
) -> tuple[float, str]:
    series = recording.joint('suspension', CORNERS[j])
    if series is None:
        return top, 'no travel sensor'
    spectrum = welch_spectrum(
        piece.joints['suspension'].position[:, [j]], piece.rate, names=('travel',)
    )
    floor = 2.0 * np.square(noise[f'suspension_{CORNERS[j]}']) * series.median_period
    keep = []
    hop = wheel_hop(spectrum.frequency_hz, spectrum.density[:, 0], float(floor[0]))
    if hop is not None:
        keep.append(NamedBand('wheel hop', hop, hop))
    choice = choose_cutoff(spectrum, derivative=2, bias_bound=BIAS_BOUND, floor=floor, keep=keep)
    lowest = LOWEST_HZ if hop is None else 1.25 * hop
    return min(max(BELOW_EDGE * choice.cutoff_hz, lowest), top), choice.reason


def wheel_hop(frequency: Array, density: Array, floor: float) -> float | None:
    """Frequency of the strongest acceleration line near wheel hop, if it stands above noise."""
    inside = (frequency >= WHEEL_HOP[0]) & (frequency <= WHEEL_HOP[1])
    if not inside.any():
        return None
    level = np.where(inside, density * frequency**4, 0.0)
    peak = int(np.argmax(level))
    return float(frequency[peak]) if density[peak] > 4.0 * floor else None


def fixed_cutoffs(
    chassis_hz: float, suspension_hz: float, stop_bands: tuple[tuple[float, float], ...] = ()
) -> Cutoffs:
    """Cut-offs that the user asks for."""
    hertz = {name: chassis_hz if k < 6 else suspension_hz for k, name in enumerate(EQUATIONS)}
    return Cutoffs(hertz, stop_bands, dict.fromkeys(EQUATIONS, 'given by the user'))


def widest(several: Sequence[Cutoffs]) -> Cutoffs:
    """For concatenated recordings: what the best excited one allows."""
    best = {
        name: several[int(np.argmax([one.hertz[name] for one in several]))] for name in EQUATIONS
    }
    return Cutoffs(
        {name: one.hertz[name] for name, one in best.items()},
        merged([band for one in several for band in one.stop_bands]),
        {name: one.reasons[name] for name, one in best.items()},
    )
