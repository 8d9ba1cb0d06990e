"""Motion beyond the sensors' bands: where bands end, and what the wheel forces tell above."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import TRUTH, configuration, recording
from scipy import signal

from veh_identification.signals import TimeSeries, ZeroPhaseFilter
from veh_identification.simulation.car.exact.motion import EXACT_TRUTH
from veh_identification.systems.car.estimation import bias
from veh_identification.systems.car.estimation.identify import CarMethod, identify_recordings
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.processing.band_extension import (
    Extension,
    MotionFromForces,
    crossover,
    linear_response,
    low_band,
)
from veh_identification.systems.car.processing.cutoffs import fixed_cutoffs
from veh_identification.systems.car.processing.first_look import (
    Bands,
    first_look,
    limited,
    stretch,
)
from veh_identification.systems.car.processing.friction import friction_column, friction_lines
from veh_identification.systems.car.processing.padded_fourier import Padded
from veh_identification.systems.car.processing.signals import Processing, prepare
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.recording.samples import hub_rotation, wheel_loads

RATE = 200.0
GEOMETRY = configuration().geometry
EXTENSION = Extension(EXACT_TRUTH, 8.0, (16.0, 16.0, 16.0, 16.0), 80.0)


def band_limited(run: CarRecording, imu_hz: float | None, travel_hz: float | None) -> CarRecording:
    """The recording seen by sensors with a steep linear-phase low-pass."""

    def cut(series: TimeSeries, hertz: float | None) -> TimeSeries:
        if hertz is None:
            return series
        rate = 1.0 / series.median_period
        taps = signal.firwin(
            2 * int(3.2 * rate / (0.4 * hertz)) + 1, hertz, fs=rate, window=('kaiser', 9.0)
        )
        half = len(taps) // 2
        padded = np.pad(series.values, ((half, half), (0, 0)), mode='reflect', reflect_type='odd')
        return replace(
            series, values=signal.oaconvolve(padded, taps[:, None], mode='valid', axes=0)
        )

    assert run.imu is not None
    return replace(
        run,
        imu=cut(run.imu, imu_hz),
        joints={
            name: cut(series, travel_hz) if name.startswith('suspension') else series
            for name, series in run.joints.items()
        },
    )


def test_transforms_come_back_and_leave_a_line_alone() -> None:
    x = np.random.default_rng(0).normal(size=1000).cumsum()
    padded = Padded(RATE, len(x))
    lines, slope = padded.forward(x)
    np.testing.assert_allclose(
        padded.backward(lines) + np.linspace(x[0], x[-1], len(x)), x, atol=1e-9
    )
    assert slope == pytest.approx((x[-1] - x[0]) * RATE / 999)
    assert np.abs(padded.forward(np.linspace(1.0, 4.0, 500 + 500))[0]).max() < 1e-9


def test_crossovers_share_out_every_frequency_once() -> None:
    frequency = np.linspace(0.0, 100.0, 1001)
    share = crossover(frequency, 10.0)
    assert np.all(share[frequency < 9.2] == 0.0) and np.all(share[frequency > 10.8] == 1.0)
    t = np.arange(4000) / RATE
    slow, fast = np.sin(2 * np.pi * 3.0 * t), np.sin(2 * np.pi * 20.0 * t)
    kept = low_band((slow + fast + 2.0)[:, None], RATE, 10.0)[:, 0]
    np.testing.assert_allclose(kept[300:-300], (slow + 2.0)[300:-300], atol=2e-3)


@pytest.mark.parametrize('hertz', [10.0, 25.0, 60.0])
def test_the_linear_answer_fulfils_the_equations(hertz: float) -> None:
    """Loads from an analytic vibration, written out from the equations of the exact car."""
    p, w = EXACT_TRUTH, 2.0 * np.pi * hertz
    force = np.array([0.1, -0.2, 0.3 + 0.1j])
    turn = np.array([0.2, 0.1j, -0.1])
    travel = np.array([1e-3, -2e-3j, 5e-4, 1e-3 + 1e-3j])
    first = np.array([p['MXc'], p['MYc'], p['MZc']])
    inertia = np.array(
        [
            [p['XXc'], p['XYc'], p['XZc']],
            [p['XYc'], p['YYc'], p['YZc']],
            [p['XZc'], p['YZc'], p['ZZc']],
        ]
    )
    total = p['Mc'] * force + np.cross(turn, first)
    moment = inertia @ turn + np.cross(first, force)
    loads = np.zeros(10, dtype=complex)
    for j in range(4):
        place = np.array([GEOMETRY.wheel_x[j], GEOMETRY.wheel_y[j], 0.0])
        hub = force + np.cross(turn, place)
        hub[2] -= w**2 * travel[j]
        push = p[f'M{j + 1}'] * hub
        total, moment = total + push, moment + np.cross(place, push)
        bar = p['karf'] if j < 2 else p['karr']
        loads[6 + j] = (
            push[2]
            + (p[f'k{j + 1}'] + 1j * w * p[f'h{j + 1}']) * travel[j]
            + bar * (travel[j] - travel[j ^ 1])
        )
    loads[:3], loads[3:6] = total, moment
    answer = linear_response(EXACT_TRUTH, GEOMETRY, np.array([hertz]))[0] @ loads
    np.testing.assert_allclose(answer, np.concatenate([force, turn, 1j * w * travel]), rtol=1e-8)


def test_reconstruction_tells_the_motion_above_the_bands_only() -> None:
    t = np.arange(4000) / RATE
    loads = np.zeros((4000, 10))
    loads[:, 2] = 500.0 * np.sin(2 * np.pi * 20.0 * t) + 800.0 * np.sin(2 * np.pi * 3.0 * t)
    wide = ZeroPhaseFilter(RATE, 35.0, 4)
    band = MotionFromForces(loads, wide, GEOMETRY, EXTENSION).band()
    response = linear_response(EXACT_TRUTH, GEOMETRY, np.array([20.0]))[0, :, 2] * 500.0
    expected = np.imag(response[2] * np.exp(2j * np.pi * 20.0 * t)) * wide.response(20.0)
    np.testing.assert_allclose(
        band.motion[400:-400, 2], expected[400:-400], atol=2e-3 * np.abs(response[2])
    )
    velocity = Padded(RATE, 4000).backward(band.free_rate[0])
    expected = np.imag(response[6] * np.exp(2j * np.pi * 20.0 * t))
    np.testing.assert_allclose(
        velocity[400:-400], expected[400:-400], atol=5e-3 * np.abs(response[6])
    )


def test_the_sign_sees_velocity_beyond_the_travel_sensor() -> None:
    """A sensor that misses 25 Hz; the forces tell it, so the sign jumps where it should."""
    t = np.arange(8000) / RATE
    slow = 0.01 / (2 * np.pi * 2.0) * np.sin(2 * np.pi * 2.0 * t)
    missing = 0.012 * np.cos(2 * np.pi * 25.0 * t) * signal.windows.tukey(len(t), 0.05)
    wide = ZeroPhaseFilter(RATE, 35.0, 4)
    padded = Padded(RATE, len(t))
    lines = padded.forward(missing)[0]
    travel = np.repeat(slow[:, None], 4, axis=1)
    quiet = (0.0, 0.0, 0.0, 0.0)
    given = (travel, quiet, wide, RATE, GEOMETRY)
    beyond = MotionFromForces(np.zeros((8000, 10)), wide, GEOMETRY, EXTENSION).band()
    known = replace(beyond, free_rate=(lines,) * 4, held_rate=(np.zeros_like(lines),) * 4)
    blind, told = (
        friction_column(one, wide, len(t))
        for one in (friction_lines(*given), friction_lines(*given, EXTENSION, known))
    )
    fine = np.arange(8000 * 20) / (20 * RATE)
    exact = np.sign(0.01 * np.cos(2 * np.pi * 2.0 * fine) + 0.012 * np.cos(2 * np.pi * 25 * fine))
    true = ZeroPhaseFilter(20 * RATE, 35.0, 4).apply(exact)[0][::20]
    inner = slice(400, -400)
    assert np.std((told[:, 0] - true)[inner]) < 0.05
    assert np.std((blind[:, 0] - true)[inner]) > 0.3


def test_wheel_forces_tell_where_the_bands_of_the_motion_sensors_end() -> None:
    config = configuration()
    run = recording(40.0, 1.0)
    model, cutoffs = CarModel(config, 20), fixed_cutoffs(20.0, 25.0)
    whole = first_look(model, prepare(run, config), cutoffs)
    assert whole.bands.imu > 15.0 and whole.bands.travel > 15.0
    slow_travel = first_look(model, prepare(band_limited(run, None, 12.0), config), cutoffs)
    assert 8.0 < slow_travel.bands.travel < 12.5
    # Hub accelerations stand in the vertical force as well: no later than they can be seen.
    assert slow_travel.bands.travel < slow_travel.bands.imu
    short = first_look(model, prepare(band_limited(run, 8.0, None), config), cutoffs)
    assert 5.5 < short.bands.imu < 8.5
    assert short.parameters is not None
    assert short.parameters['Mc'] == pytest.approx(EXACT_TRUTH['Mc'], rel=0.01)
    reduced = limited(cutoffs, short.bands)
    assert reduced.hertz['NY'] < short.bands.imu and 'inertial unit' in reduced.reasons['NY']
    reduced = limited(cutoffs, slow_travel.bands)
    assert reduced.hertz['suspension_rl'] < slow_travel.bands.travel
    assert limited(cutoffs, Bands(26.0, 28.0)) == cutoffs


def test_narrow_sensors_cost_accuracy_only_where_forces_are_not_asked() -> None:
    """Inertial unit of 8 Hz: chassis accelerations above it enter the suspension equations."""
    run = band_limited(recording(40.0), 8.0, 18.0)
    wanted = [NAMES.index(f'{kind}{j}') for kind in 'Mh' for j in range(1, 5)]
    fixed = CarMethod(chassis_cutoff_hz=6.0, suspension_cutoff_hz=15.0, check=False)
    errors = {}
    for beyond in (True, False):
        result = identify_recordings(
            [run], configuration(), replace(fixed, beyond_band=beyond)
        ).result
        errors[beyond] = np.sqrt(
            np.mean(np.square((result.value - TRUTH)[wanted] / TRUTH[wanted]))
        )
    assert errors[True] < 0.001
    assert errors[True] < 0.5 * errors[False]


def test_poor_parameters_are_not_used_to_reconstruct() -> None:
    run = recording(20.0, 1.0)
    wrenches = {
        corner: replace(series, values=-series.values) for corner, series in run.wrenches.items()
    }
    config = configuration()
    look = first_look(
        CarModel(config, 20),
        prepare(replace(run, wrenches=wrenches), config),
        fixed_cutoffs(15.0, 20.0),
    )
    assert look.parameters is None


def test_a_long_recording_gives_its_liveliest_and_its_typical_stretch() -> None:
    run = recording(40.0)
    assert run.imu is not None
    joints = {}
    for name, series in run.joints.items():
        loud = 1.0 + (series.stamps > 10.0) + 2.0 * (series.stamps > 20.0)
        joints[name] = replace(series, values=series.values * loud[:, None])
    varied = replace(run, joints=joints)
    liveliest = stretch(varied, 10.0, 1.0)
    assert liveliest.imu is not None and liveliest.imu.stamps[0] >= 20.0
    typical = stretch(varied, 10.0, 0.5)
    assert typical.imu is not None and 9.9 < typical.imu.stamps[0] < 10.1
    assert len(typical.wrenches['fl']) == 2000
    assert stretch(run, 30.0, 1.0) is run


def test_the_bias_of_a_long_recording_comes_from_a_part_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from veh_identification.systems.car.estimation import gathering

    run = recording(40.0, 1.0)
    whole = identify_recordings([run], configuration()).result
    monkeypatch.setattr(gathering, 'BIAS_SECONDS', 20.0)
    part = identify_recordings([run], configuration()).result
    difference = (part.value - whole.value) / whole.std
    assert np.sqrt(np.mean(difference**2)) < 0.35
    assert np.abs(difference).max() > 0.0


def test_compiled_wheel_loads_are_those_of_the_rotation_matrices() -> None:
    generator = np.random.default_rng(3)
    piece = prepare(recording(10.0), configuration(), Processing()).pieces[0][:50]
    angles = {
        kind: generator.normal(0.0, 0.3, (50, 4)) for kind in ('steering', 'camber', 'kingpin')
    }
    joints = {
        **piece.joints,
        **{kind: replace(piece.joints[kind], position=value) for kind, value in angles.items()},
    }
    piece = replace(piece, joints=joints)
    x, y = generator.normal(size=(2, 50, 4))
    total, vertical = wheel_loads(piece, x, y)
    turn = hub_rotation(angles['steering'], angles['camber'], angles['kingpin'])
    force = np.einsum('njab,njb->nja', turn, piece.wrench[:, :, :3])
    moment = np.einsum('njab,njb->nja', turn, piece.wrench[:, :, 3:])
    centre = np.stack([x, y, joints['suspension'].position], axis=2)
    np.testing.assert_allclose(vertical, force[:, :, 2], atol=1e-9)
    np.testing.assert_allclose(total[:, :3], force.sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(
        total[:, 3:], (moment + np.cross(centre, force)).sum(axis=1), atol=1e-8
    )


def test_noise_of_forces_is_bounded_by_the_residuals() -> None:
    config = configuration()
    run = recording(40.0, 1.0)
    prepared = prepare(run, config)
    look = first_look(CarModel(config, 20), prepared, fixed_cutoffs(15.0, 20.0))
    true = 2.0 * 20.0**2 / 200.0
    for bound, corner in zip(look.force_density, ('fl', 'fr', 'rl', 'rr'), strict=True):
        assert 0.7 * true < bound < 2.5 * true
        assert bias.series_noise(run.wrenches[corner], config.sensors.wheel_force)[
            2
        ] == pytest.approx(20.0, rel=0.2)
