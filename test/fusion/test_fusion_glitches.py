"""Single samples that no machine makes: left out while they come, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.fusion.glitches import GlitchGate
from veh_identification.types import Array

RATE = 100.0


def left_out(values: Array, share: float = 1.0) -> list[int]:
    """Indices of samples (N, C) at 100 Hz."""
    gate = GlitchGate(values.shape[1], share)
    return [k for k, row in enumerate(values) if gate.leaves_out(k / RATE, row)]


def motion(seed: int = 0) -> Array:
    """A turn rate and a vertical force in a vehicle, noise and all, (4000, 2)."""
    rng = np.random.default_rng(seed)
    t = np.arange(4000) / RATE
    noise = rng.standard_normal((len(t), 2))
    return np.column_stack([0.3 * np.sin(t), np.full(len(t), 9.8)]) + [0.01, 0.5] * noise


def test_a_motion_with_noise_is_left_alone() -> None:
    assert not any(left_out(motion(seed)) for seed in range(5))


@pytest.mark.parametrize('size', [1.0, -3.0, 10.0, 1e3, 1e6, -1e12])
@pytest.mark.parametrize('length', [1, 2])
def test_a_glitch_of_any_size_is_left_out_alone(size: float, length: int) -> None:
    values = motion()
    values[2000 : 2000 + length, 0] += size
    assert left_out(values) == list(range(2000, 2000 + length))


def test_what_comes_to_stay_is_believed_from_the_third_sample_on() -> None:
    values = motion()
    values[2000:, 0] += 5.0
    assert left_out(values) == [2000, 2001]


def test_a_motion_that_begins_costs_a_few_samples_only() -> None:
    values = motion()
    values[:500] = values[0] + 0.02 * (values[:500] - values[0])  # at rest
    values[:500, 0] = 1e-4 * np.random.default_rng(1).standard_normal(500)
    missed = left_out(values)
    assert all(495 < k < 560 for k in missed) and len(missed) < 15


def test_a_kerb_within_the_extent_is_no_glitch() -> None:
    values = motion()
    values[1000:1010, 1] += 40.0  # seen once
    values[2000, 1] += 25.0
    assert 2000 not in left_out(values)


def test_ticks_of_a_coarse_encoder_are_no_glitches() -> None:
    t = np.arange(6000) / RATE
    angle = 0.01 * np.round(20.0 * np.sin(0.1 * t))[:, None]
    assert not left_out(angle, share=0.0)
    angle[3000] += 0.5
    assert left_out(angle, share=0.0) == [3000]


def test_after_a_pause_nothing_is_compared() -> None:
    gate, values = GlitchGate(1), 0.01 * np.random.default_rng(2).standard_normal((200, 1))
    for k, row in enumerate(values):
        assert not gate.leaves_out(k / RATE, row)
    assert not gate.leaves_out(12.0, np.array([7.0]))


def test_channels_without_a_number_are_not_asked() -> None:
    values = motion()
    values[:, 1] = np.nan
    values[2000, 0] += 10.0
    assert left_out(values) == [2000]


def test_other_channels_go_on_after_a_number_is_missing_once() -> None:
    values = motion()
    values[1500, 0] = np.nan
    assert not left_out(values)


def test_a_channel_that_begins_late_is_judged_as_well() -> None:
    values = motion()
    values[:700, 0] = np.nan
    values[2000, 0] += 10.0
    assert left_out(values) == [2000]
