"""What people's recordings bring along: confused markers, wrapped angles, plates never tared."""

from dataclasses import replace

import numpy as np
import pytest
from humanoid_cases import CAD, record
from humanoid_runs import by_code, identified, setup_of, the

from veh_identification.identification import ArrayBlocks, Prior
from veh_identification.identification.accumulator import accumulate
from veh_identification.runtime import messages
from veh_identification.signals import TimeSeries
from veh_identification.simulation.humanoid.sensors import HumanoidSensors
from veh_identification.simulation.sensors import Reading
from veh_identification.systems.humanoid.checks.tare import (
    empty_plate,
    set_to_zero,
    what_is_empty,
)
from veh_identification.systems.humanoid.estimation.noise_and_trust import weigh
from veh_identification.systems.humanoid.estimation.prior_trust import held_out_scale
from veh_identification.systems.humanoid.recording.base_signals import on_even_stamps
from veh_identification.systems.humanoid.recording.outliers import excursions, unwrapped
from veh_identification.systems.humanoid.recording.reader import WRENCH_NAMES, WRENCH_UNITS


def human(seed: int, rate: float = 100.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    t = np.sort(np.arange(0.0, 10.0, 1.0 / rate) + rng.normal(0.0, 0.1 / rate, round(10 * rate)))
    x = np.column_stack([np.sin(2.0 * np.pi * f * t) for f in (0.7, 1.6, 0.2)])
    return t, x + rng.normal(0.0, 0.01, x.shape)


def test_stamps_of_arrival_become_even_and_true_ones_stay() -> None:
    """True stamps jitter, too, in `human`: there the angles themselves follow them."""
    t, x = human(2)
    true = TimeSeries(t, x - 0.0, ('a', 'b', 'c'), ('rad',) * 3, label='joint_states')
    kept, told = on_even_stamps(true)
    assert told == [] and np.array_equal(kept.stamps, t)
    even = 0.005 * np.arange(2000)
    angles = np.column_stack([np.sin(2.0 * np.pi * f * even) for f in (0.7, 1.6, 0.0)])
    rng = np.random.default_rng(5)
    angles += rng.normal(0.0, 5e-4, angles.shape)  # one joint rests in its noise
    waits = rng.exponential(0.006, even.size)
    late = np.maximum.accumulate(even + waits) + 1e-9 * np.arange(even.size)
    made, (told_of,) = on_even_stamps(replace(true, stamps=late, values=angles))
    assert (told_of.level, told_of.code) == ('note', 'stamps_jitter')
    # those that hardly waited tell when all were sent, so that no delay is left beside the base
    off = made.stamps - even
    assert np.std(off) < 0.25 * np.std(late - even) and abs(np.mean(off)) < 0.002


def test_excursions_are_found_and_nothing_else() -> None:
    t, x = human(0)
    assert not excursions(t, x, np.full(3, 0.08)).any()
    wrong = np.zeros(len(t), dtype=bool)
    for start, length, channel, size in ((100, 1, 0, 0.5), (300, 6, 1, -0.4), (700, 12, 2, 0.6)):
        x[start : start + length, channel] += size
        wrong[start : start + length] = True
    np.testing.assert_array_equal(excursions(t, x, np.full(3, 0.08)), wrong)


def test_lost_frames_of_a_fast_motion_are_no_excursions() -> None:
    t, x = human(1)
    kept = np.ones(len(t), dtype=bool)
    for start in range(50, 950, 60):
        kept[start : start + 8] = False
    assert not excursions(t[kept], 3.0 * x[kept], np.full(3, 0.08)).any()


def test_a_new_posture_is_no_excursion() -> None:
    t, x = human(2)
    x[500:, 0] += 0.5  # stays: nothing says which half is right
    assert not excursions(t, x, np.full(3, 0.08)).any()


def test_wrapped_angles() -> None:
    true = np.linspace(2.0, 9.0, 50)[:, None]
    smooth, jumps = unwrapped((true + np.pi) % (2.0 * np.pi) - np.pi)
    np.testing.assert_allclose(smooth, true)
    assert jumps == 1  # at pi; 3 pi is beyond


def plate(load: np.ndarray, offset: np.ndarray) -> TimeSeries:
    rng = np.random.default_rng(3)
    values = np.zeros((len(load), 6)) + offset + rng.normal(0.0, 0.5, (len(load), 6))
    values[:, 2] += load
    values[:, 0] += 0.05 * load
    return TimeSeries(np.arange(len(load)) * 0.001, values, WRENCH_NAMES, WRENCH_UNITS)


def test_offset_of_an_empty_plate() -> None:
    offset = np.array([5.0, -3.0, 12.0, 0.4, -0.2, 0.1])
    t = np.arange(0.0, 4.0, 0.001)
    step = 700.0 * np.clip(np.sin(2.0 * np.pi * (t - 1.0) / 1.6), 0.0, 1.0) * (t > 1.0)
    found = empty_plate(plate(step, offset), 700.0)
    assert found is not None
    np.testing.assert_allclose(found.offset, offset, atol=0.06)
    assert empty_plate(plate(np.full(len(t), 350.0) + 20.0 * np.sin(t), offset), 700.0) is None
    # A plate that nobody ever steps on is empty all the time.
    unused = empty_plate(plate(np.zeros(len(t)), offset), 700.0)
    assert unused is not None and unused.seconds > 3.0


def test_a_plate_that_a_program_set_to_zero_says_nothing_of_its_offset() -> None:
    t = np.arange(0.0, 4.0, 0.001)
    step = 700.0 * np.clip(np.sin(2.0 * np.pi * (t - 1.0) / 1.6), 0.0, 1.0) * (t > 1.0)
    shown = plate(step, np.array([0.0, 0.0, 4.0, 0.0, 0.0, 0.0]))
    values = np.where(shown.values[:, 2:3] < 20.0, 0.0, shown.values)
    assert what_is_empty(replace(shown, values=values), 700.0) is None
    assert set_to_zero(replace(shown, values=values)).mean() > 0.4


def zeroed(reading: Reading) -> Reading:
    """Plates whose small loads a program has set to zero."""
    if 'force_plate' not in reading.topic or reading.message.wrench.force.z > 4.0:
        return reading
    header = reading.message.header
    none = {'force': np.zeros(3), 'torque': np.zeros(3)}
    made = messages.new('geometry_msgs/msg/WrenchStamped', header=header, wrench=none)
    return replace(reading, message=made)


def test_offsets_that_a_program_has_hidden_are_allowed_for(tmp_path) -> None:
    """0.5 % of the weight on each plate, which the exact zeros of the empty ones do not show."""
    sensors = HumanoidSensors(plates=2, plate_offset=(0.1, -0.1, 0.4, 0.0, 0.0, 0.0))
    bag = record(tmp_path / 'bag', duration=5.0, sensors=sensors, change=zeroed)
    outcome = identified([bag], CAD, cutoff_hz=6.0)
    mass, std = outcome.estimate.total_mass
    assert len(by_code(outcome.findings, 'plate_zeroed')) == 2
    assert not by_code(outcome.findings, 'plate_tared')
    # Taken for tared ones they would be in the mass; the motion of a robot tells them apart.
    assert mass == pytest.approx(8.0, rel=0.003)
    assert abs(mass - 8.0) < 3.0 * std


@pytest.mark.parametrize(('frame', 'empty'), [('sole', True), ('ankle_sensor', False)])
def test_a_sole_in_the_air_shows_its_offset_and_an_ankle_its_foot(tmp_path, frame, empty) -> None:
    sensors = HumanoidSensors(sensor_frame=frame)
    bag = record(tmp_path / 'bag', duration=4.5, lean=False, sensors=sensors, change=pulled)
    made = setup_of([bag], CAD, contacts='sensors', check_frames=False, estimate_delays=False)
    for one in made.recordings[0].wrenches:
        assert one.tared == empty
        if empty:
            low = one.series.values[one.series.values[:, 2] < 1.0]
            assert np.median(low[:, :3], axis=0) == pytest.approx(0.0, abs=0.05)


def pulled(reading: Reading) -> Reading:
    """Sensors of the feet with an offset of 2 N."""
    if 'foot/' not in reading.topic:
        return reading
    force, torque = reading.message.wrench.force, reading.message.wrench.torque
    wrench = {
        'force': [force.x, force.y, force.z - 2.0],
        'torque': [torque.x, torque.y, torque.z],
    }
    header = reading.message.header
    made = messages.new('geometry_msgs/msg/WrenchStamped', header=header, wrench=wrench)
    return replace(reading, message=made)


def test_plates_that_were_not_tared_are_noticed(tmp_path) -> None:
    """Two plates with 2.5 % of offset: each is empty while its foot is in the air."""
    offset = (1.0, -0.8, 2.0, 0.02, -0.03, 0.01)
    bag = record(
        tmp_path / 'bag', duration=7.2, sensors=HumanoidSensors(plates=2, plate_offset=offset)
    )
    outcome = identified([bag], CAD, cutoff_hz=6.0)
    mass, std = outcome.estimate.total_mass
    assert {
        one.where.split(', topic ')[1] for one in by_code(outcome.findings, 'plate_tared')
    } == {
        'force_plate/wrench',
        'force_plate_2/wrench',
    }
    assert mass == pytest.approx(8.0, rel=0.005)
    assert abs(mass - 8.0) < 3.0 * std


def test_prior_is_trusted_more_when_left_out_stretches_say_so() -> None:
    """Errors that repeat the motion look like parameters until another stretch is predicted."""
    rng = np.random.default_rng(4)
    count, unknowns = 240, 30
    W = np.cumsum(rng.normal(0.0, 1.0, (count, 6, unknowns)), axis=0) / 10.0
    truth = 1.0 + 0.05 * rng.normal(size=unknowns)
    drift = np.cumsum(rng.normal(0.0, 1.0, (count, 6)), axis=0) / 4.0
    rows = ArrayBlocks(W, W @ truth + drift)
    prior = Prior(np.ones(unknowns), 0.4**2 * np.eye(unknowns))
    first = weigh(accumulate(rows), prior, unknowns)
    scale = held_out_scale(rows, first, prior, unknowns)
    assert scale < 0.7 * first.scale
    second = weigh(accumulate(rows), prior, unknowns, fixed_scale=scale)
    assert np.linalg.norm(second.value - truth) < np.linalg.norm(first.value - truth)


def test_validation_beside_the_plates_is_said(tmp_path) -> None:
    bag = record(tmp_path / 'bag')
    empty = record(tmp_path / 'empty', change=_unloaded)
    outcome = identified([bag], CAD, empty, cutoff_hz=6.0)
    assert outcome.validation is None
    assert the(outcome.findings, 'validation_unusable').level == 'warn'


def _unloaded(reading):
    if reading.topic == '/force_plate/wrench':
        reading.message.wrench.force.x = reading.message.wrench.force.y = 0.0
        reading.message.wrench.force.z = 0.01
        reading.message.wrench.torque.x = reading.message.wrench.torque.y = 0.0
    return reading
