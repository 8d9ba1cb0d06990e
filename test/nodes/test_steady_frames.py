"""The first frame of a sensor is believed, unless another stays."""

from __future__ import annotations

from veh_identification.nodes.sensor_fusion.steady_frames import STAYS, SteadyFrames


def test_another_frame_must_come_in_every_message() -> None:
    frames = SteadyFrames()
    assert frames.believed('imu', 'imu_link', 1)
    # Two publishers by turns: each of them would be believed for a while.
    assert not any(frames.believed('imu', 'other', 2 * k) for k in range(1, 5 * STAYS))
    begin = 20 * STAYS
    told = [frames.believed('imu', 'other', begin + k) for k in range(STAYS)]
    assert told == [False] * (STAYS - 1) + [True]
    assert frames.of == {'imu': 'other'}
