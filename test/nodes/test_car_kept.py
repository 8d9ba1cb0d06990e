"""What a restarted car_identification goes on from: the estimate, and the chunk being filled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.saved_state import SavedState, StateError, read_state, write_state
from veh_identification.simulation.car.scenarios import (
    car_recording,
    default_configuration,
    sine_steer,
)
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.car.estimation.identify import CarMethod
from veh_identification.systems.car.estimation.sticking import Sticking
from veh_identification.systems.car.live.chunks import CarChunks
from veh_identification.systems.car.live.kept import chunk_of, entries_of
from veh_identification.systems.car.live.model import CarLiveModel
from veh_identification.systems.car.processing.friction import NearRest
from veh_identification.systems.car.recording.reader import CarRecording

CHUNK = 8.0
SECONDS = 16.5
Sample = tuple[int, str, tuple[float, ...]]


def model() -> CarLiveModel:
    return CarLiveModel(
        default_configuration(),
        CarMethod(bias_correction=False),
        significance=1e-5,
        seconds=CHUNK,
        reconstruction=False,
    )


def samples_of(recording: CarRecording) -> Iterator[Sample]:
    series = {
        'imu': recording.imu,
        'speed': recording.speed,
        **recording.joints,
        **{f'wrench_{corner}': one for corner, one in recording.wrenches.items()},
    }
    for name, one in series.items():
        assert one is not None
        for stamp, values in zip(one.stamps, one.values, strict=True):
            yield EPOCH_NS + round(1e9 * stamp), name, tuple(values)


@pytest.fixture(scope='module')
def drive() -> list[Sample]:
    recording, _ = car_recording(default_configuration(), sine_steer(1), SECONDS, 3)
    return sorted(samples_of(recording))


def restarted(before: CarLiveModel, file: Path) -> CarLiveModel:
    """A new model from what the one before would leave on the disk."""
    write_state(file, before.kept())
    after = model()
    after.go_on(read_state(file))
    return after


def test_a_restart_in_each_chunk_changes_nothing(drive: list[Sample], tmp_path: Path) -> None:
    """Broken off in the first chunk, where nothing is estimated yet, and in the second one."""
    whole, broken = model(), model()
    kills = [EPOCH_NS + round(1e9 * seconds) for seconds in (4.0, 12.0)]
    for stamp, name, values in drive:
        if kills and stamp >= kills[0]:
            kills.pop(0)
            broken = restarted(broken, tmp_path / 'state.npz')
        whole.push(name, stamp, values)
        broken.push(name, stamp, values)
    assert not kills and whole.core.chunks == 2
    assert whole.solution is not None and broken.solution is not None
    assert broken.samples == whole.samples
    sigma = np.sqrt(np.diag(whole.solution.covariance))
    gap = (broken.solution.value - whole.solution.value) / sigma
    assert np.abs(gap).max() < 1e-6
    again = np.sqrt(np.diag(broken.solution.covariance))
    np.testing.assert_allclose(again, sigma, rtol=1e-6)  # doubts of the settings included
    for name, counts in broken.counts().items():
        told = counts.used + counts.rejected + counts.late + counts.invalid + counts.waiting
        assert counts.received == told, name


def test_what_is_waiting_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    chunks = CarChunks(CHUNK)
    for k in range(700):
        stamp = EPOCH_NS + 10_000_000 * k + 7 * k
        chunks.push('speed', stamp, (20.0 + k / 3.0, float('nan') if k == 650 else 0.1))
        chunks.push('steering_fl', stamp + 1, (0.01 * k,))
    write_state(tmp_path / 'state.npz', entries_of(chunks))
    kept = chunk_of(read_state(tmp_path / 'state.npz'))
    assert kept is not None and (kept.begin_ns, kept.cut) == (EPOCH_NS, False)
    again = CarChunks(CHUNK)
    again.go_on(kept.begin_ns, kept.newest_ns, kept.cut, kept.sensors)
    assert again.counts()['speed'].waiting == again.counts()['speed'].received == 700
    for name, one in chunks.held().items():
        other = again.held()[name]
        np.testing.assert_array_equal(other.stamps, one.stamps)
        np.testing.assert_array_equal(other.values, one.values)
        np.testing.assert_array_equal(other.fresh, one.fresh)


def test_nothing_at_all_is_not_kept() -> None:
    with pytest.raises(EstimationError):
        model().kept()
    assert entries_of(CarChunks(CHUNK)) == {}


def test_friction_near_rest_and_doubts_of_the_settings_are_kept(
    drive: list[Sample], tmp_path: Path
) -> None:
    live = model()
    for stamp, name, values in drive[: len(drive) * 11 // 20]:
        live.push(name, stamp, values)
    assert live.core.known is not None
    gathered = live.core.known.gathered
    gathered.sticking = Sticking(NearRest(2e-5, 0.0))
    gathered.settings_spread = 1e4 * np.eye(len(live.core.names))
    live.core.newest = None
    doubted = live.core._solve(live.core.known)[0]
    after = restarted(live, tmp_path / 's.npz')
    decided = after.core._decided(38).sticking
    assert decided is not None and decided.surfaces == NearRest(2e-5, 0.0)
    assert after.solution is not None and doubted.covariance[0, 0] > 100.0
    np.testing.assert_allclose(after.solution.covariance, doubted.covariance, rtol=1e-9)


DAMAGE = {
    'waiting_span': np.array([5, 3], np.int64),
    'waiting_names': np.array(['speed', '../../passwd']),
    'waiting_speed_stamps': np.array([0.5, 0.7]),
    'waiting_speed_values': np.zeros((3, 2)),
    'waiting_speed_fresh': np.ones(2),
    'waiting_cut': np.array('yes'),
}


@pytest.mark.parametrize('entry', sorted(DAMAGE))
def test_a_damaged_chunk_is_one_sentence_and_leaves_the_model_as_it_was(entry: str) -> None:
    chunks = CarChunks(CHUNK)
    for k in range(40):
        chunks.push('speed', EPOCH_NS + 10_000_000 * k, (20.0, 0.1))
    stored = {**entries_of(chunks), entry: DAMAGE[entry]}
    live = model()
    with pytest.raises(StateError, match=entry):
        live.go_on(SavedState(stored))
    assert live.chunks.held() == {}


def test_a_doubt_about_a_part_in_use_is_told_after_a_restart(
    drive: list[Sample], tmp_path: Path
) -> None:
    live = model()
    for stamp, name, values in drive:
        if stamp < EPOCH_NS + round(1e9 * (CHUNK + 1.0)):
            live.push(name, stamp, values)
    live.core.found = [Finding('warn', 'samples_lost', 'half of them are missing', 'imu/data')]
    live.core._remember(live.samples)
    told = [one for one in restarted(live, tmp_path / 's.npz').doubts() if one.level == 'warn']
    assert [one.code for one in told] == ['samples_lost']
    assert told[0].where == 'imu/data' and 'earlier part' in told[0].text
