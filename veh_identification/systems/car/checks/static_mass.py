"""Static mass from the wheel loads at standstill (Venture 2002, section 6.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import number
from veh_identification.identification import IdentificationResult
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.recording.samples import CarSamples, wheel_loads
from veh_identification.types import Array

MINIMUM_SECONDS = 1.0
#: A chassis that weighs this much (percent) more or less than identified deserves a word.
WEIGHT_PERCENT = 1.0


@dataclass(frozen=True)
class StaticLoads:
    """Mean vertical wheel loads while the car stands, and the mass that they carry."""

    loads: tuple[float, float, float, float]
    mass: float  # chassis and M1..M4; the wheels are outside of the sensors
    std: float
    seconds: float

    def compare(self, result: IdentificationResult) -> dict[str, Any]:
        """The weighed chassis beside the identified one."""
        return self.beside(
            float(result.value[result.index('Mc')]),
            float(sum(result.value[result.index(f'M{j}')] for j in range(1, 5))),
        )

    def beside(self, chassis: float, unsprung: float) -> dict[str, Any]:
        """For parameters.json: the chassis by weighing, less the unsprung masses, and as found."""
        weighed = self.mass - unsprung
        return {
            'wheel_loads': list(self.loads),
            'total': self.mass,
            'std': self.std,
            'seconds': self.seconds,
            'chassis_weighed': weighed,
            'chassis_identified': chassis,
            'difference_percent': 100.0 * (chassis - weighed) / weighed,
        }


def static_mass_finding(weighed: Mapping[str, Any]) -> Finding:
    """Whether weighing and identification agree."""
    off = float(weighed['difference_percent'])
    return Finding(
        'good' if abs(off) < WEIGHT_PERCENT else 'warn',
        'static_mass',
        f'At standstill the wheels carry {number(weighed["chassis_weighed"], 4)} kg of '
        f'chassis; {number(weighed["chassis_identified"], 4)} kg were identified ({off:+.2f} %).',
    )


def static_mass_line(weighed: Mapping[str, Any]) -> str:
    """For the terminal."""
    return (
        f'static mass of the chassis from wheel loads {weighed["chassis_weighed"]:.1f}'
        f' kg, identified {weighed["chassis_identified"]:.1f} kg '
        f'({weighed["difference_percent"]:+.2f} %)'
    )


def static_loads(
    pieces: Sequence[CarSamples], configuration: CarDescription
) -> StaticLoads | None:
    """Loads over all samples at which the car stands still; None if it never does."""
    sums: list[Array] = []
    for piece in pieces:
        still = (np.sqrt(piece.air_speed_squared) < 0.2) & (
            np.abs(piece.angular_velocity).max(axis=1) < 0.02
        )
        if still.any():
            geometry, shape = configuration.geometry, (len(piece), 4)
            vertical = wheel_loads(
                piece,
                np.broadcast_to(geometry.wheel_x, shape),
                np.broadcast_to(geometry.wheel_y, shape),
            )[1]
            sums.append(vertical[still])
    count = sum(len(one) for one in sums)
    if not sums or count < MINIMUM_SECONDS * pieces[0].rate:
        return None
    loads = np.concatenate(sums)
    mean = loads.mean(axis=0)
    gravity = configuration.gravity
    # One independent value per second: what vibrates is slower than the samples.
    spread = float(loads.sum(axis=1).std() / gravity / np.sqrt(max(count / pieces[0].rate, 1.0)))
    return StaticLoads(
        (float(mean[0]), float(mean[1]), float(mean[2]), float(mean[3])),
        float(mean.sum() / gravity),
        spread,
        count / pieces[0].rate,
    )
