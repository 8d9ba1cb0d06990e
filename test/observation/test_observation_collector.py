"""What exists before a run is set aside from the garbage collector, and comes back after it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from veh_identification.observation.streaming.collector import set_aside, set_aside_for_good
from veh_identification.systems.vehicle.recording.samples import part_key


class Knot:
    """Refers to itself: only the collector can remove it."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def nothing_set_aside() -> Iterator[None]:
    """Every test starts and ends with an ordinary collector."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_garbage_of_before_waits_until_the_block_ends() -> None:
    knot = Knot()
    gone = weakref.ref(knot)
    with set_aside():
        del knot
        gc.collect()
        assert gone() is not None
    gc.collect()
    assert gone() is None


def test_garbage_of_the_run_itself_is_removed() -> None:
    with set_aside():
        knot = Knot()
        gone = weakref.ref(knot)
        del knot
        gc.collect()
        assert gone() is None


def test_an_error_ends_the_block_as_well() -> None:
    with pytest.raises(RuntimeError), set_aside():
        assert gc.get_freeze_count() > 0
        raise RuntimeError
    assert gc.get_freeze_count() == 0


def test_a_run_leaves_alone_what_was_set_aside_for_good() -> None:
    set_aside_for_good()
    with set_aside():
        pass
    assert gc.get_freeze_count() > 0


def test_setting_aside_again_removes_the_garbage_of_before() -> None:
    knot = Knot()
    gone = weakref.ref(knot)
    set_aside_for_good()
    del knot
    assert gone() is not None
    set_aside_for_good()
    assert gone() is None


@pytest.mark.parametrize(
    ('values', 'key'),
    [
        ((0.0, 1.0, 2.0, 3.0), 'wheel_angle:15'),
        ((float('nan'), 1.0, 2.0, 3.0), 'wheel_angle:14'),
        ((float('nan'), float('nan'), 2.0, float('nan')), 'wheel_angle:4'),
        ((float('inf'), float('-inf'), 2.0, 3.0), 'wheel_angle:15'),
    ],
)
def test_keys_name_the_wheels_of_a_message(values: tuple[float, ...], key: str) -> None:
    assert part_key('wheel_angle', values) == key
