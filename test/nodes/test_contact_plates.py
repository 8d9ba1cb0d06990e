"""Where force plates stand, from parameters and static transforms."""

from __future__ import annotations

import numpy as np

from veh_identification.runtime import messages
from veh_identification.systems.humanoid.live.plates import PlatePlaces


def transforms(*entries) -> object:
    return messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            {
                'header': messages.header(0, parent),
                'child_frame_id': child,
                'transform': {'translation': place, 'rotation': (0.0, 0.0, 0.0, 1.0)},
            }
            for parent, child, place in entries
        ],
    )


def test_places_of_several_plates() -> None:
    places = PlatePlaces([0.0])
    assert places.centre('world', ['a']) is None
    assert (
        places.take(
            transforms(('world', 'floor', (1.0, 0.0, 0.0)), ('floor', 'a', (0.0, 0.2, 0.0)))
        )
        == []
    )
    np.testing.assert_allclose(places.centre('world', ['a']), (1.0, 0.2, 0.0))
    assert places.centre('world', ['a', 'b']) is None  # half of the plates is no middle
    assert places.centre('odom', ['a']) is None
    places.take(transforms(('world', 'b', (3.0, 0.0, 0.0))))
    np.testing.assert_allclose(places.centre('world', ['a', 'b']), (2.0, 0.1, 0.0))
    assert any('cycle' in text for text in places.take(transforms(('a', 'world', (0, 0, 0)))))
    np.testing.assert_allclose(PlatePlaces([1.0, 2.0, 3.0]).centre('odom', []), (1, 2, 3))
