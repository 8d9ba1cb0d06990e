"""The node `car_identification`: the estimate chunk by chunk, and the node on messages."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from live_harness import Item, codes, run

from veh_identification.errors import EstimationError, ParameterError
from veh_identification.nodes.car_identification.node import CarIdentification
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.transforms import Transform
from veh_identification.simulation.car.messages import readings, static_transforms
from veh_identification.simulation.car.scenarios import (
    car_recording,
    default_configuration,
    run_sensors,
    sine_steer,
)
from veh_identification.simulation.car.vehicle import Vehicle
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.car.configuration import load_configuration
from veh_identification.systems.car.estimation.identify import (
    CarMethod,
    check_recording,
    identify_recordings,
)
from veh_identification.systems.car.live.accumulation import STATE_VERSION, CarLive
from veh_identification.systems.car.live.advice import BRAKE, ROUGH, advice
from veh_identification.systems.car.live.chunks import OVERLAP, CarChunks
from veh_identification.systems.car.parameters import NAMES, scales
from veh_identification.systems.car.recording.reader import read_recording, sensor_pose

NAME = 'car_identification'
PARAMETERS = f'/{NAME}/parameters'
CHUNK = 15.0
WHEELS = ('/wheel_fl/wrench', '/wheel_fr/wrench')
#: Further findings of the fit that depend on how much of the drive is looked at.
POSSIBLE = {'inertia_not_positive', 'triangle_inequality', 'poor_fit'}
LOAD, PLACE = 75.0, np.array([0.9, 0.3, 0.35])


def pieces(recording, seconds: float):
    """A recording in chunks as the node cuts it."""

    def cut(series, a, b):
        return series.take((series.stamps >= a) & (series.stamps < b))

    for a in np.arange(0.0, seconds - CHUNK + 1e-9, CHUNK - OVERLAP):
        b = a + CHUNK
        yield replace(
            recording,
            imu=cut(recording.imu, a, b),
            speed=cut(recording.speed, a, b),
            joints={n: cut(s, a, b) for n, s in recording.joints.items()},
            wrenches={n: cut(s, a, b) for n, s in recording.wrenches.items()},
        )


def loaded_vehicle() -> Vehicle:
    """The example car with a load; its suspension is set so that it stands level again."""
    vehicle = Vehicle()
    i = vehicle.inertia
    mass = i.mass + LOAD
    centre = (i.mass * np.array(i.centre) + LOAD * PLACE) / mass
    return replace(vehicle, inertia=replace(i, mass=mass, centre=tuple(centre)))


@pytest.fixture(scope='module')
def driven():
    return car_recording(default_configuration(), sine_steer(1), 60.0, 1)


@pytest.fixture(scope='module')
def live(driven):
    core = CarLive(default_configuration(), CarMethod(), 1e-5)
    problems = [core.add(chunk) for chunk in pieces(driven[0], 60.0)]
    assert problems == [''] * 4
    return core


def test_after_60_s_of_sine_steering_within_two_sigma_of_the_offline_estimate(
    driven, live
) -> None:
    offline = identify_recordings([driven[0]], default_configuration()).result
    solution = live.solve()
    difference = (solution.value - offline.value) / offline.std
    print(
        f'live - offline: max {np.abs(difference).max():.2f} sigma '
        f'({NAMES[int(np.abs(difference).argmax())]}), '
        f'rms {np.sqrt(np.mean(difference**2)):.2f}'
    )
    assert np.abs(difference).max() < 2.0
    assert solution.excited.all()
    assert not live.changed and live.held_chunks == 0
    mass = solution.value[0]
    assert mass == pytest.approx(driven[1]['Mc'], rel=0.005)


def test_a_load_is_noticed_in_its_first_chunk(live) -> None:
    core = copy.deepcopy(live)
    before = core.solve()
    recording, truth = car_recording(
        default_configuration(), sine_steer(1), CHUNK, 5, vehicle=loaded_vehicle()
    )
    (chunk,) = pieces(recording, CHUNK)
    assert core.add(chunk) == ''
    assert core.changed
    change = core.change
    print(
        f'load {change.value[0]:.1f} +- {change.std[0]:.1f} kg, first moments '
        f'{np.round(change.value[1:], 1)}, statistic {change.test.statistic:.0f}'
    )
    expected = truth['Mc'] - Vehicle().parameters()['Mc']
    assert expected == pytest.approx(LOAD)
    assert change.value[0] == pytest.approx(LOAD, abs=max(5.0, 4.0 * change.std[0]))
    assert change.value[1] / change.value[0] == pytest.approx(PLACE[0], abs=0.15)
    # What is known stays as it was while the load is there.
    held = core.solve()
    assert held.value[0] == pytest.approx(before.value[0], abs=before.covariance[0, 0] ** 0.5)
    assert core.held_chunks == 1


def test_the_same_car_again_is_no_change(live) -> None:
    core = copy.deepcopy(live)
    recording, _ = car_recording(default_configuration(), sine_steer(2), 30.0, 6)
    for chunk in pieces(recording, 30.0):
        assert core.add(chunk) == ''
        assert not core.changed, core.change.test.statistic


def test_a_missing_wheel_is_skipped_and_named(driven, live) -> None:
    core = copy.deepcopy(live)
    chunk = next(pieces(driven[0], 60.0))
    seconds = core.seconds
    blind = replace(chunk, wrenches={k: v for k, v in chunk.wrenches.items() if k != 'fl'})
    assert 'sensors are missing: no equations' in core.add(blind)
    assert core.add(replace(chunk, speed=None)) == 'the speed is missing'
    assert core.seconds == seconds
    with pytest.raises(EstimationError, match='no chunk so far'):
        CarLive(default_configuration(), CarMethod(), 1e-5).solve()


def test_state_survives_storage(live) -> None:
    other = CarLive(default_configuration(), CarMethod(), 1e-5)
    other.restore(live.state())
    np.testing.assert_allclose(other.solve().value, live.solve().value, rtol=1e-9)
    assert other.seconds == pytest.approx(live.seconds)
    with pytest.raises(EstimationError, match=f'version is 1, expected {STATE_VERSION}'):
        other.restore({'version': 1})
    with pytest.raises(EstimationError, match='names belong to another car'):
        other.restore({**live.state(), 'names': np.array(['x'])})


def test_advice_names_the_manoeuvre() -> None:
    std = 0.001 * scales(NAMES)
    assert advice(NAMES, scales(NAMES), std) == ''
    std[NAMES.index('YYc')] = 1e5
    std[NAMES.index('M3')] = np.nan
    text = advice(NAMES, scales(NAMES), std)
    assert f'YYc: {BRAKE}' in text and f'M3: {ROUGH}' in text


def test_chunks_wait_for_late_samples_and_start_anew_after_a_clock_jump() -> None:
    chunks = CarChunks(5.0)
    made = []
    for k in range(1200):
        stamp = 10**18 + k * 10_000_000
        found = chunks.push('imu', stamp, (0.0,) * 6)
        if found is not None:
            made.append((k, found))
    assert [k for k, _ in made] == [550, 990]  # 5 s and the time to wait; then 4.4 s later
    assert len(made[0][1].imu) == 500 and made[0][1].wrenches == {}
    chunks.push('imu', 10**17, (0.0,) * 6)
    assert chunks.clock_jumps == 1


def test_a_glitch_is_left_out_of_its_chunk_and_counted() -> None:
    chunks, random = CarChunks(5.0), np.random.default_rng(1)
    values = random.standard_normal((1200, 6))
    values[300, 4] = 1e4
    travel = 0.02 * np.sin(0.05 * np.arange(1200))
    travel[333] += 0.5
    made = []
    for k in range(1200):
        stamp = 10**18 + k * 10_000_000
        for name, sample in (('imu', values[k]), ('suspension_fl', travel[k : k + 1])):
            found = chunks.push(name, stamp, tuple(sample))
            if found is not None:
                made.append(found)
                chunks.settle(True)
    assert np.abs(made[0].imu.values).max() < 10.0 and len(made[0].imu) == 499
    assert np.abs(made[0].joints['suspension_fl'].values).max() < 0.021
    assert sorted(one.glitches for one in made[0].reports) == [1, 3]
    for name, glitches in (('imu', 1), ('suspension_fl', 3)):
        counts = chunks.counts()[name]
        assert counts.rejected == glitches and counts.received == 1200
        assert counts.received == counts.used + counts.rejected + counts.waiting


def test_a_drive_that_goes_on_behind_its_supposed_end_is_used_further() -> None:
    chunks = CarChunks(15.0)

    def drive(begin: int, end: int) -> list:
        found = [
            chunks.push('imu', 10**18 + k * 10_000_000, (0.0,) * 6) for k in range(begin, end)
        ]
        return [one for one in found if one is not None]

    assert drive(0, 700) == []
    rest = chunks.rest()
    assert rest is not None and len(rest.imu) == 700
    chunks.settle(True)
    assert chunks.rest() is None  # told the end twice
    after = drive(1000, 3000)  # a pause of three seconds, then on
    assert len(after) == 1
    chunks.settle(True)
    counts = chunks.counts()['imu']
    assert counts.received == 2700 and counts.late == counts.rejected == 0
    assert counts.received == counts.used + counts.waiting


# The node ---------------------------------------------------------------------------------------


def messages_of(seconds: float) -> list[Item]:
    car = default_configuration()
    _, streams, _ = run_sensors(car, sine_steer(1), seconds, 3)
    used = [one for one in streams if not one.topic.startswith('ride')]
    first = Item(EPOCH_NS, '/tf_static', static_transforms(car))
    return [first, *(Item(r.log_ns, r.topic, r.message) for r in readings(used))]


@pytest.fixture(scope='module')
def source():
    return messages_of(23.0)


@pytest.fixture(scope='module')
def ran(source, tmp_path_factory):
    file = tmp_path_factory.mktemp('car') / 'estimate.npz'
    calls = [(13.0, '/save', {})]
    return run(CarIdentification, NAME, source, chunk=6.0, file=str(file), calls=calls)


def test_the_node_publishes_parameters_and_reconstruction(ran) -> None:
    node, sink = ran
    estimates = sink.of(PARAMETERS)
    assert len(estimates) >= 15
    found = {p.name: p for p in estimates[-1].parameters}
    assert [p.name for p in estimates[-1].parameters][:33] == list(NAMES)
    assert found['Mc'].value == pytest.approx(Vehicle().parameters()['Mc'], rel=0.005)
    assert found['Mc'].a_priori == pytest.approx(1508.5)
    assert 1.2 < found['centre_of_gravity.x'].value < 1.8
    shown = sink.of(f'/{NAME}/reconstruction')
    measured = np.array([m.measured for m in shown])
    predicted = np.array([m.predicted for m in shown])
    relative = np.sqrt(np.mean((measured - predicted) ** 2, axis=0) / np.mean(measured**2, axis=0))
    assert np.all(relative[[1, 2, 5, 6, 7, 8, 9]] < 0.1)  # lateral, vertical, yaw, suspensions
    assert node.model.core.chunks == 4 and node.model.skipped.total == 0
    assert estimates[-1].verdict in ('yes', 'care')
    assert all(one.level != 'bad' for one in estimates[-1].findings)


def chained(message):
    """The same poses, that of the IMU over a frame between it and base_link."""
    mount = Transform.from_rpy([0.4, -0.2, 0.3], [0.1, -0.3, 1.2])
    result = copy.deepcopy(message)
    for one in result.transforms:
        if one.child_frame_id == 'imu_link':
            direct = Transform.from_message(one.transform)
            break
    inner = mount.inverse() @ direct
    for transform, parent, child in ((mount, 'base_link', 'imu_mount'), (inner, 'imu_mount', '')):
        one = copy.deepcopy(one)
        one.header.frame_id, one.child_frame_id = parent, child or 'imu_link'
        t, q = one.transform.translation, one.transform.rotation
        t.x, t.y, t.z = transform.translation
        q.x, q.y, q.z, q.w = transform.rotation
        result.transforms.append(one)
    result.transforms = [
        one
        for one in result.transforms
        if (one.header.frame_id, one.child_frame_id) != ('base_link', 'imu_link')
    ]
    return result


@pytest.fixture(scope='module')
def poseless(tmp_path_factory):
    """A description of the car that leaves the poses of its sensors to /tf_static."""
    content = yaml.safe_load(Path(find_config('car_peugeot_406.yaml')).read_text())
    del content['car']['sensors']
    file = tmp_path_factory.mktemp('car') / 'poseless.yaml'
    file.write_text(yaml.safe_dump(content))
    return file


#: A chain rounds otherwise in the last digit, and friction is drawn in single precision.
SINGLE = float(np.finfo(np.float32).eps)


def test_a_chain_of_transforms_gives_live_what_the_direct_one_gives(source, poseless) -> None:
    first, *rest = source[: len(source) // 2]
    values = []
    for message in (first.message, chained(first.message)):
        short = [Item(first.time_ns, '/tf_static', message), *rest]
        node, sink = run(CarIdentification, NAME, short, chunk=5.0, car=str(poseless))
        assert node.model.core.chunks == 2 and node.model.skipped.total == 0
        values.append([p.value for p in sink.of(PARAMETERS)[-1].parameters])
    np.testing.assert_allclose(values[1], values[0], rtol=SINGLE, atol=SINGLE)
    node, sink = run(CarIdentification, NAME, rest, chunk=5.0, car=str(poseless))
    # Without any transform the pose is found from the drive itself, and said to be.
    last = sink.of(PARAMETERS)[-1]
    assert any('imu/data sits elsewhere' in one.text for one in node.model.findings())
    assert abs(last.parameters[1].value - values[0][1]) < 3.0 * last.parameters[1].std


def test_a_chain_of_transforms_gives_offline_what_the_direct_one_gives(
    source, poseless, tmp_path
) -> None:
    configuration = load_configuration(poseless)
    first, *rest = source[: len(source) // 2]
    values = []
    for name, message in (('direct', first.message), ('chained', chained(first.message))):
        with BagWriter(tmp_path / name) as bag:
            bag.write_message('/tf_static', message, first.time_ns)
            for item in rest:
                bag.write_message(item.topic, item.message, item.time_ns)
        recording = read_recording(tmp_path / name, configuration)
        sensor, told = sensor_pose(configuration.sensors.imu, recording)
        assert told == '/tf_static'
        estimate = identify_recordings([recording], configuration, CarMethod()).result
        values.append([*sensor.position, *sensor.matrix.ravel(), *estimate.value])
    np.testing.assert_allclose(values[1], values[0], rtol=SINGLE, atol=SINGLE)
    assert values[0][:3] == pytest.approx(default_configuration().sensors.imu.position)


def test_a_frame_whose_transform_is_refused_is_named(source, poseless) -> None:
    """Offline it stops; live the chunks are not used and the reason is said."""
    first, *rest = source[: len(source) // 2]
    broken = copy.deepcopy(first.message)
    for one in broken.transforms:
        if one.child_frame_id == 'imu_link':
            one.transform.rotation.w = 0.0
    node, _ = run(
        CarIdentification,
        NAME,
        [Item(first.time_ns, '/tf_static', broken), *rest],
        chunk=5.0,
        car=str(poseless),
    )
    assert node.model.solution is None
    (reason,) = node.model.skipped.reasons
    assert 'the static transform base_link -> imu_link has the quaternion' in reason


FAULTS = {
    'swapped wheel forces': 'swapped_wrenches',
    'turned inertial unit': 'imu_turned',
    'speed in km/h': 'unit',
}


def spoiled(source, fault: str):
    """The drive with one mistake in its recording."""
    for item in source:
        topic, message = item.topic, item.message
        if fault == 'swapped wheel forces' and topic in WHEELS:
            topic = WHEELS[1 - WHEELS.index(topic)]
        elif fault == 'turned inertial unit' and topic.endswith('imu/data'):
            message = copy.deepcopy(message)
            for vector in (message.angular_velocity, message.linear_acceleration):
                vector.y, vector.z = -vector.y, -vector.z
        elif fault == 'speed in km/h' and topic.endswith('correvit/velocity'):
            message = copy.deepcopy(message)
            message.twist.linear.x *= 3.6
            message.twist.linear.y *= 3.6
        yield Item(item.time_ns, topic, message)


@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_is_named_live_as_offline_and_nothing_counts_as_known(
    source, fault: str, tmp_path
) -> None:
    made = list(spoiled(source[: len(source) // 2], fault))
    node, sink = run(CarIdentification, NAME, made, chunk=8.0, bias_correction=False)
    with BagWriter(tmp_path / 'bag') as bag:
        for item in made:
            bag.write_message(item.topic, item.message, item.time_ns)
    car = node.configuration
    recording = read_recording(tmp_path / 'bag', car)
    offline = check_recording(recording, car)
    final, status = sink.of(PARAMETERS)[-1], sink.statuses(NAME)[-1]
    named = {one.code for one in offline if one.level == 'bad'}
    live = {one.code for one in final.findings if one.level == 'bad'} - {'impossible_value'}
    print(fault, 'offline', named, 'live', live, [one.text for one in final.findings])
    assert FAULTS[fault] in named and live - POSSIBLE == named - POSSIBLE
    assert final.verdict == 'no' and not final.converged
    assert not any(one.well_identified for one in final.parameters)
    assert messages.byte_value(status.level) == 2 and named <= codes(status)
    assert next(item.value for item in status.values if item.key == 'verdict') == 'no'
    with pytest.raises(EstimationError, match='put right first'):
        node.model.save(str(tmp_path / 'estimate.npz'))


def test_a_chunk_that_contradicts_itself_is_kept_out_of_a_good_estimate(source) -> None:
    half = len(source) // 2
    mixed = [*source[:half], *spoiled(source[half:], 'swapped wheel forces')]
    node, sink = run(CarIdentification, NAME, mixed, chunk=6.0, bias_correction=False)
    assert node.model.skipped.total >= 1 and not node.model.core.provisional
    assert all('it contradicts itself' in reason for reason in node.model.skipped.reasons)
    mass = node.model.solution.value[0]
    assert mass == pytest.approx(Vehicle().parameters()['Mc'], rel=0.005)
    assert {'chunk_not_used', 'swapped_wrenches'} <= codes(sink.statuses(NAME)[-1])


def test_the_end_of_a_recording_is_used(source) -> None:
    """Chunks of 6 s end at 6 and 11.4 s: what follows is used where it is 5 s long."""
    begin = source[0].time_ns
    for seconds, chunks, used in ((13.0, 2, 11.4), (16.0, 3, 16.0)):
        part = [item for item in source if item.time_ns < begin + seconds * 1e9]
        node, sink = run(CarIdentification, NAME, part, chunk=6.0, bias_correction=False)
        assert node.model.core.chunks == chunks
        imu = node.model.counts()['imu']
        assert imu.used + imu.waiting == imu.received and imu.rejected == imu.late == 0
        assert imu.used == pytest.approx(100.0 * used, abs=5.0)
        assert sink.of(PARAMETERS)[-1].sample_count == node.model.samples


def test_two_runs_give_the_same_bytes(source, ran) -> None:
    short = source[: len(source) // 2]
    first = run(CarIdentification, NAME, short, chunk=5.0)[1].rows
    assert first == run(CarIdentification, NAME, short, chunk=5.0)[1].rows


def test_save_reset_load(source, ran) -> None:
    file = ran[0].options.file
    short = source[: len(source) // 8]
    node, sink = run(
        CarIdentification,
        NAME,
        short,
        file=file,
        calls=[(0.5, '/load', {}), (1.5, '/reset', {}), (1.7, '/load', {})],
    )
    assert node.model.solution is not None and node.model.core.seconds > 9.0
    then = {p.name: p for p in ran[1].of(PARAMETERS)[-1].parameters}
    now = {p.name: p for p in sink.of(PARAMETERS)[-1].parameters}
    for name in NAMES:
        assert abs(now[name].value - then[name].value) < 4.0 * now[name].std
    nothing, _ = run(CarIdentification, NAME, short, calls=[(0.5, '/save', {})])
    assert nothing.model.solution is None
    other, _ = run(CarIdentification, NAME, short, chunk=20.0)
    assert other.model.solution is None  # not even one chunk


def test_lost_sensors_and_numbers_that_are_none(source) -> None:
    spoiled = []
    for k, item in enumerate(source):
        t = (item.time_ns - EPOCH_NS) * 1e-9
        if item.topic.endswith('wheel_rl/wrench') and 7.0 < t < 11.0:
            continue
        if item.topic.endswith('imu/data') and k % 50 == 0:
            message = copy.deepcopy(item.message)
            message.angular_velocity.x = float('nan')
            item = Item(item.time_ns, item.topic, message)
        spoiled.append(item)
    node, sink = run(CarIdentification, NAME, spoiled, chunk=6.0)
    assert node.model.core.chunks == 3 and node.model.skipped.total == 1
    reason = next(iter(node.model.skipped.reasons))
    texts = [s.message for s in sink.statuses(NAME)]
    assert any(reason in text for text in texts)
    value = node.model.solution.value
    assert np.isfinite(value).all()
    assert value[0] == pytest.approx(Vehicle().parameters()['Mc'], rel=0.01)


def test_silence_disabling_and_wrong_parameters() -> None:
    source = messages_of(3.0)
    assert len(source) > 4100
    quiet = [
        *source[:4000],
        *(Item(i.time_ns + 5 * 10**9, i.topic, i.message) for i in source[4000:4100]),
    ]
    _, sink = run(
        CarIdentification,
        NAME,
        quiet,
        calls=[(0.2, '/enable', {'data': False}), (0.4, '/enable', {'data': True})],
    )
    status = sink.statuses(NAME)
    assert any('no sensor message for 2 s' in s.message for s in status)
    assert messages.byte_value(status[0].level) == 1  # no estimate yet
    for wrong, text in (
        ({'car': 'nowhere'}, 'parameter car'),
        ({'dof': 21}, 'parameter dof'),
        ({'chunk': 1.0}, 'below its minimum'),
    ):
        with pytest.raises(ParameterError, match=text):
            run(CarIdentification, NAME, source[:1], **wrong)
