"""The errorEKF of the four-bar linkage: its sensors and settings (section 3.3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from veh_identification.observation import AdaptiveSettings, ErrorEKF, Sensor
from veh_identification.systems.four_bar.model import Setup, apply_torque, description_of
from veh_identification.systems.mechanism import model as mechanism


def make_sensors(setup: Setup, names: Sequence[str], gravity: float) -> list[Sensor]:
    """Sensor models by name; the accelerometer predicts with this gravity."""
    found = replace(description_of(setup), gravity=(0.0, -gravity))
    return mechanism.make_sensors(mechanism.build(found), names)


def make_filter(
    setup: Setup,
    names: Sequence[str] | None = None,
    force: bool = False,
    adaptive: AdaptiveSettings | None = None,
    **changes: Any,
) -> ErrorEKF:
    """errorEKF (or errorEKF-FE) over the wrong model of Table 1; its input is the torque."""
    built = mechanism.build(description_of(setup))
    return mechanism.make_filter(built, names, force, adaptive, apply_torque, **changes)
