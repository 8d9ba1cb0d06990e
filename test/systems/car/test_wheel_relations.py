"""Wheel speeds beside other channels: what standstill and load make of them is no mistake."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import configuration

from veh_identification.checks.relations import judge
from veh_identification.systems.car.checks.channels import RATE, Channels
from veh_identification.systems.car.checks.relations import check_wrench_point, relations
from veh_identification.systems.car.checks.sources import sources

TIME = np.arange(0.0, 20.0, 1.0 / RATE)
NOTHING = np.full(len(TIME), np.nan)


def shown(speed: np.ndarray, yaw: np.ndarray, rim: np.ndarray) -> Channels:
    """A car of which only speed, yaw rate and the speeds of the rear wheels are recorded."""
    wheels = np.full((len(TIME), 4), np.nan)
    wheels[:, 2:] = rim / configuration().geometry.wheel_radius
    rate = np.column_stack([NOTHING, NOTHING, yaw])
    return Channels(
        TIME,
        rate,
        np.full((len(TIME), 3), np.nan),
        np.column_stack([speed, NOTHING]),
        NOTHING,
        np.full((len(TIME), 4), np.nan),
        np.full((len(TIME), 4, 6), np.nan),
        wheels,
    )


def codes(one: Channels) -> list[str]:
    told = sources(configuration(), '/speed')
    return [found.code for found in judge(relations(one, configuration()), told).findings]


def test_a_car_that_stands_still_tells_no_scale_of_its_speed() -> None:
    rng = np.random.default_rng(2)
    noise = 0.01 * rng.standard_normal(len(TIME))
    zero = np.full(len(TIME), 0.03) + noise
    assert codes(shown(zero, 0.001 * noise, np.column_stack([noise, noise]) * 1e-3)) == []
    driven = 12.0 + noise
    assert codes(shown(100.0 * driven, 0.001 * noise, np.column_stack([driven, driven]))) != []


@pytest.mark.parametrize('share', [0.0, 0.25, 1.0])
def test_load_makes_the_outer_wheel_faster_at_high_speed(share: float) -> None:
    """160 km/h: the rear wheel whose tyre gives turns faster by more than the yaw rate does."""
    speed, yaw = np.full(len(TIME), 44.4), 0.08 * np.sin(3.0 * TIME)
    geometry = configuration().geometry
    track = sum(geometry.half_track[2:])
    # Each rear wheel: half of the load transfer m a h / track, a tyre of 200 N/mm.
    given = share * 0.5 * 1400.0 * speed * yaw * 0.5 / track / 200e3
    turned = 0.5 * yaw * track + speed * given / geometry.wheel_radius
    rim = speed[:, None] + np.column_stack([-turned, turned])
    assert codes(shown(speed, yaw, rim)) == []
    assert codes(shown(speed, -yaw, rim)) != []


def wheel_forces(moment_share: float, size: float = 3000.0) -> Channels:
    """Lateral forces of all wheels, and moments that hold so much of them times the radius."""
    rng = np.random.default_rng(5)
    side = size * np.sin(2.0 * TIME)
    wrench = np.zeros((len(TIME), 4, 6))
    wrench[:, :, 1] = side[:, None]
    road = configuration().geometry.wheel_radius * side
    wrench[:, :, 3] = moment_share * road[:, None] + 5.0 * rng.standard_normal((len(TIME), 4))
    wrench[:3] = np.nan  # before the first sample of a sensor
    return replace(shown(TIME, TIME, np.column_stack([TIME, TIME])), wrench=wrench)


@pytest.mark.parametrize(
    'share, size, said',
    [
        (0.0, 3000.0, ['wrench_point']),  # about the contact
        (0.1, 3000.0, ['wrench_point']),  # the contact moves aside
        (1.0, 3000.0, []),
        (0.9, 3000.0, []),  # a soft tyre
        (-1.0, 3000.0, []),  # another mistake, which the relations tell
        (2.2, 3000.0, []),  # forces of a prescribed motion
        (0.0, 50.0, []),  # straight ahead
    ],
)
def test_moments_without_the_force_of_the_road_are_not_about_the_wheel_centre(
    share: float, size: float, said: list[str]
) -> None:
    found = check_wrench_point(wheel_forces(share, size), configuration())
    assert [one.code for one in found] == said
    assert all('wheel_fl/wrench' in one.where and ' m)' in one.text for one in found)
