"""Ride height sensors above the wheels or elsewhere tell the same body."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from car_cases import configuration

from veh_identification.signals import TimeSeries
from veh_identification.systems.car.configuration import CarDescription, parse_configuration
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.heights import body_heights, sensor_places
from veh_identification.systems.car.recording.reader import CarRecording

TIME = np.arange(200) / 100.0
LATE = 0.03
PLACES = {'fl': [3.4, 0.5, -0.1], 'rl': [-0.6, 0.4, 0.2], 'rr': [-0.5, -0.6, 0.1]}


def _placed() -> CarDescription:
    known = configuration()
    given = parse_configuration({'sensors': {'ride_height': {**PLACES, 'delay': LATE}}})
    return replace(known, sensors=replace(known.sensors, ride_height=given.sensors.ride_height))


def _plane(time: np.ndarray, x: float, y: float) -> np.ndarray:
    """A body that heaves, pitches and rolls."""
    heave, pitch = 0.3 + 0.01 * np.sin(9.0 * time), 0.02 * np.sin(5.0 * time)
    return heave - x * pitch + y * 0.03 * np.cos(4.0 * time)


def _recording(config: CarDescription) -> CarRecording:
    delay = config.sensors.ride_height.delay
    heights = {
        corner: TimeSeries(
            TIME + delay, (_plane(TIME, x, y) + z)[:, None], ('height',), ('m',), 0, corner
        )
        for corner, (x, y, z) in zip(CORNERS, sensor_places(config), strict=True)
    }
    return CarRecording('bag', None, None, {}, {}, heights)


@pytest.mark.parametrize('placed', [False, True])
def test_heights_at_the_wheels(placed: bool) -> None:
    config = _placed() if placed else configuration()
    piece = cast(Any, SimpleNamespace(stamps=TIME[20:-20], epoch_ns=0))
    found = body_heights(_recording(config), piece, config)
    assert found is not None
    for j, (x, y) in enumerate(zip(config.geometry.wheel_x, config.geometry.wheel_y, strict=True)):
        assert found[:, j] == pytest.approx(_plane(TIME[20:-20], x, y), abs=1e-6)


def test_without_all_four_there_are_none() -> None:
    config = configuration()
    recording = _recording(config)
    some = {corner: recording.ride_heights[corner] for corner in CORNERS[:3]}
    piece = cast(Any, SimpleNamespace(stamps=TIME, epoch_ns=0))
    assert body_heights(replace(recording, ride_heights=some), piece, config) is None
