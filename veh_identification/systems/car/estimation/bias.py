"""Bias by noise in the regressor: measured by adding more of it, then taken off (SIMEX).

Noise in W shrinks least-squares estimates in second order. The recording is perturbed by noise of
the same size as the sensors', once as drawn and once with the opposite sign: the mean of the two
estimates minus the original one is exactly the second-order effect of doubling the noise, and the
first-order scatter cancels. Taking that difference off the original estimate removes the bias of
the noise that was there.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from veh_identification.errors import SignalError
from veh_identification.signals import Spectrum, TimeSeries, noise_floor, welch_spectrum
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

Noise = Mapping[str, Array]
#: A noise level needs no more samples than these.
SPECTRUM_SAMPLES = 20000
EXTRA = ('half_track', 'wheelbase', 'camber', 'kingpin', 'steering')


def sensor_noise(recording: CarRecording, configuration: CarDescription) -> dict[str, Array]:
    """White noise per sample of every channel that enters the regressor, by series name."""
    sensors = configuration.sensors
    result: dict[str, Array] = {}
    if recording.imu is not None:
        result['imu'] = series_noise(recording.imu, sensors.imu)
    for name, series in recording.joints.items():
        kind = name.rpartition('_')[0]
        if kind == 'suspension':
            result[name] = series_noise(series, sensors.suspension)
        elif kind in EXTRA:
            result[name] = series_noise(series, sensors.steering)
    return result


def series_noise(series: TimeSeries, sensor: Sensor) -> Array:
    """Standard deviations from the configuration, else from the spectrum's floor."""
    channels = series.values.shape[1]
    if sensor.noise:
        given = np.array(sensor.noise)
        if len(given) == 2 and channels == 6:  # gyroscope and accelerometer
            return np.repeat(given, 3)
        return (
            np.broadcast_to(given, (channels,))
            if len(given) in (1, channels)
            else np.full(channels, given[0])
        )
    rate = 1.0 / series.median_period
    try:
        floor = _floor(welch_spectrum(series.values[:SPECTRUM_SAMPLES], rate))
    except SignalError:
        return np.zeros(channels)
    return np.sqrt(floor * 0.5 * rate)


def _floor(spectrum: Spectrum) -> Array:
    """Mean of the quiet bands: the lowest alone would be low by chance."""
    edges = np.linspace(0.45, 0.95, 6) * 0.5 * spectrum.rate
    levels = np.array(
        [
            noise_floor(spectrum, (float(low), float(high)))
            for low, high in itertools.pairwise(edges)
        ]
    )
    quiet = levels <= 1.3 * levels.min(axis=0)
    return np.asarray((levels * quiet).sum(axis=0) / quiet.sum(axis=0))


def travel_noise(noise: Noise) -> tuple[float, float, float, float]:
    """Noise of the four suspension sensors."""
    fl, fr, rl, rr = (
        float(noise[f'suspension_{corner}'][0]) if f'suspension_{corner}' in noise else 0.0
        for corner in CORNERS
    )
    return (fl, fr, rl, rr)


def perturbed(recording: CarRecording, noise: Noise, sign: float, seed: int) -> CarRecording:
    """The recording with as much noise again; `sign` -1 gives the mirror image of the draw."""
    generator = np.random.default_rng([seed, 4711])

    def noisy(series: TimeSeries, sigma: Array) -> TimeSeries:
        drawn = generator.standard_normal(series.values.shape) * sigma
        return replace(series, values=series.values + sign * drawn)

    imu = recording.imu
    if imu is not None and 'imu' in noise:
        imu = noisy(imu, noise['imu'])
    joints = {
        name: noisy(series, noise[name]) if name in noise else series
        for name, series in sorted(recording.joints.items())
    }
    return replace(recording, imu=imu, joints=joints)
